// Checking: every function once, generically, with its parameters distinct; what imported modules declare only where it
// is used. The IR that the walk builds is thrown away here.
#include "Elaborator.h"
#include "gnnc/Frontend/CNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace gnnc::elab {

void Elaborator::use(const ast::FnDecl *fn, const ast::Module *module, SourceRange range) {
  if (!checking)
    return;
  if (frame->fn)
    uses[frame->fn].push_back({fn, range});
  if (queued.insert(fn).second)
    worklist.push_back({fn, module});
}

void Elaborator::checkDeclarations(const ast::Module &module) {
  llvm::StringMap<SourceRange> seen;
  auto fresh = [&](const ast::Name &name) {
    if (name.text.empty() || seen.try_emplace(name.text, name.range).second)
      return true;
    diags.error(Diag::redefinedName, name.range, "'" + name.text + "' is declared twice")
        .note(seen[name.text], "here is the first one");
    return false;
  };
  for (const ast::Decl *d : module.decls) {
    switch (d->kind) {
    case ast::DeclKind::import:
      fresh(cast<ast::ImportDecl>(d)->name);
      break;
    case ast::DeclKind::structDecl:
      fresh(cast<ast::StructDecl>(d)->name);
      if (!d->hasErrors)
        checkStruct(cast<ast::StructDecl>(d), &module);
      break;
    case ast::DeclKind::fn:
      fresh(cast<ast::FnDecl>(d)->name);
      if (queued.insert(cast<ast::FnDecl>(d)).second)
        worklist.push_back({cast<ast::FnDecl>(d), &module});
      break;
    case ast::DeclKind::exportVjp: {
      const auto *e = cast<ast::ExportVjpDecl>(d);
      const auto *fn = dyn_cast_or_null<ast::FnDecl>(lookupDecl(e->function.text, &module));
      if (!fn)
        diags.error(Diag::unknownName, e->function.range,
                    "there is no function '" + e->function.text + "' in this file");
      else if (!fn->signatureHasErrors)
        checkVjp(fn, module, e);
      break;
    }
    case ast::DeclKind::customRule:
      checkRule(cast<ast::CustomRuleDecl>(d), module);
      break;
    }
  }
}

void Elaborator::check(const ast::Module &main) {
  checking = true;
  mainModule = &main;
  Frame &outer = newFrame(&main);
  Restore<Frame *> in(frame, &outer);
  checkDeclarations(main);
  while (!worklist.empty()) {
    auto [fn, module] = worklist.front();
    worklist.pop_front();
    checkFunction(fn, module);
  }
  reportRecursion();
}

void Elaborator::checkEntryName(StringRef name, SourceRange range) {
  if (StringRef owner = ownerInC(name); !owner.empty())
    diags.error(Diag::badExport, range, "an entry point can't be called '" + name + "': the name belongs to " + owner);
}

/// What can't stand at the boundary of a shared object.
void Elaborator::checkBoundary(const ast::FnDecl *fn, const Frame &f) {
  for (const ast::GenericParam &g : fn->generics)
    if (g.kind != ast::GenericParam::dimension)
      diags.error(Diag::badExport, g.name.range,
                  "an entry point can't have the parameter '" + g.name.text + "': its arguments have known " +
                      (g.kind == ast::GenericParam::pack ? "numbers of dimensions" : "types"));
  for (auto [p, type] : llvm::zip(fn->params, f.params))
    if (type->kind == Type::function || type->kind == Type::tuple)
      diags.error(Diag::badExport, p.type->range,
                  "an entry point can't take " +
                      (type->kind == Type::tuple ? llvm::Twine("a tuple") : llvm::Twine("a function")));
    else if (p.isInout && type->kind == Type::graph)
      diags.error(Diag::badExport, p.type->range, "a graph can't be changed in place");
  auto holdsGraph = [](TypeRef t) { return t->kind == Type::graph; };
  if (holdsGraph(f.result) || llvm::any_of(f.result->elements, holdsGraph))
    notSupported(fn->result->range, "a graph as the result of an entry point");
}

void Elaborator::checkVjp(const ast::FnDecl *fn, const ast::Module &module, const ast::ExportVjpDecl *e) {
  unsigned before = diags.numErrors();
  llvm::scope_exit mark([&] {
    if (diags.numErrors() != before)
      faultyPairs.insert(e);
  });
  Frame &f = openFrame(fn, &module);
  Restore<Frame *> in(frame, &f);
  checkBoundary(fn, f);
  checkEntryName((fn->name.text + "_fwd").str(), e->function.range);
  for (const ast::Decl *d : module.decls) {
    const auto *other = dyn_cast<ast::ExportVjpDecl>(d);
    if (other && other != e && other->function.text == e->function.text && other->range.begin < e->range.begin)
      diags.error(Diag::redefinedName, e->range, "the pair of '" + fn->name.text + "' is exported twice")
          .note(other->range, "here is the first one");
    const auto *entry = dyn_cast<ast::FnDecl>(d);
    if (entry && entry->isExport)
      for (StringRef suffix : {"_fwd", "_bwd"})
        if (entry->name.text == (fn->name.text + suffix).str())
          diags.error(Diag::redefinedName, e->range, "'export vjp' makes an entry point '" + entry->name.text + "'")
              .note(entry->name.range, "there is one of this name already");
  }
  for (const ast::FnParam &p : fn->params)
    if (p.isInout)
      diags
          .error(Diag::badExport, e->function.range,
                 "'" + fn->name.text + "' changes its argument '" + p.name.text + "' and can't be differentiated")
          .note(p.range, "it is inout here");
  if (e->wrt)
    vjpParameters(fn, f, e);
}

/// The parameters whose gradients an exported vjp gives: those named, or all that have one.
SmallVector<unsigned> Elaborator::vjpParameters(const ast::FnDecl *fn, const Frame &f, const ast::ExportVjpDecl *e) {
  SmallVector<unsigned> which;
  auto hasGradient = [&](TypeRef t) {
    SmallVector<std::pair<TypeRef, std::string>> leaves;
    leavesOf(t, "", leaves);
    return llvm::any_of(leaves, [](auto &leaf) { return leaf.first->isTensor() && isFloat(leaf.first->elem); });
  };
  if (!e->wrt) {
    for (auto [k, p] : llvm::enumerate(fn->params))
      if (!p.nondiff && hasGradient(f.params[k]))
        which.push_back(k);
    return which;
  }
  SmallVector<const ast::Expr *> items{e->wrt};
  if (const auto *t = dyn_cast<ast::TupleExpr>(e->wrt))
    items.assign(t->items.begin(), t->items.end());
  for (const ast::Expr *item : items) {
    const auto *n = dyn_cast<ast::NameExpr>(item);
    unsigned k = n ? llvm::find_if(fn->params, [&](const ast::FnParam &p) { return p.name.text == n->name; }) -
                         fn->params.begin()
                   : fn->params.size();
    if (k == fn->params.size())
      diags.error(Diag::badWrt, item->range, "'wrt' takes names of parameters of '" + fn->name.text + "'");
    else if (fn->params[k].nondiff)
      diags
          .error(Diag::heldConstant, item->range,
                 "'" + n->name + "' is held constant by nondiff: asking for its gradient contradicts that")
          .note(fn->params[k].range, "it is declared here");
    else if (!f.params[k]->isError() && !hasGradient(f.params[k]))
      diags.error(Diag::noDerivative, item->range,
                  "there is no derivative with respect to '" + n->name + "', which is " + str(f.params[k]) +
                      ": only real values have one");
    else if (llvm::is_contained(which, k))
      diags.error(Diag::badWrt, item->range, "'" + n->name + "' is given twice");
    else
      which.push_back(k);
  }
  return which;
}

bool Elaborator::holdsError(TypeRef type) {
  auto holds = [&](TypeRef t) { return holdsError(t); };
  return type->isError() || (type->kind == Type::structure && llvm::any_of(fieldTypes(type), holds)) ||
         llvm::any_of(type->elements, holds) || (type->result && holdsError(type->result));
}

void Elaborator::checkFunction(const ast::FnDecl *fn, const ast::Module *module) {
  if (fn->hasErrors) {
    faulty.insert(fn);
    return;
  }
  unsigned before = diags.numErrors();
  llvm::scope_exit mark([&] {
    if (diags.numErrors() != before)
      faulty.insert(fn);
  });
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(builder.getUnknownLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(scratch->getBody());
  setNames.clear();
  conditions.clear();
  callSite.reset();
  Frame &f = openFrame(fn, module);
  Restore<Frame *> in(frame, &f);
  // The struct that a parameter is of may be what has the error: then there is none to report here, but nothing to
  // lower either.
  if (holdsError(f.result) || llvm::any_of(f.params, [&](TypeRef t) { return holdsError(t); }))
    faulty.insert(fn);
  // The rules of an imported file are checked where their functions are used.
  if (const ast::CustomRuleDecl *rule = ruleOf(fn, module); rule && module != mainModule)
    checkRule(rule, *module);
  if (fn->isExtern) {
    checkExtern(fn, f);
    return;
  }
  if (fn->isExport) {
    checkBoundary(fn, f);
    checkEntryName(fn->name.text, fn->name.range);
  }
  for (auto [k, p] : llvm::enumerate(fn->params)) {
    TypeRef type = f.params[k];
    Location at = loc(p.range);
    Value v;
    if (type->kind == Type::function) {
      Closure c;
      c.kind = Closure::isParameter;
      c.signature = type;
      c.range = p.range;
      v = closureValue(std::move(c));
    } else {
      v = placeholder(type, {}, at);
      if (p.nondiff)
        v = holdConstant(v, at);
    }
    if (p.isInout && !fn->isExport && type->kind == Type::function)
      diags.error(Diag::badInout, p.range, "a function can't be inout");
    if (p.defaultValue) {
      Restore<ScopePtr> scope(f.scope, f.generics);
      Value d = expr(p.defaultValue);
      if (type->kind != Type::function)
        d = coerce(d, type, p.defaultValue->range, ("the default of '" + p.name.text + "'").str());
      else if (!d.isError() && d.type->kind != Type::function)
        mismatch(p.defaultValue->range, type, d, ("the default of '" + p.name.text + "'").str());
      if (fn->isExport && type->isTensor() && !d.isError())
        constantDefault(p, type);
    }
    f.scope->names[p.name.text].val = v;
  }
  walkBody(f);
}

/// Functions that call themselves, directly or through others.
void Elaborator::reportRecursion() {
  enum Colour : uint8_t { white, grey, black };
  llvm::DenseMap<const ast::FnDecl *, Colour> colour;
  SmallVector<const ast::FnDecl *> path;
  std::function<void(const ast::FnDecl *)> visit = [&](const ast::FnDecl *fn) {
    colour[fn] = grey;
    path.push_back(fn);
    for (const Use &u : uses.lookup(fn)) {
      Colour c = colour.lookup(u.callee);
      if (c == white) {
        visit(u.callee);
        continue;
      }
      if (c != grey)
        continue;
      std::string through;
      for (const ast::FnDecl *f : llvm::make_range(llvm::find(path, u.callee) + 1, path.end()))
        through += (through.empty() ? " through '" : ", '") + f->name.text.str() + "'";
      diags.error(Diag::recursion, u.range,
                  "'" + u.callee->name.text + "' calls itself" + through +
                      ": calls are resolved at compile time, so it has no finite expansion");
      for (const ast::FnDecl *f : path)
        faulty.insert(f);
    }
    path.pop_back();
    colour[fn] = black;
  };
  SmallVector<const ast::FnDecl *> roots;
  for (auto &entry : uses)
    roots.push_back(entry.first);
  llvm::sort(roots, [](const ast::FnDecl *a, const ast::FnDecl *b) {
    return std::pair(a->range.file, a->range.begin) < std::pair(b->range.file, b->range.begin);
  });
  for (const ast::FnDecl *fn : roots)
    if (colour.lookup(fn) == white)
      visit(fn);
}

} // namespace gnnc::elab

bool gnnc::checkModule(const ast::Module &main, const FrontendOptions &options, DiagnosticEngine &diagnostics,
                       MLIRContext &context) {
  context.loadDialect<gnn::GnnDialect, func::FuncDialect>();
  elab::Elaborator elaborator(options, diagnostics, context);
  elaborator.check(main);
  return !diagnostics.hasErrors();
}

OwningOpRef<ModuleOp> gnnc::lowerModule(const ast::Module &main, const FrontendOptions &options,
                                        DiagnosticEngine &diagnostics, MLIRContext &context) {
  context.loadDialect<gnn::GnnDialect, func::FuncDialect>();
  elab::Elaborator elaborator(options, diagnostics, context);
  elaborator.check(main);
  if (diagnostics.hasErrors() && !options.lowerDerivatives)
    return {};
  OwningOpRef<ModuleOp> module = elaborator.lower(main);
  if (diagnostics.hasErrors() && !options.lowerDerivatives)
    return {};
  return module;
}

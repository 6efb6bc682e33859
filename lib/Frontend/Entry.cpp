// Entry points: a func.func with one argument a leaf, whose attributes (EntryAttrs.h) say all that the descriptor, the
// header and the manifest need.
#include "Elaborator.h"
#include "gnnc/Dialect/EntryAttrs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

namespace attrs = gnn::attrs;

OwningOpRef<ModuleOp> Elaborator::lower(const ast::Module &main) {
  checking = false;
  Frame &outer = newFrame(&main);
  Restore<Frame *> in(frame, &outer);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  target = *module;
  for (const ast::Decl *d : main.decls) {
    if (const auto *fn = dyn_cast<ast::FnDecl>(d)) {
      if (faulty.contains(fn))
        continue;
      if (fn->isExport)
        lowerEntry(fn, main, nullptr, false);
      else if (options.lowerDerivatives && derivativeTakers.contains(fn) && canStandAlone(fn))
        lowerEntry(fn, main, nullptr, true);
    } else if (const auto *e = dyn_cast<ast::ExportVjpDecl>(d)) {
      const auto *fn = dyn_cast_or_null<ast::FnDecl>(lookupDecl(e->function.text, &main));
      if (fn && !faulty.contains(fn) && !faultyPairs.contains(e))
        lowerEntry(fn, main, e, false);
    }
  }
  for (const auto &[name, size] : options.defines)
    if (!definesUsed.contains(name))
      diags.warning(Diag::unusedDefine, main.decls.empty() ? SourceRange() : SourceRange{main.file, 0, 0},
                    "no entry point has a dimension parameter '" + llvm::StringRef(name) + "', which -D gives");
  return module;
}

/// Whether a function that is not exported could be: it takes no functions, packs or struct types.
bool Elaborator::canStandAlone(const ast::FnDecl *fn) const {
  return fn->body &&
         llvm::all_of(fn->generics,
                      [](const ast::GenericParam &g) { return g.kind == ast::GenericParam::dimension; }) &&
         llvm::none_of(fn->params,
                       [](const ast::FnParam &p) { return isa<ast::FunctionType, ast::TupleType>(p.type); });
}

void Elaborator::leavesOf(TypeRef type, const std::string &path,
                          SmallVectorImpl<std::pair<TypeRef, std::string>> &out) {
  if (type->kind == Type::tensor || type->kind == Type::graph) {
    out.push_back({type, path});
    if (type->graphs)
      out.push_back({batchType(type), path + ".batch"});
    return;
  }
  auto below = [&](const llvm::Twine &name) { return path.empty() ? name.str() : (path + "." + name).str(); };
  if (type->kind == Type::structure)
    for (auto [f, t] : llvm::zip(type->decl->fields, fieldTypes(type)))
      leavesOf(t, below(f.name.text), out);
  if (type->kind == Type::tuple)
    for (auto [k, t] : llvm::enumerate(type->elements))
      leavesOf(t,
               below(k < type->names.size() && !type->names[k].empty() ? llvm::Twine(type->names[k]) : llvm::Twine(k)),
               out);
}

Value Elaborator::unflatten(TypeRef type, ArrayRef<mlir::Value> &in) {
  Value v;
  v.type = type;
  if (type->kind == Type::structure) {
    for (TypeRef t : fieldTypes(type))
      v.parts.push_back(unflatten(t, in));
    return v;
  }
  v.ir = in.front();
  in = in.drop_front();
  if (type->graphs) {
    v.batch = in.front();
    in = in.drop_front();
  }
  return v;
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

/// Gives the variables of the frame their set ids, in order of appearance, or the constants of -D. Those that no
/// argument shows alone become arguments themselves.
void Elaborator::bindEntrySets(Frame &f, SmallVectorImpl<int64_t> &sizeArguments) {
  llvm::DenseSet<int64_t> alone; // set ids
  // Integers that are sizes are arguments already.
  for (const ast::FnParam &p : f.fn->params)
    if (SizeAttr size = f.scope->names[p.name.text].dimension)
      alone.insert(*irSize(size).getSet());
  auto bind = [&](SizeAttr size) {
    size.forEachSet([&](int64_t id) {
      DimVar &v = vars[id];
      if (v.ir)
        return;
      auto given = options.defines.find(v.name);
      if (given != options.defines.end()) {
        definesUsed[v.name] = true;
        v.ir = constantSize(given->second);
      } else {
        v.ir = freshIrSet(v.name);
      }
    });
    if (std::optional<int64_t> set = irSize(size).getSet())
      return *set;
    return int64_t(-1);
  };
  SmallVector<std::pair<TypeRef, std::string>> leaves;
  for (auto [p, type] : llvm::zip(f.fn->params, f.params))
    leavesOf(type, p.name.text.str(), leaves);
  for (auto &[type, path] : leaves) {
    if (type->kind == Type::graph) {
      for (SizeAttr s : {type->src, type->dst, type->edges})
        alone.insert(bind(s));
      continue;
    }
    for (const Dim &d : type->dims)
      alone.insert(bind(d.extent));
  }
  for (auto &[type, path] : leaves)
    if (type->isTensor() && type->target)
      bind(type->target);
  for (const ast::GenericParam &g : f.fn->generics)
    bind(f.generics->names[g.name.text].val.size);
  for (int64_t set = 0; set < static_cast<int64_t>(setNames.size()); ++set)
    if (!alone.contains(set))
      sizeArguments.push_back(set);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Elaborator::lowerEntry(const ast::FnDecl *fn, const ast::Module &module, const ast::ExportVjpDecl *vjp,
                            bool isPrivate) {
  setNames.clear();
  conditions.clear();
  callSite.reset();
  inlineDepth = 0;
  Frame &f = openFrame(fn, &module);
  Restore<Frame *> in(frame, &f);
  SmallVector<int64_t> sizeArguments;
  bindEntrySets(f, sizeArguments);

  // Arguments: the leaves of the parameters, then sizes that stand nowhere else, then cotangents of a vjp.
  SmallVector<mlir::Type> inputs;
  SmallVector<DictionaryAttr> inputAttrs;
  auto text = [&](StringRef s) { return builder.getStringAttr(s); };
  auto attr = [&](StringRef name, Attribute value) { return builder.getNamedAttr(name, value); };
  auto describeLeaf = [&](TypeRef type, SmallVectorImpl<NamedAttribute> &out) {
    if (type->kind == Type::tensor && (type->elem == Elem::index || type->elem == Elem::key))
      out.push_back(attr(attrs::dtype, text(type->elem == Elem::index ? "index" : "key")));
    if (type->kind == Type::tensor && type->elem == Elem::index)
      out.push_back(attr(attrs::into, irSize(type->target)));
  };
  unsigned errors = diags.numErrors();
  for (auto [k, p] : llvm::enumerate(fn->params)) {
    SmallVector<std::pair<TypeRef, std::string>> leaves;
    leavesOf(f.params[k], p.name.text.str(), leaves);
    // Those that depend on the call are compared with what it passes; -D may make one negative for every call.
    for (auto &[type, path] : leaves)
      for (const Dim &d : type->dims)
        if (irSize(d.extent).getConstant())
          (void)requireNonNegative(d, p.type->range);
    SmallVector<DictionaryAttr> inits;
    initialisers(f.params[k], {}, inits);
    for (auto [leaf, init] : llvm::zip(leaves, inits)) {
      auto &[type, path] = leaf;
      // A struct's leaves are tensors whatever their rank, so that a parameter has one form for all entries.
      bool scalarByValue = type->isScalar() && f.params[k]->isTensor() && !p.isInout;
      SmallVector<NamedAttribute> a{attr(attrs::path, text(path)),
                                    attr(attrs::kind, text(type->kind == Type::graph ? "graph"
                                                           : scalarByValue           ? "scalar"
                                                                                     : "tensor"))};
      if (p.isInout)
        a.push_back(attr(attrs::mode, text("inout")));
      describeLeaf(type, a);
      if (SizeAttr size = f.scope->names[p.name.text].dimension)
        a.push_back(attr(attrs::set, builder.getI64IntegerAttr(*irSize(size).getSet())));
      if (p.defaultValue && type->isTensor())
        if (Attribute value = constantDefault(p, type))
          a.push_back(attr(attrs::defaultValue, value));
      if (init)
        a.push_back(attr(attrs::init, init));
      inputs.push_back(irType(type));
      inputAttrs.push_back(builder.getDictionaryAttr(a));
    }
  }
  for (int64_t set : sizeArguments) {
    inputs.push_back(gnn::scalarType(builder.getI64Type()));
    inputAttrs.push_back(
        builder.getDictionaryAttr({attr(attrs::path, text(setNames[set])), attr(attrs::kind, text("size")),
                                   attr(attrs::set, builder.getI64IntegerAttr(set))}));
  }
  unsigned ownArgs = inputs.size();
  if (diags.numErrors() != errors) {
    faulty.insert(fn);
    return;
  }

  Location at = loc(fn->name.range);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(target.getBody());
  std::string name = fn->name.text.str() + (vjp ? "_vjp" : "");
  auto func = func::FuncOp::create(builder, at, name, builder.getFunctionType(inputs, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  unsigned before = diags.numErrors();

  SmallVector<mlir::Value> arguments(body->args_begin(), body->args_end());
  ArrayRef<mlir::Value> rest = arguments;
  std::vector<Value> params;
  for (TypeRef type : f.params)
    params.push_back(unflatten(type, rest));
  for (auto [p, v] : llvm::zip(fn->params, params))
    if (SizeAttr size = f.scope->names[p.name.text].dimension)
      gnn::DefineSizeOp::create(builder, at, v.ir.getType(), v.ir, irSize(size));

  auto runBody = [&](ArrayRef<Value> values) {
    for (auto [p, v] : llvm::zip(fn->params, values))
      f.scope->names[p.name.text].val = p.nondiff ? holdConstant(v, at) : v;
    Value r = walkBody(f);
    return fn->nondiff && !r.isError() ? holdConstant(r, at) : r;
  };
  // Names of results: those the type gives, or out, out.0, ...
  SmallVector<std::pair<TypeRef, std::string>> resultLeaves;
  auto nameResults = [&](const Value &result) {
    const auto *tuple = dyn_cast_or_null<ast::TupleType>(fn->result);
    if (tuple && tuple->elements.size() == 1) {
      leavesOf(result.type, tuple->elements.front().name.text.str(), resultLeaves);
    } else if (result.type->kind == Type::tuple) {
      for (auto [k, t] : llvm::enumerate(result.type->elements)) {
        StringRef given = tuple && k < tuple->elements.size() ? tuple->elements[k].name.text : StringRef();
        leavesOf(t, given.empty() ? "out." + std::to_string(k) : given.str(), resultLeaves);
      }
    } else {
      leavesOf(result.type, "out", resultLeaves);
    }
  };

  SmallVector<mlir::Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
  auto addResult = [&](TypeRef type, const std::string &path, mlir::Value ir) {
    SmallVector<NamedAttribute> a{attr(attrs::path, text(path))};
    describeLeaf(type, a);
    results.push_back(ir);
    resultAttrs.push_back(builder.getDictionaryAttr(a));
  };
  auto fail = [&] {
    func.erase();
    faulty.insert(fn);
  };

  if (!vjp) {
    Value result = runBody(params);
    if (result.isError() || diags.numErrors() != before)
      return fail();
    nameResults(result);
    SmallVector<mlir::Value> ir;
    collectIr(result, ir);
    for (auto [leaf, value] : llvm::zip(resultLeaves, ir))
      addResult(leaf.first, leaf.second, value);
    unsigned argument = 0;
    for (auto [k, p] : llvm::enumerate(fn->params)) {
      SmallVector<std::pair<TypeRef, std::string>> leaves;
      leavesOf(f.params[k], p.name.text.str(), leaves);
      if (p.isInout) {
        SmallVector<mlir::Value> updated;
        collectIr(f.scope->names[p.name.text].val, updated);
        for (auto [n, value] : llvm::enumerate(updated)) {
          results.push_back(value);
          resultAttrs.push_back(builder.getDictionaryAttr(
              {attr(attrs::path, text(leaves[n].second)),
               attr(attrs::inout, builder.getI64IntegerAttr(static_cast<int64_t>(argument + n)))}));
        }
      }
      argument += leaves.size();
    }
  } else {
    lowerVjp(fn, f, vjp, func, params, runBody, nameResults, resultLeaves, addResult);
    if (diags.numErrors() != before)
      return fail();
    // The cotangents that lowerVjp has added.
    for (auto &[type, path] : resultLeaves)
      if (isFloat(type->elem))
        inputAttrs.push_back(
            builder.getDictionaryAttr({attr(attrs::path, text(path + "_adj")), attr(attrs::kind, text("tensor"))}));
  }
  if (!checkPaths(fn, inputAttrs, resultAttrs))
    return fail();
  func::ReturnOp::create(builder, at, results);

  SmallVector<mlir::Type> outputs;
  for (mlir::Value v : results)
    outputs.push_back(v.getType());
  SmallVector<mlir::Type> allInputs(func.getArgumentTypes());
  func.setFunctionType(builder.getFunctionType(allInputs, outputs));
  for (auto [k, a] : llvm::enumerate(inputAttrs))
    func.setArgAttrs(k, a);
  for (auto [k, a] : llvm::enumerate(resultAttrs))
    func.setResultAttrs(k, a);
  if (vjp) {
    func->setAttr(attrs::exportVjp,
                  builder.getDictionaryAttr(
                      {attr("of", text(fn->name.text)), attr("args", builder.getI64IntegerAttr(ownArgs)),
                       attr("results", builder.getI64IntegerAttr(static_cast<int64_t>(resultLeaves.size())))}));
  }
  if (isPrivate)
    func.setPrivate();
  else
    func->setAttr(attrs::entry, builder.getUnitAttr());
  SmallVector<StringRef> names(setNames.begin(), setNames.end());
  func->setAttr(attrs::setNames, builder.getStrArrayAttr(names));
  if (!fn->doc.empty())
    func->setAttr(attrs::doc, text(fn->doc.trim()));
  SmallVector<Attribute> checks;
  for (auto &[size, message] : conditions)
    checks.push_back(builder.getDictionaryAttr({attr("size", size), attr("message", text(message))}));
  if (!checks.empty())
    func->setAttr(attrs::conditions, builder.getArrayAttr(checks));
}

/// Of parameters that `export vjp` names and the result does not depend on.
void Elaborator::warnOfUnused(const ast::FnDecl *fn, const ast::ExportVjpDecl *vjp, ArrayRef<unsigned> which,
                              gnn::VjpOp op) {
  if (!vjp->wrt)
    return;
  const auto *tuple = dyn_cast<ast::TupleExpr>(vjp->wrt);
  Block &body = op.getBody().front();
  unsigned next = 0;
  for (auto [item, k] : llvm::enumerate(which)) {
    SmallVector<std::pair<TypeRef, std::string>> leaves;
    leavesOf(frame->params[k], "", leaves);
    bool used = false;
    for (auto &[type, path] : leaves)
      if (isFloat(type->elem))
        used |= !body.getArgument(next++).use_empty();
    if (!used)
      diags.warning(Diag::unusedWrt, tuple ? tuple->items[item]->range : vjp->wrt->range,
                    "the result does not depend on '" + fn->params[k].name.text + "': its gradient is zero");
  }
}

/// Paths name arguments and results in data files and in C: no two of them may have one.
bool Elaborator::checkPaths(const ast::FnDecl *fn, ArrayRef<DictionaryAttr> inputs, ArrayRef<DictionaryAttr> results) {
  llvm::StringSet<> changed, seen;
  bool ok = true;
  auto pathOf = [](DictionaryAttr a) { return a.getAs<StringAttr>(attrs::path).getValue(); };
  auto refuse = [&](const llvm::Twine &what) {
    diags.error(Diag::badExport, fn->name.range, what);
    ok = false;
  };
  for (DictionaryAttr a : inputs) {
    if (!seen.insert(pathOf(a)).second)
      refuse("two arguments of this entry point are called '" + pathOf(a) + "': give the parameter another name");
    if (a.contains(attrs::mode))
      changed.insert(pathOf(a));
  }
  seen.clear();
  for (DictionaryAttr a : results) {
    if (a.contains(attrs::inout))
      continue;
    if (!seen.insert(pathOf(a)).second || changed.contains(pathOf(a)))
      refuse("two results of this entry point are called '" + pathOf(a) +
             "': give one another name, such as 'y' in '-> (y: real)'");
  }
  return ok;
}

/// f's results and then the gradients of its floating-point arguments, from cotangents that are further arguments.
void Elaborator::lowerVjp(const ast::FnDecl *fn, Frame &f, const ast::ExportVjpDecl *vjp, func::FuncOp func,
                          std::vector<Value> params, llvm::function_ref<Value(ArrayRef<Value>)> runBody,
                          llvm::function_ref<void(const Value &)> nameResults,
                          SmallVectorImpl<std::pair<TypeRef, std::string>> &resultLeaves,
                          llvm::function_ref<void(TypeRef, const std::string &, mlir::Value)> addResult) {
  Location at = loc(vjp->range);
  Block *body = &func.getBody().front();
  SmallVector<mlir::Value> operands;
  SmallVector<std::pair<TypeRef, std::string>> gradients;
  SmallVector<unsigned> which = vjpParameters(fn, f, vjp);
  for (unsigned k : which)
    forEachLeaf(params[k], fn->params[k].name.text, [&](const Value &leaf, const std::string &path) {
      if (!isFloat(leaf.type->elem))
        return;
      operands.push_back(leaf.ir);
      gradients.push_back({leaf.type, path + "_adj"});
    });
  if (operands.empty()) {
    diags.error(Diag::noDerivative, vjp->range, "'" + fn->name.text + "' takes nothing that has a derivative");
    return;
  }
  Region region;
  Block *inner = new Block;
  region.push_back(inner);
  for (mlir::Value v : operands)
    inner->addArgument(v.getType(), at);
  unsigned next = 0;
  for (unsigned k : which)
    params[k] = mapLeaves(params[k], [&](const Value &leaf) {
      Value v = leaf;
      if (isFloat(leaf.type->elem))
        v.ir = inner->getArgument(next++);
      return v;
    });
  Value y;
  SmallVector<mlir::Value> yields;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(inner);
    y = runBody(params);
    if (y.isError())
      return;
    collectIr(y, yields);
    gnn::YieldOp::create(builder, at, yields);
  }
  nameResults(y);
  SmallVector<mlir::Type> types;
  for (mlir::Value v : yields)
    types.push_back(v.getType());
  auto op = gnn::VjpOp::create(builder, at, types, gnn::TapeType::get(ctx), operands);
  op.getBody().takeBody(region);
  warnOfUnused(fn, vjp, which, op);
  SmallVector<mlir::Value> cotangents;
  for (auto [leaf, value] : llvm::zip(resultLeaves, op.getValues())) {
    addResult(leaf.first, leaf.second, value);
    if (isFloat(leaf.first->elem))
      cotangents.push_back(body->addArgument(value.getType(), at));
  }
  if (cotangents.empty()) {
    diags.error(Diag::noDerivative, vjp->range, "the result of '" + fn->name.text + "' has no derivative");
    return;
  }
  SmallVector<mlir::Type> gradientTypes;
  for (mlir::Value v : operands)
    gradientTypes.push_back(v.getType());
  auto back = gnn::BackOp::create(builder, at, gradientTypes, op.getTape(), cotangents);
  for (auto [leaf, value] : llvm::zip(gradients, back.getGradients()))
    addResult(leaf.first, leaf.second, value);
  // The new arguments are part of the signature before attributes are set on them.
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), {}));
}

} // namespace gnnc::elab

// Functions with a derivative rule of their own, custom_vjp and custom_jvp, and functions of C, which have none
// without.
//
// A rule is a function beside the one it belongs to. That of custom_vjp takes the arguments and then a cotangent for
// each result that has a derivative, and returns a gradient for each parameter that has one; that of custom_jvp takes
// the arguments and then a tangent for each such parameter, and returns a tangent for each such result.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

const ast::CustomRuleDecl *Elaborator::ruleOf(const ast::FnDecl *fn, const ast::Module *module) const {
  if (module)
    for (const ast::Decl *d : module->decls)
      if (const auto *rule = dyn_cast<ast::CustomRuleDecl>(d); rule && rule->function.text == fn->name.text)
        return rule;
  return nullptr;
}

/// The elements of a result: those of a tuple, or the one value.
static ArrayRef<Value> elementsOf(const Value &v) {
  return v.type->kind == Type::tuple ? ArrayRef<Value>(v.parts) : ArrayRef<Value>(v);
}

static StringRef spelling(const ast::CustomRuleDecl *rule) { return rule->forward ? "custom_jvp" : "custom_vjp"; }

/// Calls the rule in the dimensions of the function it belongs to.
Value Elaborator::callRule(const ast::CustomRuleDecl *rule, Frame &callee, ArrayRef<Value> args,
                           ArrayRef<Value> further, TypeRef expected, SourceRange range) {
  const auto *fn = cast<ast::FnDecl>(lookupDecl(rule->rule.text, callee.module));
  Restore<Frame *> in(frame, &callee);
  Call call;
  call.range = range;
  call.callee = fn->name.text;
  for (ArrayRef<Value> part : {args, further})
    for (const Value &v : part) {
      CallArg a;
      a.range = range;
      a.value = v;
      call.args.push_back(std::move(a));
    }
  Closure c;
  c.fn = fn;
  c.module = callee.module;
  Value r = callClosure(c, call);
  return r.isError() ? r : coerce(r, expected, range, ("the result of the rule '" + fn->name.text + "'").str());
}

void Elaborator::checkRule(const ast::CustomRuleDecl *d, const ast::Module &module) {
  const auto *fn = dyn_cast_or_null<ast::FnDecl>(lookupDecl(d->function.text, &module));
  const auto *rule = dyn_cast_or_null<ast::FnDecl>(lookupDecl(d->rule.text, &module));
  for (auto [found, name] : {std::pair(fn, &d->function), std::pair(rule, &d->rule)})
    if (!found)
      diags.error(Diag::unknownName, name->range, "there is no function '" + name->text + "' in this file")
          .note("a rule stands in the file of its function");
  if (!fn || !rule || fn->signatureHasErrors || rule->signatureHasErrors)
    return;
  if (const ast::CustomRuleDecl *first = ruleOf(fn, &module); first != d) {
    diags.error(Diag::redefinedName, d->range, "'" + fn->name.text + "' has two rules")
        .note(first->range, "here is the first one");
    return;
  }
  if (fn == rule) {
    diags.error(Diag::badRule, d->rule.range, "'" + fn->name.text + "' can't be its own rule");
    return;
  }
  if (fn->nondiff) {
    diags.error(Diag::badRule, d->function.range,
                "'" + fn->name.text + "' is held constant by nondiff: it needs no rule");
    return;
  }
  for (const ast::FnDecl *f : {fn, rule})
    for (const ast::FnParam &p : f->params)
      if (p.isInout) {
        diags
            .error(Diag::badRule, d->range,
                   "'" + f->name.text + "' changes its argument '" + p.name.text + "' and can't " +
                       (f == fn ? "have" : "be") + " a rule")
            .note(p.range, "it is inout here");
        return;
      }
  // A call of the rule with arguments of the function's types.
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(builder.getUnknownLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(scratch->getBody());
  Frame &f = openFrame(fn, &module);
  Restore<Frame *> in(frame, &f);
  if (holdsError(f.result) || llvm::any_of(f.params, [&](TypeRef t) { return holdsError(t); }))
    return;
  Location at = loc(d->range);
  std::vector<Value> args, active;
  for (auto [p, type] : llvm::zip(fn->params, f.params)) {
    if (type->kind == Type::function) {
      Closure c;
      c.kind = Closure::isParameter;
      c.signature = type;
      c.range = p.range;
      args.push_back(closureValue(std::move(c)));
      continue;
    }
    args.push_back(placeholder(type, {}, at));
    if (!p.nondiff && hasFloatLeaf(args.back()))
      active.push_back(args.back());
  }
  if (active.empty()) {
    diags.error(Diag::badRule, d->function.range, "'" + fn->name.text + "' takes nothing that has a derivative");
    return;
  }
  Value y = placeholder(f.result, {}, at);
  std::vector<Value> results;
  for (const Value &element : elementsOf(y)) {
    if (element.type->kind != Type::tensor) {
      diags.error(Diag::badRule, d->function.range,
                  "a function with a rule returns tensors and numbers, '" + fn->name.text + "' returns " +
                      str(f.result));
      return;
    }
    if (hasFloatLeaf(element))
      results.push_back(element);
  }
  if (results.empty()) {
    diags.error(Diag::badRule, d->function.range,
                "the result of '" + fn->name.text + "', " + str(f.result) + ", has no derivative");
    return;
  }
  const std::vector<Value> &further = d->forward ? active : results, &given = d->forward ? results : active;
  if (rule->params.size() != args.size() + further.size()) {
    diags
        .error(Diag::badRule, d->rule.range,
               "the rule of " + spelling(d) + " takes the " + counted(args.size(), "argument") + " of '" +
                   fn->name.text + "' and then " + counted(further.size(), d->forward ? "tangent" : "cotangent") +
                   ", '" + rule->name.text + "' takes " + llvm::Twine(rule->params.size()))
        .note(rule->name.range, "it is declared here");
    return;
  }
  use(rule, &module, d->rule.range);
  TypeRef expected = given.size() == 1 ? given.front().type : tupleValue(given).type;
  callRule(d, f, args, further, expected, d->rule.range);
}

/// A call of a function with a rule of its own: its body and the rule, of which differentiation takes the rule.
Value Elaborator::applyRule(const ast::CustomRuleDecl *rule, Frame &callee, ArrayRef<Value> args,
                            llvm::function_ref<Value(ArrayRef<Value>)> run, SourceRange range) {
  Location at = loc(range);
  auto isActive = [&](unsigned k) {
    return !callee.fn->params[k].nondiff && !args[k].closure && hasFloatLeaf(args[k]);
  };
  SmallVector<mlir::Value> inputs;
  for (auto [k, a] : llvm::enumerate(args))
    if (isActive(k))
      forEachLeaf(a, "", [&](const Value &leaf, const std::string &) {
        if (isFloat(leaf.type->elem))
          inputs.push_back(leaf.ir);
      });
  if (inputs.empty())
    return run(args);
  // The arguments with their floating-point leaves replaced by a block's.
  auto inside = [&](Block *block, unsigned from, bool onlyActive) {
    std::vector<Value> values;
    for (auto [k, a] : llvm::enumerate(args)) {
      if (isActive(k))
        values.push_back(mapLeaves(a, [&](const Value &leaf) {
          Value v = leaf;
          if (isFloat(leaf.type->elem))
            v.ir = block->getArgument(from++);
          return v;
        }));
      else if (!onlyActive)
        values.push_back(a);
    }
    return values;
  };
  Region body, reverse;
  auto open = [&](Region &region) {
    Block *block = new Block;
    region.push_back(block);
    for (mlir::Value v : inputs)
      block->addArgument(v.getType(), at);
    return block;
  };
  Value y;
  SmallVector<mlir::Value> yields;
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *forwards = open(body);
    builder.setInsertionPointToEnd(forwards);
    y = run(inside(forwards, 0, false));
    if (y.isError())
      return y;
    collectIr(y, yields);
    gnn::YieldOp::create(builder, at, yields);
  }

  Block *backwards = open(reverse);
  std::vector<Value> further;
  if (rule->forward) {
    for (mlir::Value v : inputs)
      backwards->addArgument(v.getType(), at);
    further = inside(backwards, inputs.size(), true);
  } else {
    for (const Value &element : elementsOf(y))
      if (isFloat(element.type->elem)) {
        Value v = element;
        v.ir = backwards->addArgument(element.ir.getType(), at);
        further.push_back(v);
      }
  }
  std::vector<Value> given;
  if (rule->forward)
    llvm::copy_if(elementsOf(y), std::back_inserter(given), [](const Value &v) { return isFloat(v.type->elem); });
  else
    given = inside(backwards, 0, true);
  TypeRef expected = given.size() == 1 ? given.front().type : tupleValue(given).type;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(backwards);
    Value r = callRule(rule, callee, inside(backwards, 0, false), further, expected, range);
    if (r.isError())
      return r;
    SmallVector<mlir::Value> derived;
    forEachLeaf(r, "", [&](const Value &leaf, const std::string &) {
      if (isFloat(leaf.type->elem))
        derived.push_back(leaf.ir);
    });
    gnn::YieldOp::create(builder, at, derived);
  }
  SmallVector<mlir::Type> types;
  for (mlir::Value v : yields)
    types.push_back(v.getType());
  auto op = gnn::CustomRuleOp::create(builder, at, types, inputs, rule->forward);
  op.getBody().takeBody(body);
  op.getRule().takeBody(reverse);
  SmallVector<mlir::Value> outside(op.getValues().begin(), op.getValues().end());
  ArrayRef<mlir::Value> rest = outside;
  return replaceIr(y, rest);
}

//===----------------------------------------------------------------------===//
// Functions of C
//===----------------------------------------------------------------------===//

/// What can cross into C: numbers, by value.
void Elaborator::checkExtern(const ast::FnDecl *fn, const Frame &f) {
  auto isNumber = [](TypeRef t) { return t->isScalar() && (isFloat(t->elem) || isRuntimeInt(t->elem)); };
  for (auto [p, type] : llvm::zip(fn->params, f.params))
    if (!type->isError() && (!isNumber(type) || p.isInout))
      diags.error(Diag::badType, p.type->range, "an extern function takes numbers, found " + str(type))
          .note("it is called for each element of a tensor: " + fn->name.text + "(x) works for any x");
  if (!f.result->isError() && !isNumber(f.result))
    diags.error(Diag::badType, fn->result ? fn->result->range : fn->name.range,
                "an extern function returns a number, found " + str(f.result));
}

Value Elaborator::externCall(const ast::FnDecl *fn, Elem elem, ArrayRef<Value> args, ArrayRef<Dim> dims, Location at) {
  SmallVector<mlir::Value> operands;
  for (const Value &a : args)
    operands.push_back(a.type->dims.empty() ? broadcastTo(a, dims, {}, at).ir : a.ir);
  mlir::Value r = gnn::ExternCallOp::create(builder, at, irTensor(elem, dims), fn->name.text, operands);
  return tensorValue(r, elem, dims);
}

} // namespace gnnc::elab

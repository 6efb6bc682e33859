// Constants at the boundary: initialisers of parameters, and defaults of arguments.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

std::optional<double> Elaborator::constantNumber(const ast::Expr *e) {
  if (const auto *i = dyn_cast<ast::IntLit>(e))
    return static_cast<double>(i->value);
  if (const auto *f = dyn_cast<ast::FloatLit>(e))
    return f->value;
  if (const auto *b = dyn_cast<ast::BoolLit>(e))
    return b->value;
  if (const auto *n = dyn_cast<ast::NameExpr>(e)) {
    if (n->name == "pi")
      return M_PI;
    if (n->name == "inf")
      return INFINITY;
    return std::nullopt;
  }
  if (const auto *u = dyn_cast<ast::UnaryExpr>(e)) {
    std::optional<double> v = constantNumber(u->operand);
    if (!v)
      return v;
    return u->op == ast::UnaryOp::neg ? -*v : double(*v == 0);
  }
  const auto *b = dyn_cast<ast::BinaryExpr>(e);
  std::optional<double> x = b ? constantNumber(b->lhs) : std::nullopt, y = b ? constantNumber(b->rhs) : std::nullopt;
  if (!x || !y)
    return std::nullopt;
  switch (b->op) {
  case ast::BinaryOp::add:
    return *x + *y;
  case ast::BinaryOp::sub:
    return *x - *y;
  case ast::BinaryOp::mul:
    return *x * *y;
  case ast::BinaryOp::div:
    return *x / *y;
  default:
    return std::nullopt;
  }
}

/// Integers are exact, unlike those that pass through a double.
std::optional<int64_t> Elaborator::constantInt(const ast::Expr *e) {
  if (const auto *i = dyn_cast<ast::IntLit>(e))
    return i->value;
  if (const auto *u = dyn_cast<ast::UnaryExpr>(e); u && u->op == ast::UnaryOp::neg) {
    std::optional<int64_t> v = constantInt(u->operand);
    return v && *v != INT64_MIN ? std::optional(-*v) : std::nullopt;
  }
  const auto *b = dyn_cast<ast::BinaryExpr>(e);
  std::optional<int64_t> x = b ? constantInt(b->lhs) : std::nullopt, y = b ? constantInt(b->rhs) : std::nullopt;
  int64_t result = 0;
  if (!x || !y)
    return std::nullopt;
  bool exact = b->op == ast::BinaryOp::add   ? !llvm::AddOverflow(*x, *y, result)
               : b->op == ast::BinaryOp::sub ? !llvm::SubOverflow(*x, *y, result)
               : b->op == ast::BinaryOp::mul ? !llvm::MulOverflow(*x, *y, result)
                                             : false;
  return exact ? std::optional(result) : std::nullopt;
}

/// key(3), fold(key(3), 1): computed as gnn.fold_key does.
std::optional<uint64_t> Elaborator::constantKey(const ast::Expr *e) {
  const auto *c = dyn_cast<ast::CallExpr>(e);
  const auto *callee = c ? dyn_cast<ast::NameExpr>(c->callee) : nullptr;
  if (!callee || (callee->name != "key" && callee->name != "fold") || c->args.size() != (callee->name == "key" ? 1 : 2))
    return std::nullopt;
  std::optional<uint64_t> key = callee->name == "key" ? std::optional<uint64_t>(0) : constantKey(c->args[0].value);
  std::optional<int64_t> number = constantInt(c->args.back().value);
  if (!key || !number)
    return std::nullopt;
  uint64_t z = *key + 0x9E3779B97F4A7C15u * (static_cast<uint64_t>(*number) + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Attribute Elaborator::constantDefault(const ast::FnParam &param, TypeRef type) {
  if (type->elem == Elem::key) {
    if (std::optional<uint64_t> key = constantKey(param.defaultValue))
      return builder.getI64IntegerAttr(static_cast<int64_t>(*key));
  } else if (type->isScalar() && isRuntimeInt(type->elem)) {
    if (std::optional<int64_t> n = constantInt(param.defaultValue))
      return builder.getIntegerAttr(irElem(type->elem), *n);
  } else if (std::optional<double> v = constantNumber(param.defaultValue); v && type->isScalar()) {
    mlir::Type element = irElem(type->elem);
    if (isa<FloatType>(element))
      return builder.getFloatAttr(element, *v);
    return builder.getIntegerAttr(element, *v != 0);
  }
  diags.error(Diag::badExport, param.defaultValue->range,
              "the default of an entry point's argument is a constant: a number, or a key of one");
  return {};
}

/// `glorot()`, `normal(0.1)`: {fn, args}; null for none or after an error.
DictionaryAttr Elaborator::initialiser(const ast::Expr *init) {
  if (!init)
    return {};
  const auto *c = dyn_cast<ast::CallExpr>(init);
  const auto *callee = c ? dyn_cast<ast::NameExpr>(c->callee) : nullptr;
  int arity = callee ? llvm::StringSwitch<int>(callee->name)
                           .Cases({"glorot", "he", "zeros", "ones"}, 0)
                           .Cases({"normal", "constant"}, 1)
                           .Case("uniform", 2)
                           .Default(-1)
                     : -1;
  if (arity < 0 || (c && c->hasDims)) {
    diags.error(Diag::badInitialiser, init->range, "expected an initialiser")
        .note("it is one of glorot(), he(), zeros(), ones(), normal(deviation), uniform(low, high), constant(value)");
    return {};
  }
  if (static_cast<int>(c->args.size()) != arity) {
    diags.error(Diag::badInitialiser, init->range,
                "'" + callee->name + "' takes " + llvm::Twine(arity) + (arity == 1 ? " argument" : " arguments") +
                    ", found " + llvm::Twine(c->args.size()));
    return {};
  }
  SmallVector<Attribute> args;
  for (const ast::Arg &a : c->args) {
    std::optional<double> v = constantNumber(a.value);
    if (!v || a.name) {
      diags.error(Diag::badInitialiser, a.value->range, "an initialiser takes constants");
      return {};
    }
    args.push_back(builder.getF64FloatAttr(*v));
  }
  auto number = [&](unsigned k) { return cast<FloatAttr>(args[k]).getValueAsDouble(); };
  auto refuse = [&](const ast::Arg &a, const llvm::Twine &what) {
    diags.error(Diag::badInitialiser, a.value->range, what);
    return DictionaryAttr();
  };
  for (unsigned k = 0; k < args.size(); ++k)
    if (!std::isfinite(number(k)))
      return refuse(c->args[k], "'" + callee->name + "' takes finite numbers");
  if (callee->name == "normal" && number(0) < 0)
    return refuse(c->args[0], "the deviation of 'normal' is 0 or more");
  if (callee->name == "uniform" && number(0) > number(1))
    return refuse(c->args[1], "'uniform' takes the lower bound first: this is below it");
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("fn", builder.getStringAttr(callee->name))};
  if (!args.empty())
    attrs.push_back(builder.getNamedAttr("args", builder.getArrayAttr(args)));
  return builder.getDictionaryAttr(attrs);
}

/// One initialiser a leaf. One given to a field of struct type applies to all its real leaves, and where there is none
/// the field's type has its own. In an array of structs it sees one block: it says how many of the leaf's dimensions
/// count blocks.
void Elaborator::initialisers(TypeRef type, DictionaryAttr given, SmallVectorImpl<DictionaryAttr> &out,
                              unsigned blocks) {
  if (type->kind != Type::structure) {
    if (given && blocks) {
      SmallVector<NamedAttribute> attrs(given.begin(), given.end());
      attrs.push_back(builder.getNamedAttr("block_rank", builder.getI64IntegerAttr(blocks)));
      given = builder.getDictionaryAttr(attrs);
    }
    out.push_back(given);
    if (type->graphs)
      out.push_back({}); // of which graph each node is in
    return;
  }
  for (auto [f, t] : llvm::zip(type->decl->fields, fieldTypes(type))) {
    bool takesGiven = given && (t->kind == Type::structure || isFloat(t->elem));
    initialisers(t, takesGiven ? given : initialiser(f.init), out, type->blocks.size());
  }
}

} // namespace gnnc::elab

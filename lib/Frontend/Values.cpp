// Values: made from IR values and compile-time constants, taken apart into leaves and put together again.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::errorValue() const {
  Value v;
  v.type = &errorTy;
  return v;
}

Value Elaborator::unitValue() const {
  Value v;
  v.type = &unitTy;
  return v;
}

Value Elaborator::tensorValue(mlir::Value ir, Elem elem, ArrayRef<Dim> dims, SizeAttr target) {
  Value v;
  v.type = tensor(elem, dims, target);
  v.ir = ir;
  return v;
}

Value Elaborator::integerValue(SizeAttr size) {
  Value v;
  v.type = scalar(Elem::integer);
  v.size = size;
  return v;
}

Value Elaborator::numberValue(double value) {
  Value v;
  v.type = scalar(Elem::number);
  v.constant = value;
  return v;
}

Value Elaborator::tupleValue(std::vector<Value> parts, ArrayRef<StringRef> names) {
  Type t;
  t.kind = Type::tuple;
  for (const Value &p : parts) {
    if (p.isError())
      return errorValue();
    t.elements.push_back(p.type);
  }
  t.names.assign(names.begin(), names.end());
  t.names.resize(parts.size());
  Value v;
  v.type = make(std::move(t));
  v.parts = std::move(parts);
  return v;
}

Value Elaborator::closureValue(Closure closure) {
  Value v;
  Type t;
  t.kind = Type::function;
  v.type = closure.signature ? closure.signature : make(std::move(t));
  v.closure = std::make_shared<Closure>(std::move(closure));
  return v;
}

Value Elaborator::placeholder(TypeRef type, ValueRange operands, Location at) {
  Value v;
  v.type = type;
  switch (type->kind) {
  case Type::tensor:
  case Type::graph:
    v.ir = UnrealizedConversionCastOp::create(builder, at, TypeRange{irType(type)}, operands).getResult(0);
    if (type->graphs)
      v.batch =
          UnrealizedConversionCastOp::create(builder, at, TypeRange{irType(batchType(type))}, operands).getResult(0);
    break;
  case Type::structure:
    for (TypeRef f : fieldTypes(type))
      v.parts.push_back(placeholder(f, operands, at));
    break;
  case Type::opaque: {
    // Some struct: while checking it has one leaf, of any shape.
    Dim any{Dim::pack, var(newPack("L", {}))};
    v.parts.push_back(placeholder(tensor(Elem::real, any), operands, at));
    break;
  }
  case Type::tuple:
    for (TypeRef e : type->elements)
      v.parts.push_back(placeholder(e, operands, at));
    break;
  default:
    break;
  }
  return v;
}

Value Elaborator::retype(const Value &value, TypeRef type) {
  Value v = value;
  v.type = type;
  if (type->kind == Type::structure && !v.parts.empty()) {
    for (auto [part, t] : llvm::zip(v.parts, fieldTypes(type)))
      part = retype(part, t);
  } else if (type->kind == Type::tuple) {
    for (auto [part, t] : llvm::zip(v.parts, type->elements))
      part = retype(part, t);
  } else if (type->kind == Type::graph) {
    v.parts.clear();
    if (!type->graphs)
      v.batch = {};
  }
  return v;
}

void Elaborator::forEachLeaf(const Value &value, StringRef path,
                             llvm::function_ref<void(const Value &, const std::string &)> f) {
  if (value.type->kind == Type::tensor) {
    f(value, path.str());
    return;
  }
  auto below = [&](const llvm::Twine &name) { return path.empty() ? name.str() : (path + "." + name).str(); };
  TypeRef type = resolve(value.type);
  if (value.type->kind == Type::graph)
    return;
  for (auto [k, part] : llvm::enumerate(value.parts)) {
    if (type->kind == Type::structure)
      forEachLeaf(part, below(type->decl->fields[k].name.text), f);
    else
      forEachLeaf(part, below(llvm::Twine(k)), f);
  }
}

Value Elaborator::mapLeaves(const Value &value, llvm::function_ref<Value(const Value &)> f) {
  if (value.type->kind == Type::tensor)
    return f(value);
  Value v = value;
  if (value.type->kind != Type::graph)
    for (Value &part : v.parts)
      part = mapLeaves(part, f);
  return v;
}

void Elaborator::collectIr(const Value &value, SmallVectorImpl<mlir::Value> &out) {
  if (value.ir)
    out.push_back(value.ir);
  if (value.batch)
    out.push_back(value.batch);
  if (value.type->kind != Type::graph)
    for (const Value &part : value.parts)
      collectIr(part, out);
}

Value Elaborator::replaceIr(const Value &value, ArrayRef<mlir::Value> &in) {
  Value v = value;
  if (v.ir) {
    v.ir = in.front();
    in = in.drop_front();
  }
  if (v.batch) {
    v.batch = in.front();
    in = in.drop_front();
  }
  if (value.type->kind == Type::graph)
    v.parts.clear();
  for (Value &part : v.parts)
    part = replaceIr(part, in);
  return v;
}

bool Elaborator::hasFloatLeaf(const Value &value) {
  bool found = false;
  forEachLeaf(value, "", [&](const Value &leaf, const std::string &) { found |= isFloat(leaf.type->elem); });
  return found;
}

Value Elaborator::holdConstant(const Value &value, Location at) {
  return mapLeaves(value, [&](const Value &leaf) {
    if (!leaf.ir || !isFloat(leaf.type->elem))
      return leaf;
    Value held = leaf;
    held.ir = gnn::NondiffOp::create(builder, at, leaf.ir.getType(), leaf.ir);
    return held;
  });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::optional<double> Elaborator::constantOf(const Value &v) {
  if (!v.type->isTensor())
    return std::nullopt;
  if (v.type->elem == Elem::number)
    return v.constant;
  if (v.type->elem == Elem::integer)
    if (std::optional<int64_t> n = v.size.getConstant())
      return static_cast<double>(*n);
  return std::nullopt;
}

mlir::Value Elaborator::constantTensor(Location at, Elem elem, double value) {
  return gnn::splat(builder, at, gnn::scalarType(irElem(elem)), value);
}

mlir::Value Elaborator::constantInteger(Location at, Elem elem, int64_t value) {
  mlir::Type type = irElem(elem);
  if (isa<FloatType>(type))
    return constantTensor(at, elem, static_cast<double>(value));
  TypedAttr attr = builder.getIntegerAttr(type, value);
  return arith::ConstantOp::create(builder, at,
                                   DenseElementsAttr::get(gnn::scalarType(type), ArrayRef<Attribute>(attr)));
}

mlir::Value Elaborator::filled(Location at, Elem elem, ArrayRef<Dim> dims, double value) {
  return gnn::splat(builder, at, irTensor(elem, dims), value);
}

bool Elaborator::literalFits(const Value &value, Elem elem) {
  if (elem != Elem::i32 || !value.type->isTensor() || value.type->elem != Elem::integer)
    return true;
  std::optional<int64_t> n = value.size.getConstant();
  return !n || llvm::isInt<32>(*n);
}

Value Elaborator::materialise(const Value &value, Elem elem, Location at) {
  if (!value.type->isTensor() || !isLiteral(value.type->elem))
    return value;
  if (value.type->elem == Elem::number)
    return tensorValue(constantTensor(at, elem, value.constant), elem);
  if (std::optional<int64_t> constant = value.size.getConstant())
    return tensorValue(constantInteger(at, elem, *constant), elem);
  SizeAttr size = irSize(value.size);
  if (std::optional<int64_t> constant = size.getConstant())
    return tensorValue(constantInteger(at, elem, *constant), elem);
  return tensorValue(gnn::SizeOp::create(builder, at, gnn::scalarType(irElem(elem)), size), elem);
}

Location Elaborator::loc(SourceRange range) {
  if (!range.isValid())
    return callSite.value_or(builder.getUnknownLoc());
  const SourceManager &sources = diags.sourceManager();
  LineColumn place = sources.lineColumn(range.file, range.begin);
  Location at = FileLineColLoc::get(ctx, sources.name(range.file), place.line, place.column);
  return callSite ? Location(CallSiteLoc::get(at, *callSite)) : at;
}

StringRef Elaborator::sourceText(const CallArg &arg) const {
  return arg.range.isValid() ? diags.sourceManager().text(arg.range) : StringRef();
}

} // namespace gnnc::elab

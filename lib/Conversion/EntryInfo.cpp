// Reads what an entry's function says of its arguments.
#include "gnnc/Conversion/EntryInfo.h"
#include "gnnc/Dialect/EntryAttrs.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

StringRef gnnc::dtypeName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  case DType::Index:
    return "index";
  case DType::U8:
    return "u8";
  case DType::Key:
    return "key";
  }
  return "";
}

unsigned gnnc::dtypeBytes(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::I64:
  case DType::Key:
    return 8;
  case DType::Bool:
  case DType::U8:
    return 1;
  default:
    return 4;
  }
}

std::string EntryInfo::setName(int64_t id) const {
  if (id >= 0 && id < static_cast<int64_t>(setNames.size()) && !setNames[id].empty())
    return setNames[id];
  return "s" + std::to_string(id);
}

std::string EntryInfo::sizeText(SizeAttr size) const {
  return size.str([&](int64_t id) { return setName(id); });
}

namespace {
/// The attributes of one argument or result.
struct Reader {
  func::FuncOp func;
  DictionaryAttr attrs;
  std::string what; // for messages

  InFlightDiagnostic fault() const {
    func::FuncOp func = this->func;
    return func.emitError("this is a fault of gnnc: ") << what << " of entry '" << func.getSymName() << "' ";
  }
  StringRef text(StringRef name) const {
    auto attr = attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
    return attr ? attr.getValue() : StringRef();
  }
  template <typename T> T get(StringRef name) const { return attrs ? attrs.getAs<T>(name) : T(); }

  FailureOr<ArgInfo> read(Type type) const;
  FailureOr<DType> elementType(Type type) const;
};
} // namespace

FailureOr<DType> Reader::elementType(Type type) const {
  StringRef named = text(attrs::dtype);
  if (named == "index")
    return DType::Index;
  if (named == "key")
    return DType::Key;
  if (named == "u8")
    return DType::U8;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isInteger(1))
    return DType::Bool;
  return fault() << "has an element type that cannot cross the boundary: " << type, failure();
}

FailureOr<ArgInfo> Reader::read(Type type) const {
  ArgInfo arg;
  arg.path = text(attrs::path).str();
  if (auto graph = dyn_cast<GnnGraphType>(type)) {
    arg.kind = ArgKind::Graph;
    SizeAttr sizes[] = {graph.getSrc(), graph.getDst(), graph.getEdges()};
    for (auto [set, size] : llvm::zip(arg.sets, sizes)) {
      std::optional<int64_t> id = size.getSet();
      if (!id)
        return fault() << "is a graph over " << size.str() << ", which is not a set", failure();
      set = *id;
    }
    return arg;
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return fault() << "has the type " << type, failure();
  FailureOr<DType> dtype = elementType(tensor.getElementType());
  if (failed(dtype))
    return failure();
  arg.dtype = *dtype;
  arg.dims.assign(dimsOf(tensor).begin(), dimsOf(tensor).end());
  StringRef kind = text(attrs::kind);
  arg.kind = kind == "scalar" ? ArgKind::Scalar : kind == "size" ? ArgKind::Size : ArgKind::Tensor;
  arg.mode = text(attrs::mode) == "inout" ? ArgMode::InOut : ArgMode::In;
  if (arg.kind == ArgKind::Size) {
    auto set = get<IntegerAttr>(attrs::set);
    if (!set)
      return fault() << "does not say which set it is the size of", failure();
    arg.sets[0] = set.getInt();
    arg.dtype = DType::I64;
  }
  if (arg.kind != ArgKind::Tensor && tensor.getRank() != 0)
    return fault() << "is passed by value but has dimensions", failure();
  for (SizeAttr dim : arg.dims)
    if (!dim.getQuotients().empty())
      return fault() << "has the dimension " << dim.str() << ", which cannot cross the boundary", failure();
  arg.into = get<SizeAttr>(attrs::into);
  arg.defaultValue = get<Attribute>(attrs::defaultValue);
  arg.init = get<DictionaryAttr>(attrs::init);
  return arg;
}

FailureOr<EntryInfo> gnnc::readEntry(func::FuncOp func) {
  EntryInfo info;
  info.name = func.getSymName().str();
  if (auto doc = func->getAttrOfType<StringAttr>(attrs::doc))
    info.doc = doc.getValue().str();
  if (auto names = func->getAttrOfType<ArrayAttr>(attrs::setNames))
    for (auto name : names.getAsRange<StringAttr>())
      info.setNames.push_back(name.getValue().str());
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    Reader reader{func, func.getArgAttrDict(i), "argument " + std::to_string(i)};
    FailureOr<ArgInfo> arg = reader.read(func.getArgumentTypes()[i]);
    if (failed(arg))
      return failure();
    info.args.push_back(std::move(*arg));
  }
  info.inputs = info.args.size();
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    Reader reader{func, func.getResultAttrDict(i), "result " + std::to_string(i)};
    if (auto target = reader.get<IntegerAttr>(attrs::inout)) {
      if (target.getInt() < 0 || target.getInt() >= info.inputs || info.args[target.getInt()].mode != ArgMode::InOut)
        return reader.fault() << "is the new value of argument " << target.getInt() << ", which is not inout", failure();
      continue;
    }
    FailureOr<ArgInfo> arg = reader.read(func.getResultTypes()[i]);
    if (failed(arg))
      return failure();
    if (arg->path.empty())
      arg->path = func.getNumResults() == 1 ? "out" : "out." + std::to_string(info.args.size() - info.inputs);
    arg->mode = ArgMode::Out;
    info.args.push_back(std::move(*arg));
  }
  return info;
}

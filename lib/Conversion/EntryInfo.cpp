// Reads what an entry's function says of its arguments.
#include "gnnc/Conversion/EntryInfo.h"
#include "gnnc/Dialect/EntryAttrs.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"

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

std::optional<int64_t> gnnc::residualNumber(DictionaryAttr attrs) {
  auto number = attrs ? attrs.getAs<IntegerAttr>(attrs::residual) : IntegerAttr();
  return number ? std::optional<int64_t>(number.getInt()) : std::nullopt;
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
  if (auto set = get<IntegerAttr>(attrs::set); set && arg.kind == ArgKind::Scalar)
    arg.sets[0] = set.getInt();
  if (arg.kind != ArgKind::Tensor && tensor.getRank() != 0)
    return fault() << "is passed by value but has dimensions", failure();
  arg.into = get<SizeAttr>(attrs::into);
  arg.defaultValue = get<Attribute>(attrs::defaultValue);
  arg.init = get<DictionaryAttr>(attrs::init);
  return arg;
}

/// A bound of a size in the sets that arguments determine: sets made inside are replaced by what they cannot exceed.
static SizeAttr boundOf(func::FuncOp func, SizeAttr size) {
  llvm::DenseMap<int64_t, SizeAttr> bounds;
  func.walk([&](DeriveOp op) {
    SizeAttr edges = op.getResult().getType().getEdges(), most = op.mostEdges();
    if (std::optional<int64_t> set = edges.getSet(); set && most && most != edges)
      bounds[*set] = most;
  });
  // Graphs may be made from graphs that are made.
  for (size_t i = 0; i < bounds.size() + 1; ++i)
    size = size.substitute([&](int64_t id) {
      auto it = bounds.find(id);
      return it == bounds.end() ? SizeAttr::set(func.getContext(), id) : it->second;
    });
  return size;
}

/// Describes the block of residuals, given its values; a forward function's is a result, a backward one's an argument.
static ResidualInfo describeResiduals(func::FuncOp func, const EntryInfo &info, std::vector<Type> values) {
  MLIRContext *ctx = func.getContext();
  ResidualInfo residuals;
  residuals.arg = info.args.size();
  residuals.headerBytes = llvm::alignTo(8 * (3 + info.setNames.size()), 64);
  std::string text;
  llvm::raw_string_ostream os(text);
  SizeAttr bytes = SizeAttr::constant(ctx, residuals.headerBytes);
  for (Type type : values) {
    os << type << ';';
    Type element = cast<RankedTensorType>(type).getElementType();
    SizeAttr count = product(ctx, dimsOf(type));
    // Each begins at a multiple of 64.
    bytes = bytes.add(count.scale(element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8))
                .add(SizeAttr::constant(ctx, 64));
  }
  for (const std::string &name : info.setNames)
    os << name << ';';
  residuals.hash = static_cast<int64_t>(llvm::xxh3_64bits(text));
  residuals.bytes = bytes;
  residuals.values = std::move(values);
  return residuals;
}

static ArgInfo residualArgument(ArgMode mode, SizeAttr bytes) {
  ArgInfo arg;
  arg.path = "residuals";
  arg.mode = mode;
  arg.dtype = DType::U8;
  arg.dims = {bytes};
  return arg;
}

/// Sizes in the shapes of arguments that no argument determines become sets of their own.
static void freeUndetermined(func::FuncOp func, EntryInfo &info) {
  llvm::DenseSet<int64_t> determined;
  for (const ArgInfo &arg : info.args) {
    for (int64_t set : arg.sets)
      determined.insert(set);
    for (SizeAttr dim : arg.dims)
      if (arg.mode != ArgMode::Out && dim.getSet())
        determined.insert(*dim.getSet());
  }
  for (ArgInfo &arg : info.args) {
    for (auto [i, dim] : llvm::enumerate(arg.dims)) {
      bool known = true;
      dim.forEachSet([&](int64_t id) { known &= determined.contains(id); });
      if (known || arg.mode == ArgMode::Out)
        continue;
      SizeCheck check{static_cast<int64_t>(info.setNames.size()), dim, ""};
      check.what = "`" + arg.path + "` has the wrong size in dimension " + std::to_string(i) +
                   " (counted from 0): it must be " + info.sizeText(dim);
      dim = SizeAttr::set(func.getContext(), check.set);
      info.setNames.push_back(arg.path + "." + std::to_string(i));
      info.checks.push_back(std::move(check));
    }
  }
}

static void readMarks(func::FuncOp func, EntryInfo &info) {
  if (auto conditions = func->getAttrOfType<ArrayAttr>(attrs::conditions))
    for (auto condition : conditions.getAsRange<DictionaryAttr>())
      info.conditions.push_back(
          {condition.getAs<SizeAttr>("size"), condition.getAs<StringAttr>("message").getValue().str()});
  if (auto pair = func->getAttrOfType<DictionaryAttr>(attrs::vjp)) {
    auto text = [&](StringRef name) { return pair.getAs<StringAttr>(name).getValue().str(); };
    info.vjp = VjpInfo{text("of"), text("forward"), text("backward"), {}};
    for (auto path : pair.getAs<ArrayAttr>("wrt").getAsRange<StringAttr>())
      info.vjp->wrt.push_back(path.getValue().str());
  }
}

/// Whether a function is the backward one of a pair.
static bool isBackward(func::FuncOp func) {
  for (auto other : func->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (auto pair = other->getAttrOfType<DictionaryAttr>(attrs::vjp))
      if (pair.getAs<StringAttr>("backward") == func.getSymNameAttr())
        return true;
  return false;
}

FailureOr<EntryInfo> gnnc::readEntry(func::FuncOp func) {
  EntryInfo info;
  info.name = func.getSymName().str();
  if (auto doc = func->getAttrOfType<StringAttr>(attrs::doc))
    info.doc = doc.getValue().str();
  if (auto names = func->getAttrOfType<ArrayAttr>(attrs::setNames))
    for (auto name : names.getAsRange<StringAttr>())
      info.setNames.push_back(name.getValue().str());
  readMarks(func, info);

  // The residuals of a backward function stand side by side among its arguments and are one argument in C.
  std::vector<Type> kept;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (residualNumber(func.getArgAttrDict(i)))
      kept.push_back(func.getArgumentTypes()[i]);
  bool backward = isBackward(func);
  auto addResiduals = [&] {
    info.residuals = describeResiduals(func, info, kept);
    info.args.push_back(residualArgument(ArgMode::In, SizeAttr::set(func.getContext(), info.setNames.size())));
    info.setNames.push_back("residuals");
  };
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    // They follow the graphs, also where there are none.
    if (backward && !info.residuals && !isa<GnnGraphType>(func.getArgumentTypes()[i]))
      addResiduals();
    if (residualNumber(func.getArgAttrDict(i))) {
      info.argumentOf.push_back(info.residuals->arg);
      continue;
    }
    Reader reader{func, func.getArgAttrDict(i), "argument " + std::to_string(i)};
    FailureOr<ArgInfo> arg = reader.read(func.getArgumentTypes()[i]);
    if (failed(arg))
      return failure();
    info.argumentOf.push_back(info.args.size());
    info.args.push_back(std::move(*arg));
  }
  if (backward && !info.residuals)
    addResiduals();
  info.inputs = info.args.size();
  kept.clear();
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    if (residualNumber(func.getResultAttrDict(i))) {
      kept.push_back(func.getResultTypes()[i]);
      continue;
    }
    Reader reader{func, func.getResultAttrDict(i), "result " + std::to_string(i)};
    if (auto target = reader.get<IntegerAttr>(attrs::inout)) {
      int64_t arg = target.getInt();
      if (arg < 0 || arg >= func.getNumArguments() || info.args[info.argumentOf[arg]].mode != ArgMode::InOut)
        return reader.fault() << "is the new value of argument " << arg << ", which is not inout", failure();
      info.resultOf.push_back(info.argumentOf[arg]);
      continue;
    }
    FailureOr<ArgInfo> arg = reader.read(func.getResultTypes()[i]);
    if (failed(arg))
      return failure();
    if (arg->path.empty())
      arg->path = func.getNumResults() == 1 ? "out" : "out." + std::to_string(info.args.size() - info.inputs);
    arg->mode = ArgMode::Out;
    info.resultOf.push_back(info.args.size());
    info.args.push_back(std::move(*arg));
  }
  // A forward function's residuals are its last results; it has the argument also where there is nothing to keep.
  if (info.vjp) {
    info.residuals = describeResiduals(func, info, kept);
    info.residuals->bytes = boundOf(func, info.residuals->bytes);
    info.args.push_back(residualArgument(ArgMode::Out, info.residuals->bytes));
    info.resultOf.resize(func.getNumResults(), info.residuals->arg);
  }
  freeUndetermined(func, info);
  return info;
}

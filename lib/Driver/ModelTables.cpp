// The object's tables (runtime/include/gnnrt/abi.h) and its visible functions, as LLVM IR. A visible function stores
// its arguments in an array and hands it to the runtime with the description of its entry.
#include "CodeGen.h"

#include "llvm/IR/IRBuilder.h"

#include <gnnrt/gnnrt.h>

using namespace llvm;
using namespace gnnc;

namespace {
constexpr int32_t flagFailsLate = 1; // GNNRT_ENTRY_FAILS_LATE

class TableWriter {
public:
  TableWriter(Module &module, const ModelInfo &model)
      : module(module), model(model), ctx(module.getContext()), ptr(PointerType::getUnqual(ctx)),
        i32(Type::getInt32Ty(ctx)), i64(Type::getInt64Ty(ctx)), sizeType(StructType::get(ctx, {ptr, i32, i32})),
        argType(StructType::get(ctx, {ptr, ptr, i32, i32, i32, i32, ArrayType::get(i32, 3), i32, sizeType})) {}

  void addEntry(const EntryInfo &entry);
  void addModel(ArrayRef<EntryInfo> entries);

private:
  Module &module;
  const ModelInfo &model;
  LLVMContext &ctx;
  PointerType *ptr;
  IntegerType *i32, *i64;
  StructType *sizeType, *argType;
  std::vector<Constant *> descriptions;

  Constant *number(int64_t value) { return ConstantInt::getSigned(i32, value); }
  GlobalVariable *constant(Constant *value, const Twine &name) {
    auto *global =
        new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, value, name);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  }
  Constant *text(StringRef value) { return constant(ConstantDataArray::getString(ctx, value), "gnnc_text"); }
  Constant *array(ArrayRef<Constant *> values, Type *element, const Twine &name) {
    if (values.empty())
      return ConstantPointerNull::get(ptr);
    return constant(ConstantArray::get(ArrayType::get(element, values.size()), values), name);
  }
  Constant *size(gnn::SizeAttr size);
  Constant *argument(const EntryInfo &entry, const ArgInfo &arg);
  void addFunction(const EntryInfo &entry, Constant *description);
};
} // namespace

static int32_t abiDtype(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 0;
  case DType::F64:
    return 1;
  case DType::I32:
    return 2;
  case DType::I64:
  case DType::Key:
    return 3;
  case DType::Bool:
    return 4;
  case DType::Index:
    return 5;
  case DType::U8:
    return 6;
  }
  return -1;
}

/// The words of a gnnrt_size: the terms, then the quotients.
static std::vector<int64_t> flattened(gnn::SizeAttr size) {
  std::vector<int64_t> words(size.getTerms());
  for (gnn::CeilDivAttr quotient : size.getQuotients()) {
    std::vector<int64_t> numerator = flattened(quotient.getNumerator());
    words.push_back(quotient.getDivisor());
    words.push_back(static_cast<int64_t>(numerator.size()) + 1);
    words.push_back(static_cast<int64_t>(quotient.getNumerator().getTerms().size()));
    words.insert(words.end(), numerator.begin(), numerator.end());
  }
  return words;
}

Constant *TableWriter::size(gnn::SizeAttr size) {
  if (!size)
    return ConstantAggregateZero::get(sizeType);
  std::vector<Constant *> words;
  for (int64_t word : flattened(size))
    words.push_back(ConstantInt::getSigned(i64, word));
  return ConstantStruct::get(sizeType, {array(words, i64, "gnnc_size"), number(size.getTerms().size()), number(0)});
}

Constant *TableWriter::argument(const EntryInfo &entry, const ArgInfo &arg) {
  std::vector<Constant *> dims;
  for (gnn::SizeAttr dim : arg.dims)
    dims.push_back(size(dim));
  int64_t sets[3] = {arg.sets[0], arg.sets[1], arg.sets[2]};
  gnn::SizeAttr target;
  if (arg.dtype == DType::Index && arg.kind == ArgKind::Tensor && arg.into) {
    std::optional<int64_t> set = arg.into.getSet();
    sets[0] = set.value_or(-1);
    if (!set)
      target = arg.into;
  }
  auto *setArray = ConstantArray::get(ArrayType::get(i32, 3), {number(sets[0]), number(sets[1]), number(sets[2])});
  return ConstantStruct::get(argType,
                             {text(arg.path), array(dims, sizeType, "gnnc_dims"), number(static_cast<int>(arg.kind)),
                              number(static_cast<int>(arg.mode)), number(abiDtype(arg.dtype)), number(dims.size()),
                              setArray, number(0), size(target)});
}

void TableWriter::addFunction(const EntryInfo &entry, Constant *description) {
  std::vector<Type *> types{ptr};
  for (const ArgInfo &arg : entry.args) {
    bool real = arg.kind == ArgKind::Scalar && (arg.dtype == DType::F32 || arg.dtype == DType::F64);
    bool pointer = arg.kind == ArgKind::Graph || arg.kind == ArgKind::Tensor;
    types.push_back(pointer ? static_cast<Type *>(ptr) : real ? Type::getDoubleTy(ctx) : i64);
  }
  auto *function =
      Function::Create(FunctionType::get(i32, types, false), GlobalValue::ExternalLinkage, entry.name, module);
  IRBuilder<> b(BasicBlock::Create(ctx, "", function));
  Value *values = b.CreateAlloca(i64, b.getInt32(std::max<size_t>(entry.args.size(), 1)));
  for (unsigned i = 0; i < entry.args.size(); ++i)
    b.CreateStore(function->getArg(i + 1), b.CreateConstInBoundsGEP1_64(i64, values, i));
  FunctionCallee call = module.getOrInsertFunction("gnnrt_call", i32, ptr, ptr, ptr, i32);
  b.CreateRet(b.CreateCall(call, {function->getArg(0), description, values, number(entry.args.size())}));
}

void TableWriter::addEntry(const EntryInfo &entry) {
  std::vector<Constant *> args, names;
  for (const ArgInfo &arg : entry.args)
    args.push_back(argument(entry, arg));
  for (const std::string &name : entry.setNames)
    names.push_back(text(name));
  Constant *description = ConstantStruct::getAnon(
      ctx, {text(entry.name), array(args, argType, entry.name + ".args"), array(names, ptr, entry.name + ".sets"),
            module.getFunction(entry.name + ".body"), number(args.size()), number(names.size()),
            number(GNNRT_ABI_VERSION), number(entry.failsLate ? flagFailsLate : 0)});
  descriptions.push_back(constant(description, entry.name + ".entry"));
  addFunction(entry, descriptions.back());
}

void TableWriter::addModel(ArrayRef<EntryInfo> entries) {
  Constant *table = ConstantStruct::getAnon(
      ctx, {array(descriptions, ptr, "gnnc_entries"), text(makeManifest(entries, model)), text(model.processor.name),
            text(model.processor.required), number(descriptions.size()), number(GNNRT_ABI_VERSION)});
  new GlobalVariable(module, table->getType(), /*isConstant=*/true, GlobalValue::ExternalLinkage, table, "gnnc_model");
}

void gnnc::addModelTables(Module &module, ArrayRef<EntryInfo> entries, const ModelInfo &model) {
  TableWriter writer(module, model);
  for (const EntryInfo &entry : entries)
    writer.addEntry(entry);
  writer.addModel(entries);
}

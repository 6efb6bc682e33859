// Helpers for host code in the llvm dialect.
#include "HostCode.h"

using namespace mlir;
using namespace gnnc;

Value HostCode::at(Value base, Type element, int64_t index) {
  if (index == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, ptr(), element, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Value HostCode::load(Value base, Type type, int64_t index) {
  return LLVM::LoadOp::create(b, loc, type, at(base, type, index));
}

void HostCode::store(Value value, Value base, int64_t index) {
  LLVM::StoreOp::create(b, loc, value, at(base, value.getType(), index));
}

Value HostCode::local(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  Value size = integer(count);
  return LLVM::AllocaOp::create(b, loc, ptr(), element, size, /*alignment=*/8);
}

Value HostCode::mulSizes(Value x, Value y) {
  Type pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i64(), b.getI1Type()});
  Value result = LLVM::SMulWithOverflowOp::create(b, loc, pair, x, y);
  Value product = LLVM::ExtractValueOp::create(b, loc, result, 0);
  Value overflow = LLVM::ExtractValueOp::create(b, loc, result, 1);
  return LLVM::SelectOp::create(b, loc, overflow, integer(INT64_MAX), product);
}

Value HostCode::call(StringRef name, Type result, ValueRange args) {
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!func) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type type = LLVM::LLVMFunctionType::get(result ? result : Type(LLVM::LLVMVoidType::get(b.getContext())),
                                            llvm::to_vector(args.getTypes()));
    func = LLVM::LLVMFuncOp::create(b, module.getLoc(), name, type);
  }
  auto op = LLVM::CallOp::create(b, loc, func, args);
  return result ? op.getResult() : Value();
}

Value HostCode::text(StringRef value) {
  std::string &name = texts[value];
  if (name.empty()) {
    name = "gnnc_text_" + std::to_string(texts.size());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string bytes = value.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           b.getStringAttr(bytes));
  }
  return addressOf(name);
}

Value HostCode::data(Type type, Attribute value, StringRef name) {
  std::string unique = name.str();
  for (unsigned i = 1; module.lookupSymbol(unique); ++i)
    unique = (name + "_" + Twine(i)).str();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, unique, value,
                           /*alignment=*/64);
  }
  return addressOf(unique);
}

Block *HostCode::block(TypeRange arguments) {
  return b.createBlock(failed, arguments, SmallVector<Location>(arguments.size(), loc));
}

Block *HostCode::begin(LLVM::LLVMFuncOp func) {
  entry = func.addEntryBlock(b);
  failed = func.addBlock();
  Value status = failed->addArgument(i32(), loc);
  b.setInsertionPointToStart(failed);
  LLVM::ReturnOp::create(b, loc, status);
  b.setInsertionPointToStart(entry);
  return entry;
}

void HostCode::require(Value condition, llvm::function_ref<Value()> status) {
  Block *here = b.getInsertionBlock();
  Block *next = b.createBlock(failed);
  Block *fault = b.createBlock(failed);
  b.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(b, loc, condition, next, fault);
  b.setInsertionPointToEnd(fault);
  Value code = status();
  LLVM::BrOp::create(b, loc, ValueRange{code}, failed);
  b.setInsertionPointToEnd(next);
}

void HostCode::returnIfFailed(Value status) {
  Block *here = b.getInsertionBlock();
  Block *next = b.createBlock(failed);
  b.setInsertionPointToEnd(here);
  Value good = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, status, integer32(0));
  LLVM::CondBrOp::create(b, loc, good, next, ValueRange(), failed, ValueRange{status});
  b.setInsertionPointToEnd(next);
}

void HostCode::returnIfNull(Value pointer) {
  constexpr int32_t internal = 14; // GNNRT_ERROR_INTERNAL; the runtime reports what it recorded instead
  Value there = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, pointer, null());
  require(there, [&] { return integer32(internal); });
}

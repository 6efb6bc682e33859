// Code of the host in the llvm dialect: calls into the runtime, memory, checks of what they return.
#ifndef GNNC_LIB_CONVERSION_HOSTCODE_H
#define GNNC_LIB_CONVERSION_HOSTCODE_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace gnnc {

class HostCode {
public:
  explicit HostCode(mlir::ModuleOp module) : b(module.getContext()), module(module), loc(module.getLoc()) {}

  mlir::OpBuilder b;
  mlir::ModuleOp module;
  mlir::Location loc; // of what is emitted next

  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::Type i32() { return b.getI32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Value integer(int64_t value) { return constant(i64(), value); }
  mlir::Value integer32(int32_t value) { return constant(i32(), value); }
  mlir::Value null() { return mlir::LLVM::ZeroOp::create(b, loc, ptr()); }

  /// The address of element `index` of an array of `element` at `base`.
  mlir::Value at(mlir::Value base, mlir::Type element, int64_t index);
  mlir::Value load(mlir::Value base, mlir::Type type, int64_t index = 0);
  void store(mlir::Value value, mlir::Value base, int64_t index = 0);
  /// Memory of the function at hand: one block for the whole call, allocated at its entry.
  mlir::Value local(mlir::Type element, int64_t count);

  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::LLVM::AddOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::LLVM::MulOp::create(b, loc, x, y); }
  /// Of sizes: what 64 bits can't hold becomes the largest number, which the runtime refuses to reserve.
  mlir::Value addSizes(mlir::Value x, mlir::Value y) { return mlir::LLVM::SAddSat::create(b, loc, x, y); }
  mlir::Value mulSizes(mlir::Value x, mlir::Value y);

  /// Calls a function of the runtime (declared on first use); no value for a void one.
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange args);
  /// The address of a constant, zero-terminated text; equal texts share it.
  mlir::Value text(llvm::StringRef value);
  /// The address of constant data.
  mlir::Value data(mlir::Type type, mlir::Attribute value, llvm::StringRef name);
  mlir::Value addressOf(llvm::StringRef symbol) { return mlir::LLVM::AddressOfOp::create(b, loc, ptr(), symbol); }

  /// A new block, to which code is appended from here on.
  mlir::Block *block(mlir::TypeRange arguments = {});
  /// Goes to another block.
  void jump(mlir::Block *to, mlir::ValueRange arguments = {}) { mlir::LLVM::BrOp::create(b, loc, arguments, to); }

  /// Begins a function that returns a status.
  mlir::Block *begin(mlir::LLVM::LLVMFuncOp func);
  /// Returns `status` from the function if it is not 0.
  void returnIfFailed(mlir::Value status);
  /// Returns with the failure that the runtime recorded if a pointer is null.
  void returnIfNull(mlir::Value pointer);
  /// Returns `status` if `condition` holds not.
  void require(mlir::Value condition, llvm::function_ref<mlir::Value()> status);

private:
  mlir::Value constant(mlir::Type type, int64_t value) {
    return mlir::LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
  }
  mlir::Block *entry = nullptr, *failed = nullptr;
  llvm::StringMap<std::string> texts;
};

} // namespace gnnc

#endif

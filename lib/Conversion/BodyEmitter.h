// The emitter of one entry's body, whose methods are in LowerEntry.cpp, LowerStructure.cpp and LowerControlFlow.cpp.
#ifndef GNNC_LIB_CONVERSION_BODYEMITTER_H
#define GNNC_LIB_CONVERSION_BODYEMITTER_H

#include "LowerEntry.h"
#include "Traffic.h"

namespace gnnc {

// Values of abi.h.
enum : int32_t { errorArgument = 1, errorShape = 3, errorIndex = 5 };
int32_t abiDtype(mlir::Type element);

class BodyEmitter {
public:
  BodyEmitter(mlir::func::FuncOp func, const EntryInfo &info, MemoryPlan &plan, KernelLibrary &kernels, HostCode &host)
      : func(func), info(info), plan(plan), kernels(kernels), host(host), b(host.b) {}
  void run();

private:
  mlir::func::FuncOp func;
  const EntryInfo &info;
  MemoryPlan &plan;
  KernelLibrary &kernels;
  HostCode &host;
  mlir::OpBuilder &b;

  mlir::Value frame, buffers, sizes;                   // the body's arguments
  mlir::Value kernelArgs, combines, phases, stepWords; // scratch for launches
  llvm::DenseMap<gnn::SizeAttr, mlir::Value> sizeValues;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; // of roots that are not buffers or outputs; graphs and orders too
  llvm::DenseMap<unsigned, mlir::Value> outputs;     // by argument
  llvm::SmallVector<mlir::Value> bufferPointers, residualPointers;

  // Layout of gnnrt_combine in 8-byte words: four pointers, row_elements, then kind and dtype.
  static constexpr int64_t combineWords = 6;

  mlir::Value size(gnn::SizeAttr size);
  mlir::Value pointer(mlir::Value value);
  mlir::Value scalar(mlir::Value value);
  mlir::Value integer(mlir::Value value);
  void emitOp(mlir::Operation *op);
  void emitDerive(gnn::DeriveOp op);
  void emitSearch(gnn::SearchOp op);
  std::pair<mlir::Value, mlir::Value> describeInputs(mlir::ValueRange inputs);
  void emitOrderBy(gnn::OrderByOp op);
  void emitCheck(gnn::CheckIndexOp op);
  void emitSize(gnn::SizeOp op);
  void emitDefineSize(gnn::DefineSizeOp op);
  void emitView(gnn::SelectIndexOp op);
  void setSize(int64_t set, mlir::Value value);
  void emitFoldKey(gnn::FoldKeyOp op);
  void emitKernelStep(gnn::KernelOp op);
  void emitGroupStep(gnn::GroupOp op);
  void emitGemm(gnn::GemmOp op);
  void emitCopy(const OutputCopy &copy);
  // Branches and loops.
  struct Turns;
  void emitBlock(mlir::Block &block);
  void emitIf(gnn::IfOp op);
  void emitFor(gnn::ForOp op);
  void emitWhile(gnn::WhileOp op);
  Turns beginTurns(mlir::Operation *loop);
  void enterTurn(const Turns &turns, mlir::Block *header, unsigned first);
  llvm::SmallVector<mlir::Value> nextTurn(const Turns &turns, mlir::Block *header, unsigned first);
  void leaveTurns(const Turns &turns, mlir::Block *header, unsigned first);
  void emitSizeChecks();
  void failUnless(mlir::Value condition, int32_t status, const std::string &message);
  void obtainOutputs();
  void readResidualHeader(mlir::Value block);
  void writeResidualHeader(mlir::Value block);
  void placeResiduals(mlir::Value block);
  mlir::Value constantData(mlir::arith::ConstantOp op);
  void reserve(unsigned phase);
  mlir::Value bufferBytes(const PlannedBuffer &buffer);
  mlir::Value slotCount(gnn::KernelOp op);
  mlir::Value cutEntries(const KernelSpace &space) { return size(entrySize(space, space.sizes[space.row])); }
  gnn::SizeAttr entrySize(const KernelSpace &space, gnn::SizeAttr size) {
    return size.substitute([&](int64_t id) { return gnn::SizeAttr::set(func.getContext(), space.sets[id]); });
  }
  /// The buffer of an op for a purpose.
  mlir::Value buffer(mlir::Operation *op, PlannedBuffer::Purpose purpose, unsigned result = 0, bool extreme = false);
  void fillCombine(unsigned number, gnn::KernelOp op, unsigned result, bool bare, std::optional<unsigned> winner,
                   mlir::Value rowElements, int32_t kind);
  unsigned fillCombines(gnn::KernelOp op, const KernelSpace &space);
  mlir::Value describeStep(mlir::Operation *op, llvm::StringRef title, const Traffic &traffic);
};

} // namespace gnnc

#endif

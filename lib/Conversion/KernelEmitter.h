// Emission of one kernel's function: the state that its parts share.
//
// A kernel is a nest of loops: rows of a task, other parallel iterators, blocks of lanes, and inside these what is
// reduced, with accumulators carried in registers. An operand is loaded in the outermost loop in which its place is
// known.
#ifndef GNNC_LIB_CONVERSION_KERNELEMITTER_H
#define GNNC_LIB_CONVERSION_KERNELEMITTER_H

#include "Combine.h"
#include "Lanes.h"
#include "LowerKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gnnc {

class KernelEmitter {
public:
  KernelEmitter(const KernelSpace &space, mlir::ModuleOp module, mlir::Location loc)
      : space(space), module(module), loc(loc), b(module.getContext()) {}
  mlir::LLVM::LLVMFuncOp emit(llvm::StringRef name);

private:
  const KernelSpace &space;
  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::OpBuilder b;

  // Set up at the function's entry.
  mlir::Operation *prologueEnd = nullptr; // sizes are computed behind it
  llvm::SmallVector<mlir::Value> indexPointers, inputPointers, resultPointers, extremePointers, setSizes;
  llvm::DenseMap<gnn::SizeAttr, mlir::Value> sizeValues;
  mlir::Value rowBegin, rowEnd, entryBegin, entryEnd, slot, inSlot; // of the task
  mlir::Value orderPtr, orderPerm;
  mlir::Value zeros, minusOnes;     // 64 bytes that stand in for what is read at none
  llvm::SmallVector<unsigned> nest; // iterators from outside to inside
  llvm::SmallVector<unsigned> levelOf;
  llvm::SmallVector<unsigned> indexLevels, inputLevels;
  llvm::SmallVector<bool> indexVaries; // from lane to lane
  unsigned maxLanes = 16;

  // At the point of emission.
  llvm::SmallVector<mlir::Value> iteratorValues; // of lanes: the first of the block
  llvm::SmallVector<Lanes> indexValues;          // i32
  llvm::SmallVector<Lanes> inputValues;
  llvm::SmallVector<Piece> pieces;
  llvm::SmallVector<Accumulator> accumulators;
  llvm::SmallVector<mlir::Value> state;    // accumulators' parts: for each, its values, then its winners
  llvm::SmallVector<unsigned> stateWidths; // the width of each part; {0} for scalars
  mlir::Value segmentBegin, segmentEnd;

  bool lanesAreParallel() const { return space.vec >= 0 && space.kinds[space.vec] == gnn::IteratorKind::Parallel; }
  bool lanesAreReduced() const { return space.vec >= 0 && !lanesAreParallel(); }
  bool isTaskRange(unsigned iterator) const {
    return static_cast<int>(iterator) == space.row && space.launch != LaunchKind::Once;
  }

  // KernelEmitter.cpp: the function and its loops.
  void plan();
  void emitPrologue(mlir::LLVM::LLVMFuncOp func);
  mlir::Value i64(int64_t value);
  mlir::Value size(gnn::SizeAttr size);
  mlir::Value loadField(mlir::Value pointer, unsigned index, mlir::Type type);
  std::pair<mlir::Value, mlir::Value> range(unsigned iterator);
  void emitLevel(unsigned level);
  void emitReductions(unsigned level);
  void emitFor(mlir::Value lower, mlir::Value upper, mlir::Value step, llvm::function_ref<void(mlir::Value)> body);
  void emitIterations(unsigned iterator, llvm::function_ref<void()> body);
  void emitLaneBlocks(llvm::function_ref<void()> body);
  void emitStaticBlocks(int64_t count, unsigned perBlock, llvm::function_ref<void()> body);
  void emitDynamicBlocks(mlir::Value lower, mlir::Value upper, unsigned perBlock, llvm::function_ref<void()> body);
  void setPieces(unsigned count, unsigned width);
  void setMaskedPieces(unsigned count, unsigned width, mlir::Value alive);
  void setStaticPieces(int64_t lanes);
  unsigned blockPieces() const;
  unsigned reducedWidth() const;
  llvm::SmallVector<Lanes> evaluate(llvm::ArrayRef<unsigned> wanted = {});
  Lanes iteratorLanes(unsigned iterator);

  // Access.cpp: loads and stores.
  bool varies(const Access &access) const;
  bool contiguous(const Access &access) const;
  unsigned levelFor(const Access &access) const;
  mlir::Type memoryType(mlir::Type element) const;
  mlir::Value scaled(mlir::Value value, gnn::SizeAttr stride);
  mlir::Value uniformOffset(const Access &access, bool isResult);
  mlir::Value laneOffsets(const Access &access, unsigned piece);
  mlir::Value allThere(const Access &access, bool varying, unsigned piece);
  mlir::Value standIn(bool forIndex);
  mlir::Value aliveLanes(const Piece &piece);
  mlir::Value elementPointer(mlir::Value base, mlir::Type memory, mlir::Value offset);
  Lanes load(const Access &access, mlir::Value base, bool isIndex);
  void loadAt(unsigned level, const llvm::SetVector<mlir::Value> *which = nullptr);
  void prefetch(mlir::Value position);
  void store(mlir::Value base, const Access &access, const Lanes &value);

  // Accumulate.cpp: combination.
  unsigned parts() const { return stateWidths.size(); }
  void startAccumulators();
  void accumulate(llvm::ArrayRef<Lanes> values);
  void finishAccumulators();
  Extremum acrossLanes(const Accumulator &acc, llvm::ArrayRef<Extremum> parts);
  mlir::Value nonEmpty();
  mlir::Value firstNumber();
  mlir::Value orEmpty(mlir::Value any, mlir::Value value, mlir::TypedAttr empty);
  void storeExtremum(const Accumulator &acc, const Lanes &values);
  unsigned winnerIterator() const;

  // Shares.cpp: kernels that send what rows give to their winners.
  llvm::SetVector<mlir::Value> sent;          // what the value and the tag of a row are made from
  mlir::Value laneValues, laneTags, laneSink; // 64 bytes each on the stack
  void emitShares();
  gnn::SizeAttr targetStride() const;
  mlir::Value targetPointer(mlir::Value target);
  void clearLanes();
  void prefetchShares(mlir::Value row);
  mlir::Value lanesInMemory(unsigned yielded, mlir::Value lanes, mlir::Value stack);
  void sendLanes(mlir::Value values, mlir::Value targets, bool allHaveWon);
  void shareRow();
  void shareAmongEntries(mlir::Value y, mlir::Value tied);
  void forEachEntry(llvm::function_ref<void()> body);
};

} // namespace gnnc

#endif

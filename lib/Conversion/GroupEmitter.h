// Emission of a group's function: the state that its parts share.
//
// A row runs the stages of the plan one after the other. A sweep takes the row's entries in chunks: values of entries
// are computed for a whole chunk into a buffer beside the loop, then the reductions that read them run over the chunk,
// with accumulators in registers. A member of many features holds them in several vectors, one entry at a time; one of
// few features takes several entries at once, as many as fill a vector.
#ifndef GNNC_LIB_CONVERSION_GROUPEMITTER_H
#define GNNC_LIB_CONVERSION_GROUPEMITTER_H

#include "Combine.h"
#include "GroupPlan.h"
#include "Lanes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace gnnc {

/// How the points of a member's features lie in vectors: for each vector the point in each lane, -1 where there is
/// none. With several entries at once there is one vector, and an entry has `perEntry` lanes of it.
struct LaneLayout {
  unsigned entries = 1, perEntry = 0;
  llvm::SmallVector<llvm::SmallVector<int64_t, 16>> vectors; // of one entry
  unsigned segment = 1; // where features are summed: so many lanes of a vector are added to one

  unsigned width() const { return vectors[0].size(); }
};

class GroupEmitter {
public:
  GroupEmitter(const GroupPlan &plan, mlir::ModuleOp module, mlir::Location loc)
      : plan(plan), module(module), loc(loc), b(module.getContext()) {}
  mlir::LLVM::LLVMFuncOp emit(llvm::StringRef name);

private:
  /// Some entries at consecutive positions of the order.
  struct Entries {
    mlir::Value position, inChunk;                  // of the first one, in the order and in the chunk
    llvm::SmallVector<mlir::Value> numbers, others; // of each: its number (i64), the node at its other end (i32)
  };
  struct Running {
    unsigned member;
    LaneLayout layout;
    llvm::SmallVector<Accumulator> accumulators;
    llvm::SmallVector<mlir::Value> state; // for each accumulator its vectors, then its winners
  };

  const GroupPlan &plan;
  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::OpBuilder b;

  unsigned lanes = 16; // of a vector
  int64_t chunk = 64;  // entries
  llvm::SmallVector<mlir::Value> pointers, scratch, kept;
  llvm::SmallVector<LaneLayout> layouts; // for each member, where its outputs lie
  mlir::Value rowBegin, rowEnd, entryBegin, entryEnd, slot, phase, firstSlot, inSlot, allPhases;
  mlir::Value orderPtr, orderPerm, orderOther, zeros;
  mlir::Value row, segmentBegin, segmentEnd;
  llvm::DenseMap<std::pair<unsigned, unsigned>, Lanes> rowValues; // inputs that depend on the row alone
  llvm::SmallVector<unsigned> prefetched;                         // pointers, in a sweep

  // GroupEmitter.cpp: the function, its stages and loops.
  void emitPrologue(mlir::LLVM::LLVMFuncOp func);
  void emitRow();
  void emitStage(unsigned number);
  void emitSweep(const GroupStage &stage, unsigned number);
  void emitRowStep(const GroupStage &stage);
  void emitEntries(unsigned member, mlir::Value chunkBegin, mlir::Value count);
  void emitReductions(llvm::MutableArrayRef<Running> running, mlir::Value chunkBegin, mlir::Value count);
  void accumulate(Running &running, const Entries &at, mlir::Value left);
  void startReduction(Running &running);
  void finishReduction(Running &running);
  void loadRowValues(unsigned member, const LaneLayout &layout);
  mlir::Value rowOf(const GroupMember &member, const GroupResult &result);
  mlir::Value i64(int64_t value);
  void emitFor(mlir::Value lower, mlir::Value upper, int64_t step, llvm::SmallVectorImpl<mlir::Value> &state,
               llvm::function_ref<void(mlir::Value)> body);

  // GroupLanes.cpp: layouts, and bodies evaluated on them.
  void chooseLayouts();
  LaneLayout plainLayout(int64_t points, bool mayGroup) const;
  LaneLayout sumLayout(const GroupMember &member) const;
  llvm::SmallVector<Lanes> evaluate(unsigned member, const LaneLayout &layout, const Entries &at);
  llvm::SmallVector<mlir::Value> evaluateSums(unsigned member, const Entries &at);
  mlir::Value sumSegments(llvm::SmallVector<mlir::Value> vectors, unsigned segment);
  mlir::Value joined(llvm::ArrayRef<mlir::Value> vectors);
  mlir::Value repeated(mlir::Value vector, unsigned times);

  // GroupAccess.cpp: loads and stores.
  mlir::Type memoryType(mlir::Type element) const;
  mlir::Value at(mlir::Value base, mlir::Type element, mlir::Value offset);
  Entries entriesAt(mlir::Value position, mlir::Value inChunk, unsigned count);
  mlir::Value number(Entries &at, unsigned entry);
  mlir::Value other(Entries &at, unsigned entry);
  llvm::SmallVector<mlir::Value> indicesOf(const GroupMember &member, Entries &at, unsigned entry);
  mlir::Value place(const GroupAccess &access, const GroupMember &member, Entries &at, unsigned entry,
                    mlir::Value &there);
  mlir::Value loadPoints(mlir::Value place, mlir::Value there, const GroupAccess &access,
                         llvm::ArrayRef<int64_t> points);
  mlir::Value toRegister(mlir::Value value, mlir::Type element);
  Lanes load(const GroupMember &member, const GroupAccess &access, const LaneLayout &layout, Entries &at);
  void prefetch(const GroupMember &member, const LaneLayout &layout, const Entries &at);
  void storeVectors(mlir::Value place, mlir::Type element, const LaneLayout &layout, const Lanes &values);
  mlir::Value standIn();
};

} // namespace gnnc

#endif

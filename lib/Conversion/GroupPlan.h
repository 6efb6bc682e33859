// A group of kernels in the form in which it is emitted: members in the order in which a row runs them, the stages they
// fall into, and every access as strides for row, entry and indices with a constant offset for each feature.
#ifndef GNNC_LIB_CONVERSION_GROUPPLAN_H
#define GNNC_LIB_CONVERSION_GROUPPLAN_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc {

/// Where a member reads a value: element offset + row * rowStride + entry * entryStride + indices, plus an offset of
/// its own for each feature.
struct GroupAccess {
  unsigned pointer = 0; // of the group's pointers, if it is in memory
  int scratch = -1;     // the member whose values of entries it is, if it is one
  int kept = -1;        // of the rows that the group keeps to itself, if it is one
  mlir::Type element;
  int64_t row = 0, entry = 0;
  llvm::SmallVector<int64_t> indices;  // one stride for each of the member's indices
  llvm::SmallVector<int64_t> features; // one offset for each point of the member's features

  bool usesIndex() const {
    return llvm::any_of(indices, [](int64_t stride) { return stride != 0; });
  }
  bool ofEntry() const { return scratch >= 0 || entry != 0 || usesIndex(); }
};

/// An index that a member reads: in memory, or what the order itself holds.
struct GroupIndex {
  enum Kind { Memory, Other } kind = Memory;
  GroupAccess access;
  bool maybeNone = false;
};

struct GroupResult {
  gnn::CombineKind combine = gnn::CombineKind::None;
  mlir::TypedAttr empty;
  std::optional<unsigned> pairedWith;             // for a winner: the extremum it belongs to, if that is a result too
  unsigned pointer = 0, partial = 0, extreme = 0; // of the group's pointers
  int kept = -1;                                  // of the group's kept rows, instead of a pointer
  mlir::Type element, yielded;
  bool isBareWinner() const {
    return !pairedWith && (combine == gnn::CombineKind::ArgMax || combine == gnn::CombineKind::ArgMin);
  }
};

struct GroupMember {
  enum Kind { Entries, Reduction, Rows } kind;
  mutable gnn::KernelOp op;                     // its accessors are not const
  llvm::SmallVector<int64_t> featureSizes;      // parallel ones, then reduced ones
  llvm::SmallVector<unsigned> featureIterators; // of the op
  int64_t outputs = 1, terms = 1;               // features that are kept, and for each of them those that are summed
  llvm::SmallVector<GroupIndex> indices;
  llvm::SmallVector<GroupAccess> inputs;
  llvm::SmallVector<mlir::TypedAttr> immediates; // for each input: its value, if it is a constant of equal elements
  llvm::SmallVector<GroupResult> results;
  unsigned stage = 0; // the sweep or step in which it runs; of entries: the first one
  int64_t points() const { return outputs * terms; }
};

/// A pass over the entries of a row, or a step on the row alone.
struct GroupStage {
  bool sweeps;
  llvm::SmallVector<unsigned> members; // with the values of entries that they need
};

/// What stands in a group's array of arguments.
struct GroupPointer {
  enum Kind { Order, Value, Result, Partial, Extreme } kind;
  mlir::Value value;   // Value: from outside the group
  unsigned member = 0; // the rest: of which result
  unsigned result = 0;
};

/// A result that only the group reads: a row of it lies beside the loop or, for rows that are cut and so run phase by
/// phase, in the row's first slot.
struct KeptRow {
  unsigned partial; // of the group's pointers
  mlir::Type element;
  int64_t outputs;
};

struct GroupPlan {
  llvm::SmallVector<GroupPointer> pointers; // the order is the first one
  llvm::SmallVector<KeptRow> kept;
  std::vector<GroupMember> members;
  llvm::SmallVector<GroupStage> stages;
};

/// Analyses a group; reports at its location and fails for what no group should contain.
mlir::FailureOr<GroupPlan> analyseGroup(gnn::GroupOp group);

} // namespace gnnc

#endif

// Entries of a tensor in groups: those of a segment, or those along reduced dimensions.
// Rules for max, prod, softmax and logsumexp are the same for both, and are written once on this.
#ifndef GNNC_DIALECT_GROUPING_H
#define GNNC_DIALECT_GROUPING_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn {

class Grouping {
public:
  /// Groups along `dims` of a tensor of type `entries`.
  static Grouping along(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType entries,
                        llvm::ArrayRef<int64_t> dims);
  /// The segments that `indices` name, whose dimensions stand in `entries` from position `at`; in `groups` a
  /// dimension for each index array stands at `dims`.
  static Grouping by(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType entries,
                     mlir::RankedTensorType groups, mlir::ValueRange indices, int64_t at, llvm::ArrayRef<int64_t> dims);

  /// Combines the entries of each group.
  mlir::Value combine(ReduceKind kind, mlir::Value entries) const;
  mlir::Value sum(mlir::Value entries) const { return combine(ReduceKind::Sum, entries); }
  /// Gives each entry the value of its group; 0 to an entry that is in none.
  mlir::Value spread(mlir::Value groups) const;
  /// A boolean of the entries: which are in no group; null where all are in one.
  mlir::Value outside() const;

  mlir::RankedTensorType entriesType() const { return entries; }
  mlir::RankedTensorType groupsType() const { return groups; }

private:
  Grouping(mlir::OpBuilder &builder, mlir::Location loc) : builder(&builder), loc(loc) {}

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::RankedTensorType entries, groups;
  llvm::SmallVector<mlir::Value> indices; // none: along dims
  llvm::SmallVector<int64_t> dims;
  int64_t at = 0;
};

/// Which entries share in the extremum of their group: those that equal it or, where that is NaN, the NaNs. `extremum`
/// holds the extremum of each group as the entries' own values.
mlir::Value attainsExtremum(mlir::OpBuilder &builder, mlir::Location loc, const Grouping &groups, mlir::Value entries,
                            mlir::Value extremum);
/// What each entry gets of `y`, a value of each group that those who share in its extremum divide evenly.
mlir::Value shareExtremum(mlir::OpBuilder &builder, mlir::Location loc, const Grouping &groups, mlir::Value entries,
                          mlir::Value extremum, mlir::Value y);

/// A gather whose index dimensions stand at `at` in the result, of type `type`: the transpose of a segment sum.
mlir::Value gatherAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, mlir::Value source,
                     mlir::ValueRange indices, int64_t at, llvm::ArrayRef<int64_t> dims, mlir::Value fill = {});
/// Where the index arrays' dimensions stand in the result of a gather along `dims`.
int64_t gatherPosition(llvm::ArrayRef<int64_t> dims);
/// Whether an entry of an index array may be -1. Ends of edges and counted positions never are.
bool maybeNone(mlir::Value index);
/// A boolean of the index arrays' type: where one of them is -1.
mlir::Value anyNone(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange indices);
/// The dimensions of a tensor of this rank that are not in `dims`.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);
/// The sum over `dims`; `x` itself for none.
mlir::Value sumOver(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> dims);
/// `x` repeated to `type`, its dimensions at `dims`; `x` itself where nothing changes.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, mlir::Value x,
                        llvm::ArrayRef<int64_t> dims);

} // namespace gnnc::gnn

#endif

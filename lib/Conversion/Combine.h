// How values are combined in a reduction: sums, products, and extrema with their winners.
#ifndef GNNC_LIB_CONVERSION_COMBINE_H
#define GNNC_LIB_CONVERSION_COMBINE_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc {

/// A result under reduction: a value, the number of its winner, or both.
struct Accumulator {
  gnn::CombineKind kind; // Sum, Prod, Max or Min
  mlir::Type type;
  int value = -1, winner = -1; // the results that they are
  bool tagged = false;         // the winner is known by a tag, not by the number of its entry
};

/// An extremum and its winner; winner is null where none is wanted.
struct Extremum {
  mlir::Value value, winner;
};

/// What accumulation starts from.
mlir::TypedAttr neutralElement(mlir::OpBuilder &builder, gnn::CombineKind kind, mlir::Type type);

class Combiner {
public:
  Combiner(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  /// An accumulator after one more value, whose number is higher than any before, or whose tag is given; `mask` says
  /// where it counts.
  Extremum update(const Accumulator &acc, Extremum old, mlir::Value value, mlir::Value number, mlir::Value mask);
  /// Two accumulators joined; ties go to the lower number.
  Extremum merge(const Accumulator &acc, Extremum first, Extremum second);

private:
  mlir::Value combine(const Accumulator &acc, mlir::Value old, mlir::Value value);
  mlir::Value tagOf(const Accumulator &acc, mlir::Value wins, Extremum first, Extremum second, mlir::Value mask);
  mlir::Value better(const Accumulator &acc, mlir::Value value, mlir::Value than);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace gnnc

#endif

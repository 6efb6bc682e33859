// Values at the points of a block of lanes, and scalar bodies evaluated on them.
#ifndef GNNC_LIB_CONVERSION_LANES_H
#define GNNC_LIB_CONVERSION_LANES_H

#include "gnnc/Dialect/Gnn.h"

#include "llvm/ADT/SetVector.h"

namespace gnnc {

/// A vector's worth of a block of lanes: lanes offset .. offset + width of it, all of them or those in `mask`.
struct Piece {
  unsigned width;
  int64_t offset;
  mlir::Value mask; // vector of i1, null if all lanes are alive
};

/// A value at all points of a block: one scalar for all of them, or a vector for each piece.
struct Lanes {
  bool uniform = true;
  llvm::SmallVector<mlir::Value, 4> parts;

  static Lanes scalar(mlir::Value value) { return {true, {value}}; }
};

/// `type` in `width` lanes; width 0 means the scalar itself.
inline mlir::Type laneType(mlir::Type type, unsigned width) {
  return width == 0 ? type : mlir::Type(mlir::VectorType::get({static_cast<int64_t>(width)}, type));
}

/// The part of `lanes` for a piece, as a vector of `width` lanes (or the scalar, for width 0).
mlir::Value partOf(mlir::OpBuilder &builder, mlir::Location loc, const Lanes &lanes, unsigned piece, unsigned width);

/// A constant in `width` lanes.
mlir::Value laneConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypedAttr value, unsigned width);

/// The values that some of what a body yields (all of it, if nothing is named) is made from, arguments too.
llvm::SetVector<mlir::Value> valuesFor(mlir::Block &body, llvm::ArrayRef<unsigned> wanted);

/// Evaluates a kernel's body: what is the same in all lanes once, the rest for each piece. Returns what it yields, or
/// of that only what is wanted, by number, if anything is named: then arguments that are not needed may be missing.
llvm::SmallVector<Lanes> evaluateBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &body,
                                      llvm::ArrayRef<Lanes> arguments, llvm::ArrayRef<Piece> pieces,
                                      llvm::ArrayRef<unsigned> wanted = {});

/// Word `word` (0 to 3) of Philox 4x32-10 with key `key` and counter `counter` (both i64, in the low words), as i32.
/// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
mlir::Value philox(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value key, mlir::Value counter, unsigned word);

} // namespace gnnc

#endif

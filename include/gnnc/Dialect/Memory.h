// Which values share memory once kernels are formed: views, what is written in place, and what loops carry.
#ifndef GNNC_DIALECT_MEMORY_H
#define GNNC_DIALECT_MEMORY_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn {

/// What a loop carries, on its way: the operand it starts from, the argument in the body, what the body yields for it.
struct Carried {
  mlir::OpOperand *init;
  mlir::BlockArgument argument;
  mlir::OpOperand *next;
  mlir::OpResult result;
};
/// The values that a gnn.for or gnn.while carries; none for other ops.
llvm::SmallVector<Carried> carriedBy(mlir::Operation *loop);

/// The value whose memory `value` has, as far as that follows without leaving the block of a loop: through views of the
/// whole, what is written in place, and loops and branches that give back the memory they were given.
mlir::Value localRoot(mlir::Value value);
/// Whether what is carried stays in one place: the body writes into it, and nothing is exchanged between iterations.
bool isInPlace(const Carried &carried);
/// The same through the loops that the value stands in: the first value that had this memory. An entry picked by a
/// gnn.select_index is a root of its own, at an address inside of its source.
mlir::Value memoryRoot(mlir::Value value);

} // namespace gnnc::gnn

#endif

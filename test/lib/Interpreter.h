// A slow, plain interpreter of the gnn dialect at the level of whole tensors: an oracle for what passes do to programs.
//
// It shares no code with the compiler's rules: gnn.back is evaluated by differences of the vjp's body, softmax by its
// definition. Cells are long double, which holds every f64 and every i64 exactly; arithmetic is done in it.
#ifndef GNNC_TEST_LIB_INTERPRETER_H
#define GNNC_TEST_LIB_INTERPRETER_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <variant>
#include <vector>

namespace gnnc::test {

using Cell = long double;
using Shape = llvm::SmallVector<int64_t>;

/// A dense row-major tensor.
struct Tensor {
  Shape shape;
  std::vector<Cell> cells;

  Tensor() = default;
  explicit Tensor(llvm::ArrayRef<int64_t> shape, Cell fill = 0);
  Cell &at(llvm::ArrayRef<int64_t> index);
  const Cell &at(llvm::ArrayRef<int64_t> index) const { return const_cast<Tensor *>(this)->at(index); }
};

struct Graph {
  int64_t numSrc = 0, numDst = 0;
  std::vector<int64_t> src, dst;
};

using Datum = std::variant<Tensor, Graph>;

/// Calls `f` for every index of a tensor of this shape, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> f);

class Interpreter {
public:
  /// The sizes of sets; structural ops add those of the sets they make.
  explicit Interpreter(llvm::ArrayRef<int64_t> sizes) : sizes(sizes.begin(), sizes.end()) {}

  /// Runs a function of one block. Fails with an error at an op that is not known.
  llvm::FailureOr<std::vector<Datum>> call(mlir::func::FuncOp function, std::vector<Datum> arguments);

  Shape shapeOf(mlir::Type type) const;
  int64_t sizeOf(gnn::SizeAttr size) const;

private:
  llvm::LogicalResult run(mlir::Block &block);
  llvm::LogicalResult runOp(mlir::Operation &op);
  llvm::LogicalResult elementwise(mlir::Operation &op);
  llvm::LogicalResult control(mlir::Operation &op);
  llvm::LogicalResult back(gnn::BackOp back);
  /// sum of cotangents times the results of a vjp's body for the operands that are bound to its arguments.
  llvm::FailureOr<Cell> paired(gnn::VjpOp vjp, mlir::ValueRange cotangents);

  Tensor &tensor(mlir::Value value) { return std::get<Tensor>(values[value]); }
  Graph &graph(mlir::Value value) { return std::get<Graph>(values[value]); }
  Tensor empty(mlir::Value value, Cell fill = 0) const { return Tensor(shapeOf(value.getType()), fill); }
  void set(mlir::Value value, Datum datum) { values[value] = std::move(datum); }

  // One function for each op; in InterpretOps.cpp.
  void eval(gnn::EndpointOp op);
  void eval(gnn::DegreeOp op);
  mlir::LogicalResult derive(gnn::DeriveOp op);
  void eval(gnn::GatherOp op);
  void eval(gnn::SegmentReduceOp op);
  void eval(gnn::ShareOp op);
  void eval(gnn::SegmentSoftmaxOp op);
  void eval(gnn::SegmentLogSumExpOp op);
  void eval(gnn::ReduceOp op);
  void eval(gnn::ArgReduceOp op);
  void eval(gnn::SoftmaxOp op);
  void eval(gnn::LogSumExpOp op);
  void eval(gnn::ContractOp op);
  void eval(gnn::BroadcastOp op);
  void eval(gnn::ReshapeOp op);
  void eval(gnn::TransposeOp op);
  void eval(gnn::SliceOp op);
  void eval(gnn::UnsliceOp op);
  void eval(gnn::SelectIndexOp op);
  void eval(gnn::UpdateIndexOp op);
  void eval(gnn::UpdateSliceOp op);
  void eval(gnn::DefineSizeOp op);
  void eval(gnn::EmptyOp op);
  void eval(gnn::CheckIndexOp op);
  void eval(gnn::ConcatOp op);
  void eval(gnn::IotaOp op);
  void eval(gnn::SizeOp op);
  void eval(gnn::NondiffOp op);
  void eval(gnn::SavedOp op);
  void eval(gnn::FoldKeyOp op);
  void eval(gnn::UniformOp op);
  void eval(mlir::arith::ConstantOp op);

  llvm::SmallVector<int64_t> sizes;
  llvm::DenseMap<mlir::Value, Datum> values;
  /// Values of gnn.nondiff that stay as they are while differences are taken.
  llvm::DenseMap<mlir::Operation *, Tensor> frozen;
};

} // namespace gnnc::test

#endif

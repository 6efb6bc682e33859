// Sums of two matrix products are computed where the first one lies: the second adds to it. That spares a pass over
// both; where other elementwise code follows, which needs a pass anyway, the sum is computed there.
#include "gnnc/Transforms/Fusion.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc::gnn {
#define GEN_PASS_DEF_ACCUMULATEPRODUCTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

using namespace mlir;
using namespace gnnc::gnn;

/// The product that an input of a kernel is, if nobody else reads it and the kernel does as it is laid out.
static GemmOp productAt(KernelOp kernel, unsigned input) {
  auto gemm = kernel.getInputs()[input].getDefiningOp<GemmOp>();
  AffineMap read = cast<AffineMapAttr>(kernel.getMaps()[input]).getValue(),
            written = cast<AffineMapAttr>(kernel.getResultMaps()[0]).getValue();
  bool same = gemm && gemm->hasOneUse() && gemm.getType() == kernel.getResult(0).getType() &&
              read.getResults() == written.getResults();
  return same ? gemm : GemmOp();
}

/// Whether a kernel adds its two inputs and does nothing else.
static bool isSum(KernelOp kernel) {
  if (!isMap(kernel) || kernel.getInputs().size() != 2 || !kernel.getIndices().empty())
    return false;
  Block &body = kernel.getBody().front();
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  auto isInput = [&](Value value) {
    return isa<BlockArgument>(value) && cast<BlockArgument>(value).getArgNumber() < 2;
  };
  return add && isInput(add.getLhs()) && isInput(add.getRhs()) && add.getLhs() != add.getRhs();
}

/// Whether elementwise code reads the sum, other than further sums of products.
static bool isReadByMap(KernelOp sum) {
  return llvm::any_of(sum->getUsers(), [](Operation *user) {
    auto reader = dyn_cast<KernelOp>(user);
    return reader && isMap(reader) && !isSum(reader);
  });
}

namespace {
struct AccumulateProductsPass : gnnc::gnn::impl::AccumulateProductsBase<AccumulateProductsPass> {
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) {
      if (!isSum(kernel) || isReadByMap(kernel))
        return;
      GemmOp first = productAt(kernel, 0), second = productAt(kernel, 1);
      if (!first || !second || first == second)
        return;
      if (first->getBlock() != kernel->getBlock() || second->getBlock() != kernel->getBlock())
        return;
      // A product that adds to something itself is the one to add to.
      if (first.getInit() || (!second.getInit() && second->isBeforeInBlock(first)))
        std::swap(first, second);
      if (first.getInit())
        return;
      OpBuilder b(kernel);
      auto sum =
          GemmOp::create(b, first.getLoc(), first.getType(), first.getLhs(), first.getRhs(), second.getResult(),
                         first.getTransposeLhs(), first.getTransposeRhs(), first.getM(), first.getN(), first.getK());
      kernel.getResult(0).replaceAllUsesWith(sum.getResult());
      kernel.erase();
      first.erase();
    });
  }
};
} // namespace

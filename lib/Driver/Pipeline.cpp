// The order of passes from the elaborated program to row kernels.
#include "gnnc/Driver/Pipeline.h"
#include "gnnc/Dialect/UpstreamAdjoints.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace gnnc::gnn;

void gnnc::loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, GnnDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  registerUpstreamAdjoints(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

static void simplify(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static constexpr llvm::StringLiteral structure = "structure", products = "products", rows = "rows", winners = "winners",
                                     accumulate = "accumulate", inlining = "inline", grouping = "group",
                                     merging = "merge";

llvm::ArrayRef<llvm::StringLiteral> gnnc::Rewrites::names() {
  static constexpr llvm::StringLiteral all[] = {structure,  products, rows,     winners,
                                                accumulate, inlining, grouping, merging};
  return all;
}

/// Rewrites by rules of algebra, of whole tensors.
static void addAlgebra(OpPassManager &pm, const gnnc::Rewrites &rewrites) {
  auto add = [&](llvm::StringRef name, auto create) {
    if (rewrites.runs(name))
      pm.addNestedPass<func::FuncOp>(create());
  };
  add(structure, createAlgebraStructure);
  simplify(pm);
  add(products, createAlgebraProducts);
  simplify(pm);
  add(rows, createAlgebraRows);
  add(structure, createAlgebraStructure);
  simplify(pm);
}

void gnnc::addDifferentiation(OpPassManager &pm, const Rewrites &rewrites) {
  // Equal values become one before differentiation, so that they get one adjoint and are saved once.
  simplify(pm);
  // What is moved before differentiation stands in the right place in the reverse sweep too.
  if (rewrites.fuse)
    addAlgebra(pm, rewrites);
  pm.addNestedPass<func::FuncOp>(createHoist());
  pm.addNestedPass<func::FuncOp>(createDifferentiate());
  simplify(pm);
  pm.addPass(createSplitVjp());
}

void gnnc::addDerivativeCheck(OpPassManager &pm) {
  pm.addPass(createCSEPass());
  pm.addPass(createDifferentiate());
}

void gnnc::addKernels(OpPassManager &pm, const Rewrites &rewrites) {
  pm.addNestedPass<func::FuncOp>(createChooseSaved());
  pm.addNestedPass<func::FuncOp>(createDecompose());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createLowerShares({rewrites.runs(winners)}));
  simplify(pm);
  if (rewrites.fuse)
    addAlgebra(pm, rewrites);
  pm.addNestedPass<func::FuncOp>(createHoist());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createFormKernels());
  pm.addPass(createCSEPass());
  if (rewrites.runs(accumulate))
    pm.addNestedPass<func::FuncOp>(createAccumulateProducts());
  if (rewrites.runs(inlining))
    pm.addNestedPass<func::FuncOp>(createInlineMaps());
  if (rewrites.fuse) {
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }
  pm.addNestedPass<func::FuncOp>(createGroupKernels({rewrites.runs(grouping)}));
  if (rewrites.runs(merging))
    pm.addNestedPass<func::FuncOp>(createMergeKernels());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createOwnMemory());
}

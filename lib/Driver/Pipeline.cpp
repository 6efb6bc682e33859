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

/// Rewrites by rules of algebra, of whole tensors.
static void addAlgebra(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createAlgebraStructure());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createAlgebraProducts());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createAlgebraRows());
  pm.addNestedPass<func::FuncOp>(createAlgebraStructure());
  simplify(pm);
}

void gnnc::addDifferentiation(OpPassManager &pm, bool fuse) {
  // Equal values become one before differentiation, so that they get one adjoint and are saved once.
  simplify(pm);
  // What is moved before differentiation stands in the right place in the reverse sweep too.
  if (fuse)
    addAlgebra(pm);
  pm.addNestedPass<func::FuncOp>(createHoist());
  pm.addNestedPass<func::FuncOp>(createDifferentiate());
  simplify(pm);
  pm.addPass(createSplitVjp());
}

void gnnc::addDerivativeCheck(OpPassManager &pm) {
  pm.addPass(createCSEPass());
  pm.addPass(createDifferentiate());
}

void gnnc::addKernels(OpPassManager &pm, bool fuse) {
  pm.addNestedPass<func::FuncOp>(createChooseSaved());
  pm.addNestedPass<func::FuncOp>(createDecompose());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createLowerShares({fuse}));
  simplify(pm);
  if (fuse)
    addAlgebra(pm);
  pm.addNestedPass<func::FuncOp>(createHoist());
  simplify(pm);
  pm.addNestedPass<func::FuncOp>(createFormKernels());
  pm.addPass(createCSEPass());
  if (fuse) {
    pm.addNestedPass<func::FuncOp>(createAccumulateProducts());
    pm.addNestedPass<func::FuncOp>(createInlineMaps());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }
  pm.addNestedPass<func::FuncOp>(createGroupKernels({fuse}));
  if (fuse)
    pm.addNestedPass<func::FuncOp>(createMergeKernels());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createOwnMemory());
}

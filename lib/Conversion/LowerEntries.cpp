// The pass that lowers entries, and the pipeline behind it.
#include "HostCode.h"
#include "LowerEntry.h"

#include "gnnc/Conversion/Conversion.h"
#include "gnnc/Dialect/EntryAttrs.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_LOWERENTRIES
#define GEN_PASS_REGISTRATION
#include "gnnc/Conversion/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

LogicalResult gnnc::lowerEntries(ModuleOp module, std::vector<EntryInfo> &entries, const Reports &reports) {
  module.getContext()->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
  SmallVector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(gnn::attrs::entry))
      functions.push_back(func);
  KernelLibrary kernels(module);
  HostCode host(module);
  for (func::FuncOp func : functions) {
    FailureOr<EntryInfo> info = readEntry(func);
    if (failed(info))
      return failure();
    FailureOr<MemoryPlan> plan = planMemory(func, *info);
    if (failed(plan))
      return failure();
    info->failsLate = plan->failsLate;
    if (reports.fusion)
      reportFusion(*plan, *info, *reports.fusion);
    if (reports.memory)
      reportMemory(*plan, *info, *reports.memory);
    lowerEntry(func, *info, *plan, kernels, host);
    entries.push_back(std::move(*info));
  }
  for (func::FuncOp func : functions)
    func.erase();
  return success();
}

namespace {
struct LowerEntries : gnnc::impl::LowerEntriesBase<LowerEntries> {
  using LowerEntriesBase::LowerEntriesBase;
  void runOnOperation() override {
    std::vector<EntryInfo> entries;
    if (failed(lowerEntries(getOperation(), entries, {report ? &llvm::errs() : nullptr, nullptr})))
      signalPassFailure();
  }
};
} // namespace

void gnnc::addLoweringToLLVM(OpPassManager &passes, Arithmetic arithmetic) {
  // Address arithmetic was emitted in the order of loops: what belongs outside moves there.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createExpandMath(ExpandMathOptions{arithmetic.fma, arithmetic.rounds}));
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(arith::createArithExpandOpsPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCSEPass());
}

void gnnc::registerConversionPasses() {
  registerGnncConversionPasses();
  PassPipelineRegistration<>("gnn-lower-to-llvm",
                             "Lower the functions that gnn-lower-entries makes to the llvm dialect",
                             [](OpPassManager &passes) { addLoweringToLLVM(passes, {}); });
}

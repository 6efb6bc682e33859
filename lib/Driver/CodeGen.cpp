// MLIR to LLVM IR, optimisation, and machine code.
#include "CodeGen.h"

#include "gnnc/Conversion/Conversion.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Signals.h"
#include "llvm/TargetParser/Host.h"

#include <unistd.h>

using namespace llvm;
using namespace gnnc;

namespace {
/// While one is there, LLVM's own ways of failing say whose fault it is: what it reports is collected, and what would
/// end the process says so first.
class FaultGuard {
public:
  explicit FaultGuard(LLVMContext &context) : context(context), handler(onFatal) {
    context.setDiagnosticHandlerCallBack(
        [](const DiagnosticInfo *info, void *messages) {
          if (info->getSeverity() != DS_Error)
            return;
          raw_string_ostream os(*static_cast<std::string *>(messages));
          DiagnosticPrinterRawOStream printer(os);
          info->print(printer);
        },
        &messages);
  }
  ~FaultGuard() { context.setDiagnosticHandlerCallBack(nullptr); }

  /// What was reported, as a failure.
  Error take() const {
    return messages.empty() ? Error::success() : createStringError("this is a fault of gnnc: LLVM says: " + messages);
  }

private:
  [[noreturn]] static void onFatal(void *, const char *reason, bool) {
    errs() << "gnnc: internal error: this is a fault of gnnc, please report it: LLVM says: " << reason << '\n';
    sys::RunInterruptHandlers(); // removes temporary files
    _exit(1);
  }
  LLVMContext &context;
  std::string messages;
  ScopedFatalErrorHandler handler;
};
} // namespace

/// The vectors are in the code already: LLVM is to clean it up, not to vectorise or unroll it.
static void optimise(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O1).run(module, modules);
}

Expected<std::unique_ptr<Module>> gnnc::makeLLVMModule(mlir::ModuleOp module, ArrayRef<EntryInfo> entries,
                                                       const ModelInfo &model, LLVMContext &context) {
  mlir::MLIRContext *ctx = module.getContext();
  mlir::PassManager passes(ctx);
  addLoweringToLLVM(passes, {model.processor.fma, model.processor.rounds});
  if (mlir::failed(passes.run(module)))
    return createStringError("this is a fault of gnnc: kernels could not be lowered to LLVM");
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  ctx->appendDialectRegistry(registry);
  std::unique_ptr<Module> result = mlir::translateModuleToLLVMIR(module, context, model.source);
  if (!result)
    return createStringError("this is a fault of gnnc: kernels could not be translated to LLVM IR");

  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(model.processor);
  if (!machine)
    return machine.takeError();
  result->setTargetTriple((*machine)->getTargetTriple());
  result->setDataLayout((*machine)->createDataLayout());
  addModelTables(*result, entries, model);
  for (Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", model.processor.name);
    if (!model.processor.features.empty())
      function.addFnAttr("target-features", model.processor.features);
    function.addFnAttr(Attribute::NoUnwind);
    // Vectors of 64 bytes stay whole where the processor has them.
    if (model.processor.avx512)
      function.addFnAttr("prefer-vector-width", "512");
  }
  std::string message;
  raw_string_ostream os(message);
  if (verifyModule(*result, &os))
    return createStringError("this is a fault of gnnc: it made invalid LLVM IR: " + message);
  FaultGuard guard(context);
  optimise(*result, **machine);
  if (Error error = guard.take())
    return error;
  return result;
}

Error gnnc::writeObject(Module &module, const Processor &processor, raw_pwrite_stream &out) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(processor);
  if (!machine)
    return machine.takeError();
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("this is a fault of gnnc: LLVM cannot write objects for " + processor.name);
  FaultGuard guard(module.getContext());
  passes.run(module);
  return guard.take();
}

Error gnnc::writeSharedObject(Module &module, const Processor &processor, StringRef path, StringRef name) {
  SmallString<128> object;
  int handle = -1;
  if (std::error_code error = sys::fs::createTemporaryFile("gnnc", "o", handle, object))
    return createStringError("cannot make a temporary file: " + error.message());
  FileRemover remove(object);
  raw_fd_ostream out(handle, /*shouldClose=*/true);
  if (Error error = writeObject(module, processor, out))
    return error;
  out.close();
  if (out.has_error()) {
    std::string reason = out.error().message();
    out.clear_error();
    return createStringError("cannot write '" + object.str() + "': " + reason);
  }
  return linkSharedObject(object, path, name);
}

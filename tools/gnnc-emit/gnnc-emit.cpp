// The code generator's driver for tests: from entries in the gnn dialect, written in MLIR, to what `gnnc build` would
// write.
#include "gnnc/Conversion/Conversion.h"
#include "gnnc/Driver/Emission.h"
#include "gnnc/Driver/Pipeline.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace gnnc;

static cl::opt<std::string> input(cl::Positional, cl::desc("<kernels.mlir>"), cl::Required);
static cl::opt<std::string> output("o", cl::desc("Where to write"), cl::init("-"));
static cl::opt<std::string> cpu("cpu", cl::desc("The processor"), cl::init("native"));
static cl::opt<bool> report("report-memory", cl::desc("Print the memory plan"));
enum class What { IR, Object, Shared, Header, Manifest };
static cl::opt<What> what("emit", cl::init(What::Shared),
                          cl::values(clEnumValN(What::IR, "llvm", ""), clEnumValN(What::Object, "obj", ""),
                                     clEnumValN(What::Shared, "so", ""), clEnumValN(What::Header, "header", ""),
                                     clEnumValN(What::Manifest, "manifest", "")));

static Error run() {
  mlir::MLIRContext ctx(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(ctx);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(input, &ctx);
  if (!module)
    return createStringError("cannot parse " + input);
  mlir::PassManager passes(&ctx);
  addKernels(passes, {});
  if (mlir::failed(passes.run(*module)))
    return createStringError("cannot form kernels of " + input);
  Expected<Processor> processor = selectProcessor(cpu);
  if (!processor)
    return processor.takeError();
  ModelInfo model{sys::path::filename(input).str(), "f32", *processor};
  std::vector<EntryInfo> entries;
  if (mlir::failed(lowerEntries(*module, entries, {report ? &errs() : nullptr, nullptr})))
    return createStringError("cannot lower " + input);

  std::error_code error;
  auto open = [&] { return std::make_unique<raw_fd_ostream>(output, error); };
  if (what == What::Header || what == What::Manifest) {
    *open() << (what == What::Header ? makeHeader(entries, model) : makeManifest(entries, model));
    return Error::success();
  }
  LLVMContext context;
  Expected<std::unique_ptr<Module>> code = makeLLVMModule(*module, entries, model, context);
  if (!code)
    return code.takeError();
  if (what == What::Shared)
    return writeSharedObject(**code, *processor, output, sys::path::filename(output));
  auto out = open();
  if (what == What::Object)
    return writeObject(**code, *processor, *out);
  (*code)->print(*out, nullptr);
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "gnnc's code generator\n");
  if (Error error = run()) {
    errs() << "gnnc-emit: error: " << toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}

// The driver: takes an input through the stages up to the one that is asked for.
#include "gnnc/Driver/Compiler.h"
#include "gnnc/Conversion/Conversion.h"
#include "gnnc/Driver/Emission.h"
#include "gnnc/Driver/MlirDiagnostics.h"
#include "gnnc/Driver/OutputFile.h"
#include "gnnc/Driver/Pipeline.h"
#include "gnnc/Frontend/Elaborate.h"
#include "gnnc/Frontend/Parser.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace gnnc;
using namespace llvm;

std::string gnnc::outputPath(const CompileOptions &options) {
  if (!options.output.empty())
    return options.output;
  std::string stem = options.input == "-" ? "stdin" : sys::path::stem(options.input).str();
  switch (options.emit) {
  case Emit::sharedObject:
    return "lib" + stem + ".so";
  case Emit::object:
    return stem + ".o";
  default:
    return "-";
  }
}

namespace {
/// One input on its way through the stages.
class Compilation {
public:
  Compilation(const CompileOptions &options, raw_ostream &out);

  /// Goes as far as the options ask and writes the result; false after an error, which has been shown.
  bool run();
  /// Finds all errors of the program, those of differentiation too.
  bool check();

private:
  FrontendOptions frontendOptions() const;
  bool elaborate();
  bool differentiate();
  bool formKernels();
  Error checkTarget(StringRef path) const;
  bool write(function_ref<void(raw_ostream &)> writer);
  bool writeModule();
  bool emit();
  bool writeBinary(llvm::Module &code, ArrayRef<EntryInfo> entries, const ModelInfo &model);
  bool fault(StringRef stage, const FaultCollector &faults);
  bool fail(Error error);

  const CompileOptions &options;
  raw_ostream &out;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  Program program{sources, diagnostics};
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

Compilation::Compilation(const CompileOptions &options, raw_ostream &out) : options(options), out(out) {
  diagnostics.setErrorLimit(options.errorLimit);
  std::vector<std::string> folders = options.importPaths;
  if (!options.stdlibPath.empty())
    folders.push_back(options.stdlibPath);
  program.setImportPaths(std::move(folders));
  loadDialects(context);
  // Users know nothing of the operation that a pass objects to.
  context.printOpOnDiagnostic(false);
}

FrontendOptions Compilation::frontendOptions() const {
  FrontendOptions result;
  result.realIsF64 = options.real == RealType::f64;
  for (const auto &[name, size] : options.sizes)
    result.defines[name] = size;
  return result;
}

bool Compilation::elaborate() {
  module = lowerModule(program.main(), frontendOptions(), diagnostics, context);
  diagnostics.flush(out, options.colour);
  if (diagnostics.hasErrors() || !module)
    return false;
  FaultCollector faults(&context);
  return succeeded(mlir::verify(*module)) || fault("the elaborated program is not valid", faults);
}

bool Compilation::differentiate() {
  bool ok;
  {
    MlirDiagnostics located(&context, diagnostics, Diag::noDerivativeRule);
    mlir::PassManager pm(&context);
    addDifferentiation(pm, {options.fuse, options.disabledRewrites});
    ok = succeeded(pm.run(*module));
  }
  diagnostics.flush(out, options.colour);
  if (!ok && !diagnostics.hasErrors())
    out << "gnnc: internal error: differentiation failed without saying why; this is a fault of gnnc, please report "
           "it\n";
  return ok && !diagnostics.hasErrors();
}

bool Compilation::formKernels() {
  FaultCollector faults(&context);
  mlir::PassManager pm(&context);
  addKernels(pm, {options.fuse, options.disabledRewrites});
  return succeeded(pm.run(*module)) || fault("forming kernels", faults);
}

bool Compilation::fault(StringRef stage, const FaultCollector &faults) {
  faults.report(out, stage);
  return false;
}

/// An output must not take the place of what was read.
Error Compilation::checkTarget(StringRef path) const {
  for (FileId file = 0; file < sources.size(); ++file)
    if (path != "-" && sys::fs::equivalent(path, sources.name(file)))
      return createStringError("can't write '" + path + "': the program was read from it; name another file with -o");
  return Error::success();
}

bool Compilation::write(function_ref<void(raw_ostream &)> writer) {
  if (Error error = checkTarget(outputPath(options)))
    return fail(std::move(error));
  if (Error error = writeOutput(outputPath(options), writer))
    return fail(std::move(error));
  return true;
}

bool Compilation::fail(Error error) {
  out << "gnnc: error: " << toString(std::move(error)) << '\n';
  return false;
}

bool Compilation::writeModule() {
  return write([&](raw_ostream &os) { module->print(os); });
}

bool Compilation::run() {
  bool parsed = program.load(options.input);
  if (program.isEmpty() || options.emit == Emit::ast) {
    diagnostics.flush(out, options.colour);
    return parsed && write([&](raw_ostream &os) { ast::print(program.main(), os); });
  }
  // After a syntax error too: what could be read is checked, so that all errors are found in one run.
  if (!elaborate())
    return false;
  if (options.emit == Emit::gnn)
    return writeModule();
  if (!differentiate())
    return false;
  if (options.emit == Emit::grad)
    return writeModule();
  if (!formKernels())
    return false;
  if (options.emit == Emit::kernels)
    return writeModule();
  return emit();
}

bool Compilation::emit() {
  Expected<Processor> processor = selectProcessor(options.cpu);
  if (!processor)
    return fail(processor.takeError());
  ModelInfo model{sys::path::filename(options.input == "-" ? "<stdin>" : options.input).str(),
                  options.real == RealType::f64 ? "f64" : "f32", *processor};
  std::vector<EntryInfo> entries;
  FaultCollector faults(&context);
  Reports reports{options.reportMemory ? &out : nullptr, options.reportFusion ? &out : nullptr};
  if (failed(lowerEntries(*module, entries, reports)))
    return fault("lowering to loops", faults);
  if (options.emit == Emit::header)
    return write([&](raw_ostream &os) { os << makeHeader(entries, model); });
  if (options.emit == Emit::manifest)
    return write([&](raw_ostream &os) { os << makeManifest(entries, model) << '\n'; });
  LLVMContext llvmContext;
  Expected<std::unique_ptr<llvm::Module>> code = makeLLVMModule(*module, entries, model, llvmContext);
  if (!code) {
    out << "gnnc: internal error: " << toString(code.takeError()) << '\n';
    return fault("making LLVM IR", faults);
  }
  if (options.emit == Emit::llvm)
    return write([&](raw_ostream &os) { os << **code; });
  return writeBinary(**code, entries, model);
}

bool Compilation::writeBinary(llvm::Module &code, ArrayRef<EntryInfo> entries, const ModelInfo &model) {
  std::string path = outputPath(options);
  if (options.emit == Emit::object) {
    SmallVector<char, 0> bytes;
    raw_svector_ostream stream(bytes);
    if (Error error = writeObject(code, model.processor, stream))
      return fail(std::move(error));
    return write([&](raw_ostream &os) { os << StringRef(bytes.data(), bytes.size()); });
  }
  if (path == "-")
    return fail(createStringError("a shared object can't be written to standard output; name a file with -o"));
  // The header of libgcn.so is gcn.h.
  StringRef name = sys::path::stem(path);
  name.consume_front("lib");
  SmallString<128> headerPath(sys::path::parent_path(path));
  sys::path::append(headerPath, (name.empty() ? sys::path::stem(path) : name) + ".h");
  if (StringRef(path) == headerPath)
    return fail(createStringError("can't write '" + path + "': the header beside the shared object has this name"));
  for (StringRef target : {StringRef(path), StringRef(headerPath)})
    if (Error error = checkTarget(target))
      return fail(std::move(error));
  Expected<OutputFile> object = OutputFile::create(path);
  if (!object)
    return fail(object.takeError());
  Expected<OutputFile> header = OutputFile::create(headerPath);
  if (!header)
    return fail(header.takeError());
  if (Error error = writeSharedObject(code, model.processor, object->temporaryPath(), sys::path::filename(path)))
    return fail(std::move(error));
  if (Error error = header->write([&](raw_ostream &os) { os << makeHeader(entries, model); }))
    return fail(std::move(error));
  if (Error error = object->keep(/*executable=*/true))
    return fail(std::move(error));
  if (Error error = header->keep())
    return fail(std::move(error));
  return true;
}

bool Compilation::check() {
  bool parsed = program.load(options.input);
  if (program.isEmpty()) {
    diagnostics.flush(out, options.colour);
    return false;
  }
  FrontendOptions frontend = frontendOptions();
  frontend.lowerDerivatives = true;
  module = lowerModule(program.main(), frontend, diagnostics, context);
  if (module) {
    // One function at a time, so that what one of them can't derive does not hide another's errors.
    MlirDiagnostics located(&context, diagnostics, Diag::noDerivativeRule);
    for (mlir::Operation &function : make_early_inc_range(*module->getBody())) {
      mlir::PassManager pm(&context, function.getName().getStringRef());
      addDerivativeCheck(pm);
      (void)pm.run(&function); // what it says is in the diagnostics
    }
  }
  diagnostics.flush(out, options.colour);
  return parsed && !diagnostics.hasErrors();
}
} // namespace

int gnnc::runBuild(const CompileOptions &options, raw_ostream &diagnostics) {
  Compilation compilation(options, diagnostics);
  return compilation.run() ? 0 : 1;
}

int gnnc::runCheck(ArrayRef<std::string> inputs, const CompileOptions &options, raw_ostream &diagnostics) {
  int status = 0;
  for (const std::string &input : inputs) {
    CompileOptions one = options;
    one.input = input;
    if (!Compilation(one, diagnostics).check())
      status = 1;
  }
  return status;
}

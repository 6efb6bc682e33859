// From lowered entries to what a build writes: LLVM IR, an object, a shared object, a C header, the manifest.
#ifndef GNNC_DRIVER_EMISSION_H
#define GNNC_DRIVER_EMISSION_H

#include "gnnc/Conversion/EntryInfo.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace gnnc {

/// The processor that code is made for.
struct Processor {
  std::string name;     // in LLVM's words, "native" resolved: "znver4", "x86-64-v3"
  std::string features; // LLVM's feature string; "" where the name says it all
  std::string required; // what a machine must offer, in the names of /proc/cpuinfo, separated by commas
  bool avx512 = false;  // offers AVX-512F
  bool fma = false;     // offers fused multiply-adds
  bool rounds = false;  // offers rounding to integers (SSE4.1)
};

/// Resolves the name of a processor; an unknown one is an error that says which names there are.
llvm::Expected<Processor> selectProcessor(llvm::StringRef name);

/// What the object's tables and the manifest say of the whole model.
struct ModelInfo {
  std::string source; // the file's name: "gcn.gnn"
  std::string real;   // "f32" or "f64"
  Processor processor;
};

/// The manifest, as JSON (docs/manifest.md).
std::string makeManifest(llvm::ArrayRef<EntryInfo> entries, const ModelInfo &model);

/// The C header: one function for each entry, every argument documented.
std::string makeHeader(llvm::ArrayRef<EntryInfo> entries, const ModelInfo &model);

/// Takes a module whose entries have been lowered (lowerEntries) to optimised LLVM IR, with the object's tables and
/// one visible function for each entry. A failure is a fault of gnnc.
llvm::Expected<std::unique_ptr<llvm::Module>> makeLLVMModule(mlir::ModuleOp module, llvm::ArrayRef<EntryInfo> entries,
                                                             const ModelInfo &model, llvm::LLVMContext &context);

/// Writes a module as a relocatable object.
llvm::Error writeObject(llvm::Module &module, const Processor &processor, llvm::raw_pwrite_stream &out);

/// Writes a module as a shared object to `path`, an existing or new file, by a linker found on this machine; needs
/// libgnnrt. `name` is the library's own name (its soname).
llvm::Error writeSharedObject(llvm::Module &module, const Processor &processor, llvm::StringRef path,
                              llvm::StringRef name);

} // namespace gnnc

#endif

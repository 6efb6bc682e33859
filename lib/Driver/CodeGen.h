// What the parts of code generation share.
#ifndef GNNC_LIB_DRIVER_CODEGEN_H
#define GNNC_LIB_DRIVER_CODEGEN_H

#include "gnnc/Driver/Emission.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace llvm {
class Target;
}

namespace gnnc {

inline constexpr const char *versionText = GNNC_VERSION;

/// The code generator for this machine's kind of processor.
llvm::Expected<const llvm::Target *> findTarget();
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const Processor &processor);

/// Adds the entries' descriptions and visible functions, and the table `gnnc_model`.
void addModelTables(llvm::Module &module, llvm::ArrayRef<EntryInfo> entries, const ModelInfo &model);

/// Links an object file to a shared object.
llvm::Error linkSharedObject(llvm::StringRef object, llvm::StringRef output, llvm::StringRef name);

/// A number with no more digits than its type tells apart: 0.01, where an f32 holds 0.00999999978.
std::string shortestText(mlir::FloatAttr number);

/// A C identifier for a path: "p.w0" becomes "p_w0".
std::string identifier(llvm::StringRef path);

} // namespace gnnc

#endif

// From syntax trees to the gnn dialect: one walk checks a function generically, the same walk lowers an entry point
// with all its calls inlined.
#ifndef GNNC_FRONTEND_ELABORATE_H
#define GNNC_FRONTEND_ELABORATE_H

#include "gnnc/Frontend/AST.h"
#include "gnnc/Frontend/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace gnnc {

struct FrontendOptions {
  /// `--real f64`.
  bool realIsF64 = false;
  /// `-D name=int`: sizes of dimension parameters of entry points.
  std::map<std::string, int64_t> defines;
  /// Lower, beside the entry points, every function of the main file that takes a derivative and can stand alone, as a
  /// private function: so that `gnnc check` finds what differentiation refuses in code that is not exported.
  bool lowerDerivatives = false;
};

/// Checks all functions of `main`, and those of imported modules that it uses. False after an error, which is in the
/// diagnostics then.
bool checkModule(const ast::Module &main, const FrontendOptions &options, DiagnosticEngine &diagnostics,
                 mlir::MLIRContext &context);

/// Checks, then lowers every `export fn` and `export vjp` to a func.func as EntryAttrs.h describes. Null after an
/// error. With `lowerDerivatives` a module with what could be lowered is given even then, so that all errors are found
/// at once.
mlir::OwningOpRef<mlir::ModuleOp> lowerModule(const ast::Module &main, const FrontendOptions &options,
                                              DiagnosticEngine &diagnostics, mlir::MLIRContext &context);

} // namespace gnnc

#endif // GNNC_FRONTEND_ELABORATE_H

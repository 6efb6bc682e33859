// Errors that passes emit, shown as errors of the user's program.
//
// Passes know places as MLIR locations; while one of these is alive, what they emit becomes a diagnostic at the place
// in the source, with a note for each call that led there.
#ifndef GNNC_DRIVER_MLIRDIAGNOSTICS_H
#define GNNC_DRIVER_MLIRDIAGNOSTICS_H

#include "gnnc/Frontend/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace gnnc {

/// The place of the innermost call in a location; invalid if it has none in the sources.
SourceRange sourceRangeOf(mlir::Location loc, const SourceManager &sources);

class MlirDiagnostics {
public:
  /// Errors are reported as `id`.
  MlirDiagnostics(mlir::MLIRContext *ctx, DiagnosticEngine &engine, Diag id);

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  DiagnosticEngine &engine;
  Diag id;
  mlir::ScopedDiagnosticHandler handler;
};

/// While alive, collects what passes emit where no program can be at fault.
class FaultCollector {
public:
  explicit FaultCollector(mlir::MLIRContext *ctx);
  /// Says that gnnc itself is at fault, where, and what to do.
  void report(llvm::raw_ostream &out, llvm::StringRef stage) const;

private:
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace gnnc

#endif

// Errors that passes emit, shown as errors of the user's program.
#include "gnnc/Driver/MlirDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace gnnc;

/// Calls `visit` for the file places of a location, from the innermost call outwards.
static void forEachPlace(Location loc, llvm::function_ref<void(FileLineColLoc)> visit) {
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    return visit(place);
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    forEachPlace(call.getCallee(), visit);
    forEachPlace(call.getCaller(), visit);
    return;
  }
  if (auto named = dyn_cast<NameLoc>(loc))
    return forEachPlace(named.getChildLoc(), visit);
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    // The parts are places that were merged into one op: the first stands for all.
    return forEachPlace(fused.getLocations().front(), visit);
}

static SourceRange rangeOf(FileLineColLoc place, const SourceManager &sources) {
  return sources.rangeAt(place.getFilename().getValue(), place.getLine(), place.getColumn()).value_or(SourceRange());
}

SourceRange gnnc::sourceRangeOf(Location loc, const SourceManager &sources) {
  SourceRange range;
  forEachPlace(loc, [&](FileLineColLoc place) {
    if (!range.isValid())
      range = rangeOf(place, sources);
  });
  return range;
}

MlirDiagnostics::MlirDiagnostics(MLIRContext *ctx, DiagnosticEngine &engine, Diag id)
    : engine(engine), id(id), handler(ctx, [this](mlir::Diagnostic &diagnostic) { return handle(diagnostic); }) {}

LogicalResult MlirDiagnostics::handle(mlir::Diagnostic &diagnostic) {
  SmallVector<SourceRange> places;
  forEachPlace(diagnostic.getLocation(), [&](FileLineColLoc place) {
    SourceRange range = rangeOf(place, engine.sourceManager());
    if (range.isValid())
      places.push_back(range);
  });
  SourceRange range = places.empty() ? SourceRange() : places.front();
  gnnc::Diagnostic *shown = nullptr;
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error: {
    std::string text = diagnostic.str();
    shown = &engine.error(StringRef(text).ends_with("is not supported yet") ? Diag::notSupported : id, range, text);
    break;
  }
  case DiagnosticSeverity::Warning:
    shown = &engine.warning(id, range, diagnostic.str());
    break;
  default:
    return success(); // remarks are for gnnc's developers
  }
  for (SourceRange caller : llvm::drop_begin(places))
    shown->note(caller, "in the function called here");
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (!isa<UnknownLoc>(note.getLocation()))
      shown->note(sourceRangeOf(note.getLocation(), engine.sourceManager()), note.str());
  return success();
}

FaultCollector::FaultCollector(MLIRContext *ctx)
    : handler(ctx, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
          llvm::raw_string_ostream out(messages);
          out << "  " << diagnostic.getLocation() << ": " << diagnostic << "\n";
        }
        return success();
      }) {}

void FaultCollector::report(llvm::raw_ostream &out, StringRef stage) const {
  out << "gnnc: internal error: the program is correct, but gnnc failed on it (" << stage << ")\n"
      << messages
      << "This is a fault of gnnc, not of your program. Please report it with the program and these lines.\n";
}

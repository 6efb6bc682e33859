// Notes in locations: reading, writing, and the names that reports give to kernels.
#include "gnnc/Dialect/KernelNotes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc::gnn;

static constexpr llvm::StringLiteral inlinedName = "gnn.inlined", storedName = "gnn.stored", aloneName = "gnn.alone",
                                     idName = "gnn.id";

static DictionaryAttr notesIn(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  auto notes = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : DictionaryAttr();
  return notes && (notes.contains(inlinedName) || notes.contains(storedName) || notes.contains(aloneName) ||
                   notes.contains(idName))
             ? notes
             : DictionaryAttr();
}

KernelNotes KernelNotes::of(Location loc) {
  KernelNotes notes;
  DictionaryAttr dict = notesIn(loc);
  if (!dict)
    return notes;
  if (auto inlined = dict.getAs<ArrayAttr>(inlinedName))
    for (Attribute loc : inlined)
      notes.inlined.push_back(cast<NameLoc>(loc));
  if (auto stored = dict.getAs<StringAttr>(storedName))
    notes.stored = stored.str();
  if (auto alone = dict.getAs<StringAttr>(aloneName))
    notes.alone = alone.str();
  notes.id = dict.getAs<DistinctAttr>(idName);
  return notes;
}

Location KernelNotes::at(Location loc) const {
  MLIRContext *ctx = loc.getContext();
  if (notesIn(loc))
    loc = FusedLoc::get(ctx, cast<FusedLoc>(loc).getLocations());
  SmallVector<NamedAttribute> entries;
  Builder b(ctx);
  if (!inlined.empty())
    entries.push_back(b.getNamedAttr(
        inlinedName, b.getArrayAttr(llvm::map_to_vector(inlined, [](NameLoc l) -> Attribute { return l; }))));
  if (!stored.empty())
    entries.push_back(b.getNamedAttr(storedName, b.getStringAttr(stored)));
  if (!alone.empty())
    entries.push_back(b.getNamedAttr(aloneName, b.getStringAttr(alone)));
  if (id)
    entries.push_back(b.getNamedAttr(idName, id));
  if (entries.empty())
    return loc;
  return FusedLoc::get(ctx, {loc}, b.getDictionaryAttr(entries));
}

void KernelNotes::identify(Operation *op) {
  KernelNotes notes = of(op);
  if (notes.id)
    return;
  notes.id = DistinctAttr::create(UnitAttr::get(op->getContext()));
  notes.set(op);
}

std::string gnnc::gnn::kernelTitle(llvm::StringRef label) {
  llvm::StringRef name = label.substr(label.rfind('.') + 1);
  // Elementwise ops carry the kind of their elements at the end.
  if (label.starts_with("arith.") && name.size() > 3)
    for (llvm::StringRef suffix : {"si", "ui", "f", "i"})
      if (name.consume_back(suffix))
        break;
  return name.str();
}

std::string gnnc::gnn::kernelTitle(KernelOp kernel) { return kernelTitle(kernel.getLabel()); }

std::string gnnc::gnn::sourceLine(Location loc) {
  // A call's place comes after that of what is called.
  std::string text;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColRange>(inner);
    if (!file)
      return WalkResult::advance();
    llvm::StringRef name = file.getFilename().getValue();
    text = (name.substr(name.rfind('/') + 1) + ":" + Twine(file.getStartLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}

std::string gnnc::gnn::describeKernel(KernelOp kernel) {
  std::string line = sourceLine(kernel.getLoc());
  return "'" + kernelTitle(kernel) + "'" + (line.empty() ? "" : " (" + line + ")");
}

std::string gnnc::gnn::describeReader(Operation *reader) {
  if (isa<func::ReturnOp>(reader))
    return "returned";
  if (isa<GemmOp>(reader))
    return "read by a matrix product";
  if (isa<ReshapeOp>(reader))
    return "read in another shape";
  return isa<KernelOp>(reader) ? "read by another kernel" : "read as an index";
}

// Notes in locations: reading, writing, and the names that reports give to kernels.
#include "gnnc/Dialect/KernelNotes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"

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

std::string gnnc::gnn::opTitle(llvm::StringRef label) {
  return llvm::StringSwitch<std::string>(label)
      .Cases({"arith.addf", "arith.addi"}, "addition")
      .Cases({"arith.subf", "arith.subi"}, "subtraction")
      .Cases({"arith.mulf", "arith.muli", "gnn.pmul"}, "multiplication")
      .Cases({"arith.divf", "arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi"}, "division")
      .Cases({"arith.remf", "arith.remsi", "arith.remui"}, "remainder")
      .Case("arith.negf", "negation")
      .Cases({"arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui"}, "maximum")
      .Cases({"arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui"}, "minimum")
      .Cases({"arith.cmpf", "arith.cmpi"}, "comparison")
      .Case("arith.select", "where")
      .Case("arith.andi", "and")
      .Case("arith.ori", "or")
      .Case("arith.xori", "not")
      .Cases({"arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi"}, "conversion")
      .Cases({"arith.fptoui", "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"}, "conversion")
      .Cases({"math.absf", "math.absi"}, "abs")
      .Cases({"math.powf", "math.ipowi", "math.fpowi"}, "power")
      .Case("gnn.contract", "sum of products")
      .Cases({"gnn.segment_reduce", "gnn.share_sum"}, "reduction by an index")
      .Cases({"gnn.reduce", "gnn.arg_reduce"}, "reduction")
      .Case("gnn.segment_softmax", "softmax")
      .Case("gnn.segment_logsumexp", "logsumexp")
      .Case("gnn.share", "gradient of an extremum")
      .Case("gnn.unslice", "gradient of a slice")
      .Case("gnn.select_index", "choice of a position")
      .Cases({"gnn.update_index", "gnn.update_slice"}, "update")
      .Cases({"gnn.uniform", "gnn.random_bits"}, "random numbers")
      .Default(label.substr(label.rfind('.') + 1).str());
}

/// What combines values over the reduced iterators of a kernel.
static llvm::StringRef combineTitle(CombineKind kind) {
  switch (kind) {
  case CombineKind::Sum:
    return "sum";
  case CombineKind::Prod:
    return "product";
  case CombineKind::Max:
    return "maximum";
  case CombineKind::Min:
    return "minimum";
  case CombineKind::ArgMax:
    return "argmax";
  case CombineKind::ArgMin:
    return "argmin";
  case CombineKind::Share:
    return "gradient of an extremum";
  case CombineKind::None:
  case CombineKind::Tag:
    break;
  }
  return "";
}

std::string gnnc::gnn::kernelTitle(KernelOp kernel) {
  llvm::StringRef label = kernel.getLabel();
  auto kind = cast<CombineKindAttr>(kernel.getCombines()[0]).getValue();
  llvm::StringRef combined = combineTitle(kind);
  bool reduces = llvm::is_contained({"gnn.segment_reduce", "gnn.share_sum", "gnn.reduce", "gnn.arg_reduce"}, label);
  if (!reduces || combined.empty())
    return opTitle(label);
  if (!kernel.getOrder() || kind == CombineKind::Share)
    return combined.str();
  return (combined + (kernel.getOrder().getDefiningOp<OrderOp>() ? " over edges" : " by an index")).str();
}

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

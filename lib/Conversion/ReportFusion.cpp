// The steps of an entry for people: which ops became which kernel, what it reads and writes for each edge and each
// node, which values are computed again instead of being stored, and what kept it from being larger.
#include "MemoryPlan.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

namespace {
class FusionReport {
public:
  FusionReport(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os) : plan(plan), info(info), os(os) {}
  void run();

private:
  /// How often a value is touched: for each entry of an order, for each row (or element), or once for the whole kernel.
  enum Scope { Entry, Row, Once };
  struct Line {
    Scope scope;
    std::string what; // "reads", "writes", "beside"
    std::string text;
    bool operator==(const Line &o) const { return scope == o.scope && what == o.what && text == o.text; }
  };

  const MemoryPlan &plan;
  const EntryInfo &info;
  llvm::raw_ostream &os;
  DenseMap<Operation *, unsigned> numbers;                      // of steps that are kernels
  llvm::MapVector<Attribute, SmallVector<unsigned>> computedIn; // of values that may be computed in several kernels

  SmallVector<KernelOp> membersOf(Operation *step);
  void collect(Operation *step);
  void reportKernel(Operation *step);
  void reportProduct(GemmOp gemm);
  void addAccesses(KernelOp kernel, SmallVectorImpl<Line> &lines);
  SizeAttr features(KernelOp kernel, AffineMap map);
  Scope scopeOf(KernelOp kernel, AffineMap map);
  std::string amount(SizeAttr features, Type element);
  std::string nameOf(Value value);
  std::string loopText(Operation *step);
};
} // namespace

static AffineMap mapAt(ArrayAttr maps, unsigned number) { return cast<AffineMapAttr>(maps[number]).getValue(); }

/// Ops that only say where values stand: computing them again is nothing to report.
static bool movesOnly(StringRef title) {
  return llvm::is_contained({"gather", "broadcast", "transpose", "slice", "copy", "concat", "gradient of a slice"},
                            title);
}

SmallVector<KernelOp> FusionReport::membersOf(Operation *step) {
  if (auto group = dyn_cast<GroupOp>(step))
    return SmallVector<KernelOp>(group.getBody().front().getOps<KernelOp>());
  return {cast<KernelOp>(step)};
}

/// Which values a step computes that others may compute too.
void FusionReport::collect(Operation *step) {
  auto add = [&](DistinctAttr id) {
    if (!id)
      return;
    SmallVector<unsigned> &kernels = computedIn[id];
    if (kernels.empty() || kernels.back() != numbers[step])
      kernels.push_back(numbers[step]);
  };
  for (KernelOp kernel : membersOf(step)) {
    KernelNotes notes = KernelNotes::of(kernel);
    add(notes.id);
    for (NameLoc inlined : notes.inlined)
      add(KernelNotes::of(inlined.getChildLoc()).id);
  }
}

/// The number of elements that one row, or one entry, has in an access.
SizeAttr FusionReport::features(KernelOp kernel, AffineMap map) {
  unsigned loops = kernel.getOrder() ? 2 : 1;
  SizeAttr size = SizeAttr::constant(kernel.getContext(), 1);
  for (unsigned d = loops; d < map.getNumDims(); ++d)
    if (map.isFunctionOfDim(d))
      size = size.mul(kernel.getSpace().getSizes()[d]);
  return size;
}

FusionReport::Scope FusionReport::scopeOf(KernelOp kernel, AffineMap map) {
  auto uses = [&](auto &&self, AffineMap map, unsigned iterator) -> bool {
    if (iterator < map.getNumDims() && map.isFunctionOfDim(iterator))
      return true;
    for (unsigned k = 0; k < kernel.getIndices().size(); ++k)
      if (map.isFunctionOfSymbol(k) && self(self, mapAt(kernel.getIndexMaps(), k), iterator))
        return true;
    return false;
  };
  if (kernel.getOrder() && uses(uses, map, 1))
    return Entry;
  return uses(uses, map, 0) ? Row : Once;
}

std::string FusionReport::amount(SizeAttr features, Type element) {
  std::string bytes = info.sizeText(features.scale(elementBytes(element)));
  return bytes + (features.getConstant() == 1 ? " bytes" : " bytes (" + info.sizeText(features) + " features)");
}

std::string FusionReport::nameOf(Value value) {
  Value root = memoryRoot(value);
  auto it = plan.storage.find(root);
  if (it != plan.storage.end()) {
    switch (it->second.kind) {
    case Storage::Argument:
      return info.args[it->second.number].path;
    case Storage::Structure:
      return isa_and_present<DegreeOp>(root.getDefiningOp()) ? "degrees" : "ends of edges";
    case Storage::Scalar:
      return "a scalar";
    case Storage::Residual:
      if (isa<BlockArgument>(root))
        return "a value that the forward function kept";
      break;
    default:
      break;
    }
  }
  Operation *maker = root.getDefiningOp();
  if (auto kernel = dyn_cast_or_null<KernelOp>(maker))
    return describeKernel(kernel);
  if (!maker)
    return "a value";
  std::string line = sourceLine(maker->getLoc());
  return (isa<GemmOp>(maker) ? "a matrix product" : "a value") + (line.empty() ? line : " (" + line + ")");
}

/// Whether a result of a kernel in a group is written to memory.
static bool leavesGroup(Value result) {
  return llvm::is_contained(result.getDefiningOp()->getBlock()->getTerminator()->getOperands(), result);
}

void FusionReport::addAccesses(KernelOp kernel, SmallVectorImpl<Line> &lines) {
  auto add = [&](Scope scope, StringRef what, std::string text) {
    Line line{scope, what.str(), std::move(text)};
    if (!llvm::is_contained(lines, line))
      lines.push_back(std::move(line));
  };
  for (auto [k, index] : llvm::enumerate(kernel.getIndices())) {
    AffineMap map = mapAt(kernel.getIndexMaps(), k);
    add(scopeOf(kernel, map), "reads", nameOf(index) + ": " + amount(features(kernel, map), elementOf(index)));
  }
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    AffineMap map = mapAt(kernel.getMaps(), i);
    auto maker = input.getDefiningOp<KernelOp>();
    bool ofGroup = maker && maker->getBlock() == kernel->getBlock() && isa<GroupOp>(kernel->getParentOp());
    // What is kept beside the loop is no memory.
    if (input.getDefiningOp<arith::ConstantOp>() || (ofGroup && maker.getOrder() && scopeOf(kernel, map) == Entry) ||
        (ofGroup && !leavesGroup(input)))
      continue;
    add(scopeOf(kernel, map), "reads",
        nameOf(input) + (ofGroup ? ", made here: " : ": ") + amount(features(kernel, map), elementOf(input)));
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    AffineMap map = mapAt(kernel.getResultMaps(), i);
    Scope scope = scopeOf(kernel, map);
    std::string text = describeKernel(kernel) + ": " + amount(features(kernel, map), elementOf(result));
    std::string reason = KernelNotes::of(kernel).stored;
    if (!reason.empty())
      text += "; " + reason;
    bool beside = (kernel.getOrder() && scope == Entry) ||
                  (isa<GroupOp>(kernel->getParentOp()) && scope == Row && !leavesGroup(result));
    add(scope, beside ? "beside" : "writes", text);
  }
}

/// What a kernel runs over.
std::string FusionReport::loopText(Operation *step) {
  auto byEnd = [&](Value order) {
    auto of = order.getDefiningOp<OrderOp>();
    if (!of)
      return std::string(" by an index");
    return std::string(of.getEnd() == Direction::Dst ? " by destination" : " by source");
  };
  auto over = [&](Value order) {
    auto type = cast<OrderType>(order.getType());
    return info.sizeText(type.getEntries()) + byEnd(order) + ", for each of " + info.sizeText(type.getRows());
  };
  if (auto group = dyn_cast<GroupOp>(step)) {
    unsigned sweeps = llvm::count_if(plan.groups.find(step)->second.stages, [](auto &stage) { return stage.sweeps; });
    return over(group.getOrder()) + (sweeps == 1 ? ", in 1 pass" : ", in " + std::to_string(sweeps) + " passes");
  }
  auto kernel = cast<KernelOp>(step);
  if (kernel.getOrder())
    return over(kernel.getOrder());
  ArrayRef<SizeAttr> space = kernel.getSpace().getSizes();
  return space.empty() ? "one point" : info.sizeText(space[0]);
}

void FusionReport::reportKernel(Operation *step) {
  os << "  kernel " << numbers[step] << ": over " << loopText(step) << "\n";
  auto row = [&](StringRef head, const Twine &text) {
    std::string line = text.str();
    os << "    " << head << std::string(head.size() < 11 ? 11 - head.size() : 1, ' ') << line << "\n";
  };
  // Ops by their line in the program, in the order in which they are first met.
  llvm::MapVector<StringAttr, SmallVector<std::string>> ops;
  MLIRContext *ctx = step->getContext();
  auto addOp = [&](std::string title, Location loc) {
    SmallVector<std::string> &titles = ops[StringAttr::get(ctx, sourceLine(loc))];
    if (!llvm::is_contained(titles, title))
      titles.push_back(std::move(title));
  };
  auto lineText = [](StringAttr line) { return line.empty() ? std::string("-") : line.str(); };
  SmallVector<Line> lines;
  llvm::MapVector<std::pair<StringAttr, unsigned>, SmallVector<std::string>> again; // by line and earlier kernel
  SmallVector<std::string> alone;
  auto addAgain = [&](StringRef title, Location loc, DistinctAttr id) {
    if (!id || movesOnly(title))
      return;
    ArrayRef<unsigned> kernels = computedIn[id];
    if (kernels.size() < 2 || kernels.front() == numbers[step])
      return;
    SmallVector<std::string> &titles = again[{StringAttr::get(ctx, sourceLine(loc)), kernels.front()}];
    if (!llvm::is_contained(titles, title))
      titles.push_back(title.str());
  };
  for (KernelOp kernel : membersOf(step)) {
    KernelNotes notes = KernelNotes::of(kernel);
    for (NameLoc inlined : notes.inlined) {
      addOp(inlined.getName().str(), inlined.getChildLoc());
      addAgain(inlined.getName(), inlined.getChildLoc(), KernelNotes::of(inlined.getChildLoc()).id);
    }
    addOp(kernelTitle(kernel), kernel.getLoc());
    addAgain(kernelTitle(kernel), kernel.getLoc(), notes.id);
    addAccesses(kernel, lines);
    if (!notes.alone.empty())
      alone.push_back(describeKernel(kernel) + ": " + notes.alone);
  }
  for (auto &[line, titles] : ops)
    row("computes", lineText(line) + "  " + llvm::join(titles, ", "));
  // An order of a graph's edges has the nodes at their ends for rows.
  Value order = isa<GroupOp>(step) ? cast<GroupOp>(step).getOrder() : cast<KernelOp>(step).getOrder();
  bool ofGraph = order && order.getDefiningOp<OrderOp>();
  std::string entry = ofGraph ? "edge" : "entry", item = ofGraph ? "node" : "row";
  bool edges = llvm::any_of(lines, [](const Line &line) { return line.scope == Entry; });
  for (Scope scope : {Entry, Row, Once})
    for (StringRef what : {"reads", "beside", "writes"})
      for (const Line &line : lines) {
        if (line.scope != scope || line.what != what)
          continue;
        std::string verb =
            what == "beside" ? "keeps for the " + (scope == Entry ? entry : item) + " at hand" : what.str();
        std::string head = scope == Entry  ? "per " + entry
                           : scope == Once ? "once"
                           : edges         ? "per " + item
                                           : "per item";
        row(head, Twine(verb) + " " + line.text);
      }
  for (auto &[where, titles] : again)
    row("again", lineText(where.first) + "  " + llvm::join(titles, ", ") + ", as in kernel " + Twine(where.second));
  for (const std::string &text : alone)
    row("no larger", text);
}

void FusionReport::reportProduct(GemmOp gemm) {
  std::string line = sourceLine(gemm.getLoc());
  os << "  matrix product" << (line.empty() ? "" : " (" + line + ")") << ": " << info.sizeText(gemm.getM()) << " x "
     << info.sizeText(gemm.getK()) << " by " << info.sizeText(gemm.getK()) << " x " << info.sizeText(gemm.getN())
     << ", of " << nameOf(gemm.getLhs()) << " and " << nameOf(gemm.getRhs());
  if (gemm.getInit())
    os << ", added to " << nameOf(gemm.getInit());
  os << "\n";
}

void FusionReport::run() {
  unsigned kernels = 0, products = 0;
  for (Operation *step : plan.steps) {
    if (isa<KernelOp, GroupOp>(step))
      numbers[step] = ++kernels;
    products += isa<GemmOp>(step);
  }
  for (Operation *step : plan.steps)
    if (numbers.contains(step))
      collect(step);
  os << "fusion of '" << info.name << "': " << kernels << (kernels == 1 ? " kernel, " : " kernels, ") << products
     << (products == 1 ? " matrix product\n" : " matrix products\n");
  for (Operation *step : plan.steps) {
    if (numbers.contains(step))
      reportKernel(step);
    else if (auto gemm = dyn_cast<GemmOp>(step))
      reportProduct(gemm);
  }
}

void gnnc::reportFusion(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os) {
  FusionReport(plan, info, os).run();
}

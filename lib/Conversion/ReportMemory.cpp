// The memory plan as a table: every buffer with its size, its place in the program and its lifetime, and a bound of the
// whole.
#include "MemoryPlan.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

static std::string lineOf(Operation *op) {
  std::string line = sourceLine(op->getLoc());
  return line.empty() ? "-" : line;
}

static std::string describe(const PlannedBuffer &buffer) {
  switch (buffer.purpose) {
  case PlannedBuffer::Slots:
    return "parts of long rows";
  case PlannedBuffer::Workspace:
    return "workspace of a matrix product";
  case PlannedBuffer::Values:
    break;
  }
  if (auto kernel = dyn_cast<KernelOp>(buffer.op))
    return kernelTitle(kernel);
  return isa<GemmOp>(buffer.op) ? "matrix product" : "value";
}

/// The larger of two sizes, term by term: at least either of them, since sets are not negative.
static SizeAttr termwiseMax(SizeAttr a, SizeAttr b) {
  std::map<std::vector<int64_t>, int64_t> terms;
  auto collect = [&](SizeAttr size) {
    ArrayRef<int64_t> t = size.getTerms();
    for (size_t i = 0; i < t.size(); i += 2 + t[i + 1]) {
      int64_t &coefficient = terms[{t.begin() + i + 2, t.begin() + i + 2 + t[i + 1]}];
      coefficient = std::max(coefficient, t[i]);
    }
  };
  if (!a.getQuotients().empty() || !b.getQuotients().empty())
    return a.add(b);
  collect(a);
  collect(b);
  SizeAttr result = SizeAttr::constant(a.getContext(), 0);
  for (auto &[factors, coefficient] : terms) {
    SizeAttr term = SizeAttr::constant(a.getContext(), coefficient);
    for (int64_t set : factors)
      term = term.mul(SizeAttr::set(a.getContext(), set));
    result = result.add(term);
  }
  return result;
}

void gnnc::reportMemory(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os) {
  os << "memory of '" << info.name << "': " << plan.steps.size() << " steps\n";
  auto row = [&](StringRef size, StringRef value, StringRef source, StringRef steps, StringRef kept) {
    std::string text = llvm::formatv("  {0,-34} {1,-36} {2,-18} {3,-9} {4}", size, value, source, steps, kept).str();
    os << StringRef(text).rtrim() << "\n";
  };
  row("size in bytes", "value", "source", "steps", "kept");
  MLIRContext *ctx = plan.buffers.empty() ? nullptr : plan.buffers[0].op->getContext();
  SizeAttr bound = ctx ? SizeAttr::constant(ctx, 0) : SizeAttr();
  bool parts = false;
  for (const PlannedBuffer &buffer : plan.buffers) {
    // Rows of an order are cut by the graph, blocks of a matrix product by the sizes.
    std::string size = buffer.purpose == PlannedBuffer::Slots ? "depends on the graph" : "depends on the sizes";
    if (buffer.purpose == PlannedBuffer::Values)
      size = info.sizeText(buffer.elements.scale(elementBytes(buffer.element)));
    else
      parts = true;
    auto kept = buffer.op->getAttrOfType<StringAttr>("gnn.kept");
    row(size, describe(buffer), lineOf(buffer.op), llvm::formatv("{0}-{1}", buffer.first, buffer.last).str(),
        kept ? kept.getValue() : "");
  }
  if (!ctx) {
    os << "  nothing is stored\n";
    return;
  }
  for (int step = 0; step <= static_cast<int>(plan.steps.size()); ++step) {
    SizeAttr alive = SizeAttr::constant(ctx, 0);
    for (const PlannedBuffer &buffer : plan.buffers)
      if (buffer.purpose == PlannedBuffer::Values && buffer.first <= step && step <= buffer.last)
        alive = alive.add(buffer.elements.scale(elementBytes(buffer.element)));
    bound = termwiseMax(bound, alive);
  }
  os << "  in all at most " << info.sizeText(bound) << " bytes" << (parts ? ", and parts and workspace" : "") << "\n";
}

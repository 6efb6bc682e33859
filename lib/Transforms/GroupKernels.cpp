// Makes groups: kernels over the rows of one order that are run together, row by row.
//
// A group begins with a reduction over an order. What other reductions over the same order and row-wise kernels can be
// run with it joins, unless something between them needs a result of the group for all rows first. Values of entries
// that a member reads are computed in the group, again in every group that needs them: so nothing of the size of the
// edges is stored, and a gradient's sweep over the opposite order recomputes what it reads of the edges.
#include "gnnc/Dialect/KernelNotes.h"
#include "gnnc/Transforms/Fusion.h"
#include "gnnc/Transforms/KernelBuilder.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc::gnn {
#define GEN_PASS_DEF_GROUPKERNELS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

using namespace mlir;
using namespace gnnc::gnn;

/// The widest row of features that a group holds in registers, and the most values of an entry that are kept beside
/// the loop.
static constexpr int64_t maxLanes = 512, maxEntryLanes = 128;

static constexpr unsigned noIterator = ~0u;

static AffineMap mapAt(ArrayAttr maps, unsigned number) { return cast<AffineMapAttr>(maps[number]).getValue(); }

static IteratorKind kindAt(KernelOp kernel, unsigned iterator) {
  return cast<IteratorKindAttr>(kernel.getIterators()[iterator]).getValue();
}

namespace {
struct Group {
  Value order;
  llvm::SetVector<Operation *> members; // reductions and row-wise kernels
  llvm::SetVector<Operation *> pulled;  // kernels of entries that are computed in it
};

class Grouper {
public:
  Grouper(func::FuncOp func, Block &block, bool fuse) : func(func), fuse(fuse), block(block) {}
  LogicalResult run();

private:
  func::FuncOp func;
  bool fuse;
  Block &block;
  std::vector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;

  bool isReduction(KernelOp kernel);
  std::optional<unsigned> entryIterator(KernelOp kernel, Value order);
  bool isRowWise(KernelOp kernel, const Group &group);
  bool hasFixedFeatures(KernelOp kernel, unsigned loops, unsigned skip, int64_t lanes);
  bool join(Group &group, KernelOp kernel);
  bool pull(const Group &group, KernelOp reader, llvm::SetVector<Operation *> &pulled);
  bool isComparedOutside(KernelOp sum, Value order);
  bool readsAtRow(KernelOp reader, unsigned input, Value order);
  bool reaches(const llvm::SetVector<Operation *> &from, const llvm::SetVector<Operation *> &through, Operation *to);
  void splitTotals();
  void make(Group &group);
  std::string whyAlone(KernelOp kernel);
  std::string whyNotFixed(KernelOp kernel, unsigned loops, unsigned skip, int64_t lanes);
  void note(KernelOp kernel, std::string alone);

  std::string refusal; // why the last attempt to join failed
};
} // namespace

/// Whether everything but the `loops` first iterators (without `skip`) has a constant size, and places depend on
/// features with constant strides.
bool Grouper::hasFixedFeatures(KernelOp kernel, unsigned loops, unsigned skip, int64_t lanes) {
  if (!kernel.getInits().empty() || !kernel.getOffsets().getSizes().empty())
    return false;
  auto isLoop = [&](unsigned d) { return d < loops || d == skip; };
  int64_t features = 1;
  for (auto [d, size] : llvm::enumerate(kernel.getSpace().getSizes()))
    if (!isLoop(d)) {
      std::optional<int64_t> count = size.getConstant();
      if (!count || *count == 0)
        return false;
      features *= *count;
    }
  if (features > lanes)
    return false;
  auto isFixed = [&](AffineMap map, Type type, bool mayUseFeatures) {
    ArrayRef<SizeAttr> dims = dimsOf(type);
    for (unsigned i = 0; i < dims.size(); ++i) {
      if (i > 0 && !dims[i].getConstant())
        return false;
      AffineExpr position = map.getResult(i);
      for (unsigned d = 0; d < map.getNumDims(); ++d)
        if (position.isFunctionOfDim(d) && (isLoop(d) ? i > 0 : !mayUseFeatures))
          return false;
      for (unsigned k = 0; i > 0 && k < map.getNumSymbols(); ++k)
        if (position.isFunctionOfSymbol(k))
          return false;
    }
    return true;
  };
  for (auto [attr, value] : llvm::zip(kernel.getIndexMaps(), kernel.getIndices()))
    if (!isFixed(cast<AffineMapAttr>(attr).getValue(), value.getType(), false))
      return false;
  for (auto [attr, value] : llvm::zip(kernel.getMaps(), kernel.getInputs()))
    if (!isFixed(cast<AffineMapAttr>(attr).getValue(), value.getType(), true))
      return false;
  // Results lie in memory as their iterators run.
  for (auto [attr, value] : llvm::zip(kernel.getResultMaps(), kernel.getResults())) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (!isFixed(map, value.getType(), true) || map.getNumResults() == 0)
      return false;
    unsigned last = 0;
    for (AffineExpr position : map.getResults().drop_front()) {
      auto dim = dyn_cast<AffineDimExpr>(position);
      if (!dim || isLoop(dim.getPosition()) || dim.getPosition() < last)
        return false;
      last = dim.getPosition();
    }
  }
  // What is reduced comes last, so that the lanes of one result stand together.
  bool reduced = false;
  for (unsigned d = 0; d < kernel.getSpace().getSizes().size(); ++d) {
    if (isLoop(d))
      continue;
    if (reduced && kindAt(kernel, d) == IteratorKind::Parallel)
      return false;
    reduced |= kindAt(kernel, d) == IteratorKind::Reduction;
  }
  return true;
}

bool Grouper::isReduction(KernelOp kernel) {
  if (!kernel.getOrder() || !hasFixedFeatures(kernel, 2, noIterator, maxLanes))
    return false;
  for (unsigned d = 2; d < kernel.getSpace().getSizes().size(); ++d)
    if (kindAt(kernel, d) != IteratorKind::Parallel)
      return false;
  for (Attribute attr : kernel.getResultMaps())
    if (cast<AffineMapAttr>(attr).getValue().getResult(0) != getAffineDimExpr(0, func.getContext()))
      return false;
  return true;
}

/// The iterator that counts the entries of an order, if the kernel gives one row of values for each of them.
std::optional<unsigned> Grouper::entryIterator(KernelOp kernel, Value order) {
  if (kernel.getOrder() || kernel.getNumResults() != 1)
    return std::nullopt;
  AffineMap map = mapAt(kernel.getResultMaps(), 0);
  auto first = map.getNumResults() ? dyn_cast<AffineDimExpr>(map.getResult(0)) : AffineDimExpr(nullptr);
  if (!first)
    return std::nullopt;
  unsigned entry = first.getPosition();
  CombineKind combine = cast<CombineKindAttr>(kernel.getCombines()[0]).getValue();
  if (kernel.getSpace().getSizes()[entry] != cast<OrderType>(order.getType()).getEntries() ||
      (combine != CombineKind::None && combine != CombineKind::Sum) ||
      !hasFixedFeatures(kernel, 0, entry, 2 * maxLanes))
    return std::nullopt;
  int64_t lanes = 1;
  for (unsigned i = 1; i < map.getNumResults(); ++i)
    lanes *= *dimsOf(kernel.getResult(0))[i].getConstant();
  return lanes <= maxEntryLanes ? std::optional<unsigned>(entry) : std::nullopt;
}

/// Whether a kernel works on rows alone, and on what the group makes for them.
bool Grouper::isRowWise(KernelOp kernel, const Group &group) {
  ArrayRef<SizeAttr> space = kernel.getSpace().getSizes();
  if (kernel.getOrder() || space.empty() || space[0] != cast<OrderType>(group.order.getType()).getRows() ||
      kindAt(kernel, 0) != IteratorKind::Parallel || !hasFixedFeatures(kernel, 1, noIterator, maxLanes) ||
      !kernel.getIndices().empty())
    return false;
  for (auto [attr, combine] : llvm::zip(kernel.getResultMaps(), kernel.getCombines())) {
    CombineKind kind = cast<CombineKindAttr>(combine).getValue();
    if (cast<AffineMapAttr>(attr).getValue().getResult(0) != getAffineDimExpr(0, func.getContext()) ||
        (kind != CombineKind::None && kind != CombineKind::Sum))
      return false;
  }
  return llvm::any_of(kernel.getInputs(), [&](Value input) { return group.members.contains(input.getDefiningOp()); });
}

/// Whether a kernel reads an input of rows at the row of its own.
bool Grouper::readsAtRow(KernelOp reader, unsigned input, Value order) {
  AffineExpr position = mapAt(reader.getMaps(), input).getResult(0);
  if (auto dim = dyn_cast<AffineDimExpr>(position))
    return dim.getPosition() == 0 && (reader.getOrder() || !entryIterator(reader, order));
  // In a kernel that is still over all entries: at the end of the edge by which the order groups.
  auto symbol = dyn_cast<AffineSymbolExpr>(position);
  auto of = order.getDefiningOp<OrderOp>();
  if (!symbol || !of || symbol.getPosition() >= reader.getIndices().size())
    return false;
  auto endpoint = reader.getIndices()[symbol.getPosition()].getDefiningOp<EndpointOp>();
  AffineExpr at = mapAt(reader.getIndexMaps(), symbol.getPosition()).getResult(0);
  std::optional<unsigned> entry = reader.getOrder() ? std::optional<unsigned>(1) : entryIterator(reader, order);
  return endpoint && entry && at == getAffineDimExpr(*entry, func.getContext()) &&
         endpoint.getGraph() == of.getGraph() && endpoint.getEnd() == of.getEnd();
}

/// Whether a kernel tells which of its values are equal, as one that finds the entries that are the maximum.
static bool tellsEqual(KernelOp kernel) {
  return llvm::any_of(kernel.getBody().getOps<arith::CmpFOp>(),
                      [](arith::CmpFOp compare) { return compare.getPredicate() == arith::CmpFPredicate::OEQ; });
}

/// Whether a sum of features of entries is compared with a maximum of such sums, while some of what is computed from it
/// will be in no group: the code there might add in another order, and what is compared has to be the same bit for bit.
bool Grouper::isComparedOutside(KernelOp sum, Value order) {
  bool compared = false, outside = false;
  llvm::SetVector<Operation *> work;
  work.insert(sum);
  for (size_t i = 0; i < work.size(); ++i)
    for (Operation *user : work[i]->getUsers()) {
      auto kernel = dyn_cast<KernelOp>(user);
      bool reduction = kernel && isReduction(kernel);
      compared |= kernel && tellsEqual(kernel);
      if (kernel && kernel->getBlock() == &block && !reduction && entryIterator(kernel, order))
        work.insert(kernel);
      else
        outside |= !reduction;
    }
  return compared && outside;
}

/// Collects the kernels of entries that a member would read, from the first to the last. Fails where one of them needs
/// what the group makes for other rows.
bool Grouper::pull(const Group &group, KernelOp reader, llvm::SetVector<Operation *> &pulled) {
  for (auto [i, input] : llvm::enumerate(reader.getInputs())) {
    auto maker = input.getDefiningOp<KernelOp>();
    if (!maker || maker->getBlock() != &block)
      continue;
    if (group.members.contains(maker)) {
      if (!readsAtRow(reader, i, group.order)) {
        refusal = "needs " + describeKernel(maker) + " for other rows first";
        return false;
      }
      continue;
    }
    bool ofEntries = static_cast<bool>(reader.getOrder()) || entryIterator(reader, group.order);
    if (!fuse || !ofEntries || pulled.contains(maker))
      continue;
    unsigned entry = reader.getOrder() ? 1 : *entryIterator(reader, group.order);
    if (!entryIterator(maker, group.order) ||
        mapAt(reader.getMaps(), i).getResult(0) != getAffineDimExpr(entry, func.getContext()))
      continue;
    // What is in memory anyway is read from there.
    bool stored = llvm::any_of(maker->getUsers(), [&](Operation *user) {
      auto kernel = dyn_cast<KernelOp>(user);
      return !kernel || kernel->getBlock() != &block ||
             (!isMap(maker) && !isReduction(kernel) && !entryIterator(kernel, group.order));
    });
    if (stored || (!isMap(maker) && isComparedOutside(maker, group.order)))
      continue;
    if (!pull(group, maker, pulled))
      return false;
    pulled.insert(maker);
  }
  return true;
}

/// Whether something that is not in `through` leads from `from` to `to`.
bool Grouper::reaches(const llvm::SetVector<Operation *> &from, const llvm::SetVector<Operation *> &through,
                      Operation *to) {
  SmallVector<Operation *> work;
  llvm::DenseSet<Operation *> seen;
  auto visitUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers()) {
      // What is inside of a branch or a loop runs with it.
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && seen.insert(here).second)
        work.push_back(here);
    }
  };
  for (Operation *op : from)
    visitUsers(op);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op == to || from.contains(op) || through.contains(op)) {
      if (op == to)
        return true;
      continue;
    }
    // What stands in a group comes after everything that the group reads.
    if (Group *other = groupOf.lookup(op))
      for (Operation *member : other->members)
        if (seen.insert(member).second)
          work.push_back(member);
    visitUsers(op);
  }
  return false;
}

static std::string describeOther(Operation *op) {
  std::string line = sourceLine(op->getLoc());
  return (isa<GemmOp>(op) ? "a matrix product" : "a value") + (line.empty() ? line : " (" + line + ")");
}

bool Grouper::join(Group &group, KernelOp kernel) {
  llvm::SetVector<Operation *> pulled;
  if (!pull(group, kernel, pulled))
    return false;
  // Nothing that the kernel, or what it pulls in, needs may itself wait for the whole group, by way of others.
  if (!group.members.empty()) {
    llvm::SetVector<Operation *> inside = group.members;
    auto needsOutside = [&](Operation *op) {
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (!maker || maker->getBlock() != &block || inside.contains(maker) || pulled.contains(maker) ||
            group.pulled.contains(maker))
          continue;
        llvm::SetVector<Operation *> none;
        if (reaches(group.members, none, maker)) {
          auto between = dyn_cast<KernelOp>(maker);
          refusal = "needs " + (between ? describeKernel(between) : describeOther(maker)) + " for all rows first";
          return true;
        }
      }
      return false;
    };
    if (needsOutside(kernel.getOperation()) || llvm::any_of(pulled, needsOutside))
      return false;
    // Nor may the group wait for the kernel.
    llvm::SetVector<Operation *> self, none;
    self.insert(kernel.getOperation());
    for (Operation *member : group.members)
      if (reaches(self, none, member)) {
        refusal = describeKernel(cast<KernelOp>(member)) + " needs it for all rows first";
        return false;
      }
  }
  group.members.insert(kernel.getOperation());
  group.pulled.insert(pulled.begin(), pulled.end());
  groupOf[kernel.getOperation()] = &group;
  return true;
}

/// Whether a kernel of entries is computed in the group alone.
static bool isInside(Operation *op, const Group &group) {
  return group.pulled.contains(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           return group.members.contains(user) || isInside(user, group);
         });
}

/// Moves a group's kernels into a group op at the place of the last one.
void Grouper::make(Group &group) {
  Operation *last = group.members.back();
  for (Operation *member : group.members)
    if (last->isBeforeInBlock(member))
      last = member;
  SmallVector<Operation *> members(group.members.begin(), group.members.end());
  llvm::sort(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<Value> yielded;
  SmallVector<Type> types;
  for (Operation *member : members)
    for (Value result : member->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !group.members.contains(user) && !isInside(user, group); })) {
        yielded.push_back(result);
        types.push_back(result.getType());
      }
  OpBuilder b(last);
  SmallVector<Location> locs = llvm::map_to_vector(members, [](Operation *op) { return op->getLoc(); });
  auto op = GroupOp::create(b, FusedLoc::get(func.getContext(), locs), types, group.order);
  Block *body = b.createBlock(&op.getBody());
  IRMapping mapping;
  auto bring = [&](auto &&self, KernelOp kernel) -> void {
    for (Value input : kernel.getInputs()) {
      Operation *maker = input.getDefiningOp();
      if (!maker || !group.pulled.contains(maker) || mapping.contains(input))
        continue;
      auto entry = cast<KernelOp>(maker);
      self(self, entry);
      KernelOp inside = ofEntries(entry, group.order, *entryIterator(entry, group.order));
      inside->moveBefore(body, body->end());
      for (OpOperand &operand : inside->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
      mapping.map(input, inside->getResult(0));
    }
  };
  for (Operation *member : members) {
    bring(bring, cast<KernelOp>(member));
    b.setInsertionPointToEnd(body);
    b.clone(*member, mapping);
  }
  b.setInsertionPointToEnd(body);
  YieldOp::create(b, op.getLoc(), llvm::map_to_vector(yielded, [&](Value v) { return mapping.lookup(v); }));
  for (auto [old, result] : llvm::zip(yielded, op.getResults()))
    old.replaceUsesWithIf(result, [&](OpOperand &use) { return use.getOwner()->getBlock() != body; });
}

/// A sum over all entries of what is computed for them (the gradient of a parameter that scores edges) becomes a sum of
/// each row, which can join a group, and the sum of these: otherwise everything that it reads would have to be stored.
void Grouper::splitTotals() {
  SmallVector<Value> orders;
  for (Operation &op : block)
    if (isa<OrderOp>(op))
      orders.push_back(op.getResult(0));
  for (KernelOp kernel : llvm::make_early_inc_range(block.getOps<KernelOp>())) {
    if (kernel.getOrder() || !kernel.getInits().empty() || kernel.getNumResults() != 1 ||
        cast<CombineKindAttr>(kernel.getCombines()[0]).getValue() != CombineKind::Sum)
      continue;
    for (Value order : orders) {
      auto type = cast<OrderType>(order.getType());
      auto *at = llvm::find(kernel.getSpace().getSizes(), type.getEntries());
      if (at == kernel.getSpace().getSizes().end())
        continue;
      unsigned entry = at - kernel.getSpace().getSizes().begin();
      bool readsComputed = llvm::any_of(kernel.getInputs(), [&](Value input) {
        auto maker = input.getDefiningOp<KernelOp>();
        return maker && entryIterator(maker, order);
      });
      unsigned reductions = 0;
      for (unsigned d = 0; d < kernel.getSpace().getSizes().size(); ++d)
        reductions += kindAt(kernel, d) == IteratorKind::Reduction;
      if (!readsComputed || reductions != 1 || kindAt(kernel, entry) != IteratorKind::Reduction)
        continue;
      KernelOp rows = sumByRow(kernel, order, entry);
      if (!isReduction(rows)) {
        rows.erase();
        break;
      }
      OpBuilder b(kernel);
      KernelBuilder total(b, kernel.getLoc(), kernel.getLabel());
      SmallVector<AffineExpr> position{total.iterator(IteratorKind::Reduction, type.getRows())};
      for (SizeAttr size : dimsOf(kernel.getResult(0)))
        position.push_back(total.iterator(IteratorKind::Parallel, size));
      total.input(rows.getResult(0), position);
      total.result(kernel.getResult(0).getType(), ArrayRef(position).drop_front(), CombineKind::Sum);
      KernelOp sum = total.create(
          [](OpBuilder &, ValueRange inputs, ValueRange, ValueRange) { return SmallVector<Value>{inputs[0]}; });
      kernel.replaceAllUsesWith(sum.getResults());
      kernel.erase();
      break;
    }
  }
}

void Grouper::note(KernelOp kernel, std::string alone) {
  KernelNotes notes = KernelNotes::of(kernel);
  notes.alone = std::move(alone);
  notes.set(kernel);
}

/// Why hasFixedFeatures says no.
std::string Grouper::whyNotFixed(KernelOp kernel, unsigned loops, unsigned skip, int64_t lanes) {
  if (!kernel.getInits().empty())
    return "writes into a part of a value";
  int64_t features = 1;
  for (auto [d, size] : llvm::enumerate(kernel.getSpace().getSizes())) {
    if (d < loops || d == skip)
      continue;
    if (!size.getConstant())
      return "sizes of features are not known when compiling (-D makes them constants)";
    features *= *size.getConstant();
  }
  if (features > lanes)
    return "more than " + std::to_string(lanes) + " features";
  return "its values do not lie in rows";
}

/// Why a kernel that is in no group can be in none; empty where there is nothing to say, as of what is about nodes
/// alone.
std::string Grouper::whyAlone(KernelOp kernel) {
  if (kernel.getOrder())
    return whyNotFixed(kernel, 2, noIterator, maxLanes);
  ArrayRef<SizeAttr> space = kernel.getSpace().getSizes();
  for (Operation &op : block)
    if (auto order = dyn_cast<OrderOp>(op)) {
      auto type = cast<OrderType>(order.getType());
      const auto *at = llvm::find(space, type.getEntries());
      if (at == space.end())
        continue;
      // Of entries: what reads it would have pulled it in.
      if (!entryIterator(kernel, order))
        return whyNotFixed(kernel, 0, at - space.begin(), maxEntryLanes);
      for (Operation *user : kernel->getUsers()) {
        auto reader = dyn_cast<KernelOp>(user);
        if (!reader)
          return describeReader(user);
        bool pulled = llvm::any_of(groups, [&](auto &group) { return group->pulled.contains(user); });
        if (!groupOf.contains(user) && !pulled)
          return "read by " + describeKernel(reader) + ", which is in no group";
      }
      return {};
    }
  for (auto &group : groups)
    for (Value input : kernel.getInputs())
      if (group->members.contains(input.getDefiningOp())) {
        if (!space.empty() && kindAt(kernel, 0) != IteratorKind::Parallel)
          return "combines all rows of " + describeKernel(input.getDefiningOp<KernelOp>());
        if (!space.empty() && space[0] == cast<OrderType>(group->order.getType()).getRows())
          return kernel.getIndices().empty() ? whyNotFixed(kernel, 1, noIterator, maxLanes)
                                             : "reads other rows by an index";
        return "needs " + describeKernel(input.getDefiningOp<KernelOp>()) + " for all rows first";
      }
  return {};
}

LogicalResult Grouper::run() {
  if (fuse)
    splitTotals();
  for (KernelOp kernel : block.getOps<KernelOp>()) {
    bool reduction = isReduction(kernel);
    bool joined = false;
    std::string reason;
    for (auto &group : llvm::reverse(groups)) {
      if (!fuse || joined)
        break;
      if (reduction ? kernel.getOrder() == group->order : isRowWise(kernel, *group)) {
        joined = join(*group, kernel);
        if (!joined && reason.empty())
          reason = refusal;
      }
    }
    if (!joined && !reason.empty())
      note(kernel, reason);
    if (joined || !reduction)
      continue;
    auto group = std::make_unique<Group>();
    group->order = kernel.getOrder();
    if (join(*group, kernel))
      groups.push_back(std::move(group));
  }
  for (KernelOp kernel : block.getOps<KernelOp>())
    if (fuse && !groupOf.contains(kernel) && KernelNotes::of(kernel).alone.empty())
      note(kernel, whyAlone(kernel));
  for (auto &group : groups)
    for (Operation *op : group->pulled)
      KernelNotes::identify(op);
  for (auto &group : groups)
    make(*group);
  // Groups stand where their last kernel stood, so a reader may come before what it reads until all is sorted.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op)) {
        op.erase();
        changed = true;
      }
  }
  if (!sortTopologically(&block))
    return func.emitError("this is a fault of gnnc: groups of kernels wait for each other");
  return success();
}

namespace {
struct GroupKernelsPass : gnnc::gnn::impl::GroupKernelsBase<GroupKernelsPass> {
  using GroupKernelsBase::GroupKernelsBase;
  void runOnOperation() override {
    forEachBlock(getOperation(), [&](Block &block) {
      if (failed(Grouper(getOperation(), block, fuse).run()))
        signalPassFailure();
    });
  }
};
} // namespace

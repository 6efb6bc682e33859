// Analysis of a group: strides of accesses, and the stages that its members fall into.
#include "GroupPlan.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

namespace {
class GroupAnalysis {
public:
  explicit GroupAnalysis(GroupOp group) : group(group) {}
  FailureOr<GroupPlan> run();

private:
  GroupOp group;
  GroupPlan plan;
  DenseMap<Value, std::pair<unsigned, unsigned>> made; // a value of the group: member and result
  DenseMap<Value, unsigned> outside;                   // a value from outside: its pointer

  LogicalResult addMember(KernelOp kernel);
  FailureOr<GroupAccess> access(const GroupMember &member, AffineMap map, Value tensor);
  LogicalResult addLinear(AffineExpr expr, int64_t factor, GroupAccess &access, SmallVectorImpl<int64_t> &iterators);
  void addResults(GroupMember &member);
  void chooseStages();
};
} // namespace

/// Adds a position, times `factor`, to an access: the constant goes to every feature later, strides of iterators to
/// `iterators`.
LogicalResult GroupAnalysis::addLinear(AffineExpr expr, int64_t factor, GroupAccess &access,
                                       SmallVectorImpl<int64_t> &iterators) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    iterators.back() += constant.getValue() * factor; // behind the iterators stands the constant
    return success();
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    iterators[dim.getPosition()] += factor;
    return success();
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    access.indices[symbol.getPosition()] += factor;
    return success();
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add)
    return success(succeeded(addLinear(binary.getLHS(), factor, access, iterators)) &&
                   succeeded(addLinear(binary.getRHS(), factor, access, iterators)));
  if (expr.getKind() == AffineExprKind::Mul)
    if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return addLinear(binary.getLHS(), factor * constant.getValue(), access, iterators);
  return group.emitOpError("this is a fault of gnnc: an access map is not linear");
}

FailureOr<GroupAccess> GroupAnalysis::access(const GroupMember &member, AffineMap map, Value tensor) {
  GroupAccess access;
  access.element = elementOf(tensor);
  access.indices.assign(member.op.getIndices().size(), 0);
  SmallVector<int64_t> iterators(map.getNumDims() + 1, 0);
  ArrayRef<SizeAttr> dims = dimsOf(tensor);
  int64_t stride = 1;
  for (unsigned i = dims.size(); i-- > 0;) {
    if (failed(addLinear(map.getResult(i), stride, access, iterators)))
      return failure();
    if (i > 0)
      stride *= *dims[i].getConstant();
  }
  access.row = iterators[0];
  if (member.op.getOrder())
    access.entry = iterators[1];
  access.features.assign(member.points(), iterators.back());
  int64_t inner = 1;
  for (unsigned f = member.featureSizes.size(); f-- > 0;) {
    for (int64_t point = 0; point < member.points(); ++point)
      access.features[point] += point / inner % member.featureSizes[f] * iterators[member.featureIterators[f]];
    inner *= member.featureSizes[f];
  }
  if (auto it = made.find(tensor); it != made.end()) {
    const GroupMember &maker = plan.members[it->second.first];
    if (maker.kind == GroupMember::Entries) {
      access.scratch = it->second.first;
      access.entry = 0; // the one at hand
    } else {
      access.pointer = maker.results[it->second.second].pointer;
      access.kept = maker.results[it->second.second].kept;
    }
    return access;
  }
  auto [it, isNew] = outside.try_emplace(tensor, plan.pointers.size());
  if (isNew)
    plan.pointers.push_back({GroupPointer::Value, tensor});
  access.pointer = it->second;
  return access;
}

void GroupAnalysis::addResults(GroupMember &member) {
  KernelOp kernel = member.op;
  Operation *yield = kernel.getBody().front().getTerminator();
  unsigned number = plan.members.size();
  for (auto [i, attr] : llvm::enumerate(kernel.getCombines())) {
    GroupResult result;
    result.combine = cast<CombineKindAttr>(attr).getValue();
    if (kernel.getEmpties())
      result.empty = dyn_cast<TypedAttr>((*kernel.getEmpties())[i]);
    result.element = elementOf(kernel.getResult(i));
    result.yielded = yield->getOperand(i).getType();
    auto pairs = [&](CombineKind winner, CombineKind extremum) {
      return result.combine == winner && i > 0 && member.results[i - 1].combine == extremum &&
             yield->getOperand(i) == yield->getOperand(i - 1);
    };
    if (pairs(CombineKind::ArgMax, CombineKind::Max) || pairs(CombineKind::ArgMin, CombineKind::Min) ||
        result.combine == CombineKind::Tag)
      result.pairedWith = i - 1;
    auto pointer = [&](GroupPointer::Kind kind) {
      plan.pointers.push_back({kind, Value(), number, static_cast<unsigned>(i)});
      return static_cast<unsigned>(plan.pointers.size() - 1);
    };
    bool leaves = llvm::is_contained(group.getBody().front().getTerminator()->getOperands(), kernel.getResult(i));
    if (member.kind != GroupMember::Entries && leaves)
      result.pointer = pointer(GroupPointer::Result);
    if (member.kind == GroupMember::Reduction || (member.kind == GroupMember::Rows && !leaves)) {
      result.partial = pointer(GroupPointer::Partial);
      if (result.isBareWinner())
        result.extreme = pointer(GroupPointer::Extreme);
    }
    if (member.kind != GroupMember::Entries && !leaves) {
      result.kept = plan.kept.size();
      plan.kept.push_back({result.partial, result.element, member.outputs});
    }
    member.results.push_back(result);
    made[kernel.getResult(i)] = {number, static_cast<unsigned>(i)};
  }
}

/// The value of a constant tensor whose elements are all equal, if `value` is one.
static TypedAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? cast<TypedAttr>(elements.getSplatValue<Attribute>()) : TypedAttr();
}

LogicalResult GroupAnalysis::addMember(KernelOp kernel) {
  for (Operation &nested : kernel.getBody().front())
    if (nested.getNumRegions() != 0)
      return kernel.emitOpError("this is a fault of gnnc: the body of a kernel has control flow");
  GroupMember member;
  member.op = kernel;
  AffineMap first = cast<AffineMapAttr>(kernel.getResultMaps()[0]).getValue();
  member.kind = !kernel.getOrder()                                              ? GroupMember::Rows
                : first.getResult(0) == getAffineDimExpr(1, group.getContext()) ? GroupMember::Entries
                                                                                : GroupMember::Reduction;
  for (unsigned i = kernel.getOrder() ? 2 : 1; i < kernel.getSpace().getSizes().size(); ++i) {
    int64_t size = *kernel.getSpace().getSizes()[i].getConstant();
    member.featureIterators.push_back(i);
    member.featureSizes.push_back(size);
    bool reduced = cast<IteratorKindAttr>(kernel.getIterators()[i]).getValue() == IteratorKind::Reduction;
    (reduced ? member.terms : member.outputs) *= size;
  }
  auto of = group.getOrder().getDefiningOp<OrderOp>();
  for (auto [k, index] : llvm::enumerate(kernel.getIndices())) {
    AffineMap map = cast<AffineMapAttr>(kernel.getIndexMaps()[k]).getValue();
    FailureOr<GroupAccess> place = access(member, map, index);
    if (failed(place))
      return failure();
    GroupIndex result;
    result.access = *place;
    auto endpoint = index.getDefiningOp<EndpointOp>();
    if (endpoint && of && endpoint.getGraph() == of.getGraph() && endpoint.getEnd() != of.getEnd() &&
        map.getResult(0) == getAffineDimExpr(1, group.getContext()))
      result.kind = GroupIndex::Other;
    // An index that is read at none is none itself.
    result.maybeNone = kernel.getMaybeNone()[k];
    for (unsigned j = 0; j < k; ++j)
      result.maybeNone |= member.indices[j].maybeNone && place->indices[j] != 0;
    member.indices.push_back(result);
  }
  for (auto [attr, input] : llvm::zip(kernel.getMaps(), kernel.getInputs())) {
    FailureOr<GroupAccess> place = access(member, cast<AffineMapAttr>(attr).getValue(), input);
    if (failed(place))
      return failure();
    // A constant that is read at none would be 0: only one that is read everywhere is an immediate.
    bool viaNone = false;
    for (auto [k, index] : llvm::enumerate(member.indices))
      viaNone |= index.maybeNone && place->indices[k] != 0;
    member.immediates.push_back(viaNone ? TypedAttr() : splatOf(input));
    member.inputs.push_back(*place);
  }
  addResults(member);
  plan.members.push_back(std::move(member));
  return success();
}

/// Sweeps have even numbers, steps between them odd ones: what reads a reduction waits for the end of its sweep.
void GroupAnalysis::chooseStages() {
  unsigned last = 0;
  for (GroupMember &member : plan.members) {
    unsigned earliest = 0;
    for (Value input : member.op.getInputs()) {
      auto it = made.find(input);
      if (it == made.end())
        continue;
      const GroupMember &maker = plan.members[it->second.first];
      earliest = std::max(earliest, maker.kind == GroupMember::Reduction ? maker.stage + 1 : maker.stage);
    }
    bool wantsOdd = member.kind == GroupMember::Rows;
    member.stage = earliest + ((earliest % 2 == 1) != wantsOdd);
    last = std::max(last, member.stage);
  }
  for (unsigned number = 0; number <= last; ++number) {
    GroupStage stage{number % 2 == 0, {}};
    std::vector<bool> wanted(plan.members.size());
    bool any = false;
    for (unsigned m = plan.members.size(); m-- > 0;) {
      GroupMember &member = plan.members[m];
      if (member.kind != GroupMember::Entries && member.stage == number)
        wanted[m] = any = true;
      if (!wanted[m])
        continue;
      for (const GroupAccess &input : member.inputs)
        if (input.scratch >= 0)
          wanted[input.scratch] = true;
    }
    for (unsigned m = 0; m < plan.members.size(); ++m)
      if (wanted[m])
        stage.members.push_back(m);
    if (any)
      plan.stages.push_back(std::move(stage));
  }
}

FailureOr<GroupPlan> GroupAnalysis::run() {
  plan.pointers.push_back({GroupPointer::Order, group.getOrder()});
  for (KernelOp kernel : group.getBody().front().getOps<KernelOp>())
    if (failed(addMember(kernel)))
      return failure();
  chooseStages();
  return std::move(plan);
}

FailureOr<GroupPlan> gnnc::analyseGroup(GroupOp group) { return GroupAnalysis(group).run(); }

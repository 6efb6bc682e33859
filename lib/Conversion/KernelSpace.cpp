// Analysis of a kernel: strides of accesses, normal form of the iteration space, the order of loops.
#include "KernelSpace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

namespace {

/// A position as a linear form: constant + iterators + index symbols, with sizes as coefficients.
struct Linear {
  SizeAttr constant;
  SmallVector<SizeAttr> iterators, symbols;

  bool isConstant() const {
    auto zero = [](SizeAttr s) { return s.getConstant() == 0; };
    return llvm::all_of(iterators, zero) && llvm::all_of(symbols, zero);
  }
  void add(const Linear &o, SizeAttr factor) {
    constant = constant.add(o.constant.mul(factor));
    for (auto [a, b] : llvm::zip(iterators, o.iterators))
      a = a.add(b.mul(factor));
    for (auto [a, b] : llvm::zip(symbols, o.symbols))
      a = a.add(b.mul(factor));
  }
};

class Analysis {
public:
  explicit Analysis(KernelOp op) : op(op), ctx(op.getContext()) {}
  FailureOr<KernelSpace> run();

private:
  KernelOp op;
  MLIRContext *ctx;
  KernelSpace space;
  SmallVector<int> origin; // for each of the body's iterators: ours

  SizeAttr zero() { return SizeAttr::constant(ctx, 0); }
  SizeAttr one() { return SizeAttr::constant(ctx, 1); }
  Linear zeroForm() {
    return {zero(), SmallVector<SizeAttr>(op.getIterators().size(), zero()),
            SmallVector<SizeAttr>(op.getIndices().size(), zero())};
  }

  FailureOr<Linear> linear(AffineExpr expr);
  FailureOr<Access> access(Attribute map, Type tensor);
  LogicalResult readAccesses();
  void readResults();
  void forEachAccess(llvm::function_ref<void(Access &)> f);
  bool bodyUses(unsigned iterator);
  void erase(unsigned iterator);
  bool mergeable(unsigned outer, unsigned inner);
  void normalise();
  void chooseLoops();
  int chooseLanes();
  bool isFew(int iterator) const {
    std::optional<int64_t> size = space.sizes[iterator].getConstant();
    return size && *size <= 64;
  }
  std::optional<unsigned> reductionToCut();
  LogicalResult checkSlots();
  void renumberSets();
};
} // namespace

FailureOr<Linear> Analysis::linear(AffineExpr expr) {
  Linear form = zeroForm();
  unsigned indices = op.getIndices().size();
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    form.constant = SizeAttr::constant(ctx, cast<AffineConstantExpr>(expr).getValue());
    return form;
  case AffineExprKind::DimId:
    form.iterators[cast<AffineDimExpr>(expr).getPosition()] = one();
    return form;
  case AffineExprKind::SymbolId: {
    unsigned k = cast<AffineSymbolExpr>(expr).getPosition();
    if (k < indices)
      form.symbols[k] = one();
    else
      form.constant = op.getOffsets().getSizes()[k - indices];
    return form;
  }
  case AffineExprKind::Add:
  case AffineExprKind::Mul: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    FailureOr<Linear> lhs = linear(binary.getLHS()), rhs = linear(binary.getRHS());
    if (failed(lhs) || failed(rhs))
      return failure();
    if (expr.getKind() == AffineExprKind::Add) {
      lhs->add(*rhs, one());
      return lhs;
    }
    if (!rhs->isConstant())
      std::swap(lhs, rhs);
    if (!rhs->isConstant())
      break;
    form.add(*lhs, rhs->constant);
    return form;
  }
  default:
    break;
  }
  return op.emitOpError("this is a fault of gnnc: an access map is not linear"), failure();
}

FailureOr<Access> Analysis::access(Attribute map, Type tensor) {
  AffineMap affine = cast<AffineMapAttr>(map).getValue();
  ArrayRef<SizeAttr> dims = dimsOf(tensor);
  Linear sum = zeroForm();
  SizeAttr stride = one();
  SmallVector<int> depths(op.getIterators().size(), -1);
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    FailureOr<Linear> position = linear(affine.getResult(i));
    if (failed(position))
      return failure();
    for (auto [depth, coefficient] : llvm::zip(depths, position->iterators))
      if (coefficient.getConstant() != 0)
        depth = i;
    sum.add(*position, stride);
    stride = stride.mul(dims[i]);
  }
  return Access{sum.constant, sum.iterators, sum.symbols, depths, cast<RankedTensorType>(tensor).getElementType()};
}

/// The value of a constant tensor whose elements are all equal, if `value` is one.
static TypedAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? cast<TypedAttr>(elements.getSplatValue<Attribute>()) : TypedAttr();
}

LogicalResult Analysis::readAccesses() {
  for (auto [map, index, none] : llvm::zip(op.getIndexMaps(), op.getIndices(), op.getMaybeNone())) {
    FailureOr<Access> a = access(map, index.getType());
    if (failed(a))
      return failure();
    // An index that is read at none is none itself.
    bool viaNone = false;
    for (auto [k, earlier] : llvm::enumerate(space.maybeNone))
      viaNone |= earlier && a->usesSymbol(k);
    space.maybeNone.push_back(none || viaNone);
    space.indices.push_back(*a);
  }
  for (auto [map, input] : llvm::zip(op.getMaps(), op.getInputs())) {
    FailureOr<Access> a = access(map, input.getType());
    if (failed(a))
      return failure();
    // A constant that is read at none would be 0: only one that is read everywhere is an immediate.
    bool viaNone = false;
    for (auto [k, none] : llvm::enumerate(space.maybeNone))
      viaNone |= none && a->usesSymbol(k);
    space.immediates.push_back(viaNone ? TypedAttr() : splatOf(input));
    space.inputs.push_back(*a);
    if (space.immediates.back())
      for (SmallVector<SizeAttr> *strides : {&space.inputs.back().iterators, &space.inputs.back().symbols})
        llvm::fill(*strides, zero());
  }
  for (auto [map, result] : llvm::zip(op.getResultMaps(), op.getResults())) {
    FailureOr<Access> a = access(map, result.getType());
    if (failed(a))
      return failure();
    space.results.push_back({*a, CombineKind::None, {}, {}});
  }
  readResults();
  return success();
}

void Analysis::readResults() {
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [i, attr] : llvm::enumerate(op.getCombines())) {
    ResultSpec &result = space.results[i];
    result.combine = cast<CombineKindAttr>(attr).getValue();
    if (op.getEmpties())
      result.empty = dyn_cast<TypedAttr>((*op.getEmpties())[i]);
    auto pairs = [&](CombineKind winner, CombineKind extremum) {
      return result.combine == winner && i > 0 && space.results[i - 1].combine == extremum &&
             yield->getOperand(i) == yield->getOperand(i - 1);
    };
    if (pairs(CombineKind::ArgMax, CombineKind::Max) || pairs(CombineKind::ArgMin, CombineKind::Min) ||
        result.combine == CombineKind::Tag)
      result.pairedWith = i - 1;
  }
}

void Analysis::forEachAccess(llvm::function_ref<void(Access &)> f) {
  for (Access &a : space.indices)
    f(a);
  for (Access &a : space.inputs)
    f(a);
  for (ResultSpec &r : space.results)
    f(r.access);
}

bool Analysis::bodyUses(unsigned iterator) {
  unsigned first = op.getInputs().size() + op.getIndices().size();
  for (auto [i, ours] : llvm::enumerate(origin))
    if (ours == static_cast<int>(iterator) && !op.getBody().front().getArgument(first + i).use_empty())
      return true;
  return false;
}

void Analysis::erase(unsigned iterator) {
  space.kinds.erase(space.kinds.begin() + iterator);
  space.sizes.erase(space.sizes.begin() + iterator);
  forEachAccess([&](Access &a) {
    a.iterators.erase(a.iterators.begin() + iterator);
    a.depths.erase(a.depths.begin() + iterator);
  });
  for (int &ours : origin) {
    if (ours == static_cast<int>(iterator))
      ours = -1;
    else if (ours > static_cast<int>(iterator))
      --ours;
  }
}

bool Analysis::mergeable(unsigned outer, unsigned inner) {
  if (outer == inner || space.kinds[outer] != space.kinds[inner] || bodyUses(outer) || bodyUses(inner))
    return false;
  // The winner of an extremum is a number of the first iterator that is reduced.
  if (space.kinds[outer] == IteratorKind::Reduction && llvm::any_of(space.results, [](const ResultSpec &r) {
        return r.combine == CombineKind::ArgMax || r.combine == CombineKind::ArgMin;
      }))
    return false;
  bool same = true;
  forEachAccess([&](Access &a) { same &= a.iterators[outer] == a.iterators[inner].mul(space.sizes[inner]); });
  return same;
}

void Analysis::normalise() {
  // An order's row and segment stay what and where they are.
  unsigned first = op.getOrder() ? 2 : 0;
  bool winners = llvm::any_of(space.results, [](const ResultSpec &r) {
    return r.combine == CombineKind::ArgMax || r.combine == CombineKind::ArgMin;
  });
  for (unsigned i = space.kinds.size(); i-- > first;) {
    bool keep = space.kinds[i] == IteratorKind::Reduction &&
                (winners || llvm::count(space.kinds, IteratorKind::Reduction) == 1); // something has to be reduced
    if (space.sizes[i].getConstant() == 1 && !keep)
      erase(i);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned outer = first; outer < space.kinds.size() && !changed; ++outer)
      for (unsigned inner = first; inner < space.kinds.size() && !changed; ++inner) {
        if (!mergeable(outer, inner))
          continue;
        space.sizes[inner] = space.sizes[outer].mul(space.sizes[inner]);
        erase(outer);
        changed = true;
      }
  }
}

/// The iterator whose lanes give the most contiguous accesses; parallel ones first.
int Analysis::chooseLanes() {
  int best = -1, bestScore = 0;
  for (unsigned i = 0; i < space.kinds.size(); ++i) {
    if (space.kinds[i] == IteratorKind::Segment || (op.getOrder() && i == 0))
      continue;
    int score = space.kinds[i] == IteratorKind::Parallel ? 2 : 0;
    // Lanes that lie apart are loaded one by one.
    forEachAccess([&](Access &a) {
      if (a.uses(i))
        score += a.iterators[i].getConstant() == 1 ? 1 : -4;
    });
    // A short dimension fills few lanes.
    if (auto size = space.sizes[i].getConstant(); size && *size < 4)
      score -= 4;
    if (best < 0 || score > bestScore) {
      best = i;
      bestScore = score;
    }
  }
  return best;
}

/// The reduction to cut, if tasks are to divide a reduction: where there is no parallel iterator, where a long one lies
/// outermost in memory, and where there are few parallel points to share out.
std::optional<unsigned> Analysis::reductionToCut() {
  std::optional<unsigned> first, candidate;
  SizeAttr parallelPoints = one();
  bool parallel = false;
  for (auto [i, kind] : llvm::enumerate(space.kinds)) {
    if (kind == IteratorKind::Parallel) {
      parallel = true;
      parallelPoints = parallelPoints.mul(space.sizes[i]);
      continue;
    }
    std::optional<int64_t> size = space.sizes[i].getConstant();
    if (!first)
      first = i;
    if (!candidate && (!size || *size > 4096))
      candidate = i;
  }
  if (!parallel)
    return candidate ? candidate : first;
  if (!candidate)
    return std::nullopt;
  if (std::optional<int64_t> points = parallelPoints.getConstant(); points && *points <= 64)
    return candidate;
  // The operand that moves with the most iterators says how they lie in memory.
  const Access *dominant = nullptr;
  unsigned most = 0;
  for (const Access &a : space.inputs) {
    unsigned used = llvm::count_if(a.depths, [](int depth) { return depth >= 0; });
    if (used > most) {
      most = used;
      dominant = &a;
    }
  }
  if (!dominant || dominant->depths[*candidate] < 0)
    return std::nullopt;
  for (auto [i, depth] : llvm::enumerate(dominant->depths))
    if (space.kinds[i] == IteratorKind::Parallel && depth >= 0 && depth < dominant->depths[*candidate])
      return std::nullopt;
  return candidate;
}

void Analysis::chooseLoops() {
  space.vec = chooseLanes();
  if (space.results[0].combine == CombineKind::Share) {
    // Lanes lie side by side in the result, and each has all rows.
    space.launch = LaunchKind::Lanes;
    space.targets = dimsOf(op.getResult(0))[0];
    space.addsToInit = !op.getInits().empty();
    for (unsigned i = 2; i < space.kinds.size(); ++i) {
      if (space.results[0].access.iterators[i].getConstant() == 1)
        space.vec = i;
      else
        space.parallels.push_back(i);
    }
    space.parallels.push_back(space.vec);
    space.parallels.push_back(0);
    space.reductions.push_back(1);
    return;
  }
  if (op.getOrder()) {
    space.launch = LaunchKind::Order;
    space.row = 0;
  } else if (std::optional<unsigned> cut = reductionToCut()) {
    space.launch = LaunchKind::Cut;
    space.row = *cut;
  } else {
    for (auto [i, kind] : llvm::enumerate(space.kinds))
      if (kind == IteratorKind::Parallel && (space.row < 0 || space.row == space.vec))
        space.row = i;
    // Few rows of many lanes: tasks divide the lanes.
    if (space.row >= 0 && space.vec >= 0 && space.kinds[space.vec] == IteratorKind::Parallel && isFew(space.row) &&
        !isFew(space.vec))
      space.row = space.vec;
    space.launch = space.row < 0 ? LaunchKind::Once : LaunchKind::Rows;
  }

  // From outside to inside: rows, other parallel iterators, lanes, then what is reduced with lanes innermost.
  auto place = [&](unsigned i) {
    bool parallel = space.kinds[i] == IteratorKind::Parallel;
    (parallel ? space.parallels : space.reductions).push_back(i);
  };
  if (space.row >= 0)
    place(space.row);
  for (unsigned i = 0; i < space.kinds.size(); ++i)
    if (static_cast<int>(i) != space.row && static_cast<int>(i) != space.vec)
      place(i);
  if (space.vec >= 0 && space.vec != space.row) {
    place(space.vec);
  } else if (space.vec >= 0) {
    // Lanes over the iterator that tasks divide: innermost of its kind all the same.
    auto &loops = space.kinds[space.vec] == IteratorKind::Parallel ? space.parallels : space.reductions;
    std::rotate(loops.begin(), loops.begin() + 1, loops.end());
  }
}

LogicalResult Analysis::checkSlots() {
  if (!space.hasSlots())
    return success();
  // Slots are rows of `rowElements` elements; a result has to have its rows laid out likewise.
  SizeAttr elements = space.rowElements();
  for (const ResultSpec &r : space.results) {
    bool fits = r.access.base.getConstant() == 0;
    if (space.hasOrder())
      fits &= r.access.iterators[0] == elements || space.sizes[0].getConstant() == 1;
    if (!fits)
      return op.emitOpError("this is a fault of gnnc: the rows of a reduced result are not contiguous");
  }
  return success();
}

void Analysis::renumberSets() {
  llvm::DenseMap<int64_t, int64_t> ids;
  auto renumber = [&](SizeAttr size) {
    return size.substitute([&](int64_t set) {
      auto [it, isNew] = ids.try_emplace(set, space.sets.size());
      if (isNew)
        space.sets.push_back(set);
      return SizeAttr::set(ctx, it->second);
    });
  };
  for (SizeAttr &size : space.sizes)
    size = renumber(size);
  if (space.targets)
    space.targets = renumber(space.targets);
  forEachAccess([&](Access &a) {
    a.base = renumber(a.base);
    for (SizeAttr &s : a.iterators)
      s = renumber(s);
    for (SizeAttr &s : a.symbols)
      s = renumber(s);
  });
}

FailureOr<KernelSpace> Analysis::run() {
  for (Attribute kind : op.getIterators())
    space.kinds.push_back(cast<IteratorKindAttr>(kind).getValue());
  space.sizes.assign(op.getSpace().getSizes().begin(), op.getSpace().getSizes().end());
  for (unsigned i = 0; i < space.kinds.size(); ++i)
    origin.push_back(i);
  space.body = &op.getBody().front();
  for (Operation &nested : *space.body)
    if (nested.getNumRegions() != 0)
      return op.emitOpError("this is a fault of gnnc: the body of a kernel has control flow"), failure();
  if (failed(readAccesses()))
    return failure();
  normalise();
  chooseLoops();
  if (failed(checkSlots()))
    return failure();
  space.iteratorOf = origin;
  renumberSets();
  return std::move(space);
}

FailureOr<KernelSpace> gnnc::analyseKernel(KernelOp op) { return Analysis(op).run(); }

SizeAttr KernelSpace::rowElements() const {
  SizeAttr result = SizeAttr::constant(body->getParentOp()->getContext(), 1);
  for (unsigned i = 0; i < kinds.size(); ++i)
    if (kinds[i] == IteratorKind::Parallel && static_cast<int>(i) != row)
      result = result.mul(sizes[i]);
  return result;
}

SizeAttr KernelSpace::rowWork() const {
  SizeAttr result = SizeAttr::constant(body->getParentOp()->getContext(), 1);
  for (unsigned i = 0; i < kinds.size(); ++i)
    if (static_cast<int>(i) != row && kinds[i] != IteratorKind::Segment)
      result = result.mul(sizes[i]);
  return result;
}

unsigned KernelSpace::vectorLanes() const {
  unsigned bits = 32;
  auto widen = [&](Type type) {
    if (!type.isInteger(1))
      bits = std::max(bits, type.getIntOrFloatBitWidth());
  };
  for (auto [a, immediate] : llvm::zip(inputs, immediates))
    if (isa<FloatType>(a.element) && !immediate)
      widen(a.element);
  for (const ResultSpec &r : results)
    widen(r.access.element);
  return 512 / bits;
}

SizeAttr KernelSpace::laneTasks() const {
  SizeAttr tasks = sizes[vec].ceilDiv(vectorLanes());
  for (unsigned iterator : parallels)
    if (iterator != 0 && static_cast<int>(iterator) != vec)
      tasks = tasks.mul(sizes[iterator]);
  return tasks;
}

std::string KernelSpace::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](ArrayRef<SizeAttr> sizes) {
    for (SizeAttr s : sizes)
      os << s.str() << ',';
    os << ';';
  };
  auto print = [&](const Access &a) {
    os << a.base.str() << ':';
    list(a.iterators);
    list(a.symbols);
    os << a.element << '\n';
  };
  for (IteratorKind kind : kinds)
    os << static_cast<int>(kind);
  list(sizes);
  if (targets)
    os << targets.str() << addsToInit;
  os << static_cast<int>(launch) << ' ' << row << ' ' << vec << '\n';
  for (auto [i, a] : llvm::enumerate(indices)) {
    os << maybeNone[i];
    print(a);
  }
  for (auto [a, immediate] : llvm::zip(inputs, immediates)) {
    if (immediate)
      os << immediate;
    print(a);
  }
  for (const ResultSpec &r : results) {
    os << static_cast<int>(r.combine) << r.empty << r.pairedWith.has_value();
    print(r.access);
  }
  for (int i : iteratorOf)
    os << i << ' ';
  // The body: ops by name and attributes, operands by number.
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](Value v) { return numbers.try_emplace(v, numbers.size()).first->second; };
  for (BlockArgument arg : body->getArguments())
    number(arg);
  for (Operation &nested : *body) {
    os << '\n' << nested.getName() << nested.getPropertiesAsAttribute();
    for (Value operand : nested.getOperands())
      os << ' ' << number(operand);
    for (Value result : nested.getResults()) {
      os << " -> " << result.getType();
      number(result);
    }
  }
  return text;
}

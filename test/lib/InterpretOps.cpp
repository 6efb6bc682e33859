// What each op of the gnn dialect computes, by its definition.
#include "Interpreter.h"

#include <cmath>

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::test;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

void Interpreter::eval(EndpointOp op) {
  Graph &g = graph(op.getGraph());
  Tensor result = empty(op.getResult());
  llvm::copy(op.getEnd() == Direction::Src ? g.src : g.dst, result.cells.begin());
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(DegreeOp op) {
  Graph &g = graph(op.getGraph());
  Tensor result = empty(op.getResult());
  for (int64_t node : op.getEnd() == Direction::Src ? g.src : g.dst)
    result.cells[node] += 1;
  set(op.getResult(), std::move(result));
}

/// Graphs whose edges are some of another's, each with a reverse or a loop beside them.
LogicalResult Interpreter::derive(DeriveOp op) {
  Derivation how = op.getHow();
  bool adds =
      how == Derivation::AddSelfLoops || how == Derivation::AddMissingSelfLoops || how == Derivation::ReplaceSelfLoops;
  bool removes = how == Derivation::ReplaceSelfLoops || how == Derivation::RemoveSelfLoops;
  if (!adds && !removes && how != Derivation::Symmetrize && how != Derivation::Filter)
    return op.emitError("the interpreter does not make graphs in this way");
  const Graph g = graph(op.getGraph());
  Graph made{g.numSrc, g.numDst, {}, {}};
  std::vector<Cell> old;
  std::vector<bool> has(g.numDst);
  auto append = [&](int64_t src, int64_t dst, Cell from) {
    made.src.push_back(src);
    made.dst.push_back(dst);
    old.push_back(from);
  };
  for (size_t e = 0; e < g.src.size(); ++e) {
    bool isLoop = g.src[e] == g.dst[e];
    if (isLoop)
      has[g.src[e]] = true;
    bool isRemoved = how == Derivation::Filter ? tensor(op.getInputs()[0]).cells[e] == 0 : isLoop && removes;
    if (!isRemoved)
      append(g.src[e], g.dst[e], e);
  }
  for (size_t e = 0; how == Derivation::Symmetrize && e < g.src.size(); ++e)
    if (g.src[e] != g.dst[e])
      append(g.dst[e], g.src[e], e);
  for (int64_t v = 0; adds && v < g.numDst; ++v)
    if (how != Derivation::AddMissingSelfLoops || !has[v])
      append(v, v, -1);
  int64_t edges = *op.getResult().getType().getEdges().getSet();
  if (edges >= static_cast<int64_t>(sizes.size()))
    sizes.resize(edges + 1, 0);
  sizes[edges] = static_cast<int64_t>(old.size());
  Tensor from = empty(op.getMaps()[0]);
  from.cells = old;
  set(op.getResult(), std::move(made));
  set(op.getMaps()[0], std::move(from));
  return success();
}

//===----------------------------------------------------------------------===//
// Message passing
//===----------------------------------------------------------------------===//

/// The positions that index arrays name at an index; empty if one of them is none.
static Shape targetsAt(ArrayRef<const Tensor *> indices, ArrayRef<int64_t> index) {
  Shape targets;
  for (const Tensor *array : indices) {
    if (array->at(index) < 0)
      return {};
    targets.push_back(static_cast<int64_t>(array->at(index)));
  }
  return targets;
}

/// An index with `targets` put in at the positions `dims`, and `others` elsewhere.
static Shape inserted(ArrayRef<int64_t> others, ArrayRef<int64_t> dims, ArrayRef<int64_t> targets) {
  Shape index(others.size() + dims.size(), -1);
  for (auto [dim, target] : llvm::zip_equal(dims, targets))
    index[dim] = target;
  auto next = others.begin();
  for (size_t d = 0; d < index.size(); ++d)
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
      index[d] = *next++;
  return index;
}

/// An index without the `count` positions from `at` on.
static Shape without(ArrayRef<int64_t> index, int64_t at, int64_t count) {
  Shape others(index.take_front(at));
  llvm::append_range(others, index.drop_front(at + count));
  return others;
}

void Interpreter::eval(GatherOp op) {
  SmallVector<const Tensor *> indices;
  for (Value index : op.getIndices())
    indices.push_back(&tensor(index));
  Tensor result = empty(op.getResult(), op.getFill() ? tensor(op.getFill()).cells[0] : 0);
  int64_t at = *llvm::min_element(op.getDims()), rank = indices[0]->shape.size();
  const Tensor &source = tensor(op.getSource());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    Shape targets = targetsAt(indices, index.slice(at, rank));
    if (!targets.empty())
      result.at(index) = source.at(inserted(without(index, at, rank), op.getDims(), targets));
  });
  set(op.getResult(), std::move(result));
}

/// Combines an entry into a running result; says whether it took its place.
static bool combine(ReduceKind kind, Cell &result, Cell entry, bool isFirst) {
  switch (kind) {
  case ReduceKind::Sum:
    result += entry;
    return false;
  case ReduceKind::Prod:
    result *= entry;
    return false;
  case ReduceKind::Max:
  case ReduceKind::Min: {
    bool better = kind == ReduceKind::Max ? entry > result : entry < result;
    if (!isFirst && (std::isnan(result) || (!better && !std::isnan(entry))))
      return false;
    result = entry;
    return true;
  }
  }
  return false;
}

void Interpreter::eval(SegmentReduceOp op) {
  SmallVector<const Tensor *> indices;
  for (Value index : op.getIndices())
    indices.push_back(&tensor(index));
  const Tensor &source = tensor(op.getSource());
  int64_t at = op.getAt(), rank = indices[0]->shape.size();
  ReduceKind kind = op.getKind();
  Tensor result = empty(op.getResult(), kind == ReduceKind::Prod ? 1 : 0), count = empty(op.getResult()),
         winner = empty(op.getResult(), -1);
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    Shape targets = targetsAt(indices, index.slice(at, rank));
    if (targets.empty())
      return;
    Shape place = inserted(without(index, at, rank), op.getDims(), targets);
    if (combine(kind, result.at(place), source.at(index), count.at(place) == 0))
      winner.at(place) = index[at];
    count.at(place) += 1;
  });
  if (op.getEmpty())
    for (auto [n, cell] : llvm::zip_equal(count.cells, result.cells))
      if (n == 0)
        cell = tensor(op.getEmpty()).cells[0];
  set(op.getResult(), std::move(result));
  if (op.getWinner())
    set(op.getWinner(), std::move(winner));
}

void Interpreter::eval(ShareOp op) {
  const Tensor &y = tensor(op.getY()), &extremum = tensor(op.getExtremum()), &source = tensor(op.getSource());
  SmallVector<const Tensor *> indices{&tensor(op.getIndex())};
  Tensor result = empty(op.getResult()), count = empty(op.getY());
  auto forEachSharer = [&](llvm::function_ref<void(ArrayRef<int64_t>, const Shape &)> f) {
    forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
      Shape target = targetsAt(indices, index.take_front(1));
      if (target.empty())
        return;
      Shape place = inserted(without(index, 0, 1), ArrayRef<int64_t>{0}, target);
      if (source.at(index) == extremum.at(place) || std::isnan(source.at(index)))
        f(index, place);
    });
  };
  forEachSharer([&](ArrayRef<int64_t>, const Shape &place) { count.at(place) += 1; });
  forEachSharer([&](ArrayRef<int64_t> index, const Shape &place) { result.at(index) = y.at(place) / count.at(place); });
  set(op.getResult(), std::move(result));
}

/// log of a sum of exponentials, -inf for none.
static Cell logSumExp(ArrayRef<Cell> scores) {
  Cell top = -INFINITY, sum = 0;
  for (Cell score : scores)
    top = std::isnan(score) || score > top ? score : top;
  if (std::isnan(top) || std::isinf(top))
    return top;
  for (Cell score : scores)
    sum += std::exp(score - top);
  return top + std::log(sum);
}

/// The softmax weight of a score among scores whose logsumexp is `total`.
static Cell softmaxWeight(Cell score, Cell total) {
  if (total == -INFINITY)
    return 0;
  return total == INFINITY ? NAN : std::exp(score - total);
}

/// For each segment and feature the scores in it.
static std::vector<std::vector<Cell>> scoresOf(const Tensor &source, const Tensor &index, int64_t segments) {
  int64_t features = source.cells.size() / std::max<int64_t>(source.shape[0], 1);
  std::vector<std::vector<Cell>> scores(segments * features);
  for (size_t k = 0; k < source.cells.size(); ++k)
    if (Cell segment = index.cells[k / features]; segment >= 0)
      scores[static_cast<int64_t>(segment) * features + k % features].push_back(source.cells[k]);
  return scores;
}

void Interpreter::eval(SegmentSoftmaxOp op) {
  const Tensor &source = tensor(op.getSource()), &index = tensor(op.getIndex());
  auto scores = scoresOf(source, index, sizeOf(op.getSegments()));
  Tensor result = empty(op.getResult());
  int64_t features = source.cells.size() / std::max<int64_t>(source.shape[0], 1);
  for (size_t k = 0; k < source.cells.size(); ++k)
    if (Cell segment = index.cells[k / features]; segment >= 0)
      result.cells[k] =
          softmaxWeight(source.cells[k], logSumExp(scores[static_cast<int64_t>(segment) * features + k % features]));
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(SegmentLogSumExpOp op) {
  Tensor result = empty(op.getResult(), -INFINITY);
  if (!result.cells.empty() && !tensor(op.getSource()).cells.empty()) {
    auto scores = scoresOf(tensor(op.getSource()), tensor(op.getIndex()), result.shape[0]);
    for (auto [cell, group] : llvm::zip_equal(result.cells, scores))
      cell = logSumExp(group);
  }
  set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// Reductions over dimensions, contraction
//===----------------------------------------------------------------------===//

/// An index without the positions in `dims`.
static Shape dropped(ArrayRef<int64_t> index, ArrayRef<int64_t> dims) {
  Shape kept;
  for (auto [d, i] : llvm::enumerate(index))
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
      kept.push_back(i);
  return kept;
}

void Interpreter::eval(ReduceOp op) {
  Tensor result = empty(op.getResult(), op.getKind() == ReduceKind::Prod ? 1 : 0), count = empty(op.getResult());
  const Tensor &source = tensor(op.getSource());
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    Shape place = dropped(index, op.getDims());
    combine(op.getKind(), result.at(place), source.at(index), count.at(place) == 0);
    count.at(place) += 1;
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(ArgReduceOp op) {
  auto dim = static_cast<int64_t>(op.getDim());
  Tensor result = empty(op.getResult(), -1), best = empty(op.getResult());
  const Tensor &source = tensor(op.getSource());
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    Shape place = dropped(index, dim);
    if (combine(op.getKind(), best.at(place), source.at(index), result.at(place) < 0))
      result.at(place) = index[dim];
  });
  set(op.getResult(), std::move(result));
}

/// The scores of each group along `dims`, at the group's place.
static Tensor totalsAlong(const Tensor &source, ArrayRef<int64_t> dims) {
  Tensor totals(dropped(source.shape, dims));
  std::vector<std::vector<Cell>> scores(totals.cells.size());
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    scores[&totals.at(dropped(index, dims)) - totals.cells.data()].push_back(source.at(index));
  });
  for (auto [cell, group] : llvm::zip_equal(totals.cells, scores))
    cell = logSumExp(group);
  return totals;
}

void Interpreter::eval(SoftmaxOp op) {
  const Tensor &source = tensor(op.getSource());
  Tensor totals = totalsAlong(source, op.getDims()), result = empty(op.getResult());
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    result.at(index) = softmaxWeight(source.at(index), totals.at(dropped(index, op.getDims())));
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(LogSumExpOp op) { set(op.getResult(), totalsAlong(tensor(op.getSource()), op.getDims())); }

void Interpreter::eval(ContractOp op) {
  const Tensor &a = tensor(op.getLhs()), &b = tensor(op.getRhs());
  // The index of every label that occurs, in order of first occurrence.
  SmallVector<int64_t> labels;
  Shape extents;
  auto note = [&](ArrayRef<int64_t> list, ArrayRef<int64_t> shape) {
    for (auto [label, size] : llvm::zip_equal(list, shape))
      if (!llvm::is_contained(labels, label)) {
        labels.push_back(label);
        extents.push_back(size);
      }
  };
  note(op.getLhsLabels(), a.shape);
  note(op.getRhsLabels(), b.shape);
  auto pick = [&](ArrayRef<int64_t> list, ArrayRef<int64_t> index) {
    Shape picked;
    for (int64_t label : list)
      picked.push_back(index[llvm::find(labels, label) - labels.begin()]);
    return picked;
  };
  Tensor result = empty(op.getResult());
  forEachIndex(extents, [&](ArrayRef<int64_t> index) {
    result.at(pick(op.getResultLabels(), index)) +=
        a.at(pick(op.getLhsLabels(), index)) * b.at(pick(op.getRhsLabels(), index));
  });
  set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

void Interpreter::eval(BroadcastOp op) {
  const Tensor &source = tensor(op.getSource());
  Tensor result = empty(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    Shape from;
    for (auto [k, d] : llvm::enumerate(op.getDims()))
      from.push_back(source.shape[k] == 1 ? 0 : index[d]);
    result.at(index) = source.at(from);
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(ReshapeOp op) {
  Tensor result = empty(op.getResult());
  result.cells = tensor(op.getSource()).cells;
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(TransposeOp op) {
  const Tensor &source = tensor(op.getSource());
  Tensor result = empty(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    Shape from(index.size());
    for (auto [k, d] : llvm::enumerate(op.getPerm()))
      from[d] = index[k];
    result.at(index) = source.at(from);
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(SliceOp op) {
  const Tensor &source = tensor(op.getSource());
  Tensor result = empty(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    Shape from(index);
    from[op.getDim()] = sizeOf(op.getFrom()) + index[op.getDim()] * static_cast<int64_t>(op.getStep());
    result.at(index) = source.at(from);
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(UnsliceOp op) {
  const Tensor &source = tensor(op.getSource());
  Tensor result = empty(op.getResult());
  forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
    Shape to(index);
    to[op.getDim()] = sizeOf(op.getFrom()) + index[op.getDim()] * static_cast<int64_t>(op.getStep());
    result.at(to) = source.at(index);
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(SelectIndexOp op) {
  const Tensor &source = tensor(op.getSource());
  auto position = static_cast<int64_t>(tensor(op.getPosition()).cells[0]), dim = static_cast<int64_t>(op.getDim());
  Tensor result = empty(op.getResult());
  forEachIndex(result.shape,
               [&](ArrayRef<int64_t> index) { result.at(index) = source.at(inserted(index, dim, position)); });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(UpdateIndexOp op) {
  const Tensor &value = tensor(op.getValue());
  auto position = static_cast<int64_t>(tensor(op.getPosition()).cells[0]), dim = static_cast<int64_t>(op.getDim());
  Tensor result = tensor(op.getTarget());
  forEachIndex(value.shape,
               [&](ArrayRef<int64_t> index) { result.at(inserted(index, dim, position)) = value.at(index); });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(UpdateSliceOp op) {
  const Tensor &value = tensor(op.getValue());
  Tensor result = tensor(op.getTarget());
  forEachIndex(value.shape, [&](ArrayRef<int64_t> index) {
    Shape to(index);
    to[op.getDim()] = sizeOf(op.getFrom()) + index[op.getDim()] * static_cast<int64_t>(op.getStep());
    result.at(to) = value.at(index);
  });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(DefineSizeOp op) {
  int64_t set = op.getSet();
  if (set >= static_cast<int64_t>(sizes.size()))
    sizes.resize(set + 1, 0);
  Tensor number = tensor(op.getNumber());
  sizes[set] = std::max<int64_t>(static_cast<int64_t>(number.cells[0]), 0);
  this->set(op.getResult(), std::move(number));
}

/// What nobody wrote is NaN, so that reading it shows.
void Interpreter::eval(EmptyOp op) { set(op.getResult(), Tensor(shapeOf(op.getResult().getType()), NAN)); }

void Interpreter::eval(CheckIndexOp op) { set(op.getResult(), tensor(op.getPosition())); }

void Interpreter::eval(ConcatOp op) {
  Tensor result = empty(op.getResult());
  int64_t from = 0;
  for (Value piece : op.getSources()) {
    const Tensor &source = tensor(piece);
    forEachIndex(source.shape, [&](ArrayRef<int64_t> index) {
      Shape to(index);
      to[op.getDim()] += from;
      result.at(to) = source.at(index);
    });
    from += source.shape[op.getDim()];
  }
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(IotaOp op) {
  Tensor result = empty(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) { result.at(index) = index[op.getDim()]; });
  set(op.getResult(), std::move(result));
}

void Interpreter::eval(SizeOp op) { set(op.getResult(), Tensor({}, sizeOf(op.getSize()))); }

void Interpreter::eval(NondiffOp op) {
  auto held = frozen.find(op);
  set(op.getResult(), held == frozen.end() ? tensor(op.getX()) : held->second);
}

void Interpreter::eval(SavedOp op) { set(op.getResult(), values[op.getX()]); }

void Interpreter::eval(arith::ConstantOp op) {
  Tensor result = empty(op.getResult());
  auto elements = cast<DenseElementsAttr>(op.getValue());
  for (size_t k = 0; k < result.cells.size(); ++k)
    result.cells[k] = isa<FloatType>(elements.getElementType())
                          ? Cell(elements.getValues<APFloat>()[k].convertToDouble())
                      : elements.getElementType().isInteger(1) ? Cell(elements.getValues<bool>()[k])
                                                               : Cell(elements.getValues<APInt>()[k].getSExtValue());
  set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

void Interpreter::eval(FoldKeyOp op) {
  auto bits = [&](Value v) { return static_cast<uint64_t>(static_cast<int64_t>(tensor(v).cells[0])); };
  uint64_t z = bits(op.getKey()) + 0x9E3779B97F4A7C15u * (bits(op.getNumber()) + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  set(op.getResult(), Tensor({}, static_cast<int64_t>(z ^ (z >> 31))));
}

/// Philox 4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.
static std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    uint64_t p = uint64_t(0xD2511F53) * x[0], q = uint64_t(0xCD9E8D57) * x[2];
    x = {static_cast<uint32_t>(q >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(q),
         static_cast<uint32_t>(p >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

void Interpreter::eval(UniformOp op) {
  auto key = static_cast<uint64_t>(static_cast<int64_t>(tensor(op.getKey()).cells[0]));
  Tensor result = empty(op.getResult());
  bool isSingle = elementOf(op.getResult()).isF32();
  for (auto [k, cell] : llvm::enumerate(result.cells)) {
    auto words = philox(key, k);
    cell = isSingle ? (words[0] >> 8) * 0x1p-24L : (words[0] >> 5) * 0x1p-27L + (words[1] >> 6) * 0x1p-53L;
  }
  set(op.getResult(), std::move(result));
}

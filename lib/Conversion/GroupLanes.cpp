// How features lie in vectors, and the evaluation of members' bodies on them.
#include "GroupEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// Points one after the other: where they are few, those of several entries in a vector.
LaneLayout GroupEmitter::plainLayout(int64_t points, bool mayGroup) const {
  LaneLayout layout;
  layout.perEntry = llvm::PowerOf2Ceil(points);
  if (mayGroup && layout.perEntry * 2 <= lanes) {
    layout.entries = lanes / layout.perEntry;
    layout.vectors.emplace_back();
    for (int64_t lane = 0; lane < layout.perEntry; ++lane)
      layout.vectors[0].push_back(lane < points ? lane : -1);
    return layout;
  }
  unsigned width = std::min<uint64_t>(lanes, layout.perEntry);
  for (int64_t first = 0; first < points; first += width) {
    layout.vectors.emplace_back();
    for (unsigned lane = 0; lane < width; ++lane)
      layout.vectors.back().push_back(first + lane < points ? first + lane : -1);
  }
  layout.perEntry = layout.vectors.size() * width;
  return layout;
}

/// The terms of a sum in neighbouring lanes, a power of two of them for each output.
LaneLayout GroupEmitter::sumLayout(const GroupMember &member) const {
  LaneLayout layout;
  uint64_t terms = llvm::PowerOf2Ceil(member.terms);
  layout.segment = std::min<uint64_t>(terms, lanes);
  int64_t perVector = lanes / layout.segment,
          vectorsPerOutput = llvm::divideCeil(member.terms, int64_t(layout.segment));
  for (int64_t output = 0; output < member.outputs; output += perVector)
    for (int64_t part = 0; part < vectorsPerOutput; ++part) {
      layout.vectors.emplace_back();
      for (unsigned lane = 0; lane < lanes; ++lane) {
        int64_t of = output + lane / layout.segment, term = part * layout.segment + lane % layout.segment;
        layout.vectors.back().push_back(of < member.outputs && term < member.terms ? of * member.terms + term : -1);
      }
    }
  layout.perEntry = layout.vectors.size() * lanes;
  return layout;
}

void GroupEmitter::chooseLayouts() {
  for (const GroupMember &member : plan.members) {
    bool mayGroup = member.kind != GroupMember::Rows;
    // Sums leave at least as many lanes for each entry as one vector has outputs.
    int64_t points = member.outputs;
    LaneLayout layout = plainLayout(points, mayGroup);
    if (member.terms > 1) {
      int64_t perVector = lanes / std::min<uint64_t>(llvm::PowerOf2Ceil(member.terms), lanes);
      if (layout.perEntry < perVector) {
        layout = plainLayout(perVector, mayGroup);
        for (auto &vector : layout.vectors)
          for (int64_t &point : vector)
            point = point < points ? point : -1;
      }
    }
    layouts.push_back(layout);
  }
}

/// Vectors of equal width, one after the other in a longer one.
Value GroupEmitter::joined(ArrayRef<Value> vectors) {
  SmallVector<Value> parts(vectors);
  while (parts.size() > 1) {
    SmallVector<Value> next;
    for (unsigned i = 0; i < parts.size(); i += 2) {
      int64_t width = cast<VectorType>(parts[i].getType()).getDimSize(0);
      SmallVector<int64_t> all;
      for (int64_t lane = 0; lane < 2 * width; ++lane)
        all.push_back(lane);
      next.push_back(vector::ShuffleOp::create(b, loc, parts[i], parts[i + 1], all));
    }
    parts = next;
  }
  return parts[0];
}

Value GroupEmitter::repeated(Value value, unsigned times) {
  if (times == 1)
    return value;
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return vector::BroadcastOp::create(b, loc, laneType(value.getType(), times), value);
  SmallVector<int64_t> all;
  for (unsigned i = 0; i < times; ++i)
    for (int64_t lane = 0; lane < type.getDimSize(0); ++lane)
      all.push_back(lane);
  return vector::ShuffleOp::create(b, loc, value, value, all);
}

/// Adds segments of lanes to one lane each. The sums of all vectors stand one after the other in one vector, as far as
/// it reaches. In each round halves of segments are added, those of two vectors at once.
Value GroupEmitter::sumSegments(SmallVector<Value> vectors, unsigned segment) {
  for (; segment > 1; segment /= 2) {
    SmallVector<Value> next;
    for (unsigned i = 0; i < vectors.size(); i += 2) {
      Value first = vectors[i], second = i + 1 < vectors.size() ? vectors[i + 1] : vectors[i];
      int64_t width = cast<VectorType>(first.getType()).getDimSize(0);
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < 2 * width; ++lane)
        if (lane % segment < segment / 2) {
          low.push_back(lane);
          high.push_back(lane + segment / 2);
        }
      Value left = vector::ShuffleOp::create(b, loc, first, second, low);
      Value right = vector::ShuffleOp::create(b, loc, first, second, high);
      next.push_back(isa<FloatType>(cast<VectorType>(left.getType()).getElementType())
                         ? arith::AddFOp::create(b, loc, left, right).getResult()
                         : arith::AddIOp::create(b, loc, left, right).getResult());
    }
    vectors = next;
  }
  return vectors[0];
}

/// A member's body at some entries: what it yields, in the layout.
SmallVector<Lanes> GroupEmitter::evaluate(unsigned number, const LaneLayout &layout, const Entries &given) {
  const GroupMember &member = plan.members[number];
  Block &body = member.op.getBody().front();
  Entries at = given;
  SmallVector<Piece> pieces;
  unsigned width = layout.width() * layout.entries;
  for (unsigned i = 0; i < layout.vectors.size(); ++i)
    pieces.push_back({width, int64_t(i) * width, Value()});

  SmallVector<Lanes> arguments;
  for (auto [i, input] : llvm::enumerate(member.inputs)) {
    if (body.getArgument(i).use_empty()) {
      arguments.emplace_back();
      continue;
    }
    auto known = rowValues.find({number, static_cast<unsigned>(i)});
    if (member.immediates[i])
      arguments.push_back(Lanes::scalar(arith::ConstantOp::create(b, loc, member.immediates[i])));
    else if (known != rowValues.end())
      arguments.push_back(known->second);
    else
      arguments.push_back(load(member, input, layout, at));
  }
  unsigned argument = member.inputs.size();
  // A scalar of each entry, in its lanes.
  auto spread = [&](llvm::function_ref<Value(unsigned)> value) {
    if (layout.entries == 1)
      return Lanes::scalar(value(0));
    SmallVector<Value> parts;
    for (unsigned entry = 0; entry < layout.entries; ++entry)
      parts.push_back(
          vector::BroadcastOp::create(b, loc, laneType(value(entry).getType(), layout.perEntry), value(entry)));
    return Lanes{false, {joined(parts)}};
  };
  for (unsigned k = 0; k < member.indices.size(); ++k, ++argument) {
    arguments.emplace_back();
    if (!body.getArgument(argument).use_empty())
      arguments.back() = spread([&](unsigned entry) { return indicesOf(member, at, entry)[k]; });
  }
  auto asIndex = [&](Lanes value) {
    for (Value &part : value.parts) {
      Type type = b.getIndexType();
      if (auto vector = dyn_cast<VectorType>(part.getType()))
        type = vector.clone(type);
      part = arith::IndexCastOp::create(b, loc, type, part);
    }
    return value;
  };
  unsigned iterators = member.op.getSpace().getSizes().size();
  for (unsigned i = 0; i < iterators; ++i, ++argument) {
    arguments.emplace_back();
    if (body.getArgument(argument).use_empty())
      continue;
    if (i == 0) {
      arguments.back() = asIndex(Lanes::scalar(row));
      continue;
    }
    if (i == 1 && member.op.getOrder()) {
      arguments.back() = asIndex(spread([&](unsigned entry) { return this->number(at, entry); }));
      continue;
    }
    unsigned feature = llvm::find(member.featureIterators, i) - member.featureIterators.begin();
    int64_t inner = 1;
    for (unsigned f = feature + 1; f < member.featureSizes.size(); ++f)
      inner *= member.featureSizes[f];
    Lanes numbers{false, {}};
    for (const auto &points : layout.vectors) {
      SmallVector<int64_t> values;
      for (unsigned entry = 0; entry < layout.entries; ++entry)
        for (int64_t point : points)
          values.push_back(point < 0 ? 0 : point / inner % member.featureSizes[feature]);
      auto type = VectorType::get({static_cast<int64_t>(values.size())}, b.getI64Type());
      numbers.parts.push_back(
          arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(values))));
    }
    arguments.back() = asIndex(numbers);
  }
  SmallVector<Lanes> results = evaluateBody(b, loc, body, arguments, pieces);
  // What is the same for all features of one entry is still a value for each.
  for (Lanes &result : results)
    if (result.uniform) {
      Value scalar = result.parts[0];
      result = {false, {}};
      for (const Piece &piece : pieces)
        result.parts.push_back(vector::BroadcastOp::create(b, loc, laneType(scalar.getType(), piece.width), scalar));
    }
  return results;
}

/// A member whose features are summed, at the entries of its output layout: one vector for each of the layout's.
SmallVector<Value> GroupEmitter::evaluateSums(unsigned number, const Entries &at) {
  const GroupMember &member = plan.members[number];
  const LaneLayout &outputs = layouts[number];
  LaneLayout terms = sumLayout(member);
  unsigned perOutput = llvm::divideCeil(member.terms, int64_t(terms.segment));
  SmallVector<Value> vectors;
  for (unsigned entry = 0; entry < outputs.entries; ++entry) {
    Entries one = at;
    if (outputs.entries > 1) {
      one.position = arith::AddIOp::create(b, loc, at.position, i64(entry));
      one.inChunk = at.inChunk ? arith::AddIOp::create(b, loc, at.inChunk, i64(entry)).getResult() : Value();
      one.numbers.clear();
      one.others.clear();
    }
    Lanes values = evaluate(number, terms, one)[0];
    for (auto [points, part] : llvm::zip(terms.vectors, values.parts)) {
      if (!llvm::is_contained(points, -1))
        continue;
      SmallVector<bool> alive = llvm::map_to_vector(points, [](int64_t point) { return point >= 0; });
      auto type = VectorType::get({static_cast<int64_t>(alive.size())}, b.getI1Type());
      Value mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<bool>(alive)));
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(part.getType()));
      part = arith::SelectOp::create(b, loc, mask, part, zero);
    }
    unsigned before = vectors.size();
    for (unsigned i = 0; i < values.parts.size(); i += perOutput) {
      Value sum = values.parts[i];
      for (unsigned part = 1; part < perOutput; ++part)
        sum = isa<FloatType>(member.results[0].yielded)
                  ? arith::AddFOp::create(b, loc, sum, values.parts[i + part]).getResult()
                  : arith::AddIOp::create(b, loc, sum, values.parts[i + part]).getResult();
      vectors.push_back(sum);
    }
    // An entry has as many lanes as its layout says.
    while ((vectors.size() - before) * (lanes / terms.segment) < outputs.perEntry)
      vectors.push_back(vectors.back());
  }
  SmallVector<Value> results;
  unsigned perResult = std::max<unsigned>(1, terms.segment * outputs.width() * outputs.entries / lanes);
  for (unsigned first = 0; first < vectors.size(); first += perResult) {
    SmallVector<Value> part(vectors.begin() + first,
                            vectors.begin() + std::min<size_t>(first + perResult, vectors.size()));
    Value sum = sumSegments(part, terms.segment);
    int64_t width = outputs.width() * outputs.entries;
    if (cast<VectorType>(sum.getType()).getDimSize(0) != width) {
      SmallVector<int64_t> all;
      for (int64_t lane = 0; lane < width; ++lane)
        all.push_back(lane);
      sum = vector::ShuffleOp::create(b, loc, sum, sum, all);
    }
    results.push_back(sum);
  }
  return results;
}

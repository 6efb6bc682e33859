// Moves linear maps to where they cost least: from edges to nodes, and to the narrower side of a sum over edges.
//
// A product commutes with everything linear, so one whose operand comes from nodes by gathers is taken on the nodes.
// All rewrites are exact but for rounding; they hold for NaN and infinities, since the terms of each sum are the same.
#include "Algebra.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_ALGEBRAPRODUCTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

using Labels = SmallVector<int64_t>;

/// Where a label stands; -1 if nowhere.
int64_t placeOf(ArrayRef<int64_t> labels, int64_t label) {
  const int64_t *at = llvm::find(labels, label);
  return at == labels.end() ? -1 : at - labels.begin();
}

/// Whether one size is less than another whatever the sets in both.
bool isLess(SizeAttr a, SizeAttr b) {
  if (std::optional<int64_t> x = a.getConstant(), y = b.getConstant(); x && y)
    return *x < *y;
  SizeAttr difference = b.sub(a);
  if (!difference.getQuotients().empty())
    return false;
  // Terms are flat: coefficient, degree, factors. Sets may be empty, so only a difference of positive terms will do,
  // and for it to be worth anything it must not be none.
  ArrayRef<int64_t> terms = difference.getTerms();
  if (terms.empty())
    return false;
  for (size_t k = 0; k < terms.size(); k += 2 + terms[k + 1])
    if (terms[k] < 0)
      return false;
  return true;
}

/// A value scaled by factors that are repeated along dimensions: y broadcast(w), broadcast(w) y, y / broadcast(w).
struct Scaled {
  Operation *op = nullptr;
  Value value;
  BroadcastOp factor;
  bool isFirst = false; // the factor is the first operand

  static Scaled match(Value product) {
    Operation *op = product.getDefiningOp();
    if (!isa_and_present<arith::MulFOp, arith::DivFOp>(op))
      return {};
    auto factorAt = [&](int k) {
      auto broadcast = op->getOperand(k).getDefiningOp<BroadcastOp>();
      return broadcast && onlyAddsDims(broadcast) ? broadcast : BroadcastOp();
    };
    if (BroadcastOp factor = factorAt(1))
      return {op, op->getOperand(0), factor, false};
    if (BroadcastOp factor = isa<arith::MulFOp>(op) ? factorAt(0) : BroadcastOp())
      return {op, op->getOperand(1), factor, true};
    return {};
  }

  /// The same scaling of a value whose dimensions are those that `places` names for the old ones, if they keep their
  /// order.
  Value apply(OpBuilder &builder, Value scaled, ArrayRef<int64_t> places) {
    auto type = cast<RankedTensorType>(scaled.getType());
    Value other = BroadcastOp::create(builder, factor.getLoc(), type, factor.getSource(), places);
    if (isa<arith::DivFOp>(op))
      return arith::DivFOp::create(builder, op->getLoc(), scaled, other);
    return isFirst ? arith::MulFOp::create(builder, op->getLoc(), other, scaled)
                   : arith::MulFOp::create(builder, op->getLoc(), scaled, other);
  }
};

/// A contraction seen from one of its operands.
class Product {
public:
  Product(ContractOp op, bool fromLeft)
      : op(op), fromLeft(fromLeft), other(fromLeft ? op.getRhs() : op.getLhs()),
        otherLabels(fromLeft ? op.getRhsLabels() : op.getLhsLabels()), resultLabels(op.getResultLabels()) {}

  Value operand() { return fromLeft ? op.getLhs() : op.getRhs(); }
  ArrayRef<int64_t> labels() { return fromLeft ? op.getLhsLabels() : op.getRhsLabels(); }
  bool isKept(int64_t label) { return llvm::is_contained(resultLabels, label); }
  bool isShared(int64_t label) { return llvm::is_contained(otherLabels, label); }
  /// Whether a label stands for positions of this operand alone, which the product keeps apart.
  bool isRow(int64_t label) { return isKept(label) && !isShared(label); }

  /// The product with another operand in place of this one.
  Value create(OpBuilder &builder, Value value, ArrayRef<int64_t> labels, Value with, ArrayRef<int64_t> result) {
    SmallVector<SizeAttr> sizes;
    for (int64_t label : result) {
      int64_t place = placeOf(labels, label);
      sizes.push_back(place >= 0 ? dimsOf(value)[place] : dimsOf(with)[placeOf(otherLabels, label)]);
    }
    RankedTensorType type = tensorType(sizes, elementOf(op.getResult()));
    if (fromLeft)
      return ContractOp::create(builder, op.getLoc(), type, value, with, labels, otherLabels, result);
    return ContractOp::create(builder, op.getLoc(), type, with, value, otherLabels, labels, result);
  }

  /// Whether another contraction has the same operand here, and weights of the same shape.
  bool differsInWeightsOnly(ContractOp with) {
    Product that(with, fromLeft);
    return that.operand() == operand() && that.labels() == labels() && that.otherLabels == otherLabels &&
           that.resultLabels == resultLabels && that.other.getType() == other.getType();
  }

  /// Whether the product with `value` is cheaper taken on what `value` is made of.
  bool descends(Value value, ArrayRef<int64_t> labels);
  /// The product with `value`, taken as far inside as `descends` allows.
  Value descend(OpBuilder &builder, Value value, ArrayRef<int64_t> labels);

  ContractOp op;
  bool fromLeft;
  Value other;
  ArrayRef<int64_t> otherLabels, resultLabels;

private:
  /// Where in the result the dimensions stand that a factor has; none if it is summed over one, or their order changes.
  std::optional<Labels> places(BroadcastOp factor, ArrayRef<int64_t> labels) {
    Labels result;
    for (int64_t dim : factor.getDims())
      result.push_back(placeOf(resultLabels, labels[dim]));
    if (llvm::is_contained(result, -1) || !llvm::is_sorted(result))
      return std::nullopt;
    return result;
  }

  /// A broadcast along rows of the product: the labels of its source, and those of the product with it.
  std::optional<std::pair<Labels, Labels>> repeated(BroadcastOp broadcast, ArrayRef<int64_t> labels) {
    if (!onlyAddsDims(broadcast))
      return std::nullopt;
    Labels inner, result(resultLabels);
    for (auto [dim, label] : llvm::enumerate(labels)) {
      if (llvm::is_contained(broadcast.getDims(), static_cast<int64_t>(dim)))
        inner.push_back(label);
      else if (isRow(label))
        llvm::erase(result, label);
      else
        return std::nullopt;
    }
    return std::make_pair(inner, result);
  }

  /// Fewer numbers go through a sum over edges after the product than before it.
  bool narrows(Value value, ArrayRef<int64_t> labels) {
    MLIRContext *ctx = op.getContext();
    SizeAttr before = SizeAttr::constant(ctx, 1), after = before;
    for (auto [label, size] : llvm::zip_equal(labels, dimsOf(value)))
      if (!isRow(label))
        before = before.mul(size);
    for (int64_t label : resultLabels)
      if (isShared(label) || placeOf(labels, label) < 0)
        after = after.mul(dimsOf(other)[placeOf(otherLabels, label)]);
    return isLess(after, before);
  }

  /// The labels of what a sum over edges sums.
  static Labels entryLabels(SegmentReduceOp sum, ArrayRef<int64_t> labels) {
    Labels result(labels);
    int64_t row = result[sum.getDims()[0]];
    result.erase(result.begin() + sum.getDims()[0]);
    result.insert(result.begin() + sum.getAt(), row);
    return result;
  }
};

bool Product::descends(Value value, ArrayRef<int64_t> labels) {
  if (GatherOp gather = edgeGather(value))
    return isRow(labels[gather.getDims()[0]]);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return repeated(broadcast, labels).has_value();
  if (SegmentReduceOp sum = edgeSum(value))
    return sum->hasOneUse() && isRow(labels[sum.getDims()[0]]) && narrows(value, labels) &&
           descends(sum.getSource(), entryLabels(sum, labels));
  if (Scaled scaled = Scaled::match(value); scaled.op)
    return places(scaled.factor, labels) && descends(scaled.value, labels);
  Operation *def = value.getDefiningOp();
  return isa_and_present<arith::AddFOp, arith::SubFOp, arith::NegFOp>(def) &&
         llvm::all_of(def->getOperands(), [&](Value v) { return descends(v, labels); });
}

Value Product::descend(OpBuilder &builder, Value value, ArrayRef<int64_t> labels) {
  if (!descends(value, labels))
    return create(builder, value, labels, other, resultLabels);
  Location loc = value.getLoc();
  auto typeWith = [&](Value like, int64_t place, SizeAttr size) {
    SmallVector<SizeAttr> sizes(dimsOf(like));
    sizes[place] = size;
    return tensorType(sizes, elementOf(like));
  };
  if (GatherOp gather = edgeGather(value)) {
    int64_t dim = gather.getDims()[0], place = placeOf(resultLabels, labels[dim]);
    Value rows = descend(builder, gather.getSource(), labels);
    return GatherOp::create(builder, loc, typeWith(rows, place, dimsOf(value)[dim]), rows, gather.getIndices(), Value(),
                            ArrayRef<int64_t>{place});
  }
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    auto [inner, result] = *repeated(broadcast, labels);
    Value small = create(builder, broadcast.getSource(), inner, other, result);
    Labels dims;
    for (int64_t label : result)
      dims.push_back(placeOf(resultLabels, label));
    SmallVector<SizeAttr> sizes;
    for (auto [place, label] : llvm::enumerate(resultLabels)) {
      int64_t kept = placeOf(result, label);
      sizes.push_back(kept >= 0 ? dimsOf(small)[kept] : dimsOf(value)[placeOf(labels, label)]);
    }
    return BroadcastOp::create(builder, loc, tensorType(sizes, elementOf(small)), small, dims);
  }
  if (SegmentReduceOp sum = edgeSum(value)) {
    int64_t dim = sum.getDims()[0], place = placeOf(resultLabels, labels[dim]);
    Value entries = descend(builder, sum.getSource(), entryLabels(sum, labels));
    return SegmentReduceOp::create(builder, loc, TypeRange{typeWith(entries, place, dimsOf(value)[dim])},
                                   ReduceKind::Sum, entries, sum.getIndices(), Value(), place, ArrayRef<int64_t>{place})
        .getResult();
  }
  if (Scaled scaled = Scaled::match(value); scaled.op)
    return scaled.apply(builder, descend(builder, scaled.value, labels), *places(scaled.factor, labels));
  Operation *def = value.getDefiningOp();
  SmallVector<Value> operands;
  for (Value operand : def->getOperands())
    operands.push_back(descend(builder, operand, labels));
  OperationState state(loc, def->getName());
  state.addOperands(operands);
  state.addTypes(operands.front().getType());
  state.propertiesAttr = def->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

/// Tries a rewrite from the side of either operand.
struct ContractPattern : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  virtual Value rewrite(Product product, PatternRewriter &rewriter) const = 0;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    for (bool fromLeft : {true, false}) {
      if (Value value = rewrite(Product(op, fromLeft), rewriter)) {
        rewriter.replaceOp(op, value);
        return success();
      }
    }
    return failure();
  }
};

/// contract(gather(x), w) is gather(contract(x, w)): the product is taken once per node. So for sums, differences and
/// multiples of gathers, and, where that makes it narrower, for a sum over edges of these.
struct ProductOfGather : ContractPattern {
  using ContractPattern::ContractPattern;
  Value rewrite(Product product, PatternRewriter &rewriter) const override {
    if (!product.descends(product.operand(), product.labels()))
      return {};
    return product.descend(rewriter, product.operand(), product.labels());
  }
};

/// contract(concat(a, b), w) is contract(a, upper rows of w) + contract(b, lower rows of w), where the product with one
/// of them is cheaper by itself: of x_i ‖ x_j ‖ e_ji only e_ji belongs to edges.
struct ProductOfConcat : ContractPattern {
  using ContractPattern::ContractPattern;
  Value rewrite(Product product, PatternRewriter &rewriter) const override {
    auto concat = product.operand().getDefiningOp<ConcatOp>();
    if (!concat)
      return {};
    ArrayRef<int64_t> labels = product.labels();
    int64_t label = labels[concat.getDim()], place = placeOf(product.otherLabels, label);
    if (product.isKept(label) || place < 0 ||
        llvm::none_of(concat.getSources(), [&](Value piece) { return product.descends(piece, labels); }))
      return {};
    Value sum;
    SizeAttr from = SizeAttr::constant(rewriter.getContext(), 0);
    for (Value piece : concat.getSources()) {
      SmallVector<SizeAttr> sizes(dimsOf(product.other));
      SizeAttr size = sizes[place] = dimsOf(piece)[concat.getDim()];
      Value part = SliceOp::create(rewriter, product.op.getLoc(), tensorType(sizes, elementOf(product.other)),
                                   product.other, place, from, 1);
      Value term = product.create(rewriter, piece, labels, part, product.resultLabels);
      sum = sum ? arith::AddFOp::create(rewriter, product.op.getLoc(), sum, term).getResult() : term;
      from = from.add(size);
    }
    return sum;
  }
};

/// Σ_e x[i_e] d_e is Σ_v x_v (Σ_{e: i_e = v} d_e): the gradient of a weight that meets gathered rows.
struct ProductOverEdges : ContractPattern {
  using ContractPattern::ContractPattern;
  Value rewrite(Product product, PatternRewriter &rewriter) const override {
    GatherOp gather = edgeGather(product.operand());
    if (!gather)
      return {};
    int64_t dim = gather.getDims()[0], label = product.labels()[dim], place = placeOf(product.otherLabels, label);
    if (product.isKept(label) || place < 0)
      return {};
    SmallVector<SizeAttr> sizes(dimsOf(product.other));
    sizes[place] = dimsOf(gather.getSource())[dim];
    Value sum = SegmentReduceOp::create(rewriter, product.op.getLoc(),
                                        TypeRange{tensorType(sizes, elementOf(product.other))}, ReduceKind::Sum,
                                        product.other, gather.getIndices(), Value(), place, ArrayRef<int64_t>{place})
                    .getResult();
    return product.create(rewriter, gather.getSource(), product.labels(), sum, product.resultLabels);
  }
};

/// Σ_e a_e (d_e w) is (Σ_e a_e d_e) w: a product on edges is taken on the nodes that it is summed into, and one on
/// nodes after a sum over their edges where its operand is narrower than its result.
struct SumOfProduct : OpRewritePattern<SegmentReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SegmentReduceOp op, PatternRewriter &rewriter) const override {
    SegmentReduceOp sum = edgeSum(op.getResult());
    if (!sum)
      return failure();
    Value entries = sum.getSource();
    SmallVector<Scaled> scales;
    for (Scaled scaled = Scaled::match(entries); scaled.op && scaled.op->hasOneUse(); scaled = Scaled::match(entries)) {
      scales.push_back(scaled);
      entries = scaled.value;
    }
    GatherOp gather = edgeGather(entries);
    auto contract = gather ? gather.getSource().getDefiningOp<ContractOp>() : entries.getDefiningOp<ContractOp>();
    if (!contract || !contract->hasOneUse() ||
        (gather && (!gather->hasOneUse() || gather.getDims()[0] != static_cast<int64_t>(sum.getAt()))))
      return failure();
    for (bool fromLeft : {true, false})
      if (succeeded(move(sum, scales, gather, Product(contract, fromLeft), rewriter)))
        return success();
    return failure();
  }

  LogicalResult move(SegmentReduceOp sum, ArrayRef<Scaled> scales, GatherOp gather, Product product,
                     PatternRewriter &rewriter) const {
    int64_t label = product.resultLabels[sum.getAt()];
    Value operand = product.operand();
    if (!product.isRow(label) || placeOf(product.labels(), label) < 0)
      return failure();
    // What scales the terms must not depend on what the product makes.
    SmallVector<Labels> places;
    for (Scaled scaled : scales) {
      Labels &place = places.emplace_back();
      for (int64_t dim : scaled.factor.getDims()) {
        if (!product.isRow(product.resultLabels[dim]))
          return failure();
        place.push_back(placeOf(product.labels(), product.resultLabels[dim]));
      }
      if (!llvm::is_sorted(place))
        return failure();
    }
    SizeAttr before = SizeAttr::constant(rewriter.getContext(), 1), after = before;
    for (auto [row, size] : llvm::zip_equal(product.labels(), dimsOf(operand)))
      if (!product.isRow(row))
        before = before.mul(size);
    for (auto [row, size] : llvm::zip_equal(product.resultLabels, dimsOf(product.op.getResult())))
      if (!product.isRow(row) || placeOf(product.labels(), row) < 0)
        after = after.mul(size);
    if (gather && !isLess(before, after))
      return failure();

    int64_t place = placeOf(product.labels(), label), target = sum.getDims()[0];
    SmallVector<SizeAttr> sizes(dimsOf(operand));
    Value entries = operand;
    if (gather) {
      sizes[place] = dimsOf(gather.getResult())[gather.getDims()[0]];
      entries = GatherOp::create(rewriter, gather.getLoc(), tensorType(sizes, elementOf(operand)), operand,
                                 gather.getIndices(), Value(), ArrayRef<int64_t>{place});
    }
    for (size_t k = scales.size(); k-- > 0;) {
      Scaled scaled = scales[k];
      entries = scaled.apply(rewriter, entries, places[k]);
    }
    sizes[place] = dimsOf(sum.getResult())[target];
    Value rows =
        SegmentReduceOp::create(rewriter, sum.getLoc(), TypeRange{tensorType(sizes, elementOf(operand))},
                                ReduceKind::Sum, entries, sum.getIndices(), Value(), place, ArrayRef<int64_t>{place})
            .getResult();
    // The target may stand elsewhere than the entries did.
    Labels result(product.resultLabels);
    result.erase(result.begin() + sum.getAt());
    result.insert(result.begin() + target, label);
    rewriter.replaceOp(sum, product.create(rewriter, rows, product.labels(), product.other, result));
    return success();
  }
};

/// Terms of a sum, with signs.
struct Terms {
  SmallVector<std::pair<Value, bool>> list; // value, whether it is subtracted

  void collect(Value value, bool isNegative, bool isRoot = false) {
    Operation *op = value.getDefiningOp();
    if (!isRoot && !(op && op->hasOneUse()))
      return list.push_back({value, isNegative});
    if (isa<arith::AddFOp, arith::SubFOp>(op)) {
      collect(op->getOperand(0), isNegative);
      collect(op->getOperand(1), isNegative != isa<arith::SubFOp>(op));
    } else if (isa<arith::NegFOp>(op)) {
      collect(op->getOperand(0), !isNegative);
    } else {
      list.push_back({value, isNegative});
    }
  }

  /// Positive terms first; null for none.
  static Value add(OpBuilder &builder, Location loc, ArrayRef<std::pair<Value, bool>> list) {
    Value sum;
    for (bool negative : {false, true})
      for (auto [value, isNegative] : list) {
        if (isNegative != negative)
          continue;
        if (!sum)
          sum = negative ? arith::NegFOp::create(builder, loc, value).getResult() : value;
        else
          sum = negative ? arith::SubFOp::create(builder, loc, sum, value).getResult()
                         : arith::AddFOp::create(builder, loc, sum, value).getResult();
      }
    return sum;
  }
};

bool isTerm(Operation *op) { return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op); }

/// u[i] + v[i] is (u + v)[i], and u[i] + b with b the same for all edges is (u + b)[i]: one stream instead of two, and
/// the gradient of b is a sum over nodes. Of two ends the target is preferred, since it is read once per row.
struct SumOfGathers : RewritePattern {
  explicit SumOfGathers(MLIRContext *ctx) : RewritePattern(MatchAnyOpTypeTag(), 1, ctx) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<arith::AddFOp, arith::SubFOp>(op) || (op->hasOneUse() && isTerm(*op->user_begin())))
      return failure();
    Terms terms;
    terms.collect(op->getResult(0), false, /*isRoot=*/true);
    using Term = std::pair<Value, bool>;
    auto sameEnd = [](GatherOp a, GatherOp b) {
      return a.getIndices() == b.getIndices() && a.getDims() == b.getDims() &&
             a.getSource().getType() == b.getSource().getType();
    };
    SmallVector<GatherOp> gathers;
    for (Direction end : {Direction::Dst, Direction::Src})
      for (Value value : llvm::make_first_range(terms.list))
        if (GatherOp gather = edgeGather(value);
            gather && gather.getIndices()[0].getDefiningOp<EndpointOp>().getEnd() == end)
          gathers.push_back(gather);
    for (GatherOp gather : gathers) {
      auto isRepeated = [&](Value value) {
        auto broadcast = value.getDefiningOp<BroadcastOp>();
        return broadcast && !broadcast.getDims().empty() && onlyAddsDims(broadcast) &&
               !llvm::is_contained(broadcast.getDims(), gather.getDims()[0]);
      };
      SmallVector<Term> nodes, others;
      for (Term term : terms.list) {
        GatherOp same = edgeGather(term.first);
        (same && sameEnd(same, gather)) || isRepeated(term.first) ? nodes.push_back(term) : others.push_back(term);
      }
      if (nodes.size() < 2)
        continue;
      for (Value &value : llvm::make_first_range(nodes)) {
        if (GatherOp same = edgeGather(value)) {
          value = same.getSource();
          continue;
        }
        auto broadcast = value.getDefiningOp<BroadcastOp>();
        value = BroadcastOp::create(rewriter, broadcast.getLoc(), gather.getSource().getType(), broadcast.getSource(),
                                    broadcast.getDims());
      }
      Value sum = Terms::add(rewriter, op->getLoc(), nodes);
      others.push_back({GatherOp::create(rewriter, gather.getLoc(), gather.getType(), sum, gather.getIndices(), Value(),
                                         gather.getDims()),
                        false});
      rewriter.replaceOp(op, Terms::add(rewriter, op->getLoc(), others));
      return success();
    }
    return failure();
  }
};

/// x w1 - x w2 is x (w1 - w2): the sum is taken of the weights, which are few, and one product less is made.
struct SumOfProducts : RewritePattern {
  explicit SumOfProducts(MLIRContext *ctx) : RewritePattern(MatchAnyOpTypeTag(), 1, ctx) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<arith::AddFOp, arith::SubFOp>(op) || (op->hasOneUse() && isTerm(*op->user_begin())))
      return failure();
    Terms terms;
    terms.collect(op->getResult(0), false, /*isRoot=*/true);
    for (Value value : llvm::make_first_range(terms.list)) {
      auto first = value.getDefiningOp<ContractOp>();
      if (!first)
        continue;
      for (bool fromLeft : {true, false}) {
        Product product(first, fromLeft);
        if (!isFewer(product.other, first.getResult()))
          continue;
        SmallVector<std::pair<Value, bool>> weights, others;
        bool sparesOne = false;
        for (auto [term, isNegative] : terms.list) {
          auto contract = term.getDefiningOp<ContractOp>();
          if (!contract || !product.differsInWeightsOnly(contract)) {
            others.push_back({term, isNegative});
            continue;
          }
          weights.push_back({fromLeft ? contract.getRhs() : contract.getLhs(), isNegative});
          sparesOne |= contract->hasOneUse();
        }
        if (weights.size() < 2 || !sparesOne)
          continue;
        product.other = Terms::add(rewriter, first.getLoc(), weights);
        others.push_back(
            {product.create(rewriter, product.operand(), product.labels(), product.other, product.resultLabels),
             false});
        rewriter.replaceOp(op, Terms::add(rewriter, op->getLoc(), others));
        return success();
      }
    }
    return failure();
  }

  /// Whether weights are fewer numbers than the product with them: they have no set of a graph, which the product has.
  static bool isFewer(Value weights, Value product) {
    auto count = [](Value value) { return gnnc::gnn::product(value.getContext(), dimsOf(value)); };
    SizeAttr few = count(weights), many = count(product);
    return isLess(few, many) || (few.getConstant() && !many.getConstant());
  }
};

/// Gradients of all the parts of a tensor, each among zeros, add up to their concatenation.
struct SumOfParts : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    Terms terms;
    terms.collect(op.getResult(), false, /*isRoot=*/true);
    SmallVector<UnsliceOp> parts;
    for (auto [value, isNegative] : terms.list) {
      auto part = value.getDefiningOp<UnsliceOp>();
      if (!part || isNegative || part.getStep() != 1 || (!parts.empty() && part.getDim() != parts[0].getDim()))
        return failure();
      parts.push_back(part);
    }
    // In order, each begins where the last one ends.
    SmallVector<Value> pieces;
    SizeAttr at = SizeAttr::constant(rewriter.getContext(), 0);
    int64_t dim = parts[0].getDim();
    while (pieces.size() < parts.size()) {
      auto *next = llvm::find_if(
          parts, [&](UnsliceOp part) { return part.getFrom() == at && !llvm::is_contained(pieces, part.getSource()); });
      if (next == parts.end())
        return failure();
      pieces.push_back(next->getSource());
      at = at.add(dimsOf(next->getSource())[dim]);
    }
    if (at != dimsOf(op.getResult())[dim])
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), pieces, dim);
    return success();
  }
};

struct AlgebraProductsPass : gnnc::gnn::impl::AlgebraProductsBase<AlgebraProductsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<ProductOfGather, ProductOfConcat, ProductOverEdges, SumOfProduct, SumOfGathers, SumOfProducts, SumOfParts>(
            &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

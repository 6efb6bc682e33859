// Lowers gnn.share, the adjoint of a max or min over segments.
//
// As comparisons it reads every entry of the opposite order again. Where its uses are sums alone, it is not needed for
// each entry: the sum by the index of the extremum itself is what was shared, and the sum by another index goes to the
// winners' targets, which the forward pass keeps as tags.
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Dialect/Grouping.h"
#include "gnnc/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_LOWERSHARES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

/// Fewer features leave too little to share out between threads, which each take some features of all rows.
constexpr int64_t fewestFeatures = 32;

/// Whether a value of entries costs little where it is computed again for a row that ties: arithmetic on what is
/// gathered. What costs more would have to be kept for all entries.
bool isCheap(Value value, SizeAttr entries) {
  llvm::SetVector<Value> work;
  work.insert(value);
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *op = work[i].getDefiningOp();
    if (!op || !llvm::is_contained(dimsOf(work[i]), entries) || isa<arith::ConstantOp>(op))
      continue;
    if (!isa<GatherOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op) && !isa<arith::ArithDialect>(op->getDialect()))
      return false;
    if (!isa<GatherOp>(op))
      work.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

SegmentReduceOp asSum(Operation *op) {
  auto sum = dyn_cast<SegmentReduceOp>(op);
  bool plain = sum && sum.getKind() == ReduceKind::Sum && !sum.getEmpty() && sum.getAt() == 0 &&
               sum.getDims() == ArrayRef<int64_t>{0} && sum.getIndices().size() == 1;
  return plain ? sum : SegmentReduceOp();
}

/// Whether a value is a sum that nobody else reads, and each time anew.
bool isOwn(Value value, Operation *reader) {
  Operation *op = value.getDefiningOp();
  return value.hasOneUse() && op && op->getBlock() == reader->getBlock() && (asSum(op) || isa<ShareSumOp>(op));
}

/// Lets the op that found the extremum keep the winners' targets, and sends the shares there. Returns whether that was
/// possible.
bool sendToWinners(ShareOp share) {
  auto extremum = share.getExtremum().getDefiningOp<SegmentReduceOp>();
  if (!extremum || extremum.getSource() != share.getSource() || extremum.getAt() != 0 ||
      extremum.getDims() != ArrayRef<int64_t>{0} || extremum.getIndices().size() != 1 ||
      extremum.getIndices()[0] != share.getIndex() || extremum.getTags() || maybeNone(share.getIndex()) ||
      (extremum.getWinner() && !extremum.getWinner().use_empty()))
    return false;
  ArrayRef<SizeAttr> sizes = dimsOf(share.getSource());
  std::optional<int64_t> features = product(share.getContext(), sizes.drop_front()).getConstant();
  if ((features && *features < fewestFeatures) || !isCheap(share.getSource(), sizes[0]))
    return false;
  Value target;
  for (Operation *user : share->getUsers()) {
    SegmentReduceOp sum = asSum(user);
    if (!sum)
      return false;
    Value index = sum.getIndices()[0];
    if (index == share.getIndex())
      continue;
    if ((target && target != index) || maybeNone(index))
      return false;
    target = index;
  }
  if (!target)
    return false;

  OpBuilder b(extremum);
  Location loc = share.getLoc();
  RankedTensorType tagType = tensorType(dimsOf(share.getExtremum()), b.getI32Type());
  auto tagged = SegmentReduceOp::create(b, extremum.getLoc(), extremum.getResult().getType(), tagType,
                                        extremum.getKind(), extremum.getSource(), extremum.getIndices(),
                                        extremum.getEmpty(), target, extremum.getAt(), extremum.getDims());
  tagged->setDiscardableAttrs(extremum->getDiscardableAttrDictionary());
  extremum.getResult().replaceAllUsesWith(tagged.getResult());
  extremum.erase();
  // What a row gives away is all of it, where there is anyone to share it. If that is wanted by itself, it is also what
  // is sent, so that one tensor less is kept: a row without entries sends nothing.
  Value given = share.getY();
  auto isGiven = [&](Operation *sum) { return cast<SegmentReduceOp>(sum).getIndices()[0] == share.getIndex(); };
  if (llvm::any_of(share->getUsers(), isGiven)) {
    b.setInsertionPoint(share);
    Expr tag(b, loc, tagged.getWinner());
    given = tag.equalsInteger(tag.constant(-1)).choose(0.0, tag.with(share.getY()));
  }
  for (Operation *user : llvm::make_early_inc_range(share->getUsers())) {
    auto sum = cast<SegmentReduceOp>(user);
    Value value = given;
    if (!isGiven(sum)) {
      b.setInsertionPoint(sum);
      // What is added to a sum of its own may as well be added in its place.
      Value init;
      auto addition = sum.getResult().hasOneUse() ? dyn_cast<arith::AddFOp>(*sum->getUsers().begin()) : arith::AddFOp();
      if (addition && addition.getRhs() == sum.getResult() && isOwn(addition.getLhs(), addition)) {
        init = addition.getLhs();
        b.setInsertionPoint(addition);
      }
      value = ShareSumOp::create(b, loc, sum.getResult().getType(), given, tagged.getResult(), share.getSource(),
                                 share.getIndex(), target, tagged.getWinner(), init);
      if (init) {
        addition.getResult().replaceAllUsesWith(value);
        addition.erase();
      }
    }
    sum.getResult().replaceAllUsesWith(value);
    sum.erase();
  }
  share.erase();
  return true;
}

/// The terms of a sum of entries that are shares, with their signs, and the others.
struct Terms {
  SmallVector<std::pair<ShareOp, bool>> shares; // and whether it is subtracted
  SmallVector<std::pair<Value, bool>> others;
  SmallVector<Operation *> additions; // from the last one on
  void collect(Value value, bool negative) {
    Operation *op = value.getDefiningOp();
    if (auto share = dyn_cast_or_null<ShareOp>(op)) {
      shares.push_back({share, negative});
    } else if (op && op->hasOneUse() && isa<arith::AddFOp, arith::SubFOp>(op)) {
      additions.push_back(op);
      collect(op->getOperand(0), negative);
      collect(op->getOperand(1), negative != isa<arith::SubFOp>(op));
    } else if (op && op->hasOneUse() && isa<arith::NegFOp>(op)) {
      additions.push_back(op);
      collect(op->getOperand(0), !negative);
    } else {
      others.push_back({value, negative});
    }
  }
};

/// A sum over entries of several terms becomes sums of each share and of the rest, so that shares stand alone.
void takeApart(SegmentReduceOp op) {
  Terms terms;
  terms.collect(op.getSource(), false);
  if (terms.shares.empty() || terms.shares.size() + terms.others.size() == 1)
    return;
  OpBuilder b(op);
  auto total = [&](Value source) -> Value {
    return SegmentReduceOp::create(b, op.getLoc(), TypeRange{op.getResult().getType()}, ReduceKind::Sum, source,
                                   op.getIndices(), Value(), op.getAt(), op.getDims())
        .getResult();
  };
  auto join = [&](Value sum, Value term, bool negative) -> Value {
    if (!sum)
      return negative ? arith::NegFOp::create(b, op.getLoc(), term).getResult() : term;
    return negative ? arith::SubFOp::create(b, op.getLoc(), sum, term).getResult()
                    : arith::AddFOp::create(b, op.getLoc(), sum, term).getResult();
  };
  Value rest, sum;
  for (auto [value, negative] : terms.others)
    rest = join(rest, value, negative);
  if (rest)
    sum = total(rest);
  for (auto [share, negative] : terms.shares)
    sum = join(sum, total(share.getResult()), negative);
  op.getResult().replaceAllUsesWith(sum);
  op.erase();
  for (Operation *addition : terms.additions)
    addition->erase();
}

/// An entry gets its part if it equals the extremum; where that is NaN, the NaNs do.
void compare(ShareOp share) {
  OpBuilder b(share);
  auto source = cast<RankedTensorType>(share.getSource().getType());
  Grouping groups =
      Grouping::by(b, share.getLoc(), source, cast<RankedTensorType>(share.getY().getType()), share.getIndex(), 0, {0});
  share.getResult().replaceAllUsesWith(
      shareExtremum(b, share.getLoc(), groups, share.getSource(), share.getExtremum(), share.getY()));
  share.erase();
}

struct LowerSharesPass : gnnc::gnn::impl::LowerSharesBase<LowerSharesPass> {
  using LowerSharesBase::LowerSharesBase;
  void runOnOperation() override {
    if (toWinners)
      getOperation()->walk([](SegmentReduceOp op) {
        if (asSum(op))
          takeApart(op);
      });
    SmallVector<ShareOp> shares;
    getOperation()->walk([&](ShareOp share) { shares.push_back(share); });
    for (ShareOp share : shares)
      if (!toWinners || !sendToWinners(share))
        compare(share);
  }
};

} // namespace

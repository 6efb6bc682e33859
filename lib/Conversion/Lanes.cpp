// Evaluation of scalar bodies on blocks of lanes.
#include "Lanes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace gnnc;

Value gnnc::partOf(OpBuilder &b, Location loc, const Lanes &lanes, unsigned piece, unsigned width) {
  if (!lanes.uniform)
    return lanes.parts[piece];
  Value scalar = lanes.parts[0];
  if (width == 0)
    return scalar;
  return vector::BroadcastOp::create(b, loc, laneType(scalar.getType(), width), scalar);
}

Value gnnc::laneConstant(OpBuilder &b, Location loc, TypedAttr value, unsigned width) {
  if (width == 0)
    return arith::ConstantOp::create(b, loc, value);
  auto type = cast<VectorType>(laneType(value.getType(), width));
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(value)));
}

namespace {
/// Builds integer arithmetic of one type, scalar or vector.
class Maker {
public:
  Maker(OpBuilder &b, Location loc, Type type) : b(b), loc(loc), type(type) {}

  Value integer(int64_t value) {
    auto vector = dyn_cast<VectorType>(type);
    return laneConstant(b, loc, IntegerAttr::get(getElementTypeOrSelf(type), value), vector ? vector.getDimSize(0) : 0);
  }
  template <typename Op, typename... Args> Value make(Args... args) { return Op::create(b, loc, args...); }

private:
  OpBuilder &b;
  Location loc;
  Type type;
};
} // namespace

/// A divisor with which an integer division cannot trap: 1 in place of 0, and of -1 where the quotient would overflow.
/// Lanes that are switched off hold zeros, and a user's division by zero must not end the process.
static Value safeDivisor(OpBuilder &b, Location loc, Value dividend, Value divisor) {
  Maker make(b, loc, divisor.getType());
  unsigned width = getElementTypeOrSelf(divisor.getType()).getIntOrFloatBitWidth();
  Value zero = make.make<arith::CmpIOp>(arith::CmpIPredicate::eq, divisor, make.integer(0));
  Value minusOne = make.make<arith::CmpIOp>(arith::CmpIPredicate::eq, divisor, make.integer(-1));
  int64_t least = width == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t(1) << (width - 1));
  Value lowest = make.make<arith::CmpIOp>(arith::CmpIPredicate::eq, dividend, make.integer(least));
  Value traps = make.make<arith::OrIOp>(zero, make.make<arith::AndIOp>(minusOne, lowest));
  return make.make<arith::SelectOp>(traps, make.integer(1), divisor);
}

/// Words are held in i64, where a product has both its halves. What stands above a word's 32 bits does not matter: it
/// is cut off before it is multiplied, which costs nothing.
Value gnnc::philox(OpBuilder &b, Location loc, Value key, Value counter, unsigned word) {
  Maker make(b, loc, counter.getType());
  Value mask = make.integer(0xFFFFFFFF), half = make.integer(32);
  auto high = [&](Value x) { return make.make<arith::ShRUIOp>(x, half); };
  auto product = [&](Value x, int64_t factor) {
    return make.make<arith::MulIOp>(make.make<arith::AndIOp>(x, mask), make.integer(factor));
  };
  auto mix = [&](Value x, Value y, Value z) { return make.make<arith::XOrIOp>(make.make<arith::XOrIOp>(x, y), z); };
  Value k0 = key, k1 = high(key);
  Value c0 = counter, c1 = high(counter), c2 = make.integer(0), c3 = c2;
  for (int round = 0; round < 10; ++round) {
    Value product0 = product(c0, 0xD2511F53), product1 = product(c2, 0xCD9E8D57);
    c0 = mix(high(product1), c1, k0);
    c2 = mix(high(product0), c3, k1);
    c1 = product1;
    c3 = product0;
    k0 = make.make<arith::AddIOp>(k0, make.integer(0x9E3779B9));
    k1 = make.make<arith::AddIOp>(k1, make.integer(0xBB67AE85));
  }
  Value words[] = {c0, c1, c2, c3};
  Type narrow = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(counter.getType()))
    narrow = vector.clone(narrow);
  return arith::TruncIOp::create(b, loc, narrow, words[word]);
}

/// A function of C, called lane by lane. Lanes that are switched off hold zeros, with which it is called too.
static Value externCall(OpBuilder &b, Location loc, gnn::ExternCallOp call, ArrayRef<Value> operands, unsigned width) {
  StringRef symbol = call.getSymbol();
  Type element = call.getResult().getType();
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    SmallVector<Type> parameters(call->getOperandTypes());
    LLVM::LLVMFuncOp::create(b, loc, symbol, LLVM::LLVMFunctionType::get(element, parameters));
  }
  if (width == 0)
    return LLVM::CallOp::create(b, loc, TypeRange{element}, symbol, operands).getResult();
  Value result = laneConstant(b, loc, b.getZeroAttr(element), width);
  for (int64_t lane = 0; lane < width; ++lane) {
    SmallVector<Value> scalars =
        llvm::map_to_vector(operands, [&](Value v) -> Value { return vector::ExtractOp::create(b, loc, v, lane); });
    Value y = LLVM::CallOp::create(b, loc, TypeRange{element}, symbol, scalars).getResult();
    result = vector::InsertOp::create(b, loc, y, result, lane);
  }
  return result;
}

/// One op of the body on scalars or vectors of `width` lanes.
static SmallVector<Value> evaluate(OpBuilder &b, Location loc, Operation &op, ArrayRef<Value> operands,
                                   unsigned width) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(&op)
      .Case([&](gnn::RandomBitsOp bits) {
        return SmallVector<Value>{philox(b, loc, operands[0], operands[1], bits.getWord())};
      })
      .Case([&](gnn::ExternCallOp call) { return SmallVector<Value>{externCall(b, loc, call, operands, width)}; })
      .Default([&](Operation *generic) {
        IRMapping mapping;
        for (auto [from, to] : llvm::zip(generic->getOperands(), operands))
          mapping.map(from, to);
        if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(generic))
          mapping.map(generic->getOperand(1), safeDivisor(b, loc, operands[0], operands[1]));
        Operation *copy = b.clone(*generic, mapping);
        copy->setLoc(loc);
        for (OpResult result : copy->getResults())
          result.setType(laneType(result.getType(), width));
        return SmallVector<Value>(copy->getResults());
      });
}

llvm::SetVector<Value> gnnc::valuesFor(Block &body, ArrayRef<unsigned> wanted) {
  llvm::SetVector<Value> needed;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (wanted.empty() || llvm::is_contained(wanted, i))
      needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i)
    if (Operation *op = needed[i].getDefiningOp())
      needed.insert(op->operand_begin(), op->operand_end());
  return needed;
}

SmallVector<Lanes> gnnc::evaluateBody(OpBuilder &b, Location loc, Block &body, ArrayRef<Lanes> arguments,
                                      ArrayRef<Piece> pieces, ArrayRef<unsigned> wanted) {
  SmallVector<Value> yields;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (wanted.empty() || llvm::is_contained(wanted, i))
      yields.push_back(value);
  llvm::SetVector<Value> needed = valuesFor(body, wanted);
  llvm::DenseMap<Value, Lanes> values;
  for (auto [argument, lanes] : llvm::zip(body.getArguments(), arguments))
    values[argument] = lanes;
  auto find = [&](Value value) -> const Lanes & {
    auto it = values.find(value);
    if (it != values.end())
      return it->second;
    // A scalar constant from outside the body.
    return values[value] = Lanes::scalar(b.clone(*value.getDefiningOp())->getResult(0));
  };

  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() == 0 || !needed.contains(op.getResult(0)))
      continue;
    SmallVector<const Lanes *> operands;
    for (Value operand : op.getOperands())
      find(operand);
    for (Value operand : op.getOperands())
      operands.push_back(&find(operand));
    bool uniform = llvm::all_of(operands, [](const Lanes *l) { return l->uniform; });
    SmallVector<Lanes> results(op.getNumResults());
    for (unsigned piece = 0; piece < (uniform ? 1 : pieces.size()); ++piece) {
      unsigned width = uniform ? 0 : pieces[piece].width;
      SmallVector<Value> parts;
      for (const Lanes *operand : operands)
        parts.push_back(partOf(b, loc, *operand, piece, width));
      for (auto [result, part] : llvm::zip(results, evaluate(b, loc, op, parts, width))) {
        result.uniform = uniform;
        result.parts.push_back(part);
      }
    }
    for (auto [value, lanes] : llvm::zip(op.getResults(), results))
      values[value] = lanes;
  }
  SmallVector<Lanes> yielded;
  for (Value value : yields)
    yielded.push_back(find(value));
  return yielded;
}

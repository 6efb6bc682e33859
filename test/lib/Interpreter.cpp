// The interpreter's core: functions, elementwise ops, derivatives by differences.
#include "Interpreter.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::test;

Tensor::Tensor(ArrayRef<int64_t> shape, Cell fill) : shape(shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= size;
  cells.assign(count, fill);
}

Cell &Tensor::at(ArrayRef<int64_t> index) {
  size_t flat = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    flat = flat * size + i;
  return cells[flat];
}

void gnnc::test::forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> f) {
  if (llvm::is_contained(shape, 0))
    return;
  Shape index(shape.size(), 0);
  while (true) {
    f(index);
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && ++index[d] == shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

int64_t Interpreter::sizeOf(SizeAttr size) const {
  return size.evaluate([&](int64_t id) { return id < static_cast<int64_t>(sizes.size()) ? sizes[id] : 0; });
}

Shape Interpreter::shapeOf(Type type) const {
  Shape shape;
  for (SizeAttr size : dimsOf(type))
    shape.push_back(sizeOf(size));
  return shape;
}

FailureOr<std::vector<Datum>> Interpreter::call(func::FuncOp function, std::vector<Datum> arguments) {
  Block &block = function.getBody().front();
  for (auto [argument, datum] : llvm::zip_equal(block.getArguments(), arguments))
    set(argument, std::move(datum));
  if (failed(run(block)))
    return failure();
  std::vector<Datum> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(values[result]);
  return results;
}

LogicalResult Interpreter::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op)))
      return failure();
  return success();
}

LogicalResult Interpreter::runOp(Operation &op) {
  if (auto vjp = dyn_cast<VjpOp>(op)) {
    Block &body = vjp.getBody().front();
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), vjp.getWrt()))
      set(argument, values[operand]);
    if (failed(run(body)))
      return failure();
    for (auto [result, value] : llvm::zip_equal(vjp.getValues(), body.getTerminator()->getOperands()))
      set(result, values[value]);
    return success();
  }
  if (auto b = dyn_cast<BackOp>(op))
    return back(b);
  if (isa<IfOp, ForOp, WhileOp>(op))
    return control(op);
  if (auto made = dyn_cast<DeriveOp>(op))
    return derive(made);
  bool known =
      llvm::TypeSwitch<Operation *, bool>(&op)
          .Case<EndpointOp, DegreeOp, GatherOp, SegmentReduceOp, ShareOp, SegmentSoftmaxOp, SegmentLogSumExpOp,
                ReduceOp, ArgReduceOp, SoftmaxOp, LogSumExpOp, ContractOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp,
                UnsliceOp, SelectIndexOp, UpdateIndexOp, UpdateSliceOp, ConcatOp, IotaOp, SizeOp, DefineSizeOp, EmptyOp,
                CheckIndexOp, NondiffOp, SavedOp, FoldKeyOp, UniformOp, arith::ConstantOp>([&](auto o) {
            eval(o);
            return true;
          })
          .Default([](Operation *) { return false; });
  return known ? success() : elementwise(op);
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::control(Operation &op) {
  auto copy = [&](ValueRange to, ValueRange from) {
    std::vector<Datum> data;
    for (Value value : from)
      data.push_back(values[value]);
    for (auto [value, datum] : llvm::zip_equal(to, data))
      set(value, datum);
  };
  auto yields = [](Region &region) { return region.front().getTerminator()->getOperands(); };
  if (auto branch = dyn_cast<IfOp>(op)) {
    Region &taken = tensor(branch.getCondition()).cells[0] != 0 ? branch.getThenRegion() : branch.getElseRegion();
    if (failed(run(taken.front())))
      return failure();
    copy(branch.getResults(), yields(taken));
    return success();
  }
  if (auto loop = dyn_cast<ForOp>(op)) {
    auto lower = static_cast<int64_t>(tensor(loop.getLower()).cells[0]);
    auto upper = static_cast<int64_t>(tensor(loop.getUpper()).cells[0]);
    ValueRange state(loop.block().getArguments().drop_front());
    copy(state, loop.getInits());
    for (int64_t k = 0; k < upper - lower; ++k) {
      Tensor counter({}, loop.getReverse() ? upper - 1 - k : lower + k);
      set(loop.counter(), counter);
      if (failed(run(loop.block())))
        return failure();
      copy(state, yields(loop.getBody()));
    }
    copy(loop.getResults(), state);
    return success();
  }
  auto loop = cast<WhileOp>(op);
  ValueRange tested(loop.conditionBlock().getArguments()), state(loop.block().getArguments());
  copy(tested, loop.getInits());
  while (true) {
    if (failed(run(loop.conditionBlock())))
      return failure();
    if (tensor(yields(loop.getCondition())[0]).cells[0] == 0)
      break;
    copy(state, tested);
    if (failed(run(loop.block())))
      return failure();
    copy(tested, yields(loop.getBody()));
  }
  copy(loop.getResults(), tested);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

namespace {
using Args = ArrayRef<Cell>;

bool holds(arith::CmpFPredicate predicate, Cell a, Cell b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  int64_t code = static_cast<int64_t>(predicate);
  if (predicate == arith::CmpFPredicate::AlwaysFalse || predicate == arith::CmpFPredicate::AlwaysTrue)
    return predicate == arith::CmpFPredicate::AlwaysTrue;
  if (predicate == arith::CmpFPredicate::ORD || predicate == arith::CmpFPredicate::UNO)
    return unordered == (predicate == arith::CmpFPredicate::UNO);
  // The unordered predicates follow the ordered ones: oeq .. one, ord, ueq .. une, uno.
  bool orUnordered = code >= static_cast<int64_t>(arith::CmpFPredicate::UEQ);
  if (unordered)
    return orUnordered;
  switch (code - static_cast<int64_t>(orUnordered ? arith::CmpFPredicate::UEQ : arith::CmpFPredicate::OEQ)) {
  case 0:
    return a == b;
  case 1:
    return a > b;
  case 2:
    return a >= b;
  case 3:
    return a < b;
  case 4:
    return a <= b;
  default:
    return a != b;
  }
}

bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

Cell larger(Cell a, Cell b) { return std::isnan(a) || a > b ? a : b; }
Cell smaller(Cell a, Cell b) { return std::isnan(a) || a < b ? a : b; }

Cell power(Cell x, int64_t n) {
  Cell result = 1;
  for (int64_t k = 0; k < std::abs(n); ++k)
    result *= x;
  return n < 0 ? 1 / result : result;
}

using Function = Cell (*)(Args);
const llvm::StringMap<Function> &functions() {
  static const llvm::StringMap<Function> table = {
      {"arith.addf", [](Args a) -> Cell { return a[0] + a[1]; }},
      {"arith.subf", [](Args a) -> Cell { return a[0] - a[1]; }},
      {"arith.mulf", [](Args a) -> Cell { return a[0] * a[1]; }},
      {"arith.divf", [](Args a) -> Cell { return a[0] / a[1]; }},
      {"arith.remf", [](Args a) -> Cell { return std::fmod(a[0], a[1]); }},
      {"arith.negf", [](Args a) -> Cell { return -a[0]; }},
      {"arith.maximumf", [](Args a) -> Cell { return std::isnan(a[1]) ? a[1] : larger(a[0], a[1]); }},
      {"arith.minimumf", [](Args a) -> Cell { return std::isnan(a[1]) ? a[1] : smaller(a[0], a[1]); }},
      {"arith.select", [](Args a) -> Cell { return a[0] != 0 ? a[1] : a[2]; }},
      {"arith.extf", [](Args a) -> Cell { return a[0]; }},
      {"arith.truncf", [](Args a) -> Cell { return a[0]; }},
      {"arith.sitofp", [](Args a) -> Cell { return a[0]; }},
      {"arith.uitofp", [](Args a) -> Cell { return a[0]; }},
      {"arith.fptosi", [](Args a) -> Cell { return std::trunc(a[0]); }},
      {"arith.extsi", [](Args a) -> Cell { return a[0]; }},
      {"arith.extui", [](Args a) -> Cell { return a[0]; }},
      {"arith.trunci", [](Args a) -> Cell { return a[0]; }},
      {"arith.addi", [](Args a) -> Cell { return a[0] + a[1]; }},
      {"arith.subi", [](Args a) -> Cell { return a[0] - a[1]; }},
      {"arith.muli", [](Args a) -> Cell { return a[0] * a[1]; }},
      {"arith.maxsi", [](Args a) -> Cell { return larger(a[0], a[1]); }},
      {"arith.minsi", [](Args a) -> Cell { return smaller(a[0], a[1]); }},
      {"arith.divsi",
       [](Args a) -> Cell { return a[1] == 0 ? 0 : static_cast<int64_t>(a[0]) / static_cast<int64_t>(a[1]); }},
      {"arith.andi", [](Args a) -> Cell { return static_cast<int64_t>(a[0]) & static_cast<int64_t>(a[1]); }},
      {"arith.ori", [](Args a) -> Cell { return static_cast<int64_t>(a[0]) | static_cast<int64_t>(a[1]); }},
      {"arith.xori", [](Args a) -> Cell { return static_cast<int64_t>(a[0]) ^ static_cast<int64_t>(a[1]); }},
      {"math.absf", [](Args a) -> Cell { return std::fabs(a[0]); }},
      {"math.exp", [](Args a) -> Cell { return std::exp(a[0]); }},
      {"math.exp2", [](Args a) -> Cell { return std::exp2(a[0]); }},
      {"math.expm1", [](Args a) -> Cell { return std::expm1(a[0]); }},
      {"math.log", [](Args a) -> Cell { return std::log(a[0]); }},
      {"math.log2", [](Args a) -> Cell { return std::log2(a[0]); }},
      {"math.log10", [](Args a) -> Cell { return std::log10(a[0]); }},
      {"math.log1p", [](Args a) -> Cell { return std::log1p(a[0]); }},
      {"math.sqrt", [](Args a) -> Cell { return std::sqrt(a[0]); }},
      {"math.rsqrt", [](Args a) -> Cell { return 1 / std::sqrt(a[0]); }},
      {"math.sin", [](Args a) -> Cell { return std::sin(a[0]); }},
      {"math.cos", [](Args a) -> Cell { return std::cos(a[0]); }},
      {"math.tan", [](Args a) -> Cell { return std::tan(a[0]); }},
      {"math.asin", [](Args a) -> Cell { return std::asin(a[0]); }},
      {"math.acos", [](Args a) -> Cell { return std::acos(a[0]); }},
      {"math.atan", [](Args a) -> Cell { return std::atan(a[0]); }},
      {"math.atan2", [](Args a) -> Cell { return std::atan2(a[0], a[1]); }},
      {"math.sinh", [](Args a) -> Cell { return std::sinh(a[0]); }},
      {"math.cosh", [](Args a) -> Cell { return std::cosh(a[0]); }},
      {"math.tanh", [](Args a) -> Cell { return std::tanh(a[0]); }},
      {"math.asinh", [](Args a) -> Cell { return std::asinh(a[0]); }},
      {"math.acosh", [](Args a) -> Cell { return std::acosh(a[0]); }},
      {"math.atanh", [](Args a) -> Cell { return std::atanh(a[0]); }},
      {"math.erf", [](Args a) -> Cell { return std::erf(a[0]); }},
      {"math.erfc", [](Args a) -> Cell { return std::erfc(a[0]); }},
      {"math.floor", [](Args a) -> Cell { return std::floor(a[0]); }},
      {"math.ceil", [](Args a) -> Cell { return std::ceil(a[0]); }},
      {"math.trunc", [](Args a) -> Cell { return std::trunc(a[0]); }},
      {"math.round", [](Args a) -> Cell { return std::round(a[0]); }},
      {"math.copysign", [](Args a) -> Cell { return std::copysign(a[0], a[1]); }},
      {"math.powf", [](Args a) -> Cell { return std::pow(a[0], a[1]); }},
      {"math.fpowi", [](Args a) -> Cell { return power(a[0], static_cast<int64_t>(a[1])); }},
      {"math.fma", [](Args a) -> Cell { return a[0] * a[1] + a[2]; }},
      {"math.clampf", [](Args a) -> Cell { return a[0] < a[1]   ? a[1]
                                                  : a[0] > a[2] ? a[2]
                                                                : a[0]; }},
      {"gnn.sigmoid", [](Args a) -> Cell { return 1 / (1 + std::exp(-a[0])); }},
      {"gnn.softplus", [](Args a) -> Cell { return larger(a[0], 0) + std::log1p(std::exp(-std::fabs(a[0]))); }},
      {"gnn.pmul", [](Args a) -> Cell { return a[0] == 0 ? 0 : a[0] * a[1]; }},
      {"gnn.no_rule", [](Args a) -> Cell { return a[0]; }},
  };
  return table;
}
} // namespace

LogicalResult Interpreter::elementwise(Operation &op) {
  SmallVector<Tensor *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(&tensor(operand));
  auto function = functions().find(op.getName().getStringRef());
  auto compareReals = dyn_cast<arith::CmpFOp>(op);
  auto compareIntegers = dyn_cast<arith::CmpIOp>(op);
  if (function == functions().end() && !compareReals && !compareIntegers)
    return op.emitError("the tests' interpreter does not know this op");
  Tensor result = empty(op.getResult(0));
  for (auto [k, cell] : llvm::enumerate(result.cells)) {
    SmallVector<Cell, 3> args;
    for (Tensor *operand : operands)
      args.push_back(operand->cells[operand->cells.size() == 1 ? 0 : k]);
    if (compareReals)
      cell = holds(compareReals.getPredicate(), args[0], args[1]);
    else if (compareIntegers)
      cell = holds(compareIntegers.getPredicate(), static_cast<int64_t>(args[0]), static_cast<int64_t>(args[1]));
    else
      cell = function->second(args);
  }
  set(op.getResult(0), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

FailureOr<Cell> Interpreter::paired(VjpOp vjp, ValueRange cotangents) {
  Block &body = vjp.getBody().front();
  if (failed(run(body)))
    return failure();
  Cell sum = 0;
  auto cotangent = cotangents.begin();
  for (Value value : body.getTerminator()->getOperands()) {
    if (!isa<RankedTensorType>(value.getType()) || !isa<FloatType>(elementOf(value)))
      continue;
    for (auto [c, y] : llvm::zip_equal(tensor(*cotangent).cells, tensor(value).cells))
      if (c != 0)
        sum += c * y;
    ++cotangent;
  }
  return sum;
}

/// Central differences of fourth order. What nondiff holds constant is not moved.
LogicalResult Interpreter::back(BackOp back) {
  auto vjp = back.getTape().getDefiningOp<VjpOp>();
  SmallVector<Operation *> held;
  vjp->walk([&](NondiffOp op) {
    if (frozen.try_emplace(op, tensor(op.getResult())).second)
      held.push_back(op);
  });
  Block &body = vjp.getBody().front();
  auto bind = [&]() {
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), vjp.getWrt()))
      set(argument, values[operand]);
  };
  for (auto [argument, gradient] : llvm::zip_equal(body.getArguments(), back.getGradients())) {
    constexpr int shifts[] = {-2, -1, 1, 2};
    Tensor result = empty(gradient);
    for (auto [k, cell] : llvm::enumerate(result.cells)) {
      bind();
      Cell x = tensor(argument).cells[k], step = 2e-4L * (1 + std::fabs(x));
      Cell at[4];
      for (auto [n, shift] : llvm::enumerate(shifts)) {
        tensor(argument).cells[k] = x + shift * step;
        FailureOr<Cell> value = paired(vjp, back.getCotangents());
        if (failed(value))
          return failure();
        at[n] = *value;
      }
      cell = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step);
    }
    set(gradient, std::move(result));
  }
  bind();
  for (Operation *op : held)
    frozen.erase(op);
  return success();
}

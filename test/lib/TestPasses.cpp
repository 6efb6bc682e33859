// Passes of the tests that run programs: gnnc-opt's oracle.
//
// The arguments of a function are what its attributes say, or are made up from their positions:
//   test.sizes = array<i64: 3, 4>       (function) the sizes of s0, s1, ...
//   test.edges = array<i64: 0, 1, 1, 2> (graph)    source and target of every edge
//   test.value = array<f64: 1., 2., 3.> (tensor)   the elements, or one for all
//   test.range = array<f64: 0.5, 2.>    (tensor)   the bounds of made-up elements; without, these are -1 and 1, and for
//   an
//                                                  index array of an entry point what it may be
#include "TestPasses.h"
#include "Interpreter.h"

#include "gnnc/Dialect/EntryAttrs.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::test;

namespace {

/// A number in [0, 1) that depends on the position alone.
double made(unsigned argument, size_t element) {
  uint64_t z = 0x9E3779B97F4A7C15u * (1000003u * (argument + 1) + element + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

SmallVector<int64_t> sizesOf(func::FuncOp function) {
  auto sizes = function->getAttrOfType<DenseI64ArrayAttr>("test.sizes");
  if (sizes)
    return SmallVector<int64_t>(sizes.asArrayRef());
  auto names = function->getAttrOfType<ArrayAttr>(attrs::setNames);
  SmallVector<int64_t> made;
  for (size_t k = 0; names && k < names.size(); ++k)
    made.push_back(std::array<int64_t, 4>{4, 6, 3, 2}[k % 4]);
  return made;
}

FailureOr<Datum> argumentOf(func::FuncOp function, unsigned k, const Interpreter &interpreter) {
  Type type = function.getArgumentTypes()[k];
  if (auto graphType = dyn_cast<GnnGraphType>(type)) {
    Graph graph{interpreter.sizeOf(graphType.getSrc()), interpreter.sizeOf(graphType.getDst()), {}, {}};
    auto edges = function.getArgAttrOfType<DenseI64ArrayAttr>(k, "test.edges");
    int64_t numEdges = interpreter.sizeOf(graphType.getEdges());
    if (edges && edges.size() != 2 * numEdges)
      return function.emitError() << "argument #" << k << " needs test.edges for every edge";
    for (int64_t e = 0; e < numEdges; ++e) {
      auto pick = [&](int64_t nodes, size_t n) { return edges ? edges[n] : static_cast<int64_t>(made(k, n) * nodes); };
      graph.src.push_back(pick(graph.numSrc, 2 * e));
      graph.dst.push_back(pick(graph.numDst, 2 * e + 1));
    }
    return Datum(graph);
  }
  Tensor tensor(interpreter.shapeOf(type));
  if (auto given = function.getArgAttrOfType<DenseF64ArrayAttr>(k, "test.value")) {
    if (given.size() != 1 && given.size() != static_cast<int64_t>(tensor.cells.size()))
      return function.emitError() << "argument #" << k << " has " << tensor.cells.size() << " elements, but test.value "
                                  << given.size();
    for (auto [n, cell] : llvm::enumerate(tensor.cells))
      cell = given[given.size() == 1 ? 0 : n];
    return Datum(tensor);
  }
  Type element = cast<RankedTensorType>(type).getElementType();
  auto range = function.getArgAttrOfType<DenseF64ArrayAttr>(k, "test.range");
  double low = range ? range[0] : -1, high = range ? range[1] : 1;
  if (auto into = function.getArgAttrOfType<SizeAttr>(k, attrs::into))
    low = 0, high = interpreter.sizeOf(into);
  for (auto [n, cell] : llvm::enumerate(tensor.cells)) {
    cell = low + (high - low) * made(k, n);
    if (element.isInteger(1))
      cell = made(k, n) < 0.5;
    else if (isa<IntegerType>(element))
      cell = std::floor(cell);
  }
  return Datum(tensor);
}

/// The results of a function on its own arguments.
FailureOr<std::vector<Datum>> resultsOf(func::FuncOp function) {
  Interpreter interpreter(sizesOf(function));
  std::vector<Datum> arguments;
  for (unsigned k = 0; k < function.getNumArguments(); ++k) {
    FailureOr<Datum> argument = argumentOf(function, k, interpreter);
    if (failed(argument))
      return failure();
    arguments.push_back(*argument);
  }
  return interpreter.call(function, std::move(arguments));
}

/// The results of a function that was split in two: what the forward function keeps is handed to the backward one, with
/// the graphs and cotangents of the original.
FailureOr<std::vector<Datum>> resultsOfPair(func::FuncOp both, DictionaryAttr marks, func::FuncOp forward,
                                            func::FuncOp backward) {
  Interpreter interpreter(sizesOf(both));
  unsigned numArgs = marks.getAs<IntegerAttr>("args").getInt(),
           numResults = marks.getAs<IntegerAttr>("results").getInt();
  std::vector<Datum> arguments, given;
  for (unsigned k = 0; k < both.getNumArguments(); ++k) {
    FailureOr<Datum> argument = argumentOf(both, k, interpreter);
    if (failed(argument))
      return failure();
    (k < numArgs ? arguments : given).push_back(*argument);
  }
  FailureOr<std::vector<Datum>> results = interpreter.call(forward, arguments);
  if (failed(results))
    return failure();
  std::vector<Datum> passed;
  llvm::copy_if(arguments, std::back_inserter(passed), [](const Datum &d) { return std::holds_alternative<Graph>(d); });
  passed.insert(passed.end(), results->begin() + numResults, results->end());
  passed.insert(passed.end(), given.begin(), given.end());
  results->resize(numResults);
  FailureOr<std::vector<Datum>> gradients = interpreter.call(backward, passed);
  if (failed(gradients))
    return failure();
  results->insert(results->end(), gradients->begin(), gradients->end());
  return results;
}

void print(raw_ostream &os, const Tensor &tensor) {
  os << "[";
  llvm::interleaveComma(tensor.cells, os, [&](Cell cell) {
    if (std::isnan(cell))
      os << "nan";
    else
      os << llvm::format("%.6g", static_cast<double>(cell == 0 ? 0 : cell));
  });
  os << "]";
}

/// max |a - b| / max |b|, infinite where one is NaN and the other is not.
Cell relativeError(const Tensor &a, const Tensor &b) {
  Cell largest = 0, scale = 0;
  for (auto [x, y] : llvm::zip_equal(a.cells, b.cells)) {
    if (std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y)) {
      if (!(std::isnan(x) && std::isnan(y)) && x != y)
        return INFINITY;
      continue;
    }
    largest = std::max(largest, std::fabs(x - y));
    scale = std::max(scale, std::fabs(y));
  }
  return largest == 0 ? 0 : largest / std::max<Cell>(scale, 1e-3L);
}

/// f(args) -> results becomes f(args, cotangents) -> (results, gradients), by a vjp around the whole body: of a plain
/// function it makes a test of first order, and of the outcome one of second order. All floating-point arguments get
/// gradients.
struct NestPass : PassWrapper<NestPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NestPass)
  NestPass() = default;
  NestPass(const NestPass &other) : PassWrapper(other) {}
  Option<bool> ones{*this, "ones", llvm::cl::desc("All cotangents are 1"), llvm::cl::init(false)};
  StringRef getArgument() const override { return "test-gnn-nest"; }
  StringRef getDescription() const override {
    return "Wrap every function's body in a vjp and return its gradients too";
  }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<GnnDialect>(); }

  static bool isReal(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      nest(function);
  }

  void nest(func::FuncOp function) {
    Block &entry = function.getBody().front();
    auto ret = cast<func::ReturnOp>(entry.getTerminator());
    SmallVector<Value> wrt, cotangents;
    llvm::copy_if(entry.getArguments(), std::back_inserter(wrt), [](Value v) { return isReal(v.getType()); });
    for (Value result : ret.getOperands())
      if (isReal(result.getType())) {
        unsigned place = function.getNumArguments();
        (void)function.insertArgument(place, result.getType(), {}, result.getLoc());
        if (ones)
          function.setArgAttr(place, "test.value", Builder(function.getContext()).getDenseF64ArrayAttr(1.0));
        cotangents.push_back(entry.getArgument(place));
      }
    OpBuilder builder(ret);
    SmallVector<Type> types(ret.getOperandTypes());
    types.push_back(TapeType::get(function.getContext()));
    auto vjp = VjpOp::create(builder, ret.getLoc(), types, wrt);
    Block *body = builder.createBlock(&vjp.getBody());
    body->getOperations().splice(body->end(), entry.getOperations(), entry.begin(), vjp->getIterator());
    for (Value argument : wrt) {
      Value inside = body->addArgument(argument.getType(), argument.getLoc());
      argument.replaceUsesWithIf(inside, [&](OpOperand &use) { return vjp->isProperAncestor(use.getOwner()); });
    }
    builder.setInsertionPointToEnd(body);
    SmallVector<Value> results(ret.getOperands());
    for (Value &result : results)
      if (auto *argument = llvm::find(wrt, result); argument != wrt.end())
        result = body->getArgument(argument - wrt.begin());
    YieldOp::create(builder, ret.getLoc(), results);
    builder.setInsertionPoint(ret);
    auto back = BackOp::create(builder, ret.getLoc(), ValueRange(wrt).getTypes(), vjp.getTape(), cotangents);
    SmallVector<Value> returned(vjp.getValues());
    llvm::append_range(returned, back.getGradients());
    ret.getOperandsMutable().assign(returned);
    function.setType(FunctionType::get(function.getContext(), entry.getArgumentTypes(), ret.getOperandTypes()));
  }
};

struct InterpretPass : PassWrapper<InterpretPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretPass)
  StringRef getArgument() const override { return "test-gnn-interpret"; }
  StringRef getDescription() const override { return "Run every function on its arguments and print the results"; }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<std::vector<Datum>> results = resultsOf(function);
      if (failed(results))
        return signalPassFailure();
      for (auto [k, result] : llvm::enumerate(*results)) {
        llvm::outs() << function.getName() << " #" << k << ": ";
        print(llvm::outs(), std::get<Tensor>(result));
        llvm::outs() << "\n";
      }
    }
    llvm::outs().flush();
  }
};

struct AgreePass : PassWrapper<AgreePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AgreePass)
  AgreePass() = default;
  AgreePass(const AgreePass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "test-gnn-agree"; }
  StringRef getDescription() const override {
    return "Run every function before and after a pipeline; fail unless the results agree";
  }
  Option<std::string> pipeline{*this, "pipeline", llvm::cl::desc("The passes to judge")};
  Option<double> tolerance{*this, "tolerance", llvm::cl::desc("The largest relative error"), llvm::cl::init(1e-8)};

  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<GnnDialect>(); }

  void runOnOperation() override {
    OwningOpRef<ModuleOp> before = getOperation().clone();
    OpPassManager passes(ModuleOp::getOperationName());
    if (failed(parsePassPipeline(pipeline, passes)) || failed(runPipeline(passes, getOperation())))
      return signalPassFailure();
    for (auto function : before->getOps<func::FuncOp>()) {
      FailureOr<std::vector<Datum>> expected = resultsOf(function), found = after(function);
      if (failed(expected) || failed(found) || failed(compare(function, *found, *expected)))
        signalPassFailure();
    }
  }

  FailureOr<std::vector<Datum>> after(func::FuncOp function) {
    if (auto same = getOperation().lookupSymbol<func::FuncOp>(function.getName()))
      return resultsOf(same);
    auto marks = function->getAttrOfType<DictionaryAttr>(attrs::exportVjp);
    if (!marks)
      return function.emitError() << "the pipeline removed " << function.getName();
    StringRef of = marks.getAs<StringAttr>("of").getValue();
    return resultsOfPair(function, marks, getOperation().lookupSymbol<func::FuncOp>((of + "_fwd").str()),
                         getOperation().lookupSymbol<func::FuncOp>((of + "_bwd").str()));
  }

  LogicalResult compare(func::FuncOp function, ArrayRef<Datum> found, ArrayRef<Datum> expected) {
    bool ok = found.size() == expected.size();
    for (auto [k, pair] : llvm::enumerate(llvm::zip(found, expected))) {
      const Tensor &a = std::get<Tensor>(std::get<0>(pair)), &b = std::get<Tensor>(std::get<1>(pair));
      Cell error = relativeError(a, b);
      if (error <= tolerance)
        continue;
      ok = false;
      llvm::errs() << function.getName() << " #" << k << ": relative error " << static_cast<double>(error)
                   << "\n  found ";
      print(llvm::errs(), a);
      llvm::errs() << "\n  expected ";
      print(llvm::errs(), b);
      llvm::errs() << "\n";
    }
    return success(ok);
  }
};

} // namespace

void gnnc::test::registerTestPasses() {
  PassRegistration<NestPass>();
  PassRegistration<InterpretPass>();
  PassRegistration<AgreePass>();
}

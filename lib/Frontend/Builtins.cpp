// The built-in functions: one table from names to handlers.
#include "Elaborator.h"

namespace gnnc::elab {

using E = Elaborator;

static constexpr Builtin table[] = {
    // Element by element.
    {"exp", &E::unaryFunction},
    {"expm1", &E::unaryFunction},
    {"log", &E::unaryFunction},
    {"log1p", &E::unaryFunction},
    {"sqrt", &E::unaryFunction},
    {"rsqrt", &E::unaryFunction},
    {"tanh", &E::unaryFunction},
    {"sin", &E::unaryFunction},
    {"cos", &E::unaryFunction},
    {"tan", &E::unaryFunction},
    {"atan", &E::unaryFunction},
    {"erf", &E::unaryFunction},
    {"abs", &E::unaryFunction},
    {"floor", &E::unaryFunction},
    {"ceil", &E::unaryFunction},
    {"round", &E::unaryFunction},
    {"sigmoid", &E::unaryFunction},
    {"softplus", &E::unaryFunction},
    {"silu", &E::unaryFunction},
    {"gelu", &E::unaryFunction},
    {"relu", &E::unaryFunction},
    {"leaky_relu", &E::leakyRelu},
    {"elu", &E::eluFunction},
    {"pow", &E::powFunction},
    {"atan2", &E::atan2Function},
    {"maximum", &E::extremum},
    {"minimum", &E::extremum},
    {"clamp", &E::clampFunction},
    {"where", &E::whereFunction},
    {"pmul", &E::pmulFunction},
    // Conversions.
    {"real", &E::castFunction},
    {"f32", &E::castFunction},
    {"f64", &E::castFunction},
    {"i32", &E::castFunction},
    {"i64", &E::castFunction},
    // Reductions.
    {"sum", &E::reduction},
    {"mean", &E::reduction},
    {"max", &E::reduction},
    {"min", &E::reduction},
    {"prod", &E::reduction},
    {"logsumexp", &E::reduction},
    {"softmax", &E::softmaxFunction},
    {"log_softmax", &E::softmaxFunction},
    {"argmax", &E::argExtremum},
    {"argmin", &E::argExtremum},
    {"count", &E::countFunction},
    {"norm", &E::normFunction},
    {"var", &E::varianceFunction},
    {"std", &E::varianceFunction},
    {"einsum", &E::einsumFunction},
    // Shapes.
    {"reshape", &E::reshapeFunction},
    {"transpose", &E::transposeFunction},
    {"broadcast", &E::broadcastFunction},
    {"concat", &E::concatFunction},
    {"split", &E::splitFunction},
    {"repeat", &E::repeatFunction},
    {"pick", &E::pickFunction},
    {"one_hot", &E::oneHotFunction},
    {"iota", &E::iotaFunction},
    {"zeros", &E::filledFunction},
    {"ones", &E::filledFunction},
    {"ceildiv", &E::ceildivFunction},
    // Randomness.
    {"key", &E::keyFunction},
    {"fold", &E::foldFunction},
    {"uniform", &E::uniformFunction},
    {"randn", &E::randnFunction},
    {"dropout", &E::dropoutFunction},
    // Graphs.
    {"in_degree", &E::degreeFunction},
    {"out_degree", &E::degreeFunction},
    {"add_self_loops", &E::addSelfLoopsFunction},
    // Functions of functions.
    {"map", &E::mapFunction},
    {"nondiff", &E::nondiffFunction},
    {"grad", &E::derivativeFunction},
    {"value_and_grad", &E::derivativeFunction},
    {"vjp", &E::derivativeFunction},
    {"jvp", &E::derivativeFunction},
    {"__no_rule", &E::noRuleFunction},
    // Known names of what is to come.
    {"rev"},
    {"remove_self_loops", &E::regraphFunction},
    {"coalesce", &E::regraphFunction},
    {"reverse", &E::regraphFunction},
    {"symmetrize", &E::regraphFunction},
    {"line_graph", &E::regraphFunction},
    {"from_dense", &E::fromDenseFunction},
    {"to_dense", &E::toDenseFunction},
    {"knn_graph", &E::neighboursFunction},
    {"radius_graph", &E::neighboursFunction},
    {"batch", &E::batchFunction},
    {"complete_graph", &E::completeGraphFunction},
    {"filter_edges", &E::filterEdgesFunction},
    {"induced_subgraph", &E::inducedSubgraphFunction},
    {"edge_ids", &E::edgeIdsFunction},
    {"sort", &E::sortFunction},
    {"topk", &E::sortFunction},
};

const Builtin *findBuiltin(llvm::StringRef name) {
  static const llvm::StringMap<const Builtin *> byName = [] {
    llvm::StringMap<const Builtin *> map;
    for (const Builtin &b : table)
      map[b.name] = &b;
    return map;
  }();
  return byName.lookup(name);
}

llvm::StringRef similarBuiltin(llvm::StringRef name) {
  llvm::StringRef best;
  unsigned limit = name.size() / 3, distance = limit + 1;
  for (const Builtin &b : table) {
    unsigned d = name.edit_distance(b.name, true, limit + 1);
    if (b.handler && !b.name.starts_with("__") && d < distance) {
      best = b.name;
      distance = d;
    }
  }
  return best;
}

} // namespace gnnc::elab

// Graphs: their index arrays, degrees, and functions that make a graph from another. A new graph has a new edge set;
// what edges carry moves with a gather along the index array between new and old edges.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::endpoint(const Value &graph, bool source, Location at) {
  Dims edges{{Dim::size, graph.type->edges}};
  SizeAttr target = source ? graph.type->src : graph.type->dst;
  mlir::Value r = gnn::EndpointOp::create(builder, at, irTensor(Elem::index, edges),
                                          source ? gnn::Direction::Src : gnn::Direction::Dst, graph.ir);
  return tensorValue(r, Elem::index, edges, target);
}

/// in_degree(g), out_degree(g).
Value Elaborator::degreeFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value g = arg(call.args[0]);
  if (g.isError())
    return g;
  if (g.type->kind != Type::graph) {
    diags.error(Diag::badOperand, call.args[0].range, "'" + call.callee + "' takes a graph, found " + describe(g));
    return errorValue();
  }
  bool in = call.callee == "in_degree";
  Dims dims{{Dim::size, in ? g.type->dst : g.type->src}};
  mlir::Value r = gnn::DegreeOp::create(builder, loc(call.range), irTensor(Elem::i32, dims),
                                        in ? gnn::Direction::Dst : gnn::Direction::Src, g.ir);
  return tensorValue(r, Elem::i32, dims);
}

/// What the edges of the old graph carried, on the new one: a gather, and `fill` on new edges (or the mean of what the
/// node's incoming edges carried, those that are replaced left out).
Value Elaborator::movePayload(const Value &payload, const Value &fill, bool mean, gnn::Derivation how,
                              const Value &oldGraph, const Value &newGraph, const Value &old, SourceRange range) {
  Location at = loc(range);
  Value oldEdges = tensorValue({}, Elem::index, Dims{{Dim::size, oldGraph.type->edges}});
  std::optional<unsigned> place = consumedAt(payload, oldEdges, range, "what edges carry");
  if (!place)
    return errorValue();
  unsigned dims[] = {*place};
  Elem elem = payload.type->elem;
  if (!mean) {
    Value f = materialise(fill, elem, at);
    if (f.type->dims.empty())
      return gather(payload, dims, old, f.ir, at);
    Value moved = gather(payload, dims, old, {}, at);
    std::optional<Value> wide = broadcastInto(f, moved.type->dims, range);
    if (!wide)
      return errorValue();
    mlir::Value none = compare(at, false, "<", old.ir, filled(at, Elem::index, old.type->dims, 0));
    mlir::Value mask = broadcastTo(tensorValue(none, Elem::boolean, old.type->dims), moved.type->dims, dims, at).ir;
    return tensorValue(arith::SelectOp::create(builder, at, mask, wide->ir, moved.ir), elem, moved.type->dims);
  }
  Value moved = gather(payload, dims, old, {}, at);
  Value means;
  if (how == gnn::Derivation::ReplaceSelfLoops) {
    // What was removed must not count, whatever it is: the sum over the new edges, of which one a node carries nothing
    // yet.
    Value into = endpoint(newGraph, false, at);
    means = reduceBy(Reduce::sum, moved, into, nullptr, range, range);
    if (means.isError())
      return means;
    Value n = convertElem(countBy(into, at), elem, at);
    mlir::Value one = filled(at, elem, n.type->dims, 1);
    mlir::Value others = arith::MaximumFOp::create(builder, at, arith::SubFOp::create(builder, at, n.ir, one), one);
    Value share = tensorValue(arith::DivFOp::create(builder, at, one, others), elem, n.type->dims);
    Value wide = broadcastTo(share, means.type->dims, dims, at);
    means = tensorValue(arith::MulFOp::create(builder, at, means.ir, wide.ir), elem, means.type->dims);
  } else {
    means = reduceBy(Reduce::mean, payload, endpoint(oldGraph, false, at), nullptr, range, range);
    if (means.isError())
      return means;
  }
  Value spread = gather(means, dims, endpoint(newGraph, false, at), {}, at);
  mlir::Value none = compare(at, false, "<", old.ir, filled(at, Elem::index, old.type->dims, 0));
  mlir::Value mask = broadcastTo(tensorValue(none, Elem::boolean, old.type->dims), moved.type->dims, dims, at).ir;
  return tensorValue(arith::SelectOp::create(builder, at, mask, spread.ir, moved.ir), elem, moved.type->dims);
}

/// add_self_loops(g, w, fill=1, existing="skip"): the graph, and with it what its edges carry.
Value Elaborator::addSelfLoopsFunction(Call &call) {
  if (!accept(call, 1, 2, {"fill", "existing"}))
    return errorValue();
  Value g = arg(call.args[0]);
  if (g.isError())
    return g;
  if (g.type->kind != Type::graph) {
    diags.error(Diag::badOperand, call.args[0].range, "'add_self_loops' takes a graph, found " + describe(g));
    return errorValue();
  }
  if (g.type->src != g.type->dst) {
    diags.error(Diag::badOperand, call.args[0].range,
                "a self loop needs edges from a set to itself, found " + describe(g));
    return errorValue();
  }
  gnn::Derivation how = gnn::Derivation::AddSelfLoops;
  if (CallArg *existing = option(call, "existing")) {
    Value v = arg(*existing);
    if (v.isError())
      return v;
    std::optional<gnn::Derivation> which;
    if (v.type->kind == Type::text)
      which = llvm::StringSwitch<std::optional<gnn::Derivation>>(v.text)
                  .Case("keep", gnn::Derivation::AddSelfLoops)
                  .Case("skip", gnn::Derivation::AddMissingSelfLoops)
                  .Case("replace", gnn::Derivation::ReplaceSelfLoops)
                  .Default(std::nullopt);
    if (!which) {
      diags.error(Diag::badOperand, existing->range, "'existing' is \"keep\", \"skip\" or \"replace\"");
      return errorValue();
    }
    how = *which;
  }
  // One `fill` for each payload.
  std::vector<Value> fills;
  CallArg *payloadArg = call.args.size() > 1 && call.args[1].name.empty() ? &call.args[1] : nullptr;
  CallArg *fillArg = option(call, "fill");
  if (payloadArg) {
    Value p = arg(*payloadArg);
    if (p.isError())
      return p;
    size_t payloads = p.type->kind == Type::tuple ? p.parts.size() : 1;
    if (!fillArg) {
      diags.error(Diag::wrongArguments, call.range, "'add_self_loops' needs to know what the new edges carry")
          .note("write fill=1, fill=0 or fill=\"mean\"");
      // The types are known all the same, and what is wrong with their use is said too.
      fills.assign(payloads, integerValue(constantSize(0)));
    } else if (Value f = arg(*fillArg); f.isError()) {
      return f;
    } else {
      fills = f.type->kind == Type::tuple ? f.parts : std::vector<Value>(payloads, f);
    }
    if (fills.size() != payloads) {
      diags.error(Diag::wrongArguments, fillArg->range,
                  "'fill' has " + llvm::Twine(fills.size()) + " elements for " + llvm::Twine(payloads) +
                      " values on edges");
      return errorValue();
    }
  } else if (fillArg) {
    diags.error(Diag::wrongArguments, fillArg->range,
                "there is nothing to fill: 'add_self_loops' was given no values on edges");
    return errorValue();
  }

  Type t = *g.type;
  t.edges = madeSet(call, "edges");
  TypeRef type = make(std::move(t));
  Value h = derivedGraph(call, how, type, &g, {}, {{Dims{{Dim::size, type->edges}}, g.type->edges}});
  h.batch = g.batch;
  Value old = h.parts.front();
  size_t next = 0;
  return withPayloads(call, 1, g, h, [&](const Value &p, SourceRange range) {
    const Value &f = fills[next++];
    bool mean = f.type->kind == Type::text && f.text == "mean" && isFloat(p.type->elem);
    bool number =
        f.type->isTensor() && (f.type->elem == p.type->elem || (isFloat(p.type->elem) && isLiteral(f.type->elem)) ||
                               (isRuntimeInt(p.type->elem) && f.type->elem == Elem::integer));
    if (mean || number)
      return movePayload(p, f, mean, how, g, h, old, range);
    if (fillArg) // else said above
      diags.error(Diag::badOperand, fillArg->range,
                  "'fill' is a value of the element type of " + str(p.type) + ", or \"mean\", found " + describe(f));
    return errorValue();
  });
}

} // namespace gnnc::elab

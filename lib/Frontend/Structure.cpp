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
Value Elaborator::movePayload(const Value &payload, const Value &fill, bool mean, gnn::Loops loops,
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
  if (loops == gnn::Loops::Replace) {
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
  gnn::Loops loops = gnn::Loops::Keep;
  if (CallArg *existing = option(call, "existing")) {
    Value v = arg(*existing);
    if (v.isError())
      return v;
    std::optional<gnn::Loops> which = v.type->kind == Type::text ? gnn::symbolizeLoops(v.text) : std::nullopt;
    if (!which) {
      diags.error(Diag::badOperand, existing->range, "'existing' is \"keep\", \"skip\" or \"replace\"");
      return errorValue();
    }
    loops = *which;
  }
  std::vector<Value> payloads, fills;
  CallArg *payloadArg = call.args.size() > 1 && call.args[1].name.empty() ? &call.args[1] : nullptr;
  CallArg *fillArg = option(call, "fill");
  bool tuple = false;
  if (payloadArg) {
    Value p = arg(*payloadArg);
    if (p.isError())
      return p;
    tuple = p.type->kind == Type::tuple;
    payloads = tuple ? p.parts : std::vector<Value>{p};
    if (!fillArg) {
      diags.error(Diag::wrongArguments, call.range, "'add_self_loops' needs to know what the new edges carry")
          .note("write fill=1, fill=0 or fill=\"mean\"");
      // The types are known all the same, and what is wrong with their use is said too.
      fills.assign(payloads.size(), integerValue(constantSize(0)));
    } else if (Value f = arg(*fillArg); f.isError()) {
      return f;
    } else {
      fills = f.type->kind == Type::tuple ? f.parts : std::vector<Value>(payloads.size(), f);
    }
    if (fills.size() != payloads.size()) {
      diags.error(Diag::wrongArguments, fillArg->range,
                  "'fill' has " + llvm::Twine(fills.size()) + " elements for " + llvm::Twine(payloads.size()) +
                      " values on edges");
      return errorValue();
    }
  } else if (fillArg) {
    diags.error(Diag::wrongArguments, fillArg->range,
                "there is nothing to fill: 'add_self_loops' was given no values on edges");
    return errorValue();
  }
  for (auto [p, f] : llvm::zip(payloads, fills)) {
    if (!p.type->isTensor() || isLiteral(p.type->elem) || p.type->elem == Elem::key) {
      diags.error(Diag::badOperand, payloadArg->range,
                  "what edges carry is a tensor over " + str(g.type->edges) + ", found " + describe(p));
      return errorValue();
    }
    bool mean = f.type->kind == Type::text && f.text == "mean" && isFloat(p.type->elem);
    bool number =
        f.type->isTensor() && (f.type->elem == p.type->elem || (isFloat(p.type->elem) && isLiteral(f.type->elem)) ||
                               (isRuntimeInt(p.type->elem) && f.type->elem == Elem::integer));
    if (!mean && !number) {
      if (!fillArg)
        return errorValue(); // said above
      diags.error(Diag::badOperand, fillArg->range,
                  "'fill' is a value of the element type of " + str(p.type) + ", or \"mean\", found " + describe(f));
      return errorValue();
    }
  }

  Location at = loc(call.range);
  StringRef text = call.range.isValid() ? diags.sourceManager().text(call.range) : StringRef();
  std::string name = text.size() <= 40 && !text.contains('\n') && !text.empty() ? (text + ".edges").str()
                                                                                : "add_self_loops(...).edges";
  unsigned edges = newSet(name, call.range);
  vars[edges].isProvisional = true;
  Type t = *g.type;
  t.edges = var(edges);
  TypeRef type = make(std::move(t));
  Dims newEdges{{Dim::size, var(edges)}};
  auto op = gnn::AddSelfLoopsOp::create(builder, at, irType(type), irTensor(Elem::index, newEdges), loops, g.ir);
  Value h;
  h.type = type;
  h.ir = op.getResult();
  h.batch = g.batch;
  Value old = tensorValue(op.getOld(), Elem::index, newEdges, g.type->edges);
  h.parts = {old};
  if (!payloadArg)
    return h;
  std::vector<Value> results = {h}, moved;
  for (auto [p, f] : llvm::zip(payloads, fills))
    moved.push_back(movePayload(p, f, f.type->kind == Type::text, loops, g, h, old, payloadArg->range));
  if (llvm::any_of(moved, [](const Value &v) { return v.isError(); }))
    return errorValue();
  results.push_back(tuple ? tupleValue(moved) : moved.front());
  return tupleValue(std::move(results));
}

} // namespace gnnc::elab

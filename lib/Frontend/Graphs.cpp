// Functions that make graphs from graphs and from tensors, and that look for edges or order numbers. What edges carry
// moves along the maps that these functions expose, by a gather or a sum, so their gradients are exact.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

using gnn::Derivation;

/// A graph argument; an error otherwise.
std::optional<Value> Elaborator::graphArg(Call &call, CallArg &a) {
  Value g = arg(a);
  if (g.isError())
    return std::nullopt;
  if (g.type->kind == Type::graph)
    return g;
  diags.error(Diag::badOperand, a.range, "'" + call.callee + "' takes a graph, found " + describe(g));
  return std::nullopt;
}

/// A tensor argument with these elements and dimensions; an error that says what it should be otherwise.
std::optional<Value> Elaborator::tensorArg(Call &call, CallArg &a, const std::string &what,
                                           llvm::function_ref<bool(TypeRef)> fits) {
  Value v = arg(a);
  if (v.isError())
    return std::nullopt;
  if (v.type->isTensor() && fits(v.type))
    return v;
  diags.error(Diag::badOperand, a.range, "'" + call.callee + "' takes " + what + ", found " + describe(v));
  return std::nullopt;
}

/// A set that a call makes, called after it until a `let` gives its graph a name.
SizeAttr Elaborator::madeSet(Call &call, StringRef what) {
  StringRef text = call.range.isValid() ? diags.sourceManager().text(call.range) : StringRef();
  bool isShort = !text.empty() && text.size() <= 40 && !text.contains('\n');
  unsigned id = newSet(isShort ? (text + "." + what).str() : (call.callee + "(...)." + what).str(), call.range);
  vars[id].isProvisional = true;
  return var(id);
}

/// The graph of type `type` that gnn.derive makes; its parts are the maps, of which the first is `old` where there is
/// one from its edges.
Value Elaborator::derivedGraph(Call &call, Derivation how, TypeRef type, const Value *from, ArrayRef<Value> inputs,
                               ArrayRef<std::pair<Dims, SizeAttr>> maps) {
  SmallVector<mlir::Value> operands;
  for (const Value &v : inputs)
    operands.push_back(v.ir);
  SmallVector<mlir::Type> mapTypes;
  for (const auto &[dims, target] : maps)
    mapTypes.push_back(irTensor(Elem::index, dims));
  auto op = gnn::DeriveOp::create(builder, loc(call.range), irType(type), mapTypes, how,
                                  from ? from->ir : mlir::Value(), operands);
  Value h;
  h.type = type;
  h.ir = op.getResult();
  for (auto [map, described] : llvm::zip(op.getMaps(), maps))
    h.parts.push_back(tensorValue(map, Elem::index, described.first, described.second));
  return h;
}

/// (h, w) for one payload, (h, (w, e)) for a tuple of them, h for none; `move` takes a payload to the new edges.
Value Elaborator::withPayloads(Call &call, unsigned at, const Value &g, const Value &h,
                               llvm::function_ref<Value(const Value &, SourceRange)> move) {
  if (call.args.size() <= at || !call.args[at].name.empty())
    return h;
  CallArg *given = &call.args[at];
  Value p = arg(*given);
  if (p.isError())
    return p;
  bool tuple = p.type->kind == Type::tuple;
  std::vector<Value> moved;
  for (const Value &payload : tuple ? p.parts : std::vector<Value>{p}) {
    if (!payload.type->isTensor() || isLiteral(payload.type->elem) || payload.type->elem == Elem::key) {
      diags.error(Diag::badOperand, given->range,
                  "what edges carry is a tensor over " + str(g.type->edges) + ", found " + describe(payload));
      return errorValue();
    }
    moved.push_back(move(payload, given->range));
    if (moved.back().isError())
      return errorValue();
  }
  return tupleValue({h, tuple ? tupleValue(moved) : moved.front()});
}

/// The payload of the old edges on the new ones, by a gather along h's `old`.
Value Elaborator::gatherOld(const Value &payload, const Value &g, const Value &old, SourceRange range) {
  Value oldEdges = tensorValue({}, Elem::index, Dims{{Dim::size, g.type->edges}});
  std::optional<unsigned> place = consumedAt(payload, oldEdges, range, "what edges carry");
  if (!place)
    return errorValue();
  unsigned dims[] = {*place};
  return gather(payload, dims, old, {}, loc(range));
}

/// remove_self_loops(g, w), symmetrize(g, w), reverse(g), coalesce(g, w), line_graph(g).
Value Elaborator::regraphFunction(Call &call) {
  Derivation how = *gnn::symbolizeDerivation(call.callee == "line_graph" ? "line" : call.callee);
  bool carries = how != Derivation::Reverse && how != Derivation::Line;
  if (!accept(call, 1, carries ? 2 : 1))
    return errorValue();
  std::optional<Value> g = graphArg(call, call.args[0]);
  if (!g)
    return errorValue();
  TypeRef from = g->type;
  if (how != Derivation::Reverse && how != Derivation::Coalesce && from->src != from->dst) {
    diags.error(Diag::badOperand, call.args[0].range,
                "'" + call.callee + "' takes a graph with edges from a set to itself, found " + describe(*g));
    return errorValue();
  }
  Type t = *from;
  if (how == Derivation::Reverse)
    std::swap(t.src, t.dst);
  else
    t.edges = madeSet(call, "edges");
  if (how == Derivation::Line) {
    t.src = t.dst = from->edges;
    // An edge is in the graph that its target is in.
  }
  TypeRef type = make(std::move(t));
  Dims oldEdges{{Dim::size, from->edges}}, newEdges{{Dim::size, type->edges}};
  SmallVector<std::pair<Dims, SizeAttr>, 1> maps;
  if (how == Derivation::Coalesce)
    maps.push_back({oldEdges, type->edges});
  else if (carries)
    maps.push_back({newEdges, from->edges});
  Value h = derivedGraph(call, how, type, &*g, {}, maps);
  h.batch = g->batch;
  if (how == Derivation::Line && from->graphs) {
    Value batch = tensorValue(g->batch, Elem::index, Dims{{Dim::size, from->src}}, from->graphs);
    unsigned first[] = {0};
    h.batch = gather(batch, first, endpoint(*g, false, loc(call.range)), {}, loc(call.range)).ir;
  }
  if (!carries)
    return h;
  Value map = h.parts.front();
  if (how == Derivation::Coalesce)
    return withPayloads(call, 1, *g, h, [&](const Value &payload, SourceRange range) {
      return consumedAt(payload, map, range, "what edges carry")
                 ? reduceBy(Reduce::sum, payload, map, nullptr, range, range)
                 : errorValue();
    });
  return withPayloads(call, 1, *g, h,
                      [&](const Value &payload, SourceRange range) { return gatherOld(payload, *g, map, range); });
}

/// filter_edges(g, keep, w): the edges for which `keep` holds.
Value Elaborator::filterEdgesFunction(Call &call) {
  if (!accept(call, 2, 3))
    return errorValue();
  std::optional<Value> g = graphArg(call, call.args[0]);
  if (!g)
    return errorValue();
  Dims edges{{Dim::size, g->type->edges}};
  std::optional<Value> keep = tensorArg(call, call.args[1], "a truth value for each edge, bool" + str(edges),
                                        [&](TypeRef t) { return t->elem == Elem::boolean && t->dims == edges; });
  if (!keep)
    return errorValue();
  Type t = *g->type;
  t.edges = madeSet(call, "edges");
  TypeRef type = make(std::move(t));
  Value h =
      derivedGraph(call, Derivation::Filter, type, &*g, *keep, {{Dims{{Dim::size, type->edges}}, g->type->edges}});
  h.batch = g->batch;
  Value old = h.parts.front();
  return withPayloads(call, 2, *g, h,
                      [&](const Value &payload, SourceRange range) { return gatherOld(payload, *g, old, range); });
}

/// induced_subgraph(g, keep, w): the graph (h, nodes), or (h, nodes, w), of the nodes for which `keep` holds.
Value Elaborator::inducedSubgraphFunction(Call &call) {
  if (!accept(call, 2, 3))
    return errorValue();
  std::optional<Value> g = graphArg(call, call.args[0]);
  if (!g)
    return errorValue();
  if (g->type->src != g->type->dst) {
    diags.error(Diag::badOperand, call.args[0].range,
                "'induced_subgraph' takes a graph over one set of nodes, found " + describe(*g));
    return errorValue();
  }
  Dims nodes{{Dim::size, g->type->src}};
  std::optional<Value> keep = tensorArg(call, call.args[1], "a truth value for each node, bool" + str(nodes),
                                        [&](TypeRef t) { return t->elem == Elem::boolean && t->dims == nodes; });
  if (!keep)
    return errorValue();
  Type t = *g->type;
  t.src = t.dst = madeSet(call, "nodes");
  t.edges = madeSet(call, "edges");
  TypeRef type = make(std::move(t));
  Dims newNodes{{Dim::size, type->src}};
  Value h = derivedGraph(call, Derivation::Induced, type, &*g, *keep,
                         {{Dims{{Dim::size, type->edges}}, g->type->edges}, {newNodes, g->type->src}});
  Value old = h.parts.front(), kept = h.parts.back();
  h.parts.resize(1);
  if (g->type->graphs) {
    Value batch = tensorValue(g->batch, Elem::index, nodes, g->type->graphs);
    unsigned first[] = {0};
    h.batch = gather(batch, first, kept, {}, loc(call.range)).ir;
  }
  Value moved = withPayloads(
      call, 2, *g, h, [&](const Value &payload, SourceRange range) { return gatherOld(payload, *g, old, range); });
  if (moved.isError())
    return moved;
  if (moved.type->kind == Type::tuple)
    return tupleValue({h, kept, moved.parts.back()});
  return tupleValue({h, kept});
}

/// from_dense(a): the graph of a matrix's entries that are not 0 (or for which `mask` holds), and these entries.
Value Elaborator::fromDenseFunction(Call &call) {
  if (!accept(call, 1, 1, {"mask"}))
    return errorValue();
  auto isMatrix = [](TypeRef t) {
    return t->dims.size() == 2 && llvm::all_of(t->dims, [](const Dim &d) { return d.kind == Dim::size; });
  };
  std::optional<Value> a = tensorArg(call, call.args[0], "a matrix of real numbers, real[V, V]",
                                     [&](TypeRef t) { return isFloat(t->elem) && isMatrix(t); });
  if (!a)
    return errorValue();
  Location at = loc(call.range);
  Value mask;
  if (CallArg *given = option(call, "mask")) {
    std::optional<Value> m = tensorArg(call, *given, "a mask of the matrix's shape, bool" + str(a->type->dims),
                                       [&](TypeRef t) { return t->elem == Elem::boolean && t->dims == a->type->dims; });
    if (!m)
      return errorValue();
    mask = *m;
  } else {
    // -0 is no edge, NaN is one.
    mlir::Value zero = filled(at, a->type->elem, a->type->dims, 0);
    mask = tensorValue(compare(at, true, "!=", a->ir, zero), Elem::boolean, a->type->dims);
  }
  Type t;
  t.kind = Type::graph;
  t.src = a->type->dims[0].extent;
  t.dst = a->type->dims[1].extent;
  t.edges = madeSet(call, "edges");
  TypeRef type = make(std::move(t));
  Value h = derivedGraph(call, Derivation::Dense, type, nullptr, mask, {});
  Value ends[] = {endpoint(h, true, at), endpoint(h, false, at)};
  unsigned both[] = {0, 1};
  return tupleValue({h, gather(*a, both, ends, {}, at)});
}

/// to_dense(g, w): the matrix whose entry i, j is the sum of what the edges from i to j carry.
Value Elaborator::toDenseFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  std::optional<Value> g = graphArg(call, call.args[0]);
  if (!g)
    return errorValue();
  Dims edges{{Dim::size, g->type->edges}};
  std::optional<Value> w =
      tensorArg(call, call.args[1], "what the edges carry, a real tensor over " + str(g->type->edges) + " first",
                [&](TypeRef t) { return isFloat(t->elem) && !t->dims.empty() && t->dims[0] == edges[0]; });
  if (!w)
    return errorValue();
  Location at = loc(call.range);
  Value ends[] = {endpoint(*g, true, at), endpoint(*g, false, at)};
  return reduceBy(Reduce::sum, *w, ends, nullptr, call.range, call.args[1].range);
}

/// complete_graph(g), complete_graph(i): all ordered pairs of nodes of one graph or group, i = i among them.
Value Elaborator::completeGraphFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value of = arg(call.args[0]);
  if (of.isError())
    return of;
  Value group = of;
  if (of.type->kind == Type::graph && of.type->src == of.type->dst) {
    Dims nodes{{Dim::size, of.type->src}};
    mlir::Value one = of.type->graphs ? of.batch : filled(loc(call.range), Elem::index, nodes, 0);
    group = tensorValue(one, Elem::index, nodes, of.type->graphs ? of.type->graphs : constantSize(1));
  }
  if (!group.type->isTensor() || group.type->elem != Elem::index || group.type->dims.size() != 1) {
    diags
        .error(Diag::badOperand, call.args[0].range,
               "'complete_graph' takes a graph over one set of nodes, or the group of each node, found " + describe(of))
        .note("such as g.batch: index(g.graphs)[g.nodes] of a GraphBatch");
    return errorValue();
  }
  Type t;
  t.kind = Type::graph;
  t.src = t.dst = group.type->dims[0].extent;
  t.edges = madeSet(call, "edges");
  if (of.type->kind == Type::graph)
    t.graphs = of.type->graphs;
  Value h = derivedGraph(call, Derivation::Pairs, make(std::move(t)), nullptr, group, {});
  if (of.type->kind == Type::graph)
    h.batch = of.batch;
  return h;
}

/// knn_graph(x, k, by=): an edge to each point from each of its k nearest others, of its group.
/// radius_graph(x, r, by=, period=): from each within r; with `period` a pair of the graph and the images of sources.
Value Elaborator::neighboursFunction(Call &call) {
  bool nearest = call.callee == "knn_graph";
  SmallVector<StringRef> names{"by"};
  if (!nearest)
    names.push_back("period");
  if (!accept(call, 2, 2, names))
    return errorValue();
  std::optional<Value> x = tensorArg(call, call.args[0], "the positions of points, real[V, D]", [](TypeRef t) {
    return isFloat(t->elem) && t->dims.size() == 2 &&
           llvm::all_of(t->dims, [](const Dim &d) { return d.kind == Dim::size; });
  });
  if (!x)
    return errorValue();
  Location at = loc(call.range);
  std::vector<Value> inputs{*x};
  Value size = arg(call.args[1]);
  if (size.isError())
    return size;
  bool isInteger = size.type->isScalar() && (size.type->elem == Elem::integer || isRuntimeInt(size.type->elem));
  bool isReal = size.type->isScalar() && (size.type->elem == x->type->elem || isLiteral(size.type->elem));
  if (nearest ? !isInteger : !isReal) {
    diags.error(Diag::badOperand, call.args[1].range,
                nearest ? "the number of neighbours is an integer, found " + describe(size)
                        : "the radius is a number of the element type of the positions, " + str(scalar(x->type->elem)) +
                              ", found " + describe(size));
    return errorValue();
  }
  std::optional<double> constant = constantOf(size);
  if (constant && *constant < 0) {
    diags.error(Diag::badOperand, call.args[1].range,
                nearest ? "the number of neighbours can't be negative" : "the radius can't be negative");
    return errorValue();
  }
  inputs.push_back(nearest ? convertElem(materialise(size, Elem::i64, at), Elem::i64, at)
                           : materialise(size, x->type->elem, at));
  bool isPeriodic = false;
  if (!nearest) {
    if (CallArg *given = option(call, "period")) {
      Dims along{x->type->dims[1]};
      std::optional<Value> period =
          tensorArg(call, *given, "the period in each direction, " + str(tensor(x->type->elem, along)),
                    [&](TypeRef t) { return t->elem == x->type->elem && t->dims == along; });
      if (!period)
        return errorValue();
      inputs.push_back(*period);
      isPeriodic = true;
    } else {
      Dims none{{Dim::size, constantSize(0)}};
      inputs.push_back(tensorValue(filled(at, x->type->elem, none, 0), x->type->elem, none));
    }
  }
  Type t;
  t.kind = Type::graph;
  t.src = t.dst = x->type->dims[0].extent;
  if (CallArg *by = option(call, "by")) {
    Dims nodes{x->type->dims[0]};
    std::optional<Value> group =
        tensorArg(call, *by, "the group of each point, an index array over " + str(t.src),
                  [&](TypeRef type) { return type->elem == Elem::index && type->dims == nodes; });
    if (!group)
      return errorValue();
    inputs.push_back(*group);
  }
  t.edges = madeSet(call, "edges");
  TypeRef type = make(std::move(t));
  Dims images{{Dim::size, type->edges}, x->type->dims[1]};
  SmallVector<std::pair<Dims, SizeAttr>, 1> maps;
  if (!nearest)
    maps.push_back({images, constantSize(0)});
  Value h = derivedGraph(call, nearest ? Derivation::Nearest : Derivation::Radius, type, nullptr, inputs, maps);
  std::vector<Value> made = std::move(h.parts);
  h.parts.clear();
  if (!isPeriodic)
    return h;
  // The images are numbers, not indices.
  Value image = tensorValue(made.front().ir, Elem::i32, images);
  return tupleValue({h, convertElem(image, x->type->elem, at)});
}

/// batch(g, h, ...): graphs side by side, as one batch; the nodes and edges of each follow those of the one before, as
/// concat(x, y, over=0) puts what they carry.
Value Elaborator::batchFunction(Call &call) {
  if (!accept(call, 1, ~0u))
    return errorValue();
  Location at = loc(call.range);
  std::vector<Value> graphs;
  for (CallArg &a : call.args) {
    std::optional<Value> g = graphArg(call, a);
    if (!g)
      return errorValue();
    if (g->type->src != g->type->dst) {
      diags.error(Diag::badOperand, a.range, "'batch' takes graphs over one set of nodes each, found " + describe(*g));
      return errorValue();
    }
    graphs.push_back(*g);
  }
  Type t;
  t.kind = Type::graph;
  t.src = t.edges = t.graphs = constantSize(0);
  SmallVector<mlir::Value> ends[3]; // sources, targets, graphs of nodes
  auto shifted = [&](mlir::Value index, ArrayRef<Dim> dims, SizeAttr by) -> mlir::Value {
    if (by.getConstant() == 0)
      return index;
    Value number = materialise(integerValue(by), Elem::i32, at);
    return arith::AddIOp::create(builder, at, index, broadcastTo(number, dims, {}, at).ir);
  };
  for (const Value &g : graphs) {
    Dims edges{{Dim::size, g.type->edges}}, nodes{{Dim::size, g.type->src}};
    ends[0].push_back(shifted(endpoint(g, true, at).ir, edges, t.src));
    ends[1].push_back(shifted(endpoint(g, false, at).ir, edges, t.src));
    ends[2].push_back(shifted(g.type->graphs ? g.batch : filled(at, Elem::index, nodes, 0), nodes, t.graphs));
    t.src = t.src.add(g.type->src);
    t.edges = t.edges.add(g.type->edges);
    t.graphs = t.graphs.add(g.type->graphs ? g.type->graphs : constantSize(1));
  }
  t.dst = t.src;
  TypeRef type = make(std::move(t));
  Dims edges{{Dim::size, type->edges}}, nodes{{Dim::size, type->src}};
  auto joined = [&](ArrayRef<mlir::Value> parts, ArrayRef<Dim> dims, SizeAttr target) {
    return tensorValue(gnn::ConcatOp::create(builder, at, irTensor(Elem::index, dims), parts, 0), Elem::index, dims,
                       target);
  };
  Value inputs[] = {joined(ends[0], edges, type->src), joined(ends[1], edges, type->src)};
  Value h = derivedGraph(call, Derivation::Edges, type, nullptr, inputs, {});
  h.batch = joined(ends[2], nodes, type->graphs).ir;
  return h;
}

/// edge_ids(g, u, v): the first edge from each u to each v.
Value Elaborator::edgeIdsFunction(Call &call) {
  if (!accept(call, 3, 3))
    return errorValue();
  std::optional<Value> g = graphArg(call, call.args[0]);
  if (!g)
    return errorValue();
  SmallVector<Value, 2> ends;
  for (unsigned k : {1u, 2u}) {
    SizeAttr set = k == 1 ? g->type->src : g->type->dst;
    std::optional<Value> end = tensorArg(call, call.args[k], "an index array into " + str(set), [&](TypeRef t) {
      return t->elem == Elem::index && t->target == set && t->dims.size() == 1;
    });
    if (!end)
      return errorValue();
    ends.push_back(*end);
  }
  if (ends[0].type->dims != ends[1].type->dims) {
    diags.error(Diag::badOperand, call.args[2].range,
                "both ends are named by arrays of one size, found " + describe(ends[0]) + " and " + describe(ends[1]));
    return errorValue();
  }
  mlir::Value r = gnn::SearchOp::create(builder, loc(call.range), irTensor(Elem::index, ends[0].type->dims),
                                        gnn::Search::EdgeIds, g->ir, ValueRange{ends[0].ir, ends[1].ir});
  return tensorValue(r, Elem::index, ends[0].type->dims, g->type->edges);
}

/// sort(x): (the numbers in ascending order, where each stood).
/// topk(x, k, by=): where the k largest of each group stand, none where it has fewer.
Value Elaborator::sortFunction(Call &call) {
  bool isSort = call.callee == "sort";
  if (!(isSort ? accept(call, 1, 1) : accept(call, 2, 2, {"by"})))
    return errorValue();
  std::optional<Value> x = tensorArg(call, call.args[0], "a vector of numbers, real[n]", [](TypeRef t) {
    return (isFloat(t->elem) || isRuntimeInt(t->elem)) && t->dims.size() == 1 && t->dims[0].kind == Dim::size;
  });
  if (!x)
    return errorValue();
  Location at = loc(call.range);
  Dim n = x->type->dims[0];
  if (isSort) {
    mlir::Value order = gnn::SearchOp::create(builder, at, irTensor(Elem::index, Dims{n}), gnn::Search::Order,
                                              mlir::Value(), ValueRange{x->ir});
    Value position = tensorValue(order, Elem::index, Dims{n}, n.extent);
    unsigned first[] = {0};
    return tupleValue({gather(*x, first, position, {}, at), position});
  }
  Value k = arg(call.args[1]);
  if (k.isError())
    return k;
  if (!k.type->isScalar() || k.type->elem != Elem::integer) {
    diags
        .error(Diag::badOperand, call.args[1].range,
               "how many 'topk' takes is a dimension of its result, a literal or a parameter, found " + describe(k))
        .note("as in topk(score, 8, by=g.batch)");
    return errorValue();
  }
  Dim count{Dim::size, k.size};
  if (!requireNonNegative(count, call.args[1].range))
    return errorValue();
  SmallVector<mlir::Value> operands{x->ir};
  Dims dims{count};
  if (CallArg *by = option(call, "by")) {
    std::optional<Value> group =
        tensorArg(call, *by, "the group of each number, an index array over " + str(Dims{n}),
                  [&](TypeRef type) { return type->elem == Elem::index && type->dims == Dims{n}; });
    if (!group)
      return errorValue();
    operands.push_back(group->ir);
    dims.insert(dims.begin(), Dim{Dim::size, group->type->target});
  }
  mlir::Value r =
      gnn::SearchOp::create(builder, at, irTensor(Elem::index, dims), gnn::Search::Largest, mlir::Value(), operands);
  return tensorValue(r, Elem::index, dims, n.extent);
}

} // namespace gnnc::elab

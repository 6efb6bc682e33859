// map: a function applied to corresponding leaves of structs. The lambda sees every leaf as real[..L] with L opaque, so
// it is typed the same way for all of them.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::mapFunction(Call &call) {
  if (!accept(call, 2, ~0u))
    return errorValue();
  Value f = arg(call.args[0]);
  if (f.isError())
    return f;
  if (f.type->kind != Type::function) {
    diags.error(Diag::notCallable, call.args[0].range, "'map' takes a function first, found " + describe(f));
    return errorValue();
  }
  std::vector<Value> structs;
  for (CallArg &a : MutableArrayRef(call.args).drop_front()) {
    Value v = arg(a);
    if (v.isError())
      return v;
    if (v.type->kind != Type::structure && v.type->kind != Type::opaque) {
      diags.error(Diag::badOperand, a.range, "'map' goes over the leaves of structs, found " + describe(v));
      return errorValue();
    }
    if (!structs.empty() && !same(structs.front().type, v.type)) {
      diags.error(Diag::typeMismatch, a.range,
                  "'map' takes structs of one type, found " + str(structs.front().type) + " and " + str(v.type));
      return errorValue();
    }
    structs.push_back(v);
  }

  std::vector<std::vector<Value>> leaves(structs.size());
  for (auto [s, into] : llvm::zip(structs, leaves))
    forEachLeaf(s, "", [&, &into = into](const Value &leaf, const std::string &) { into.push_back(leaf); });
  // For each result of the function (one, or the elements of a tuple): the new leaves.
  std::vector<std::vector<Value>> results;
  bool isTuple = false, scalars = false;
  Location at = loc(call.range);
  std::optional<bool> decided;
  for (auto [k, first] : llvm::enumerate(leaves.front())) {
    if (!isFloat(first.type->elem))
      continue;
    unsigned pack = newPack("L", {});
    SmallVector<SizeAttr> sizes = irDims(first.type->dims);
    vars[pack].irDims.assign(sizes.begin(), sizes.end());
    vars[pack].ir = gnn::product(ctx, sizes);
    Dims shape{{Dim::pack, var(pack)}};
    TypeRef type = tensor(first.type->elem, shape);
    Call one;
    one.range = call.args[0].range;
    one.callee = "this function";
    for (const std::vector<Value> &of : leaves) {
      CallArg a;
      a.range = call.args[0].range;
      a.value = retype(of[k], type);
      one.args.push_back(std::move(a));
    }
    Value r = callClosure(*f.closure, one);
    if (r.isError())
      return r;
    std::vector<Value> parts = r.type->kind == Type::tuple ? r.parts : std::vector<Value>{r};
    isTuple = r.type->kind == Type::tuple;
    results.resize(parts.size());
    for (auto [n, part] : llvm::enumerate(parts)) {
      if (part.type->isTensor() && isLiteral(part.type->elem))
        part = materialise(part, first.type->elem, at);
      bool kept = part.type->isTensor() && part.type->elem == first.type->elem && part.type->dims == shape;
      bool scalarPart = part.type->isScalar() && part.type->elem == first.type->elem;
      if ((!kept && !scalarPart) || (decided && *decided != scalarPart)) {
        diags.error(Diag::badOperand, call.args[0].range,
                    "the function of 'map' keeps the shape of a leaf, " + str(type) + ", or gives scalars; found " +
                        describe(part));
        return errorValue();
      }
      decided = scalars = scalarPart;
      results[n].push_back(kept ? retype(part, first.type) : part);
    }
  }
  if (results.empty())
    return structs.front(); // no real leaves: nothing changes
  std::vector<Value> values;
  for (std::vector<Value> &fresh : results) {
    if (scalars) {
      values.push_back(tupleValue(std::move(fresh)));
      continue;
    }
    unsigned next = 0;
    values.push_back(
        mapLeaves(structs.front(), [&](const Value &leaf) { return isFloat(leaf.type->elem) ? fresh[next++] : leaf; }));
  }
  return isTuple ? tupleValue(std::move(values)) : values.front();
}

} // namespace gnnc::elab

// einsum: sums of products, letters for dimensions. Each operand is brought to distinct letters (a diagonal for a
// letter that stands twice, a sum for one that stands nowhere else), then two at a time are contracted, in the order
// that costs least.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gnnc::elab {

namespace {

/// `...` among the letters of an operand.
constexpr char ellipsis = '.';

/// An operand: its letters, `...` written out as letters of its own (beyond those of the alphabet, from `packLetter`
/// on).
struct Operand {
  SmallVector<int64_t> labels;
  Value value;
};
constexpr int64_t packLetter = 256;

/// Reads "...ij": the letters in order; false if it is anything else.
bool readLetters(StringRef text, SmallVectorImpl<char> &out) {
  bool dots = false;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (dots)
        return false;
      dots = true;
      out.push_back(ellipsis);
      continue;
    }
    char c = text.front();
    text = text.drop_front();
    if (c == ' ')
      continue;
    if (!llvm::isAlpha(c))
      return false;
    out.push_back(c);
  }
  return true;
}

} // namespace

/// What sizes are taken for when orders of contraction are compared: a set that a graph brings is large, a parameter is
/// a number of features.
static double typicalSize(SizeAttr size, llvm::function_ref<bool(int64_t)> isSet) {
  if (std::optional<int64_t> n = size.getConstant())
    return static_cast<double>(std::max<int64_t>(*n, 1));
  bool large = false;
  size.forEachSet([&](int64_t id) { large |= isSet(id); });
  return large ? 65536 : 64;
}

/// The labels of the product of two operands: those that stand elsewhere too, in the order in which they come.
static SmallVector<int64_t> productLabels(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                          const llvm::DenseMap<int64_t, unsigned> &elsewhere) {
  SmallVector<int64_t> labels;
  for (ArrayRef<int64_t> part : {a, b})
    for (int64_t l : part)
      if (elsewhere.lookup(l) && !llvm::is_contained(labels, l))
        labels.push_back(l);
  return labels;
}

namespace {
/// Finds the pair that the cheapest order begins with: exactly for few operands, step by step for more.
struct OrderOfProducts {
  const llvm::DenseMap<int64_t, double> &sizes;
  ArrayRef<int64_t> result;

  using Lists = SmallVector<SmallVector<int64_t>>;
  static constexpr size_t exactUpTo = 5;

  SmallVector<int64_t> product(const Lists &lists, size_t i, size_t j) const {
    llvm::DenseMap<int64_t, unsigned> elsewhere;
    for (int64_t l : result)
      ++elsewhere[l];
    for (size_t k = 0; k < lists.size(); ++k)
      if (k != i && k != j)
        for (int64_t l : lists[k])
          ++elsewhere[l];
    return productLabels(lists[i], lists[j], elsewhere);
  }
  double points(ArrayRef<int64_t> a, ArrayRef<int64_t> b) const {
    double n = 1;
    llvm::SmallDenseSet<int64_t> seen;
    for (ArrayRef<int64_t> part : {a, b})
      for (int64_t l : part)
        if (seen.insert(l).second)
          n *= sizes.lookup(l);
    return n;
  }
  double best(const Lists &lists, std::pair<size_t, size_t> &first) const {
    if (lists.size() < 2)
      return 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < lists.size(); ++i)
      for (size_t j = i + 1; j < lists.size(); ++j) {
        SmallVector<int64_t> labels = product(lists, i, j);
        double cost = points(lists[i], lists[j]) + points(labels, {});
        if (lists.size() <= exactUpTo) {
          Lists rest;
          for (size_t k = 0; k < lists.size(); ++k)
            if (k != i && k != j)
              rest.push_back(lists[k]);
          rest.push_back(labels);
          std::pair<size_t, size_t> unused;
          cost += best(rest, unused);
        }
        if (cost < least) {
          least = cost;
          first = {i, j};
        }
      }
    return least;
  }
};
} // namespace

/// einsum("...i,io->...o", a, b).
Value Elaborator::einsumFunction(Call &call) {
  if (!accept(call, 2, ~0u))
    return errorValue();
  Value spec = arg(call.args[0]);
  if (spec.isError())
    return spec;
  SourceRange where = call.args[0].range;
  auto wrong = [&](const llvm::Twine &message) {
    diags.error(Diag::badOperand, where, message)
        .note("letters name dimensions, such as \"ni,io->no\"; '...' stands for all that have no letter");
    return errorValue();
  };
  if (spec.type->kind != Type::text)
    return wrong("'einsum' takes a string first, found " + describe(spec));
  auto [left, right] = spec.text.split("->");
  if (!spec.text.contains("->"))
    return wrong("'einsum' needs '->' and the letters of the result");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  MutableArrayRef<CallArg> given = MutableArrayRef(call.args).drop_front();
  if (parts.size() != given.size())
    return wrong("\"" + spec.text + "\" describes " + counted(parts.size(), "operand") + ", found " +
                 llvm::Twine(given.size()));
  SmallVector<char> resultLetters;
  std::vector<SmallVector<char>> letters(parts.size());
  bool legible = readLetters(right, resultLetters);
  for (auto [text, out] : llvm::zip(parts, letters))
    legible &= readLetters(text, out);
  if (!legible)
    return wrong("\"" + spec.text + "\" is not what 'einsum' reads");

  // What each letter stands for.
  std::vector<Operand> operands(parts.size());
  llvm::DenseMap<int64_t, Dim> dimOf;
  llvm::DenseMap<int64_t, unsigned> firstSeen;
  Dims packed;
  std::optional<unsigned> packedBy;
  Elem elem = Elem::real;
  bool ok = true;
  for (auto [k, a] : llvm::enumerate(given)) {
    std::optional<Value> x = floatArg(call, a);
    if (!x) {
      ok = false;
      continue;
    }
    if (k == 0)
      elem = x->type->elem;
    if (x->type->elem != elem) {
      diags.error(Diag::typeMismatch, a.range,
                  "'einsum' needs operands of one element type, found " + describe(*given[0].value) + " and " +
                      describe(*x));
      ok = false;
      continue;
    }
    // A `_` counts as the literal 1.
    Dims dims = x->type->dims;
    for (Dim &d : dims)
      if (d.kind == Dim::one)
        d.kind = Dim::size;
    operands[k].value = tensorValue(x->ir, elem, dims);
    bool dots = llvm::is_contained(letters[k], ellipsis);
    size_t named = letters[k].size() - dots;
    if (dots ? dims.size() < named : dims.size() != named) {
      diags.error(Diag::badOperand, a.range,
                  "\"" + parts[k].trim() + "\" names " + counted(named, "dimension") + ", found " + str(x->type));
      ok = false;
      continue;
    }
    unsigned at = 0;
    for (char c : letters[k]) {
      if (c == ellipsis) {
        Dims mine(dims.begin() + at, dims.begin() + at + (dims.size() - named));
        if (packedBy && packed != mine) {
          diags
              .error(Diag::broadcast, a.range,
                     "'...' stands for " + str(mine) + " here, but for " + str(packed) + " before")
              .note(given[*packedBy].range, "here");
          ok = false;
        }
        if (!packedBy)
          packed = mine;
        packedBy = packedBy.value_or(k);
        for (unsigned p = 0; p < mine.size(); ++p) {
          operands[k].labels.push_back(packLetter + p);
          dimOf[packLetter + p] = mine[p];
        }
        at += mine.size();
        continue;
      }
      Dim d = dims[at++];
      auto [known, isNew] = dimOf.try_emplace(c, d);
      if (d.kind == Dim::pack) {
        diags
            .error(Diag::badOperand, a.range,
                   "the letter '" + llvm::Twine(c) + "' stands for a pack of dimensions in " + str(x->type))
            .note("'...' stands for packs");
        ok = false;
      } else if (!(known->second == d)) {
        diags
            .error(Diag::broadcast, a.range,
                   "the letter '" + llvm::Twine(c) + "' stands for " + str(d.extent) + " here, but for " +
                       str(known->second.extent) + (firstSeen[c] == k ? " in the same operand" : " before"))
            .note(given[firstSeen[c]].range, "here");
        ok = false;
      }
      if (isNew)
        firstSeen[c] = k;
      operands[k].labels.push_back(c);
    }
  }
  if (!ok)
    return errorValue();
  SmallVector<int64_t> result;
  Dims resultDims;
  for (char c : resultLetters) {
    if (c == ellipsis) {
      if (!packedBy)
        return wrong("'...' stands in the result, but in no operand");
      for (unsigned p = 0; p < packed.size(); ++p)
        result.push_back(packLetter + p);
      continue;
    }
    if (!dimOf.contains(c))
      return wrong("the letter '" + llvm::Twine(c) + "' stands in the result, but in no operand");
    if (llvm::is_contained(result, c))
      return wrong("the letter '" + llvm::Twine(c) + "' stands twice in the result");
    result.push_back(c);
  }
  if (packedBy && !llvm::is_contained(resultLetters, ellipsis) && !packed.empty())
    return wrong("'...' stands in an operand, but not in the result");
  for (int64_t l : result)
    resultDims.push_back(dimOf[l]);

  Location at = loc(call.range);
  // Distinct letters in each operand.
  for (Operand &o : operands)
    for (unsigned i = 0; i < o.labels.size(); ++i)
      for (unsigned j = i + 1; j < o.labels.size();) {
        if (o.labels[i] != o.labels[j]) {
          ++j;
          continue;
        }
        // The two side by side, so that their gradient is one scatter.
        SmallVector<unsigned> perm;
        for (unsigned k = 0; k < o.labels.size(); ++k) {
          if (k != j)
            perm.push_back(k);
          if (k == i)
            perm.push_back(j);
        }
        o.value = permute(o.value, perm, at);
        SizeAttr extent = o.value.type->dims[i].extent;
        Dims one{o.value.type->dims[i]};
        mlir::Value iota = gnn::IotaOp::create(builder, at, irTensor(Elem::index, one), 0);
        Value entry = tensorValue(iota, Elem::index, one, extent);
        o.value = gather(o.value, {i, i + 1}, {entry, entry}, {}, at);
        o.labels.erase(o.labels.begin() + j);
      }
  // Letters that stand in one operand only are summed there.
  for (auto [k, o] : llvm::enumerate(operands)) {
    SmallVector<unsigned> lone;
    SmallVector<int64_t> rest;
    for (auto [d, label] : llvm::enumerate(o.labels)) {
      bool elsewhere = llvm::is_contained(result, label);
      for (auto [n, other] : llvm::enumerate(operands))
        elsewhere |= n != k && llvm::is_contained(other.labels, label);
      if (elsewhere)
        rest.push_back(label);
      else
        lone.push_back(d);
    }
    if (!lone.empty())
      o.value = reduceOver(Reduce::sum, o.value, lone, at);
    o.labels = rest;
  }

  llvm::DenseMap<int64_t, double> sizes;
  for (auto &[label, dim] : dimOf)
    sizes[label] = typicalSize(dim.extent, [&](int64_t id) { return StringRef(vars[id].name).contains('.'); });
  while (operands.size() > 1) {
    OrderOfProducts order{sizes, result};
    OrderOfProducts::Lists lists;
    for (const Operand &o : operands)
      lists.push_back(o.labels);
    std::pair<size_t, size_t> pair;
    order.best(lists, pair);
    SmallVector<int64_t> labels = operands.size() == 2 ? result : order.product(lists, pair.first, pair.second);
    const Operand &a = operands[pair.first], &b = operands[pair.second];
    Dims dims;
    for (int64_t l : labels)
      dims.push_back(dimOf[l]);
    // Labels of the IR: a pack has as many as it has dimensions.
    llvm::DenseMap<int64_t, SmallVector<int64_t>> numbers;
    int64_t next = 0;
    auto irLabels = [&](ArrayRef<int64_t> list) {
      SmallVector<int64_t> out;
      for (int64_t l : list) {
        auto [known, isNew] = numbers.try_emplace(l);
        for (size_t p = 0, n = isNew ? irDims(dimOf[l]).size() : 0; p < n; ++p)
          known->second.push_back(next++);
        llvm::append_range(out, known->second);
      }
      return out;
    };
    SmallVector<int64_t> aLabels = irLabels(a.labels), bLabels = irLabels(b.labels), rLabels = irLabels(labels);
    mlir::Value r =
        gnn::ContractOp::create(builder, at, irTensor(elem, dims), a.value.ir, b.value.ir, aLabels, bLabels, rLabels);
    Operand product{labels, tensorValue(r, elem, dims)};
    operands.erase(operands.begin() + pair.second);
    operands.erase(operands.begin() + pair.first);
    operands.push_back(std::move(product));
  }
  // A single operand is brought into the result's order.
  Operand &last = operands.front();
  SmallVector<unsigned> perm;
  for (int64_t l : result)
    perm.push_back(llvm::find(last.labels, l) - last.labels.begin());
  return permute(last.value, perm, at);
}

} // namespace gnnc::elab

// Sizes: integer polynomials over set ids in normal form, their text, and lists of them.
#include "Checks.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

#include "gnnc/Dialect/GnnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gnnc/Dialect/GnnAttrs.cpp.inc"

void GnnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gnnc/Dialect/GnnAttrs.cpp.inc"
      >();
}

/// Sums and products that stay at the largest numbers instead of overflowing: such a size fails when memory is
/// reserved.
static int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  return llvm::AddOverflow(a, b, result) ? (a < 0 ? INT64_MIN : INT64_MAX) : result;
}
static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  return llvm::MulOverflow(a, b, result) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : result;
}

namespace {
/// A factor of a term: a set id, or a quotient.
struct Factor {
  int64_t set = -1;
  CeilDivAttr quotient;
  bool operator==(const Factor &o) const { return set == o.set && quotient == o.quotient; }
  bool operator<(const Factor &o) const {
    if (!quotient != !o.quotient)
      return !quotient;
    if (!quotient)
      return set < o.set;
    if (quotient == o.quotient)
      return false;
    // By text, so that the order does not depend on addresses.
    auto key = [](CeilDivAttr q) { return std::make_pair(q.getNumerator().str(), q.getDivisor()); };
    return key(quotient) < key(o.quotient);
  }
};
using Monomial = SmallVector<Factor, 2>;
struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    // Higher degrees first, so that constants come last, as one writes polynomials.
    if (a.size() != b.size())
      return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};
/// A polynomial taken apart: coefficient by monomial.
using Poly = std::map<Monomial, int64_t, MonomialLess>;

Poly unpack(SizeAttr size) {
  Poly poly;
  ArrayRef<int64_t> t = size.getTerms();
  for (size_t i = 0; i < t.size();) {
    int64_t coeff = t[i], degree = t[i + 1];
    Monomial m;
    for (int64_t f : t.slice(i + 2, degree))
      m.push_back(f >= 0 ? Factor{f, {}} : Factor{-1, size.getQuotients()[-f - 1]});
    poly[m] = coeff;
    i += 2 + degree;
  }
  return poly;
}

SizeAttr pack(MLIRContext *ctx, const Poly &poly) {
  SmallVector<int64_t> terms;
  SmallVector<CeilDivAttr> quotients;
  for (auto &[monomial, coeff] : poly) {
    if (coeff == 0)
      continue;
    terms.push_back(coeff);
    terms.push_back(static_cast<int64_t>(monomial.size()));
    for (const Factor &f : monomial) {
      if (!f.quotient) {
        terms.push_back(f.set);
        continue;
      }
      auto *it = llvm::find(quotients, f.quotient);
      terms.push_back(-(it - quotients.begin()) - 1);
      if (it == quotients.end())
        quotients.push_back(f.quotient);
    }
  }
  return SizeAttr::get(ctx, terms, quotients);
}
} // namespace

SizeAttr SizeAttr::constant(MLIRContext *ctx, int64_t value) {
  return value == 0 ? get(ctx, {}, {}) : get(ctx, {value, 0}, {});
}

SizeAttr SizeAttr::set(MLIRContext *ctx, int64_t id) { return get(ctx, {1, 1, id}, {}); }

SizeAttr SizeAttr::add(SizeAttr other) const {
  Poly poly = unpack(*this);
  for (auto &[m, c] : unpack(other))
    poly[m] = saturatingAdd(poly[m], c);
  return pack(getContext(), poly);
}

SizeAttr SizeAttr::scale(int64_t factor) const {
  Poly poly = unpack(*this);
  for (auto &[m, c] : poly)
    c = saturatingMul(c, factor);
  return pack(getContext(), poly);
}

SizeAttr SizeAttr::sub(SizeAttr other) const { return add(other.scale(-1)); }

SizeAttr SizeAttr::mul(SizeAttr other) const {
  Poly result, right = unpack(other);
  for (auto &[ma, ca] : unpack(*this))
    for (auto &[mb, cb] : right) {
      Monomial m = ma;
      m.append(mb.begin(), mb.end());
      llvm::sort(m);
      result[m] = saturatingAdd(result[m], saturatingMul(ca, cb));
    }
  return pack(getContext(), result);
}

SizeAttr SizeAttr::ceilDiv(int64_t divisor) const {
  if (divisor == 1)
    return *this;
  // Whole multiples of the divisor leave the quotient, so that its coefficients are in [0, divisor).
  Poly whole, rest;
  for (auto &[m, c] : unpack(*this)) {
    int64_t quotient = llvm::divideFloorSigned(c, divisor);
    whole[m] += quotient;
    rest[m] += c - quotient * divisor;
  }
  SizeAttr remainder = pack(getContext(), rest), result = pack(getContext(), whole);
  if (auto value = remainder.getConstant())
    return result.add(constant(getContext(), llvm::divideCeilSigned(*value, divisor)));
  // ceildiv(ceildiv(a, b), c) is ceildiv(a, b*c).
  if (ArrayRef<int64_t> t = remainder.getTerms(); t.size() == 3 && t[0] == 1 && t[1] == 1 && t[2] < 0) {
    CeilDivAttr inner = remainder.getQuotients().front();
    return result.add(inner.getNumerator().ceilDiv(saturatingMul(inner.getDivisor(), divisor)));
  }
  Poly quotient;
  quotient[{Factor{-1, CeilDivAttr::get(getContext(), remainder, divisor)}}] = 1;
  return result.add(pack(getContext(), quotient));
}

std::optional<int64_t> SizeAttr::getConstant() const {
  ArrayRef<int64_t> t = getTerms();
  if (t.empty())
    return 0;
  if (t.size() == 2 && t[1] == 0)
    return t[0];
  return std::nullopt;
}

std::optional<int64_t> SizeAttr::getSet() const {
  ArrayRef<int64_t> t = getTerms();
  if (t.size() == 3 && t[0] == 1 && t[1] == 1 && t[2] >= 0)
    return t[2];
  return std::nullopt;
}

SizeAttr SizeAttr::substitute(llvm::function_ref<SizeAttr(int64_t)> f) const {
  SizeAttr result = constant(getContext(), 0);
  for (auto &[m, c] : unpack(*this)) {
    SizeAttr term = constant(getContext(), c);
    for (const Factor &factor : m)
      term =
          term.mul(factor.quotient ? factor.quotient.getNumerator().substitute(f).ceilDiv(factor.quotient.getDivisor())
                                   : f(factor.set));
    result = result.add(term);
  }
  return result;
}

void SizeAttr::forEachSet(llvm::function_ref<void(int64_t)> f) const {
  for (auto &[m, c] : unpack(*this))
    for (const Factor &factor : m) {
      if (factor.quotient)
        factor.quotient.getNumerator().forEachSet(f);
      else
        f(factor.set);
    }
}

int64_t SizeAttr::evaluate(llvm::function_ref<int64_t(int64_t)> sizeOf) const {
  int64_t result = 0;
  for (auto &[m, c] : unpack(*this)) {
    int64_t term = c;
    for (const Factor &factor : m)
      term =
          saturatingMul(term, factor.quotient ? llvm::divideCeilSigned(factor.quotient.getNumerator().evaluate(sizeOf),
                                                                       factor.quotient.getDivisor())
                                              : sizeOf(factor.set));
    result = saturatingAdd(result, term);
  }
  return result;
}

std::string SizeAttr::str(llvm::function_ref<std::string(int64_t)> name) const {
  auto setName = [&](int64_t id) { return name ? name(id) : "s" + std::to_string(id); };
  std::string text;
  for (auto &[m, c] : unpack(*this)) {
    uint64_t magnitude = c < 0 ? -static_cast<uint64_t>(c) : c;
    text += text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    SmallVector<std::string> parts;
    if (magnitude != 1 || m.empty())
      parts.push_back(std::to_string(magnitude));
    for (const Factor &f : m)
      parts.push_back(f.quotient ? "ceildiv(" + f.quotient.getNumerator().str(name) + ", " +
                                       std::to_string(f.quotient.getDivisor()) + ")"
                                 : setName(f.set));
    text += llvm::join(parts, "*");
  }
  return text.empty() ? "0" : text;
}

LogicalResult CeilDivAttr::verify(function_ref<InFlightDiagnostic()> emitError, SizeAttr, int64_t divisor) {
  if (divisor > 0)
    return success();
  return emitError() << "a ceildiv needs a positive divisor";
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  ArrayRef<SizeAttr> sizes = getSizes();
  if (sizes.size() != shape.size())
    return emitError() << "the tensor has " << counted(shape.size(), "dimension") << ", but #gnn.dims names "
                       << sizes.size();
  for (auto [i, size, extent] : llvm::enumerate(sizes, shape)) {
    std::optional<int64_t> constant = size.getConstant();
    if (constant && *constant < 0)
      return emitError() << "dimension " << i << " has the negative size " << *constant;
    if (extent == constant.value_or(ShapedType::kDynamic))
      continue;
    if (constant)
      return emitError() << "dimension " << i << " has the constant size " << *constant << ", so the shape has to say "
                         << *constant << " too";
    return emitError() << "dimension " << i << " has the size " << size.str()
                       << ", which is not a constant, so the shape has to say '?'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Text form
//===----------------------------------------------------------------------===//

static FailureOr<SizeAttr> parseSize(AsmParser &parser);

/// factor := integer | s<id> | ceildiv(size, integer)
static FailureOr<SizeAttr> parseFactor(AsmParser &parser) {
  MLIRContext *ctx = parser.getContext();
  int64_t value;
  OptionalParseResult integer = parser.parseOptionalInteger(value);
  if (integer.has_value()) {
    if (failed(*integer))
      return failure();
    return SizeAttr::constant(ctx, value);
  }
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  if (word == "ceildiv") {
    int64_t divisor;
    if (parser.parseLParen())
      return failure();
    FailureOr<SizeAttr> numerator = parseSize(parser);
    if (failed(numerator) || parser.parseComma() || parser.parseInteger(divisor) || parser.parseRParen())
      return failure();
    if (divisor <= 0)
      return parser.emitError(parser.getCurrentLocation(), "a ceildiv needs a positive divisor"), failure();
    return numerator->ceilDiv(divisor);
  }
  int64_t id;
  if (!word.consume_front("s") || word.getAsInteger(10, id))
    return parser.emitError(parser.getCurrentLocation(), "expected a set id such as s0"), failure();
  return SizeAttr::set(ctx, id);
}

static FailureOr<SizeAttr> parseSize(AsmParser &parser) {
  SizeAttr sum = SizeAttr::constant(parser.getContext(), 0);
  bool negative = succeeded(parser.parseOptionalMinus());
  do {
    FailureOr<SizeAttr> term = parseFactor(parser);
    while (succeeded(term) && succeeded(parser.parseOptionalStar())) {
      FailureOr<SizeAttr> factor = parseFactor(parser);
      if (failed(factor))
        return failure();
      term = term->mul(*factor);
    }
    if (failed(term))
      return failure();
    sum = negative ? sum.sub(*term) : sum.add(*term);
    negative = false;
    if (succeeded(parser.parseOptionalPlus()))
      continue;
    if (succeeded(parser.parseOptionalMinus())) {
      negative = true;
      continue;
    }
    return sum;
  } while (true);
}

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<SizeAttr> size = parseSize(parser);
  if (failed(size) || parser.parseGreater())
    return {};
  return *size;
}

void SizeAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<SizeAttr> sizes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        FailureOr<SizeAttr> size = parseSize(parser);
        if (failed(size))
          return failure();
        sizes.push_back(*size);
        return success();
      }))
    return {};
  return get(parser.getContext(), sizes);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getSizes(), printer, [&](SizeAttr s) { printer << s.str(); });
  printer << ">";
}

Type GnnGraphType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<SizeAttr> src = parseSize(parser);
  if (failed(src) || parser.parseArrow())
    return {};
  FailureOr<SizeAttr> dst = parseSize(parser);
  if (failed(dst) || parser.parseComma())
    return {};
  FailureOr<SizeAttr> edges = parseSize(parser);
  if (failed(edges) || parser.parseGreater())
    return {};
  return get(parser.getContext(), *src, *dst, *edges);
}

void GnnGraphType::print(AsmPrinter &printer) const {
  printer << "<" << getSrc().str() << " -> " << getDst().str() << ", " << getEdges().str() << ">";
}

Type OrderType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<SizeAttr> rows = parseSize(parser);
  if (failed(rows) || parser.parseComma())
    return {};
  FailureOr<SizeAttr> entries = parseSize(parser);
  if (failed(entries) || parser.parseGreater())
    return {};
  return get(parser.getContext(), *rows, *entries);
}

void OrderType::print(AsmPrinter &printer) const {
  printer << "<" << getRows().str() << ", " << getEntries().str() << ">";
}

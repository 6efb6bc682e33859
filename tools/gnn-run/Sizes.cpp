// Size expressions and their unification; see Sizes.h.
#include "Sizes.h"
#include <cctype>
#include <functional>

namespace gnnrun {
namespace {

/// Evaluates `+ - * ( )` and `ceildiv(a, b)` over integers and names; a missing name makes the value unknown.
class Evaluator {
public:
  using Lookup = std::function<std::optional<int64_t>(const std::string &)>;
  Evaluator(const std::string &text, Lookup lookup) : text(text), lookup(std::move(lookup)) {}

  std::optional<int64_t> run() {
    std::optional<int64_t> value = sum();
    if (at != text.size())
      malformed();
    return value;
  }

private:
  using Value = std::optional<int64_t>;

  [[noreturn]] void malformed() const { fail("the model's manifest is damaged: '{}' is not a size", text); }

  void blanks() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool eat(char c) {
    blanks();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    blanks();
    return true;
  }
  void expect(char c) {
    if (!eat(c))
      malformed();
  }

  Value combine(Value a, Value b, bool (*op)(int64_t, int64_t, int64_t *)) const {
    if (!a || !b)
      return std::nullopt;
    int64_t result;
    if (op(*a, *b, &result))
      fail("the size {} is too large", text);
    return result;
  }

  Value sum() {
    Value value = product();
    while (true) {
      if (eat('+'))
        value =
            combine(value, product(), [](int64_t a, int64_t b, int64_t *r) { return __builtin_add_overflow(a, b, r); });
      else if (eat('-'))
        value =
            combine(value, product(), [](int64_t a, int64_t b, int64_t *r) { return __builtin_sub_overflow(a, b, r); });
      else
        return value;
    }
  }

  Value product() {
    Value value = factor();
    while (eat('*'))
      value =
          combine(value, factor(), [](int64_t a, int64_t b, int64_t *r) { return __builtin_mul_overflow(a, b, r); });
    return value;
  }

  Value factor() {
    blanks();
    if (eat('('))
      return closed(sum());
    if (eat('-')) {
      Value value = factor();
      return value ? Value(-*value) : value;
    }
    size_t begin = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' || text[at] == '.'))
      ++at;
    std::string word = text.substr(begin, at - begin);
    if (word.empty())
      malformed();
    blanks();
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      Value value = parseNumber<int64_t>(word);
      if (!value)
        malformed();
      return value;
    }
    if (word == "ceildiv" && eat('(')) {
      Value a = sum();
      expect(',');
      return closed(combine(a, sum(), [](int64_t x, int64_t y, int64_t *r) {
        if (y <= 0)
          return true;
        *r = x / y + (x % y > 0);
        return false;
      }));
    }
    return lookup(word);
  }

  Value closed(Value value) {
    expect(')');
    return value;
  }

  const std::string &text;
  Lookup lookup;
  size_t at = 0;
};

} // namespace

void Sizes::bind(const std::string &set, int64_t size, const std::string &origin) {
  auto [it, isNew] = known.emplace(set, std::pair(size, origin));
  if (!isNew && it->second.first != size)
    fail("sizes contradict each other: {} is {} in {}, but {} in {}", set, it->second.first, it->second.second, size,
         origin);
}

std::optional<int64_t> Sizes::find(const std::string &set) const {
  auto it = known.find(set);
  return it == known.end() ? std::nullopt : std::optional(it->second.first);
}

std::optional<int64_t> Sizes::evaluate(const std::string &expression, std::set<std::string> *missing) const {
  return Evaluator(expression,
                   [&](const std::string &name) {
                     std::optional<int64_t> size = find(name);
                     if (!size && missing)
                       missing->insert(name);
                     return size;
                   })
      .run();
}

std::optional<std::vector<int64_t>> Sizes::evaluate(const std::vector<std::string> &dims,
                                                    std::set<std::string> *missing) const {
  std::vector<int64_t> shape;
  bool complete = true;
  for (const std::string &dim : dims) {
    std::optional<int64_t> size = evaluate(dim, missing);
    complete &= size.has_value();
    shape.push_back(size.value_or(0));
  }
  return complete ? std::optional(shape) : std::nullopt;
}

void Sizes::unify(const std::vector<std::string> &dims, const std::vector<int64_t> &shape, const std::string &origin) {
  if (dims.size() != shape.size())
    fail("{} has shape {}, but [{}] is expected: {} dimensions", origin, shapeText(shape), fmt::join(dims, ", "),
         dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (isSetName(dims[i])) {
      bind(dims[i], shape[i], origin);
      continue;
    }
    std::optional<int64_t> size = evaluate(dims[i]);
    if (size && *size != shape[i])
      fail("{} has shape {}, but [{}] is expected: dimension {} must be {}", origin, shapeText(shape),
           fmt::join(dims, ", "), i, *size);
  }
}

bool isSetName(const std::string &expression) {
  if (expression.empty() || std::isdigit(static_cast<unsigned char>(expression[0])))
    return false;
  for (char c : expression)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.')
      return false;
  return true;
}

std::set<std::string> setsIn(const std::string &expression) {
  std::set<std::string> names;
  Sizes().evaluate(expression, &names);
  return names;
}

} // namespace gnnrun

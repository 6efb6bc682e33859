// Sizes of dimensions. A dimension in the manifest is an expression in the names of sets ("In", "2*F + 1"); what is
// known of the sets is gathered from the command line, the data and the graphs, and must agree.
#ifndef GNN_RUN_SIZES_H
#define GNN_RUN_SIZES_H

#include "Support.h"
#include <map>
#include <set>

namespace gnnrun {

class Sizes {
public:
  /// Notes that a set has a size; `origin` says who says so ("x in cora.safetensors"). A contradiction is an error.
  void bind(const std::string &set, int64_t size, const std::string &origin);
  std::optional<int64_t> find(const std::string &set) const;
  const std::map<std::string, std::pair<int64_t, std::string>> &all() const { return known; }

  /// The value of an expression, or nothing: then the sets that are missing are added to `missing`.
  std::optional<int64_t> evaluate(const std::string &expression, std::set<std::string> *missing = nullptr) const;
  std::optional<std::vector<int64_t>> evaluate(const std::vector<std::string> &dims,
                                               std::set<std::string> *missing) const;

  /// Unifies dimension expressions with a shape. Dimensions that are no lone set are compared where they can be
  /// computed.
  void unify(const std::vector<std::string> &dims, const std::vector<int64_t> &shape, const std::string &origin);

private:
  std::map<std::string, std::pair<int64_t, std::string>> known;
};

/// Whether an expression is just the name of a set.
bool isSetName(const std::string &expression);
/// The sets that an expression mentions.
std::set<std::string> setsIn(const std::string &expression);

} // namespace gnnrun

#endif

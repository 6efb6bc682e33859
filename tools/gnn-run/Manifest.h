// What a model says of itself: docs/manifest.md as C++ structures.
#ifndef GNN_RUN_MANIFEST_H
#define GNN_RUN_MANIFEST_H

#include "Tensor.h"

namespace gnnrun {

enum class ArgKind { Graph, Tensor, Scalar, Size };
enum class Element { F32, F64, I32, I64, Bool, Index, U8, Key };

/// How an element type is kept in host memory. An index result is I32; an index input may also be I64.
DType storageOf(Element element);
const char *elementName(Element element);
inline bool isReal(Element element) { return element == Element::F32 || element == Element::F64; }

struct Initialiser {
  std::string fn;
  std::vector<double> args;
  int64_t blockRank = 0;
};

struct Arg {
  std::string path;
  ArgKind kind = ArgKind::Tensor;
  bool inout = false;
  Element element = Element::F32; // tensors and scalars
  std::vector<std::string> dims;  // tensors
  std::string into;               // what an index must stay below
  std::string src, dst, edges;    // graphs
  std::string set;                // sizes
  std::optional<double> defaultReal;
  std::optional<int64_t> defaultInteger;
  std::optional<Initialiser> init;

  bool isScalarTensor() const { return kind == ArgKind::Tensor && dims.empty(); }
  bool holdsValue() const { return kind == ArgKind::Tensor || kind == ArgKind::Scalar; }
};

struct Entry {
  std::string name;
  std::vector<std::string> sets;
  std::vector<Arg> args, results;

  bool hasSet(const std::string &set) const;
  const Arg *findArg(const std::string &path) const;
};

struct VjpPair {
  std::string of, forward, backward, residualBytes;
};

struct Manifest {
  std::string gnnc, source, real, cpu;
  int64_t abi = 0;
  std::vector<Entry> entries;
  std::vector<VjpPair> vjps;

  static Manifest parse(const std::string &model, const std::string &text);
  /// An error that lists what there is, where the name is unknown.
  const Entry &entry(const std::string &name) const;
  const VjpPair &vjp(const std::string &of) const;
};

} // namespace gnnrun

#endif

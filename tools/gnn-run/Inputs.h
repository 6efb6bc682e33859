// What the user gives: data files with their renames, graph files, --set, --fill, --size. Answers by path what there is
// for an argument, in the element type that the argument wants. Tensors and graphs are made once and shared between
// entry points and runs.
#ifndef GNN_RUN_INPUTS_H
#define GNN_RUN_INPUTS_H

#include "GraphSource.h"
#include "Runtime.h"
#include "Safetensors.h"
#include "Sizes.h"

namespace gnnrun {

struct InputOptions {
  std::vector<std::string> data, rename, set, fill, size, graph, random, draw;
  uint64_t seed = 0; // of random graphs
  bool verbose = false;
};

struct Found {
  TensorPtr tensor;
  std::string origin; // "x in cora.safetensors"
};

/// The tensor in the element type that `arg` wants; real types are converted into each other, integers into wider ones.
TensorPtr convertFor(const Arg &arg, const TensorPtr &tensor, const std::string &origin, bool verbose);

/// A path's part, such as g.src.
inline std::string partOf(const std::string &path, const char *part) { return path + "." + part; }
inline std::string baseName(const std::string &path) { return path.substr(path.find_last_of('/') + 1); }

class Inputs {
public:
  Inputs(const InputOptions &options, Runtime &runtime);

  /// What the data files (or --graph files) have for a path.
  std::optional<Found> tensor(const Arg &arg);
  /// --set (scalars and scalar tensors) and --fill (any tensor).
  bool isSet(const Arg &arg) const;
  Tensor setValue(const Arg &arg, const std::vector<int64_t> &shape) const;
  /// The interval of --draw.
  std::optional<std::pair<double, double>> drawRange(const std::string &path) const;

  /// Sizes that the user or the metadata give, as far as the entry has such sets.
  void bindSizes(const Entry &entry, Sizes &sizes) const;
  /// The graph for an argument; binds its sizes. Null where there is none.
  const gnnrt_graph *graph(const Arg &arg, Sizes &sizes);

  /// An error where an option names something that none of the entries has.
  void checkNames(const std::vector<const Entry *> &entries) const;
  /// "cora.safetensors has g.dst, g.src and x", for messages.
  std::string describe() const;
  /// What --size can refer to: the metadata's entries that are sizes.
  std::vector<std::string> metadataNames() const;

private:
  struct Value {
    std::string text, option;
  };

  std::string fileName(const std::string &path) const;
  const SafetensorsFile *fileWith(const std::string &name) const;
  std::optional<std::pair<std::string, std::string>> metadata(const std::string &path) const;
  std::optional<int64_t> metadataSize(const std::string &path, std::string &origin) const;
  std::optional<Found> raw(const std::string &path) const;
  std::optional<Found> sparse(const Arg &arg) const;
  std::optional<Found> integers(const std::string &path) const;
  void bindNodeSizes(const Arg &arg, Sizes &sizes) const;
  Graph makeGraph(const Arg &arg, Sizes &sizes);
  Graph graphFromEdges(const Arg &arg, const EdgeList &edges, const std::string &origin, bool counted, Sizes &sizes);

  InputOptions options;
  Runtime &runtime;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::map<std::string, std::string> renames;
  std::map<std::string, Value> values; // --set and --fill by path
  std::map<std::string, std::string> sizeTexts, draws;
  std::map<std::string, std::pair<EdgeList, std::string>> edgeFiles; // and the file's name
  std::map<std::string, RandomGraphSpec> randomSpecs;                // "" for all graphs
  std::map<std::string, Found> cache;                                // by path and element type
  std::map<std::string, Graph> graphs;
};

} // namespace gnnrun

#endif

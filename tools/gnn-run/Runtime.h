// The runtime's C interface with lifetimes and errors in the C++ way: one context, one open model, graphs.
#ifndef GNN_RUN_RUNTIME_H
#define GNN_RUN_RUNTIME_H

#include "Manifest.h"

namespace gnnrun {

class Runtime;

struct GraphDeleter {
  void operator()(gnnrt_graph *graph) const { gnnrt_graph_release(graph); }
};
using Graph = std::unique_ptr<gnnrt_graph, GraphDeleter>;

/// What a step of an entry took in all its calls: kernels and matrix products, by their names and source lines.
struct ProfileRecord {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  int64_t bytesRead = 0, bytesWritten = 0; // what was asked of memory
};

class Runtime {
public:
  /// `threads` 0: as many as the machine offers.
  Runtime(const std::string &modelPath, int threads);
  ~Runtime();
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;

  const std::string &modelPath() const { return path; }
  const Manifest &manifest() const { return description; }
  int threads() const { return gnnrt_context_threads(context); }

  Graph graphFromCoo(const std::string &name, int64_t numSrc, int64_t numDst, const Tensor &src, const Tensor &dst);
  Graph graphFromCsr(const std::string &name, int64_t numSrc, const Tensor &indptr, const Tensor &indices);
  Graph graphFromDense(const std::string &name, const Tensor &matrix);

  /// From here on calls are measured; what was measured before is forgotten.
  void startProfile();
  std::vector<ProfileRecord> profile() const;

  void call(const Entry &entry, const std::vector<gnnrt_value> &values);

private:
  void check(gnnrt_status status, const std::string &what) const;

  std::string path;
  gnnrt_context *context = nullptr;
  gnnrt_model *model = nullptr;
  Manifest description;
};

} // namespace gnnrun

#endif

// Wrapping the runtime's C interface; see Runtime.h.
#include "Runtime.h"
#include <filesystem>

namespace gnnrun {

Runtime::Runtime(const std::string &modelPath, int threads) : path(modelPath) {
  std::error_code error;
  if (!std::filesystem::exists(modelPath, error))
    fail("cannot open the model {}: there is no such file; make it with gnnc build", modelPath);
  // A name without a slash would be looked up in the system's library folders.
  std::string file = modelPath.find('/') == std::string::npos ? "./" + modelPath : modelPath;
  if (gnnrt_status status = gnnrt_context_create(threads, &context); status != GNNRT_OK)
    fail("cannot start the runtime with {} threads: {}", threads, gnnrt_status_name(status));
  try {
    check(gnnrt_model_open(context, file.c_str(), &model), modelPath);
    description = Manifest::parse(modelPath, gnnrt_model_manifest(model));
  } catch (...) {
    if (model)
      gnnrt_model_close(model);
    gnnrt_context_destroy(context);
    throw;
  }
}

Runtime::~Runtime() {
  gnnrt_model_close(model);
  gnnrt_context_destroy(context);
}

void Runtime::check(gnnrt_status status, const std::string &what) const {
  if (status == GNNRT_OK)
    return;
  std::string message = gnnrt_last_error(context);
  fail("{}: {}", what, message.empty() ? gnnrt_status_name(status) : message.c_str());
}

Graph Runtime::graphFromCoo(const std::string &name, int64_t numSrc, int64_t numDst, const Tensor &src,
                            const Tensor &dst) {
  DLTensor srcView = src.view(), dstView = dst.view();
  gnnrt_graph *graph = nullptr;
  check(gnnrt_graph_from_coo(context, numSrc, numDst, &srcView, &dstView, &graph), "graph " + name);
  return Graph(graph);
}

Graph Runtime::graphFromCsr(const std::string &name, int64_t numSrc, const Tensor &indptr, const Tensor &indices) {
  DLTensor indptrView = indptr.view(), indicesView = indices.view();
  gnnrt_graph *graph = nullptr;
  check(gnnrt_graph_from_csr(context, numSrc, &indptrView, &indicesView, &graph), "graph " + name);
  return Graph(graph);
}

Graph Runtime::graphFromDense(const std::string &name, const Tensor &matrix) {
  DLTensor view = matrix.view();
  gnnrt_graph *graph = nullptr;
  check(gnnrt_graph_from_dense(context, &view, &graph), "graph " + name);
  return Graph(graph);
}

void Runtime::startProfile() { check(gnnrt_profile(context, 1), "profile"); }

std::vector<ProfileRecord> Runtime::profile() const {
  std::vector<ProfileRecord> records;
  for (int64_t i = 0; i < gnnrt_profile_count(context); ++i) {
    gnnrt_profile_entry entry;
    check(gnnrt_profile_read(context, i, &entry), "profile");
    records.push_back({entry.name, entry.calls, static_cast<double>(entry.nanoseconds) * 1e-9, entry.bytes_read,
                       entry.bytes_written});
  }
  return records;
}

void Runtime::call(const Entry &entry, const std::vector<gnnrt_value> &values) {
  check(gnnrt_model_call(context, model, entry.name.c_str(), values.data(), static_cast<int32_t>(values.size())),
        entry.name);
}

} // namespace gnnrun

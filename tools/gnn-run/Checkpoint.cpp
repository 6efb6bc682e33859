// Reading and writing checkpoints; see Checkpoint.h.
#include "Checkpoint.h"

namespace gnnrun {

Checkpoint Checkpoint::read(const std::string &path) {
  SafetensorsFile file(path);
  Checkpoint result;
  result.metadata = file.metadata();
  for (const std::string &name : file.names())
    result.tensors[name] = std::make_shared<Tensor>(file.read(name));
  return result;
}

void Checkpoint::write(const std::string &path) const {
  std::map<std::string, const Tensor *> all;
  for (auto &[name, tensor] : tensors)
    all[name] = tensor.get();
  writeSafetensors(path, all, metadata);
}

std::optional<uint64_t> Checkpoint::number(const std::string &name) const {
  auto it = metadata.find(name);
  return it == metadata.end() ? std::nullopt : parseNumber<uint64_t>(it->second);
}

TensorMap copyOf(const TensorMap &tensors) {
  TensorMap result;
  for (auto &[name, tensor] : tensors)
    result[name] = std::make_shared<Tensor>(*tensor);
  return result;
}

} // namespace gnnrun

// Checkpoints: the inout tensors of an entry point by path, in a safetensors file whose metadata says where they are
// from.
#ifndef GNN_RUN_CHECKPOINT_H
#define GNN_RUN_CHECKPOINT_H

#include "Safetensors.h"

namespace gnnrun {

struct Checkpoint {
  TensorMap tensors;
  Metadata metadata;

  static Checkpoint read(const std::string &path);
  void write(const std::string &path) const;
  /// An integer of the metadata, if it is there.
  std::optional<uint64_t> number(const std::string &name) const;
};

/// Deep copies, so that training can go on.
TensorMap copyOf(const TensorMap &tensors);

} // namespace gnnrun

#endif

// safetensors files: an eight-byte length, a JSON header, the data. The reader takes nothing on trust: a file that it
// opens has a well-formed header, and every tensor's bytes are there, each byte belonging to exactly one tensor.
#ifndef GNN_RUN_SAFETENSORS_H
#define GNN_RUN_SAFETENSORS_H

#include "Tensor.h"

namespace gnnrun {

using Metadata = std::map<std::string, std::string>;

class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;

  const std::string &path() const { return name; }
  const Metadata &metadata() const { return meta; }
  bool contains(const std::string &tensor) const { return entries.count(tensor) != 0; }
  std::vector<std::string> names() const;
  /// Reads one tensor. Small integer types come as I32 or I64; types without a host form are refused.
  Tensor read(const std::string &tensor) const;

private:
  struct Item {
    std::string dtype;
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;
  };

  void readHeader(uint64_t fileSize);
  void checkCover(uint64_t dataSize) const;
  void readBytes(void *to, uint64_t count, uint64_t offset) const;

  std::string name;
  int file = -1;
  uint64_t dataBegin = 0;
  Metadata meta;
  std::map<std::string, Item> entries;
};

void writeSafetensors(const std::string &path, const std::map<std::string, const Tensor *> &tensors,
                      const Metadata &metadata);

} // namespace gnnrun

#endif

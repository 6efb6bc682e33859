// Reading and writing safetensors; see Safetensors.h.
#include "Safetensors.h"
#include "Files.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace gnnrun {
namespace {

using Json = nlohmann::json;

constexpr uint64_t maxHeader = 100'000'000;

/// Bytes of an element of a type of the format, 0 for an unknown one.
uint64_t formatItemSize(const std::string &dtype) {
  static const std::map<std::string, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  auto it = sizes.find(dtype);
  return it == sizes.end() ? 0 : it->second;
}

std::optional<uint64_t> asUnsigned(const Json &value) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  return value.get<uint64_t>();
}

/// Integers of `size` bytes, as a host tensor of a wider type.
Tensor widen(const std::vector<std::byte> &bytes, size_t size, bool isSigned, DType dtype, std::vector<int64_t> shape) {
  Tensor result(dtype, std::move(shape));
  for (int64_t i = 0; i < result.count(); ++i) {
    uint64_t value = 0;
    for (size_t k = size; k > 0; --k)
      value = value << 8 | std::to_integer<uint64_t>(bytes[static_cast<size_t>(i) * size + k - 1]);
    if (isSigned && value >> (8 * size - 1) != 0)
      value -= uint64_t(1) << (8 * size);
    result.setInteger(i, static_cast<int64_t>(value));
  }
  return result;
}

} // namespace

SafetensorsFile::SafetensorsFile(const std::string &path) : name(path) {
  file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail("cannot open {}: {}", path, std::strerror(errno));
  struct stat info;
  try {
    if (fstat(file, &info) != 0)
      fail("cannot read {}: {}", path, std::strerror(errno));
    if (!S_ISREG(info.st_mode))
      fail("cannot read {}: it is not a regular file", path);
    readHeader(static_cast<uint64_t>(info.st_size));
  } catch (...) {
    ::close(file);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { ::close(file); }

void SafetensorsFile::readBytes(void *to, uint64_t count, uint64_t offset) const {
  char *at = static_cast<char *>(to);
  while (count > 0) {
    ssize_t got = ::pread(file, at, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail("cannot read {}: {}", name, std::strerror(errno));
    if (got == 0)
      fail("{} became shorter while it was read; run again when nothing writes to it", name);
    at += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<uint64_t>(got);
  }
}

void SafetensorsFile::readHeader(uint64_t fileSize) {
  if (fileSize < 8)
    fail("{} is not a safetensors file: it has only {} bytes; is it truncated?", name, fileSize);
  unsigned char raw[8];
  readBytes(raw, 8, 0);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | raw[i];
  if (length > maxHeader)
    fail("{} is not a safetensors file: its first bytes would mean a header of {} bytes", name, length);
  if (length > fileSize - 8)
    fail("{} is truncated: its header should have {} bytes, but the file has only {} in all; copy or make it again",
         name, length, fileSize);
  dataBegin = 8 + length;
  std::string text(length, '\0');
  readBytes(text.data(), length, 8);

  // The JSON library keeps the last of several equal keys; here a repeated name is damage.
  std::set<std::string> seen;
  std::string repeated;
  Json header;
  try {
    header = Json::parse(text, [&](int depth, Json::parse_event_t event, Json &value) {
      if (event == Json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
        repeated = value.get<std::string>();
      return true;
    });
  } catch (const Json::exception &error) {
    fail("{} is damaged: its header is not valid JSON ({})", name, error.what());
  }
  if (!header.is_object())
    fail("{} is damaged: its header is not a JSON object", name);
  if (!repeated.empty())
    fail("{} is damaged: its header lists {} twice", name, repeated);

  for (auto &[key, value] : header.items()) {
    if (key == "__metadata__") {
      if (!value.is_object())
        fail("{} is damaged: its metadata is not a JSON object", name);
      for (auto &[metaKey, metaValue] : value.items()) {
        if (!metaValue.is_string())
          fail("{} is damaged: the metadata entry {} is not a string", name, metaKey);
        meta[metaKey] = metaValue.get<std::string>();
      }
      continue;
    }
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() || !value.contains("shape") ||
        !value["shape"].is_array() || !value.contains("data_offsets") || !value["data_offsets"].is_array() ||
        value["data_offsets"].size() != 2)
      fail("{} is damaged: the header's entry for tensor {} lacks a dtype, a shape or two offsets", name, key);
    Item item;
    item.dtype = value["dtype"].get<std::string>();
    uint64_t itemBytes = formatItemSize(item.dtype);
    if (itemBytes == 0)
      fail("{}: tensor {} has the unknown element type {}", name, key, item.dtype);
    for (const Json &size : value["shape"]) {
      std::optional<uint64_t> n = asUnsigned(size);
      if (!n || *n > INT64_MAX)
        fail("{} is damaged: tensor {} has an impossible shape", name, key);
      item.shape.push_back(static_cast<int64_t>(*n));
    }
    std::optional<uint64_t> begin = asUnsigned(value["data_offsets"][0]), end = asUnsigned(value["data_offsets"][1]);
    std::optional<int64_t> count = countElements(item.shape);
    if (!begin || !end || *begin > *end)
      fail("{} is damaged: the offsets of tensor {} are no range", name, key);
    item.begin = *begin;
    item.end = *end;
    if (!count || static_cast<uint64_t>(*count) * itemBytes != item.end - item.begin)
      fail("{} is damaged: tensor {} of type {} and shape {} can't have {} bytes", name, key, item.dtype,
           shapeText(item.shape), item.end - item.begin);
    entries.emplace(key, std::move(item));
  }
  checkCover(fileSize - dataBegin);
}

void SafetensorsFile::checkCover(uint64_t dataSize) const {
  std::vector<std::pair<const Item *, const std::string *>> order;
  order.reserve(entries.size());
  for (auto &[key, item] : entries)
    order.emplace_back(&item, &key);
  std::sort(order.begin(), order.end(), [](auto &a, auto &b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  uint64_t at = 0;
  const std::string *before = nullptr;
  for (auto [item, key] : order) {
    if (item->begin < at)
      fail("{} is damaged: tensors {} and {} overlap", name, before ? *before : *key, *key);
    if (item->begin > at)
      fail("{} is damaged: {} bytes before tensor {} belong to no tensor", name, item->begin - at, *key);
    if (item->end > dataSize)
      fail("{} is truncated: tensor {} ends at byte {}, but the file has only {} bytes; copy or make it again", name,
           *key, dataBegin + item->end, dataBegin + dataSize);
    at = item->end;
    before = key;
  }
  if (at != dataSize)
    fail("{} is damaged: {} bytes at its end belong to no tensor", name, dataSize - at);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> result;
  result.reserve(entries.size());
  for (auto &entry : entries)
    result.push_back(entry.first);
  return result;
}

Tensor SafetensorsFile::read(const std::string &tensor) const {
  const Item &item = entries.at(tensor);
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::U8}) {
    if (item.dtype != dtypeName(dtype))
      continue;
    Tensor result(dtype, item.shape);
    readBytes(result.data<std::byte>(), result.bytes(), dataBegin + item.begin);
    if (dtype == DType::Bool)
      for (int64_t i = 0; i < result.count(); ++i)
        if (result.data<uint8_t>()[i] > 1)
          fail("{}: element {} of the BOOL tensor {} is {}, neither 0 nor 1", name, i, tensor,
               result.data<uint8_t>()[i]);
    return result;
  }
  std::vector<std::byte> bytes(item.end - item.begin);
  readBytes(bytes.data(), bytes.size(), dataBegin + item.begin);
  if (item.dtype == "I8")
    return widen(bytes, 1, true, DType::I32, item.shape);
  if (item.dtype == "I16")
    return widen(bytes, 2, true, DType::I32, item.shape);
  if (item.dtype == "U16")
    return widen(bytes, 2, false, DType::I32, item.shape);
  if (item.dtype == "U32")
    return widen(bytes, 4, false, DType::I64, item.shape);
  fail("{}: tensor {} has element type {}, which gnn-run does not read; store it as {}", name, tensor, item.dtype,
       item.dtype == "U64" ? "I64" : "F32 or F64");
}

void writeSafetensors(const std::string &path, const std::map<std::string, const Tensor *> &tensors,
                      const Metadata &metadata) {
  // Larger elements first, so that every tensor is aligned to its element size.
  std::vector<std::pair<std::string, const Tensor *>> order(tensors.begin(), tensors.end());
  std::sort(order.begin(), order.end(), [](auto &a, auto &b) {
    return std::pair(-static_cast<int64_t>(itemSize(a.second->dtype())), a.first) <
           std::pair(-static_cast<int64_t>(itemSize(b.second->dtype())), b.first);
  });
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t at = 0;
  std::vector<Bytes> pieces(2);
  for (auto &[name, tensor] : order) {
    header[name] = {{"dtype", dtypeName(tensor->dtype())},
                    {"shape", tensor->shape()},
                    {"data_offsets", {at, at + tensor->bytes()}}};
    at += tensor->bytes();
    pieces.emplace_back(tensor->data<std::byte>(), tensor->bytes());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  pieces[0] = std::as_bytes(std::span(length));
  pieces[1] = std::as_bytes(std::span(text.data(), text.size()));
  writeFile(path, pieces);
}

} // namespace gnnrun

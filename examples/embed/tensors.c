/* tensors.c - see tensors.h. The header is searched as text, which is enough for files that gnn-run writes. */
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tensor_file_read(const char *path, tensor_file *file) {
  unsigned char length_bytes[8];
  uint64_t length = 0;
  long end;
  FILE *in = fopen(path, "rb");
  memset(file, 0, sizeof *file);
  if (!in) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    return 1;
  }
  fseek(in, 0, SEEK_END);
  end = ftell(in);
  rewind(in);
  if (fread(length_bytes, 1, 8, in) != 8)
    goto damaged;
  for (int k = 0; k < 8; ++k)
    length |= (uint64_t)length_bytes[k] << (8 * k);
  if (end < 8 || length > (uint64_t)end - 8)
    goto damaged;
  file->data_bytes = (size_t)end - 8 - (size_t)length;
  file->header = malloc((size_t)length + 1);
  file->data = malloc(file->data_bytes + 1);
  if (!file->header || !file->data || fread(file->header, 1, (size_t)length, in) != length ||
      fread(file->data, 1, file->data_bytes, in) != file->data_bytes)
    goto damaged;
  file->header[length] = 0;
  fclose(in);
  return 0;
damaged:
  fprintf(stderr, "%s: not a whole safetensors file\n", path);
  fclose(in);
  tensor_file_free(file);
  return 1;
}

void tensor_file_free(tensor_file *file) {
  free(file->header);
  free(file->data);
  memset(file, 0, sizeof *file);
}

void tensor_on(tensor *t, void *data, int code, int bits, int ndim, const int64_t *shape) {
  memset(t, 0, sizeof *t);
  for (int k = 0; k < ndim; ++k)
    t->shape[k] = shape[k];
  t->dl.data = data;
  t->dl.device.device_type = kDLCPU;
  t->dl.ndim = ndim;
  t->dl.dtype.code = (uint8_t)code;
  t->dl.dtype.bits = (uint8_t)bits;
  t->dl.dtype.lanes = 1;
  t->dl.shape = t->shape;
}

/* The integers of a list such as [2,3]; -1 if there are more than `room`. */
static int integers(const char *text, int64_t *out, int room) {
  int count = 0;
  for (++text; *text && *text != ']';) {
    char *rest;
    int64_t value = strtoll(text, &rest, 10);
    if (rest == text) { /* a comma or a blank */
      ++text;
      continue;
    }
    if (count == room)
      return -1;
    out[count++] = value;
    text = rest;
  }
  return count;
}

/* What stands behind the key of an entry, blanks skipped; NULL if it is not there. */
static const char *value_of(const char *entry, const char *key) {
  const char *value = entry ? strstr(entry, key) : NULL;
  if (!value)
    return NULL;
  for (value += strlen(key); *value == ' ' || *value == ':';)
    ++value;
  return value;
}

int tensor_find(const tensor_file *file, const char *name, tensor *out) {
  static const struct {
    const char *name;
    int code, bits;
  } types[] = {
      {"F32", kDLFloat, 32}, {"F64", kDLFloat, 64}, {"I32", kDLInt, 32}, {"I64", kDLInt, 64}, {"BOOL", kDLBool, 8}};
  char key[128];
  const char *entry, *dtype, *shape, *offsets;
  int64_t sizes[4], range[2], elements = 1;
  int rank;
  snprintf(key, sizeof key, "\"%s\"", name);
  entry = strstr(file->header, key);
  dtype = value_of(entry, "\"dtype\"");
  shape = value_of(entry, "\"shape\"");
  offsets = value_of(entry, "\"data_offsets\"");
  rank = shape ? integers(shape, sizes, 4) : -1;
  if (!dtype || rank < 0 || !offsets || integers(offsets, range, 2) != 2) {
    fprintf(stderr, "no tensor named %s in the file\n", name);
    return 1;
  }
  for (int k = 0; k < rank; ++k)
    elements *= sizes[k];
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
    if (strncmp(dtype + 1, types[k].name, strlen(types[k].name)) != 0)
      continue;
    if (range[0] < 0 || range[1] > (int64_t)file->data_bytes || range[1] - range[0] != elements * types[k].bits / 8)
      break;
    tensor_on(out, file->data + range[0], types[k].code, types[k].bits, rank, sizes);
    return 0;
  }
  fprintf(stderr, "tensor %s: its type or size is not as expected\n", name);
  return 1;
}

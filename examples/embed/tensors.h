/* tensors.h - just enough of safetensors for the example: a file in memory, and its tensors as DLTensors that point
 * into it.
 *
 * The format: an 8-byte little-endian length, a JSON header of that length ("name":{"dtype":"F32","shape":[2,3],
 * "data_offsets":[0,24]}), the tensors' bytes. */
#ifndef TENSORS_H
#define TENSORS_H

#include <gnnrt/gnnrt.h>
#include <stddef.h>

typedef struct tensor_file {
  char *header;        /* the JSON text, ended by 0 */
  unsigned char *data; /* what data_offsets count in; malloc'ed, so aligned */
  size_t data_bytes;
} tensor_file;

/* A tensor with its shape beside it. It owns nothing. */
typedef struct tensor {
  DLTensor dl;
  int64_t shape[4];
} tensor;

/* Both return 0, or 1 after printing what is wrong with the file. */
int tensor_file_read(const char *path, tensor_file *file);
int tensor_find(const tensor_file *file, const char *name, tensor *out);
void tensor_file_free(tensor_file *file);

/* A row-major tensor on memory of the caller's. code is a DLDataTypeCode. */
void tensor_on(tensor *t, void *data, int code, int bits, int ndim, const int64_t *shape);

#endif

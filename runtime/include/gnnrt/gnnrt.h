/* gnnrt.h - the public C interface of the gnnc runtime.
 *
 * Contexts, graphs and tensors for compiled models. Every function that can fail returns a gnnrt_status; the
 * message of the last failure is kept in the context (gnnrt_last_error). Nothing here aborts, exits, throws or prints.
 *
 * Thread-safety: a context may be used by one thread at a time; distinct contexts may be used at once. Graphs are
 * immutable, and may be shared by any number of contexts and threads.
 * Copyright: Apache-2.0 with LLVM exceptions; see LICENSE. */
#ifndef GNNRT_GNNRT_H
#define GNNRT_GNNRT_H

#include <stdint.h>

#include <gnnrt/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GNNRT_ABI_VERSION 6
#define GNNRT_API __attribute__((visibility("default")))

typedef enum gnnrt_status {
  GNNRT_OK = 0,
  GNNRT_ERROR_ARGUMENT = 1,   /* a null pointer, a wrong number of arguments, a negative size */
  GNNRT_ERROR_DTYPE = 2,      /* a tensor has the wrong element type */
  GNNRT_ERROR_SHAPE = 3,      /* wrong rank, or sizes that contradict each other */
  GNNRT_ERROR_STRIDE = 4,     /* not row-major contiguous */
  GNNRT_ERROR_INDEX = 5,      /* an index out of range */
  GNNRT_ERROR_OVERLAP = 6,    /* an output overlaps an input or another output */
  GNNRT_ERROR_READ_ONLY = 7,  /* a read-only tensor given for inout or output */
  GNNRT_ERROR_DEVICE = 8,     /* a tensor on another device, or no such device */
  GNNRT_ERROR_MEMORY = 9,     /* out of memory */
  GNNRT_ERROR_TOO_LARGE = 10, /* more nodes, edges or elements than supported */
  GNNRT_ERROR_FILE = 11,      /* a model that cannot be opened or is damaged */
  GNNRT_ERROR_ABI = 12,       /* a model made for another runtime version or another processor */
  GNNRT_ERROR_FORK = 13,      /* the context was made in a parent process */
  GNNRT_ERROR_INTERNAL = 14   /* a fault of gnnc itself */
} gnnrt_status;

typedef struct gnnrt_context gnnrt_context;
typedef struct gnnrt_graph gnnrt_graph;
typedef struct gnnrt_model gnnrt_model;

/* Functions that make something put NULL into *out when they fail. */

/* ---- Contexts ------------------------------------------------------------------------------------------- */

/* Makes a context that runs on `threads` threads, the caller's among them (0: as many as this process may use; at most
 * 1024). Results are the same to the bit for any number. After fork it cannot be used in the child
 * (GNNRT_ERROR_FORK), which makes one of its own. */
GNNRT_API gnnrt_status gnnrt_context_create(int32_t threads, gnnrt_context **out);
GNNRT_API void gnnrt_context_destroy(gnnrt_context *ctx);
/* The message of the last failed call on this context, "" if none has failed; valid until the next call on it. */
GNNRT_API const char *gnnrt_last_error(const gnnrt_context *ctx);
/* A short name for a status, such as "shape". */
GNNRT_API const char *gnnrt_status_name(gnnrt_status status);
GNNRT_API int32_t gnnrt_context_threads(const gnnrt_context *ctx);
GNNRT_API int32_t gnnrt_abi_version(void);
/* For which processor the kernels of dense products were written, in OpenBLAS's words, such as "SkylakeX". They are
 * chosen when the library is loaded, by what the processor can do, or by the environment's OPENBLAS_CORETYPE. */
GNNRT_API const char *gnnrt_blas_kernels(void);

/* ---- Graphs --------------------------------------------------------------------------------------------- */

/* From an edge list: edge k goes from src[k] (< num_src) to dst[k] (< num_dst). src and dst are int32 or int64 vectors
 * of equal length; they are copied. Edge tensors stand in this order of edges. For a graph over one node
 * set give num_src == num_dst. */
GNNRT_API gnnrt_status gnnrt_graph_from_coo(gnnrt_context *ctx, int64_t num_src, int64_t num_dst, const DLTensor *src,
                                            const DLTensor *dst, gnnrt_graph **out);
/* From CSR by destination: the in-edges of node v are indices[indptr[v] .. indptr[v+1]) (their sources). */
GNNRT_API gnnrt_status gnnrt_graph_from_csr(gnnrt_context *ctx, int64_t num_src, const DLTensor *indptr,
                                            const DLTensor *indices, gnnrt_graph **out);
/* From a dense matrix [num_src, num_dst] of f32 or f64: an edge i->j where a[i][j] != 0, in row-major order. */
GNNRT_API gnnrt_status gnnrt_graph_from_dense(gnnrt_context *ctx, const DLTensor *a, gnnrt_graph **out);
GNNRT_API void gnnrt_graph_retain(gnnrt_graph *graph);
GNNRT_API void gnnrt_graph_release(gnnrt_graph *graph);
GNNRT_API int64_t gnnrt_graph_num_src(const gnnrt_graph *graph);
GNNRT_API int64_t gnnrt_graph_num_dst(const gnnrt_graph *graph);
GNNRT_API int64_t gnnrt_graph_num_edges(const gnnrt_graph *graph);
/* The endpoints of the edges, [num_edges] int32, in the user's order; valid while the graph is. */
GNNRT_API const int32_t *gnnrt_graph_src(const gnnrt_graph *graph);
GNNRT_API const int32_t *gnnrt_graph_dst(const gnnrt_graph *graph);

/* ---- Models: calling an entry point whose C type is not known at compile time ----------------------------- */

/* Opens a shared object made by gnnc. Checks its ABI version and the processor it was made for. A model may be used by
 * any number of contexts. */
GNNRT_API gnnrt_status gnnrt_model_open(gnnrt_context *ctx, const char *path, gnnrt_model **out);
GNNRT_API void gnnrt_model_close(gnnrt_model *model);
/* The manifest: JSON, valid while the model is open. Its schema is docs/manifest.md. */
GNNRT_API const char *gnnrt_model_manifest(const gnnrt_model *model);

/* One argument of a dynamic call. Arguments stand in the order of the C function's parameters after the context:
 * first all inputs (leaves of structs in order of declaration), then the outputs. */
typedef union gnnrt_value {
  const gnnrt_graph *graph;
  const DLTensor *tensor; /* input, inout or output */
  double f;               /* a real scalar, f32 or f64 */
  int64_t i;              /* an i32, i64, bool, index, size or seed */
} gnnrt_value;

GNNRT_API gnnrt_status gnnrt_model_call(gnnrt_context *ctx, const gnnrt_model *model, const char *entry,
                                        const gnnrt_value *values, int32_t num_values);

/* ---- Profiles: where a context's calls spend their time --------------------------------------------------- */

/* What one step of an entry's body took: a kernel or a matrix product. */
typedef struct gnnrt_profile_entry {
  const char *entry;   /* the entry point */
  const char *name;    /* the step and its line in the program: "matmul (gcn.gnn:12)" */
  int64_t calls;       /* how often it ran */
  int64_t nanoseconds; /* what that took in all, by the clock */
  /* What it asked of memory in all: each row of an operand once for each edge and pass that reads it, each index once,
   * each result once. */
  int64_t bytes_read, bytes_written;
} gnnrt_profile_entry;

/* Switches measuring on (on != 0), with an empty profile, or off, which leaves the profile to be read. Between calls,
 * by the thread that uses the context. Results are the same to the bit with and without; what is not on costs nothing.
 */
GNNRT_API gnnrt_status gnnrt_profile(gnnrt_context *ctx, int32_t on);
/* The number of records: one for each step that ran, in the order in which they first did. */
GNNRT_API int64_t gnnrt_profile_count(const gnnrt_context *ctx);
/* Record `index`. Its texts belong to the context, and are valid until a profile is switched on again. Steps are called
 * as the model names them; two steps of an entry with one name and line share a record. */
GNNRT_API gnnrt_status gnnrt_profile_read(gnnrt_context *ctx, int64_t index, gnnrt_profile_entry *out);

#ifdef __cplusplus
}
#endif
#endif

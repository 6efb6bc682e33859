/* abi.h - what generated code and the runtime know of each other.
 *
 * Not for users: a model object and the runtime it was built for agree on this file, which GNNRT_ABI_VERSION counts.
 * All structs here have C layout and are emitted as constant data by lib/Conversion; keep both in step. */
#ifndef GNNRT_ABI_H
#define GNNRT_ABI_H

#include <gnnrt/gnnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnnrt_frame gnnrt_frame; /* the state of one call, opaque to generated code */
typedef struct gnnrt_order gnnrt_order; /* entries grouped into rows, see gnnrt_order_view */

/* ---- Descriptors (constant data in the object) ------------------------------------------------------------ */

enum { GNNRT_F32 = 0, GNNRT_F64 = 1, GNNRT_I32 = 2, GNNRT_I64 = 3, GNNRT_BOOL = 4, GNNRT_INDEX = 5, GNNRT_U8 = 6 };
/* GNNRT_INDEX: an index array; the caller may pass int32 or int64, the body sees int32. */

enum { GNNRT_ARG_GRAPH = 0, GNNRT_ARG_TENSOR = 1, GNNRT_ARG_SCALAR = 2, GNNRT_ARG_SIZE = 3 };
enum { GNNRT_INPUT = 0, GNNRT_INOUT = 1, GNNRT_OUTPUT = 2 };

/* A size: a polynomial over sets, flattened: for each term coeff, degree, then `degree` factors. A factor is a set id,
 * or -1 - k for the k-th quotient, ceildiv(size, divisor). Quotients follow the terms one by one: divisor, the number
 * of words that follow, the length of the numerator's terms, then these and the numerator's own quotients. */
typedef struct gnnrt_size {
  const int64_t *terms;
  int32_t length; /* number of int64 in the terms, quotients not counted; 0 means size 0 */
  int32_t reserved;
} gnnrt_size;

typedef struct gnnrt_arg_desc {
  const char *path; /* as the user writes it: "x", "p.w0", "g"; "" or "out", "out.1", ... for results */
  const gnnrt_size *dims;
  int32_t kind;  /* GNNRT_ARG_* */
  int32_t mode;  /* GNNRT_INPUT, GNNRT_INOUT, GNNRT_OUTPUT */
  int32_t dtype; /* GNNRT_F32, ...; scalars and tensors */
  int32_t rank;  /* number of dims */
  /* GRAPH: ids of source, target and edge set. SIZE: set[0]. SCALAR of an integer that is also
   * the size of a set: set[0]. INDEX dtype: set[0] is the target set, or -1 and
   * target_size is used. Otherwise -1. */
  int32_t set[3];
  int32_t reserved;
  gnnrt_size target_size;
} gnnrt_arg_desc;

/* The entry's body. `buffers[k]` is the memory of argument k:
 *   INPUT, INOUT  the current value (INDEX: as int32; BOOL: bytes 0 and 1), aligned to its elements
 *   OUTPUT        the memory to write, as gnnrt_frame_output gives it
 *   SCALAR        a pointer to the value in the body's dtype (INDEX: int32; BOOL: a byte)
 *   SIZE          a pointer to the int64
 *   GRAPH         the gnnrt_graph*
 * Arguments without elements have a valid address too. `sizes[id]` are the sizes of sets, -1 for those that the body
 * makes; it writes them before it reserves memory, and gnnrt_reserve then checks the outputs whose shape depends on
 * them. Returns 0, or a status after gnnrt_frame_fail. */
typedef int32_t (*gnnrt_body)(gnnrt_frame *frame, void **buffers, int64_t *sizes);

/* The body may fail after it began to write outputs, so OUTPUTs are staged like INOUTs. */
enum { GNNRT_ENTRY_FAILS_LATE = 1 };

typedef struct gnnrt_entry_desc {
  const char *name;
  const gnnrt_arg_desc *args;   /* inputs and inouts first, then outputs */
  const char *const *set_names; /* the user's name of each set, for messages */
  gnnrt_body body;
  int32_t num_args;
  int32_t num_sets;
  int32_t abi_version;
  int32_t flags; /* GNNRT_ENTRY_* */
} gnnrt_entry_desc;

/* The object's table, exported under the name `gnnc_model`. Its fields keep their places in later versions, so that any
 * runtime can read the version of any model; new ones go behind them. */
typedef struct gnnrt_model_desc {
  const gnnrt_entry_desc *const *entries;
  const char *manifest;
  const char *cpu;      /* the processor it was compiled for, such as "x86-64-v3" */
  const char *features; /* what it must offer, comma-separated names as in /proc/cpuinfo ("avx2,fma"); "" for none */
  int32_t num_entries;
  int32_t abi_version;
} gnnrt_model_desc;

/* What every visible entry point calls. Validates, binds, runs, commits. */
GNNRT_API int32_t gnnrt_call(gnnrt_context *ctx, const gnnrt_entry_desc *entry, const gnnrt_value *values,
                             int32_t num_values);

/* ---- Services for bodies ---------------------------------------------------------------------------------- */

/* Records a failure with a message; returns status. */
GNNRT_API int32_t gnnrt_frame_fail(gnnrt_frame *frame, int32_t status, const char *message);

/* Where the body writes the new value of argument k (INOUT: staged memory, committed if the call succeeds;
 * OUTPUT: the caller's memory, or staged memory where the caller's dtype or alignment or the entry needs it). A body
 * that asks for it writes all of it; an INOUT that is not asked for keeps its value. NULL on failure (recorded). */
GNNRT_API void *gnnrt_frame_output(gnnrt_frame *frame, int32_t arg);

/* Structure. A graph made in one of the ways of the dialect's gnn.derive; NULL on failure (recorded). Those before
 * FILTER depend on `graph` alone, are cached on it, and owned by it; the others belong to the call. `tensors` are the
 * addresses of `count` tensors and `sizes` all their sizes, one behind the other: FILTER, INDUCED: keep, bytes. EDGES:
 * src, dst, int32. DENSE: bytes. PAIRS: groups, int32. NEAREST: positions of `dtype`, the number of neighbours, int64,
 * and groups or not. RADIUS: positions, the radius, the period (with or without entries) of `dtype`, and groups or not.
 * `num_src` and `num_dst` are the new graph's nodes, where they are known. */
enum {
  GNNRT_DERIVE_ADD_SELF_LOOPS = 0,
  GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS = 1,
  GNNRT_DERIVE_REPLACE_SELF_LOOPS = 2,
  GNNRT_DERIVE_REMOVE_SELF_LOOPS = 3,
  GNNRT_DERIVE_COALESCE = 4,
  GNNRT_DERIVE_REVERSE = 5,
  GNNRT_DERIVE_SYMMETRIZE = 6,
  GNNRT_DERIVE_LINE = 7,
  GNNRT_DERIVE_FILTER = 8,
  GNNRT_DERIVE_INDUCED = 9,
  GNNRT_DERIVE_EDGES = 10,
  GNNRT_DERIVE_DENSE = 11,
  GNNRT_DERIVE_PAIRS = 12,
  GNNRT_DERIVE_NEAREST = 13,
  GNNRT_DERIVE_RADIUS = 14
};
GNNRT_API const gnnrt_graph *gnnrt_derive(gnnrt_frame *frame, int32_t how, const gnnrt_graph *graph, int64_t num_src,
                                          int64_t num_dst, const void *const *tensors, const int64_t *sizes,
                                          int32_t dtype, int32_t count);
/* The maps of a derived graph. Map 0 leads from its edges to those of the graph it was made from, -1 where there is
 * none (COALESCE: from the old edges to its own; RADIUS: the image of the source, [edges, D]); map 1 of INDUCED from
 * its nodes to the old ones. */
GNNRT_API const int32_t *gnnrt_graph_map(const gnnrt_graph *graph, int32_t number);
/* Positions, into out[rows, columns] (gnn.search). EDGE_IDS: the first edge from each u to each v, both int32; it is a
 * failure, said of `place`, where there is none. ORDER: the positions of x in ascending order. LARGEST: for each group
 * (tensor 1; without it there is one) the positions of the largest of x, -1 where there are fewer. */
enum { GNNRT_SEARCH_EDGE_IDS = 0, GNNRT_SEARCH_ORDER = 1, GNNRT_SEARCH_LARGEST = 2 };
GNNRT_API int32_t gnnrt_search(gnnrt_frame *frame, const char *place, int32_t what, const gnnrt_graph *graph,
                               const void *const *tensors, const int64_t *sizes, int32_t dtype, int32_t count,
                               int64_t rows, int64_t columns, int32_t *out);
/* Degrees [num_dst] or [num_src] int32, cached. */
GNNRT_API const int32_t *gnnrt_graph_in_degree(gnnrt_frame *frame, const gnnrt_graph *graph);
GNNRT_API const int32_t *gnnrt_graph_out_degree(gnnrt_frame *frame, const gnnrt_graph *graph);

/* Orders: cached on the graph for edges; made for this call for other index arrays (entries -1 are left out). */
GNNRT_API const gnnrt_order *gnnrt_in_order(gnnrt_frame *frame, const gnnrt_graph *graph);
GNNRT_API const gnnrt_order *gnnrt_out_order(gnnrt_frame *frame, const gnnrt_graph *graph);
GNNRT_API const gnnrt_order *gnnrt_order_by(gnnrt_frame *frame, const int32_t *index, int64_t count, int64_t rows);

/* What kernels read of an order; the gnnrt_order starts with it. Row r's entries are perm[ptr[r] .. ptr[r+1]).
 * perm and other have 64 more valid entries behind their end (copies of the last, or 0), so that prefetching may run
 * ahead. */
typedef struct gnnrt_order_view {
  const int64_t *ptr;  /* [rows + 1] */
  const int32_t *perm; /* [entries + 64] */
  int64_t rows;
  int64_t entries;
  int64_t num_slots; /* slots that cut rows need */
  /* [entries + 64]: of a graph's edges the node at the other end, so that kernels need not go through perm:
   * src[perm[p]] of gnnrt_in_order, dst[perm[p]] of gnnrt_out_order. NULL of gnnrt_order_by. */
  const int32_t *other;
} gnnrt_order_view;

/* A piece of work. `slot` < 0: rows [row_begin, row_end) are done whole and written to the results.
 * `slot` >= 0: one row, entries [entry_begin, entry_end) of it only, written to slot `slot` of the partial results.
 * Without an order entry_* are positions of the reduction that is cut, or 0. `phase` is 0 but in gnnrt_launch_group.
 * `first_slot` is the first slot of the row that the task is about, where that row is cut, else -1. */
typedef struct gnnrt_task {
  int64_t row_begin, row_end;
  int64_t entry_begin, entry_end;
  int64_t slot;
  int64_t phase;
  int64_t first_slot;
} gnnrt_task;

/* A kernel: args is an array of pointers and sizes whose layout the generated code knows. */
typedef void (*gnnrt_kernel)(void *const *args, const gnnrt_task *task);

enum {
  GNNRT_COMBINE_NONE = 0,
  GNNRT_COMBINE_SUM = 1,
  GNNRT_COMBINE_PROD = 2,
  GNNRT_COMBINE_MAX = 3,
  GNNRT_COMBINE_MIN = 4,
  GNNRT_COMBINE_ARGMAX = 5,
  GNNRT_COMBINE_ARGMIN = 6,
  GNNRT_COMBINE_TAGGED_MAX = 7,
  GNNRT_COMBINE_TAGGED_MIN = 8
};
/* How slots of one result are combined into its row. For MAX and MIN with a winner, `winner_*` are the i32 arrays that
 * go with it (else NULL): equal values keep the earlier slot's winner, a NaN wins over everything, and a slot whose
 * winner is -1 has no entry. ARGMAX, ARGMIN: as MAX, MIN, where the value itself is not wanted (`out` NULL).
 * TAGGED_MAX, TAGGED_MIN: as MAX, MIN with a winner, but that is a tag from 0 on, -1 of a slot that has no entry, and
 * -2 where entries of different tags are equal. The partial results are used up. Where `out`
 * or `winner_out` is NULL, what was combined stays in the first slot of the row. */
typedef struct gnnrt_combine {
  void *partial; /* [num_slots, row_elements] */
  void *out;     /* [rows, row_elements] */
  int32_t *winner_partial;
  int32_t *winner_out;
  int64_t row_elements;
  int32_t kind;
  int32_t dtype;
} gnnrt_combine;

/* What stands in profiles of a launch: the step and its source line, as "relu (gcn.gnn:12)", and how many bytes it asks
 * for and writes in this call (docs/runtime.md). */
typedef struct gnnrt_step {
  const char *name;
  int64_t bytes_read, bytes_written;
} gnnrt_step;

/* Runs a kernel over all rows of an order (tasks of equal work, cut rows combined). */
GNNRT_API int32_t gnnrt_launch_order(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                                     const gnnrt_order *order, const gnnrt_combine *combines, int32_t num_combines);
/* A group: a kernel that takes several steps over each row, each reading for the whole row what earlier ones made of
 * it. A phase that sweeps passes over the row's entries, and its slots are combined as `combines` say (there may be
 * none); one that does not works on the row alone, and has no combines. */
typedef struct gnnrt_phase {
  const gnnrt_combine *combines;
  int32_t num_combines;
  int32_t sweeps; /* 0 or 1 */
} gnnrt_phase;
/* Runs a group over all rows of an order. Tasks of whole rows have phase -1: the kernel takes all steps, row by row.
 * Cut rows go phase by phase: where it sweeps, a task for each piece with the phase and the piece's slot, and then its
 * combines; where it does not, a task for each cut row with the phase, slot -1 and all the row's entries. */
GNNRT_API int32_t gnnrt_launch_group(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                                     const gnnrt_order *order, const gnnrt_phase *phases, int32_t num_phases);
/* Runs a kernel over rows [0, rows), each of about `row_work` elements; no row is cut. */
GNNRT_API int32_t gnnrt_launch_rows(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                                    int64_t rows, int64_t row_work);
/* Runs a kernel over one row whose reduction of `entries` positions, each of about `entry_work` elements, is cut into
 * gnnrt_cut_slots(entries, entry_work) pieces. With one piece the task's slot is -1 and nothing is combined. */
GNNRT_API int32_t gnnrt_launch_cut(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                                   int64_t entries, int64_t entry_work, const gnnrt_combine *combines,
                                   int32_t num_combines);
GNNRT_API int64_t gnnrt_cut_slots(int64_t entries, int64_t entry_work);

/* C[M,N] = op(A) op(B), or C + op(A) op(B) where `add` is not 0; row-major; dtype F32 or F64. trans_a: A is [K,M];
 * trans_b: B is [N,K]. Fixed blocks of rows of C, or, where K is long and C small, of K, whose parts are combined
 * pairwise in `workspace` of gnnrt_gemm_workspace bytes. */
GNNRT_API int32_t gnnrt_gemm(gnnrt_frame *frame, const gnnrt_step *step, int32_t dtype, int32_t trans_a,
                             int32_t trans_b, int64_t m, int64_t n, int64_t k, const void *a, const void *b,
                             int32_t add, void *c, void *workspace);
GNNRT_API int64_t gnnrt_gemm_workspace(int32_t dtype, int64_t m, int64_t n, int64_t k);

/* Memory. A buffer lives from step `first` to step `last` (inclusive); bytes[i] is its size in this call. Fills
 * pointers[i] with 64-byte aligned addresses such that no two buffers alive at once overlap, each with 64 bytes of its
 * own behind its end; they are valid until the call ends. May be called again in a call, once for each phase. */
typedef struct gnnrt_lifetime {
  int32_t first, last;
} gnnrt_lifetime;
GNNRT_API int32_t gnnrt_reserve(gnnrt_frame *frame, int32_t num_buffers, const int64_t *bytes,
                                const gnnrt_lifetime *lifetimes, void **pointers);

/* How much of the working memory is taken, and of the orders and graphs made for this call: what an iteration of a loop
 * takes is given back at its end. */
typedef struct gnnrt_mark {
  int64_t block, used, orders, graphs;
} gnnrt_mark;
GNNRT_API void gnnrt_frame_mark(gnnrt_frame *frame, gnnrt_mark *mark);
GNNRT_API void gnnrt_frame_release(gnnrt_frame *frame, const gnnrt_mark *mark);

#ifdef __cplusplus
}
#endif
#endif

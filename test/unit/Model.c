/* Model.c - a model written by hand, and variants of it that must be refused. */
#include <gnnrt/abi.h>

#ifndef UNIT_NO_MODEL

static const int64_t nodes[] = {1, 1, 0};
static const gnnrt_size vector[] = {{nodes, 3, 0}};

static const gnnrt_arg_desc doubleArgs[] = {
    {"x", vector, GNNRT_ARG_TENSOR, GNNRT_INPUT, GNNRT_F64, 1, {-1, -1, -1}, 0, {0, 0, 0}},
    {"out", vector, GNNRT_ARG_TENSOR, GNNRT_OUTPUT, GNNRT_F64, 1, {-1, -1, -1}, 0, {0, 0, 0}},
};

static int32_t doubleBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  const double *x = buffers[0];
  double *out = gnnrt_frame_output(frame, 1);
  for (int64_t i = 0; i < sizes[0]; ++i)
    out[i] = 2 * x[i];
  return 0;
}

static const char *const setNames[] = {"N"};
static const gnnrt_entry_desc twice = {"twice", doubleArgs, setNames, doubleBody, 2, 1, GNNRT_ABI_VERSION, 0};
static const gnnrt_entry_desc again = {"again", doubleArgs, setNames, doubleBody, 2, 1, GNNRT_ABI_VERSION, 0};
static const gnnrt_entry_desc *const entries[] = {&twice, &again};

#ifdef UNIT_OTHER_ABI
enum { abiVersion = 999 };
#else
enum { abiVersion = GNNRT_ABI_VERSION };
#endif

#ifdef UNIT_OTHER_PROCESSOR
#define FEATURES "avx1024,teleport"
#else
#define FEATURES ""
#endif

__attribute__((visibility("default")))
const gnnrt_model_desc gnnc_model = {entries, "{\"source\": \"unit.gnn\"}", "imaginary-v9", FEATURES, 2, abiVersion};

#else

__attribute__((visibility("default"))) const int notAModel = 1;

#endif

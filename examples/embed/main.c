/* main.c - a compiled graph network in a C program: loads trained parameters, infers, and takes a step of training.
 *
 * karate.h is the header that gnnc writes beside libkarate.so. Usage: embed karate.safetensors trained.safetensors
 */
#include "karate.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

#define MEMBERS 34

/* Every function of the runtime and of the model returns a status; the context keeps the message. */
static void check(gnnrt_context *ctx, gnnrt_status status) {
  if (status == GNNRT_OK)
    return;
  fprintf(stderr, "embed: %s: %s\n", gnnrt_status_name(status), gnnrt_last_error(ctx));
  exit(1);
}

/* Finds the tensors of the file that the names say, one after another. */
static void find(const tensor_file *file, const char *const *names, int count, tensor *out) {
  for (int k = 0; k < count; ++k)
    if (tensor_find(file, names[k], &out[k]))
      exit(1);
}

int main(int argc, char **argv) {
  static const char *const data_names[] = {"g.src", "g.dst", "x", "y", "train"};
  static const char *const parameter_names[] = {"p.first.w", "p.first.b", "p.second.w", "p.second.b"};
  tensor_file data_file, trained_file;
  tensor data[5], p[4], m[4], v[4], step, faction, loss;
  int32_t factions[MEMBERS];
  const int32_t *known;
  float losses[2];
  int64_t steps = 0;
  int right = 0;
  gnnrt_context *ctx;
  gnnrt_graph *g;

  if (argc != 3) {
    fprintf(stderr, "usage: embed karate.safetensors trained.safetensors\n");
    return 2;
  }
  if (tensor_file_read(argv[1], &data_file) || tensor_file_read(argv[2], &trained_file))
    return 1;
  find(&data_file, data_names, 5, data);
  find(&trained_file, parameter_names, 4, p);

  /* A context on one thread, and the graph. Tensors stay where they are: nothing is copied. */
  check(NULL, gnnrt_context_create(1, &ctx));
  check(ctx, gnnrt_graph_from_coo(ctx, MEMBERS, MEMBERS, &data[0].dl, &data[1].dl, &g));

  tensor_on(&faction, factions, kDLInt, 32, 1, (int64_t[]){MEMBERS});
  check(ctx, predict(ctx, g, &p[0].dl, &p[1].dl, &p[2].dl, &p[3].dl, &data[2].dl, &faction.dl));
  known = data[3].dl.data;
  for (int k = 0; k < MEMBERS; ++k)
    right += factions[k] == known[k];
  printf("%d of %d members are put into their faction\n", right, MEMBERS);

  /* A step of training goes on from the trained parameters, with Adam's state at zero. They are updated in place. */
  for (int k = 0; k < 4; ++k) {
    int64_t elements = 1;
    for (int d = 0; d < p[k].dl.ndim; ++d)
      elements *= p[k].shape[d];
    tensor_on(&m[k], calloc((size_t)elements, sizeof(float)), kDLFloat, 32, p[k].dl.ndim, p[k].shape);
    tensor_on(&v[k], calloc((size_t)elements, sizeof(float)), kDLFloat, 32, p[k].dl.ndim, p[k].shape);
  }
  tensor_on(&step, &steps, kDLInt, 64, 0, NULL);
  for (int k = 0; k < 2; ++k) {
    tensor_on(&loss, &losses[k], kDLFloat, 32, 0, NULL);
    check(ctx, train_step(ctx, g, &p[0].dl, &p[1].dl, &p[2].dl, &p[3].dl, &m[0].dl, &m[1].dl, &m[2].dl, &m[3].dl,
                          &v[0].dl, &v[1].dl, &v[2].dl, &v[3].dl, &step.dl, &data[2].dl, &data[3].dl, &data[4].dl,
                          train_step_lr_default, &loss.dl));
  }
  printf("a gradient step takes the loss from %.6f to %.6f\n", losses[0], losses[1]);

  for (int k = 0; k < 4; ++k) {
    free(m[k].dl.data);
    free(v[k].dl.data);
  }
  gnnrt_graph_release(g);
  gnnrt_context_destroy(ctx);
  tensor_file_free(&data_file);
  tensor_file_free(&trained_file);
  return 0;
}

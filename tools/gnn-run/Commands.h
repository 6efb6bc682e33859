// The commands of gnn-run and their options. Each returns the exit status.
#ifndef GNN_RUN_COMMANDS_H
#define GNN_RUN_COMMANDS_H

#include "Inputs.h"

namespace gnnrun {

struct CommonOptions {
  std::string model;
  InputOptions inputs;
  int threads = 0;
  bool quiet = false;
  std::string json; // where to write the result; "-": standard output
};

struct TrainOptions : CommonOptions {
  std::string step, eval;
  int64_t epochs = 200;
  std::optional<uint64_t> seed;
  std::string seeds; // "0..9" or "1,5,7"
  std::string stop, mode = "min";
  int64_t patience = 0; // 0: none
  std::vector<std::string> report;
  std::string checkpoint, resume;
  int64_t logEvery = 0; // 0: a tenth of the epochs in a pipe, none on a terminal
};

/// Options of the commands that call an entry point or a pair once.
struct CallOptions : CommonOptions {
  std::string entry, checkpoint, output;
};

struct GradcheckOptions : CallOptions {
  std::vector<double> steps;
  std::optional<double> tolerance;
  int64_t maxEntries = 256, directions = 8;
};

struct BenchOptions : CallOptions {
  int64_t repeat = 20, warmup = 3;
  bool profile = false;
};

int train(const TrainOptions &options);
int infer(const CallOptions &options);
int vjp(const CallOptions &options);
int gradcheck(const GradcheckOptions &options);
int bench(const BenchOptions &options);

} // namespace gnnrun

#endif

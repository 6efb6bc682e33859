// gnn-run: runs compiled models on files. The command line; each command is in a file of its own.
#include "Commands.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <new>

using namespace gnnrun;

namespace {

void addCommon(CLI::App &command, CommonOptions &options) {
  command.add_option("model", options.model, "Shared object made by gnnc build")->required()->type_name("LIB");
  command.add_option("--data", options.inputs.data, "safetensors file with inputs, by path; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--rename", options.inputs.rename, "What the data calls an argument: train=train_mask,g=graph")
      ->type_name("PATH=NAME")
      ->allow_extra_args(false);
  command.add_option("--set", options.inputs.set, "Value of a scalar: lr=0.005")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--fill", options.inputs.fill, "A tensor with one value everywhere: w=1")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--size", options.inputs.size,
                  "Size of a dimension: Hidden=16, or a name of the data's metadata: Out=classes")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  command
      .add_option("--graph", options.inputs.graph,
                  "Graph from a MatrixMarket file (.mtx) or lines `src dst [weight]`; weights are called g.weight")
      ->type_name("PATH=FILE")
      ->allow_extra_args(false);
  command.add_option("--threads", options.threads, "Threads (default: as many as the machine offers)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  command.add_option("--json", options.json, "Write the result as JSON; - for standard output")->type_name("FILE");
  command.add_flag("--quiet", options.quiet, "Print no progress");
  command.add_flag("--verbose", options.inputs.verbose, "Say what is converted");
}

void addTrain(CLI::App &app, TrainOptions &options) {
  CLI::App *command =
      app.add_subcommand("train", "Train: loop over an entry point whose inout arguments are the parameters");
  addCommon(*command, options);
  command->add_option("--step", options.step, "Entry point of a training step")->required()->type_name("ENTRY");
  command->add_option("--eval", options.eval, "Entry point called after each step, for its scalars")
      ->type_name("ENTRY");
  command->add_option("--epochs", options.epochs, "Number of steps")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40).description(""));
  command->add_option("--seed", options.seed, "Seed of initialisers and keys (default: 0, or the checkpoint's)")
      ->type_name("N");
  command->add_option("--seeds", options.seeds, "Several runs: 0..9 or 1,5,7")->type_name("LIST");
  command->add_option("--stop", options.stop, "Scalar that chooses the epoch that is kept")->type_name("SCALAR");
  command->add_option("--patience", options.patience, "Stop after so many epochs without improvement of --stop")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40).description(""));
  command->add_option("--mode", options.mode, "Whether small or large values of --stop are good: min or max")
      ->capture_default_str()
      ->type_name("MODE")
      ->check(CLI::IsMember({"min", "max"}).description(""));
  command->add_option("--report", options.report, "Scalars to report (default: all)")
      ->type_name("SCALAR")
      ->allow_extra_args(false);
  command->add_option("--checkpoint", options.checkpoint, "Where to write the kept parameters (safetensors)")
      ->type_name("FILE");
  command->add_option("--resume", options.resume, "Checkpoint to go on from")->type_name("FILE");
  command
      ->add_option("--log-every", options.logEvery,
                   "Log every k-th epoch (default: a tenth of them; none on a terminal)")
      ->type_name("K")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40).description(""));
}

CLI::App *addCall(CLI::App &app, const char *name, const char *help, CallOptions &options,
                  const char *entryOption = "--entry,--vjp",
                  const char *entryHelp = "Entry point, or function with an `export vjp`") {
  CLI::App *command = app.add_subcommand(name, help);
  addCommon(*command, options);
  command->add_option(entryOption, options.entry, entryHelp)->required()->type_name("NAME");
  command->add_option("--checkpoint,--params", options.checkpoint, "Parameters by path (safetensors)")
      ->type_name("FILE");
  command->add_option("--seed", options.inputs.seed, "Seed of keys and of what is drawn at random")
      ->capture_default_str()
      ->type_name("N");
  return command;
}

void addGradcheck(CLI::App &app, GradcheckOptions &options) {
  CLI::App *command =
      addCall(app, "gradcheck", "Compare the gradients of an `export vjp` pair with central differences", options);
  command
      ->add_option("--random", options.inputs.random,
                   "Random graph for what the data lacks: nodes=20,edges=60,isolated,loops,duplicates,hub; "
                   "`g:` in front for one graph only")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  command->add_option("--draw", options.inputs.draw, "Draw a missing input uniformly from an interval: w=0.5..1.5")
      ->type_name("PATH=LO..HI")
      ->allow_extra_args(false);
  command
      ->add_option("--eps", options.steps,
                   "Step sizes; each tensor counts with its best (default: 1e-3,1e-4,1e-5,1e-6)")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--tolerance", options.tolerance, "Largest relative error (default: 1e-6)")->type_name("X");
  command->add_option("--max-entries", options.maxEntries, "Tensors up to this size are compared in every entry")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(int64_t(8), int64_t(1) << 40).description(""));
  command->add_option("--directions", options.directions, "Random directions for larger tensors")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20).description(""));
}

void addBench(CLI::App &app, BenchOptions &options) {
  CLI::App *command = addCall(app, "bench", "Call an entry point again and again and say how long that takes", options,
                              "entry,--entry", "Entry point");
  command->add_option("--repeat", options.repeat, "Number of calls that are measured")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30));
  command->add_option("--warmup", options.warmup, "Calls before that, which are not")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 30));
  command->add_flag("--profile", options.profile, "Say which steps take the time, with their lines in the program");
}

/// Messages may quote bytes of damaged files; what is no UTF-8 text must not reach the terminal.
std::string printable(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    size_t length = byte < 0x80 ? 1 : byte < 0xC2 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF5 ? 4 : 0;
    bool good = length != 0 && i + length <= text.size() && (byte >= 0x20 || byte == '\n') && byte != 0x7F;
    for (size_t k = 1; good && k < length; ++k)
      good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    result += good ? text.substr(i, length) : "?";
    i += good ? length : 1;
  }
  return result;
}

int run(int argc, char **argv) {
  CLI::App app("Runs models compiled by gnnc on files.", "gnn-run");
  app.set_version_flag("--version", std::string("gnn-run ") + GNN_RUN_VERSION + ", dense products by OpenBLAS for " +
                                        gnnrt_blas_kernels());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App *failed, const CLI::Error &error) {
    std::vector<CLI::App *> commands = failed->get_subcommands();
    if (commands.empty() && error.get_name() == "RequiredError")
      return std::string(
          "gnn-run: error: say what to do: train, infer, gradcheck or vjp\nRun `gnn-run --help` for more.\n");
    return fmt::format("gnn-run: error: {}\nRun `gnn-run {}--help` for the options.\n", error.what(),
                       commands.empty() ? "" : commands.front()->get_name() + " ");
  });
  TrainOptions trainOptions;
  CallOptions inferOptions;
  GradcheckOptions gradcheckOptions;
  CallOptions vjpOptions;
  BenchOptions benchOptions;
  addTrain(app, trainOptions);
  addCall(app, "infer", "Call an entry point once and write its results", inferOptions)
      ->add_option("-o,--output", inferOptions.output, "Where to write the results (safetensors)")
      ->type_name("FILE");
  addGradcheck(app, gradcheckOptions);
  addBench(app, benchOptions);
  addCall(app, "vjp",
          "Call an `export vjp` pair; cotangents are the data's <result>_adj, gradients come as <input>_adj",
          vjpOptions)
      ->add_option("-o,--output", vjpOptions.output, "Where to write results and gradients (safetensors)")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.got_subcommand("train"))
    return train(trainOptions);
  if (app.got_subcommand("infer"))
    return infer(inferOptions);
  if (app.got_subcommand("bench"))
    return bench(benchOptions);
  return app.got_subcommand("vjp") ? vjp(vjpOptions) : gradcheck(gradcheckOptions);
}

} // namespace

int main(int argc, char **argv) {
  // A file size limit shows as an error of write, which is reported, rather than by killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const UsageError &error) {
    fmt::print(stderr, "gnn-run: error: {}\n", printable(error.what()));
    return 2;
  } catch (const std::bad_alloc &) {
    fmt::print(stderr, "gnn-run: error: out of memory; the tensors of this model and data don't fit\n");
  } catch (const std::exception &error) {
    fmt::print(stderr, "gnn-run: error: {}\n", printable(error.what()));
  }
  return 1;
}

// gnnc's command line. It fills CompileOptions and hands over to the driver.
#include "StandardLibrary.h"
#include "gnnc/Driver/Compiler.h"
#include "gnnc/Driver/Format.h"
#include "gnnc/Driver/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <CLI/CLI.hpp>
#include <utility>

using namespace gnnc;

namespace {
constexpr std::pair<const char *, Emit> emitNames[] = {
    {"ast", Emit::ast},         {"gnn", Emit::gnn},           {"grad", Emit::grad},
    {"kernels", Emit::kernels}, {"llvm", Emit::llvm},         {"obj", Emit::object},
    {"header", Emit::header},   {"manifest", Emit::manifest}, {"so", Emit::sharedObject}};
constexpr std::pair<const char *, RealType> realNames[] = {{"f32", RealType::f32}, {"f64", RealType::f64}};

/// An option whose value is one of `names`.
template <typename T, size_t n>
CLI::Option *addChoice(CLI::App &command, const std::string &option, T &value,
                       const std::pair<const char *, T> (&names)[n], const std::string &description) {
  return command.add_option_function<std::string>(
      option,
      [option, &value, &names](const std::string &given) {
        std::string known;
        for (const auto &[name, meaning] : names) {
          if (given == name) {
            value = meaning;
            return;
          }
          known += (known.empty() ? "" : ", ") + std::string(name);
        }
        throw CLI::ValidationError(option, "'" + given + "' is none of " + known);
      },
      description);
}

/// `name=64`. The message goes behind "-D: ".
std::string parseSize(llvm::StringRef text, CompileOptions &options) {
  auto [name, value] = text.split('=');
  bool isName = !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
                llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  int64_t size = 0;
  if (!isName || value.empty())
    return "write a name and its size, as in -D Hidden=64, not '" + text.str() + "'";
  if (value.getAsInteger(10, size) || size < 0)
    return "the size of '" + name.str() + "' is not a number from 0 up: '" + value.str() + "'";
  for (const auto &[known, knownSize] : options.sizes)
    if (known == name && knownSize != size)
      return "'" + name.str() + "' is given twice, as " + std::to_string(knownSize) + " and " + std::to_string(size);
  options.sizes.emplace_back(name.str(), size);
  return "";
}

/// Options on messages.
void addMessageOptions(CLI::App &command, unsigned &errorLimit, std::string &colour) {
  command.add_option("--error-limit", errorLimit, "Show at most N errors (20); 0 shows all")->type_name("N");
  command.add_option("--color", colour, "Colour messages: auto (default), always, never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
}

/// Options of every command that compiles.
void addCommonOptions(CLI::App &command, CompileOptions &options, std::string &colour) {
  command
      .add_option_function<std::vector<std::string>>(
          "-D",
          [&](const std::vector<std::string> &values) {
            for (const std::string &value : values)
              if (std::string message = parseSize(value, options); !message.empty())
                throw CLI::ValidationError("-D", message);
          },
          "Make the dimension parameter NAME a constant")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("-I", options.importPaths, "Look for imported files in this folder, before the standard library")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  addChoice(command, "--real", options.real, realNames, "What 'real' is: f32 (default) or f64")->type_name("TYPE");
  addMessageOptions(command, options.errorLimit, colour);
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CompileOptions options;
  std::string colour = "auto";
  std::vector<std::string> checkInputs;

  CLI::App app("gnnc compiles graph neural networks, and their derivatives, to shared objects with a C interface.",
               "gnnc");
  app.set_version_flag("--version", "gnnc " GNNC_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);

  CLI::App &build = *app.add_subcommand("build", "Compile a program to a shared object, with a C header beside it");
  build.add_option("input", options.input, "The program; '-' is standard input")->required()->type_name("FILE.gnn");
  build.add_option("-o", options.output, "Where to write; '-' is standard output")->type_name("FILE");
  build.add_option("--target", options.target, "What to compile for: cpu")
      ->type_name("TARGET")
      ->check(CLI::IsMember({"cpu"}).description(""));
  build.add_option("--cpu", options.cpu, "The processor: native (default), x86-64-v3 and the like")->type_name("NAME");
  addChoice(build, "--emit", options.emit, emitNames,
            "Stop at a stage and write it: ast, gnn, grad, kernels, llvm, obj, header, manifest, so (default)")
      ->type_name("STAGE");
  build.add_flag("!--no-fuse", options.fuse, "Make every operation a kernel of its own");
  std::vector<std::string> rewrites;
  for (llvm::StringRef name : Rewrites::names())
    rewrites.push_back(name.str());
  build
      .add_option("--disable-rewrite", options.disabledRewrites,
                  "For developers, leave out one rewrite: " + llvm::join(rewrites, ", "))
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(rewrites).description(""));
  std::vector<std::string> reports;
  build.add_option("--report", reports, "Explain decisions of the compiler on standard error: memory, fusion")
      ->type_name("TOPIC")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"memory", "fusion"}).description(""));
  addCommonOptions(build, options, colour);

  CLI::App &check = *app.add_subcommand("check", "Check programs without compiling them");
  check.add_option("inputs", checkInputs, "The programs; '-' is standard input")->required()->type_name("FILE.gnn");
  addCommonOptions(check, options, colour);

  FormatOptions formatting;
  CLI::App &format = *app.add_subcommand("fmt", "Lay out programs; the result goes to standard output");
  format.add_option("inputs", formatting.inputs, "The programs; '-' is standard input")
      ->required()
      ->type_name("FILE.gnn");
  CLI::Option *formatOutput = format.add_option("-o", formatting.output, "Where to write")->type_name("FILE");
  CLI::Option *inPlace = format.add_flag("--in-place", formatting.inPlace, "Write each file in its own place");
  format.add_flag("--check", formatting.check, "Write nothing; name the files that would change, and fail")
      ->excludes(inPlace)
      ->excludes(formatOutput);
  formatOutput->excludes(inPlace);
  addMessageOptions(format, formatting.errorLimit, colour);

  try {
    app.parse(argc, argv);
    if (format.parsed() && !formatting.check && !formatting.inPlace && formatting.inputs.size() > 1)
      throw CLI::ValidationError("fmt", "several programs need --in-place or --check");
    if (formatting.inPlace && llvm::is_contained(formatting.inputs, "-"))
      throw CLI::ValidationError("--in-place", "standard input has no place to write to");
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help, --version
    std::vector<CLI::App *> commands = app.get_subcommands();
    bool noCommand = commands.empty() && error.get_name() == "RequiredError";
    llvm::errs() << "gnnc: error: " << (noCommand ? "say what to do: build, check or fmt" : error.what()) << "\n";
    llvm::errs() << "gnnc: see 'gnnc " << (commands.empty() ? "" : commands.front()->get_name() + " ") << "--help'\n";
    return 2;
  }

  options.reportMemory = llvm::is_contained(reports, "memory");
  options.reportFusion = llvm::is_contained(reports, "fusion");
  options.colour = colour == "always" || (colour == "auto" && llvm::sys::Process::StandardErrHasColors());
  if (format.parsed()) {
    formatting.colour = options.colour;
    return runFormat(formatting, llvm::errs());
  }
  options.stdlibPath = findStandardLibrary(argv[0]);
  return build.parsed() ? runBuild(options, llvm::errs()) : runCheck(checkInputs, options, llvm::errs());
}

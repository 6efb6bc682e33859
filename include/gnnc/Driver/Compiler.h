// What the command line asks for, and the two things that gnnc does with it. A tool fills CompileOptions and calls one
// of the functions; everything else is behind them.
#ifndef GNNC_DRIVER_COMPILER_H
#define GNNC_DRIVER_COMPILER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gnnc {

/// What a build gives, in the order of the stages.
enum class Emit : uint8_t {
  ast,          // the syntax tree
  gnn,          // the gnn dialect, as elaborated
  grad,         // the same after differentiation
  kernels,      // row kernels and views
  llvm,         // LLVM IR
  object,       // a relocatable object
  header,       // the C header
  manifest,     // the manifest, as JSON
  sharedObject, // the shared object, with its C header beside it
};

/// The type that `real` stands for.
enum class RealType : uint8_t { f32, f64 };

struct CompileOptions {
  std::string input;  // a path, or "-" for standard input
  std::string output; // a path, "-" for standard output, or empty: see outputPath
  Emit emit = Emit::sharedObject;
  RealType real = RealType::f32;
  std::string target = "cpu";
  /// A processor in LLVM's names, or "native".
  std::string cpu = "native";
  /// -D name=size, in the order given: dimension parameters that are constants.
  std::vector<std::pair<std::string, int64_t>> sizes;
  /// -I, searched before the standard library.
  std::vector<std::string> importPaths;
  /// The folder of the standard library; empty where none was found.
  std::string stdlibPath;
  /// Whether kernels are fused with each other.
  bool fuse = true;
  /// Rewrites that are left out.
  std::vector<std::string> disabledRewrites;
  /// Say on the diagnostics stream how memory is used.
  bool reportMemory = false;
  /// And which operations became which kernel.
  bool reportFusion = false;
  /// How many errors are shown; 0 for all.
  unsigned errorLimit = 20;
  /// Whether messages are coloured.
  bool colour = false;
};

/// Where a build writes to: `output`, or what stands for it. Text goes to standard output ("-"), `dir/gcn.gnn` becomes
/// `libgcn.so` or `gcn.o` in the current folder.
std::string outputPath(const CompileOptions &options);

/// Compiles the input and writes what `emit` names; messages go to `diagnostics`. Gives the exit status: 0, or 1 after
/// an error, and then no output has been touched.
int runBuild(const CompileOptions &options, llvm::raw_ostream &diagnostics);

/// Checks files without making anything. `options.input` plays no part. Gives the exit status.
int runCheck(llvm::ArrayRef<std::string> inputs, const CompileOptions &options, llvm::raw_ostream &diagnostics);

} // namespace gnnc

#endif // GNNC_DRIVER_COMPILER_H

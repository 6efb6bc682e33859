// An entry point as its callers see it: read from the attributes of its function before that is lowered, and used for
// the object's tables, the header and the manifest.
#ifndef GNNC_CONVERSION_ENTRYINFO_H
#define GNNC_CONVERSION_ENTRYINFO_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace gnnc {

enum class ArgKind { Graph, Tensor, Scalar, Size };
enum class ArgMode { In, InOut, Out };
enum class DType { F32, F64, I32, I64, Bool, Index, U8, Key };

/// "f32", "index", ...: the manifest's names.
llvm::StringRef dtypeName(DType dtype);
/// Bytes of an element in the body's memory.
unsigned dtypeBytes(DType dtype);

struct ArgInfo {
  std::string path;
  ArgKind kind = ArgKind::Tensor;
  ArgMode mode = ArgMode::In;
  DType dtype = DType::F32;
  std::vector<gnn::SizeAttr> dims;
  int64_t sets[3] = {-1, -1, -1}; // of a graph: source, target, edges; of a size, or an integer that is one: its set
  gnn::SizeAttr into;             // what an index must stay below
  mlir::Attribute defaultValue;   // of a scalar, if it has one
  mlir::DictionaryAttr init;      // of a parameter, if it says how it is made
};

/// A vjp's pair of functions.
struct VjpInfo {
  std::string of, forward, backward;
  std::vector<std::string> wrt;
};

/// The values that a forward function keeps for its backward function: parts of one vector of bytes, the argument
/// "residuals". It begins with a magic number, a hash of what is kept, the number of sets and their sizes, in words of
/// 8 bytes; then come the values, each at a multiple of 64 bytes.
struct ResidualInfo {
  unsigned arg;                   // of the C function
  std::vector<mlir::Type> values; // tensors
  int64_t hash;                   // the same for both functions of a pair
  int64_t headerBytes;
  gnn::SizeAttr bytes; // enough for the whole; for the forward function in sets that arguments determine
};

/// A size that no argument determines alone, taken from an argument's shape as a set of its own and checked by the
/// body.
struct SizeCheck {
  int64_t set;
  gnn::SizeAttr expected;
  std::string what; // "`y_adj` has the wrong size in dimension 1"
};

/// A size that must not be negative.
struct SizeCondition {
  gnn::SizeAttr size;
  std::string message;
};

struct EntryInfo {
  std::string name;
  std::string doc;
  std::vector<std::string> setNames;
  std::vector<ArgInfo> args; // of the C function: inputs, then results
  unsigned inputs = 0;       // how many of them are inputs
  // For each block argument and each result of the function: its C argument. Residuals share one.
  std::vector<unsigned> argumentOf, resultOf;
  bool failsLate = false; // the body may fail after it began to write
  std::optional<VjpInfo> vjp;
  std::optional<ResidualInfo> residuals;
  std::vector<SizeCheck> checks;
  std::vector<SizeCondition> conditions;

  std::string setName(int64_t id) const;
  std::string sizeText(gnn::SizeAttr size) const;
};

/// The number of a residual among an argument's or result's attributes.
std::optional<int64_t> residualNumber(mlir::DictionaryAttr attrs);

/// Reads the attributes of an entry's function. Fails, with an error at the function, where they contradict its type.
mlir::FailureOr<EntryInfo> readEntry(mlir::func::FuncOp func);

} // namespace gnnc

#endif

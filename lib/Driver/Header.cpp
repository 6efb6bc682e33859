// The C header of a model: a function for each entry, with every argument's shape in the program's own names.
#include "CodeGen.h"

#include "gnnc/Frontend/CNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <charconv>

using namespace llvm;
using namespace gnnc;

std::string gnnc::identifier(StringRef path) {
  std::string name;
  for (char c : path)
    name += isAlnum(c) ? c : '_';
  if (name.empty() || isDigit(name[0]))
    name = "_" + name;
  if (isCKeyword(name) || name == "ctx")
    name += '_';
  return name;
}

std::string gnnc::shortestText(mlir::FloatAttr number) {
  char text[64];
  double value = number.getValueAsDouble();
  std::to_chars_result end = number.getType().isF32()
                                 ? std::to_chars(text, text + sizeof(text), static_cast<float>(value))
                                 : std::to_chars(text, text + sizeof(text), value);
  return {text, end.ptr};
}

static bool isReal(DType dtype) { return dtype == DType::F32 || dtype == DType::F64; }

static std::string cType(const ArgInfo &arg) {
  switch (arg.kind) {
  case ArgKind::Graph:
    return "const gnnrt_graph *";
  case ArgKind::Tensor:
    return "const DLTensor *";
  case ArgKind::Size:
    return "int64_t ";
  case ArgKind::Scalar:
    return isReal(arg.dtype) ? "double " : arg.dtype == DType::Key ? "uint64_t " : "int64_t ";
  }
  return "";
}

static std::string shape(const EntryInfo &entry, const ArgInfo &arg) {
  std::vector<std::string> dims;
  for (gnn::SizeAttr dim : arg.dims)
    dims.push_back(entry.sizeText(dim));
  return "[" + join(dims, ", ") + "]";
}

/// A number as a C expression.
static std::string numberText(mlir::Attribute attr) {
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(attr)) {
    std::string number = shortestText(real);
    if (real.getValue().isNaN())
      return "(0.0 / 0.0)";
    if (real.getValue().isInfinity())
      return real.getValue().isNegative() ? "(-1.0 / 0.0)" : "(1.0 / 0.0)";
    return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attr))
    return integer.getType().isInteger(1) ? (integer.getValue().getBoolValue() ? "1" : "0")
                                          : std::to_string(integer.getInt());
  return "";
}

/// One line about an argument: "f32 [g.nodes, In], updated in place".
static std::string describe(const EntryInfo &entry, const ArgInfo &arg) {
  switch (arg.kind) {
  case ArgKind::Graph:
    return "a graph: " + entry.setName(arg.sets[0]) + " -> " + entry.setName(arg.sets[1]) + ", edges " +
           entry.setName(arg.sets[2]);
  case ArgKind::Size:
    return "the size of " + entry.setName(arg.sets[0]);
  case ArgKind::Scalar:
  case ArgKind::Tensor:
    break;
  }
  std::string text = arg.dtype == DType::Index ? "int32 or int64"
                     : arg.dtype == DType::Key ? "a random key"
                                               : dtypeName(arg.dtype).str();
  if (arg.kind == ArgKind::Tensor)
    text += " " + shape(entry, arg);
  if (arg.dtype == DType::Index && arg.into)
    text += ", each in [0, " + entry.sizeText(arg.into) + ")";
  if (arg.mode == ArgMode::InOut)
    text += ", updated in place";
  if (arg.mode == ArgMode::Out)
    text += ", written";
  if (arg.defaultValue)
    text += ", usually " + numberText(arg.defaultValue);
  return text;
}

/// The names of an entry's parameters in C, all different.
static std::vector<std::string> parameterNames(const EntryInfo &entry) {
  StringSet<> taken;
  std::vector<std::string> names;
  for (const ArgInfo &arg : entry.args) {
    std::string name = identifier(arg.path);
    while (!taken.insert(name).second)
      name += '_';
    names.push_back(name);
  }
  return names;
}

static void writeEntry(raw_ostream &os, const EntryInfo &entry) {
  std::vector<std::string> names = parameterNames(entry);
  size_t width = 0;
  for (const std::string &name : names)
    width = std::max(width, name.size());
  os << "/* " << entry.name;
  if (!entry.doc.empty()) {
    os << ": ";
    SmallVector<StringRef> lines;
    StringRef(entry.doc).split(lines, '\n');
    for (auto [i, line] : enumerate(lines)) {
      os << (i ? "\n * " : "");
      // What would end the comment, or begin another in it.
      for (auto [k, c] : enumerate(line))
        os << (k && ((c == '/' && line[k - 1] == '*') || (c == '*' && line[k - 1] == '/')) ? " " : "") << c;
    }
  }
  os << "\n *\n";
  for (auto [name, arg] : zip(names, entry.args))
    os << " * " << left_justify(name, width) << "  " << describe(entry, arg) << '\n';
  os << " */\n";
  for (auto [name, arg] : zip(names, entry.args))
    if (arg.defaultValue)
      os << "#define " << entry.name << "_" << name << "_default " << numberText(arg.defaultValue) << '\n';
  os << "gnnrt_status " << entry.name << "(gnnrt_context *ctx";
  for (auto [name, arg] : zip(names, entry.args))
    os << ",\n    " << cType(arg) << name;
  os << ");\n\n";
}

std::string gnnc::makeHeader(ArrayRef<EntryInfo> entries, const ModelInfo &model) {
  std::string guard = "GNNC_" + StringRef(identifier(sys::path::stem(model.source))).upper() + "_H";
  std::string text;
  raw_string_ostream os(text);
  os << "/* The entry points of " << model.source << ", made by gnnc " << versionText << " (real is " << model.real
     << ").\n *\n"
     << " * Every function returns GNNRT_OK, or a status whose message gnnrt_last_error(ctx) gives; when it fails, "
        "nothing that it\n"
     << " * was given has been changed. Tensors are row-major and contiguous; a tensor of [] holds one number. Shapes "
        "are written in the\n"
     << " * names of the program; sizes of equal name have to agree. One call at a time may use a context.\n */\n";
  os << "#ifndef " << guard << "\n#define " << guard << "\n\n#include <gnnrt/gnnrt.h>\n\n";
  os << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const EntryInfo &entry : entries)
    writeEntry(os, entry);
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

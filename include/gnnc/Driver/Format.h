// `gnnc fmt`: files in, formatted files out.
#ifndef GNNC_DRIVER_FORMAT_H
#define GNNC_DRIVER_FORMAT_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace gnnc {

struct FormatOptions {
  std::vector<std::string> inputs; // paths, or "-" for standard input
  std::string output = "-";        // for one input
  bool inPlace = false;            // write each file in its own place
  bool check = false;              // write nothing, name the files that would change
  unsigned errorLimit = 20;
  bool colour = false;
};

/// Gives the exit status: 0; 1 after an error, or, for `check`, where a file would change. A file with errors is left
/// as it is, and the others are done.
int runFormat(const FormatOptions &options, llvm::raw_ostream &messages);

} // namespace gnnc

#endif // GNNC_DRIVER_FORMAT_H

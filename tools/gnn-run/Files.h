// Writing files so that a reader never sees half of one: everything goes to a new file beside the target, which takes
// the target's name when it is complete. Whatever fails before that leaves the old file as it was.
#ifndef GNN_RUN_FILES_H
#define GNN_RUN_FILES_H

#include "Support.h"
#include <span>

namespace gnnrun {

using Bytes = std::span<const std::byte>;

/// Writes the pieces one after another as the whole content of `path`.
void writeFile(const std::string &path, const std::vector<Bytes> &pieces);
void writeFile(const std::string &path, const std::string &text);

/// Fails where writeFile would surely fail, so that a long run is not lost on a wrong path.
void checkWritable(const std::string &path);

std::string readText(const std::string &path);

} // namespace gnnrun

#endif

// Reading and generating edge lists; see GraphSource.h.
#include "GraphSource.h"
#include "Files.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace gnnrun {
namespace {

/// Words of a line, separated by blanks or commas.
std::vector<std::string> words(const std::string &line) {
  std::vector<std::string> result;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r,;", at)) != std::string::npos) {
    size_t end = std::min(line.find_first_of(" \t\r,;", at), line.size());
    result.push_back(line.substr(at, end - at));
    at = end;
  }
  return result;
}

/// Walks a file line by line and knows where it is.
class LineReader {
public:
  explicit LineReader(const std::string &path) : path(path), text(readText(path)) {}

  bool next(std::string &line) {
    if (!std::getline(text, line))
      return false;
    ++number;
    return true;
  }
  /// The next line that is neither empty nor a comment, as words.
  bool nextWords(std::vector<std::string> &result) {
    std::string line;
    while (next(line)) {
      std::string_view content = trim(line);
      if (content.empty() || content.front() == '#' || content.front() == '%')
        continue;
      result = words(line);
      return true;
    }
    return false;
  }
  [[noreturn]] void damaged(const std::string &why) const { fail("{}:{}: {}", path, number, why); }

  int64_t integer(const std::string &word) const {
    std::optional<int64_t> value = parseNumber<int64_t>(word);
    if (!value)
      damaged(fmt::format("'{}' is not an integer", word));
    return *value;
  }
  double real(const std::string &word) const {
    std::optional<double> value = parseNumber<double>(word);
    if (!value)
      damaged(fmt::format("'{}' is not a number", word));
    return *value;
  }

private:
  std::string path;
  std::istringstream text;
  int64_t number = 0;
};

std::string lower(std::string text) {
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

EdgeList readMatrixMarket(const std::string &path) {
  LineReader lines(path);
  std::string banner;
  if (!lines.next(banner))
    fail("{} is empty; a MatrixMarket file is expected", path);
  std::vector<std::string> head = words(lower(banner));
  if (head.size() < 5 || head[0] != "%%matrixmarket" || head[1] != "matrix")
    lines.damaged("a MatrixMarket file begins with '%%MatrixMarket matrix coordinate ...'");
  if (head[2] != "coordinate")
    lines.damaged("only the coordinate format is read; store the matrix as coordinates");
  bool pattern = head[3] == "pattern";
  if (!pattern && head[3] != "real" && head[3] != "integer" && head[3] != "double")
    lines.damaged(fmt::format("entries of type '{}' are not read; real, integer or pattern is expected", head[3]));
  bool skew = head[4] == "skew-symmetric";
  bool symmetric = head[4] == "symmetric" || skew;
  if (!symmetric && head[4] != "general")
    lines.damaged(fmt::format("symmetry '{}' is not read; general, symmetric or skew-symmetric is expected", head[4]));

  std::vector<std::string> line;
  if (!lines.nextWords(line) || line.size() != 3)
    lines.damaged("the line with rows, columns and number of entries is missing");
  EdgeList edges;
  edges.numSrc = lines.integer(line[0]);
  edges.numDst = lines.integer(line[1]);
  int64_t entries = lines.integer(line[2]);
  if (*edges.numSrc < 0 || *edges.numDst < 0 || entries < 0)
    lines.damaged("sizes can't be negative");
  auto add = [&](int64_t i, int64_t j, double weight) {
    edges.src.push_back(i);
    edges.dst.push_back(j);
    if (!pattern)
      edges.weight.push_back(weight);
  };
  for (int64_t k = 0; k < entries; ++k) {
    if (!lines.nextWords(line))
      lines.damaged(fmt::format("the file ends after {} of {} entries; is it truncated?", k, entries));
    if (line.size() != (pattern ? 2u : 3u))
      lines.damaged(fmt::format("an entry has {} numbers", pattern ? 2 : 3));
    int64_t i = lines.integer(line[0]) - 1, j = lines.integer(line[1]) - 1;
    if (i < 0 || i >= *edges.numSrc || j < 0 || j >= *edges.numDst)
      lines.damaged("the entry lies outside the matrix (rows and columns count from 1)");
    double weight = pattern ? 1 : lines.real(line[2]);
    add(i, j, weight);
    if (symmetric && i != j)
      add(j, i, skew ? -weight : weight);
  }
  if (lines.nextWords(line))
    lines.damaged(fmt::format("more than the {} entries that the file announces", entries));
  return edges;
}

EdgeList readLines(const std::string &path) {
  LineReader lines(path);
  EdgeList edges;
  std::vector<std::string> line;
  size_t columns = 0;
  while (lines.nextWords(line)) {
    if (line.size() != 2 && line.size() != 3)
      lines.damaged("a line of an edge list is `src dst` or `src dst weight`");
    if (columns != 0 && line.size() != columns)
      lines.damaged(fmt::format("{} numbers here, but {} in the lines before", line.size(), columns));
    columns = line.size();
    edges.src.push_back(lines.integer(line[0]));
    edges.dst.push_back(lines.integer(line[1]));
    if (edges.src.back() < 0 || edges.dst.back() < 0)
      lines.damaged("nodes count from 0, none is negative");
    if (columns == 3)
      edges.weight.push_back(lines.real(line[2]));
  }
  return edges;
}

/// Draws in a row from one key.
class Stream {
public:
  explicit Stream(uint64_t key) : key(key) {}
  int64_t below(int64_t n) {
    return std::min(static_cast<int64_t>(uniform(key, counter++) * static_cast<double>(n)), n - 1);
  }

private:
  uint64_t key, counter = 0;
};

} // namespace

EdgeList readEdgeFile(const std::string &path) {
  return path.ends_with(".mtx") ? readMatrixMarket(path) : readLines(path);
}

RandomGraphSpec RandomGraphSpec::parse(const std::string &text) {
  RandomGraphSpec spec;
  for (const std::string &part : split(text, ',')) {
    std::string name = part.substr(0, part.find('='));
    if (part.size() > name.size()) {
      std::optional<int64_t> value = parseNumber<int64_t>(part.substr(name.size() + 1));
      if (!value || *value < 0)
        failUsage("--random: '{}' is not a number of {}", part, name);
      if (name == "nodes")
        spec.numSrc = spec.numDst = value;
      else if (name == "src")
        spec.numSrc = value;
      else if (name == "dst")
        spec.numDst = value;
      else if (name == "edges")
        spec.edges = value;
      else
        failUsage("--random: '{}' is unknown; it takes nodes=, src=, dst=, edges=, isolated, loops, duplicates, hub",
                  name);
    } else if (name == "isolated") {
      spec.isolated = true;
    } else if (name == "loops") {
      spec.loops = true;
    } else if (name == "duplicates") {
      spec.duplicates = true;
    } else if (name == "hub") {
      spec.hub = true;
    } else {
      failUsage("--random: '{}' is unknown; it takes nodes=, src=, dst=, edges=, isolated, loops, duplicates, hub",
                name);
    }
  }
  return spec;
}

EdgeList randomGraph(const RandomGraphSpec &spec, int64_t numSrc, int64_t numDst, bool square, uint64_t key) {
  EdgeList list;
  list.numSrc = numSrc;
  list.numDst = numDst;
  int64_t wanted = spec.edges.value_or(3 * std::max(numSrc, numDst));
  // Nodes that may have edges.
  int64_t src = spec.isolated ? std::max<int64_t>(numSrc - 2, 0) : numSrc;
  int64_t dst = spec.isolated ? std::max<int64_t>(numDst - 2, 0) : numDst;
  if (wanted == 0)
    return list;
  if (src == 0 || dst == 0)
    failUsage("--random: {} edges need nodes that may have edges; give more nodes", wanted);

  Stream stream(key);
  std::vector<std::pair<int64_t, int64_t>> edges;
  std::set<std::pair<int64_t, int64_t>> seen;
  auto addNew = [&](int64_t from, int64_t to) {
    if (static_cast<int64_t>(edges.size()) < wanted && seen.emplace(from, to).second)
      edges.emplace_back(from, to);
  };
  if (spec.hub) {
    // Node 0 gets a third of the edges, half of them into it and half out of it.
    for (int64_t k = 1; k <= std::max<int64_t>(wanted / 6, 1); ++k) {
      if (k < src || !square)
        addNew(k % src, 0);
      if (k < dst || !square)
        addNew(0, k % dst);
    }
  }
  if (spec.loops && square)
    for (int64_t v = 0; v < src; v += 4)
      addNew(v, v);
  int64_t duplicates = spec.duplicates ? std::max<int64_t>(wanted / 10, 1) : 0;
  int64_t tries = 0;
  while (static_cast<int64_t>(edges.size()) < wanted - duplicates && tries < 100 * wanted) {
    ++tries;
    int64_t from = stream.below(src), to = stream.below(dst);
    if (!square || from != to)
      addNew(from, to);
  }
  if (edges.empty() || (!spec.duplicates && static_cast<int64_t>(edges.size()) < wanted))
    failUsage("--random: {} different edges don't fit on {} nodes; ask for fewer, or add `duplicates` or `loops`",
              wanted, src);
  while (static_cast<int64_t>(edges.size()) < wanted)
    edges.push_back(edges[static_cast<size_t>(stream.below(static_cast<int64_t>(edges.size())))]);
  for (size_t i = edges.size(); i > 1; --i)
    std::swap(edges[i - 1], edges[static_cast<size_t>(stream.below(static_cast<int64_t>(i)))]);
  for (auto [from, to] : edges) {
    list.src.push_back(from);
    list.dst.push_back(to);
  }
  return list;
}

} // namespace gnnrun

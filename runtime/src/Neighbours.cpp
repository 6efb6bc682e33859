//===- Neighbours.cpp - graphs of points that are near each other ------------------------------------------------===//
//
// Points are compared in double precision, and in an order that depends on them alone.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Derive.h"

#include "Failure.h"
#include "Frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

using namespace gnnrt;

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

constexpr int64_t chunk = 256; // targets whose neighbours one task looks for

struct Points {
  int64_t count, dims;
  std::vector<double> place;
  const int32_t *group; // null if all are of one

  Points(const DeriveInputs &inputs, int32_t groupAt)
      : count(inputs.sizes[0]), dims(inputs.sizes[1]), place(size_t(count * dims)),
        group(inputs.count > groupAt ? static_cast<const int32_t *>(inputs.tensors[groupAt]) : nullptr) {
    for (int64_t i = 0; i < count * dims; ++i) {
      place[size_t(i)] = inputs.dtype == GNNRT_F64 ? static_cast<const double *>(inputs.tensors[0])[i]
                                                   : double(static_cast<const float *>(inputs.tensors[0])[i]);
      if (!std::isfinite(place[size_t(i)]))
        fail(GNNRT_ERROR_ARGUMENT, "the position of point ", i / dims, " is ", number(place[size_t(i)]),
             " in dimension ", i % dims, ": neighbours are looked for among finite positions");
    }
  }
  const double *at(int64_t i) const { return place.data() + i * dims; }
  bool together(int64_t i, int64_t j) const { return !group || group[i] == group[j]; }
};

double realAt(const void *tensor, int32_t dtype, int64_t i) {
  return dtype == GNNRT_F64 ? static_cast<const double *>(tensor)[i] : double(static_cast<const float *>(tensor)[i]);
}

struct Neighbour {
  int32_t source;
  double squared; // distance
  std::array<int32_t, 3> image;
};

/// Looks for the neighbours of each target and puts the lists one behind the other.
template <typename Find>
std::unique_ptr<gnnrt_graph> collect(gnnrt_frame &frame, const Points &points, int64_t images, Find &&find) {
  std::vector<std::vector<Neighbour>> found(size_t((points.count + chunk - 1) / chunk));
  std::vector<int64_t> ends(size_t(points.count));
  std::atomic<bool> memory{true};
  frame.context.pool->forEach(int64_t(found.size()), [&](int64_t part) {
    try {
      for (int64_t i = part * chunk; i < std::min(points.count, (part + 1) * chunk); ++i) {
        find(i, found[size_t(part)]);
        ends[size_t(i)] = int64_t(found[size_t(part)].size());
      }
    } catch (const std::bad_alloc &) {
      memory = false;
    }
  });
  if (!memory)
    throw std::bad_alloc();
  std::vector<int32_t> src, dst;
  std::vector<int32_t> image;
  for (int64_t i = 0; i < points.count; ++i) {
    const std::vector<Neighbour> &list = found[size_t(i / chunk)];
    int64_t begin = i % chunk ? ends[size_t(i) - 1] : 0;
    for (int64_t k = begin; k < ends[size_t(i)]; ++k) {
      src.push_back(list[size_t(k)].source);
      dst.push_back(int32_t(i));
      image.insert(image.end(), list[size_t(k)].image.begin(), list[size_t(k)].image.begin() + images);
    }
  }
  std::unique_ptr<gnnrt_graph> graph = graphOf(points.count, points.count, src, dst);
  if (images)
    graph->maps[0] = arrayOf(image);
  return graph;
}

/// Cells of about the radius at least, so that what is near lies in a cell nearby. Periodic directions are wrapped.
struct Cells {
  static constexpr double slack = 1 + 1e-6; // for the rounding of which cell a point lies in
  int64_t dims;
  double radius;
  std::array<double, 3> low{}, width{1, 1, 1}, period{};
  std::array<int64_t, 3> number{1, 1, 1}, reach{};
  std::vector<std::vector<int32_t>> members;
  std::vector<double> inside;                // wrapped positions
  std::vector<std::array<int32_t, 3>> turns; // how many periods were taken off
  std::vector<std::array<int64_t, 3>> cell;

  Cells(const Points &points, double radius, const std::array<double, 3> &period)
      : dims(points.dims), radius(radius), period(period), inside(points.place), turns(size_t(points.count)),
        cell(size_t(points.count)) {
    auto most = std::max<int64_t>(1, int64_t(std::pow(2.0 * double(points.count) + 64, 1.0 / double(dims))));
    for (int64_t d = 0; d < dims; ++d) {
      double high = 0;
      for (int64_t i = 0; i < points.count; ++i) {
        double &x = inside[size_t(i * dims + d)];
        if (period[size_t(d)] > 0) {
          double whole = std::floor(x / period[size_t(d)]);
          if (std::abs(whole) > 1e9)
            fail(GNNRT_ERROR_ARGUMENT, "point ", i, " is more than 1e9 periods away from 0 in dimension ", d,
                 ": move positions by whole periods to near 0, or check the period");
          turns[size_t(i)][size_t(d)] = int32_t(whole);
          x -= whole * period[size_t(d)];
        }
        low[size_t(d)] = i == 0 ? x : std::min(low[size_t(d)], x);
        high = i == 0 ? x : std::max(high, x);
      }
      if (period[size_t(d)] > 0)
        low[size_t(d)] = 0;
      double extent = period[size_t(d)] > 0 ? period[size_t(d)] : high - low[size_t(d)];
      double fitting = radius > 0 ? std::floor(extent / (slack * radius)) : double(most);
      number[size_t(d)] = std::clamp<int64_t>(fitting < double(most) ? int64_t(fitting) : most, 1, most);
      width[size_t(d)] = extent > 0 ? extent / double(number[size_t(d)]) : 1;
      reach[size_t(d)] = period[size_t(d)] > 0 ? int64_t(std::ceil(slack * radius / width[size_t(d)])) : 1;
    }
    members.resize(size_t(number[0] * number[1] * number[2]));
    for (int64_t i = 0; i < points.count; ++i) {
      for (int64_t d = 0; d < dims; ++d)
        cell[size_t(i)][size_t(d)] = std::clamp<int64_t>(
            int64_t((inside[size_t(i * dims + d)] - low[size_t(d)]) / width[size_t(d)]), 0, number[size_t(d)] - 1);
      members[size_t(index(cell[size_t(i)]))].push_back(int32_t(i));
    }
  }

  int64_t index(const std::array<int64_t, 3> &c) const { return (c[2] * number[1] + c[1]) * number[0] + c[0]; }

  /// Calls visit(cell, image) for each cell near that of point i, once for each of its images.
  template <typename Visit>
  void forEachNear(int64_t i, int64_t d, std::array<int64_t, 3> at, std::array<int32_t, 3> image, Visit &&visit) const {
    if (d == dims) {
      visit(index(at), image);
      return;
    }
    int64_t here = cell[size_t(i)][size_t(d)], count = number[size_t(d)];
    for (int64_t c = here - reach[size_t(d)]; c <= here + reach[size_t(d)]; ++c) {
      int64_t around = c >= 0 ? c / count : -((count - 1 - c) / count);
      if (around != 0 && !(period[size_t(d)] > 0))
        continue;
      at[size_t(d)] = c - around * count;
      image[size_t(d)] = int32_t(around);
      forEachNear(i, d + 1, at, image, visit);
    }
  }
};

} // namespace

std::unique_ptr<gnnrt_graph> gnnrt::nearestNeighbours(gnnrt_frame &frame, const DeriveInputs &inputs) {
  Points points(inputs, 2);
  int64_t wanted = *static_cast<const int64_t *>(inputs.tensors[1]);
  if (wanted < 0)
    fail(GNNRT_ERROR_ARGUMENT, "a graph of the ", wanted, " nearest neighbours is asked for: give a number from 0 on");
  return collect(frame, points, 0, [&](int64_t i, std::vector<Neighbour> &list) {
    size_t begin = list.size();
    for (int64_t j = 0; j < points.count; ++j) {
      if (j == i || !points.together(i, j))
        continue;
      double squared = 0;
      for (int64_t d = 0; d < points.dims; ++d) {
        double difference = points.at(i)[d] - points.at(j)[d];
        squared += difference * difference;
      }
      list.push_back({int32_t(j), squared, {}});
    }
    auto first = list.begin() + int64_t(begin);
    auto count = std::min<int64_t>(wanted, list.end() - first);
    std::partial_sort(first, first + count, list.end(), [](const Neighbour &a, const Neighbour &b) {
      return a.squared != b.squared ? a.squared < b.squared : a.source < b.source;
    });
    list.resize(begin + size_t(count));
  });
}

std::unique_ptr<gnnrt_graph> gnnrt::withinRadius(gnnrt_frame &frame, const DeriveInputs &inputs) {
  Points points(inputs, 3);
  if (points.dims > 3)
    fail(GNNRT_ERROR_SHAPE, "a radius graph is made of points in at most 3 dimensions, but these have ", points.dims);
  double radius = realAt(inputs.tensors[1], inputs.dtype, 0);
  if (!(radius >= 0) || !std::isfinite(radius))
    fail(GNNRT_ERROR_ARGUMENT, "the radius of a radius graph is ", number(radius),
         ", but must be a finite number from 0 on");
  int64_t periods = inputs.sizes[2];
  std::array<double, 3> period{};
  for (int64_t d = 0; d < periods; ++d) {
    period[size_t(d)] = realAt(inputs.tensors[2], inputs.dtype, d);
    if (!(period[size_t(d)] >= 0) || !std::isfinite(period[size_t(d)]))
      fail(GNNRT_ERROR_ARGUMENT, "the period in dimension ", d, " is ", number(period[size_t(d)]),
           ", but must be a positive number, or 0 where nothing repeats");
    if (period[size_t(d)] > 0 && radius > 1000 * period[size_t(d)])
      fail(GNNRT_ERROR_ARGUMENT, "the radius ", number(radius), " is more than 1000 periods of ",
           number(period[size_t(d)]), ": are they in one unit?");
  }
  Cells cells(points, radius, period);
  return collect(frame, points, points.dims, [&](int64_t i, std::vector<Neighbour> &list) {
    size_t begin = list.size();
    cells.forEachNear(i, 0, {}, {}, [&](int64_t cell, const std::array<int32_t, 3> &around) {
      for (int32_t j : cells.members[size_t(cell)]) {
        if (!points.together(i, j))
          continue;
        double squared = 0;
        std::array<int32_t, 3> image{};
        bool same = i == j;
        for (int64_t d = 0; d < points.dims; ++d) {
          size_t k = size_t(d);
          image[k] = around[k] + cells.turns[size_t(i)][k] - cells.turns[size_t(j)][k];
          same &= image[k] == 0;
          double difference = points.at(i)[d] - (points.at(j)[d] + image[k] * period[k]);
          squared += difference * difference;
        }
        if (!same && squared <= radius * radius)
          list.push_back({j, squared, image});
      }
    });
    std::sort(list.begin() + int64_t(begin), list.end(), [](const Neighbour &a, const Neighbour &b) {
      return a.source != b.source ? a.source < b.source : a.image < b.image;
    });
  });
}

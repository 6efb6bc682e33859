//===- Profile.h - how long launches take, and what they ask of memory
//---------------------------------------------===//
#ifndef GNNRT_SRC_PROFILE_H
#define GNNRT_SRC_PROFILE_H

#include "Frame.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace gnnrt {

/// One record for each launch that an entry names, in the order in which they were first met.
class Profile {
public:
  struct Record {
    std::string entry, name;
    int64_t calls = 0, nanoseconds = 0, bytesRead = 0, bytesWritten = 0;
  };

  /// Valid as long as the profile.
  Record &record(const char *entry, const char *name);
  int64_t size() const { return int64_t(records.size()); }
  const Record &operator[](int64_t i) const { return records[size_t(i)]; }

private:
  std::deque<Record> records;
  // By what the names are, not where they lie: a model may be closed, and another one loaded there.
  std::map<std::pair<std::string_view, std::string_view>, Record *> known;
};

/// Measures from here to the end of its life, if the frame's context is being profiled.
class Measured {
public:
  Measured(gnnrt_frame &frame, const gnnrt_step &step) {
    if (!frame.context.profiling) [[likely]]
      return;
    record = &frame.context.profile->record(frame.entry->name, step.name);
    record->bytesRead += step.bytes_read;
    record->bytesWritten += step.bytes_written;
    begin = Clock::now();
  }
  ~Measured() {
    if (!record) [[likely]]
      return;
    ++record->calls;
    record->nanoseconds += std::chrono::nanoseconds(Clock::now() - begin).count();
  }
  Measured(const Measured &) = delete;
  Measured &operator=(const Measured &) = delete;

private:
  using Clock = std::chrono::steady_clock;
  Profile::Record *record = nullptr;
  Clock::time_point begin;
};

} // namespace gnnrt

#endif

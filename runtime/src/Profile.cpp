//===- Profile.cpp - how long launches take ----------------------------------------------------------------------===//
#include "Profile.h"

#include "Boundary.h"

using namespace gnnrt;

Profile::Record &Profile::record(const char *entry, const char *name) {
  if (auto found = known.find({entry, name}); found != known.end())
    return *found->second;
  Record &made = records.emplace_back(Record{entry, name});
  try {
    known.emplace(std::pair<std::string_view, std::string_view>(made.entry, made.name), &made);
  } catch (...) {
    records.pop_back();
    throw;
  }
  return made;
}

gnnrt_status gnnrt_profile(gnnrt_context *ctx, int32_t on) {
  return guarded(ctx, [&] {
    if (ctx->busy.load())
      fail(GNNRT_ERROR_ARGUMENT, "this context is running a call: switch its profile on or off between calls");
    if (on)
      ctx->profile = std::make_unique<Profile>();
    ctx->profiling = on != 0;
  });
}

int64_t gnnrt_profile_count(const gnnrt_context *ctx) { return ctx && ctx->profile ? ctx->profile->size() : 0; }

gnnrt_status gnnrt_profile_read(gnnrt_context *ctx, int64_t index, gnnrt_profile_entry *out) {
  if (out)
    *out = {};
  return guarded(ctx, [&] {
    if (!out)
      fail(GNNRT_ERROR_ARGUMENT, "`out`, where the record is to be put, is a null pointer");
    int64_t count = gnnrt_profile_count(ctx);
    if (index < 0 || index >= count)
      fail(GNNRT_ERROR_ARGUMENT, "there is no record ", index, " in this profile, which has ", count);
    const Profile::Record &record = (*ctx->profile)[index];
    *out = {record.entry.c_str(), record.name.c_str(), record.calls,
            record.nanoseconds,   record.bytesRead,    record.bytesWritten};
  });
}

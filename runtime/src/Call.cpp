//===- Call.cpp - running an entry -------------------------------------------------------------------------------===//
#include "Bind.h"
#include "Frame.h"
#include "Sizes.h"

using namespace gnnrt;

namespace {

/// A context runs one call at a time. Also gives back, at the end, what only this call needed.
class Running {
public:
  explicit Running(gnnrt_context &context) : context(context) {
    if (context.busy.exchange(true))
      fail(GNNRT_ERROR_ARGUMENT,
           "this context is running another call: use one context for each thread that calls at the same time");
  }
  ~Running() {
    context.frame->orders.clear();
    context.frame->graphs.clear();
    context.arena.reset();
    context.staging.reset();
    context.busy.store(false);
  }

private:
  gnnrt_context &context;
};

void runBody(gnnrt_frame &frame) {
  int32_t returned = frame.entry->body(&frame, frame.buffers.data(), frame.sizes.data());
  if (frame.status != GNNRT_OK) {
    if (frame.literal)
      throw Failure{frame.status, frame.literal};
    throw Failure{frame.status, std::move(frame.message)};
  }
  if (returned != GNNRT_OK)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: `", frame.entry->name, "` returned ", returned,
         " and recorded no failure");
}

void call(gnnrt_context &context, const gnnrt_entry_desc *entry, const gnnrt_value *values, int32_t count) {
  if (!entry)
    fail(GNNRT_ERROR_ARGUMENT, "the entry is a null pointer");
  if (entry->abi_version != GNNRT_ABI_VERSION)
    fail(GNNRT_ERROR_ABI, "`", entry->name, "` was compiled for version ", entry->abi_version,
         " of the runtime's interface, but this runtime has version ", GNNRT_ABI_VERSION, ": compile it again");
  if (count != entry->num_args)
    fail(GNNRT_ERROR_ARGUMENT, "`", entry->name, "` takes ", entry->num_args, " arguments, but was given ", count);
  if (count > 0 && !values)
    fail(GNNRT_ERROR_ARGUMENT, "the arguments of `", entry->name, "` are a null pointer");
  Running running(context);
  gnnrt_frame &frame = *context.frame;
  frame.entry = entry;
  frame.values = values;
  frame.status = GNNRT_OK;
  frame.message.clear();
  frame.literal = nullptr;
  bindArguments(frame);
  runBody(frame);
  commit(frame);
}

} // namespace

int32_t gnnrt_call(gnnrt_context *ctx, const gnnrt_entry_desc *entry, const gnnrt_value *values, int32_t num_values) {
  return guarded(ctx, [&] { call(*ctx, entry, values, num_values); });
}

int32_t gnnrt_frame_fail(gnnrt_frame *frame, int32_t status, const char *message) {
  gnnrt_status known = status > 0 && status <= GNNRT_ERROR_INTERNAL ? gnnrt_status(status) : GNNRT_ERROR_INTERNAL;
  return frame->guarded(
      [&] { fail(known, message ? message : "a fault of gnnc itself: a failure without a message"); });
}

void *gnnrt_frame_output(gnnrt_frame *frame, int32_t arg) {
  void *output = nullptr;
  frame->guarded([&] {
    checkPendingSizes(*frame);
    if (arg < 0 || arg >= frame->entry->num_args || !frame->args[arg].output)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: argument ", arg, " of `", frame->entry->name,
           "` is not written");
    frame->args[arg].written = true;
    output = frame->args[arg].output;
  });
  return output;
}

int32_t gnnrt_reserve(gnnrt_frame *frame, int32_t num_buffers, const int64_t *bytes, const gnnrt_lifetime *lifetimes,
                      void **pointers) {
  return frame->guarded([&] {
    checkPendingSizes(*frame);
    const Plan &plan = frame->context.plans.get(frame->entry, num_buffers, bytes, lifetimes);
    char *memory = frame->context.arena.take(plan.total);
    for (int32_t i = 0; i < num_buffers; ++i)
      pointers[i] = memory + plan.offsets[i];
  });
}

void gnnrt_frame_mark(gnnrt_frame *frame, gnnrt_mark *mark) {
  auto [block, used] = frame->context.arena.mark();
  *mark = {block, used, int64_t(frame->orders.size()), int64_t(frame->graphs.size())};
}

void gnnrt_frame_release(gnnrt_frame *frame, const gnnrt_mark *mark) {
  frame->context.arena.rewind({mark->block, mark->used});
  frame->orders.resize(size_t(mark->orders));
  frame->graphs.resize(size_t(mark->graphs));
}

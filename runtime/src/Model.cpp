//===- Model.cpp - models loaded from shared objects -------------------------------------------------------------===//
#include "Boundary.h"
#include "Elf.h"
#include "Processor.h"

#include <gnnrt/abi.h>

#include <cstring>
#include <dlfcn.h>

using namespace gnnrt;

struct gnnrt_model {
  explicit gnnrt_model(std::string path) : path(std::move(path)) {}
  ~gnnrt_model() {
    if (library)
      dlclose(library);
  }

  std::string path;
  void *library = nullptr;
  const gnnrt_model_desc *table = nullptr;
};

namespace {

std::string loaderError() {
  const char *error = dlerror();
  return error ? error : "unknown error";
}

std::unique_ptr<gnnrt_model> openModel(const char *path) {
  if (!path)
    fail(GNNRT_ERROR_ARGUMENT, "the model's path is a null pointer");
  // The loader takes a name without a slash for one to be searched.
  auto model = std::make_unique<gnnrt_model>(std::strchr(path, '/') ? std::string(path) : text("./", path));
  checkSharedObject(model->path);
  model->library = dlopen(model->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!model->library)
    fail(GNNRT_ERROR_FILE, "cannot load ", path, ": ", loaderError());
  model->table = static_cast<const gnnrt_model_desc *>(dlsym(model->library, "gnnc_model"));
  if (!model->table)
    fail(GNNRT_ERROR_FILE, path, " is a shared object, but not a model made by `gnnc build`");
  const gnnrt_model_desc &table = *model->table;
  if (table.abi_version != GNNRT_ABI_VERSION)
    fail(GNNRT_ERROR_ABI, path, " was compiled for version ", table.abi_version,
         " of the runtime's interface, but this runtime has version ", GNNRT_ABI_VERSION,
         ": build it again with the gnnc that belongs to this runtime");
  std::string missing = missingFeatures(table.features ? table.features : "");
  if (!missing.empty())
    fail(GNNRT_ERROR_ABI, path, " was compiled for ", table.cpu, ", but this machine's processor lacks ", missing,
         ": build it for this machine with `gnnc build --cpu native`");
  return model;
}

const gnnrt_entry_desc *findEntry(const gnnrt_model &model, const char *name) {
  std::string known;
  for (int32_t i = 0; i < model.table->num_entries; ++i) {
    const gnnrt_entry_desc *entry = model.table->entries[i];
    if (std::strcmp(entry->name, name) == 0)
      return entry;
    known += text(i ? ", " : "", entry->name);
  }
  fail(GNNRT_ERROR_ARGUMENT, model.path, " has no entry `", name, "`; it has: ", known.empty() ? "none" : known);
}

} // namespace

gnnrt_status gnnrt_model_open(gnnrt_context *ctx, const char *path, gnnrt_model **out) {
  if (out)
    *out = nullptr;
  return guarded(ctx, [&] {
    if (!out)
      fail(GNNRT_ERROR_ARGUMENT, "`out`, where the model is to be put, is a null pointer");
    *out = openModel(path).release();
  });
}

void gnnrt_model_close(gnnrt_model *model) { delete model; }

const char *gnnrt_model_manifest(const gnnrt_model *model) { return model ? model->table->manifest : ""; }

gnnrt_status gnnrt_model_call(gnnrt_context *ctx, const gnnrt_model *model, const char *entry,
                              const gnnrt_value *values, int32_t num_values) {
  const gnnrt_entry_desc *found = nullptr;
  gnnrt_status status = guarded(ctx, [&] {
    if (!model || !entry)
      fail(GNNRT_ERROR_ARGUMENT, model ? "the entry's name is a null pointer" : "the model is a null pointer");
    found = findEntry(*model, entry);
  });
  return status == GNNRT_OK ? gnnrt_status(gnnrt_call(ctx, found, values, num_values)) : status;
}

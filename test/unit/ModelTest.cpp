// Opening shared objects, calling entries by name, and what is refused.
#include "Support.h"

#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace gnnrt_test;

namespace {

std::string path(const char *name) { return std::string(UNIT_MODELS) + "/" + name; }

struct Model : testing::Test {
  Context context;
  gnnrt_model *model = nullptr;
  ~Model() override { gnnrt_model_close(model); }

  void refused(const std::string &file, gnnrt_status expected, const std::string &message) {
    EXPECT_EQ(gnnrt_model_open(context, file.c_str(), &model), expected);
    EXPECT_EQ(context.error(), message);
    EXPECT_EQ(model, nullptr);
  }
  /// A file made of the first `bytes` of the model, with one byte changed where `damage` says.
  std::string copyOfModel(size_t bytes, size_t damage = SIZE_MAX) {
    std::ifstream in(path("unit-model.so"), std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    content.resize(std::min(bytes, content.size()));
    if (damage < content.size())
      content[damage] = char(content[damage] ^ 0x55);
    std::string name = testing::TempDir() + "damaged-" + std::to_string(getpid()) + ".so";
    std::ofstream(name, std::ios::binary) << content;
    return name;
  }
};

TEST_F(Model, IsCalledByTheNameOfAnEntry) {
  ASSERT_EQ(gnnrt_model_open(context, path("unit-model.so").c_str(), &model), GNNRT_OK) << context.error();
  EXPECT_STREQ(gnnrt_model_manifest(model), "{\"source\": \"unit.gnn\"}");
  std::vector<double> x = {1, 2}, out(2);
  gnnrt_value values[2];
  Tensor tx(x), tout(out);
  values[0].tensor = tx;
  values[1].tensor = tout;
  EXPECT_EQ(gnnrt_model_call(context, model, "again", values, 2), GNNRT_OK) << context.error();
  EXPECT_EQ(out, (std::vector<double>{2, 4}));
  EXPECT_EQ(gnnrt_model_call(context, model, "train", values, 2), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), path("unit-model.so") + " has no entry `train`; it has: twice, again");
  EXPECT_EQ(gnnrt_model_call(context, nullptr, "twice", values, 2), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), "the model is a null pointer");
  EXPECT_EQ(gnnrt_model_call(context, model, nullptr, values, 2), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_model_call(nullptr, model, "twice", values, 2), GNNRT_ERROR_ARGUMENT);
}

TEST_F(Model, FilesThatAreNoModels) {
  refused("/nowhere/m.so", GNNRT_ERROR_FILE, "cannot open /nowhere/m.so: No such file or directory");
  refused("m.so", GNNRT_ERROR_FILE, "cannot open ./m.so: No such file or directory");
  refused("/", GNNRT_ERROR_FILE, "/ is not a file");
  refused(path("CTestTestfile.cmake"), GNNRT_ERROR_FILE,
          path("CTestTestfile.cmake") + " is not a shared object: a model is made by `gnnc build`");
  refused(path("unit-no-model.so"), GNNRT_ERROR_FILE,
          path("unit-no-model.so") + " is a shared object, but not a model made by `gnnc build`");
  EXPECT_EQ(gnnrt_model_open(context, nullptr, &model), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_model_open(context, "m.so", nullptr), GNNRT_ERROR_ARGUMENT);
  gnnrt_model_close(nullptr);
}

TEST_F(Model, TruncatedAtAnyPlace) {
  size_t whole = copyOfModel(SIZE_MAX).size() ? size_t(std::ifstream(path("unit-model.so"), std::ios::ate).tellg()) : 0;
  ASSERT_GT(whole, 1000u);
  for (size_t bytes = 0; bytes < whole; bytes += 1 + whole / 40) {
    std::string file = copyOfModel(bytes);
    EXPECT_EQ(gnnrt_model_open(context, file.c_str(), &model), GNNRT_ERROR_FILE) << bytes;
    EXPECT_NE(context.error().find(bytes < 64 ? "is not a shared object" : "is damaged or was not written to its end"),
              std::string::npos)
        << context.error();
  }
  std::remove(copyOfModel(0).c_str());
}

TEST_F(Model, ForAnotherMachine) {
  std::string file = copyOfModel(SIZE_MAX, 18); // e_machine
  refused(file, GNNRT_ERROR_FILE, file + " is not a shared object for this machine");
  std::remove(file.c_str());
}

TEST_F(Model, OfAnotherVersionOrProcessor) {
  refused(path("unit-other-abi.so"), GNNRT_ERROR_ABI,
          path("unit-other-abi.so") +
              " was compiled for version 999 of the runtime's interface, but this runtime has version " +
              std::to_string(GNNRT_ABI_VERSION) + ": build it again with the gnnc that belongs to this runtime");
  refused(path("unit-other-processor.so"), GNNRT_ERROR_ABI,
          path("unit-other-processor.so") +
              " was compiled for imaginary-v9, but this machine's processor lacks avx1024, "
              "teleport: build it for this machine with `gnnc build --cpu native`");
}

} // namespace

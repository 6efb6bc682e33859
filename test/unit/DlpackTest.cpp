// The runtime's DLPack structures are those of DLPack's own header, as far as Debian's version has them.
#include <gnnrt/dlpack.h>

#include "DlpackLayout.h"

#include <gtest/gtest.h>

std::array<int64_t, 26> debianDlpackLayout();

namespace {

TEST(Dlpack, LayoutIsThatOfDebiansHeader) { EXPECT_EQ(dlpackLayout(), debianDlpackLayout()); }

TEST(Dlpack, LayoutOfWhatDebiansHeaderLacks) {
  // DLPack 1.1: version, manager_ctx, deleter, flags, dl_tensor.
  EXPECT_EQ(offsetof(DLManagedTensorVersioned, manager_ctx), 8u);
  EXPECT_EQ(offsetof(DLManagedTensorVersioned, deleter), 16u);
  EXPECT_EQ(offsetof(DLManagedTensorVersioned, flags), 24u);
  EXPECT_EQ(offsetof(DLManagedTensorVersioned, dl_tensor), 32u);
  EXPECT_EQ(sizeof(DLManagedTensorVersioned), 32 + sizeof(DLTensor));
  EXPECT_EQ(int(kDLBool), 6);
}

} // namespace

// Decides for every value that the reverse sweep reads whether it is stored or computed again.
//
// Every one is stored: the marker goes away and the value, still in use, keeps its buffer. The op that made it says why
// in `gnn.kept`, which the memory report prints.
#include "gnnc/Transforms/Passes.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_CHOOSESAVED
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

/// "the derivative of mulf reads it", "the derivatives of exp and mulf read it".
std::string reasonOf(SavedOp saved) {
  SmallVector<StringRef> names;
  if (auto readers = saved->getAttrOfType<ArrayAttr>("readers"))
    for (auto name : readers.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  if (names.empty())
    return "the reverse sweep reads it";
  std::string list = names.front().str();
  for (auto [k, name] : llvm::enumerate(ArrayRef(names).drop_front()))
    list += (k + 2 == names.size() ? " and " : ", ") + name.str();
  return names.size() == 1 ? "the derivative of " + list + " reads it" : "the derivatives of " + list + " read it";
}

struct ChooseSavedPass : gnnc::gnn::impl::ChooseSavedBase<ChooseSavedPass> {
  void runOnOperation() override {
    getOperation()->walk([](SavedOp saved) {
      // Arguments of the function are the caller's memory: there is nothing to decide.
      if (Operation *op = saved.getX().getDefiningOp())
        op->setAttr("gnn.kept", StringAttr::get(saved.getContext(), reasonOf(saved)));
      saved.replaceAllUsesWith(saved.getX());
      saved.erase();
    });
  }
};

} // namespace

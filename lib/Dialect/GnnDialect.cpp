// Registration of the gnn dialect, and its types.
#include "gnnc/Dialect/Gnn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc::gnn;

#include "gnnc/Dialect/GnnDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "gnnc/Dialect/GnnTypes.cpp.inc"

#include "gnnc/Dialect/DifferentiableOpInterface.cpp.inc"

gnnc::gnn::ReverseSweep::~ReverseSweep() = default;

void GnnDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gnnc/Dialect/GnnTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gnnc/Dialect/GnnOps.cpp.inc"
      >();
}

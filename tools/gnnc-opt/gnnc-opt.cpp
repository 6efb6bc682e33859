// The pass driver of the tests: mlir-opt with the gnn dialect. Registration only.
#include "gnnc/Conversion/Conversion.h"
#include "gnnc/Dialect/UpstreamAdjoints.h"
#include "gnnc/Transforms/Passes.h"

#include "TestPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<gnnc::gnn::GnnDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  gnnc::gnn::registerUpstreamAdjoints(registry);
  gnnc::gnn::registerGnncTransformsPasses();
  gnnc::test::registerTestPasses();
  mlir::registerTransformsPasses();
  gnnc::registerConversionPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "gnnc's pass driver", registry));
}

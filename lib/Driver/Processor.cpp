// Names of processors, and what code made for one needs of a machine.
#include "CodeGen.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace gnnc;

namespace {
/// A feature as LLVM and as /proc/cpuinfo names it.
struct FeatureName {
  const char *llvm, *cpuinfo;
};
constexpr FeatureName featureNames[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512bw", "avx512bw"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"gfni", "gfni"},
    {"avxvnni", "avx_vnni"},
};
} // namespace

static void initialiseTargets() {
  static bool once = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)once;
}

Expected<const Target *> gnnc::findTarget() {
  initialiseTargets();
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(Triple(sys::getDefaultTargetTriple()), message);
  if (!target)
    return createStringError("this is a fault of gnnc: LLVM has no code generator for this machine: " + message);
  return target;
}

/// The features of this machine as LLVM's string.
static std::string hostFeatures() {
  std::vector<std::string> features;
  for (const auto &[name, present] : sys::getHostCPUFeatures())
    features.push_back((present ? "+" : "-") + name.str());
  llvm::sort(features);
  return join(features, ",");
}

Expected<Processor> gnnc::selectProcessor(StringRef name) {
  Expected<const Target *> target = findTarget();
  if (!target)
    return target.takeError();
  Processor processor;
  processor.name = name.str();
  if (name == "native") {
    processor.name = sys::getHostCPUName().str();
    processor.features = hostFeatures();
  }
  Triple triple(sys::getDefaultTargetTriple());
  // Asked without features first: LLVM prints to the standard error on names it does not know.
  std::unique_ptr<MCSubtargetInfo> known((*target)->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(processor.name))
    return createStringError("unknown processor '" + name +
                             "': give native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or LLVM's name of one, such as "
                             "haswell, skylake-avx512 or znver4");
  std::unique_ptr<MCSubtargetInfo> subtarget(
      (*target)->createMCSubtargetInfo(triple, processor.name, processor.features));
  if (triple.getArch() == Triple::x86_64 && !subtarget->checkFeatures("+64bit"))
    return createStringError("the processor '" + name + "' can't run 64-bit programs: give x86-64 or a later one");
  std::vector<std::string> required;
  for (const FeatureName &feature : featureNames) {
    if (!subtarget->checkFeatures(std::string("+") + feature.llvm))
      continue;
    required.push_back(feature.cpuinfo);
    processor.avx512 |= StringRef(feature.llvm) == "avx512f";
    processor.fma |= StringRef(feature.llvm) == "fma";
    processor.rounds |= StringRef(feature.llvm) == "sse4.1";
  }
  processor.required = join(required, ",");
  return processor;
}

Expected<std::unique_ptr<TargetMachine>> gnnc::makeTargetMachine(const Processor &processor) {
  Expected<const Target *> target = findTarget();
  if (!target)
    return target.takeError();
  TargetOptions options;
  // Additions and products fuse only where the code says so, wherever it runs.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  options.FunctionSections = true;
  std::unique_ptr<TargetMachine> machine(
      (*target)->createTargetMachine(Triple(sys::getDefaultTargetTriple()), processor.name, processor.features, options,
                                     Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return createStringError("this is a fault of gnnc: LLVM has no code generator for " + processor.name);
  return machine;
}

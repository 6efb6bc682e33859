// Emits the body of an entry: structure first, then sizes and memory, then kernels and products in order. What makes
// structure and scalars is in LowerStructure.cpp, branches and loops in LowerControlFlow.cpp.
#include "BodyEmitter.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// A name for the next kernel, with what it computes.
std::string KernelLibrary::next(StringRef label) {
  std::string name = "kernel" + std::to_string(count++);
  if (label.empty())
    return name;
  name += '.';
  for (char c : label)
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

StringRef KernelLibrary::get(const KernelSpace &space, Location loc, StringRef label) {
  std::string &name = names[space.key()];
  if (name.empty()) {
    name = next(label);
    emitKernel(space, module, loc, name);
  }
  return name;
}

std::string KernelLibrary::get(const GroupPlan &group, Location loc, StringRef label) {
  std::string name = next(label);
  emitGroup(group, module, loc, name);
  return name;
}

// Values of abi.h.
namespace {
constexpr int64_t residualMagic = 0x31534552434E4E47; // "GNNCRES1"
/// How the pieces of a result are combined. `tagged`: an extremum whose winner is known by its tag.
int32_t combineKind(CombineKind kind, bool tagged) {
  constexpr int32_t taggedMax = 7, taggedMin = 8;
  if (tagged)
    return kind == CombineKind::Max ? taggedMax : taggedMin;
  return static_cast<int32_t>(kind);
}
} // namespace

int32_t gnnc::abiDtype(Type element) {
  if (element.isF32())
    return 0;
  if (element.isF64())
    return 1;
  if (element.isInteger(32))
    return 2;
  if (element.isInteger(64))
    return 3;
  return 4;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value BodyEmitter::size(SizeAttr size) {
  if (std::optional<int64_t> constant = size.getConstant())
    return host.integer(*constant);
  Value &known = sizeValues[size];
  if (known)
    return known;
  Value sum;
  ArrayRef<int64_t> terms = size.getTerms();
  for (size_t i = 0; i < terms.size(); i += 2 + terms[i + 1]) {
    Value product = host.integer(terms[i]);
    for (int64_t factor : terms.slice(i + 2, terms[i + 1])) {
      Value value;
      if (factor >= 0) {
        value = host.load(sizes, host.i64(), factor);
      } else {
        CeilDivAttr quotient = size.getQuotients()[-factor - 1];
        Value numerator = host.add(this->size(quotient.getNumerator()), host.integer(quotient.getDivisor() - 1));
        value = LLVM::SDivOp::create(b, host.loc, numerator, host.integer(quotient.getDivisor()));
      }
      product = host.mulSizes(product, value);
    }
    sum = sum ? host.addSizes(sum, product) : product;
  }
  return sizeValues[size] = sum;
}

Value BodyEmitter::pointer(Value value) {
  Value root = memoryRoot(value);
  if (auto it = pointers.find(root); it != pointers.end())
    return it->second;
  const Storage &storage = plan.storage.find(root)->second;
  switch (storage.kind) {
  case Storage::Argument:
    return pointers[root] = host.load(buffers, host.ptr(), storage.number);
  case Storage::Output:
    return outputs[storage.number];
  case Storage::Residual:
    return residualPointers[storage.number];
  case Storage::Buffer:
    return bufferPointers[storage.number];
  case Storage::Constant:
    return pointers[root] = constantData(root.getDefiningOp<arith::ConstantOp>());
  case Storage::Structure:
  case Storage::Scalar:
  case Storage::Carried:
    break;
  }
  return host.null(); // structure, scalars and what loops exchange are in `pointers` once their op was emitted
}

/// The value of a 0-d tensor.
Value BodyEmitter::scalar(Value value) {
  Type element = elementOf(value);
  return host.load(pointer(value), element.isInteger(1) ? Type(b.getI8Type()) : element);
}

/// The value of a 0-d tensor of integers, as 64 bits.
Value BodyEmitter::integer(Value value) {
  Value number = scalar(value);
  return number.getType() == host.i64() ? number : LLVM::SExtOp::create(b, host.loc, host.i64(), number).getResult();
}

Value BodyEmitter::constantData(arith::ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type element = elements.getElementType();
  if (element.isInteger(1)) {
    SmallVector<int8_t> bytes;
    for (bool value : elements.getValues<bool>())
      bytes.push_back(value);
    auto type = RankedTensorType::get({static_cast<int64_t>(bytes.size())}, b.getI8Type());
    return host.data(LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                     DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)), "gnnc_constant");
  }
  int64_t count = elements.getNumElements();
  auto type = RankedTensorType::get({count}, element);
  SmallVector<Attribute> values(elements.getValues<Attribute>());
  return host.data(LLVM::LLVMArrayType::get(element, count), DenseElementsAttr::get(type, values), "gnnc_constant");
}

/// Fills the gnnrt_step for profiles.
Value BodyEmitter::describeStep(Operation *op, StringRef title, const Traffic &traffic) {
  std::string line = sourceLine(op->getLoc());
  host.store(host.text(line.empty() ? title.str() : (title + " (" + line + ")").str()), stepWords, 0);
  host.store(size(traffic.read), stepWords, 1);
  host.store(size(traffic.written), stepWords, 2);
  return stepWords;
}

void BodyEmitter::emitOp(Operation *op) {
  host.loc = op->getLoc();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](EndpointOp o) {
        pointers[o.getResult()] = host.call(o.getEnd() == Direction::Src ? "gnnrt_graph_src" : "gnnrt_graph_dst",
                                            host.ptr(), {pointer(o.getGraph())});
      })
      .Case([&](DegreeOp o) {
        Value degree = host.call(o.getEnd() == Direction::Src ? "gnnrt_graph_out_degree" : "gnnrt_graph_in_degree",
                                 host.ptr(), {frame, pointer(o.getGraph())});
        host.returnIfNull(degree);
        pointers[o.getResult()] = degree;
      })
      .Case([&](OrderOp o) {
        Value order = host.call(o.getEnd() == Direction::Src ? "gnnrt_out_order" : "gnnrt_in_order", host.ptr(),
                                {frame, pointer(o.getGraph())});
        host.returnIfNull(order);
        pointers[o.getResult()] = order;
      })
      .Case([&](DeriveOp o) { emitDerive(o); })
      .Case([&](SearchOp o) { emitSearch(o); })
      .Case([&](OrderByOp o) { emitOrderBy(o); })
      .Case([&](CheckIndexOp o) { emitCheck(o); })
      .Case([&](SizeOp o) { emitSize(o); })
      .Case([&](DefineSizeOp o) { emitDefineSize(o); })
      .Case([&](SelectIndexOp o) { emitView(o); })
      .Case([&](IfOp o) { emitIf(o); })
      .Case([&](ForOp o) { emitFor(o); })
      .Case([&](WhileOp o) { emitWhile(o); })
      .Case([&](FoldKeyOp o) { emitFoldKey(o); })
      .Case([&](KernelOp o) { emitKernelStep(o); })
      .Case([&](GroupOp o) { emitGroupStep(o); })
      .Case([&](GemmOp o) { emitGemm(o); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The number of slots that a kernel's pieces need: 0 if nothing is cut.
Value BodyEmitter::slotCount(KernelOp op) {
  auto numSlots = [&](Value order) { return host.load(pointers[order], host.i64(), 4); }; // of gnnrt_order_view
  if (auto group = dyn_cast<GroupOp>(op->getParentOp()))
    return numSlots(group.getOrder());
  auto known = plan.kernels.find(op);
  if (known->second.hasOrder())
    return numSlots(op.getOrder());
  const KernelSpace &space = known->second;
  Value slots = host.call("gnnrt_cut_slots", host.i64(), {cutEntries(space), size(entrySize(space, space.rowWork()))});
  Value one = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::eq, slots, host.integer(1));
  return LLVM::SelectOp::create(b, host.loc, one, host.integer(0), slots);
}

Value BodyEmitter::bufferBytes(const PlannedBuffer &buffer) {
  if (buffer.purpose == PlannedBuffer::Workspace) {
    auto gemm = cast<GemmOp>(buffer.op);
    return host.call(
        "gnnrt_gemm_workspace", host.i64(),
        {host.integer32(abiDtype(buffer.element)), size(gemm.getM()), size(gemm.getN()), size(gemm.getK())});
  }
  Value bytes = host.mulSizes(size(buffer.elements), host.integer(elementBytes(buffer.element)));
  return buffer.purpose == PlannedBuffer::Slots ? host.mulSizes(bytes, slotCount(cast<KernelOp>(buffer.op))) : bytes;
}

/// Reserves the buffers of a phase.
void BodyEmitter::reserve(unsigned phase) {
  SmallVector<unsigned> numbers;
  SmallVector<int32_t> lifetimes;
  for (auto [i, buffer] : llvm::enumerate(plan.buffers))
    if (buffer.phase == phase) {
      numbers.push_back(i);
      lifetimes.push_back(buffer.first);
      lifetimes.push_back(buffer.last);
    }
  if (numbers.empty())
    return;
  int64_t count = numbers.size();
  Value bytes = host.local(host.i64(), count), places = host.local(host.ptr(), count);
  for (auto [i, number] : llvm::enumerate(numbers))
    host.store(bufferBytes(plan.buffers[number]), bytes, i);
  auto type = RankedTensorType::get({count * 2}, b.getI32Type());
  Value table = host.data(LLVM::LLVMArrayType::get(b.getI32Type(), count * 2),
                          DenseElementsAttr::get(type, ArrayRef<int32_t>(lifetimes)), info.name + ".lifetimes");
  host.returnIfFailed(host.call("gnnrt_reserve", host.i32(), {frame, host.integer32(count), bytes, table, places}));
  for (auto [i, number] : llvm::enumerate(numbers))
    bufferPointers[number] = host.load(places, host.ptr(), i);
}

Value BodyEmitter::buffer(Operation *op, PlannedBuffer::Purpose purpose, unsigned result, bool extreme) {
  for (auto [i, buffer] : llvm::enumerate(plan.buffers))
    if (buffer.op == op && buffer.purpose == purpose && buffer.result == result && buffer.extreme == extreme)
      return bufferPointers[i];
  return host.null();
}

/// A value that leaves through an output but lives elsewhere.
void BodyEmitter::emitCopy(const OutputCopy &copy) {
  auto type = cast<RankedTensorType>(copy.value.getType());
  Value bytes =
      host.mul(size(product(func.getContext(), dimsOf(type))), host.integer(elementBytes(type.getElementType())));
  Value target =
      copy.target.kind == Storage::Output ? outputs[copy.target.number] : residualPointers[copy.target.number];
  LLVM::MemcpyOp::create(b, host.loc, target, pointer(copy.value), bytes, /*isVolatile=*/false);
}

//===----------------------------------------------------------------------===//
// Kernels and products
//===----------------------------------------------------------------------===//

/// Describes how the pieces of one result are combined, as description `number`. `bare`: only the winner is wanted.
void BodyEmitter::fillCombine(unsigned number, KernelOp op, unsigned result, bool bare, std::optional<unsigned> winner,
                              Value rowElements, int32_t kind) {
  int64_t first = int64_t(number) * combineWords;
  host.store(buffer(op, PlannedBuffer::Slots, result, bare), combines, first);
  // What the group keeps to itself stays in the first slot.
  auto target = [&](unsigned number) {
    bool leaves = !isa<GroupOp>(op->getParentOp()) ||
                  llvm::is_contained(op->getBlock()->getTerminator()->getOperands(), op.getResult(number));
    return leaves ? pointer(op.getResult(number)) : host.null();
  };
  host.store(bare ? host.null() : target(result), combines, first + 1);
  host.store(winner ? buffer(op, PlannedBuffer::Slots, *winner) : host.null(), combines, first + 2);
  host.store(winner ? target(*winner) : host.null(), combines, first + 3);
  host.store(rowElements, combines, first + 4);
  Type element = op.getBody().front().getTerminator()->getOperand(result).getType();
  host.store(host.integer32(kind), combines, 2 * (first + 5));
  host.store(host.integer32(abiDtype(element)), combines, 2 * (first + 5) + 1);
}

/// Describes how the results of pieces are combined; returns how many descriptions there are.
unsigned BodyEmitter::fillCombines(KernelOp op, const KernelSpace &space) {
  unsigned count = 0;
  Value rowElements = size(entrySize(space, space.rowElements()));
  for (auto [i, result] : llvm::enumerate(space.results)) {
    if (result.pairedWith)
      continue;
    bool bare = result.combine == CombineKind::ArgMax || result.combine == CombineKind::ArgMin;
    unsigned winner = bare ? i : i + 1;
    bool paired = !bare && winner < space.results.size() && space.results[winner].pairedWith;
    fillCombine(count, op, i, bare, bare || paired ? std::optional<unsigned>(winner) : std::nullopt, rowElements,
                combineKind(result.combine, paired && space.results[winner].combine == CombineKind::Tag));
    ++count;
  }
  return count;
}

void BodyEmitter::emitKernelStep(KernelOp op) {
  const KernelSpace &space = plan.kernels.find(op)->second;
  StringRef symbol = kernels.get(space, op.getLoc(), op.getLabel());
  for (auto [i, arg] : llvm::enumerate(kernelArguments(space))) {
    Value value;
    switch (arg.kind) {
    case KernelArg::Index:
      value = pointer(op.getIndices()[arg.number]);
      break;
    case KernelArg::Input:
      value = pointer(op.getInputs()[arg.number]);
      break;
    case KernelArg::Result:
      value = pointer(op.getResult(arg.number));
      break;
    case KernelArg::Partial:
      value = buffer(op, PlannedBuffer::Slots, arg.number);
      break;
    case KernelArg::Extreme:
      value = buffer(op, PlannedBuffer::Slots, arg.number, /*extreme=*/true);
      break;
    case KernelArg::Order:
      value = pointers[op.getOrder()];
      break;
    case KernelArg::Size:
      value = size(SizeAttr::set(func.getContext(), space.sets[arg.number]));
      break;
    }
    host.store(value, kernelArgs, i);
  }
  Value step = describeStep(op, kernelTitle(op), trafficOf(op)), function = host.addressOf(symbol);
  Value work = size(entrySize(space, space.rowWork()));
  SmallVector<Value> args{frame, step, function, kernelArgs};
  StringRef launch = "gnnrt_launch_rows";
  switch (space.launch) {
  case LaunchKind::Once:
    args.append({host.integer(1), work});
    break;
  case LaunchKind::Rows:
    args.append({size(entrySize(space, space.sizes[space.row])), work});
    break;
  case LaunchKind::Lanes:
    args.append({size(entrySize(space, space.laneTasks())),
                 host.mulSizes(size(entrySize(space, space.sizes[0])), host.integer(space.vectorLanes()))});
    break;
  case LaunchKind::Order: {
    unsigned count = fillCombines(op, space);
    args.append({pointers[op.getOrder()], combines, host.integer32(count)});
    launch = "gnnrt_launch_order";
    break;
  }
  case LaunchKind::Cut: {
    unsigned count = fillCombines(op, space);
    args.append({cutEntries(space), work, combines, host.integer32(count)});
    launch = "gnnrt_launch_cut";
    break;
  }
  }
  host.returnIfFailed(host.call(launch, host.i32(), args));
}

void BodyEmitter::emitGroupStep(GroupOp op) {
  const GroupPlan &group = plan.groups.find(op)->second;
  // It is called what its last kernel is: what the others lead to.
  KernelOp last = group.members.back().op;
  std::string symbol = kernels.get(group, op.getLoc(), last.getLabel());
  for (auto [i, argument] : llvm::enumerate(group.pointers)) {
    KernelOp member = argument.kind == GroupPointer::Value ? KernelOp() : group.members[argument.member].op;
    Value value;
    switch (argument.kind) {
    case GroupPointer::Order:
      value = pointers[op.getOrder()];
      break;
    case GroupPointer::Value:
      value = pointer(argument.value);
      break;
    case GroupPointer::Result:
      value = pointer(member.getResult(argument.result));
      break;
    case GroupPointer::Partial:
      value = buffer(member, PlannedBuffer::Slots, argument.result);
      break;
    case GroupPointer::Extreme:
      value = buffer(member, PlannedBuffer::Slots, argument.result, /*extreme=*/true);
      break;
    }
    host.store(value, kernelArgs, i);
  }
  unsigned count = 0;
  for (auto [number, stage] : llvm::enumerate(group.stages)) {
    unsigned before = count;
    for (unsigned m : stage.members) {
      const GroupMember &member = group.members[m];
      if (!stage.sweeps || member.kind != GroupMember::Reduction)
        continue;
      for (auto [i, result] : llvm::enumerate(member.results)) {
        if (result.pairedWith)
          continue;
        bool paired = i + 1 < member.results.size() && member.results[i + 1].pairedWith == i;
        std::optional<unsigned> winner;
        if (result.isBareWinner() || paired)
          winner = result.isBareWinner() ? i : i + 1;
        fillCombine(count++, member.op, i, result.isBareWinner(), winner, host.integer(member.outputs),
                    combineKind(result.combine, paired && member.results[i + 1].combine == CombineKind::Tag));
      }
    }
    host.store(host.at(combines, host.i64(), int64_t(before) * combineWords), phases, 2 * int64_t(number));
    host.store(host.integer32(count - before), phases, 4 * int64_t(number) + 2);
    host.store(host.integer32(stage.sweeps), phases, 4 * int64_t(number) + 3);
  }
  host.returnIfFailed(
      host.call("gnnrt_launch_group", host.i32(),
                {frame, describeStep(op, kernelTitle(last), trafficOf(op, group)), host.addressOf(symbol), kernelArgs,
                 pointers[op.getOrder()], phases, host.integer32(group.stages.size())}));
}

void BodyEmitter::emitGemm(GemmOp op) {
  Value workspace = buffer(op, PlannedBuffer::Workspace);
  host.returnIfFailed(host.call(
      "gnnrt_gemm", host.i32(),
      {frame, describeStep(op, "matrix product", trafficOf(op)), host.integer32(abiDtype(elementOf(op.getResult()))),
       host.integer32(op.getTransposeLhs()), host.integer32(op.getTransposeRhs()), size(op.getM()), size(op.getN()),
       size(op.getK()), pointer(op.getLhs()), pointer(op.getRhs()), host.integer32(static_cast<bool>(op.getInit())),
       pointer(op.getResult()), workspace}));
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

void BodyEmitter::failUnless(Value condition, int32_t status, const std::string &message) {
  host.require(condition, [&] {
    return host.call("gnnrt_frame_fail", host.i32(), {frame, host.integer32(status), host.text(message)});
  });
}

/// Sizes that the runtime could not check by itself.
void BodyEmitter::emitSizeChecks() {
  for (const SizeCheck &check : info.checks) {
    Value same = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::eq, host.load(sizes, host.i64(), check.set),
                                      size(check.expected));
    failUnless(same, errorShape, check.what);
  }
  for (const SizeCondition &condition : info.conditions) {
    Value holds = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::sge, size(condition.size), host.integer(0));
    failUnless(holds, errorArgument, condition.message);
  }
}

/// Asks for the memory of everything that leaves the function.
void BodyEmitter::obtainOutputs() {
  std::vector<bool> written(info.args.size());
  auto note = [&](const Storage &storage) {
    if (storage.kind == Storage::Output)
      written[storage.number] = true;
  };
  for (const auto &[root, storage] : plan.storage)
    note(storage);
  for (const OutputCopy &copy : plan.copies)
    note(copy.target);
  bool keeps = info.residuals && info.residuals->arg >= info.inputs;
  if (keeps)
    written[info.residuals->arg] = true;
  for (unsigned arg = 0; arg < info.args.size(); ++arg) {
    if (!written[arg])
      continue;
    Value memory = host.call("gnnrt_frame_output", host.ptr(), {frame, host.integer32(arg)});
    host.returnIfNull(memory);
    outputs[arg] = memory;
  }
  if (keeps) {
    writeResidualHeader(outputs[info.residuals->arg]);
    placeResiduals(outputs[info.residuals->arg]);
  }
}

void BodyEmitter::writeResidualHeader(Value block) {
  host.store(host.integer(residualMagic), block, 0);
  host.store(host.integer(info.residuals->hash), block, 1);
  host.store(host.integer(info.setNames.size()), block, 2);
  for (unsigned set = 0; set < info.setNames.size(); ++set)
    host.store(host.load(sizes, host.i64(), set), block, 3 + set);
}

/// Checks that a block is what the forward function left in a call with the same sizes, and takes over sizes that only
/// it knows.
void BodyEmitter::readResidualHeader(Value block) {
  std::string message = "the residuals are not those of a call of the forward function with arguments of these sizes";
  int64_t residualSet = *info.args[info.residuals->arg].dims[0].getSet();
  Value length = host.load(sizes, host.i64(), residualSet);
  auto check = [&](LLVM::ICmpPredicate predicate, Value x, Value y) {
    failUnless(LLVM::ICmpOp::create(b, host.loc, predicate, x, y), errorArgument, message);
  };
  check(LLVM::ICmpPredicate::sge, length, host.integer(info.residuals->headerBytes));
  check(LLVM::ICmpPredicate::eq, host.load(block, host.i64(), 0), host.integer(residualMagic));
  check(LLVM::ICmpPredicate::eq, host.load(block, host.i64(), 1), host.integer(info.residuals->hash));
  // Sets behind the one of the block itself are made for checks.
  for (int64_t set = 0; set < residualSet; ++set) {
    Value kept = host.load(block, host.i64(), 3 + set), known = host.load(sizes, host.i64(), set);
    Value unknown = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::slt, known, host.integer(0));
    Value now = LLVM::SelectOp::create(b, host.loc, unknown, kept, known);
    check(LLVM::ICmpPredicate::eq, now, kept);
    host.store(now, sizes, set);
  }
  check(LLVM::ICmpPredicate::sge, length, size(info.residuals->bytes));
}

void BodyEmitter::placeResiduals(Value block) {
  Value offset = host.integer(info.residuals->headerBytes);
  for (Type type : info.residuals->values) {
    residualPointers.push_back(
        LLVM::GEPOp::create(b, host.loc, host.ptr(), b.getI8Type(), block, ArrayRef<LLVM::GEPArg>{offset}));
    Value bytes = host.mul(size(product(func.getContext(), dimsOf(type))),
                           host.integer(elementBytes(cast<RankedTensorType>(type).getElementType())));
    offset = LLVM::AndOp::create(b, host.loc, host.add(host.add(offset, bytes), host.integer(63)), host.integer(-64));
  }
}

void BodyEmitter::run() {
  b.setInsertionPointToEnd(host.module.getBody());
  host.loc = func.getLoc();
  Type ptr = host.ptr();
  auto type = LLVM::LLVMFunctionType::get(host.i32(), {ptr, ptr, ptr});
  auto body = LLVM::LLVMFuncOp::create(b, func.getLoc(), info.name + ".body", type, LLVM::Linkage::Internal,
                                       /*dsoLocal=*/true);
  Block *entry = host.begin(body);
  frame = entry->getArgument(0);
  buffers = entry->getArgument(1);
  sizes = entry->getArgument(2);
  size_t mostArgs = 1, mostResults = 1;
  for (auto &[op, space] : plan.kernels) {
    mostArgs = std::max(mostArgs, kernelArguments(space).size());
    mostResults = std::max(mostResults, space.results.size());
  }
  size_t mostPhases = 1;
  for (auto &[op, group] : plan.groups) {
    mostArgs = std::max(mostArgs, group.pointers.size());
    mostPhases = std::max(mostPhases, group.stages.size());
    size_t results = 0;
    for (const GroupMember &member : group.members)
      results += member.results.size();
    mostResults = std::max(mostResults, results);
  }
  kernelArgs = host.local(ptr, mostArgs);
  phases = host.local(host.i64(), 2 * mostPhases);
  stepWords = host.local(host.i64(), 3);
  combines = host.local(host.i64(), combineWords * mostResults);
  bufferPointers.resize(plan.buffers.size());

  if (info.residuals && info.residuals->arg < info.inputs) {
    Value block = host.load(buffers, ptr, info.residuals->arg);
    readResidualHeader(block);
    placeResiduals(block);
  }
  for (Operation *op : plan.early)
    emitOp(op);
  host.loc = func.getLoc();
  emitSizeChecks();
  obtainOutputs();
  reserve(0);
  emitBlock(func.getBody().front());
  host.loc = func.getLoc();
  for (const OutputCopy &copy : plan.copies)
    emitCopy(copy);
  LLVM::ReturnOp::create(b, host.loc, host.integer32(0));
}

void gnnc::lowerEntry(func::FuncOp func, const EntryInfo &info, MemoryPlan &plan, KernelLibrary &kernels,
                      HostCode &host) {
  BodyEmitter(func, info, plan, kernels, host).run();
}

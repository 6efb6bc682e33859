// How many bytes steps read and write: requests, not what caches let through.
#include "Traffic.h"

#include "MemoryPlan.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

// What an order holds for a row and for an entry.
static constexpr int64_t rowBytes = 8, entryBytes = 4;

static SizeAttr none(Operation *op) { return SizeAttr::constant(op->getContext(), 0); }
static AffineMap mapAt(ArrayAttr maps, unsigned number) { return cast<AffineMapAttr>(maps[number]).getValue(); }
static SizeAttr tensorBytes(Value value) {
  return product(value.getContext(), dimsOf(value)).scale(elementBytes(elementOf(value)));
}

/// Whether a constant of equal elements stands in the code.
static bool isImmediate(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat();
}

/// The iterators that a position depends on, by itself or through an index.
static void addIterators(KernelOp kernel, AffineMap map, std::set<unsigned> &iterators) {
  for (unsigned d = 0; d < map.getNumDims(); ++d)
    if (map.isFunctionOfDim(d))
      iterators.insert(d);
  for (unsigned k = 0; k < kernel.getIndices().size(); ++k)
    if (map.isFunctionOfSymbol(k))
      addIterators(kernel, mapAt(kernel.getIndexMaps(), k), iterators);
}

Traffic gnnc::trafficOf(KernelOp kernel) {
  Traffic traffic{none(kernel), none(kernel)};
  ArrayRef<SizeAttr> sizes = kernel.getSpace().getSizes();
  auto order = kernel.getOrder() ? cast<OrderType>(kernel.getOrder().getType()) : OrderType();
  bool shares = cast<CombineKindAttr>(kernel.getCombines()[0]).getValue() == CombineKind::Share;
  auto elements = [&](const std::set<unsigned> &iterators) {
    SizeAttr count = SizeAttr::constant(kernel.getContext(), 1);
    for (unsigned d : iterators) {
      if (order && d == 1)
        count = count.mul(order.getEntries());
      else if (!order || d != 0 || !iterators.contains(1)) // an entry has one row
        count = count.mul(sizes[d]);
    }
    return count;
  };
  llvm::DenseSet<std::pair<Value, AffineMap>> seen;
  auto read = [&](Value value, AffineMap map) {
    if (isImmediate(value) || !seen.insert({value, map}).second)
      return;
    std::set<unsigned> iterators;
    addIterators(kernel, map, iterators);
    // Where shares go is known for each row; only a tie reads its entries.
    if (shares && iterators.contains(1))
      return;
    traffic.read = traffic.read.add(elements(iterators).scale(elementBytes(elementOf(value))));
  };
  for (auto [k, index] : llvm::enumerate(kernel.getIndices()))
    read(index, mapAt(kernel.getIndexMaps(), k));
  for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
    read(input, mapAt(kernel.getMaps(), i));
  for (Value init : kernel.getInits())
    traffic.read = traffic.read.add(tensorBytes(init));
  if (order && !shares)
    traffic.read = traffic.read.add(order.getRows().scale(rowBytes)).add(order.getEntries().scale(entryBytes));
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    AffineMap map = mapAt(kernel.getResultMaps(), i);
    std::set<unsigned> iterators;
    addIterators(kernel, map, iterators);
    bool scattered = false;
    for (unsigned k = 0; k < kernel.getIndices().size(); ++k)
      scattered |= map.isFunctionOfSymbol(k);
    traffic.written = traffic.written.add(scattered ? tensorBytes(result)
                                                    : elements(iterators).scale(elementBytes(elementOf(result))));
  }
  return traffic;
}

namespace {
/// The reads of a group, pass by pass.
class GroupReads {
public:
  GroupReads(GroupOp op, const GroupPlan &group)
      : group(group), order(cast<OrderType>(op.getOrder().getType())), bytes(none(op)) {}
  SizeAttr run();

private:
  /// What is read at one place of memory for an entry, for a row, or once: which features.
  struct Place {
    std::set<int64_t> features;
    Type element;
  };
  using Places = std::map<std::string, Place>;

  const GroupPlan &group;
  OrderType order;
  SizeAttr bytes;
  Places ofEntries, ofRows, once;
  bool usesPerm = false, usesOther = false;

  std::string key(const GroupMember &member, const GroupAccess &access);
  std::string indexKey(const GroupMember &member, unsigned index);
  void add(const GroupMember &member, const GroupAccess &access);
  void addAll(const Places &places, SizeAttr times);
};
} // namespace

std::string GroupReads::indexKey(const GroupMember &member, unsigned index) {
  const GroupIndex &i = member.indices[index];
  return i.kind == GroupIndex::Other ? "other" : key(member, i.access);
}

std::string GroupReads::key(const GroupMember &member, const GroupAccess &access) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << access.pointer << ' ' << access.row << ' ' << access.entry;
  for (auto [k, stride] : llvm::enumerate(access.indices))
    if (stride != 0)
      os << " (" << stride << " * " << indexKey(member, k) << ')';
  return text;
}

void GroupReads::add(const GroupMember &member, const GroupAccess &access) {
  // What the group itself has made for the row or the entry at hand isn't fetched.
  if (access.scratch >= 0 || access.kept >= 0 || group.pointers[access.pointer].kind == GroupPointer::Result)
    return;
  usesPerm |= access.entry != 0;
  Places &places = access.ofEntry() ? ofEntries : access.row != 0 ? ofRows : once;
  Place &place = places[key(member, access)];
  place.features.insert(access.features.begin(), access.features.end());
  place.element = access.element;
}

void GroupReads::addAll(const Places &places, SizeAttr times) {
  int64_t each = 0;
  for (const auto &[key, place] : places)
    each += int64_t(place.features.size()) * elementBytes(place.element);
  bytes = bytes.add(times.scale(each));
}

SizeAttr GroupReads::run() {
  for (const GroupStage &stage : group.stages) {
    ofEntries.clear();
    usesPerm = usesOther = false;
    for (unsigned m : stage.members) {
      const GroupMember &member = group.members[m];
      for (const GroupIndex &index : member.indices) {
        if (index.kind == GroupIndex::Other)
          usesOther = true;
        else
          add(member, index.access);
      }
      for (auto [input, immediate] : llvm::zip(member.inputs, member.immediates))
        if (!immediate)
          add(member, input);
      for (const GroupResult &result : member.results) // a winner is the number of an entry
        usesPerm |= result.combine == CombineKind::ArgMax || result.combine == CombineKind::ArgMin;
    }
    addAll(ofEntries, order.getEntries());
    if (stage.sweeps)
      bytes = bytes.add(order.getEntries().scale(entryBytes * (int64_t(usesPerm) + int64_t(usesOther))));
  }
  addAll(ofRows, order.getRows());
  addAll(once, SizeAttr::constant(order.getContext(), 1));
  return bytes.add(order.getRows().scale(rowBytes));
}

Traffic gnnc::trafficOf(GroupOp op, const GroupPlan &group) {
  SizeAttr written = none(op);
  for (const GroupMember &member : group.members)
    if (member.kind != GroupMember::Entries)
      for (auto [value, result] : llvm::zip(member.op.getResults(), member.results))
        if (result.kept < 0)
          written = written.add(tensorBytes(value));
  return {GroupReads(op, group).run(), written};
}

Traffic gnnc::trafficOf(GemmOp gemm) {
  int64_t element = elementBytes(elementOf(gemm.getResult()));
  auto bytes = [&](SizeAttr rows, SizeAttr columns) { return rows.mul(columns).scale(element); };
  SizeAttr m = gemm.getM(), n = gemm.getN(), k = gemm.getK(), result = bytes(m, n);
  SizeAttr read = bytes(m, k).add(bytes(k, n));
  return {gemm.getInit() ? read.add(result) : read, result};
}

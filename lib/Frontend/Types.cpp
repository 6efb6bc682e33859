// Types of the front end: their text in the user's names, variables and what they are bound to, and the IR types they
// become.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gnnc::elab {

Elaborator::Elaborator(const FrontendOptions &options, DiagnosticEngine &diagnostics, MLIRContext &context)
    : ctx(&context), options(options), diags(diagnostics), builder(&context) {
  unitTy.kind = Type::unit;
  textTy.kind = Type::text;
}

TypeRef Elaborator::make(Type type) {
  types.push_back(std::move(type));
  return &types.back();
}

TypeRef Elaborator::tensor(Elem elem, ArrayRef<Dim> dims, SizeAttr target) {
  Type t;
  t.kind = Type::tensor;
  t.elem = elem;
  t.dims.assign(dims.begin(), dims.end());
  t.target = target;
  return make(std::move(t));
}

//===----------------------------------------------------------------------===//
// Equality and text
//===----------------------------------------------------------------------===//

bool Elaborator::same(TypeRef a, TypeRef b) const {
  if (a == b)
    return true;
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case Type::error:
  case Type::unit:
  case Type::text:
    return true;
  case Type::tensor:
    return a->elem == b->elem && a->target == b->target && a->dims == b->dims;
  case Type::shape:
    return a->dims == b->dims;
  case Type::structure:
    return a->decl == b->decl && a->blocks == b->blocks && llvm::all_of(llvm::zip(a->args, b->args), [&](auto pair) {
             auto &[x, y] = pair;
             return x.type ? y.type && same(x.type, y.type) : x.size == y.size;
           });
  case Type::opaque:
    return a->parameter == b->parameter;
  case Type::graph:
    return a->src == b->src && a->dst == b->dst && a->edges == b->edges && a->graphs == b->graphs;
  case Type::tuple:
  case Type::function:
    return a->elements.size() == b->elements.size() &&
           llvm::all_of(llvm::zip(a->elements, b->elements),
                        [&](auto pair) { return same(std::get<0>(pair), std::get<1>(pair)); }) &&
           (a->result == b->result || (a->result && b->result && same(a->result, b->result)));
  }
  return false;
}

static StringRef elemName(Elem elem) {
  switch (elem) {
  case Elem::real:
    return "real";
  case Elem::f32:
    return "f32";
  case Elem::f64:
    return "f64";
  case Elem::i32:
    return "i32";
  case Elem::i64:
    return "i64";
  case Elem::boolean:
    return "bool";
  case Elem::index:
    return "index";
  case Elem::key:
    return "Key";
  case Elem::integer:
    return "an integer constant";
  case Elem::number:
    return "a real constant";
  }
  return "";
}

std::string Elaborator::str(SizeAttr size) const {
  return size.str([&](int64_t id) -> std::string {
    const DimVar &v = vars[id];
    return v.isPack ? ".." + v.name : v.name;
  });
}

std::string Elaborator::str(ArrayRef<Dim> dims) const {
  std::string text = "[";
  llvm::interleave(
      dims, [&](const Dim &d) { text += d.kind == Dim::one ? "_" : str(d.extent); }, [&] { text += ", "; });
  return text + "]";
}

std::string Elaborator::str(TypeRef t) const {
  switch (t->kind) {
  case Type::error:
    return "an error";
  case Type::unit:
    return "()";
  case Type::text:
    return "a string";
  case Type::shape:
    return "a list of dimensions";
  case Type::tensor: {
    std::string text = elemName(t->elem).str();
    if (t->elem == Elem::index)
      text += "(" + str(t->target) + ")";
    return t->dims.empty() ? text : text + str(t->dims);
  }
  case Type::structure: {
    std::string text = t->decl->name.text.str();
    if (!t->module->name.empty() && frame && t->module != frame->module)
      text = t->module->name.str() + "." + text;
    if (!t->args.empty()) {
      text += "[";
      llvm::interleave(
          t->args, [&](const StructArg &a) { text += a.type ? str(a.type) : str(a.size); }, [&] { text += ", "; });
      text += "]";
    }
    for (const Dim &d : t->blocks)
      text += str(d);
    return text;
  }
  case Type::opaque:
    return structVars[t->parameter].name;
  case Type::graph:
    return (t->graphs ? "GraphBatch(" : "Graph(") + str(t->src) + " -> " + str(t->dst) + ")";
  case Type::tuple:
  case Type::function: {
    std::string text = t->kind == Type::tuple ? "(" : "fn(";
    llvm::interleave(t->elements, [&](TypeRef e) { text += str(e); }, [&] { text += ", "; });
    text += ")";
    if (t->kind == Type::function)
      return t->result ? text + " -> " + str(t->result) : std::string("a function");
    return text;
  }
  }
  return "";
}

std::string Elaborator::describe(const Value &value) const {
  if (value.type->isTensor() && value.type->elem == Elem::integer)
    return "the integer " + str(value.size);
  return str(value.type);
}

std::string counted(size_t count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Frame &Elaborator::newFrame(const ast::Module *module) {
  frames.push_back({});
  scopes.push_back({});
  Frame &f = frames.back();
  f.id = f.owner = ++lastFrameId;
  f.resultId = ++lastFrameId;
  f.module = module;
  f.scope = &scopes.back();
  return f;
}

unsigned Elaborator::newVar(StringRef name, SourceRange range) {
  DimVar v;
  v.name = name.str();
  v.frame = frame ? frame->owner : 0;
  v.range = range;
  vars.push_back(std::move(v));
  return vars.size() - 1;
}

unsigned Elaborator::newPack(StringRef name, SourceRange range) {
  unsigned id = newVar(name, range);
  vars[id].isPack = true;
  return id;
}

SizeAttr Elaborator::freshIrSet(StringRef name) {
  setNames.push_back(name.str());
  return SizeAttr::set(ctx, setNames.size() - 1);
}

unsigned Elaborator::newSet(StringRef name, SourceRange range) {
  std::string text = name.str(); // which may be a variable's own
  unsigned id = newVar(text, range);
  vars[id].ir = freshIrSet(text);
  return id;
}

void Elaborator::bindVar(unsigned id, SizeAttr size) {
  vars[id].bound = size;
  vars[id].ir = irSize(size);
}

void Elaborator::bindPack(unsigned id, ArrayRef<Dim> dims) {
  SizeAttr product = constantSize(1);
  Dims bound;
  for (Dim d : dims) {
    // A `_` counts as the literal 1 at a call.
    if (d.kind == Dim::one)
      d.kind = Dim::size;
    product = product.mul(d.extent);
    bound.push_back(d);
  }
  SmallVector<SizeAttr> sizes = irDims(bound);
  DimVar &v = vars[id];
  v.boundDims = bound;
  v.bound = product;
  v.irDims.assign(sizes.begin(), sizes.end());
  v.ir = gnn::product(ctx, sizes);
}

SizeAttr Elaborator::substitute(SizeAttr size, unsigned of) const {
  if (!size)
    return size;
  return size.substitute([&](int64_t id) {
    const DimVar &v = vars[id];
    return v.frame == of && v.bound ? v.bound : SizeAttr::set(ctx, id);
  });
}

Dims Elaborator::substitute(ArrayRef<Dim> dims, unsigned of) const {
  Dims result;
  for (Dim d : dims) {
    if (d.kind == Dim::pack) {
      const DimVar &v = vars[*d.extent.getSet()];
      if (v.frame == of && v.bound) {
        result.append(v.boundDims.begin(), v.boundDims.end());
        continue;
      }
    } else {
      d.extent = substitute(d.extent, of);
    }
    result.push_back(d);
  }
  return result;
}

TypeRef Elaborator::substitute(TypeRef type, unsigned of) {
  if (type->kind == Type::opaque) {
    const StructVar &v = structVars[type->parameter];
    return v.frame == of && v.bound ? v.bound : type;
  }
  if (type->kind == Type::error || type->kind == Type::unit || type->kind == Type::text)
    return type;
  Type t = *type;
  t.dims = substitute(type->dims, of);
  t.blocks = substitute(type->blocks, of);
  t.target = substitute(t.target, of);
  t.src = substitute(t.src, of);
  t.dst = substitute(t.dst, of);
  t.edges = substitute(t.edges, of);
  t.graphs = substitute(t.graphs, of);
  for (StructArg &a : t.args) {
    a.size = substitute(a.size, of);
    if (a.type)
      a.type = substitute(a.type, of);
  }
  for (TypeRef &e : t.elements)
    e = substitute(e, of);
  if (t.result)
    t.result = substitute(t.result, of);
  return make(std::move(t));
}

TypeRef Elaborator::resolve(TypeRef type) const {
  while (type->kind == Type::opaque && structVars[type->parameter].bound)
    type = structVars[type->parameter].bound;
  return type;
}

//===----------------------------------------------------------------------===//
// IR types
//===----------------------------------------------------------------------===//

SizeAttr Elaborator::irSize(SizeAttr size) {
  return size.substitute([&](int64_t id) {
    if (!vars[id].ir) {
      SizeAttr fresh = freshIrSet(vars[id].name);
      vars[id].ir = fresh;
      if (vars[id].isPack)
        vars[id].irDims = {fresh};
    }
    return vars[id].ir;
  });
}

SmallVector<SizeAttr> Elaborator::irDims(ArrayRef<Dim> dims) {
  SmallVector<SizeAttr> sizes;
  for (const Dim &d : dims) {
    SizeAttr size = irSize(d.extent);
    if (d.kind == Dim::pack)
      llvm::append_range(sizes, vars[*d.extent.getSet()].irDims);
    else
      sizes.push_back(size);
  }
  return sizes;
}

int64_t Elaborator::irPosition(ArrayRef<Dim> dims, unsigned k) {
  return static_cast<int64_t>(irDims(dims.take_front(k)).size());
}

SmallVector<int64_t> Elaborator::irPositions(ArrayRef<Dim> dims, ArrayRef<unsigned> which) {
  SmallVector<int64_t> positions;
  for (unsigned k : which)
    for (int64_t p = irPosition(dims, k), end = irPosition(dims, k + 1); p < end; ++p)
      positions.push_back(p);
  return positions;
}

mlir::Type Elaborator::irElem(Elem elem) {
  switch (elem) {
  case Elem::real:
  case Elem::number:
    return options.realIsF64 ? mlir::Type(builder.getF64Type()) : mlir::Type(builder.getF32Type());
  case Elem::f32:
    return builder.getF32Type();
  case Elem::f64:
    return builder.getF64Type();
  case Elem::i32:
  case Elem::index:
    return builder.getI32Type();
  case Elem::i64:
  case Elem::key:
  case Elem::integer:
    return builder.getI64Type();
  case Elem::boolean:
    return builder.getI1Type();
  }
  return builder.getF32Type();
}

RankedTensorType Elaborator::irTensor(Elem elem, ArrayRef<Dim> dims) {
  return gnn::tensorType(irDims(dims), irElem(elem));
}

RankedTensorType Elaborator::irTensor(TypeRef type) { return irTensor(type->elem, type->dims); }

mlir::Type Elaborator::irType(TypeRef type) {
  if (type->kind == Type::graph)
    return gnn::GnnGraphType::get(ctx, irSize(type->src), irSize(type->dst), irSize(type->edges));
  return irTensor(type);
}

ArrayRef<TypeRef> Elaborator::fieldTypes(TypeRef s) {
  auto found = fieldCache.find(s);
  if (found != fieldCache.end())
    return found->second;
  // The fields are typed in the scope of the struct's own module, its parameters standing for the arguments.
  Frame &inner = newFrame(s->module);
  for (auto [param, arg] : llvm::zip(s->decl->generics, s->args)) {
    Binding b;
    b.range = param.name.range;
    if (arg.type) {
      b.kind = Binding::typeParameter;
      b.type = arg.type;
    } else {
      b.val = integerValue(arg.size);
    }
    inner.scope->names[param.name.text] = b;
  }
  Restore<Frame *> in(frame, &inner);
  openStructs.push_back(s->decl);
  SmallVector<TypeRef> fields;
  for (const ast::StructField &f : s->decl->fields)
    fields.push_back(inBlocks(typeOf(f.type), s->blocks));
  openStructs.pop_back();
  return fieldCache[s] = std::move(fields);
}

/// The type of what an array of structs holds of a field.
TypeRef Elaborator::inBlocks(TypeRef type, ArrayRef<Dim> blocks) {
  if (blocks.empty() || (type->kind != Type::tensor && type->kind != Type::structure))
    return type;
  Type t = *type;
  Dims &dims = type->kind == Type::tensor ? t.dims : t.blocks;
  dims.insert(dims.begin(), blocks.begin(), blocks.end());
  return make(std::move(t));
}

} // namespace gnnc::elab

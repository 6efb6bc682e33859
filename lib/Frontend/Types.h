// What the elaborator computes for every expression: a type in the dimensions of the function at hand, and a value that
// carries IR values. Internal to lib/Frontend.
#ifndef GNNC_LIB_FRONTEND_TYPES_H
#define GNNC_LIB_FRONTEND_TYPES_H

#include "gnnc/Dialect/Gnn.h"
#include "gnnc/Frontend/AST.h"
#include <memory>

namespace gnnc::elab {

using gnn::SizeAttr;

/// What a tensor holds. `integer` is a compile-time integer (a literal, a dimension, arithmetic on them) and `number` a
/// compile-time real constant: both take the element type that their place asks for.
enum class Elem : uint8_t { real, f32, f64, i32, i64, boolean, index, key, integer, number };

inline bool isFloat(Elem e) { return e == Elem::real || e == Elem::f32 || e == Elem::f64; }
inline bool isRuntimeInt(Elem e) { return e == Elem::i32 || e == Elem::i64; }
inline bool isLiteral(Elem e) { return e == Elem::integer || e == Elem::number; }

/// One item of a shape: a size, a `_` (inserted by None: size 1, matches any one dimension), or a pack of dimensions.
/// `extent` is the size; of a pack, the set that is the pack's variable and stands for the product of its dimensions.
struct Dim {
  enum Kind : uint8_t { size, one, pack } kind = size;
  SizeAttr extent;
  bool operator==(const Dim &o) const { return kind == o.kind && extent == o.extent; }
};
using Dims = llvm::SmallVector<Dim, 4>;

struct Type;
using TypeRef = const Type *;

/// What stands in a struct's brackets: a dimension, or a type for `[S: struct]`.
struct StructArg {
  SizeAttr size;
  TypeRef type = nullptr;
};

struct Type {
  enum Kind : uint8_t {
    error,     // something wrong was reported: no further errors about it
    unit,      // no value
    tensor,    // scalars too
    structure, // a struct with its arguments
    opaque,    // a parameter [S: struct] of the function at hand
    graph,
    tuple,
    function,
    text,  // a string, only as an option of built-ins
    shape, // a list of dimensions, only as an argument of built-ins
  } kind = error;
  // tensor
  Elem elem = Elem::real;
  SizeAttr target; // of an index array
  Dims dims;       // shape too
  // structure
  const ast::StructDecl *decl = nullptr;
  const ast::Module *module = nullptr;
  llvm::SmallVector<StructArg, 4> args;
  Dims blocks; // of an array of structs, `Block[F][L]`: every leaf has these dimensions first
  // opaque: the parameter's number
  unsigned parameter = 0;
  // graph; `graphs` of a batch of graphs, null otherwise
  SizeAttr src, dst, edges, graphs;
  // tuple: its elements; function: its parameters
  llvm::SmallVector<TypeRef, 4> elements;
  llvm::SmallVector<llvm::StringRef, 4> names; // of a tuple's elements, "" where it has none
  TypeRef result = nullptr;                    // of a function; null: not known before it is called

  bool isError() const { return kind == error; }
  bool isTensor() const { return kind == tensor; }
  bool isScalar() const { return kind == tensor && dims.empty(); }
};

struct Frame;
struct Scope;
struct Closure;
struct Builtin;
using ScopePtr = Scope *; // owned by the elaborator, as frames are

/// The value of an expression.
struct Value {
  TypeRef type = nullptr;
  mlir::Value ir;           // tensors and graphs; null for compile-time constants
  mlir::Value batch;        // of a batch of graphs: which graph each node is in
  SizeAttr size;            // of Elem::integer
  double constant = 0;      // of Elem::number
  llvm::StringRef text;     // of strings
  std::vector<Value> parts; // fields of a struct, elements of a tuple; of a graph made from another: {old}
  std::shared_ptr<Closure> closure;

  bool isError() const { return type->isError(); }
};

enum class DerivativeKind : uint8_t { grad, valueAndGrad, vjp, jvp };

/// A function as a value, resolved at compile time.
struct Closure {
  enum Kind : uint8_t {
    isFunction,   // a declared function
    isLambda,     // |x| e with the scope it stands in
    isBuiltin,    // silu
    isParameter,  // a parameter of function type: its signature, and what was passed
    isDerivative, // grad(f, wrt=x)
    isBack,       // the second result of vjp
    isPush,       // the second result of jvp
  } kind = isFunction;
  const ast::FnDecl *fn = nullptr;
  const ast::Module *module = nullptr;
  const ast::LambdaExpr *lambda = nullptr;
  Frame *frame = nullptr; // of a lambda; of a parameter: the caller's, where what was passed is called
  ScopePtr scope;
  const Builtin *builtin = nullptr;
  TypeRef signature = nullptr;   // of a parameter, in the callee's dimensions
  unsigned callee = 0;           // of a parameter: the frame whose variables its signature mentions
  std::shared_ptr<Closure> base; // what was passed (null while checking), or what is differentiated
  DerivativeKind derivative = DerivativeKind::grad;
  const ast::Expr *wrt = nullptr;
  SourceRange range;
  // back and push
  mlir::Value tape;
  std::vector<Value> values;    // the result, of which back takes cotangents and push gives tangents
  std::vector<Value> wrtValues; // what back gives gradients of, and push takes tangents of
  bool isSingle = true;         // one gradient, or a tuple
};

} // namespace gnnc::elab

#endif

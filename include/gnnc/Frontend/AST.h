// The syntax tree: what the user wrote, nothing resolved. Plain structs with a kind, for isa/cast/dyn_cast; all nodes
// and arrays live in the arena of their Module, names point into the source text. Every node knows its range.
#ifndef GNNC_FRONTEND_AST_H
#define GNNC_FRONTEND_AST_H

#include "gnnc/Frontend/Source.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/raw_ostream.h"

namespace gnnc::ast {

struct Expr;
struct TypeExpr;
struct Block;
struct Module;

/// An identifier where it stands.
struct Name {
  llvm::StringRef text;
  SourceRange range;
  explicit operator bool() const { return !text.empty(); }
};

/// `wrt=x` or `x`; `name` is empty for a positional one. Used for arguments of calls and for what stands in brackets.
struct Arg {
  Name name;
  Expr *value = nullptr;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class ExprKind : uint8_t {
  intLit,
  floatLit,
  stringLit,
  boolLit,
  name,        // x
  wildcard,    // _, only as a target of an assignment
  none,        // None, only in brackets
  field,       // base.name
  unary,       // -x, not x
  binary,      // x + y
  call,        // f(x), f[H=8](x)
  index,       // x[i, :, None], Gcn[In, H]
  slice,       // a:b:step, only in brackets
  pack,        // .. or ..B, in brackets and as an argument
  range,       // a..b
  list,        // [H, D]
  tuple,       // (a, b)
  construct,   // Gcn { w0: a }
  lambda,      // |x| e
  conditional, // if c { a } else { b }
};

struct Expr {
  const ExprKind kind;
  /// Nodes on the longest way down. The parser keeps it below a limit, so that walks over the tree may recurse.
  uint16_t height = 1;
  SourceRange range;
  Expr(ExprKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// Never negative: a sign is a unary operator.
struct IntLit : Expr {
  int64_t value;
  IntLit(SourceRange range, int64_t value) : Expr(ExprKind::intLit, range), value(value) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::intLit; }
};

/// `text` is the spelling, for printing it back.
struct FloatLit : Expr {
  double value;
  llvm::StringRef text;
  FloatLit(SourceRange range, double value, llvm::StringRef text)
      : Expr(ExprKind::floatLit, range), value(value), text(text) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::floatLit; }
};

/// Without its quotes, escapes replaced.
struct StringLit : Expr {
  llvm::StringRef value;
  StringLit(SourceRange range, llvm::StringRef value) : Expr(ExprKind::stringLit, range), value(value) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::stringLit; }
};

struct BoolLit : Expr {
  bool value;
  BoolLit(SourceRange range, bool value) : Expr(ExprKind::boolLit, range), value(value) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::boolLit; }
};

/// A variable, function, struct, module, dimension parameter, built-in or scalar type (`real(x)`): resolved later.
struct NameExpr : Expr {
  llvm::StringRef name;
  NameExpr(SourceRange range, llvm::StringRef name) : Expr(ExprKind::name, range), name(name) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::name; }
};

struct WildcardExpr : Expr {
  explicit WildcardExpr(SourceRange range) : Expr(ExprKind::wildcard, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::wildcard; }
};

struct NoneExpr : Expr {
  explicit NoneExpr(SourceRange range) : Expr(ExprKind::none, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::none; }
};

/// Also a name of a module: `nn.linear`, and an index set: `g.nodes`.
struct FieldExpr : Expr {
  Expr *base;
  Name field;
  FieldExpr(SourceRange range, Expr *base, Name field) : Expr(ExprKind::field, range), base(base), field(field) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::field; }
};

enum class UnaryOp : uint8_t { neg, logicalNot };
struct UnaryExpr : Expr {
  UnaryOp op;
  Expr *operand;
  UnaryExpr(SourceRange range, UnaryOp op, Expr *operand) : Expr(ExprKind::unary, range), op(op), operand(operand) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::unary; }
};

enum class BinaryOp : uint8_t { add, sub, mul, div, matmul, eq, ne, lt, le, gt, ge, logicalAnd, logicalOr };
struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange opRange;
  Expr *lhs, *rhs;
  BinaryExpr(SourceRange range, BinaryOp op, SourceRange opRange, Expr *lhs, Expr *rhs)
      : Expr(ExprKind::binary, range), op(op), opRange(opRange), lhs(lhs), rhs(rhs) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::binary; }
};

/// `callee(args)` or `callee[dims](args)`: brackets directly before the parenthesis always belong to the call
/// (`zeros[V, 3]()`, `f[H=8](x)`, `randn[V, 3](key)`), and `hasDims` tells `f[](x)` from `f(x)`.
struct CallExpr : Expr {
  Expr *callee;
  bool hasDims;
  llvm::ArrayRef<Arg> dims;
  llvm::ArrayRef<Arg> args;
  CallExpr(SourceRange range, Expr *callee, bool hasDims, llvm::ArrayRef<Arg> dims, llvm::ArrayRef<Arg> args)
      : Expr(ExprKind::call, range), callee(callee), hasDims(hasDims), dims(dims), args(args) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::call; }
};

/// `base[items]`. An item may be a SliceExpr, NoneExpr or PackExpr. As an argument in brackets this may also be a
/// struct type: `nn.Adam[Gcn[In, Hidden]]`.
struct IndexExpr : Expr {
  Expr *base;
  llvm::ArrayRef<Expr *> items;
  IndexExpr(SourceRange range, Expr *base, llvm::ArrayRef<Expr *> items)
      : Expr(ExprKind::index, range), base(base), items(items) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::index; }
};

/// Each part may be null: `:`, `1:`, `::-1`.
struct SliceExpr : Expr {
  Expr *begin, *end, *step;
  SliceExpr(SourceRange range, Expr *begin, Expr *end, Expr *step)
      : Expr(ExprKind::slice, range), begin(begin), end(end), step(step) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::slice; }
};

/// `..B`; the name is empty for a bare `..`.
struct PackExpr : Expr {
  Name name;
  PackExpr(SourceRange range, Name name) : Expr(ExprKind::pack, range), name(name) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::pack; }
};

/// The integers from `begin` up to, not including, `end`: what a `for` runs over.
struct RangeExpr : Expr {
  Expr *begin, *end;
  RangeExpr(SourceRange range, Expr *begin, Expr *end) : Expr(ExprKind::range, range), begin(begin), end(end) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::range; }
};

/// A list of dimensions, `[g.nodes, H * D]`: the shape that `reshape` takes. Items may be packs.
struct ListExpr : Expr {
  llvm::ArrayRef<Expr *> items;
  ListExpr(SourceRange range, llvm::ArrayRef<Expr *> items) : Expr(ExprKind::list, range), items(items) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::list; }
};

/// Never of one element: `(a)` is a itself, with the parentheses in its range.
struct TupleExpr : Expr {
  llvm::ArrayRef<Expr *> items;
  TupleExpr(SourceRange range, llvm::ArrayRef<Expr *> items) : Expr(ExprKind::tuple, range), items(items) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::tuple; }
};

struct FieldInit {
  Name name;
  Expr *value;
};
/// `Gcn { w0: a }`, `nn.Linear[F, O] { w: a, b: c }`. `type` is a NameExpr, FieldExpr, or IndexExpr of one of them.
struct ConstructExpr : Expr {
  Expr *type;
  llvm::ArrayRef<FieldInit> fields;
  ConstructExpr(SourceRange range, Expr *type, llvm::ArrayRef<FieldInit> fields)
      : Expr(ExprKind::construct, range), type(type), fields(fields) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::construct; }
};

struct LambdaParam {
  Name name;                // "_" where the argument is not used
  TypeExpr *type = nullptr; // null: inferred
};
/// Exactly one of `expr` and `block` is set. A block gives its value by `return` or by its tail.
struct LambdaExpr : Expr {
  llvm::ArrayRef<LambdaParam> params;
  Expr *expr;
  Block *block;
  LambdaExpr(SourceRange range, llvm::ArrayRef<LambdaParam> params, Expr *expr, Block *block)
      : Expr(ExprKind::lambda, range), params(params), expr(expr), block(block) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::lambda; }
};

/// `if c { a } else { b }` as a value: both blocks have a tail. `else if` is a block whose tail is a ConditionalExpr.
struct ConditionalExpr : Expr {
  Expr *condition;
  Block *thenBlock, *elseBlock;
  ConditionalExpr(SourceRange range, Expr *condition, Block *thenBlock, Block *elseBlock)
      : Expr(ExprKind::conditional, range), condition(condition), thenBlock(thenBlock), elseBlock(elseBlock) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::conditional; }
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

enum class TypeKind : uint8_t { named, index, graph, function, tuple };

struct TypeExpr {
  const TypeKind kind;
  SourceRange range;
  TypeExpr(TypeKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// One `[...]` of a type. Items are dimension expressions, packs, or, for `[S: struct]` parameters, struct types
/// written as NameExpr/FieldExpr/IndexExpr.
struct Brackets {
  SourceRange range;
  llvm::ArrayRef<Expr *> items;
};

/// `real[g.nodes, F]`, `Key`, `nn.Adam[S]`, `Block[F, K][L]`. A scalar type has at most one group of brackets (its
/// dimensions); a struct's first group holds its parameters and a second one counts blocks. Which it is, is resolved
/// later.
struct NamedType : TypeExpr {
  Name module; // `nn` in `nn.Linear`, or empty
  Name name;
  llvm::ArrayRef<Brackets> brackets;
  NamedType(SourceRange range, Name module, Name name, llvm::ArrayRef<Brackets> brackets)
      : TypeExpr(TypeKind::named, range), module(module), name(name), brackets(brackets) {}
  static bool classof(const TypeExpr *t) { return t->kind == TypeKind::named; }
};

/// `index(A)[S...]`: entries point into A. `dims` is empty for a single index.
struct IndexType : TypeExpr {
  Expr *target;
  llvm::ArrayRef<Expr *> dims;
  IndexType(SourceRange range, Expr *target, llvm::ArrayRef<Expr *> dims)
      : TypeExpr(TypeKind::index, range), target(target), dims(dims) {}
  static bool classof(const TypeExpr *t) { return t->kind == TypeKind::index; }
};

/// `Graph`, `Graph(items -> users)`, `GraphBatch`, `GraphBatch(V -> V)`. Both sets are null where none are named.
struct GraphType : TypeExpr {
  bool batch;
  Expr *source, *target;
  GraphType(SourceRange range, bool batch, Expr *source, Expr *target)
      : TypeExpr(TypeKind::graph, range), batch(batch), source(source), target(target) {}
  static bool classof(const TypeExpr *t) { return t->kind == TypeKind::graph; }
};

/// `fn(real[g.edges, F]) -> real[g.edges, O]`. Parameters may carry a name, which is of no consequence.
struct FunctionType : TypeExpr {
  llvm::ArrayRef<TypeExpr *> params;
  TypeExpr *result;
  FunctionType(SourceRange range, llvm::ArrayRef<TypeExpr *> params, TypeExpr *result)
      : TypeExpr(TypeKind::function, range), params(params), result(result) {}
  static bool classof(const TypeExpr *t) { return t->kind == TypeKind::function; }
};

struct TupleElement {
  Name name; // may be empty
  TypeExpr *type;
};
/// `(real, real[F])`, `(h: Graph(g.nodes -> g.nodes), real[h.edges])`. `()` is the type of a function without results.
/// Of one element only where it is named: `(loss: real)`.
struct TupleType : TypeExpr {
  llvm::ArrayRef<TupleElement> elements;
  TupleType(SourceRange range, llvm::ArrayRef<TupleElement> elements)
      : TypeExpr(TypeKind::tuple, range), elements(elements) {}
  static bool classof(const TypeExpr *t) { return t->kind == TypeKind::tuple; }
};

//===----------------------------------------------------------------------===//
// Patterns and statements
//===----------------------------------------------------------------------===//

enum class PatternKind : uint8_t { name, wildcard, tuple };

struct Pattern {
  const PatternKind kind;
  SourceRange range;
  Pattern(PatternKind kind, SourceRange range) : kind(kind), range(range) {}
};
struct NamePattern : Pattern {
  Name name;
  explicit NamePattern(Name name) : Pattern(PatternKind::name, name.range), name(name) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::name; }
};
struct WildcardPattern : Pattern {
  explicit WildcardPattern(SourceRange range) : Pattern(PatternKind::wildcard, range) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::wildcard; }
};
struct TuplePattern : Pattern {
  llvm::ArrayRef<Pattern *> items;
  TuplePattern(SourceRange range, llvm::ArrayRef<Pattern *> items) : Pattern(PatternKind::tuple, range), items(items) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::tuple; }
};

enum class StmtKind : uint8_t { let, var, assign, expr, returnStmt, ifStmt, forStmt, whileStmt };

struct Stmt {
  const StmtKind kind;
  SourceRange range;
  Stmt(StmtKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `{ ... }`. `tail` is the value of the block: only in lambdas and in the branches of a ConditionalExpr.
struct Block {
  SourceRange range;
  llvm::ArrayRef<Stmt *> stmts;
  Expr *tail = nullptr;
};

/// `let (a, b): T = e;`, `nondiff let x = e;`.
struct LetStmt : Stmt {
  bool nondiff;
  Pattern *pattern;
  TypeExpr *type; // may be null
  Expr *value;
  LetStmt(SourceRange range, bool nondiff, Pattern *pattern, TypeExpr *type, Expr *value)
      : Stmt(StmtKind::let, range), nondiff(nondiff), pattern(pattern), type(type), value(value) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::let; }
};

/// `var h = e;`, `var h: real;`. One of type and value may be null.
struct VarStmt : Stmt {
  Pattern *pattern;
  TypeExpr *type;
  Expr *value;
  VarStmt(SourceRange range, Pattern *pattern, TypeExpr *type, Expr *value)
      : Stmt(StmtKind::var, range), pattern(pattern), type(type), value(value) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::var; }
};

enum class AssignOp : uint8_t { set, add, sub, mul, div };
/// `target = value;`, `v[t] += e;`, `(p, opt) = f();`. A target is a NameExpr, WildcardExpr, FieldExpr, IndexExpr (of a
/// target) or a TupleExpr of targets; the parser checks that. Compound operators never have a tuple as target.
struct AssignStmt : Stmt {
  AssignOp op;
  SourceRange opRange;
  Expr *target, *value;
  AssignStmt(SourceRange range, AssignOp op, SourceRange opRange, Expr *target, Expr *value)
      : Stmt(StmtKind::assign, range), op(op), opRange(opRange), target(target), value(value) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::assign; }
};

struct ExprStmt : Stmt {
  Expr *expr;
  ExprStmt(SourceRange range, Expr *expr) : Stmt(StmtKind::expr, range), expr(expr) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::expr; }
};

struct ReturnStmt : Stmt {
  Expr *value; // null: `return;`
  ReturnStmt(SourceRange range, Expr *value) : Stmt(StmtKind::returnStmt, range), value(value) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::returnStmt; }
};

/// `else if` is an elseBlock that holds one IfStmt. Without else, elseBlock is null.
struct IfStmt : Stmt {
  Expr *condition;
  Block *thenBlock, *elseBlock;
  IfStmt(SourceRange range, Expr *condition, Block *thenBlock, Block *elseBlock)
      : Stmt(StmtKind::ifStmt, range), condition(condition), thenBlock(thenBlock), elseBlock(elseBlock) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::ifStmt; }
};

/// `for t in 0..T { ... }`, with or without `@checkpoint` before it. `iterable` is a RangeExpr, or a call
/// (`rev(0..T)`).
struct ForStmt : Stmt {
  bool checkpoint;
  Name variable; // "_" where it is not used
  Expr *iterable;
  Block *body;
  ForStmt(SourceRange range, bool checkpoint, Name variable, Expr *iterable, Block *body)
      : Stmt(StmtKind::forStmt, range), checkpoint(checkpoint), variable(variable), iterable(iterable), body(body) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::forStmt; }
};

struct WhileStmt : Stmt {
  bool checkpoint;
  Expr *condition;
  Block *body;
  WhileStmt(SourceRange range, bool checkpoint, Expr *condition, Block *body)
      : Stmt(StmtKind::whileStmt, range), checkpoint(checkpoint), condition(condition), body(body) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::whileStmt; }
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

enum class DeclKind : uint8_t { import, structDecl, fn, exportVjp, customRule };

struct Decl {
  const DeclKind kind;
  /// Something in it could not be read, so that parts may be missing.
  bool hasErrors = false;
  SourceRange range;
  Decl(DeclKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `import nn;`. The loader sets `module`; it stays null when the file was not found (which was reported).
struct ImportDecl : Decl {
  Name name;
  Module *module = nullptr;
  ImportDecl(SourceRange range, Name name) : Decl(DeclKind::import, range), name(name) {}
  static bool classof(const Decl *d) { return d->kind == DeclKind::import; }
};

/// One of `[In, S: struct, ..B]`.
struct GenericParam {
  enum Kind : uint8_t { dimension, structType, pack } kind;
  Name name;
};

struct StructField {
  Name name;
  TypeExpr *type;
  Expr *init; // `= glorot()`, or null
};
struct StructDecl : Decl {
  Name name;
  llvm::StringRef doc; // the `///` lines before it, without the slashes
  llvm::ArrayRef<GenericParam> generics;
  llvm::ArrayRef<StructField> fields;
  StructDecl(SourceRange range, Name name, llvm::StringRef doc, llvm::ArrayRef<GenericParam> generics,
             llvm::ArrayRef<StructField> fields)
      : Decl(DeclKind::structDecl, range), name(name), doc(doc), generics(generics), fields(fields) {}
  static bool classof(const Decl *d) { return d->kind == DeclKind::structDecl; }
};

struct FnParam {
  SourceRange range;
  bool isInout = false, nondiff = false;
  Name name;
  TypeExpr *type = nullptr;
  Expr *defaultValue = nullptr; // or null
};
/// `fn`, `export fn`, `nondiff fn`, `extern fn`. `body` is null for `extern`, and where it has errors. `result` is null
/// when nothing is returned.
struct FnDecl : Decl {
  /// It is known to exist, and nothing else of it: a call may be right or wrong.
  bool signatureHasErrors = false;
  bool isExport = false, nondiff = false, isExtern = false;
  Name name;
  llvm::StringRef doc;
  llvm::ArrayRef<GenericParam> generics;
  llvm::ArrayRef<FnParam> params;
  TypeExpr *result = nullptr;
  Block *body = nullptr;
  FnDecl(SourceRange range, Name name) : Decl(DeclKind::fn, range), name(name) {}
  static bool classof(const Decl *d) { return d->kind == DeclKind::fn; }
};

/// `export vjp f;` or `export vjp f(wrt=(p, x));`: entry points f_fwd and f_bwd. `wrt` is null in the first form.
struct ExportVjpDecl : Decl {
  Name function;
  Expr *wrt;
  ExportVjpDecl(SourceRange range, Name function, Expr *wrt)
      : Decl(DeclKind::exportVjp, range), function(function), wrt(wrt) {}
  static bool classof(const Decl *d) { return d->kind == DeclKind::exportVjp; }
};

/// `custom_vjp f = rule;` or `custom_jvp f = rule;`: `rule` replaces what differentiation would make of f.
struct CustomRuleDecl : Decl {
  bool forward; // custom_jvp
  Name function, rule;
  CustomRuleDecl(SourceRange range, bool forward, Name function, Name rule)
      : Decl(DeclKind::customRule, range), forward(forward), function(function), rule(rule) {}
  static bool classof(const Decl *d) { return d->kind == DeclKind::customRule; }
};

/// One source file.
struct Module {
  FileId file = noFile;
  llvm::StringRef name; // `nn` for stdlib/nn.gnn
  llvm::ArrayRef<Decl *> decls;

  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Nodes are never destroyed one by one, so they may own nothing.
  template <typename T, typename... Args> T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (arena.Allocate<T>()) T{std::forward<Args>(args)...};
  }
  template <typename T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> items) {
    T *to = arena.Allocate<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), to);
    return {to, items.size()};
  }
  llvm::StringRef save(llvm::StringRef text) {
    char *to = arena.Allocate<char>(text.size());
    llvm::copy(text, to);
    return {to, text.size()};
  }

private:
  // Used only from here: LLVM's library, which is not built with sanitizers, must not allocate in it as well.
  llvm::BumpPtrAllocator arena;
};

/// "+", "and", ...
llvm::StringRef spelling(UnaryOp op);
llvm::StringRef spelling(BinaryOp op);
llvm::StringRef spelling(AssignOp op);

/// The tree as text, what `--emit ast` prints: declarations and statements one a line and indented, expressions with
/// all their parentheses.
void print(const Module &module, llvm::raw_ostream &out);

} // namespace gnnc::ast

#endif // GNNC_FRONTEND_AST_H

// The elaborator: one walk over the syntax tree that computes types and builds IR. Its methods are spread over the
// files of this folder, one idea each; here is what they share. Internal to lib/Frontend.
//
// Dimensions are integer polynomials over *variables*: the dimension parameters and index sets of the function at hand,
// its frame. Variables are numbered through the whole run, so each has one size in the IR, a polynomial over the set
// ids of the entry. Calling a function makes a frame with fresh variables, which unification binds to the caller's
// sizes: the body is typed in its own variables, and only IR types see what the caller passed.
#ifndef GNNC_LIB_FRONTEND_ELABORATOR_H
#define GNNC_LIB_FRONTEND_ELABORATOR_H

#include "Types.h"
#include "gnnc/Frontend/Elaborate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <functional>

namespace gnnc::elab {

/// A dimension parameter, an index set or a pack, of one frame.
struct DimVar {
  std::string name;
  unsigned frame = 0;
  SourceRange range;
  bool isPack = false;
  /// Of a pack: the shape that a function of scalars is applied over, which reductions don't see.
  bool isLifted = false;
  /// Named after what made it, until a `let` gives it a name.
  bool isProvisional = false;
  /// An integer known only at run time.
  bool isNumber = false;
  /// What the caller passed, in its dimensions; `bound` of a pack is the product.
  SizeAttr bound;
  Dims boundDims;
  /// In the IR; of a pack the product, and its sizes one by one.
  SizeAttr ir;
  llvm::SmallVector<SizeAttr, 4> irDims;
};

/// A parameter `[S: struct]` of one frame.
struct StructVar {
  std::string name;
  unsigned frame = 0;
  TypeRef bound = nullptr;
};

struct Binding {
  enum Kind : uint8_t { value, typeParameter } kind = value;
  Value val; // its type is null before a `var` has a value
  TypeRef type = nullptr;
  TypeRef declared = nullptr; // what a `var` must hold
  bool isMutable = false, isInout = false;
  SourceRange range;
  /// Of an integer known only at run time that was used as a dimension.
  SizeAttr dimension;
};

struct Scope {
  ScopePtr parent = nullptr;
  /// Where a lambda's body begins: names beyond it can be read but not assigned.
  bool isLambda = false;
  llvm::StringMap<Binding> names;
};

/// Where a function or a lambda leaves its result.
struct ReturnSlot {
  TypeRef expected = nullptr; // null for lambdas: inferred
  std::optional<Value> value;
  SourceRange range;
  bool done = false; // a return was seen
  bool isAbandoned = false;
  bool inLoop = false; // a loop's body leaves no result
};

/// The activation of a function; while checking, the function itself.
struct Frame {
  unsigned id = 0;
  /// The frame whose variables are made: `id`, or, for sets that the result type names, `resultId`, which a return
  /// binds.
  unsigned owner = 0, resultId = 0;
  const ast::FnDecl *fn = nullptr;
  const ast::Module *module = nullptr;
  ScopePtr scope = nullptr;
  /// Holds the dimension parameters; the parameters' own scope is inside. Defaults see only this one.
  ScopePtr generics = nullptr;
  TypeRef result = nullptr;
  ReturnSlot *returns = nullptr;
  /// Parameters' types, in the frame's dimensions; null for functions (their signature is in the closure).
  llvm::SmallVector<TypeRef> params;
};

/// An argument as it stands in a call: an expression, or a value already.
struct CallArg {
  llvm::StringRef name;
  SourceRange nameRange, range;
  const ast::Expr *expr = nullptr;
  std::optional<Value> value;
};

struct Call {
  SourceRange range;
  llvm::StringRef callee; // for messages
  llvm::SmallVector<CallArg> args;
  llvm::ArrayRef<ast::Arg> dims;
  bool hasDims = false;
  SourceRange dimsRange;
};

/// What is known of a parameter where its function is called.
struct ParamInfo {
  llvm::StringRef name;
  SourceRange range;
  bool nondiff = false, isInout = false;
};

/// A call whose arguments are bound. `args` are in the caller's dimensions; derivatives replace some before `invoke`.
struct Prepared {
  std::string callee;
  llvm::SmallVector<ParamInfo> params;
  std::vector<Value> args;
  std::function<Value(llvm::ArrayRef<Value>)> invoke;
};

/// How two shapes fit together: the joint shape, and for each operand where its dimensions stand in it.
struct Alignment {
  Dims dims;
  llvm::SmallVector<unsigned> lhs, rhs;
};
enum class Fit : uint8_t { one, none, several };

/// Calls nest no deeper than this; only functions that call themselves through arguments get there.
constexpr unsigned maxInlineDepth = 128;

class Elaborator;
using Handler = Value (Elaborator::*)(Call &);
struct Builtin {
  llvm::StringRef name;
  Handler handler = nullptr; // null: a name that is kept for something not built yet
  /// Opcode for handlers that serve several names.
  int variant = 0;
};
const Builtin *findBuiltin(llvm::StringRef name);
/// The most similar built-in, or "".
llvm::StringRef similarBuiltin(llvm::StringRef name);

class Elaborator {
public:
  Elaborator(const FrontendOptions &options, DiagnosticEngine &diagnostics, mlir::MLIRContext &context);

  /// Checks all functions and structs of a module, and what they use of others.
  void check(const ast::Module &main);
  /// Lowers entry points into a module; call after `check`.
  mlir::OwningOpRef<mlir::ModuleOp> lower(const ast::Module &main);

  // ---- Builtins.cpp: what the table points to (handlers get their arguments unevaluated) ----
  Value unaryFunction(Call &);
  Value castFunction(Call &);
  Value powFunction(Call &);
  Value extremum(Call &);
  Value leakyRelu(Call &);
  Value eluFunction(Call &);
  Value clampFunction(Call &);
  Value atan2Function(Call &);
  Value whereFunction(Call &);
  Value pmulFunction(Call &);
  Value reduction(Call &);
  Value softmaxFunction(Call &);
  Value argExtremum(Call &);
  Value countFunction(Call &);
  Value normFunction(Call &);
  Value varianceFunction(Call &);
  Value einsumFunction(Call &);
  Value reshapeFunction(Call &);
  Value transposeFunction(Call &);
  Value broadcastFunction(Call &);
  Value concatFunction(Call &);
  Value splitFunction(Call &);
  Value repeatFunction(Call &);
  Value pickFunction(Call &);
  Value oneHotFunction(Call &);
  Value iotaFunction(Call &);
  Value filledFunction(Call &);
  Value ceildivFunction(Call &);
  Value keyFunction(Call &);
  Value foldFunction(Call &);
  Value uniformFunction(Call &);
  Value randnFunction(Call &);
  Value dropoutFunction(Call &);
  Value degreeFunction(Call &);
  Value addSelfLoopsFunction(Call &);
  Value regraphFunction(Call &);
  Value filterEdgesFunction(Call &);
  Value inducedSubgraphFunction(Call &);
  Value fromDenseFunction(Call &);
  Value toDenseFunction(Call &);
  Value completeGraphFunction(Call &);
  Value neighboursFunction(Call &);
  Value batchFunction(Call &);
  Value edgeIdsFunction(Call &);
  Value sortFunction(Call &);
  Value nondiffFunction(Call &);
  Value noRuleFunction(Call &);
  Value mapFunction(Call &);
  Value derivativeFunction(Call &);

private:
  // ---- Types.cpp: types, their text, their IR ----
  TypeRef make(Type type);
  TypeRef tensor(Elem elem, llvm::ArrayRef<Dim> dims = {}, SizeAttr target = {});
  TypeRef scalar(Elem elem) { return tensor(elem); }
  TypeRef errorType() const { return &errorTy; }
  Value errorValue() const;
  Value unitValue() const;
  bool same(TypeRef a, TypeRef b) const;
  std::string str(TypeRef type) const;
  std::string str(llvm::ArrayRef<Dim> dims) const;
  std::string str(SizeAttr size) const;
  std::string describe(const Value &value) const;
  SizeAttr constantSize(int64_t value) const { return SizeAttr::constant(ctx, value); }

  Frame &newFrame(const ast::Module *module);
  unsigned newVar(llvm::StringRef name, SourceRange range);
  unsigned newPack(llvm::StringRef name, SourceRange range);
  /// A fresh set with a size of its own in the IR.
  unsigned newSet(llvm::StringRef name, SourceRange range);
  SizeAttr var(unsigned id) const { return SizeAttr::set(ctx, id); }
  /// A new set id of the entry (while checking: of the scratch function).
  SizeAttr freshIrSet(llvm::StringRef name);
  void bindVar(unsigned id, SizeAttr size);
  void bindPack(unsigned id, llvm::ArrayRef<Dim> dims);

  /// The caller's dimensions for the variables of a frame; those not bound yet stay.
  SizeAttr substitute(SizeAttr size, unsigned frame) const;
  Dims substitute(llvm::ArrayRef<Dim> dims, unsigned frame) const;
  TypeRef substitute(TypeRef type, unsigned frame);

  SizeAttr irSize(SizeAttr size);
  llvm::SmallVector<SizeAttr> irDims(llvm::ArrayRef<Dim> dims);
  /// The first IR position of dimension `k` of a shape, and of the end for k = size.
  int64_t irPosition(llvm::ArrayRef<Dim> dims, unsigned k);
  llvm::SmallVector<int64_t> irPositions(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<unsigned> which);
  mlir::Type irElem(Elem elem);
  mlir::RankedTensorType irTensor(TypeRef type);
  mlir::RankedTensorType irTensor(Elem elem, llvm::ArrayRef<Dim> dims);
  mlir::Type irType(TypeRef type);
  /// Of a batch of graphs: the index array that says which graph each node is in.
  TypeRef batchType(TypeRef batch) { return tensor(Elem::index, Dims{{Dim::size, batch->src}}, batch->graphs); }

  llvm::ArrayRef<TypeRef> fieldTypes(TypeRef structure);
  TypeRef inBlocks(TypeRef type, llvm::ArrayRef<Dim> blocks);
  /// The struct behind a parameter [S: struct], if it is known.
  TypeRef resolve(TypeRef type) const;

  // ---- Values.cpp: building and taking apart values ----
  Value tensorValue(mlir::Value ir, Elem elem, llvm::ArrayRef<Dim> dims = {}, SizeAttr target = {});
  Value integerValue(SizeAttr size);
  Value numberValue(double value);
  Value tupleValue(std::vector<Value> parts, llvm::ArrayRef<llvm::StringRef> names = {});
  Value closureValue(Closure closure);
  /// A value of a type whose computation is not known: the result of a call while checking.
  Value placeholder(TypeRef type, mlir::ValueRange operands, mlir::Location at);
  Value retype(const Value &value, TypeRef type);
  /// Calls `f` for every tensor leaf, with its path.
  void forEachLeaf(const Value &value, llvm::StringRef path,
                   llvm::function_ref<void(const Value &, const std::string &)> f);
  /// The same value with every tensor leaf replaced.
  Value mapLeaves(const Value &value, llvm::function_ref<Value(const Value &)> f);
  /// All IR values in it, graphs too.
  void collectIr(const Value &value, llvm::SmallVectorImpl<mlir::Value> &out);
  /// The same value with IR values taken in order from `in`.
  Value replaceIr(const Value &value, llvm::ArrayRef<mlir::Value> &in);
  bool hasFloatLeaf(const Value &value);
  Value holdConstant(const Value &value, mlir::Location at);

  /// The value of a literal.
  static std::optional<double> constantOf(const Value &value);
  mlir::Value constantTensor(mlir::Location at, Elem elem, double value);
  mlir::Value constantInteger(mlir::Location at, Elem elem, int64_t value);
  mlir::Value filled(mlir::Location at, Elem elem, llvm::ArrayRef<Dim> dims, double value);
  /// Whether a literal is a value of an element type: i32 can't hold every integer.
  static bool literalFits(const Value &value, Elem elem);
  /// Gives a literal the element type of its place.
  Value materialise(const Value &value, Elem elem, mlir::Location at);

  mlir::Location loc(SourceRange range);
  llvm::StringRef sourceText(const CallArg &arg) const;

  // ---- Unify.cpp ----
  struct Deferred {
    SizeAttr param, arg;
  };
  bool unifyDims(llvm::ArrayRef<Dim> param, llvm::ArrayRef<Dim> arg, unsigned frame,
                 llvm::SmallVectorImpl<Deferred> &deferred);
  bool unifySize(SizeAttr param, SizeAttr arg, unsigned frame, llvm::SmallVectorImpl<Deferred> &deferred);
  /// Binds the variables of `frame` in `param` so that it becomes `arg`. False when they can't agree.
  bool unify(TypeRef param, TypeRef arg, unsigned frame, llvm::SmallVectorImpl<Deferred> &deferred);
  bool settled(llvm::ArrayRef<Deferred> deferred, unsigned frame) const;
  /// Gives a value the type `target`, where literals adapt; an error names what was expected. `frame` as for unify, 0
  /// to bind nothing.
  Value coerce(const Value &value, TypeRef target, SourceRange range, llvm::StringRef what, unsigned frame = 0);
  Value convert(const Value &value, TypeRef target, mlir::Location at);
  void mismatch(SourceRange range, TypeRef expected, const Value &found, llvm::StringRef what);

  // ---- Broadcasting.cpp ----
  Fit align(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b, Alignment &out);
  bool alignOrReport(const Value &a, const Value &b, SourceRange range, SourceRange aRange, SourceRange bRange,
                     Alignment &out);
  Value broadcastTo(const Value &value, llvm::ArrayRef<Dim> dims, llvm::ArrayRef<unsigned> where, mlir::Location at);
  /// Broadcasts to a shape that this value's shape must fit into; an error otherwise.
  std::optional<Value> broadcastInto(const Value &value, llvm::ArrayRef<Dim> dims, SourceRange range);
  /// Brings operands to one element type and one shape. `requireSame`: their element types.
  bool unifyElems(llvm::MutableArrayRef<Value> values, llvm::ArrayRef<SourceRange> ranges, SourceRange at,
                  llvm::StringRef what);
  bool jointShape(llvm::MutableArrayRef<Value> values, llvm::ArrayRef<SourceRange> ranges, SourceRange at);

  // ---- Graphs.cpp ----
  std::optional<Value> graphArg(Call &call, CallArg &arg);
  std::optional<Value> tensorArg(Call &call, CallArg &arg, const std::string &what,
                                 llvm::function_ref<bool(TypeRef)> fits);
  SizeAttr madeSet(Call &call, llvm::StringRef what);
  Value derivedGraph(Call &call, gnn::Derivation how, TypeRef type, const Value *from, llvm::ArrayRef<Value> inputs,
                     llvm::ArrayRef<std::pair<Dims, SizeAttr>> maps);
  Value withPayloads(Call &call, unsigned at, const Value &g, const Value &h,
                     llvm::function_ref<Value(const Value &, SourceRange)> move);
  Value gatherOld(const Value &payload, const Value &g, const Value &old, SourceRange range);

  // ---- Elementwise.cpp ----
  Value unary(const ast::UnaryExpr *e);
  Value binary(const ast::BinaryExpr *e);
  Value arithmetic(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange);
  Value comparison(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange);
  Value logical(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange);
  Value matmul(Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange);
  Value negate(const Value &v, SourceRange at);
  Value convertElem(const Value &v, Elem to, mlir::Location at);
  /// A floating-point operand of a built-in (literals become real); nullopt after an error.
  std::optional<Value> floatArg(Call &call, CallArg &arg);
  mlir::Value compare(mlir::Location at, bool isFloat, llvm::StringRef op, mlir::Value a, mlir::Value b);

  // ---- Indexing.cpp ----
  Value index(const ast::IndexExpr *e);
  Value blockOf(const Value &base, const ast::IndexExpr *e);
  Value selectIndex(const Value &value, unsigned dim, const Value &position, SourceRange at);
  Value gatherByIdentity(const Value &base, const Value &idx, SourceRange at, const ast::Expr *baseExpr);
  Value positional(const Value &base, const ast::IndexExpr *e);
  Value gather(const Value &source, llvm::ArrayRef<unsigned> dims, llvm::ArrayRef<Value> indices, mlir::Value fill,
               mlir::Location at);
  Value insertOnes(const Value &value, llvm::ArrayRef<Dim> dims, mlir::Location at);
  std::optional<Value> slice(const Value &value, unsigned dim, const ast::SliceExpr *e);
  /// A regular part of a dimension.
  struct Span {
    SizeAttr begin, count;
    int64_t step = 1;
  };
  std::optional<Span> span(const Value &value, unsigned dim, const ast::SliceExpr *e);
  /// A position known when compiling, or an error or a condition of the entry.
  std::optional<SizeAttr> constantPosition(const Value &value, unsigned dim, SizeAttr position, SourceRange at);
  std::optional<Value> dropDim(const Value &value, unsigned dim, SizeAttr position, SourceRange at);
  Value sliceBy(const Value &value, unsigned dim, SizeAttr from, int64_t step, SizeAttr count, mlir::Location at);
  /// Notes that a size must not be negative: proved, an error, or a condition of the entry.
  bool requireNonNegative(SizeAttr size, SourceRange at, const llvm::Twine &what);
  /// The same of the sizes of a shape that is made here.
  bool requireNonNegative(llvm::ArrayRef<Dim> dims, SourceRange at);

  // ---- Reductions.cpp ----
  enum class Reduce : uint8_t { sum, mean, max, min, prod, logsumexp };
  std::optional<llvm::SmallVector<unsigned>> overDims(const CallArg &arg, const Value &x);
  std::optional<llvm::SmallVector<unsigned>> reducedDims(const CallArg *over, const Value &x);
  bool overItem(const ast::Expr *e, const Value &x, llvm::SmallVectorImpl<unsigned> &out);
  std::optional<std::vector<Value>> byIndices(CallArg &arg);
  Value reduceOver(Reduce kind, const Value &x, llvm::ArrayRef<unsigned> dims, mlir::Location at);
  Value fillEmpty(const Value &reduced, const Value &fill, const Value &count, unsigned place, mlir::Location at);
  Value reduceBy(Reduce kind, const Value &x, llvm::ArrayRef<Value> by, const Value *empty, SourceRange at,
                 SourceRange xRange, mlir::Value *winner = nullptr);
  /// Where the dimensions of an index array stand in x; nullopt after an error.
  std::optional<unsigned> consumedAt(const Value &x, const Value &by, SourceRange range,
                                     llvm::StringRef what = "what is reduced by this index");
  Value countBy(llvm::ArrayRef<Value> by, mlir::Location at);
  /// One index array into the product of the targets of several.
  Value flatIndex(llvm::ArrayRef<Value> by, mlir::Location at);
  Value flatEntries(const Value &x, unsigned place, unsigned rank, mlir::Location at);
  Value varianceBy(const Value &x, llvm::ArrayRef<Value> by, SourceRange at, SourceRange xRange);
  Value varianceOver(const Value &x, llvm::ArrayRef<unsigned> dims, mlir::Location at);
  Value permute(const Value &x, llvm::ArrayRef<unsigned> perm, mlir::Location at);
  Value moveToFront(const Value &x, unsigned from, unsigned count, mlir::Location at);
  Value moveFromFront(const Value &x, unsigned to, unsigned count, mlir::Location at);

  // ---- Shapes.cpp ----
  std::optional<Dims> shapeArg(CallArg &arg);
  std::optional<Dims> callDims(const Call &call);
  std::optional<unsigned> positionArg(const CallArg *over, const Value &x);
  Value reshapeTo(const Value &x, llvm::ArrayRef<Dim> dims, mlir::Location at);

  // ---- Structure.cpp ----
  Value endpoint(const Value &graph, bool source, mlir::Location at);
  Value movePayload(const Value &payload, const Value &fill, bool mean, gnn::Derivation how, const Value &oldGraph,
                    const Value &newGraph, const Value &old, SourceRange range);

  // ---- Expressions.cpp ----
  Value expr(const ast::Expr *e);
  Value name(const ast::NameExpr *e);
  Value field(const ast::FieldExpr *e);
  Value construct(const ast::ConstructExpr *e);
  Binding *lookup(llvm::StringRef name, bool *beyondLambda = nullptr);
  const ast::Decl *lookupDecl(llvm::StringRef name, const ast::Module *module) const;
  std::optional<Value> declValue(const ast::Decl *decl, const ast::Module *module, SourceRange range);
  void unknownName(llvm::StringRef name, SourceRange range, const ast::Module *module = nullptr);
  /// A dimension expression: its size; nullopt after an error.
  std::optional<SizeAttr> dimension(const ast::Expr *e);
  std::optional<Dims> dimensions(llvm::ArrayRef<ast::Expr *> items);

  // ---- TypeExprs.cpp ----
  TypeRef typeOf(const ast::TypeExpr *t);
  TypeRef namedType(const ast::NamedType *t);
  /// `[L]` behind a struct: as many of them.
  TypeRef arrayOf(TypeRef structure, llvm::ArrayRef<ast::Expr *> items, SourceRange range);
  TypeRef structType(const ast::StructDecl *decl, const ast::Module *module, llvm::ArrayRef<ast::Expr *> items,
                     SourceRange range);
  TypeRef typeArgument(const ast::Expr *e);
  std::pair<const ast::StructDecl *, const ast::Module *> structNamed(const ast::Expr *e);
  void declareGenerics(llvm::ArrayRef<ast::GenericParam> generics);
  void checkStruct(const ast::StructDecl *decl, const ast::Module *module);

  // ---- Statements.cpp ----
  /// `rest`: what follows the block, where an 'if' that returns has to know.
  void block(const ast::Block *b, llvm::function_ref<void()> rest = {});
  void statements(const ast::Block *b, size_t first, llvm::function_ref<void()> rest);
  void statement(const ast::Stmt *s);
  void bindPattern(const ast::Pattern *p, const Value &value, bool isMutable);
  void declare(const ast::Name &name, Binding binding);
  void assign(const ast::Expr *target, const Value &value, SourceRange range);
  void assignName(const ast::Expr *target, const Value &value, SourceRange range);
  Value assignInto(const Value &old, const ast::Expr *target, const Value &value, SourceRange range);
  void nameSets(const Value &value, llvm::StringRef name);
  void notSupported(SourceRange range, const llvm::Twine &what);

  // ---- Assignment.cpp: parts of tensors ----
  Value assignPart(const Value &base, const ast::IndexExpr *target, const Value &value, SourceRange range);
  Value addPart(const ast::AssignStmt *s, const ast::IndexExpr *target, const Value &value);
  std::optional<bool> hasIndexArrays(const ast::IndexExpr *target);
  std::optional<Value> replacePart(const Value &base, llvm::ArrayRef<ast::Expr *> items, unsigned at,
                                   const Value &value, SourceRange range);
  struct Places {
    llvm::SmallVector<unsigned> dims;
    llvm::SmallVector<Value> indices;
    Dims shape; // of what stands at these places
  };
  std::optional<Places> placesOf(const Value &base, const ast::IndexExpr *target);
  std::optional<Value> fitPart(const Value &value, Elem elem, llvm::ArrayRef<Dim> dims, SizeAttr target,
                               SourceRange range);

  // ---- ControlFlow.cpp ----
  struct Variable {
    std::string name;
    Binding *binding;
    Value value;
  };
  /// What walking a branch gave.
  struct Outcome {
    std::optional<Value> value;
    SourceRange range;
    bool failed = false;
  };
  llvm::SmallVector<Variable> variables();
  std::optional<Value> condition(const ast::Expr *e, llvm::StringRef what);
  static bool isReturningBranch(const ast::Stmt *s);
  Value settleLiterals(const Value &value, SourceRange range);
  bool unifyBranches(Value &a, Value &b, mlir::Block *aBlock, mlir::Block *bBlock, SourceRange aRange,
                     SourceRange bRange);
  bool branch(const Value &condition, SourceRange range, llvm::function_ref<Outcome()> onTrue,
              llvm::function_ref<Outcome()> onFalse, Outcome &result);
  void ifStatement(const ast::IfStmt *s);
  void returningIf(const ast::IfStmt *s, llvm::function_ref<void()> rest);
  Value conditional(const ast::ConditionalExpr *e);
  void abandonQuietly();
  llvm::SmallVector<Variable> carriedVariables(llvm::SmallVectorImpl<mlir::Value> &inits);
  void setCarried(llvm::ArrayRef<Variable> carried, llvm::ArrayRef<mlir::Value> values);
  bool loopBody(const ast::Block *b, mlir::Block &body, llvm::ArrayRef<Variable> carried,
                llvm::ArrayRef<mlir::Value> arguments, SourceRange range);
  void forStatement(const ast::ForStmt *s);
  void whileStatement(const ast::WhileStmt *s);
  mlir::Value checkedPosition(const Value &i, SizeAttr extent, SourceRange at);
  bool hasNumber(SizeAttr size) const;
  SizeAttr sizeOf(const Value &number, llvm::StringRef name, SourceRange at);

  // ---- Calls.cpp ----
  Value call(const ast::CallExpr *e);
  Value callClosure(const Closure &closure, Call &call);
  std::optional<Prepared> prepare(const Closure &closure, Call &call);
  std::optional<Prepared> prepareFunction(const ast::FnDecl *fn, const ast::Module *module, Call &call);
  std::optional<Prepared> prepareLifted(const Closure &closure, Call &call, llvm::ArrayRef<TypeRef> params,
                                        TypeRef result);
  std::optional<Prepared> prepareLambda(const Closure &closure, Call &call);
  std::optional<Prepared> prepareParameter(const Closure &closure, Call &call);
  /// Arguments in the order of the parameters; a null entry takes its default.
  std::optional<llvm::SmallVector<CallArg *>> matchArguments(Call &call, llvm::ArrayRef<ParamInfo> params,
                                                             llvm::ArrayRef<bool> hasDefault);
  bool bindExplicitDims(const ast::FnDecl *fn, Call &call, Frame &callee);
  bool allSolved(Frame &callee, const Call &call);
  Value invokeFunction(Frame &callee, llvm::ArrayRef<Value> args, SourceRange range);
  Value callSignature(const Closure &passed, TypeRef signature, Frame &callee, CallArg &arg, bool &ok);
  /// Types and names of the parameters of a function in a fresh frame, in whose scope they stand.
  Frame &openFrame(const ast::FnDecl *fn, const ast::Module *module);
  void declareParameters(Frame &frame);
  Value walkBody(Frame &frame);
  Value &arg(CallArg &arg);
  /// An optional argument, by name or at a position among the positional ones; null if it is not given.
  CallArg *option(Call &call, llvm::StringRef name, unsigned position = ~0u);
  /// Checks the number of positional arguments and the names of the others; false after an error.
  bool accept(Call &call, unsigned min, unsigned max, llvm::ArrayRef<llvm::StringRef> names = {}, bool dims = false);

  // ---- Derivatives.cpp ----
  std::optional<Prepared> prepareDerivative(const Closure &closure, Call &call);
  Value callBack(const Closure &closure, Call &call);
  Value callPush(const Closure &closure, Call &call);
  Value gradients(const Closure &back, mlir::ValueRange cotangents, mlir::Location at);

  // ---- Rules.cpp ----
  /// The rule that a function has of its own; null without one.
  const ast::CustomRuleDecl *ruleOf(const ast::FnDecl *fn, const ast::Module *module) const;
  void checkRule(const ast::CustomRuleDecl *decl, const ast::Module &module);
  Value callRule(const ast::CustomRuleDecl *rule, Frame &callee, llvm::ArrayRef<Value> args,
                 llvm::ArrayRef<Value> further, TypeRef expected, SourceRange range);
  Value applyRule(const ast::CustomRuleDecl *rule, Frame &callee, llvm::ArrayRef<Value> args,
                  llvm::function_ref<Value(llvm::ArrayRef<Value>)> run, SourceRange range);
  void checkExtern(const ast::FnDecl *fn, const Frame &f);
  Value externCall(const ast::FnDecl *fn, Elem elem, llvm::ArrayRef<Value> args, llvm::ArrayRef<Dim> dims,
                   mlir::Location at);

  // ---- Checking.cpp ----
  void checkFunction(const ast::FnDecl *fn, const ast::Module *module);
  /// Whether a type, or a part of it, could not be read; that was reported where it is declared.
  bool holdsError(TypeRef type);
  void checkDeclarations(const ast::Module &module);
  void use(const ast::FnDecl *fn, const ast::Module *module, SourceRange range);
  void checkBoundary(const ast::FnDecl *fn, const Frame &f);
  void checkEntryName(llvm::StringRef name, SourceRange range);
  void checkVjp(const ast::FnDecl *fn, const ast::Module &module, const ast::ExportVjpDecl *e);
  llvm::SmallVector<unsigned> vjpParameters(const ast::FnDecl *fn, const Frame &f, const ast::ExportVjpDecl *e);
  void reportRecursion();

  // ---- Entry.cpp ----
  void lowerEntry(const ast::FnDecl *fn, const ast::Module &module, const ast::ExportVjpDecl *vjp, bool isPrivate);
  void warnOfUnused(const ast::FnDecl *fn, const ast::ExportVjpDecl *vjp, llvm::ArrayRef<unsigned> which,
                    gnn::VjpOp op);
  bool checkPaths(const ast::FnDecl *fn, llvm::ArrayRef<mlir::DictionaryAttr> inputs,
                  llvm::ArrayRef<mlir::DictionaryAttr> results);
  void lowerVjp(const ast::FnDecl *fn, Frame &f, const ast::ExportVjpDecl *vjp, mlir::func::FuncOp func,
                std::vector<Value> params, llvm::function_ref<Value(llvm::ArrayRef<Value>)> runBody,
                llvm::function_ref<void(const Value &)> nameResults,
                llvm::SmallVectorImpl<std::pair<TypeRef, std::string>> &resultLeaves,
                llvm::function_ref<void(TypeRef, const std::string &, mlir::Value)> addResult);
  bool canStandAlone(const ast::FnDecl *fn) const;
  void bindEntrySets(Frame &frame, llvm::SmallVectorImpl<int64_t> &sizeArguments);
  void leavesOf(TypeRef type, const std::string &path, llvm::SmallVectorImpl<std::pair<TypeRef, std::string>> &out);
  Value unflatten(TypeRef type, llvm::ArrayRef<mlir::Value> &in);
  mlir::DictionaryAttr initialiser(const ast::Expr *init);
  void initialisers(TypeRef type, mlir::DictionaryAttr given, llvm::SmallVectorImpl<mlir::DictionaryAttr> &out,
                    unsigned blocks = 0);
  mlir::Attribute constantDefault(const ast::FnParam &param, TypeRef type);
  std::optional<double> constantNumber(const ast::Expr *e);
  std::optional<int64_t> constantInt(const ast::Expr *e);
  std::optional<uint64_t> constantKey(const ast::Expr *e);

  // ---- State ----
  mlir::MLIRContext *ctx;
  const FrontendOptions &options;
  DiagnosticEngine &diags;
  mlir::OpBuilder builder;

  Type errorTy, unitTy, textTy;
  std::deque<Type> types;
  std::deque<Frame> frames;
  std::deque<Scope> scopes;
  std::vector<DimVar> vars;
  std::vector<StructVar> structVars;
  std::map<TypeRef, llvm::SmallVector<TypeRef>> fieldCache; // references into it stay valid
  llvm::SmallVector<const ast::StructDecl *> openStructs;   // whose fields are being typed

  Frame *frame = nullptr;
  unsigned lastFrameId = 0;
  /// What names the sets of a Graph type that is being read; "?" where nothing does.
  std::string graphName = "?";
  /// Where the code at hand was called from, once it is inlined.
  std::optional<mlir::Location> callSite;
  bool checking = true;
  unsigned inlineDepth = 0;

  /// Names of the entry's sets by id; while checking, of the scratch function's.
  std::vector<std::string> setNames;
  /// Sizes that must not be negative when the entry is called, with what to say otherwise.
  std::vector<std::pair<SizeAttr, std::string>> conditions;

  const ast::Module *mainModule = nullptr;
  /// Counters of the loops around, whose bounds are known sizes.
  llvm::DenseMap<mlir::Value, std::pair<SizeAttr, SizeAttr>> counters;
  /// Sizes that are values, by frame and value.
  llvm::DenseMap<std::pair<unsigned, mlir::Value>, SizeAttr> numberSizes;

  // Checking: what is to be done, and which function uses which.
  std::deque<std::pair<const ast::FnDecl *, const ast::Module *>> worklist;
  llvm::DenseSet<const ast::FnDecl *> queued;
  struct Use {
    const ast::FnDecl *callee;
    SourceRange range;
  };
  llvm::DenseMap<const ast::FnDecl *, llvm::SmallVector<Use>> uses;
  llvm::DenseSet<const ast::FnDecl *> derivativeTakers, faulty;
  llvm::DenseSet<const ast::ExportVjpDecl *> faultyPairs;
  llvm::StringMap<bool> definesUsed;
  mlir::ModuleOp target;

  friend struct ScopeGuard;
};

/// "1 argument", "2 arguments".
std::string counted(size_t count, llvm::StringRef noun);

/// Opens a scope in the current frame.
struct ScopeGuard {
  explicit ScopeGuard(Elaborator &e);
  ~ScopeGuard();
  Elaborator &elaborator;
  ScopePtr saved;
};

/// Sets a variable for a while.
template <typename T> class Restore {
public:
  Restore(T &place, T value) : place(place), saved(std::move(place)) { place = std::move(value); }
  ~Restore() { place = std::move(saved); }
  Restore(const Restore &) = delete;

private:
  T &place;
  T saved;
};

} // namespace gnnc::elab

#endif

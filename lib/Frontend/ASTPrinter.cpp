// Prints a syntax tree: declarations and statements one a line, indented by their nesting, expressions with all their
// parentheses, so that precedence can be seen. What is printed is legal source again.
#include "gnnc/Frontend/AST.h"
#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

StringRef ast::spelling(UnaryOp op) { return op == UnaryOp::neg ? "-" : "not "; }

StringRef ast::spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return "+";
  case BinaryOp::sub:
    return "-";
  case BinaryOp::mul:
    return "*";
  case BinaryOp::div:
    return "/";
  case BinaryOp::matmul:
    return "@";
  case BinaryOp::eq:
    return "==";
  case BinaryOp::ne:
    return "!=";
  case BinaryOp::lt:
    return "<";
  case BinaryOp::le:
    return "<=";
  case BinaryOp::gt:
    return ">";
  case BinaryOp::ge:
    return ">=";
  case BinaryOp::logicalAnd:
    return "and";
  case BinaryOp::logicalOr:
    return "or";
  }
  return "";
}

StringRef ast::spelling(AssignOp op) {
  switch (op) {
  case AssignOp::set:
    return "=";
  case AssignOp::add:
    return "+=";
  case AssignOp::sub:
    return "-=";
  case AssignOp::mul:
    return "*=";
  case AssignOp::div:
    return "/=";
  }
  return "";
}

namespace {
class Printer {
public:
  explicit Printer(raw_ostream &out) : out(out) {}

  void decl(const Decl *decl);

private:
  template <typename Items, typename Each> void commas(const Items &items, Each each) {
    interleave(items, out, each, ", ");
  }
  void args(ArrayRef<Arg> items) {
    commas(items, [&](const Arg &arg) {
      if (arg.name)
        out << arg.name.text << '=';
      expr(arg.value);
    });
  }
  void exprs(ArrayRef<Expr *> items) {
    commas(items, [&](const Expr *e) { expr(e); });
  }
  void string(StringRef value);
  void expr(const Expr *e);
  void type(const TypeExpr *t);
  void pattern(const Pattern *p);
  void stmt(const Stmt *s);
  /// ` { ... }` without an end of line.
  void block(const Block *b);
  void ifElse(const Expr *condition, const Block *thenBlock, const Block *elseBlock);
  void doc(StringRef text);
  void generics(ArrayRef<GenericParam> params);
  void function(const FnDecl *fn);
  void structure(const StructDecl *decl);
  raw_ostream &line() { return out.indent(2 * depth); }

  raw_ostream &out;
  unsigned depth = 0;
};
} // namespace

void Printer::string(StringRef value) {
  out << '"';
  for (char c : value) {
    if (c == '\n')
      out << "\\n";
    else if (c == '\t')
      out << "\\t";
    else
      out << (c == '"' || c == '\\' ? "\\" : "") << c;
  }
  out << '"';
}

void Printer::expr(const Expr *e) {
  switch (e->kind) {
  case ExprKind::intLit:
    out << cast<IntLit>(e)->value;
    return;
  case ExprKind::floatLit:
    out << cast<FloatLit>(e)->text;
    return;
  case ExprKind::stringLit:
    string(cast<StringLit>(e)->value);
    return;
  case ExprKind::boolLit:
    out << (cast<BoolLit>(e)->value ? "true" : "false");
    return;
  case ExprKind::name:
    out << cast<NameExpr>(e)->name;
    return;
  case ExprKind::wildcard:
    out << '_';
    return;
  case ExprKind::none:
    out << "None";
    return;
  case ExprKind::field: {
    const auto *field = cast<FieldExpr>(e);
    expr(field->base);
    out << '.' << field->field.text;
    return;
  }
  case ExprKind::unary: {
    const auto *unary = cast<UnaryExpr>(e);
    out << '(' << spelling(unary->op);
    expr(unary->operand);
    out << ')';
    return;
  }
  case ExprKind::binary: {
    const auto *binary = cast<BinaryExpr>(e);
    out << '(';
    expr(binary->lhs);
    out << ' ' << spelling(binary->op) << ' ';
    expr(binary->rhs);
    out << ')';
    return;
  }
  case ExprKind::call: {
    const auto *call = cast<CallExpr>(e);
    expr(call->callee);
    if (call->hasDims) {
      out << '[';
      args(call->dims);
      out << ']';
    }
    out << '(';
    args(call->args);
    out << ')';
    return;
  }
  case ExprKind::index: {
    const auto *index = cast<IndexExpr>(e);
    expr(index->base);
    out << '[';
    exprs(index->items);
    out << ']';
    return;
  }
  case ExprKind::slice: {
    const auto *slice = cast<SliceExpr>(e);
    if (slice->begin)
      expr(slice->begin);
    out << ':';
    if (slice->end)
      expr(slice->end);
    if (slice->step) {
      out << ':';
      expr(slice->step);
    }
    return;
  }
  case ExprKind::pack:
    out << ".." << cast<PackExpr>(e)->name.text;
    return;
  case ExprKind::range: {
    const auto *range = cast<RangeExpr>(e);
    expr(range->begin);
    out << "..";
    expr(range->end);
    return;
  }
  case ExprKind::list:
    out << '[';
    exprs(cast<ListExpr>(e)->items);
    out << ']';
    return;
  case ExprKind::tuple:
    out << '(';
    exprs(cast<TupleExpr>(e)->items);
    out << ')';
    return;
  case ExprKind::construct: {
    const auto *construct = cast<ConstructExpr>(e);
    expr(construct->type);
    out << " {";
    commas(construct->fields, [&](const FieldInit &init) {
      out << (&init == construct->fields.begin() ? " " : "") << init.name.text << ": ";
      expr(init.value);
    });
    out << " }";
    return;
  }
  case ExprKind::lambda: {
    const auto *lambda = cast<LambdaExpr>(e);
    out << "(|";
    commas(lambda->params, [&](const LambdaParam &param) {
      out << param.name.text;
      if (param.type) {
        out << ": ";
        type(param.type);
      }
    });
    out << '|';
    if (lambda->block) {
      block(lambda->block);
    } else {
      out << ' ';
      expr(lambda->expr);
    }
    out << ')';
    return;
  }
  case ExprKind::conditional: {
    const auto *conditional = cast<ConditionalExpr>(e);
    out << '(';
    ifElse(conditional->condition, conditional->thenBlock, conditional->elseBlock);
    out << ')';
    return;
  }
  }
}

void Printer::type(const TypeExpr *t) {
  switch (t->kind) {
  case TypeKind::named: {
    const auto *named = cast<NamedType>(t);
    if (named->module)
      out << named->module.text << '.';
    out << named->name.text;
    for (const Brackets &brackets : named->brackets) {
      out << '[';
      exprs(brackets.items);
      out << ']';
    }
    return;
  }
  case TypeKind::index: {
    const auto *index = cast<IndexType>(t);
    out << "index(";
    expr(index->target);
    out << ')';
    if (!index->dims.empty()) {
      out << '[';
      exprs(index->dims);
      out << ']';
    }
    return;
  }
  case TypeKind::graph: {
    const auto *graph = cast<GraphType>(t);
    out << (graph->batch ? "GraphBatch" : "Graph");
    if (graph->source) {
      out << '(';
      expr(graph->source);
      out << " -> ";
      expr(graph->target);
      out << ')';
    }
    return;
  }
  case TypeKind::function: {
    const auto *fn = cast<FunctionType>(t);
    out << "fn(";
    commas(fn->params, [&](const TypeExpr *param) { type(param); });
    out << ") -> ";
    type(fn->result);
    return;
  }
  case TypeKind::tuple:
    out << '(';
    commas(cast<TupleType>(t)->elements, [&](const TupleElement &element) {
      if (element.name)
        out << element.name.text << ": ";
      type(element.type);
    });
    out << ')';
    return;
  }
}

void Printer::pattern(const Pattern *p) {
  if (const auto *name = dyn_cast<NamePattern>(p)) {
    out << name->name.text;
  } else if (const auto *tuple = dyn_cast<TuplePattern>(p)) {
    out << '(';
    commas(tuple->items, [&](const Pattern *item) { pattern(item); });
    out << ')';
  } else {
    out << '_';
  }
}

void Printer::block(const Block *b) {
  out << " {\n";
  ++depth;
  for (const Stmt *s : b->stmts)
    stmt(s);
  if (b->tail) {
    line();
    expr(b->tail);
    out << '\n';
  }
  --depth;
  line() << '}';
}

void Printer::ifElse(const Expr *condition, const Block *thenBlock, const Block *elseBlock) {
  out << "if ";
  expr(condition);
  block(thenBlock);
  if (elseBlock) {
    out << " else";
    block(elseBlock);
  }
}

void Printer::stmt(const Stmt *s) {
  line();
  switch (s->kind) {
  case StmtKind::let: {
    const auto *let = cast<LetStmt>(s);
    out << (let->nondiff ? "nondiff let " : "let ");
    pattern(let->pattern);
    if (let->type) {
      out << ": ";
      type(let->type);
    }
    out << " = ";
    expr(let->value);
    out << ";\n";
    return;
  }
  case StmtKind::var: {
    const auto *var = cast<VarStmt>(s);
    out << "var ";
    pattern(var->pattern);
    if (var->type) {
      out << ": ";
      type(var->type);
    }
    if (var->value) {
      out << " = ";
      expr(var->value);
    }
    out << ";\n";
    return;
  }
  case StmtKind::assign: {
    const auto *assign = cast<AssignStmt>(s);
    expr(assign->target);
    out << ' ' << spelling(assign->op) << ' ';
    expr(assign->value);
    out << ";\n";
    return;
  }
  case StmtKind::expr:
    expr(cast<ExprStmt>(s)->expr);
    out << ";\n";
    return;
  case StmtKind::returnStmt:
    out << "return";
    if (const Expr *value = cast<ReturnStmt>(s)->value) {
      out << ' ';
      expr(value);
    }
    out << ";\n";
    return;
  case StmtKind::ifStmt: {
    const auto *branch = cast<IfStmt>(s);
    ifElse(branch->condition, branch->thenBlock, branch->elseBlock);
    out << '\n';
    return;
  }
  case StmtKind::forStmt: {
    const auto *loop = cast<ForStmt>(s);
    out << (loop->checkpoint ? "@checkpoint " : "") << "for " << loop->variable.text << " in ";
    expr(loop->iterable);
    block(loop->body);
    out << '\n';
    return;
  }
  case StmtKind::whileStmt: {
    const auto *loop = cast<WhileStmt>(s);
    out << (loop->checkpoint ? "@checkpoint " : "") << "while ";
    expr(loop->condition);
    block(loop->body);
    out << '\n';
    return;
  }
  }
}

void Printer::doc(StringRef text) {
  if (text.empty())
    return;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef docLine : lines)
    out << (docLine.empty() ? "///" : "/// ") << docLine << '\n';
}

void Printer::generics(ArrayRef<GenericParam> params) {
  if (params.empty())
    return;
  out << '[';
  commas(params, [&](const GenericParam &param) {
    out << (param.kind == GenericParam::pack ? ".." : "") << param.name.text
        << (param.kind == GenericParam::structType ? ": struct" : "");
  });
  out << ']';
}

void Printer::structure(const StructDecl *decl) {
  doc(decl->doc);
  out << "struct " << decl->name.text;
  generics(decl->generics);
  out << " {\n";
  for (const StructField &field : decl->fields) {
    out << "  " << field.name.text << ": ";
    type(field.type);
    if (field.init) {
      out << " = ";
      expr(field.init);
    }
    out << ",\n";
  }
  out << "}\n";
}

void Printer::function(const FnDecl *fn) {
  doc(fn->doc);
  out << (fn->isExport ? "export " : "") << (fn->isExtern ? "extern " : "") << (fn->nondiff ? "nondiff " : "") << "fn "
      << fn->name.text;
  generics(fn->generics);
  out << '(';
  commas(fn->params, [&](const FnParam &param) {
    out << (param.isInout ? "inout " : "") << (param.nondiff ? "nondiff " : "") << param.name.text << ": ";
    type(param.type);
    if (param.defaultValue) {
      out << " = ";
      expr(param.defaultValue);
    }
  });
  out << ')';
  if (fn->result) {
    out << " -> ";
    type(fn->result);
  }
  if (fn->body)
    block(fn->body);
  else
    out << ';';
  out << '\n';
}

void Printer::decl(const Decl *decl) {
  switch (decl->kind) {
  case DeclKind::import:
    out << "import " << cast<ImportDecl>(decl)->name.text << ";\n";
    return;
  case DeclKind::structDecl:
    return structure(cast<StructDecl>(decl));
  case DeclKind::fn:
    return function(cast<FnDecl>(decl));
  case DeclKind::exportVjp: {
    const auto *vjp = cast<ExportVjpDecl>(decl);
    out << "export vjp " << vjp->function.text;
    if (vjp->wrt) {
      out << "(wrt=";
      expr(vjp->wrt);
      out << ')';
    }
    out << ";\n";
    return;
  }
  case DeclKind::customRule: {
    const auto *rule = cast<CustomRuleDecl>(decl);
    out << (rule->forward ? "custom_jvp " : "custom_vjp ") << rule->function.text << " = " << rule->rule.text << ";\n";
    return;
  }
  }
}

void ast::print(const Module &module, raw_ostream &out) {
  Printer printer(out);
  for (const Decl *decl : module.decls) {
    printer.decl(decl);
    if (decl != module.decls.back())
      out << '\n';
  }
}

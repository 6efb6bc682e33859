// The parser's dealings with tokens and errors, and declarations.
#include "ParserImpl.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

//===----------------------------------------------------------------------===//
// Errors and recovery
//===----------------------------------------------------------------------===//

std::string Parser::found() const {
  if (is(Tok::eof) || is(Tok::stringLit))
    return describe(current().kind).str();
  return ("'" + text(current()) + "'").str();
}

Diagnostic &Parser::expected(Diag id, const Twine &what) {
  SourceRange range = here();
  // What is missing before the end of a file is missing after its last token.
  if (is(Tok::eof) && at)
    range = {file, previousRange().end, previousRange().end};
  return error(id, range, "expected " + what + ", found " + found());
}

bool Parser::expect(Tok kind, const Twine &where) {
  if (consume(kind))
    return true;
  expected(Diag::expectedToken, describe(kind) + " " + where);
  return false;
}

bool Parser::expectClosing(Tok kind, SourceRange open, const Twine &orWhat) {
  if (consume(kind))
    return true;
  expected(is(Tok::eof) ? Diag::unclosedBracket : Diag::expectedToken, orWhat + describe(kind))
      .note(open, "to close this '" + sources.text(open) + "'");
  return false;
}

bool Parser::expectSemicolon(const Twine &what) {
  if (consume(Tok::semicolon))
    return true;
  SourceRange end = {file, previousRange().end, previousRange().end};
  if (is(Tok::equal) && splitBeforeParenthesis(what))
    return true;
  bool onlyMissing = current().startsLine || is(Tok::rBrace) || is(Tok::eof) || atStatementKeyword();
  if (!onlyMissing) {
    expected(Diag::expectedToken, "';' after " + what);
    return false;
  }
  error(Diag::expectedToken, end, "expected ';' after " + what);
  return true;
}

bool Parser::splitBeforeParenthesis(const Twine &what) {
  unsigned nested = 0;
  for (size_t i = at; i-- > statementBegin + 1;) {
    const Token &token = list.tokens[i];
    if (token.kind == Tok::rParen) {
      ++nested;
    } else if (token.kind == Tok::lParen && --nested == 0) {
      if (!token.startsLine)
        return false;
      at = i;
      SourceRange end = {file, previousRange().end, previousRange().end};
      error(Diag::expectedToken, end, "expected ';' after " + what);
      return true;
    }
  }
  return false;
}

bool Parser::expectName(Name &name, const Twine &what) {
  if (is(Tok::identifier)) {
    name = {text(current()), here()};
    advance();
    return true;
  }
  bool isWord = !is(Tok::eof) && isAlpha(text(current()).front());
  if (isWord)
    error(Diag::reservedWord, here(), found() + " is a reserved word; expected " + what);
  else
    expected(Diag::expectedToken, what);
  return false;
}

bool Parser::atStatementKeyword() const {
  switch (current().kind) {
  case Tok::kwVar:
    return peek().kind != Tok::lParen; // the variance
  case Tok::kwLet:
  case Tok::kwReturn:
  case Tok::kwFor:
  case Tok::kwWhile:
    return true;
  default:
    return false;
  }
}

/// Whether a declaration begins here: a word that begins no statement, at the beginning of a line.
bool Parser::atDeclaration() const {
  switch (current().kind) {
  case Tok::kwImport:
  case Tok::kwStruct:
  case Tok::kwFn:
  case Tok::kwExport:
  case Tok::kwExtern:
  case Tok::kwCustomVjp:
  case Tok::kwCustomJvp:
    return current().startsLine;
  case Tok::kwNondiff:
    return current().startsLine && peek().kind == Tok::kwFn;
  default:
    return false;
  }
}

void Parser::skipToStatementEnd() {
  unsigned braces = 0;
  for (; !is(Tok::eof) && !atDeclaration(); advance()) {
    if (is(Tok::lBrace)) {
      ++braces;
    } else if (is(Tok::rBrace)) {
      if (braces == 0)
        return;
      if (--braces == 0 && peek().startsLine) {
        advance();
        return;
      }
    } else if (braces == 0) {
      if (is(Tok::semicolon)) {
        advance();
        return;
      }
      if (atStatementKeyword() && current().startsLine)
        return;
    }
  }
}

bool Parser::skipInList(Tok closing, size_t itemBegin) {
  if (stopped)
    return false;
  // Where the error is, brackets of the item may be open.
  int nested = 0;
  for (size_t i = itemBegin; i < at; ++i) {
    Tok kind = list.tokens[i].kind;
    nested += kind == Tok::lParen || kind == Tok::lSquare || kind == Tok::lBrace;
    nested -= kind == Tok::rParen || kind == Tok::rSquare || kind == Tok::rBrace;
  }
  for (; !is(Tok::eof) && !atDeclaration() && !is(Tok::semicolon); advance()) {
    switch (current().kind) {
    case Tok::lParen:
    case Tok::lSquare:
    case Tok::lBrace:
      ++nested;
      break;
    case Tok::rParen:
    case Tok::rSquare:
    case Tok::rBrace:
      if (nested <= 0)
        return is(closing);
      --nested;
      break;
    case Tok::comma:
      if (nested <= 0)
        return true;
      break;
    default:
      if (nested <= 0 && atStatementKeyword())
        return false;
      break;
    }
  }
  return false;
}

void Parser::stop(SourceRange place) {
  if (std::exchange(stopped, true))
    return;
  error(Diag::tooDeep, place, "this is nested more than " + Twine(maxDepth) + " levels deep")
      .note("give parts of it names with 'let', or move them to functions");
  // One message is enough, and nothing that encloses it can be used either.
  at = list.tokens.size() - 1;
}

bool Parser::parseList(SourceRange open, Tok closing, function_ref<bool()> item) {
  bool ok = true;
  while (!is(closing)) {
    size_t itemBegin = at;
    if (is(Tok::eof))
      return ok && expectClosing(closing, open);
    if (!item()) {
      // The rest is read for its errors, where it can be told where it begins.
      ok = false;
      if (!skipInList(closing, itemBegin))
        return false;
    }
    if (is(closing))
      break;
    if (!consume(Tok::comma)) {
      if (ok)
        expectClosing(closing, open, "',' or ");
      ok = false;
      if (!skipInList(closing, itemBegin))
        return false;
      consume(Tok::comma);
    }
  }
  advance();
  return ok;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

StringRef Parser::docBefore(size_t token) {
  auto it = list.docs.find(token);
  if (it == list.docs.end())
    return "";
  std::string doc;
  SmallVector<StringRef> lines;
  sources.text(it->second).split(lines, '\n');
  for (StringRef line : lines) {
    line = line.ltrim(" \t").drop_while([](char c) { return c == '/'; });
    line.consume_front(" ");
    doc += (doc.empty() ? "" : "\n") + line.rtrim().str();
  }
  return module.save(doc);
}

void Parser::parseModule() {
  SmallVector<Decl *> decls;
  while (!is(Tok::eof)) {
    depth = tallest = 0;
    size_t before = at;
    Decl *decl = parseDecl();
    if (decl) {
      decls.push_back(decl);
      continue;
    }
    // To the next declaration: what lies between is read for nothing.
    Tok first = list.tokens[before].kind;
    bool isLine = first == Tok::kwImport || first == Tok::kwCustomVjp || first == Tok::kwCustomJvp;
    if (at == before)
      advance();
    else if (isLine)
      skipToStatementEnd();
    while (!isLine && !is(Tok::eof) && !atDeclaration())
      advance();
  }
  module.decls = module.copy<Decl *>(decls);
}

Decl *Parser::parseDecl() {
  StringRef doc = docBefore(at);
  SourceRange first = here();
  switch (current().kind) {
  case Tok::kwImport:
    return parseImport();
  case Tok::kwStruct:
    return parseStruct(doc);
  case Tok::kwCustomVjp:
  case Tok::kwCustomJvp:
    return parseCustomRule();
  case Tok::kwExport:
    if (peek().kind == Tok::identifier && text(peek()) == "vjp")
      return parseExportVjp(first);
    return parseFunction(doc);
  case Tok::kwFn:
  case Tok::kwExtern:
  case Tok::kwNondiff:
    return parseFunction(doc);
  case Tok::rBrace:
    error(Diag::expectedDeclaration, first, "this '}' closes nothing");
    return nullptr;
  default:
    break;
  }
  Diagnostic &error = expected(Diag::expectedDeclaration, "a declaration");
  StringRef instead = StringSwitch<StringRef>(text(current()))
                          .Cases({"def", "func", "function", "fun", "proc"}, "a function is declared by 'fn'")
                          .Cases({"class", "type", "record"}, "a struct is declared by 'struct'")
                          .Cases({"use", "include", "from", "using"}, "a file is imported by 'import name;'")
                          .Cases({"pub", "public"}, "an entry point is declared by 'export fn'")
                          .Cases({"let", "var", "return", "for", "if", "while"}, "statements stand in functions")
                          .Default("import, struct, fn, export, extern, nondiff or custom_vjp begins one");
  error.note(instead);
  return nullptr;
}

Decl *Parser::parseImport() {
  SourceRange first = here();
  advance();
  Name name;
  if (is(Tok::stringLit)) {
    expected(Diag::expectedToken, "a name to import").note("'import nn;' reads nn.gnn");
    return nullptr;
  }
  if (!expectName(name, "a name to import") || !expectSemicolon("an import"))
    return nullptr;
  return module.make<ImportDecl>(since(first), name);
}

bool Parser::parseGenerics(ArrayRef<GenericParam> &generics) {
  SourceRange open = here();
  if (!consume(Tok::lSquare))
    return true;
  SmallVector<GenericParam> params;
  bool ok = parseList(open, Tok::rSquare, [&] {
    GenericParam param{GenericParam::dimension, {}};
    if (consume(Tok::dotDot))
      param.kind = GenericParam::pack;
    if (!expectName(param.name, "the name of a dimension parameter"))
      return false;
    SourceRange kind = here();
    if (consume(Tok::colon)) {
      if (!consume(Tok::kwStruct)) {
        expected(Diag::expectedToken, "'struct' after ':'").note("dimension parameters have no type: [H, S: struct]");
        return false;
      }
      if (param.kind == GenericParam::pack) {
        error(Diag::badModifier, since(kind), "a pack holds dimensions, not structs");
        return false;
      }
      param.kind = GenericParam::structType;
    }
    params.push_back(param);
    return true;
  });
  generics = module.copy<GenericParam>(params);
  return ok;
}

Decl *Parser::parseStruct(StringRef doc) {
  SourceRange first = here();
  advance();
  Name name;
  ArrayRef<GenericParam> generics;
  if (!expectName(name, "the name of a struct"))
    return nullptr;
  bool ok = parseGenerics(generics);
  SourceRange open = here();
  if (!expect(Tok::lBrace, "to begin the fields of a struct"))
    return nullptr;
  SmallVector<StructField> fields;
  bool fieldsOk = parseList(open, Tok::rBrace, [&] {
    StructField field{};
    if (!expectName(field.name, "the name of a field") || !expect(Tok::colon, "and a type after the name of a field"))
      return false;
    if (!(field.type = parseType()))
      return false;
    if (consume(Tok::equal) && !(field.init = parseExpr()))
      return false;
    fields.push_back(field);
    if (is(Tok::semicolon)) {
      expected(Diag::expectedToken, "',' between fields");
      advance();
      return false;
    }
    return true;
  });
  rejectWildcards(0);
  auto *decl = module.make<StructDecl>(since(first), name, doc, generics, module.copy<StructField>(fields));
  decl->hasErrors = !ok || !fieldsOk;
  if (!fieldsOk && list.tokens[at - 1].kind != Tok::rBrace)
    while (!is(Tok::eof) && !atDeclaration() && !consume(Tok::rBrace))
      advance();
  return decl;
}

/// `export vjp f;` or `export vjp f(wrt=(p, x));`
Decl *Parser::parseExportVjp(SourceRange first) {
  advance();
  advance();
  Name function;
  if (!expectName(function, "the name of a function after 'export vjp'"))
    return nullptr;
  Expr *wrt = nullptr;
  SourceRange open = here();
  if (consume(Tok::lParen)) {
    Arg arg;
    if (!parseArg(arg))
      return nullptr;
    if (arg.name.text != "wrt") {
      error(Diag::expectedToken, arg.name ? arg.name.range : arg.value->range,
            "expected 'wrt=' and the parameters to differentiate with respect to");
      return nullptr;
    }
    wrt = arg.value;
    if (!expectClosing(Tok::rParen, open))
      return nullptr;
  }
  if (!expectSemicolon("'export vjp'"))
    return nullptr;
  return module.make<ExportVjpDecl>(since(first), function, wrt);
}

/// `custom_vjp f = rule;`
Decl *Parser::parseCustomRule() {
  SourceRange first = here();
  bool forward = is(Tok::kwCustomJvp);
  advance();
  Name function, rule;
  if (!expectName(function, "the name of a function") || !expect(Tok::equal, "and the name of its rule") ||
      !expectName(rule, "the name of a function, the rule") || !expectSemicolon("a custom rule"))
    return nullptr;
  return module.make<CustomRuleDecl>(since(first), forward, function, rule);
}

bool Parser::parseParam(FnParam &param) {
  SourceRange first = here();
  while (is(Tok::kwInout) || is(Tok::kwNondiff)) {
    bool &flag = is(Tok::kwInout) ? param.isInout : param.nondiff;
    if (flag)
      error(Diag::badModifier, here(), found() + " stands here twice");
    flag = true;
    advance();
  }
  if (!expectName(param.name, "the name of a parameter"))
    return false;
  if (!is(Tok::colon)) {
    expected(Diag::expectedToken, "':' and a type after the parameter's name")
        .note("types are inferred inside functions, and written at their boundaries");
    return false;
  }
  advance();
  if (!(param.type = parseType()))
    return false;
  if (consume(Tok::equal) && !(param.defaultValue = parseExpr()))
    return false;
  rejectWildcards(0);
  param.range = since(first);
  return true;
}

bool Parser::parseSignature(FnDecl &fn) {
  bool ok = parseGenerics(fn.generics);
  SourceRange open = here();
  if (!expect(Tok::lParen, "to begin the parameters of a function"))
    return false;
  SmallVector<FnParam> params;
  ok &= parseList(open, Tok::rParen, [&] {
    FnParam param;
    if (!parseParam(param))
      return false;
    params.push_back(param);
    return true;
  });
  fn.params = module.copy<FnParam>(params);
  if (!ok)
    return false;
  if (!consume(Tok::arrow)) {
    if (!is(Tok::colon))
      return true;
    error(Diag::expectedToken, here(), "expected '->' before the type of the result, found ':'");
    return false;
  }
  fn.result = parseType();
  return fn.result != nullptr;
}

Decl *Parser::parseFunction(StringRef doc) {
  SourceRange first = here();
  FnDecl modifiers(first, {});
  for (; !is(Tok::kwFn); advance()) {
    bool *flag = is(Tok::kwExport)    ? &modifiers.isExport
                 : is(Tok::kwNondiff) ? &modifiers.nondiff
                 : is(Tok::kwExtern)  ? &modifiers.isExtern
                                      : nullptr;
    if (!flag) {
      expected(Diag::expectedToken, "'fn'");
      return nullptr;
    }
    if (*flag)
      error(Diag::badModifier, here(), found() + " stands here twice");
    *flag = true;
  }
  if (modifiers.isExtern && modifiers.isExport)
    error(Diag::badModifier, since(first), "an 'extern' function is defined elsewhere and can't be exported");
  advance();
  Name name;
  if (!expectName(name, "the name of a function"))
    return nullptr;
  auto *fn = module.make<FnDecl>(first, name);
  fn->isExport = modifiers.isExport;
  fn->nondiff = modifiers.nondiff;
  fn->isExtern = modifiers.isExtern;
  fn->doc = doc;
  scope_exit setRange([&] { fn->range = since(first); });
  if (!parseSignature(*fn)) {
    fn->hasErrors = fn->signatureHasErrors = true;
    // The body may be read all the same, for its errors.
    while (!is(Tok::eof) && !atDeclaration() && !is(Tok::lBrace) && !is(Tok::semicolon))
      advance();
    if (!is(Tok::lBrace)) {
      consume(Tok::semicolon);
      return fn;
    }
  }
  if (fn->isExtern) {
    if (is(Tok::lBrace))
      error(Diag::badModifier, here(), "an 'extern' function has no body; end it with ';'");
    else if (expectSemicolon("an 'extern' function"))
      return fn;
    fn->hasErrors = true;
  } else if (consume(Tok::semicolon)) {
    error(Diag::expectedToken, since(first), "this function has no body")
        .note("'extern fn' declares a function that is defined elsewhere");
    fn->hasErrors = true;
    return fn;
  }
  fn->body = parseBlock(/*tailAllowed=*/false, "the body of a function");
  if (!fn->body || fn->isExtern)
    fn->hasErrors = true;
  return fn;
}

std::unique_ptr<Module> gnnc::parseFile(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics) {
  auto module = std::make_unique<Module>();
  module->file = file;
  module->name = sources.name(file);
  Parser(sources, file, diagnostics, *module).parseModule();
  // A declaration with any syntax error, one that left it whole too, is left to the messages about that.
  for (const Diagnostic *diagnostic : diagnostics.pending())
    for (Decl *decl : module->decls)
      if (diagnostic->severity == Severity::error && diagnostic->range.file == file &&
          decl->range.begin <= diagnostic->range.begin && diagnostic->range.begin < decl->range.end)
        decl->hasErrors = true;
  return module;
}

// Attributes: sizes, lists of dimensions, and the enums of ops.
#ifndef GNNC_DIALECT_GNNATTRS_TD
#define GNNC_DIALECT_GNNATTRS_TD

include "gnnc/Dialect/GnnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Gnn_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Gnn_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Gnn_SizeAttr : Gnn_Attr<"Size", "size"> {
  let summary = "A size: an integer polynomial over set ids, in normal form";
  let description = [{
    Written `#gnn.size<2*s0*s1 + 3>`. Terms are sorted by their factors and have non-zero coefficients, so equal
    polynomials are the same attribute. A factor is a set id or `ceildiv(size, n)`.

    `terms` is flat: for each term its coefficient, its degree, and that many factors; a factor f >= 0 is set f, a factor
    f < 0 is `quotients[-f - 1]`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$terms,
                        OptionalArrayRefParameter<"::gnnc::gnn::CeilDivAttr">:$quotients);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static SizeAttr constant(::mlir::MLIRContext *ctx, int64_t value);
    static SizeAttr set(::mlir::MLIRContext *ctx, int64_t id);
    SizeAttr add(SizeAttr other) const;
    SizeAttr sub(SizeAttr other) const;
    SizeAttr mul(SizeAttr other) const;
    SizeAttr scale(int64_t factor) const;
    /// ceil(this / divisor), divisor > 0; folded where the result is a polynomial.
    SizeAttr ceilDiv(int64_t divisor) const;
    /// The value if it is a constant.
    std::optional<int64_t> getConstant() const;
    /// The set id if the size is just one set.
    std::optional<int64_t> getSet() const;
    /// Replaces every set by `f(id)`.
    SizeAttr substitute(::llvm::function_ref<SizeAttr(int64_t)> f) const;
    /// Calls `f` for every set id that occurs, in quotients too.
    void forEachSet(::llvm::function_ref<void(int64_t)> f) const;
    /// Value for given set sizes.
    int64_t evaluate(::llvm::function_ref<int64_t(int64_t)> sizeOf) const;
    /// Text with names for sets: "2*F + 1"; the default names are s0, s1, ...
    std::string str(::llvm::function_ref<std::string(int64_t)> name = nullptr) const;
  }];
}

def Gnn_CeilDivAttr : Gnn_Attr<"CeilDiv", "ceildiv"> {
  let summary = "A quotient rounded up, an atom of sizes";
  let description = [{
    Stands inside of sizes only, where it is written `ceildiv(s0 + 1, 4)`. Its numerator's coefficients are in
    [0, divisor), and it is no quotient itself, so equal quotients are equal attributes.
  }];
  let parameters = (ins "::gnnc::gnn::SizeAttr":$numerator, "int64_t":$divisor);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $numerator `,` $divisor `>`";
}

def Gnn_DimsAttr : Gnn_Attr<"Dims", "dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The sizes of a tensor's dimensions: its encoding";
  let description = [{
    `#gnn.dims<s0, 16, 2*s1>`. One size for each dimension. A dimension is static in the tensor's shape exactly when its size
    is a constant, and then both are equal, so that one type has one form.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::gnnc::gnn::SizeAttr">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

class Gnn_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::gnnc::gnn";
  let genSpecializedAttr = 0;
}

def Gnn_ReduceKind : Gnn_Enum<"ReduceKind", "how values are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;
def Gnn_ReduceKindAttr : EnumAttr<Gnn_Dialect, Gnn_ReduceKind, "reduce_kind">;

def Gnn_CombineKind : Gnn_Enum<"CombineKind", "how a kernel's result is combined over its reduced iterators", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">,
    I32EnumAttrCase<"ArgMax", 5, "argmax">, I32EnumAttrCase<"ArgMin", 6, "argmin">,
    I32EnumAttrCase<"Tag", 7, "tag">, I32EnumAttrCase<"Share", 8, "share">]>;
def Gnn_CombineKindAttr : EnumAttr<Gnn_Dialect, Gnn_CombineKind, "combine">;

def Gnn_IteratorKind : Gnn_Enum<"IteratorKind", "what an iterator of a kernel does", [
    I32EnumAttrCase<"Parallel", 0, "parallel">, I32EnumAttrCase<"Reduction", 1, "reduction">,
    I32EnumAttrCase<"Segment", 2, "segment">]>;
def Gnn_IteratorKindAttr : EnumAttr<Gnn_Dialect, Gnn_IteratorKind, "iterator">;

/// What comes before `Filter` depends on a graph alone, and is kept with it.
def Gnn_Derivation : Gnn_Enum<"Derivation", "how a graph is made", [
    I32EnumAttrCase<"AddSelfLoops", 0, "add_self_loops">,
    I32EnumAttrCase<"AddMissingSelfLoops", 1, "add_missing_self_loops">,
    I32EnumAttrCase<"ReplaceSelfLoops", 2, "replace_self_loops">,
    I32EnumAttrCase<"RemoveSelfLoops", 3, "remove_self_loops">, I32EnumAttrCase<"Coalesce", 4, "coalesce">,
    I32EnumAttrCase<"Reverse", 5, "reverse">, I32EnumAttrCase<"Symmetrize", 6, "symmetrize">,
    I32EnumAttrCase<"Line", 7, "line">, I32EnumAttrCase<"Filter", 8, "filter">,
    I32EnumAttrCase<"Induced", 9, "induced">, I32EnumAttrCase<"Edges", 10, "edges">,
    I32EnumAttrCase<"Dense", 11, "dense">, I32EnumAttrCase<"Pairs", 12, "pairs">,
    I32EnumAttrCase<"Nearest", 13, "nearest">, I32EnumAttrCase<"Radius", 14, "radius">]>;
def Gnn_DerivationAttr : EnumAttr<Gnn_Dialect, Gnn_Derivation, "derivation">;

def Gnn_Search : Gnn_Enum<"Search", "what is looked for", [
    I32EnumAttrCase<"EdgeIds", 0, "edge_ids">, I32EnumAttrCase<"Order", 1, "order">,
    I32EnumAttrCase<"Largest", 2, "largest">]>;
def Gnn_SearchAttr : EnumAttr<Gnn_Dialect, Gnn_Search, "search">;

def Gnn_Direction : Gnn_Enum<"Direction", "an end of an edge", [
    I32EnumAttrCase<"Src", 0, "src">, I32EnumAttrCase<"Dst", 1, "dst">]>;
def Gnn_DirectionAttr : EnumAttr<Gnn_Dialect, Gnn_Direction, "direction">;

#endif

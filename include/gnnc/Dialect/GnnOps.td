// The ops of the gnn dialect: those on whole tensors here, others in the files that are included.
#ifndef GNNC_DIALECT_GNNOPS_TD
#define GNNC_DIALECT_GNNOPS_TD

include "gnnc/Dialect/GnnKernelOps.td"
include "gnnc/Dialect/GnnOpBase.td"
include "gnnc/Dialect/GnnRegionOps.td"

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Gnn_EndpointOp : Gnn_PureOp<"endpoint", [Structural]> {
  let summary = "The source or target node of every edge";
  let description = [{
    An index array over the edges, in the user's order. No entry is none.

    ```mlir
    %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
    ```
  }];
  let arguments = (ins Gnn_DirectionAttr:$end, Gnn_GraphType:$graph);
  let results = (outs Gnn_IndexTensor:$result);
  let assemblyFormat = "`` $end $graph `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_DegreeOp : Gnn_PureOp<"degree", [Structural]> {
  let summary = "The number of edges into (dst) or out of (src) every node";
  let description = [{
    ```mlir
    %in_degree = gnn.degree dst %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> tensor<?xi32, #gnn.dims<s1>>
    ```
  }];
  let arguments = (ins Gnn_DirectionAttr:$end, Gnn_GraphType:$graph);
  let results = (outs Gnn_IndexTensor:$result);
  let assemblyFormat = "`` $end $graph `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_DeriveOp : Gnn_PureOp<"derive", [Structural, AttrSizedOperandSegments]> {
  let summary = "A graph made from another one or from tensors";
  let description = [{
    The maps are index arrays between the old edges (or nodes) and the new ones, along which payloads move by a gather or a
    sum, so this op needs no derivative of its own. Their numbers and meanings, and the operands:

    | how | of | operands | maps |
    |---|---|---|---|
    | add_self_loops | g | | the old edge of each new one, -1 for a new one: all edges, then a loop for each node |
    | add_missing_self_loops | g | | the same, with loops only where there is none |
    | replace_self_loops | g | | the same, but first the loops that are there are removed |
    | remove_self_loops | g | | the old edge of each new one |
    | coalesce | g | | the new edge of each old one; edges by source, then by target |
    | reverse | g | | none: the edges are the same |
    | symmetrize | g | | the old edge of each new one: all edges, then the reverse of each that is no loop |
    | line | g | | none: the nodes are the edges of g, an edge stands for each pair that meets |
    | filter | g | keep: i1 [edges] | the old edge of each new one |
    | induced | g | keep: i1 [nodes] | the old edge of each new one; the old node of each new one |
    | edges | | src, dst: i32 | none |
    | dense | | i1 [sources, targets] | none: an edge for each true entry, row by row |
    | pairs | | group: i32 [nodes] | none: all ordered pairs of nodes of one group |
    | nearest | | x [nodes, D], k: i64, perhaps group: i32 [nodes] | none: from the k nearest others to each node |
    | radius | | x [nodes, D], r, period [D] (or [0]), perhaps group | the image of the source, i32 [edges, D] |

    ```mlir
    %h, %old = gnn.derive filter of %g with %keep nondiff
        : (!gnn.graph<s0 -> s0, s1>, tensor<?xi1, #gnn.dims<s1>>) -> (!gnn.graph<s0 -> s0, s2>, tensor<?xi32, #gnn.dims<s2>>)
    %v = gnn.gather %w[%old] dims [0] : (tensor<?xf32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s2>>) -> tensor<?xf32, #gnn.dims<s2>>
    ```
  }];
  let arguments = (ins Gnn_DerivationAttr:$how, Optional<Gnn_GraphType>:$graph, Variadic<Gnn_Tensor>:$inputs);
  let results = (outs Gnn_GraphType:$result, Variadic<Gnn_IndexTensor>:$maps);
  let assemblyFormat = "`` $how (`of` $graph^)? (`with` $inputs^)? `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the graph depends on another one alone.
    bool isOfGraphAlone() { return getHow() < Derivation::Filter; }
    /// The most edges that there can be, where that follows from the sizes of the graph; null otherwise.
    SizeAttr mostEdges();
  }];
}

def Gnn_SearchOp : Gnn_PureOp<"search", [Structural, AttrSizedOperandSegments]> {
  let summary = "Positions of what is looked for";
  let description = [{
    `edge_ids` finds the first edge of a graph from each u to each v; the call fails where there is none. `order` gives the
    positions of numbers in ascending order, equal ones in theirs. `largest` gives for each group (or for all, in one row)
    the positions of its largest numbers in descending order, -1 where it has fewer. A NaN counts as the largest.

    ```mlir
    %top = gnn.search largest with %x, %group nondiff
        : (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>) -> tensor<?x3xi32, #gnn.dims<s1, 3>>
    ```
  }];
  let arguments = (ins Gnn_SearchAttr:$what, Optional<Gnn_GraphType>:$graph, Variadic<Gnn_Tensor>:$inputs);
  let results = (outs Gnn_IndexTensor:$result);
  let assemblyFormat = "`` $what (`of` $graph^)? (`with` $inputs^)? `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_OrderOp : Gnn_PureOp<"order", [Structural]> {
  let summary = "A graph's edges grouped by an end";
  let description = [{
    The runtime keeps both orders with the graph.

    ```mlir
    %in_edges = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> !gnn.order<s1, s2>
    ```
  }];
  let arguments = (ins Gnn_DirectionAttr:$end, Gnn_GraphType:$graph);
  let results = (outs Gnn_OrderType:$result);
  let assemblyFormat = "`` $end $graph `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_OrderByOp : Gnn_PureOp<"order_by", [Structural]> {
  let summary = "The entries of an index array grouped by what they point at; none (-1) is left out";
  let description = [{
    ```mlir
    %by_graph = gnn.order_by %batch nondiff : (tensor<?xi32, #gnn.dims<s0>>) -> !gnn.order<s3, s0>
    ```
  }];
  let arguments = (ins Gnn_IndexTensor:$index);
  let results = (outs Gnn_OrderType:$result);
  let assemblyFormat = "$index `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Message passing
//===----------------------------------------------------------------------===//

def Gnn_GatherOp : Gnn_DiffOp<"gather", [AttrSizedOperandSegments]> {
  let summary = "Entries of a tensor picked by index arrays";
  let description = [{
    Dimension `dims[k]` of the source is indexed by the k-th index array. All index arrays have one type; their
    dimensions stand in the result where the first indexed dimension stood, the other indexed dimensions are gone. Where
    an index is none (-1) the result is `fill` (a scalar), or 0 without one. Other indices are in range.

    ```mlir
    // x[g.src]
    %m = gnn.gather %x[%src] dims [0]
        : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
    // c[g.dst, rel]
    %r = gnn.gather %c[%dst, %rel] dims [0, 1] : (tensor<?x?xf32, #gnn.dims<s0, s2>>, tensor<?xi32, #gnn.dims<s1>>,
                                                  tensor<?xi32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s1>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, Variadic<Gnn_IndexTensor>:$indices, Optional<Gnn_Scalar>:$fill,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `dims` $dims (`fill` $fill^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Gnn_SegmentReduceOp : Gnn_DiffOp<"segment_reduce", [AttrSizedOperandSegments]> {
  let summary = "Entries combined by where index arrays point: the transpose of a gather";
  let description = [{
    The index arrays' dimensions stand in the source from position `at` on; they are consumed. In the result, a new
    dimension stands for each index array's target, at the positions `dims` of the result; the source's other dimensions
    keep their order. An entry with an index that is none (-1) is skipped. An empty segment gives `empty` (a scalar), or
    0 without one (1 for prod).

    max and min may have a second result, the winner: the position, among the consumed entries (of rank 1), of the first
    entry that equals the result, -1 for an empty segment. A NaN makes the result NaN and is its winner. With `tags`, a
    number from 0 on for each entry, the second result is the winner's tag instead, -2 where entries of different tags
    are equal (or nothing is above -inf).

    ```mlir
    // sum(m, by=g.dst)
    %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0]
        : (tensor<?x16xf32, #gnn.dims<s1, 16>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
    %z, %winner = gnn.segment_reduce max %m by [%dst] at 0 dims [0]
        : (tensor<?x16xf32, #gnn.dims<s1, 16>>, tensor<?xi32, #gnn.dims<s1>>)
        -> (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?x16xi32, #gnn.dims<s0, 16>>)
    ```
  }];
  let arguments = (ins Gnn_ReduceKindAttr:$kind, Gnn_Tensor:$source, Variadic<Gnn_IndexTensor>:$indices,
                       Optional<Gnn_Scalar>:$empty, Optional<Gnn_IndexTensor>:$tags, I64Attr:$at,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result, Optional<Gnn_IndexTensor>:$winner);
  let assemblyFormat = [{
    `` $kind $source `by` ` ` `[` $indices `]` `at` $at `dims` $dims (`empty` $empty^)? (`tags` $tags^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [ // without tags
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Type":$winner, "ReduceKind":$kind, "::mlir::Value":$source,
                   "::mlir::ValueRange":$indices, "::mlir::Value":$empty, "int64_t":$at,
                   "::llvm::ArrayRef<int64_t>":$dims), [{
      build($_builder, $_state, result, winner, kind, source, indices, empty, ::mlir::Value(), at, dims);
    }]>,
    OpBuilder<(ins "::mlir::TypeRange":$results, "ReduceKind":$kind, "::mlir::Value":$source,
                   "::mlir::ValueRange":$indices, "::mlir::Value":$empty, "int64_t":$at,
                   "::llvm::ArrayRef<int64_t>":$dims), [{
      build($_builder, $_state, results, kind, source, indices, empty, ::mlir::Value(), at, dims);
    }]>
  ];
  let hasVerifier = 1;
}

def Gnn_ShareOp : Gnn_DiffOp<"share"> {
  let summary = "What belongs to a segment's extremum, shared evenly by the entries that attain it";
  let description = [{
    An entry of `source` that equals the extremum of its segment, or is NaN, gets `y` of the segment divided by the number
    of such entries; all others get 0. This is the adjoint of a max or min, with its adjoint for `y`. The index array has
    rank 1, and segments and entries stand first.

    ```mlir
    %m_adj = gnn.share %y_adj of %y among %m by %dst
        : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?x16xf32, #gnn.dims<s0, 16>>,
           tensor<?x16xf32, #gnn.dims<s1, 16>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$y, Gnn_Tensor:$extremum, Gnn_Tensor:$source, Gnn_IndexTensor:$index);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $y `of` $extremum `among` $source `by` $index attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Gnn_ShareSumOp : Gnn_PureOp<"share_sum"> {
  let summary = "The shares of a gnn.share summed by another index array, without a pass over the entries";
  let description = [{
    `tags` is what a `gnn.segment_reduce` with `target` for its tags gave: where one entry alone attains the extremum,
    all of `y` goes to its target; entries are looked at where several may. With an init, the sums are added to it.

    ```mlir
    %b_adj = gnn.share_sum %y_adj of %y among %m by %dst into %src tagged %tags : ...
    ```
  }];
  let arguments = (ins Gnn_Tensor:$y, Gnn_Tensor:$extremum, Gnn_Tensor:$source, Gnn_IndexTensor:$index,
                       Gnn_IndexTensor:$target, Gnn_IndexTensor:$tags, Optional<Gnn_Tensor>:$init);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $y `of` $extremum `among` $source `by` $index `into` $target `tagged` $tags (`plus` $init^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Gnn_SegmentSoftmaxOp : Gnn_DiffOp<"segment_softmax"> {
  let summary = "Softmax over the entries of each segment";
  let description = [{
    The source's first dimension is that of the rank-1 index array; `into` is the number of segments. The maximum is
    subtracted; a segment whose scores are all -inf gets 0; +inf or NaN spoils its own segment only; an entry whose
    index is none gets 0.

    ```mlir
    %a = gnn.segment_softmax %e by %dst into <s0>
        : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, Gnn_IndexTensor:$index, Gnn_SizeAttr:$segments);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `by` $index `into` $segments attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_SegmentLogSumExpOp : Gnn_DiffOp<"segment_logsumexp"> {
  let summary = "log of the sum of exponentials over the entries of each segment; -inf for an empty one";
  let description = [{
    ```mlir
    %y = gnn.segment_logsumexp %e by %dst
        : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, Gnn_IndexTensor:$index);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `by` $index attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions over dimensions, contraction
//===----------------------------------------------------------------------===//

def Gnn_ReduceOp : Gnn_DiffOp<"reduce"> {
  let summary = "A tensor reduced over some of its dimensions, which are dropped";
  let description = [{
    Reducing an empty dimension gives 0 (1 for prod). For max and min a NaN makes the result NaN.

    ```mlir
    %y = gnn.reduce sum %x dims [1, 2] : (tensor<?x4x8xf32, #gnn.dims<s0, 4, 8>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_ReduceKindAttr:$kind, Gnn_Tensor:$source, DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "`` $kind $source `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_ArgReduceOp : Gnn_PureOp<"arg_reduce", [Structural]> {
  let summary = "The position of the first maximum or minimum along a dimension";
  let description = [{
    -1 where the dimension is empty. A NaN wins.

    ```mlir
    %i = gnn.arg_reduce max %x dim 1 nondiff : (tensor<?x7xf32, #gnn.dims<s0, 7>>) -> tensor<?xi32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_ReduceKindAttr:$kind, Gnn_Tensor:$source, I64Attr:$dim);
  let results = (outs Gnn_IndexTensor:$result);
  let assemblyFormat = "`` $kind $source `dim` $dim `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_SoftmaxOp : Gnn_DiffOp<"softmax"> {
  let summary = "Softmax over some dimensions, which are kept";
  let description = [{
    ```mlir
    %p = gnn.softmax %x dims [1] : (tensor<?x7xf32, #gnn.dims<s0, 7>>) -> tensor<?x7xf32, #gnn.dims<s0, 7>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_LogSumExpOp : Gnn_DiffOp<"logsumexp"> {
  let summary = "log of the sum of exponentials over some dimensions, which are dropped; -inf for none";
  let description = [{
    ```mlir
    %y = gnn.logsumexp %x dims [1] : (tensor<?x7xf32, #gnn.dims<s0, 7>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_ContractOp : Gnn_DiffOp<"contract"> {
  let summary = "A sum of products over shared labels";
  let description = [{
    Every dimension has a label; labels of the result occur in at least one operand; labels that are not in the result
    are summed. A label occurs at most once in each list, and has one size.

    ```mlir
    // The matrix product.
    %c = gnn.contract %a [0, 1], %b [1, 2] -> [0, 2]
        : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<16x8xf32, #gnn.dims<16, 8>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$lhs, Gnn_Tensor:$rhs, DenseI64ArrayAttr:$lhsLabels, DenseI64ArrayAttr:$rhsLabels,
                       DenseI64ArrayAttr:$resultLabels);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $lhs $lhsLabels `,` $rhs $rhsLabels `->` $resultLabels attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def Gnn_BroadcastOp : Gnn_DiffOp<"broadcast"> {
  let summary = "A tensor repeated along new dimensions";
  let description = [{
    Dimension k of the source is dimension `dims[k]` of the result; `dims` is increasing. A dimension of constant size 1
    may stand where the result has another size, and is repeated.

    ```mlir
    %y = gnn.broadcast %x dims [0] : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, DenseI64ArrayAttr:$dims);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_ReshapeOp : Gnn_DiffOp<"reshape"> {
  let summary = "The same elements in row-major order with other dimensions";
  let description = [{
    ```mlir
    %y = gnn.reshape %x : (tensor<?x4x8xf32, #gnn.dims<s0, 4, 8>>) -> tensor<?x32xf32, #gnn.dims<s0, 32>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_TransposeOp : Gnn_DiffOp<"transpose"> {
  let summary = "Dimensions in another order";
  let description = [{
    Dimension k of the result is dimension `perm[k]` of the source.

    ```mlir
    %y = gnn.transpose %x perm [1, 0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<4x?xf32, #gnn.dims<4, s0>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, DenseI64ArrayAttr:$perm);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `perm` $perm attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_SliceOp : Gnn_DiffOp<"slice"> {
  let summary = "A regular part of a tensor along one dimension";
  let description = [{
    `y[.., k, ..] = x[.., from + k*step, ..]`; the result's type says how many. An integer that drops a dimension is a
    slice of size 1 and a reshape.

    ```mlir
    // x[::-1]
    %y = gnn.slice %x dim 0 from <s0 - 1> step -1
        : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, I64Attr:$dim, Gnn_SizeAttr:$from, I64Attr:$step);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $source `dim` $dim `from` $from `step` $step attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_UnsliceOp : Gnn_DiffOp<"unslice"> {
  let summary = "A part put into zeros: the transpose of a slice";
  let description = [{
    `y[.., from + k*step, ..] = x[.., k, ..]`, 0 elsewhere.

    ```mlir
    %y = gnn.unslice %x dim 1 from <0> step 1
        : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x12xf32, #gnn.dims<s0, 12>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, I64Attr:$dim, Gnn_SizeAttr:$from, I64Attr:$step);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $source `dim` $dim `from` $from `step` $step attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_SelectIndexOp : Gnn_DiffOp<"select_index"> {
  let summary = "The entry at a run-time position of a dimension, which is dropped";
  let description = [{
    The position is in range: where that is not known, `gnn.check_index` makes sure of it first.

    ```mlir
    %y = gnn.select_index %x[%t] dim 0
        : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<i32, #gnn.dims<>>) -> tensor<4xf32, #gnn.dims<4>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$source, Gnn_Position:$position, I64Attr:$dim);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$source `[` $position `]` `dim` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_UpdateIndexOp : Gnn_DiffOp<"update_index"> {
  let summary = "A tensor with the entry at a run-time position of a dimension replaced";
  let description = [{
    What `v[t] = e` makes of v. It is done in v's memory where nothing else needs the old value. The position is in range.

    ```mlir
    %z = gnn.update_index %x[%t] dim 0, %y
        : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<i32, #gnn.dims<>>, tensor<4xf32, #gnn.dims<4>>)
        -> tensor<?x4xf32, #gnn.dims<s0, 4>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$target, Gnn_Position:$position, Gnn_Tensor:$value, I64Attr:$dim);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $target `[` $position `]` `dim` $dim `,` $value attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Gnn_UpdateSliceOp : Gnn_DiffOp<"update_slice"> {
  let summary = "A tensor with a regular part along one dimension replaced";
  let description = [{
    `y[.., from + k*step, ..] = value[.., k, ..]`, elsewhere the target: what `v[a:b] = e` makes of v.

    ```mlir
    %z = gnn.update_slice %x dim 0 from <1> step 1, %y
        : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<2x4xf32, #gnn.dims<2, 4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$target, Gnn_Tensor:$value, I64Attr:$dim, Gnn_SizeAttr:$from, I64Attr:$step);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $target `dim` $dim `from` $from `step` $step `,` $value attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Gnn_ConcatOp : Gnn_DiffOp<"concat"> {
  let summary = "Tensors joined along a dimension";
  let description = [{
    ```mlir
    %y = gnn.concat %a, %b dim 1 : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x8xf32, #gnn.dims<s0, 8>>)
        -> tensor<?x12xf32, #gnn.dims<s0, 12>>
    ```
  }];
  let arguments = (ins Variadic<Gnn_Tensor>:$sources, I64Attr:$dim);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$sources `dim` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_IotaOp : Gnn_PureOp<"iota", [Structural]> {
  let summary = "0, 1, 2, ... along a dimension of an integer tensor";
  let description = [{
    ```mlir
    %i = gnn.iota 0 nondiff : tensor<?xi32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$dim `nondiff` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Gnn_SizeOp : Gnn_PureOp<"size"> {
  let summary = "A size as a scalar, of integer or floating-point type";
  let description = [{
    ```mlir
    %n = gnn.size <2*s0 + 1> : tensor<f32, #gnn.dims<>>
    ```
  }];
  let arguments = (ins Gnn_SizeAttr:$size);
  let results = (outs Gnn_Scalar:$result);
  let assemblyFormat = "$size attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gnn_DefineSizeOp : Gnn_Op<"define_size", [MemoryEffects<[MemWrite]>]> {
  let summary = "A size known only at run time: the value of an integer";
  let description = [{
    Gives a set that no argument has its size; shapes may have it from here on. A negative number counts as 0. The result is the number
    as it was.

    ```mlir
    %n = gnn.define_size <s3> as %steps : tensor<i32, #gnn.dims<>> -> tensor<i32, #gnn.dims<>>
    ```
  }];
  let arguments = (ins Gnn_Number:$number, Gnn_SizeAttr:$size);
  let results = (outs Gnn_Number:$result);
  let assemblyFormat = "$size `as` $number attr-dict `:` type($number) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ int64_t getSet() { return *getSize().getSet(); } }];
}

//===----------------------------------------------------------------------===//
// Elementwise functions that arith and math don't have
//===----------------------------------------------------------------------===//

class Gnn_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Gnn_DiffOp<mnemonic, [SameOperandsAndResultType] # ElementwiseMappable.traits # traits> {
  let results = (outs FloatLike:$result);
}

def Gnn_SigmoidOp : Gnn_ElementwiseOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x)), without overflow";
  let description = [{
    ```mlir
    %y = gnn.sigmoid %x : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins FloatLike:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Gnn_SoftplusOp : Gnn_ElementwiseOp<"softplus"> {
  let summary = "log(1 + exp(x)), without overflow";
  let description = [{
    ```mlir
    %y = gnn.softplus %x : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins FloatLike:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Gnn_PmulOp : Gnn_ElementwiseOp<"pmul"> {
  let summary = "0 where c is 0, else c * a";
  let description = [{
    The product of an adjoint that passed a selection with a partial derivative: what was not selected contributes
    exactly 0 though the derivative be infinite.

    ```mlir
    %x_adj = gnn.pmul %y_adj, %partial : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins FloatLike:$c, FloatLike:$a);
  let assemblyFormat = "$c `,` $a attr-dict `:` type($c)";
  let hasFolder = 1;
}

def Gnn_ExternCallOp : Gnn_PureOp<"extern_call", [SameOperandsAndResultShape] # ElementwiseMappable.traits> {
  let summary = "A C function of numbers, called for every element";
  let description = [{
    It has no derivative rule. The function is expected to be pure; the symbol is found when the model is loaded.

    ```mlir
    %y = gnn.extern_call "lookup"(%x) : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins StrAttr:$symbol, Variadic<AnyType>:$operands);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$symbol `(` $operands `)` attr-dict `:` functional-type(operands, results)";
}

def Gnn_NoRuleOp : Gnn_PureOp<"no_rule", [SameOperandsAndResultType]> {
  let summary = "The identity, with no derivative rule: shows that an active op without one is refused";
  let description = [{
    ```mlir
    %y = gnn.no_rule %x : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$x);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

def Gnn_FoldKeyOp : Gnn_PureOp<"fold_key"> {
  let summary = "A new key from a key and a number";
  let description = [{
    fold(k, i), modulo 2^64, is the finaliser of SplitMix64 (Steele, Lea and Flood 2014):

        z = k + 0x9E3779B97F4A7C15 * (i + 1)
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9
        z = (z ^ z >> 27) * 0x94D049BB133111EB
        z ^ z >> 31

    key(seed) is fold(0, seed).

    ```mlir
    %k = gnn.fold_key %key, %epoch : (tensor<i64, #gnn.dims<>>, tensor<i64, #gnn.dims<>>) -> tensor<i64, #gnn.dims<>>
    ```
  }];
  let arguments = (ins Gnn_Scalar:$key, Gnn_Scalar:$number);
  let results = (outs Gnn_Scalar:$result);
  let assemblyFormat = "$key `,` $number attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_UniformOp : Gnn_PureOp<"uniform", [Structural]> {
  let summary = "Uniform numbers in [0, 1) from a key";
  let description = [{
    Philox 4x32-10 (Salmon, Moraes, Dror and Shaw 2011), its counter the logical index of the element, so that a mask is
    computed again in the reverse sweep, and is the same on every target and for any number of threads.

    ```mlir
    %u = gnn.uniform %key nondiff : (tensor<i64, #gnn.dims<>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
    ```
  }];
  let arguments = (ins Gnn_Scalar:$key);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$key `nondiff` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif

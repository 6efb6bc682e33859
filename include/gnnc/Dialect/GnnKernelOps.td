// What tensor ops become before they are lowered: row kernels, matrix products, and what goes with them.
#ifndef GNNC_DIALECT_GNNKERNELOPS_TD
#define GNNC_DIALECT_GNNKERNELOPS_TD

include "gnnc/Dialect/GnnOpBase.td"

//===----------------------------------------------------------------------===//
// Row kernels
//===----------------------------------------------------------------------===//

def Gnn_KernelOp : Gnn_PureOp<"kernel", [SingleBlockImplicitTerminator<"YieldOp">, AttrSizedOperandSegments,
                                       IsolatedFromAbove]> {
  let summary = "A comprehension: a scalar body over an iteration space";
  let description = [{
    The row kernel. `iterators` says what each iterator does and `space` its size. A `segment` iterator is the second
    one; it runs over the entries that `order` groups into the row that the first iterator counts, and stands for the
    entry's number in the user's order (its size is the number of all entries).

    `indexMaps` and `maps` are affine maps from the iterators (dimensions) and from the values of the index operands
    (symbols: symbol k is the k-th index operand, the symbols after them are the sizes in `offsets`) to positions in
    each index operand and each input. An index operand's map uses the values of those before it only. An input that is read
    at a place where a symbol in its map is -1 reads as 0 (indices are clamped and the value replaced) if that index
    operand is flagged in `maybeNone`.

    The body has one scalar argument for each input, then one i32 for each index operand, then one index for each
    iterator; it yields one scalar for each result. It uses nothing from outside.

    `resultMaps` say where each result is written, from iterators to positions, over parallel iterators only; in a
    `gnn.group` a result may instead have the segment iterator for its first position, and then it has a value for each
    entry, and only reduction iterators are reduced. Every
    element of a result is written exactly once, or, where `inits` are given, the result is the init with those elements
    replaced that the map names (done in place: an init has no other use).

    `combines` says how each result is combined over the iterators that are not parallel; `none` if there are none of
    these. argmax and argmin yield the value that is compared; their result is the i32 number of the winning entry of
    the first non-parallel iterator, or -1. A max or min followed by an argmax or argmin of the same yielded value is
    computed together. tag, too, follows a max or min: its value, an i32 from 0 on, is kept of the entry that is the
    extremum; it is -1 where nothing was combined, and -2 where entries with different tags may be equal. `empties` gives what a result has where nothing was combined (absent: the neutral element of sum
    and prod; 0 for max and min).

    share is for a kernel of one result and one order whose result map uses an index read at the entry: the body yields
    a value and a tag, both of the row alone, and a condition. Where the tag is from 0 on, the value is added to the
    result at that place in the index's stead; where it is -2, the value is divided evenly among the entries of the row for
    which the condition holds, and added at theirs; elsewhere nothing is. What nothing is added to is the init's, or 0 without one.

    ```mlir
    // y[v, f] = sum over the edges e into v of x[src[e], f]
    %y = "gnn.kernel"(%in_edges, %src, %x) <{
        iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>],
        space = #gnn.dims<s0, s1, 16>, offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e, f) -> (e)>],
        maps = [affine_map<(v, e, f)[i] -> (i, f)>], resultMaps = [affine_map<(v, e, f) -> (v, f)>],
        combines = [#gnn<combine sum>], maybeNone = array<i1: false>, label = "sum",
        operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%a: f32, %i: i32, %v: index, %e: index, %f: index):
      gnn.yield %a : f32
    }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x16xf32, #gnn.dims<s0, 16>>)
      -> tensor<?x16xf32, #gnn.dims<s0, 16>>
    ```
  }];
  let arguments = (ins Optional<Gnn_OrderType>:$order, Variadic<Gnn_IndexTensor>:$indices, Variadic<Gnn_Tensor>:$inputs,
                       Variadic<Gnn_Tensor>:$inits, ArrayAttr:$iterators, Gnn_DimsAttr:$space, Gnn_DimsAttr:$offsets,
                       AffineMapArrayAttr:$indexMaps, AffineMapArrayAttr:$maps, AffineMapArrayAttr:$resultMaps,
                       ArrayAttr:$combines, DenseBoolArrayAttr:$maybeNone, OptionalAttr<ArrayAttr>:$empties,
                       StrAttr:$label);
  let results = (outs Variadic<Gnn_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Gnn_GroupOp : Gnn_PureOp<"group", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Row kernels that are run together, row by row";
  let description = [{
    Kernels of three kinds, in the order in which a row runs them:
    - *of entries*: a segment iterator over `order`, results at the entry. Nothing outside reads them, and they never
      become memory: the kernels that read them do so at the same entry.
    - *reductions*: a segment iterator over `order` that is reduced; results at the row.
    - *of rows*: no segment iterator; the first iterator counts the rows of `order`.

    A kernel reads what another one of the group makes for a row at that row only. What is yielded is in memory
    afterwards. All iterators but rows and entries have constant sizes.

    ```mlir
    %z, %y = gnn.group %in_edges : !gnn.order<s0, s1> -> tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4x16xf32, ...> {
      %w = "gnn.kernel"(%in_edges, %src, %score) ...   // of entries: exp(score)
      %z = "gnn.kernel"(%in_edges, %w) ...             // its sum
      %y = "gnn.kernel"(%in_edges, %src, %w, %h) ...   // the sum of w h[src]
      gnn.yield %z, %y : ...
    }
    ```
  }];
  let arguments = (ins Gnn_OrderType:$order);
  let results = (outs Variadic<Gnn_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$order `:` type($order) `->` type($results) $body attr-dict";
  let hasVerifier = 1;
}

def Gnn_RandomBitsOp : Gnn_PureOp<"random_bits"> {
  let summary = "32 random bits: a word of Philox 4x32-10 for a key and a counter; in bodies of kernels";
  let description = [{
    The counter's halves are words 0 and 1 of Philox's counter (words 2 and 3 are 0), the key's halves its key (Salmon,
    Moraes, Dror and Shaw 2011). Also on vectors.

    ```mlir
    %bits = gnn.random_bits %key, %counter word 0 : (i64, i64) -> i32
    ```
  }];
  let arguments = (ins SignlessIntegerLike:$key, SignlessIntegerLike:$counter,
                       ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<3>]>:$word);
  let results = (outs SignlessIntegerLike:$result);
  let assemblyFormat = "$key `,` $counter `word` $word attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_CheckIndexOp : Gnn_Op<"check_index"> {
  let summary = "A run-time position, checked: out of range fails the call";
  let description = [{
    The identity on an integer; the call fails with an index error that says `what` unless 0 <= position < bound.

    ```mlir
    %t = gnn.check_index %i below <s0>, "x[t]" : tensor<i32, #gnn.dims<>> -> tensor<i32, #gnn.dims<>>
    ```
  }];
  let arguments = (ins Gnn_Scalar:$position, Gnn_SizeAttr:$bound, StrAttr:$what);
  let results = (outs Gnn_Scalar:$result);
  let assemblyFormat = "$position `below` $bound `,` $what attr-dict `:` type($position) `->` type($result)";
  let hasVerifier = 1;
}

def Gnn_EmptyOp : Gnn_Op<"empty"> {
  let summary = "A tensor whose elements are still to be written, by kernels that take it as an init";
  let description = [{
    Each is a buffer of its own: two of one type are not one value. An operand says that a size of it is defined only then.

    ```mlir
    %y = gnn.empty : tensor<?x16xf32, #gnn.dims<s0, 16>>
    %z = gnn.empty after %n : tensor<i32, #gnn.dims<>> -> tensor<?x16xf32, #gnn.dims<s3, 16>>
    ```
  }];
  let arguments = (ins Optional<Gnn_Number>:$after);
  let results = (outs Res<Gnn_Tensor, "", [MemAlloc<DefaultResource>]>:$result);
  let assemblyFormat = "(`after` $after^ `:` type($after) `->`):(`:`)? type($result) attr-dict";
}

def Gnn_GemmOp : Gnn_PureOp<"gemm"> {
  let summary = "A dense product of row-major matrices, done by BLAS";
  let description = [{
    C[m, n] = op(A) op(B), where the operands are read as matrices whatever their rank: A is [m, k] or, transposed,
    [k, m]; B is [k, n] or [n, k]. With an init, C = init + op(A) op(B), done in place: an init has no other use.

    ```mlir
    %c = gnn.gemm %a, %b transposed m <s0> n <8> k <16>
        : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<8x16xf32, #gnn.dims<8, 16>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$lhs, Gnn_Tensor:$rhs, Optional<Gnn_Tensor>:$init, UnitAttr:$transposeLhs,
                       UnitAttr:$transposeRhs, Gnn_SizeAttr:$m, Gnn_SizeAttr:$n, Gnn_SizeAttr:$k);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transposeLhs^)? `,` $rhs (`transposed` $transposeRhs^)? (`plus` $init^)? `m` $m `n` $n `k` $k
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif

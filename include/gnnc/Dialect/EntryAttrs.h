// What the function of an entry point says of its arguments: the names of attributes, shared by the front end that
// writes them and by the lowering, header and manifest that read them. Block argument k is argument k of the C
// function (after the context); results follow, those that are new values of `inout` arguments excepted.
#ifndef GNNC_DIALECT_ENTRYATTRS_H
#define GNNC_DIALECT_ENTRYATTRS_H

#include "llvm/ADT/StringRef.h"

namespace gnnc::gnn::attrs {

// On the function. Its symbol name is the entry's name.
inline constexpr llvm::StringLiteral entry = "gnn.entry";        // unit: an entry point
inline constexpr llvm::StringLiteral setNames = "gnn.set_names"; // array of strings: the user's name of set k
inline constexpr llvm::StringLiteral doc = "gnn.doc";            // string: the comment above the function, if any
// Array of {size = #gnn.size, message = "..."}: sizes that must not be negative when the entry is called, such as what
// a slice leaves; a call with others fails with the message.
inline constexpr llvm::StringLiteral conditions = "gnn.conditions";
// Dictionary {of = "f", args = i64, results = i64} on a function that takes f's arguments and then cotangents and gives
// f's results and then gradients: gnn-split-vjp makes f_fwd and f_bwd of it.
inline constexpr llvm::StringLiteral exportVjp = "gnn.export_vjp";
inline constexpr llvm::StringLiteral vjp =
    "gnn.vjp"; // dictionary {of, forward, backward, wrt} on the forward function of a pair

// On arguments.
inline constexpr llvm::StringLiteral path = "gnn.path"; // string: "x", "p.w0"; on results too: "out", "loss"
inline constexpr llvm::StringLiteral kind = "gnn.kind"; // string: "graph", "tensor", "scalar", "size"
inline constexpr llvm::StringLiteral set =
    "gnn.set"; // i64: the set of a "size" argument (a tensor<i64>), or of a "scalar" that is the size of one
inline constexpr llvm::StringLiteral mode = "gnn.mode"; // string: "inout"; absent for "in"
inline constexpr llvm::StringLiteral dtype =
    "gnn.dtype"; // string, where the element type does not say it: "index", "key"; on results too
inline constexpr llvm::StringLiteral into = "gnn.into"; // #gnn.size: what an index must stay below; on results too
inline constexpr llvm::StringLiteral defaultValue = "gnn.default"; // float or integer attribute
inline constexpr llvm::StringLiteral init = "gnn.init"; // dictionary {fn = "glorot", args = [0.1], block_rank = 1}

// On results.
inline constexpr llvm::StringLiteral inout = "gnn.inout"; // i64: the new value of that argument
inline constexpr llvm::StringLiteral residual =
    "gnn.residual"; // i64: the k-th saved value of a pair; on the backward function's arguments too

} // namespace gnnc::gnn::attrs

#endif

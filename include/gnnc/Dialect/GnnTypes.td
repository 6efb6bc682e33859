// Types: graphs, orders of their edges, tapes of differentiation.
#ifndef GNNC_DIALECT_GNNTYPES_TD
#define GNNC_DIALECT_GNNTYPES_TD

include "gnnc/Dialect/GnnAttrs.td"

class Gnn_Type<string name, string typeMnemonic> : TypeDef<Gnn_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Gnn_GraphType : Gnn_Type<"GnnGraph", "graph"> {
  let summary = "A graph: source nodes, target nodes and edges are index sets";
  let description = [{
    `!gnn.graph<s0 -> s1, s2>`: edges s2 from nodes s0 to nodes s1 (the same set for an ordinary graph).
  }];
  let parameters = (ins "::gnnc::gnn::SizeAttr":$src, "::gnnc::gnn::SizeAttr":$dst,
                        "::gnnc::gnn::SizeAttr":$edges);
  let hasCustomAssemblyFormat = 1;
}

def Gnn_OrderType : Gnn_Type<"Order", "order"> {
  let summary = "Entries grouped into rows: a CSR of positions";
  let description = [{ `!gnn.order<s0, s1>`: the entries s1 grouped by rows s0. }];
  let parameters = (ins "::gnnc::gnn::SizeAttr":$rows, "::gnnc::gnn::SizeAttr":$entries);
  let hasCustomAssemblyFormat = 1;
}

def Gnn_TapeType : Gnn_Type<"Tape", "tape"> {
  let summary = "What gnn.back differentiates; gone after differentiation";
}

#endif

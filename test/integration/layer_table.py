"""Writes docs/layers.md: which layer is which function of the standard library, and what tests hold it to. What stands in the columns of tests is read
from the tests' own tables, so the page can't claim more than they check; test_layer_table.py compares it with the file."""

import pathlib
import re
import sys

import harness
import test_batches
import test_forces
import test_golden
import test_oracle
import test_storage

PAGE = harness.SOURCE / "docs" / "layers.md"
LIBRARY = harness.SOURCE / "stdlib"

# Layer, source of its formula, functions of the standard library.
FIRST = [
    ("GraphConv", "Morris et al., AAAI 2019", ["nn.graph_conv", "nn.graph_conv_mean", "nn.graph_conv_max"]),
    ("SAGEConv", "Hamilton et al., NeurIPS 2017", ["nn.sage_mean", "nn.sage_max"]),
    ("GINConv", "Xu et al., ICLR 2019", ["nn.gin"]),
    ("GINE", "Hu et al., ICLR 2020", ["nn.gine"]),
    ("EdgeConv", "Wang et al., ACM Transactions on Graphics 2019", ["nn.edge_conv", "nn.edge_conv_linear"]),
    ("NNConv", "Gilmer et al., ICML 2017", ["nn.nn_conv", "nn.nn_conv_sum"]),
    ("ResGatedGraphConv", "Bresson and Laurent, 2017", ["nn.res_gated"]),
    ("CGConv", "Xie and Grossman, Physical Review Letters 2018", ["nn.cg_conv"]),
    ("MEGNetConv", "Chen et al., Chemistry of Materials 2019", ["nn.megnet"]),
    ("GlobalPool", "", ["pooling.global_sum", "pooling.global_mean", "pooling.global_max"]),
    ("GlobalAttentionPool", "Li et al., ICLR 2016", ["pooling.attention_pool"]),
    ("GCNConv", "Kipf and Welling, ICLR 2017", ["nn.gcn", "nn.gcn_no_loops"]),
    ("GATConv", "Veličković et al., ICLR 2018", ["nn.gat", "nn.gat_no_loops", "nn.gat_edge"]),
    ("GATv2Conv", "Brody, Alon and Yahav, ICLR 2022", ["nn.gatv2", "nn.gatv2_no_loops", "nn.gatv2_edge"]),
    ("TransformerConv", "Shi et al., IJCAI 2021", ["nn.transformer", "nn.transformer_edge", "nn.transformer_gated"]),
    ("AGNNConv", "Thekumparampil et al., 2018", ["nn.agnn", "nn.agnn_no_loops"]),
    ("SGConv", "Wu et al., ICML 2019", ["spectral.sg", "spectral.sg_no_loops"]),
    ("TAGConv", "Du et al., 2017", ["spectral.tag", "spectral.tag_no_loops"]),
    ("TGCN", "Zhao et al., IEEE Transactions on Intelligent Transportation Systems 2020", ["recurrent.tgcn", "recurrent.tgcn_no_loops"]),
    ("GMMConv", "Monti et al., CVPR 2017", ["nn.gmm"]),
    ("GatedGraphConv", "Li et al., ICLR 2016", ["recurrent.gated_graph"]),
]
SECOND = [
    ("ChebConv", "Defferrard, Bresson and Vandergheynst, NeurIPS 2016", ["spectral.cheb"]),
    ("APPNP", "Gasteiger, Bojchevski and Günnemann, ICLR 2019", ["spectral.appnp", "spectral.appnp_no_loops"]),
    ("GCNII", "Chen et al., ICML 2020", ["spectral.gcn2", "spectral.gcn2_no_loops"]),
    ("ARMA", "Bianchi et al., IEEE TPAMI 2021", ["spectral.arma"]),
    ("DConv", "Li et al., ICLR 2018", ["spectral.diffusion"]),
    ("DCGRU", "Li et al., ICLR 2018", ["recurrent.dcgru"]),
    ("GConvGRU", "Seo et al., ICONIP 2018", ["recurrent.gconv_gru"]),
    ("GConvLSTM", "Seo et al., ICONIP 2018", ["recurrent.gconv_lstm"]),
    ("EvolveGCN-O", "Pareja et al., AAAI 2020", ["recurrent.evolve_gcn"]),
    ("PNA", "Corso et al., NeurIPS 2020", ["nn.pna", "nn.pna_aggregate"]),
    ("GENConv", "Li et al., 2020", ["messages.gen_conv", "messages.softmax_sum"]),
    ("GatedGCN", "Dwivedi et al., JMLR 2023", ["messages.gated_gcn"]),
    ("SchNet CFConv", "Schütt et al., NeurIPS 2017", ["geometric.cf_conv"]),
    ("EGNN", "Satorras, Hoogeboom and Welling, ICML 2021", ["geometric.egnn"]),
    ("DimeNet++ block", "Gasteiger et al., 2020", ["derived.dimenet"]),
    ("PaiNN", "Schütt, Unke and Gastegger, ICML 2021", ["geometric.painn"]),
    ("R-GCN", "Schlichtkrull et al., ESWC 2018", ["relational.rgcn_basis", "relational.rgcn_blocks"]),
    ("R-GAT", "Busbridge et al., 2019", ["relational.rgat"]),
    ("HGT", "Hu et al., WWW 2020", ["relational.hgt"]),
    ("FiLM", "Brockschmidt, ICML 2020", ["relational.film"]),
    ("PointNetConv", "Qi et al., CVPR 2017", ["geometric.point_net", "geometric.point_net_no_loops"]),
    ("PointTransformer", "Zhao et al., ICCV 2021", ["geometric.point_transformer", "geometric.point_transformer_no_loops"]),
    ("DynamicEdgeConv", "Wang et al., ACM TOG 2019", ["derived.dynamic_edge_conv"]),
    ("GPS", "Rampášek et al., NeurIPS 2022", ["derived.gps"]),
    ("Set2Set", "Vinyals, Bengio, Kudlur, ICLR 2016", ["pooling.set2set"]),
    ("SortPool", "Zhang et al., AAAI 2018", ["pooling.sort_pool"]),
    ("TopK pooling", "Gao and Ji, ICML 2019", ["pooling.top_k_pool"]),
    ("DiffPool", "Ying et al., NeurIPS 2018", ["pooling.diff_pool"]),
]

INTRODUCTION = """# Layers

Every layer is written in the language itself, beside its formula, in [`stdlib/`](../stdlib/nn.gnn); `import nn;` brings in `nn.gnn`. This page is written by
`/usr/bin/python3 test/integration/layer_table.py` from the tables of the tests, and a test compares the two. The columns:

- *values, gradients*: agrees with an implementation in numpy, and with its central differences for each floating-point argument, on graphs with
  hubs, isolated nodes, self loops and duplicate edges, without edges, and with one node (GPS not there, where its variances are 0), of batches with a
  graph without nodes; and is the same without fusion (`test_oracle.py`, `test_batches.py`).
- *reference*: agrees with the values of PyTorch Geometric, or of the formula in PyTorch where it lacks the layer, in the file of this name: results,
  gradients, forward mode, and the derivative of the gradients along a direction (`test_golden.py`).
- *forces*: a loss on forces, which are derivatives themselves, has the gradient that differences of it find (`test_forces.py`).
- *storage*: the graph may come as an edge list (COO), as CSR, or as a dense matrix, with the same bits as the result (`test_storage.py`).
- *self loops*: functions that add them (on) and that take the graph as it is (off), both tested. Those without an entry take
  the graph as it is; `add_self_loops` before the call carries weights and features of edges along, tested where it stands here."""

CHECKED = set(test_oracle.LAYERS) | set(test_batches.CASES)


def body(name, text):
    """The text of a function of a program."""
    found = re.search(rf"^fn {name}[\[(].*?(?=\n\n|\nexport|\Z)", text, re.M | re.S)
    return found.group(0) if found else ""


def callers(function):
    """Entry points of the tests' programs that call a function of the library directly."""
    module, name = function.split(".")
    found = set()
    for program in harness.PROGRAMS.glob("layers*.gnn"):
        text = program.read_text()
        for entry in re.findall(r"^export vjp (\w+);", text, re.M):
            if re.search(rf"\b{module}\.{name}[\[(]", body(entry, text)):
                found.add(entry)
    return found


def loops_added(entry):
    return "add_self_loops(" in body(entry, harness.program_of(entry).read_text())


def forced(function):
    module, name = function.split(".")
    text = (harness.PROGRAMS / "forces.gnn").read_text()
    return any(f"{module}.{name}(" in body(f"{layer}_energy", text) for layer in test_forces.LAYERS)


def mark(yes):
    return "yes" if yes else "–"


def row(layer, source, functions):
    lines = []
    for k, function in enumerate(functions):
        entries = callers(function)
        checked = entries & CHECKED
        cases = sorted(case for case, (entry, _) in test_golden.CASES.items() if entry in entries)
        stored = any(hasattr(test_storage.Storage, f"test_{entry}") for entry in entries)
        twin = function.removesuffix("_no_loops") if function.endswith("_no_loops") else f"{function}_no_loops"
        if twin in functions:
            loops = "off" if function.endswith("_no_loops") else "on"
        else:
            loops = "off; on by `add_self_loops`" if any(map(loops_added, checked)) else ""
        columns = [f"`{function}`", source if k == 0 else "", mark(checked), ", ".join(cases) or "–", mark(forced(function))]
        lines.append(f"| {layer if k == 0 else ''} | " + " | ".join([*columns, "COO, CSR, dense" if stored else "–", loops]) + " |")
    return "\n".join(lines)


def page():
    parts = [INTRODUCTION]
    for title, rows in (("First tier", FIRST), ("Second tier", SECOND)):
        parts.append(f"\n## {title}\n")
        parts.append("| layer | function | source | values, gradients | reference | forces | storage | self loops |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        parts += [row(*line) for line in rows]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    PAGE.write_text(page())

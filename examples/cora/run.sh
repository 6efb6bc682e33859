#!/usr/bin/env bash
# Trains a model of this folder on Cora: run.sh gcn|gat FILE [option of gnn-run train...]. FILE is the citation network in safetensors.
# SEEDS (0..9) and EPOCHS in the environment say how much. GNNC_BIN is where gnnc and gnn-run are, by default a release build beside the
# sources, if there is one, else PATH; files go to GNNC_OUT (build/cora).
set -euo pipefail
usage="usage: run.sh gcn|gat FILE [option of gnn-run train...]"
model="${1:-}"
data="${2:-}"
case "$model" in
  gcn) settings=(--epochs "${EPOCHS:-200}" --stop val_loss --patience 200) ; sizes=(-D Hidden=16 -D Out=7) ;;
  gat) settings=(--epochs "${EPOCHS:-1000}" --stop val_loss --patience 100) ; sizes=(-D H=8 -D D=8 -D Out=7) ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
if [ ! -f "$data" ]; then
  cat >&2 <<EOF
run.sh: ${data:-no data file given}${data:+: no such file}
$usage
FILE holds the Cora citation network (Sen et al. 2008; the public split of Yang et al. 2016) as safetensors:
  g.src, g.dst                     int32 [10556]  both directions of each citation; metadata g.num_nodes = 2708
  x.indptr, x.indices, x.values    the [2708, 1433] word features as CSR, rows divided by their sums; metadata x.shape = 2708,1433
  y                                int32 [2708]   classes 0..6
  train, val, test                 bool [2708]    140, 500 and 1000 nodes
EOF
  exit 1
fi
source "$(dirname "$0")/../common.sh" "${GNNC_OUT:-}"

gnnc build "$here/$model.gnn" -o "$out/lib$model.so" "${sizes[@]}"
gnn-run train "$out/lib$model.so" --data "$data" --step train_step --eval evaluate "${settings[@]}" --seeds "${SEEDS:-0..9}" \
  --report test_accuracy --checkpoint "$out/$model.safetensors" "${@:3}"

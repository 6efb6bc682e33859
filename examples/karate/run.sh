#!/usr/bin/env bash
# Compiles the karate model and trains it: run.sh [folder]. Files go into the folder (build/karate). GNNC_BIN is where gnnc and
# gnn-run are; by default a release build beside the sources, if there is one, else PATH.
source "$(dirname "$0")/../common.sh" "${1:-}"
# Paths are printed, so they are short where that is possible.
here="$(realpath --relative-base="$PWD" "$here")"
out="$(realpath --relative-base="$PWD" "$out")"

set -x
python3 "$here/make_data.py" "$out/karate.safetensors"
gnnc build "$here/karate.gnn" -o "$out/libkarate.so" -D Hidden=16 -D Out=2
gnn-run train "$out/libkarate.so" --data "$out/karate.safetensors" --step train_step --eval evaluate --epochs 200 --seeds 0 \
  --report accuracy --checkpoint "$out/trained.safetensors"
gnn-run infer "$out/libkarate.so" --data "$out/karate.safetensors" --checkpoint "$out/trained.safetensors" --entry predict \
  -o "$out/factions.safetensors"
{ set +x; } 2>/dev/null

printf '\nFiles in %s:\n' "$out"
ls -l "$out" | awk 'NR > 1 { printf "  %9d  %s\n", $5, $9 }'

#!/usr/bin/env bash
# Fits the potential, then simulates with noise that it has not seen: run.sh [folder]. Files go into the folder (build/langevin). EPOCHS (80),
# STEPS (10000) and TARGET (2.0) in the environment say how much. GNNC_BIN is where gnnc and gnn-run are; by default a release build beside the
# sources, if there is one, else PATH.
source "$(dirname "$0")/../common.sh" "${1:-}"
steps="${STEPS:-10000}"

python3 "$here/make_data.py" "$out/particles.safetensors"
gnnc build "$here/langevin.gnn" -o "$out/liblangevin.so" -D K=8 -D M=8
gnn-run train "$out/liblangevin.so" --data "$out/particles.safetensors" --step train_step --set steps="$steps" --set target="${TARGET:-2.0}" \
  --set lr=0.03 --epochs "${EPOCHS:-80}" --checkpoint "$out/potential.safetensors"
for noise in 101 102 103 104; do
  gnn-run infer "$out/liblangevin.so" --entry measure --data "$out/particles.safetensors" --checkpoint "$out/potential.safetensors" \
    --set steps="$steps" --set noise="$noise" -o "$out/size.$noise.safetensors"
done

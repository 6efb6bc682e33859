#!/usr/bin/env bash
# Trains the potential on energies and forces, tests it on other clusters, and runs molecular dynamics under it: run.sh [folder]. Files go into the
# folder (build/clusters). EPOCHS (1500), CLUSTERS (32) and STEPS (4000) in the environment say how much. GNNC_BIN is where gnnc and gnn-run
# are; by default a release build beside the sources, if there is one, else PATH.
source "$(dirname "$0")/../common.sh" "${1:-}"
model="$out/libclusters.so"
epochs="${EPOCHS:-1500}"

gnnc build "$here/clusters.gnn" -o "$model" --real f64 -D F=16 -D K=16 -D L=2
for set in train:${CLUSTERS:-32}:1 test:16:2 dynamics:1:3; do
  IFS=: read -r name clusters seed <<< "$set"
  python3 "$here/make_data.py" "$out/$name.safetensors" "$clusters" "$seed"
  gnn-run infer "$model" --entry reference --data "$out/$name.safetensors" --size S="$clusters" -o "$out/$name.reference.safetensors" --quiet
done
reference=(--rename energy_ref=energy --rename force_ref=force)
gnn-run train "$model" --step train_step --data "$out/train.safetensors" --data "$out/train.reference.safetensors" "${reference[@]}" \
  --epochs "$epochs" --set epochs="$epochs" --checkpoint "$out/potential.safetensors"
gnn-run infer "$model" --entry evaluate --data "$out/test.safetensors" --data "$out/test.reference.safetensors" "${reference[@]}" \
  --checkpoint "$out/potential.safetensors" -o "$out/errors.safetensors"
gnn-run infer "$model" --entry simulate --data "$out/dynamics.safetensors" --size S=1 --set steps="${STEPS:-4000}" \
  --checkpoint "$out/potential.safetensors" -o "$out/trajectory.safetensors"

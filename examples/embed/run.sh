#!/usr/bin/env bash
# Compiles and runs the C program against the trained karate model: run.sh [folder]. The folder is what examples/karate/run.sh made
# (build/karate), which is run first if its files are not there. GNNC_BIN is gnnc's bin folder, CC the C compiler.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$here/../.."
bin="$(cd "${GNNC_BIN:-$root/build/release/bin}" && pwd)"
model="${1:-$root/build/karate}"
[ -f "$model/trained.safetensors" ] || GNNC_BIN="$bin" "$here/../karate/run.sh" "$model"
model="$(cd "$model" && pwd)"
runtime="$(cd "$bin/../lib" && pwd)"

set -x
${CC:-clang-22} -std=c11 -O2 -Wall -Wextra -I"$root/runtime/include" -I"$model" "$here/main.c" "$here/tensors.c" -o "$model/embed" \
  -L"$model" -lkarate -L"$runtime" -lgnnrt -Wl,-rpath,"$model" -Wl,-rpath,"$runtime"
"$model/embed" "$model/karate.safetensors" "$model/trained.safetensors"

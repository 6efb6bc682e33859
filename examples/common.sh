# common.sh - what the examples' run.sh share; sourced, never run: `source ../common.sh [folder]`. Sets `here`, the example's own folder, and `out`, the
# one for files (build/ and the example's name, if none is given), which it makes. Puts gnnc and gnn-run into PATH: those of GNNC_BIN, by default of a
# release build beside the sources, if there is one.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)"
bin="${GNNC_BIN:-$here/../../build/release/bin}"
[ -x "$bin/gnnc" ] && PATH="$bin:$PATH"
command -v gnnc >/dev/null || { echo "run.sh: gnnc is not built: run scripts/build.sh, or say where it is with GNNC_BIN=folder" >&2; exit 1; }
out="${1:-$here/../../build/$(basename "$here")}"
mkdir -p "$out"

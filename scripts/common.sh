# common.sh - what the scripts here share; sourced, never run. Expects to be sourced from scripts/.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

# Debian's own Python: another one in PATH may lack numpy.
python=/usr/bin/python3
llvm=/usr/lib/llvm-22

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

#!/usr/bin/env bash
# make_reference.sh [--check]: writes docs/reference/ from the .td files: the dialect's ops, attributes and types, and the
# passes. With --check nothing is written; the pages have to be up to date.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
out=docs/reference
if [ "${1:-}" = --check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"

generate() { "$llvm/bin/mlir-tblgen" "$1" -I include -I "$llvm/include" "${@:2}"; }

{
  generate -gen-dialect-doc -dialect=gnn include/gnnc/Dialect/GnnOps.td | sed '/^\[TOC\]$/d; /^<!--/d'
  printf '\n## Interfaces\n\n'
  generate -gen-op-interface-docs include/gnnc/Dialect/DifferentiableOpInterface.td |
    sed '/^<!--/d; /^# /d; s/^#\(##*\) /#\1# /'
} | cat -s | sed '1{/^$/d}' >"$out/dialect.md"
{
  printf '# Passes\n\nThose on the dialect, then those that lower it; their order in a build is in '
  printf '[architecture.md](../architecture.md).\n\n'
  for passes in Transforms Conversion; do
    generate -gen-pass-doc "include/gnnc/$passes/Passes.td" | sed '/^<!--/d'
  done
} | cat -s >"$out/passes.md"

if [ "$out" != docs/reference ]; then
  diff -ru docs/reference "$out" >&2 || fail "docs/reference is not what the .td files say: run scripts/make_reference.sh"
fi

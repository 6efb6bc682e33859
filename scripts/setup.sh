#!/usr/bin/env bash
# Installs the Debian 12 packages that gnnc needs to be built, tested and run. May be run again: it installs only what
# is missing. Needs root, or sudo.
source "$(dirname "$0")/common.sh"

packages=(
  # The compiler is built with clang and rests on LLVM and MLIR; lit and FileCheck come with the tools.
  clang-22 lld-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  cmake ninja-build ccache git
  # Libraries: command line, JSON, text, BLAS; tests and benchmarks.
  libcli11-dev nlohmann-json3-dev libfmt-dev
  libopenblas-serial-dev libopenblas0-serial
  libgtest-dev libbenchmark-dev libdlpack-dev
  # The integration tests.
  python3 python3-numpy
)

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

command -v dpkg-query >/dev/null || fail "setup: this script is for Debian 12 and uses its packages; on another system install the equivalents of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  say "Set-up: all ${#packages[@]} packages are installed already"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "setup: installing packages needs root: run this script as root, or install sudo"
  as_root=(sudo)
fi

say "Set-up: installing ${#missing[@]} of ${#packages[@]} Debian packages (may take minutes): ${missing[*]}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -y "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "setup: apt-get $1 failed, see above"; }; }
apt update
if ! apt-cache show libmlir-22-dev >/dev/null 2>&1; then
  fail "setup: LLVM 22 is not in this machine's package sources. Debian 12 has it among its security updates: add the line
  deb http://deb.debian.org/debian-security bookworm-security main
to /etc/apt/sources.list and run this script again."
fi
apt install --no-install-recommends "${missing[@]}"
say "Set-up: done"

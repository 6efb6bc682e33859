#!/usr/bin/env bash
# Configures and builds a preset: scripts/build.sh [preset [target...]]. Presets: release (default), debug, asan.
source "$(dirname "$0")/common.sh"

preset="${1:-release}"
shift || true
say "Build: preset $preset, in build/$preset"
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" --target "${@:-all}"

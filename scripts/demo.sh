#!/usr/bin/env bash
# The whole road on one small example: installs what is missing, builds the compiler and its runtime, then compiles a graph network
# and trains it on Zachary's karate club.
source "$(dirname "$0")/common.sh"

scripts/setup.sh
scripts/build.sh release gnnc gnn-run
say "Demo: a graph network learns the two factions of a karate club from two labelled members"
GNNC_BIN="$root/build/release/bin" examples/karate/run.sh

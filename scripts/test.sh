#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests: scripts/test.sh [preset]. Ends with `N passed, N failed` over
# the unit tests (CTest), the tests of the stages (lit) and the integration tests.
source "$(dirname "$0")/common.sh"

preset="${1:-release}"
build="build/$preset"
scripts/setup.sh
scripts/build.sh "$preset"

results="$root/$build/test-results"
rm -rf "$results"
mkdir -p "$results"
status=0

say "Tests: units"
ctest --test-dir "$build" --output-on-failure --exclude-regex '^(lit|integration)$' --output-junit "$results/unit.xml" ||
  status=1

say "Tests: stages"
"$llvm/bin/lit" -v --order=lexical --xunit-xml-output="$results/lit.xml" "$build/test" || status=1

say "Tests: integration"
"$python" test/integration/run.py --build "$build" --junit "$results/integration.xml" || status=1

"$python" scripts/count_tests.py "$results"/unit.xml "$results"/lit.xml "$results"/integration.xml || status=1
exit $status

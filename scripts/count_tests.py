"""Adds up JUnit reports and prints `N passed, N failed`, with `, N skipped` where tests were.

Exits with 1 when a test failed, a report is missing or unreadable, or a report holds no test at all: a run that tested
nothing is not a success.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed, skipped) of one report."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"} or case.get("status") == "fail":
            failed += 1
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(paths):
    total = [0, 0, 0]
    sound = True
    for path in paths:
        try:
            counts = count(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"count_tests: {path}: no readable report: {error}", file=sys.stderr)
            sound = False
            continue
        if sum(counts) == 0:
            print(f"count_tests: {path}: holds no test", file=sys.stderr)
            sound = False
        total = [a + b for a, b in zip(total, counts)]
    passed, failed, skipped = total
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if sound and failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Prints "passed failed skipped" of the JUnit report that ctest wrote; fails when no test ran.

usage: junit_counts.py REPORT [DETAILS]   lines are added to DETAILS: "slow SECONDS NAME" and "skip REASON", one a test

A shard of a GoogleTest executable (NAME.3_of_16) counts as the tests that its output lists.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

NO_REASON = "no reason given"


def reasons(text):
    """Of each skipped test in what a test printed: GoogleTest's message (the line after "Skipped"), or "skipped: ..."."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if re.search(r":\d+: Skipped$", line):
            after = lines[i + 1].strip() if i + 1 < len(lines) else ""
            yield after if after and not after.startswith("[") else NO_REASON
        elif line.startswith("skipped: "):
            yield line[len("skipped: "):].strip()


def shard_counts(text):
    """(passed, failed, skipped) by the lines at the end of a run."""
    found = []
    for word in ("PASSED", "FAILED", "SKIPPED"):
        number = re.search(rf"^\[  {word:<7} \] (\d+) tests?\b", text, re.M)
        found.append(int(number.group(1)) if number else 0)
    return found


def main():
    suite = ElementTree.parse(sys.argv[1]).getroot()
    passed = failed = skipped = 0
    details = []
    for case in suite.iter("testcase"):
        text = case.findtext("system-out") or ""
        found = list(reasons(text))
        if re.search(r"\.\d+_of_\d+$", case.get("name")):
            counts = shard_counts(text)
            if case.find("failure") is not None and counts[1] == 0:
                counts[1] = 1    # it crashed, or ran out of time
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
            found += [NO_REASON] * (counts[2] - len(found))
        elif case.find("failure") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            found = found[:1] or [NO_REASON]
            skipped += 1
        else:
            passed += 1
        details += [f"skip {reason}" for reason in found]
        details.append(f"slow {float(case.get('time') or 0):.1f} {case.get('name').split('  #')[0]}")
    if passed + failed + skipped == 0:
        sys.exit("no test ran")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in details))
    print(passed, failed, skipped)


if __name__ == "__main__":
    main()

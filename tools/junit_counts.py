#!/usr/bin/env python3
"""Prints "passed failed skipped" of the JUnit report that ctest wrote; fails when no test ran.

usage: junit_counts.py REPORT [DETAILS [OUTPUTS]]
  DETAILS   lines are added to it: "slow SECONDS NAME" and "skip REASON", one a test
  OUTPUTS   for each failed test its name and the last lines of what it printed are added to it

A shard of a GoogleTest executable (NAME.3_of_16) counts as the tests that its output lists.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

NO_REASON = "no reason given"
LINES_OF_A_FAILURE = 15
# The first line of a sanitizer's report; its last lines are a legend.
SANITIZER = re.compile(r"(ERROR|WARNING): \w+Sanitizer: |: runtime error: ")


def reasons(text):
    """The reason of each skipped test in a test's output: GoogleTest's message (the line after "Skipped"), or "skipped: ..."."""
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


def end_of(lines):
    """The lines with the reason why a test failed: a sanitizer's first report, or else the last ones."""
    for i, line in enumerate(lines):
        if SANITIZER.search(line):
            return lines[i:i + LINES_OF_A_FAILURE]
    return lines[-LINES_OF_A_FAILURE:]


def failures_of_shard(name, text):
    """(test, lines) of each test that GoogleTest reports as failed, and of one that did not end."""
    found = []
    test, lines = None, []
    for line in text.splitlines():
        begins = re.search(r"\[ RUN      \] (\S+)$", line)
        ends = re.search(r"\[  (     OK|FAILED |SKIPPED) \] (\S+?),? .*\(\d+ ms\)$", line)
        if begins:
            test, lines = begins.group(1), []
        elif test is not None and ends and ends.group(2) == test:
            lines += [line[:ends.start()]] if ends.start() else []
            if ends.group(1).startswith("FAILED"):
                found.append((f"{test} ({name})", lines))
            test, lines = None, []
        else:
            lines.append(line)
    if test is not None:
        found.append((f"{test} ({name}), which did not end", lines))
    return found or [(name, text.splitlines())]


def main():
    suite = ElementTree.parse(sys.argv[1]).getroot()
    passed = failed = skipped = 0
    details, outputs = [], []
    for case in suite.iter("testcase"):
        text = case.findtext("system-out") or ""
        name = case.get("name").split("  #")[0]
        found = list(reasons(text))
        is_shard = re.search(r"\.\d+_of_\d+$", case.get("name"))
        is_failure = case.find("failure") is not None or case.get("status") == "fail"
        if is_shard:
            counts = shard_counts(text)
            if is_failure and counts[1] == 0:
                counts[1] = 1    # it crashed, or ran out of time
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
            found += [NO_REASON] * (counts[2] - len(found))
        elif is_failure:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            found = found[:1] or [NO_REASON]
            skipped += 1
        else:
            passed += 1
        if is_failure:
            outputs += failures_of_shard(name, text) if is_shard else [(name, text.splitlines())]
        details += [f"skip {reason}" for reason in found]
        details.append(f"slow {float(case.get('time') or 0):.1f} {name}")
    if passed + failed + skipped == 0:
        sys.exit("no test ran")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in details))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8", errors="replace") as file:
            for name, lines in outputs:
                file.write("".join(f"{line}\n" for line in [f"-- {name}", *end_of(lines)]))
    print(passed, failed, skipped)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""tools/junit_counts.py counts what a report of ctest holds, and shows of each failed test the lines with the reason."""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/junit_counts.py")
CHATTER = "".join(f"line {i}\n" for i in range(40))
SHARD = f"""[ RUN      ] Ring.wraps
[       OK ] Ring.wraps (0 ms)
[ RUN      ] Ring.laps
{CHATTER}ring_test.cpp:7: Failure
Expected equality of these values: 1, 2
no end of line[  FAILED  ] Ring.laps (3 ms)
[ RUN      ] Sizes/Ring.of_a_size/1
ring_test.cpp:9: Failure
[  FAILED  ] Sizes/Ring.of_a_size/1, where GetParam() = 8 (1 ms)
[ RUN      ] Ring.huge
ring_test.cpp:11: Skipped
no memory

[  SKIPPED ] Ring.huge (0 ms)
{CHATTER}[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  FAILED  ] 2 tests, listed below:
"""
CRASH = f"""[ RUN      ] Ring.wraps
[       OK ] Ring.wraps (0 ms)
[ RUN      ] Ring.crashes
{CHATTER}==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1
    #0 the_frame
{CHATTER}"""
LEAK = f"""[ RUN      ] Ring.wraps
[       OK ] Ring.wraps (0 ms)
[  PASSED  ] 1 test.
==7==ERROR: LeakSanitizer: detected memory leaks
{CHATTER}"""


def counts_of(cases):
    """(line, outputs) of a report of (name, failed, output)."""
    suite = ElementTree.Element("testsuite")
    for name, failed, output in cases:
        case = ElementTree.SubElement(suite, "testcase", name=name, time="1.5", status="fail" if failed else "run")
        if failed:
            ElementTree.SubElement(case, "failure", message="")
        ElementTree.SubElement(case, "system-out").text = output
    with tempfile.TemporaryDirectory() as directory:
        report, details, outputs = (os.path.join(directory, name) for name in ("report.xml", "details", "outputs"))
        ElementTree.ElementTree(suite).write(report)
        run = subprocess.run([sys.executable, "-B", SCRIPT, report, details, outputs], capture_output=True, text=True)
        if run.returncode != 0:
            return run.stderr.strip(), None
        with open(outputs) as file:
            return run.stdout.strip(), file.read()


def main():
    failures = []

    def expect(what, found, wanted):
        if found != wanted:
            failures.append(f"{what}:\n{found}\ninstead of:\n{wanted}")

    line, outputs = counts_of([("process.kill", True, CHATTER), ("process.list", False, CHATTER)])
    expect("counts of processes", line, "1 1 0")
    expect("end of a process test", outputs, "-- process.kill\n" + "".join(f"line {i}\n" for i in range(25, 40)))

    line, outputs = counts_of([("tests.1_of_16", True, SHARD)])
    expect("counts of a shard", line, "1 2 1")
    expect("failed tests of a shard", outputs,
           "-- Ring.laps (tests.1_of_16)\n" + "".join(f"line {i}\n" for i in range(28, 40)) +
           "ring_test.cpp:7: Failure\nExpected equality of these values: 1, 2\nno end of line\n"
           "-- Sizes/Ring.of_a_size/1 (tests.1_of_16)\nring_test.cpp:9: Failure\n")

    line, outputs = counts_of([("tests.1_of_16", True, CRASH)])
    expect("counts of a shard that crashed", line, "0 1 0")
    expect("a crash", outputs.splitlines()[:3], [
        "-- Ring.crashes (tests.1_of_16), which did not end",
        "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "    #0 the_frame"])

    line, outputs = counts_of([("tests.1_of_16", True, LEAK)])
    expect("counts of a shard that leaks", line, "1 1 0")
    expect("a leak", outputs.splitlines()[:2], ["-- tests.1_of_16", "==7==ERROR: LeakSanitizer: detected memory leaks"])

    expect("a report without tests", counts_of([]), ("no test ran", None))
    if failures:
        sys.exit("\n\n".join(failures))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How fast the markers of a capture come into numpy, by the Python package alone: batches as the library has them, and one array of all.

    bench/numpy_bench.py [BIN-DIRECTORY]

The baseline is numpy.fromfile() of as many rows of the same size: what a file in numpy's own form would take. Nothing fails because of a
time, only because of rows that are missing; TTC_BENCH_ONCE=1 makes a tiny capture. Needs numpy.
"""
import gc
import os
import platform
import resource
import sys
import tempfile
import time

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/bin")
PROGRAMS = 20 if ONCE else 1500
REPETITIONS = 1 if ONCE else 5
TARGET = 20    # million markers a second
sys.path.insert(0, os.path.join(BIN, "python"))
try:
    import numpy as np
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    print("skipped: there is no numpy")
    sys.exit(77)
import ttcollect
from collected_run import collected, machine
from ttcollect import _reader


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def batches(path, **options):
    """Every row is there once, where the library has it: nothing is copied."""
    run, rows = ttcollect.open(path, ("markers",), **options), 0
    while not run.over:
        view = run._view(run._next(1.0), "markers")
        rows += 0 if view is None else len(view)
    return rows


def array(path, **options):
    return len(ttcollect.open(path, ("markers",), **options).read().markers)


def main():
    print(f"numpy_bench: {machine()}, Python {platform.python_version()}, numpy {np.__version__}"
          f"{', TTC_BENCH_ONCE: tiny inputs, times mean nothing' if ONCE else ''}")
    with tempfile.TemporaryDirectory() as directory:
        path, plain = collected(directory, BIN, PROGRAMS), os.path.join(directory, "rows.bin")
        rows = batches(path)
        dtype = _reader.DTYPES["markers"]
        np.zeros(rows, dtype).tofile(plain)
        print(f"  {rows} markers, {os.path.getsize(path) / 1e6:.1f} MB as a capture, {rows * dtype.itemsize / 1e6:.0f} MB as an array")
        ways = [("numpy.fromfile() of as many rows", lambda: len(np.fromfile(plain, dtype)))]
        for host_times in (False, True):
            words = "with host times" if host_times else "device cycles only"
            ways += [(f"batches, {words}", lambda h=host_times: batches(path, host_times=h)),
                     (f"one array, {words}", lambda h=host_times: array(path, host_times=h))]
        wall, used = {what: [] for what, _ in ways}, {what: [] for what, _ in ways}
        for _ in range(REPETITIONS):    # in turns, so that other load of the machine affects all of them
            for what, way in ways:
                gc.collect()
                began, cpu_began = time.perf_counter(), cpu_s()
                if way() != rows:
                    sys.exit(f"numpy_bench: {what}: rows are missing")
                wall[what].append(time.perf_counter() - began)
                used[what].append(cpu_s() - cpu_began)
        baseline = sorted(used[ways[0][0]])[REPETITIONS // 2]
        for what, _ in ways:
            of_wall, of_cpu = sorted(wall[what]), sorted(used[what])
            rate = [rows / seconds[REPETITIONS // 2] / 1e6 for seconds in (of_wall, of_cpu)]
            best = rows / of_cpu[0] / 1e6
            judged = "" if what == ways[0][0] else f" (target >= {TARGET}: {'not judged' if ONCE else 'met' if best >= TARGET else 'MISSED'})"
            print(f"  {what}: {rate[0]:.1f} M markers/s by the clock, {rate[1]:.1f} M of CPU time, medians; best {best:.1f} M of CPU time{judged}; "
                  f"{of_cpu[REPETITIONS // 2] / baseline:.2f} of the CPU time of fromfile")


main()

#!/usr/bin/env python3
"""The cost of `ttcollect run` to its user: time around a program that does nothing, calls of marks that no program collects, the wait for the
summary, and its own CPU beside an idle card.

    bench/run_bench.py [BIN-DIRECTORY]

The summary is that of TTC_BENCH_OPS ops (100,000), each described by a message of a Tracy client, of an emulated card of 8 cores that runs 4,000
programs a second. Nothing fails because of a time; TTC_BENCH_ONCE=1 makes one small run of each.
"""
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../build/release/bin"))
OPS = int(os.environ.get("TTC_BENCH_OPS", 300 if ONCE else 100_000))
sys.path.insert(0, os.path.join(HERE, "../tests/process"))
sys.argv[1:] = []
from host_side_test import CLIENT    # a Tracy client in Python

# Starts card and client, and prints when both have ended.
WORKLOAD = """
import subprocess, sys, time
both = [subprocess.Popen(words.split()) for words in sys.argv[1:]]
codes = [process.wait() for process in both]
print("over", time.monotonic(), codes, flush=True)
"""
MARKS = r"""
#define _GNU_SOURCE
#include "ttcollect_mark.h"
int main(int count, char** words) {
  struct timespec a, b;
  const long n = atol(words[count - 1]);
  ttcollect_mark("first");
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (long i = 0; i < n; ++i) { ttcollect_mark("x"); __asm__ volatile("" ::: "memory"); }
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%f\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n);
  return 0;
}
"""
PYTHON_MARKS = """
import sys, time, ttcollect
n = int(sys.argv[1])
def loop(call):
    began = time.perf_counter_ns()
    for _ in range(n): call("x")
    return (time.perf_counter_ns() - began) / n
print(min(loop(ttcollect.mark) for _ in range(3)))
"""


def judged(value, most):
    return f"(target <= {most}: {'met' if value <= most else 'MISSED'})"


def wall_ms(words):
    began = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.monotonic() - began) * 1000


def around_nothing(folder):
    alone, device, host = [], [], []
    for _ in range(1 if ONCE else 20):
        alone.append(wall_ms(["true"]))
        host.append(wall_ms([f"{BIN}/ttcollect", "run", "-q", "--no-device", "-o", folder, "--", "true"]))
        device.append(wall_ms([f"{BIN}/ttcollect", "run", "-q", "-o", folder, "--", "true"]))
    base = statistics.median(alone)
    for what, all_ms in (("with a search for cards", device), ("without a device side", host)):
        took = statistics.median(all_ms) - base
        print(f"around a program that does nothing, {what}: {took:.1f} ms more than the {base:.1f} ms alone, at most {max(all_ms):.1f}")
        print(f"  ratio to 50 ms {took / 50:.2f} {judged(took, 50)}")


def marks(folder):
    compiler = shutil.which("cc") or shutil.which("gcc")
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("TTCOLLECT_MARKS")}
    if compiler:
        with open(f"{folder}/marks.c", "w", encoding="utf-8") as file:
            file.write(MARKS)
        subprocess.run([compiler, "-O2", "-I", f"{HERE}/../tools/mark", f"{folder}/marks.c", "-o", f"{folder}/marks"], check=True)
        took = float(subprocess.run([f"{folder}/marks", "1000" if ONCE else "100000000"], capture_output=True, text=True, check=True, env=quiet).stdout)
        print(f"a mark in C that no program collects: {took:.2f} ns\n  ratio to 20 ns {took / 20:.2f} {judged(took, 20)}")
    env = {**quiet, "PYTHONPATH": f"{BIN}/python"}
    took = float(subprocess.run([sys.executable, "-B", "-c", PYTHON_MARKS, "1000" if ONCE else "1000000"], capture_output=True, text=True, check=True,
                                env=env).stdout)
    print(f"a mark in Python that no program collects: {took:.0f} ns\n  ratio to 300 ns {took / 300:.2f} {judged(took, 300)}")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def beside_an_idle_card(folder):
    """Of `ttcollect run` itself; the baseline is the collector that it started."""
    name, seconds = f"bench-idle-{os.getpid()}", 2 if ONCE else 20
    process = subprocess.Popen([f"{BIN}/ttcollect", "run", "-q", "-o", folder, "-n", name, "-d", f"emu:{name}", "--pass-through", "0", "--", f"{BIN}/ttemu",
                                "--name", name, "--cores", "2", "--programs", str(seconds + 2), "--rate", "1", "--wait-observer", "-q"],
                               stdout=subprocess.DEVNULL)
    time.sleep(1)    # they start; what is measured is what they take while little happens
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
        names = {pid: os.path.basename(os.readlink(f"/proc/{pid}/exe")) for pid in file.read().split()}
    collector = next(pid for pid, program in names.items() if program == "ttcollect")
    began = [cpu_s(process.pid), cpu_s(collector)]
    time.sleep(seconds)
    run, collecting = (100 * (cpu_s(pid) - before) / seconds for pid, before in zip((process.pid, collector), began))
    print(f"beside an emulated card of two cores that runs a program a second, a Tracy viewer waited for: {run:.1f} % of a core, its collector {collecting:.1f} %")
    print(f"  ratio to the collector {run / max(collecting, 0.1):.2f}")
    assert process.wait() == 0


def summary(folder, later):
    name = f"bench-run-{os.getpid()}-{int(later)}"
    with open(f"{folder}/client.py", "w", encoding="utf-8") as file:
        file.write(CLIENT)
    card = f"{BIN}/ttemu --name {name} --cores 8 --programs {OPS} --rate 4000 --pace 64 --host-reads every:50 --wait-observer --linger 600s -q"
    client = f"{sys.executable} {folder}/client.py 83 ops:1:{OPS}"
    process = subprocess.Popen([f"{BIN}/ttcollect", "run", "-q", "-o", folder, "-n", name, "-d", f"emu:{name}", *(["--summary-later"] if later else []),
                                "--", sys.executable, "-c", WORKLOAD, card, client], stdout=subprocess.PIPE, text=True)
    over = shown = 0
    for line in process.stdout:
        if line.startswith("over "):
            over = float(line.split()[1])
            assert line.endswith("[0, 0]\n"), line
        if " ops, " in line and not shown:
            shown = time.monotonic()
            assert line.startswith(f"{OPS} ops, "), line
    assert process.wait() == 0 and over and shown
    done = time.monotonic()
    took = shown - over
    print(f"summary of {OPS} ops, made {'at the end' if later else 'while the workload runs'}: {took:.2f} s after its end; the whole report {done - over:.1f} s")
    if not later:
        print(f"  ratio to 2 s {took / 2:.2f} {judged(took, 2)}")


print(f"run_bench on {platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
with tempfile.TemporaryDirectory(prefix="bench-run-") as work:
    around_nothing(work)
    marks(work)
    beside_an_idle_card(work)
    for at_the_end in (False, True):
        summary(work, at_the_end)
        sys.stdout.flush()

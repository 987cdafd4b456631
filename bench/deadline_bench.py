#!/usr/bin/env python3
"""Missed poll deadlines of a real `ttcollect` on a busy machine, with and without --realtime, in turns.

    bench/deadline_bench.py [BIN-DIRECTORY]      eight processes that never sleep, eight cores at 500 launches a second, half a minute

What was missed before a monitor read the first sweep is left out: between attaching and that sweep the ring is made, which takes longer than a
poll deadline, so that each core's first poll is late once. Prints one line a run and the medians. Nothing fails because of a time; TTC_BENCH_ONCE=1 makes one short pair of runs without load.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import time

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/bin")
BUSY, PAIRS, SECONDS = (0, 1, "1s") if ONCE else (8, 5, "2s")


def counters(name):
    shown = subprocess.run([os.path.join(BIN, "ttmon"), "emu-" + name, "--once", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(shown.stdout.splitlines()[0])["counters"] if shown.returncode == 0 else {}


def collect(name, *options):
    """The device's report; `missed` and `seconds` are of the time after the start."""
    for segment in glob.glob(f"/dev/shm/ttcollect-emu-{name}.*"):    # of the run before
        os.unlink(segment)
    collector = subprocess.Popen([os.path.join(BIN, "ttcollect"), "-d", "emu:" + name, "--wait", "1min", "--for", SECONDS, "--json", "-q", *options],
                                 stdout=subprocess.PIPE, text=True)
    before = {}
    while not before.get("sweeps") and collector.poll() is None:
        before = counters(name)
    begun = time.monotonic()
    out, _ = collector.communicate()
    if collector.returncode not in (0, 4):    # 4: markers were lost, which a busy machine may bring
        sys.exit(f"deadline_bench: ttcollect ended with {collector.returncode}")
    device = json.loads(out)["devices"][0]
    device["missed"] = device["missed_poll_deadlines"] - before.get("missed_poll_deadlines", 0)
    device["seconds"] = max(time.monotonic() - begun, 1e-3)
    return device


def row(way, device):
    return (f"{way:12} {device['missed']:8} missed after the start, of {device['sweeps']:8} sweeps, sweep p99 "
            f"{device['sweep_ns']['p99'] / 1e6:8.2f} ms, longest {device['sweep_ns']['max'] / 1e6:8.2f} ms")


def main():
    name = f"bench-deadline-{os.getpid()}"
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(BUSY)]
    card = subprocess.Popen([os.path.join(BIN, "ttemu"), "--name", name, "--cores", "8", "--programs", "0", "--rate", "500",
                             "--host-reads", "every:250", "--linger", "0s", "-q"])
    found = {"normal": [], "--realtime": []}
    try:
        for _ in range(PAIRS):
            for way, devices in found.items():
                device = collect(name, *([way] if way != "normal" else []))
                devices.append(device)
                print(row(way, device), flush=True)
        granted = found["--realtime"][0]["realtime"]["scheduling"]
    finally:
        for process in (*busy, card):
            process.terminate()
            process.wait()
        for segment in glob.glob(f"/dev/shm/ttcollect-emu-{name}.*"):    # collectors leave it to their readers
            os.unlink(segment)
    with open("/proc/loadavg") as load:
        print(f"load {load.read().split()[0]}, {os.cpu_count()} CPUs; --realtime was granted: {granted}")
    median = {way: statistics.median(d["missed"] / d["seconds"] for d in devices) for way, devices in found.items()}
    ratio = median["--realtime"] / median["normal"] if median["normal"] else 0
    print(f"missed a second: normal {median['normal']:.0f}, --realtime {median['--realtime']:.0f}, ratio {ratio:.3f}")


main()

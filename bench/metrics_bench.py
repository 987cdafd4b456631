#!/usr/bin/env python3
"""The cost of `ttcollect --metrics`: CPU of the process that serves it, by the rate of the card's programs.

    bench/metrics_bench.py [BIN-DIRECTORY]       a minute a card, behind the first two seconds of CPU time, which are not counted against the budget

Nothing fails because of a time; TTC_BENCH_ONCE=1 makes one card of two cores for a second.
"""
import glob
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/bin")


def one(cores, rate, seconds):
    name = f"bench-metrics-{os.getpid()}"
    card = subprocess.Popen([f"{BIN}/ttemu", "--name", name, "--cores", str(cores), "--programs", "0", "--rate", str(rate), "--host-reads", "every:50",
                             "--pace", "64", "--wait-observer", "-q"])
    collector = subprocess.Popen([f"{BIN}/ttcollect", "-d", f"emu:{name}", "--wait", "1min", "--metrics", "0"], stderr=subprocess.PIPE, text=True)
    address = next(m[1] for line in collector.stderr if (m := re.search(r"metrics are at (\S+)", line)))
    begin = {}
    for _ in range(2):
        with urllib.request.urlopen(address) as page:
            text = page.read().decode()
        end = {name: float(re.search(rf"^{name}\S* (\S+)$", text, re.M)[1]) for name in
               ("ttcollect_metrics_cpu_seconds_total", "ttcollect_markers_total", "ttcollect_metrics_passed_bytes_total", "ttcollect_metrics_read_bytes_total")}
        if not begin:
            begin, began = end, time.monotonic()
            time.sleep(seconds)
    took = time.monotonic() - began
    delta = {key: end[key] - begin[key] for key in end}
    for process in (collector, card):
        process.terminate()
        process.communicate()
    for segment in glob.glob(f"/dev/shm/ttcollect-emu-{name}.*"):    # the collector leaves it to its readers
        os.unlink(segment)
    read, passed = delta["ttcollect_metrics_read_bytes_total"], delta["ttcollect_metrics_passed_bytes_total"]
    return {"cores": cores, "programs_per_s": rate, "seconds": round(took, 1), "markers_per_s": round(delta["ttcollect_markers_total"] / took),
            "cpu_percent": round(100 * delta["ttcollect_metrics_cpu_seconds_total"] / took, 3),
            "read_share": round(read / (read + passed), 3) if read + passed else 1.0}


def main():
    for cores, rate in ((2, 200),) if ONCE else ((1, 1), (2, 200), (64, 200), (64, 2000)):
        print(json.dumps(one(cores, rate, 1 if ONCE else 60)), flush=True)


main()

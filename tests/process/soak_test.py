#!/usr/bin/env python3
"""A long capture at full rate: memory and disk stay flat. Usage: soak_test.py SECONDS [FIGURE.svg]

The collector's resident memory (without rings) and the bytes of all capture files are sampled once a second. Neither may pass its
bound, and memory must come back to what it was: its least in the last quarter of the run is at most 4 MiB above its least in the second
(a quarter with a slow moment of the machine has more waiting for the disk, up to --memory; what leaks raises the floor). Runs below
ten minutes may differ by 8 MiB: buffers and the account of losses, which grows with the logarithm of their number, fill meanwhile.
"""
import glob
import json
import os
import sys
import time

import harness as h

SECONDS = int(sys.argv[1])
FIGURE = sys.argv[2] if len(sys.argv) > 2 else None
BOUND_MIB = 48
WAITING_MIB = 16                          # --memory: what may wait for the disk
REST_MIB = 32                             # buffers of packing and writing, names, accounts


def resident_mib(pid):
    """Its own memory; the rings, of fixed size, are shared and mapped by every reader in it."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("RssAnon")) / 1024


def disk_mib():
    total = 0
    for path in glob.glob(h.work("soak*")):
        try:
            total += os.path.getsize(path)
        except FileNotFoundError:
            pass                          # the oldest file went meanwhile
    return total / 2**20


def written_mib(report):
    return json.loads(report)["capture"]["bytes"] / 2**20


def svg(samples):
    width, height, left, bottom = 720, 320, 60, 40
    top_mib = 1.15 * max(max(m, d) for _, m, d in samples)
    last = samples[-1][0]

    def points(index):
        return " ".join(f"{left + s[0] / last * (width - left - 10):.1f},{height - bottom - s[index] / top_mib * (height - bottom - 20):.1f}"
                        for s in samples)

    grid = "".join(
        f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{top_mib * i / 5:.0f}</text>'
        for i in range(6) for y in [height - bottom - i / 5 * (height - bottom - 20)])
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
            f'<rect width="{width}" height="{height}" fill="white"/>{grid}'
            f'<polyline points="{points(1)}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>'
            f'<polyline points="{points(2)}" fill="none" stroke="#d62728" stroke-width="1.5"/>'
            f'<text x="{left + 10}" y="16" fill="#1f77b4">memory of ttcollect [MiB], without its ring</text>'
            f'<text x="{left + 330}" y="16" fill="#d62728">capture files [MiB], --max-size {BOUND_MIB}MiB</text>'
            f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">seconds (0 to {last:.0f}), emulated card as fast as it is drained, 8 cores</text></svg>\n')


def main():
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 8, "--programs", 0, "--host-reads", "every:500", "--pace", 64, "--wait-observer",
                   "-q", stdout=None, stderr=None)
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "--json", "--ring", "16MiB", "-o",
                        h.work("soak.ttc"), "--rotate", "8MiB", "--max-size", f"{BOUND_MIB}MiB", "--keep", "newest", "--memory",
                        f"{WAITING_MIB}MiB")
    began, samples = time.monotonic(), []
    while time.monotonic() - began < SECONDS:
        time.sleep(1)                     # between two polls
        h.check(collector.poll() is None, "the collector ended")
        samples.append((time.monotonic() - began, resident_mib(collector.pid), disk_mib()))
    collector.terminate()
    code, out, err = h.finish(collector)
    h.check(code == 0, f"the collector ended with {code}: {err}")
    card.kill()
    if FIGURE:
        with open(FIGURE, "w") as f:
            f.write(svg(samples))
    quarter = len(samples) // 4
    memory, disk = [s[1] for s in samples], [s[2] for s in samples]
    floor, floor_at_last = min(memory[quarter:2 * quarter]), min(memory[-quarter:])
    print(f"{len(samples)} s: memory {memory[0]:.1f} at first, at least {floor:.1f} in the second quarter and {floor_at_last:.1f} in the "
          f"last, at most {max(memory):.1f} MiB; disk at most {max(disk):.1f} MiB; {written_mib(out):.0f} MiB were written")
    h.check(floor_at_last <= floor + (4 if SECONDS >= 600 else 8), "memory grows")
    h.check(max(memory) <= WAITING_MIB + REST_MIB, "memory passes its bound")
    h.check(max(disk) <= BOUND_MIB, "the files outgrow their bound")
    h.check(max(disk) >= BOUND_MIB / 8, "hardly anything was captured")


main()

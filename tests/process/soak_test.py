#!/usr/bin/env python3
"""A long capture at full rate: memory and disk stay flat. Usage: soak_test.py SECONDS [FIGURE.svg]

The collector's resident memory (without rings) and the bytes of all capture files are looked at once a second. In the second half of
the run neither may be larger than at its beginning by more than a tenth (or 4 MiB of memory): they are bounded, not slow.
"""
import glob
import os
import sys
import time

import harness as h

SECONDS = int(sys.argv[1])
FIGURE = sys.argv[2] if len(sys.argv) > 2 else None
BOUND_MIB = 48


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
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "20s", "--quiet", "--ring", "16MiB", "-o",
                        h.work("soak.ttc"), "--rotate", "8MiB", "--max-size", f"{BOUND_MIB}MiB", "--keep", "newest", "--memory", "16MiB")
    began, samples = time.monotonic(), []
    while time.monotonic() - began < SECONDS:
        time.sleep(1)                     # between two looks
        h.check(collector.poll() is None, "the collector ended")
        samples.append((time.monotonic() - began, resident_mib(collector.pid), disk_mib()))
    collector.terminate()
    code, _, err = h.finish(collector)
    h.check(code == 0, f"the collector ended with {code}: {err}")
    card.kill()
    middle = samples[len(samples) // 2:]
    memory, disk = [s[1] for s in middle], [s[2] for s in middle]
    print(f"{len(samples)} s: memory {samples[0][1]:.1f} at first, {memory[0]:.1f} in the middle, at most {max(memory):.1f} MiB; "
          f"disk at most {max(s[2] for s in samples):.1f} MiB")
    h.check(max(memory) <= max(1.1 * memory[0], memory[0] + 4), "memory grows")
    h.check(max(s[2] for s in samples) <= BOUND_MIB, "the files outgrow their bound")
    h.check(max(s[2] for s in samples) >= BOUND_MIB / 8, "hardly anything was captured")
    if FIGURE:
        with open(FIGURE, "w") as f:
            f.write(svg(samples))


main()

#!/usr/bin/env python3
"""Random worlds: layout x architecture x board x harvest x workload x collector x faults, each checked against its truth.

Usage: random_worlds.py [--worlds N] [--seed S] [--jobs J] [--stalls]

World number k of a run is that of seed S + k, so --seed alone (with --worlds 1) repeats one; its command line is printed
when it fails. Where the card waits for its reader and nothing is broken, every marker is delivered and no loss is reported;
otherwise nothing is invented and whatever is missing is inside a reported interval. No world may make the collector do
what could hurt silicon (the card reports it and ends with 1).

With --stalls the collector gets no CPU now and then, in the middle of whatever it does, and in every world the host resets
at any moment. Left out are worlds whose clock moves by what is done alone (there a pause takes no time).

Left out are worlds whose truth cannot be known: resets closer together than the drain's blind spot, overruns where pushes
are misaligned (undefined on silicon), faults of trace-only firmware, whose frames carry no proof of their end.
"""
import argparse
import collections
import functools
import io
import multiprocessing
import random
import sys
from contextlib import redirect_stdout

import harness as h
from live_run import Run

# Generations, and the mailboxes they had in the field (tt-metal profiler_common.h).
LAYOUTS = [("G1-16", "M0"), ("G1-16", "M1"), ("G1", "M1-early"), ("G1", "M1"), ("G2", "M2-2025"), ("G3", "M2"), ("G3", "M3"),
           ("G3", "M4"), ("G4", "M4")]
# Rows (Wormhole, NOC0 y) or columns (Blackhole, NOC0 x) that can be fused off, and how many a board lacks at most.
BOARDS = {"n150": ("wormhole_b0", [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], 2), "n300": ("wormhole_b0", [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], 2),
          "p100": ("blackhole", [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16], 2),
          "p150": ("blackhole", [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16], 2)}
MODES = {"G1-16": ["normal"], "G1": ["normal"], "G2": ["normal", "trace-only"], "G3": ["normal", "sum", "trace-only"],
         "G4": ["normal", "normal", "sum", "trace-only", "accumulate"]}


class World:
    """The arguments of one world, all drawn from its seed."""

    def __init__(self, seed):
        self.seed = seed
        self.dice = random.Random(seed)
        self.generation, self.mailbox = self.dice.choice(LAYOUTS)
        board = self.dice.choice(list(BOARDS))
        arch, lines, most = BOARDS[board]
        self.before_g3 = self.generation.startswith(("G1", "G2"))
        self.mode = self.dice.choice(MODES[self.generation])
        self.paced = self.chance(75) or self.mode == "trace-only"
        self.card = ["--arch", arch, "--board", board, "--generation", self.generation, "--mailbox", self.mailbox,
                     "--mode", self.mode, "--seed", seed]
        for line in sorted(self.dice.sample(lines, self.dice.randint(0, most))):
            self.card += ["--harvest", line]
        self.collect = []
        self.faults = []
        self.place()
        self.work()
        self.collector()
        if self.mode != "trace-only" and self.chance(50):
            self.break_things()

    def chance(self, percent):
        return self.dice.randrange(100) < percent

    def add(self, percent, *words):
        if self.chance(percent):
            self.card += words

    def place(self):
        d = self.dice
        self.add(30, "--aiclk", d.choice([500, 800, 1000, 1350]))
        self.add(30, "--drift-ppm", d.randint(-200, 200))
        self.add(20, "--clock-step", f"{d.randint(50, 400)}:{d.choice([500, 1000, 1350])}")
        self.add(30, "--clock-start", d.randrange(1 << 43))
        self.add(15, "--strict")
        self.virtual = self.chance(15)
        if self.virtual:
            self.card += ["--time", "virtual"]
        self.add(10, "--round-trip-ns", d.choice([700, 1000]))
        # Sizes of one's own came with G3; where L1 does not help, the usual ones are tried (collector/attach/region_size.hpp).
        if self.generation in ("G3", "G4") and self.mode in ("normal", "sum"):
            self.add(25, "--region-bytes", d.choice([48, 64]) * d.randint(600, 1500))
        else:
            self.add(30, "--region-bytes", d.choice([48000, 64000]))

    def work(self):
        d = self.dice
        self.programs = d.randint(60, 400)
        # The size of a region is accepted when two lanes agree; trace-only cores have one each.
        self.card += ["--cores", d.randint(2 if self.mode == "trace-only" else 1, 8), "--programs", self.programs, "--zones-per-kernel", d.choice([0, 1, 4, 4, 12, 40])]
        noc_events = self.mode == "normal" and self.chance(25)
        if noc_events:  # they fill a log soon
            self.card += ["--noc-events", 10, "--host-reads", f"every:{d.randint(20, 60)}"]
        elif self.chance(70):
            self.card += ["--host-reads", f"every:{d.randint(20 if self.paced else 100, 200)}"]
        if self.mode == "normal" and self.paced:
            self.add(25, "--dispatch-cores", d.randint(1, 2))
        if self.mode in ("normal", "sum") and self.mailbox != "M0":
            self.add(25, "--ethernet", d.randint(1, 2))
            self.add(15, "--idle-ethernet", 1)
        if self.generation in ("G3", "G4") and self.mode == "normal":
            self.add(20, "--perf-counters")
        if self.mode in ("trace-only", "accumulate") or self.chance(20):
            self.card += ["--trace", f"{d.randint(2, 5)}:{d.randint(2, 4)}"]
        if self.mode != "trace-only":  # a replay that leaves out a core leaves it nothing to record
            self.add(25, "--skip-cores", d.choice([5, 30]))
        self.add(25, "--skip-riscs", d.choice([5, 30]))
        self.add(30, "--landing-ns", d.choice([1000, 10000, 40000]))
        if self.paced:
            self.add(20, "--rate", d.choice([1000, 3000]))
            self.card += ["--pace"]
        else:  # so that it is not over, and reset, before anybody has found its profiler
            self.card += ["--rate", 1000]

    def collector(self):
        if self.chance(15):
            self.collect.append("--plain")
        if "--strict" not in self.card and self.chance(15):
            self.collect.append("--descriptor-reads")

    def break_things(self):
        d = self.dice
        menu = {
            "late-landing": f"max={d.choice([10, 40])}us",
            "torn-vector": "every=25,wait=50us",
            "hung-read": f"every={d.randint(4000, 20000)},for=5ms",
            "all-ones": f"tile=1-2,after={d.randint(2000, 20000)},for=50ms",
            "host-reset": f"every={d.randint(20000, 60000)},words={d.choice([0, 3])},apart=6ms",
            "stale-dram": f"programs=100,time={d.choice(['past', 'future'])}",
            "overrun": f"every={d.randint(10, 30)}",
            "clock-stop": "after=50ms,for=20ms",
            "roll-over": "after=100ms",
        }
        if self.virtual:  # its clock only moves with the firmware, which waits for its reader
            del menu["all-ones"], menu["clock-stop"]
        # An overrun shifts what is pushed in the middle of a run to where silicon's behaviour is undefined (tt-metal kernel_profiler.hpp).
        if self.mode != "normal" or {"--noc-events", "--perf-counters", "--dispatch-cores"} & set(self.card):
            del menu["overrun"]
        for name in sorted(d.sample(sorted(menu), d.choice([1, 1, 2]))):
            dice = "" if name in ("all-ones", "stale-dram", "clock-stop") else f",seed={self.seed & 0xffff}"
            self.faults.append(f"{name}:{menu[name]}{dice}")

    def text(self):
        words = [str(w) for w in self.card] + [w for f in self.faults for w in ("--fault", f)]
        return f"seed {self.seed}: ttemu {' '.join(words)}  ttcollect {' '.join(self.collect)}"


def judge(world, stalls):
    run = Run(world.faults, world.card, world.collect, export_codes=(0, 6), must_strike=False,
              stalls=world.seed if stalls else None)
    run.losses_reported(but=run.unseen, least=0)
    if world.paced and not world.faults:
        # The card waits for its reader, unless a log is full. (On a busy host a poll may come so late that an epoch could
        # have passed: that may be reported, but nothing may be missing.)
        # Before G3 a lane without room keeps those behind it from being written, too: their indices leave holes that are no frames. One that a
        # reset of the host follows at once is not known for a hole yet.
        full = {(r["x"], r["y"], r["epoch"]) for r in run.lost if r["cause"] == "dropped on card"} if world.before_g3 else set()
        dropped = [r for r in run.lost if r["cause"] == "dropped on card"
                   or r["cause"] in ("unparsable", "host reset before read") and (r["x"], r["y"], r["epoch"]) in full]
        missing = h.outside_intervals(set(run.truth) - set(run.got) - set(run.unseen), dropped)
        h.check(not missing, f"{len(missing)} missing although the card waits: {sorted(missing)[:3]}")


def try_world(seed, stalls):
    world = World(seed)
    if stalls and world.virtual:
        return "", world
    if stalls and not world.faults and world.mode != "trace-only":
        world.faults = [f"host-reset:every=30000,apart=6ms,seed={seed & 0xffff}"]
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            judge(world, stalls)
    except SystemExit:
        return f"{world.text()}\n  {said.getvalue().strip()}", world
    except Exception as error:  # of the check itself: name the world
        return f"{world.text()}\n  {type(error).__name__}: {error}", world
    finally:
        h.clean()  # a worker of the pool ends without its exit handlers
    return "", world


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stalls", action="store_true")
    options = parser.parse_args()
    print(f"{options.worlds} worlds from seed {options.seed}", flush=True)
    met, failed = collections.Counter(), 0
    with multiprocessing.Pool(options.jobs) as pool:
        worlds = range(options.seed, options.seed + options.worlds)
        for wrong, world in pool.imap_unordered(functools.partial(try_world, stalls=options.stalls), worlds):
            met.update([world.generation, world.mode, *(f.split(":")[0] for f in world.faults)])
            if wrong:
                failed += 1
                print(wrong, flush=True)
        pool.close()  # its workers end by themselves: ended by a signal they would report that
        pool.join()
    print("met " + ", ".join(f"{name} {count}" for name, count in sorted(met.items())))
    print(f"{options.worlds - failed} worlds as their truth has it, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

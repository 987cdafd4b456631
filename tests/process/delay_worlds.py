"""Experiments that were never run: their journals are drawn here, with effects that are known, and `ttdelay report` evaluates them.

    delay_worlds.py effects    200 worlds, half of the units with an effect
    delay_worlds.py nulls      200 worlds without any

No code is shared with ttdelay. Order, noise and drift come from Python's generator; docs/delays.md has the form of the files.
"""
import json
import math
import os
import random
import sys

import harness as h

UNITS, DOSES, REPETITIONS, CONTROLS = 4, (500, 1000, 2000), 5, 10
WORLDS = 200


def noise(rng, kind, scatter):
    if kind == "normal":
        return rng.gauss(0, scatter)
    if kind == "skewed":    # rarely late, never early
        return (rng.lognormvariate(0, 0.5) - math.exp(0.125)) * scatter / 0.6
    return rng.uniform(-1.7, 1.7) * scatter


def world(rng, folder, effects):
    """Writes an experiment's folder; `effects`: by unit, microseconds a cycle."""
    base, scatter, kind = rng.uniform(50, 5000), 0, rng.choice(("normal", "skewed", "even"))
    scatter = base * rng.uniform(0.002, 0.02)
    drift = scatter * rng.uniform(-1, 1)    # from the first run to the last
    cores = [f"{x},0" for x in range(UNITS)]
    arms = [(u, d) for u in range(UNITS) for d in DOSES for _ in range(REPETITIONS)] + [(None, 0)] * CONTROLS
    rng.shuffle(arms)
    os.makedirs(folder)
    with open(os.path.join(folder, "experiment.json"), "w") as file:
        json.dump({"format": 1, "mark": "none", "experiment": {
            "name": "drawn", "command": ["none"], "environment": {}, "device": "0", "chip": 0, "seed": 1,
            "vary": {"kinds": ["read"], "cores": cores, "riscs": [], "cycles": DOSES, "repetitions": REPETITIONS, "watcher_only": CONTROLS,
                     "plain": 0},
            "observe": {"signposts": True, "skip_steps": 0, "host_files": "", "numbers": {}, "checksum": "", "files": [], "device_zones": False},
            "run": {"limit_ns": 1, "silent_ns": 1, "reset_cmd": "", "cache_per_value": False, "collect": []}}}, file)
    with open(os.path.join(folder, "journal.jsonl"), "w") as file:
        for number, (unit, cycles) in enumerate(arms, 1):
            value = base + drift * number / len(arms) + noise(rng, kind, scatter) + (effects[unit] * scatter * cycles if unit is not None else 0)
            line = {"run": number, "attempt": 1, "arm": "watcher only" if unit is None else "delay", "outcome": "ok", "exit_code": 0, "valid": True,
                    "why": "", "seconds": 1, "values": {"step": value}}
            if unit is not None:
                line.update(unit=f"read {cores[unit]}", cycles=cycles, feedback={cores[unit]: 1})
            file.write(json.dumps(line) + "\n")
    return scatter


def reported(folder):
    code, out, err = h.run("ttdelay", "report", folder, "--json", "-")
    h.check(code == 0, err)
    return {e["unit"]: e for e in json.loads(out)["effects"]}


def holds(interval, truth):
    return interval["low"] <= truth <= interval["high"]


def effects():
    rng = random.Random(20261123)
    slopes = shifts = missed = wrong = 0
    for number in range(WORLDS):
        # In standard deviations of a run, by cycle: none, or 2 to 10 of them at the largest delay.
        planted = [rng.choice((0, rng.uniform(2, 10) / DOSES[-1])) for _ in range(UNITS)]
        planted[0] = rng.uniform(2, 10) / DOSES[-1]
        folder = h.work(f"w{number}")
        scatter = world(rng, folder, planted)
        found = reported(folder)
        truth = planted[0] * scatter
        first = found["read 0,0"]
        slopes += holds(first["slope_us_a_cycle"], truth)
        shifts += holds(first["doses"][-1]["shift_us"], truth * DOSES[-1])
        for unit, slope in enumerate(planted):
            one = found[f"read {unit},0"]
            if slope and slope * DOSES[-1] > 4:
                missed += not one["found"]
            if not slope:
                wrong += one["found"]
    print(f"of {WORLDS} worlds the slope's interval holds the truth in {slopes}, the largest shift's in {shifts}; "
          f"{missed} large effects missed, {wrong} invented")
    h.check(180 <= slopes <= 198 and 180 <= shifts <= 198, "intervals do not hold the truth as often as stated")
    h.check(missed == 0 and wrong <= 15, "cores with effects are not those that are named")


def nulls():
    rng = random.Random(4711)
    worlds = 0
    for number in range(WORLDS):
        folder = h.work(f"n{number}")
        world(rng, folder, [0] * UNITS)
        worlds += any(e["found"] for e in reported(folder).values())
    print(f"{worlds} of {WORLDS} worlds without effects show one")
    h.check(worlds <= 17, "more worlds than 5 % (and chance) show an effect that is not there")    # 10 are expected


{f.__name__: f for f in (effects, nulls)}[sys.argv[1]]()

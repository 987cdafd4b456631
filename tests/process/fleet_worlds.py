#!/usr/bin/env python3
"""Worlds of ranks on emulated cards, whose captures `ttreport stragglers` judges. Usage: fleet_worlds.py slow|null [WORLDS [SEED]]

A world draws how many ranks and cards there are, the ops of a step with their sizes and scatter, and in `slow` one card whose kernels compute so
much longer in one op that the step's compute is 3 to 10 % longer (1 % is what counts as late at all). Every card is a ttemu of its own with a seed of its own in virtual time, collected into <host>_rank_<N>.ttc. `slow`: the card
must be the only one that is named, with its op, in 95 of 100 worlds. `null`: something is named in no more worlds than the stated one in 100 allows.
Ranks run beside each other and do not meet in collectives, which the emulated card does not have; generated rows have them
(unit/tools/fleet/fleet_judge_test.cpp)."""
import json
import math
import os
import random
import sys

import harness as h

SHARE = 0.01    # of jobs in which a card or rank is named although all are alike (tools/fleet/judge/stragglers.hpp)


def workload(dice, path, ops, slow_op=None, slowness=1.0):
    """The ops of a step; compute of one of them takes `slowness` times as long."""
    lines = [f"jitter = {ops['jitter']}"]
    for i, op in enumerate(ops["ops"]):
        cycles = int(op["cycles"] * (slowness if i == slow_op else 1))
        lines += ["[[op]]", f'code = "{op["code"]}"', f'pattern = "{op["pattern"]}"', f"blocks = {op['blocks']}", f"math_cycles = {cycles}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def drawn_ops(dice):
    """Ops that take longer than the dispatcher needs for the next one."""
    codes = ("Matmul", "Softmax", "LayerNorm", "Reshape", "Transpose", "Binary", "Conv", "Reduce")
    return {"jitter": round(dice.uniform(0.02, 0.08), 3),
            "ops": [{"code": code, "pattern": dice.choice(("stream", "multicast", "pipeline")), "blocks": dice.randint(8, 16),
                     "cycles": dice.randint(1500, 4000)} for code in dice.sample(codes, dice.randint(3, 6))]}


def capture(name, file, toml, cores, ops, replays, seed):
    card = h.start("ttemu", "--name", name, "--workload", toml, "--cores", cores, "--programs", ops * (replays + 1), "--trace", f"{ops}:{replays}",
                   "--seed", seed, "--time", "virtual", "--pace", 64, "--wait-observer", "-q")
    h.wait_for_card(name, card)
    code, _, err = h.run("ttcollect", "--device", f"emu:{name}", "-o", file, "--no-sync", "-q")
    h.check(code == 0, f"ttcollect ended with {code}: {err}")
    h.check(h.finish(card)[0] == 0, "the card failed")


def world(seed, slow):
    """(what was planted, what was reported)."""
    dice = random.Random(seed)
    directory = h.work(f"world-{seed}")
    os.mkdir(directory)
    ops, cores, cards, replays = drawn_ops(dice), dice.choice((2, 4)), dice.randint(4, 10), dice.randint(30, 60)
    odd, slow_op = dice.randrange(cards), dice.randrange(len(ops["ops"]))
    work = [op["blocks"] * op["cycles"] for op in ops["ops"]]
    slowness = 1 + dice.uniform(0.03, 0.1) * sum(work) / work[slow_op]
    for rank in range(cards):
        toml = os.path.join(directory, f"{rank}.toml")
        is_odd = slow and rank == odd
        workload(dice, toml, ops, slow_op if is_odd else None, slowness)
        capture(h.card_name(), os.path.join(directory, f"node{rank}_rank_{rank}.ttc"), toml, cores, len(ops["ops"]), replays, dice.randrange(1 << 31))
    code, out, err = h.run("ttreport", "stragglers", directory, "--json")
    h.check(code == 0, f"world {seed}: ttreport ended with {code}: {err}")
    for name in os.listdir(directory):
        os.unlink(os.path.join(directory, name))
    h.remove_segments()
    return {"rank": f"node{odd}_rank_{odd}", "op": slow_op, "ops": len(ops["ops"]), "slowness": round(slowness, 3), "cards": cards}, json.loads(out)


def most_by_chance(worlds, share=SHARE):
    """More than this comes in one of a thousand series of so many worlds."""
    chance, total = 0.0, 0
    while chance < 0.999:
        chance += math.comb(worlds, total) * share ** total * (1 - share) ** (worlds - total)
        total += 1
    return total - 1


def main():
    slow = sys.argv[1] == "slow"
    worlds = int(sys.argv[2]) if len(sys.argv) > 2 else (100 if slow else 200) if h.LONG else 3
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 29_000 if slow else 92_000
    right = named = 0
    for seed in range(first, first + worlds):
        planted, facts = world(seed, slow)
        found = facts["stragglers"]
        # Host ids of a trace's programs are numbers of their ops, from 1, times 1024.
        ok = len(found) == 1 and found[0]["rank"] == planted["rank"] and (int(found[0]["op"].split()[1]) // 1024 - 1) % planted["ops"] == planted["op"]
        right += ok
        named += bool(found)
        if slow and not ok or not slow and found:
            print(f"world {seed}: {planted if slow else ''} reported {found}, {facts['steps']} steps, {facts['ops_compared']} ops")
        h.check(facts["steps"] >= 30 and facts["cards"] == planted["cards"], f"world {seed}: {facts}")
    print(f"{right} of {worlds} slow cards named" if slow else f"something named in {named} of {worlds} worlds without a slow card")
    if slow:
        h.check(right >= math.floor(0.95 * worlds), f"only {right} of {worlds}")
    else:
        h.check(named <= most_by_chance(worlds), f"{named} of {worlds}")


main()
print("ok")

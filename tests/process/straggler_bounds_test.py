#!/usr/bin/env python3
"""Bounds of how late cards come against the emulated cards' own clocks. Usage: straggler_bounds_test.py moving|steady

moving  clocks that ramp, step and stop; hosts of their own have wider bounds
steady  crystals: lateness is known no worse than the times that it is made of
"""
import csv
import io
import json
import os
import sqlite3
import sys

import harness as h
from report_bounds_test import ROUNDING_NS, collect

OPS_A_STEP = 16    # tools/fleet/judge/held_steps.hpp


def ends_of(capture, clock):
    """True (begin, end) in host ns of each program, by host id."""
    database = capture + ".sqlite"
    code, _, err = h.run("ttexport", "--from", capture, "--format", "sqlite", "-o", database)
    h.check(code == 0, err)
    rows = sqlite3.connect(database).execute(
        "SELECT host_id, min(begin_cycles), max(begin_cycles + cycles) FROM zone WHERE depth < 2 AND name LIKE '%-FW' GROUP BY 1 ORDER BY 2")
    return {host_id: (clock.at(begin)[0], clock.at(end)[0]) for host_id, begin, end in rows}


def true_lateness(cards):
    """By step and card: its time since the end of its op before, less the lower median of all cards', over the ops of a step."""
    steps, before = [], None
    ops = list(cards[0])
    for number in range(0, len(ops), OPS_A_STEP):
        sums = [0.0] * len(cards)
        for op in ops[number:number + OPS_A_STEP]:
            took = [card[op][1] - (card[op][0] if before is None else card[before][1]) for card in cards]
            median = sorted(took)[(len(took) - 1) // 2]
            sums = [late + one - median for late, one in zip(sums, took)]
            before = op
        steps.append(sums)
    return steps


def lateness(directory):
    out = {}
    for kind in ("--json", "--csv=-"):
        code, text, err = h.run("ttreport", "stragglers", directory, kind)
        h.check(code == 0, err)
        out[kind] = text
    facts = json.loads(out["--json"])
    table = list(csv.DictReader(io.StringIO(out["--csv=-"])))
    h.check([(row["rank"], row["mean_late_bound_ns"], row["shares_rank"] == "1") for row in table] ==
            [(card["rank"], str(card["mean_late_bound_ns"] or ""), card["shares_rank"]) for card in facts["cards_by_lateness"]], f"{table}")
    return facts


def database_has_bounds(directory):
    """The database of a fleet's report has each lateness with the bound that the report has."""
    path = os.path.join(directory, "report.sqlite")
    code, text, err = h.run("ttfleet", "report", directory, "--json", "-o", path)
    h.check(code == 0, err)
    facts = json.loads(text)
    rows = sqlite3.connect(path)
    held = {number: late for number, *late in rows.execute("SELECT number, late_ns, late_bound_ns FROM held_steps")}
    h.check(facts["largest_steps"] and len(held) == facts["steps_held_up"], f"{len(held)} held steps of {facts['steps_held_up']}")
    h.check(any(bound is not None for _, bound in held.values()), f"no step has a bound: {held}")
    for step in facts["largest_steps"]:
        h.check(held[step["step"]] == [step["late_ns"], step["late_bound_ns"]], f"{step}, and in the database {held[step['step']]}")
    named = rows.execute("SELECT mean_late_ns, mean_late_bound_ns FROM stragglers").fetchall()
    h.check(named == [(s["mean_late_ns"], s["mean_late_bound_ns"]) for s in facts["stragglers"]], f"{named}, and {facts['stragglers']}")


def judge(names, runs, least):
    facts = lateness(os.path.dirname(runs[0][0]))
    h.check(not any(op["collective"] for op in facts["ops"]), f"{facts['ops']}")
    steps = true_lateness([ends_of(*run) for run in runs])
    h.check(facts["steps"] == len(steps), f"{facts['steps']} steps, not {len(steps)}")
    slack = 2 * ROUNDING_NS * OPS_A_STEP
    # Ops that ran before the clocks were known have no bounds, or wide ones.
    left_out = facts["steps_of_wide_bounds"]
    known = len(steps) - len(left_out)
    h.check(known >= least * len(steps), f"{known} of {len(steps)} steps have bounds")
    # A starved collector reads moving clocks so rarely that no step is known well enough: then means are of all steps, and have no bound.
    truth = [sum(late) / known for late in zip(*(step for number, step in enumerate(steps) if number not in left_out))]
    h.check(known or all(card["mean_late_bound_ns"] is None for card in facts["cards_by_lateness"]), f"{facts['cards_by_lateness']}")
    for card in facts["cards_by_lateness"] if known else ():
        true = truth[names.index(card["rank"])]
        h.check(card["steps"] == known and abs(card["mean_late_ns"] - true) <= card["mean_late_bound_ns"] + slack, f"{card}, and in truth {true}")
    held = [step for step in facts["largest_steps"] if step["late_bound_ns"] is not None]
    for step in held:
        true = steps[step["step"]][names.index(step["rank"])]
        h.check(abs(step["late_ns"] - true) <= step["late_bound_ns"] + slack, f"{step}, and in truth {true}")
    h.check(held, f"{facts['largest_steps']}")
    database_has_bounds(os.path.dirname(runs[0][0]))
    print(f"mean lateness of {known} of {len(steps)} steps: {[(round(c['mean_late_ns']), c['mean_late_bound_ns'], c['shares_rank']) for c in facts['cards_by_lateness']]} ns, "
          f"in truth {[round(t) for t in truth]}; of {facts['steps_held_up']} steps held up {facts['steps_held_up_within_bounds']} within the bounds")
    return facts


def moving():
    names = ("nodeA_rank_0", "nodeA_rank_1", "nodeA_rank_2")
    runs = [collect(name, "--dvfs", f"all:for=5,seed={8 + i // 2}", "--seed", 1) for i, name in enumerate(names)]
    facts = judge(names, runs, 0)    # how many steps are known well depends on how often the clocks are read
    # Hosts of their own have crystals of their own.
    for i, (capture, _) in enumerate(runs):
        os.rename(capture, os.path.join(os.path.dirname(capture), f"node{i}_rank_{i}.ttc"))
    apart = lateness(os.path.dirname(runs[0][0]))
    h.check(len(facts["largest_steps"]) == len(apart["largest_steps"]), f"{apart['largest_steps']}")
    for one, other in zip(facts["largest_steps"], apart["largest_steps"]):
        bounds = one["late_bound_ns"], other["late_bound_ns"]
        h.check(other["late_ns"] == one["late_ns"] and (bounds == (None, None) or bounds[1] > bounds[0]), f"{one} {other}")


def steady():
    names = ("nodeA_rank_0", "nodeA_rank_1")
    runs = [collect(name, "--drift-ppm", 37 + i, "--seed", 1 + i) for i, name in enumerate(names)]
    facts = judge(names, runs, 0.5)
    widest = 2 + max(bound for capture, _ in runs for bound, in sqlite3.connect(capture + ".sqlite").execute(
        "SELECT max(bound_ns) FROM zone WHERE name LIKE '%-FW' AND bound_kind = 'conditional'"))
    for card in facts["cards_by_lateness"]:
        h.check(card["mean_late_bound_ns"] <= 2 * (1 + OPS_A_STEP) * widest + 2, f"{card}, and the times that it is made of are within {widest} ns")


if __name__ == "__main__":
    {f.__name__: f for f in (moving, steady)}[sys.argv[1]]()

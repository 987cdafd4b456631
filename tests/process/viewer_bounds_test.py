#!/usr/bin/env python3
"""Bounds of durations that people see, against the emulated card's own clock: a clock that ramps, steps and stops. The database
is judged by the card; Perfetto, Chrome, programs as JSON, the page and the summary by the database and the card.
"""
import array
import base64
import csv
import json
import math
import re
import sqlite3

import harness as h
import perfetto_check
from report_bounds_test import ROUNDING_NS, collect
from report_support import report

BOUND = "duration bound ns"


def exported(capture, kind, *arguments):
    path = h.work("bounds" + "".join(arguments) + "." + kind)
    code, _, err = h.run("ttexport", "--from", capture, "--format", kind, "-o", path, *arguments)
    h.check(code == 0, err)
    return path


def holds(ns, bound_ns, truth, what, times=1):
    least, most = truth
    slack = ROUNDING_NS * times
    h.check(least - bound_ns - slack <= ns <= most + bound_ns + slack, f"{ns} +- {bound_ns} ns is not {least}..{most}: {what}")


def judge_zones(rows, clock):
    """(zones judged, zones whose bound is narrower than that of one of their times)"""
    judged = narrower = 0
    for x, y, processor, name, host_id, begin_cycles, cycles, begin_ns, ns, bound_ns, duration_bound_ns in rows:
        if duration_bound_ns is None:
            continue
        judged += 1
        holds(ns, duration_bound_ns, clock.took(begin_cycles, begin_cycles + cycles), f"{name} on {x},{y} {processor}")
        # However little the clock knows, a duration is known no worse than its two times; each is a whole nanosecond.
        h.check(bound_ns is None or duration_bound_ns <= 2 * bound_ns + 1, f"{name}: {duration_bound_ns} ns, and its times {bound_ns} ns")
        narrower += bound_ns is not None and duration_bound_ns < bound_ns
    return judged, narrower


def judge_ops(database, clock):
    spans = {}
    for host_id, begin, end, firmware in database.execute(
            "SELECT host_id, min(begin_cycles), max(begin_cycles + cycles), name LIKE '%-FW' FROM zone WHERE depth < 2 AND (name LIKE '%-FW' OR "
            "name LIKE '%-KERNEL') GROUP BY 1, 4"):
        spans[host_id, bool(firmware)] = begin, end
    cores = {(host_id, x, y): (begin, end) for host_id, x, y, begin, end in database.execute(
        "SELECT host_id, x, y, min(begin_cycles), max(begin_cycles + cycles) FROM zone WHERE name LIKE '%-KERNEL' GROUP BY 1, 2, 3")}
    judged, pairs = 0, []
    for op in database.execute("SELECT host_id, ns, duration_bound_ns, kernel_ns, kernel_bound_ns, core_most_ns, core_most_bound_ns, most_x, most_y, open FROM ops"):
        host_id, ns, bound, kernel_ns, kernel_bound, most_ns, most_bound, x, y, open_processors = op
        if bound is None or open_processors:
            continue
        judged += 1
        holds(ns, bound, clock.took(*spans[host_id, True]), op)
        if kernel_bound is not None:
            holds(kernel_ns, kernel_bound, clock.took(*spans[host_id, False]), op)
        if most_bound is not None:
            holds(most_ns, most_bound, clock.took(*cores[host_id, x, y]), op)
            if kernel_bound is not None:
                pairs.append((most_bound, kernel_bound))
    # A single op may have its core's times where the clock is known less well than at the program's begin and end.
    h.check(min(most for most, _ in pairs) <= min(kernel for _, kernel in pairs) + 2, f"one core pays for the spread of all: {pairs}")
    return judged


def judge_gaps(database, clock):
    """(gaps judged, that share a rank)"""
    spans = {host_id: (begin, end) for host_id, begin, end in database.execute(
        "SELECT host_id, min(begin_cycles), max(begin_cycles + cycles) FROM zone WHERE depth < 2 AND name LIKE '%-FW' GROUP BY 1")}
    gaps = {host_id: rest for host_id, *rest in database.execute("SELECT host_id, gap_ns, bound_ns, shares_rank FROM gaps")}
    judged, last = 0, None
    for host_id, (begin, end) in sorted(spans.items(), key=lambda one: one[1]):
        gap_ns, bound_ns, _ = gaps[host_id]
        if bound_ns is not None:
            judged += 1
            (end_early, end_late), (begin_early, begin_late) = clock.at(last), clock.at(begin)
            holds(gap_ns, bound_ns, (begin_early - end_late, begin_late - end_early), f"gap before {host_id}")
        last = end if last is None else max(last, end)
    return judged, sum(1 for _, _, shares in gaps.values() if shares)


def key(x, y, processor, host_id, name, begin_ns):
    return x, y, processor, host_id, name, begin_ns


def judge_perfetto(capture, known, ops):
    if not perfetto_check.available():
        print("protoc is not installed: the Perfetto trace is not read")
        return
    trace = perfetto_check.Trace(exported(capture, "perfetto"))
    shown = 0
    for path, name, begin, end, a, _ in trace.zones:
        x, y = map(int, path[1].split(" ")[1].split(","))
        ns, bound = known[key(x, y, path[2], a["host id"], name, begin)]
        h.check((end - begin, a.get(BOUND)) == (ns, bound), f"{name} at {begin}: {end - begin} ns, {a}, and {ns} +- {bound} in the database")
        shown += BOUND in a
    spans = {a["host id"]: (end - begin, a.get(BOUND)) for path, _, begin, end, a, _ in trace.spans if path[1].startswith("programs")}
    h.check(spans == ops, "programs have other bounds in Perfetto than in the database")
    bare = perfetto_check.Trace(exported(capture, "perfetto", "--no-args"))
    h.check(len(bare.zones) == len(trace.zones) and not any(BOUND in a for _, _, _, _, a, _ in bare.zones), "--no-args has bounds")
    print(f"perfetto: {shown} of {len(trace.zones)} zones have a bound")


def judge_chrome(capture, known):
    with open(exported(capture, "chrome")) as file:
        events = json.load(file)["traceEvents"]
    lanes = {e["tid"]: e["args"]["name"].split(" ", 2)[1:] for e in events if e["ph"] == "M" and e["name"] == "thread_name" and e["args"]["name"].startswith("core ")}
    bounds = {}
    for e in events:
        if e["ph"] == "X" and "zone hash" in e.get("args", {}):
            core, processor = lanes[e["tid"]]
            bounds[(*map(int, core.split(",")), processor, e["args"]["host id"], e["name"], round(e["ts"] * 1000))] = e["args"].get(BOUND)
    # What is open between two reads is a pair of B and E, whose arguments are those of its begin.
    h.check(len(bounds) > 0.9 * len(known), f"{len(bounds)} of {len(known)} zones")
    h.check(all(known[k][1] == bound for k, bound in bounds.items()), "zones have other bounds in Chrome than in the database")


def judge_page(capture, rows, clock):
    page = h.work("page.html")
    report("html", capture, "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    d = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1).replace("<\\/", "</"))
    column = {name: array.array(kind, base64.b64decode(d["zones"][name])) for name, kind in (("begin", "d"), ("length", "f"), ("lane", "H"), ("bound", "H"))}
    kept = {}
    for x, y, processor, _, host_id, begin_cycles, cycles, *_ in rows:
        if host_id:
            kept.setdefault(f"0: {x},{y} {processor}", []).append((begin_cycles, -cycles))
    bars, judged = {}, 0
    for i, lane in enumerate(column["lane"]):
        bars.setdefault(d["lanes"][lane], []).append((column["begin"][i], -column["length"][i], column["bound"][i]))
    for lane, zones in kept.items():
        drawn = sorted(bars[lane])
        h.check(len(drawn) == len(zones), f"{lane}: {len(drawn)} bars for {len(zones)} zones")
        for (begin, length, bound), (begin_cycles, cycles) in zip(drawn, sorted(zones)):
            if bound < 0xfffe:
                judged += 1
                holds(-length, bound, clock.took(begin_cycles, begin_cycles - cycles), f"{lane} at {begin}")
    h.check(judged > 0.5 * len(rows), f"{judged} of {len(rows)} bars have a bound")
    ops = [dict(zip(d["opkeys"], row)) for row in d["ops"]]
    h.check(sum(op["bound"] is not None for op in ops) > 0.5 * len(ops), "ops of the page have no bounds")


def judge_summary(capture):
    summary, _ = report("summary", capture, "--json", "-")
    summary = json.loads(summary)
    ops, _ = report("ops", capture, "--json", "-")
    rows = [row for row in json.loads(ops)["rows"] if row["device_us"]]
    h.check(abs(summary["device_us"] - sum(row["device_us"] for row in rows)) < 0.01, "the sum is another one than that of the ops")
    bounds = [row["device_bound_us"] for row in rows]
    if None in bounds:
        h.check(summary["device_bound_us"] is None, f"{summary['device_bound_us']}")
    else:
        h.check(abs(summary["device_bound_us"] - sum(bounds)) < 0.01, f"{summary['device_bound_us']} is not {sum(bounds)}")
    for one in summary["slowest"]:
        h.check(any(abs(row["device_us"] - one["device_us"]) < 0.001 and (one["bound_us"] is None) == (row["device_bound_us"] is None) for row in rows), f"{one}")


def judge_marker_bounds(capture):
    """The shares of the summary are those of the rows that ttexport writes."""
    kinds, bounds = {}, []
    with open(exported(capture, "device-csv", "--time", "host"), newline="") as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            kind = row["host time bound kind"]
            kinds[kind] = kinds.get(kind, 0) + 1
            if kind == "conditional":
                bounds.append(float(row["host time bound [ns]"]))
    summary, _ = report("summary", capture, "--json", "-")
    found = json.loads(summary)["marker_bounds"]
    h.check(found["count"] == sum(kinds.values()), f"{found}, and {kinds} rows")
    for kind in ("conditional", "hard", "none"):
        h.check(abs(found[kind + "_share"] * found["count"] - kinds.get(kind, 0)) < 0.5, f"{found}, and {kinds} rows")
    bounds.sort()
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        h.check(abs(found["conditional_bound_ns_" + name] - bounds[math.ceil(share * len(bounds)) - 1]) < 0.001, f"{name}: {found}")
    h.check(abs(found["widest_conditional"]["bound_ns"] - bounds[-1]) < 0.001 and found["widest_conditional"]["why"], f"{found}, and {bounds[-1]}")
    text, _ = report("summary", capture)
    h.check("host times of markers: " in text and found["widest_conditional"]["why"] in text, text)
    return found


def main():
    capture, clock = collect("viewed", "--dvfs", "all:for=5,seed=6")
    database = sqlite3.connect(exported(capture, "sqlite"))
    rows = database.execute("SELECT x, y, processor, name, host_id, begin_cycles, cycles, begin_ns, ns, bound_ns, duration_bound_ns FROM zone").fetchall()
    judged, narrower = judge_zones(rows, clock)
    h.check(judged > 0.5 * len(rows) and narrower > 0, f"{judged} of {len(rows)} zones have a bound, {narrower} a narrower one than one of their times")
    ops = judge_ops(database, clock)
    h.check(ops > 150, f"{ops} ops have a bound")
    gaps, shared_gaps = judge_gaps(database, clock)
    h.check(gaps > 150, f"{gaps} gaps have a bound")
    narrow = database.execute("SELECT count(*) FROM gaps JOIN (SELECT host_id, max(bound_ns) AS of_time FROM zone WHERE name LIKE '%-FW' GROUP BY 1) USING(host_id) "
                              "WHERE bound_ns < of_time").fetchone()[0]
    h.check(narrow > 0, "no gap has a narrower bound than the time of its program's begin")
    known = {key(x, y, p, host_id, name, begin_ns): (ns, bound) for x, y, p, name, host_id, _, _, begin_ns, ns, _, bound in rows if begin_ns is not None}
    of_ops = {host_id: (ns, bound) for host_id, ns, bound in database.execute("SELECT host_id, ns, duration_bound_ns FROM ops")}
    with open(exported(capture, "ops-json")) as file:
        lines = [json.loads(line) for line in file]
    h.check({op["host_id"]: (op["ns"], op.get("duration_bound_ns")) for op in lines} == of_ops, "programs as JSON have other bounds than in the database")
    shared = database.execute("SELECT count(*), sum(shares_rank) FROM slowest_ops").fetchone()
    imbalance = database.execute("SELECT count(*), sum(within_bound) FROM imbalance WHERE difference_bound_ns IS NOT NULL").fetchone()
    h.check(imbalance[0] > 100 and shared[0] == len(of_ops), f"{imbalance} {shared}")
    judge_perfetto(capture, known, of_ops)
    judge_chrome(capture, known)
    judge_page(capture, rows, clock)
    judge_summary(capture)
    marker_bounds = judge_marker_bounds(capture)
    print(f"{judged} of {len(rows)} zones and {ops} of {len(of_ops)} ops lie within their bounds; {narrower} zones have a narrower one than one of their times; "
          f"{gaps} gaps lie within theirs, {shared_gaps} share a rank, {narrow} have a narrower bound than the begin behind them; ops that share a rank: {shared[1]}; whose imbalance is within the bound: {imbalance[1]} of {imbalance[0]}; bounds of markers: {marker_bounds}")


main()

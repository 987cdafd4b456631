#!/usr/bin/env python3
"""Bounds of durations in reports against the emulated card's own clock. Usage: report_bounds_test.py moving|steady|diff

moving  a clock that ramps, steps and stops: every kernel, gap, busy time, step and sum of zones lies within its bound
steady  a crystal: durations have no wider bounds than their two times; tables for other readers have no columns of bounds
diff    two runs at different rates: distinguished by the host's clock, and not by their cycles
"""
import bisect
import csv
import json
import sys

import harness as h
from report_support import report, table
from run_of import RunOf

ROUNDING_NS = 2  # the card's own arithmetic rounds each of two times to a nanosecond


class Clock:
    """Host time of a counter, which is an interval where the counter stood."""

    def __init__(self, pieces):
        self.pieces, self.starts = pieces, [p["cycles"] for p in pieces]

    def at(self, cycles):
        first = self.pieces[max(0, bisect.bisect_left(self.starts, cycles) - 1)]
        last = self.pieces[max(0, bisect.bisect_right(self.starts, cycles) - 1)]
        return [p["host_ns"] + ((cycles - p["cycles"]) * 10**9 / p["hz"] if p["hz"] else 0) for p in (first, last)]

    def took(self, begin, end):
        (begin_early, begin_late), (end_early, end_late) = self.at(begin), self.at(end)
        return max(0, end_early - begin_late), end_late - begin_early


def within(us, bound_us, least_ns, most_ns, times=1):
    slack = ROUNDING_NS * times / 1000
    return least_ns / 1000 - bound_us - slack <= us <= most_ns / 1000 + bound_us + slack


def collect(name, *card):
    capture = h.work(name + ".ttc")
    run = RunOf(["--cores", 4, "--programs", 300, "--rate", 160, "--host-reads", "every:100", "--pace", *card], ["-o", capture]).end()
    return capture, Clock(run.card["clock"])


def json_of(command, capture, *more):
    out, err = report(command, capture, "--json", "-", *more)
    return json.loads(out), err


def spans_of(capture, time):
    """Of the programs, by id: first start and last end of kernels, cycles."""
    root = h.work("files." + time)
    report("files", capture, "-o", root, "--no-date")
    rows = table(root + "/.logs/cpp_device_perf_report.csv")
    return {int(r["GLOBAL CALL COUNT"]): (int(r["DEVICE KERNEL START CYCLE"]), int(r["DEVICE KERNEL END CYCLE"])) for r in rows}


def starts_of(capture):
    """Of the programs, by id: cycles of the first and of the last start of a kernel."""
    log, starts = h.work("starts.csv"), {}
    code, _, err = h.run("ttexport", "--from", capture, "-o", log)
    h.check(code == 0, err)
    with open(log) as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            if row["zone name"].endswith("-KERNEL") and row["type"] == "ZONE_START":
                starts.setdefault(int(row["run host ID"]), []).append(int(row["time[cycles since reset]"]))
    return {host_id: (min(all_of), max(all_of)) for host_id, all_of in starts.items()}


def judge_not_kernel(row, kernel, gap):
    """The share of the gap against true kernels and gaps, each (least, most) in ns."""
    bound = row["not_kernel_bound_percent"]
    if bound is None:
        return 0
    least, most = (100 * g / (g + k) if g + k else 0 for g, k in ((gap[0], kernel[1]), (gap[1], kernel[0])))
    slack = 100 * 2 * ROUNDING_NS / max(1, gap[0] + kernel[0])
    h.check(least - bound - slack <= row["not_kernel_percent"] <= most + bound + slack, f"{row} is not {least}..{most} %")
    return 1


def judge_ops(capture, clock, time):
    """(ops judged, largest bounds of kernels in us)"""
    spans, starts = spans_of(capture, time), starts_of(capture)
    ops, _ = json_of("ops", capture, "--time", time)
    before, judged, gaps, shares, started, bounds = None, 0, 0, 0, 0, []
    for row in sorted(ops["rows"], key=lambda row: spans[row["global_call_count"]]):
        begin, end = spans[row["global_call_count"]]
        bound = row["device_bound_us"]
        if bound is not None:
            judged += 1
            bounds.append(bound)
            truth = clock.took(begin, end)
            h.check(within(row["device_us"], bound, *truth), f"{time}: {row['device_us']} +- {bound} us is not {truth} ns: {row}")
        if before is not None and row["gap_bound_us"] is not None:
            gaps += 1
            truth = clock.took(before, begin)
            h.check(within(row["gap_us"], row["gap_bound_us"], *truth), f"{time}: gap {row['gap_us']} +- {row['gap_bound_us']} us is not {truth}")
            shares += judge_not_kernel(row, clock.took(begin, end), truth)
        if row["first_to_last_start_bound_us"] is not None:
            started += 1
            truth = clock.took(*starts[row["global_call_count"]])
            h.check(within(row["first_to_last_start_us"], row["first_to_last_start_bound_us"], *truth), f"{time}: starts {row} are not {truth} apart")
        before = end
    h.check(judged > 200 and gaps > 200, f"{time}: {judged} kernels and {gaps} gaps of {len(ops['rows'])} have bounds")
    h.check(shares > 200 and started > 200, f"{time}: {shares} shares and {started} first and last starts of {len(ops['rows'])} have bounds")
    totals = ops["totals"]
    truths = [clock.took(*span) for span in spans.values()]
    if judged == len(ops["rows"]) and totals["busy_bound_us"] is not None:
        least, most = (sum(t[i] for t in truths) for i in (0, 1))
        h.check(within(totals["busy_us"], totals["busy_bound_us"], least, most, len(truths)), f"{time}: busy {totals} is not {least}..{most}")
    return judged, bounds


def judge_kernels(capture, clock, time):
    log = h.work("log.csv")
    code, _, err = h.run("ttexport", "--from", capture, "--time", "host", "-o", log)
    h.check(code == 0, err)
    starts, truths = {}, {}
    with open(log) as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            zone, risc, kind = row["zone name"], row["RISC processor type"], row["host time bound kind"]
            if not zone.endswith("-KERNEL"):
                continue
            key, cycles = (row["core_x"], row["core_y"], risc, row["run host ID"], zone), int(row["time[cycles since reset]"])
            if row["type"] == "ZONE_START":
                starts[key] = cycles, kind, row["host time bound [ns]"]
                continue
            begin, kind_then, bound_then = starts.pop(key)
            # Only zones with a bound that is no hard one.
            if "none" in (kind, kind_then) or "conditional" not in (kind, kind_then):
                continue
            took, sums = clock.took(begin, cycles), truths.setdefault((zone, risc), [0, 0, 0, 0])
            both = float(bound_then) + float(row["host time bound [ns]"])
            truths[zone, risc] = [sums[0] + took[0], sums[1] + took[1], sums[2] + 1, sums[3] + both]
    kernels, _ = json_of("kernels", capture, "--time", time, "--top", 0)
    judged, bounds = 0, []
    for row in kernels["kernels"]:
        if not row["name"].endswith("-KERNEL") or row["total_bound_us"] is None:
            continue
        judged += 1
        least, most, count, of_times = truths[row["name"], row["processor"]]
        h.check(count == row["count"] - row["zones_without_bound"], f"{count} zones have a bound: {row}")
        h.check(within(row["bounded_total_us"], row["total_bound_us"], least, most, count), f"{time}: {row} is not {least}..{most} ns")
        if time == "host":
            # However little the clock knows, a duration is known no worse than its two times.
            h.check(row["total_bound_us"] * 1000 <= of_times + count, f"{row} has a wider bound than two times, {of_times} ns")
        bounds.append((row["total_bound_us"] * 1000 / count, of_times / count))
    h.check(judged >= 5, f"{time}: {judged} of {len(kernels['kernels'])} lines have a bound")
    return bounds


def mentions_moved_clock(capture, err):
    """Where the clock model shows it, and only there."""
    ops, _ = json_of("ops", capture)
    off = [(abs(row["device_us"] - row["device_measured_us"]), row) for row in ops["rows"] if row["device_measured_us"] is not None]
    # The bound of what is shown is how far that is off, and the measurement's own.
    moved = [row for us, row in off if us > 0.005 * row["device_measured_us"] and us > row["device_bound_us"] - us + 0.001]
    h.check(("the card's clock moved" in err) == bool(moved), f"{len(moved)} ops are off: {err}")


def moving():
    capture, clock = collect("moving", "--dvfs", "all:for=5,seed=4")
    counts = {}
    for time in ("device", "host"):
        counts[time], _ = judge_ops(capture, clock, time)
        judge_kernels(capture, clock, time)
    text, err = report("ops", capture, "--no-advice")
    h.check("Gap \u00b1" in text, text[:400])
    mentions_moved_clock(capture, err)
    _, err = report("ops", capture, "--time", "host", "--no-advice")
    h.check("clock moved" not in err, err)
    print(f"kernels that were judged: {counts}")


def steady():
    capture, clock = collect("steady", "--drift-ppm", 37)
    judged, bounds = judge_ops(capture, clock, "host")
    judge_kernels(capture, clock, "device")
    of_zones = judge_kernels(capture, clock, "host")
    print(f"{judged} kernels; bound of a kernel across tiles: {sorted(bounds)[len(bounds) // 2] * 1000:.0f} ns at the median; by kind of zone, "
          f"of one tile, and of the two times of its ends: {[(round(a), round(b)) for a, b in of_zones]} ns")
    # What tt-perf-report reads stays as it was.
    root = h.work("plain.csv")
    report("ops", capture, "--csv", root)
    with open(root) as file:
        h.check("ound" not in next(file).replace("Bound,", "").replace(",Bound", ""), "the table for other readers has columns of bounds")


def diff():
    fast, _ = collect("fast", "--seed", 1)
    slow, _ = collect("slow", "--seed", 1, "--clock-step", "0:750")
    out, _ = report("diff", fast, fast, "--json", "-")
    same = json.loads(out)
    h.check(all(op["within_clock_bound"] and not op["significant"] for op in same["ops"]), "a run differs from itself")
    known = [op for op in same["ops"] if None not in op["median_bound_us"]]
    h.check(len(known) > 250, f"{len(known)} of {len(same['ops'])} ops have a bound")
    # The second card runs at three quarters of the rate: the same cycles take a third longer.
    ops = {}
    for time in ("device", "host"):
        out, _ = report("diff", fast, slow, "--json", "-", "--time", time)
        for op in json.loads(out)["ops"]:
            if None not in op["median_bound_us"] and op["a"]["count"] == op["b"]["count"] == 1:
                ops.setdefault(op["signature"], {})[time] = op
    both = [o for o in ops.values() if len(o) == 2]
    sharp = 0
    for o in both:
        bounds = o["host"]["median_bound_us"]
        for side, rate, bound in zip(("a", "b"), (1, 4 / 3), bounds):
            by_host, by_cycles = o["host"][side]["median_us"], o["device"][side]["median_us"] * rate
            h.check(abs(by_host - by_cycles) <= bound + 3 * ROUNDING_NS / 1000, f"{side}: {by_host} us by the host's clock, {by_cycles} by cycles, bound {bound}: {o['host']['signature']}")
        sharp += all(bound < 0.02 * o["host"][side]["median_us"] for side, bound in zip(("a", "b"), bounds))
    h.check(len(both) > 250 and 2 * sharp > len(both), f"{sharp} of {len(both)} ops have a bound that shows a change of a third")
    _, err = report("ops", slow, "--no-advice")
    mentions_moved_clock(slow, err)


if __name__ == "__main__":
    {f.__name__: f for f in (moving, steady, diff)}[sys.argv[1]]()

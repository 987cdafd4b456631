#!/usr/bin/env python3
"""Host times of markers against the emulated card's own clock. Usage: clock_test.py steps|two|none|sync|timer [ttemu options]

steps  drift and two frequency steps: every exported time is within its bound, and the mapping is strictly monotone
two    two cards, one host time line
none   --no-sync: no time, no clock chunk, and a message
sync   ttcollect sync beside a running collector: table, JSON, figure
timer  --reference-timer: the rate of the crystal where the card has the timer, a sentence where it has none
"""
import bisect
import csv
import json
import sys
from fractions import Fraction

import harness as h
from run_of import RunOf

HOST = ["host time [ns]", "host time bound [ns]", "host time bound kind", "host time is final"]


WORKLOAD = ("--cores", 4, "--programs", 700, "--rate", 160, "--host-reads", "every:150", "--pace")


def end_well(process):
    code, out, err = h.finish(process)
    h.check(code == 0, f"{' '.join(process.args)} ended with {code}: {err}")
    return out, err


def export(source, name, *arguments):
    path = h.work(name)
    _, told = end_well(h.start("ttexport", "--from", source, "-o", path, *arguments))
    return path, told


def timed_rows(path):
    with open(path) as lines:
        next(lines)
        rows = csv.reader(lines, skipinitialspace=True)
        head = next(rows)
        h.check(head[-4:] == HOST, f"columns are {head[-4:]}")
        return list(rows)


def plain_text(path):
    """The file without the four columns."""
    with open(path) as lines:
        return [next(lines)] + [line.rstrip("\n").rsplit(",", 4)[0] + "\n" for line in lines]


def piece_of(pieces, cycles):
    return [p for p in pieces if p["cycles"] <= cycles][-1]


def true_host_ns(pieces, cycles):
    piece = piece_of(pieces, cycles)
    return piece["host_ns"] + Fraction((cycles - piece["cycles"]) * 10**9, piece["hz"])


SLOWEST_GHZ, FASTEST_GHZ = 0.19, 1.47    # of what is drawn (ttcollect/clock_segment.hpp)
DECIMALS = 6    # more than any time has


def scaled(text):
    """Decimals as a whole number: a Fraction a marker takes longer than all the rest."""
    whole, _, rest = text.partition(".")
    h.check(len(rest) <= DECIMALS, f"{text} has more than {DECIMALS} decimals")
    return int(whole + rest.ljust(DECIMALS, "0"))


def judge(rows, pieces):
    """(markers by kind, largest error among conditional ones in ns)"""
    kinds, worst, times = {}, 0, {}
    for row in rows:
        host, bound, kind, final = row[-4:]
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind == "none":
            h.check(host == "" and bound == "" and final == "0", f"a time without a bound: {row}")
            continue
        cycles = int(row[5])
        # The counter shows a number for a whole cycle, and the card's own arithmetic rounds to a nanosecond.
        piece, ns = piece_of(pieces, cycles), scaled(host)
        hz, unit = piece["hz"], 10**DECIMALS
        off = abs((ns - piece["host_ns"] * unit) * hz - (cycles - piece["cycles"]) * 10**9 * unit)    # times hz and unit
        h.check(off <= (scaled(bound) + unit) * hz, f"off by {off / hz / unit} ns, the bound is {bound}: {row}")
        if kind == "conditional":
            worst = max(worst, off / hz / unit)
        h.check(times.setdefault(cycles, ns) == ns, f"two times for {cycles} cycles")
    ordered = [times[c] for c in sorted(times)]
    h.check(all(a < b for a, b in zip(ordered, ordered[1:])), "the mapping is not strictly monotone")
    return kinds, worst


def judge_report(report):
    # Both steps were made after the first sample, on a machine that may be too busy for conditional bounds at times.
    h.check(report["steps"] + report["violations"] >= 2, f"the steps were not noticed: {report}")
    h.check(min(abs(report["hz"] - hz) / hz for hz in (1000037000, 500018500)) < 50e-6, f"frequency {report['hz']}")


def steps(arguments):
    ttc = h.work("steps.ttc")
    run = RunOf([*WORKLOAD, "--drift-ppm", 37, "--clock-step", "1500:500", "--clock-step", "2700:1000", *arguments],
                ["-o", ttc], ["--time", "host"]).end()
    report, pieces = run.report["clock"], run.card["clock"]

    timed, _ = export(ttc, "timed.csv", "--time", "host")
    rows = timed_rows(timed)
    kinds, worst = judge(rows, pieces)
    print(f"{len(rows)} markers, {kinds}, conditional ones off by {worst:.0f} ns at most; {report}")
    h.check(len(rows) > 10000, "next to nothing was collected")
    h.check(kinds.get("none", 0) < len(rows) // 10, f"too many without a time: {kinds}")
    # Over a socket no read is tight enough for more than hard bounds.
    if "--strict" not in arguments:
        judge_report(report)
    h.check(report["round_trips"] <= 1000 * run.report["duration_s"] + 1000, f"too many round trips: {report}")

    # The same markers get the same times from a reader that followed, but for those whose model was not final.
    with open(timed) as a, open(run.exported) as b:
        final = [{line for line in file if line.endswith(",1\n")} for file in (a, b)]
    h.check(final[0] == final[1], f"{len(final[0] ^ final[1])} rows differ between the file and the live export")
    # Without host times the file is what it always was.
    bare, _ = export(ttc, "bare.csv")
    with open(bare) as lines:
        bare_lines = list(lines)
    h.check(sorted(bare_lines[2:]) == sorted(plain_text(timed)[2:]), "device columns changed with --time host")
    got, want = h.rows(bare), h.rows(run.truth)
    h.check(sorted(got) == sorted(want), f"{len(set(want) - set(got))} missing, {len(set(got) - set(want))} extra: {sorted(set(want) ^ set(got))[:3]}")

    # Other clocks differ by one number; tt-metal's form of it holds the same relation.
    real = timed_rows(export(ttc, "real.csv", "--time", "host", "--host-clock", "realtime")[0])
    apart = {(scaled(b[-4]) - scaled(a[-4])) // 10**DECIMALS for a, b in zip(rows, real) if a[-4] and a[-1] == "1"}
    h.check(apart and max(apart) - min(apart) < 1_000_000 and min(apart) != 0, f"REALTIME less RAW: {sorted(apart)[:5]}")
    info, _ = export(ttc, "sync_device_info.csv", "--format", "sync-info")
    with open(info) as lines:
        samples = list(csv.DictReader(lines, skipinitialspace=True))
    h.check(len(samples) > 5, f"{len(samples)} rows in sync_device_info.csv")
    # A sample begins a segment of the model, all of whose times have one bound: that of the markers in it.
    bounded = sorted((int(r[5]), scaled(r[-3])) for r in rows if r[-3] and r[-1] == "1")
    begins, judged = [int(s["device"]) for s in samples], 0
    for s, until in zip(samples, [*begins[1:], None]):
        truth = true_host_ns(pieces, int(s["device"]))
        got = int(s["host_start"]) + Fraction(s["host_real"])
        first = bisect.bisect_left(bounded, (int(s["device"]), 0))
        last = len(bounded) if until is None else bisect.bisect_left(bounded, (until, 0))
        bound = max((b for _, b in bounded[first:last]), default=None)
        if bound is not None:
            judged += 1
            h.check(abs(truth - got) * 10**DECIMALS <= bound + 10**DECIMALS, f"off by {float(truth - got)} ns of {bound}: {s}")
        # Whatever was read, a line has a frequency that a card can have.
        ghz = float(s["frequency"])
        h.check(SLOWEST_GHZ <= ghz <= FASTEST_GHZ, f"{s}")
        if bound is not None and until is not None and 20 * bound < (until - int(s["device"])) / ghz * 10**DECIMALS:
            h.check(0.4 < ghz < 1.1, f"both ends are known to a twentieth of the row: {s}")
    h.check(judged > 5, f"only {judged} of {len(samples)} samples have markers behind them")

    # AICLK went along, whenever a busy machine read it.
    told = export(ttc, "telemetry.csv", "--format", "telemetry-csv")[0]
    with open(told) as lines:
        records = list(csv.DictReader(lines))
    h.check({r["AICLK [MHz]"] for r in records} <= {"0", "500", "1000"}, f"{records[:3]}")
    h.check(all(r["power [mW]"] == "" for r in records), "the emulated card reports no power")
    fill, link = ([int(r[c]) for r in records if r[c]] for c in ("log fill [ppm]", "link share [ppm]"))
    h.check(fill and 0 < max(fill) <= 1_000_000 and link and max(link) <= 1_000_000, f"{records[:3]}")
    compared = 0
    for r in records:
        piece = [p for p in pieces if p["host_ns"] <= int(r["host time [ns]"]) + 1_000_000][-1]
        near = any(abs(p["host_ns"] - int(r["host time [ns]"])) < 50_000_000 for p in pieces)
        h.check(near or round(piece["hz"] / 1e6) == int(r["AICLK [MHz]"]), f"{r} but {piece}")
        compared += not near
    h.check(compared > 0, f"no record is within a piece: {records[:3]} {pieces}")


def two():
    a, b, ttc = h.card_name(), h.card_name(), h.work("two.ttc")
    cards = [h.start("ttemu", "--name", name, "--wait-observer", "--json", *WORKLOAD, *arguments) for name, arguments in
             ((a, ("--drift-ppm", -150)),
              (b, ("--drift-ppm", 180, "--arch", "blackhole", "--aiclk", 1350, "--generation", "G3")))]
    end_well(h.start("ttcollect", "--device", f"emu:{a},emu:{b}", "--wait", "10min", "--quiet", "-o", ttc))
    pieces = [json.loads(end_well(card)[0])["clock"] for card in cards]
    rows = timed_rows(export(ttc, "two.csv", "--time", "host")[0])
    for chip in (0, 1):
        kinds, worst = judge([r for r in rows if r[0] == str(chip)], pieces[chip])
        print(f"chip {chip}: {kinds}, conditional ones off by {worst:.0f} ns at most")
        h.check(kinds.get("conditional", 0) + kinds.get("hard", 0) > 5000, f"{kinds}")


def none():
    ttc = h.work("none.ttc")
    run = RunOf(WORKLOAD, ["--no-sync", "-o", ttc]).end()
    h.check("clock" not in run.report, "--no-sync still reports a clock")
    timed, told = export(ttc, "none.csv", "--time", "host")
    rows = timed_rows(timed)
    h.check(all(r[-4:] == ["", "", "none", "0"] for r in rows) and len(rows) > 1000, "times out of nothing")
    h.check("--no-sync" in told, f"it is not reported: {told}")


def sync():
    a, b, svg = h.card_name(), h.card_name(), h.work("sync.svg")
    endless = ["--cores", 2, "--programs", 0, "--rate", 100, "--json"]
    cards = [h.start("ttemu", "--name", a, "--drift-ppm", 50, "--clock-step", "60:900", "--clock-step", "2000:1000", *endless),
             h.start("ttemu", "--name", b, "--drift-ppm", -50, *endless)]
    collector = h.start("ttcollect", "--device", "emu:" + a, "--wait", "10min", "--quiet", "--for", "5s")
    h.wait_for_card(b, cards[1])
    out, _ = end_well(h.start("ttcollect", "sync", "--device", f"emu:{a},emu:{b}", "--for", "4s", "--json", "--svg", svg))
    result = json.loads(out)
    h.check([d["spec"] for d in result["devices"]] == ["emu:" + a, "emu:" + b], out[:300])
    for device, ppm in zip(result["devices"], (50, -50)):
        print({k: v for k, v in device.items() if k not in ("segments", "aiclk_mhz")})
        taken = device["samples"] - device["wide_samples"]    # a busy machine has fewer
        h.check(len(device["segments"]) > taken / 40 > 0 and device["segments"][0][0] == 0, "next to no segments")
        h.check(device["round_trips"] <= 1000 * device["seconds"] + 1500, "too many round trips")
        h.check(device["hz"] == 0 or abs(device["drift_ppm"] - ppm) < 5, f"drift is {device['drift_ppm']}, not {ppm} ppm")
        h.check({mhz for _, mhz in device["aiclk_mhz"]} <= {900, 1000}, "AICLK is something else")
    h.check(len(result["between"]) == 1, "the two cards are not compared")
    with open(svg) as file:
        text = file.read()
    h.check(text.startswith("<svg") and text.endswith("</svg>\n") and "emu:" + a in text and "nan" not in text, "the figure")
    h.check(text.count("of the time within 100 ns") == 2 and text.count("; widest at ") == 2, "the figure lacks shares of bounds, or why the widest is wide")
    h.check(json.loads(h.run("ttcollect", "list", "--json")[1])["segments"] is not None, "list")
    table, _ = end_well(h.start("ttcollect", "sync", "--device", "emu:" + b, "--for", "1500ms"))
    h.check("emu:" + b in table and "condition" in table and "brackets" in table, table)
    for arguments, code, words in ((["-d", "emu:" + b, "-o", "x.ttc"], 2, "--svg"), (["-d", "emu:absent"], 3, "absent"),
                                   (["-d", "emu:" + b, "--for", "300ms", "--svg", "/nonexistent/x.svg"], 6, "/nonexistent")):
        got, _, err = h.run("ttcollect", "sync", *arguments)
        h.check(got == code and words in err and err.count("\n") == 1, f"sync {arguments}: {got} {err}")
    end_well(collector)
    for card in cards:
        card.terminate()
        facts, _ = end_well(card)
        h.check(json.loads(facts)["violations"] == 0, facts)


def timer():
    """The reference timer: on request, where the card has one, and its rate is the crystal's."""
    blackhole, wormhole = h.card_name(), h.card_name()
    endless = ["--cores", 2, "--programs", 0, "--rate", 100, "--json"]
    cards = [h.start("ttemu", "--name", blackhole, "--arch", "blackhole", "--drift-ppm", 70, "--timer-start", 2**32 - 50_000_000, *endless),
             h.start("ttemu", "--name", wormhole, *endless)]
    for name, card in zip((blackhole, wormhole), cards):
        h.wait_for_card(name, card)
    out, _ = end_well(h.start("ttcollect", "sync", "--device", f"emu:{blackhole},emu:{wormhole}", "--for", "3s", "--reference-timer", "--json"))
    with_one, without = json.loads(out)["devices"]
    print(with_one["reference_timer"], without["reference_timer"])
    h.check(without["reference_timer"] is None, "a Wormhole card has no timer")
    h.check(4 <= with_one["reference_timer"]["reads"] <= 8 * with_one["seconds"] + 2, "eight reads a second")
    least, most = with_one["reference_timer"]["crystal_ppm"]
    h.check(least <= 70 <= most and most - least < 20, "the crystal's rate is 70 ppm")
    table, _ = end_well(h.start("ttcollect", "sync", "--device", f"emu:{blackhole},emu:{wormhole}", "--for", "1500ms", "--reference-timer"))
    h.check(table.count("ppm against the host, by ") == 1 and table.count("no reference timer can be read") == 1, table)
    for name, reads, remark in ((blackhole, range(4, 40), False), (wormhole, range(1), True)):
        out, err = end_well(h.start("ttcollect", "--device", "emu:" + name, "--for", "2s", "--reference-timer", "--json"))
        clock = json.loads(out)["devices"][0]["clock"]
        h.check(clock["reference_timer_reads"] in reads, f"{clock}")
        h.check(("no reference timer can be read" in err) == remark, err)
    out, _ = end_well(h.start("ttcollect", "sync", "--device", "emu:" + blackhole, "--for", "600ms", "--json"))
    h.check(json.loads(out)["devices"][0]["reference_timer"] is None, "it was read without a request")
    for card in cards:
        card.terminate()
        facts, _ = end_well(card)
        h.check(json.loads(facts)["violations"] == 0, facts)


if __name__ == "__main__":
    {"steps": lambda: steps(sys.argv[2:]), "two": two, "none": none, "sync": sync, "timer": timer}[sys.argv[1]]()

#!/usr/bin/env python3
"""`ttmon profilers`: the streaming and the real-time profiler beside a running workload, recognised, named and followed without a store to the
card; attaching names what excludes it. Usage: other_profilers_test.py CASE"""
import csv
import json
import sys

import harness as h

CARD = ("--workload", "imbalanced", "--cores", 6, "--rate", 400, "--linger", "5s", "--json", "-q")


def watched(options, *more, programs=0):
    """What ttmon reports of a card, the card's own account, and its truth's path."""
    name, truth = h.card_name(), h.work("truth.csv")
    card = h.start("ttemu", "--name", name, *CARD, *options, "--programs", programs, "--truth", truth)
    h.wait_for_card(name, card)
    code, out, err = h.run("ttmon", "profilers", "--device", "emu:" + name, "--json", *more)
    h.check(code == 0, f"{options}: ends with {code}: {err}")
    attach = h.run("ttcollect", "--device", "emu:" + name, "--for", "50ms", "-q")
    if card.poll() is None:
        card.terminate()
    account = json.loads(h.finish(card)[1].splitlines()[-1])
    h.check(account["violations"] == 0 and account["index_writes"] == 0, f"the card was hurt: {account}")
    return json.loads(out), account, attach


def streaming():
    """Fill, stalls and words of the rings of each kind of relay; ttcollect names what excludes it."""
    trace = h.work("trace.json")
    for relay in ("quick-relay", "slow-relay", "no-relay"):
        found, account, (code, _, err) = watched(("--arch", "blackhole", "--streaming", relay), "--for", "1.2s", "--trace", trace)
        h.check([p["name"] for p in found["profilers"]] == ["streaming profiler"] and "TT_METAL_DEVICE_PROFILER" in found["profilers"][0]["excludes"],
                f"{found['profilers']}")
        h.check(code == 4 and "streaming profiler" in err and "TT_METAL_DEVICE_PROFILER=1" in err, f"{relay}: {code} {err}")
        h.check(len(found["streaming"]) == 6, f"{len(found['streaming'])} cores")
        lanes = [lane for core in found["streaming"] for lane in core["lanes"]]
        h.check(sum(lane["words"] for lane in lanes) > 0 and all(lane["fill"] <= lane["peak_fill"] <= 512 for lane in lanes), f"{lanes}")
        stalls = sum(lane["stalls"] for lane in lanes)
        h.check(stalls <= account["stalls"] and (stalls == 0) == (relay == "quick-relay"), f"{relay}: {stalls} of {account['stalls']} stalls")
        h.check(all(core["armed"] == (relay != "no-relay") for core in found["streaming"]), f"{relay}: {found['streaming']}")
        h.check(any(lane["overwritten"] for lane in lanes) == (relay == "no-relay"), f"{relay}: {lanes}")
        # Resident cores are found by their control blocks, and their heartbeats increase.
        places = {(f"({r['tile'][0]},{r['tile'][1]})", r["address"]) for r in account["residents"]}
        h.check({(r["core"], r["address"]) for r in found["residents"]} == places and len(places) == (0 if relay == "no-relay" else 2),
                f"{relay}: {found['residents']}, not {places}")
        h.check(all(r["state"] == "running" and r["beats"] > 0 and r["dropped"] == 0 for r in found["residents"]), f"{relay}: {found['residents']}")
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        fill = [e for e in events if e["ph"] == "C"]
        h.check({e["name"] for e in fill} == {"ring " + core["core"] for core in found["streaming"]}, f"{relay}: {events[:3]}")
        h.check(all(0 <= e["args"]["fill"] <= 512 and e["ts"] >= 0 for e in fill), "a fill that is none")


def real_time():
    """Every program's record, as the truth has it, in ttmon and in the trace; the device profiler is collected beside it."""
    trace = h.work("trace.json")
    found, account, (code, _, err) = watched(("--real-time",), "--for", "3s", "--trace", trace, programs=600)
    h.check(code == 0, f"ttcollect beside the real-time profiler ends with {code}: {err}")
    ring = found["real_time"]
    h.check([p["name"] for p in found["profilers"]] == ["real-time profiler"] and found["streaming"] == [], f"{found}")
    h.check(ring["missed"] == ring["doubtful"] == ring["restarts"] == 0 and 0 < ring["records"] <= account["real_time_records"], f"{ring} {account}")
    with open(h.work("truth.critical-path.csv")) as file:
        ends = {}
        for part in csv.DictReader(file):
            ends[int(part["run host ID"])] = int(part["end[cycles]"])
    truth = {(host_id & 0xffff, end) for host_id, end in ends.items()}    # records have 16 bits of an id
    with open(trace) as file:
        programs = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
    h.check(len(programs) == ring["programs"] > 0, f"{len(programs)} of {ring}")
    wrong = [e for e in programs if (int(e["name"].split()[1]), e["args"]["end_cycles"]) not in truth]
    h.check(not wrong, f"{wrong[:3]} are not as the truth has it")
    h.check(all(abs(e["dur"] - (e["args"]["end_cycles"] - e["args"]["start_cycles"]) / 1e3) < 0.02 * e["dur"] for e in programs), "durations at 1 GHz")


def beside_a_run():
    """The monitor's lines about both profilers, and the records as a row in Perfetto beside the collected programs, in their times."""
    name, trace, ttc, out = h.card_name(), h.work("trace.json"), h.work("run.ttc"), h.work("run.pftrace")
    card = h.start("ttemu", "--name", name, *CARD, "--real-time", "--programs", 0, "--pace")
    h.wait_for_card(name, card)
    collector = h.start("ttcollect", "--device", "emu:" + name, "-q", "-o", ttc)
    h.wait_for_collector(name, collector)

    def recorded():
        code, found, err = h.run("ttmon", "profilers", "--device", "emu:" + name, "--for", "0.7s", "--trace", trace, "--json")
        h.check(code == 0, f"{code} {err}")
        return json.loads(found).get("real_time", {"programs": 0})["programs"] > 20

    h.wait_until(recorded, "records of the real-time profiler", card)    # a ring that has just begun is not recognised
    code, shown, err = h.run("ttmon", "--once", "--profilers", "emu-" + name)
    h.check(code == 0 and "real-time profiler at " in shown and "records missed" in shown, f"{code} {shown} {err}")
    h.check("profiler at" not in h.run("ttmon", "--once", "emu-" + name)[1], "the card is searched unasked")
    collector.terminate()
    h.finish(collector)
    card.terminate()
    account = json.loads(h.finish(card)[1].splitlines()[-1])
    h.check(account["violations"] == 0 and account["index_writes"] == 0, f"the card was hurt: {account}")
    code, _, err = h.run("ttexport", "--from", ttc, "--format", "chrome", "--profilers", trace, "-o", out)
    h.check(code == 0, f"{code} {err}")
    with open(out) as file:
        events = json.load(file)["traceEvents"]
    with open(trace) as file:
        records = [e["args"] for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
    drawn = [e for e in events if e.get("cat") == "profiler record"]
    h.check(len(drawn) == len(records) > 0 and {e["args"]["record"] for e in drawn} == {r["record"] for r in records},
            f"{len(drawn)} of {len(records)} records; {err}")
    # A record is the program of its id: it ends where that does, as far as the collector got it.
    programs = [e for e in events if e.get("cat") == "program"]
    beside = sum(any(p["ts"] - 1 <= e["ts"] + e["dur"] <= p["ts"] + p["dur"] + 1 and p["args"]["host id"] & 0xffff == e["args"]["host id, 16 bits"]
                     for p in programs) for e in drawn)
    h.check(beside > 0, f"none of {len(drawn)} records is in its program: {drawn[:2]} {programs[:2]}")
    for path, words in (("/nowhere.json", "cannot be read"), (ttc, "is no trace of profilers")):
        code, _, err = h.run("ttexport", "--from", ttc, "--format", "chrome", "--profilers", path, "-o", h.work("none"))
        h.check(code == 3 and words in err and "ttmon profilers --trace" in err, f"{code} {err}")
    code, _, err = h.run("ttexport", "--from", ttc, "--profilers", trace)
    h.check(code == 2 and "--profilers is of --format perfetto and chrome and svg" in err, f"{code} {err}")


def none():
    """A card with the device profiler alone, and one in debug dump mode; a card that is not there; a trace that cannot be written."""
    found, _, _ = watched((), "--for", "0.1s")
    h.check(found["profilers"] == [] and "real_time" not in found, f"{found}")
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--profiler", "debug-dump", "--cores", 4, "--programs", 0, "--linger", "0s", "-q")
    h.wait_for_card(name, card)
    h.wait_until(lambda: "debug dump: " in h.run("ttmon", "profilers", "--device", "emu:" + name, "--no-search")[1], "debug dump is named", card)
    code, _, err = h.run("ttmon", "profilers", "--device", "emu:" + name, "--for", "0.1s", "--trace", "/nowhere/trace.json")
    h.check(code == 5 and "/nowhere/trace.json" in err, f"{code} {err}")
    card.terminate()
    h.finish(card)
    code, _, err = h.run("ttmon", "profilers", "--device", "emu:" + name)
    h.check(code == 3 and name in err, f"{code} {err}")


{f.__name__: f for f in (streaming, real_time, beside_a_run, none)}[sys.argv[1]]()

#!/usr/bin/env python3
"""`ttcollect probe`, and the short probe that every session carries."""
import json
import os

import harness as h
from run_of import RunOf

KINDS = {"register", "load", "stream L1", "stream DRAM", "re-aim", "wall clock"}


def check_rows(link):
    h.check({r["what"] for r in link["rows"]} == KINDS, f"{link}")
    loads = {(r["memory"], r["bytes"]) for r in link["rows"] if r["what"] == "load"}
    h.check(loads == {(m, b) for m in ("UC", "WC") for b in (4, 8, 16, 32, 64)}, f"{loads}")
    for r in link["rows"]:
        h.check(0 < r["samples"] and r["min_ns"] <= r["p50_ns"] <= r["p90_ns"] <= r["p99_ns"] <= r["max_ns"], f"{r}")


def watch(name):
    """What collecting costs is shown while it runs: rates from the second showing on."""
    collector = h.start("ttcollect", "--device", "emu:" + name, "--json")
    h.wait_for_collector(name, collector)
    monitor = h.start("ttmon", "emu-" + name, "--json", "--interval", "0.05s")
    first = json.loads(monitor.stdout.readline())
    h.check("footprint" not in first, f"{first}")
    busy = 0    # looks between which the collector was given a CPU
    while busy < 2:
        cost = json.loads(monitor.stdout.readline())["footprint"]
        if cost["reads_per_s"] > 0:
            h.check(cost["bytes_per_s"] > 0 and 0 < cost["link_percent"] < 150, f"{cost}")
            busy += 1
    monitor.terminate()
    monitor.wait()
    table = h.start("ttmon", "emu-" + name, "--interval", "0.05s")
    h.check(any("reads/s" in table.stdout.readline() for _ in range(200)), "no rates for people")
    table.terminate()
    table.wait()
    collector.terminate()
    code, out, err = h.finish(collector)
    h.check(code == 0 and h.device(out)["footprint"]["reads_per_s"] > 0, err)


def through_the_driver():
    """On the modelled driver: what the probe reads is on the allow-list, and nothing is left taken."""
    for arch in ("wormhole_b0", "blackhole"):
        name = h.card_name()
        card = h.start("ttemu", "--name", name, "--arch", arch, "--programs", 0, "--rate", 10, "--linger", "0s", "--quiet")
        h.wait_for_card(name, card)
        asic = f"5{os.getpid():07d}"
        h.remove_at_end(("blackhole-" if arch == "blackhole" else "wormhole-") + asic)
        code, out, err = h.run("ttcollect_on_model", name, card.pid, asic, 10, h.work("notices"), "metal",
                               "--", "probe", "--device", "0", "--samples", 20, "--json")
        h.check(code == 0, f"{arch}: exit {code}: {err}")
        check_rows(json.loads(out))
        card.terminate()
        h.check(h.finish(card)[0] == 0, "probing hurt the card")


def main():
    through_the_driver()
    capture = h.work("run.ttc")
    run = RunOf(["--cores", 2, "--programs", 60, "--pace", "--host-reads", "every:20", "--round-trip-ns", 800],
                ["-o", capture]).end()
    report = run.report
    h.check(not h.certain(report), f"{report}")
    check_rows(report["link"])
    h.check(all(r["min_ns"] >= 800 for r in report["link"]["rows"] if r["what"] != "re-aim"), "charged time is missing")
    cost = report["footprint"]
    h.check(cost["link_by"] == "probe" and 0 < cost["link_share"] < 1.5 and cost["reads_per_s"] > 0, f"{cost}")
    code, text, err = h.run("ttcollect", "info", capture, "--json")
    h.check(code == 0, err)
    session = json.loads(text)["sessions"][0]
    h.check(session["link"] == report["link"], f"the session carries {session}")
    code, text, err = h.run("ttexport", "--from", capture, "-o", h.work("run.csv"))
    h.check(code == 0, err)
    shown = h.live("emu-" + run.name)
    h.check(shown and shown["counters"]["link_bytes_per_s"] == cost["link_bytes_per_s"], shown)

    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", 10, "--linger", "0s", "--quiet")
    h.wait_for_card(name, card)
    code, out, err = h.run("ttcollect", "probe", "--device", "emu:" + name, "--samples", 20, "--json")
    h.check(code == 0 and not err, err)
    probe = json.loads(out)
    check_rows(probe)
    h.check(all(r["samples"] == 20 for r in probe["rows"]) and probe["device"] == "emu:" + name, out)
    code, out, _ = h.run("ttcollect", "probe", "-d", "emu:" + name, "--samples", 5)
    h.check(code == 0 and "stream DRAM" in out and "MB/s" in out and len(out.splitlines()) == 18, out)
    watch(name)
    card.terminate()
    h.check(h.finish(card)[0] == 0, "probing hurt the card")
    for code, words, arguments in ((2, "--device", ()), (3, "no emulated card", ("--device", "emu:absent")),
                                   (2, "--samples", ("--device", "emu:x", "--samples", 0))):
        got = h.run("ttcollect", "probe", *arguments)
        h.check(got[0] == code and words in got[2] + got[1], f"{arguments}: {got}")
    print("ok")


main()

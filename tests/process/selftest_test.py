#!/usr/bin/env python3
"""`ttcollect selftest`: every planted contradiction of the emulated card flips its line and no other; on a card without one nothing is
contradicted; nothing is written to the card; the text holds nothing personal; docs and README agree with the table."""
import getpass
import json
import os
import re
import socket
import sys

import harness as h

CONTRADICTED = 9
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
WORKLOAD = ("--cores", 8, "--programs", 0, "--rate", 600, "--host-reads", "every:30", "--landing-ns", 5000, "--generation", "G4")
GROWING = ("--cores", 8, "--programs", 0, "--rate", 600, "--landing-ns", 5000, "--generation", "G4", "--region-bytes", 960000)
AT_ONCE = ("--cores", 8, "--programs", 0, "--rate", 600, "--host-reads", "every:30", "--generation", "G4")
QUICK = ("--cores", 8, "--programs", 0, "--rate", 4000, "--host-reads", "every:4", "--generation", "G4")
IDLE = ("--profiler", "off", "--programs", 0)
LIMIT = "200s"    # in which what is planted must show

# What is planted -> the line that it flips, options of the card. None: cannot be detected read-only.
CHIP = {
    "wall-latch": ("wall-latch", IDLE),
    "node-id": ("node-id", IDLE),
    "few-windows": ("two-windows", IDLE),
    "slow-link": ("poll-in-time", IDLE),
    "flat-id-order": ("flat-ids", WORKLOAD),
    "fused-off-unsaid": (None, IDLE),
    "timer-rate": ("timer-rate", (*IDLE, "--arch", "blackhole")),
}
CLOCK = {
    "aiclk-wrong": ("aiclk", IDLE),
    "timer-latch": ("timer-latch", (*IDLE, "--arch", "blackhole", "--timer-start", 2**32 - 250_000_000)),
    "clock-back": ("clock-forward", IDLE),
    "clock-too-fast": ("clock-limit", IDLE),
    "clock-restless": ("one-change", IDLE),
    "clock-wanders": ("wander", IDLE),
    "tile-rates": ("one-pll", IDLE),
    "tile-stops": ("one-pll", IDLE),
    "wall-high": ("wall-high", (*IDLE, "--clock-start", 4 * 2**32 - 1_300_000_000)),
    "reset-unseen": ("reset-cuts", IDLE),
}
LOGS = {
    "late-landing": ("landing-time", WORKLOAD),
    "index-behind": ("index-first", AT_ONCE),
    "split-markers": ("marker-whole", GROWING),
    "log-overwritten": ("log-grows", ("--cores", 9, *WORKLOAD[2:])),    # every 16th push of 45 a program hits each lane
    "slow-reset": ("reset-write-time", WORKLOAD),
    "quick-relaunch": ("poll-deadline", QUICK),
    "run-counter-doubles": ("run-counter", WORKLOAD),
    "reset-some-cores": ("reset-all-cores", WORKLOAD),
    "addresses-early": (None, WORKLOAD),
    "dram-numbering": ("dram-numbering", WORKLOAD),
    "stale-loads": ("fresh-loads", WORKLOAD),
}
HIDDEN = {"addresses-early": ("risc-addresses",), "fused-off-unsaid": ("fused-off",)}
HONEST = {
    "wormhole": (WORKLOAD, "2s"),
    "blackhole": ((*WORKLOAD, "--arch", "blackhole"), "2s"),
    "wormhole G3": ((*WORKLOAD[:-1], "G3"), "2s"),
    "strict": ((*WORKLOAD, "--strict"), "2s"),
    "idle": (IDLE, "1s"),
    "idle blackhole": ((*IDLE, "--arch", "blackhole"), "1s"),
    "a step of the clock": ((*IDLE, "--clock-step", "900:900"), "2s"),
}


def tested(options, duration, *planted):
    """What selftest reports of a card, as JSON by line. The card must not have been hurt or written to. What is planted ends the test as soon as
    it shows, however long that takes on this host."""
    name = h.card_name()
    words = [word for one in planted for word in ("--contradict", one)]
    card = h.start("ttemu", "--name", name, *options, *words, "--linger", "0s", "--json", "-q")
    h.wait_for_card(name, card)
    code, out, err = h.run("ttcollect", "selftest", "--device", "emu:" + name, "--for", duration, "--json",
                         *(("--until-contradicted",) if duration == LIMIT else ()))
    h.check(code in (0, CONTRADICTED) and not err, f"{planted} {options}: exit {code}: {err}")
    if card.poll() is None:
        card.terminate()
    card_code, card_out, card_err = h.finish(card)
    account = json.loads(card_out.splitlines()[-1])
    h.check(account["violations"] == 0 and account["index_writes"] == 0, f"{planted}: the card was hurt: {card_err}")
    report = json.loads(out)
    h.check(report["contradicted"] == (code == CONTRADICTED), f"{planted}: exit {code}")
    h.check(not any("live:emu-" + name in line for line in h.run("ttcollect", "list")[1].splitlines()), "a ring was left behind")
    return {line["name"]: line for line in report["assumptions"]}, report


def contradicted(lines):
    return {name: line["evidence"] for name, line in lines.items() if line["verdict"] == "contradicted"}


def plant(table, only):
    listed = {line.split()[0] for line in h.run("ttemu", "--contradict", "help")[1].splitlines()}
    h.check(listed == {*CHIP, *CLOCK, *LOGS}, f"planted and known differ: {listed ^ {*CHIP, *CLOCK, *LOGS}}")
    for planted, (line, options) in table.items():
        if only and planted != only:
            continue
        lines, report = tested(options, LIMIT if line else "1s", planted)
        if line is None:
            h.check(not contradicted(lines), f"{planted}: {contradicted(lines)}")
            hidden = [name for name in HIDDEN[planted] if not lines[name]["hidden"] or lines[name]["verdict"] == "confirmed"]
            h.check(not hidden, f"{planted}: {hidden} are confirmed, or their lines do not list what cannot be detected")
            continue
        h.check(set(contradicted(lines)) == {line},
                f"{planted}: contradicted {contradicted(lines)}; {line}: {lines[line]} {report['clock']} {report['workload']}")


def honest(only):
    for name, (options, duration) in HONEST.items():
        if only and name != only:
            continue
        lines, report = tested(options, duration)
        found = contradicted(lines)
        if name == "strict":    # a load takes two switches between processes there, which is no link to poll over
            found.pop("poll-in-time", None)
        h.check(not found, f"{name}: {found}")
        sure = {"clock-forward", "node-id", "two-windows"}
        if name != "strict":    # there reading two tiles takes as long as the host lets three processes take
            sure |= {"one-pll"}
        if options[:2] != IDLE[:2]:
            sure |= {"flat-ids"}
            h.check(report["workload"]["collected"]["seconds"] > 0, f"{name}: {report['workload']}")
        unsure = {line: lines[line] for line in sure if lines[line]["verdict"] != "confirmed"}
        h.check(not unsure, f"{name}: {unsure}")


def text():
    """It is pasted into public reports."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, *WORKLOAD, "--linger", "0s", "-q")
    h.wait_for_card(name, card)
    code, out, err = h.run("ttcollect", "selftest", "--device", "emu:" + name, "--for", "1s")
    h.check(code == 0, f"{code} {err}")
    for personal in (socket.gethostname(), os.getcwd(), os.path.expanduser("~"), name, "/tmp", "/dev/"):
        h.check(personal not in out, f"the text names {personal}")
    # A process's number by its form: its digits alone can also be those of a count.
    h.check(not re.search(r"(?i)(pid|process|/proc/)\W{0,2}\d", out), "the text names a process by number")
    h.check(getpass.getuser() not in re.findall(r"\w+", out), "the text names the user")
    h.check("unverified" in out and "no store" in out, out)
    h.check(out.isascii(), "not plain ASCII")
    segments = h.run("ttcollect", "list")[1]
    collector = h.start("ttcollect", "--device", "emu:" + name, "-q")
    h.wait_for_collector(name, collector)
    beside = json.loads(h.run("ttcollect", "selftest", "--device", "emu:" + name, "--for", "0.5s", "--json")[1])
    h.check("another ttcollect" in beside["workload"]["not_collected"], f"{beside['workload']} {segments}")
    collector.terminate()
    h.finish(collector)
    card.terminate()
    h.finish(card)
    code, _, err = h.run("ttcollect", "selftest", "--device", "emu:" + name, "--for", "0.5s")
    h.check(code == 3 and name in err, f"{code} {err}")
    code, _, err = h.run("ttcollect", "selftest")
    h.check(code == 2 and "--device" in err, f"{code} {err}")


def driver():
    """Behind the model of the kernel driver: nothing is left with it, no vote, and a fused-off tile that is not marked as one is noticed."""
    for planted, expected in ((), 0), (("--contradict", "fused-off-unsaid"), CONTRADICTED):
        name = h.card_name()
        card = h.start("ttemu", "--name", name, *IDLE, *planted, "--linger", "0s", "-q")
        h.wait_for_card(name, card)
        asic = f"7{os.getpid():07d}"
        h.remove_at_end("wormhole-" + asic)
        code, out, err = h.run("ttcollect_on_model", name, card.pid, asic, 10, h.work("notices"), "metal", "--", "selftest",
                               "--device", "0", "--for", "0.5s", "--json")
        h.check(code == expected, f"{planted}: exit {code}: {err} {out}")
        lines = {line["name"]: line for line in json.loads(out)["assumptions"]}
        h.check(set(contradicted(lines)) == ({"fused-off"} if planted else set()), f"{planted}: {contradicted(lines)}")
        card.terminate()
        h.check(h.finish(card)[0] == 0, "the test hurt the card")


def table():
    """One table: what `--list` prints is in docs/selftest.md, and README names each of the drain's with its constant."""
    rows = json.loads(h.run("ttcollect", "selftest", "--list", "--json")[1])
    with open(os.path.join(ROOT, "docs/selftest.md"), encoding="utf-8") as page:
        docs = page.read()
    h.check(h.run("ttcollect", "selftest", "--list")[1] in docs, "docs/selftest.md has another table than `selftest --list`")
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as page:
        limits = page.read().split("## Known limits")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z]+-[a-z-]+)`", limits))
    names = {row["name"] for row in rows}
    h.check({n for n in named if n in names} >= {r["name"] for r in rows if r["layer"] == "drain"},
            f"README names {sorted(named & names)} only")
    for row in rows:
        lines = [line for line in limits.splitlines() if f"`{row['name']}`" in line]
        h.check(not row["constant"] or all(row["constant"] in line for line in lines), f"{row}: {lines}")


def main():
    case = sys.argv[1]
    only = sys.argv[2] if len(sys.argv) > 2 else None
    tables = {"chip": CHIP, "clock": CLOCK, "logs": LOGS}
    if case in tables:
        plant(tables[case], only)
    elif case == "honest":
        honest(only)
    else:
        {"text": text, "table": table, "driver": driver}[case]()


main()

#!/usr/bin/env python3
"""Several cards in one ttcollect. Usage: multi_test.py equal|vanish|together|all

equal     two cards of different architectures: live export of both and the one file equal what both emitted
vanish    kill -9 of one card while the other continues
together  devices named one by one start all or none
all       every card present, in a network namespace of its own so that no other cards are there
"""
import json
import os
import shutil
import subprocess
import sys
import time

import harness as h

FIRST, SECOND = (600, 900) if h.LONG else (300, 450)    # programs of two cards
PACED = ["--cores", 6, "--host-reads", "every:150", "--pace", "--quiet"]


def start_card(name, *arguments):
    return h.start("ttemu", "--name", name, *PACED, *arguments)


def live(*names):
    return ",".join("live:emu-" + n for n in names)


def devices(*names):
    return ",".join("emu:" + n for n in names)


def end_well(process, codes=(0,)):
    code, out, err = h.finish(process)
    h.check(code in codes, f"{' '.join(process.args)} ended with {code}: {err}")
    return out, err


def with_chip(rows, chip):
    """Truth has 0 in column 1; the emulated card has no number of its own."""
    return [f"{chip},{row.split(',', 1)[1]}" for row in rows]


def same(got, want, what):
    missing, extra = set(want) - set(got), set(got) - set(want)
    h.check(not missing and not extra,
            f"{what}: {len(missing)} missing, {len(extra)} extra: {sorted(missing | extra)[:3]}")
    h.check(sorted(got) == sorted(want), f"{what}: rows are repeated")
    h.check(len(want) > 1000, f"{what}: next to nothing was emitted")


def segments():
    return {s["live"]: s for s in json.loads(h.run("ttcollect", "list", "--json")[1])["segments"]}


def counters(name):
    """(state, counters) of a segment, or None while there is none."""
    shown = h.live("emu-" + name)
    return shown and (shown["state"], shown["counters"])


def wait_until(what, condition):
    h.wait_until(condition, what)


def collecting(name):
    now = counters(name)
    return now is not None and now[0] == "live" and now[1]["chunks"] > 0


def left_behind(*names):
    return [f for f in os.listdir("/dev/shm") if any(n in f for n in names)]


def equal():
    a, b = h.card_name(), h.card_name()
    truths = [h.work(n + ".truth.csv") for n in (a, b)]
    ttc, csv = h.work("both.ttc"), h.work("both.csv")
    cards = [start_card(a, "--programs", FIRST, "--truth", truths[0], "--wait-observer"),
             start_card(b, "--programs", SECOND, "--truth", truths[1], "--wait-observer",
                        "--arch", "blackhole", "--aiclk", 1350, "--generation", "G3")]
    exporter = h.start("ttexport", "--from", live(a, b), "--wait", "600s", "--follow", "-o", csv)
    h.await_its_wait(exporter)
    collector = h.start("ttcollect", "--device", "emu:" + a, "--device", "emu:" + b, "--wait", "10min", "--quiet",
                        "--json", "-o", ttc)
    report = json.loads(end_well(collector)[0])
    for card in cards:
        end_well(card)
    _, told = end_well(exporter)
    want = with_chip(h.rows(truths[0]), 0) + with_chip(h.rows(truths[1]), 1)
    same(h.rows(csv), want, "live")
    h.check("1350 MHz" in told and "--chip 1" in told, f"the second device's clock is not reported: {told}")

    # Losses that were suspected because a poll came late are the drain's business (equality_test.py).
    told_of = [(d["spec"], d["chip"], d["arch"], d["layout"], d["card_vanished"]) for d in report["devices"]]
    h.check(told_of == [("emu:" + a, 0, "wormhole_b0", "G4", False), ("emu:" + b, 1, "blackhole", "G3", False)],
            f"the report is about something else: {told_of}")
    h.check(report["left_out"] == [] and report["duration_s"] > 0, "left_out or duration_s is wrong")
    h.check([d["programs"] for d in report["devices"]] == [FIRST, SECOND], "programs are wrong")
    file_bytes = report["capture"]["bytes"]
    h.check(os.path.getsize(ttc) == file_bytes, f"the file has {os.path.getsize(ttc)} bytes, not {file_bytes}")
    h.check(file_bytes < sum(d["output"]["bytes"] for d in report["devices"]) / 4, "hardly anything was compressed")

    for what, source in (("file", [ttc]), ("remains", ["live:emu-" + a, "live:emu-" + b])):
        end_well(h.start("ttexport", *[w for s in source for w in ("--from", s)], "-o", csv))
        same(h.rows(csv), want, what)
    end_well(h.start("ttexport", "--from", ttc, "--chip", 1, "-o", csv))
    same(h.rows(csv), with_chip(h.rows(truths[1]), 1), "one chip of the file")
    with open(csv) as lines:
        head = next(lines)
    h.check("blackhole" in head and "1350" in head, f"the head is another device's: {head}")
    # Sources in the other order: each device keeps the number its collector gave it.
    end_well(h.start("ttexport", "--from", live(b, a), "-o", csv))
    same(h.rows(csv), want, "other order")
    code, _, err = h.run("ttexport", "--from", f"{ttc},live:emu-{a}", "-o", csv + "2")
    h.check(code == 3 and "same run" in err and not os.path.exists(csv + "2"), f"a run taken twice: {code} {err}")

    listed = segments()
    h.check([listed["emu-" + n]["chip"] for n in (a, b)] == [0, 1], "ttcollect list has other chip numbers")


def own_numbers():
    """Two collectors of one device each both report chip 0; an export of both distinguishes the devices."""
    a, b = h.card_name(), h.card_name()
    truths = [h.work(n + ".truth.csv") for n in (a, b)]
    csv = h.work("joined.csv")
    cards = [start_card(n, "--programs", 300, "--truth", t, "--wait-observer") for n, t in zip((a, b), truths)]
    exporter = h.start("ttexport", "--from", live(a, b), "--wait", "600s", "--follow", "-o", csv)
    h.await_its_wait(exporter)
    collectors = [h.start("ttcollect", "--device", "emu:" + n, "--wait", "10min", "--quiet") for n in (a, b)]
    for process in collectors + cards:
        end_well(process)
    _, told = end_well(exporter)
    got = h.rows(csv)
    first = int("is chip 1 in this output" in told and f"emu:{a} is chip 1" in told)  # who came first had 0
    h.check("is chip 1 in this output" in told, f"the changed number is not reported: {told}")
    same(got, with_chip(h.rows(truths[0]), first) + with_chip(h.rows(truths[1]), 1 - first), "joined")


def vanish():
    a, b = h.card_name(), h.card_name()
    truth, ttc, csv = h.work(b + ".truth.csv"), h.work("vanish.ttc"), h.work("vanish.csv")
    cards = [start_card(a, "--programs", 0, "--rate", 1000),
             start_card(b, "--programs", 0, "--rate", 1000, "--truth", truth, "--arch", "blackhole", "--wait-observer")]
    collector = h.start("ttcollect", "--device", devices(a, b), "--wait", "10min", "--quiet", "--json", "-o", ttc)
    wait_until("chunks of both cards", lambda: collecting(a) and collecting(b))
    # ttmon without a name shows every live collector, these two among them.
    out, _ = end_well(h.start("ttmon", "--once", "--json"))
    shown = {json.loads(line)["live"] for line in out.splitlines()}
    h.check({"emu-" + a, "emu-" + b} <= shown, f"ttmon shows only {shown}")

    cards[0].kill()
    h.finish(cards[0])
    wait_until("the end of the killed card's segment", lambda: counters(a)[0] == "ended")
    h.check(collector.poll() is None, "the collector ended with one of its cards")
    at_kill = counters(b)[1]["programs"]
    wait_until("programs of the other card", lambda: counters(b)[1]["programs"] > at_kill + 200)
    cards[1].terminate()
    end_well(cards[1])
    code, out, err = h.finish(collector)
    h.check(code == 7, f"the collector ended with {code}: {err}")
    h.check(f"emu:{a} went away unannounced" in err and b not in err, f"the collector printed: {err!r}")
    report = json.loads(out)["devices"]
    h.check([(d["spec"], d["card_vanished"]) for d in report] == [("emu:" + a, True), ("emu:" + b, False)],
            "the report does not name the card that vanished")
    h.check(report[0]["duration_s"] < report[1]["duration_s"], "the killed card was collected from as long")
    gone = [any(r["cause"] == "card gone" for r in d["lost"]) for d in report]
    h.check(gone == [True, False], f"losses because the card went: {gone}")
    end_well(h.start("ttexport", "--from", ttc, "-o", csv))
    got = h.rows(csv)
    same([row for row in got if row.startswith("1,")], with_chip(h.rows(truth), 1), "the other card")
    h.check(sum(row.startswith("0,") for row in got) > 0, "the file has no row of the killed card")


def refused(code, words, *arguments):
    got, out, err = h.run("ttcollect", *arguments)
    h.check(got == code, f"ttcollect {arguments}: exit {got}, expected {code}: {err}")
    lines = err.strip().splitlines()
    h.check(len(lines) == 1 and all(w in lines[0] for w in words), f"ttcollect {arguments}: {words} not in {err!r}")
    h.check(out == "", f"ttcollect {arguments} printed {out}")


def together():
    a, b, ttc = h.card_name(), h.card_name(), h.work("never.ttc")
    card = start_card(a, "--programs", 0, "--rate", 500)
    h.wait_for_card(a, card)
    refused(3, [f"'{b}'"], "-d", devices(a, b), "-o", ttc, "--quiet")
    refused(3, [f"'{b}'"], "-d", devices(b, a), "-o", ttc, "--quiet", "--wait", "100ms")
    refused(2, [f"'emu:{a}' twice"], "-d", devices(a, a))
    refused(2, [f"'emu:{a}' twice"], "-d", "emu:" + a, "-d", "emu:" + a)
    refused(2, ["all", "alone"], "-d", "all,emu:" + a)
    refused(2, ["empty name"], "-d", f"emu:{a},")
    refused(6, ["/nonexistent/x.ttc"], "-d", "emu:" + a, "-o", "/nonexistent/x.ttc", "--quiet")
    h.check(not left_behind(a, b) and not os.path.exists(ttc), f"half started: {left_behind(a, b)}")

    # The second one is another collector's: the first is not started either.
    other = start_card(b, "--programs", 0, "--rate", 500)
    owner = h.start("ttcollect", "--device", "emu:" + b, "--wait", "10min", "--quiet")
    wait_until("chunks of the owner", lambda: collecting(b))
    refused(5, [f"pid {owner.pid}", "emu-" + b], "-d", devices(a, b), "-o", ttc, "--quiet")
    h.check(not left_behind(a) and not os.path.exists(ttc), f"half started: {left_behind(a)}")
    h.check(owner.poll() is None and collecting(b), "the owner was disturbed")
    owner.terminate()
    end_well(owner)

    # --for and the card that is waited for: nothing begins before both are there.
    wait_name = h.card_name()
    both = h.start("ttcollect", "-d", devices(a, wait_name), "--wait", "10min", "--for", "300ms", "--json")
    h.wait_until(lambda: "waiting: " in both.stderr.readline(), "the collector waits for the second card", both)
    h.check(not left_behind(a), f"collecting began before both cards were there: {left_behind(a)}")
    asked = time.monotonic()
    late = start_card(wait_name, "--programs", 0, "--rate", 500)
    report = json.loads(end_well(both)[0])
    h.check([d["ended"] for d in report["devices"]] == ["the time given by --for is over"] * 2, str(report))
    # However long it takes on this machine: not from before the second card was there.
    most = time.monotonic() - asked
    h.check(0.3 <= report["duration_s"] <= most, f"--for 300ms took {report['duration_s']} s of {most} s")
    for process in (card, other, late):
        process.terminate()
        end_well(process)


def every_present():
    """In a namespace without anybody else's cards."""
    refused(3, ["no card is present"], "-d", "all")
    refused(3, ["no card is present"], "-d", "all", "--wait", "100ms")
    a, b = sorted((h.card_name(), h.card_name()))
    cards = [start_card(a, "--programs", 0, "--rate", 500), start_card(b, "--programs", 0, "--rate", 500)]
    wait_until("both cards", lambda: [c["spec"] for c in json.loads(h.run("ttcollect", "list", "--json")[1])["cards"]]
               == ["emu:" + a, "emu:" + b])
    listed = json.loads(h.run("ttcollect", "list", "--json")[1])["cards"]
    h.check([c["chip"] for c in listed] == [0, 1], f"chip numbers of list: {listed}")

    collector = h.start("ttcollect", "-d", "all", "--for", "500ms", "--json", "--quiet")
    report = json.loads(end_well(collector)[0])
    h.check([(d["spec"], d["chip"]) for d in report["devices"]] == [("emu:" + a, 0), ("emu:" + b, 1)], str(report))

    # One of the two is taken: it is left out in one sentence, the other keeps its number.
    owner = h.start("ttcollect", "-d", "emu:" + a, "--quiet")
    wait_until("chunks of the owner", lambda: collecting(a))
    ttc = h.work("rest.ttc")
    out, err = end_well(h.start("ttcollect", "-d", "all", "--for", "500ms", "--json", "--quiet", "-o", ttc))
    report = json.loads(out)
    h.check([(d["spec"], d["chip"]) for d in report["devices"]] == [("emu:" + b, 1)], str(report))
    h.check([c["spec"] for c in report["left_out"]] == ["emu:" + a], str(report["left_out"]))
    h.check(len(err.strip().splitlines()) == 1 and f"pid {owner.pid}" in err, f"printed: {err!r}")
    end_well(h.start("ttexport", "--from", ttc, "-o", h.work("rest.csv")))
    h.check({row[:2] for row in h.rows(h.work("rest.csv"))} == {"1,"}, "the file has another chip's rows")

    # Both are taken: an error, and each is printed once.
    second = h.start("ttcollect", "-d", "emu:" + b, "--quiet")
    wait_until("chunks of the second owner", lambda: collecting(b))
    code, _, err = h.run("ttcollect", "-d", "all", "--quiet")
    h.check(code == 5 and len(err.strip().splitlines()) == 2 and f"pid {owner.pid}" in err
            and f"pid {second.pid}" in err, f"exit {code}: {err!r}")
    for process in (owner, second, *cards):
        process.terminate()
        end_well(process)

    # Started before any card: takes the first that comes.
    waiting = h.start("ttcollect", "-d", "all", "--wait", "10min", "--json", "--quiet")
    card = start_card(a, "--programs", 100, "--wait-observer")
    h.check([d["spec"] for d in json.loads(end_well(waiting)[0])["devices"]] == ["emu:" + a], "another card")
    end_well(card)


def in_own_namespace():
    """Emulated cards listen on abstract sockets, which belong to a network namespace."""
    for flags in (["--net"], ["--user", "--map-root-user", "--net"]):
        command = ["unshare", *flags]
        if shutil.which("unshare") and subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            sys.exit(subprocess.run([*command, sys.executable, "-B", __file__, "every_present"]).returncode)
    h.skip("no network namespace can be made here, and --device all would take other people's cards")


if __name__ == "__main__":
    {"equal": equal, "own_numbers": own_numbers, "vanish": vanish, "together": together, "all": in_own_namespace,
     "every_present": every_present}[sys.argv[1]]()
    print("ok")

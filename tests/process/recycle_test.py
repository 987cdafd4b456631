#!/usr/bin/env python3
"""ttcollect --recycle on emulated cards: captures longer than the log. Usage: recycle_test.py CASE [PROGRAMS]

equal and its kin check that every program of a workload many times as long as the log is exported, none twice, and that
memory stays bounded.
"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import harness as h
import live_run
from run_of import RunOf

PROGRAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
FRAME_WORDS = 516    # the longest that a buffer of 512 words and an overrun make


class Run(RunOf):
    """A card, a collector with --recycle and a following exporter, from start to end."""

    def __init__(self, card, collect=(), recycle=True, code=0, meanwhile=None):
        name = h.card_name()
        self.audit = h.work(name + ".audit")
        asked = ["--recycle", "--audit", self.audit] if recycle else []
        super().__init__(card, ["--ring", "64MiB", *asked, *collect], export=(), quiet=False, name=name)
        self.peak_kb = 0
        watch = threading.Thread(target=self.watch_memory, args=(self.collector.pid,), daemon=True)
        watch.start()
        if meanwhile:
            meanwhile(self, self.collector)
        self.end(code, limit_s=1500 if PROGRAMS == 0 and sys.argv[1] == "million" else 380)
        self.recycle = self.report["recycle"]
        said = {k: self.recycle[k] for k in ("recycles", "crossed", "recovered_frames", "surprises")} if self.recycle else {}
        print(f"{self.report['programs']} programs, {self.report['markers']} markers, {len(self.report['lost'])} intervals, "
              f"fill at most {self.report['highest_log_fill']:.2f}, {said}")

    def emitted(self):
        """Bytes of the truth, while the workload runs."""
        try:
            return os.path.getsize(self.truth + ".bin")
        except FileNotFoundError:
            return 0

    def over(self):
        return not os.path.exists(self.truth + ".bin")

    def watch_memory(self, pid):
        try:
            while True:
                with open(f"/proc/{pid}/status") as status:
                    for line in status:
                        if line.startswith("VmHWM:"):
                            self.peak_kb = int(line.split()[1])
                time.sleep(0.05)   # a poll now and then; nothing waits for it
        except OSError:
            return

    def equal(self):
        truth, got = fingerprint(self.truth), fingerprint(self.exported)
        h.check(truth == got, f"the export is not the truth: {got[0]} rows of {truth[0]}")
        h.check(truth[0] > 1000, "the workload emitted next to nothing")
        h.check(h.certain(self.report) == [], f"losses reported although nothing is lost: {self.report['lost'][:3]}")
        return self

    def every_loss_reported(self):
        truth, got = h.rows(self.truth), h.rows(self.exported)
        missing, extra = set(truth) - set(got), set(got) - set(truth)
        h.check(not extra and len(got) == len(set(got)), f"{len(extra)} invented, or rows repeated: {sorted(extra)[:3]}")
        outside = h.outside_intervals(missing, self.report["lost"])
        h.check(not outside, f"{len(outside)} missing outside every interval: {sorted(outside)[:3]}")
        print(f"{len(truth)} rows, {len(missing)} missing, all reported")
        return self

    def refused(self, reason):
        said = self.recycle["refused"] or " ".join(self.recycle["cores_not_recycled"])
        h.check(reason in said, f"the reason is not reported: {said!r}")
        h.check(reason in self.err, f"nor on the terminal: {self.err!r}")
        h.check(self.recycle["recycles"] == 0 and self.card["index_writes"] == 0, "it wrote all the same")
        return self


def fingerprint(path):
    """A hash of a file's lines, independent of their order: tens of millions of them do not fit into sets."""
    lines_read, total, mixed = 0, 0, 0
    with open(path) as lines:
        next(lines), next(lines)
        for line in lines:
            key = hash(line)
            lines_read, total, mixed = lines_read + 1, (total + key) & (1 << 64) - 1, (mixed + key * key) & (1 << 64) - 1
    return lines_read, total, mixed


def runs(path):
    """(core, launch) of BRISC's rows."""
    rows = (row.split(",") for row in h.rows(path))
    return {(c[1], c[2], c[7]) for c in rows if c[3] == "BRISC"}


def equal():
    """Paced: the log is at most half full at each visit."""
    run = Run(["--pace", "24", "--cores", 8, "--programs", PROGRAMS or 2500, "--zones-per-kernel", 1, "--landing-ns", 20000],
              ["--recycle-at", "35%"]).equal()
    r = run.recycle
    h.check(r["recycles"] >= 10 and r["surprises"] == 0 and r["missing_launches"] == 0, f"recycles: {r}")
    h.check(run.report["highest_log_fill"] <= 0.5, f"a log was {run.report['highest_log_fill']} full")
    h.check(run.card["index_writes"] == r["recycles"], f"{run.card['index_writes']} stores, {r['recycles']} reported")
    lines = open(run.audit).read().splitlines()
    h.check(sum(" clear lanes " in line for line in lines) == r["recycles"], "the audit lacks a store")
    h.check("WRITES TO THE CARD" in run.err and "report will hold" in run.err, f"it does not print what it does: {run.err}")


def million():
    """64 cores, a million programs of theirs through a log of 1000, memory bounded."""
    run = Run(["--pace", "48", "--cores", 64, "--programs", PROGRAMS or 15700, "--zones-per-kernel", 0],
              ["--recycle-at", "40%"]).equal()
    h.check(run.report["programs"] * 64 >= 1_000_000 or PROGRAMS, "fewer than a million")
    h.check(run.report["highest_log_fill"] <= 0.5, f"a log was {run.report['highest_log_fill']} full")
    h.check(run.recycle["surprises"] == 0, f"surprises: {run.recycle}")
    print(f"memory at most {run.peak_kb} KB, of which the ring is 65536")
    h.check(0 < run.peak_kb < (64 + 64) * 1024, f"memory: {run.peak_kb} KB")


def rests_when_stopped():
    """A process that is stopped in a load, and loads that take long now and then: cores rested for up to 47 s in the middle of a
    recycle, although their tiles answered the next load at once."""
    seed = random.SystemRandom().randrange(1 << 16)
    print(f"seed {seed}")
    run = Run(["--pace", "24", "--cores", 4, "--programs", PROGRAMS or 1200, "--landing-ns", 20000,
               "--fault", f"hung-read:every=3000,for=5ms,seed={seed}"], ["--recycle-at", "35%"],
              meanwhile=lambda _, collector: live_run.stall(collector, seed)).equal()
    h.check(run.recycle["recycles"] >= 4, f"recycles: {run.recycle}")
    h.check(run.report["delayed_reads"] > 0, "no load was delayed")
    h.check(run.report["suspicions"] == 0, f"{run.report['suspicions']} times a tile was left alone: {run.err}")


def sits_out():
    Run(["--pace", "--cores", 6, "--programs", PROGRAMS or 1500, "--skip-cores", 10, "--skip-riscs", 20, "--landing-ns",
         20000]).equal()


def g3():
    Run(["--pace", "--generation", "G3", "--cores", 6, "--programs", PROGRAMS or 1500], ["--recycle-at", "30%"]).equal()


def blackhole():
    Run(["--pace", "--arch", "blackhole", "--cores", 6, "--programs", PROGRAMS or 1500]).equal()


def strict():
    Run(["--pace", "--strict", "--cores", 2, "--programs", PROGRAMS or 900]).equal()


def unpaced():
    run = Run(["--cores", 8, "--programs", PROGRAMS or (4000 if h.LONG else 1500)]).every_loss_reported()
    h.check(run.card["index_writes"] == run.recycle["recycles"], "stores and account differ")


def stores(audit):
    return open(audit).read().count(" clear ") if os.path.exists(audit) else 0


def held_up(run, collector):
    """Stops the collector in the middle of a recycle, until the workload has run over the log. (One that is starved anyhow
    need not be stopped.)"""
    h.wait_until(lambda: stores(run.audit) or collector.poll() is not None, "the first recycle")
    if collector.poll() is not None:
        return
    collector.send_signal(signal.SIGSTOP)
    emitted = run.emitted()   # half a log, at least
    last = [emitted, time.monotonic()]

    def ended():
        """The truth of a workload under way grows all the time. The card stays while the collector is there."""
        if run.emitted() != last[0]:
            last[:] = run.emitted(), time.monotonic()
        return time.monotonic() - last[1] > 5

    # Where the first recycle of a starved collector came late, there is less behind it.
    h.wait_until(lambda: run.emitted() >= 5 * emitted or ended() or run.over(), "four times as much, or the workload's end")
    collector.send_signal(signal.SIGCONT)


def overrun():
    """Dropped markers are in intervals, the frame count gives the number of runs, and every core is recycled again afterwards."""
    run = Run(["--cores", 2, "--programs", PROGRAMS or 5000, "--rate", 1000, "--zones-per-kernel", 1], meanwhile=held_up).every_loss_reported()
    missing = len(runs(run.truth) - runs(run.exported))
    # No count shows what came after the last poll, when the workload's host resets the cores at its end.
    h.check(0 < run.recycle["missing_launches"] <= missing, f"{missing} runs are missing, by the account {run.recycle}")
    print(f"{missing} runs are missing, {run.recycle['missing_launches']} by count")
    h.check(run.recycle["found_again"] > 0 and not run.recycle["cores_not_recycled"], f"it continues as an observer: {run.recycle}")
    lines = open(run.audit).read().splitlines()
    for core in {line.split()[2] for line in lines if "found again" in line}:
        of_it = [line for line in lines if line.split()[2] == core]
        last = max(i for i, line in enumerate(of_it) if "found again" in line)
        h.check(any(" clear lanes " in line for line in of_it[last:]), f"core {core} was not recycled after its place was found again")


def host_reads():
    """The workload's host empties the log as well: its second read ends recycling, nothing is lost in silence."""
    Run(["--pace", "--cores", 4, "--programs", PROGRAMS or 1800, "--host-reads", "every:600"]).every_loss_reported()


def refusals():
    few = ["--pace", "--cores", 3, "--programs", 500]
    Run([*few, "--no-writes"]).refused("takes no writes")
    Run([*few, "--generation", "G2", "--mailbox", "M2-2025"]).refused("G3 and G4 only")
    Run([*few, "--mode", "accumulate"], ["--mode", "accumulate"]).refused("accumulate mode")
    Run([*few, "--generation", "G3", "--mode", "trace-only", "--trace", "4:3"], ["--mode", "trace-only"]).refused("trace-only")
    Run([*few, "--noc-events", 30, "--zones-per-kernel", 8]).refused("pushed in the middle of runs")
    # Shorter than one full buffer and what must be read before a store.
    Run([*few, "--region-bytes", 2400], ["--region-bytes", 2400]).refused("its log is too short")


IN_A_CONTAINER = ("unshare", "-Urm", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && exec \"$@\"", "sh")


def until_attached(collector):
    said = ""
    while line := h.next_line(collector.stderr):
        said += line
        if "readers attach" in line:
            return said
    h.fail(f"a collector ended early: {said}")


def two_collectors():
    """Only one recycles a card. If both have the same shared memory the second does not even start; in a container of
    its own it does, is refused the right to write, reports it and reads on. Which of the two comes first is left open."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--pace", 24, "--zones-per-kernel", 1, "--json")
    first = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--recycle", "--json")
    until_attached(first)   # and has the card's segment
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--recycle", "--json", "--for", "1s")
    h.check(code == 5 and "another ttcollect" in err, f"the second collector ended with {code}: {err}")
    first.terminate()
    code, out, err = h.finish(first)
    h.check(code == 0 and h.device(out)["recycle"]["refused"] is None, f"the first was disturbed ({code}): {out} {err}")

    if subprocess.run([*IN_A_CONTAINER, "true"], capture_output=True).returncode != 0:
        print("no namespaces here: two collectors with a shared memory of their own were not tried")
    else:
        audits = [h.work(which + ".audit") for which in ("here", "there")]
        captures = [h.work(which + ".ttc") for which in ("here", "there")]
        both = [h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--recycle", "--recycle-at", "30%", "--json",
                        "--audit", audit, "-o", capture, inside=inside)
                for audit, capture, inside in zip(audits, captures, ((), IN_A_CONTAINER))]
        said = [until_attached(collector) for collector in both]
        h.wait_until(lambda: sum(map(stores, audits)) >= 3, "three recycles", card, *both)
        # Kept from a CPU for so long, the one that only observes may not have read anything yet.
        h.wait_until(lambda: all(os.path.getsize(capture) > 64 << 10 for capture in captures), "both read on", card, *both)
        for collector in both:
            collector.terminate()
        ends = [h.finish(collector) for collector in both]
        for code, _, err in ends:
            h.check(code == 0, f"a collector ended with {code}: {err}")
        reports = [h.device(out) for _, out, _ in ends]
        refused = [r for r in reports if r["recycle"]["refused"]]
        h.check(len(refused) == 1, f"{len(refused)} of two collectors only observe")
        h.check("another collector recycles" in refused[0]["recycle"]["refused"], f"the reason: {refused[0]['recycle']}")
        h.check(refused[0]["recycle"]["recycles"] == 0 and refused[0]["markers"] > 1000, f"{refused[0]['recycle']}")
        writer = next(r for r in reports if r is not refused[0])
        h.check(writer["recycle"]["recycles"] > 0, f"the other did not recycle either: {writer['recycle']}")
        at = reports.index(refused[0])
        why = said[at] + ends[at][2]
        h.check("another collector recycles" in why, f"not printed on the terminal: {why}")
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card counted violations")


def killed():
    """kill -9 of the recycler at any moment: the card continues, the next collector can read the log."""
    seed = random.SystemRandom().randrange(1 << 32)
    dice = random.Random(seed)
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 4, "--programs", 0, "--pace", "--zones-per-kernel", 1, "--json")
    stores = 0
    for _ in range(PROGRAMS or 12):
        audit = h.work(f"audit{_}")
        collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--recycle", "--recycle-at", "30%",
                            "--audit", audit, "--quiet", "--region-bytes", 48000)
        h.wait_until(lambda: os.path.exists(audit) and "clear" in open(audit).read(), "it stores something", collector)
        time.sleep(dice.random() * 0.004)   # the random moment, not a synchronisation
        collector.kill()
        h.finish(collector)
        stores += open(audit).read().count(" clear ")
    report = {"markers": 0, "sweeps": 0}
    while report["markers"] < 1000:  # in a second, but for a machine that has others to run
        h.check(report["sweeps"] < 500, "the last collector read next to nothing")
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--recycle", "--json", "--quiet", "--for", "1s")
        h.check(code == 0, f"the last collector ended with {code}: {err}")
        report = h.device(out)
    # A store during a push leaves older bytes where one frame of the lane should be (torn, RECYCLE.md). The
    # collector that would have dealt with it was killed; the next one reports those words.
    torn = [r for r in report["lost"] if r["cause"] == "unparsable"]
    h.check(len(torn) == len({(r["x"], r["y"], r["risc"]) for r in torn}) and all(r["words"] <= FRAME_WORDS for r in torn),
            f"it read words that are no frames: {torn}")
    card.terminate()
    code, out, err = h.finish(card)
    h.check(code == 0, f"the card counted violations ({code}): {err}")
    h.check(json.loads(out)["index_writes"] >= stores, "the audit has stores that the card has not counted")
    print(f"{stores} stores, seed {seed}")


def announces():
    """Without --recycle a filling log is announced early, with what can be done."""
    run = Run(["--pace", "--cores", 2, "--programs", 800], recycle=False)
    for words in ("% full", "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=4000", "MB of device DRAM", "--recycle"):
        h.check(words in run.err, f"{words!r} is not printed: {run.err}")
    h.check(run.card["index_writes"] == 0 and run.recycle is None, "it wrote without --recycle")


def usage():
    for arguments, said in ((["--recycle-at", "60%"], "--recycle"), (["--audit", "x"], "--recycle"),
                            (["--recycle", "--recycle-at", "95%"], "30% to 80%"),
                            (["--recycle", "--recycle-at", "much"], "30% to 80%")):
        code, _, err = h.run("ttcollect", "--device", "emu:none", *arguments)
        h.check(code == 2 and said in err, f"{arguments}: {code} {err}")
    card = h.card_name()
    emulated = h.start("ttemu", "--name", card, "--cores", 1, "--programs", 5, "--wait-observer")
    code, _, err = h.run("ttcollect", "--device", "emu:" + card, "--wait", "10min", "--recycle", "--audit", "/no/such/file")
    h.check(code == 6 and "/no/such/file cannot be written" in err, f"{code} {err}")
    emulated.terminate()
    h.finish(emulated)


{f.__name__: f for f in (equal, million, rests_when_stopped, sits_out, g3, blackhole, strict, unpaced, overrun, host_reads, refusals, two_collectors,
                         killed, announces, usage)}[sys.argv[1]]()

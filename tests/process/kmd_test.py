#!/usr/bin/env python3
"""ttcollect through the modelled kernel driver, beside a workload. Usage: kmd_test.py CASE

The program under test is the whole collector; only the system calls of the driver card are the model's, which ends
the process with 99 when anything is left with the driver or would have hurt silicon.
"""
import os
import signal
import socket
import subprocess
import sys

import harness as h

CASES = {}
LISTENING = "00010000"  # flags of a socket in /proc/net/unix; bound comes before
LANES = 8 * 5  # of the workload: each frame is a launch of one of them
STEP = 50  # programs
IN_STEPS = ("--programs", 0, "--programs-from-stdin")


def case(function):
    CASES[function.__name__] = function
    return function


class OnModel:
    def __init__(self, arch, name, card, *arguments, minor=10, memory="metal"):
        self.asic = f"7{os.getpid():07d}{h._serial[0] % 100:02d}"
        self.live = h.remove_at_end(("blackhole-" if arch == "blackhole" else "wormhole-") + self.asic)
        self.notices = h.work("notices-" + self.asic)
        self.process = h.start("ttcollect_on_model", name, card.pid, self.asic, minor, self.notices, memory, "--", "--device", "0",
                               "--wait", "10min", "--json", *arguments, stdin=subprocess.PIPE)

    def happen(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def held(self):
        self.happen("tell")
        return h.next_line(self.process.stdout)

    def tell_listeners(self, message):
        """As a process does that is going to reset the cards (1) or has (2)."""
        told = 0
        for name in os.listdir(self.notices):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(os.path.join(self.notices, name))
                s.send(bytes([message]))
                told += 1
        h.check(told == 1, f"{told} listeners in {self.notices}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def finish(self):
        return h.finish(self.process)


def start_card(arch, truth, *arguments):
    """The card cannot see what a collector behind the driver has read: launch() controls what runs on it."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--arch", arch, "--truth", truth, "--wait-observer", "--json",
                   "--cores", 8, "--linger", "0s", *arguments, stdin=subprocess.PIPE)
    while True:   # it must listen before the model can put it behind a node
        h.check(card.poll() is None, "the card ended")
        with open("/proc/net/unix") as sockets:
            if any(line.endswith("@ttemu." + name + "\n") and line.split()[3] == LISTENING for line in sockets):
                return name, card


def until(live, enough, *processes):
    """Until a live collector's counters satisfy `enough`. A process that ends before fails the test."""
    def reached():
        shown = h.live(live)
        return shown is not None and enough(shown["counters"])
    h.wait_until(reached, "counters of the collector", *processes)


def launch(card, collector, programs, before=0, at_once=STEP):
    """Runs the programs and closes the device. A log has room for STEP of them and more: it is full, or read by the host, only when the
    collector has what is in it, however little CPU that gets."""
    for done in range(0, programs, at_once):
        card.stdin.write(f"{at_once}\n")
        card.stdin.flush()
        until(collector.live, lambda c: c["frames"] >= (before + done + at_once) * LANES, card, collector.process)
    h.check(h.finish(card)[0] == 0, "the card did not end in order")


def rows_of(live):
    csv = h.work(live + ".csv")
    code, _, err = h.run("ttexport", "--from", "live:" + live, "-o", csv)
    h.check(code in (0, 6), f"ttexport ended with {code}: {err}")
    return h.rows(csv)


def nameless(rows):
    return [",".join(c for i, c in enumerate(row.split(",")) if i not in (10, 12, 13)) for row in rows]


def same(truth, got):
    missing, extra = set(truth) - set(got), set(got) - set(truth)
    h.check(not missing and not extra, f"{len(missing)} missing, {len(extra)} extra: {sorted(missing | extra)[:3]}")
    h.check(sorted(truth) == sorted(got), "rows are repeated")


def equal(arch, *card_arguments, minor=10, memory="metal", collect=(), programs=200):
    truth = h.work(arch + ".truth.csv")
    name, card = start_card(arch, truth, *IN_STEPS, "--rate", 400, *card_arguments)
    collector = OnModel(arch, name, card, "--verbose", *collect, minor=minor, memory=memory)
    launch(card, collector, programs)
    wanted = h.rows(truth)
    collector.process.send_signal(signal.SIGTERM)
    code, out, err = h.finish(collector.process)
    h.check(code == 0, f"ended with {code}: {err}")
    h.check("power vote" in err or minor < 6, f"the vote was not printed: {err}")
    got = rows_of(collector.live)
    collector.finish()
    if minor < 5:   # it does not name the process whose zone logs to read
        wanted, got = nameless(wanted), nameless(got)
    same(wanted, got)
    report = h.device(out)
    h.check(h.certain(report) == [], f"losses reported: {report['lost'][:3]}")
    print(f"{arch}: {len(wanted)} rows, {report['round_trips']} round trips, {report['window_moves']} re-aims")
    return report


@case
def equal_wormhole():
    equal("wormhole_b0")


@case
def equal_blackhole():
    equal("blackhole", "--generation", "G3")


@case
def equal_blackhole_numbered_otherwise():
    """The memory channels are not where tt-metal's table has them: found by their content, in every mode."""
    equal("blackhole", "--generation", "G3", memory="simulator")
    equal("blackhole", "--generation", "G3", memory="simulator", collect=["--region-bytes", "48000"])
    equal("blackhole", "--generation", "G3", "--mode", "sum", memory="simulator")


@case
def recycles():
    """The writer's own descriptor, lock and window behind the driver; twice what a log holds."""
    for arch in ("wormhole_b0", "blackhole"):
        report = equal(arch, collect=["--recycle", "--recycle-at", "30%"], programs=800)
        recycle = report["recycle"]
        h.check(recycle["refused"] is None and recycle["recycles"] >= 8 and recycle["surprises"] == 0, f"{recycle}")


@case
def equal_oldest_driver():
    equal("wormhole_b0", minor=0)


@case
def reset_ends_it_in_order():
    for what in ("reset", "unplug"):
        name, card = start_card("wormhole_b0", h.work("r.csv"), "--programs", 0, "--rate", 500)
        collector = OnModel("wormhole_b0", name, card)
        until(collector.live, lambda c: c["programs"] > 20)
        collector.happen(what)
        code, out, err = collector.finish()
        h.check(code == 7 and "went away unannounced" in err, f"{what}: {code}: {err}")
        lost = h.device(out)["lost"]
        h.check(lost and all(r["cause"] == "card gone" for r in lost), f"{what}: {lost[:3]}")
        card.terminate()
        h.finish(card)


@case
def reattach():
    """Remove and rescan: another boot of the card, with a workload of its own, in the same segment."""
    for what in ("reset", "unplug"):
        truths = [h.work(f"{what}{i}.csv") for i in (0, 1)]
        first, first_card = start_card("wormhole_b0", truths[0], *IN_STEPS, "--rate", 400)
        collector = OnModel("wormhole_b0", first, first_card, "--reattach")
        launch(first_card, collector, 150)
        collector.happen(what)
        until(collector.live, lambda c: c["card_gone_intervals"] > 0)
        # The chip comes up with other firmware running: the second emulated card.
        second, second_card = start_card("wormhole_b0", truths[1], *IN_STEPS, "--rate", 400,
                                         "--clock-start", 1000000)
        collector.happen("unplug")
        collector.happen(f"add {second} {second_card.pid}")
        launch(second_card, collector, 150, before=150)
        collector.process.send_signal(signal.SIGTERM)
        code, out, err = h.finish(collector.process)
        h.check(code == 0, f"{what}: ended with {code}: {err}")
        got = rows_of(collector.live)
        collector.finish()
        wanted = [row for path in truths for row in h.rows(path)]
        same(wanted, got)
        report = h.device(out)
        h.check(report["card_returns"] == 1 and report["epochs"] >= 1, f"{what}: {report}")
        h.check(all(r["cause"] == "card gone" for r in report["lost"]), f"{what}: {report['lost'][:3]}")


@case
def announced_reset():
    """The windows are given back before the reset, and taken again only when it is over."""
    truths = [h.work(f"announced{i}.csv") for i in (0, 1)]
    first, first_card = start_card("wormhole_b0", truths[0], *IN_STEPS, "--rate", 400)
    collector = OnModel("wormhole_b0", first, first_card, "--reattach")
    launch(first_card, collector, 150)
    h.check(collector.held().startswith("held: 2 windows, 2 descriptors, 4 mappings"), "not what it holds")
    collector.tell_listeners(1)
    until(collector.live, lambda c: c["card_gone_intervals"] > 0)
    for _ in range(1000):
        held = collector.held()
        if held.startswith("held: 0 windows, 1 descriptors, 0 mappings"):   # the workload's
            break
    else:
        h.fail(f"not let go: {held}")
    second, second_card = start_card("wormhole_b0", truths[1], *IN_STEPS, "--rate", 400, "--clock-start", 1000000)
    for what in ("reset", "unplug", f"add {second} {second_card.pid}"):
        collector.happen(what)
    held = collector.held()
    h.check(held.startswith("held: 0 windows"), f"it came back before the reset was over: {held}")
    collector.tell_listeners(2)
    launch(second_card, collector, 150, before=150)
    collector.process.send_signal(signal.SIGTERM)
    code, out, err = h.finish(collector.process)
    h.check(code == 0, f"ended with {code}: {err}")
    h.check("announced that it goes away" in err, err)
    got = rows_of(collector.live)
    collector.finish()
    same([row for path in truths for row in h.rows(path)], got)


@case
def reattach_is_ended_by_a_signal():
    name, card = start_card("wormhole_b0", h.work("s.csv"), "--programs", 0, "--rate", 500)
    collector = OnModel("wormhole_b0", name, card, "--reattach")
    until(collector.live, lambda c: c["programs"] > 20)
    collector.happen("unplug")
    until(collector.live, lambda c: c["card_gone_intervals"] > 0)
    h.check(collector.process.poll() is None, "it did not wait for the card")
    code, out, err = collector.stop()
    h.check(code == 7 and "waiting until it is back" in err, f"{code}: {err}")
    card.terminate()
    h.finish(card)


if __name__ == "__main__":
    CASES[sys.argv[1]]()

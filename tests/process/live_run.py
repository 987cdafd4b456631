"""One emulated card with its faults, a collector and a following exporter, from start to end, and the checks of it."""
import random
import signal
import threading
import time

import harness as h
from run_of import RunOf


def stall(process, seed):
    """Stops a process now and then, for up to 50 ms, until it ends: a host that gives it no CPU."""
    dice = random.Random(seed)
    while process.poll() is None:
        time.sleep(dice.uniform(0.002, 0.06))
        for send, pause in ((signal.SIGSTOP, dice.choice([0.001, 0.003, 0.005, 0.02, 0.05])), (signal.SIGCONT, 0)):
            process.send_signal(send)  # does nothing where it has been waited for
            time.sleep(pause)


def counter(name, key):
    """Of the collector of a card; 0 while there is no collector."""
    shown = h.live("emu-" + name)
    return shown["counters"][key] if shown else 0


class Run:
    """A card with faults, a collector and a following exporter, from start to end."""

    def __init__(self, faults, card=(), collect=(), collect_code=0, export_codes=(0,), card_code=0, must_strike=True,
                 stalls=None, ends=None):
        """`ends`: the card runs until the counter of that name is not zero, or the collector has ended."""
        name = h.card_name()
        unseen = h.work(name + ".unseen.csv")
        run = RunOf(["--truth-unseen", unseen, *[word for fault in faults for word in ("--fault", fault)], *card],
                    ["--ring", "64MiB", *collect], ["--anomalies"], name=name)
        if stalls is not None:
            threading.Thread(target=stall, args=(run.collector, stalls), daemon=True).start()
        if ends:
            h.wait_until(lambda: run.collector.poll() is not None or counter(name, ends) > 0, f"{ends} is counted")
            run.emulator.terminate()
        run.end(collect_code, card_code, export_codes)
        self.report, self.card, self.err, self.export_err = run.report, run.card, run.err, run.export_err
        self.truth, self.got, self.unseen = h.rows(run.truth), h.rows(run.exported), h.rows(unseen)
        self.lost = self.report["lost"]
        self.hits = {f["fault"]: f["hits"] for f in self.card.get("faults", [])}
        for fault, hits in self.hits.items():
            h.check(hits > 0 or fault == "roll-over" or not must_strike, f"{fault} never struck")
        print(f"{len(self.truth)} rows, {len(self.got)} delivered, {len(self.lost)} intervals, {self.hits}, "
              + ", ".join(f"{k} {self.report[k]}" for k in ("suspect_tiles", "suspicions", "slow_reads", "all_ones_reads",
                                                              "epochs", "retries")))

    def causes(self):
        return {record["cause"] for record in self.lost}

    def nothing_invented(self):
        extra = set(self.got) - set(self.truth)
        h.check(not extra, f"{len(extra)} invented: {sorted(extra)[:3]}")
        h.check(len(self.got) == len(set(self.got)), "rows are repeated")
        return self

    def all_delivered(self):
        self.nothing_invented()
        missing = set(self.truth) - set(self.got)
        h.check(not missing, f"{len(missing)} missing: {sorted(missing)[:3]}")
        h.check(self.lost == [], f"losses reported although nothing is lost: {self.lost[:3]}")
        h.check(len(self.truth) > 1000, "the workload emitted next to nothing")
        return self

    def nothing_missing(self):
        """Intervals are allowed: the collector cannot exclude an epoch within a gap in polling."""
        self.losses_reported()
        h.check(len(self.got) == len(self.truth), f"{len(self.truth) - len(self.got)} rows are missing")
        return self

    def losses_reported(self, but=(), least=100):
        self.nothing_invented()
        missing = set(self.truth) - set(self.got) - set(but)
        outside = h.outside_intervals(missing, self.lost)
        print(f"{len(missing)} missing, {len(but)} could not be known, {self.card.get('index_races', 0)} index races")
        h.check(not outside, f"{len(outside)} missing outside every interval: {sorted(outside)[:3]}")
        h.check(len(self.got) >= least, "next to nothing was delivered")
        return self

    def count(self, key, least=1):
        h.check(self.report[key] >= least, f"{key} is {self.report[key]}")
        return self

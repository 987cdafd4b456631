"""An emulated card, its collector and, on request, a following exporter: started and ended in one order.

Tests that need another order, or that kill a process, start their processes themselves (harness.py).
"""
import json

import harness as h


class RunOf:
    """Constructing starts the processes; end() waits for them. A test may act on the processes in between.

    emulator, collector, exporter  the processes; `exporter` is None without `export`
    truth, exported                paths of the device CSVs of card and exporter
    After end(): `card` is the JSON of ttemu, `whole_report` the JSON of ttcollect and `report` its only device;
    `card_err`, `err` and `export_err` are what card, collector and exporter wrote to stderr.
    """

    def __init__(self, card, collect=(), export=None, truth=True, quiet=True, name=None):
        """`card`, `collect`, `export`: further arguments of ttemu, ttcollect and ttexport; no exporter without the last.
        `truth`: the card runs a workload, which begins when a collector is attached, and writes what its cores emitted.
        `quiet`: ttcollect gets --quiet."""
        self.name = name or h.card_name()
        self.truth, self.exported = h.work(self.name + ".truth.csv"), h.work(self.name + ".csv")
        workload = ("--truth", self.truth, "--wait-observer") if truth else ()
        self.emulator = h.start("ttemu", "--name", self.name, "--json", *workload, *card)
        self.exporter = None
        if export is not None:
            self.exporter = h.start("ttexport", "--from", "live:emu-" + self.name, "--wait", "600s", "--follow",
                                    "-o", self.exported, *export)
            h.await_its_wait(self.exporter)
        self.collector = h.start("ttcollect", "--device", "emu:" + self.name, "--wait", "10min", "--json",
                                 *(("--quiet",) if quiet else ()), *collect)

    def end(self, collect_code=0, card_code=0, export_codes=(0,), limit_s=h.LIMIT_S):
        """Waits for the end of all; an exit code other than the given ones fails the test. `limit_s` is the collector's."""
        code, out, self.err = h.finish(self.collector, limit_s)
        h.check(code == collect_code, f"ttcollect ended with {code}, expected {collect_code}: {self.err}{out}")
        self.whole_report, self.report = json.loads(out), h.device(out)
        code, out, self.card_err = h.finish(self.emulator)
        h.check(code == card_code, f"ttemu ended with {code}, expected {card_code}: {self.card_err}")
        self.card = json.loads(out)
        if self.exporter:
            code, _, self.export_err = h.finish(self.exporter)
            h.check(code in export_codes, f"ttexport ended with {code}: {self.export_err}")
        return self

#!/usr/bin/env python3
"""A collector stays while workloads come and go on the card. Usage: workloads_test.py CASE

Each --then of ttemu loads other firmware: L1 is cleared, no profiler is there for a while, then the host sets another one up.
"""
import sys

import harness as h
from live_run import Run


def following(*workloads):
    return [word for workload in workloads for word in ("--then", workload)]


def judged(run, workloads):
    """Every marker of every workload, from the first to the last, under its own names; intervals only for missed deadlines, and
    rows may be missing in those only. (The card waits for its reader as long as that reads the core's words: one that gets hardly
    any CPU may have read them often enough, and the markers themselves not yet, when other firmware takes their place.)"""
    run.losses_reported()
    if run.report["missed_poll_deadlines"] == 0:
        run.nothing_missing()
    h.check(h.certain(run.report) == [], f"losses although the card waits: {h.certain(run.report)[:3]}")
    h.check(run.report["workloads"] == workloads, f"{run.report['workloads']} workloads were attached to")


def sizes():
    """Other generations, mailboxes, sizes of logs and cores."""
    judged(Run([], ["--pace", "--generation", "G3", "--region-bytes", 96000, "--programs", 300, "--host-reads", "every:100",
                    "--cores", 4, *following("--generation G4 --pace --region-bytes 144000 --programs 200 --cores 6",
                                             "--generation G1 --pace --programs 150 --cores 3 --zones-per-kernel 8",
                                             "--generation G2 --pace --programs 100 --cores 5 --zones-per-kernel 2")]), 4)


def modes():
    """Firmware that was built otherwise."""
    judged(Run([], ["--pace", "--programs", 200, "--cores", 4, *following(
        "--mode accumulate --pace --programs 120 --cores 4 --trace 3:2", "--mode sum --pace --programs 120 --cores 2",
        "--generation G3 --mode trace-only --trace 4:3 --pace --programs 240 --cores 4")]), 4)


def blackhole():
    judged(Run([], ["--arch", "blackhole", "--pace", "--programs", 150, "--cores", 4, "--ethernet", 1, *following(
        "--generation G3 --mailbox M2 --pace --programs 150 --cores 3 --region-bytes 64000",
        "--generation G2 --pace --programs 100 --cores 2")]), 3)


def unpaced():
    """A workload ends without waiting for its reader: what was not read before the firmware went is an interval. (The last one
    waits: one that is over before the collector attaches leaves nothing that could be known.)"""
    run = Run([], ["--programs", 800, "--cores", 6, *following(
        "--generation G3 --programs 800 --cores 6", "--generation G4 --pace --programs 200 --cores 3 --off-before 1ms")],
              export_codes=(0, 6))
    run.losses_reported(but=run.unseen)


{f.__name__: f for f in (sizes, modes, blackhole, unpaced)}[sys.argv[1]]()

#!/usr/bin/env python3
"""An exporter that reads along gets exactly what the cores emitted: usage equality_test.py paced|unpaced|full|golden|findings ..."""
import os
import subprocess
import sys

import harness as h
from run_of import RunOf


def collect(card_arguments, collect_arguments):
    """Runs card, collector and a following exporter; returns (truth rows, exported rows, collector's report)."""
    ring = [] if "--ring" in collect_arguments else ["--ring", "64MiB"]
    run = RunOf(card_arguments, [*ring, *collect_arguments], export=()).end()
    return h.rows(run.truth), h.rows(run.exported), run.report


def paced(arguments):
    """Nothing lost, nothing invented, nothing doubled; uncertain intervals only where a poll was late."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    card_arguments = ["--pace", *arguments[:cut]]
    truth, got, report = collect(card_arguments, arguments[cut + 1:])
    missing, extra = set(truth) - set(got), set(got) - set(truth)
    print(f"{len(truth)} rows, {report['epochs']} epochs, lost {len(report['lost'])}, {report['missed_poll_deadlines']} late polls, "
          f"loop {report['event_loop']}")
    h.check(not missing and not extra, f"{len(missing)} missing, {len(extra)} extra: {sorted(missing | extra)[:3]}")
    h.check(sorted(truth) == sorted(got), "rows are repeated")
    h.check(len(truth) > 1000, "the workload emitted next to nothing")
    # A core that only quick-pushes never shows its runs: a pause between two pushes may be one that was missed. Such intervals
    # are allowed on dispatch cores, and on no others.
    pushing = {tuple(row.split(",")[1:3]) for row in truth if ",PROFILER-NOC-QUICK-" in row}
    excused = pushing if "--dispatch-cores" in card_arguments else set()
    told = [r for r in report["lost"] if r["precision"] != "unknown" or (str(r["x"]), str(r["y"])) not in excused]
    certain = h.certain(report, told)
    h.check(certain == [], f"losses reported although nothing is lost: {certain[:3]}")


def unpaced(arguments):
    """Losses are reported, and nothing is invented."""
    truth, got, report = collect(arguments, [])
    missing, extra = set(truth) - set(got), set(got) - set(truth)
    outside = h.outside_intervals(missing, report["lost"])
    print(f"{len(truth)} rows, {len(missing)} missing, {len(report['lost'])} intervals, {report['epochs']} epochs")
    h.check(not extra, f"{len(extra)} invented: {sorted(extra)[:3]}")
    h.check(not outside, f"{len(outside)} missing outside every interval: {sorted(outside)[:3]}")
    h.check(len(got) == len(set(got)), "rows are repeated")


def full(arguments):
    """A collector that starts when the logs are full gets all that is in them, and reports what was dropped after it."""
    name = h.card_name()
    truth_path, csv = h.work(name + ".truth.csv"), h.work(name + ".csv")
    card = h.start("ttemu", "--name", name, "--truth", truth_path, "--cores", 4, "--programs", 0, "--rate", 2000,
                   "--zones-per-kernel", 1, "--quiet", *arguments)
    least = 4 * 5 * 500

    def look(*more):
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "--json", "--for", "500ms",
                               *more)
        h.check(code == 0, f"ttcollect ended with {code}: {err}")
        return h.device(out)

    h.wait_until(lambda: any(r["cause"] == "dropped on card" for r in look()["lost"]), "a log fills", card)
    capture = h.work(name + ".ttc")
    while (report := look("-o", capture))["markers"] < least:
        h.check(report["sweeps"] < 1000, "full logs are not read")
    card.terminate()
    code, _, err = h.finish(card)
    h.check(code == 0, f"ttemu ended with {code}: {err}")
    code, _, err = h.run("ttexport", "--from", capture, "-o", csv)
    h.check(code == 0, f"ttexport ended with {code}: {err}")
    truth, got = h.rows(truth_path), h.rows(csv)
    missing, extra = set(truth) - set(got), set(got) - set(truth)
    outside = h.outside_intervals(missing, report["lost"])
    print(f"{len(truth)} rows, {len(got)} in the logs, {len(report['lost'])} intervals")
    h.check(not extra, f"{len(extra)} invented: {sorted(extra)[:3]}")
    h.check(not outside, f"{len(outside)} missing outside every interval: {sorted(outside)[:3]}")
    h.check(all(r["from_cycles"] > 0 for r in report["lost"] if r["cause"] == "dropped on card"), "drops are reported from before the first frame on")


def golden(arguments):
    """Memory written by real firmware, served live, equals what that firmware logged."""
    images = os.path.join(h.GOLDEN, "firmware-memory") if h.GOLDEN else ""
    if not os.path.isdir(images):
        h.skip("no golden firmware memory here (TTC_GOLDEN)")
    for image in sorted(os.listdir(images)):
        directory = os.path.join(images, image)
        if not os.path.isdir(directory):
            continue
        run = RunOf(["--load", directory, *arguments], export=(), truth=False).end()
        compare = os.path.join(os.path.dirname(__file__), "compare_events.py")
        same = subprocess.run([sys.executable, compare, directory, run.exported]).returncode == 0
        losses = [[r[key] for key in ("x", "y", "risc", "epoch", "cause", "words")] for r in run.report["lost"]]
        h.check(same, f"{image} differs; {run.report['missed_poll_deadlines']} late polls, lost: {losses}")


def findings(_):
    """Memory that firmware left behind with full logs, holes and overruns: read as a directory, every event in it comes out, once,
    and each that it lacks is in a reported interval. No interval is without such an event."""
    images = os.path.join(h.GOLDEN, "findings") if h.GOLDEN else ""
    if not os.path.isdir(images):
        h.skip("no golden firmware memory here (TTC_GOLDEN)")
    compare = os.path.join(os.path.dirname(__file__), "compare_events.py")
    judged = 0
    for image in sorted(os.listdir(os.path.join(images, "memory"))):
        directory, exported = os.path.join(images, "memory", image), h.work(image + ".csv")
        code, _, err = h.run("ttexport", "--from", directory, "-o", exported)
        h.check(code == 0, f"{image}: exit {code}: {err}")
        h.check(subprocess.run([sys.executable, compare, directory, exported]).returncode == 0, f"{image} differs")
        judge = [sys.executable, os.path.join(images, "check_losses.py"), directory, h.work(image + ".losses.csv")]
        h.check(subprocess.run(judge).returncode == 0, f"{image}: its losses are not those of its memory")
        judged += 1
    h.check(judged >= 6, f"only {judged} images")
    # Served live: the card's clock is past the times that lie in its memory, which are later than a card's usual clock.
    directory = os.path.join(images, "memory", "clk_nt")
    run = RunOf(["--load", directory], export=(), truth=False).end()
    h.check(subprocess.run([sys.executable, compare, directory, run.exported]).returncode == 0, "clk_nt, served live, differs")


if __name__ == "__main__":
    {"paced": paced, "unpaced": unpaced, "full": full, "golden": golden, "findings": findings}[sys.argv[1]](sys.argv[2:])

#!/usr/bin/env python3
"""kill -9 of a collector that captures. Usage: capture_kill_test.py points | random COUNT [SEED]

After each kill the file gives everything up to its last whole block, what is left of the segment can be exported and
recovered, what is in the file is a part of what is in the segment, the account covers what is missing, and the next
start is clean.
"""
import glob
import json
import os
import random
import sys
import time

import harness as h

with_markers = [0]    # kills after which a file held anything
POINTS = ("file_begun:1", "block_packed:1", "block_packed:3", "block_written:1", "block_written:4", "before_index:1",
          "after_index:1", "after_rename:1", "after_rename:2", "file_begun:2",
          # Of the segment: made, filled, taken over by the next collector (each run here finds the remains of the last).
          "segment_named:1", "segment_built:1", "segment_ready:1", "standing_written:1", "standing_written:2",
          "ring_claimed:1", "ring_written:1", "ring_published:1", "remains_moved:1", "ring_claimed:40", "ring_written:41",
          "ring_published:42", "ring_announced:3", "segment_named:1")
LOSS_POINTS = ("loss_half_reported:1", "loss_reported:1", "loss_half_reported:12")   # of a card whose log overflows
SMALL_RING_POINTS = ("ring_padded:1", "ring_claimed:900", "ring_written:901")   # the ring has come round by then


def csv_of(source):
    """Rows and exit code; what a killed collector left is not whole, and that is reported."""
    to = h.work("out.csv")
    code, _, err = h.run("ttexport", "--from", source, "-o", to)
    h.check(code in (0, 4, 6), f"ttexport --from {source}: {code}: {err}")    # 6: the ring has come round by then
    with open(to) as lines:
        return [l.rstrip("\n") for l in lines][2:]


def intervals(source):
    code, out, err = h.run("ttreport", "loss", "--from", source, "--json")
    h.check(code == 0, f"ttreport loss --from {source}: {code}: {err}")
    return [dict(i, to_cycles=1 << 62 if i["to_cycles"] is None else i["to_cycles"])
            for d in json.loads(out)["devices"] for i in d["lost"]]


def left_nothing(live, files):
    """Killed before there was a segment: readers get a sentence, and no file was begun."""
    code, out, err = h.run("ttexport", "--from", live)
    if code in (0, 4, 6):
        return False
    h.check(code == 3 and len(err.strip().splitlines()) == 1, f"{live}: {code}: {err}")
    h.check(all(os.path.getsize(path) < 8192 for path in files), f"{files} hold more than the segment")
    return True


def judge(name, files, closely, ring_holds_all=True):
    """The files that a killed collector of this live name left behind."""
    live = "live:emu-" + name
    if left_nothing(live, files):
        return
    ring = csv_of(live)
    if closely:
        recovered_ring = h.work("ring.ttc")
        code, _, err = h.run("ttcollect", "recover", live, "-o", recovered_ring)
        h.check(code in (0, 4), f"recover {live}: {code}: {err}")
        h.check(sorted(csv_of(recovered_ring)) == sorted(ring), "the recovered segment is not what was in it")
    known = set(ring)
    with_markers[0] += any(os.path.getsize(path) > 8192 for path in files)
    for path in files:
        if os.path.getsize(path) < 8192:
            continue                     # it was killed before its first block
        rows = csv_of(path)
        code, _, err = h.run("ttcollect", "recover", path, "-o", h.work("file.ttc"))
        h.check(code in (0, 4), f"recover {path}: {code}: {err}")
        if closely:
            h.check(sorted(csv_of(h.work("file.ttc"))) == sorted(rows), "a recovered file is not what was in it")
            h.check(h.run("ttcollect", "info", h.work("file.ttc"))[0] == 0, "a recovered file is not whole")
        if not ring_holds_all:
            continue                     # what was overwritten is in the file alone
        h.check(set(rows) <= known, f"{path} holds markers that were never published")
        # A file of a row that had its index is whole: what came later is the next one's.
        whole = h.run("ttcollect", "info", path)[0] == 0
        if len(files) == 1 and rows and not whole:
            lanes = {tuple(r.split(",")[1:4]) for r in rows}
            kept = set(rows)
            missing = [r for r in ring if r not in kept and tuple(r.split(",")[1:4]) in lanes]
            outside = h.outside_intervals(missing, intervals(h.work("file.ttc")))
            h.check(not outside, f"{len(outside)} of {len(missing)} missing markers lie outside of all intervals")


def run_once(card, collector_program, options, environment, wait, closely=True, ring="8MiB", ring_holds_all=True):
    for old in glob.glob(h.work("kill*")):
        os.unlink(old)
    collector = h.start(collector_program, "--device", "emu:" + card, "--wait", "10min", "--quiet", "--ring", ring,
                        "-o", h.work("kill.ttc"), *options, env={**os.environ, **environment})
    wait(collector)
    collector.kill()
    code, _, err = h.finish(collector)
    h.check(code == -9, f"the collector ended with {code}: {err}")
    judge(card, sorted(glob.glob(h.work("kill*.ttc")) + glob.glob(h.work("kill*.part"))), closely,
          ring_holds_all)


def start_card(*options):
    name = h.card_name()
    return name, h.start("ttemu", "--name", name, "--programs", 0, "--cores", 2, "-q",
                         *(options or ("--rate", 400, "--host-reads", "every:100")), stdout=None, stderr=None)


def points():
    name, card = start_card()
    for point in POINTS:
        rotating = ("--rotate", "250ms") if point.startswith(("after_rename", "before", "after_index")) or point.endswith(
            "begun:2") else ()
        run_once(name, "ttcollect_at_points", rotating, {"TTC_KILL_AT": point}, lambda c: c.wait(h.LIMIT_S))
    for point in SMALL_RING_POINTS:
        run_once(name, "ttcollect_at_points", (), {"TTC_KILL_AT": point}, lambda c: c.wait(h.LIMIT_S), ring="256KiB",
                 ring_holds_all=False)
    for point in LOSS_POINTS:
        losing_name, losing_card = start_card("--rate", 2000)   # its log is not emptied
        run_once(losing_name, "ttcollect_at_points", (), {"TTC_KILL_AT": point}, lambda c: c.wait(h.LIMIT_S))
        losing_card.kill()
    # After all of that the next start is clean.
    collector = h.start("ttcollect", "--device", "emu:" + name, "--quiet", "--for", "300ms", "-o", h.work("kill.ttc"))
    code, _, err = h.finish(collector)
    h.check(code == 0, f"the start after the kills: {code}: {err}")
    card.kill()


def random_moments():
    count = int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    dice = random.Random(seed)
    print(f"{count} kills, seed {seed}")
    name, card = start_card()

    def wait(collector):
        path = h.work("kill.ttc")
        deadline = time.monotonic() + h.LIMIT_S
        while not glob.glob(h.work("kill*")):
            h.check(collector.poll() is None and time.monotonic() < deadline, "nothing is captured")
            time.sleep(0.001)
        if dice.random() < 0.5:   # half of them after the first block, however long it takes
            h.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 8192, "a block is written", collector)
        time.sleep(0.45 * dice.random())   # the random moment, not a synchronisation; a block is made each 0.2 s

    for i in range(count):
        run_once(name, "ttcollect", ("--durable", "100ms") if dice.random() < 0.3 else (), {}, wait, i % 10 == 0)
    card.kill()
    print(f"{with_markers[0]} files held markers")
    h.check(with_markers[0] > count // 10, "hardly any kill hit a file with markers")


points() if sys.argv[1] == "points" else random_moments()

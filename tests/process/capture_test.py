#!/usr/bin/env python3
"""Captures as users make them: files, rows of files, recordings of a flight recorder, recovery. One case a test."""
import glob
import json
import os
import signal
import sys
import time

import harness as h
from run_of import RunOf

SMALL = ("--cores", 4, "--programs", 400, "--host-reads", "every:150", "--pace", 64)


def emulate(name, *more):
    return h.start("ttemu", "--name", name, *more, stderr=None)


def collect(name, *more):
    return h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--json", "--quiet", *more)


def done(process, *codes):
    code, out, err = h.finish(process)
    h.check(code in (codes or (0,)), f"{process.args} ended with {code}: {err}")
    return out, err


def csv_of(source, *more):
    to = h.work("out.csv")
    code, _, err = h.run("ttexport", "--from", source, "-o", to, *more)
    h.check(code == 0, f"ttexport --from {source}: {code}: {err}")
    with open(to) as lines:
        return lines.read().splitlines()


def captured(*options, emulator=SMALL):
    """Path of the capture and what else is known of a whole run."""
    path = h.work("run.ttc")
    return path, RunOf(emulator, ["-o", path, "--ring", "16MiB", *options]).end()


def info(path, *codes):
    code, out, err = h.run("ttcollect", "info", path, "--json")
    h.check(code in (codes or (0,)), f"info {path}: {code}: {err}")
    return json.loads(out)


def losses(source, *codes):
    code, out, err = h.run("ttreport", "loss", "--from", source, "--json")
    h.check(code in (codes or (0,)), f"ttreport loss --from {source}: {code}: {err}")
    return json.loads(out)


def whole():
    for options in ((), ("--plain",)):
        path, run = captured(*options)
        truth = open(run.truth).read().splitlines()
        rows = csv_of(path)
        h.check(sorted(rows) == sorted(truth), "the capture and the truth differ")
        h.check(rows == csv_of("live:emu-" + run.name), "the capture and the ring differ")
        h.check(run.whole_report["capture"]["dropped_bytes"] == 0, "blocks were dropped")
        facts = info(path)
        h.check(facts["ended_in_order"] and facts["markers"] == run.report["markers"], facts)
        h.check(facts["bytes_per_marker"] < 2.5, facts)
        environment = facts["sessions"][0]["environment"]
        h.check(environment["host"]["kernel"] and environment["host"]["cpus"] > 0 and environment["collector"]["version"] and
                "ttemu" in environment["workload"]["command"], environment)
        text = h.run("ttcollect", "info", path)[1]
        h.check("  workload " in text and environment["host"]["kernel"] in text, text)
        h.check(h.certain(run.report) == [], "a loss without a cause")
        h.check(len(losses(path)["devices"][0]["lost"]) == len(run.report["lost"]), "the capture has other losses")


def filters():
    path, _ = captured()
    rows = csv_of(path)[2:]
    col = [r.split(",") for r in rows]
    cycles = sorted(int(c[5]) for c in col)
    low, high = cycles[len(cycles) // 3], cycles[len(cycles) // 2]
    h.check(csv_of(path, "--cycles", f"{low}..{high}")[2:] == [r for r, c in zip(rows, col) if low <= int(c[5]) <= high],
            "--cycles")
    h.check(csv_of(path, "--core", "1,2", "--core", "1,3")[2:] ==
            [r for r, c in zip(rows, col) if (c[1], c[2]) in (("1", "2"), ("1", "3"))], "--core")
    h.check(csv_of(path, "--risc", 0, "--risc", 4)[2:] == [r for r, c in zip(rows, col) if c[3] in ("BRISC", "TRISC_2")],
            "--risc")
    # Events have numbers, of which some are what the names of zones are hashed to.
    for zone in {c[10] for c in col} - {""}:
        h.check(csv_of(path, "--zone", zone)[2:] == [r for r, c in zip(rows, col) if c[10] == zone], f"--zone {zone}")
    for nothing in (("--zone", "NO_SUCH"), ("--chip", 77), ("--between", "500s..600s"), ("--host-id", 4_000_000_000)):
        code, _, err = h.run("ttexport", "--from", path, *nothing)
        h.check(code == 0 and "no marker passes the filters" in err, f"{nothing}: {code}: {err}")
    first, second = csv_of(path, "--between", "..20ms")[2:], csv_of(path, "--between", "20ms..")[2:]
    h.check(sorted(first + second) == sorted(rows) or set(first) | set(second) == set(rows), "--between")
    h.check(0 < len(csv_of(path, "--host-id", 7)[2:]) < len(rows), "--host-id")


def recover():
    path, _ = captured()
    rows = csv_of(path)
    size = os.path.getsize(path)
    for cut in (size - 1, size // 2, 9000):
        with open(path, "rb") as whole_file, open(h.work("cut.ttc"), "wb") as to:
            to.write(whole_file.read(cut))
        info(h.work("cut.ttc"), 4)
        done(h.start("ttcollect", "recover", h.work("cut.ttc")), 4)
        facts = info(h.work("cut.recovered.ttc"))
        h.check(facts["ended_in_order"], facts)
        got = csv_of(h.work("cut.recovered.ttc"))
        h.check(set(got) <= set(rows) and (cut < size - 1 or got == rows), f"cut at {cut}")
        lost = losses(h.work("cut.recovered.ttc"))["devices"]
        lost = lost[0]["lost"] if lost else []
        given = set(got)
        missing = [r for r in rows[2:] if r not in given] if got else []
        if lost or missing:
            mine = [dict(i, to_cycles=1 << 62 if i["to_cycles"] is None else i["to_cycles"]) for i in lost]
            h.check(not h.outside_intervals(missing, mine), f"cut at {cut}: markers are missing outside of all intervals")
    # A damaged block at the very beginning or end leaves no chunk beside it, and is missing all the same.
    path, _ = captured(emulator=SMALL + ("--rate", 400))   # a block is made each 0.2 s
    rows, size = csv_of(path), os.path.getsize(path)
    whole_data = open(path, "rb").read()
    def number(at):
        return int.from_bytes(whole_data[at:at + 4], "little")
    chunked = [at for at in range(0, size, 4096) if whole_data[at:at + 4] == b"tblk" and whole_data[at + 6] == 1]
    blocks = [at for at in chunked if number(at + 48)]   # those that hold markers
    describing = [at for at in chunked if number(at + 96) & 1 << 2]   # those that hold a session
    h.check(len(blocks) > 1, f"{path} has {len(blocks)} blocks")
    for at in (blocks[0], blocks[-1]):
        data = bytearray(whole_data)
        data[at + 130] ^= 0x10
        with open(h.work("edge.ttc"), "wb") as to:
            to.write(data)
        code, _, err = h.run("ttcollect", "recover", h.work("edge.ttc"))
        h.check(code == 4 and "missing: " in err, f"block at {at}: {code}: {err}")
        def marker(row):   # without its name; names and the head of the CSV were in the first block
            return tuple(row.split(",")[1:6])
        text = csv_of(h.work("edge.recovered.ttc"))
        headless = "what describes its run" in h.run("ttexport", "--from", h.work("edge.recovered.ttc"))[2]
        h.check(headless == (not text[0].startswith("ARCH")) == (describing == [at]), f"block at {at}: {text[0]}")
        given = {marker(r) for r in text}
        missing = [r for r in rows[2:] if marker(r) not in given]
        h.check(missing, f"block at {at} held nothing")
        for source, codes in ((h.work("edge.recovered.ttc"), (0,)), (h.work("edge.ttc"), (4,))):
            mine = [dict(i, to_cycles=1 << 62 if i["to_cycles"] is None else i["to_cycles"])
                    for i in losses(source, *codes)["devices"][0]["lost"]]
            h.check(not h.outside_intervals(missing, mine), f"{source}, block at {at}: missing outside of all intervals")
    data = bytearray(whole_data)
    data[size // 2] ^= 0x10
    with open(h.work("damaged.ttc"), "wb") as to:
        to.write(data)
    done(h.start("ttcollect", "recover", h.work("damaged.ttc")), 4)
    info(h.work("damaged.recovered.ttc"))
    code, _, err = h.run("ttcollect", "recover", "/dev/null")
    h.check(code == 3 and "not a ttcollect capture" in err, f"{code} {err}")
    # What a recovery made needs none.
    done(h.start("ttcollect", "recover", path, "-o", h.work("again.ttc")))
    h.check(csv_of(h.work("again.ttc")) == rows, "a recovery of a whole file changed it")


def flight():
    name = h.card_name()
    card = emulate(name, "--cores", 4, "--programs", 0, "--rate", 500, "--host-reads", "every:100", "--wait-observer")
    base = h.work("flight.ttc")
    collector = collect(name, "--flight", "8MiB", "--trigger", "zone>1us", "--trigger-every", "1h", "--trigger", "exit",
                        "--post", "50ms", "-o", base)
    wait_until(lambda: os.path.exists(h.work("flight.0001.ttc")), "the trigger wrote nothing")
    collector.send_signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(h.work("flight.0002.ttc")), "the signal wrote nothing")
    out, _ = done(h.start("ttcollect", "snapshot", "emu-" + name, "-o", h.work("snap.ttc"), "--last", "1s", "--json"))
    h.check(json.loads(out)["markers"] > 0, out)
    h.check(not os.path.exists(base), "something was written without a request")
    card.terminate()
    done(card)
    report = json.loads(done(collector, 0, 7)[0])
    h.check(len(report["recordings"]) == 2, report["recordings"])  # `exit` came within the hour
    h.check("took" in report["recordings"][0]["why"] and "SIGUSR1" in report["recordings"][1]["why"], report["recordings"])
    for path in sorted(glob.glob(h.work("flight.0*.ttc"))) + [h.work("snap.ttc")]:
        h.check(info(path)["markers"] > 0, path)
        csv_of(path)


def beside():
    """Losses of a device CSV stand in a table of their own beside it, and it is the same CSV."""
    name, path = h.card_name(), h.work("lost.ttc")
    card = emulate(name, "--cores", 2, "--programs", 0, "--rate", 500, "--host-reads", "every:100", "--wait-observer",
                   "--fault", "unplug:after=300ms")
    done(collect(name, "-o", path), 7)
    card.kill()
    h.finish(card)
    size = os.path.getsize(path)
    with open(path, "rb") as whole_file, open(h.work("lost.cut.ttc"), "wb") as to:
        to.write(whole_file.read(size - 4096))       # without its index
    for source in (path, h.work("lost.cut.ttc"), "live:emu-" + name):
        csv, table = h.work("out.csv"), h.work("out.losses.csv")
        code, _, err = h.run("ttexport", "--from", source, "-o", csv)
        h.check(code in (0, 4) and table in err, f"{source}: {code}: {err}")
        h.check(all(r.count(",") == 14 for r in open(csv).read().splitlines()[1:]), "a row of another form in the CSV")
        rows = open(table).read().splitlines()[2:]
        want = losses(source, 0, 4)["devices"][0]["lost"]
        h.check(len(rows) == len(want) > 0, f"{source}: {len(rows)} rows, {len(want)} intervals")
        h.check({tuple(map(int, r.split(",")[1:3])) for r in rows} == {(i["x"], i["y"]) for i in want}, rows)
        text = h.run("ttexport", "--from", source)[1]
        h.check(text == open(csv).read(), "beside a file the CSV is another one")
        # The folder of tt-metal's tools has it beside both of its logs.
        code, _, err = h.run("ttreport", "files", source, "-o", h.work("files"), "--no-date")
        h.check(code in (0, 4), f"files of {source}: {code}: {err}")
        for folder in (".logs", "reports"):
            log = h.work(f"files/{folder}/profile_log_device")
            h.check(open(log + ".losses.csv").read() == open(table).read(), f"{folder} has other losses")
            h.check(open(log + ".csv").read() == text, f"{folder} has another log")
    # Played into a ring that holds a tenth of it, a later reader still has the whole account, and its own loss. How much comes of a card whose
    # logs fill up between two host reads does not depend on speed.
    name, path = h.card_name(), h.work("full.ttc")
    card = emulate(name, "--cores", 2, "--programs", 1000, "--zones-per-kernel", 30, "--host-reads", "every:200", "--pace", "--wait-observer")
    done(collect(name, "-o", path), 0)
    h.finish(card)
    prefix = f"emu-t{os.getpid()}-played-"   # the harness removes what begins so
    _, err = done(h.start("ttcollect", "play", path, "--speed", "max", "--prefix", prefix, "--ring", "256KiB"))
    live = err.split("live:")[1].split()[0]
    told = losses("live:" + live, 0, 4)["devices"][0]["lost"]
    h.check(any(r["cause"] == "ring lapped" for r in told), "what the ring had overwritten is no loss of this reader")
    told = [r for r in told if r["cause"] != "ring lapped"]
    h.check(told == losses(path)["devices"][0]["lost"], f"played, the account is another one: {told}")
    shown = h.live(live)["lost"]
    h.check(sum(c["intervals"] for c in shown.values()) == len(told), f"ttmon shows other losses: {shown}")
    # Nothing lost: no table, and none of an earlier export.
    whole_run, _ = captured()
    h.check(h.run("ttexport", "--from", whole_run, "-o", h.work("out.csv"))[0] == 0, "export")
    h.check(len(open(h.work("out.losses.csv")).read().splitlines()) == 2, "a table of an earlier export was left")
    h.check(h.run("ttexport", "--from", whole_run, "-o", h.work("new.csv"))[0] == 0, "export")
    h.check(not os.path.exists(h.work("new.losses.csv")), "a table of nothing")
    h.check(h.run("ttreport", "files", h.work("new.csv"), "-o", h.work("files"), "--no-date")[0] == 0, "files of a log")
    for folder in (".logs", "reports"):
        h.check(not os.path.exists(h.work(f"files/{folder}/profile_log_device.losses.csv")),
                f"{folder} kept the losses of an earlier run beside the log of this one")


def triggers():
    """What a flight recorder does about a card that stops, is reset, or loses; `zone` is in flight()."""
    # No host reads and no full log: nothing is lost but what the fault takes, however late the collector looks.
    running = ("--cores", 2, "--programs", 300, "--rate", 20, "--wait-observer")
    pauses = ("--cores", 2, "--programs", 0, "--rate", 0.5, "--wait-observer")
    for trigger, says, card_does in (("silent>100ms", "no marker from ", pauses),
                                     ("reset", "the card ", (*running, "--fault", "reset:after=20000")),
                                     ("loss", "loss: card gone on ", (*running, "--fault", "unplug:after=20000"))):
        name, base = h.card_name(), h.work(trigger[:4] + ".ttc")
        card = emulate(name, *card_does)
        collector = collect(name, "--flight", "8MiB", "--trigger", trigger, "--trigger-every", "1h", "-o", base)
        wait_until(lambda: os.path.exists(h.work(trigger[:4] + ".0001.ttc")), f"{trigger} wrote nothing")
        if card_does is pauses:
            collector.terminate()
        report = json.loads(done(collector, 0, 7)[0])
        card.kill()
        h.finish(card)
        h.check(len(report["recordings"]) == 1 and report["recordings"][0]["why"].startswith(says), report["recordings"])
        h.check(info(h.work(trigger[:4] + ".0001.ttc"))["markers"] > 0, trigger)


def wait_until(condition, otherwise):
    deadline = time.monotonic() + h.LIMIT_S
    while not condition():
        h.check(time.monotonic() < deadline, otherwise)
        time.sleep(0.01)


def play():
    path, _ = captured()
    rows = csv_of(path)
    prefix = f"emu-t{os.getpid()}-play-"   # the harness removes what begins so
    for speed in ("max", "20"):
        _, err = done(h.start("ttcollect", "play", path, "--speed", speed, "--prefix", prefix, "--ring", "64MiB"))
        live = "live:" + err.split("live:")[1].split()[0]
        h.check(csv_of(live) == rows, f"played at {speed} it is another run")
    out, _ = done(h.start("ttmon", "top", "--from", path, "--once", "--json"))
    top = json.loads(out)
    h.check(top["markers"] == len(rows) - 2 and top["zones"][0]["ns"] >= top["zones"][1]["ns"] > 0, out[:200])
    code, _, err = h.run("ttcollect", "play", "/dev/null")
    h.check(code == 3, f"{code} {err}")


def row_of_files():
    name, path = h.card_name(), h.work("row.ttc")
    card = emulate(name, "--cores", 8, "--programs", 0, "--rate", 2000, "--host-reads", "every:200", "--wait-observer")
    collector = collect(name, "-o", path, "--rotate", "300ms", "--ring", "32MiB")
    wait_until(lambda: len(glob.glob(h.work("row.0*.ttc"))) >= 3, "no row of files")
    collector.terminate()
    report = json.loads(done(collector)[0])
    card.terminate()
    h.finish(card)
    files = sorted(glob.glob(h.work("row.0*.ttc")))
    h.check(report["capture"]["files"] == files, f"{report['capture']} {files}")
    h.check(not glob.glob(h.work("*.part")), "a part was left")
    rows = []
    for f in files:
        h.check(len(info(f)["sessions"]) == 1, f"{f} does not know its device")
        rows += csv_of(f)[2:]
    h.check(sorted(rows) == sorted(csv_of("live:emu-" + name)[2:]), "the files together are not the run")


def full_disk():
    """A file system of its own, as small as that; and one that cannot be written."""
    small = h.work("small")
    os.mkdir(small)
    if os.system(f"mount -t tmpfs -o size=64k tmpfs {small} 2>/dev/null") != 0:
        h.skip("mounting is not allowed here")
    try:
        path = os.path.join(small, "run.ttc")
        run = RunOf(SMALL, ["-o", path, "--ring", "16MiB"]).end(collect_code=6)
        h.check("No space left" in run.err, run.err)
        got = set(csv_of_damaged(path))
        rows = csv_of("live:emu-" + run.name)
        missing = [r for r in rows[2:] if r not in got]
        h.check(missing and got, "the disk was not full")
        h.check(not h.outside_intervals(missing, run.report["output"]["lost"]),
                "markers are missing outside of what was reported as lost")
    finally:
        os.system(f"umount {small}")
    name = h.card_name()
    card = emulate(name, "--cores", 2, "--programs", 0, "--rate", 100)
    code, _, err = h.finish(collect(name, "-o", "/proc/nothing/run.ttc"))
    h.check(code == 6 and "cannot be written" in err, f"{code} {err}")
    card.terminate()
    h.finish(card)


def missing_is_accounted(name, path, lost):
    """Markers that are in the ring and not in the file lie in intervals; gives back how many there are."""
    got, rows = set(csv_of_damaged(path)), csv_of_damaged("live:emu-" + name)[2:]
    missing = [r for r in rows if r not in got]
    h.check(got <= set(csv_of_damaged("live:emu-" + name)), "the file holds markers that were never published")
    h.check(not h.outside_intervals(missing, lost), "markers are missing outside of what was reported as lost")
    return len(missing)


def in_file(path):
    return [dict(i, to_cycles=1 << 62 if i["to_cycles"] is None else i["to_cycles"])
            for i in losses(path, 0, 4)["devices"][0]["lost"]]


def slow_disk():
    """One that needs 400 ms a block for good: blocks are dropped by rule, the drain does not wait."""
    for keep in ("oldest", "newest"):
        name, path = h.card_name(), h.work(keep + ".ttc")
        card = emulate(name, "--cores", 12, "--programs", 2500, "--host-reads", "every:500", "--pace", 64, "--wait-observer")
        out, _ = done(h.start("ttcollect_at_points", "--device", "emu:" + name, "--wait", "10min", "--json", "--quiet", "-o", path,
                                "--ring", "64MiB", "--memory", "8MiB", "--keep", keep,
                                env={**os.environ, "TTC_PAUSE_AT": "block_written:400"}))
        done(card)
        report = json.loads(out)
        missing = missing_is_accounted(name, path, in_file(path))
        dropped = report["capture"]["dropped_bytes"]
        h.check((missing > 0) == (dropped > 0), f"{missing} markers are missing, {dropped} bytes were dropped")
        h.check(report["capture"]["most_memory"] <= 9 << 20, report["capture"])
        h.check(info(path)["ended_in_order"], "it did not end in order")


def file_limit():
    """RLIMIT_FSIZE, which some quotas are, met in the middle of a run: an error of a write, not the end of the run."""
    import resource
    name, path = h.card_name(), h.work("limit.ttc")
    card = emulate(name, "--cores", 4, "--programs", 0, "--rate", 500, "--host-reads", "every:150", "--wait-observer")
    collector = collect(name, "-o", path, "--ring", "16MiB")
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 8192, "nothing is captured")
    size = os.path.getsize(path)
    resource.prlimit(collector.pid, resource.RLIMIT_FSIZE, (size + 4096, size + 4096))
    wait_until(lambda: markers_of(name) > 40000, "the card stands still")
    collector.terminate()
    out, err = done(collector, 6)
    card.kill()
    h.finish(card)
    h.check("File too large" in err, err)
    h.check(missing_is_accounted(name, path, json.loads(out)["devices"][0]["output"]["lost"]) > 0, "no limit was met")


def markers_of(name):
    shown = h.live("emu-" + name)
    return shown["counters"]["markers"] if shown else 0


def removed():
    """Removed underneath: a sentence names it, and the file is begun again with all that a reader must know."""
    name, path = h.card_name(), h.work("gone.ttc")
    card = emulate(name, "--cores", 4, "--programs", 0, "--rate", 500, "--host-reads", "every:150", "--wait-observer")
    collector = collect(name, "-o", path, "--ring", "32MiB")
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 8192, "nothing is captured")
    os.unlink(path)
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 16384, "it was not begun again")
    collector.terminate()
    out, err = done(collector)
    card.kill()
    h.finish(card)
    report = json.loads(out)
    h.check(any("was removed while it was written" in n for n in report["capture"]["remarks"]), report["capture"])
    h.check(info(path)["ended_in_order"] and len(info(path)["sessions"]) == 1, "the new file is not complete")
    ring = csv_of("live:emu-" + name)
    h.check(set(csv_of(path)) < set(ring), "the new file holds what the ring does not")


def read_only():
    """A file system that cannot be written: refused at once, with one sentence, and nothing else is touched."""
    place = h.work("ro")
    os.mkdir(place)
    if os.system(f"mount -t tmpfs -o ro,size=64k tmpfs {place} 2>/dev/null") != 0:
        h.skip("mounting is not allowed here")
    try:
        name = h.card_name()
        card = emulate(name, "--cores", 2, "--programs", 0, "--rate", 100)
        code, _, err = h.finish(collect(name, "-o", os.path.join(place, "run.ttc")))
        h.check(code == 6 and "Read-only file system" in err and len(err.strip().splitlines()) == 1, f"{code} {err}")
        card.kill()
        h.finish(card)
    finally:
        os.system(f"umount {place}")


def csv_of_damaged(source):
    to = h.work("out.csv")
    code, _, err = h.run("ttexport", "--from", source, "-o", to)
    h.check(code in (0, 4), f"{code} {err}")
    return open(to).read().splitlines()


globals()[sys.argv[1]]()

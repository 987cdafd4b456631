#!/usr/bin/env python3
"""A ring that was overwritten before a reader came: an interval for every lane, a sentence and an exit code for every reader."""
import json
import os
import signal

import harness as h
from run_of import RunOf


def intervals(capture_or_live):
    """Of all lanes, as `ttreport loss` has them."""
    code, out, err = h.run("ttreport", "loss", "--from", capture_or_live, "--json")
    h.check(code in (0, 4), f"ttreport loss: {code} {err}")
    lost = [r for device in json.loads(out)["devices"] for r in device["lost"]]
    for r in lost:
        r["to_cycles"] = r["to_cycles"] if r["to_cycles"] is not None else 1 << 62
    return lost, code, err


def missing_rows(truth, got):
    h.check(set(got) <= set(truth), "rows were invented")
    return set(truth) - set(got)


def lapped_before_reading():
    """A reader that comes late got what the ring still held, with exit code 0 and without a message; recover reported that nothing is missing."""
    run = RunOf(["--cores", 4, "--programs", 600, "--host-reads", "every:100", "--pace", 64], ["--ring", "256KiB"]).end()
    live = "live:emu-" + run.name
    truth = h.rows(run.truth)
    code, _, err = h.run("ttexport", "--from", live, "-o", run.exported)
    h.check(code == 6, f"a late ttexport ended with {code}: {err}")
    for word in ("had been overwritten", "--ring", "-o", "is gone"):
        h.check(word in err, f"'{word}' is not in: {err}")
    gone = missing_rows(truth, h.rows(run.exported))
    h.check(len(gone) > 1000, f"only {len(gone)} rows were overwritten: the test tests nothing")
    h.check(os.path.exists(run.exported[:-4] + ".losses.csv"), "there is no table of losses")
    lost, code, err = intervals(live)
    h.check(code == 4 and "had been overwritten" in err, f"ttreport loss: {code} {err}")
    h.check(not h.outside_intervals(gone, lost), "a missing row is in no interval")
    h.check(any(r["cause"] == "ring lapped" for r in lost), f"causes: {set(r['cause'] for r in lost)}")

    recovered = h.work("recovered.ttc")
    code, _, err = h.run("ttcollect", "recover", live, "-o", recovered)
    h.check(code == 4 and "had been overwritten" in err and "nothing is missing" not in err, f"recover: {code} {err}")
    lost, _, _ = intervals(recovered)
    h.check(not h.outside_intervals(gone, lost), "a row that the recovered file lacks is in none of its intervals")

    code, out, err = h.run("ttmon", "emu-" + run.name, "--once")
    h.check(code == 0 and "had been overwritten" in out and "nothing lost\n" not in out, f"ttmon: {code} {out} {err}")
    code, out, err = h.run("ttcollect", "snapshot", "emu-" + run.name, "-o", h.work("s.ttc"))
    h.check(code == 0 and "had been overwritten" in err, f"snapshot: {code} {out} {err}")
    code, out, err = h.run("ttexport", "--from", h.work("s.ttc"), "-o", os.devnull)
    h.check("chunks after its run" in err, f"the export of a snapshot: {code} {err}")
    code, out, err = h.run("ttcollect", "snapshot", "emu-" + run.name, "--last", "64KiB", "-o", h.work("s.ttc"))
    h.check(code == 0 and "overwritten" not in err, f"a snapshot of the last only: {code} {out} {err}")
    code, out, err = h.run("ttmon", "top", live, "--once")
    h.check("had been overwritten" in err, f"ttmon top: {code} {err}")
    for form in ("perfetto", "chrome"):
        path = h.work("out." + form)
        code, _, err = h.run("ttexport", "--from", live, "--format", form, "-o", path)
        with open(path, "rb") as file:
            h.check(code == 6 and b"markers lost" in file.read(), f"{form}: {code} {err}")


def from_now():
    """--from-now prints no message that the beginning is missing."""
    run = RunOf(["--cores", 4, "--programs", 0, "--rate", 3000, "--host-reads", "every:100"], ["--ring", "256KiB"])
    h.wait_for_collector(run.name, run.collector)
    h.wait_until(lambda: "overwritten" in h.run("ttmon", "emu-" + run.name, "--once", "--json")[1], "the ring goes round", run.collector)
    outputs = [h.work("now.csv"), h.work("all.csv")]
    readers = [h.start("ttexport", "--from", "live:emu-" + run.name, "--follow", "-o", path, *flags)
               for path, flags in zip(outputs, (["--from-now"], []))]
    for path in outputs:
        h.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 1 << 16, path, run.collector, *readers)
    run.emulator.terminate()
    run.end()
    (now, _, now_err), (late, _, late_err) = map(h.finish, readers)
    h.check(late == 6 and "had been overwritten" in late_err, f"without --from-now: {late} {late_err}")
    # A reader that falls behind on a busy machine misses chunks, and reports that; the beginning was not requested.
    h.check(now == 0 or now == 6 and ("missed while reading" in now_err or "was too slow" in now_err), f"--from-now: {now} {now_err}")
    h.check("had been overwritten" not in now_err, f"--from-now: {now_err}")
    h.check(set(h.rows(outputs[0])) <= set(h.rows(run.truth)), "rows were invented")
    for words, flags in (("add --follow", ["--from", "live:x", "--from-now"]),
                         ("of live sources", ["--from", "x.ttc", "--follow", "--from-now"])):
        code, _, err = h.run("ttexport", *flags)
        h.check(code == 2 and words in err, f"{flags}: {code} {err}")


def waiting_ignored_signals():
    """An export that waits for a source which does not come ends at the signal, and leaves no output."""
    output = h.work("never.csv")
    never = ("--from", f"live:emu-{h.card_name()}", "--wait", "600s")
    for end, arguments in ((signal.SIGTERM, ("-o", output)), (signal.SIGTERM, ("--format", "tracy", "--listen", 0)),
                           (signal.SIGINT, ("--format", "tracy", "--listen", 0, "--once"))):
        reader = h.start("ttexport", *never, *arguments)

        def asleep():
            with open(f"/proc/{reader.pid}/stat", encoding="utf-8") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "S"
        h.wait_until(asleep, "the reader waits", reader)
        reader.send_signal(end)
        code, _, err = h.finish(reader)
        h.check(code == -end, f"{arguments}: ended with {code}: {err}")
        h.check(not os.path.exists(output), "an output was left behind")


def main():
    {"lapped": lapped_before_reading, "from_now": from_now, "waiting": waiting_ignored_signals}[h.sys.argv[1]]()
    print("ok")


main()

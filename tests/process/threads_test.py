#!/usr/bin/env python3
"""Compares the output of programs with several threads to that with one, byte for byte. Usage: threads_test.py exports|damaged|live|reports|image|stopped

exports   every format that is written, of a capture with losses, data and dispatch cores; 1 to 8 threads, filters, gzip, several sources
damaged   a capture with a page that is another one, and one that is cut: the same output, sentences and exit code
live      what a collector that was killed left in its ring: the same for every number of threads
reports   every report on a capture
image     a directory of firmware memory (TTC_GOLDEN)
stopped   an output that takes no more: the same exit code and sentence; a signal and a reader that goes away: it ends; a kill: no file
"""
import fcntl
import gzip
import os
import re
import select
import signal
import sys

import harness as h
from run_of import RunOf

SERVED = {"tracy", "prometheus"}
THREADS = (1, 2, 3, 8)
# Formats whose text is made by several threads.
SHARED = ("device-csv", "chrome", "perfetto")


def capture(programs=150, *card):
    name = h.card_name()
    path = h.work(name + ".ttc")
    RunOf(["--cores", 4, "--dispatch-cores", 1, "--programs", programs, "--host-reads", "every:30", *card], ["-o", path, "--ring", "1MiB"],
          name=name).end()
    return path


def written_formats():
    code, _, err = h.run("ttexport", "--from", "x", "--format", "nonsense")
    h.check(code == 2, f"a wrong format ended with {code}")
    return [name for name in re.search(r"it takes ([^;]*);", err).group(1).split(", ") if name not in SERVED]


def outcome(*command, output):
    """Exit code, stderr without the output's name, and the bytes of the output."""
    for path in (output, output + ".losses.csv"):
        if os.path.exists(path):
            os.unlink(path)
    code, out, err = h.run(*command)
    content = b""
    if os.path.exists(output):
        with open(output, "rb") as file:
            content = file.read()
    return code, err.replace(output, "OUT"), out, content


def same_for_all(what, output, *command, of=lambda content: content, may_be_empty=False, expected=0):
    first = None
    for threads in THREADS:
        code, err, out, content = outcome(*command, "--threads", threads, output=output)
        result = (code, err, out, of(content))
        if first is None:
            first = result
            h.check(code == expected and (content or out or may_be_empty), f"{what}: ended with {code} and {len(content)} bytes: {err}")
        h.check(result == first, f"{what}: {threads} threads differ: exit code {code} and {first[0]}, {len(content)} bytes, {err} and {first[1]}")
    return first[3]


def rows_of_database(path):
    """All rows of a database, but for the moment of its making."""
    import sqlite3
    with sqlite3.connect(path) as database:
        return [line for line in database.iterdump() if "made_at" not in line]


def exports():
    ttc, other = capture(), capture(60, "--pace", "--perf-counters", "--noc-events", 20)
    sizes = {}    # of the whole one: what of the other is left depends on how much of its ring was lapped
    for kind in written_formats():
        output = h.work("out." + kind)
        if kind == "sqlite":
            same_for_all(kind, output, "ttexport", "--from", ttc, "--format", kind, "-o", output, of=lambda _, path=output: rows_of_database(path))
            continue
        # If the ring was lapped between any two programs' ends, no program is whole, and there is no line of one.
        same_for_all(kind, output, "ttexport", "--from", ttc, "--format", kind, "-o", output, may_be_empty=kind == "ops-json")
    output = h.work("out.paced")
    for kind in ("ops-json", "perfetto", "chrome", "svg", "device-csv"):
        sizes[kind] = len(same_for_all(kind + " of a whole capture with events", output, "ttexport", "--from", other, "--format", kind, "-o", output))
    h.check(sizes["device-csv"] > 100_000 and sizes["perfetto"] > 100_000, f"the capture has next to nothing: {sizes}")
    output = h.work("out")
    for what, arguments in {
            "filtered": ("--format", "device-csv", "--risc", "1", "--time", "host"),
            "two cards": ("--format", "perfetto", "--from", other),
            "anomalies": ("--format", "device-csv", "--anomalies", "--keep-duplicates"),
            "redacted": ("--format", "chrome", "--redact"),
    }.items():
        same_for_all(what, output, "ttexport", "--from", ttc, *arguments, "-o", output)
    for kind in SHARED:
        command = ("ttexport", "--from", other, "--format", kind, "-o", output)
        plain = same_for_all(kind, output, *command)
        zipped = same_for_all(kind + ", gzip", output, *command, "--gzip")
        h.check(gzip.decompress(zipped) == plain, f"{kind}: the gzip stream holds something else")
    same_for_all("standard output", output, "ttexport", "--from", ttc)


def damaged():
    ttc = capture(2000, "--pace")    # some seconds of blocks
    with open(ttc, "rb") as file:
        whole = file.read()
    changed, cut = h.work("changed.ttc"), h.work("cut.ttc")
    page = len(whole) // 2 // 4096 * 4096    # blocks are padded to pages, so that each holds a part of one
    with open(changed, "wb") as file:
        file.write(whole[:page] + bytes(byte ^ 0x10 for byte in whole[page:page + 4096]) + whole[page + 4096:])
    with open(cut, "wb") as file:
        file.write(whole[:len(whole) * 2 // 3])
    output = h.work("out")
    for kind in SHARED:
        for source in (changed, cut):
            same_for_all(f"{kind} of {os.path.basename(source)}", output, "ttexport", "--from", source, "--format", kind, "-o", output, expected=4)


def live():
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 4, "--programs", 100000, "--pace", "--wait-observer", "--quiet")
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "--json", "--ring", "16MiB")
    h.wait_until(lambda: ((h.live("emu-" + name) or {}).get("counters") or {"chunks": 0})["chunks"] > 200, "chunks of the collector", collector)
    collector.kill()
    h.finish(collector)
    card.kill()
    h.finish(card)
    output = h.work("out")
    for kind in SHARED:
        for packed in ((), ("--gzip",)):
            content = same_for_all(f"{kind} {packed} of remains", output, "ttexport", "--from", "live:emu-" + name, "--format", kind, *packed,
                                   "-o", output, expected=4)
            h.check(len(content) > 5_000, f"{kind}: {len(content)} bytes")


def reports():
    ttc = capture(80, "--pace")
    output = h.work("out")
    for what, arguments in {
            "ops": ("ops", ttc, "--csv", output),
            "ops as text": ("ops", ttc),
            "kernels": ("kernels", ttc),
            "heatmap": ("heatmap", ttc),
            "steps": ("steps", ttc),
            "html": ("html", ttc, "-o", output),
    }.items():
        # A page has the second in which it was made.
        same_for_all(what, output, "ttreport", *arguments, of=lambda page: re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", b"", page))


def image():
    images = os.path.join(h.GOLDEN, "firmware-memory") if h.GOLDEN else ""
    if not os.path.isdir(images):
        h.skip("no golden firmware memory here (TTC_GOLDEN)")
    output = h.work("out")
    for source in sorted(filter(lambda name: os.path.isdir(os.path.join(images, name)), os.listdir(images)))[:3]:
        same_for_all(source, output, "ttexport", "--from", os.path.join(images, source), "-o", output)


def stopped():
    ttc = capture(300, "--pace")    # of one whose ring was lapped there may be nothing but a head
    for kind in SHARED:
        for packed in ((), ("--gzip",)):
            full = []
            for threads in THREADS:
                code, _, err = h.run("ttexport", "--from", ttc, "--format", kind, *packed, "-o", "/dev/full", "--threads", threads)
                full.append((code, err))
            h.check(full[0][0] == 5 and full[0][1].count("\n") == 1 and len(set(full)) == 1, f"{kind} {packed}, a full device: {full}")
    for threads in THREADS:
        reader, writer = os.pipe()    # that is not emptied, and holds a page
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        process = h.start("ttexport", "--from", ttc, "--threads", threads, stdout=writer)
        # A signal before the pipe is full ends the exporter as it should, with 0.
        h.wait_until(lambda full=writer: not select.select([], [full], [], 0)[1], "an exporter that waits in its write", process)
        process.send_signal(signal.SIGTERM)
        os.close(reader)
        os.close(writer)
        code, _, _ = h.finish(process)
        h.check(code != 0, f"{threads} threads: ended with {code} although its reader had gone")
    for kind in SHARED:
        killed(ttc, kind)


def has_written(process, least):
    """Whether it has passed so many bytes to write(), or has ended."""
    try:
        with open(f"/proc/{process.pid}/io") as file:
            return process.poll() is not None or int(re.search(r"wchar: (\d+)", file.read()).group(1)) >= least
    except OSError:    # it ends
        return True


def killed(ttc, kind):
    """A kill in the middle of the output leaves the file that was there, or nothing."""
    whole, output = h.work("whole"), h.work("killed")
    code, _, err = h.run("ttexport", "--from", ttc, "--format", kind, "-o", whole)
    h.check(code == 0, f"{kind} ended with {code}: {err}")
    for threads in THREADS:
        process = h.start("ttexport", "--from", ttc, "--format", kind, "-o", output, "--threads", threads)
        while not has_written(process, os.path.getsize(whole) // 2):
            pass
        process.kill()
        code, _, _ = h.finish(process)
        h.check(code == -signal.SIGKILL or os.path.exists(output), f"{kind}, {threads} threads: ended with {code} and left no file")
        if os.path.exists(output):    # it was in place before the kill
            with open(whole, "rb") as expected, open(output, "rb") as file:
                h.check(file.read() == expected.read(), f"{kind}, {threads} threads: half a file")
            os.unlink(output)


if __name__ == "__main__":
    {"exports": exports, "damaged": damaged, "live": live, "reports": reports, "image": image, "stopped": stopped}[sys.argv[1]]()
    print("ok")

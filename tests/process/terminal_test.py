#!/usr/bin/env python3
"""Names of kernels, cards and files are foreign: on a terminal every program shows them, and none is obeyed by it.

What a terminal was given raw before: a device CSV that ttexport wrote to it, and the control characters above U+007F in JSON.
"""
import errno
import os
import pty
import re
import subprocess

import harness as h
from run_of import RunOf

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj"


def shown(tool, *arguments):
    """(exit code, bytes) of a program whose three streams are a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([os.path.join(h.BIN, tool), *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
                          env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"}) as process:
        os.close(theirs)
        text = bytearray()
        try:
            while more := os.read(ours, 1 << 16):
                text += more
        except OSError as e:
            h.check(e.errno == errno.EIO, e)    # no process has the terminal open any more
        os.close(ours)
    return process.returncode, bytes(text)


def hash16(text):
    """Of a zone, as the compiler's note has it: FNV-1a, folded (tt_metal/hostdevcommon/api/hostdevcommon/common_values.hpp and
    tools/profiler/kernel_profiler.hpp of tt-metal)."""
    value = 2166136261
    for byte in text:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return (value & 0xFFFF) ^ value >> 16


def hostile_note(wanted):
    """A zone of one of the `wanted` numbers, with a hostile name and file."""
    for line in range(1, 1 << 20):
        note = f"{HOSTILE},{HOSTILE}.cpp,{line},KERNEL_PROFILER".encode()
        if hash16(note) in wanted:
            return note
    return h.fail("no zone has a number of these")


def hostile_capture():
    """A capture with zones of a hostile name."""
    plain = RunOf(["--cores", 1, "--programs", 4], ["--no-sync"]).end()
    numbers = {int(row.split(",")[4]) & 0xFFFF for row in h.rows(plain.truth)}
    logs = h.work("home/generated/profiler/.logs")
    os.makedirs(logs)
    with open(os.path.join(logs, "zone_src_locations.log"), "wb") as log:
        log.write(b"kernel.cpp:1:1: note: '#pragma message: " + hostile_note(numbers) + b"'\n")
    capture = h.work("hostile.ttc")
    RunOf(["--cores", 1, "--programs", 20, "--pace"], ["-o", capture, "--metal-home", h.work("home")]).end()
    return capture


def main():
    os.chdir(h.work(""))
    capture = hostile_capture()
    code, out, err = h.run("ttexport", "--from", capture, "-o", h.work("log.csv"))
    with open(h.work("log.csv"), encoding="utf-8") as log:
        h.check(code == 0 and HOSTILE in log.read(), f"the capture has no hostile name, or a file's names were changed: {err}")
    link = HOSTILE.replace("/", "_") + ".ttc"
    os.symlink(capture, link)
    seen = 0
    for command in (["ttexport", "--from"], ["ttexport", "--format", "chrome", "--from"], ["ttexport", "--format", "perfetto", "--from"],
                    ["ttexport", "--follow", "--from"], ["ttreport", "kernels"], ["ttreport", "kernels", "--csv", "-"],
                    ["ttreport", "kernels", "--json", "-"], ["ttreport", "steps", "--json", "-"], ["ttreport", "ops"], ["ttreport", "ops", "--csv", "-"],
                    ["ttreport", "loss"], ["ttreport", "loss", "--json"], ["ttreport", "steps"], ["ttreport", "timeline", "-o", "-"], ["ttreport", "html", "-o", "-"],
                    ["ttreport", "heatmap"], ["ttcollect", "info"], ["ttcollect", "info", "--json"],
                    ["ttcollect", "recover", "-o", "again.ttc"], ["ttmon", "top", "--once", "--from"], ["ttcollect", "list"], ["ttcollect", "list", "--json"]):
        for source in (capture, link):
            if command[1] == "list" and source == link:
                continue
            code, text = shown(*command, *(() if command[1] == "list" else (source,)))
            # The sequences of the program's own display of progress, and the line ends of a terminal.
            ours = re.sub(rb"\r\n|\r(\x1b\[K)?|\x1b\[K", lambda m: b"\n" if m.group() == b"\r\n" else b"", text)
            for sign in ours.decode("utf-8", "surrogateescape"):
                number = ord(sign)
                obeyed = (number < 0x20 and sign not in "\n\t") or 0x7F <= number < 0xA0 or 0x202A <= number <= 0x202E \
                    or 0xDC80 <= number <= 0xDCFF
                h.check(not obeyed, f"{command} gives the terminal U+{number:04X}: {text[:300]!r}")
            seen += b"owned" in text
    h.check(seen > 15, f"only {seen} of the commands showed the name")
    code, text = shown("ttexport", "--gzip", "--from", capture)
    h.check(code == 5 and b"is a terminal" in text, f"--gzip on a terminal: {code} {text!r}")
    print("ok")


main()

#!/usr/bin/env python3
"""The ABI of libttcollect.so.0 that linked programs depend on: its symbols, and functions and rows as the stored dump has them.

A change that is meant is stored by `abi_test.py --store`; one that breaks programs raises the SONAME first."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from harness import BIN, check, skip, work

BUILD = os.path.dirname(BIN)
SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
READER = os.path.join(SOURCES, "tools/reader")
STORED = os.path.join(SOURCES, "tests/data/abi/libttcollect.so.0.abi")
HEADERS = os.path.join(READER, "include/ttcollect")


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def symbols():
    """Those of the map, with its version, and no others."""
    with open(os.path.join(READER, "libttcollect.map")) as script:
        expected = set(re.findall(r"^    (ttcollect_\w+);", script.read(), re.M))
    lines = call("nm", "-D", "--defined-only", os.path.join(BUILD, "lib/libttcollect.so.0")).splitlines()
    found = {line.split()[2] for line in lines if line.split()[1] != "A"}
    check(found == {f"{name}@@LIBTTCOLLECT_0" for name in expected} and len(expected) > 10, f"{found} {expected}")


def dump():
    """The C ABI alone, compiled with the names of types. Its implementation is not part of it."""
    with open(os.path.join(BUILD, "compile_commands.json")) as commands:
        words = next(shlex.split(e["command"]) for e in json.load(commands) if "ttc_table_reader.dir" in e["command"])
    flags = []
    for word, following in zip(words, words[1:]):
        flags += [word] if word.startswith(("-I", "-D", "-std")) else [word, following] if word == "-isystem" else []
    library, out = work("libttcollect.so.0"), work("now.abi")
    call("g++", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-Wl,-soname,libttcollect.so.0",
         f"-Wl,--version-script={READER}/libttcollect.map", *flags, os.path.join(READER, "reader.cpp"), "-o", library)
    with open(out, "w") as file:
        text = call("abidw", "--exported-interfaces-only", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                    "--drop-private-types", "--drop-undefined-syms", "--headers-dir", HEADERS, library)
        file.write(text.replace(SOURCES + "/", ""))
    return out


def differences(old, new):
    done = subprocess.run(["abidiff", old, new], capture_output=True, text=True)
    check(done.returncode & 3 == 0, f"abidiff: {done}")
    return done.stdout if done.returncode else ""


def main():
    symbols()
    if not shutil.which("abidw") or not shutil.which("g++"):
        skip("libabigail or g++ is not there: functions and rows were not compared")
    now = dump()
    if "--store" in sys.argv:
        shutil.copy(now, STORED)
    check(not differences(STORED, now), f"the ABI is another than {STORED}: {differences(STORED, now)}")
    with open(STORED) as stored:
        text = stored.read()
    longer = text.replace("name='ttcollect_marker' size-in-bits='512'", "name='ttcollect_marker' size-in-bits='576'")
    check(longer != text and text.count("<class-decl name='ttcollect_") > 10, "the stored dump has no rows")
    changed = work("changed.abi")
    with open(changed, "w") as file:
        file.write(longer)
    check(differences(changed, now), "a row of another size was not noticed")


if __name__ == "__main__":
    main()

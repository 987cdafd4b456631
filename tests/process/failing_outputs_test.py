#!/usr/bin/env python3
"""Every kind of file that a program leaves, on a disk that takes so many bytes and no more.

A file is there whole, or what was there before is; the exit code shows which. An export is never without its table
of losses: a full disk could leave the first and not the second. Usage: failing_outputs_test.py [SEED].
"""
import os
import random
import resource
import shutil
import subprocess
import sys

import harness as h
from run_of import RunOf

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 16)
SIZES = 7       # of each kind, drawn, beside the smallest and the largest
OLD = b"what an earlier run left"


def kinds(capture):
    """(what it is, command, files that it leaves or nothing where a run without a limit shows them)."""
    export = ("ttexport", "--from", capture)
    for form in ("device-csv", "sync-info", "telemetry-csv", "perfetto", "chrome", "svg"):
        losses = ["o.losses.csv"] if form == "device-csv" else []
        yield form, (*export, "--format", form, "-o", "o.csv"), ["o.csv", *losses]
        if form in ("device-csv", "perfetto"):
            yield f"{form}, threads", (*export, "--format", form, "--threads", "3", "-o", "o.csv"), ["o.csv", *losses]
            yield f"{form}, gzip", (*export, "--format", form, "--gzip", "-o", "o.csv"), ["o.csv", *losses]
    yield "capture", ("ttcollect", "recover", capture, "-o", "o.ttc"), ["o.ttc"]
    report = ("ttreport",)
    yield "loss", (*report, "loss", capture, "-o", "o"), ["o"]
    yield "loss, JSON", (*report, "loss", capture, "--json", "-o", "o"), ["o"]
    yield "kernels", (*report, "kernels", capture, "--csv", "o"), ["o"]
    yield "kernels, JSON", (*report, "kernels", capture, "--json", "o"), ["o"]
    yield "ops", (*report, "ops", capture, "--csv", "o.csv"), ["o.csv", "o_stacked.csv", "o_stacked.png"]
    yield "ops, JSON", (*report, "ops", capture, "--json", "o"), ["o"]
    yield "steps", (*report, "steps", capture, "--json", "o"), ["o"]
    yield "diff", (*report, "diff", capture, capture, "--json", "o"), ["o"]
    yield "timeline", (*report, "timeline", capture, "-o", "o.svg"), ["o.svg"]
    yield "heatmap", (*report, "heatmap", capture, "-o", "o.svg"), ["o.svg"]
    yield "picture", (*report, "heatmap", capture, "-o", "o.png"), ["o.png"]
    yield "page", (*report, "html", capture, "-o", "o.html"), ["o.html"]
    yield "folder", (*report, "files", capture, "-o", ".", "-n", "of", "--no-date"), None


def run(directory, command, bytes_allowed=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_allowed, bytes_allowed))
    done = subprocess.run([os.path.join(h.BIN, command[0]), *command[1:]], cwd=directory, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=h.LIMIT_S,
                          preexec_fn=limit if bytes_allowed is not None else None)
    return done.returncode, done.stderr


def content(directory):
    files = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, directory)] = file.read()
    return files


def fresh(directory, names):
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    for name in names:
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(OLD)


def judge(what, names, whole, old, code, err, left):
    """`left`: what is in the directory after the run. `whole`: after a run without a limit; None: its bytes differ each time."""
    h.check(code in (0, 5, 6), f"{what}: ended with {code}: {err}")
    h.check(code == 0 or err.strip(), f"{what}: {code} without a word")
    h.check(set(left) <= set(names), f"{what}: {code} left {sorted(left)}")
    if code == 0:
        h.check(set(left) == set(whole), f"{what}: success, and {sorted(set(whole) - set(left))} is not there")
    for name, got in left.items():
        new = got != OLD
        h.check(new or name in old, f"{what}: {name}")
        h.check(not new or got == whole[name], f"{what}: {code} left {len(got)} bytes of {name}, whole are {len(whole[name])}")
        h.check(new or code != 0, f"{what}: success, and {name} is that of an earlier run")
    if "o.csv" in left and left["o.csv"] != OLD and "o.losses.csv" in names:
        h.check(left.get("o.losses.csv", OLD) != OLD, f"{what}: {code} left an export without its losses")


def try_kind(what, command, names, dice):
    directory = h.work("kind")
    fresh(directory, [])
    code, err = run(directory, command)
    whole = content(directory)
    named, names = names is not None, names or sorted(whole)
    h.check(code == 0 and set(whole) <= set(names) and names[0] in whole, f"{what}: {code} {sorted(whole)} {err}")
    failed = 0
    sizes = {len(file) for file in whole.values() if file}
    for size in sorted(sizes):
        for allowed in sorted({0, 1, size - 1, *(dice.randrange(size) for _ in range(SIZES // len(sizes)))}):
            old = names if named and dice.random() < 0.5 else []
            fresh(directory, old)
            code, err = run(directory, command, allowed)
            failed += code != 0
            judge(f"{what} with {allowed} bytes (seed {SEED})", names, whole, old, code, err, content(directory))
    h.check(failed > 2, f"{what}: no limit was reached")
    # A directory in the way of the losses.
    if "o.losses.csv" in names:
        fresh(directory, ["o.csv"])
        os.mkdir(os.path.join(directory, "o.losses.csv"))
        code, err = run(directory, command)
        os.rmdir(os.path.join(directory, "o.losses.csv"))
        h.check(code == 5 and content(directory) == {"o.csv": OLD}, f"{what}: losses cannot be written: {code} {err}")
    return failed


def main():
    dice = random.Random(SEED)
    print(f"seed {SEED}")
    capture = h.work("source.ttc")
    # Chunks that a small ring held no longer when it was saved are losses.
    run_of = RunOf(["--cores", 1, "--programs", 700, "--pace", "--host-reads", "every:100"], ["--ring", "256KiB"]).end()
    code, _, err = h.run("ttcollect", "recover", "live:emu-" + run_of.name, "-o", capture)
    h.check(code == 4 and "nothing is missing" not in err, f"recover: {code} {err}")
    with open(h.work("topology.json"), "w", encoding="utf-8") as beside:
        beside.write("[" + "1," * (1 << 20) + "1]")    # of the folder, the largest of its files, and a copy
    for what, command, names in kinds(capture):
        print(f"{what}: {try_kind(what, command, names, dice)} failed")
    print("ok")


main()

#!/usr/bin/env python3
"""README and docs as a reader uses them. Every ```sh block is pasted into one bash, page after page in the order in which README links them,
in an empty directory: the files that a command reads were made by an earlier one. A block that names what only a reader has (NEEDS) is not
run; the options in it must exist. Text outside of such blocks has no commands that could rot: an indented block is refused."""
import os
import re
import subprocess
import sys

from harness import BIN, check, fail, remove_at_end, run, work

SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.dirname(BIN)
# A card, a workload, a package manager, a Tracy program, a build of everything, a plan that the page describes.
NEEDS = re.compile(r"--device (0|all)\b|model\.py|pytest|tools/|apt |systemctl|tracy-capture|cmake -|experiment\.toml|docs/examples|mark \"|ttmon profilers")
# Cards and segments have the names of the pages. As root they are in name spaces of their own: a developer may run the same commands meanwhile.
ALONE = ("unshare", "-n", "-m", "sh", "-c", "mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && exec \"$@\"", "sh")
PROGRAMS = ("ttcollect", "ttexport", "ttmon", "ttreport", "ttdelay", "ttemu", "ttfleet")


def text_of(page):
    with open(os.path.join(SOURCES, page), encoding="utf-8") as file:
        return file.read()


def pages():
    """README, then the pages that it links, in its order."""
    linked = dict.fromkeys(re.findall(r"\]\((docs/[a-z-]+\.md)\)", text_of("README.md")))
    there = {f"docs/{name}" for name in os.listdir(os.path.join(SOURCES, "docs")) if name.endswith(".md")}
    check(there <= set(linked), f"README links no {sorted(there - set(linked))}")
    return ["README.md", *linked]


def blocks(page):
    """(first line, language, text) of each fenced block."""
    found, begin = [], None
    for number, line in enumerate(text_of(page).split("\n"), 1):
        if line.startswith("```") and begin is None:
            begin, language, lines = number, line[3:], []
        elif line == "```" and begin is not None:
            found.append((begin, language, "\n".join(lines)))
            begin = None
        elif begin is not None:
            lines.append(line)
        else:
            check(not re.match(r" {4,}(" + "|".join(PROGRAMS) + r")\b", line), f"{page}:{number}: a command outside of a fenced block")
    check(begin is None, f"{page}:{begin}: the block has no end")
    return found


def options_of(program):
    code, out, err = run(program, "--option-table", "zsh")
    check(code == 0, err)
    return set(re.findall(r"--[a-z0-9][a-z0-9-]*", out)) | {"--"}


def options_exist():
    """Also of what is not run."""
    known = {program: options_of(program) for program in PROGRAMS}
    number = 0
    for page in pages():
        for line, language, text in blocks(page):
            for command in text.split("\n") if language == "sh" else ():
                call = re.match(r"(?:[A-Z_]+=\S+ )*(tt[a-z]+) ([^#|;&\"]*)", command)
                if not call or call[1] not in known:
                    continue
                for option in re.findall(r"(?<= )--[a-z][a-z0-9-]*", " " + call[2].split(" -- ")[0]):
                    number += 1
                    check(option in known[call[1]], f"{page}:{line}: {call[1]} has no option {option}")
    check(number > 50, f"only {number} options were found")


def install():
    """For the page on programs of one's own: the library as pkg-config finds it."""
    prefix = work("prefix")
    for component in ("library", "development", "headers"):
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", component], capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
    return next((folder for folder, _, files in os.walk(prefix) if "ttcollect.pc" in files), None)


def in_order():
    directory = work("reader")
    os.mkdir(directory)
    tail = ['fail() { echo "FAILED at $place" >&2; kill $(jobs -p) 2>/dev/null; exit 1; }', "trap fail ERR", "set -E"]
    packages = install()
    ran = 0
    for page in pages():
        for line, language, text in blocks(page):
            if language != "sh" or NEEDS.search(text):
                continue
            if "pkg-config" in text and not packages:
                continue    # a build without the shared library
            ran += 1
            for name in re.findall(r"--name ([a-z]+)", text):
                remove_at_end(f"emu-{name}")
                remove_at_end(f"play-emu-{name}")
            tail += [f"place='{page}:{line}'", "echo \"== $place ($SECONDS s)\"", text]
    check(ran >= 15, f"only {ran} blocks are run")
    script = work("pasted")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\n".join([*tail, "wait", ""]))
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PKG_CONFIG_PATH": packages or ""}
    with open(work("log"), "w+", encoding="utf-8") as log:
        alone = ALONE if subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0 else ()
        done = subprocess.run([*alone, "bash", script], cwd=directory, env=environment, stdout=log, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=600)
        log.seek(0)
        said = log.read()
    if done.returncode:
        fail(said[-6000:])
    for name, least in (("report.html", 100_000), ("slow-core.png", 10_000), ("two-cores.svg", 5_000), ("run.perfetto-trace", 50_000)):
        size = os.path.getsize(os.path.join(directory, name))
        check(size > least, f"{name} has {size} bytes")
    if packages:
        with open(os.path.join(directory, "bars.svg"), encoding="utf-8") as bars:
            check(bars.read().count("<rect") == 10, "bars.svg has not ten bars")
    print(said if os.environ.get("TTC_SHOW") else f"{ran} blocks were pasted")


def quickstart():
    """With programs that are built: what it prints is true of what it leaves, and nothing else is left."""
    keep = work("kept")
    script = os.path.join(SOURCES, "tools/quickstart")
    environment = {**os.environ, "TTC_BIN": BIN, "TTC_GOLDEN": os.environ.get("TTC_GOLDEN") or work("none")}
    process = subprocess.Popen([script, "--keep", keep], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    out, err = process.communicate(timeout=600)
    check(process.returncode == 0, out[-3000:] + err[-3000:])
    check("none lost, none invented" in out and "lost: nothing" in err, out + err)
    for name, least in (("report.html", 100_000), ("cores.png", 5_000), ("first-program.svg", 5_000), ("run.perfetto-trace", 50_000),
                        ("profile_log_device.csv", 1_000_000), ("run.ttc", 50_000)):
        path = os.path.join(keep, name)
        check(path in out or path in err, f"{name} is not named")
        check(os.path.getsize(path) > least, f"{name} has {os.path.getsize(path)} bytes")
    check(not [name for name in os.listdir("/dev/shm") if f"quickstart-{process.pid}." in name], "a segment is left")
    for wrong in (["--keep"], ["--keep", ""], ["--what"]):
        check(subprocess.run([script, *wrong], capture_output=True, env=environment).returncode == 2, f"{wrong} is taken")


CASES = {"options_exist": options_exist, "in_order": in_order, "quickstart": quickstart}
CASES[sys.argv[1]]()

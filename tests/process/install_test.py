#!/usr/bin/env python3
"""An installation in a prefix of its own: it collects, and programs that are given only the prefix are built against it and read
what it collected, live and from a file."""
import os
import re
import shutil
import socket
import subprocess
import urllib.request

from harness import BIN, card_name, check, finish, rows, skip, start, wait_for_card, wait_until, work

BUILD = os.path.dirname(BIN)
SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PREFIX, ELSEWHERE, EXAMPLES = work("first"), work("prefix"), work("examples")


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    check(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def installed(program):
    return os.path.join(ELSEWHERE, "bin", program)


def install():
    call("cmake", "--install", BUILD, "--prefix", PREFIX, "--strip")
    os.rename(PREFIX, ELSEWHERE)    # no file may depend on the old place
    for folder, _, files in os.walk(ELSEWHERE):
        for file in files:
            with open(os.path.join(folder, file), "rb") as content:
                content = content.read()
            check(SOURCES.encode() not in content and PREFIX.encode() not in content, f"{folder}/{file} names a directory of the build")


def with_library():
    folder = next(folder for folder, _, files in os.walk(ELSEWHERE) if "libttcollect.so.0" in files)
    return {**os.environ, "LD_LIBRARY_PATH": folder}


def build_examples():
    """With find_package, and the C one by pkg-config as well. Sources and build are outside of the repository."""
    shutil.copytree(os.path.join(ELSEWHERE, "share/doc/ttcollect/examples"), EXAMPLES)
    for file in os.listdir(EXAMPLES):
        with open(os.path.join(EXAMPLES, file)) as source:
            check(len(source.readlines()) <= 60, f"{file} is longer than 60 lines")
    call("cmake", "-S", EXAMPLES, "-B", EXAMPLES, f"-DCMAKE_PREFIX_PATH={ELSEWHERE}", "-DCMAKE_BUILD_TYPE=Debug")
    call("cmake", "--build", EXAMPLES, "-j2")
    if not shutil.which("pkg-config"):
        return
    library = next(folder for folder, _, files in os.walk(ELSEWHERE) if "ttcollect.pc" in files)
    flags = call("pkg-config", "--cflags", "--libs", "ttcollect", env={**os.environ, "PKG_CONFIG_PATH": library}).split()
    call("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", os.path.join(EXAMPLES, "top_zones.c"), *flags, "-o", work("by_pkg_config"))


def zones_of(csv):
    """Cycles by name, and the number of zones, of a device CSV: an end closes the start of its name that was opened last on its lane."""
    open_starts, cycles, count = {}, {}, 0
    for row in rows(csv):
        c = row.split(",")
        key = (*c[:4], c[4], c[10])
        if c[11] == "ZONE_START":
            open_starts.setdefault(key, []).append(int(c[5]))
        elif c[11] == "ZONE_END" and open_starts.get(key):
            count += 1
            cycles[c[10]] = cycles.get(c[10], 0) + int(c[5]) - open_starts[key].pop()
    return cycles, count


def collect():
    """Everything from the prefix: zones are counted as they come, and summed up from the file as ttexport's CSV has them."""
    name, capture = card_name(), work("run.ttc")
    card = start(installed("ttemu"), "--name", name, "--cores", 4, "--programs", 400, "--host-reads", "every:100", "--pace",
                 "--wait-observer", "-q")
    wait_for_card(name, card)
    collector = start(installed("ttcollect"), "-d", f"emu:{name}", "-o", capture, "-q")
    count = start(os.path.join(EXAMPLES, "count_zones"), f"live:emu-{name}", 600, env=with_library())
    check(finish(card)[0] == 0, "the card")
    check(finish(collector)[0] == 0, "the collector")
    code, out, err = finish(count)
    counted = int(re.search(r"^(\d+) zones$", out, re.M).group(1))
    check(code == 0 and counted > 1000, f"count_zones: {code} {out}{err}")
    top = call(os.path.join(EXAMPLES, "top_zones"), capture, env=with_library())
    by_name = {}
    for line in top.splitlines()[1:]:
        cycles, _, zone = line.split(None, 2)
        by_name[zone] = by_name.get(zone, 0) + int(cycles)
    csv = work("run.csv")
    check(finish(start(installed("ttexport"), "--from", capture, "-o", csv))[0] == 0, "ttexport")
    expected, zones = zones_of(csv)
    check(counted == zones, f"{counted} zones live, {zones} in the device CSV")
    # Those of every launch are among the twenty that it shows.
    for zone in (f"{risc}-{kind}" for risc in ("BRISC", "NCRISC", "TRISC") for kind in ("FW", "KERNEL")):
        check(by_name.get(zone) == expected[zone] > 0, f"{zone}: {by_name.get(zone)} by the library, {expected[zone]} by the device CSV")


def serve():
    """Metrics of a running collector; the server ends when the run does."""
    name = card_name()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    card = start(installed("ttemu"), "--name", name, "--cores", 2, "--programs", 1000000, "--pace", "--wait-observer", "-q")
    wait_for_card(name, card)
    collector = start(installed("ttcollect"), "-d", f"emu:{name}", "-q")
    metrics = start(os.path.join(EXAMPLES, "metrics"), f"live:emu-{name}", port, env=with_library())

    def zones():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                return int(re.search(r"^ttcollect_zones_total (\d+)$", answer.read().decode(), re.M).group(1))
        except OSError:
            return 0
    wait_until(lambda: zones() > 100 or metrics.poll() is not None, "zones are counted", collector, card)
    check(metrics.poll() is None, f"metrics ended: {metrics.poll() is not None and finish(metrics)}")
    collector.terminate()
    check(finish(collector)[0] == 0, "the collector")
    code, out, err = finish(metrics)
    check(code == 0, f"metrics: {code} {out}{err}")
    card.terminate()
    finish(card)


if __name__ == "__main__":
    if not shutil.which("cmake") or not shutil.which("cc"):
        skip("cmake or a C compiler is not there")
    install()
    build_examples()
    collect()
    serve()

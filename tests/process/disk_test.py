#!/usr/bin/env python3
"""Files that are cut, outputs that cannot be written, memory and descriptors that end: a sentence and an exit code each time."""
import json
import os
import random
import resource
import signal
import subprocess

import harness as h
from run_of import RunOf

FINDINGS = os.path.join(h.GOLDEN, "findings", "captures")


def recorded(*more):
    """(path, rows) of a short capture."""
    path = h.work("recorded.ttc")
    run = RunOf(["--cores", 2, "--programs", 200, "--host-reads", "every:50", "--pace", 64], ["-o", path, *more]).end()
    return path, h.rows(run.truth)


def limited(limit, tool, *arguments):
    """`limit`: of setrlimit, before the program starts."""
    done = subprocess.run([os.path.join(h.BIN, tool), *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(limit[0], (limit[1], limit[1])),
                          timeout=h.LIMIT_S)
    return done.returncode, done.stdout, done.stderr


def sentence(result, what):
    """Ended by itself, and printed the reason if it failed."""
    code, out, err = result
    h.check(code >= 0 and code != 134, f"{what}: ended by {code}: {err}")
    h.check(code == 0 or err.strip() or "damage" in out, f"{what}: exit {code} without a word")
    h.check("terminate called" not in err and "std::" not in err, f"{what}: {err}")


def before_main(result):
    """The loader, the C library or a library's constructor ended it, before there was a program: 127 is no code of ours, and
    libnuma's constructor ends a process by 1."""
    return result[0] == 127 or (result[0] == 1 and result[2].startswith("Out of memory allocating bitmask"))


def damaged():
    """recover reported "nothing is missing" of files whose blocks are cut away; a file made it allocate more than 1 GiB."""
    path, _ = recorded()
    header = h.work("header.ttc")
    with open(path, "rb") as whole, open(header, "wb") as cut:
        cut.write(whole.read(4096))
    sources = [header]
    if h.GOLDEN:
        sources += [os.path.join(FINDINGS, f) for f in sorted(os.listdir(FINDINGS)) if f.startswith("recsays")]
    for source in sources:
        code, _, err = h.run("ttcollect", "recover", source, "-o", h.work("r.ttc"))
        h.check(code in (3, 4) and "nothing is missing" not in err and err.strip(), f"{source}: {code} {err}")
        code, _, err = h.run("ttexport", "--from", source, "-o", os.devnull)
        h.check(code in (3, 4) and err.strip(), f"{source}: {code} {err}")
    if not h.GOLDEN:
        return
    greedy = os.path.join(FINDINGS, "badalloc-691.ttc")
    for tool, arguments in (("ttcollect", ["info", greedy]), ("ttcollect", ["recover", greedy, "-o", h.work("r.ttc")]),
                            ("ttexport", ["--from", greedy, "-o", os.devnull]), ("ttreport", ["loss", "--from", greedy])):
        result = limited((resource.RLIMIT_AS, 1 << 30), tool, *arguments)
        sentence(result, f"{tool} {arguments}")
        h.check(result[0] in (3, 4), f"{tool} {arguments}: {result}")


def limits():
    """Memory or descriptors end: no exception and no abort, and what is written is whole or not there."""
    path, rows = recorded()
    out = h.work("limited.csv")
    commands = (("ttcollect", "info", path), ("ttcollect", "list"), ("ttcollect", "recover", path, "-o", h.work("r.ttc")),
                ("ttexport", "--from", path, "-o", out), ("ttexport", "--from", path, "--format", "perfetto", "-o", h.work("x.pf")),
                ("ttreport", "loss", "--from", path), ("ttreport", "html", path, "-o", h.work("x.html")), ("ttreport", "ops", path),
                ("ttreport", "kernels", path, "--json", h.work("x.json")), ("ttreport", "timeline", path, "-o", h.work("x.svg")),
                ("ttmon", "--once"))
    dice = random.SystemRandom()
    for command in commands:
        for kib in (20_000, 40_000, 60_000, 90_000, 150_000, *(dice.randrange(9_000, 40_000) for _ in range(8))):
            for stale in (out, h.work("r.ttc")):
                if os.path.exists(stale):
                    os.unlink(stale)
            result = limited((resource.RLIMIT_AS, kib << 10), *command)
            if before_main(result):
                continue
            sentence(result, f"{command} in {kib} KiB")
            left = [f for f in os.listdir(h.work("")) if ".part" in f]
            h.check(not left, f"{command} in {kib} KiB: {result} left {left}")
            if result[0] == 0 and out in command:
                h.check(set(h.rows(out)) == set(rows), f"{command} in {kib} KiB left a part")
        for descriptors in (3, 4, 5, 6, 8):
            result = limited((resource.RLIMIT_NOFILE, descriptors), *command)
            if not before_main(result):
                sentence(result, f"{command} with {descriptors} descriptors")
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 200, "-q")
    h.wait_for_card(name, card)
    for limit, values in ((resource.RLIMIT_NOFILE, (3, 5, 8, 10, 12, 14, 16, 20)),
                          (resource.RLIMIT_AS, tuple(mib << 20 for mib in (40, 80, 120, 160, 200, 260, 320)))):
        for value in values:
            result = limited((limit, value), "ttcollect", "-d", "emu:" + name, "--for", "100ms", "-q", "-o", h.work("l.ttc"))
            if not before_main(result):
                sentence(result, f"collecting with {value} of {limit}")
    card.terminate()
    h.finish(card)


def edge():
    """Constructors that ran out of memory before main(), and noexcept functions of the standard library, ended a program by SIGABRT."""
    path, _ = recorded()
    for command in (("ttcollect", "list"), ("ttexport", "--from", path, "-o", h.work("edge.csv")), ("ttreport", "ops", path), ("ttmon", "--once"),
                    ("ttemu", "--version")):
        def in_pages(pages, of=command):
            return limited((resource.RLIMIT_AS, pages * resource.getpagesize()), *of)
        low, high = (2 << 20) // resource.getpagesize(), (256 << 20) // resource.getpagesize()
        h.check(in_pages(high)[0] >= 0, f"{command}: {in_pages(high)}")
        while high - low > 1:
            middle = (low + high) // 2
            result = in_pages(middle)    # below some megabytes the kernel ends what it cannot map
            low, high = (middle, high) if result[0] < 0 or before_main(result) else (low, middle)
        ended = set()
        for pages in range(low - 20, high + 180):    # where the loader ends differs by some pages from run to run
            result = in_pages(pages)
            if not before_main(result):
                sentence(result, f"{command} in {pages} pages")
                ended.add(result[0])
        h.check(ended, f"{command} never reached main()")


def outputs():
    """Outputs of every size that a limit may allow: complete, or absent and reported; empty names and full outputs are errors."""
    path, rows = recorded()
    size = os.path.getsize(path)
    recovered, exported = h.work("size.ttc"), h.work("size.csv")
    full = h.run("ttexport", "--from", path, "-o", exported)
    h.check(full[0] == 0, full)
    for command, to, all_bytes in ((("ttcollect", "recover", path, "-o", recovered), recovered, size),
                                   (("ttexport", "--from", path, "-o", exported), exported, os.path.getsize(exported))):
        for allowed in sorted({0, 1, 4096, *range(0, all_bytes, max(4096, all_bytes // 12 // 4096 * 4096)), all_bytes - 1}):
            if os.path.exists(to):
                os.unlink(to)
            result = limited((resource.RLIMIT_FSIZE, allowed), *command)
            sentence(result, f"{command} with {allowed} bytes")
            there = [f for f in os.listdir(h.work("")) if f.startswith(os.path.basename(to))]
            if result[0] == 0:
                h.check(there == [os.path.basename(to)], f"{command}: {there}")
            else:
                h.check(result[0] in (5, 6) and not there, f"{command} with {allowed} bytes: {result} left {there}")
    for command in (("ttexport", "--from", path, "-o", ""), ("ttcollect", "-d", "emu:x", "-o", ""), ("ttcollect", "recover", path, "-o", ""),
                    ("ttreport", "ops", path, "--csv", ""), ("ttemu", "--name", "x", "--truth", "")):
        code, _, err = h.run(*command)
        h.check(code == 2 and "is empty" in err, f"{command}: {code} {err}")
    truths()
    # Programs whose text could not be kept.
    for expected, command in ((5, ("ttreport", "ops", path)), (5, ("ttreport", "kernels", path)), (6, ("ttcollect", "info", path)),
                              (6, ("ttcollect", "info", path, "--json")), (6, ("ttcollect", "list")), (5, ("ttexport", "--from", path))):
        with open("/dev/full", "w") as nowhere:
            done = subprocess.run([os.path.join(h.BIN, command[0]), *command[1:]], stdout=nowhere, stderr=subprocess.PIPE, text=True)
        h.check(done.returncode == expected and done.stderr.strip(), f"{command} into a full output: {done}")


def truths():
    """A truth that the disk did not take ended ttemu by an abort, or was left cut under its name."""
    small = h.work("small")
    os.mkdir(small)
    for kib in (16, 130, 140, 200, 300, 400):
        if os.system(f"mount -t tmpfs -o size={kib}k tmpfs {small} 2>/dev/null") != 0:
            return
        try:
            code, _, err = h.run("ttemu", "--name", h.card_name(), "--cores", 2, "--programs", 26, "--time", "virtual", "-q",
                                 "--linger", "0s", "--truth", small + "/t.csv")
            h.check(code == 5 and "truth" in err and "No space left" in err, f"ttemu --truth on {kib} KiB: {code} {err}")
            h.check(os.listdir(small) == ["t.csv.bin"], f"on {kib} KiB: {os.listdir(small)}")
        finally:
            os.system(f"umount {small}")


def signals():
    """SIGHUP ended a capture out of order; an export that was ended left a part of a file."""
    path = h.work("hangup.ttc")
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 400, "--host-reads", "every:50", "-q")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--json", "-q", "-o", path)
    h.wait_for_collector(name, collector)
    follower = h.start("ttexport", "--from", "live:emu-" + name, "--follow", "-o", h.work("follow.csv"))
    h.wait_until(lambda: os.path.exists(h.work("follow.csv")) and os.path.getsize(h.work("follow.csv")), "rows", follower, collector)
    follower.send_signal(signal.SIGHUP)
    code, _, err = h.finish(follower)
    h.check(code in (0, 6), f"a follower that was hung up: {code} {err}")
    h.rows(h.work("follow.csv"))
    collector.send_signal(signal.SIGHUP)
    code, out, err = h.finish(collector)
    h.check(code == 0 and h.device(out)["ended"] == "stopped by a signal", f"SIGHUP: {code} {err}")
    h.check(h.run("ttcollect", "info", path)[0] == 0, "a capture that was hung up did not end in order")
    card.terminate()
    h.finish(card)
    # --trigger exit recorded nothing when the card's program ended in order.
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 200, "--host-reads", "every:50", "--pace", 64, "--wait-observer", "-q")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--json", "-q", "--flight", "4MiB", "--trigger", "exit",
                        "-o", h.work("flight.ttc"))
    code, out, err = h.finish(collector)
    h.finish(card)
    recordings = json.loads(out).get("recordings", [])
    h.check(code == 0 and len(recordings) == 1 and "has exited" in recordings[0]["why"], f"--trigger exit: {code} {recordings} {err}")
    h.check(os.path.exists(recordings[0]["file"]), recordings)


def privacy():
    """Personal data is listed, and left out with --redact; zones keep their names."""
    secret = {"TT_METAL_KERNEL_PATH": "/home/alice/secret-project"}
    name, plain, redacted = h.card_name(), h.work("plain.ttc"), h.work("redacted.ttc")
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 200, "--host-reads", "every:50", "--pace", 64, "--wait-observer", "-q",
                   env={**os.environ, **secret})
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q", "--redact", "-o", redacted)
    h.check(h.finish(collector)[0] == 0 and h.finish(card)[0] == 0, "the run failed")
    host = os.uname().nodename

    def bytes_of(path):
        """All of it as text: chunks are packed in the file, so by what readers show."""
        texts = [h.run("ttcollect", "info", path, "--json")[1]]
        for form in ("device-csv", "chrome"):
            code, _, err = h.run("ttexport", "--from", path, "--format", form, "-o", h.work("shown"))
            h.check(code == 0, f"{path} as {form}: {code} {err}")
            with open(h.work("shown")) as file:
                texts.append(file.read())
        return "\n".join(texts)

    def personal(path):
        return json.loads(h.run("ttcollect", "info", path, "--json")[1])["personal"]

    live = "live:emu-" + name
    code, _, err = h.run("ttcollect", "snapshot", "emu-" + name, "-o", plain)
    h.check(code == 0, err)
    h.check("name of the host" in personal(plain) and "command line of the workload" in personal(plain), personal(plain))
    shown = bytes_of(plain)
    h.check("secret-project" in shown and host in shown, "the test has nothing to find")
    for how in (("snapshot", "emu-" + name), ("recover", plain), ("recover", live)):
        path = h.work("again.ttc")
        code, _, err = h.run("ttcollect", *how, "--redact", "-o", path)
        h.check(code == 0, f"{how}: {code} {err}")
        for file in (path, redacted):
            h.check(personal(file) == [], f"{how}, {file}: {personal(file)}")
            shown = bytes_of(file)
            h.check("secret-project" not in shown and f'"{host}"' not in shown, f"{how}, {file} holds what is personal")

    def zones(source, *more):
        out = h.work("zones.csv")
        code, _, err = h.run("ttexport", "--from", source, "-o", out, *more)
        h.check(code == 0, err)
        return [row.split(",") for row in h.rows(out)]

    before, after = zones(plain), zones(plain, "--redact")
    h.check(len(before) > 1000, "the run is empty")
    h.check([r[:13] for r in before] == [r[:13] for r in after], "--redact changed more than the files of zones")
    h.check(any("/" in r[13] for r in before) and not any("/" in r[13] for r in after), "directories of sources")
    code, _, err = h.run("ttcollect", "-d", "emu:x", "--redact")
    h.check(code == 2 and "-o" in err, f"--redact without a file: {code} {err}")


def main():
    {"damaged": damaged, "limits": limits, "edge": edge, "outputs": outputs, "signals": signals, "privacy": privacy}[h.sys.argv[1]]()
    print("ok")


main()

#!/usr/bin/env python3
"""Wrong use gets one clear sentence and a documented exit code; nothing half-written stays."""
import json
import os
import subprocess

import harness as h


def expect(code, words, tool, *arguments):
    got, out, err = h.run(tool, *arguments)
    text = out + err
    h.check(got == code, f"{tool} {arguments}: exit {got}, expected {code}: {text}")
    for word in words:
        h.check(word in text, f"{tool} {arguments}: '{word}' is not in: {text}")


def one_vocabulary():
    """Durations and sizes are read by one rule in every program."""
    for tool, arguments in (("ttcollect", ["-d", "emu:x", "--for"]), ("ttcollect", ["-d", "emu:x", "--wait"]),
                            ("ttexport", ["--from", "x", "--wait"]), ("ttreport", ["ops", "x", "--wait"]),
                            ("ttreport", ["ops", "x", "--for"]), ("ttmon", ["--interval"]), ("ttmon", ["top", "--interval"]),
                            ("ttemu", ["--name", "x", "--linger"])):
        expect(2, [f"{tool}: ", arguments[-1], "'5' has no unit", "500ms"], tool, *arguments, "5")
        for value in ("nan", "-1s", "1e3s", "5 s"):
            expect(2, [f"'{value}' is no duration"], tool, *arguments[:-1], arguments[-1] + "=" + value)
        expect(2, ["too large"], tool, *arguments, "11575d")
    for tool, arguments in (("ttcollect", ["-d", "emu:x", "--ring"]), ("ttcollect", ["play", "x", "--ring"]),
                            ("ttreport", ["ops", "x", "--memory"])):
        expect(2, ["'5' has no unit", "64MiB"], tool, *arguments, "5")
        expect(2, ["there is no unit 'KB'"], tool, *arguments, "5KB")
    expect(2, ["the least is 256KiB"], "ttcollect", "-d", "emu:x", "--ring", "256kB")


def full_output():
    """Text that standard output did not take is an error of every program."""
    for code, tool, *arguments in ((6, "ttcollect", "list", "--json"), (6, "ttcollect", "--help"), (5, "ttexport", "--help"),
                                   (5, "ttreport", "--help"), (5, "ttmon", "--help"), (5, "ttemu", "--fault", "help")):
        with open("/dev/full", "w") as full:
            done = subprocess.run([os.path.join(h.BIN, tool), *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
        # The reason is known unless the text was longer than the buffer of standard output.
        told = [f"{tool}: standard output cannot be written{why}\n" for why in (": No space left on device", "")]
        h.check(done.returncode == code and done.stderr in told, f"{tool} {arguments} into a full output: {done}")


def foreign_names():
    """Names of any bytes are shown as text that no terminal obeys."""
    for tool, arguments in (("ttexport", ["--from"]), ("ttreport", ["ops"]), ("ttcollect", ["info"])):
        done = subprocess.run([os.path.join(h.BIN, tool), *arguments, b"/nonexistent\xff\x1b[2J\n.ttc"], stderr=subprocess.PIPE)
        h.check(done.returncode == 3 and b"nonexistent\\xff\\x1b[2J\\x0a.ttc" in done.stderr and b"\x1b" not in done.stderr
                and done.stderr.count(b"\n") == 1, f"{tool} {arguments}: {done}")


def long_names():
    """A name that no file can have was "filesystem error: status" of exit 8."""
    name = "a" * 5000
    for tool, *arguments in (("ttexport", "--from"), ("ttreport", "ops"), ("ttreport", "kernels"), ("ttcollect", "info"), ("ttcollect", "recover")):
        expect(3, ["cannot be opened: File name too long"], tool, *arguments, name)


def output_over_input(capture):
    """An output that is an input under any name is refused, and the input stays."""
    link, hard = h.work("link.ttc"), h.work("hard.ttc")
    os.symlink(capture, link)
    os.link(capture, hard)
    with open(capture, "rb") as file:
        content = file.read()
    reports = [("loss", "--from", capture, "-o"), ("ops", capture, "--csv"), ("ops", capture, "--json"),
               ("kernels", capture, "--csv"), ("kernels", capture, "--json"), ("heatmap", capture, "-o"),
               ("html", capture, "-o"), ("steps", capture, "--json"), ("timeline", capture, "-o"),
               ("diff", capture, capture, "--json")]
    for output in (capture, link, hard):
        for command in [("ttexport", "--from", capture, "-o"), ("ttexport", "--from", capture, "--follow", "-o"),
                        ("ttexport", "--from", capture, "--format", "perfetto", "--gzip", "-o"),
                        ("ttcollect", "recover", capture, "-o"), *[("ttreport", *report) for report in reports]]:
            expect(2, [f"output {output} is the input"], *command, output)
    with open(capture, "rb") as file:
        h.check(file.read() == content, "an input was changed")
    h.check(os.path.islink(link) and os.path.samefile(hard, capture), "a link to an input was replaced")
    with open(capture, "ab") as file:
        done = subprocess.run([os.path.join(h.BIN, "ttexport"), "--from", capture], stdout=file, stderr=subprocess.PIPE, text=True)
    h.check(done.returncode == 2 and "standard output is the input" in done.stderr, f"standard output: {done}")
    # Tables of ops: of a report folder the file in it that is read, and the summary beside --csv.
    folder = h.work("folder")
    os.makedirs(folder)
    table = os.path.join(folder, "ops_perf_results_1.csv")
    with open(table, "w") as file:
        file.write("OP CODE,OP TYPE,GLOBAL CALL COUNT\n")
    expect(2, ["is the input"], "ttreport", "ops", folder, "--csv", table)
    os.link(table, h.work("x_stacked.csv"))
    expect(2, ["is the input"], "ttreport", "ops", folder, "--csv", h.work("x.csv"))
    h.check(not os.path.exists(h.work("x.csv")), "a refused report left a table")


def folder_left(capture):
    """`files -n ../../x` wrote outside of the folder that was named."""
    before = sorted(os.listdir("."))
    for flag in ("-n", "--date"):
        for name in ("../../x", "..", ".", "a/b", "/tmp/x"):
            expect(2, [flag, f"'{name}' is not one name"], "ttreport", "files", capture, "-o", h.work("left"), flag, name)
    h.check(sorted(os.listdir(".")) == before, f"it left {os.listdir('.')}")


def recorded():
    """A short capture, and its JSON account of a run with a name of any bytes on its command line."""
    name, path = h.card_name(), h.work("recorded.ttc")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "20s", "--quiet", "--json", "-o", path)
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 50, "--wait-observer", "-q",
                   "--truth", h.work("truth") + "\udcff.csv")
    code, out, err = h.finish(card)
    h.check(code == 0, f"the card did not end in order: {code} {err}")
    code, out, err = h.finish(collector)
    h.check(code == 0, f"the collector failed: {code} {err}")
    info = json.loads(subprocess.run([os.path.join(h.BIN, "ttcollect"), "info", path, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    return path, info


def main():
    os.chdir(h.work(""))
    one_vocabulary()
    full_output()
    foreign_names()
    long_names()
    capture, info = recorded()
    h.check("\ufffd.csv" in json.dumps(info, ensure_ascii=False), f"the command line is not in {info}")
    output_over_input(capture)
    folder_left(capture)
    for tool in ("ttcollect", "ttexport", "ttmon", "ttemu"):
        expect(0, ["Exit codes"], tool, "--help")
        expect(0, [tool], tool, "--version")
    for tool, needed in (("ttcollect", []), ("ttmon", []), ("ttexport", ["--from", "x"]), ("ttemu", ["--name", "x"])):
        expect(2, ["--no-such-flag"], tool, *needed, "--no-such-flag")
    expect(2, ["no device named", "ttcollect list"], "ttcollect")
    expect(3, ["no emulated card named 'absent'", "ttemu --name absent"], "ttcollect", "--device", "emu:absent")
    expect(3, ["not of a form"], "ttcollect", "--device", "card")
    expect(3, ["/dev/null", "not a node of the Tenstorrent driver", "not opened"], "ttcollect", "--device", "/dev/null")
    expect(3, ["there is no such node"], "ttcollect", "--device", "/dev/tenstorrent/by-id/nothing")
    expect(3, ["there is no /dev/tenstorrent/4000000"], "ttcollect", "--device", "4000000")
    expect(3, ["pci:ffff:ff:1f.7", "no node"], "ttcollect", "--device", "pci:ffff:ff:1f.7")
    expect(2, ["--for"], "ttcollect", "--device", "emu:x", "--for", "5")
    expect(2, ["--ring"], "ttcollect", "--device", "emu:x", "--ring", "3")
    expect(2, ["G9"], "ttcollect", "--device", "emu:x", "--layout", "G9")
    capture = ("ttcollect", "--device", "emu:absent")
    for words, flags in ((["name one with -o"], ["--max-size", "64MiB"]), (["standard output", "-o"], ["-o", "-"]),
                         (["too little", "1B"], ["-o", "x", "--max-size", "0"]),
                         (["too little", "1ns"], ["-o", "x", "--max-age", "0s"]),
                         (["--rotate"], ["-o", "x", "--max-age", "1s"]), (["--rotate"], ["-o", "x", "--rotate", "5"]),
                         (["8 MiB"], ["-o", "x", "--rotate", "1KiB"]), (["8 MiB"], ["-o", "x", "--memory", "1MiB"]),
                         (["--rotate"], ["-o", "x", "--max-size", "64MiB", "--keep", "newest"]),
                         (["two files"], ["-o", "x", "--rotate", "64MiB", "--max-size", "64MiB"]),
                         (["--flight SIZE"], ["--trigger", "loss"]), (["--flight SIZE"], ["--post", "1s"]),
                         (["1024 MiB"], ["--flight", "1TiB"]), (["on request"], ["--flight", "8MiB", "-o", "x", "--rotate", "1s"]),
                         (["name one with -o", "--keep"], ["--keep", "newest"]), (["name one with -o"], ["--memory", "32MiB"]),
                         (["on request"], ["--flight", "8MiB", "--pack-threads", "2"]), (["--flight SIZE"], ["--trigger-every", "1s"]),
                         (["no trigger", "zone>100us"], ["--flight", "8MiB", "--trigger", "zone>"])):
        expect(2, words, *capture, *flags)
    h.check(not os.path.exists("x") and not os.path.exists("-"), "wrong use left a file")
    expect(2, ["no speed"], "ttcollect", "play", "x", "--speed", "0")
    expect(2, ["neither a size", "nor a duration"], "ttcollect", "snapshot", "--last", "5")
    expect(3, ["no such segment"], "ttcollect", "recover", "live:absent", "-o", h.work("x.ttc"))
    expect(3, ["no such segment", "ttcollect list"], "ttexport", "--from", "live:absent")
    expect(3, ["cannot be opened"], "ttexport", "--from", "/nonexistent.ttc")
    expect(3, ["not a ttcollect capture"], "ttexport", "--from", "/etc/passwd")
    expect(2, ["--columns"], "ttexport", "--from", "x", "--columns", "14")
    expect(2, ["--metal-date", "'2026-13'", "2026-04"], "ttexport", "--from", "x", "--metal-date", "2026-13")
    expect(2, ["--order"], "ttexport", "--from", "x", "--order", "size")
    expect(3, ["absent"], "ttmon", "absent", "--once")
    expect(2, ["--name"], "ttemu")
    expect(2, ["--from"], "ttexport")
    expect(3, ["n999"], "ttemu", "--name", h.card_name(), "--board", "n999")
    expect(4, ["meta.json"], "ttemu", "--name", h.card_name(), "--load", "/nonexistent")
    expect(0, ["hung-read", "one of so many loads"], "ttemu", "--fault", "help")
    expect(2, ["there is no fault 'nope'", "--fault help"], "ttemu", "--name", h.card_name(), "--fault", "nope")
    expect(2, ["every:N"], "ttemu", "--name", h.card_name(), "--host-reads", "often")

    firmware = ("ttemu", "--name", h.card_name(), "--mode")
    expect(2, ["mid 2026", "--generation G4"], *firmware, "accumulate", "--generation", "G3")
    expect(2, ["does not exist in G1", "G2 or later"], *firmware, "trace-only", "--generation", "G1", "--trace", "2:2")
    expect(2, ["add --trace"], *firmware, "trace-only")
    expect(2, ["--dispatch-cores"], *firmware, "trace-only", "--trace", "2:2", "--dispatch-cores", 1)
    expect(2, ["PROGRAMS:REPLAYS"], *firmware, "normal", "--trace", "4")
    expect(2, ["need 99 tiles", "this card has 16"], *firmware, "normal", "--ethernet", 99)

    # A second card and a second collector of the same name are refused, with the name of the holder.
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", 500)
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--json")
    reader = h.start("ttexport", "--from", "live:emu-" + name, "--wait", "600s", "--follow", "-o", "/dev/null")
    h.wait_for_collector(name, collector)
    expect(3, ["already running"], "ttemu", "--name", name)
    expect(5, [f"pid {collector.pid}", "live:emu-" + name], "ttcollect", "--device", "emu:" + name)
    expect(0, [f"emu:{name}", f"live:emu-{name}", "live, pid"], "ttcollect", "list")
    expect(5, ["cannot be written"], "ttexport", "--from", "live:emu-" + name, "-o", "/nonexistent/x.csv")
    full = h.run("ttexport", "--from", "live:emu-" + name, "-o", "/dev/full")
    h.check(full[0] == 5 and "No space left" in full[2], f"/dev/full: {full}")
    collector.terminate()
    code, out, err = h.finish(collector)
    h.check(code == 0 and h.device(out)["ended"] == "stopped by a signal", f"SIGTERM: {code} {out} {err}")
    h.check(h.finish(reader)[0] in (0, 6), "the reader did not end in order")
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card did not end in order")

    # An output that cannot be completed leaves nothing under its name.
    target = h.work("cut.csv")
    with open(h.work("cut.ttc"), "wb") as file:
        file.write(b"ttccap01" + b"\0" * 10)
    got = h.run("ttexport", "--from", h.work("cut.ttc"), "-o", target)
    h.check(got[0] == 3 and not os.path.exists(target), f"a broken capture: {got}")
    print("ok")


main()

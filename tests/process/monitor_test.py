#!/usr/bin/env python3
"""ttmon as people use it, on terminals of its own. Usage: monitor_test.py screen|ends|plain|ops

screen   two cards: keys, sorting, pause, a flight recording, resizing down to one cell
ends     the collector is killed and another comes; signals; the terminal goes; the terminal is left as it was
ops      a workload of ttcollect run: its ops by name, and its host side is no card
plain    pipes, TERM=dumb, NO_COLOR, no UTF-8; --json has every counter, and each is of a known label
"""
import glob
import json
import os
import re
import signal
import sys

import harness as h
import host_side_test
from screen_of import Screen

# The host empties the logs: full ones would end the markers before a slow machine has drawn a screen.
RATE = ["--cores", 6, "--programs", 0, "--rate", 400, "--host-reads", "every:50", "--pace", "--quiet"]


def card(*arguments):
    """A card, and its collector: (name, card, collector)."""
    name = h.card_name()
    emulator = h.start("ttemu", "--name", name, *RATE, *arguments)
    h.wait_for_card(name, emulator)
    collector = h.start("ttcollect", "--device", "emu:" + name, "-q")
    h.wait_for_collector(name, collector)
    return name, emulator, collector


def stop(*processes):
    for process in processes:
        if process.poll() is None:
            process.terminate()
        process.wait()


def chosen(text):
    found = re.search(r"^live:(\S+)", text, re.MULTILINE)
    return found and found.group(1)


def screen():
    cards = [card(), card("--arch", "blackhole")]
    names = ["emu-" + name for name, _, _ in cards]
    os.chdir(h.work(""))
    s = Screen("ttmon", *names, "--interval", "0.1s", columns=100, rows=40)
    text = s.until(lambda t: all(n in t for n in names) and "BRISC-FW" in t and re.search(r"programs/s +[1-9]", t), "both cards and their zones")
    h.check(s.alternate and not s.echoes(), "it does not take the whole terminal")
    h.check("s sort: time" in text and "y\\x" in text, text)
    for sorting in ("count", "mean", "longest", "name", "time"):
        s.press("s")
        s.until(lambda t, key=sorting: f"sort: {key}" in t, f"sorted by {sorting}")
    # The first card is shown, then, by the tabulator, each of the others and the first again.
    first = chosen(s.text())
    s.press("\t")
    s.until(lambda t: chosen(t) != first, "the next card")
    s.press("\x1b[A")
    s.until(lambda t: chosen(t) == first, "the card before")
    s.press("h")
    s.until(lambda t: "flight recording: the ring" in t, "help")
    s.press("h")
    s.press("p")
    s.until(lambda t: "PAUSED" in t, "a pause")
    paused = s.text()
    for _ in range(20):  # the frame in which the pause began may still be on its way
        s.read(0.15)
        if s.text() == paused:
            break
        paused = s.text()
    for _ in range(3):
        s.read(0.15)
    h.check(s.text() == paused, f"it changes while it is paused:\n{paused}\n{s.text()}")
    s.press(" ")
    s.until(lambda t: "PAUSED" not in t, "no pause")

    s.press("f")
    s.until(lambda t: re.search(r"^ (no )?flight recording: ", t, re.MULTILINE), "a flight recording")
    files = glob.glob("*.ttc")
    h.check(len(files) == 1 and h.run("ttcollect", "info", files[0])[0] == 0, f"{files}: {s.text()}")

    for columns, rows in ((80, 24), (40, 12), (20, 5), (1, 1), (2, 3), (200, 60)):
        drawn = s.raw.count("\x1b[2J")
        s.resized(columns, rows)
        s.until(lambda t, c=columns, n=drawn: s.raw.count("\x1b[2J") > n and (c < 20 or "ttmon" in t), f"{columns}x{rows}")
        s.outside.clear()
        for _ in range(3):
            s.read(0.1)
        h.check(not s.outside, f"{columns}x{rows}: drawn at {s.outside[:5]}")
    s.press("q")
    h.check(s.end() == 0 and not s.alternate and s.echoes(), "the terminal is not as it was")
    for _, emulator, collector in cards:
        stop(collector, emulator)


def ends():
    name, emulator, collector = card()
    live = "emu-" + name
    s = Screen("ttmon", live, "--interval", "0.1s")
    s.until(lambda t: "collecting" in t, "a collector")
    collector.kill()
    collector.wait()
    s.until(lambda t: "stopped" in t and "ended abnormally" in t, "the killed collector is shown")
    s.press("f")
    s.until(lambda t: "no flight recording: its collector runs no more" in t, "no recording of a dead collector's ring")
    second = h.start("ttcollect", "--device", "emu:" + name, "-q")
    s.until(lambda t: "stopped" not in t and f"pid {second.pid}" in t, "the next collector takes the place of the dead one")
    second.terminate()
    h.finish(second)
    s.until(lambda t: "stopped" in t and "ended" in t, "the collector ended in order")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(s.process.pid, number)
        h.check(s.end() == 0 and not s.alternate and s.echoes(), f"after signal {number} the terminal is not as it was")
        s = Screen("ttmon", live, "--interval", "0.1s")
        s.until(lambda t: "stopped" in t, "what is left is shown")
    s.press("\x03")    # as a person interrupts
    h.check(s.end() == 0 and s.echoes(), "Ctrl-C")
    s = Screen("ttmon", live, "--interval", "0.1s")
    s.until(lambda t: "stopped" in t, "what is left is shown")
    os.close(s.theirs)
    os.close(s.ours)    # the terminal is gone
    s.process.wait(h.LIMIT_S)
    stop(emulator)


def plain():
    # The workload waits for the collector: what a host read fetched before it came would be a loss.
    name, emulator, collector = card("--wait-observer")
    live = "emu-" + name
    for variables in ({}, {"COLUMNS": "40"}):
        os.environ.update(variables)
        code, text, err = h.run("ttmon", live, "--once")
        h.check(code == 0 and not err and "\x1b" not in text, f"{code} {err} {text!r}")
        for part in ("programs/s", "clock bound", "nothing lost\n", "zones", f"pid {collector.pid}  live\n"):
            h.check(part in text, f"no {part!r}: {text}")
        h.check(re.search(r"^program \d", text, re.MULTILINE), f"no programs: {text}")
    os.environ.pop("COLUMNS")
    h.check(all(ord(c) < 128 for c in text) or "UTF-8" in os.environ.get("LC_ALL", os.environ.get("LANG", "")), f"{text!r}")

    _, text, _ = h.run("ttmon", live, "--once", "--json")
    shown = json.loads(text)
    # Labels as the ABI has them: a counter that nothing sets cannot be distinguished from 0.
    h.check(shown["health"]["state"] in ("collecting", "lagging") and len(shown["counters"]) >= 40 and shown["counters"]["log_words"] > 0,
            f"{shown}")

    dumb = Screen("ttmon", live, "--interval", "0.1s", TERM="dumb")
    while dumb.raw.count("live:" + live) < 2:
        h.check(dumb.read(h.LIMIT_S), "it ended")
    h.check("\x1b" not in dumb.raw, f"a terminal that obeys nothing is given {dumb.raw!r}")
    os.kill(dumb.process.pid, signal.SIGTERM)
    h.check(dumb.end() == 0, "SIGTERM")

    bare = Screen("ttmon", live, "--interval", "0.1s", NO_COLOR="1", LANG="C")
    bare.until(lambda t: "BRISC-FW" in t, "zones")
    h.check(not re.search(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|38|48)[0-9;]*m", bare.raw), "NO_COLOR is given colours")
    h.check(all(ord(c) < 128 for c in bare.raw), "block characters without UTF-8")
    bare.press("q")
    h.check(bare.end() == 0, "q")
    colours = Screen("ttmon", live, "--interval", "0.1s")
    colours.until(lambda t: "BRISC-FW" in t, "zones")
    h.check("\x1b[38;5;" in colours.raw, "no colours where they are welcome")
    colours.press("q")
    h.check(colours.end() == 0, "q")
    stop(collector, emulator)


def ops():
    """The host's side names ops of programs that the card runs; its segment is no collector."""
    name, leave = h.card_name(), h.work("leave")
    live = "emu-" + name
    h.remove_at_end(live)
    client, end = h.work("client.py"), "peer.sendall(block(bytes([terminate])))"
    h.check(host_side_test.CLIENT.count(end) == 1, "the client has another form")
    with open(client, "w", encoding="utf-8") as file:
        file.write(host_side_test.CLIENT.replace(end, f"\nwhile not os.path.exists({leave!r}): time.sleep(0.02)\n{end}"))
    line = (f"{h.BIN}/ttemu --name {name} --cores 2 --programs 0 --rate 100 --host-reads every:20 --pace -q & card=$!; "
            f"{sys.executable} {client} 83 ops:1:8000; kill $card; wait")
    workload = h.start("ttcollect", "run", "-o", h.work("root"), "-d", "emu:" + name, "--", "sh", "-c", line)
    for _ in range(1000):
        _, text, err = h.run("ttmon", live, "--once")
        if re.search(r"^Add\b.* [1-9]", text, re.MULTILINE):
            break
        h.check(workload.poll() is None, f"the workload ended: {text}{err}")
    h.check(re.search(r"^ops +time", text, re.MULTILINE) and re.search(r"^programs/s +[1-9]", text, re.MULTILINE), f"no ops, or no rates: {text}{err}")
    _, text, _ = h.run("ttmon", "--json", "--once")
    cards = [json.loads(row)["live"] for row in text.splitlines()]
    h.check(live in cards and not any(re.fullmatch(r"run-\d+", card) for card in cards), f"cards: {cards}")
    # A card of another workload, whose programs have the same host ids, gets no names of this one.
    other = h.card_name()
    card = h.start("ttemu", "--name", other, "--cores", "1", "--programs", "0", "--rate", "100", "--host-reads", "every:20", "--pace", "64", "-q")
    collector = h.start("ttcollect", "--device", "emu:" + other, "--wait", "1min", "--quiet")
    h.remove_at_end("emu-" + other)
    for _ in range(1000):
        _, text, err = h.run("ttmon", "emu-" + other, "--once")
        if re.search(r"^program \d", text, re.MULTILINE):
            break
        h.check(not re.search(r"^Add\b", text, re.MULTILINE), f"names of ops of another workload: {text}")
        h.check(collector.poll() is None, f"the collector ended: {text}{err}")
    else:
        h.fail(f"no programs: {text}{err}")
    stop(collector, card)
    code, _, err = h.run("ttmon", f"run-{workload.pid}", "--once")
    h.check(code == 3 and "is the host side of a workload" in err, f"{code} {err}")
    with open(leave, "w", encoding="utf-8"):
        pass
    h.finish(workload)


if __name__ == "__main__":
    {"screen": screen, "ends": ends, "plain": plain, "ops": ops}[sys.argv[1]]()
    print("ok")

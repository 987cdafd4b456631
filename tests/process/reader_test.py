#!/usr/bin/env python3
"""Readers through the C ABI that are killed, stopped and lapped, and sources of other versions or of no sense: a status and a sentence each, and
the collector continues. Usage: reader_test.py CASE"""
import json
import os
import random
import signal
import struct
import subprocess
import sys

from harness import BIN, LONG, card_name, check, finish, next_line, remove_at_end, run, start, wait_for_card, wait_for_collector, work

# A program of a user: reads what its arguments name, one after another, and prints a line of JSON for each.
READER = """
import ctypes, json, sys
from ttcollect import _library as lib
abi = lib.loaded()
follow = sys.argv[1] == "follow"
for source in sys.argv[2:]:
    options = lib.Options(struct_bytes=ctypes.sizeof(lib.Options))
    abi.ttcollect_options_init(options)
    options.follow, options.host_times, options.batch_rows = follow, 0, 512
    reader, why = ctypes.c_void_p(), ctypes.create_string_buffer(1000)
    opened = abi.ttcollect_open(source.encode(), options, reader, why, len(why))
    seen, markers, error = [], 0, why.value.decode()
    while opened == lib.OK:
        batch = lib.Batch(struct_bytes=ctypes.sizeof(lib.Batch))
        status = abi.ttcollect_next(reader, 1000, batch)
        markers += batch.markers_count
        if status not in seen:
            seen.append(status)
            if len(seen) == 1:
                print(json.dumps({"began": status}), flush=True)
                sys.argv[1] == "held" and sys.stdin.readline()
        error = (abi.ttcollect_error(reader) or b"").decode() or error
        if status in (lib.END, lib.INCOMPLETE) or status < lib.INCOMPLETE or (status == lib.IDLE and not follow):
            break
    account = lib.Account(struct_bytes=ctypes.sizeof(lib.Account))
    if reader:
        abi.ttcollect_get_account(reader, account)
    abi.ttcollect_close(reader)
    print(json.dumps({"opened": opened, "statuses": seen, "markers": markers, "missed_bytes": account.missed_bytes, "error": error}), flush=True)
"""
OK, IDLE, END, LAPPED, INCOMPLETE, NO_SOURCE = 0, 1, 2, -1, -2, -3
CARD = ("--cores", 4, "--host-reads", "every:100", "--generation", "G4", "-q")


def reader(how, *sources):
    process = subprocess.Popen([sys.executable, "-B", "-c", READER, how, *sources], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.path.join(BIN, "python")})
    return process


def answers(process):
    """Of each source; the program must not have crashed."""
    out, err = process.communicate(timeout=600)
    check(process.returncode == 0 and not err, f"the reader ended with {process.returncode}: {err}")
    return [answer for answer in map(json.loads, out.splitlines()) if "opened" in answer]


def segment_of(name):
    return f"/dev/shm/ttcollect-emu-{name}.{os.getuid()}"


def remains():
    """The name of a card whose collector has left a segment with some thousand markers, all of which its ring has room for: what comes first
    in an answer is then of what a test did."""
    name = card_name()
    card = start("ttemu", "--name", name, *CARD, "--programs", 240, "--pace", "--wait-observer")
    wait_for_card(name, card)
    collector = start("ttcollect", "-d", f"emu:{name}", "--ring", "1MiB", "-q")
    check(finish(card)[0] == 0 and finish(collector)[0] == 0, "the card or the collector")
    return name


def killed():
    """Readers that are killed while they read: the collector and other readers lose nothing, and nothing is left."""
    name = card_name()
    card = start("ttemu", "--name", name, *CARD, "--programs", 1500, "--pace", "--wait-observer", "--json")
    wait_for_card(name, card)
    capture = work("killed.ttc")
    collector = start("ttcollect", "-d", f"emu:{name}", "-o", capture, "-q")
    wait_for_collector(name, collector)
    victims = [reader("follow", f"live:emu-{name}") for _ in range(3)]
    stays = reader("follow", f"live:emu-{name}")
    for victim in victims:
        next_line(victim.stdout)    # it reads
        victim.kill()
        victim.communicate()
    check(finish(card)[0] == 0 and finish(collector)[0] == 0, "the card or the collector")
    answer = answers(stays)[0]
    check(answer["statuses"][-1] == END and LAPPED not in answer["statuses"], f"{answer}")
    of_file = answers(reader("once", capture))[0]
    check(of_file["statuses"][-1] == END and of_file["markers"] == answer["markers"] > 50_000, f"{of_file} {answer}")


def stopped():
    """A reader that is stopped while the ring is overwritten several times: LAPPED with an amount, then the rest and the end."""
    name = card_name()
    card = start("ttemu", "--name", name, *CARD, "--programs", 4000, "--pace", "--wait-observer")
    wait_for_card(name, card)
    collector = start("ttcollect", "-d", f"emu:{name}", "--ring", "1MiB", "-q")
    wait_for_collector(name, collector)
    collector.send_signal(signal.SIGSTOP)    # and with it the paced card, until the reader is there
    slow = reader("follow", f"live:emu-{name}")
    next_line(slow.stdout)
    slow.send_signal(signal.SIGSTOP)
    collector.send_signal(signal.SIGCONT)
    check(finish(card)[0] == 0 and finish(collector)[0] == 0, "the card or the collector waited for a reader")
    slow.send_signal(signal.SIGCONT)
    answer = answers(slow)[0]
    check(LAPPED in answer["statuses"] and answer["statuses"][-1] in (END, INCOMPLETE) and answer["missed_bytes"] > 1 << 20, f"{answer}")
    check(answer["markers"] > 0, f"nothing came: {answer}")


def copied(name, change, label):
    """A segment's bytes under a name of its own, changed."""
    with open(segment_of(name), "rb") as file:
        content = bytearray(file.read())
    change(content)
    live = remove_at_end(f"{card_name()}-{label}")
    with open(f"/dev/shm/ttcollect-{live}.{os.getuid()}", "wb") as file:
        file.write(content)
    return "live:" + live


def put(offset, form, *values):
    return lambda content: struct.pack_into(form, content, offset, *values)


def skew():
    """Segments and files of other versions are read, or refused by a sentence with both versions."""
    name = remains()
    major, minor = struct.unpack_from("<II", open(segment_of(name), "rb").read(16), 8)
    same, later_minor, first_minor, later_major, earlier_major = answers(reader("once", *(
        copied(name, put(8, "<II", *version), label) for label, version in (
            ("same", (major, minor)), ("minor", (major, minor + 7)), ("first", (major, 0)), ("major", (major + 1, 0)), ("zero", (0, 0))))))
    check(same["markers"] > 1000 and same["opened"] == OK, f"{same}")
    for one in (later_minor, first_minor):
        check(one["opened"] == OK and one["markers"] > 1000, f"{one}")
    for one, version in ((later_major, major + 1), (earlier_major, 0)):
        check(one["opened"] == NO_SOURCE and f"version {version}" in one["error"] and f"supports {major}" in one["error"], f"{one}")
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/capture")
    old = sorted(file for file in os.listdir(data) if file.startswith("version_") and file.endswith(".ttc"))
    check(len(old) >= 3, f"{old}")
    for file, answer in zip(old, answers(reader("once", *(os.path.join(data, file) for file in old)))):
        check(answer["opened"] == OK and answer["statuses"][-1] in (END, INCOMPLETE) and answer["markers"] > 0, f"{file}: {answer}")
    later = work("later.ttc")
    with open(os.path.join(data, old[-1]), "rb") as file:
        content = bytearray(file.read())
    struct.pack_into("<I", content, 8, 9)
    content[4096:4160] = bytes(64)    # what blocks of that version begin with is not known
    with open(later, "wb") as file:
        file.write(content)
    answer = answers(reader("once", later))[0]
    check(answer["opened"] == NO_SOURCE and "version 9" in answer["error"] and "1 to 3" in answer["error"], f"{answer}")


def hostile():
    """Real segments with words of them changed, cut while they are mapped, or of no sense at all: the program that reads them does not die."""
    seed = int(os.environ.get("TTC_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TTC_SEED={seed}")
    dice = random.Random(seed)
    name = remains()

    def changed(content):
        for _ in range(dice.choice((1, 3, 20, 300))):
            at = dice.choice((dice.randrange(512), dice.randrange(len(content) // 64) * 8, dice.randrange(len(content) - 8)))
            struct.pack_into("<Q", content, at, dice.choice((0, 1, 0xFFFFFFFFFFFFFFFF, dice.getrandbits(64), dice.getrandbits(12))))

    def cut(content):
        del content[dice.randrange(len(content)):]

    def noise(content):
        content[:] = dice.randbytes(dice.choice((1, 100, 512, 4096, 1 << 17)))
    sources = [copied(name, dice.choice((changed, changed, changed, cut, noise)), f"h{number}") for number in range(400 if LONG else 40)]
    for answer in answers(reader("once", *sources)):
        check(answer["opened"] in (OK, NO_SOURCE) and (answer["opened"] == OK or answer["error"]), f"{answer}")
        check(all(status in (OK, IDLE, END, LAPPED, INCOMPLETE) or answer["error"] for status in answer["statuses"]), f"{answer}")
    # If a segment is cut while it is mapped, the part after its end is gone; the rest of the last page reads as zeros.
    for part in (0, 100, 512, 4096, 1 << 16, 1 << 20):
        source = copied(name, lambda content: None, f"cut{part}")
        victim = reader("held", source)
        next_line(victim.stdout)    # it has the first rows, and waits for its input
        os.truncate(f"/dev/shm/ttcollect-{source[5:]}.{os.getuid()}", part)
        answer = answers(victim)[0]
        check(answer["statuses"][-1] == INCOMPLETE and ("was cut while it was read" in answer["error"] or part == 100), f"cut at {part}: {answer}")


if __name__ == "__main__":
    {f.__name__: f for f in (killed, stopped, skew, hostile)}[sys.argv[1]]()

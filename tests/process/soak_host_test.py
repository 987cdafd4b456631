#!/usr/bin/env python3
"""A long `ttcollect run` with host zones: the memory of all its processes stays flat. Usage: soak_host_test.py SECONDS

A Tracy client of the fork's protocol sends 2,000 zones and 50 described ops a second, an emulated card of two cores runs 200 programs a
second. The resident memory of the run and of each process that it started, but for the workload's, is sampled once a second, without the
rings. Its least in the last quarter of the run is at most 8 MiB above its least in the second.
"""
import sys
import textwrap
import time

import harness as h

SECONDS = int(sys.argv[1])
sys.argv[1:] = []                         # of the module below, which runs the cases that are named
from host_side_test import CLIENT
# What an op of the summary keeps: a row, its names are shared. 50 a second, for three quarters of the run.
GROWTH_MIB = 8
PACED = '''
    if HOW == "paced":
        import itertools
        began, op = time.monotonic(), 0
        for tick in itertools.count():    # of 20 ms: 40 zones and one op
            late = began + tick / 50 - time.monotonic()
            if late > 0: time.sleep(late)
            if time.monotonic() - began > float(sys.argv[3]): break
            items = b""
            for zone in range(40):
                items += location(b"work %d" % (zone % 20)) + struct.pack("<Bq", begin, 1000)
                items += struct.pack("<BH", end + 2, 900) if PROTOCOL >= 78 else struct.pack("<Bq", end, 900)
            op += 1
            items += location(b"TT_DNN_DEVICE_OP") + struct.pack("<Bq", begin, 10) + string(single, b"id:%d" % op) + bytes([text])
            items += string(single, b'`TT_DNN_DEVICE_OP: "Add", 5, 0, false, %d ->\\n{"global_call_count": %d, "op_code": "Add", "device_id": 0}`' % (op, op))
            items += struct.pack("<Bq", message, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)) + tail
            items += struct.pack("<BH", end + 2, 10) if PROTOCOL >= 78 else struct.pack("<Bq", end, 10)
            peer.sendall(block(items))
        sys.argv[3:] = []
'''


def children(pid):
    found = []
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            found = [int(word) for word in f.read().split()]
    except FileNotFoundError:
        pass
    return found


def resident_mib(pid):
    """Its own memory; rings are shared and of fixed size."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(l.split()[1]) for l in f if l.startswith("RssAnon")), 0) / 1024
    except (FileNotFoundError, ProcessLookupError):
        return 0


def ours(run):
    """The run and what it started; the workload is a shell with the card and the client below it."""
    names = {}
    for pid in [run, *children(run)]:
        try:
            with open(f"/proc/{pid}/comm") as f:
                names[pid] = f.read().strip()
        except FileNotFoundError:
            pass
    return [pid for pid, name in names.items() if name.startswith("tt")]


def main():
    name = h.card_name()
    path = h.work("client.py")
    marker = '\nif HOW == "switches":'
    client = CLIENT.replace(marker, textwrap.dedent(PACED) + marker, 1)
    h.check("paced" in client, "the client of host_side_test has another form now")
    with open(path, "w") as f:
        f.write(client)
    card = f"{h.BIN}/ttemu --name {name} --cores 2 --programs {SECONDS * 200} --rate 200 --host-reads every:500 --wait-observer -q"
    run = h.start("ttcollect", "run", "-q", "-o", h.work("root"), "-n", name, "-d", "emu:" + name, "--", "sh", "-c",
                  f"{card} & {sys.executable} {path} 83 paced {SECONDS}; wait")
    began, samples = time.monotonic(), []
    while run.poll() is None and time.monotonic() - began < SECONDS:
        time.sleep(1)                     # between two samples
        samples.append(sum(resident_mib(pid) for pid in ours(run.pid)))
    code, out, err = h.finish(run, 60 + SECONDS / 4)
    h.check(code == 0, f"the run ended with {code}: {err}")
    h.check(len(samples) > SECONDS * 0.9, f"the run ended after {len(samples)} of {SECONDS} s")
    quarter = len(samples) // 4
    second, last = min(samples[quarter:2 * quarter]), min(samples[-quarter:])
    print(f"{len(samples)} s: at least {second:.1f} MiB in the second quarter and {last:.1f} in the last, at most {max(samples):.1f}")
    print([line for line in (out + err).splitlines() if "zones of" in line])
    h.check(last <= second + GROWTH_MIB, "memory grows")


main()

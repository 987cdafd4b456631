#!/usr/bin/env python3
"""Serves Tracy and compares what its servers received to what the emulated card emitted. Usage: viewers_tracy_test.py tracy|tracy_foreign|..."""
import os
import re
import signal
import socket
import struct
import sys
import time

import harness as h
import tracy_server
from run_of import RunOf
from viewer_support import (LOSS_COLOUR, MHZ, Marker, collect, end_feed, feed, in_cycles, plain, same, tracy_port, tracy_programs, tracy_zones,
                            zones_of)


def tracy():
    """A server of every dialect, one after another, gets the whole capture."""
    ttc, rows = collect(["--no-sync"], programs=25)
    zones, others = zones_of(rows, in_cycles)
    for column in tracy_server.COLUMNS:
        process, port = feed(ttc, "--once", "--tracy-66", "fork" if column == "66f" else "0.11.0")
        server = tracy_server.Server(column, port).run()
        code, _, err = h.finish(process)
        h.check(code == 0 and "everything was sent" in err, f"ttexport ended with {code}: {err}")
        same(plain(server.told()), plain(tracy_zones(server, zones)), f"protocol {column}, zones")
        lost = tracy_programs(server, zones, ttc)
        events = [m for m in server.messages if server.threads[m[0]].name != "ttcollect"]
        same([(server.threads[t].name, ns) for t, ns, _, _ in events],
             [(f"chip 0 core {x},{y} {r}", ns - server.init) for (x, y, r), _, ns, _, _ in others],
             f"protocol {column}, data and events")
        plots = {n.split(" ", 2)[2] for n in server.plot_names.values()}
        h.check(plots == {"programs/s"} | ({"lost intervals [intervals]"} if lost else set()), f"plots: {server.plot_names}")
        if server.protocol >= 69 and not server.fork:
            hints = sorted((t.hint, t.name) for t in server.threads.values() if t.hint is not None)
            h.check(hints[0][1] == "chip 0 programs", f"the first row is {hints[0]}")
            hints = [hint for hint in hints if " core " in hint[1]]
            lanes = [tuple(map(int, re.findall(r"\d+", n)[:3])) for _, n in hints]
            h.check(lanes == sorted(lanes, key=lambda c: (c[0], c[2], c[1])), "lanes are not in the order of cores")
        h.check(server.app_info == (["tt_device_grid chip=0 size=8x9"] if column in (79, 83) else []),
                f"app info: {server.app_info}")


def tracy_server_came_before_the_header():
    """A server that connected between the making of a capture and the writing of its header ended the feed."""
    ttc, rows = collect(["--no-sync"], programs=10)
    zones, _ = zones_of(rows, in_cycles)
    with open(ttc, "rb") as file:
        whole = file.read()
    for there in (None, 0, 7, 63):
        growing = h.work(f"growing_{there}.ttc")
        if there is not None:
            with open(growing, "wb") as file:
                file.write(whole[:there])
        process, port = feed(growing, "--growing", "--once")
        server = tracy_server.Server(82, port)
        # A refusal is of a feed that has looked for the beginning, found none, and looks after others meanwhile.
        h.check(tracy_server.Server(82, port).status == 3, f"{there} bytes: another server is not refused")
        with open(growing, "ab") as file:
            file.write(whole[there or 0:])
        same(plain(server.run().told()), plain(tracy_zones(server, zones)), f"{there} bytes before the server")
        code, _, err = h.finish(process)
        h.check(code == 0 and "everything was sent" in err, f"{there} bytes before the server: {code} {err}")


def answered(port, first):
    """The client's answer to these first bytes: its status, or nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=h.LIMIT_S) as s:
        s.sendall(first)
        try:
            return s.recv(64)
        except ConnectionResetError:
            return b""


def tracy_foreign():
    """Wrong numbers, garbage, half-open sockets, 100 connections at once: refused in one byte or closed, and served after."""
    ttc, rows = collect(["--no-sync"], programs=10)
    zones, _ = zones_of(rows, in_cycles)
    process, port = feed(ttc)
    for protocol in (0, 1, 63, 65, 77, 84, 0xFFFFFFFF):
        h.check(answered(port, b"TracyPrf" + struct.pack("<I", protocol)) == b"\x02", f"protocol {protocol} is not refused")
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"TracyPrg" + b"\0" * 4, os.urandom(4096)):
        h.check(answered(port, garbage) == b"", f"{garbage[:16]!r} is answered")
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    for s in silent[:50]:
        s.sendall(b"Tracy")
    server = tracy_server.Server(82, port)
    server.welcome()
    late = [tracy_server.Server(74, port).status for _ in range(20)]
    h.check(late == [3] * 20, f"servers that come while another is served get {late}")
    server.socket.sendall(os.urandom(1 << 16))
    h.check(drained(server.socket), "the connection with garbage for questions is not closed")
    for column in (64, 82):
        s = tracy_server.Server(column, port)
        while s.status == 3:
            s = tracy_server.Server(column, port)
        s.run()
        same(plain(s.told()), plain(tracy_zones(s, zones)), f"protocol {column} after all that")
    gone = tracy_server.Server(69, port)
    gone.welcome()
    gone.socket.close()
    open_files = len(os.listdir(f"/proc/{process.pid}/fd"))
    for s in silent:
        s.close()
    s = tracy_server.Server(76, port)
    while s.status == 3:
        s = tracy_server.Server(76, port)
    s.run()
    same(plain(s.told()), plain(tracy_zones(s, zones)), "protocol 76 at the end")
    while len(os.listdir(f"/proc/{process.pid}/fd")) > open_files - 100:
        h.check(process.poll() is None, "the feed has ended")
        os.sched_yield()
    err = end_feed(process)
    h.check("protocol 77" in err and "no Tracy server" in err, f"the refused server is not reported: {err}")


def tracy_cut_was_success():
    """--once ended with 0 when the server was killed at a sixth of the markers, and when none came before a signal."""
    ttc, _ = collect(["--no-sync"], programs=25)
    process, port = feed(ttc, "--once")
    server = tracy_server.Server(82, port, receive_bytes=4096).welcome()
    size, = struct.unpack("<I", server.exactly(4))
    server.exactly(size)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))    # a reset, as of a killed process
    server.socket.close()
    code, _, err = h.finish(process)
    h.check(code == 5 and "everything was sent" not in err and "connection" in err, f"a killed server: {code} {err}")
    process, _ = feed(ttc, "--once")
    process.send_signal(signal.SIGINT)
    code, _, err = h.finish(process)
    h.check(code == 5 and "before a server came" in err, f"no server: {code} {err}")


def tracy_live():
    """ttcollect --tracy with faults on the card: what a server received is true, flaws and losses are marked and reported."""
    run = RunOf(["--cores", 3, "--programs", 400, "--rate", 400, "--host-reads", "every:100",
                 "--fault", "host-reset:every=20000,apart=6ms,words=3"], ["--no-sync", "--tracy=0"], export=())
    server = tracy_server.Server(82, tracy_port(run.collector)).run()
    run.end()
    markers = {}
    for row in h.rows(run.exported):
        m = Marker(row)
        x, y, processor = m.lane
        markers.setdefault(f"chip 0 core {x},{y} {processor}", set()).add((m.name, m.cycles * 1000 // MHZ - server.init))
    whole, flawed = 0, 0
    for lane, named, begin, end, _, _, _, text in plain(server.told()):
        name_only = re.sub(r" \((start without end|end without start|overlaps another zone)\)$", "", named)
        closed = "start without end" in text
        known = markers[lane.replace(" (overlapping)", "")]
        h.check((name_only, begin) in known and (closed or (name_only, end) in known), f"invented: {lane} {named} {begin} {end}")
        h.check(name_only == named or begin == end, f"a flaw of some length: {lane} {named} {begin} {end}")
        whole += name_only == named and not closed
        flawed += name_only != named or closed
    lost = [s for s in server.spans() if s[1] == "markers lost"]
    h.check(all(s[5] == int(LOSS_COLOUR[1:], 16) and "cause " in s[4] and s[0].rsplit(" lost")[0] in markers for s in lost),
            f"losses: {lost[:2]}")
    h.check(whole > 1000, f"only {whole} zones")
    h.check(any("epoch" in text for _, _, text, _ in server.messages), "no epoch is reported")
    print(f"{whole} zones and {flawed} flaws are true, {len(lost)} losses are reported")


def tracy_slow():
    """A server that takes nothing for a while: the ring absorbs what it can, the rest is sent as a message; others are not affected."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 6, "--programs", 700, "--host-reads", "every:100", "--pace",
                   "--wait-observer", "--quiet")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--quiet", "--no-sync", "--tracy=0",
                        "--ring", "256KiB")
    slow = tracy_server.Server(74, tracy_port(collector), receive_bytes=4096)
    h.finish(card)
    slow.run()
    code, _, err = h.finish(collector)
    h.check(code == 0, f"ttcollect ended with {code}: {err}")
    told = [text for _, _, text, _ in slow.messages if "too slow" in text]
    h.check(told and len(slow.zones) > 1000, f"{len(slow.zones)} zones; reported of the loss: {told}")
    print(f"{len(slow.zones)} zones; {told[-1]}")


def tracy_early():
    """A server that comes before there is a clock model: its trace does not begin where the machine was started."""
    started = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    run = RunOf(["--cores", 1, "--programs", 250, "--rate", 160, "--host-reads", "every:100", "--pace"], ["--tracy=0"])
    server = tracy_server.Server(76, tracy_port(run.collector)).run()
    run.end()
    zones, _ = zones_of(h.rows(run.truth), in_cycles)
    same([(z[0], z[1], z[4], z[7]) for z in plain(server.told())],
         [(z[0], z[1], z[4], z[7]) for z in plain(tracy_zones(server, zones))], "zones but for their times")
    ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    # Before the clock model has a frequency, a marker's time is known to about the distance of two samples.
    h.check(server.init > started - 100_000_000 - (ended - started),
            f"the trace begins {(started - server.init) / 1e9} s before a run of {(ended - started) / 1e9} s")
    first = min(begin for _, _, begin, *_ in server.zones)
    h.check(0 <= first < ended - server.init, f"the first zone is {first / 1e9} s from the beginning of the trace")


def tracy_announced():
    """Announced only on request, and on loopback as long as that is what is listened on; wrong usage is one sentence."""
    ttc, _ = collect(["--no-sync"], programs=5)
    window = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    window.settimeout(h.LIMIT_S)
    try:
        window.bind(("127.0.0.1", 8086))
    except OSError:
        h.skip("another program listens to Tracy's announcements on this machine")
    quiet, _ = feed(ttc)
    process, port = feed(ttc, "--announce", "74")
    version, listen, protocol, pid, active = struct.unpack_from("<HHIQi", datagram := window.recv(2048))
    h.check((version, listen, protocol, pid) == (3, port, 74, process.pid) and active >= 0 and datagram[20:] == b"ttcollect\0",
            f"announced: {datagram!r}")
    end_feed(process), end_feed(quiet)
    for arguments, words in ((["--announce", "75"], "no protocol known here"), (["--listen", "nowhere.invalid:1"], "no place to listen"),
                             (["--listen", "127.0.0.1:x"], "no place to listen")):
        code, _, err = h.run("ttexport", "--from", ttc, "--format", "tracy", *arguments)
        h.check(code in (2, 5) and words in err and len(err.strip().splitlines()) <= 2, f"{arguments}: {code} {err}")
    taken, port = feed(ttc)
    code, _, err = h.run("ttexport", "--from", ttc, "--format", "tracy", "--listen", port)
    h.check(code == 5 and "another port" in err, f"a taken port: {code} {err}")
    end_feed(taken)
    print("announced on request")


def drained(s):
    try:
        while s.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


if __name__ == "__main__":
    {"tracy": tracy, "tracy_foreign": tracy_foreign, "tracy_cut": tracy_cut_was_success, "tracy_live": tracy_live, "tracy_slow": tracy_slow,
     "tracy_before_header": tracy_server_came_before_the_header, "tracy_early": tracy_early, "tracy_announced": tracy_announced}[sys.argv[1]]()
    print("ok")

#!/usr/bin/env python3
"""Common searches in a timeline of devices, each case named after what was missing. Usage: timeline_test.py CASE"""
import json
import os
import re
import signal
import sys
import xml.etree.ElementTree
import zlib

import harness as h
import perfetto_check
import tracy_server
import viewer_support as viewers
from run_of import RunOf
from viewer_support import SVG, events_of, svg_tips


def ethernet_capture(*card):
    """A Blackhole with Ethernet, a replayed trace, NoC events and counters: the capture, and what the device CSV makes of it."""
    name = h.card_name()
    ttc = h.work(name + ".ttc")
    run = RunOf(["--arch", "blackhole", "--ethernet", 2, "--cores", 2, "--programs", 20, "--host-reads", "every:10", "--pace", *card],
                ["-o", ttc, "--no-sync"], export=("--format", "device-csv"), name=name).end()
    return ttc, run.exported


def ends_had_no_name():
    """speedscope ended no zone whose begin and end came in different launches' words: the E had neither name nor arguments."""
    ttc, _ = ethernet_capture("--trace", "10:5", "--noc-events", 30, "--perf-counters")
    stacks, pairs = {}, 0
    for e in events_of(ttc):
        if e["ph"] == "B":
            stacks.setdefault(e["tid"], []).append(e)
        if e["ph"] == "E":
            begun = stacks[e["tid"]].pop()
            h.check((begun["name"], begun["args"]) == (e["name"], {k: v for k, v in e["args"].items() if k != "flaw"}),
                    f"{begun} ends as {e}")
            pairs += 1
    h.check(pairs > 10 and not any(stacks.values()), f"{pairs} pairs, open are {stacks}")
    bare = events_of(ttc, "--no-args")
    h.check(not any("args" in e for e in bare if e["ph"] in "XBEi"), "--no-args leaves arguments in")
    h.check(len({e["name"] for e in bare if e["ph"] in "XB"}) < 200, "zones of one name are many frames")
    print(f"{pairs} pairs")


def ethernet_lanes_were_one():
    """Both ERISCs of a core had one name; read from a device log they were one lane."""
    ttc, log = ethernet_capture()
    from_words, from_log = lanes_of(events_of(ttc)), lanes_of(events_of(log))
    eriscs = [lane for lane in from_words if " ERISC" in lane]
    h.check(len(eriscs) == 4 and len({lane.split(" ERISC")[0] for lane in eriscs}) == 2, f"lanes: {eriscs}")
    for lane in eriscs:
        h.check(from_words[lane] and from_log[lane + " (log)"] == from_words[lane], f"{lane} has other zones when read from a log")
    print(f"{eriscs}: {[len(from_words[lane]) for lane in eriscs]} zones each way")


def lanes_of(events):
    """Zones by the name of their lane. Host ids have no end in a log's rows of launches that it does not number."""
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    lanes = {name: set() for name in names.values()}
    for e in events:
        if e["ph"] == "X":
            lanes[names[e["tid"]]].add((e["name"], e["ts"], e["dur"]))
    return lanes


def logs_were_refused():
    """svg and tracy took no device log, neither alone nor beside a capture that has its chips."""
    ttc, rows = viewers.collect(["--no-sync"], programs=10)
    log, _ = viewers.export(ttc, "device-csv")
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    drawn = svg_tips(viewers.export(log, "svg", "--window", "0,60s")[0])
    h.check(sum(t.startswith("BRISC-KERNEL, ") for t in drawn) == sum(z[1] == "BRISC-KERNEL" for z in zones), "zones are missing")
    both = svg_tips(viewers.export(f"{ttc},{log}", "svg", "--window", "0,60s")[0])
    h.check(sorted(both) == sorted(svg_tips(viewers.export(ttc, "svg", "--window", "0,60s")[0])), "a chip is drawn twice")
    code, out, err = h.run("ttreport", "timeline", log, "-o", h.work("log.svg"))
    h.check(code == 0, f"ttreport timeline ended with {code}: {out}{err}")
    process, port = viewers.feed(log, "--once")
    server = tracy_server.Server(82, port).run()
    code, _, err = h.finish(process)
    h.check(code == 0 and "everything was sent" in err, f"ttexport ended with {code}: {err}")
    sent = [(lane.removesuffix(" (log)"), name, begin + server.init, end + server.init)
            for lane, name, begin, end, *_ in viewers.plain(server.told())]
    want = [(f"chip 0 core {x},{y} {r}", name, begin, end) for (x, y, r), name, begin, end, *_ in zones]
    viewers.same(sent, [z for z in want if "DISPATCH" not in z[1]], "zones of a log in Tracy")


def events_were_numbers():
    """NoC events were `event 12345` with a packed decimal, and hardware counters no counters."""
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    ttc, csv = ethernet_capture("--noc-events", 50, "--perf-counters")
    counted, noc = {}, 0
    for row in h.rows(csv):
        c = row.split(",", 14)
        if c[4] == "9090":
            said = json.loads(c[14].replace(";", ","))
            counted.setdefault((int(c[1]), int(c[2]), said["counter type"]), []).append(
                (int(c[5]) * 1000 // 1000, 100 * said["value"] / said["ref cnt"]))
        noc += c[4] == "12345"
    trace = perfetto_check.Trace(viewers.export(ttc, "perfetto")[0])
    got = {}
    for path, ns, value in trace.counters:
        if len(path) == 3:
            x, y = map(int, re.findall(r"\d+", path[1]))
            h.check(trace.units[path[2]] == "% of cycles", f"{path} is in {trace.units[path[2]]}")
            got.setdefault((x, y, path[2].split(" ")[-1]), []).append((ns, value))
    h.check(counted and {k: sorted(v) for k, v in got.items()} == {k: sorted(v) for k, v in counted.items()},
            f"counters are others: {sorted(got)} {sorted(counted)}")
    named = [(name, a) for path, name, _, a in trace.instants if not {"value", "count", "zone hash"} & set(a) and len(path) == 3 and not name.startswith("event ")]
    h.check(len(named) == noc > 10, f"{len(named)} of {noc} NoC events have a name")
    with_target = [(n, a) for n, a in named if "target" in a]
    h.check(with_target and all(f" {a['target']}" in n and a["NoC"] in (0, 1) for n, a in with_target), f"{with_target[:2]}")
    marks = senders_meet_receivers(trace)
    process, port = viewers.feed(ttc, "--once")
    server = tracy_server.Server(74, port).run()
    h.finish(process)
    plots = {server.plot_names[key]: len(values) for key, values in server.plots.items()}
    h.check({n: c for n, c in plots.items() if "% of cycles" in n} ==
            {f"chip 0 core {x},{y} BRISC {n} [% of cycles]": len(v) for (x, y, n), v in counted.items()}, f"plots: {plots}")
    addressed = [z for z in server.spans() if z[0].endswith(" NoC: addressed")]
    h.check(len(addressed) == marks and all(z[2] == z[3] for z in addressed), f"{len(addressed)} marks in Tracy")
    events = events_of(ttc)
    flows = {}
    for e in events:
        if e["ph"] in "sf":
            flows.setdefault(e["id"], []).append(e["ph"])
    h.check(all(sorted(phases) == ["f", "s"] for phases in flows.values()) and sum(e.get("cat") == "noc" for e in events) == marks, "flows in Chrome")
    print(f"{noc} NoC events, {marks} of them to compute cores, {len(counted)} counters")


def senders_meet_receivers(trace):
    """Local events to a compute core of the emulated Blackhole, whose last two columns are harvested, so that the others have their
    own numbers; and the marks there. How many."""
    columns, rows = (*range(1, 8), *range(10, 15)), range(2, 12)
    want, places = [], {}
    for path, name, ns, a in trace.instants:
        if len(path) != 3 or "target" not in a or name.startswith("FABRIC"):
            continue
        x, y = map(int, a["target"].split(","))
        if x in columns and y in rows:
            want.append((f"core {x},{y}", ns, f"{name.split(' ')[0]} by {path[1]}"))
            places.setdefault((path, ns), []).append(want[-1][0])
    marks = [z for z in trace.spans if z[0][-1].startswith("NoC: addressed")]
    viewers.same([(z[0][1], z[2], z[1]) for z in marks], want, "cores that NoC events address")
    joined = 0
    for slices in trace.flows.values():
        to = [(path, ns) for path, ns in slices if path[-1].startswith("NoC: addressed")]
        if to:
            sender = next(s for s in slices if s not in to)
            h.check(to[0][0][1] in places.get(sender, ()) and to[0][1] == sender[1], f"a flow from {sender} to {to}")
            joined += 1
    h.check(joined == len(want) > 5, f"{joined} flows of {len(want)}")
    return joined


def killed_gzip_was_refused():
    """A followed gzip file was one stream without its end. Now it is whole members; Perfetto refuses anything else."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 4, "--programs", 0, "--host-reads", "every:20", "--pace", "--wait-observer",
                   "--quiet")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--quiet", "--no-sync")
    path = h.work("follow.gz")
    exporter = h.start("ttexport", "--from", "live:emu-" + name, "--wait", "600s", "--follow", "--gzip", "--format", "perfetto", "-o", path)
    h.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 1 << 19, "half a MiB", exporter)
    exporter.kill()
    exporter.wait()
    collector.send_signal(signal.SIGINT)
    card.send_signal(signal.SIGTERM)
    h.finish(collector), h.finish(card)
    with open(path, "rb") as data:
        rest = data.read()
    plain, members = b"", 0
    while rest:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        part = member.decompress(rest)
        if not member.eof:    # the kill came within the write(2) of this one
            break
        plain, members, rest = plain + part, members + 1, member.unused_data
    h.check(members > 1, f"{members} whole members, {len(rest)} bytes behind them")
    with open(h.work("follow.plain"), "wb") as out:
        out.write(plain)
    before = len(plain)
    viewers.whole_packets(h.work("follow.plain"))
    h.check(os.path.getsize(h.work("follow.plain")) == before, "a member ends within a packet")
    print(f"{members} members, {before} bytes of packets")


def stock_tracy_crashed():
    """By default a server of protocol 66 got what stock 0.11.0 crashes on. Both servers of protocol 66 take the other form."""
    ttc, rows = viewers.collect(["--no-sync"], programs=10)
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    for column in (66, "66f"):
        process, port = viewers.feed(ttc, "--once")
        server = tracy_server.Server(column, port)
        server.fork = False    # no device context is expected, and an item of one fails the test
        server.run()
        code, _, err = h.finish(process)
        h.check(code == 0 and "--tracy-66 fork" in err and not server.contexts, f"ttexport ended with {code}: {err}")
        viewers.same(viewers.plain(server.told()), viewers.plain(viewers.tracy_zones(server, zones)), f"protocol {column}")


def stock_contexts():
    """GPU statistics of stock Tracy need GPU contexts: --tracy-lanes contexts."""
    ttc, rows = viewers.collect(["--no-sync"], programs=10)
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    for column in (64, 82):
        process, port = viewers.feed(ttc, "--once", "--tracy-lanes", "contexts")
        server = tracy_server.Server(column, port).run()
        code, _, err = h.finish(process)
        h.check(code == 0, f"ttexport ended with {code}: {err}")
        want = [(*z[:7], viewers.context_of(*map(int, re.findall(r"\d+", z[0])[1:3])))
                for z in viewers.plain(viewers.tracy_zones(server, zones))]
        viewers.same(viewers.plain(server.told()), want, f"protocol {column}, device zones")
        viewers.tracy_programs(server, zones, ttc)


def windows_were_blind():
    """A window is found by program, zone or replay; without one the first program is shown; an empty one names the nearest markers."""
    ttc, rows = viewers.collect(["--no-sync"], ["--trace", "5:3"], programs=12)
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    programs = sorted(p[:3] for p in viewers.programs_of(zones))
    replayed = [p for p in programs if p[0] != programs[0][0]][0]

    def drawn(*arguments):
        return svg_tips(viewers.export(ttc, "svg", *arguments)[0])

    first = drawn()
    h.check(any(t.startswith("program ") for t in first) and any(t.startswith("BRISC-KERNEL, ") for t in first), "nothing is shown")
    h.check(any(t.startswith(f"program {replayed[0]}, ") for t in drawn("--window", f"op:{replayed[0]}")), "another program")
    kernels = sorted((z[2], z[3]) for z in zones if z[1] == "NCRISC-KERNEL")
    title = "".join(t.text or "" for t in xml.etree.ElementTree.parse(
        viewers.export(ttc, "svg", "--window", "zone:NCRISC-KERNEL#3")[0]).iter(SVG + "text"))
    length = kernels[2][1] - kernels[2][0]
    shown = re.search(r": ([\d.]+) (ns|us|ms) from", title)
    h.check(shown and abs(float(shown[1]) * {"ns": 1, "us": 1e3, "ms": 1e6}[shown[2]] / (length * 1.1) - 1) < 0.02,
            f"zone:NCRISC-KERNEL#3 of {length} ns: {title[:120]}")
    h.check(any(t.startswith("BRISC-KERNEL, ") for t in drawn("--window", "step:2")), "no second replay")
    for window, words in (("op:999999", "there are "), ("zone:NOWHERE", "no zone has the name NOWHERE"),
                          (f"zone:NCRISC-KERNEL#{len(kernels) + 1}", f"there are {len(kernels)} zones NCRISC-KERNEL, and no number {len(kernels) + 1}"), ("step:99", "replay 99 is not in it"),
                          ("op:", "is no window"), ("zone:", "is no window"), ("step:x", "is no window")):
        code, _, err = h.run("ttexport", "--from", ttc, "--format", "svg", "--window", window, "-o", h.work("wrong.svg"))
        h.check(code == 2 and words in err and not os.path.exists(h.work("wrong.svg")), f"--window {window}: {code} {err}")
    _, message = viewers.export(ttc, "svg", "--window", "10min,1us")
    h.check("no marker is in this window; the last marker before it is at" in message, f"an empty window prints: {message}")


def heat_maps_mixed_units():
    """"266m" stood beside 781, without a legend; a core was `1-2` in one report and `1,2` in another."""
    ttc, log = ethernet_capture()
    for source in (ttc, log):
        code, out, err = h.run("ttreport", "heatmap", source)
        h.check(code == 0, f"ttreport heatmap ended with {code}: {err}")
        title, axis, *cells, legend = out.splitlines()
        h.check(re.fullmatch(r"Chip 0: time in kernels of each core in (ns|us|ms|s), NOC0 physical", title) and "y\\x" in axis, out)
        values = [cell for line in cells for cell in line.split()[1:]]
        h.check(values and all(re.fullmatch(r"\d+(\.\d+)?e?|\.", v) for v in values), f"cells: {values}")
        h.check(sum(v.endswith("e") for v in values) == 2 and "e an Ethernet tile" in legend and "no kernel ran there" in legend, out)
    code, out, err = h.run("ttreport", "kernels", "--by", "core", ttc)
    h.check(code == 0 and re.search(r"\b1,2\b", out) and not re.search(r"\b\d{1,2}-\d{1,2}\b", out), f"cores: {out}{err}")


def flows_of_chips_met():
    """Flows of two chips had the same numbers: a program led to the cores of both."""
    captures = [viewers.collect(["--no-sync"], programs=5, cores=2)[0] for _ in range(2)]
    events = events_of(",".join(captures))
    flows = {}
    for e in events:
        if e["ph"] in "sf":
            flows.setdefault(e["id"], []).append((e["ph"], e["pid"]))
    h.check(len({pid for f in flows.values() for _, pid in f}) == 2 and len(flows) >= 20, f"{len(flows)} flows")
    h.check(all(len(f) == 2 and f[0][1] == f[1][1] and {f[0][0], f[1][0]} == {"s", "f"} for f in flows.values()), f"{list(flows.items())[:3]}")
    if perfetto_check.available():
        perfetto_check.Trace(viewers.export(",".join(captures), "perfetto")[0])    # a flow joins two slices


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("ok")

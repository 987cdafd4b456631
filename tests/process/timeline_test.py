#!/usr/bin/env python3
"""Common searches in a timeline, each case named after what was missing. Usage: timeline_test.py CASE"""
import decimal
import json
import os
import re
import signal
import sys
import xml.etree.ElementTree
import zlib

import harness as h
import host_side_test
import page_test
import perfetto_check
import tracy_server
import viewers_test as viewers
from run_of import RunOf

SVG = "{http://www.w3.org/2000/svg}"


def ethernet_capture(*card):
    """A Blackhole with Ethernet, a replayed trace, NoC events and counters: the capture, and what the device CSV makes of it."""
    name = h.card_name()
    ttc = h.work(name + ".ttc")
    run = RunOf(["--arch", "blackhole", "--ethernet", 2, "--cores", 2, "--programs", 20, "--host-reads", "every:10", "--pace", *card],
                ["-o", ttc, "--no-sync"], export=("--format", "device-csv"), name=name).end()
    return ttc, run.exported


def events_of(ttc, *arguments):
    with open(viewers.export(ttc, "chrome", *arguments)[0], encoding="utf-8") as text:
        # Microseconds since the host's start have more digits than a float after a hundred days.
        return json.load(text, parse_float=decimal.Decimal)["traceEvents"]


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


def svg_tips(path):
    return [t.text for t in xml.etree.ElementTree.parse(path).iter(SVG + "title")]


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
        viewers.tracy_programs(server, zones)


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


def tips_of_programs(ttc):
    return sorted(t.split(", ")[0] for t in svg_tips(viewers.export(ttc, "svg", "--window", "0,60s")[0]) if "program " in t.split(", ")[0])


def programs_in_chrome(ttc):
    return sorted(e["name"] for e in events_of(ttc) if e.get("cat") == "program")


def programs_had_no_names():
    """The host's files have a program's name; viewers showed its number alone."""
    name, folder = h.card_name(), h.work("out")
    ttc = os.path.join(folder, "run.ttc")
    os.makedirs(folder)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/fake_metal")
    code, _, err = h.finish(h.start("ttcollect", "run", "-o", h.work("root"), "-d", "emu:" + name, "--", sys.executable, program, "--name", name,
                                    "--year", "2026", "--out", folder, "--bin", h.BIN, "--", "--workload", "allreduce", "--cores", "4", "--programs", "12",
                                    "--pace", "--linger", "60s", "--quiet", env={**os.environ, "TTC_TOOLS": ""}))
    h.remove_at_end(f"emu-{name}")
    h.check(code == 0, f"ttcollect run ended with {code}: {err}")
    captures = [os.path.join(at, f) for at, _, files in os.walk(h.work("root")) for f in files if f == "run.ttc"]
    os.rename(captures[0], ttc)
    with open(os.path.join(folder, "tracy_ops_data.csv"), encoding="utf-8") as file:
        ops = {int(n): op for op, n in re.findall(r'`TT_DNN_DEVICE_OP: "(\w+)", \d+, 0, \w+, (\d+)', file.read())}
    want = sorted(f"{op} (program {n})" for n, op in ops.items())
    h.check(len(want) == 12 and len(set(ops.values())) > 1, f"ops: {ops}")
    h.check(programs_in_chrome(ttc) == want, f"Chrome: {programs_in_chrome(ttc)}, not {want}")
    h.check(tips_of_programs(ttc) == want, f"SVG: {tips_of_programs(ttc)}")
    if perfetto_check.available():
        trace = perfetto_check.Trace(viewers.export(ttc, "perfetto")[0])
        h.check(sorted(s[1] for s in trace.spans if s[0][-1].startswith("programs")) == want, "Perfetto")
    process, port = viewers.feed(ttc, "--once")
    server = tracy_server.Server(82, port).run()
    h.finish(process)
    h.check(sorted(name for row, name, *_ in server.spans() if " programs" in row) == want, f"Tracy: {server.spans()}")
    h.check({server.strings[location[0]] for location in server.locations.values()} >= set(ops.values()), "statistics go by the ops' names")
    with open(os.path.join(folder, "tracy_ops_data.csv"), "w", encoding="utf-8") as file:
        file.write("There are currently no messages!\n")
    _, err = viewers.export(ttc, "chrome")
    h.check("holds no messages" in err and programs_in_chrome(ttc) == sorted(f"program {n}" for n in ops), f"an empty file is passed over: {err}")


def run_with_host_side(first, last):
    """A card and a Tracy client in one workload of ttcollect run. The capture, and the text of the ops' messages."""
    name, root = h.card_name(), h.work("root")
    h.remove_at_end(f"emu-{name}")
    line = (f"{h.BIN}/ttemu --name {name} --cores 2 --programs 30 --pace 20 --linger 60s -q & "
            f"{sys.executable} {host_side_test.client_file()} 83 ops:{first}:{last}; code=$?; wait; exit $code")
    code, _, err = h.finish(h.start("ttcollect", "run", "-v", "-o", root, "-d", f"emu:{name}", "--", "sh", "-c", line))
    h.check(code == 0, f"ttcollect run ended with {code}: {err}")
    return [os.path.join(at, f) for at, _, files in os.walk(root) for f in files if f == "run.ttc"][0]


def host_was_missing():
    """What ttcollect run records of the host is shown above the device, and an op's zone leads to its program."""
    ttc = run_with_host_side(1, 20)
    names = sorted([f"Add (program {n})" for n in range(1, 21)] + [f"program {n}" for n in range(21, 31)])
    h.check(programs_in_chrome(ttc) == names, f"Chrome: {programs_in_chrome(ttc)}")
    events = events_of(ttc)
    zones = [e for e in events if e.get("cat") == "host" and e["ph"] == "B"]
    ids = [f"id:{n}" for n in [1024, *range(1, 21)]]
    h.check([z["args"]["text"] for z in zones] == ids and {z["name"] for z in zones} == {"TT_DNN_DEVICE_OP"}, f"zones: {zones}")
    ends = [e for e in events if e.get("cat") == "host" and e["ph"] == "E"]
    h.check([(e["name"], e["args"]) for e in ends] == [(z["name"], z["args"]) for z in zones], "speedscope ends no zone whose E is another")
    sort = {e["args"]["name"]: e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    place = {e["pid"]: e["args"]["sort_index"] for e in events if e["ph"] == "M" and e["name"] == "process_sort_index"}
    h.check(place[sort["fake client"]] < place[1], f"the host is not above the chip: {sort} {place}")
    flows = {}
    for e in events:
        if e["ph"] in "sf" and e["id"] >= perfetto_check.FIRST_OP_FLOW:
            flows.setdefault(e["id"], {})[e["ph"]] = (e["pid"], e["ts"])
    begins = {e["ts"]: e["name"] for e in events if e.get("cat") == "program"}
    joined = [begins[f["f"][1]] for f in flows.values() if "f" in f]
    h.check(sorted(joined) == names[:20] and all(f["s"][0] == sort["fake client"] for f in flows.values()), f"flows: {joined}")
    bare = events_of(ttc, "--no-args")
    h.check(not any("args" in e for e in bare if e["ph"] in "XBEi"), "--no-args leaves arguments in")
    code, _, err = h.run("ttreport", "html", ttc, "-o", h.work("page.html"))
    h.check(code == 0, f"ttreport html ended with {code}: {err}")
    with open(h.work("page.html"), encoding="utf-8") as file:
        page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1].replace("<\\/", "</"))
    h.check({z[0] for z in page["zonenames"] if z[2] == 5} == {"Add", "program"}, f"names on the page: {page['zonenames']}")
    if perfetto_check.available():
        host_in_perfetto(ttc, zones)
    for column in (64, 79, 82):
        host_in_tracy(ttc, column, zones)
    print(f"{len(zones)} zones, {len(joined)} flows")


# For host_side_test.CLIENT, protocol 83: a second thread waits for a lock that the first one holds, three frames, and answers to
# the questions for names. Times of locks count from one another, those of frames do not.
LOCKS_AND_FRAMES = """
if HOW == "locks":
    MAIN, WORKER, LOCK = 42, 43, 7
    items = struct.pack("<BIqQB", 91, LOCK, raw, 0x1000, 0)
    items += struct.pack("<BIIq", 28, MAIN, LOCK, raw + 3000) + struct.pack("<BIIq", 29, MAIN, LOCK, 5)
    items += struct.pack("<BIIq", 28, WORKER, LOCK, 100) + struct.pack("<BIq", 30, LOCK, 895)
    items += struct.pack("<BIIq", 29, WORKER, LOCK, 10) + struct.pack("<BIq", 30, LOCK, 90)
    for at in (1000, 3000, 6000):
        items += struct.pack("<BqQ", 86, raw + at, 0)
    items += struct.pack("<BqQ", 87, raw + 3500, 0x2000) + struct.pack("<BqQ", 88, raw + 3600, 0x2000)
    items += struct.pack("<BI", context, WORKER) + location(b"work") + struct.pack("<Bq", begin, raw + 2500) + struct.pack("<BH", end + 2, 5000)
    peer.sendall(block(items))
"""
ANSWERS = """
    if kind == 3: peer.sendall(block(struct.pack("<BQQQIBBB", 90, 0, 0x1001, 0x1002, 31, 0, 0, 0)))
    if kind == 1: peer.sendall(block(struct.pack("<BQH", 122, key, 10) + {0x1001: b"std::mutex", 0x1002: b"worker.cpp"}[key]))
    if kind == 5: peer.sendall(block(struct.pack("<BQH", 128, key, 4) + (b"load" if key else b"main")))
    if kind == 2: peer.sendall(block(struct.pack("<BQH", thread_name, key, 4) + {42: b"main", 43: b"work"}[key]))
"""


def client_with_locks():
    client = host_side_test.CLIENT
    stream, answer = 'if HOW == "garbage":\n', '    if kind == 2: peer.sendall'
    h.check(client.count(stream) == 1 and client.count(answer) == 1, "the client has another form")
    line = client[client.index(answer):].split("\n")[0]
    client = client.replace(stream, LOCKS_AND_FRAMES[1:] + stream).replace(line + "\n", ANSWERS[1:])
    path = h.work("locks.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(client)
    return path


# Of the rows that this client makes: name, begin, end, from the first frame's begin.
WANTED_ROWS = {
    "frames": [("frame 1", 0, 2000), ("frame 2", 2000, 5000)],
    "frames load": [("frame 1", 2500, 2600)],
    "lock std::mutex": [("held by main", 2005, 3000), ("held by work", 3010, 3100)],
    "work waits for locks": [("waits for std::mutex", 2105, 3010)],
}


def locks_and_frames_were_missing():
    """What a Tracy client sends of its locks and frames was in the capture and in no viewer; SVG and the page showed no host thread."""
    name, root = h.card_name(), h.work("root")
    h.remove_at_end(f"emu-{name}")
    line = (f"{h.BIN}/ttemu --name {name} --cores 2 --programs 10 --pace 20 --linger 60s -q & "
            f"{sys.executable} {client_with_locks()} 83 locks; code=$?; wait; exit $code")
    code, _, err = h.finish(h.start("ttcollect", "run", "-v", "-o", root, "-d", f"emu:{name}", "--", "sh", "-c", line))
    h.check(code == 0, f"ttcollect run ended with {code}: {err}")
    ttc = [os.path.join(at, f) for at, _, files in os.walk(root) for f in files if f == "run.ttc"][0]
    rows_in_chrome(ttc)
    if perfetto_check.available():
        trace = perfetto_check.Trace(viewers.export(ttc, "perfetto")[0])
        found = {}
        for path, span, begin, end, _, _ in trace.host + trace.spans:
            found.setdefault(path[-1], []).append((span, begin, end))
        rows_are(found, "Perfetto")
    for column in (64, 82):
        process, port = viewers.feed(ttc, "--once")
        server = tracy_server.Server(column, port).run()
        h.finish(process)
        found = {}
        for i, (thread, location, begin, end, _, _) in enumerate(server.zones):
            row = re.fullmatch(r"fake client \(\d+\) (.*)", server.threads[thread].name)
            if row:
                found.setdefault(row[1], []).append((server.names.get(i, server.strings[server.locations[location][0]]), begin, end))
        rows_are(found, f"Tracy {column}")
    host_in_svg(ttc)
    host_on_page(ttc)


def rows_in_chrome(ttc):
    events, found, names = events_of(ttc), {}, {}
    for e in events:
        if e["ph"] == "M" and e["name"] == "thread_name":
            names[e["pid"], e["tid"]] = e["args"]["name"]
    for e in events:
        if e["ph"] == "X" and e.get("cat") in ("frame", "lock held", "lock waited for"):
            found.setdefault(names[e["pid"], e["tid"]], []).append((e["name"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)))
            h.check(e["cat"] != "lock waited for" or e["args"] == {"held by": "main"}, f"{e}")
            h.check(e["cat"] != "lock held" or e["args"]["waited ns"] in (5, 905), f"{e}")
    rows_are(found, "Chrome")


def rows_are(found, what):
    first = found["frames"][0][1]
    got = {row: sorted(((n, b - first, e - first) for n, b, e in spans), key=lambda s: s[1]) for row, spans in found.items() if row in WANTED_ROWS}
    # Times are by our own map of the client's clock, each rounded.
    same = got.keys() == WANTED_ROWS.keys() and all(
        len(got[row]) == len(want) and all(g[0] == w[0] and abs(g[1] - w[1]) <= 2 and abs(g[2] - w[2]) <= 2 for g, w in zip(got[row], want))
        for row, want in WANTED_ROWS.items())
    h.check(same, f"{what}: {got}, not {WANTED_ROWS}")
    print(f"{what}: {sum(map(len, got.values()))} spans in {len(got)} rows")


def host_in_svg(ttc):
    path, _ = viewers.export(ttc, "svg", "--window", "zone:work")
    labels = [t.text for t in xml.etree.ElementTree.parse(path).iter(SVG + "text")]
    tips = svg_tips(path)
    for row in (*WANTED_ROWS, "work"):
        h.check(f"fake client {row}" in labels, f"no row {row}: {labels[:40]}")
    for tip in ("work, 5 us", "held by main, 995 ns, waited ns 5", "waits for std::mutex, 905 ns, held by main", "frame 2, 3 us"):
        h.check(tip in tips, f"no {tip!r}: {sorted(tips)[:40]}")


def host_on_page(ttc):
    path = h.work("host.html")
    code, _, err = h.run("ttreport", "html", ttc, "-o", path)
    h.check(code == 0, f"ttreport html ended with {code}: {err}")
    with open(path, encoding="utf-8") as file:
        page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1].replace("<\\/", "</"))
    host = [lane for lane, of in zip(page["lanes"], page["laneprocessors"]) if of == "host"]
    h.check(host == page["lanes"][:len(host)] and {f"fake client: {row}" for row in (*WANTED_ROWS, "work")} <= set(host), f"{page['lanes'][:9]}")
    column = page_test.columns(page)
    found = {}
    for begin, length, lane, zone in zip(column["begin"], column["length"], column["lane"], column["zone"]):
        found.setdefault(page["lanes"][lane].removeprefix("fake client: "), []).append((page["zonenames"][zone][0], begin, begin + length))
    h.check([z[0] for z in found["work"]] == ["work"] and abs(found["work"][0][2] - found["work"][0][1] - 5000) <= 2, f"{found['work']}")
    locks = {row: found[row] for row in ("lock std::mutex", "work waits for locks")}
    h.check([s[0] for s in locks["lock std::mutex"]] == ["held by main", "held by work"], f"{locks}")
    h.check([s[0] for s in locks["work waits for locks"]] == ["waits for std::mutex"], f"{locks}")
    kinds = {page["zonenames"][zone][2] for zone in column["zone"]}
    h.check({6, 7, 8, 9} <= kinds, f"kinds of bars: {kinds}")


def host_in_perfetto(ttc, zones):
    trace = perfetto_check.Trace(viewers.export(ttc, "perfetto")[0])
    viewers.same([(z[0], z[1], z[2], z[4]["text"]) for z in trace.host],
                 [(("fake client", "main"), z["name"], round(z["ts"] * 1000), z["args"]["text"]) for z in zones], "host zones in Perfetto")
    messages = [i for i in trace.instants if i[0] == ("fake client", "main")]
    h.check(len(messages) == len(zones) and all(m[1].startswith('TT_DNN_DEVICE_OP: "Add", 5') and "->" in m[3]["text"] for m in messages), f"{messages[:1]}")
    joined = [slices for flow, slices in trace.flows.items() if int(flow, 0) >= perfetto_check.FIRST_OP_FLOW and len(slices) == 2]
    h.check(len(joined) == 20 and all({path[-1] for path, _ in slices} == {"main", "programs"} for slices in joined), f"{joined[:2]}")


def host_in_tracy(ttc, column, zones):
    process, port = viewers.feed(ttc, "--once")
    server = tracy_server.Server(column, port).run()
    code, _, err = h.finish(process)
    h.check(code == 0, f"ttexport ended with {code}: {err}")
    thread = [t for t, is_ in server.threads.items() if is_.name.startswith("fake client (") and is_.name.endswith(") main")]
    h.check(len(thread) == 1, f"protocol {column}: {[t.name for t in server.threads.values()]}")
    told = [(server.strings[server.locations[z[1]][0]], z[2] + server.init, z[5]) for z in server.zones if z[0] == thread[0]]
    viewers.same(told, [(z["name"], round(z["ts"] * 1000), z["args"]["text"]) for z in zones], f"protocol {column}, host zones")
    h.check(sum(m[0] == thread[0] and "TT_DNN_DEVICE_OP" in m[2] for m in server.messages) == len(zones), f"protocol {column}, messages")
    hints = {t.name: t.hint for t in server.threads.values() if t.hint is not None}
    h.check(not hints or min(hints, key=hints.get).startswith("fake client"), f"the host is not above the chip: {hints}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("ok")

#!/usr/bin/env python3
"""Compares files for viewers to what the emulated card emitted. Usage: viewers_test.py perfetto|chrome|...

Without a clock model times are cycles at the nominal clock, so that they can be compared to the last digit; with one they
are compared with the host times of the device CSV.
"""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree
from decimal import Decimal

import harness as h
import perfetto_check
from viewer_support import LOSS_COLOUR, MHZ, collect, export, in_cycles, intervals_of, programs_of, same, whole_packets, zones_of


def lane_of(path):
    x, y = re.fullmatch(r"core (\d+),(\d+)", path[1]).groups()
    return int(x), int(y), path[2]


def perfetto_zones(trace):
    for zone in trace.zones:
        h.check("flaw" not in zone[4], f"flawed: {zone}")
    h.check(not trace.open_zones, f"left open: {trace.open_zones[:2]}")
    return [(lane_of(path), name, begin, end, depth, a["host id"], a["zone hash"], a.get("source"))
            for path, name, begin, end, a, depth in trace.zones]


def longest_kernels(zones):
    longest = {}
    for (x, y, _), name, begin, end, _, host, _, _ in zones:
        if host and name.endswith("-KERNEL"):
            longest[host] = max(longest.get(host, (0,)), (end - begin,))
    return {host: ns for host, (ns,) in longest.items()}


def perfetto():
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    ttc, rows = collect(["--no-sync"])
    path, told = export(ttc, "perfetto")
    h.check("no clock model" in told, f"the missing clock is not reported: {told}")
    trace = perfetto_check.Trace(path)
    zones, others = zones_of(rows, in_cycles)
    same(perfetto_zones(trace), zones, "perfetto, zones")
    h.check(all(a["cycles"] == end - begin for _, _, begin, end, a, _ in trace.zones), "cycles beside a zone are others")
    rows_of_programs(trace, zones)
    lost = [(f"{path[0].split(' (')[0]} {path[1]} {path[2].rsplit(' lost')[0]}", a["cause"], a["from cycles"], a.get("to cycles"))
            for path, _, _, _, a, _ in trace.spans if not path[1].startswith("programs")]
    same(lost, intervals_of(ttc), "perfetto, intervals")
    got = [(lane_of(p), name, ns, a["host id"], a.get("value", 0)) for p, name, ns, a in trace.instants if len(p) == 3]
    same(without_names(got), without_names(others), "perfetto, data and events")
    size_of(path, trace, 80)
    bare, _ = export(ttc, "perfetto", "--no-args")
    size_of(bare, perfetto_check.Trace(bare), 60)
    zipped, _ = export(ttc, "perfetto", "--gzip")
    with open(path, "rb") as plain, gzip.open(zipped) as unzipped:
        h.check(unzipped.read() == plain.read(), "the gzip stream holds something else")


def rows_of_programs(trace, zones):
    """The row above the cores has every program once, and a flow leads from it to a kernel zone of each of its cores."""
    programs = [span for span in trace.spans if span[0][1].startswith("programs")]
    got = [(a["host id"], begin, end, a["cores"]) for _, _, begin, end, a, _ in programs]
    same(got, programs_of(zones), "perfetto, programs")
    longest = longest_kernels(zones)
    h.check(all(a["its kernel ns"] == longest[a["host id"]] for _, _, _, _, a, _ in programs), "the limiting core is another one")
    begins = {(lane, begin): (host, name) for lane, name, begin, _, _, host, _, _ in zones if name.endswith("-KERNEL")}
    spans = {(path, begin): a["host id"] for path, _, begin, _, a, _ in programs}
    reached = set()
    for row, lane in (sorted(ends, key=lambda end: len(end[0])) for ends in trace.flows.values()):
        host = spans[row]
        h.check(begins[(lane_of(lane[0]), lane[1])][0] == host and lane[1] >= row[1], f"a flow from {row} to {lane}")
        reached.add((host, lane[0][1]))
    h.check(len(reached) == len(trace.flows) == sum(cores for _, _, _, cores in got), "a core without its flow")


def without_names(events):
    return [(lane, ns, host, value) for lane, _, ns, host, value in events]


def size_of(path, trace, limit):
    # A zone has two times, varints of nanoseconds: of five bytes until 34 s, which a busy machine may take.
    latest = max(end for _, _, _, end, _, _ in trace.zones)
    limit += 2 * max(0, (latest.bit_length() + 6) // 7 - 5)
    # How often a counter is sent depends on how long the run took: some 40 bytes a sample.
    bytes_a_zone = (os.path.getsize(path) - 40 * len(trace.counters)) / len(trace.zones)
    print(f"{bytes_a_zone:.1f} bytes a zone, all else but counters included")
    h.check(bytes_a_zone <= limit, f"{bytes_a_zone:.1f} bytes a zone are more than {limit}")


def chrome_zones(path, aside=False):
    """Zones as zones_of() has them, from X events and pairs of B and E, with the depth a viewer would give them."""
    with open(path) as text:
        # Exactly: a double of microseconds steps by 4 ns when the machine has been up for a year.
        events = json.load(text, parse_float=Decimal)["traceEvents"]
    lanes, stacks, zones, others = {}, {}, [], []
    for e in events:
        if e["ph"] == "M" and e["name"] == "thread_name" and e["args"]["name"].startswith("core "):
            _, core, processor = e["args"]["name"].split(" ", 2)
            if not re.search(r" lost( \(\d\))?$", processor):
                lanes[e["tid"]] = (*map(int, core.split(",")), processor)
    ns = lambda us: round(us * 1000)  # noqa: E731
    for e in sorted((e for e in events if e["ph"] in "XBE" and e["tid"] in lanes), key=lambda e: ns(e["ts"])):
        stack = stacks.setdefault(e["tid"], [])
        while stack and stack[-1]["ph"] == "X" and ns(stack[-1]["ts"]) + ns(stack[-1]["dur"]) <= ns(e["ts"]):
            stack.pop()
        lane = lanes[e["tid"]]
        if e["ph"] == "E":
            begun = stack.pop()
            h.check(begun["ph"] == "B" and "flaw" not in e.get("args", {}), f"an end of nothing: {e}")
            h.check((e["name"], e["args"]) == (begun["name"], begun["args"]), f"{begun} ends as {e}")
            zones.append(chrome_zone(lane, begun, ns(begun["ts"]), ns(e["ts"]), len(stack)))
            continue
        if e["ph"] == "X":
            end = ns(e["ts"]) + ns(e["dur"])
            h.check(not stack or stack[-1]["ph"] == "B" or end <= ns(stack[-1]["ts"]) + ns(stack[-1]["dur"]),
                    f"an event reaches across the one around it: {e}")
            zones.append(chrome_zone(lane, e, ns(e["ts"]), end, len(stack)))
        stack.append(e)
    for e in events:
        if e["ph"] == "i" and e["s"] == "t":
            others.append((lanes[e["tid"]], e["name"], ns(e["ts"]), e["args"].get("host id"), e["args"].get("value", 0)))
    return zones, others


def chrome_zone(lane, e, begin, end, depth):
    a = e["args"]
    h.check("flaw" not in a, f"flawed: {e}")
    return (lane, e["name"], begin, end, depth, a["host id"], int(a["zone hash"], 16), a.get("source"))


def chrome():
    ttc, rows = collect(["--no-sync"])
    path, _ = export(ttc, "chrome")
    got_zones, got_others = chrome_zones(path)
    zones, others = zones_of(rows, in_cycles)
    same(got_zones, zones, "chrome, zones")
    same(without_names(got_others), without_names(others), "chrome, data and events")
    in_chromium(path, len(zones))


def in_chromium(path, zones):
    """The browser's own JSON reader, headless, takes it as well."""
    browser = shutil.which("chromium")
    if not browser:
        print("chromium is not installed: not loaded in a browser")
        return
    page = h.work("page.html")
    with open(path) as text, open(page, "w") as out:
        out.write('<p id=p></p><script type="application/json" id=t>' + text.read().replace("</", "<\\/") + "</script><script>"
                  "const t = JSON.parse(document.getElementById('t').textContent).traceEvents;"
                  "document.getElementById('p').textContent = 'zones ' + t.filter(e => 'XB'.includes(e.ph) && 'zone hash' in e.args).length;"
                  "</script>")
    out = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={h.work('profile')}",
                          "--dump-dom", "file://" + page], capture_output=True, text=True, timeout=h.LIMIT_S).stdout
    h.check(f"<p id=\"p\">zones {zones}</p>" in out, f"chromium reads something else: {out[:80]!r} ... {out[-80:]!r}")
    print("chromium reads it")


def host():
    """With a clock model: every time is the device CSV's host time, and the tracks beside the lanes are there."""
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    ttc, rows = collect(programs=500, cores=1, card_arguments=["--rate", 160])
    csv, _ = export(ttc, "device-csv", "--time", "host")
    ns = {}
    bounded = set()
    for row in h.rows(csv):
        c = row.split(",")
        lane = (int(c[1]), int(c[2]), c[3])
        if c[15]:
            ns[(lane, int(c[5]))] = int(c[15].split(".")[0])
            bounded.add(lane)
    zones, _ = zones_of(rows, lambda cycles: cycles)
    want = [(z[0], z[1], ns[(z[0], z[2])], ns[(z[0], z[3])], *z[4:]) for z in zones
            if (z[0], z[2]) in ns and (z[0], z[3]) in ns]
    h.check(len(want) > len(zones) // 2, f"only {len(want)} of {len(zones)} zones have host times with a bound")
    for kind in ("perfetto", "chrome"):
        path, _ = export(ttc, kind)
        if kind == "perfetto":
            trace = perfetto_check.Trace(path)
            got = perfetto_zones(trace)
            counted = {name[-1]: trace.units[name[-1]] for name, _, _ in trace.counters}
            always = {"programs/s": "1/s", "AICLK": "MHz", "clock bound": "ns"}
            # How long the run was decides whether the collector's own load was measured; one that was kept waiting may report intervals.
            h.check(always.items() <= counted.items() <= {**always, "log fill": "%", "link share": "%", "lost intervals": "intervals"}.items(), f"counters: {counted}")
            h.check(all(0 <= v <= 100 for n, _, v in trace.counters if n[-1] in ("log fill", "link share")), "a share above the whole")
            h.check({v for n, _, v in trace.counters if n[-1] == "AICLK"} == {MHZ}, "AICLK is another one")
            programs = sum(v for n, _, v in trace.counters if n[-1] == "programs/s") / 10
            h.check(programs == 500 or "lost intervals" in counted, f"programs/s add up to {programs} programs, not 500")
        else:
            got, _ = chrome_zones(path)
        h.check(len(got) == len(zones), f"{kind}: {len(got)} zones, not {len(zones)}")
        missing = set(want) - set(got)
        h.check(not missing, f"{kind}: {len(missing)} zones are elsewhere in host time: {sorted(missing, key=str)[:2]}")
        print(f"{kind}: {len(want)} zones at their host times")


def follow():
    """kill -9 of an exporter that follows: what it had written opens, and is true."""
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    name = h.card_name()
    truth = h.work("follow.truth.csv")
    card = h.start("ttemu", "--name", name, "--cores", 4, "--programs", 0, "--rate", 2000, "--host-reads", "every:20", "--pace",
                   "--wait-observer", "--quiet", "--truth", truth)
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--quiet", "--no-sync")
    kinds = ("perfetto", "chrome")
    exporters = [h.start("ttexport", "--from", "live:emu-" + name, "--wait", "600s", "--follow", "--format", k, "-o",
                         h.work("follow." + k)) for k in kinds]
    grown = lambda k: os.path.exists(h.work("follow." + k)) and os.path.getsize(h.work("follow." + k)) > 1 << 20  # noqa: E731
    while not all(map(grown, kinds)):
        for process in (card, collector, *exporters):
            h.check(process.poll() is None, f"{process.args[0]} has ended")
        os.sched_yield()
    for process in exporters:
        process.kill()
        process.wait()
    collector.send_signal(signal.SIGINT)
    card.send_signal(signal.SIGTERM)
    h.finish(collector), h.finish(card)
    want = set(zones_of(h.rows(truth), in_cycles, unfinished=True)[0])
    whole_packets(h.work("follow.perfetto"))
    whole_lines(h.work("follow.chrome"))
    trace = perfetto_check.Trace(h.work("follow.perfetto"), cut=True)
    got = [(lane_of(p), name, begin, end, depth, a["host id"], a["zone hash"], a.get("source"))
           for p, name, begin, end, a, depth in trace.zones]
    h.check(len(got) > 5000 and set(got) <= want, f"{len(got)} zones, {len(set(got) - want)} of them invented")
    chromes, _ = chrome_zones(h.work("follow.chrome"))
    h.check(len(chromes) > 5000 and set(chromes) <= want, f"{len(set(chromes) - want)} zones invented")
    print(f"{len(got)} and {len(chromes)} zones were in the files of exporters killed while they wrote")


def whole_lines(path):
    """Likewise for a line of JSON; between two writes the object is closed."""
    with open(path) as text:
        lines = text.read().split("\n")
    if lines[-2:] != ["]}", ""]:
        with open(path, "w") as text:
            text.write("\n".join(lines[:-1]).rstrip(",") + "]}")


FILE_FORMATS = ("device-csv", "sync-info", "telemetry-csv", "perfetto", "chrome", "svg")


def stopped(process):
    """SIGSTOP has taken hold: none of its instructions runs any more."""
    process.send_signal(signal.SIGSTOP)
    h.wait_until(lambda: open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T",
                 f"{process.args} is stopped", process)


def lapped():
    """Readers that get no CPU while the ring goes round twice: in every format the export ends with 6 and reports what it missed."""
    name, ring = h.card_name(), 1 << 20
    card = h.start("ttemu", "--name", name, "--cores", 4, "--programs", 0, "--host-reads", "every:200", "--pace", "--quiet")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--quiet", "--ring", "1MiB")
    h.wait_until(lambda: published(name) > 0, "chunks of the collector", collector)
    exporters = {k: h.start("ttexport", "--from", "live:emu-" + name, "--follow", "--format", k, "-o", h.work("lapped." + k))
                 for k in FILE_FORMATS}
    for kind, process in exporters.items():     # the output is opened behind the source
        h.wait_until(lambda k=kind: os.path.exists(h.work("lapped." + k)), f"{kind} is attached", process)
        stopped(process)
    enough = published(name) + 2 * ring
    h.wait_until(lambda: published(name) > enough, "the ring has gone round twice", card, collector)
    for process in exporters.values():
        process.send_signal(signal.SIGCONT)
    collector.send_signal(signal.SIGINT)
    card.send_signal(signal.SIGTERM)
    h.finish(collector), h.finish(card)
    for kind, process in exporters.items():
        code, _, err = h.finish(process)
        # Chunks are counted where one came behind them, words where the same lane had some before and behind; bytes always.
        lost = re.search(r"too slow and lost \d+ chunks \((\d+) bytes\)", err)
        h.check(code == 6 and lost and "missed" in err.splitlines()[-1], f"{kind} ended with {code}: {err}")
        h.check(int(lost[1]) >= ring, f"{kind}: {err}")
    print(f"{len(exporters)} formats ended with 6")


def published(name):
    """Bytes of chunks so far."""
    shown = h.live("emu-" + name)
    return shown["counters"]["chunk_bytes"] if shown else 0


def flaws():
    """Host resets at random cut launches: what is left is shown truly, losses are instants, nothing is invented."""
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    # More than a log holds, and it is not emptied: the card drops launches.
    ttc, rows = collect(["--no-sync"], ["--fault", "host-reset:every=90000,apart=6ms,words=3", "--rate", 1000,
                                        "--zones-per-kernel", 60, "--region-bytes", 12000],
                        programs=90, cores=3)  # a picture has 64 rows at most, and a lane with losses has three
    truth = set(zones_of(rows, in_cycles, unfinished=True)[0])
    path, told = export(ttc, "perfetto")
    trace = perfetto_check.Trace(path)
    whole = [z for z in trace.zones if "flaw" not in z[4]]
    got = {(lane_of(p), n, b, e, d, a["host id"], a["zone hash"], a.get("source")) for p, n, b, e, a, d in whole}
    h.check(got <= truth and len(got) > 1000, f"{len(got)} zones, {len(got - truth)} of them invented")
    lost = [(begin, end, a) for _, name, begin, end, a, _ in trace.spans if name == "markers lost"]
    reported = re.search(r"(\d+) intervals of lost markers", told)
    h.check(reported and len(lost) >= int(reported.group(1)) > 0, f"{len(lost)} losses shown: {told}")
    h.check(any(n[-1] == "lost intervals" for n, _, _ in trace.counters), "losses are not counted")
    h.check(any("epoch" in name for _, name, _, _ in trace.instants), "epochs are not shown")
    with open(export(ttc, "chrome")[0]) as text:
        shown = [e for e in json.load(text, parse_float=Decimal)["traceEvents"] if e.get("name") == "markers lost"]
    h.check(sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in shown) == sorted(l[:2] for l in lost),
            "chrome shows other losses")
    h.check(all(e["ph"] == "X" and e["cname"] == "terrible" for e in shown), "chrome draws losses in another colour")
    losses_are_slices(ttc, lost, min(z[2] for z in trace.zones))
    print(f"{len(got)} zones and {len(lost)} losses are true")


def losses_are_slices(ttc, lost, first):
    """Over the length that the record has; open ones reach to the last marker of the chip. The picture begins at the first zone."""
    h.check(any(end > begin for begin, end, _ in lost), "no loss has a length")
    for begin, end, a in lost:
        h.check(begin == in_cycles(a["from cycles"]) or not a["from cycles"], f"a loss begins elsewhere: {begin} {a}")
        h.check("to cycles" in a and end == in_cycles(a["to cycles"]) or "open" in a.get("end", ""), f"a loss ends elsewhere: {end} {a}")
    tree = xml.etree.ElementTree.parse(export(ttc, "svg", "--window", "0,600s")[0])
    red = [r for r in tree.iter("{http://www.w3.org/2000/svg}rect") if (t := r.find("{http://www.w3.org/2000/svg}title")) is not None
           and t.text.startswith("markers lost, ")]
    inside = [l for l in lost if l[1] >= first]
    h.check(len(red) == len(inside) and all(r.get("fill") == LOSS_COLOUR for r in red),
            f"svg draws {len(red)} of {len(inside)} losses")


def svg():
    """The picture is XML, and every zone of its window is a rectangle with its name."""
    ttc, rows = collect(["--no-sync"], programs=10)
    zones, _ = zones_of(rows, in_cycles)
    path, _ = export(ttc, "svg", "--window", "0,60s")
    tree = xml.etree.ElementTree.parse(path)
    tips = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}title")]
    for name in {z[1] for z in zones}:
        drawn, want = sum(t.startswith(name + ", ") for t in tips), sum(z[1] == name for z in zones)
        h.check(drawn == want, f"{name} is drawn {drawn} times, not {want}")
    for wrong in ("2", "1,2", "1ms,0", "-1ms,5us", "1ms,2parsec"):
        code, _, err = h.run("ttexport", "--from", ttc, "--format", "svg", "--window", wrong, "-o", h.work("wrong.svg"))
        h.check(code == 2 and "is no window" in err, f"--window {wrong}: {code} {err}")
    h.check(len(tips) > 1000, f"only {len(tips)} zones and events are drawn")


if __name__ == "__main__":
    {"perfetto": perfetto, "chrome": chrome, "host": host, "follow": follow, "lapped": lapped, "flaws": flaws, "svg": svg}[sys.argv[1]]()
    print("ok")

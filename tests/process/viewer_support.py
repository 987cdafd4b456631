"""What tests of viewers' formats have in common: a capture beside its card's truth, exports of it, zones and programs by the truth,
and a process that serves Tracy."""
import decimal
import json
import os
import re
import signal
import xml.etree.ElementTree

import harness as h
from run_of import RunOf

LOSS_COLOUR = "#ff2020"
MHZ = 1000  # of the emulated Wormhole
SVG = "{http://www.w3.org/2000/svg}"


def collect(collect_arguments=(), card_arguments=(), programs=60, cores=4):
    """A capture and the rows its card really emitted."""
    name = h.card_name()
    ttc = h.work(name + ".ttc")
    run = RunOf(["--cores", cores, "--dispatch-cores", 1, "--programs", programs, "--host-reads", "every:20", "--pace",
                 *card_arguments], ["-o", ttc, *collect_arguments], name=name).end()
    return ttc, h.rows(run.truth)


def export(source, kind, *arguments):
    path = h.work(f"viewer{len(arguments)}{''.join(arguments)}.{kind}")
    code, _, err = h.run("ttexport", "--from", source, "--format", kind, "-o", path, *arguments)
    h.check(code == 0, f"ttexport ended with {code}: {err}")
    return path, err


class Marker:
    def __init__(self, row):
        c = row.split(",")
        self.lane, self.hash, self.cycles, self.data = (int(c[1]), int(c[2]), c[3]), int(c[4]), int(c[5]), int(c[6])
        self.host, self.name, self.type = int(c[7]), c[10], c[11]
        self.source = f"{c[13]}:{c[12]}" if c[13] else None


def zones_of(rows, ns_of, unfinished=False):
    """Zones as (lane, name, begin, end, depth, host id, hash, source), from markers in the order of time, and the rest.
    `unfinished`: the card was stopped, so a launch may lack its end."""
    lanes = {}
    for row in rows:
        m = Marker(row)
        lanes.setdefault(m.lane, []).append(m)
    zones, others = [], []
    for lane, markers in lanes.items():
        markers.sort(key=lambda m: m.cycles)
        stack = []
        for m in markers:
            if m.type == "ZONE_START":
                stack.append(m)
            elif m.type == "ZONE_END":
                h.check(stack and stack[-1].hash == m.hash, f"the truth itself does not nest: {lane} {m.name}")
                s = stack.pop()
                zones.append((lane, s.name, ns_of(s.cycles), ns_of(m.cycles), len(stack), s.host, s.hash, s.source))
            else:
                others.append((lane, m.name, ns_of(m.cycles), m.host, m.data))
        h.check(unfinished or not stack, f"the truth itself leaves a zone open: {lane}")
    return zones, others


def same(got, want, what):
    missing, extra = set(want) - set(got), set(got) - set(want)
    h.check(not missing and not extra,
            f"{what}: {len(missing)} missing, {len(extra)} extra: {sorted(missing, key=str)[:2]} {sorted(extra, key=str)[:2]}")
    h.check(len(got) == len(want), f"{what}: something is there twice")
    print(f"{what}: {len(want)} equal")


def in_cycles(cycles):
    return cycles * 1000 // MHZ


def programs_of(zones):
    """Programs by the truth: host id, begin and end of its firmware zones, and its cores."""
    found = {}
    for (x, y, _), name, begin, end, _, host, _, _ in zones:
        if host and name.endswith("-FW"):
            p = found.setdefault(host, [begin, end, set()])
            p[0], p[1] = min(p[0], begin), max(p[1], end)
            p[2].add((x, y))
    return [(host, begin, end, len(cores)) for host, (begin, end, cores) in found.items()]


def whole_packets(path):
    """Takes away the one packet that a kill within write(2) cuts, as viewers do."""
    with open(path, "rb") as data:
        trace = data.read()
    at = whole = 0
    while at < len(trace):
        h.check(trace[at] == 0x0A, f"no packet begins at byte {at}")
        at, length, shift, byte = at + 1, 0, 0, 0x80
        while byte & 0x80 and at < len(trace):
            byte = trace[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
        at += length
        if at <= len(trace) and not byte & 0x80:
            whole = at
    os.truncate(path, whole)


def events_of(ttc, *arguments):
    with open(export(ttc, "chrome", *arguments)[0], encoding="utf-8") as text:
        # Microseconds since the host's start have more digits than a float after a hundred days.
        return json.load(text, parse_float=decimal.Decimal)["traceEvents"]


def svg_tips(path):
    return [t.text for t in xml.etree.ElementTree.parse(path).iter(SVG + "title")]


def tracy_port(process):
    """The address at which the process serves Tracy, as soon as it does."""
    while line := h.next_line(process.stderr):
        found = re.search(r"connect to 127\.0\.0\.1:(\d+)", line)
        if found:
            return int(found.group(1))
    h.fail(f"{process.args} ended without listening")


def feed(source, *arguments):
    """A process that serves Tracy, and its port."""
    process = h.start("ttexport", "--format", "tracy", "--listen", "0", "--from", source, *arguments)
    return process, tracy_port(process)


def end_feed(process):
    process.send_signal(signal.SIGTERM)
    code, _, err = h.finish(process)
    h.check(code == 0, f"ttexport ended with {code}: {err}")
    return err


def tracy_zones(server, zones):
    """The truth's zones as that server holds them, with times from the trace's beginning."""
    want = []
    for (x, y, processor), name, begin, end, depth, host, number, source in zones:
        lane = f"chip 0 core {x},{y} {processor}"
        text = context_of(x, y) if server.fork else f"host id {host}"
        if not server.fork:
            text += f", cycles {end - begin}"
        want.append((lane, name, begin - server.init, end - server.init, depth, source or "?:0", f"zone 0x{number:04x}", text))
    return want


def context_of(x, y):
    """Compute cores of a Wormhole have columns 1-4 and 6-9, rows 1-5 and 7-11."""
    return f"Device: 0, Logical ({x - 1 - (x > 5)},{y - 1 - (y > 6)}) Physical ({x},{y})"


def plain(told):
    """A dispatch zone's text continues after the host id of its command, which its name in the log has as well."""
    return [z for z in told if "DISPATCH" not in z[1]]


def intervals_of(ttc):
    """The capture's intervals as (lane, cause, from, to). A host that was busy elsewhere leaves some that nothing is missing in."""
    code, out, err = h.run("ttreport", "loss", "--from", ttc, "--json")
    h.check(code == 0, f"ttreport loss ended with {code}: {err}")
    processors = ("BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2")
    return [(f"chip {d['chip']} core {i['x']},{i['y']} {processors[i['risc']]}", i["cause"], i["from_cycles"], i["to_cycles"])
            for d in json.loads(out)["devices"] for i in d["lost"]]


def tracy_losses(server, ttc):
    """The rows of losses hold the capture's intervals, which are returned."""
    want = intervals_of(ttc)
    got = []
    for row, name, _, _, text, _ in server.spans():
        if name == "markers lost":
            found = re.search(r"cause ([^,]+),.* from cycles (\d+)(?:, to cycles (\d+))?", text)
            h.check(found, f"{row} {name} {text}")
            got.append((row.rsplit(" lost")[0], found[1], int(found[2]), int(found[3]) if found[3] else None))
    same(got, want, f"protocol {server.protocol}, intervals")
    return want


def tracy_programs(server, zones, ttc):
    """The row of programs, in every dialect, and those of losses. Returns whether there are any of those."""
    lost = tracy_losses(server, ttc)
    got = []
    for row, name, begin, end, text, _ in server.spans():
        if name == "markers lost":
            continue
        found = re.search(r"host id (\d+), cores (\d+), kernel ns (\d+), limiting core (\d+,\d+), its kernel ns (\d+)", text)
        h.check(found and name == f"program {found[1]}" and row.startswith("chip 0 programs"), f"{row} {name} {text}")
        got.append((int(found[1]), begin + server.init, end + server.init, int(found[2])))
    same(got, programs_of(zones), f"protocol {server.protocol}, programs")
    return bool(lost)

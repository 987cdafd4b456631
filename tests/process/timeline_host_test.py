#!/usr/bin/env python3
"""Common searches in a timeline that has the workload's host side: names of programs, zones, locks and frames. Each case is named after
what was missing. Usage: timeline_host_test.py CASE"""
import json
import os
import re
import sys
import xml.etree.ElementTree

import harness as h
import host_side_test
import page_test
import perfetto_check
import tracy_server
import viewer_support as viewers
from viewer_support import SVG, events_of, svg_tips


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

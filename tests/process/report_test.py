#!/usr/bin/env python3
"""ttreport on real processes and files. Usage: report_test.py ops|join|files|card|bad|damage|blackhole|guides|diff|html

ops    the tables and summaries of the golden reports, column by column (TTC_GOLDEN)
join   the golden C++ report and messages give the golden joined table (TTC_GOLDEN)
files  the folder that tt-metal's tools leave, from the golden device log (TTC_GOLDEN)
card   an emulated card: capture, its device log and the live segment give the same programs
bad    input that is none, or damaged: an answer with the place
damage  cut, thinned, shuffled logs and tables, and such without a column: exit codes by rule (seed printed)
blackhole  two ERISCs on one core
guides  options and files that the guides of other tools name
diff   --fail-if and its exit code
memory  peaks of `ops` and `files` on two logs, one four times the other
npe    what a stand-in for tt-npe prints, as its documentation has it, is in the table; what fails is said
remote  a capture of a chip with PCIe and the workload's log of one without
html   the page in headless Chromium: it asks for nothing, sorts, searches, is used by keys, draws 10^5 zones
"""
import collections
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys

import harness as h
from run_of import RunOf

GOLDEN = ("bh20_oft_integral_image_trace", "bh_8xp150_deepseek_v3_d_p", "bh_p100_dlv3", "ops_perf_results_2025_09_18_11_39_20")


def golden(*parts):
    path = os.path.join(h.GOLDEN, *parts)
    if not h.GOLDEN or not os.path.exists(path):
        h.skip("no golden data (TTC_GOLDEN)")
    return path


def table(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def report(*arguments, code=0):
    got, out, err = h.run("ttreport", *arguments)
    h.check(got == code, f"ttreport {arguments}: exit {got}, expected {code}: {out}{err}")
    return out, err


def same(a, b):
    if a == b or (a in ("", "nan") and b in ("", "nan")):
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= 1e-9 * max(1, abs(x), abs(y))


def compare(want, got, key, differing=()):
    """Every column of every row; `differing` ones are listed in tools/ttreport/REPORTS.md."""
    h.check(list(want[0]) == list(got[0]), f"columns: {list(got[0])}")
    h.check(len(want) == len(got), f"{len(got)} rows instead of {len(want)}")
    by_key = {key(r): r for r in got}
    bad = collections.Counter()
    for row in want:
        other = by_key.get(key(row))
        h.check(other is not None, f"no row {key(row)}")
        for column in row:
            if column not in differing and not same(row[column], other[column]):
                bad[column] += 1
                print(key(row), column, repr(row[column])[:60], repr(other[column])[:60])
    h.check(not bad, f"cells differ: {dict(bad)}")
    return len(want) * len(want[0])


def ops():
    cells = 0
    def one(stem, rows, stacked, *extra, differing=()):
        nonlocal cells
        out = h.work("o.csv")
        report("ops", golden("tt-perf-report", stem + ".csv"), "--ignore-signposts", "--csv", out, *extra)
        if rows:
            cells += compare(table(golden("tt-perf-report", rows)), table(out), lambda r: r["ID"], ("Advice",))
        cells += compare(table(golden("tt-perf-report", stacked)), table(h.work("o_stacked.csv")),
                         lambda r: (r["Op Code"], r.get("Device")), differing)
        with open(h.work("o_stacked.png"), "rb") as picture:
            h.check(picture.read(4) == b"\x89PNG", "the summary's picture is no PNG")
    for stem in GOLDEN:
        one(stem, stem + ".expected_report.csv", stem + ".expected_stacked.csv")
    one(GOLDEN[1], GOLDEN[1] + ".expected_report_no_merge_devices.csv", GOLDEN[1] + ".expected_stacked_no_merge_devices.csv",
        "--no-merge-devices", differing=("Weighted Mean FLOPs [%]",))
    for by in ("op", "category"):
        one(GOLDEN[2], None, f"{GOLDEN[2]}.expected_stacked_group_by_{by}.csv", "--group-by", by)
    # The text: advice by the same rules, greyed rows only where colours are wanted, JSON with the same numbers.
    text, _ = report("ops", golden("tt-perf-report", GOLDEN[0] + ".csv"), "--ignore-signposts")
    for part in ("2,831,446 \u03bcs", "21 device ops, 0 host ops, 6 signposts", "host-bound", "99.6 %"):
        h.check(part in text, f"'{part}' is not in the table")
    h.check("\033" not in text, "colours in a pipe")
    coloured, _ = report("ops", golden("tt-perf-report", GOLDEN[0] + ".csv"), "--color")
    h.check("\033" in coloured, "no colours although they were asked for")
    listing, _ = report("ops", golden("tt-perf-report", GOLDEN[2] + ".csv"), "--id-range", "3-5", "--json", "-")
    rows = json.loads(listing)["rows"]
    h.check([r["id"] for r in rows] == [3, 4, 5] and rows[0]["gap_us"] is None, "the range of IDs is another")
    h.check(all(r["limit"] and r["limit_rule"] for r in rows), "an op has no limit or no rule")
    print(f"{cells} cells equal")


def join():
    folder = h.work("in")
    os.makedirs(folder, exist_ok=True)
    for name in ("cpp_device_perf_report.csv", "tracy_ops_data.csv"):
        shutil.copy(golden("tt-metal-excerpt", name), folder)
    want = table(golden("tt-metal-excerpt", "ops_perf_results_excerpt.csv"))
    with open(os.path.join(folder, "tracy_ops_times.csv"), "w") as times:  # what csvexport would have said
        times.write("name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n")
        for row in want:
            id, start, took = (row[c] for c in ("GLOBAL CALL COUNT", "HOST START TS", "HOST DURATION [ns]"))
            times.write(f'TT_DNN_DEVICE_OP,f.cpp,1,,"id:{id}",{start},{took},1,id:{id}\n')
    root = h.work("joined")
    report("files", os.path.join(folder, "cpp_device_perf_report.csv"), "-o", root, "--no-date")
    got = table(os.path.join(root, "reports", "ops_perf_results.csv"))
    # The excerpt's head has the tensors of the whole run, of which only its four ops are known here.
    absent = [c for c in want[0] if c not in got[0]]
    h.check(all(re.match(r"(INPUT|OUTPUT)_[1-9]", c) and all(r[c] == "" for r in want) for c in absent), f"absent: {absent}")
    compare([{c: r[c] for c in r if c not in absent} for r in want], got, lambda r: r["GLOBAL CALL COUNT"])
    with open(os.path.join(root, "reports", "ops_perf_results.csv"), "rb") as file:
        h.check(file.read().count(b"\r\n") == len(got) + 1, "line ends are not CRLF")
    with open(golden("tt-metal-excerpt", "cpp_device_perf_report.csv"), "rb") as a, \
            open(os.path.join(root, ".logs", "cpp_device_perf_report.csv"), "rb") as b:
        h.check(a.read() == b.read(), "the C++ report does not come back byte for byte")


def files():
    root = h.work("root")
    report("files", golden("ttnn-visualizer", "smoke_profile_log_device.csv"), "-o", root, "-n", "smoke", "--date",
           "2026_01_02_03_04_05", "--noc-traces", "--metal-date", "2026-01")
    folder = os.path.join(root, "reports", "smoke", "2026_01_02_03_04_05")
    have = set(os.listdir(folder))
    want = {"profile_log_device.csv", "tracy_profile_log_host.tracy", "ops_perf_results_smoke_2026_01_02_03_04_05.csv",
            "per_core_op_to_op_times_smoke_2026_01_02_03_04_05.csv"}
    h.check(have == want, f"the report folder holds {have}")
    rows = {r["GLOBAL CALL COUNT"]: r for r in table(os.path.join(folder, "ops_perf_results_smoke_2026_01_02_03_04_05.csv"))}
    for row in table(golden("ttnn-visualizer", "smoke_ops_perf_results_device0_columns.csv")):
        ours = rows[row["GLOBAL CALL COUNT"]]
        if row["CORE COUNT"] == "1":  # the log was cut to core (1,1), BRISC: all of these, the front of others
            for column in ("DEVICE FW DURATION [ns]", "DEVICE BRISC KERNEL DURATION [ns]", "DEVICE FW START CYCLE"):
                h.check(ours[column] == row[column], f"{column} of {row['GLOBAL CALL COUNT']}: {ours[column]}")
    traces = [n for n in os.listdir(os.path.join(root, ".logs")) if n.startswith("noc_trace_dev0_ID")]
    h.check(len(traces) >= 3, f"NoC traces: {traces}")
    for name in traces:
        with open(os.path.join(root, ".logs", name)) as file:
            events = json.load(file)
        phases = {e["zone_phase"] for e in events if "zone_phase" in e}
        h.check(phases <= {"ZONE_START", "ZONE_END"}, f"phases {phases}")
        opened = set()
        for e in events:
            h.check(list(e) == sorted(e), "members are not in alphabetical order")
            lane = (e["sx"], e["sy"], e["proc"])
            if "zone" in e:
                opened.add(lane)
            else:
                h.check(lane in opened and e["noc"] in ("NOC_0", "NOC_1") and e["timestamp"] > 0, f"event {e}")
    # What ttnn-visualizer of July 2026 wants: a log of just 13 columns, a table that tt-perf-report takes.
    log = h.work("log15.csv")
    with open(log, "w") as out:
        out.write("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, "
                  "time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
        for id, name, phase, at in ((1, "FW", "START", 10), (2, "KERNEL", "START", 20), (2, "KERNEL", "END", 90), (1, "FW", "END", 99)):
            out.write(f"0,1,1,BRISC,{id},{at},0,1024,7,2,BRISC-{name},ZONE_{phase},5,f.cc,\n")
    report("files", log, "-o", h.work("thirteen"), "--no-date", "--log-columns", 13, "--every-column")
    folder = os.path.join(h.work("thirteen"), "reports")
    with open(os.path.join(folder, "profile_log_device.csv")) as lines:
        lines = lines.read().splitlines()
    h.check({line.count(",") for line in lines[1:]} == {12} and lines[2] == "0,1,1,BRISC,1,10,0,1024,BRISC-FW,ZONE_START,5,f.cc,",
            f"13 columns: {lines[1:3]}")
    out, _ = report("ops", os.path.join(folder, "ops_perf_results.csv"), "--csv", "-", "--no-advice")
    h.check("Program 1024" in out, f"ops of the full table: {out}")


def programs(path):
    return {(r["GLOBAL CALL COUNT"]): r for r in table(path)}


def card():
    name = h.card_name()
    capture = h.work("run.ttc")
    process = h.start("ttemu", "--name", name, "--wait-observer", "--cores", 6, "--programs", 120, "--host-reads", "every:40",
                      "--pace", "--quiet", env={**os.environ, "TT_METAL_DEVICE_PROFILER": "1<&", "SECRET_TOKEN": "not for a report"})
    reader = h.start("ttreport", "ops", "live:emu-" + name, "--wait", "600s", "--for", "600s", "--json", "-", "--no-summary")
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "-o", capture)
    code, out, err = h.finish(reader)  # ends with its collector
    h.check(code == 0 and json.loads(out)["totals"]["device_ops"] == 120, f"live: exit {code}, {out[:300]}{err}")
    for one in (process, collector):
        code, out, err = h.finish(one)
        h.check(code == 0, f"{one.args[0]} ended with {code}: {err}{out}")
    log = h.work("log.csv")
    code, _, err = h.run("ttexport", "--from", capture, "-o", log)
    h.check(code == 0, err)
    for source, root in ((capture, "a"), (log, "b")):
        report("files", source, "-o", h.work(root), "--no-date")
    for path in (".logs/cpp_device_perf_report.csv", "reports/ops_perf_results.csv", "reports/per_core_op_to_op_times.csv"):
        with open(os.path.join(h.work("a"), path), "rb") as a, open(os.path.join(h.work("b"), path), "rb") as b:
            h.check(a.read() == b.read(), f"{path} differs between the capture and its device log")
    with open(os.path.join(h.work("a"), ".logs/profile_log_device.csv"), "rb") as a, open(log, "rb") as b:
        h.check(sorted(a.read().splitlines()) == sorted(b.read().splitlines()), "the device logs differ")
    rows = table(os.path.join(h.work("a"), "reports/ops_perf_results.csv"))
    h.check(len(rows) == 120, f"{len(rows)} programs instead of 120")
    # What the run was made with is in the capture and on the page; of the workload's variables only tt-metal's.
    report("html", capture, "-o", h.work("run.html"))
    with open(h.work("run.html"), encoding="utf-8") as file:
        page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1).replace("<\\/", "</"))
    environment = {row[0]: row[1] for row in page["environment"]}
    h.check(environment.get("TT_METAL_DEVICE_PROFILER") == "1<&" and environment.get("Collector", "").startswith("ttcollect ")
            and "ttemu" in environment.get("Workload", "") and environment.get("Host"), f"environment: {environment}")
    h.check("SECRET_TOKEN" not in json.dumps(page), "a variable that is none of tt-metal's was kept")
    # By hand, from the log: first start to last end of kernels.
    spans = {}
    with open(log) as lines:
        for row in list(lines)[2:]:
            c = row.rstrip("\n").split(",")
            if c[10].endswith("-KERNEL") and c[7] != "0":
                s = spans.setdefault(c[7], [None, 0])
                if c[11] == "ZONE_START":
                    s[0] = min(int(c[5]), s[0] or 1 << 60)
                else:
                    s[1] = max(int(c[5]), s[1])
    mhz = int(re.search(r"CHIP_FREQ\[MHz\]: (\d+)", open(log).readline()).group(1))
    for row in rows:
        a, b = spans[row["GLOBAL CALL COUNT"]]
        h.check(int(row["DEVICE KERNEL DURATION [ns]"]) == ((b - a) * 1000 + mhz // 2) // mhz, f"program {row['GLOBAL CALL COUNT']}")
    for command in (["ops"], ["kernels", "--top", "3"], ["kernels", "--by", "core"], ["heatmap", "--of", "wait"], ["steps"]):
        out, _ = report(*command, capture)
        h.check(len(out.splitlines()) > 3, f"{command} says next to nothing: {out}")
    for picture, magic in (("h.png", b"\x89PNG"), ("h.svg", b"<?xml")):
        report("heatmap", capture, "-o", h.work(picture))
        with open(h.work(picture), "rb") as file:
            h.check(file.read(len(magic)) == magic, f"{picture} is no picture")
    # Rows of tt-metal's own log for a chip that was not collected are merged in, those of ours are not doubled.
    other = h.work("other.csv")
    with open(log) as lines, open(other, "w") as out:
        for i, line in enumerate(lines):
            out.write(line if i < 2 else "1" + line[1:])
            if i >= 2:
                out.write(line)
    _, err = report("files", capture, other, "-o", h.work("c"), "--no-date")
    h.check("chips 0 are from the capture, chips 1 from the workload's device log" in err and "no common time" in err, err)
    report("html", capture, other, "-o", h.work("merged.html"))
    with open(h.work("merged.html"), encoding="utf-8") as file:
        h.check(re.search(r'"1 \(log\): \d+,\d+ BRISC"', file.read()), "lanes of the log are not marked, or their cores not written x,y")
    merged = table(os.path.join(h.work("c"), "reports/ops_perf_results.csv"))
    h.check(len(merged) == 240 and {r["DEVICE ID"] for r in merged} == {"0", "1"}, f"{len(merged)} merged rows")
    with open(os.path.join(h.work("c"), ".logs/profile_log_device.csv")) as lines:
        h.check(len(list(lines)) == 2 * (sum(1 for _ in open(log)) - 2) + 2, "the merged log has another number of rows")


def names_that_are_not_there(refused, needed):
    """A name of the command line that the input lacks is wrong usage; of a damaged input it may be what is gone."""
    op, named = b"\nA,tt_dnn_device,0,0,12\n", b"\nwarm up,signpost,,,\nA,tt_dnn_device,0,0,12\nwarm down,signpost,,,\n"
    refused(needed + op, ["'x'", "no signposts at all"], "ops", "--start-signpost", "y", "--signpost", "x", code=2)
    refused(needed + named, ["'warm-up'", "did you mean 'warm up'?"], "ops", "--start-signpost", "warm-up", "--csv", h.work("none.csv"), code=2)
    refused(needed + named, ["'cooling'", "first of the 2 is 'warm up'"], "ops", "--start-signpost", "warm up", "--end-signpost", "cooling", code=2)
    refused(needed + named, ["'warm up' is there once"], "ops", "--start-signpost", "warm up", "--end-signpost", "warm up", code=2)
    refused(needed + named + b"A,tt", ["did you mean 'warm up'?"], "ops", "--start-signpost", "warm-up", code=4)
    for option in ("--start-signpost", "--end-signpost"):
        refused(needed + named, ["did you mean 'warm up'?"], "steps", option, "Warm up", "--json", h.work("none.json"), code=2)
    refused(needed + named, ["'foo' is no architecture"], "ops", "--arch", "foo", code=2)
    refused(needed + named, ["A", "1 device ops"], "ops", "--start-signpost", "warm up", "--end-signpost", "warm down", code=0)
    h.check(not os.path.exists(h.work("none.csv")) and not os.path.exists(h.work("none.json")), "something was written")


def text_for_a_number(refused, needed, head15, run):
    """In every table that reports read: damage, in words with the place."""
    table_of_ops = needed + b"\nA,tt_dnn_device,0,0,%s\n"
    for cell, code in ((b"abc", 4), (b"1e99", 4), (b"-3", 4), (b"12", 0), (b"", 0), (b"nan", 0), (b"None", 0)):
        for command in ("ops", "steps"):
            refused(table_of_ops % cell, ["'" + cell.decode() + "'", "row 2"] if code else [], command, code=code)
    refused(table_of_ops % b"abc", ["'abc'"], "html", "-o", h.work("page.html"), code=4)
    with open(h.work("good.csv"), "wb") as file:
        file.write(table_of_ops % b"12")
    refused(table_of_ops % b"abc", ["'abc'"], "diff", h.work("good.csv"), code=4)
    refused(table_of_ops % b"abc", ["'abc'"], "ops", h.work("good.csv"), code=4)
    cpp = b"GLOBAL CALL COUNT,METAL TRACE ID,DEVICE ID,CORE COUNT,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n1024,,0,%s,1,1\n"
    refused(cpp % b"many", ["line 2", "'CORE COUNT'", "'many'"], code=4)
    refused(cpp % b"", [], code=0)
    # Beside a log: the host's messages and zones, the sync of its clocks, the table of its losses.
    message = b'"TT_DNN_DEVICE_OP: ""A"" ->\n{}`'
    beside = {"tracy_ops_data.csv": ((b"MessageName;total_ns\n`TT_SIGNPOST: s`;5\n", 0), (b"MessageName;total_ns\n`TT_SIGNPOST: s`;x\n", 4),
                                     (b"MessageName;total_ns\n`TT_METAL_TRACE_BEGIN: 0`;5\n", 4), (b"MessageName;total_ns\n`" + message + b";5\n", 4)),
              "sync_device_info.csv": ((b"device id,device_frequency_ratio,device_shift\n 0,1.0,0\n", 0),
                                       (b"device id,device_frequency_ratio,device_shift\n 0,1.0,abc\n", 4), (b"device id,device_frequency_ratio,device_shift\n 0,1.0\n", 4)),
              "log.losses.csv": ((b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,3,\n", 0), (b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,three,\n", 4),
                                 (b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,3,", 4))}
    for name, forms in beside.items():
        for text, code in forms:
            with open(h.work(name), "wb") as file:
                file.write(text)
            refused(head15 + run, [name] if code else [], code=code, name="log.csv")
        os.remove(h.work(name))
    counter = head15 + run + b'0,1,1,BRISC,9090,1650,7,1024,,,,TS_DATA,0,,{"counter type":"FPU_COUNTER";"ref cnt":%s;"value":"9"}\n'
    refused(counter % b"12", [], "ops", code=0)
    refused(counter % b"x", ["1 records of hardware counters hold no number"], "ops", code=4)


def bad():
    def refused(text, words, *arguments, code=3, name="bad.csv"):
        path = h.work(name)
        with open(path, "wb") as file:
            file.write(text)
        out, err = report(*(arguments or ("ops",)), path, code=code)
        for word in words:
            h.check(word in out + err, f"'{word}' is not in: {out}{err}")
    refused(b"", ["bad.csv is empty"])
    refused(b"hello\n", ["neither a capture", "nor a device log", "nor a table of ops"])
    refused(b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: x\n", ["line 1", "CHIP_FREQ"])
    refused(b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nno, columns\n", ["line 2", "PCIe slot"])
    needed = b"OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]"
    refused(needed + b"\na,b,c\n", ["1 rows were skipped", "line 2"], code=4)
    refused(b"GLOBAL CALL COUNT,METAL TRACE ID,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n1,,x,1,1\n", ["line 2"], code=4)
    refused(needed + b",DEVICE ARCH\nA,tt_dnn_device,0,0,12,quasar\n", ["'quasar'", "--arch takes"])
    for words, arguments in ((["cannot be opened", "no such file", "a device log"], ("ops", "/nonexistent.ttc")), (["neither"], ("ops", os.path.dirname(__file__)))):
        out, err = report(*arguments, code=3)
        h.check(all(w in err for w in words), err)
    for arguments in (("ops",), ("ops", "x", "--group-by", "size"), ("ops", "x", "--id-range", "a-b"), ("nothing",),
                      ("diff", "x"), ("diff", "a", "b", "--fail-if", "all>1"), ("heatmap", "x", "--of", "colour"),
                      ("ops", "x", "--memory", "much")):
        report(*arguments, code=2)
    report("heatmap", h.work("none.csv"), "-o", h.work("x.gif"), code=3)
    head13 = b"PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  zone name, type, source line, source file, meta data\n"
    rows = b"".join(b"0,1,1,BRISC,%d,%d,0,7,BRISC-%s,ZONE_%s,1,f.cc,\n" % (i, t, z, p)
                    for i, t, z, p in ((10, 1000, b"FW", b"START"), (11, 1100, b"KERNEL", b"START"), (11, 1600, b"KERNEL", b"END"), (10, 1700, b"FW", b"END")))
    # Cut anywhere, a log is read as far as it goes; nothing hangs or dies.
    whole = b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n" + head13 + rows
    for cut in range(len(whole) - len(rows), len(whole) + 1, 7):
        path = h.work("cut.csv")
        with open(path, "wb") as file:
            file.write(whole[:cut])
        report("ops", path, code=0 if whole[cut - 1:cut] == b"\n" else 4)
    # The eras of 6 and 12 columns.
    old = b"Chip clock is at 1.0 GHz\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset]\n0,1,1,BRISC,1,1000\n0,1,1,BRISC,4,1700\n"
    refused(old, ["No ops", "log of 6 columns"], code=0)
    twelve = (b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], stat value, Run ID, "
              b"zone name, zone phase, source line, source file\n"
              + b"".join(b"0,1,1,BRISC,10,%d,0,7,BRISC-%s,%s,1,f.cc\n" % row for row in ((1000, b"FW", b"begin"), (1100, b"KERNEL", b"begin"), (1600, b"KERNEL", b"end"), (1700, b"FW", b"end"))))
    refused(twelve, ["program 7", "0.5"], code=0)
    # Commas in a path, numbers that are none, a missing tail: counted with the first line; the other program stays.
    head15 = (b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], "
              b"data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
    def run15(host, file=b"f.cc", time=b"%d", start=1000, chip=0):
        return b"".join(b"%d,1,1,BRISC,%d,%s,0,%d,,,BRISC-%s,ZONE_%s,1,%s,\n" % (chip, i, time % t if b"%" in time else time, host, z, p, file)
                        for i, t, z, p in ((10, start, b"FW", b"START"), (11, start + 100, b"KERNEL", b"START"), (11, start + 600, b"KERNEL", b"END"),
                                           (10, start + 700, b"FW", b"END")))
    good = run15(2048, start=9000)
    for text, words in ((run15(1024, b"/a,b/f.cc"), ["4 lines were skipped", "comma in a path", "line 3"]),
                        (run15(1024, time=b"nan"), ["4 lines were skipped", "must be a number", "line 3"]),
                        (run15(1024, time=b"-5"), ["4 lines were skipped", "must be a number"]),
                        (b"0,1,1\n", ["1 lines were skipped", "too few columns", "line 3"])):
        refused(head15 + text + good, [*words, "program 2", "1 device ops"], code=4)
    refused((head15 + run15(1024) + good).replace(b"\n", b"\r\n"), ["2 device ops"], code=0)
    refused(head15 + run15(1024) + run15(1025, start=5000, chip=1) + good, ["2 devices"], code=0)
    refused(head15 + run15(1024, b"/src/gr\xc3\xb6\xc3\x9fe.cc") + run15(2048, b"/latin/\xf6.cc", start=9000), ["2 device ops"], code=0)
    refused(head15 + run15(1024) + run15(2048, start=1200), ["-0."], code=0)  # programs that overlap
    refused(head15, ["not one marker"], code=0)
    names_that_are_not_there(refused, needed)
    text_for_a_number(refused, needed, head15, run15(1024))
    # A bad cell costs that cell; a quote that is never closed costs its row.
    refused(needed + b",ATTRIBUTES\nA,tt_dnn_device,0,0,12x,\nB,tt_dnn_device,0,0,1000,\"open\n", ["row 2", "'12x'", "middle of a line"], code=4)
    # The missing thing and what may have been meant.
    for words, arguments in ((["'opz' is no report", "did you mean ops?"], ("opz", "x")), (["--hots", "did you mean --host?"], ("ops", "x", "--hots", "y")),
                             (["option --zzzzzz is not known", "--help"], ("ops", "x", "--zzzzzz"))):
        _, err = report(*arguments, code=2)
        h.check(all(w in err for w in words), f"{arguments}: {err}")


def damage():
    """Cut, thinned, shuffled and misnamed inputs: the exit code goes by rule, in every report that reads zones or tables."""
    seed = 20261122
    random_ = random.Random(seed)
    print(f"seed {seed}")
    log = h.work("whole.csv")
    big_log(log, programs=6, cores=4)
    with open(log, "rb") as file:
        lines = file.read().splitlines(True)
    head, rows = lines[:2], lines[2:]
    def code_of(name, data, *command):
        path = h.work(name)
        with open(path, "wb") as file:
            file.write(data)
        got, out, err = h.run("ttreport", *(command or ("ops", "--no-summary")), path)
        return got, out, err
    for command in (("ops",), ("kernels",), ("heatmap",), ("steps",), ("html", "-o", h.work("d.html")), ("files", "-o", h.work("d"), "--no-date")):
        got, _, err = code_of("thinned.csv", b"".join(head + rows[:26] + rows[41:]), *command)
        h.check(got == 4 and "markers are gone" in err and "has no" in err, f"rows deleted from the middle, {command[0]}: exit {got}: {err}")
    for cut in range(len(b"".join(head)) + 1, sum(map(len, lines)), 997):
        data = b"".join(lines)[:cut]
        got, _, err = code_of("cut.csv", data)
        h.check(got == (0 if data.endswith(b"\n") else 4), f"cut at {cut}: exit {got}: {err}")
    # A heat map without one kernel: of a damaged source that is the source's fault, of a whole one the question's.
    firmware = [row for row in rows if b"-FW" in row][:8]
    for data, code, words in ((head + firmware, 2, "no core ran a kernel"), (head + firmware + [rows[9][:-9]], 4, "no core ran a kernel"), (lines, 0, "Chip 0")):
        for more in ((), ("-o", h.work("map.svg"))):
            got, out, err = code_of("kernels.csv", b"".join(data), "heatmap", *more)
            h.check(got == code and (words in out + err or (more and code == 0)), f"heat map of {len(data)} lines: exit {got}: {err}")
            h.check(os.path.exists(h.work("map.svg")) == (bool(more) and code == 0), "a picture of nothing was left")
    whole, _, _ = code_of("again.csv", b"".join(lines), "ops", "--json", h.work("whole.json"))
    for _ in range(5):
        random_.shuffle(rows)
        got, _, err = code_of("shuffled.csv", b"".join(head + rows), "ops", "--json", h.work("shuffled.json"))
        h.check(got == whole == 0 and "were sorted" in err, f"shuffled: exit {got}: {err}")
        a, b = (json.load(open(h.work(n))) for n in ("whole.json", "shuffled.json"))
        h.check(a["rows"] == b["rows"], "a shuffled log gives other ops")
    got, _, err = code_of("shuffled.csv", b"".join(head + rows), "ops", "--memory", "1KiB")
    h.check(got == 3 and "--memory" in err, f"shuffled beyond the bound: exit {got}: {err}")
    # Every column of a log and of a table in turn: without it the answer is right, or refused by its name.
    names = [n.strip() for n in head[1].decode().split(",")]
    needed_of_log = {"PCIe slot", "core_x", "core_y", "RISC processor type", "timer_id", "time[cycles since reset]", "data", "run host ID",
                     "trace id", "trace id counter", "zone name", "type"}
    for i, name in enumerate(names):
        text = b"".join([head[0]] + [b",".join(c for k, c in enumerate(l.rstrip(b"\n").split(b",")) if k != i) + b"\n" for l in lines[1:]])
        got, _, err = code_of("column.csv", text)
        h.check(got == (3 if name in needed_of_log else 0), f"log without {name}: exit {got}: {err}")
    text = (b"OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,MATH FIDELITY,CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n"
            + b"".join(b"Op%d,tt_dnn_device,%d,0,{},HiFi4,64,%d,100,%d\n" % (i % 3, 1024 * i, 1000 * i, 5000 + i) for i in range(40)))
    names = text.split(b"\n")[0].split(b",")
    for i, name in enumerate(names):
        without = b"".join(b",".join(c for k, c in enumerate(l.split(b",")) if k != i) + b"\n" for l in text.splitlines())
        got, _, err = code_of("table.csv", without)
        refused = name.decode() in ("OP CODE", "OP TYPE", "DEVICE ID", "OP TO OP LATENCY [ns]", "DEVICE KERNEL DURATION [ns]")
        h.check(got == (3 if refused else 0) and (not refused or f"'{name.decode()}'" in err), f"table without {name}: exit {got}: {err}")
    for data, want in ((text[:100], 3), (text.replace(b"\n", b"\0"), 3), (text[:-20], 4), (text.replace(b"Op1", b"garbage\nOp1", 1), 4)):
        got, _, err = code_of("table.csv", data)
        h.check(got == want, f"table {data[-40:]}: exit {got} instead of {want}: {err}")


def blackhole():
    """A core with two ERISCs split the programs it ran: 42 ops instead of 20."""
    name, capture = h.card_name(), h.work("bh.ttc")
    card_ = h.start("ttemu", "--name", name, "--wait-observer", "--arch", "blackhole", "--board", "p150", "--ethernet", 2, "--cores", 6, "--programs", 20,
                    "--dispatch-cores", 1, "--pace", "--quiet")
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "-o", capture)
    for one in (card_, collector):
        code, out, err = h.finish(one)
        h.check(code == 0, f"{one.args[0]} ended with {code}: {err}{out}")
    log = h.work("bh.csv")
    code, _, err = h.run("ttexport", "--from", capture, "-o", log)
    h.check(code == 0, err)
    for source in (capture, log):
        out, _ = report("ops", source, "--json", "-", "--no-summary")
        rows = json.loads(out)["rows"]
        h.check(len(rows) == 20 and {r["cores"] for r in rows} == {8}, f"{source}: {len(rows)} ops on {[r['cores'] for r in rows]} cores")
        out, _ = report("ops", source)
        h.check("-0.0" not in out, "a share of -0.0")
    report("html", capture, "-o", h.work("bh.html"))
    with open(h.work("bh.html"), encoding="utf-8") as file:
        lanes = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1).replace("<\\/", "</"))["lanes"]
    h.check(len(lanes) == len(set(lanes)) and any(l.endswith("ERISC 1") for l in lanes), f"lanes: {lanes}")
    out, _ = report("kernels", capture, "--json", "-", "--top", 0)
    kernels = json.loads(out)["kernels"]
    runs = {g: sorted(k["count"] for k in kernels if k["group"] == g and k["name"].endswith("-KERNEL")) for g in ("program", "no program")}
    # 20 programs on 2 Ethernet cores of two RISCs and on 6 cores of five; the dispatch core runs two kernels, once.
    h.check(runs == {"program": [40] * 2 + [120] * 5, "no program": [1, 1]}, f"the dispatch core is no group of its own: {runs}")
    root = h.work("files")
    report("files", capture, "-o", root, "--no-date")
    with open(os.path.join(root, "reports", "per_core_op_to_op_times.csv")) as file:
        h.check(len(file.readline().split(",")) == 2 + 6, "per-core gaps have columns of Ethernet cores")


def guides():
    """What the guides of other tools name: options, old columns, the newest report, session ids."""
    folder = h.work("logs")
    os.makedirs(folder, exist_ok=True)
    big_log(os.path.join(folder, "profile_log_device.csv"), programs=3, cores=2)
    info = {"global_call_count": 1024, "device_id": 0, "op_code": "Matmul", "op_type": "tt_dnn_device", "op_hash": 7, "attributes": {},
            "input_tensors": [{"dtype": "BFLOAT16", "layout": "TILE", "shape": {"W": "1[1]", "Z": "1[1]", "Y": "32[30]", "X": "64[60]"}, "storage_type": "HOST"}],
            "output_tensors": [], "kernel_info": {"kernel_sizes": {"TENSIX_DM_0_max_kernel_size": 10, "ACTIVE_ETH_DM_0_max_kernel_size": 11}}}
    with open(os.path.join(folder, "tracy_ops_data.csv"), "w") as file:
        file.write("MessageName;total_ns\nTTNN_SESSION_ID:run-1;5\n`TT_DNN_DEVICE_OP: \"Matmul\", 7, 0, 0, 1024 ->\n" + json.dumps(info) + "`;10\n"
                   '`TT_DNN_DEVICE_OP: "Matmul", 7, 0, 1, 2048`;20\n`TT_DNN_DEVICE_OP: "Matmul", 7, 0, 1, 3072`;30\n')
    root = h.work("out")
    for stamp, more in (("2026_01_01_00_00_00", ()), ("2026_03_01_00_00_00", ("--columns-of", "2025-06")), ("2026_02_01_00_00_00", ())):
        report("files", os.path.join(folder, "profile_log_device.csv"), "-o", root, "--date", stamp, *more)
    newest = os.path.join(root, "reports", "2026_03_01_00_00_00")
    out, err = report("ops", os.path.join(root, "reports"), "--json", "-")
    h.check("2026_03_01" in err and len(json.loads(out)["rows"]) == 3, f"the newest report: {err}")
    rows = table(os.path.join(newest, "ops_perf_results_2026_03_01_00_00_00.csv"))
    h.check(rows[0]["INPUT_0_Y"] == "32" and rows[0]["BRISC MAX KERNEL SIZE [B]"] == "10" and rows[0]["ERISC MAX KERNEL SIZE [B]"] == "11"
            and "DEVICE ARCH" not in rows[0] and "PROGRAM HASH" not in rows[0], f"columns of June 2025: {list(rows[0])}")
    with open(os.path.join(newest, "profile_log_device.csv")) as file:
        h.check(file.readline().endswith(", SESSION_ID: run-1\n"), "the log does not name the session")
    # Cached ops with a hit flag of 0 and 1 are there.
    h.check([r["GLOBAL CALL COUNT"] for r in table(os.path.join(root, "reports", "2026_02_01_00_00_00", "ops_perf_results_2026_02_01_00_00_00.csv"))]
            == ["1024", "2048", "3072"], "cached ops are missing")
    one = os.path.join(newest, "ops_perf_results_2026_03_01_00_00_00.csv")
    out, _ = report("ops", one, "--csv", h.work("t.csv"), "--table")
    h.check("Verdict" in out and os.path.exists(h.work("t.csv")), "--csv FILE --table prints no table")
    out, _ = report("ops", one, "--hide", "--min-percentage", "99")
    h.check("are hidden" in out, f"--hide: {out}")
    out, _ = report("ops", one, "--rows", "1")
    h.check("The 1 of 3 that take longest" in out and "--rows 0" in out, f"--rows 1: {out}")
    decisions()
    side_files_as_outputs(folder)


def side_files_as_outputs(folder):
    """Each file that `files` writes, as a second name of a file that it reads or brings along: refused before anything is written."""
    def tree(root):
        return sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)
    source = h.work("source")
    shutil.copytree(folder, source)
    log = os.path.join(source, "profile_log_device.csv")
    inputs = [log]
    for name in ("topology.json", "tracy_profile_log_host.tracy", "cluster_coordinates.json", "profile_log_device.losses.csv"):
        inputs.append(os.path.join(source, name))
        with open(inputs[-1], "w", encoding="utf-8") as file:
            file.write(name + "\n")
    command = ("files", log, "-n", "n", "--no-date", "--tt-torch", "-o")
    os.makedirs(h.work("whole/npe_viz"))
    with open(h.work("whole/npe_viz/a.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    report(*command, h.work("whole"))
    report(*command, h.work("whole"))    # and a second time over its own
    written = [os.path.relpath(path, h.work("whole")) for path in tree(h.work("whole"))]
    h.check("reports/n/npe_viz/a.json" in written, f"{written}")
    for number, output in enumerate(written):
        root = h.work(f"trap{number}")
        os.makedirs(os.path.join(root, os.path.dirname(output)))
        if not output.startswith("npe_viz/"):
            shutil.copytree(h.work("whole/npe_viz"), os.path.join(root, "npe_viz"))
        link, victim = (os.link, os.symlink)[number % 2], inputs[number % len(inputs)]
        own = os.path.basename(victim) == os.path.basename(output) and output.startswith(".logs/")
        link(victim, os.path.join(root, output))
        before = tree(root)
        with open(victim, "rb") as file:
            content = file.read()
        # A side file in its own place stays, and pictures are read.
        stays = own or output.startswith("npe_viz/")
        _, err = report(*command, root, code=0 if stays else 2)
        h.check(stays or ("is the input" in err and tree(root) == before), f"{output} is {victim}: {err} {tree(root)}")
        with open(victim, "rb") as file:
            h.check(file.read() == content, f"{output} is {victim}, which was changed")
    # A folder of pictures by which the report's own folder is reached is copied once, not into itself.
    loop = h.work("loop")
    os.makedirs(os.path.join(loop, "reports", "n"))
    os.symlink("reports", os.path.join(loop, "npe_viz"))
    report(*command, loop)


def decisions():
    """What was decided where tools differ (tools/ttreport/REPORTS.md), on one small table."""
    def row(code, kind, start, gap="", kernel="", memory=""):
        return dict(zip(("OP CODE", "OP TYPE", "HOST START TS", "OP TO OP LATENCY [ns]", "DEVICE KERNEL DURATION [ns]", "INPUT_0_MEMORY"),
                        (code, kind, start, gap, kernel, memory))) | {"DEVICE ID": 0 if kernel else "", "GLOBAL CALL COUNT": start if kernel else ""}
    rows = (row("a", "signpost", 10), row("Matmul", "tt_dnn_device", 20, 0, 2345, "DEV_0_L1_BLOCK_SHARDED"),
            row("Copy", "tt_dnn_device", 40, 7000, 1234, "DEV_0_DRAM_INTERLEAVED"), row("(torch) foo", "python_fallback", 55),
            row("b", "signpost", 60), row("Copy", "tt_dnn_device", 70, 500, 21234, "DEV_0_L1_HEIGHT_SHARDED"))
    path = h.work("decisions.csv")
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    out, _ = report("ops", path, "--ignore-signposts")
    h.check("2.3 \u03bcs" in out and "21 \u03bcs" in out, f"times under 10 us without their decimal: {out}")
    h.check("save about 1.0 \u03bcs" in out and "(7.5 of 32 us) are gaps" in out, f"advice and verdict without decimals: {out}")
    summary = h.work("decisions_sum")
    def groups(*more):
        report("ops", path, "--ignore-signposts", "--summary-file", summary, *more)
        return [r["OP Code Joined"] if "OP Code Joined" in r else r["Op Code"] for r in table(summary + ".csv")]
    h.check("(torch)" in groups(), "host ops are not in the summary")
    h.check(groups("--no-stack-by-in0") == ["Copy", "Matmul", "(torch)"], f"--no-stack-by-in0: {groups('--no-stack-by-in0')}")
    h.check(groups("--no-stack-by-in0", "--group-by", "memory") == groups(), "--group-by does not go first")
    for names, kept in ((("b", "a"), 4), (("a", "b"), 1)):
        out, _ = report("ops", path, "--json", "-", *[x for name in names for x in ("--start-signpost", name)])
        h.check(len(json.loads(out)["rows"]) == kept, f"--start-signpost {names}: not the last one counts: {out}")


def diff():
    def ops_file(name, ns):
        path = h.work(name)
        with open(path, "w") as file:
            file.write("OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n")
            for n in ns:
                file.write(f"Matmul,tt_dnn_device,0,100,{n}\n")
        return path
    a, b, noisy = ops_file("a.csv", (1000, 1010, 990)), ops_file("b.csv", (1200, 1210, 1190)), ops_file("n.csv", (500, 1000, 2100))
    out, _ = report("diff", a, b)
    h.check("significant" in out and "+20.0 %" in out, out)
    report("diff", a, b, "--fail-if", "total>25%")
    _, err = report("diff", a, b, "--fail-if", "total>5%", code=1)
    h.check("holds" in err and "20.00 %" in err, err)
    report("diff", a, b, "--fail-if", "any>5%", code=1)
    report("diff", a, noisy, "--fail-if", "any>5%")  # within its spread
    report("diff", b, a, "--fail-if", "any>0%")
    out, _ = report("diff", a, b, "--json", "-")
    found = json.loads(out)
    h.check(found["ops"][0]["significant"] is True, out)
    low, high = found["ops"][0]["change_interval_percent"]
    h.check(17 < low <= 20 <= high < 23, f"the interval of +20 % is {low} to {high}")
    h.check(abs(sum(p["us"] for p in found["waterfall"]) - 0.6) < 1e-9, f"the waterfall: {found['waterfall']}")
    # Noise about the same median, whatever its seed: no condition on growth may hold.
    for seed in range(1, 6):
        noise = random.Random(seed)
        one, two = (ops_file(n, [round(noise.gauss(10000, 800)) for _ in range(200)]) for n in ("one.csv", "two.csv"))
        report("diff", one, two, "--fail-if", "total>2%", "--fail-if", "any>2%")
        slower = ops_file("slower.csv", [round(noise.gauss(11000, 800)) for _ in range(200)])
        report("diff", one, slower, "--fail-if", "any>5%", code=1)


PROBE = """
<script>
addEventListener('load', () => setTimeout(() => {
  const out = {}, key = (k, t, o) => (t || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, ...o}));
  const cell = (r, c) => { const rows = [...document.querySelectorAll('#optable tbody tr')].filter(x => x.dataset.i); return rows[r].cells[c].textContent; };
  out.ready = window.ttReady; out.count = $('count').textContent; out.inDocument = document.querySelectorAll('#optable tbody tr').length;
  const heads = [...document.querySelectorAll('#optable th button')]; heads.find(b => b.textContent.startsWith('Device ')).focus();
  const byTime = heads.find(b => b.textContent.includes('Device') && b.textContent.includes('s')); const at = heads.findIndex(b => b.textContent === 'Device \\u00b5s');
  heads[at].click(); out.sorted = [0, 1, 2, 3].map(i => parseFloat(cell(i, at).replace(/,/g, ''))); out.aria = heads[at].parentElement.getAttribute('aria-sort');
  key('/'); out.focus = document.activeElement.id; $('search').value = 'program 113'; $('search').dispatchEvent(new Event('input')); out.found = $('count').textContent;
  $('search').value = ''; $('search').dispatchEvent(new Event('input')); $('search').blur();
  key('j'); key('j'); out.chosen = document.querySelectorAll('#optable tr.on').length; out.heat = $('heatnote').textContent; key('Enter');
  out.theme = getComputedStyle(document.body).backgroundColor; key('t'); out.themeAfter = getComputedStyle(document.body).backgroundColor;
  out.cells = document.querySelectorAll('#grid div[tabindex]').length; out.kernels = document.querySelectorAll('#kerneltable tbody tr').length; out.steps = $('stepbody').textContent.length;
  out.zones = T ? T.begin.length : 0; setWindow(0, end); draw(); out.bars = ttDrawn.bars; let worst = 0; for (let i = 0; i < 20; i++) { zoom(0.7); draw(); worst = Math.max(worst, ttDrawn.ms); } out.worst = worst;
  out.asked = performance.getEntriesByType('resource').length;
  document.body.innerHTML = ''; const pre = document.createElement('pre'); pre.id = 'result'; pre.textContent = JSON.stringify(out); document.body.append(pre);
}, 300));
</script></body>"""


def big_log(path, programs=160, cores=64):
    """About 10^5 zones."""
    riscs = [("BRISC", "BRISC", 10), ("NCRISC", "NCRISC", 12), ("TRISC_0", "TRISC", 14), ("TRISC_1", "TRISC", 14), ("TRISC_2", "TRISC", 14)]
    with open(path, "w") as out:
        out.write("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, "
                  "time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
        for core in range(cores):
            x, y = 1 + core % 8, 1 + core // 8
            for risc, short, id in riscs:
                for p in range(1, programs + 1):
                    t, took = 10 ** 9 + p * 20000 + core * 13, 3000 + (p * 7919) % 9000 + core * 11
                    for i, name, phase, when in ((id, "FW", "START", 0), (id + 1, "KERNEL", "START", 300), (id + 1, "KERNEL", "END", 300 + took), (id, "FW", "END", 500 + took)):
                        out.write(f"0,{x},{y},{risc},{i},{t + when},0,{p * 1024},,,{short}-{name},ZONE_{phase},396,/fw/{short}.cc,\n")


def html():
    browser = shutil.which("chromium")
    log, page = h.work("big.csv"), h.work("run.html")
    big_log(log)
    report("html", log, "-o", page, "--zones", "102400")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    h.check(not re.search(r"""(src|href)=["'](?!#)|@import|url\(|fetch\(|XMLHttpRequest|https?://""", text), "the page asks for something")
    if not browser:
        h.skip("no chromium here; the page was made and asks for nothing")
    probed = h.work("probed.html")
    with open(probed, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", PROBE))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,900", "--virtual-time-budget=8000",
             "--user-data-dir=" + h.work("profile")]
    dom = subprocess.run([browser, *flags, "--dump-dom", "file://" + probed], capture_output=True, text=True, timeout=h.LIMIT_S).stdout
    match = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    h.check(match is not None, f"the page's script did not end: {dom[-400:]}")
    out = json.loads(match.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    print(out)
    h.check(out["ready"] and out["count"].startswith("160 of 160"), "the table is not there")
    h.check(out["sorted"] == sorted(out["sorted"], reverse=True) and out["aria"] == "descending", "sorting")
    h.check(out["focus"] == "search" and 1 <= int(out["found"].split()[0]) <= 5, f"searching: {out['found']}")
    h.check(out["chosen"] == 1 and "op " in out["heat"], "choosing an op by keys")
    h.check(out["theme"] != out["themeAfter"], "dark and light look alike")
    h.check(out["cells"] == 64 and out["kernels"] == 10 and out["steps"] > 20, "cores, kernels or steps are missing")
    h.check(out["zones"] >= 100_000 and out["bars"] > 1000, f"{out['zones']} zones, {out['bars']} bars")
    h.check(out["asked"] == 0, "the page asked for something")
    for name, more in (("light", []), ("narrow", ["--window-size=420,900"])):
        shot = os.environ.get("TTC_SHOTS", os.path.dirname(page)) + f"/page-{name}.png"
        subprocess.run([browser, *flags, *more, f"--screenshot={shot}", "file://" + page], capture_output=True, timeout=h.LIMIT_S)
        h.check(os.path.getsize(shot) > 20_000, f"the screenshot {name} is empty")
    pdf = h.work("page.pdf")
    subprocess.run([browser, *flags, f"--print-to-pdf={pdf}", "file://" + page], capture_output=True, timeout=h.LIMIT_S)
    h.check(os.path.getsize(pdf) > 20_000, "nothing is printed")


def log_of(path, programs, chip=0, first_id=1024):
    """One core, four rows a program."""
    with open(path, "w") as out:
        out.write("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, "
                  "time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
        for p in range(programs):
            t, took = 10 ** 9 + p * 3000, 1200 + p * 37 % 900
            for id, name, phase, when in ((10, "FW", "START", 0), (11, "KERNEL", "START", 100), (11, "KERNEL", "END", 100 + took), (10, "FW", "END", 200 + took)):
                out.write(f"{chip},1,1,BRISC,{id},{t + when},0,{first_id + p * 1024},,,BRISC-{name},ZONE_{phase},1,f.cc,\n")


# A process is charged with what its parent had when it was made; this parent has next to nothing.
RUNNER = """import os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(status, used.ru_maxrss, file=sys.stderr)"""


def peak(*arguments):
    """Of a ttreport, in bytes; what it prints goes nowhere."""
    command = [sys.executable, "-S", "-E", "-c", RUNNER, os.path.join(h.BIN, "ttreport"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=h.LIMIT_S, check=True)
    status, peak_kib = map(int, done.stderr.splitlines()[-1].split())
    h.check(status == 0, f"ttreport {arguments}: {status}: {done.stderr}")
    return peak_kib * 1024


def memory():
    """Enough programs that what is spilled is spilled in both; `--memory` bounds the open ones in both."""
    sizes = (40_000, 100_000)
    logs = [h.work(f"{n}.csv") for n in sizes]
    for n, path in zip(sizes, logs):
        log_of(path, n)
    for bound, *command in ((64, "files", "-o", h.work("out"), "--no-date"), (96, "ops", "--rows", 0)):
        small, large = (peak(command[0], path, "--memory", "1MiB", *command[1:]) for path in logs)
        growth = (large - small) / (sizes[1] - sizes[0])
        print(f"{command[0]}: {small >> 20} and {large >> 20} MiB, {growth:.0f} bytes a program")
        h.check(growth < bound, f"{command} takes {growth:.0f} bytes more for every program")


# tt-npe's npe_analyze_noc_trace_dir.py as its source and README have it: what it wants to find and what it prints. The figures are
# made of the op's id, so that a test sees whose they are.
NPE = """#!/usr/bin/env python3
import os, re, sys
logs = sys.argv[1]
assert sys.argv[2] == "-m" and int(sys.argv[3]) > 0 and "-e" in sys.argv and os.path.exists(os.path.join(logs, "topology.json"))
found = [re.search(r"^noc_trace_dev(\\d+)_((\\w*)_)?ID(\\d+)(_traceID(\\d+))?\\.json$", name) for name in sorted(os.listdir(logs))]
ops = [(m.group(3) or "UnknownOP", int(m.group(4)) >> 10, m.group(6) or "") for m in found if m]
print("\\033[1A\\033[2K\\rAnalyzing (1/1) ...")
print("-" * 170)
print(f"\\033[1m{'Opname':42} {'Op ID':>5} {'Metal Trace ID':>15} {'NoC Util':>14} {'McastWr NoC Util':>18} {'DRAM BW Util':>14} "
      f"{'Cong Impact':>14} {'% Overall Cycles':>19} {'ETH BW Util (per core)'}\\033[0m")
print("-" * 170)
for name, op, trace in ops[:int(sys.argv[3])] + ops[:1] * int(os.environ.get("TWICE", "0")):
    print(f"{name:42} {op:>5} {trace:>15} {op + 0.26:>13.2f}% {1.5:>17.2f}% {op / 2:13.2f}% {float('nan') if op == 2 else -0.25:>13.2f}% {3:>18.2f}%  (0,1,2):3.4%")
print("-" * 170)
print("average link util                : 1.0% ")
"""


def npe():
    run = RunOf(["--cores", 2, "--programs", 8, "--noc-events", 100, "--host-reads", "every:4", "--pace"], ["-o", h.work("run.ttc")]).end()
    code, _, err = h.run("ttexport", "--from", h.work("run.ttc"), "-o", h.work("card.csv"))
    h.check(code == 0 and run, err)
    log = h.work("log.csv")
    with open(h.work("card.csv")) as rows, open(log, "w") as out:    # ids as ttnn gives them: the op's, and 10 bits of the device
        for i, line in enumerate(rows):
            c = line.split(",")
            out.write(line if i < 2 else ",".join((*c[:7], str(int(c[7]) << 10), *c[8:])))
    def tool(name, text):
        with open(h.work(name), "w") as out:
            out.write(text)
        os.chmod(h.work(name), 0o755)
        return h.work(name)
    def files(*more, code=0):
        shutil.rmtree(h.work("out"), ignore_errors=True)
        _, err = report("files", log, "-o", h.work("out"), "--no-date", *more, code=code)
        return err, table(os.path.join(h.work("out"), "reports/ops_perf_results.csv"))
    stand_in = tool("npe.py", NPE)
    err, rows = files("--npe", stand_in)
    filled = [r for r in rows if r["NOC UTIL (%)"]]
    h.check(len(filled) > 3 and f"{len(filled)} rows have its figures" in err, f"{len(filled)} rows: {err}")
    for r in filled:
        op = int(r["GLOBAL CALL COUNT"]) >> 10
        h.check(float(r["NOC UTIL (%)"]) == round(op + 0.26, 1) and float(r["DRAM BW UTIL (%)"]) == op / 2 and r["MULTICAST NOC UTIL (%)"] == "1.5"
                and r["NPE CONG IMPACT (%)"] == ("" if op == 2 else "-0.25") and r["ETH BW UTIL (%)"] == "(0;1;2):3.4%", f"another op's figures: {r}")
    os.environ["TWICE"] = "1"
    err, rows = files("--npe", stand_in)
    h.check(len([r for r in rows if r["NOC UTIL (%)"]]) == len(filled) - 1 and "not which device" in err, f"a name that comes twice: {err}")
    del os.environ["TWICE"]
    # Without it: a hint. Its directory is TTC_TOOLS, too.
    path = os.environ["PATH"]
    os.environ["PATH"] = "/nonexistent"
    os.environ.pop("TTC_TOOLS", None)
    for more in (("--noc-traces",), ("--npe",)):
        err, _ = files(*more)
        h.check(err.count("--npe PATH runs") == 1, f"no hint: {err}")
    os.environ["PATH"] = path
    os.makedirs(h.work("tools"))
    os.link(stand_in, h.work("tools/npe_analyze_noc_trace_dir.py"))
    os.environ["TTC_TOOLS"] = h.work("tools")
    err, _ = files("--npe")
    h.check("rows have its figures" in err, f"TTC_TOOLS is not looked into: {err}")
    # What fails is one sentence; the rest of the report is there.
    _, err = report("files", log, "-o", h.work("none"), "--npe", h.work("absent"), code=2)
    h.check("--npe: there is no program" in err and not os.path.exists(h.work("none")), err)
    for text, words in (("echo no topology >&2\nexit 3", ("exit code 3", "no topology")), ("kill -SEGV $$", ("signal 11",)), ("echo hello", ("no table", "hello")),
                        ("head -c 3000 /dev/urandom", ("no table",))):
        err, rows = files("--npe", tool("bad", "#!/bin/sh\n" + text + "\n"), code=8)
        said = [line for line in err.splitlines() if "--npe" in line]
        h.check(len(said) == 1 and all(word in said[0] for word in words) and len(rows) == 8, f"{text}: {err}")
    err, _ = files("--npe", tool("bad", "#!/nonexistent/interpreter\n"), code=8)
    h.check("cannot be started" in err, err)


def remote():
    """Chip 0 is captured; the log has rows of both, which for chip 0 must not come twice."""
    capture, log = h.work("run.ttc"), h.work("remote/profile_log_device.csv")
    run = RunOf(["--cores", 2, "--programs", 20, "--host-reads", "every:10", "--pace"], ["-o", capture]).end()
    os.makedirs(h.work("remote"))
    log_of(h.work("one.csv"), 30, chip=1)
    with open(h.work("one.csv")) as one, open(log, "w") as out:
        lines = list(one)
        out.writelines(lines[:2] + [f"1,2,1,TRISC_1,9090,{10 ** 9 + 150},77,1024,5,2,,TS_DATA,0,,{{\"counter type\":\"FPU_COUNTER\";\"value\":7}}\n"] + lines[2:]
                       + ["0" + line[1:] for line in lines[2:]])
    def export(kind, *more, code=0, sources=(capture, log)):
        path = h.work("out." + kind)
        got, _, err = h.run("ttexport", *[x for s in sources for x in ("--from", s)], "--format", kind, "-o", path, *more)
        h.check(got == code, f"{kind}: {got}: {err}")
        return path, err
    path, err = export("device-csv")
    truth, rows = len(h.rows(run.truth)), h.rows(path)
    h.check(len([r for r in rows if r.startswith("0,")]) == truth, f"rows of the captured chip: {len(rows)} of {truth}")
    h.check(sorted(r for r in rows if r.startswith("1,")) == sorted(line.rstrip("\n") for line in lines_of(log, "1,")), "rows of the log's chip differ")
    h.check("chip 1 is from the workload's device log" in err and "no common time" in err, err)
    def threads(events):
        return {e["tid"]: (e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    path, err = export("chrome")
    events = json.load(open(path))["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    h.check(names[2] == "chip 1 (wormhole_b0, workload's device log, no common time)" and "log" not in names[1], f"chips: {names}")
    marked = {pid for pid, name in threads(events).values() if name.endswith("(log)")}
    h.check(marked == {2} and all(name.endswith("(log)") for pid, name in threads(events).values() if pid == 2), "lanes are not marked")
    zones = [e for e in events if e["ph"] == "X" and e["pid"] == 2 and e["cat"] != "program"]
    h.check(len(zones) == 60 and {e["name"] for e in zones} == {"BRISC-FW", "BRISC-KERNEL"}, f"{len(zones)} zones of the log's chip")
    h.check(any(e["pid"] == 2 and e.get("args", {}).get("value") == 77 for e in events), "the data of an event is gone")
    own = {e["ts"] for e in zones if e["name"] == "BRISC-FW"}
    h.check(min(own) == 1e6, f"cycles at 1000 MHz: {min(own)}")
    # With sync data: chip 1's cycles are half of chip 0's, plus a shift that puts them into the capture.
    with open(run.truth) as rows:
        first = min(int(r.split(",")[5]) for r in list(rows)[2:])
    shift = first - 10 ** 9 // 2
    with open(h.work("remote/sync_device_info.csv"), "w") as out:
        out.write("device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,"
                  f"device_frequency_ratio,device_shift\n    0,    1,    1,1,1,1.00,0,1,0,1.0,1.0,1,1.0,0\n    1,    1,    1,1,1,1.00,0,1,0,1.0,1.0,1,0.5,{shift}\n")
    path, err = export("chrome")
    h.check("related by sync_device_info.csv" in err, err)
    events = json.load(open(path))["traceEvents"]
    starts = {pid: min(e["ts"] for e in events if e["ph"] in "XB" and e["pid"] == pid) for pid in (1, 2)}
    h.check(abs(starts[1] - starts[2]) < 1000, f"the chips begin at {starts} us, on one clock they begin together")
    zones = sorted(e["ts"] for e in events if e["ph"] == "X" and e["pid"] == 2 and e["name"] == "BRISC-FW")
    mean = (zones[-1] - zones[0]) / 29
    h.check(abs(mean / 1.5 - 1) < 0.1, f"launches {mean} us apart, 3000 cycles of half the length")
    path, _ = export("perfetto")
    h.check(b"clock by sync_device_info.csv" in open(path, "rb").read() and b"BRISC (log)" in open(path, "rb").read(), "perfetto: not marked")
    # Filters, a log alone, a damaged one, and formats that take none.
    path, _ = export("device-csv", "--chip", "1", "--host-id", "2048")
    h.check({r.split(",")[7] for r in h.rows(path)} == {"2048"} and len(h.rows(path)) == 4, "filters")
    path, _ = export("device-csv", sources=(log,))
    h.check(sorted(h.rows(path)) == sorted(line.rstrip("\n") for line in lines_of(log, ("0,", "1,"))), "a log alone is another one")
    with open(log, "a") as out:
        out.write("garbage\n")
    _, err = export("device-csv", code=4)
    h.check("too few columns" in err, err)
    for kind in ("sync-info", "telemetry-csv"):
        _, err = export(kind, code=2)
        h.check("is a device log" in err, err)
    # Reports: a column and a mark.
    out, err = report("ops", capture, log, "--rows", "0", code=4)
    h.check("1 (log)" in out and "sync_device_info.csv relates the clocks" in err, f"{err}{out}")
    out, _ = report("ops", capture, log, "--json", "-", "--no-merge-devices", code=4)
    sources = {(r["device"], r["device_data_source"]) for r in json.loads(out)["rows"]}
    h.check(sources == {(0, "capture"), (1, "workload's device log")}, f"rows are not marked: {sources}")
    report("files", capture, log, "-o", h.work("f"), "--no-date", code=4)
    h.check({(r["DEVICE ID"], r["DEVICE DATA SOURCE"]) for r in table(h.work("f/reports/ops_perf_results.csv"))} == sources_of_text(sources), "the table is not marked")


def sources_of_text(pairs):
    return {(str(device), source) for device, source in pairs}


def lines_of(path, front):
    with open(path) as lines:
        return [line for i, line in enumerate(lines) if i > 1 and line.startswith(front)]


if __name__ == "__main__":
    globals()[sys.argv[1]]()

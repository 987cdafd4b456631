#!/usr/bin/env python3
"""ttreport on emulated cards. Usage: report_card_test.py card|blackhole|npe|remote

card   capture, its device log and the live segment give the same programs
blackhole  two ERISCs on one core
npe    what a model of tt-npe prints, as its documentation has it, is in the table; failures are reported
remote  a capture of a chip with PCIe and the workload's log of one without
"""
import json
import os
import re
import shutil
import sys

import harness as h
from report_support import lines_of, log_of, report, table
from run_of import RunOf


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
    # The environment of the run is in the capture and on the page; of the workload's variables only tt-metal's.
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
        h.check(len(out.splitlines()) > 3, f"{command} prints next to nothing: {out}")
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


# tt-npe's npe_analyze_noc_trace_dir.py as its source and README have it: its input and what it prints. The figures are
# made of the op's id, so that a test can assign them to it.
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
    # A failure is one sentence; the rest of the report is there.
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
    run = RunOf(["--cores", 2, "--programs", 20, "--host-reads", "every:10", "--rate", 100, "--pace"], ["-o", capture]).end()
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
    # With sync data: chip 1's cycles are half of chip 0's, plus a shift that puts them into the capture; not at its beginning, where the
    # clock was read once.
    with open(run.truth) as rows:
        times = sorted(int(r.split(",")[5]) for r in list(rows)[2:] if r.split(",")[11] == "ZONE_START")
    middle = times[len(times) // 2]
    shift = middle - 10 ** 9 // 2
    with open(h.work("remote/sync_device_info.csv"), "w") as out:
        out.write("device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,"
                  f"device_frequency_ratio,device_shift\n    0,    1,    1,1,1,1.00,0,1,0,1.0,1.0,1,1.0,0\n    1,    1,    1,1,1,1.00,0,1,0,1.0,1.0,1,0.5,{shift}\n")
    path, err = export("chrome")
    h.check("related by sync_device_info.csv" in err, err)
    events = json.load(open(path))["traceEvents"]
    begin = min(e["ts"] for e in events if e["ph"] in "XB" and e["pid"] == 2)
    nearest = min(abs(e["ts"] - begin) for e in events if e["ph"] in "XB" and e["pid"] == 1)
    h.check(nearest < 1, f"chip 1 begins {nearest} us away from any zone of chip 0, on one clock at the same cycle as one")
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


if __name__ == "__main__":
    globals()[sys.argv[1]]()

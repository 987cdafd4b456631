#!/usr/bin/env python3
"""ttreport against the files of other tools and their guides. Usage: report_tables_test.py ops|join|files|guides

ops    the tables and summaries of the golden reports, column by column (TTC_GOLDEN)
join   the golden C++ report and messages give the golden joined table (TTC_GOLDEN)
files  the folder that tt-metal's tools leave, from the golden device log (TTC_GOLDEN)
guides  options and files that the guides of other tools name
"""
import csv
import json
import os
import re
import shutil
import sys

import harness as h
from report_support import big_log, compare, golden, report, table


GOLDEN = ("bh20_oft_integral_image_trace", "bh_8xp150_deepseek_v3_d_p", "bh_p100_dlv3", "ops_perf_results_2025_09_18_11_39_20")


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
    # The text: advice by the same rules, greyed rows only with colours, JSON with the same numbers.
    text, _ = report("ops", golden("tt-perf-report", GOLDEN[0] + ".csv"), "--ignore-signposts")
    for part in ("2,831,446 \u03bcs", "21 device ops, 0 host ops, 6 signposts", "host-bound", "99.6 %"):
        h.check(part in text, f"'{part}' is not in the table")
    h.check("\033" not in text, "colours in a pipe")
    coloured, _ = report("ops", golden("tt-perf-report", GOLDEN[0] + ".csv"), "--color")
    h.check("\033" in coloured, "no colours although --color is given")
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
    with open(os.path.join(folder, "tracy_ops_times.csv"), "w") as times:  # what csvexport would have written
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
    # What ttnn-visualizer of July 2026 requires: a log of just 13 columns, a table that tt-perf-report takes.
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


def guides():
    """Everything that the guides of other tools name: options, old columns, the newest report, session ids."""
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
    """The rules for cases in which tools differ (tools/ttreport/REPORTS.md), on one small table."""
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


if __name__ == "__main__":
    globals()[sys.argv[1]]()

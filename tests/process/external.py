#!/usr/bin/env python3
"""Runs other programs on the exports. Usage: external.py CASE

The programs are executables in the directory that TTC_TOOLS names, under the names of NAMES (tests/README.md). A case
whose program is not there is skipped. The case `lookup` needs none: it runs the others with programs made here.
"""
import csv
import os
import pickle
import re
import subprocess
import sys
import threading

import harness as h
import perfetto_check
import tracy_recording
import viewer_support as viewers

TOOLS = os.environ.get("TTC_TOOLS", "")
# The case, and the pattern of the names of the executables that it runs.
NAMES = {"tracy": r"tracy-capture-.+", "perfetto": r"trace_processor_shell", "everything": r"trace_processor_shell", "chrome": r"speedscope-count",
         "perf_report": r"tt-perf-report", "tracy_host": r"tracy-client-.+", "device_log": r"process_device_log", "npe": r"npe_analyze_noc_trace_dir"}


def found(pattern):
    """Paths of the executables of such names, at least one."""
    if not TOOLS:
        h.skip("external tools absent (TTC_TOOLS)")
    if not os.path.isdir(TOOLS):
        h.fail(f"TTC_TOOLS={TOOLS} is no directory")
    paths = [os.path.join(os.path.abspath(TOOLS), name) for name in sorted(os.listdir(TOOLS)) if re.fullmatch(pattern, name)]
    paths = [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]
    if not paths:
        h.skip(f"no {pattern.replace('.+', 'VERSION')} in TTC_TOOLS")
    return paths


def call(*command, **options):
    """Its output; another exit code than 0 fails the test."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=h.LIMIT_S, check=False,
                          cwd=h.work(""), **options)
    h.check(done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}: "
                                  f"{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def last_number(text):
    numbers = re.findall(r"-?\d+", text)
    h.check(numbers, f"no number in {text!r}")
    return int(numbers[-1])


def equal(got, want, what):
    h.check(got == want, f"{what}: {got}, by the card {want}")
    h.check(want > 100, f"{what}: next to nothing")
    print(f"{what}: {got}")


def tracy():
    """A capture made by a real server holds every zone; counted where tracy-csvexport-VERSION is there, too."""
    captures = found(NAMES["tracy"])
    ttc, rows = viewers.collect(["--no-sync"], programs=25)
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    for capture in captures:
        version = os.path.basename(capture)[len("tracy-capture-"):]
        process, port = viewers.feed(ttc, "--once", *(["--tracy-66", "fork"] if "fork" in version else []))
        trace = h.work(f"{version}.tracy")
        call(capture, "-a", "127.0.0.1", "-p", port, "-o", trace, "-f")
        code, _, err = h.finish(process)
        h.check(code == 0 and "everything was sent" in err, f"{version}: ttexport ended with {code}: {err}")
        h.check(os.path.getsize(trace) > 0, f"{version}: the trace is empty")
        to_zones = os.path.join(os.path.dirname(capture), "tracy-zones-" + version)
        if os.access(to_zones, os.X_OK):
            every_zone(call(to_zones, trace), zones, version)
        to_csv = os.path.join(os.path.dirname(capture), "tracy-csvexport-" + version)
        if "fork" in version or not os.access(to_csv, os.X_OK):    # it exports none of the fork's device zones
            print(f"{version}: captured, not counted")
            continue
        table = list(csv.DictReader(call(to_csv, trace).splitlines()))
        equal(sum(int(row["counts"]) for row in table), len(zones) + len(viewers.programs_of(zones)),
              f"Tracy {version}, zones and programs")


def every_zone(lines, zones, version):
    """Lane, name, source, length, depth, text and place in time of each, as the server's own reader gives them back."""
    got, programs = [], []
    for line in lines.splitlines():
        kind, lane, name, source, begin, end, depth, text = line.split("\t")
        one = (kind, lane, name, source, int(begin), int(end), int(depth), text)
        (got if " core " in lane else programs).append(one)
    device = "fork" in version
    want = []
    for (x, y, processor), name, begin, end, depth, host, _, source in zones:
        text = viewers.context_of(x, y) if device else f"host id {host}, cycles {end - begin}"
        want.append(("gpu" if device else "cpu", f"chip 0 core {x},{y} {processor}", name, source or "?:0", begin, end, depth, text))
    # The trace counts from an origin of its own.
    first = min(z[4] for z in want) - min(z[4] for z in got)
    got = [(*z[:4], z[4] + first, z[5] + first, *z[6:]) for z in got]
    keep = [z for z in got if "DISPATCH" not in z[2]], [z for z in want if "DISPATCH" not in z[2]]
    viewers.same(*keep, f"Tracy {version}, every zone")
    viewers.same([(z[4] + first, z[5] + first) for z in programs if z[1] == "chip 0 programs"],
                 [p[1:3] for p in viewers.programs_of(zones)], f"Tracy {version}, every program")


def ask(shell, trace, query):
    with open(h.work("query.sql"), "w", encoding="utf-8") as file:
        file.write(query)
    return last_number(call(shell, "-q", h.work("query.sql"), trace))


def no_error(shell, trace, what):
    """The reader's counts of errors and losses in the trace."""
    for severity in ("error", "data_loss"):
        errors = ask(shell, trace, f"select ifnull(sum(value), 0) as n from stats where severity = '{severity}';")
        h.check(errors == 0, f"{what}: {errors} of severity {severity} while the trace was read")
# By the front of a client's VERSION: its dialect in tests/data/tracy/items.csv.
DIALECTS = {"0.10": "64", "0.11.0": "66", "0.11.1": "69", "0.12": "74", "0.13": "76", "0.14": "82", "fork76": "76f", "fork": "66f"}


def port_of(process):
    """The first of Tracy's ports that it listens on."""
    def listening():
        inodes = set()
        for name in os.listdir(f"/proc/{process.pid}/fd"):
            try:
                inodes.add(os.readlink(f"/proc/{process.pid}/fd/{name}"))
            except OSError:    # closed meanwhile
                pass
        for table in ("tcp", "tcp6"):
            with open(f"/proc/net/{table}", encoding="ascii") as lines:
                for words in map(str.split, list(lines)[1:]):
                    port = int(words[1].rsplit(":", 1)[1], 16)
                    if words[3] == "0A" and f"socket:[{words[9]}]" in inodes and 8086 <= port < 8106:
                        ports.append(port)
        return bool(ports)

    ports = []
    h.wait_until(listening, "the client listens", process)
    return ports[0]


def recorded(client, column):
    """What it sends of some hundred ops, in a file."""
    quiet = {name: "1" for name in ("TRACY_NO_SYS_TRACE", "TRACY_NO_SAMPLING", "TRACY_NO_CONTEXT_SWITCH", "TRACY_NO_VSYNC_CAPTURE",
                                    "TRACY_NO_SAMPLE_RETIREMENT", "TRACY_NO_SAMPLE_CACHE", "TRACY_NO_SAMPLE_BRANCH")}
    process = subprocess.Popen([client], stdin=subprocess.PIPE, text=True, env={**os.environ, **quiet})
    recordings, connected = [], threading.Event()
    thread = threading.Thread(target=lambda: recordings.append(tracy_recording.Recording(column, port_of(process), connected)))
    thread.start()
    for op in range(1, 501):
        text = (f'`TT_DNN_DEVICE_OP: "Add", 5, 0, false, {op} ->\n{{"global_call_count": {op}, "op_code": "Add", '
                f'"op_type": "tt_dnn_device", "device_id": 0}}`')
        process.stdin.write(f"M {op * 100} {len(text)}\n{text}\nZ {op * 100} {op * 100 + 50} TT_DNN_DEVICE_OP\tid:{op}\n"
                            f"Z {op * 100} {op * 100 + 9} CompileProgram\t\n")
    process.stdin.flush()
    h.check(connected.wait(h.LIMIT_S), f"{client} was not connected to")
    process.stdin.close()
    thread.join(h.LIMIT_S)
    h.check(recordings and process.wait(h.LIMIT_S) == 0, f"{client} was not recorded")
    path = h.work("recording")
    with open(path, "wb") as file:
        pickle.dump(recordings[0], file)
    return path


def tracy_host():
    """Streams of real Tracy clients, given to Tracy's own server and to `ttcollect run`: equal messages, byte for byte, and equal zones."""
    compared = 0
    for client in found(NAMES["tracy_host"]):
        version, directory = os.path.basename(client)[len("tracy-client-"):], os.path.dirname(client)
        column = next((dialect for front, dialect in DIALECTS.items() if version.startswith(front)), None)
        capture, to_csv = (os.path.join(directory, f"tracy-{tool}-{version}") for tool in ("capture", "csvexport"))
        if column is None or not all(os.access(path, os.X_OK) for path in (capture, to_csv)):
            print(f"{version}: no dialect of it is known, or tracy-capture-{version} and tracy-csvexport-{version} are not there")
            continue
        player = [sys.executable, tracy_recording.__file__, recorded(client, column)]
        playing = subprocess.Popen([*player, "0"], stdout=subprocess.PIPE, text=True)
        trace, root = h.work(f"{version}.tracy"), h.work(f"run_{version}")
        call(capture, "-a", "127.0.0.1", "-p", playing.stdout.readline().strip(), "-o", trace, "-f")
        h.check(playing.wait(h.LIMIT_S) == 0, f"{version}: the player")
        playing.stdout.close()
        unwrap = ["-u", *(["-p", "TT_", "-x", "CompileProgram,HWCommandQueue_write_buffer"] if "fork" in version else [])]
        theirs = list(csv.DictReader(call(to_csv, *unwrap, trace).splitlines()))
        messages = call(to_csv, "-m", "-s", ";", trace)
        code, _, err = h.finish(h.start("ttcollect", "run", "-q", "--no-device", "-o", root, "--", *player, "8086"))
        h.check(code == 0, err)
        with open(f"{root}/.logs/tracy_ops_data.csv", encoding="utf-8") as file:
            h.check(file.read() == messages, f"{version}: messages differ")
        ours = rows_of(f"{root}/.logs/tracy_ops_times.csv")
        same = [name for name in theirs[0] if name in ours[0]]
        both = [sorted(tuple(row[name] for name in same) for row in rows) for rows in (theirs, ours)]
        h.check(both[0] == both[1], f"{version}: zones differ in {same}")
        equal(len(ours), len(theirs), f"Tracy {version}, zones of the host, by {len(same)} columns")
        compared += 1
    if not compared:
        h.skip("no version has a client, a capture and a csvexport program in TTC_TOOLS")


def perfetto():
    shell = found(NAMES["perfetto"])[0]
    ttc, rows = viewers.collect(["--no-sync"])
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    trace, _ = viewers.export(ttc, "perfetto")
    # Events are slices without a duration there.
    both = zones + [(None, None, *p[1:3]) for p in viewers.programs_of(zones)]
    equal(ask(shell, trace, "select count(*) as n from slice where dur > 0;"), sum(z[3] > z[2] for z in both), "Perfetto, zones and programs")
    equal(ask(shell, trace, "select count(*) as n from flow;"), sum(p[3] for p in viewers.programs_of(zones)), "Perfetto, flows")
    no_error(shell, trace, "a Wormhole")


def everything():
    """Two chips, Ethernet, NoC events and counters, a clock model that follows steps, host resets, losses."""
    shell = found(NAMES["everything"])[0]
    if not perfetto_check.available():
        h.skip("protoc is not installed (protobuf-compiler)")
    more = ["--arch", "blackhole", "--ethernet", 2, "--noc-events", 50, "--perf-counters", "--clock-step", "30:800", "--clock-step", "60:1200"]
    captures = [viewers.collect([], more, programs=40, cores=2)[0],
                viewers.collect([], ["--region-bytes", 4224, "--trace", "5:3"], programs=90, cores=2)[0]]
    trace, _ = viewers.export(",".join(captures), "perfetto")
    by_us = perfetto_check.Trace(trace)
    equal(ask(shell, trace, "select count(*) as n from slice where dur >= 0;"),
          len(by_us.zones) + len(by_us.spans) + len(by_us.instants), "Perfetto, slices of everything")
    equal(ask(shell, trace, "select count(*) as n from counter;"), len(by_us.counters), "Perfetto, values of counters")
    equal(ask(shell, trace, "select count(*) as n from flow;"), sum(len(ends) - 1 for ends in by_us.flows.values()), "Perfetto, flows of everything")
    no_error(shell, trace, "everything")


def chrome():
    counter = found(NAMES["chrome"])[0]
    ttc, rows = viewers.collect(["--no-sync"])
    zones, _ = viewers.zones_of(rows, viewers.in_cycles)
    trace, _ = viewers.export(ttc, "chrome")
    equal(last_number(call(counter, trace)), len(zones) + len(viewers.programs_of(zones)), "speedscope, zones and programs")


def metal_files(*card_arguments, more=()):
    """The folder that tt-metal's tools would leave of a run of 120 programs."""
    ttc, _ = viewers.collect(card_arguments=card_arguments, programs=120)
    code, out, err = h.run("ttreport", "files", ttc, "-o", h.work("files"), "--no-date", *more)
    h.check(code == 0, f"ttreport files ended with {code}: {out}{err}")
    return h.work("files")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def perf_report():
    reader = found(NAMES["perf_report"])[0]
    table = os.path.join(metal_files(more=("--every-column",)), "reports", "ops_perf_results.csv")    # it refuses a table without DEVICE ID
    ours, theirs = rows_of(table), h.work("theirs.csv")
    call(reader, "--csv", theirs, table)
    equal(len(rows_of(theirs)), len(ours), "tt-perf-report, ops")


def device_log():
    reader = found(NAMES["device_log"])[0]
    log = os.path.join(metal_files(), ".logs", "profile_log_device.csv")
    call(reader, "-d", log, "-o", "ttcollect", "--no-print-stats", "--no-artifacts")
    print("process_device_log reads the log")


def npe():
    reader = found(NAMES["npe"])[0]
    logs = os.path.join(metal_files("--noc-events", 20, more=("--noc-traces",)), ".logs")
    traces = [name for name in os.listdir(logs) if name.startswith("noc_trace_")]
    h.check(traces, "no trace was written")
    call(reader, logs, "-q")
    print(f"tt-npe reads {len(traces)} traces")


# Programs for lookup(): each reads the real export with the reader of our own tests, so that what is compared is what a
# real program would count. LESS=1 makes it lose one.
FAKES = {
    "tt-perf-report": """
import csv
rows = list(csv.reader(open(sys.argv[-1], newline="")))
csv.writer(open(sys.argv[sys.argv.index("--csv") + 1], "w", newline="")).writerows(rows[:len(rows) - less])
""",
    "trace_processor_shell": """
import perfetto_check
query = open(sys.argv[sys.argv.index("-q") + 1]).read()
trace = perfetto_check.Trace(sys.argv[-1])
print('"n"')
print(sum(z[3] > z[2] for z in trace.zones + trace.spans) - less if "from slice" in query
      else len(trace.flows) if "from flow" in query else 0)
""",
    "speedscope-count": """
import viewers_test
import json
print("zones:", sum(e["ph"] in "XB" for e in json.load(open(sys.argv[1]))["traceEvents"]) - less)
""",
    "tracy-capture-0.0": """
import tracy_server
server = tracy_server.Server(82, int(sys.argv[sys.argv.index("-p") + 1])).run()
open(sys.argv[sys.argv.index("-o") + 1], "w").write(str(len(server.zones) - less))
""",
    "tracy-csvexport-0.0": """
print("name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns")
print("a,a.cc,1,1,1,100,1,1,1,1")
print("b,b.cc,1,1,1,%d,1,1,1,1" % (int(open(sys.argv[1]).read()) - 100))
""",
}


def lookup():
    """Absent: skipped with the reason. There: run, and checked by what it counts and by how it ends."""
    directory = h.work("tools")
    os.mkdir(directory)

    def put(name, text, mode=0o755):
        path = os.path.join(directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable} -B\nimport os, sys\nsys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                       f"less = int(os.environ.get('LESS', 0))\n{text}")
        os.chmod(path, mode)

    def expect(name, code, words, **variables):
        environment = {k: v for k, v in os.environ.items() if k != "TTC_TOOLS"}
        done = subprocess.run([sys.executable, "-B", __file__, name], capture_output=True, text=True, check=False,
                              timeout=h.LIMIT_S, env={**environment, **variables})
        h.check(done.returncode == code and words in done.stdout,
                f"{name} with {variables}: exit {done.returncode} instead of {code}: {done.stdout}{done.stderr}")

    for name in NAMES:
        expect(name, h.SKIP, "skipped: external tools absent (TTC_TOOLS)")
        expect(name, h.SKIP, "in TTC_TOOLS", TTC_TOOLS=directory)
    expect("perfetto", 1, "is no directory", TTC_TOOLS=h.work("nothing"))
    put("tt-perf-report", FAKES["tt-perf-report"], mode=0o644)
    expect("perf_report", h.SKIP, "no tt-perf-report in TTC_TOOLS", TTC_TOOLS=directory)
    for name, text in FAKES.items():
        put(name, text)
    cases = {"perf_report": "tt-perf-report, ops", "chrome": "speedscope, zones and programs", "tracy": "Tracy 0.0, zones and programs"}
    if perfetto_check.available():
        cases["perfetto"] = "Perfetto, zones and programs"
    for name, words in cases.items():
        expect(name, 0, words, TTC_TOOLS=directory)
        expect(name, 1, words, TTC_TOOLS=directory, LESS="1")
    for name in ("process_device_log", "npe_analyze_noc_trace_dir"):
        put(name, "sys.exit(0 if os.path.exists(sys.argv[1] if sys.argv[1] != '-d' else sys.argv[2]) and not less else 3)")
    for name in ("device_log", "npe"):
        expect(name, 0, "reads", TTC_TOOLS=directory)
        expect(name, 1, "ended with 3", TTC_TOOLS=directory, LESS="1")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("ok")

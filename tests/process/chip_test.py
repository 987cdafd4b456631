#!/usr/bin/env python3
"""The emulated chip's workloads as programs: what they write beside the truth, and what reports make of it. Usage: chip_test.py CASE"""
import bisect
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tomllib

import chip_paths
import harness as h
from live_run import Run


def emulate(*arguments, code=0):
    got, _, err = h.run("ttemu", "--name", h.card_name(), "--linger", "0s", "--quiet", *arguments)
    h.check(got == code, f"ttemu {arguments} ends with {got}: {err}")
    return err


def markers(path):
    """Of each program: (core, RISC) -> times of its markers by (name, type)."""
    programs = {}
    with open(path) as file:
        next(file)
        for row in csv.reader(file, skipinitialspace=True):
            if not row[0].isdigit():
                continue
            where = (row[1], row[2], row[3])
            programs.setdefault(row[7], {}).setdefault(where, []).append((int(row[5]), row[10], row[11]))
    return programs


def path():
    """The critical path is connected, is within the times of its RISCs, and leads to the last core that was done."""
    truth = h.work("truth.csv")
    for name in ("matmul", "pipeline", "allreduce", "imbalanced"):
        emulate("--workload", name, "--cores", 12, "--programs", 6, "--time", "virtual", "--truth", truth)
        programs = markers(truth)
        with open(h.work("truth.critical-path.csv")) as file:
            parts = list(csv.DictReader(file))
        h.check(len(programs) == 6 and {p["run host ID"] for p in parts} == set(programs), f"{name}: other programs than {set(programs)}")
        done = 0
        for host_id in sorted(programs, key=int):
            own = [p for p in parts if p["run host ID"] == host_id]
            begin = [int(p["begin[cycles]"]) for p in own]
            end = [int(p["end[cycles]"]) for p in own]
            h.check(begin[1:] == end[:-1], f"{name}, {host_id}: the path has a hole")
            if own[0]["what"] == "previous program":
                h.check(begin[0] == done, f"{name}, {host_id}: it begins at {begin[0]}, the program before was done at {done}")
            done = end[-1]
            lanes = programs[host_id]
            for p in own:
                if p["what"] != "work":
                    continue
                times = [t for t, _, _ in lanes[(p["core_x"], p["core_y"], p["RISC"])]]
                h.check(min(times) <= int(p["begin[cycles]"]) and int(p["end[cycles]"]) <= max(times) + 100,
                        f"{name}, {host_id}: {p} is outside of what that RISC did")
            # Every core's BRISC ends before the dispatcher is notified, and the path's last core is the one that ended last.
            ends = {w: max(t for t, zone, kind in m if (zone, kind) == ("BRISC-FW", "ZONE_END")) for w, m in lanes.items() if w[2] == "BRISC"}
            last = (own[-1]["core_x"], own[-1]["core_y"], "BRISC")
            h.check(own[-1]["what"] == "done" and max(ends.values()) < done and max(ends.values()) - ends[last] < 400,
                    f"{name}, {host_id}: the path ends with {own[-1]}")
            # Cores and RISCs overlap.
            starts = [m[0][0] for m in lanes.values()]
            h.check(len(lanes) == 60 and max(starts) < min(max(t for t, _, _ in m) for m in lanes.values()), f"{name}: RISCs take turns")


def recomputed():
    """Critical paths and markers as another program computes them from the truth and the workload's description, on both kinds of chip, with
    debug delays, too. A truth with one marker a cycle off is found out."""
    _, text, _ = h.run("ttemu", "--workload", "help")
    workloads = {part.split("\n", 1)[0]: tomllib.loads(part.split("\n", 1)[1]) for part in text.split("# --workload ")[1:]}
    delays = ["--brisc-text", 20000] + [w for e in ("TT_METAL_WATCHER=10", "TT_METAL_WATCHER_DEBUG_DELAY=700", "TT_METAL_READ_DEBUG_DELAY_CORES=(0,0)-(1,0)",
                                                  "TT_METAL_ATOMIC_DEBUG_DELAY_CORES=1,1") for w in ("--metal-env", e)]
    masks = {(0, 0): (31, 0, 0), (1, 0): (31, 0, 0), (1, 1): (0, 0, 31)}
    watched = {"delay": 700, "masks": masks}
    truth, parts = h.work("truth.csv"), 0
    for name, options, how in [(n, ["--cores", 12], None) for n in workloads] + [
            ("matmul", ["--cores", 0, "--arch", "blackhole", "--board", "p150"], None), ("allreduce", ["--cores", 10, *delays], watched),
            ("matmul", ["--cores", 9, *delays], watched), ("pipeline", ["--cores", 5, *delays], watched)]:
        emulate("--workload", name, *options, "--programs", 2 * len(workloads[name]["op"]), "--seed", 11, "--time", "virtual", "--truth", truth)
        paths = chip_paths.recomputed(truth, workloads[name], how)
        with open(h.work("truth.critical-path.csv")) as file:
            rows = [r for r in csv.DictReader(file) if r["core_x"]]
        for host_id, own in paths.items():
            written = [(int(r["begin[cycles]"]), int(r["end[cycles]"]), int(r["core_x"]), int(r["core_y"]), r["RISC"], r["what"])
                       for r in rows if int(r["run host ID"]) == host_id]
            other = next((pair for pair in zip(own, written) if pair[0] != pair[1]), None)
            h.check(own == written, f"{name} {options}, program {host_id}: the path should have {len(own)} parts, it has {len(written)}; {other}")
            parts += len(own)
        h.check(len(paths) == 2 * len(workloads[name]["op"]), f"{name}: {len(paths)} programs")
        h.check(how is None or any(part[5] == "debug delay" for own in paths.values() for part in own), f"{name}: no delay is on a path")
    with open(truth) as file:
        lines = file.read().split("\n")
    wrong = next(i for i, line in enumerate(lines) if "RECEIVE-BLOCK" in line and "ZONE_END" in line)
    fields = lines[wrong].split(",")
    fields[5] = str(int(fields[5]) + 1)
    lines[wrong] = ",".join(fields)
    with open(truth, "w") as file:
        file.write("\n".join(lines))
    try:
        chip_paths.recomputed(truth, workloads["pipeline"], watched)
        h.fail("a marker that is a cycle late is not found out")
    except chip_paths.Wrong as error:
        print(f"{parts} parts of critical paths are as recomputed; a wrong marker: {error}")


def figures_of(table):
    """The ops of a table as timelines: of each op the figures that its columns give."""
    with open(table) as file:
        rows = list(csv.DictReader(file))
    figures = {}
    for row in rows:
        def value(column):
            text = row.get(column, "")
            return float(text) if text not in ("", None) else None
        kernel, gap = value("DEVICE KERNEL DURATION [ns]"), value("OP TO OP LATENCY [ns]")
        own = {"FW zone beyond the kernel [ns]": kernel and value("DEVICE FW DURATION [ns]") - kernel,
               "first to last start [ns]": value("DEVICE KERNEL FIRST TO LAST START [ns]"), "gap to the op before [ns]": gap or None}
        for risc in ("BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"):
            part = value(f"DEVICE {risc} KERNEL DURATION [ns]")
            own[f"{risc} of the kernel"] = part / kernel if part and kernel else None
        least, most = value("DEVICE KERNEL DURATION PER CORE MIN [ns]"), value("DEVICE KERNEL DURATION PER CORE MAX [ns]")
        own["shortest of the longest core"] = least / most if least and most else None
        for name, figure in own.items():
            if kernel and figure is not None:
                figures.setdefault(name, []).append(figure)
    return {name: sorted(values) for name, values in figures.items()}


def published():
    """Ops of the built-in workloads look like those of published tables of real cards: RISCs overlap as there, cores start and end as unevenly, and
    the gaps between ops that the device need not wait for are as long."""
    if not h.GOLDEN:
        sys.exit(h.SKIP)
    real = {}
    for table in ("tt-perf-report/bh20_oft_integral_image_trace.csv", "tt-perf-report/bh_8xp150_deepseek_v3_d_p.csv", "tt-perf-report/bh_p100_dlv3.csv",
                  "tt-perf-report/ops_perf_results_2025_09_18_11_39_20.csv", "ttnn-visualizer/ops_perf_results_2025_02_16_18_11_10.csv"):
        for name, values in figures_of(os.path.join(h.GOLDEN, table)).items():
            real.setdefault(name, []).extend(values)
    folder = h.work("published")
    os.makedirs(folder)
    log = os.path.join(folder, "profile_log_device.csv")
    for name in ("matmul", "pipeline", "allreduce", "imbalanced"):
        emulate("--workload", name, "--cores", 40, "--programs", 12, "--time", "virtual", "--truth", log, "--host-files", folder)
        out = h.work(f"tables-{name}")
        code, _, err = h.run("ttreport", "files", log, "--host", folder, "-o", out)
        h.check(code == 0, err)
        table = next(os.path.join(at, f) for at, _, files in os.walk(out) for f in files if f.startswith("ops_perf_results"))
        for figure, values in figures_of(table).items():
            of_all = sorted(real[figure])
            low, high = of_all[len(of_all) // 100], of_all[-1 - len(of_all) // 100]
            middle = values[len(values) // 2]
            print(f"{name}: {figure}: {middle:.3f}; published {low:.3f} to {high:.3f}, half of them below {of_all[len(of_all) // 2]:.3f}")
            h.check(low <= middle <= high, f"{name}: {figure} is {middle}, published tables have {low} to {high}")
            h.check(len(set(values)) > 1, f"{name}: {figure} is {middle} in every op")
            if figure.startswith("gap") and name != "pipeline":    # whose host is slower than the device
                quarter = of_all[len(of_all) // 4]
                h.check(low / 2 < values[0] < quarter, f"{name}: the shortest gap is {values[0]} ns, a quarter of the published ones are below {quarter}")


def host():
    """Op names, shapes and host times reach the report of a collected run."""
    folder = h.work("host")
    os.makedirs(folder)
    capture = h.work("host.ttc")
    Run([], ["--workload", "imbalanced", "--cores", 6, "--programs", 8, "--pace", "--host-files", folder], ["-o", capture]).nothing_missing()
    _, out, _ = h.run("ttreport", "ops", capture, "--host", folder, "--json", "-")
    rows = json.loads(out)["rows"]
    h.check([r["op_code"].split()[0] for r in rows] == ["EmbeddingsDeviceOperation", "CopyDeviceOperation"] * 4, f"ops: {[r['op_code'] for r in rows]}")
    h.check(all(r["cores"] == 6 for r in rows), "an op ran on other cores")
    with open(os.path.join(folder, "tracy_ops_times.csv")) as file:
        times = [int(r["ns_since_start"]) for r in csv.DictReader(file)]
    h.check(times == sorted(times) and len(times) == 8, f"host times {times}")


def dvfs():
    """A moving clock is written to a file beside the truth; what is exported keeps its bounds under it."""
    truth = h.work("dvfs.csv")
    name, capture, out = h.card_name(), h.work("dvfs.ttc"), h.work("dvfs.out.csv")
    card = h.start("ttemu", "--name", name, "--dvfs", "all:for=5,seed=4", "--cores", 2, "--programs", 200, "--rate", 200, "--pace",
                   "--wait-observer", "--truth", truth, "--json")
    code, _, err = h.run("ttcollect", "--wait", "60s", "--device", "emu:" + name, "-o", capture)
    h.check(code == 0, err)
    facts = json.loads(h.finish(card)[1])
    with open(h.work("dvfs.clock.csv")) as file:
        pieces = [{k: int(v) for k, v in row.items()} for row in csv.DictReader(file)]
    h.check(pieces == facts["clock"] and len(pieces) > 100, f"{len(pieces)} pieces")
    for a, b in zip(pieces, pieces[1:]):
        h.check(abs(b["cycles"] - a["cycles"] - (b["host_ns"] - a["host_ns"]) * a["hz"] // 10**9) <= 1, f"{a} does not lead to {b}")
    h.check(any(p["hz"] == 0 for p in pieces), "the clock never stood")
    code, _, err = h.run("ttexport", "--from", capture, "--time", "host", "-o", out)
    h.check(code == 0, err)
    judged, outside = {}, []
    starts = [p["cycles"] for p in pieces]
    with open(out) as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            kind = row["host time bound kind"]
            judged[kind] = judged.get(kind, 0) + 1
            if kind == "none":
                continue
            cycles, at, bound = int(row["time[cycles since reset]"]), float(row["host time [ns]"]), float(row["host time bound [ns]"])
            # Where the clock stood, every moment of the stop has this time.
            first = pieces[max(0, bisect.bisect_left(starts, cycles) - 1)]
            last = pieces[bisect.bisect_right(starts, cycles) - 1]
            early, late = (p["host_ns"] + ((cycles - p["cycles"]) * 10**9 / p["hz"] if p["hz"] else 0) for p in (first, last))
            if not early - bound - 2 <= at <= late + bound + 2:
                outside.append((kind, cycles, bound, early - at, at - late))
    h.check(not outside and judged.get("hard", 0) + judged.get("conditional", 0) > 10000,
            f"{len(outside)} of {judged} times lie outside of their bound, as {outside[:3]}")


def files():
    """Workloads of one's own, and the messages for wrong ones."""
    path_ = h.work("w.toml")
    with open(path_, "w") as file:
        file.write('[[op]]\ncode = "Mine"\npattern = "ring"\ncores = 5\n\n[[op]]\nblocks = 3\n')
    truth = h.work("own.csv")
    emulate("--workload", path_, "--cores", 8, "--programs", 4, "--time", "virtual", "--truth", truth)
    cores = [len({w[:2] for w in lanes}) for lanes in markers(truth).values()]
    h.check(cores == [5, 8, 5, 8], f"cores of the programs: {cores}")
    with open(path_, "a") as file:
        file.write("bloks = 4\n")
    for arguments, says in (((path_,), ":8: 'bloks' is not known here"), (("none.toml",), "is none of matmul"),
                            (("matmul", "--mode", "trace-only", "--generation", "G3"), "add --trace"),
                            (("matmul", "--skip-cores", 3), "--workload goes without")):
        err = emulate("--workload", *arguments, code=2)
        h.check(says in err and err.count("\n") == 1, f"{arguments}: {err}")
    err = emulate("--programs", 1, "--host-files", h.work("nowhere"), code=2)
    h.check("goes with --workload" in err, err)
    _, out, _ = h.run("ttemu", "--workload", "help")
    h.check(out.count("[[op]]") == 10, out)


def faults():
    """Faults strike these programs as they do others: nothing is invented, and what is missing is in a reported loss."""
    small = ["--workload", "imbalanced", "--cores", 6, "--programs", 40, "--host-reads", "every:15"]
    Run(["late-landing:max=200us"], [*small, "--pace"]).nothing_missing()
    Run(["clock-stop:for=5ms,times=2"], [*small, "--pace"]).nothing_missing()
    # The card does not wait: at full speed it has ended, on a busy host, before its profiler is found.
    run = Run(["host-reset:every=30000,words=3,apart=20ms"], [*small, "--rate", 20], export_codes=(0, 6))
    run.losses_reported(least=1, but=run.unseen)
    run = Run(["overrun:every=10,damage=yes"], [*small, "--pace"], export_codes=(0, 6))
    run.losses_reported(least=1)


def contradict():
    """Each contradiction that is listed runs; truth and JSON name the assumptions that did not hold."""
    _, out, _ = h.run("ttemu", "--contradict", "help")
    names = [line.split()[0] for line in out.splitlines()]
    h.check(names and all(" -> " in line for line in out.splitlines()), out)
    truth = h.work("truth.csv")
    for name in names:
        code, out, err = h.run("ttemu", "--name", h.card_name(), "--linger", "0s", "--json", "--cores", 1, "--programs", 3, "--truth", truth,
                               "--contradict", name)
        h.check(code == 0 and json.loads(out)["contradicts"] == [name], f"{name} ends with {code}: {out} {err}")
        h.check(open(truth).readline().endswith(f", Contradicts: {name}\n"), f"the truth of {name} does not name it")
    emulate("--contradict", "late-landing", "--contradict", "node-id", "--programs", 1, "--truth", truth)
    h.check(open(truth).readline().endswith(", Contradicts: late-landing node-id\n"), "the truth does not name both")
    for arguments, words in ((["--contradict", "nothing"], "there is no 'nothing'"),
                             (["--contradict", "clock-wanders", "--time", "virtual"], "real time"),
                             (["--contradict", "slow-reset", "--replay", truth], "is of a workload")):
        h.check(words in emulate(*arguments, code=2), f"{arguments} does not print: {words}")
    # A broken assumption shows: launches that RUN_COUNTER counts twice are reported as missing.
    run = Run([], ["--pace", "--cores", 2, "--programs", 60, "--contradict", "run-counter-doubles"], export_codes=(0, 6))
    h.check(run.lost, "launches that RUN_COUNTER counted twice are not reported as missing")


def delays():
    """Debug delays of tt-metal's watcher: which cores wait, what it costs, and what the guides' command does."""
    truth = h.work("truth.csv")

    def step(env, *more, profiler="not-built", code=0):
        got, out, err = h.run("ttemu", "--name", h.card_name(), "--linger", "0s", "--json", "--workload", "matmul", "--cores", 16, "--programs", 6,
                              "--time", "virtual", "--profiler", profiler, "--truth", truth, *[w for e in env for w in ("--metal-env", e)], *more)
        h.check(got == code, f"{env} {more} ends with {got}: {err}")
        return json.loads(out) if code == 0 else err

    def delayed():
        with open(h.work("truth.delays.csv")) as file:
            return {(int(r["core_x"]), int(r["core_y"])): (int(r["reads"]), int(r["writes"]), int(r["atomics"])) for r in csv.DictReader(file)}

    base = ["TT_METAL_WATCHER=10"]
    delay = ["TT_METAL_WATCHER_DEBUG_DELAY=20000"]
    core = ["TT_METAL_READ_DEBUG_DELAY_CORES=0,1"]
    without = step([])["simulated_cycles"]
    watched = step(base)["simulated_cycles"]
    h.check(without < watched < 1.2 * without, f"the watcher alone: {without} -> {watched}")
    one = step(base + delay + core)
    h.check(one["watcher"]["delays_by"] == 20000 and one["simulated_cycles"] > watched + 20000, f"{one} after {watched}")
    h.check(list(delayed()) == [(1, 2)] and delayed()[1, 2][0] > 0 and delayed()[1, 2][1:] == (0, 0), f"{delayed()}")
    for env in (base + delay + ["TT_METAL_READ_DEBUG_DELAY_CORES=all"], base + delay + core + ["TT_METAL_READ_DEBUG_DELAY_RISCVS=TR*"],
                base + delay + core + ["TT_METAL_READ_DEBUG_DELAY_CHIPS=1"], base + delay + ["TT_METAL_READ_DEBUG_DELAY_CORES=(3,3)-(1,1)"]):
        h.check(step(env)["simulated_cycles"] == watched and not delayed(), f"{env} delays {delayed()}")
    guide = delay + core
    h.check(step(guide)["simulated_cycles"] == without and not delayed(), "without TT_METAL_WATCHER something is delayed")
    h.check("TT_ASSERT" in step(guide, "--metal-build", "debug", code=7), "a debug build takes a delay without the watcher")
    h.check("TT_THROW" in step(["TT_METAL_READ_DEBUG_DELAY_CORES=here"], code=7), "cores that are none")
    h.check("overflowed by" in step(base + delay + core, profiler="on", code=7), "profiler and watcher fit together")
    both = step(base + delay + core, "--brisc-text", 9000, profiler="on")
    h.check(both["simulated_cycles"] == one["simulated_cycles"] and both["markers"] > 0 and one["markers"] == 0, f"{both} and {one}")
    cache = ["TT_METAL_CACHE=" + h.work("cache")]
    step(base + delay + cache)
    again = step(base + ["TT_METAL_WATCHER_DEBUG_DELAY=5"] + cache)
    h.check(again["watcher"]["delay_cycles"] == 20000 and again["watcher"]["from_cache"], f"a delay that no core names is in the key: {again}")


def mistakes():
    """A planted race changes the output's checksum, a planted hang ends nothing, where a delay passes the margin that the truth has."""
    path_, truth = h.work("w.toml"), h.work("truth.csv")

    def step(delay, core, kind, *more, code=0):
        env = ["TT_METAL_WATCHER=10", f"TT_METAL_WATCHER_DEBUG_DELAY={delay}", f"TT_METAL_{kind}_DEBUG_DELAY_CORES={core}"] if delay else ["TT_METAL_WATCHER=10"]
        got, out, err = h.run("ttemu", "--name", h.card_name(), "--linger", "0s", "--json", "--workload", path_, "--cores", 8, "--programs", 6,
                              "--profiler", "not-built", "--truth", truth, *[w for e in env for w in ("--metal-env", e)], *more)
        h.check(got == code, f"{delay} at {core} ends with {got}: {err}")
        with open(h.work("truth.outputs.csv")) as file:
            return json.loads(out), list(csv.DictReader(file)), err

    with open(path_, "w") as file:
        file.write('[[op]]\nblocks = 3\nrace = { from = 1, to = 2, slack_cycles = 4000 }\n\n[[op]]\nblocks = 2\n')
    virtual = ("--time", "virtual")
    plain, rows, _ = step(0, "", "", *virtual)
    margins = [int(r["race margin[cycles]"]) for r in rows[::2]]
    h.check(len(rows) == 6 and all(r["race margin[cycles]"] == "" for r in rows[1::2]) and len({r["checksum"] for r in rows}) == 2, f"{rows}")
    below, _, _ = step(min(margins) - 1, "1,0", "WRITE", *virtual)
    h.check(plain["races_lost"] == below["races_lost"] == 0 and below["output_checksum"] == plain["output_checksum"], f"{plain} {below}")
    above, lost, _ = step(max(margins) + 1, "1,0", "WRITE", *virtual)
    h.check(above["races_lost"] == 3 and above["output_checksum"] != plain["output_checksum"], f"{above}")
    h.check([a["checksum"] != b["checksum"] for a, b in zip(lost, rows)] == [True, False] * 3, f"{lost}")
    elsewhere, _, _ = step(max(margins) + 1, "2,0", "WRITE", *virtual)
    h.check(elsewhere["output_checksum"] == plain["output_checksum"], f"{elsewhere}")

    with open(path_, "w") as file:
        file.write('[[op]]\nblocks = 2\n\n[[op]]\nblocks = 2\nhang = { from = 0, to = 3, slack_cycles = 5000 }\n')
    plain, rows, _ = step(0, "", "", *virtual)
    margins = [int(r["hang margin[cycles]"]) for r in rows[1::2]]
    margin = margins[0]
    h.check(plain["programs"] == 6 and step(min(margins) - 1, "(0,1)", "READ", *virtual)[0]["programs"] == 6, f"{plain}")
    for more in (virtual, ()):    # in real time the host waits until its timeout
        hung, rows, err = step(margin + 1, "(0,1)", "READ", "--metal-env", "TT_METAL_OPERATION_TIMEOUT_SECONDS=0.02", *more, code=9)
        h.check(hung["programs"] == 1 and "BRISC of core 3 waits for semaphore" in hung["hung"] and hung["hung"] in err, f"{hung} {err}")
        h.check("potential hang detected" in err and len(rows) == 2 and rows[1]["checksum"] == "", f"{rows} {err}")
    with open(path_, "a") as file:
        file.write('race = { from = 0, to = 30, slack_cycles = 5 }\n')
    err = emulate("--workload", path_, "--cores", 8, "--programs", 6, code=2)
    h.check("it runs on 8" in err and err.count("\n") == 1, err)


def ranks():
    """A tt-metal program of two processes: a card and a folder each, op messages of a year, signposts, and a Tracy client where there is one."""
    tools, out = h.work("tools"), h.work("out")
    os.makedirs(tools)
    client = os.path.join(tools, "tracy-client-0")
    with open(client, "w") as file:    # keeps what it would send
        file.write(f"#!{sys.executable}\nimport os, sys\n"
                   f"open(os.path.join({out!r}, 'sent.' + os.environ['TT_RUN_RANK']), 'wb').write(sys.stdin.buffer.read())\n")
    os.chmod(client, 0o755)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/fake_metal")
    name = h.card_name()

    def run(year, count, **environment):
        done = subprocess.run([sys.executable, program, "--name", name, "--ranks", str(count), "--year", str(year), "--out", out, "--bin", h.BIN, "--",
                               "--workload", "allreduce", "--cores", "4", "--programs", "12", "--time", "virtual", "--quiet", "--linger", "0s"],
                              capture_output=True, text=True, check=False, timeout=h.LIMIT_S, env={**os.environ, "TTC_TOOLS": "", **environment})
        h.check(done.returncode == 0, f"{year} ends with {done.returncode}: {done.stderr}")

    os.makedirs(out)
    run(2025, 2, TTC_TOOLS=tools)
    folders = sorted(f for f in os.listdir(out) if re.fullmatch(r".+_rank_\d", f))
    h.check([f[-1] for f in folders] == ["0", "1"], f"{folders}")
    for rank, folder in enumerate(folders):
        data = open(os.path.join(out, folder, "tracy_ops_data.csv")).read()
        ops = re.findall(r'`TT_DNN_DEVICE_OP: "(\w+)", \d+, 0, (.*?)(?: ->|`)', data)
        h.check(len(ops) == 12 and all(re.fullmatch(r"\d+", rest) for _, rest in ops), f"{ops}")
        signposts = re.findall(r"`TT_SIGNPOST: (\w+)`;\d+", data)
        h.check(signposts[:3] == ["step_0_start", "step_0_end", "step_1_start"], f"{signposts}")
        sent = open(os.path.join(out, f"sent.{rank}"), "rb").read()
        messages, zones = [], 0
        while sent:
            head, _, sent = sent.partition(b"\n")
            if head.startswith(b"M "):
                size = int(head.split()[2])
                messages.append(sent[:size].decode())
                sent = sent[size + 1:]
            else:
                zones += head.startswith(b"Z ") and b" TT_DNN_DEVICE_OP\t" in head
        h.check(zones == 12 and all(m + ";" in data for m in messages) and len(messages) == 12 + len(signposts), f"{zones} zones, {len(messages)} messages")
    run(2026, 1)
    data = open(os.path.join(out, "tracy_ops_data.csv")).read()
    # A signal while the ranks are started ends those that run. (One that went on would hold the pipes that are read here to their end.)
    with open(client, "w") as file:
        file.write(f"#!{sys.executable}\nimport os, signal, sys\nos.kill(os.getppid(), signal.SIGTERM)\nsys.stdin.buffer.read()\n")
    done = subprocess.run([sys.executable, program, "--name", name, "--ranks", "2", "--out", h.work("stopped"), "--bin", h.BIN, "--", "--quiet",
                           "--workload", "allreduce", "--cores", "4", "--programs", "0", "--linger", "0s"],
                          capture_output=True, text=True, check=False, timeout=h.LIMIT_S, env={**os.environ, "TTC_TOOLS": tools})
    h.check(done.returncode in (0, 128 + signal.SIGTERM), f"it ends with {done.returncode}: {done.stderr}")    # before or after ttemu takes the signal
    h.check("TTNN_SESSION_ID:emulated-" in data and data.count(", true, ") + data.count(", false, ") == 12, data[:300])
    h.check(data.count(", false, ") == data.count(" ->\n"), "a program that was not cached comes without its description")


def others():
    """Workloads that the streaming or the real-time profiler records; the classic one is then not there, or beside it."""
    truth = h.work("truth.csv")

    def card(*arguments):
        code, out, err = h.run("ttemu", "--name", h.card_name(), "--linger", "0s", "--json", "--workload", "imbalanced", "--cores", 8, "--programs", 10,
                               "--time", "virtual", "--truth", truth, *arguments)
        h.check(code == 0, err)
        return json.loads(out)

    bh = ("--arch", "blackhole", "--streaming")
    quick, slow, none = (card(*bh, relay) for relay in ("quick-relay", "slow-relay", "no-relay"))
    h.check(quick["stalls"] == 0 and 0 < slow["stalls"] < none["stalls"], f"stalls: {quick['stalls']}, {slow['stalls']}, {none['stalls']}")
    with open(h.work("truth.streamed.csv")) as file:
        zones = list(csv.DictReader(file))
    h.check(len(zones) == none["streamed_zones"] > 1000 and none["markers"] == 0, f"{len(zones)} zones, {none}")
    h.check(all(int(z["begin"]) <= int(z["end"]) for z in zones), "a zone ends before it begins")
    both = card("--real-time")
    h.check(both["real_time_records"] == 11 and both["markers"] > 1000, f"{both}")   # one of them for the clock
    alone = card("--profiler", "not-built", "--pace", "--wait-observer", "--wait-limit", "1ms")    # nothing to collect, so nothing to wait for
    h.check(alone["programs"] == 10 and alone["markers"] == 0, f"{alone}")
    for arguments, words in (((*bh, "quick-relay", "--real-time"), "exclude each other"), (("--streaming", "no-relay"), "blackhole")):
        err = emulate("--workload", "imbalanced", *arguments, code=2)
        h.check(words in err, err)


{f.__name__: f for f in (path, recomputed, published, host, dvfs, files, faults, contradict, delays, mistakes, ranks, others)}[sys.argv[1]]()

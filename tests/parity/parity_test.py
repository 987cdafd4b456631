"""What the existing tools guarantee their users, and ttcollect run keeps: a test each. The list of guarantees has 81 rows, numbered by the document
(0 tt_profile, 1 the Tracy profiler page, 2 tt-perf-report's README, 3 the performance guide, 4 the training guide) and the place in it.

`parity_test.py count` runs all and prints how many hold; `parity_test.py 0_1` runs one."""
import csv
import glob
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../process"))

from harness import BIN, card_name, check, finish, next_line, remove_at_end, start, work
from host_side_test import client_file
from tracy_server import Server

_once = {}


def emulator(name):
    return f"{BIN}/ttemu --name {name} --cores 2 --programs 60 --pace 20 --linger 60s -q"


def capture_program():
    """A folder with what `run` looks for: a Tracy server that keeps what it receives, under the capture program's name and options."""
    folder, process = work("tracy_tools"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../process")
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/capture-release"
    with open(path, "w") as file:
        file.write(f"#!{sys.executable} -B\nimport sys\nsys.path.insert(0, {process!r})\nimport tracy_server\n"
                   "words = sys.argv[1:]\nat = words.index\n"
                   "assert words[at('-a') + 1] == '127.0.0.1' and '-f' in words, words\n"
                   "server = tracy_server.Server(82, int(words[at('-p') + 1])).run()\n"
                   "open(words[at('-o') + 1], 'w').write(f'{len(server.told())} zones')\n")
    os.chmod(path, 0o755)
    return folder


def workload():
    """A card, two processes with Tracy clients of different years and a mark: folder of the report, its root, what was printed. Made once."""
    if not _once:
        name, root = card_name(), work("parity")
        remove_at_end(f"emu-{name}")
        client = f"{sys.executable} {client_file()}"
        line = f"{emulator(name)} & {client} 83 ops & {client} 76 plain & {BIN}/ttcollect mark step_9_start; wait"
        code, out, err = finish(start("ttcollect", "run", "-o", root, "-n", "demo", "-d", f"emu:{name}", "--tracy-tools-folder",
                                       capture_program(), line))
        check(code == 0, f"{code} {err}")
        _once.update(folder=glob.glob(f"{root}/reports/demo/*")[0], root=root, out=out, err=err)
    return _once


def device_ops():
    run = workload()
    with open(glob.glob(f"{run['folder']}/ops_perf_results_demo_*.csv")[0], newline="") as table:
        return [row for row in csv.DictReader(table) if row["DEVICE KERNEL DURATION [ns]"]]


def row_0_1():
    """One wrapper starts everything, makes the report and post-processes it."""
    there = os.listdir(workload()["folder"])
    check({"run.ttc", "report.html", "profile_log_device.csv"} <= set(there) and len(device_ops()) == 60, str(there))


def row_0_2():
    """-o and one quoted string; the port of tt_profile's -p gets its right spelling."""
    check("60 ops, " in workload()["out"], workload()["out"])
    code, _, err = finish(start("ttcollect", "run", "-p", "8086", "pytest x"))
    check(code == 2 and "-t 8086" in err, err)


def row_0_4():
    """A CSV of device ops with timing and configuration: names and attributes of the host's messages, without other files."""
    ops = device_ops()
    check(all(op["OP CODE"] == "Add" and float(op["DEVICE KERNEL DURATION [ns]"]) > 0 for op in ops), str(ops[0]))


def row_0_6():
    """HOST START TS, END TS and DURATION."""
    for op in device_ops():
        check(int(op["HOST END TS"]) - int(op["HOST START TS"]) == int(op["HOST DURATION [ns]"]) == 10, str(op))


def row_0_10():
    """INPUT_i and OUTPUT_i W, Z, Y, X as plain numbers, LAYOUT, DATATYPE, MEMORY: the header of mid-2025."""
    run_, out = workload(), work("columns")
    code, _, err = finish(start("ttreport", "files", f"{run_['folder']}/run.ttc", "--columns-of", "2025-06", "-o", out))
    check(code == 0, err)
    with open(glob.glob(f"{out}/**/ops_perf_results_*.csv", recursive=True)[0], newline="") as table:
        op = next(row for row in csv.DictReader(table) if row["DEVICE KERNEL DURATION [ns]"])
    for tensor in ("INPUT_0", "OUTPUT_0"):
        got = [op[f"{tensor}_{part}"] for part in ("W", "Z", "Y", "X", "LAYOUT", "DATATYPE", "MEMORY")]
        check(got == ["1", "1", "64", "128", "TILE", "BFLOAT16", "DEV_0_DRAM_INTERLEAVED"], f"{tensor}: {got}")
    check(not any("PAD[LOGICAL]" in column for column in op) and op["BRISC MAX KERNEL SIZE [B]"] == "1234", "columns of later years")


def row_0_11():
    """Kernel SOURCE and HASH, MAX KERNEL SIZE, METAL TRACE ID."""
    op = device_ops()[0]
    got = [op[c] for c in ("COMPUTE KERNEL SOURCE", "COMPUTE KERNEL HASH", "DATA MOVEMENT KERNEL SOURCE", "MATH FIDELITY",
                           "TENSIX DM 0 MAX KERNEL SIZE [B]", "METAL TRACE ID")]
    check(got == ["['add.cpp']", "['add/77/']", "['reader.cpp']", "HiFi4", "1234", ""], str(got))


def row_0_12():
    """PM IDEAL, COMPUTE, BANDWIDTH, REQ I and O BW, FPU UTIL."""
    for op in device_ops():
        got = [op[f"PM {c}"] for c in ("IDEAL [ns]", "COMPUTE [ns]", "BANDWIDTH [ns]", "REQ I BW", "REQ O BW")]
        check(got == ["200", "100", "200", "[1.5]", "[2.5]"], str(got))
        util, took = float(op["PM FPU UTIL (%)"]), float(op["DEVICE KERNEL DURATION [ns]"])
        check(abs(util - 100 * 100 / took) < 0.001, f"{util} % of {took} ns")


def row_0_17():
    """Several processes at once."""
    with open(f"{workload()['root']}/.logs/tracy_ops_data.csv") as file:
        check(file.read().count("TT_DNN_DEVICE_OP") == 62, "messages of both processes")


def row_0_18():
    """A .tracy file, where Tracy's capture program is installed (here a server that counts what it is sent)."""
    with open(f"{workload()['folder']}/tracy_profile_log_host.tracy") as file:
        zones = file.read()
    check(zones.endswith(" zones") and int(zones.split()[0]) >= 60, zones)


def row_1_1():
    """A viewer that waits for the program, at an address and port of one's choice, and shows it live, host and device, from when it starts."""
    name, root = card_name(), work("live_view")
    remove_at_end(f"emu-{name}")
    line = f"read go; {emulator(name)} & {sys.executable} {client_file()} 83 ops; read on; wait"
    process = start("ttcollect", "run", "-q", "-o", root, "-d", f"emu:{name}", "--pass-through", "127.0.0.1:0", "--", "sh", "-c", line,
                    stdin=subprocess.PIPE)
    while "Tracy servers may connect to" not in (said := next_line(process.stderr)):
        check(said != "", "no address to connect to")
    server, live = Server(82, int(said.split(":")[-1])), threading.Event()

    def look(viewer):    # while the workload still runs
        zones = [zone[1] for zone in viewer.told()] if viewer.threads else []
        if zones.count("BRISC-FW") and zones.count("TT_DNN_DEVICE_OP"):
            live.set()

    watching = threading.Thread(target=server.run, args=(look,))
    watching.start()
    process.stdin.write("\n")
    process.stdin.flush()
    check(live.wait(60), "the viewer was shown nothing while the program ran")
    process.stdin.write("\n")
    process.stdin.flush()
    code, _, err = finish(process)
    watching.join(60)
    check(code == 0 and not watching.is_alive(), f"{code} {err}")


def row_1_2():
    """Saved results: the same file, made again from the capture by other programs of this build."""
    folder, out = workload()["folder"], work("saved.tracy")
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/tracy_file")
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TRACY_CAPTURE": f"{capture_program()}/capture-release"}
    made = subprocess.run([tool, f"{folder}/run.ttc", out], env=env, capture_output=True, text=True)
    with open(f"{folder}/tracy_profile_log_host.tracy") as one, open(out) as other:
        check(made.returncode == 0 and one.read() == other.read(), made.stderr)


def row_1_5():
    """Zones of the host's code on one timeline with the device: of both processes, in a viewer's file."""
    out = work("timeline.json")
    code, _, err = finish(start("ttexport", "--from", f"{workload()['folder']}/run.ttc", "--format", "chrome", "-o", out))
    check(code == 0, err)
    with open(out) as file:
        loaded = json.load(file)
    events = loaded["traceEvents"] if isinstance(loaded, dict) else loaded
    begun = [event for event in events if event["ph"] in "BX"]
    ops = [event for event in begun if event["name"].startswith(("TT_DNN_DEVICE_OP", "Add"))]
    check(len({event["pid"] for event in ops}) >= 2, f"{len(ops)} zones of ops, in rows {[event['pid'] for event in ops][:3]}")
    check(any(event["name"] == "BRISC-FW" for event in begun), "no zone of the device")


def row_1_10():
    """A signpost is a message of the run."""
    with open(f"{workload()['root']}/.logs/tracy_ops_data.csv") as file:
        check("`TT_SIGNPOST: step_9_start`;" in file.read(), "the mark")


def traced(*options, module=False):
    """A program with functions under options of python -m tracy: how often each zone is there."""
    root, folder = work("traced" + "".join(options)), work("traced_modules")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/some_case.py", "w") as file:
        file.write("import unittest\nfrom tracy import Profiler\ndef helper():\n    return 1\ndef other():\n    return helper()\n"
                   "class Case(unittest.TestCase):\n    def test_it(self):\n        other()\n        profiler = Profiler()\n"
                   "        profiler.enable()\n        helper()\n        profiler.disable()\n"
                   "if __name__ == '__main__':\n    unittest.main()\n")
    words = ["-m", "unittest", "some_case.Case.test_it"] if module else [f"{folder}/some_case.py"]
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, *options, *words,
                                env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}))
    check(code == 0, f"{code} {err}")
    with open(f"{root}/.logs/tracy_ops_times.csv") as file:
        names = [line.split(",")[0] for line in file.read().splitlines()[1:]]
    return {name: names.count(name) for name in set(names)}


def row_1_6():
    """python -m tracy script.py: a zone for each function of the program."""
    zones = traced()
    check(zones["PY_FUNC_helper"] == 2 and zones["PY_FUNC_other"] == zones["PY_FUNC_test_it"] == 1, str(zones))


def row_1_7():
    """python -m tracy -m MODULE TEST::case."""
    zones = traced(module=True)
    check(zones["PY_FUNC_helper"] == 2 and zones["PY_FUNC_test_it"] == 1, str(zones))


def row_1_8():
    """from tracy import Profiler; with -p only zones between enable and disable."""
    zones = traced("-p")
    check(zones["PY_FUNC_helper"] == 1 and "PY_FUNC_other" not in zones, str(zones))


def row_1_9():
    """signpost(header, message) is a row of the op report."""
    with open(glob.glob(f"{workload()['folder']}/ops_perf_results_demo_*.csv")[0], newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["OP TYPE"] == "signpost"]
    check([row["OP CODE"] for row in rows] == ["step_9_start"], str(rows))


def row_1_11():
    """-l: a zone for each line, with -p."""
    zones = traced("-p", "-l")
    check(zones["PY_LINE_helper"] == 1 and zones["PY_FUNC_helper"] == 1 and "PY_FUNC_other" not in zones, str(zones))


def vendors_command(*words):
    name, root, folder = card_name(), work("vendor" + "".join(words).replace("/", "")), work("modules")
    remove_at_end(f"emu-{name}")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/some_tests.py", "w") as module:
        module.write(f"import subprocess, sys\nassert sys.argv[1:] == ['-k', 'x']\nsubprocess.run({emulator(name).split()})\n")
    command = ["-m", "some_tests", "-k", "x"] if words[-1] == "MODULE" else emulator(name).split()
    code, out, err = finish(start("ttcollect", "run", "-d", f"emu:{name}", "-o", root, *words[:-1], *command,
                                  env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}))
    check(code == 0 and "60 ops, " in out, f"{code} {out} {err}")
    tables = glob.glob(f"{root}/reports/*/ops_perf_results_*.csv")
    check(len(tables) == 1, str(tables))
    return err


def row_2_2():
    """python -m tracy -r -p -v -m MODULE ARGS makes the CSV."""
    vendors_command("-r", "-p", "-v", "MODULE")


def row_2_3():
    """Signposts in programs without ttnn."""
    root, script = work("without"), work("without.py")
    with open(script, "w") as file:
        file.write("import ttcollect\nttcollect.mark('here')\n")
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, "--", sys.executable, "-B", script))
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        check(code == 0 and "`TT_SIGNPOST: here`" in file.read(), err)


def row_3_6():
    """--tracy-tools-folder is taken, and none of those tools is needed."""
    vendors_command("--tracy-tools-folder", "/nowhere", "BINARY")


def row_3_7():
    """Signposts step_N_start and step_N_end: steps by the host's clock, without timers in the script."""
    name, root, script = card_name(), work("steps_of"), work("steps_of.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(f"import subprocess, sys, ttcollect\ncard = subprocess.Popen({emulator(name).split()})\n"
                   "for n, ops in ((1, 'ops:1:20'), (2, 'ops:21:60')):\n    with ttcollect.step(n):\n"
                   f"        subprocess.run([sys.executable, {client_file()!r}, '83', ops], check=True)\nsys.exit(card.wait())\n")
    code, _, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--", sys.executable, "-B", script))
    check(code == 0, err)
    code, out, err = finish(start("ttreport", "steps", glob.glob(f"{root}/reports/*/run.ttc")[0], "--start-signpost", "step_1_start",
                                  "--end-signpost", "step_1_end", "--json", "-"))
    check(code == 0, err)
    steps = json.loads(out)["steps"]
    # The 20, and the client's first message, whose op has neither type nor device.
    check(len(steps) == 1 and steps[0]["ops"] == 21 and steps[0]["wall_us"] > 0, str(steps))


def row_3_8():
    """Stop after N steps: collecting stops, the script needs no edit beyond its steps."""
    script = work("stepping.py")
    with open(script, "w") as file:
        file.write("import sys, ttcollect\nfor n in range(2):\n    with ttcollect.step(n): pass\n"
                   "print('on', flush=True)\nsys.stdin.readline()\n")
    process = start("ttcollect", "run", "-o", work("stepped"), "-d", "emu:" + card_name(), "--steps", "2", "--", sys.executable, "-B",
                    script, stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "on\n", "the workload did not start")
    while "2 steps have ended" not in (line := next_line(process.stderr)):
        check(line != "", "the end of the steps was not reported")
    process.stdin.write("\n")
    process.stdin.flush()
    check(finish(process)[0] == 0, "the workload's end")


def row_3_9():
    """Where every step compiles its programs again, as with xr.clear_computation_cache(), that is reported at the end and by ttreport steps."""
    name, root, script = card_name(), work("compiling"), work("compiling.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(f"import subprocess, sys, ttcollect\ncard = subprocess.Popen({emulator(name).split()})\n"
                   "for n in range(1, 4):\n    with ttcollect.step(n):\n"
                   f"        subprocess.run([sys.executable, {client_file()!r}, '83', f'ops:{{20 * n - 19}}:{{20 * n}}'], check=True)\n"
                   "sys.exit(card.wait())\n")
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--", sys.executable, "-B", script))
    check(code == 0 and "xr.clear_computation_cache()" in out, f"{code} {out} {err}")
    code, out, err = finish(start("ttreport", "steps", glob.glob(f"{root}/reports/*/run.ttc")[0], "--json", "-"))
    steps = json.loads(out)
    check([s["name"] for s in steps["steps"]] == ["1", "2", "3"] and [s["cache_misses"] for s in steps["steps"]] == [20] * 3, out)
    check("xr.clear_computation_cache()" in steps["warning"], out)


def row_3_11():
    """-p -r --sync-host-device -o F."""
    err = vendors_command("-p", "-r", "--sync-host-device", "MODULE")
    check("TT_METAL_PROFILER_SYNC=1" in err, err)


def row_3_13():
    """<out>/reports/TIME/ with ops_perf_results_TIME.csv and profile_log_device.csv, and a .tracy beside them."""
    folder = workload()["folder"]
    there, stamp = set(os.listdir(folder)), os.path.basename(folder)
    wanted = {f"ops_perf_results_demo_{stamp}.csv", "profile_log_device.csv", "tracy_profile_log_host.tracy"}
    check(wanted <= there, f"{wanted - there} of {there}")


def row_3_19():
    """At the end: device time, ops by their share, the slowest single ones."""
    out = workload()["out"]
    check("share  count  op" in out and "100.0 %     60  Add" in out and out.count(" on device 0") == 5, out)


def row_3_20():
    """Nothing to revert: a program that replays traces has steps without an edit."""
    name, root = card_name(), work("replays")
    remove_at_end(f"emu-{name}")
    code, _, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", f"{emulator(name)} --trace 6:4"))
    check(code == 0, err)
    code, out, err = finish(start("ttreport", "steps", glob.glob(f"{root}/reports/*/run.ttc")[0], "--json", "-"))
    check(code == 0 and "replay of a trace" in json.loads(out)["how"] and len(json.loads(out)["steps"]) > 1, f"{code} {out} {err}")


def row_4_6():
    """-r -v -p BINARY, a native program."""
    vendors_command("-r", "-v", "-p", "BINARY")


ROWS = {name: test for name, test in globals().items() if name.startswith("row_")}


def count():
    held = []
    for name, test in ROWS.items():
        try:
            test()
            held.append(name)
        except SystemExit:
            print(f"{name[4:].replace('_', '.')} does not hold")
    print(f"{len(held)} of the {len(ROWS)} guarantees tested here hold; the list has 81")
    sys.exit(len(held) != len(ROWS))


if __name__ == "__main__":
    count() if sys.argv[1] == "count" else ROWS["row_" + sys.argv[1]]()

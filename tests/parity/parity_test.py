"""What the existing tools promise their users, and ttcollect run keeps: a test a promise. The list of promises has 81 rows, numbered by the document
(0 tt_profile, 1 the Tracy profiler page, 2 tt-perf-report's README, 3 the performance guide, 4 the training guide) and the place in it.

`parity_test.py count` runs all and prints how many hold; `parity_test.py 0_1` runs one."""
import csv
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../process"))

from harness import BIN, card_name, check, finish, next_line, remove_at_end, start, work
from host_side_test import client_file

_once = {}


def emulator(name):
    return f"{BIN}/ttemu --name {name} --cores 2 --programs 60 --pace 20 --linger 60s -q"


def workload():
    """A card, two processes with Tracy clients of different years and a mark: folder of the report, its root, what was said. Once."""
    if not _once:
        name, root = card_name(), work("parity")
        remove_at_end(f"emu-{name}")
        client = f"{sys.executable} {client_file()}"
        line = f"{emulator(name)} & {client} 83 ops & {client} 76 plain & {BIN}/ttcollect mark step_9_start; wait"
        code, out, err = finish(start("ttcollect", "run", "-o", root, "-n", "demo", "-d", f"emu:{name}", line))
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


def row_0_17():
    """Several processes at once."""
    with open(f"{workload()['root']}/.logs/tracy_ops_data.csv") as file:
        check(file.read().count("TT_DNN_DEVICE_OP") == 62, "messages of both processes")


def row_1_10():
    """A signpost is a message of the run."""
    with open(f"{workload()['root']}/.logs/tracy_ops_data.csv") as file:
        check("`TT_SIGNPOST: step_9_start`;" in file.read(), "the mark")


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


def row_3_11():
    """-p -r --sync-host-device -o F."""
    err = vendors_command("-p", "-r", "--sync-host-device", "MODULE")
    check("TT_METAL_PROFILER_SYNC=1" in err, err)


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
    print(f"{len(held)} of the {len(ROWS)} promises tested here hold; the list has 81")
    sys.exit(len(held) != len(ROWS))


if __name__ == "__main__":
    count() if sys.argv[1] == "count" else ROWS["row_" + sys.argv[1]]()

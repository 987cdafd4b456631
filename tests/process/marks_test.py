"""Marks and steps of programs without Tracy: the Python module, the C header, ttcollect mark."""
import csv
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys

from harness import BIN, card_name, check, finish, next_line, remove_at_end, run, skip, start, wait_for_card, wait_until, work

MARK = os.path.join(os.path.dirname(__file__), "../../tools/mark")


def messages(root):
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        text = file.read().split("\n")
    check(text[0] == "MessageName;total_ns", f"header {text[0]!r}")
    return [line.rsplit(";", 1) for line in text[1:-1]]


def python():
    """A script with steps and marks, and a card beside it: signposts come in order of time, from the capture alone too."""
    name, root, script = card_name(), work("python"), work("script.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(f'''
import subprocess, ttcollect
ttcollect.mark("before `all`: it")
for number in (1, 2):
    with ttcollect.step(number):
        if number == 1:
            subprocess.run(["{BIN}/ttemu", "--name", "{name}", "--cores", "2", "--programs", "60", "--pace", "20", "--linger", "60s", "-q"])
print(ttcollect.lost)
''')
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--", sys.executable, "-B", script))
    check(code == 0 and out.startswith("0\n"), f"{code} {out} {err}")
    rows = messages(root)
    check([r[0] for r in rows] == ["`TT_SIGNPOST: before 'all'= it`", "`TT_SIGNPOST: step_1_start`", "`TT_SIGNPOST: step_1_end`",
                                   "`TT_SIGNPOST: step_2_start`", "`TT_SIGNPOST: step_2_end`"], f"{rows}")
    times = [int(r[1]) for r in rows]
    check(times == sorted(times) and times[0] >= 0 and times[2] > times[1], f"{times}")
    folder = os.path.join(root, "reports", os.listdir(f"{root}/reports")[0])
    # From the capture alone: the host's files are in another folder.
    alone = work("alone.ttc")
    shutil.copy(f"{folder}/run.ttc", alone)
    code, _, err = run("ttreport", "host", alone, "-o", work("again/.logs"))
    check(code == 0 and messages(work("again")) == rows, f"the capture alone: {err}")


def header():
    """The C header, compiled here; without a collector nothing happens."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("no C compiler")
    source, program, root = work("marks.c"), work("marks"), work("header")
    with open(source, "w") as file:
        file.write('#define _GNU_SOURCE\n#include "ttcollect_mark.h"\n'
                   'int main(void) { ttcollect_step_begin(7); ttcollect_mark("in it"); ttcollect_step_end(7); return 4; }\n')
    built = subprocess.run([compiler, "-std=c99", "-Wall", "-Werror", "-I", MARK, source, "-o", program], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    check(subprocess.run([program]).returncode == 4, "without a collector")
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, "--", program))
    check(code == 4, err)
    check([r[0] for r in messages(root)] == ["`TT_SIGNPOST: step_7_start`", "`TT_SIGNPOST: in it`", "`TT_SIGNPOST: step_7_end`"],
          str(messages(root)))


def command():
    """ttcollect mark: from within the workload, by number from outside, and its message where nothing listens."""
    root = work("command")
    process = start("ttcollect", "run", "-q", "--no-device", "-o", root, "--", "sh", "-c",
                    f"{BIN}/ttcollect mark 'from within'; echo ready; read line", stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "ready\n", "the workload did not start")
    code, _, err = run("ttcollect", "mark", "from outside", "--run", process.pid)
    check(code == 0, err)
    process.stdin.write("\n")
    process.stdin.flush()
    code, _, err = finish(process)
    check(code == 0, err)
    check([r[0] for r in messages(root)] == ["`TT_SIGNPOST: from within`", "`TT_SIGNPOST: from outside`"], str(messages(root)))
    code, _, err = run("ttcollect", "mark", "x", "--run", process.pid)
    check(code == 3 and "no process listens" in err, f"{code} {err}")


def steps():
    """--steps: collecting ends with the step, the workload does not."""
    name, root, script = card_name(), work("steps"), work("steps.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write('''
import sys, ttcollect
for number in range(3):
    with ttcollect.step(number):
        pass
print("stepped", flush=True)
sys.stdin.readline()
sys.exit(8)
''')
    process = start("ttcollect", "run", "-o", root, "--steps", "3", "-d", f"emu:{name}", "--", sys.executable, "-B", script,
                    stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "stepped\n", "the workload did not start")
    said = ""
    while "collecting ends, the workload continues" not in said:
        said = next_line(process.stderr)
        check(said != "", "the end of collecting was not reported")
    check(process.poll() is None, "the workload was ended")
    process.stdin.write("\n")
    process.stdin.flush()
    check(finish(process)[0] == 8, "the exit code")


TRACED = '''
import threading
from tracy import Profiler, signpost
def inner(x):
    y = x + 1
    return y
def outer():
    for i in range(3):
        inner(i)
    try:
        raise_one()
    except ValueError:
        pass
def raise_one():
    raise ValueError
outer()
profiler = Profiler()
profiler.enable()
outer()
profiler.disable()
outer()
thread = threading.Thread(target=outer)
thread.start()
thread.join()
signpost("over", "really")
'''


def zones(root):
    """How often each zone is there, by name and line, and whether each is inside one of its caller."""
    with open(f"{root}/.logs/tracy_ops_times.csv") as file:
        rows = [line.split(",") for line in file.read().splitlines()[1:]]
    counts = {}
    for row in rows:
        counts[row[0], int(row[2])] = counts.get((row[0], int(row[2])), 0) + 1
    spans = {name: [(int(r[5]), int(r[5]) + int(r[6]), r[7]) for r in rows if r[0] == name] for name in {r[0] for r in rows}}
    for begin, end, thread in spans["PY_FUNC_inner"]:
        check(any(a <= begin and end <= b and of == thread for a, b, of in spans["PY_FUNC_outer"]), f"inner at {begin} is in no outer")
    return counts


def functions():
    """A Python program where no package tracy can be imported: all functions, those that it enables, and its lines."""
    script = work("traced.py")
    with open(script, "w") as file:
        file.write(TRACED)
    for options, functions_of, lines in (((), 4, 0), (("-p",), 1, 0), (("-p", "-l"), 1, 3)):
        root = work("functions" + "".join(options))
        code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, *options, script,
                                    env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}))
        check(code == 0 and "by the module ttcollect" in err, f"{code} {err}")
        counts = zones(root)
        check(counts["PY_FUNC_outer", 7] == functions_of and counts["PY_FUNC_inner", 4] == 3 * functions_of
              and counts["PY_FUNC_raise_one", 14] == functions_of, f"{options}: {counts}")
        check(counts.get(("PY_LINE_inner", 5), 0) == lines, f"{options}: {counts}")
        check(not any("threading" in name for name, _ in counts), f"the standard library is traced: {counts}")
        check([r[0] for r in messages(root)] == ["`TT_SIGNPOST: over", "really`"], str(messages(root)))


def incomplete():
    """Where the run reads no zones, tracing ends, and the run prints the number of missing zones. A child of multiprocessing, which leaves
    without atexit, and threads that have ended lose none."""
    script = work("lost.py")
    with open(script, "w") as file:
        file.write("""
import os, signal
from ttcollect import functions
def called(): pass
functions.MOST_BYTES = 100_000
os.kill(os.getppid(), signal.SIGSTOP)
while not functions.incomplete: called()
os.kill(os.getppid(), signal.SIGCONT)
""")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", work("lost"), script, env=environment))
    missing = re.search(r"host side: process \d+: (\d+) zones of Python functions or more are missing", err)
    check(code == 0 and missing and int(missing[1]) > 1000, f"{code} {err}")
    script, root = work("children.py"), work("children")
    with open(script, "w") as file:
        file.write("""
import multiprocessing, threading
def inner(): pass
def outer(): inner()
for _ in range(20):
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
child = multiprocessing.get_context("fork").Process(target=outer)
child.start()
child.join()
""")
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, script, env=environment))
    counts = zones(root)
    check(code == 0 and counts["PY_FUNC_outer", 4] == 21 and "missing" not in err, f"{code} {counts} {err}")


LOSING = """
import os, signal, sys, ttcollect
os.kill(os.getppid(), signal.SIGSTOP)
try:
    for number in range(100_000):
        ttcollect.mark(f"mark {number}")
        if ttcollect.lost == 7:
            break
finally:
    os.kill(os.getppid(), signal.SIGCONT)
print(number + 1 - ttcollect.lost, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def lost():
    """Marks beyond what the socket holds: the run prints the number of missing marks, also of a process that was killed, and when."""
    root, script = work("lost_marks"), work("losing.py")
    with open(script, "w") as file:
        file.write(LOSING)
    code, out, err = finish(start("ttcollect", "run", "--no-device", "-o", root, "--", sys.executable, "-B", script))
    said = re.search(r"host side: process (\d+) lost (\d+) marks within [0-9.]+ ms", err)
    check(code == 128 + 9 and said and int(said[2]) == 7 and len(messages(root)) == int(out), f"{code} {out} {err}")
    with open(f"{root}/.logs/tracy_ops_times.csv") as file:
        zones_of = [line.split(",") for line in file.read().splitlines() if line.startswith("ttcollect: marks lost,")]
    check(len(zones_of) == 1 and zones_of[0][4] == '"7"' and int(zones_of[0][6]) > 0, str(zones_of))
    first = min(int(time) for _, time in messages(root))
    check(int(zones_of[0][5]) > first, f"the loss begins at {zones_of[0][5]}, the first mark that was sent is of {first}")


def lost_in_c():
    """The same by the C header, from two threads: what was recorded and what is missing are all that were set."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("no C compiler")
    source, program, root = work("losing.c"), work("losing"), work("lost_in_c")
    with open(source, "w") as file:
        file.write('#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include "ttcollect_mark.h"\n'
                   'static void* set(void* none) { for (int i = 0; i < 5000; ++i) ttcollect_mark("x"); return none; }\n'
                   'int main(void) { pthread_t other; kill(getppid(), SIGSTOP);\n'
                   '  if (pthread_create(&other, NULL, set, NULL) != 0) return 1;\n'
                   '  set(NULL); pthread_join(other, NULL); kill(getppid(), SIGCONT); return 0; }\n')
    built = subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", MARK, source, "-o", program],
                           capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    code, _, err = finish(start("ttcollect", "run", "--no-device", "--strict-exit", "-o", root, "--", program))
    said = re.search(r"host side: process \d+ lost (\d+) marks", err)
    check(code == 6 and said and int(said[1]) + len(messages(root)) == 10_000, f"{code} {err} {len(messages(root))}")


def remains():
    """kill -9 of a run leaves the segment of its host side; the next run removes it."""
    process = start("ttcollect", "run", "-q", "--no-device", "-o", work("killed"), "--", "sh", "-c",
                    f"{BIN}/ttcollect mark here; echo ready; read line", stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "ready\n", "the workload did not start")
    left = f"/dev/shm/ttcollect-run-{process.pid}.{os.geteuid()}"
    wait_until(lambda: any(s["live"] == f"run-{process.pid}" and s["state"] == "live"
                           for s in json.loads(run("ttcollect", "list", "--json")[1])["segments"]), "the segment is there")
    check(os.path.exists(left), "there is no segment, and nothing is tested")    # once its writer is dead any other run may remove it
    process.kill()
    process.wait()
    code, _, err = finish(start("ttcollect", "run", "-q", "--no-device", "-o", work("next"), "--", "true"))
    check(code == 0 and not os.path.exists(left), f"{left} is still there: {err}")
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()


def window():
    """--range: collecting begins with the first step of it and ends with the last one; what ran before is not waited for."""
    name, root, script = card_name(), work("range"), work("range.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(f'''
import subprocess, ttcollect
for number in (1, 2, 3):
    with ttcollect.step(number):
        if number == 2:
            subprocess.run(["{BIN}/ttemu", "--name", "{name}", "--cores", "2", "--programs", "60", "--pace", "20", "--linger", "60s", "-q"])
''')
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--range", "2..2", "--", sys.executable, "-B", script))
    check(code == 0 and "60 ops, " in out, f"{code} {out} {err}")
    begins, ends = err.index("collecting starts"), err.index("collecting ends, the workload continues")
    check(begins < ends and len(messages(root)) == 6, err)
    check("the summary is of all ops" not in err, err)


def rows():
    """Marks of a workload without Tracy are rows among its ops, by time: in the files of the report, in `ttreport ops` and `steps`."""
    name, root, script = card_name(), work("rows"), work("rows.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(f"""
import subprocess, sys, ttcollect
card = subprocess.Popen(["{BIN}/ttemu", "--name", "{name}", "--cores", "2", "--programs", "60", "--pace", "20", "--linger", "60s", "-q"])
ttcollect.mark("before")
ttcollect.mark("early\\nof the run")
code = card.wait()
with ttcollect.step(1): pass
sys.exit(code)
""")
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--start-signpost", "early", "--end-signpost",
                                  "step_1_start", "--", sys.executable, "-B", script))
    check(code == 0 and "60 ops, " in out, f"{code} {out} {err}")
    folder = os.path.join(root, "reports", os.listdir(f"{root}/reports")[0])
    with open(glob.glob(f"{folder}/ops_perf_results_*.csv")[0], newline="") as table:
        kinds = [(row["OP CODE"], row["ATTRIBUTES"]) if row["OP TYPE"] == "signpost" else "op" for row in csv.DictReader(table)]
    wanted = [("before", ""), ("early", "of the run"), *["op"] * 60, ("step_1_start", ""), ("step_1_end", "")]
    check(kinds == wanted, str(kinds))
    # From the capture alone, and a window that no op is in.
    alone = work("rows_alone.ttc")
    shutil.copy(f"{folder}/run.ttc", alone)
    for begin, end, ops in (("before", "step_1_end", 60), ("step_1_start", "step_1_end", 0)):
        code, out, err = run("ttreport", "ops", alone, "--start-signpost", begin, "--end-signpost", end, "--json", "-", "--no-summary")
        check(code == 0, err)
        got = [row for row in json.loads(out)["rows"] if row.get("device_us")]
        check(len(got) == ops and all(row["op_code"].startswith("program ") for row in got), f"{begin}..{end}: {len(got)} ops")
    code, out, err = run("ttreport", "steps", alone, "--start-signpost", "before", "--end-signpost", "step_1_start", "--json", "-")
    steps_of = json.loads(out)["steps"]
    check(code == 0 and len(steps_of) == 1 and steps_of[0]["ops"] == 60 and steps_of[0]["wall_us"] > steps_of[0]["device_us"] > 0, f"{out} {err}")


def short():
    """--range of a step that is over before a collector has attached: what the card holds then is collected. And a stop before any start."""
    name, root, script = card_name(), work("short"), work("short.py")
    remove_at_end(f"emu-{name}")
    card = start("ttemu", "--name", name, "--cores", "2", "--programs", "0", "--pace", "20", "-q")
    wait_for_card(name, card)
    with open(script, "w") as file:
        file.write("import ttcollect\nwith ttcollect.step(2): pass\n")
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--range", "2..2", "--", sys.executable, "-B", script))
    check(code == 0 and " ops, " in out, f"{code} {out} {err}")
    card.terminate()
    check(finish(card)[0] == 0, "the card")
    code, _, err = finish(start("ttcollect", "run", "--paused", "-o", work("never"), "-d", f"emu:{name}", "--", "sh", "-c",
                                "kill -RTMIN+2 $PPID; read line", stdin=subprocess.DEVNULL))
    check("collecting was stopped before it started" in err and "collecting starts" not in err, f"{code} {err}")


def asked():
    """--paused: collecting starts and stops by mark --start and --stop, and by signals."""
    for begin, end in ((f"{BIN}/ttcollect mark --start", f"{BIN}/ttcollect mark --stop"),
                       ("kill -RTMIN+1 $PPID", "kill -RTMIN+2 $PPID")):
        process = start("ttcollect", "run", "-o", work("asked"), "-d", "emu:" + card_name(), "--paused", "--", "bash", "-c",
                        f"read line; {begin}; read line; {end}; read line; exit 5", stdin=subprocess.PIPE)
        for said in ("collecting starts", "collecting ends, the workload continues"):
            process.stdin.write("\n")
            process.stdin.flush()
            while said not in (line := next_line(process.stderr)):
                check(line != "" and "collecting" not in line, f"{line!r} in front of {said!r}")
        process.stdin.write("\n")
        process.stdin.flush()
        check(finish(process)[0] == 5, "the exit code")


def foreign():
    """Marks of another user are refused: any process of the network namespace can reach the socket."""
    if os.geteuid() != 0:
        skip("only root can send as another user")
    root = work("foreign")
    process = start("ttcollect", "run", "-q", "--no-device", "-o", root, "--", "sh", "-c",
                    f"{BIN}/ttcollect mark ours; echo ready; read line", stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "ready\n", "the workload did not start")
    sender = os.fork()
    if sender == 0:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.sendto(b"1 2 3 m\nof another user", f"\0ttcollect-marks-{process.pid}")
        os._exit(0)
    check(os.waitpid(sender, 0)[1] == 0, "it could not be sent")
    process.stdin.write("\n")
    process.stdin.flush()
    code, _, err = finish(process)
    check(code == 0 and "1 marks of other users were refused" in err, f"{code} {err}")
    check([r[0] for r in messages(root)] == ["`TT_SIGNPOST: ours`"], str(messages(root)))


if __name__ == "__main__":
    {f.__name__: f for f in (python, header, command, steps, functions, incomplete, lost, lost_in_c, remains, window, rows, short, asked, foreign)}[sys.argv[1]]()

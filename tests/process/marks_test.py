"""Marks and steps of programs without Tracy: the Python module, the C header, ttcollect mark."""
import os
import shutil
import subprocess
import sys

from harness import BIN, card_name, check, finish, next_line, remove_at_end, run, skip, start, work

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
    check(code == 3 and "nothing listens" in err, f"{code} {err}")


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
    while "collecting ends, the workload goes on" not in said:
        said = next_line(process.stderr)
        check(said != "", "the end of collecting was not reported")
    check(process.poll() is None, "the workload was ended")
    process.stdin.write("\n")
    process.stdin.flush()
    check(finish(process)[0] == 8, "the exit code")


if __name__ == "__main__":
    {f.__name__: f for f in (python, header, command, steps)}[sys.argv[1]]()

"""ttcollect run around real processes: what it hands through, what it waits for, what it leaves."""
import csv
import fcntl
import glob
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

from harness import BIN, check, fail, finish, card_name, next_line, remove_at_end, run, start, wait_until, work

NO_CARD = ["-d", "emu:" + card_name()]    # none of other tests


def run_around(*words, options=(), **more):
    return start("ttcollect", "run", *NO_CARD, *options, "--", *words, **more)


def report_folder(root):
    folders = glob.glob(f"{root}/reports/*/*") or glob.glob(f"{root}/reports/*")
    check(len(folders) == 1, f"reports: {folders}")
    return folders[0]


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"


def reports():
    """An emulated card is the workload: the folder holds what the vendor's tools leave, and the op table has every program."""
    name, root = card_name(), work("reports root")
    truth = work("truth.csv")
    code, out, err = run("ttcollect", "run", "-o", root, "-n", "demo", "-d", f"emu:{name}", "--", f"{BIN}/ttemu", "--name", name,
                         "--cores", "3", "--programs", "150", "--pace", "20", "--linger", "60s", "-q", "--truth", truth)
    remove_at_end(f"emu-{name}")
    check(code == 0, f"exit code {code}: {err}")
    folder = report_folder(root)
    there = set(os.listdir(folder))
    stamp = os.path.basename(folder)
    for file in ("run.ttc", "report.html", "profile_log_device.csv", "ops.json", "tracy_profile_log_host.tracy",
                 f"ops_perf_results_demo_{stamp}.csv", f"per_core_op_to_op_times_demo_{stamp}.csv"):
        check(file in there, f"{file} is not among {sorted(there)}")
    check(".work" not in there, "the working folder was left")
    with open(f"{folder}/ops_perf_results_demo_{stamp}.csv", newline="") as table:
        ids = sorted(int(row["GLOBAL CALL COUNT"]) for row in csv.DictReader(table))
    with open(truth) as rows:
        next(rows), next(rows)
        emitted = sorted({int(row.split(",")[7]) for row in rows} - {0})
    check(ids == emitted, f"{len(ids)} ops were reported, {len(emitted)} were run")
    check(f"{len(ids)} ops, " in out and "slowest:" in out, f"the summary is {out!r}")
    check("TT_METAL_DEVICE_PROFILER=1" in err and f"TT_METAL_PROFILER_DIR={root}" in err, f"variables: {err!r}")


def hands_through():
    """Standard input and output, exit codes, the environment, one quoted line, a program that is not there."""
    process = run_around("cat", stdin=subprocess.PIPE)
    out, err = process.communicate("one\ntwo\n", timeout=60)
    check(process.returncode == 0 and out == "one\ntwo\n", f"cat gave {process.returncode}, {out!r}, {err!r}")
    check("nothing was collected from a card" in err, f"no sentence about the card: {err!r}")
    check(finish(run_around("sh", "-c", "exit 7"))[0] == 7, "the exit code is not the workload's")
    code, out, _ = finish(run_around("echo one; echo two >&2; exit 5"))
    check((code, out) == (5, "one\n"), f"a quoted line gave {code}, {out!r}")
    code, out, err = finish(run_around("echo model.py"))
    check((code, out) == (0, "model.py\n"), f"a quoted line that ends as a script's name gave {code}, {out!r}, {err!r}")
    check(finish(run_around("/no/such"))[0] == 127, "a missing program")
    check(finish(run_around("/etc/passwd"))[0] == 126, "a file that is no program")
    code, out, err = finish(run_around("sh", "-c", "echo $TT_METAL_DEVICE_PROFILER/$TT_METAL_PROFILER_SYNC/$TRACY_PORT/$TTNN_OP_PROFILER",
                                       options=["--sync-host-device"],
                                       env={**os.environ, "TRACY_PORT": "8090", "TTNN_OP_PROFILER": "0"}))
    check(out == "1/1//0\n", f"the workload's variables are {out!r}")
    check("TRACY_PORT=8090 is unset" in err and "TTNN_OP_PROFILER=0 is set in the environment and stays" in err,
          f"sentences: {err!r}")
    code, _, err = finish(run_around("true", options=["--strict-exit"]))
    check(code == 3, f"--strict-exit gave {code}: {err!r}")
    check(finish(run_around("sh", "-c", "echo $1", "sh", "--", options=["-q"]))[1] == "--\n", "a -- of the workload's own")


def in_the_way():
    """A workload whose variable is misspelt: reported while it runs, once collecting has begun."""
    name = card_name()
    process = start("ttcollect", "run", "-o", work("way"), "-d", f"emu:{name}", "--", f"{BIN}/ttemu", "--name", name, "--cores", "2",
                    "--programs", "0", "--pace", "20", "-q", env={**os.environ, "TT_METAL_PROFILER_SUPPORT_COUNT": "4000"})
    remove_at_end(f"emu-{name}")
    while "did you mean TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT?" not in (line := next_line(process.stderr)):
        check(line != "", "the sentence does not come")
    process.terminate()
    check(finish(process)[0] == 0, "the workload did not end in order")


def signals():
    """A signal to us reaches the workload; the end by a signal is reported and is its exit code."""
    process = run_around("sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do read line; done", stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "ready\n", "the workload did not start")
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 9, f"after SIGTERM the code is {process.returncode}")
    finish(process)
    code, _, err = finish(run_around("sh", "-c", "kill -SEGV $$"))
    check(code == 128 + signal.SIGSEGV and "ended by signal 11" in err, f"a crash gave {code}: {err!r}")


def orphans():
    """Collecting ends with the last process, whatever session it made itself."""
    mark = work("orphan")
    os.mkfifo(mark)
    process = run_around("sh", "-c", f"setsid sh -c 'echo $$; read line < {mark}; exec true' & exit 4")
    orphan = int(next_line(process.stdout))
    while "collecting continues until these have" not in (line := next_line(process.stderr)):
        check(line != "", "the message does not come")
    check(process.poll() is None and not gone(orphan), "it did not wait for the orphan")
    with open(mark, "w") as fifo:
        fifo.write("\n")
    check(process.wait(timeout=60) == 4, f"the exit code is {process.returncode}, of the first process it was 4")


def killed():
    """kill -9 of ttcollect run: the workload continues to its own end, and the collector ends in order."""
    name, root = card_name(), work("killed")
    done = work("done")
    remove_at_end(f"emu-{name}")
    process = start("ttcollect", "run", "-o", root, "-d", f"emu:{name}", "--", "sh", "-c",
                    f"{BIN}/ttemu --name {name} --cores 2 --programs 0 --pace 20 -q & echo $!; read line; kill $!; wait; echo over > {done}",
                    stdin=subprocess.PIPE)
    card = int(next_line(process.stdout))
    wait_until(lambda: run("ttmon", f"emu-{name}", "--once")[0] == 0, "the collector has begun", process)
    process.kill()
    process.wait()
    check(not gone(card), "the workload was ended with us")
    process.stdin.write("\n")
    process.stdin.close()
    wait_until(lambda: os.path.exists(done), "the workload ends by itself")
    wait_until(lambda: [s["state"] for s in json.loads(run("ttcollect", "list", "--json")[1])["segments"]
                        if s["live"] == f"emu-{name}"] == ["ended"], "the collector ends in order")
    process.stdout.close()
    process.stderr.close()


def terminal():
    """The workload is in front of the terminal: it reads from it, and Ctrl-C is its own."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(f"{BIN}/ttcollect", ["ttcollect", "run", "-q", *NO_CARD, "--", "sh", "-c",
                                      "trap 'echo interrupted; exit 6' INT; echo ready; read line; echo got $line; read line"])
    text = b""

    def shows(what):
        nonlocal text
        while what not in text:
            try:
                part = os.read(master, 4096)
            except OSError:
                part = b""
            if not part:
                fail(f"{what!r} does not come: {text!r}")
            text += part

    shows(b"ready")
    os.write(master, b"hello\n")
    shows(b"got hello")
    os.write(master, b"\x03")
    shows(b"interrupted")
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    os.close(master)
    check(os.waitstatus_to_exitcode(status) == 6, f"the code is {os.waitstatus_to_exitcode(status)}")


def watched():
    """--watch-stderr: bytes, size and kind of standard error stay, known texts get cause and fix, and a kill takes nothing from the workload."""
    said = {"Timeout waiting for Ethernet core service": "tt-smi -r", "Waiting for lock 'CHIP_IN_USE_0_PCIe'": "ttcollect doctor",
            "ld: region `BRISC_CODE' overflowed by 16 bytes": "TT_METAL_WATCHER_NOINLINE", "TT_THROW: KERNEL_CONFIG is full": "worker_l1_size",
            "Profiler unavailable": "build_metal.sh", "Cannot enable both debug printing and profiling": "TT_METAL_DPRINT_CORES"}
    for text, fix in said.items():
        code, out, err = finish(run_around("sh", "-c", 'printf "\\033[31mbefore\\033[0m %s\\n" "$1" >&2; test -t 2 && exit 9; exit 3', "sh", text,
                                           options=["-q", "--watch-stderr"]))
        check(code == 3 and f"\033[31mbefore\033[0m {text}\n" in err and fix in err, f"{text}: {code} {err!r}")
    code, _, err = finish(run_around("sh", "-c", "echo nothing that is known >&2; printf 'Profiler unavail' >&2; printf 'able' >&2",
                                     options=["-q", "--watch-stderr"]))
    check(code == 0 and "nothing that is known" in err and err.count("Profiler unavailable") == 2, f"a text in two parts: {err!r}")
    code, _, err = finish(run_around("sh", "-c", "echo all is well >&2", options=["-q", "--watch-stderr"]))
    check(code == 0 and "the workload printed" not in err, f"nothing was known: {err!r}")
    process = run_around("sh", "-c", "echo ready; read line; echo after >&2 && echo wrote", options=["-q", "--watch-stderr"], stdin=subprocess.PIPE)
    check(next_line(process.stdout) == "ready\n", "the workload did not start")
    process.kill()
    process.wait()
    process.stdin.write("go\n")
    process.stdin.flush()
    check(next_line(process.stdout) == "wrote\n", "the workload could not write any more")
    check("after" in next_line(process.stderr), "what it wrote did not come")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def watched_terminal():
    """On a terminal the workload has one on standard error, too, of the same size, also when that changes; what it writes is not changed."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(f"{BIN}/ttcollect", ["ttcollect", "run", "-q", "--watch-stderr", *NO_CARD, "--", sys.executable, "-c", """
import os, sys
print(os.isatty(2), *os.get_terminal_size(2), file=sys.stderr, flush=True)
columns = 0
while columns != 77:
    input()
    columns = os.get_terminal_size(2).columns
    print('columns', columns, file=sys.stderr, flush=True)
print('resized\\033[1m bold', 'Profiler unavailable', file=sys.stderr, flush=True)
"""])
    text = b""

    def shows(what):
        nonlocal text
        while what not in text:
            part = os.read(master, 4096)
            check(part, f"{what!r} does not come: {text!r}")
            text += part

    columns, lines = os.get_terminal_size(master)
    shows(b"True %d %d\r\n" % (columns, lines))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    while b"columns 77\r\n" not in text:    # the size is followed some tenths of a second later
        os.write(master, b"\n")
        shown = len(re.findall(rb"columns \d+\r\n", text))
        while len(re.findall(rb"columns \d+\r\n", text)) == shown:
            part = os.read(master, 4096)
            check(part, f"the size does not come: {text!r}")
            text += part
    shows(b"resized\033[1m bold Profiler unavailable\r\n")
    shows(b"build_metal.sh")
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the code is not the workload's")
    os.close(master)


def wrong_use():
    for words, sentence in ((["-p", "8086", "pytest x"], "a port is given by -t 8086"),
                            (["--report", "true"], "what does it is -r"),
                            (["--reprot", "true"], "has no option --reprot"),
                            ([], "what should run is missing"),
                            (["-l", "x.py"], "-l needs -p"),
                            (["-t", "cmd", "true"], "-t is the port"),
                            (["-n", "a/b", "true"], "has no '/'"),
                            (["--process-logs-only", "true"], "takes no workload"),
                            (["--profiler-capture-perf-counters", "fpu,x", "true"], "'x' is no group of counters")):
        code, _, err = run("ttcollect", "run", *words)
        check(code == 2 and sentence in err, f"run {words}: {code}, {err!r}")


if __name__ == "__main__":
    {f.__name__: f for f in (reports, hands_through, in_the_way, signals, orphans, killed, terminal, watched, watched_terminal, wrong_use)}[sys.argv[1]]()

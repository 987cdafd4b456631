"""Real processes for process tests: unique names, bounded waits, nothing left behind."""
import atexit
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(os.environ.get("TTC_BIN", os.path.join(os.path.dirname(__file__), "../../build/release/bin")))
GOLDEN = os.environ.get("TTC_GOLDEN", "")
SKIP = 77
LIMIT_S = 600    # ends what hangs; no run of a busy machine needs as long
RISCS = {"BRISC": (0,), "NCRISC": (1,), "TRISC_0": (2,), "TRISC_1": (3,), "TRISC_2": (4,), "ERISC": (0, 1),
         "TENSIX_RISC_AGG": (0,)}

LONG = os.environ.get("TTC_LONG", "") == "1"    # tools/check --long: full sizes

_running = []
_live_names = []
_directory = tempfile.TemporaryDirectory(prefix="ttc-test-")
_serial = [0]
os.environ["TMPDIR"] = _directory.name    # of everything that is started here


def work(name):
    return os.path.join(_directory.name, name)


def card_name():
    """A name that no other running test has. Segments of such cards are removed at the end."""
    _serial[0] += 1
    return f"t{os.getpid()}-{_serial[0]}"


def remove_at_end(live_name):
    """For segments that are not named after card_name()."""
    _live_names.append(live_name)
    return live_name


def start(tool, *arguments, inside=(), **options):
    """`inside`: a command that runs another. A card stays until its observers have taken what is left, however slow they are."""
    if tool == "ttemu" and "--linger" not in arguments:
        arguments = (*arguments, "--linger", f"{LIMIT_S}s")
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    process = subprocess.Popen([*inside, os.path.join(BIN, tool), *map(str, arguments)], text=True, **options)
    _running.append(process)
    return process


def finish(process, limit_s=LIMIT_S):
    """(exit code, stdout, stderr); a process that hangs fails the test."""
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{' '.join(process.args)} did not end within {limit_s} s")
    return process.returncode, out, err


def await_its_wait(reader):
    """Returns when the process sleeps, as a reader of a segment does that is not there yet. One that comes so late that its collector has ended
    takes it for an earlier one's, and waits for another: on a busy host a test hung."""
    sleep = {"x86_64": "230", "aarch64": "115"}.get(platform.machine())    # clock_nanosleep(2)
    deadline = time.monotonic() + LIMIT_S
    while sleep and reader.poll() is None and time.monotonic() < deadline:
        try:
            with open(f"/proc/{reader.pid}/syscall") as file:
                if file.read().split()[0] == sleep:
                    return
        except OSError:    # a kernel without it, or the process has just ended
            return
        time.sleep(0.001)


def next_line(stream):
    """The next line of a process that finish() waits for later. Byte by byte: communicate() reads the descriptor and never gets
    what readline() has buffered ahead, so that lines would be lost."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode()


def wait_for_card(name, card):
    """Until the emulated card can be opened. Segments of an earlier card of that name are listed, too, but not among the cards."""
    def is_there():
        code, out, _ = run("ttcollect", "list", "--json")
        return code == 0 and any(each["spec"] == f"emu:{name}" for each in json.loads(out)["cards"])
    wait_until(is_there, f"emu:{name} is listed", card)


def wait_for_collector(name, collector):
    """Until readers can attach to the collector of the emulated card."""
    wait_until(lambda: run("ttmon", f"emu-{name}", "--once")[0] == 0, f"emu-{name} can be read", collector)


def wait_until(condition, what, *processes):
    """Polls the condition; a process that ends before, or LIMIT_S, fails the test."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        for process in processes:
            check(process.poll() is None, f"{what}: {process.args[0]} ended before")
        check(time.monotonic() < deadline, f"{what}: not within {LIMIT_S} s")
        time.sleep(0.005)


def run(tool, *arguments):
    return finish(start(tool, *arguments))


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


def check(condition, message):
    if not condition:
        fail(message)


def skip(message):
    print("skipped:", message)
    sys.exit(SKIP)


def rows(path):
    with open(path) as lines:
        head = [next(lines), next(lines)]
        check(head[0].startswith("ARCH: "), f"{path}: first line is {head[0]!r}")
        return [line.rstrip("\n") for line in lines]


def device(json_text):
    return json.loads(json_text)["devices"][0]


def certain(report, lost=None):
    """Losses without uncertain intervals. A poll after its deadline, as on a busy machine, leaves open whether the host reset the core
    meanwhile; the collector then reports that the core's lanes may have lost something. One missed deadline explains at most
    one such interval for each of the core's five lanes."""
    lost = report["lost"] if lost is None else lost
    doubts = [r for r in lost if r["precision"] == "unknown" and r["cause"] != "dropped on card"]
    explained = len(doubts) <= 5 * report["missed_poll_deadlines"]
    return [r for r in lost if r not in doubts or not explained]


def live(name):
    """ttmon's sample of a live source (emu-NAME, or as the collector named it); None while there is none."""
    code, out, _ = run("ttmon", name, "--once", "--json")
    return json.loads(out) if code == 0 else None


def anomalies(text):
    """The output of ttexport --anomalies on stderr."""
    return next(json.loads(line) for line in text.splitlines() if line.startswith("{"))


def outside_intervals(missing, lost):
    """Rows of `missing` that lie in no reported interval of their lane."""
    by_lane = {}
    for r in lost:
        by_lane.setdefault((r["x"], r["y"], r["risc"]), []).append((r["from_cycles"], r["to_cycles"]))
    outside = []
    for row in missing:
        c = row.split(",")
        intervals = [i for risc in RISCS[c[3]] for i in by_lane.get((int(c[1]), int(c[2]), risc), [])]
        if not any(a < int(c[5]) < b for a, b in intervals):
            outside.append(row)
    return outside


def is_ours(file):
    """True for names in /dev/shm that this test made."""
    return file.startswith(f"ttcollect-emu-t{os.getpid()}-") or any(
        file.startswith(f"ttcollect-{live}.") for live in _live_names)


def clean():
    for process in _running:
        if process.poll() is None:
            process.kill()
            # A killed `ttcollect run` leaves the host's segment, named after its process; until wait() no other has the number.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            for file in os.listdir("/dev/shm"):
                if file.startswith(f"ttcollect-run-{process.pid}."):
                    os.unlink("/dev/shm/" + file)
            process.wait()
    remove_segments()


def remove_segments():
    """At the end, and between worlds of a long test: their rings would fill the memory."""
    for file in filter(is_ours, os.listdir("/dev/shm")):
        os.unlink("/dev/shm/" + file)


def _end(number, _frame):
    signal.signal(number, signal.SIG_IGN)
    fail(f"ended by {signal.Signals(number).name}")    # so that clean() runs


atexit.register(clean)
for _number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_number, _end)

#!/usr/bin/env python3
"""16 collectors with two light emulated cards each, their agents and one nats-server, all on this machine: what each of them costs, and how long
a dump of all ranks takes from the command to the cut and to the last capture.

    bench/fleet_collectors_bench.py [BIN-DIRECTORY]       TTC_BENCH_SECONDS (default 30): how long it runs before the dumps

Cards run 20 programs a second on one core. Wrong results fail: a rank that does not answer, ops on the bus that differ from those of the rank's
capture, rows that are missing or twice. Times do not. TTC_BENCH_ONCE=1 makes two collectors of one card for a second."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/bin")
COLLECTORS, CARDS = (2, 1) if ONCE else (16, 2)
SECONDS = 1 if ONCE else int(os.environ.get("TTC_BENCH_SECONDS", "30"))
SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/bin")
JOB = "bench"
HZ = os.sysconf("SC_CLK_TCK")


def spent(pid):
    """(seconds of CPU, MiB that are its own or shared with files) of a process; zeros once it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            words = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            anonymous = sum(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))
    except OSError:
        return 0.0, 0.0
    return (int(words[11]) + int(words[12])) / HZ, anonymous / 1024


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


class Fleet:
    def __init__(self, directory):
        self.directory, self.processes = directory, []
        ports = os.path.join(directory, "ports")
        os.mkdir(ports)
        self.bus = self.start(SERVER, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", os.path.join(directory, "js"), "--ports_file_dir", ports)
        self.url = ""
        while not self.url:
            for path in glob.glob(os.path.join(ports, "*")):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.url = json.loads(text)["nats"][0] if text.endswith("}") else ""
            time.sleep(0.01)
        self.cards, self.collectors, self.names = [], [], []
        for rank in range(COLLECTORS):
            names = [f"bench-fleet-{os.getpid()}-{rank}-{card}" for card in range(CARDS)]
            self.names += names
            for name in names:
                self.cards.append(self.start(f"{BIN}/ttemu", "--name", name, "--cores", "1", "--programs", "0", "--rate", "20", "--host-reads", "every:200",
                                             "--pace", "64", "--wait-observer", "-q"))
            self.collectors.append(self.start(
                f"{BIN}/ttcollect", "--device", ",".join("emu:" + name for name in names), "--wait", "1min", "-q", "-o", self.capture(rank),
                "--publish", self.url, *(f"--publish-with={w}" for w in ("--cluster=local", f"--job={JOB}", f"--host=host{rank}", f"--rank={rank}",
                                                                          f"--spool={directory}/spool", "--quiet"))))

    def capture(self, rank):
        return os.path.join(self.directory, f"host{rank}_rank_{rank}.ttc")

    def start(self, *words):
        self.processes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.processes[-1]

    def ask(self, command, *words, codes=(0,)):
        done = subprocess.run([f"{BIN}/ttfleet", command, "--bus", self.url, "--cluster", "local", "--job", JOB, "--json", *words],
                              capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            sys.exit(f"ttfleet {command} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def all_publish(self):
        found = self.ask("ls", codes=(0, 1))
        return found and len(found["ranks"]) == COLLECTORS and all(r["rows_stored"] > 0 and r["reference"] for r in found["ranks"])

    def groups(self):
        agents = [pid for c in self.collectors for pid in children(c.pid)]
        return {"a collector": [c.pid for c in self.collectors], "its agent": agents, "nats-server": [self.bus.pid], "an emulated card": [c.pid for c in self.cards]}

    def end(self):
        for process in self.processes[1:]:
            process.terminate()
        for process in self.processes[1:]:
            process.wait()

    def clean(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for name in self.names:
            for segment in glob.glob(f"/dev/shm/ttcollect-emu-{name}.*"):    # the collector leaves it to its readers
                os.unlink(segment)


def measured(fleet):
    groups = fleet.groups()
    begin, began = {pid: spent(pid)[0] for pids in groups.values() for pid in pids}, time.monotonic()
    stored = sum(r["rows_stored"] for r in fleet.ask("ls")["ranks"])
    time.sleep(SECONDS)
    took = time.monotonic() - began
    rows = (sum(r["rows_stored"] for r in fleet.ask("ls")["ranks"]) - stored) / took
    print(f"  {COLLECTORS} collectors of {CARDS} cards, {took:.0f} s: {rows:.0f} rows a second stored")
    for name, pids in groups.items():
        shares = sorted(100 * (spent(pid)[0] - begin[pid]) / took for pid in pids)
        sizes = sorted(spent(pid)[1] for pid in pids)
        print(f"  {name}: {shares[len(shares) // 2]:.2f} % of a core (most {shares[-1]:.2f}), {sizes[len(sizes) // 2]:.1f} MiB of its own (most {sizes[-1]:.1f})")


def dumped(fleet, times):
    cuts, gathers, late = [], [], []
    for i in range(times):
        begin = time.monotonic()
        dump = fleet.ask("dump", "--last", "10s", "-o", os.path.join(fleet.directory, f"dump-{i}"))
        gathers.append(time.monotonic() - begin)
        cuts.append(dump["cut_ns"] / 1e9)
        late.append(max(r["late_ns"] for r in dump["ranks"]) / 1e6)
        if len(dump["ranks"]) != COLLECTORS or not all(r["ok"] and not r["error"] for r in dump["ranks"]):
            sys.exit(f"a rank was not cut: {dump}")
    cuts.sort(), gathers.sort()
    size = sum(os.path.getsize(p) for p in glob.glob(os.path.join(fleet.directory, "dump-0", "*.ttc")))
    judged = "not judged" if ONCE else "met" if cuts[len(cuts) // 2] <= 1 else "MISSED"
    print(f"  dump of all ranks, {times} times: cut {cuts[len(cuts) // 2]:.3f} s after the command (most {cuts[-1]:.3f}; 0.1 of it ahead) (target <= 1: {judged}), "
          f"with the transfer of {size / 1e6:.2f} MB {gathers[len(gathers) // 2]:.3f} s; commands were taken up {-max(late):.0f} ms before the instant at the least")


def balanced(fleet):
    report = fleet.ask("report")
    for rank in range(COLLECTORS):
        got = next(r for r in report["ranks"] if r["rank"] == f"host{rank}_rank_{rank}")
        done = subprocess.run([f"{BIN}/ttexport", "--from", fleet.capture(rank), "--format", "ops-json"], capture_output=True, text=True, check=True)
        ops = len(done.stdout.splitlines())
        if got["ops"] != ops or got["missing"] or got["again"]:
            sys.exit(f"{ops} ops in the capture, on the bus {got}")
    print(f"  {sum(r['ops'] for r in report['ranks'])} ops on the bus are those of the captures, none twice")


def main():
    print(f"fleet_collectors_bench: {os.cpu_count()} cores{', TTC_BENCH_ONCE: times mean nothing' if ONCE else ''}")
    if not SERVER:
        print("  nats-server is absent (Debian: nats-server); nothing was measured")
        return
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as directory:
        fleet = Fleet(directory)
        try:
            while not fleet.all_publish():
                time.sleep(0.1)
            measured(fleet)
            dumped(fleet, 1 if ONCE else 10)
            fleet.end()
            balanced(fleet)
        finally:
            fleet.clean()


main()

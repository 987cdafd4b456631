"""ttcollect run with processes that have a Tracy client each: whose ops are whose, programs that end at once, context switches, and Tracy servers
that look on while the run lasts."""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import threading

from harness import BIN, card_name, check, finish, next_line, remove_at_end, run, skip, start, work
from host_side_test import client_file
from tracy_server import Server

# A Tracy client of protocol 76 in C. It ends at once, or with TRACY_NO_EXIT waits for a server, or with an argument waits so many ms for one.
SHORT = r"""
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int peer;
static void all(const void* bytes, size_t n) { if (send(peer, bytes, n, MSG_NOSIGNAL) != (ssize_t)n) _exit(9); }
static void block(const uint8_t* items, uint32_t n) {
  uint8_t out[400]; uint32_t size = n + 2, at = 4;
  out[at++] = 0xf0; out[at++] = (uint8_t)(n - 15);
  memcpy(out + at, items, n); memcpy(out, &size, 4); all(out, at + n);
}
int main(int count, char** words) {
  int listener = -1, one = 1;
  for (int port = 8086; port < 8106; ++port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr*)&at, sizeof at) == 0 && listen(listener, 4) == 0) break;
    close(listener);
    listener = -1;
  }
  if (listener < 0) return 8;
  puts("listening"); fflush(stdout);
  for (;;) {
    struct pollfd ready = {listener, POLLIN, 0};
    char offer[12];
    uint32_t protocol;
    if (poll(&ready, 1, getenv("TRACY_NO_EXIT") ? -1 : count > 1 ? atoi(words[1]) : 0) == 0) return 5;
    peer = accept(listener, NULL, NULL);
    if (recv(peer, offer, 12, MSG_WAITALL) != 12) return 7;
    memcpy(&protocol, offer + 8, 4);
    if (protocol == 76) break;
    all("\2", 1); close(peer);
  }
  uint8_t welcome[1170] = {0};
  double mul = 1;
  int64_t begin = 1000;
  uint64_t pid = (uint64_t)getpid();
  memcpy(welcome, &mul, 8); memcpy(welcome + 8, &begin, 8); memcpy(welcome + 48, &pid, 8);
  all("\1", 1); all(welcome, sizeof welcome);
  uint8_t items[64] = {62, 42, 0, 0, 0, 99, 16, 0};    /* ThreadContext 42; SingleStringData of 16 bytes, Message, Terminate */
  memcpy(items + 8, "of short program", 16);
  items[24] = 2; begin = 1500; memcpy(items + 25, &begin, 8); items[33] = 60;
  block(items, 34);
  for (;;) {
    uint8_t query[13], name[40] = {105};
    if (recv(peer, query, 13, MSG_WAITALL) != 13) return 6;
    if (query[0] == 0) return 5;
    memcpy(name + 1, query + 1, 8); name[9] = 16; memcpy(name + 11, "a thread's name.", 16);
    block(name, 27);
  }
}
"""


def short_program():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("no C compiler")
    source, program = work("short.c"), work("short_client")
    with open(source, "w") as file:
        file.write(SHORT)
    built = subprocess.run([compiler, "-O1", "-Wl,--build-id", source, "-o", program], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    return program


def short():
    """--wait-for-short: not before a run has served that very program, then it waits for us; another build of it does not."""
    program, state = short_program(), {**os.environ, "XDG_STATE_HOME": work("state")}

    def around(root, *words, options=("--wait-for-short",)):
        code, _, err = finish(start("ttcollect", "run", "--no-device", *options, "-o", work(root), "--", *words, env=state))
        check(code == 5, f"{root}: {code} {err}")
        data = work(root) + "/.logs/tracy_ops_data.csv"
        return err, os.path.exists(data) and "of short program" in open(data).read()

    err, recorded = around("first", program)
    check("no run has served this build" in err and not recorded, f"{recorded} {err}")
    err, recorded = around("long", program, "60000", options=())    # long enough to be connected to
    check(recorded, err)
    for n in range(3):
        err, recorded = around(f"again{n}", program)
        check("sets TRACY_NO_EXIT=1" in err and "waits until it is killed" in err and recorded, f"{recorded} {err}")
    other = work("other_build")
    shutil.copy(program, other)
    with open(other, "r+b") as file:
        content = file.read()
        at = content.index(b"GNU\0", content.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0")) + 4
        file.seek(at)
        file.write(bytes([content[at] ^ 255]))
    err, recorded = around("other", other)
    check("no run has served this build" in err and not recorded, f"{recorded} {err}")
    err, _ = around("shell", "sh", "-c", f"{program} 1; exit 5")
    check("TRACY_NO_EXIT is not set" in err, err)


def waits_in_vain():
    """A process of another protocol that inherited TRACY_NO_EXIT: reported while it waits, with its number."""
    process = start("ttcollect", "run", "--no-device", "-o", work("vain"), "--", sys.executable, client_file(), "9999", "hold",
                    env={**os.environ, "TRACY_NO_EXIT": "1"}, stdin=subprocess.PIPE)
    while "waits in its exit until it is killed" not in (line := next_line(process.stderr)):
        check(line != "", "the wait was not reported")
    process.stdin.close()
    process.stdin = None
    code, _, err = finish(process)
    check(code == 3, f"{code} {err}")


def processes():
    """Two processes with a card each, which both call it device 0: each op is of its process, and has its own card's time."""
    names, root = [card_name(), card_name()], work("processes")
    for name in names:
        remove_at_end(f"emu-{name}")
    cards = " & ".join(f"{BIN}/ttemu --name {name} --cores 2 --programs {programs} --pace 20 --linger 60s -q"
                       for name, programs in zip(names, (20, 35)))
    clients = " & ".join(f"TT_VISIBLE_DEVICES={chip} TT_RUN_RANK={chip} {sys.executable} {client_file()} {protocol} ops:1:{ops}"
                         for chip, (protocol, ops) in enumerate(((83, 20), (76, 35))))
    code, out, err = finish(start("ttcollect", "run", "-o", root, "-d", ",".join(f"emu:{name}" for name in names), "--", "sh", "-c",
                                  f"{cards} & {clients} & wait"))
    check(code == 0, f"{code} {err}")
    check("55 ops, " in out and "on 2 devices by 2 processes" in out and "rank 0" in out and "rank 1" in out, out)
    folder = glob.glob(f"{root}/reports/*")[0]
    with open(f"{folder}/ops.json") as file:
        ops = json.load(file)
    with open(glob.glob(f"{folder}/ops_perf_results*.csv")[0], newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["DEVICE KERNEL DURATION [ns]"]]
    check(len(rows) == 55, f"{len(rows)} rows")
    for rank, count in ((0, 20), (1, 35)):
        of = [r for r in rows if r["HOST PROCESS"].endswith(f" rank {rank}")]
        check(len(of) == count and all(r["DEVICE ID"] == str(rank) for r in of), f"rank {rank}: {len(of)} rows")
        check({int(r["GLOBAL CALL COUNT"]) for r in of} == set(range(1, count + 1)), f"rank {rank}: its calls")
    check({r["process"] is None for r in ops["rows"]} == {False}, "rows of ops.json without a process")
    code, out, err = run("ttreport", "ops", f"{folder}/run.ttc", "--no-merge-devices", "--rows", "3")
    check(code == 0 and "Process" in out and " rank " in out, f"{code} {out} {err}")


def switches():
    """--context-switches: the client's switches of its own threads are in the capture, others are not; `ttreport threads` has their times."""
    root = work("switches")
    code, _, err = finish(start("ttcollect", "run", "-v", "--no-device", "--context-switches", "-o", root, "--", sys.executable,
                                client_file(), "76", "switches"))
    check(code == 0, f"{code} {err}")
    check("TRACY_NO_SAMPLING=1" in err and "TRACY_NO_SYS_TRACE" not in err, err)
    capture = glob.glob(f"{root}/reports/*/run.ttc")[0]
    code, out, err = run("ttreport", "threads", capture, "--json", "-")
    check(code == 0, err)
    threads = json.loads(out)["threads"]
    check(len(threads) == 1 and threads[0]["switches"] == 10, str(threads))
    check((threads[0]["running_ns"], threads[0]["sleeping_ns"], threads[0]["ready_ns"]) == (10_000, 18_000, 9_000), str(threads[0]))
    code, out, err = run("ttreport", "threads", capture)
    check(code == 0 and "Longest ready" in out and "main" in out, f"{out} {err}")
    # Without the option, or without a switch.
    code, _, err = finish(start("ttcollect", "run", "--no-device", "--context-switches", "-o", work("none"), "--", sys.executable,
                                client_file(), "76", "plain"))
    check(code == 0 and "no context switches came" in err, err)
    code, _, err = run("ttreport", "threads", glob.glob(f"{work('none')}/reports/*/run.ttc")[0])
    check(code == 3 and "--context-switches" in err, f"{code} {err}")


def looked_on():
    """--pass-through: a Tracy server that came before the workload began gets host and device."""
    name, root = card_name(), work("looked_on")
    remove_at_end(f"emu-{name}")
    line = (f"read go; {BIN}/ttemu --name {name} --cores 2 --programs 60 --pace 20 --linger 60s -q & "
            f"{sys.executable} {client_file()} 83 ops; wait")
    process = start("ttcollect", "run", "-q", "-o", root, "-d", f"emu:{name}", "--pass-through", "0", "--", "sh", "-c", line,
                    stdin=subprocess.PIPE)
    while "Tracy servers may connect to" not in (said := next_line(process.stderr)):
        check(said != "", "there is no address")
    server = Server(76, int(said.split(":")[-1]))
    watching = threading.Thread(target=server.run)
    watching.start()
    process.stdin.write("\n")
    process.stdin.flush()
    code, out, err = finish(process)
    watching.join(60)
    check(code == 0 and not watching.is_alive() and "60 ops, " in out, f"{code} {out} {err}")
    lanes = {zone[0] for zone in server.told()}
    zones = [zone[1] for zone in server.told()]
    check(zones.count("TT_DNN_DEVICE_OP") == 61 and zones.count("BRISC-FW") == 120, f"{len(zones)} zones of {sorted(lanes)}")
    check(len(server.messages) >= 61, f"{len(server.messages)} messages")


if __name__ == "__main__":
    {f.__name__: f for f in (short, waits_in_vain, processes, switches, looked_on)}[sys.argv[1]]()

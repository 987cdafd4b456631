#!/usr/bin/env python3
"""`ttcollect doctor` on live processes: holders of emulated cards, a holder of Tracy's port, misspelt variables; and what it prints at the
start of collecting."""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys

import harness as h
from doctor_findings import environment, ids_of, only_there, python

MISSPELT = {
    "TT_METAL_DEVICE_PROFLER": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_DEVICE_PROFILLER": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_DEVCIE_PROFILER": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_PROFILER_DEVICE": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_PROFILER": "TT_METAL_DEVICE_PROFILER",
    "tt_metal_device_profiler": "TT_METAL_DEVICE_PROFILER",
    "TTMETAL_DEVICE_PROFILER": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_ENABLE_DEVICE_PROFILER": "TT_METAL_DEVICE_PROFILER",
    "TT_METAL_DEVICE_PROFILER_NOC_EVENT": "TT_METAL_DEVICE_PROFILER_NOC_EVENTS",
    "TT_METAL_DEVICE_PROFILER_DISPACH": "TT_METAL_DEVICE_PROFILER_DISPATCH",
    "TT_METAL_PROFILER_SUPPORT_COUNT": "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT",
    "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNTS": "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT",
    "TT_METAL_PROFILER_MIDRUN_DUMP": "TT_METAL_PROFILER_MID_RUN_DUMP",
    "TT_METAL_PROFILER_TRACE_TRACKNG": "TT_METAL_PROFILER_TRACE_TRACKING",
    "TT_METAL_PROFILE_PERF_COUNTER": "TT_METAL_PROFILE_PERF_COUNTERS",
    "TT_METAL_WATCHER_NO_INLINE": "TT_METAL_WATCHER_NOINLINE",
    "TT_METAL_WATCHER_DELAY": "TT_METAL_WATCHER_DEBUG_DELAY",
    "TT_METAL_DPRINT_CORE": "TT_METAL_DPRINT_CORES",
    "TT_METAL_SLOW_DISPATCH": "TT_METAL_SLOW_DISPATCH_MODE",
    "TT_METAL_VISIBLE_DEVICE": "TT_METAL_VISIBLE_DEVICES",
}
# The command of tt-train's guide.
GUIDE = {"TT_METAL_WATCHER_NOINLINE": "1", "TT_METAL_WATCHER_DEBUG_DELAY": "10", "TT_METAL_READ_DEBUG_DELAY_CORES": "0,0",
         "TT_METAL_WRITE_DEBUG_DELAY_CORES": "0,0", "TT_METAL_READ_DEBUG_DELAY_RISCVS": "BR",
         "TT_METAL_WRITE_DEBUG_DELAY_RISCVS": "BR"}


def card(**variables):
    name = h.card_name()
    process = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 100, "--host-reads", "every:50", "--brisc-text", 1 << 20, "-q",
                      env=environment(**variables))
    h.wait_for_card(name, process)
    return name, process


def examined(pid):
    """JSON of --for PID, but for findings of the machine itself and of cards and processes of others: those are not this test's."""
    code, out, err = h.run("ttcollect", "doctor", "--for", pid, "--json")
    h.check(code in (0, 1) and not err, f"{code} {err}")
    answer = json.loads(out)
    h.check(answer["in_the_way"] == (code == 1) and answer["loads"] == 0, out)
    holds = [card for p in answer["seen"]["processes"] if p["pid"] == pid for card in p["holds"]]
    answer["findings"] = [f for f in answer["findings"] if f["pid"] == pid or f["card"] in holds or
                          f["id"] == "tracy-port-foreign" and f"pid {pid} " in f["what"]]
    return answer


def found(pid):
    return {f["id"]: f for f in examined(pid)["findings"]}


def end(process):
    process.send_signal(signal.SIGCONT)
    process.terminate()
    h.finish(process)


def variables():
    """20 misspelt environments, one after another, and one that is right."""
    for typed, meant in MISSPELT.items():
        name, process = card(**{typed: "1"})
        findings = found(process.pid)
        h.check(list(findings) == ["variable-misspelt"], f"{typed}: {findings}")
        finding = findings["variable-misspelt"]
        h.check(f"did you mean {meant}?" in finding["what"] and finding["pid"] == process.pid and
                finding["card"] == "emu:" + name and f"{meant}=1" in finding["fix"] and f"{typed}=1" in finding["evidence"], finding)
        end(process)
    name, process = card(TT_METAL_DEVICE_PROFILER="1", TT_METAL_HOME="/opt/tt", TT_LOGGER_LEVEL="info")
    answer = examined(process.pid)
    h.check(not answer["findings"], answer)
    h.check(["emu:" + name] == next(p["holds"] for p in answer["seen"]["processes"] if p["pid"] == process.pid), answer)
    end(process)
    name, process = card(**GUIDE)
    findings = found(process.pid)
    h.check(list(findings) == ["delay-without-effect"], findings)
    h.check("TT_METAL_WATCHER is not set" in findings["delay-without-effect"]["cause"] and
            "TT_METAL_WATCHER=120" in findings["delay-without-effect"]["fix"], findings)
    end(process)


def refused():
    """A card without a profiler, because the variable was misspelt: the refusal, and why."""
    name = h.card_name()
    process = h.start("ttemu", "--name", name, "--profiler", "off", "-q", env=environment(TT_METAL_DEVICE_PROFLER="1"))
    h.wait_for_card(name, process)
    code, _, err = h.run("ttcollect", "-d", "emu:" + name)
    h.check(code == 4 and "the profiler is off" in err and "did you mean TT_METAL_DEVICE_PROFILER?" in err, f"{code} {err}")
    end(process)


def stopped():
    """A holder that is stopped, in words and by its exit code; and what is printed when collecting begins."""
    name, process = card(TT_METAL_WATCHER="0")
    # Findings of another card are not printed, and advice never.
    other, other_process = card()
    code, _, err = h.run("ttcollect", "-d", "emu:" + other, "--for", "50ms")
    h.check(code == 0 and "TT_METAL" not in err, err)
    code, _, err = h.run("ttcollect", "-d", "emu:" + name, "--for", "50ms")
    h.check(code == 0 and "TT_METAL_WATCHER=0 switches it on" in err and "(ttcollect doctor: variable-ineffective)" in err, err)
    code, _, err = h.run("ttcollect", "-d", "emu:" + name, "--for", "50ms", "--quiet")
    h.check(code == 0 and not err, err)
    process.send_signal(signal.SIGSTOP)
    with open(f"/proc/{process.pid}/stat") as stat:    # SIGSTOP takes effect before the process runs again
        h.wait_until(lambda: stat.seek(0) == 0 and stat.read().rsplit(")", 1)[1].split()[0] == "T", "the card is stopped", process)
    code, out, err = h.run("ttcollect", "doctor", "--for", process.pid)
    h.check(code == 1 and not err, f"{code} {err}")
    for words in ("stops   ", f"pid {process.pid}", "is stopped", f"kill -CONT {process.pid}", "stale-holder", f"holds emu:{name}",
                  "in the way", "no load of a card"):
        h.check(words in out, f"'{words}' is not in: {out}")
    end(process)
    end(other_process)


# A process with a Tracy client, as far as the kernel shows one: its library is mapped, it listens or not, and what it announces is in
# the library's data: version 3, port, protocol, pid.
CLIENT = """
import mmap, os, socket, struct, sys, time
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
data = mmap.mmap(library.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
if sys.argv[2] != "none":
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    data[1000:1016] = struct.pack("<HHIQ", 3, int(sys.argv[2]), 66, os.getpid())
print("ready", flush=True)
sys.stdin.read()
"""


def client(port, **variables):
    library = h.work("libTracyClient.so.0.10")
    if not os.path.exists(library):
        shutil.copy("/bin/true", library)
    process = python(CLIENT, library, port, **variables)
    h.check(h.next_line(process.stdout) == "ready\n", "the client did not begin")
    return process


def free_ports(n):
    """Listeners on `n` of Tracy's ports that are free now, the lowest first."""
    held = []
    for port in range(8086, 8106):
        try:
            held.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue    # another process's
        if len(held) == n:
            return held
    h.skip("all of Tracy's ports are taken on this machine")


def ports():
    """A Tracy client whose port this process holds, and one that has its own."""
    mine, other = free_ports(2)
    port, own_port = mine.getsockname()[1], other.getsockname()[1]
    other.close()
    deaf = client("none", TRACY_PORT=str(port))
    findings = found(deaf.pid)
    h.check(list(findings) == ["tracy-port-taken"], findings)
    h.check(f"port {port} belongs to pid {os.getpid()}" in findings["tracy-port-taken"]["evidence"], findings)
    heard = client(own_port, TRACY_PORT=str(own_port))
    answer = examined(heard.pid)
    h.check(not [f for f in answer["findings"] if f["id"] == "tracy-port-taken"], answer)
    at = {p["port"]: p for p in answer["seen"]["ports"]}
    h.check(at[port]["pid"] == os.getpid() and at[own_port]["pid"] == heard.pid and at[own_port]["tracy_client"] is True and
            at[own_port]["tracy_version"] == "0.10" and at[own_port]["tracy_protocol"] == 66, answer)
    h.check("protocol 66 (0.11.0, or Tenstorrent's fork of 0.10)" in h.run("ttcollect", "doctor", "--for", heard.pid)[1], answer)
    if port == 8086:    # and no other test has it
        h.check("tracy-port-foreign" in {f["id"] for f in answer["findings"]}, answer)
    for process in (deaf, heard):
        process.communicate("", timeout=h.LIMIT_S)
    mine.close()


# Waits in futex(2) on the mutex of a lock, as pthread_mutex_lock() does, until its input ends.
WAITER = """
import ctypes, mmap, os, sys, threading
mapped = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 0)
word = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
expected = int.from_bytes(mapped[:4], "little")
def wait():
    ctypes.CDLL(None).syscall(int(sys.argv[2]), ctypes.c_void_p(word), 0, ctypes.c_uint32(expected), None, None, 0)
threading.Thread(target=wait, daemon=True).start()
sys.stdin.read()
"""
FUTEX = {"x86_64": 202, "aarch64": 98}


def chip_in_use():
    """A machine whose card is made of files, and whose processes are those of this one: one owns UMD's lock, one waits for it."""
    machine = os.uname().machine
    if machine not in FUTEX:
        return
    root = h.work("lock")
    pci, own = root + "/sys/bus/pci/devices/0000:01:00.0", root + "/sys/class/tenstorrent/tenstorrent!3"
    for directory in (pci, own, root + "/dev/shm", root + "/dev/tenstorrent"):
        os.makedirs(directory)
    for path, text in ((pci + "/vendor", "0x1e52\n"), (pci + "/device", "0x401e\n"), (root + "/dev/tenstorrent/3", "")):
        with open(path, "w") as file:
            file.write(text)
    os.symlink("../drivers/tenstorrent", pci + "/driver")
    os.symlink("../../../0000:01:00.0", own + "/device")
    os.symlink("/proc", root + "/proc")
    owner = python("import sys; sys.stdin.read()")
    lock = root + "/dev/shm/TT_UMD_LOCK.CHIP_IN_USE_3_PCIe"
    mutex = struct.pack("<I", 0x80000000 | owner.pid).ljust({"x86_64": 40, "aarch64": 48}[machine], b"\0")
    with open(lock, "wb") as file:
        file.write(mutex + struct.pack("<Qii", 0x5454554d444d5458, owner.pid, owner.pid))
    waiter = python(WAITER, lock, FUTEX[machine])

    def answer():
        code, out, err = h.run("ttcollect", "doctor", "--root", root, "--json")
        h.check(code == 1 and not err, f"{code} {err}")
        return json.loads(out)

    # Until it waits, only the word shows that a thread does.
    h.wait_until(lambda: any(p["waits_for_chip_of"] == [3] for p in answer()["seen"]["processes"]), "the waiter waits", waiter)
    finding = next(f for f in answer()["findings"] if f["id"] == "chip-in-use")
    h.check(finding["pid"] == waiter.pid and f"pid {waiter.pid} " in finding["what"] and f"pid {owner.pid} " in finding["cause"] and
            f"kill -TERM {owner.pid}" in finding["fix"], finding)
    owner.communicate("", timeout=h.LIMIT_S)
    finding = next(f for f in answer()["findings"] if f["id"] == "chip-in-use")
    h.check("is not visible" in finding["cause"] and f"pid {owner.pid} on the host" in finding["fix"], finding)
    waiter.kill()    # its thread sleeps on
    waiter.wait()


# Maps its first argument, and ends with its input.
LIBRARY = """
import mmap, sys
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
print("ready", flush=True)
sys.stdin.read()
"""


def profilers():
    """Profilers of tt-metal's build, and those that its environment switches on, are named with what they exclude."""
    library = h.work("libtt_metal.so")
    for symbol, variables, words in (
            ("IsProgramRealtimeProfilerActive", {}, ["real-time profiler", "excludes the streaming profiler and nothing that ttcollect does"]),
            ("IsProgramRealtimeProfilerActive", {"TT_METAL_STREAMING_PROFILER": "1"},
             ["streaming profiler is on", "excludes the device profiler and the real-time profiler"]),
            ("of an older build", {}, [])):
        with open(library, "w") as file:
            file.write("x" * 5000 + symbol)
        process = python(LIBRARY, library, **variables)
        h.check(h.next_line(process.stdout) == "ready\n", "the workload did not begin")
        seen = next(p for p in examined(process.pid)["seen"]["processes"] if p["pid"] == process.pid)
        named = " ".join(seen["other_profilers"])
        h.check(seen["metal_library"] == library and all(w in named for w in words) and bool(named) == bool(words), seen)
        process.communicate("", timeout=h.LIMIT_S)


def wrong_use():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    code, out, err = h.run("ttcollect", "doctor", "--for", gone.pid)
    h.check(code == 3 and f"there is no process {gone.pid}" in err and not out, f"{code} {out} {err}")
    code, out, err = h.run("ttcollect", "doctor", "--for", "soon")
    h.check(code == 2 and "--for" in err and not out, f"{code} {out} {err}")
    code, out, _ = h.run("ttcollect", "doctor", "--help")
    h.check(code == 0 and "--root" in out and "--for" in out, out)
    empty = h.work("empty")
    os.makedirs(empty + "/sys/bus/pci/devices/nonsense")
    code, out, err = h.run("ttcollect", "doctor", "--root", empty)
    h.check(code == 3 and "cannot be searched" in err and not out, f"{code} {out} {err}")


def machine():
    """A machine made of files on which all is well, and then with one driver less."""
    root = h.work("machine")

    def put(path, text):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with open(root + path, "w") as file:
            file.write(text)

    pci = "/sys/bus/pci/devices/0000:01:00.0/"
    put(pci + "vendor", "0x1e52\n")
    put(pci + "device", "0xb140\n")
    put("/sys/class/tenstorrent/tenstorrent!0/tt_aiclk", "1350\n")
    put("/sys/module/tenstorrent/version", "2.10.0\n")
    put("/dev/tenstorrent/0", "")
    put("/proc/uptime", "100.0 90.0\n")
    os.makedirs(root + "/dev/shm")
    os.symlink("../drivers/tenstorrent", root + pci + "driver")
    os.symlink("../../../0000:01:00.0", root + "/sys/class/tenstorrent/tenstorrent!0/device")
    code, out, err = h.run("ttcollect", "doctor", "--root", root)
    h.check(code == 0 and not err and out.startswith("nothing stands in the way; read: 1 card"), f"{code} {out} {err}")
    code, out, _ = h.run("ttcollect", "doctor", "--root", root, "--json")
    h.check(code == 0 and json.loads(out)["findings"] == [] and json.loads(out)["chip_reads"] == 7, out)
    os.unlink(root + pci + "driver")
    code, out, _ = h.run("ttcollect", "doctor", "--root", root)
    h.check(code == 1 and "0000:01:00.0 has no driver" in out and "modprobe tenstorrent" in out, f"{code} {out}")


# Runs its arguments where io_uring_setup(2) is not permitted, as container runtimes have it.
NO_IO_URING = """
import ctypes, os, struct, sys
filter = b"".join(struct.pack("<HBBI", *one) for one in ((0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
program = ctypes.create_string_buffer(filter)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0
assert prctl(22, 2, ctypes.byref(Program(len(filter) // 8, ctypes.addressof(program)))) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Group:
    """A control group of ours with a limit, of either version; None where this user may make none."""

    def __init__(self, controller, files):
        self.path = None
        for top, names in ((f"/sys/fs/cgroup/{controller}", files[0]), ("/sys/fs/cgroup", files[1])):
            path = f"{top}/ttc-test-{os.getpid()}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            try:
                for name, value in names:
                    with open(f"{path}/{name}", "w") as file:
                        file.write(value)
            except OSError:    # the controller is not given to this directory
                os.rmdir(path)
                continue
            self.path = path
            return

    def __enter__(self):
        return self.path and ("sh", "-c", f'echo $$ >{self.path}/cgroup.procs; exec "$@"', "sh")

    def __exit__(self, *_):
        if self.path:
            os.rmdir(self.path)


def limits():
    """Limits of live processes, namespaces and control groups, each with its finding, which is absent without it."""
    plain = ids_of(())
    only_there("memlock-small", ("prlimit", "--memlock=65536:65536"), plain, "a limit of 64 KiB")
    if len(os.sched_getaffinity(0)) > 1:
        only_there("one-cpu", ("taskset", "-c", str(min(os.sched_getaffinity(0)))), plain, "an affinity of one CPU")
    only_there("io-uring-off", (sys.executable, "-c", NO_IO_URING), plain, "a seccomp filter")
    only_there("shm-small", ("unshare", "-Urm", "sh", "-c", 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"', "sh"), plain,
               "a /dev/shm of 8 MiB")
    missing = []
    for found, controller, files in (
            ("cpu-quota", "cpu", ((("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "90000")), (("cpu.max", "90000 100000"),))),
            ("memory-limit", "memory", ((("memory.limit_in_bytes", str(100 << 20)),), (("memory.max", str(100 << 20)),)))):
        with Group(controller, files) as inside:
            if inside:
                only_there(found, inside, plain, "a control group")
            else:
                missing.append(controller)
    if missing:
        print(f"no control group could be made for: {', '.join(missing)}")


def main():
    machine()
    limits()
    wrong_use()
    refused()
    stopped()
    chip_in_use()
    ports()
    profilers()
    variables()
    print("ok")


main()

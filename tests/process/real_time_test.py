#!/usr/bin/env python3
"""--realtime: what is granted, what is printed where it is not, and that the machine is not starved."""
import ctypes
import os
import resource
import shutil
import struct
import subprocess
import sys
import time

import harness as h

NOBODY = 65534
NO_PRIORITY = {resource.RLIMIT_RTPRIO: 0, resource.RLIMIT_NICE: 0, resource.RLIMIT_MEMLOCK: 8 << 20}
# /usr/include/linux/capability.h: VFS_CAP_REVISION_2 with the effective bit; CAP_IPC_LOCK 14, CAP_SYS_NICE 23.
FILE_CAPABILITIES = struct.pack("<IIIII", 0x02000001, 1 << 14 | 1 << 23, 0, 0, 0)


def permitted():
    child = os.fork()
    if child == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def emulator(*arguments):
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 200, "--linger", "0s", "--quiet", *arguments)
    h.wait_for_card(name, card)
    return name, card


def threads(pid):
    """(scheduling, priority, nice, tid) of each."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found.append((os.sched_getscheduler(int(tid)) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(int(tid)).sched_priority,
                          os.getpriority(os.PRIO_PROCESS, int(tid)), int(tid)))
        except ProcessLookupError:
            pass
    return found


def real_time_threads(pid):
    return [t for t in threads(pid) if t[0] == os.SCHED_FIFO]


def end(collector):
    collector.terminate()
    code, out, err = h.finish(collector)
    h.check(code == 0, f"{code} {err}")
    return h.device(out)["realtime"], err


def collect(name, *arguments, **options):
    collector = h.start("ttcollect", "--device", "emu:" + name, "--realtime", "--json", *arguments, **options)
    h.wait_for_collector(name, collector)
    return collector


def granted():
    name, card = emulator()
    collector = collect(name)
    h.wait_until(lambda: real_time_threads(collector.pid), "a real-time thread", collector)
    seen = threads(collector.pid)
    h.check(sorted(t[:2] for t in seen if t[0] == os.SCHED_FIFO) == [(os.SCHED_FIFO, 10)], f"one thread: {seen}")
    locked = [line for line in open(f"/proc/{collector.pid}/status") if line.startswith("VmLck")]
    report, err = end(collector)
    h.check(report["scheduling"] == "fifo" and report["priority"] == 10 and report["stopped"] == 0, f"{report}")
    h.check("is under SCHED_FIFO, priority 10" in err, err)
    h.check(report["memory_locked"] == (int(locked[0].split()[1]) > 32768), f"{report} {locked}")    # the ring alone is 32 MiB
    code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--for", "50ms", "--json")
    h.check(code == 0 and "realtime" not in h.device(out) and "--realtime" not in err, out + err)
    card.terminate()
    h.finish(card)


def as_nobody(limits):
    """Options of a process of an unprivileged user with these limits."""
    def become():
        for what, value in limits.items():
            resource.setrlimit(what, (value, value))
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return {"cwd": "/", "preexec_fn": become}


def refuse_sched_fifo():
    """As systemd's RestrictRealtime= and containers do: sched_setscheduler(2) gives EPERM, by a seccomp filter."""
    load, jump_equal, give = 0x20, 0x15, 0x06    # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
    number = {"x86_64": 144, "aarch64": 119}[os.uname().machine]
    program = b"".join(struct.pack("<HBBI", *one) for one in (
        (load, 0, 0, 0), (jump_equal, 0, 1, number), (give, 0, 0, 0x00050000 | 1), (give, 0, 0, 0x7FFF0000)))
    filters = ctypes.create_string_buffer(program)
    header = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(filters))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, header, 0, 0) != 0:    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "no filter")


def said(name, options, scheduling, priority, nice):
    """The line of a collector of which one thread is like this. It collects all the same."""
    collector = h.start("ttcollect", "--device", "emu:" + name, "--realtime", "--json", "--wait", "10min", **options)
    wanted = (os.SCHED_FIFO if priority else os.SCHED_OTHER, priority or 0, nice)
    h.wait_until(lambda: any(t[:3] == wanted for t in threads(collector.pid)) and h.live(f"emu-{name}"), f"a thread of {wanted}", collector)
    report, err = end(collector)
    h.check((report["scheduling"], report["priority"], report["nice"]) == (scheduling, priority, nice), f"{report}")
    lines = [text for text in err.splitlines() if "--realtime:" in text]
    h.check(len(lines) == 1, err)
    return report, lines[0]


def refused():
    name, card = emulator()
    of_scheduling = ["RLIMIT_RTPRIO is 0", "setcap cap_sys_nice", "rtprio 10", "LimitRTPRIO=10", "--cap-add SYS_NICE"]
    of_memory = ["RLIMIT_MEMLOCK is 8192 KiB", "cap_ipc_lock=ep " + os.path.join(h.BIN, "ttcollect"), "memlock unlimited",
                 "LimitMEMLOCK=infinity", "--cap-add IPC_LOCK"]
    report, line = said(name, as_nobody(NO_PRIORITY), "normal", None, os.nice(0))
    h.check(not report["memory_locked"] and all(words in line for words in of_scheduling + of_memory), f"{report} {line}")
    report, line = said(name, {"preexec_fn": refuse_sched_fifo}, "nice", None, -20)
    h.check(report["memory_locked"] and "setcap cap_sys_nice=ep" in line and "is at nice -20" in line, f"{report} {line}")
    h.check(not any(words in line for words in of_memory), line)
    card.terminate()
    h.finish(card)


def limits():
    """limits.conf grants less than --realtime needs."""
    name, card = emulator()
    for limit, value, scheduling, priority, nice in ((resource.RLIMIT_NICE, 27, "nice", None, -7),
                                                     (resource.RLIMIT_RTPRIO, 5, "fifo", 5, os.nice(0))):
        said(name, as_nobody({**NO_PRIORITY, limit: value}), scheduling, priority, nice)
    card.terminate()
    h.finish(card)


def capabilities_of_the_file():
    """The advice of the message works: setcap, an unprivileged user, no limits raised."""
    name, card = emulator()
    directory = h.work("granted")
    os.mkdir(directory)
    os.chmod(os.path.dirname(directory), 0o755)
    os.chown(directory, NOBODY, NOBODY)
    program = os.path.join(directory, "ttcollect")
    shutil.copy(os.path.join(h.BIN, "ttcollect"), program)
    try:
        os.setxattr(program, "security.capability", FILE_CAPABILITIES)
    except OSError as error:
        h.skip(f"no capabilities on files in {directory}: {error}")
    capture = os.path.join(directory, "run.ttc")
    done = subprocess.run([program, "--device", "emu:" + name, "--realtime", "--json", "--for", "300ms", "-o", capture], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=h.LIMIT_S,
                          **as_nobody(NO_PRIORITY))
    h.check(done.returncode == 0, done.stderr)
    report = h.device(done.stdout)["realtime"]
    h.check(report["scheduling"] == "fifo" and report["memory_locked"], f"{report} {done.stderr}")
    h.check(h.run("ttcollect", "info", capture)[0] == 0, "the capture cannot be read")
    card.terminate()
    h.finish(card)


def cpu_ns(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
        return int(file.read().split()[0])


def leaves_a_share():
    """Polls without a pause: the thread would take all of its CPU."""
    name, card = emulator()
    collector = collect(name, "--busy", "0us", "--idle", "10us")
    h.wait_until(lambda: real_time_threads(collector.pid), "a real-time thread", collector)
    tid = real_time_threads(collector.pid)[0][3]
    began, used = time.monotonic_ns(), cpu_ns(collector.pid, tid)
    end_of_look = began + 500_000_000
    h.wait_until(lambda: time.monotonic_ns() >= end_of_look, "half a second", collector)
    used = cpu_ns(collector.pid, tid) - used
    passed = time.monotonic_ns() - began
    report, _ = end(collector)
    h.check(used <= 0.9 * passed + 20_000_000, f"{used} of {passed} ns")    # the kernel's account is a tick or two behind
    h.check(report["rests"] > 0 and report["rested_ns"] >= 100_000 * report["rests"] and report["stopped"] == 0, f"{report}")
    card.terminate()
    h.finish(card)


def watchdog():
    """One sweep takes over 200 ms of CPU time, as where PCIe stalls the CPU."""
    name, card = emulator("--round-trip-ns", 400000)
    collector = collect(name, "--no-sync")
    line = "..."
    while line and "did not sleep for 200 ms, so it has no real-time priority for 10 s" not in line:
        line = h.next_line(collector.stderr)
    h.check(line, "the collector ended")
    h.check(not real_time_threads(collector.pid), f"{threads(collector.pid)}")
    report, err = end(collector)
    h.check(report["scheduling"] == "fifo" and report["stopped"] >= 1, f"{report} {err}")
    card.terminate()
    h.finish(card)


def raises_limits():
    """CAP_SYS_RESOURCE."""
    with open("/proc/self/status") as status:
        return any(line.startswith("CapEff") and int(line.split()[1], 16) >> 24 & 1 for line in status)


case = sys.argv[1]
if case in ("granted", "capabilities_of_the_file", "leaves_a_share", "watchdog") and not permitted():
    h.skip("SCHED_FIFO is not permitted here")
if case in ("refused", "capabilities_of_the_file", "limits") and os.getuid() != 0:
    h.skip("only root can start a process of another user")
if case == "limits" and not raises_limits():
    h.skip("hard limits cannot be raised here (CAP_SYS_RESOURCE)")
{"granted": granted, "refused": refused, "capabilities_of_the_file": capabilities_of_the_file, "leaves_a_share": leaves_a_share,
 "limits": limits, "watchdog": watchdog}[case]()
print("ok")

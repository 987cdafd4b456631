#!/usr/bin/env python3
"""Collecting where something of the host is not there: what still works, and one sentence for what does not."""
import json
import os
import subprocess

import harness as h

# The programs that run inside; `mount` needs the namespaces of the first words.
NEW = {
    "pid": ("unshare", "-Urpf", "--mount-proc"),
    "shm": ("unshare", "-Urm", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && exec \"$@\"", "sh"),
    "users": ("unshare", "-Ur"),
    "mapped": ("unshare", "-U", "--map-user=1234", "--map-group=1234"),
    "read_only": ("unshare", "-Urm", "sh", "-c",
                  "mount --make-rprivate / && mount -o remount,bind,ro / && exec \"$@\"", "sh"),
}


def card(*more):
    name = h.card_name()
    return name, h.start("ttemu", "--name", name, "--cores", 2, "--programs", 300, "--host-reads", "every:50", "--pace", 64, "--wait-observer",
                         "--truth", h.work(name + ".csv"), "-q", *more)


def collected(inside, *more, code=0, columns=15):
    """A whole run with the collector inside; its report and stderr. What was captured must be the truth in so many columns."""
    name, emulator = card()
    path = h.work(name + ".ttc")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--json", "-o", path, *more, inside=inside)
    got, out, err = h.finish(collector)
    h.check(got == code, f"{inside}: {got} {err}")
    h.check(h.finish(emulator)[0] == 0, f"{inside}: the card did not end in order")
    exported = h.work(name + ".out.csv")
    got, _, export_err = h.run("ttexport", "--from", path, "-o", exported)
    h.check(got == 0, f"{inside}: {got} {export_err}")
    lost = h.device(out)["lost"]
    def cut(path):
        return {tuple(row.split(",")[:columns]) for row in h.rows(path)}
    missing = cut(h.work(name + ".csv")) - cut(exported)
    h.check(not missing or lost, f"{inside}: {len(missing)} rows are missing without a word")
    return name, h.device(out), err


def pid_namespace():
    """No /proc of the workload: markers come, and a message reports that its variables and zone names are out of reach."""
    _, _, err = collected(NEW["pid"], columns=8)    # zones have numbers
    h.check("cannot be read" in err and "--metal-home" in err, f"nothing is reported of the workload: {err}")


def private_shm():
    """The ring is visible inside only; the capture is on the disk for all."""
    name, _, _ = collected(NEW["shm"], columns=8)    # nor can the workload be read from another user namespace
    code, _, err = h.run("ttexport", "--from", "live:emu-" + name)
    h.check(code == 3 and "no such segment" in err, f"outside: {code} {err}")


def mapped_users():
    """Another number for the same user: segments are distinguished by the number inside."""
    collected(NEW["users"], columns=8)
    if os.geteuid() == 0:
        collected(NEW["mapped"], "--ring", "4MiB", columns=8) if writable_by_mapped() else None


def writable_by_mapped():
    probe = h.work("probe")
    return subprocess.run([*NEW["mapped"], "touch", probe], capture_output=True).returncode == 0


def read_only_root():
    """Nothing can be written: one sentence if a file was requested, and collecting works without."""
    name, emulator = card()
    code, _, err = h.finish(h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q", "-o", h.work("no.ttc"),
                                    inside=NEW["read_only"]))
    h.check(code == 6 and "Read-only file system" in err and len(err.strip().splitlines()) == 1, f"{code} {err}")
    emulator.kill()
    name, emulator = card()
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--json", inside=NEW["read_only"])
    code, out, err = h.finish(collector)
    h.check(code == 0 and h.device(out)["markers"] > 1000, f"without a file: {code} {err}")
    h.finish(emulator)


def no_io_uring():
    """io_uring is refused, as most containers do: pwrite and poll instead, and it is reported."""
    limited = ("sh", "-c", "ulimit -l 0; exec \"$@\"", "sh")
    _, device, _ = collected((), "--plain")
    h.check("pwrite" in device["output"]["backend"], device["output"])
    collected(limited)


def main():
    case = h.sys.argv[1]
    first = {"pid": "pid", "shm": "shm", "users": "users", "read_only": "read_only"}.get(case)
    if first and subprocess.run([*NEW[first], "true"], capture_output=True).returncode != 0:
        h.skip("no such namespaces here")
    {"pid": pid_namespace, "shm": private_shm, "users": mapped_users, "read_only": read_only_root, "no_io_uring": no_io_uring}[case]()
    print("ok")


main()

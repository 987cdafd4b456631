#!/usr/bin/env python3
"""`ttcollect doctor` on cards that are made of files, in a mount namespace of their own, with live processes that hold them."""
import json
import os
import subprocess
import sys

import harness as h
from doctor_findings import environment, ids_of, only_there


def in_reset(attribute, inside, plain):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("no /dev/fuse: a chip that is being reset was not tried")
        return
    unshare, over = inside[:inside.index("sh")], inside[inside.index("sh"):]
    resetting = (*unshare, sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "enodata.py"), attribute, *over)
    h.check(ids_of(resetting) - plain == {"resetting"}, f"a chip that is being reset: {ids_of(resetting) - plain}")


# Maps tt-metal's library, holds the card's node, and ends with its input; its arguments are run beside it.
WORKLOAD = """
import mmap, os, subprocess, sys
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
node = open("/dev/tenstorrent/0", "rb")
plain = {name: value for name, value in os.environ.items() if not name.startswith("TT_METAL")}
sys.exit(subprocess.run([*sys.argv[2:], str(os.getpid())], env=plain).returncode)
"""


def cached_kernels(inside):
    """A workload with the profiler on, whose kernels come from a cache: of a run without the profiler, of one with it."""
    cache, library, home = h.work("cache"), h.work("libtt_metal.so"), h.work("home")
    kernel = os.path.join(cache, "tt-metal-cache/3f/1234/kernels/reader/77/brisc/brisc.elf")
    os.makedirs(os.path.dirname(kernel))
    os.makedirs(home + "/generated/profiler/.logs")
    with open(library, "w") as file:
        file.write("x" * 5000)
    variables = environment(TT_METAL_DEVICE_PROFILER="1", TT_METAL_CACHE=cache, TT_METAL_HOME=home)
    for code, expected in (("_start kernel_main src/kernel_profiler.hpp", "cached-without-profiler"),
                           ("_start _ZN15kernel_profiler6wIndexE", "no-zone-names")):
        with open(kernel, "w") as file:
            file.write("\x7fELF " + code)
        os.utime(kernel, (0, 0))    # long before the workload
        done = subprocess.run([*inside, sys.executable, "-c", WORKLOAD, library, os.path.join(h.BIN, "ttcollect"), "doctor", "--json", "--for"],
                              env=variables, capture_output=True, text=True, timeout=h.LIMIT_S)
        h.check(done.returncode in (0, 1) and not done.stderr, f"{done.returncode} {done.stderr}")
        answer = json.loads(done.stdout)
        found = {f["id"]: f for f in answer["findings"] if f["pid"]}
        both = {"cached-without-profiler", "no-zone-names"}
        h.check(both & set(found) == {expected}, f"{code}: {list(found)} {answer}")
        h.check(cache in found[expected]["fix"] or expected == "no-zone-names", f"{found[expected]}")


# Mounts a tree of files over what the kernel shows, in a mount namespace of its own, and runs the rest there: what is read is read by its
# own path.
OVER = """
for place in sys/bus/pci/devices sys/class sys/module sys/devices/system/cpu dev; do mount --rbind "$0/$place" "/$place"; done
exec "$@"
"""


def cards():
    """Power, heat, links, drivers, CPUs near a card: each by a file that changes in a mount namespace, read through the kernel's own paths."""
    root, n = h.work("namespace"), "/sys/class/tenstorrent/tenstorrent!0/"
    pci, cpu = "/sys/bus/pci/devices/0000:01:00.0/", f"/sys/devices/system/cpu/cpu{min(os.sched_getaffinity(0))}/"

    def put(path, text):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with open(root + path, "w") as file:
            file.write(text)

    everywhere = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    healthy = {pci + "vendor": "0x1e52\n", pci + "device": "0xb140\n", pci + "numa_node": "0\n", pci + "local_cpulist": everywhere + "\n",
               pci + "current_link_speed": "16.0 GT/s PCIe\n", pci + "max_link_speed": "16.0 GT/s PCIe\n",
               pci + "current_link_width": "16\n", pci + "max_link_width": "16\n",
               pci + "hwmon/hwmon0/temp1_input": "60000\n", pci + "hwmon/hwmon0/temp1_max": "90000\n",
               pci + "hwmon/hwmon0/power1_input": "80000000\n", pci + "hwmon/hwmon0/power1_max": "300000000\n",
               n + "tt_aiclk": "1350\n", n + "tt_therm_trip_count": "0\n", "/sys/module/tenstorrent/version": "2.10.0\n",
               cpu + "cpufreq/scaling_governor": "performance\n", cpu + "cpuidle/state3/name": "C6\n", cpu + "cpuidle/state3/latency": "30\n",
               cpu + "cpuidle/state3/disable": "0\n", "/dev/tenstorrent/0": "", "/dev/null": ""}
    for path, text in healthy.items():
        put(path, text)
    os.makedirs(root + "/dev/shm")
    os.symlink("../drivers/tenstorrent", root + pci + "driver")
    os.symlink("../../../bus/pci/devices/0000:01:00.0", root + n + "device")
    inside = ("unshare", "--mount", "--propagation", "private", "sh", "-ec", OVER, root)
    plain = ids_of(inside)
    for found, changes in (
            ("throttled", {pci + "hwmon/hwmon0/power1_input": "300000000\n"}),
            ("throttled", {pci + "hwmon/hwmon0/temp1_input": "90500\n"}),
            ("thermal-trip", {n + "tt_therm_trip_count": "1\n"}),
            ("link-below-best", {pci + "current_link_speed": "2.5 GT/s PCIe\n"}),
            ("link-below-best", {pci + "current_link_width": "4\n"}),
            ("firmware-stands-still", {n + "tt_heartbeat": "12345\n"}),
            ("cpu-governor", {cpu + "cpufreq/scaling_governor": "powersave\n"}),
            ("deep-idle", {cpu + "cpuidle/state3/latency": "133\n"}),
            ("far-from-card", {pci + "numa_node": "1\n", pci + "local_cpulist": "1000-1007\n"}),
            ("driver-too-old", {"/sys/module/tenstorrent/version": "1.34\n"}),
            ("driver-lacks", {"/sys/module/tenstorrent/version": "2.4.1\n"})):
        for path, text in changes.items():
            put(path, text)
        only_there(found, inside, plain, f"{changes}")
        h.check(ids_of(inside) - plain == {found}, f"{changes}: {ids_of(inside) - plain}")
        for path in changes:
            put(path, healthy[path]) if path in healthy else os.unlink(root + path)
    h.check(ids_of(inside) == plain, "a healthy card again")
    in_reset(root + n + "tt_aiclk", inside, plain)
    cached_kernels(inside)
    os.chmod(root + "/dev/tenstorrent/0", 0o600)
    for folder in (root, os.path.dirname(root)):
        os.chmod(folder, 0o755)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    only_there("no-permission", (*inside, *nobody), plain, "a node of root's alone")
    os.unlink(root + pci + "driver")
    only_there("no-driver", inside, plain, "a function without a driver")


if os.getuid() != 0:
    h.skip("mounting over /sys needs root")
cards()
print("ok")

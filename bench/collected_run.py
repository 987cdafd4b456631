"""The capture that benchmarks of readers read: a paced run on 64 cores, of which the host reads the profiler's buffers now and then."""
import glob
import os
import platform
import subprocess
import sys


def machine():
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(": ")[1].strip() for line in info if line.startswith("model name")), "unknown CPU")
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def collected(directory, binaries, programs):
    """Path of a capture of as many programs."""
    name, path = f"bench-run-{os.getpid()}", os.path.join(directory, "run.ttc")
    card = subprocess.Popen([f"{binaries}/ttemu", "--name", name, "--cores", "64", "--programs", str(programs), "--host-reads", "every:300",
                             "--pace", "--wait-observer", "-q"])
    collector = subprocess.run([f"{binaries}/ttcollect", "-d", f"emu:{name}", "--wait", "1min", "-q", "-o", path])
    if card.wait() or collector.returncode:
        sys.exit("the capture was not made")
    for segment in glob.glob(f"/dev/shm/ttcollect-emu-{name}.*"):    # the collector leaves it to its readers
        os.unlink(segment)
    return path

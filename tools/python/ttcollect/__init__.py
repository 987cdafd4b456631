"""Marks and steps on the timeline of `ttcollect run`, without Tracy.

    import ttcollect
    ttcollect.mark("warm-up is over")
    with ttcollect.step(5):
        train()

A step is two signposts, step_5_start and step_5_end, as reports expect them. Without a collector (TTCOLLECT_MARKS is not set)
both do nothing. A mark never waits and never raises: what could not be sent is counted in `lost`, and in memory of `ttcollect run`, which
reports it at its end.
"""
import os
import socket
import threading
import time

lost = 0
_socket = None
_pid = None
_where = os.environ.get("TTCOLLECT_MARKS")
_losing = threading.Lock()


def _send(kind, text):
    global _socket, _pid, lost
    if _pid != os.getpid():    # also after a fork
        _socket, _pid = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), os.getpid()
        _socket.setblocking(False)
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    try:
        _socket.sendto(f"{now} {_pid} {threading.get_native_id()} {kind}\n{text}".encode(errors="replace"), "\0" + _where)
    except OSError:
        with _losing:
            lost += 1
            _count_lost(now)


def _count_lost(now):
    """In the slot of this process (collector/host_side/mark_losses.hpp). Where there is none, as in another PID namespace, `lost` has it."""
    import mmap
    import struct
    slot, page = 32, mmap.ALLOCATIONGRANULARITY
    try:
        file = os.open(os.environ.get("TTCOLLECT_MARKS_LOST", ""), os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        if os.pread(file, 8, 0) != b"ttc mark":
            return
        at = _pid * slot
        with mmap.mmap(file, page, offset=at // page * page) as memory:
            count, first, _ = struct.unpack_from("<QQQ", memory, at % page)
            struct.pack_into("<QQQ", memory, at % page, count + 1, first or now, now)
    except (OSError, ValueError):    # no file of ours, or a shorter one
        pass
    finally:
        os.close(file)


class _Step:
    def __init__(self, number):
        self.number = number

    def __enter__(self):
        _send("b", f"step_{self.number}_start")

    def __exit__(self, *_):
        _send("e", f"step_{self.number}_end")


class _Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


_nothing = _Nothing()

if _where:
    def mark(text):
        _send("m", text)

    def step(number):
        return _Step(number)

    def start():
        """In a run with --paused: collecting from the device starts."""
        _send("r", "")

    def stop():
        """Collecting from the device stops for good; the program continues."""
        _send("s", "")
else:
    def mark(text):
        pass

    def step(number):
        return _nothing

    def start():
        pass

    def stop():
        pass


def __getattr__(name):
    """open(), Run, Tables, Error, UNBOUNDED and OPEN_END need numpy and libttcollect; marks need neither, and do not wait for them."""
    if name in ("open", "Run", "Tables", "Error", "UNBOUNDED", "OPEN_END"):
        from . import _library
        _library.loaded()
        from . import _reader
        return getattr(_reader, name)
    raise AttributeError(f"module 'ttcollect' has no attribute '{name}'")

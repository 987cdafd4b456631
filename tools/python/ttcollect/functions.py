"""Python functions, and lines if requested, as zones on the timeline of `ttcollect run`, without the package tracy.

`python3 -m ttcollect [-p] [-l] [-m MODULE | SCRIPT] ARGS...` traces a program; within one, `Profiler().enable()` and `disable()` do, as
those of tt-metal's package tracy. Names are as there: PY_FUNC_name, PY_LINE_name. Functions of the standard library and of
installed packages are left out.

Zones go by datagram to the socket of marks, some hundred in each (collector/host_side/python_zones.hpp). Nothing here waits while the
program runs: what the socket does not take is kept, up to MOST_BYTES; beyond it tracing ends, `incomplete` is set, and `ttcollect run`
prints at its end the number of zones of the process that are missing.
"""
import atexit
import itertools
import os
import socket
import sys
import sysconfig
import threading
import time
import weakref

DATAGRAM_BYTES = 24_000
MOST_BYTES = 16 << 20
EVERY_NS = 50_000_000
LAST_WAIT_S = 2

incomplete = False
_where = os.environ.get("TTCOLLECT_MARKS")
_now = time.clock_gettime_ns
_RAW = time.CLOCK_MONOTONIC_RAW
_PLAIN = {0: " ", 10: " "}    # what would end a name or its line
_own = os.path.dirname(os.path.abspath(__file__))
_left_out = tuple({_own + os.sep, *(sysconfig.get_path(of) + os.sep for of in ("stdlib", "platstdlib", "purelib", "platlib"))})


class _Thread(threading.local):
    """The zones of a thread since its last datagram."""

    def __init__(self):
        self.stream = _Stream(threading.get_native_id())
        with _tracer.lock:
            _tracer.streams.add(self.stream)


class _Stream:
    def __init__(self, tid):
        self.tid, self.depth, self.parts, self.bytes, self.since = tid, 0, [], 0, 0
        self.lines = []    # by function that is open: whether a zone of a line is

    def add(self, part, now):
        if not self.parts:
            self.since = now
        self.parts.append(part)
        self.bytes += len(part)
        if self.bytes >= DATAGRAM_BYTES or now - self.since > EVERY_NS:
            self.flush()

    def flush(self):
        if self.parts:
            _tracer.send(self.tid, "".join(self.parts))
            self.parts, self.bytes = [], 0

    def __del__(self):    # its thread has ended
        self.flush()


def _zones_in(text):
    return sum(line.startswith("B ") for line in text.split("\n"))


class _Tracer:
    streams = ()

    def __init__(self):
        self.begin()

    def begin(self):
        """Also after a fork: what the parent had is the parent's, and names are a process's own."""
        for stream in list(self.streams):
            stream.parts = []
        self.sources, self.numbers, self.streams = {}, itertools.count(1), weakref.WeakSet()
        self.waiting, self.waiting_bytes, self.definitions, self.definition_bytes = [], 0, [], 0
        self.given_up, self.missing, self.draining = False, 0, False
        # A stream may be deleted, and then flushed, at any allocation: by the thread that has the lock, too.
        self.lock = threading.RLock()
        self.socket = None

    def source(self, code, line):
        """The number of a function or line; 0: it is left out."""
        key = (code, line)
        number = self.sources.get(key)
        if number is None:
            file = code.co_filename
            if file.startswith(_left_out) or file.startswith("<"):
                self.sources[key] = 0
                return 0
            kind = "LINE" if line else "FUNC"
            where = f"PY_{kind}_{code.co_name}\t{file}".translate(_PLAIN)
            number = next(self.numbers)    # two threads may define the same function, each by a number of its own
            text = f"S {number} {line or code.co_firstlineno} {where}\n"
            with self.lock:    # in front of all that is sent from now on, by any thread
                self.definitions.append(text)
                self.definition_bytes += len(text.encode(errors="replace"))
                if self.definition_bytes >= DATAGRAM_BYTES:
                    self.send(_of.stream.tid, "")
            self.sources[key] = number
        return number

    def profile(self, frame, event, _):
        if event != "call" and event != "return":
            return
        if self.given_up:
            sys.setprofile(None)
            return
        number = self.sources.get((frame.f_code, 0))
        if number is None:
            number = self.source(frame.f_code, 0)
        if not number:
            return
        stream, now = _of.stream, _now(_RAW)
        if event == "call":
            stream.depth += 1
            stream.add(f"B {now} {number}\n", now)
        elif stream.depth:    # a function that was called before tracing began has no zone
            stream.depth -= 1
            stream.add(f"E {now}\n", now)

    def trace(self, frame, event, _):
        """A zone for each line, within that of its function: sys.settrace comes in front of sys.setprofile, in calls and returns."""
        if self.given_up:
            sys.settrace(None)
            return None
        if event == "call":
            number = self.source(frame.f_code, 0)
            if not number:
                return None
            stream, now = _of.stream, _now(_RAW)
            stream.lines.append(False)
            stream.depth += 1
            stream.add(f"B {now} {number}\n", now)
            return self.trace
        stream, now = _of.stream, _now(_RAW)
        if not stream.lines:
            return self.trace
        if event == "line" or event == "return":
            if stream.lines[-1]:
                stream.lines[-1] = False
                stream.add(f"E {now}\n", now)
        if event == "line":
            stream.lines[-1] = True
            stream.add(f"B {now} {self.source(frame.f_code, frame.f_lineno)}\n", now)
        elif event == "return":
            stream.lines.pop()
            stream.depth -= 1
            stream.add(f"E {now}\n", now)
        return self.trace

    def send(self, tid, text):
        with self.lock:
            if self.given_up:
                self.missing += _zones_in(text)
                return
            text = "".join(self.definitions) + text
            self.definitions, self.definition_bytes = [], 0
            self.waiting.append((tid, text))
            self.waiting_bytes += len(text)
            if self.draining:
                return
            self.draining = True
            try:
                self.drain()
            finally:
                self.draining = False
            if self.waiting_bytes > MOST_BYTES:
                self.give_up()

    def drain(self):
        if self.socket is None:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.socket.setblocking(False)
        while self.waiting:
            tid, text = self.waiting[0]
            try:
                self.socket.sendto(f"{_now(_RAW)} {os.getpid()} {tid} z\n{text}".encode(errors="replace"), "\0" + _where)
            except (BlockingIOError, socket.timeout):
                return
            except OSError:    # the run has ended
                return self.give_up()
            self.waiting_bytes -= len(text)
            self.waiting.pop(0)

    def give_up(self):
        """Other threads stop at their next call."""
        global incomplete
        incomplete = self.given_up = True
        for module in (sys, threading):
            module.setprofile(None)
            module.settrace(None)
        self.missing += sum(_zones_in(text) for _, text in self.waiting)
        self.waiting, self.waiting_bytes = [], 0

    def end(self):
        with self.lock:
            streams = list(self.streams)
        for stream in streams:
            stream.flush()
        with self.lock:
            if self.socket is None:
                return
            self.socket.settimeout(LAST_WAIT_S)
            self.draining = True
            self.drain()
            if self.waiting:
                self.give_up()
            self.draining = False
            if self.missing:
                try:
                    self.socket.sendto(f"{_now(_RAW)} {os.getpid()} {threading.get_native_id()} l\n{self.missing}".encode(), "\0" + _where)
                except OSError:    # the run has ended
                    pass
                self.missing = 0
            self.socket.setblocking(False)


_tracer = _Tracer()
_of = _Thread()
_with_lines = False


def _renew():
    global _of
    _tracer.begin()
    _of = _Thread()
    if util := sys.modules.get("multiprocessing.util"):    # its processes end without atexit, and drop their parent's finalizers
        util.register_after_fork(_tracer, lambda tracer: util.Finalize(tracer, tracer.end, exitpriority=-100))


if _where:
    atexit.register(_tracer.end)
    os.register_at_fork(after_in_child=_renew)


class Profiler:
    """As tt-metal's: what runs between enable() and disable() of one thread becomes zones."""

    def enable(self):
        if not _where or incomplete:
            return
        if _with_lines:
            threading.settrace(_tracer.trace)
            sys.settrace(_tracer.trace)
        else:
            threading.setprofile(_tracer.profile)
            sys.setprofile(_tracer.profile)

    def disable(self):
        sys.setprofile(None)
        sys.settrace(None)
        threading.setprofile(None)
        threading.settrace(None)
        if not _where:
            return
        stream, now = _of.stream, _now(_RAW)
        for open_line in stream.lines:
            if open_line:
                stream.add(f"E {now}\n", now)
        stream.lines = []
        while stream.depth > 0:
            stream.depth -= 1
            stream.add(f"E {now}\n", now)
        stream.flush()


def with_lines():
    global _with_lines
    _with_lines = True

"""A Tracy server of each dialect, as strict as can be: what its dialect may not receive ends the test.

Holds what it stored: zones with lane, name, source, text and depth; messages; plots. It requests names as real servers do,
with at most 64 questions open, and disconnects only when it has all names and no thread has an open zone.
"""
import re
import socket
import struct

import harness as h

# Item: (id by column, bytes with the type byte). Columns: 64, 66, 66 fork, 69, 74, 76, 79, 82, 83.
N = None
COLUMNS = [64, 66, "66f", 69, 74, 76, 79, 82, 83]
ITEMS = {
    "ZoneText": ([0] * 9, 1),
    "ZoneName": ([1] * 9, 1),
    "MessageColor": ([3] * 9, 12),
    "MessageAppInfo": ([6] * 9, 9),
    "ZoneBegin": ([15, 15, 15, 15, 15, 15, 19, 19, 19], 17),
    "ZoneBegin32": ([N, N, N, N, N, N, 20, 20, 20], 13),
    "ZoneBegin16": ([N, N, N, N, N, N, 21, 21, 21], 11),
    "ZoneEnd": ([17, 17, 17, 17, 17, 17, 25, 25, 25], 9),
    "ZoneEnd32": ([N, N, N, N, N, N, 26, 26, 26], 5),
    "ZoneEnd16": ([N, N, N, N, N, N, 27, 27, 27], 3),
    "GpuZoneBeginSerial": ([38, 38, 38, 38, 40, 40, 50, 50, 50], 24),
    "GpuZoneEndSerial": ([42, 42, 42, 42, 44, 44, 54, 54, 54], 16),
    "PlotDataDouble": ([45, 45, 45, 45, 47, 47, 57, 57, 57], 25),
    "GpuTime": ([48, 48, 48, 48, 50, 50, 60, 60, 60], 12),
    "GpuContextName": ([49, 49, 49, 49, 51, 51, 61, 61, 61], 2),
    "Terminate": ([57, 57, 57, 57, 59, 60, 72, 73, 75], 1),
    "KeepAlive": ([58, 58, 58, 58, 60, 61, 73, 74, 76], 1),
    "ThreadContext": ([59, 59, 59, 59, 61, 62, 74, 75, 77], 5),
    "ZoneValidation": ([63, 64, 64, 64, 66, 67, 80, 80, 83], 5),
    "SourceLocation": ([70, 71, 71, 71, 73, 74, 87, 87, 90], 32),
    "GpuNewContext": ([78, 79, 79, 79, 81, 82, 95, 95, 98], 28),
    "PlotConfig": ([89, 90, 90, 90, 92, 93, 106, 106, 109], 16),
    "AckServerQueryNoop": ([91, 92, 92, 92, 94, 95, 108, 108, 111], 1),
    "AckSourceCodeNotAvailable": ([92, 93, 93, 93, 95, 96, 109, 109, 112], 5),
    "SingleStringData": ([95, 96, 96, 96, 98, 99, 112, 112, 115], 3),
    "SingleStringData8": ([N, N, N, N, N, N, N, 114, 117], 2),
    "ThreadGroupHint": ([N, N, N, 99, 101, 102, 115, 117, 120], 9),
    "StringData": ([98, 99, 99, 100, 102, 104, 117, 119, 122], 11),
    "ThreadName": ([99, 100, 100, 101, 103, 105, 118, 120, 123], 11),
    "PlotName": ([100, 101, 101, 102, 104, 106, 119, 121, 124], 11),
}
WITH_CONTEXT = {"GpuZoneBeginSerial", "GpuZoneEndSerial", "GpuTime", "GpuContextName", "GpuNewContext"}
WITH_TEXT = {"SingleStringData", "SingleStringData8", "StringData", "ThreadName", "PlotName"}
STRING, THREAD, LOCATION, PLOT = 1, 2, 3, 4
MOST_OPEN = 64


def unpacked(block, limit=256 << 10):
    """LZ4's block format."""
    out, at = bytearray(), 0
    while at < len(block):
        token = block[at]
        at += 1
        literals = token >> 4
        if literals == 15:
            while True:
                literals += block[at]
                at += 1
                if block[at - 1] != 255:
                    break
        out += block[at:at + literals]
        at += literals
        if at == len(block):
            break
        distance = block[at] | block[at + 1] << 8
        at += 2
        length = token & 15
        if length == 15:
            while True:
                length += block[at]
                at += 1
                if block[at - 1] != 255:
                    break
        h.check(0 < distance <= len(out), "a match before the beginning of the block")
        for _ in range(length + 4):
            out.append(out[-distance])
    h.check(len(out) <= limit, f"a block of {len(out)} bytes")
    return bytes(out)


class Thread:
    def __init__(self):
        self.name, self.stack, self.zones, self.last, self.hint = None, [], 0, None, None


class Server:
    def __init__(self, column, port, receive_bytes=None):
        self.column = COLUMNS.index(column)
        self.protocol = int(str(column)[:2])
        self.fork = column in ("66f", 79, 83)
        self.by_id = {ids[self.column]: (name, self.bytes_of(name, size)) for name, (ids, size) in ITEMS.items()
                      if ids[self.column] is not None}
        self.zones, self.messages, self.plots, self.contexts, self.app_info = [], [], {}, {}, []
        self.names = {}    # of single zones, by index in zones
        self.threads, self.locations, self.strings, self.plot_names = {}, {}, {}, {}
        self.asked_locations, self.open_questions, self.waiting = [], 0, []
        self.thread = self.single = self.named_context = None
        self.thread_time = self.serial_time = self.gpu_time = 0
        self.gpu_stacks, self.gpu_queries, self.terminated = {}, {}, False
        self.socket = socket.socket()
        self.socket.settimeout(h.LIMIT_S)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(b"TracyPrf" + struct.pack("<I", self.protocol))
        self.status = self.exactly(1)[0]

    def bytes_of(self, name, size):
        if name in WITH_CONTEXT and self.fork:
            size += 1
        return size + (1 if name == "MessageColor" and self.protocol >= 77 else 0)

    def exactly(self, count):
        got = bytearray()
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                h.fail(f"the client hung up {count - len(got)} bytes early")
            got += more
        return bytes(got)

    def welcome(self):
        h.check(self.status == 1, f"the client answered {self.status}")
        size = 1178 if self.protocol < 75 else 1170
        w = self.exactly(size)
        mul, self.init, end = struct.unpack_from("<dqq", w)
        tail = size - 64 - 1024
        flags = w[tail - 18]
        h.check(mul == 1.0 and end >= self.init and flags == 1, f"the welcome has {mul} {self.init} {end} flags {flags}")
        h.check(w[tail:tail + 64].rstrip(b"\0") == b"ttcollect", f"the program is {w[tail:tail + 64]!r}")
        self.exactly(16)
        return self

    def run(self, pause=None):
        """Until the client has ended and everything is known. `pause` is called between blocks."""
        self.welcome()
        while not self.may_let_go():
            if pause:
                pause(self)
            size, = struct.unpack("<I", self.exactly(4))
            h.check(0 < size <= 263188, f"a block of {size} compressed bytes")
            self.items(unpacked(self.exactly(size)))
            self.ask_more()
        self.socket.sendall(struct.pack("<BQI", 0, 0, 0))
        h.check(self.socket.recv(1) == b"", "the client continues after the server disconnected")
        self.socket.close()
        h.check(not any(self.gpu_queries.values()), "a device zone without a time")
        return self

    def may_let_go(self):
        return (self.terminated and not self.open_questions and not self.waiting
                and not any(t.stack for t in self.threads.values()))

    def ask(self, kind, key):
        self.waiting.append((kind, key))
        self.ask_more()

    def ask_more(self):
        while self.waiting and self.open_questions < MOST_OPEN:
            kind, key = self.waiting.pop(0)
            if kind == LOCATION:
                self.asked_locations.append(key)
            self.open_questions += 1
            self.socket.sendall(struct.pack("<BQI", kind, key, 0))

    def items(self, block):
        at = 0
        while at < len(block):
            h.check(block[at] in self.by_id, f"item {block[at]} is not known or not expected in protocol {self.protocol}")
            name, size = self.by_id[block[at]]
            h.check(at + size <= len(block), f"{name} reaches across the end of its block")
            body, at = block[at + 1:at + size], at + size
            if name in WITH_TEXT:
                length = body[-1] if name == "SingleStringData8" else struct.unpack("<H", body[-2:])[0]
                if name == "SingleStringData" and self.protocol >= 80:
                    length += 256
                h.check(at + length <= len(block), f"the text of {name} reaches across the end of its block")
                text, at = block[at:at + length].decode(), at + length
                self.text(name, body, text)
            else:
                h.check(self.single is None or name in ("ZoneText", "ZoneName", "MessageColor", "MessageAppInfo", "GpuContextName"),
                        f"{name} comes between a text and what it belongs to")
                getattr(self, name)(body)

    # Texts and answers.
    def text(self, name, body, text):
        if name.startswith("SingleString"):
            h.check(self.single is None, "a text that nothing took")
            self.single = text
            return
        key, = struct.unpack("<Q", body[:8])
        self.open_questions -= 1
        if name == "ThreadName":
            h.check(self.threads[key].name is None, "a thread is named twice")
            self.threads[key].name = text
        elif name == "PlotName":
            self.plot_names[key] = text
        else:
            self.strings[key] = text

    def SourceLocation(self, body):
        name, function, file, line, b, g, r = struct.unpack("<QQQIBBB", body)
        h.check(self.asked_locations, "a source location that was not requested")
        self.locations[self.asked_locations.pop(0)] = (name, function, file, line, r << 16 | g << 8 | b)
        self.open_questions -= 1
        for key in (name, function, file):
            if key not in self.strings:
                self.strings[key] = None
                self.ask(STRING, key)

    def AckServerQueryNoop(self, _):
        h.fail("a question is not answered")

    AckSourceCodeNotAvailable = AckServerQueryNoop

    def take_single(self, what):
        h.check(self.single is not None, f"{what} without its text")
        text, self.single = self.single, None
        return text

    # Threads.
    def current(self):
        h.check(self.thread is not None, "an item of no thread")
        if self.thread not in self.threads:
            self.threads[self.thread] = Thread()
            self.ask(THREAD, self.thread)
        return self.threads[self.thread]

    def ThreadContext(self, body):
        self.thread, = struct.unpack("<I", body)
        self.thread_time = 0

    def ThreadGroupHint(self, body):
        thread, hint = struct.unpack("<Ii", body)
        h.check(thread in self.threads, "a hint about a thread that is not known")
        self.threads[thread].hint = hint

    def ZoneValidation(self, body):
        h.check(body == b"\0\0\0\0", "a zone is to be validated")
        self.current()

    def advance(self, delta):
        self.thread_time += delta
        return self.thread_time

    def begin_zone(self, delta, location):
        ns, t = self.advance(delta) - self.init, self.current()
        h.check(ns >= 0 and (t.last is None or ns >= t.last), f"a zone at {ns}, the lane is at {t.last}")
        t.last = ns
        self.know(location)
        t.stack.append([ns, location, [], None])

    def end(self, delta):
        ns, t = self.advance(delta) - self.init, self.current()
        h.check(t.stack, "an end without a begin")
        h.check(ns >= t.last, f"a zone ends at {ns}, the lane is at {t.last}")
        t.last = ns
        start, location, texts, name = t.stack.pop()
        if name is not None:
            self.names[len(self.zones)] = name
        self.zones.append((self.thread, location, start, ns, len(t.stack), ", ".join(texts)))

    def know(self, location):
        if location not in self.locations:
            self.locations[location] = None
            self.ask(LOCATION, location)

    def delta(self, value, bits):
        """Protocols with short forms add to each longer one what the shorter ones cover."""
        if self.protocol < 78:
            return value
        return value + {16: 0, 32: 1 << 16, 64: (1 << 16) + (1 << 32) if value >= 0 else 0}[bits]

    def ZoneBegin(self, body):
        delta, location = struct.unpack("<qQ", body)
        self.begin_zone(self.delta(delta, 64), location)

    def ZoneBegin32(self, body):
        delta, location = struct.unpack("<IQ", body)
        self.begin_zone(self.delta(delta, 32), location)

    def ZoneBegin16(self, body):
        delta, location = struct.unpack("<HQ", body)
        self.begin_zone(delta, location)

    def ZoneEnd(self, body):
        self.end(self.delta(struct.unpack("<q", body)[0], 64))

    def ZoneEnd32(self, body):
        self.end(self.delta(struct.unpack("<I", body)[0], 32))

    def ZoneEnd16(self, body):
        self.end(struct.unpack("<H", body)[0])

    def ZoneText(self, _):
        t = self.current()
        h.check(t.stack, "a text without a zone")
        t.stack[-1][2].append(self.take_single("ZoneText"))

    def ZoneName(self, _):
        t = self.current()
        h.check(t.stack, "a name without a zone")
        t.stack[-1][3] = self.take_single("ZoneName")

    def MessageColor(self, body):
        ns, b, g, r = struct.unpack_from("<qBBB", body)
        h.check(len(body) == 11 or body[11] == 0x20, f"a message of kind {body[-1]}")
        self.current()
        self.messages.append((self.thread, ns - self.init, self.take_single("MessageColor"), r << 16 | g << 8 | b))

    def MessageAppInfo(self, _):
        self.app_info.append(self.take_single("MessageAppInfo"))

    def PlotConfig(self, body):
        key, kind, step, fill, colour = struct.unpack("<QBBBI", body)
        h.check(kind == 0 and step in (0, 1) and fill in (0, 1) and key not in self.plots, f"a plot is {body!r}")
        self.plots[key] = []
        self.ask(PLOT, key)

    def PlotDataDouble(self, body):
        key, delta, value = struct.unpack("<Qqd", body)
        h.check(self.thread is not None and key in self.plots, "a value of no plot")
        self.plots[key].append((self.advance(delta) - self.init, value))

    # Device zones.
    def context(self, body, at):
        return struct.unpack_from("<H" if self.fork else "<B", body, at)[0]

    def GpuNewContext(self, body):
        cpu, gpu, thread, period = struct.unpack_from("<qqIf", body)
        number = self.context(body, 24)
        flags, kind = body[-2:]
        h.check(number not in self.contexts and cpu == gpu and thread == 0 and period == 1.0 and flags == 1, "a context")
        h.check(kind == ({66: 6, 79: 10, 83: 11}[self.protocol] if self.fork else 2), f"a context of type {kind}")
        self.contexts[number] = None
        self.gpu_queries[number] = {}
        self.named_context = number

    def GpuContextName(self, body):
        number = self.context(body, 0)
        h.check(number == self.named_context, "a name of another context")
        self.contexts[number] = self.take_single("GpuContextName")

    def gpu_item(self, body):
        delta, thread, query = struct.unpack_from("<qIH", body)
        self.serial_time += delta
        number = self.context(body, 14)
        h.check(self.contexts.get(number), "a zone of a context without a name")
        h.check(query not in self.gpu_queries[number], "a query's number is not free")
        h.check(thread in self.threads, "a lane without a name at the server: it would read ???")
        return number, thread, query

    def GpuZoneBeginSerial(self, body):
        number, thread, query = self.gpu_item(body)
        location, = struct.unpack("<Q", body[-8:])
        self.know(location)
        zone = [None, location, None]
        self.gpu_stacks.setdefault((number, thread), []).append(zone)
        self.gpu_queries[number][query] = (zone, 0, thread)

    def GpuZoneEndSerial(self, body):
        number, thread, query = self.gpu_item(body)
        stack = self.gpu_stacks.get((number, thread))
        h.check(stack, "a device zone ends that did not begin")
        self.gpu_queries[number][query] = (stack.pop(), 2, thread)

    def GpuTime(self, body):
        delta, query = struct.unpack_from("<qH", body)
        number = self.context(body, 10)
        self.gpu_time += delta
        zone, end, thread = self.gpu_queries[number].pop(query)
        h.check(self.gpu_time >= self.init, "a device time before the trace begins")
        zone[end] = self.gpu_time - self.init
        if end:
            depth = len(self.gpu_stacks[(number, thread)])
            self.zones.append((thread, zone[1], zone[0], zone[2], depth, self.contexts[number]))

    def Terminate(self, _):
        self.terminated = True

    def KeepAlive(self, _):
        pass

    def is_lane(self, thread):
        name = self.threads[thread].name    # none: the answer is under way
        return name is not None and not re.search(r" (programs|lost|NoC: addressed)( \(\d\))?( \(log\))?$", name)

    def spans(self):
        """Zones of the rows that are no lanes: (row, name, begin, end, text, colour)."""
        return [(self.threads[thread].name, self.names.get(i, self.strings[self.locations[location][0]]), begin, end, text,
                 self.locations[location][4])
                for i, (thread, location, begin, end, _, text) in enumerate(self.zones) if not self.is_lane(thread)]

    def told(self):
        """Zones of lanes as (lane name, name, begin, end, depth, source, function, text or context)."""
        out = []
        for thread, location, begin, end, depth, text in self.zones:
            if not self.is_lane(thread) or self.locations[location] is None:    # the answer is under way
                continue
            name, function, file, line, _ = self.locations[location]
            out.append((self.threads[thread].name, self.strings[name], begin, end, depth,
                        f"{self.strings[file]}:{line}", self.strings[function], text))
        return out

"""Streams of real Tracy clients, recorded once and given to any number of servers: what a client sent, and how it answers questions.

A stream is recorded by a server that requests every name. Answers are kept apart from the stream, by question, because each server asks in an
order of its own. Item numbers and sizes are those of tests/data/tracy/items.csv; no table is shared with the collector.
"""
import csv
import ctypes
import os
import socket
import struct
import threading

import harness as h

ITEMS_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/tracy/items.csv")
ANSWERS = {"StringData": 1, "ThreadName": 2, "SourceLocation": 3, "PlotName": 4, "FrameName": 5, "FiberName": 7}
STRING, THREAD, LOCATION, PLOT, FRAME = 1, 2, 3, 4, 5
LONG_TEXTS = {"FrameImageData", "SymbolCode", "SourceCode"}
MOST_OPEN = 200


def columns():
    """By dialect: number -> (name, bytes with the number's)."""
    with open(ITEMS_FILE, newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return {column: {int(row[column].split("/")[0]): (row["item"], int(row[column].split("/")[1])) for row in rows if row[column]}
            for column in rows[0] if column != "item"}


COLUMNS = columns()


def protocol_of(column):
    return int(column.rstrip("f"))


def items_in(column, data):
    """(name, whole item with its text) one after the other."""
    table, protocol = COLUMNS[column], protocol_of(column)
    texts_from = next(number for number, (name, _) in table.items() if name == "StringData")
    at = 0
    while at < len(data):
        name, size = table[data[at]]
        if name in ("SingleStringData", "SecondStringData"):
            size += 2 + struct.unpack_from("<H", data, at + size)[0] + (256 if protocol >= 80 else 0)
        elif name in ("SingleStringData8", "SecondStringData8"):
            size += 1 + data[at + size]
        elif data[at] >= texts_from:
            form, length = ("<I", 4) if name in LONG_TEXTS else ("<H", 2)
            size += length + struct.unpack_from(form, data, at + size)[0]
        yield name, data[at:at + size]
        at += size


def exactly(peer, count):
    got = bytearray()
    while len(got) < count:
        more = peer.recv(count - len(got))
        if not more:
            raise EOFError
        got += more
    return bytes(got)


def literal(items):
    """A frame of one LZ4 block without a match."""
    count = len(items)
    head = bytes([count << 4]) if count < 15 else b"\xf0" + b"\xff" * ((count - 15) // 255) + bytes([(count - 15) % 255])
    return struct.pack("<I", len(head) + count) + head + items


class Recording:
    """Records the client that listens on `port`, whose dialect is `column`; `connected`: set once it is welcome."""

    def __init__(self, column, port, connected):
        self.column, self.frames, self.answers = column, [], {}
        self.asked, self.waiting, self.locations, self.open, self.thread, self.over = set(), [], [], 0, 0, False
        peer = socket.create_connection(("127.0.0.1", port))
        peer.settimeout(h.LIMIT_S)
        peer.sendall(b"TracyPrf" + struct.pack("<I", protocol_of(column)))
        h.check(exactly(peer, 1) == b"\1", f"{column}: the client refused its own protocol")
        connected.set()
        self.welcome = exactly(peer, 1178 if protocol_of(column) < 75 else 1170)
        lz4, history, room = ctypes.CDLL("liblz4.so.1"), b"", ctypes.create_string_buffer(1 << 18)
        while not (self.over and not self.open and not self.waiting):
            size, = struct.unpack("<I", exactly(peer, 4))
            count = lz4.LZ4_decompress_safe_usingDict(exactly(peer, size), room, size, 1 << 18, history, len(history))
            h.check(count >= 0, "no LZ4 block")
            history = (history + room.raw[:count])[-65536:]
            kept = b"".join(item for name, item in items_in(column, room.raw[:count]) if self.keeps(name, item))
            if kept:
                self.frames.append(kept)
            while self.waiting and self.open < MOST_OPEN:
                kind, key = self.waiting.pop(0)
                if kind == LOCATION:
                    self.locations.append(key)
                peer.sendall(struct.pack("<BQI", kind, key, 0))
                self.open += 1
        peer.sendall(bytes(13))
        peer.close()

    def ask(self, kind, key):
        if (kind, key) not in self.asked and (key or kind == THREAD):
            self.asked.add((kind, key))
            self.waiting.append((kind, key))

    def keeps(self, name, item):
        """Whether it is of the stream, and no answer."""
        if name.startswith("Ack"):
            self.open -= 1
            return False
        if name in ANSWERS:
            self.open -= 1
            key = self.locations.pop(0) if name == "SourceLocation" else struct.unpack_from("<Q", item, 1)[0]
            self.answers[ANSWERS[name], key] = item
            if name == "SourceLocation":
                for at in (1, 9, 17):
                    self.ask(STRING, struct.unpack_from("<Q", item, at)[0])
            return False
        self.follow(name, item)
        return True

    def follow(self, name, item):
        def last():
            return struct.unpack("<Q", item[-8:])[0]

        if name == "ThreadContext":
            self.thread, = struct.unpack_from("<I", item, 1)
        elif name == "Terminate":
            self.over = True
        elif name.startswith(("ZoneBegin", "Message")):
            self.ask(THREAD, self.thread)
            if name.startswith("ZoneBegin") and "Alloc" not in name:
                self.ask(LOCATION, last())
            if name.startswith("MessageLiteral"):
                self.ask(STRING, last() >> 8 if protocol_of(self.column) >= 77 else last())
        elif name.startswith("Plot"):
            self.ask(PLOT, struct.unpack_from("<Q", item, 1)[0])
        elif name.startswith("FrameMark"):
            self.ask(FRAME, last())
        elif name == "LockAnnounce":
            self.ask(LOCATION, struct.unpack_from("<Q", item, 13)[0])
        elif name == "LockMark":
            self.ask(LOCATION, last())
        elif name in ("LockWait", "LockObtain"):
            self.ask(THREAD, struct.unpack_from("<I", item, 1)[0])

    def number_of(self, name):
        return next(number for number, (item, _) in COLUMNS[self.column].items() if item == name)

    def answer(self, kind, key, extra):
        known = self.answers.get((kind, key))
        if known is not None:
            return known
        source_code = 13
        if kind == source_code:
            return struct.pack("<BI", self.number_of("AckSourceCodeNotAvailable"), extra)
        if kind in (STRING, THREAD):
            return struct.pack("<BQH", self.number_of("StringData" if kind == STRING else "ThreadName"), key, 3) + b"???"
        return bytes([self.number_of("AckServerQueryNoop")])

    def give(self, port):
        """Plays the client to the first server of its protocol that connects to `port`, or as Tracy to one of the nineteen behind it."""
        for one in range(port, port + 20):
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", one))
                listener.listen()
                break
            except OSError:
                listener.close()
        print(listener.getsockname()[1], flush=True)
        while True:
            peer, _ = listener.accept()
            offer = exactly(peer, 12)
            if struct.unpack("<I", offer[8:])[0] == protocol_of(self.column):
                break
            peer.sendall(b"\2")
            peer.close()
        peer.sendall(b"\1" + self.welcome)
        over, one = threading.Event(), threading.Lock()

        def answer_all():
            try:
                while (query := exactly(peer, 13))[0]:
                    with one:
                        peer.sendall(literal(self.answer(*struct.unpack("<BQI", query))))
            except (EOFError, OSError):
                pass
            over.set()

        threading.Thread(target=answer_all, daemon=True).start()
        for frame in self.frames:
            with one:
                peer.sendall(literal(frame))
        over.wait(h.LIMIT_S)
        peer.close()


if __name__ == "__main__":
    import pickle
    import sys
    with open(sys.argv[1], "rb") as file:
        pickle.load(file).give(int(sys.argv[2]))

"""A program on a terminal of a given size: what its screen shows, and keys for it.

The reader obeys what ttmon sends: moves to a place, clears the line or the screen, the alternate screen, colours, and text. Anything
else is a failure.
"""
import codecs
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

import harness as h

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """`tool` on a terminal of its own."""

    def __init__(self, tool, *arguments, columns=80, rows=24, **variables):
        self.ours, theirs = pty.openpty()
        self.resized(columns, rows, quiet=True)
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **variables}
        for name in ("LC_ALL", "LC_CTYPE", *(() if "NO_COLOR" in variables else ("NO_COLOR",))):
            environment.pop(name, None)
        self.process = subprocess.Popen([os.path.join(h.BIN, tool), *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env=environment, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.theirs = theirs    # stays open, so that its settings can be read when the program has ended
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")  # a read may end within a character
        self.pending = ""
        self.raw = ""
        self.alternate = False
        self.outside = []

    def resized(self, columns, rows, quiet=False):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if not quiet:
            os.killpg(self.process.pid, signal.SIGWINCH)
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def read(self, seconds):
        """Takes what the program wrote within so long. False: the terminal is closed."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.ours, 1 << 16)
        except OSError as e:
            h.check(e.errno == errno.EIO, e)
            return False
        text = self.decoder.decode(more)
        self.pending += text
        self.raw += text
        self._obey()
        return True

    def until(self, condition, what):
        """Until `condition` of the screen's text holds."""
        end = time.monotonic() + h.LIMIT_S
        while not condition(self.text()):
            h.check(time.monotonic() < end, f"{what}: the screen stays\n{self.text()}")
            if not self.read(0.05) or self.process.poll() is not None:
                while self.read(0) and select.select([self.ours], [], [], 0)[0]:
                    pass
                h.check(condition(self.text()), f"{what}: it ended with {self.process.poll()}\n{self.text()}")
        return self.text()

    def end(self):
        """Exit code of the program, which ends by itself; its last words are read."""
        end = time.monotonic() + h.LIMIT_S
        while self.process.poll() is None:
            h.check(time.monotonic() < end, f"it does not end\n{self.text()}")
            self.read(0.05)
        while select.select([self.ours], [], [], 0)[0] and self.read(0):
            pass
        return self.process.returncode

    def echoes(self):
        """True if the terminal is in a shell's mode."""
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO) and bool(termios.tcgetattr(self.theirs)[3] & termios.ICANON)

    def _obey(self):
        while self.pending:
            if self.pending[0] == "\x1b":
                found = SEQUENCE.match(self.pending)
                if not found:
                    h.check(len(self.pending) < 24, f"not understood: {self.pending[:40]!r}")
                    return    # the rest comes with the next read
                self.pending = self.pending[found.end():]
                self._sequence(*found.groups())
                continue
            sign, self.pending = self.pending[0], self.pending[1:]
            self._put(sign)

    def _sequence(self, private, numbers, letter):
        if private:
            h.check((numbers, letter) in (("1049", "h"), ("1049", "l"), ("25", "l"), ("25", "h")), f"?{numbers}{letter}")
            if numbers == "1049":
                self.alternate = letter == "h"
        elif letter == "H":
            self.y, self.x = (int(n) - 1 for n in numbers.split(";"))
        elif letter == "K":
            if self.y < self.rows:
                self.cells[self.y] = [" "] * self.columns
        elif letter == "J":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        else:
            h.check(letter == "m", f"{numbers}{letter}")

    def _put(self, sign):
        if sign in "\r\n":
            return    # outside of the alternate screen
        h.check(ord(sign) >= 0x20 and not 0x7F <= ord(sign) < 0xA0, f"U+{ord(sign):04X} on the terminal")
        wide = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        # After a resize what was drawn for the size before may still come.
        if self.y < self.rows and self.x + wide <= self.columns:
            self.cells[self.y][self.x] = sign
        else:
            self.outside.append((self.x, self.y))
        self.x += wide

"""The actions of a RISC of the emulated chip, instruction by instruction, and their cost (tools/chip/machine.hpp): the vocabulary of
chip_paths.py."""
MARKER, POLL, ISSUE, LOOP = 18, 8, 12, 4
GO, RISC_START = 150, 12
TAKE_LAUNCH, WRAP_UP = (260, 380), 110
HOP, DRAM_LATENCY = 9, 350
CHECK = 30    # of a NoC command, by the watcher
DEFAULTS = {"pattern": "stream", "blocks": 12, "out_blocks": 4, "tiles": 4, "tile_bytes": 2048, "buffer_blocks": 2, "unpack_cycles": 300,
            "math_cycles": 900, "pack_cycles": 250}
RISCS = ("BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2")
IN0, IN1, SOURCE, DESTINATION, OUT = range(5)
IN0_READY, IN0_VALID, IN1_READY, IN1_VALID = range(4)
READ, WRITE, ATOMIC = range(3)
CHIPS = {"wormhole_b0": (24, 32), "blackhole": (47, 64)}    # bytes a cycle of a DRAM channel and of a port


class Wrong(AssertionError):
    """The truth contradicts the model."""


class Moment:
    """The end of a part of the path; its cause is another moment, or a RISC at a time."""

    def __init__(self, at, cause, lane, what):
        self.at, self.cause, self.lane, self.what = at, cause, lane, what


class Transfer:
    """One kernel's read, write or send: when it was requested, and when it has passed its port."""

    def __init__(self, lane, kind, asked, size, channel, latency):
        self.lane, self.kind, self.asked, self.size, self.channel, self.latency = lane, kind, asked, size, channel, latency
        self.port = None    # Moment

    def arrives(self):
        return self.port.at + self.latency


class Barrier:
    """A kernel's wait: it is there at `now` and waits for `transfers`. `at`: when that was over, in the truth; None: not known."""

    def __init__(self, lane, now, at):
        self.lane, self.transfers, self.now, self.at = lane, lane.transfers, now, at
        lane.transfers = []
        self.ended = None


class Lane:
    """A RISC of a core: its markers in order, and the moments at which its waits ended."""

    def __init__(self, program, core, risc, markers):
        self.program, self.core, self.risc, self.markers = program, core, risc, markers
        self.next, self.now, self.turn = 0, 0, core.index + 5 * risc
        self.ended = []        # Moments that are not its own work, in order of time
        self.transfers = []    # since the last barrier
        self.count = {}

    def key(self):
        return (self.core.x, self.core.y, RISCS[self.risc])

    def of(self, what):
        """How often `what` was done before."""
        self.count[what] = self.count.get(what, -1) + 1
        return self.count[what]

    def expect(self, name, kind, computed=True):
        at, zone, is_a = self.markers[self.next]
        self.next += 1
        if (zone, is_a) != (name, kind):
            raise Wrong(f"{self.key()}: {name} {kind} expected, the truth has {zone} {is_a} at {at}")
        if computed and at != self.now:
            raise Wrong(f"{self.key()}: {name} {kind} should be at {self.now}, the truth has {at}")
        self.now = at + MARKER
        return at

    def begin(self, name):
        return self.expect(name, "ZONE_START")

    def end_of(self, name):
        """The times of the open zone, from the truth."""
        depth = 0
        for at, zone, kind in self.markers[self.next:]:
            depth += 1 if kind == "ZONE_START" else -1
            if depth < 0:
                if zone != name:
                    raise Wrong(f"{self.key()}: {zone} ends within {name}")
                return at
        raise Wrong(f"{self.key()}: {name} has no end")

    def wake(self, at, cause, what):
        """It waited, and continues at `at`."""
        self.now = at
        self.ended.append(Moment(at, cause, self, what))

    # --- instructions

    def issue(self, kind):
        watched = self.program.watched
        if watched:
            self.now += CHECK
            if (watched["masks"].get(self.core.logical, (0, 0, 0))[kind] >> self.risc) & 1:
                self.wake(self.now + watched["delay"], (self, self.now), "debug delay")
        self.now += ISSUE

    def transfer(self, kind, size):
        self.issue(kind)
        channel = self.turn % self.program.channels
        self.turn += 1
        self.program.ask(Transfer(self, kind, self.now, size, channel, DRAM_LATENCY))
        self.now += LOOP

    def barrier(self, at):
        self.program.barriers.append(Barrier(self, self.now, at))
        self.now = at if at is not None else self.now
        return self.program.barriers[-1]

    def take_block(self, buffer, room):
        """Waits for a block, or for room for one."""
        k = self.of((buffer, room)) - (self.program.capacity[buffer] if room else 0)
        others, by = (self.core.pops if room else self.core.pushes)[buffer]
        if k >= 0 and (others[k], by) > (self.now, self.risc):
            self.wake(others[k] + POLL, (self.core.lanes[by], others[k]), f"buffer {buffer}")
        else:
            self.now += POLL

    def reserve(self, buffer):
        self.take_block(buffer, True)

    def front(self, buffer):
        self.take_block(buffer, False)

    def signal(self, others, semaphore):
        if not others:
            return
        self.issue(ATOMIC if len(others) == 1 else WRITE)
        for other in others:
            self.program.signals.setdefault((other, semaphore), []).append((self, self.now, self.way(other), self.core.last_send.get(self.risc)))

    def send(self, others, size):
        if not others:
            return
        self.issue(WRITE)
        transfer = Transfer(self, WRITE, self.now, size, None, max(self.way(o) for o in others))
        self.program.ask(transfer)
        self.core.last_send[self.risc] = transfer

    def way(self, other):
        return HOP * (abs(self.core.x - other.x) + abs(self.core.y - other.y) + 2)

    def await_until(self, semaphore, wanted, at, barrier=None):
        """It had `wanted` signals at `at`, as the truth has it. `barrier`: it began to wait when that was over."""
        self.program.awaits.append((self, semaphore, wanted, barrier or self.now, at))
        self.now = at


class Core:
    def __init__(self, index, x, y, logical):
        self.index, self.x, self.y, self.logical = index, x, y, logical
        self.lanes, self.last_send, self.pushes, self.pops = {}, {}, {}, {}

    def ends(self, risc, zones):
        return [at for at, zone, kind in self.lanes[risc].markers if zone in zones and kind == "ZONE_END"]

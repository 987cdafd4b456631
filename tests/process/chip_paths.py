"""Critical paths of the emulated chip, from the truth and the workload's description alone: how patterns share work between RISCs, and what
each instruction costs, are written down here a second time (tools/chip/machine.hpp states the model). Nothing is simulated: where a
RISC waited follows from the markers of those it waited for. Each marker that is not the end of a computation is recomputed and must be
where the truth has it.

    paths = recomputed(truth, workload, watched)     # run host ID -> [(begin, end, x, y, RISC, what)], from the go message on
"""
import csv
import math

from chip_lanes import (ATOMIC, CHECK, CHIPS, DEFAULTS, DESTINATION, GO, HOP, IN0, IN0_READY, IN0_VALID, IN1, IN1_READY, IN1_VALID, ISSUE,
                        LOOP, OUT, POLL, READ, RISCS, RISC_START, SOURCE, TAKE_LAUNCH, WRAP_UP, WRITE, Barrier, Core, Lane, Moment, Wrong)


class Program:
    def __init__(self, op, lanes, chip, channels, columns, watched):
        self.op, self.channels, self.watched = op, channels, watched
        self.channel_rate, self.port_rate = CHIPS[chip]
        self.capacity = {IN0: op["buffer_blocks"], IN1: op["buffer_blocks"], SOURCE: 2, DESTINATION: 2, OUT: 2}
        self.columns = columns
        places = sorted({(y, x) for x, y, _ in lanes})
        xs, ys = sorted({x for _, x in places}), sorted({y for y, _ in places})
        self.cores = [Core(i, x, y, (xs.index(x), ys.index(y))) for i, (y, x) in enumerate(places)]
        for core in self.cores:
            for r, name in enumerate(RISCS):
                core.lanes[r] = Lane(self, core, r, lanes[core.x, core.y, name])
        self.asked, self.barriers, self.signals, self.awaits = [], [], {}, []

    def ask(self, transfer):
        self.asked.append(transfer)
        transfer.lane.transfers.append(transfer)

    # --- what kernels do with buffers, from the ends of zones

    def note_blocks(self):
        matrices = self.op["pattern"] == "multicast"
        for core in self.cores:
            unpacked, maths = core.ends(2, ("UNPACK-BLOCK",)), core.ends(3, ("MATH-BLOCK",))
            packed, written = core.ends(4, ("PACK-BLOCK",)), core.ends(0, ("WRITE-BLOCK", "SEND-BLOCK"))
            core.pushes[IN0] = (core.ends(1, ("READ-BLOCK", "MCAST-IN0", "RECEIVE-IN0", "RECEIVE-BLOCK")), 1)
            core.pushes[IN1] = (core.ends(0, ("MCAST-IN1", "RECEIVE-IN1")), 0)
            core.pops[IN0], core.pops[IN1] = (unpacked, 2), (unpacked, 2)
            core.pushes[SOURCE], core.pops[SOURCE] = (unpacked, 2), (maths, 3)
            core.pushes[DESTINATION], core.pops[DESTINATION] = ([] if matrices else maths, 3), (packed, 4)
            core.pushes[OUT], core.pops[OUT] = (packed, 4), (written, 0)

    # --- kernels

    def launch(self, core, go):
        brisc = core.lanes[0]
        start = go + GO + HOP * (core.x + core.y)
        brisc.ended.append(Moment(start, None, brisc, "go"))
        brisc.now = start
        brisc.begin("BRISC-FW")
        took = brisc.markers[1][0] - brisc.now - 4 * RISC_START
        if not TAKE_LAUNCH[0] <= took <= TAKE_LAUNCH[1]:
            raise Wrong(f"{brisc.key()}: it takes {took} cycles to read the launch message")
        brisc.now += took
        for r in range(1, 5):
            lane = core.lanes[r]
            brisc.now += RISC_START
            lane.now = brisc.now
            lane.ended.append(Moment(lane.now, (brisc, brisc.now), lane, None))
        names = ("BRISC", "NCRISC", "TRISC", "TRISC", "TRISC")
        for r in range(5):
            lane = core.lanes[r]
            if r:
                lane.begin(f"{names[r]}-FW")
            lane.begin(f"{names[r]}-KERNEL")

    def finish(self, core):
        """The core's part: when all of its RISCs are done, and which was the last."""
        names = ("BRISC", "NCRISC", "TRISC", "TRISC", "TRISC")
        for r, lane in core.lanes.items():
            lane.expect(f"{names[r]}-KERNEL", "ZONE_END")
        last = max((lane.expect(f"{names[r]}-FW", "ZONE_END"), r) for r, lane in core.lanes.items() if r)
        brisc, other = core.lanes[0], core.lanes[last[1]]
        if last[0] >= brisc.now:
            brisc.wake(other.now + POLL, (other, other.now), "other riscs")
        brisc.now += WRAP_UP
        core.done = brisc.expect("BRISC-FW", "ZONE_END")

    def read_one(self, lane):
        lane.begin("READ-BLOCK")
        lane.reserve(IN0)
        for _ in range(self.op["tiles"]):
            lane.transfer(READ, self.op["tile_bytes"])
        lane.barrier(lane.end_of("READ-BLOCK"))
        lane.expect("READ-BLOCK", "ZONE_END")

    def write_one(self, lane):
        lane.front(OUT)
        lane.begin("WRITE-BLOCK")
        for _ in range(self.op["tiles"]):
            lane.transfer(WRITE, self.op["tile_bytes"])
        lane.barrier(lane.end_of("WRITE-BLOCK"))
        lane.expect("WRITE-BLOCK", "ZONE_END")

    def receive_one(self, lane, name, buffer, sender, ready, valid):
        lane.begin(name)
        lane.reserve(buffer)
        lane.signal([sender], ready)
        lane.await_until(valid, 1, lane.end_of(name))
        lane.expect(name, "ZONE_END")

    def multicast_one(self, lane, name, buffer, receivers, ready, valid):
        lane.begin(name)
        lane.reserve(buffer)
        for _ in range(self.op["tiles"]):
            lane.transfer(READ, self.op["tile_bytes"])
        # The truth has when it continued after both waits: send and signal follow.
        went_on = lane.end_of(name)
        if receivers:
            went_on -= self.cost(lane, WRITE) + self.cost(lane, ATOMIC if len(receivers) == 1 else WRITE)
        lane.await_until(ready, len(receivers), went_on, lane.barrier(None))
        lane.send(receivers, self.op["tiles"] * self.op["tile_bytes"])
        lane.transfers = []    # no barrier follows
        lane.signal(receivers, valid)
        lane.expect(name, "ZONE_END")

    def cost(self, lane, kind):
        watched = self.watched
        if not watched:
            return ISSUE
        masked = (watched["masks"].get(lane.core.logical, (0, 0, 0))[kind] >> lane.risc) & 1
        return CHECK + ISSUE + (watched["delay"] if masked else 0)

    def send_one(self, lane, receiver):
        size = self.op["tiles"] * self.op["tile_bytes"]
        lane.front(OUT)
        lane.begin("SEND-BLOCK")
        end = lane.end_of("SEND-BLOCK")
        passes = self.cost(lane, WRITE) + math.ceil(size / self.port_rate) + lane.way(receiver)
        went_on = end - max(passes, self.cost(lane, WRITE) + self.cost(lane, ATOMIC))
        lane.await_until(IN0_READY, 1, went_on)
        lane.send([receiver], size)
        lane.signal([receiver], IN0_VALID)
        lane.barrier(end)
        lane.expect("SEND-BLOCK", "ZONE_END")

    def computes(self, lane, name, cycles):
        """Ends when the truth has it; within what chance allows."""
        end = lane.end_of(name)
        jitter = self.op["jitter"]
        if not (1 - jitter) * cycles - 1 <= end - lane.now <= (1 + jitter) * cycles + 1:
            raise Wrong(f"{lane.key()}: {name} computes for {end - lane.now} cycles, not {cycles} by {jitter}")
        lane.now = end
        lane.expect(name, "ZONE_END")

    def unpack_one(self, lane, buffers):
        lane.begin("CB-COMPUTE-WAIT-FRONT")
        for buffer in buffers:
            lane.front(buffer)
        lane.expect("CB-COMPUTE-WAIT-FRONT", "ZONE_END")
        lane.begin("UNPACK-BLOCK")
        lane.reserve(SOURCE)
        self.computes(lane, "UNPACK-BLOCK", self.op["unpack_cycles"])

    def math_one(self, lane, destination):
        lane.front(SOURCE)
        lane.begin("MATH-BLOCK")
        if destination:
            lane.reserve(DESTINATION)
        self.computes(lane, "MATH-BLOCK", self.op["math_cycles"])

    def pack_one(self, lane):
        lane.front(DESTINATION)
        lane.begin("CB-COMPUTE-RESERVE-BACK")
        lane.reserve(OUT)
        lane.expect("CB-COMPUTE-RESERVE-BACK", "ZONE_END")
        lane.begin("PACK-BLOCK")
        self.computes(lane, "PACK-BLOCK", self.op["pack_cycles"])

    @staticmethod
    def times(lane, n, one):
        for _ in range(n):
            one()
            lane.now += LOOP

    def compute(self, core, blocks, first):
        """`first`: one block before the loop."""
        unpack, maths, pack = (core.lanes[r] for r in (2, 3, 4))
        if first:
            self.unpack_one(unpack, (IN0,))
        self.times(unpack, blocks, lambda: self.unpack_one(unpack, (IN0,)))
        if first:
            self.math_one(maths, True)
        self.times(maths, blocks, lambda: self.math_one(maths, True))
        if first:
            self.pack_one(pack)
        self.times(pack, blocks, lambda: self.pack_one(pack))

    def stream(self):
        for core in self.cores:
            blocks = len(core.pushes[IN0][0])    # some cores have more than others
            self.times(core.lanes[1], blocks, lambda c=core: self.read_one(c.lanes[1]))
            self.times(core.lanes[0], blocks, lambda c=core: self.write_one(c.lanes[0]))
            self.compute(core, blocks, False)

    def multicast(self):
        wide = min(self.columns, len(self.cores))
        for i, core in enumerate(self.cores):
            x, y = i % wide, i // wide
            row = [c for c in self.cores[y * wide:(y + 1) * wide] if c is not core]
            column = [c for c in self.cores[x::wide] if c is not core]
            ncrisc, brisc, unpack, maths, pack = (core.lanes[r] for r in (1, 0, 2, 3, 4))
            if x == 0:
                self.times(ncrisc, self.op["blocks"], lambda: self.multicast_one(ncrisc, "MCAST-IN0", IN0, row, IN0_READY, IN0_VALID))
            else:
                self.times(ncrisc, self.op["blocks"],
                           lambda: self.receive_one(ncrisc, "RECEIVE-IN0", IN0, self.cores[y * wide], IN0_READY, IN0_VALID))
            if y == 0:
                self.times(brisc, self.op["blocks"], lambda: self.multicast_one(brisc, "MCAST-IN1", IN1, column, IN1_READY, IN1_VALID))
            else:
                self.times(brisc, self.op["blocks"], lambda: self.receive_one(brisc, "RECEIVE-IN1", IN1, self.cores[x], IN1_READY, IN1_VALID))
            self.times(unpack, self.op["blocks"], lambda: self.unpack_one(unpack, (IN0, IN1)))
            self.times(maths, self.op["blocks"], lambda: self.math_one(maths, False))

            def give():
                maths.reserve(DESTINATION)
                core.pushes[DESTINATION][0].append(maths.now)
            self.times(maths, self.op["out_blocks"], give)
            self.times(pack, self.op["out_blocks"], lambda: self.pack_one(pack))
            self.times(brisc, self.op["out_blocks"], lambda: self.write_one(brisc))

    def pipeline(self):
        for i, core in enumerate(self.cores):
            ncrisc, brisc = core.lanes[1], core.lanes[0]
            if i == 0:
                self.times(ncrisc, self.op["blocks"], lambda: self.read_one(ncrisc))
            else:
                self.times(ncrisc, self.op["blocks"], lambda: self.receive_one(ncrisc, "RECEIVE-BLOCK", IN0, self.cores[i - 1], IN0_READY, IN0_VALID))
            if i + 1 == len(self.cores):
                self.times(brisc, self.op["blocks"], lambda: self.write_one(brisc))
            else:
                self.times(brisc, self.op["blocks"], lambda: self.send_one(brisc, self.cores[i + 1]))
            self.compute(core, self.op["blocks"], False)

    def ring(self):
        for i, core in enumerate(self.cores):
            ncrisc, brisc = core.lanes[1], core.lanes[0]
            row = self.cores[i // self.columns * self.columns:][:self.columns]
            n, x = len(row), i % self.columns
            self.read_one(ncrisc)
            self.times(ncrisc, 2 * (n - 1), lambda: self.receive_one(ncrisc, "RECEIVE-BLOCK", IN0, row[x - 1], IN0_READY, IN0_VALID))
            self.times(brisc, 2 * (n - 1), lambda: self.send_one(brisc, row[(x + 1) % n]))
            self.write_one(brisc)
            self.compute(core, 2 * (n - 1), True)

    # --- what RISCs of several cores share

    def serve_transfers(self):
        """Channels and ports in the order of requests."""
        channels, ports = {}, {}
        for t in sorted(self.asked, key=lambda t: (t.asked, t.lane.core.index, t.lane.risc)):
            cause, at = (t.lane, t.asked), t.asked
            if t.channel is not None:
                before = channels.get(t.channel)
                if before and before.at > at:
                    cause, at = before, before.at
                at += max(1, math.ceil(t.size / self.channel_rate))
                cause = channels[t.channel] = Moment(at, cause, t.lane, f"dram channel {t.channel}")
            port = (t.lane.core.index, t.lane.risc, t.kind)    # one into the core and one out of it
            before = ports.get(port)
            if before and before.at > at:
                cause, at = before, before.at
            at += max(1, math.ceil(t.size / self.port_rate))
            noc = 1 if t.lane.risc == 0 else 0
            t.port = ports[port] = Moment(at, cause, t.lane, f"port of noc {noc}")

    def end_barriers(self):
        for b in self.barriers:
            last = None
            for t in b.transfers:
                if not last or t.arrives() >= last.arrives():
                    last = t
            b.ended = max(b.now, last.arrives())
            if b.at is not None and b.ended != b.at:
                raise Wrong(f"{b.lane.key()}: its transfers should have arrived at {b.ended}, the truth has {b.at}")
            if last.arrives() > b.now:
                b.lane.ended.append(Moment(b.ended, last.port, b.lane, "latency"))

    def arrivals(self):
        """By core and semaphore, in order of time: when a signal was there, and what it follows from."""
        there = {}
        for key, signals in self.signals.items():
            for lane, at, way, sent in signals:
                arrives, cause = at + way, (lane, at)
                if sent and sent.arrives() > arrives:    # behind the data
                    arrives, cause = sent.arrives(), sent.port
                there.setdefault(key, []).append(Moment(arrives, cause, lane, "latency"))
        for signals in there.values():
            signals.sort(key=lambda m: m.at)
        return there

    def end_awaits(self):
        there, taken = self.arrivals(), {}
        for lane, semaphore, wanted, begun, went_on in sorted(self.awaits, key=lambda a: a[4]):
            if isinstance(begun, Barrier):
                begun = begun.ended
            key = (lane.core, semaphore)
            taken[key] = taken.get(key, 0) + wanted
            last = there[key][taken[key] - 1] if wanted else None
            waits = last is not None and last.at >= begun
            if went_on != (last.at if waits else begun) + POLL:
                raise Wrong(f"{lane.key()}: it waited for semaphore {semaphore} from {begun} on, {last and last.at} was the signal, the truth "
                            f"has {went_on}")
            if waits:
                lane.ended.append(Moment(went_on, last, lane, f"semaphore {semaphore}"))

    # --- all of it

    def path(self):
        brisc = self.cores[0].lanes[0]
        go = brisc.markers[0][0] - GO - HOP * (brisc.core.x + brisc.core.y)
        self.note_blocks()
        for core in self.cores:
            self.launch(core, go)
        getattr(self, self.op["pattern"])()
        self.serve_transfers()
        self.end_barriers()
        self.end_awaits()
        for core in self.cores:
            self.finish(core)
            for lane in core.lanes.values():
                lane.ended.sort(key=lambda m: m.at)
                if lane.next != len(lane.markers):
                    raise Wrong(f"{lane.key()}: the truth has more: {lane.markers[lane.next:]}")
        last = max(self.cores, key=lambda c: (c.done + HOP * (c.x + c.y), -c.index))
        end = Moment(last.done + GO + HOP * (last.x + last.y), (last.lanes[0], last.done), last.lanes[0], "done")
        return [(b, e, *lane.key(), what) for b, e, lane, what in reversed(list(joined(causes(end, go))))]


def causes(moment, go):
    """Parts of the path that leads to a moment, the last one first."""
    while moment:
        cause = moment.cause
        begin = go if cause is None else cause.at if isinstance(cause, Moment) else cause[1]
        if moment.what:
            yield begin, moment.at, moment.lane, moment.what
        if isinstance(cause, tuple):
            lane, at = cause
            cause = [m for m in lane.ended if m.at <= at][-1]
            yield cause.at, at, lane, "work"
        moment = cause


def joined(parts):
    """Without those that take no time; neighbours of one kind are one part."""
    open_ = None
    for begin, end, lane, what in parts:
        if open_ and open_[2:] == (lane, what):
            open_ = (begin, *open_[1:])
        elif begin != end:
            if open_:
                yield open_
            open_ = (begin, end, lane, what)
    yield open_


def recomputed(truth, workload, watched=None):
    """`workload`: its TOML as a dictionary; `watched`: {"delay": cycles, "masks": {logical core: masks of the RISCs, by kind}}."""
    programs = {}
    with open(truth) as file:
        chip = file.readline().split(":")[1].split(",")[0].strip()
        next(file)
        for row in csv.reader(file):
            program = programs.setdefault(int(row[7]), {})
            program.setdefault((int(row[1]), int(row[2]), row[3]), []).append((int(row[5]), row[10], row[11]))
    ops = [DEFAULTS | {"jitter": workload.get("jitter", 0.05)} | op for op in workload["op"] for _ in range(op.get("repeat", 1))]
    paths = {}
    for i, host_id in enumerate(sorted(programs)):
        lanes = programs[host_id]
        top = min(y for _, y, _ in lanes)
        columns = len({x for x, y, _ in lanes if y == top})
        program = Program(ops[i % len(ops)], lanes, chip, 12 if chip == "wormhole_b0" else 8, columns, watched)
        try:
            paths[host_id] = program.path()
        except Wrong as wrong:
            raise Wrong(f"program {host_id}, {program.op['pattern']}: {wrong}") from None
    return paths

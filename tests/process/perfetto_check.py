"""Reads a Perfetto trace through protoc and checks what otherwise only a viewer would show: tracks, interned ids, clocks, nesting."""
import os
import re
import shutil
import subprocess

import harness as h

PROTO = os.path.join(os.path.dirname(__file__), "perfetto.proto")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
RAW, LANE_CLOCK = 5, 64
FIRST_OP_FLOW = 1 << 52    # an op's zone of which no program came has a flow that leads nowhere


def available():
    return shutil.which("protoc") is not None


def packets(path):
    """Each packet as nested dicts of lists. A field the schema does not have fails the test."""
    with open(path, "rb") as data:
        decoder = subprocess.Popen(["protoc", f"--proto_path={os.path.dirname(PROTO)}", "--decode=Trace", PROTO], stdin=data,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stack = [{}]
        for line in decoder.stdout:
            line = line.strip()
            if line.endswith("{"):
                key = line[:-2]
                h.check(not key.isdigit(), f"field {key} is not in the schema")
                inner = {}
                stack[-1].setdefault(key, []).append(inner)
                stack.append(inner)
            elif line == "}":
                done = stack.pop()
                if len(stack) == 1:
                    stack[0].clear()
                    yield done
            else:
                key, _, value = line.partition(": ")
                h.check(not key.isdigit(), f"field {key} is not in the schema")
                if value.startswith('"'):
                    value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
                stack[-1].setdefault(key, []).append(value)
        err = decoder.stderr.read()
        h.check(decoder.wait() == 0, f"protoc refuses {path}: {err}")


def one(message, key, default=None):
    values = message.get(key, [default])
    h.check(len(values) == 1, f"{key} is there {len(values)} times: {message}")
    return values[0]


class Sequence:
    def __init__(self):
        self.names, self.arguments, self.sources = {}, {}, {}
        self.track = self.clock = None
        self.offset = None
        self.valid = False


class Trace:
    """zones: (track, name, begin, end, arguments, depth), spans likewise of rows that are no lanes; open_zones without end;
    host: zones of the host side's threads, as spans; instants: (track, name, time, arguments); flows: by id the (track, begin) of the slices that have it."""

    def __init__(self, path, cut=False):
        self.tracks, self.sequences, self.open = {}, {}, {}
        self.host = []
        self.clocks_known = False
        self.zones, self.spans, self.instants, self.counters, self.flows, self.units = [], [], [], [], {}, {}
        self.events = 0
        for packet in packets(path):
            self.take(packet)
        self.open_zones = [zone for stack in self.open.values() for zone in stack]
        ranks = {}
        for uuid, track in self.tracks.items():
            ranks.setdefault(track["parent"], []).append(track["rank"])
        for parent, taken in ranks.items():
            h.check(parent is None or len(taken) == len(set(taken)), f"children of track {parent} share a rank")
        for flow, slices in self.flows.items():
            h.check(len(slices) == 2 or len(slices) == 1 and (cut or int(flow, 0) >= FIRST_OP_FLOW), f"flow {flow} joins {slices}")

    def take(self, packet):
        number = one(packet, "trusted_packet_sequence_id")
        h.check(number is not None, f"a packet without a sequence: {packet}")
        s = self.sequences.setdefault(number, Sequence())
        flags = int(one(packet, "sequence_flags", 0))
        if flags & 1:
            h.check(not s.valid, "a sequence begins twice")
            s.valid = True
        h.check(s.valid, "a packet before its sequence began")
        for defaults in packet.get("trace_packet_defaults", []):
            s.clock = int(one(defaults, "timestamp_clock_id"))
            for inner in defaults.get("track_event_defaults", []):
                s.track = one(inner, "track_uuid")
        for data in packet.get("interned_data", []):
            self.intern(s, data)
        for snapshot in packet.get("clock_snapshot", []):
            at = {int(one(c, "clock_id")): int(one(c, "timestamp")) for c in snapshot["clocks"]}
            self.clocks_known = True
            if LANE_CLOCK in at:
                h.check(s.offset is None and at[LANE_CLOCK] == 0, "a second snapshot would make the lane jump")
                s.offset = at[RAW]
        for track in packet.get("track_descriptor", []):
            self.declare(track)
        for event in packet.get("track_event", []):
            self.event(s, packet, event, flags)

    def intern(self, s, data):
        for kind, names in (("event_names", s.names), ("debug_annotation_names", s.arguments)):
            for entry in data.get(kind, []):
                h.check(one(entry, "iid") not in names, "an id is interned twice")
                names[one(entry, "iid")] = one(entry, "name")
        for entry in data.get("source_locations", []):
            s.sources[one(entry, "iid")] = one(entry, "file_name") + ":" + one(entry, "line_number")

    def declare(self, track):
        uuid, parent = one(track, "uuid"), one(track, "parent_uuid")
        h.check(uuid not in self.tracks, f"track {uuid} is declared twice")
        h.check(parent is None or parent in self.tracks, f"track {uuid} comes before its parent")
        h.check(parent is None or self.tracks[parent]["explicit"], f"children of {parent} are not ordered explicitly")
        process, thread = one(track, "process"), one(track, "thread")
        if thread:
            h.check(one(thread, "pid") == self.tracks[parent]["pid"], f"a thread is of another process than its track: {track}")
        if "counter" in track:
            self.units[one(track, "name")] = one(one(track, "counter"), "unit_name")
        self.tracks[uuid] = {"name": one(process, "process_name") if process else one(thread, "thread_name") if thread else one(track, "name"), "parent": parent, "pid": one(process, "pid") if process else None, "thread": thread,
                             "counter": "counter" in track, "explicit": one(track, "child_ordering") == "3",
                             "rank": one(track, "sibling_order_rank", "0")}

    def path(self, uuid):
        track = self.tracks[uuid]
        return (self.path(track["parent"]) if track["parent"] else ()) + (track["name"],)

    def event(self, s, packet, event, flags):
        self.events += 1
        h.check(self.clocks_known, "an event in front of the first clock snapshot, which trace_processor drops")
        clock = int(one(packet, "timestamp_clock_id", s.clock))
        h.check(clock in (RAW, LANE_CLOCK), f"clock {clock} is not known")
        ns = int(one(packet, "timestamp")) + (s.offset if clock == LANE_CLOCK else 0)
        uuid = one(event, "track_uuid", s.track)
        h.check(uuid in self.tracks, f"an event on track {uuid}, which is not declared")
        kind = int(one(event, "type"))
        if kind == COUNTER:
            h.check(self.tracks[uuid]["counter"], "a counter's value on a track that is no counter")
            self.counters.append((self.path(uuid), ns, float(one(event, "double_counter_value"))))
            return
        arguments = {}
        for a in event.get("debug_annotations", []):
            name = a["name"][0] if "name" in a else s.arguments[one(a, "name_iid")]
            arguments[name] = int(a["uint_value"][0]) if "uint_value" in a else a["string_value"][0]
        if kind == END:
            h.check(self.open.get(uuid), f"an end without a begin on {self.path(uuid)}")
            begun = self.open[uuid].pop()
            h.check(ns >= begun[2], f"{begun} ends before it begins")
            if self.tracks[uuid]["thread"]:
                self.host.append((*begun[:3], ns, {**begun[3], **arguments}, len(self.open[uuid])))
                return
            lane = len(begun[0]) == 3 and not re.search(r"( lost|^NoC: addressed)( \(\d\))?$", begun[0][2])
            (self.zones if lane else self.spans).append((*begun[:3], ns, {**begun[3], **arguments}, len(self.open[uuid])))
            return
        iid = one(event, "name_iid")
        h.check(iid is None or flags & 2, "interned names without the flag for it")
        name = one(event, "name") if iid is None else s.names[iid]
        source = one(event, "source_location_iid")
        if source is not None:
            arguments["source"] = s.sources[source]
        for flow in event.get("flow_ids", []):
            self.flows.setdefault(flow, []).append((self.path(uuid), ns))
        if kind == INSTANT:
            self.instants.append((self.path(uuid), name, ns, arguments))
            return
        stack = self.open.setdefault(uuid, [])
        h.check(not stack or ns >= stack[-1][2], "a zone begins before the one around it")
        stack.append((self.path(uuid), name, ns, arguments))

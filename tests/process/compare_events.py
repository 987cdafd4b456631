#!/usr/bin/env python3
"""Compares an exported device CSV with the events.csv of a firmware memory image, event by event.

events.csv keeps the starts that quick push repeats; an export has them once. Both sides are compared as sets, and the
export must not repeat itself. Columns of events.csv: x, y, RISC, host id, frame ordinal, kind, name or id, time, payload.
"""
import csv
import re
import sys

RISCS = ["BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"]
KINDS = {"START": "ZONE_START", "END": "ZONE_END", "DATA": "TS_DATA", "DATA16": "TS_DATA_16B", "EVENT": "TS_EVENT"}


def meta_of(number, words):
    """The meta data column of 16-byte data: performance counters are taken apart (their type is left to the
    table of names), others given whole."""
    if len(words) < 2:
        return ""
    if number == "9090":
        return '{"ref cnt":%d;"value":%d}' % (words[0] >> 32, words[0] & 0xFFFFFFFF)
    return '{"data_2":%d}' % words[1]


def wanted(directory):
    events = set()
    with open(directory + "/events.csv") as lines:
        for x, y, risc, host, _, kind, name, time, payload in csv.reader(lines):
            words = [str(int(word, 16)) for word in payload.split(";")] if payload else ["0"]
            number = None
            for prefix in ("EVENT-", "ID-"):
                if name.startswith(prefix):
                    name, number = "", name[len(prefix):]
            meta = meta_of(number, [int(word) for word in words])
            events.add((x, y, RISCS[int(risc)], host, KINDS[kind], name, number, time, words[0], meta))
    return events


def exported(path):
    rows = []
    with open(path) as lines:
        next(lines), next(lines)
        for line in lines:
            c = line.rstrip("\n").split(",")
            if len(c) != 15:
                sys.exit(f"{path}: a row has {len(c)} columns: {line}")
            number = None if c[10] else c[4]
            c[14] = re.sub('"counter type":[^;]*;', "", c[14])
            rows.append((c[1], c[2], c[3], c[7], c[11], c[10], number, c[5], c[6], c[14]))
    return rows


def main():
    directory, path = sys.argv[1:3]
    want = wanted(directory)
    rows = exported(path)
    got = set(rows)
    name = directory.rstrip("/").split("/")[-1]
    if got == want and len(rows) == len(got):
        print(f"{name}: all {len(want)} events equal")
        return
    for event in sorted(want - got)[:3]:
        print("missing", event)
    for event in sorted(got - want)[:3]:
        print("extra  ", event)
    sys.exit(f"{name}: {len(want - got)} missing, {len(got - want)} extra, {len(rows) - len(got)} repeated of {len(want)}")


if __name__ == "__main__":
    main()

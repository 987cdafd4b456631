"""Shared parts of the tests of ttreport.
"""
import collections
import csv
import os

import harness as h


def golden(*parts):
    path = os.path.join(h.GOLDEN, *parts)
    if not h.GOLDEN or not os.path.exists(path):
        h.skip("no golden data (TTC_GOLDEN)")
    return path


def table(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def report(*arguments, code=0):
    got, out, err = h.run("ttreport", *arguments)
    h.check(got == code, f"ttreport {arguments}: exit {got}, expected {code}: {out}{err}")
    return out, err


def same(a, b):
    if a == b or (a in ("", "nan") and b in ("", "nan")):
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= 1e-9 * max(1, abs(x), abs(y))


def compare(want, got, key, differing=()):
    """Every column of every row; `differing` ones are listed in tools/ttreport/REPORTS.md."""
    h.check(list(want[0]) == list(got[0]), f"columns: {list(got[0])}")
    h.check(len(want) == len(got), f"{len(got)} rows instead of {len(want)}")
    by_key = {key(r): r for r in got}
    bad = collections.Counter()
    for row in want:
        other = by_key.get(key(row))
        h.check(other is not None, f"no row {key(row)}")
        for column in row:
            if column not in differing and not same(row[column], other[column]):
                bad[column] += 1
                print(key(row), column, repr(row[column])[:60], repr(other[column])[:60])
    h.check(not bad, f"cells differ: {dict(bad)}")
    return len(want) * len(want[0])


def log_of(path, programs, chip=0, first_id=1024):
    """One core, four rows a program."""
    with open(path, "w") as out:
        out.write("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, "
                  "time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
        for p in range(programs):
            t, took = 10 ** 9 + p * 3000, 1200 + p * 37 % 900
            for id, name, phase, when in ((10, "FW", "START", 0), (11, "KERNEL", "START", 100), (11, "KERNEL", "END", 100 + took), (10, "FW", "END", 200 + took)):
                out.write(f"{chip},1,1,BRISC,{id},{t + when},0,{first_id + p * 1024},,,BRISC-{name},ZONE_{phase},1,f.cc,\n")


def big_log(path, programs=160, cores=64):
    """About 10^5 zones."""
    riscs = [("BRISC", "BRISC", 10), ("NCRISC", "NCRISC", 12), ("TRISC_0", "TRISC", 14), ("TRISC_1", "TRISC", 14), ("TRISC_2", "TRISC", 14)]
    with open(path, "w") as out:
        out.write("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, "
                  "time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
        for core in range(cores):
            x, y = 1 + core % 8, 1 + core // 8
            for risc, short, id in riscs:
                for p in range(1, programs + 1):
                    t, took = 10 ** 9 + p * 20000 + core * 13, 3000 + (p * 7919) % 9000 + core * 11
                    for i, name, phase, when in ((id, "FW", "START", 0), (id + 1, "KERNEL", "START", 300), (id + 1, "KERNEL", "END", 300 + took), (id, "FW", "END", 500 + took)):
                        out.write(f"0,{x},{y},{risc},{i},{t + when},0,{p * 1024},,,{short}-{name},ZONE_{phase},396,/fw/{short}.cc,\n")


def lines_of(path, front):
    with open(path) as lines:
        return [line for i, line in enumerate(lines) if i > 1 and line.startswith(front)]

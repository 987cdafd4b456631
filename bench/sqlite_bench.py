#!/usr/bin/env python3
"""How fast the zones of a capture become a SQLite database: `ttexport --format sqlite` whole, with decoding, host times and indexes.

    bench/sqlite_bench.py [BIN-DIRECTORY]

The baseline is SQLite alone: it copies the table of zones into an empty file by one statement, and indexes it as ttexport does. Nothing
fails because of a time, only because of rows that are missing; TTC_BENCH_ONCE=1 makes a tiny capture.
"""
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

from collected_run import collected, machine

ONCE = os.environ.get("TTC_BENCH_ONCE") == "1"
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/bin")
PROGRAMS = 20 if ONCE else 1500
REPETITIONS = 1 if ONCE else 7
TARGET = 0.7    # million zones a second


def cpu_s():
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def exported(capture, database, *options):
    """None, or why the export failed."""
    if os.path.exists(database):
        os.unlink(database)
    done = subprocess.run([f"{BIN}/ttexport", "--from", capture, "--format", "sqlite", "-o", database, *options], stderr=subprocess.PIPE)
    return done.stderr.decode() if done.returncode else None


def copied(database, copy):
    """SQLite's own copy of the zones, with their index."""
    if os.path.exists(copy):
        os.unlink(copy)
    with sqlite3.connect(copy, isolation_level=None) as out:
        out.execute("PRAGMA journal_mode = OFF")
        out.execute("PRAGMA synchronous = OFF")
        out.execute("PRAGMA page_size = 16384")
        out.execute("ATTACH ? AS of", (database,))
        out.execute("CREATE TABLE zones AS SELECT * FROM of.zones LIMIT 0")
        out.execute("INSERT INTO zones SELECT * FROM of.zones ORDER BY rowid")    # with an order there is no copy of whole pages
        out.execute("CREATE INDEX zones_by_name ON zones(name)")
    out.close()


def rows_of(database, table):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as read:
        return read.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def main():
    print(f"sqlite_bench: {machine()}, SQLite {sqlite3.sqlite_version}{', TTC_BENCH_ONCE: tiny inputs, times mean nothing' if ONCE else ''}")
    with tempfile.TemporaryDirectory() as directory:
        capture, database, copy = collected(directory, BIN, PROGRAMS), os.path.join(directory, "run.db"), os.path.join(directory, "copy.db")
        if why := exported(capture, database):
            sys.exit(f"sqlite_bench: {why}")
        zones = rows_of(database, "zones")
        print(f"  {zones} zones, {os.path.getsize(capture) / 1e6:.1f} MB as a capture, {os.path.getsize(database) / 1e6:.0f} MB as a database")
        other = os.path.join(directory, "other.db")
        ways = {"SQLite's own copy of the zones": lambda: copied(database, copy),
                "ttexport --format sqlite": lambda: exported(capture, other),
                "ttexport --format sqlite --markers": lambda: exported(capture, other, "--markers")}
        wall, used = {what: [] for what in ways}, {what: [] for what in ways}
        for _ in range(REPETITIONS):    # in turns, so that other load of the machine affects all of them
            for what, way in ways.items():
                began, cpu_began = time.perf_counter(), cpu_s()
                if why := way():
                    sys.exit(f"sqlite_bench: {what}: {why}")
                wall[what].append(time.perf_counter() - began)
                used[what].append(cpu_s() - cpu_began)
                if rows_of(other if "ttexport" in what else copy, "zones") != zones:
                    sys.exit(f"sqlite_bench: {what}: rows are missing")
        baseline = sorted(used["SQLite's own copy of the zones"])[REPETITIONS // 2]
        for what in ways:
            of_wall, of_cpu = sorted(wall[what]), sorted(used[what])
            rates = [zones / seconds / 1e6 for seconds in (of_wall[REPETITIONS // 2], of_cpu[REPETITIONS // 2], of_cpu[0], of_cpu[-1])]
            judged = f" (target >= {TARGET}: {'not judged' if ONCE else 'met' if rates[0] >= TARGET else 'MISSED'})" if what.endswith("sqlite") else ""
            print(f"  {what}: {rates[0]:.2f} M zones/s by the clock, {rates[1]:.2f} M of CPU time, medians; {rates[3]:.2f} to {rates[2]:.2f} M of CPU "
                  f"time{judged}; {of_cpu[REPETITIONS // 2] / baseline:.2f} of the CPU time of SQLite's own copy")


main()

#!/usr/bin/env python3
"""SQLite, numpy and the device CSV agree on one run, and an error of any of them is one sentence."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

from harness import BIN, card_name, check, finish, rows, run, skip, start, wait_for_card, work


def collect(path, name=None, **options):
    """A capture of a card that lost nothing."""
    name = name or card_name()
    words = [word for pair in options.items() for word in (f"--{pair[0]}", pair[1])]
    card = start("ttemu", "--name", name, "--cores", 4, "--programs", 300, "--host-reads", "every:100", "--pace", "--wait-observer", "-q",
                 *words)
    code, _, err = run("ttcollect", "-d", f"emu:{name}", "--wait", "10min", "-o", path, "-q")
    check(code == 0, f"ttcollect: {code} {err}")
    check(finish(card)[0] == 0, "the card")


def good(*command):
    code, out, err = run(*command)
    check(code == 0, f"{command}: exit {code}: {err}")
    return out


def refused(code, words, *command):
    got, out, err = run(*command)
    check(got == code and words in err and err.count("\n") == 1, f"{command}: exit {got}: {err}{out}")


def cycles_of_csv(path):
    """By zone name: (zones, cycles)."""
    open_starts, sums = {}, {}
    for row in rows(path):
        c = row.split(",")
        key = (*c[:5], c[10])
        if c[11] == "ZONE_START":
            open_starts.setdefault(key, []).append(int(c[5]))
        elif c[11] == "ZONE_END" and open_starts.get(key):
            count, cycles = sums.get(c[10], (0, 0))
            sums[c[10]] = count + 1, cycles + int(c[5]) - open_starts[key].pop()
    return sums


def sums():
    capture, csv, database = work("run.ttc"), work("run.csv"), work("run.db")
    collect(capture)
    good("ttexport", "--from", capture, "-o", csv)
    expected = cycles_of_csv(csv)
    check(sum(count for count, _ in expected.values()) > 5000, f"{expected}")
    good("ttexport", "--from", capture, "--format", "sqlite", "--markers", "-o", database)
    answer = good("ttreport", "sql", database, "SELECT name, sum(zones) zones, sum(cycles) cycles FROM top_zones GROUP BY name", "--json")
    found = {row["name"]: (row["zones"], row["cycles"]) for row in map(json.loads, answer.splitlines())}
    check(found == expected, f"SQLite: {found}, device CSV: {expected}")
    with sqlite3.connect(database) as connection:
        one = lambda query: connection.execute(query).fetchone()[0]
        check(one("PRAGMA integrity_check") == "ok" and one("PRAGMA user_version") == 3, "the file")
        check(one("SELECT count(*) FROM markers") == len(rows(csv)), "markers")
        check(one("SELECT whole FROM captures") == 1 and one("SELECT count(*) FROM losses") == 0, "the account")
        check(one("SELECT count(*) FROM ops WHERE core_most_ns >= core_mean_ns AND ns >= kernel_ns AND cores = 4") == 300, "programs")
        check(one("SELECT count(*) FROM zones WHERE ns IS NULL OR bound_ns IS NULL") <= one("SELECT without_bound FROM captures"), "bounds")
        check(one("SELECT max(abs(ns - cycles * 1000.0 / aiclk_mhz) - 2 * bound_ns) FROM zone, sessions") < 5, "host times")
        check(one("SELECT count(*) FROM gaps WHERE gap_ns >= 0") > 250 and one("SELECT count(*) FROM imbalance") == 300, "views")
        check(one("SELECT count(*) FROM clock") > 0 and one("SELECT count(*) FROM top_kernels") > 2, "clock and kernels")
    ops = [json.loads(line) for line in good("ttexport", "--from", capture, "--format", "ops-json").splitlines()]
    check(len(ops) == 300 and sorted({op["host_id"] for op in ops}) == sorted(op["host_id"] for op in ops), f"{ops[:2]}")
    numpy(capture, expected, ops)


def numpy(capture, expected, ops):
    """In a Python of its own, which finds the package as `ttcollect run` has it."""
    script = work("sums.py")
    with open(script, "w") as file:
        file.write(f"""
import json, sys, ttcollect
run = ttcollect.open({capture!r})
tables = run.read()
zones = tables.frame("zones")
sums = zones.groupby("name", observed=True)["cycles"].agg(["count", "sum"])
markers = tables.frame("markers")
kept = run.account, run.remarks
run.close()
run.close()
ops = tables.frame("ops")
batches = [t for t in ttcollect.open({capture!r}, ("zones",), host_times=False, batch_rows=100)]
print(json.dumps(dict(sums={{n: [int(c), int(s)] for n, c, s in sums.itertuples()}}, whole=run.whole, markers=len(tables.markers),
    counted=run.account["markers"], ops=len(tables.ops), bounds=int(zones["bound_ns"].isna().sum()) <= run.account["without_bound"], batches=len(batches), kept=(run.account, run.remarks) == kept,
    kernel_na=bool((ops["kernel_begin_ns"].isna() == (tables.ops["kernel_begin_ns"] == 0)).all()), begin=int(ops["begin_ns"].min()) > 0,
    host_na=bool((markers["host_ns"].isna() == (tables.markers["host_ns"] == 0)).all()),
    duration_bounds=zones["duration_bound_ns"].fillna(-1).astype(int).tolist(), raw_bounds=tables.zone_bounds.tolist(),
    op_bounds=[ops[name].fillna(-1).astype(int).tolist() for name in ("duration_bound_ns", "kernel_bound_ns", "core_mean_bound_ns", "core_most_bound_ns")],
    of_batches=[len(t.zone_bounds) - len(t.zones) for t in batches], no_bounds=all((t.zone_bounds == ttcollect.UNBOUNDED).all() for t in batches),
    zones=sum(len(t.zones) for t in batches), device=tables.sessions[0]["device"], losses=len(tables.frame("losses")),
    ns=int((tables.ops["end_ns"] - tables.ops["begin_ns"]).sum()), processors=sorted(markers["processor"].unique()))))
""")
    python = with_pandas()
    environment = {**os.environ, "PYTHONPATH": os.path.join(BIN, "python")}
    done = subprocess.run([python, "-B", script], capture_output=True, text=True, env=environment)
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    check({name: tuple(sums) for name, sums in found["sums"].items()} == expected, f"numpy: {found['sums']}, device CSV: {expected}")
    zones = sum(count for count, _ in expected.values())
    check(found["whole"] and found["markers"] == found["counted"] > zones and found["bounds"] and found["losses"] == 0, f"{found}")
    check(found["ops"] == 300 and found["ns"] == sum(op["ns"] for op in ops) and found["zones"] == zones and found["batches"] > 10, f"{found}")
    unbounded = lambda bounds: [-1 if ns is None else ns for ns in bounds]
    with sqlite3.connect(work("run.db")) as connection:
        columns = lambda query: list(zip(*connection.execute(query)))
        of_zones, = columns("SELECT duration_bound_ns FROM zones ORDER BY rowid")
        of_ops = columns("SELECT duration_bound_ns, kernel_bound_ns, core_mean_bound_ns, core_most_bound_ns FROM ops ORDER BY id")
    check(found["duration_bounds"] == unbounded(of_zones) and max(found["duration_bounds"]) >= 0, "bounds of zones are others than in the database")
    check(found["raw_bounds"] == [0xffffffff if ns < 0 else ns for ns in found["duration_bounds"]], "the array of bounds is another one than the frame's column")
    check(found["op_bounds"] == [unbounded(column) for column in of_ops] and max(found["op_bounds"][0]) >= 0, "bounds of ops are others than in the database")
    check(set(found["of_batches"]) == {0} and found["no_bounds"], "batches without host times")
    check(found["kept"] and found["kernel_na"] and found["host_na"] and found["begin"], f"{found}")
    check(found["processors"] == ["BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"], f"{found}")


def losses():
    """Intervals that the card reported while the clock model did not cover them yet have host times in the end."""
    name, capture, database = card_name(), work("lost.ttc"), work("lost.db")
    # At this rate the workload takes 1.3 s: the clock model covers its middle however late the model begins.
    card = start("ttemu", "--name", name, "--cores", 2, "--programs", 2600, "--rate", 2000, "--host-reads", "every:1300", "--wait-observer", "-q")
    wait_for_card(name, card)
    collector = start("ttcollect", "-d", f"emu:{name}", "-o", capture, "-q")
    check(finish(card)[0] == 0, "the card")
    finish(collector)
    good("ttexport", "--from", capture, "--format", "sqlite", "-o", database)
    covered = "BETWEEN (SELECT min(from_cycles) FROM clock) AND (SELECT max(to_cycles) FROM clock)"
    answer = good("ttreport", "sql", database, f"SELECT sum(from_cycles {covered} AND from_ns IS NULL), sum(to_cycles {covered} AND to_ns IS NULL), "
                  "count(from_ns) + count(to_ns) FROM losses", "--csv")
    no_begin, no_end, dated = map(int, answer.splitlines()[1].split(","))
    check(dated > 0 and no_begin == no_end == 0, answer)


def with_pandas():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pandas"], capture_output=True).returncode == 0:
            return python
    return skip("no Python with pandas")


def without_library():
    """Marks work without it; the reader is one sentence. The package is alone in its folder here."""
    alone = work("alone")
    shutil.copytree(os.path.join(BIN, "python/ttcollect"), os.path.join(alone, "ttcollect"))
    environment = {**os.environ, "PYTHONPATH": alone, "TTCOLLECT_LIBRARY": "/nowhere/libttcollect.so.0"}
    done = subprocess.run([sys.executable, "-B", "-c", "import ttcollect; ttcollect.mark('x')\ntry: ttcollect.open('x')\n"
                           "except ImportError as e: print(e)"], capture_output=True, text=True, env=environment)
    check(done.returncode == 0 and done.stdout.count("\n") == 1 and "libttcollect0" in done.stdout, f"{done.stdout}{done.stderr}")


def several():
    """Captures of two hosts in one file; what cannot be added leaves it as it was."""
    first, second, database = work("rank0.ttc"), work("rank1.ttc"), work("both.db")
    collect(first)
    collect(second, seed=5)
    good("ttexport", "--from", first, "--format", "sqlite", "-o", database, "--host", "a", "--rank", 0)
    good("ttexport", "--from", second, "--format", "sqlite", "-o", database, "--host", "b", "--rank", 1, "--append")
    answer = good("ttreport", "sql", database, "SELECT host, rank, count(*) FROM op GROUP BY host, rank ORDER BY rank", "--csv")
    check(answer.splitlines() == ["host,rank,count(*)", "a,0,300", "b,1,300"], answer)
    with open(database, "rb") as file:
        before = file.read()
    refused(3, "/nowhere.ttc", "ttexport", "--from", "/nowhere.ttc", "--format", "sqlite", "-o", database, "--append")
    for query in ("DROP TABLE zones", "INSERT INTO names VALUES(1, 'x', 'x', 1, 1)", f"ATTACH '{work('other.db')}' AS o"):
        code, _, err = run("ttreport", "sql", database, query)
        check(code == 2 and err.startswith("ttreport: "), f"{query}: {code} {err}")
    refused(2, "no such column: absent", "ttreport", "sql", database, "SELECT absent FROM zones")
    refused(2, "one statement", "ttreport", "sql", database, "SELECT 1; SELECT 2")
    with open(database, "rb") as file:
        check(file.read() == before, "the database was changed")
    check(not os.path.exists(work("other.db")), "a file was made")
    refused(3, "nothing.db", "ttreport", "sql", work("nothing.db"), "SELECT 1")
    refused(3, "not a database", "ttreport", "sql", first, "SELECT 1")
    shutil.copy(first, work("other.ttc"))
    refused(5, "not a database", "ttexport", "--from", first, "--format", "sqlite", "-o", work("other.ttc"), "--append")
    refused(2, "name a file", "ttexport", "--from", first, "--format", "sqlite")
    refused(5, "no-such-directory", "ttexport", "--from", first, "--format", "sqlite", "-o", work("no-such-directory/x.db"))
    again, workloads = work("again.ttc"), work("workloads.ttc")
    name = card_name()
    collect(work("once.ttc"), name)
    collect(again, name)
    for extra in (("sqlite", "-o", work("twice.db")), ("ops-json",)):
        refused(3, f"two runs of emu:{name}", "ttexport", "--from", f"{work('once.ttc')},{again}", "--format", *extra)
    check(not os.path.exists(work("twice.db")), "a database of two runs of one card")
    collect(workloads, then="--cores 4 --programs 40 --host-reads every:20 --pace")    # of one run: one session
    good("ttexport", "--from", workloads, "--format", "sqlite", "-o", work("workloads.db"))
    counts = good("ttreport", "sql", work("workloads.db"), "SELECT count(DISTINCT session), count(*) FROM ops", "--csv")
    check(counts.splitlines()[1] == "1,340", counts)
    csv = work("workloads.csv")
    good("ttexport", "--from", workloads, "-o", csv)
    zones = sum(count for count, _ in cycles_of_csv(csv).values())
    check(good("ttreport", "sql", work("workloads.db"), "SELECT count(*) FROM zones", "--csv").splitlines()[1] == str(zones), f"{zones} zones")
    check("top_kernels" in good("ttreport", "sql", database), "the schema is shown")


if __name__ == "__main__":
    {"sums": sums, "without_library": without_library, "several": several, "losses": losses}[sys.argv[1]]()

#!/usr/bin/env python3
"""Op rows and commands of several ranks over a real nats-server. Usage: fleet_test.py CASE"""
import json
import os
import signal
import sys

import harness as h
from bus import Bus

JOB = "job7"
os.environ["XDG_STATE_HOME"] = h.work("state")
os.environ.pop("SLURM_JOB_ID", None)


def fleet(command, bus, *arguments, codes=(0,), user=""):
    """The JSON output of a command; another exit code fails the test."""
    code, out, err = h.run("ttfleet", command, "--bus", bus.url(user), "--job", JOB, "--json", *arguments)
    h.check(code in codes, f"ttfleet {command} {arguments} ended with {code}: {out[-500:]}{err[-500:]}")
    return json.loads(out) if out.startswith("{") else None, err


def capture(programs=400, cores=4):
    """A capture with the ops of so many programs, and how many ops that are."""
    name = h.card_name()
    path = h.work(name + ".ttc")
    card = h.start("ttemu", "--name", name, "--programs", programs, "--cores", cores, "--pace", 100, "--host-reads", "every:200")
    h.wait_for_card(name, card)
    collector = h.start("ttcollect", "--device", f"emu:{name}", "-o", path, "--quiet", "--json")
    code, out, err = h.finish(collector)
    h.check(code == 0, f"ttcollect ended with {code}: {err}")
    h.check(h.finish(card)[0] == 0, "the card failed")
    return path


def agent(bus, source, rank, *extra, user=""):
    return h.start("ttfleet", "agent", "--from", source, "--bus", bus.url(user), "--job", JOB, "--host", f"node{rank}", "--rank", rank,
                   "--spool", h.work("spool"), *extra)


def publish(bus, source, rank, *extra, codes=(0,)):
    code, _, err = h.finish(agent(bus, source, rank, *extra))
    h.check(code in codes, f"the agent of rank {rank} ended with {code}: {err}")
    return err


def ops_of(path):
    database = h.work("ops.sqlite")
    code, _, err = h.run("ttexport", "--from", path, "--format", "sqlite", "-o", database)
    h.check(code == 0, f"ttexport ended with {code}: {err}")
    code, out, err = h.run("ttreport", "sql", database, "SELECT count(*) FROM ops")
    h.check(code == 0, f"ttreport sql ended with {code}: {err}")
    return int("".join(c for c in out.splitlines()[-1] if c.isdigit()))


def balanced(report, ops_by_rank):
    """Every op once, nothing missing."""
    got = {r["rank"]: r for r in report["ranks"]}
    for rank, ops in ops_by_rank.items():
        r = got[rank]
        h.check(r["ops"] == ops, f"{rank}: {r['ops']} ops on the bus, {ops} in its capture")
        h.check(r["missing"] == 0, f"{rank}: {r['missing']} rows are missing")
    print({name: (r["rows"], r["again"]) for name, r in got.items()})


def published():
    """Published rows equal those in the ranks' captures; rows published again under another session are counted apart."""
    bus = Bus()
    path = capture()
    ops = ops_of(path)
    h.check(ops >= 300, f"next to nothing: {ops} ops")
    for rank in range(2):
        publish(bus, path, rank)
    report, _ = fleet("report", bus)
    balanced(report, {"node0_rank_0": ops, "node1_rank_1": ops})
    h.check(report["refused"] == 0, report["refused_last"])
    h.check(report["stragglers"] == [], f"equal ranks name no straggler: {report['stragglers']}")
    out = h.work("rows.sqlite")
    fleet("report", bus, "-o", out)
    code, text, _ = h.run("ttreport", "sql", out, "SELECT count(*) FROM op WHERE rank_name = 'node1_rank_1'")
    h.check(code == 0 and str(ops) in text, f"the database holds other rows: {text}")


def bus_killed():
    """kill -9 of the bus while ranks publish, and again: every row is stored once."""
    bus = Bus()
    path = capture(programs=3000)
    ops = ops_of(path)
    agents = [agent(bus, path, rank, "--linger", f"{h.LIMIT_S}s") for rank in range(3)]
    for _ in range(3):
        bus.kill()
        bus.start()
    for rank, process in enumerate(agents):
        code, _, err = h.finish(process)
        h.check(code == 0, f"the agent of rank {rank} ended with {code}: {err}")
    report, _ = fleet("report", bus)
    balanced(report, {f"node{rank}_rank_{rank}": ops for rank in range(3)})


def bus_away():
    """No bus at all: rows wait in the spool, and the next agent of the rank sends them."""
    bus = Bus()
    bus.kill()
    path, other = capture(), capture(programs=100)
    err = publish(bus, path, 0, "--linger", "0s", codes=(6,))
    h.check("in the spool for the next agent" in err, err)
    bus.start()
    publish(bus, other, 0)
    report, _ = fleet("report", bus)
    balanced(report, {"node0_rank_0": ops_of(path) + ops_of(other)})


def agent_killed():
    """kill -9 of an agent: what it had spooled is sent by the next one, nothing twice."""
    bus = Bus()
    bus.kill()
    path, other = capture(programs=2000), capture(programs=100)
    first = agent(bus, path, 0, "--linger", f"{h.LIMIT_S}s")
    directory = os.path.join(h.work("spool"), f"local.{JOB}.node0.0")
    spooled = lambda: sum(e.stat().st_size for e in os.scandir(directory) if e.name.endswith(".spool")) if os.path.isdir(directory) else 0
    h.wait_until(lambda: spooled() > 10_000, "rows are spooled", first)
    first.send_signal(signal.SIGKILL)
    first.wait()
    bus.start()
    publish(bus, other, 0)
    report, _ = fleet("report", bus)
    rank = report["ranks"][0]
    h.check(rank["missing"] == 0 and rank["again"] == 0, f"missing or twice: {rank}")
    h.check(rank["ops"] > ops_of(other), f"no row of the killed agent came: {rank}")


def spool_full():
    """A spool that is too small: the oldest rows make way, and an interval of loss reports each."""
    bus = Bus()
    bus.kill()
    limit, ops, directory = 16 << 10, 0, os.path.join(h.work("spool"), f"local.{JOB}.node0.0")
    for _ in range(4):
        path = capture(programs=600)
        ops += ops_of(path)
        publish(bus, path, 0, "--spool-size", "16KiB", "--linger", "0s", codes=(6,))
        size = sum(os.path.getsize(os.path.join(directory, n)) for n in os.listdir(directory) if n.endswith(".spool"))
        h.check(size <= limit, f"the spool takes {size} bytes")
    bus.start()
    publish(bus, capture(programs=50), 0, "--spool-size", "16KiB")
    report, _ = fleet("report", bus)
    rank = report["ranks"][0]
    h.check(rank["missing"] > 0 and rank["missing"] == rank["declared_lost"], f"the account does not balance: {rank}")
    h.check(rank["ops"] + rank["missing"] >= ops, f"{ops} ops, {rank}")


def collector_killed():
    """kill -9 of a collector: its agent publishes what the ring still holds, and ends."""
    bus = Bus()
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 100000, "--cores", 4, "--pace", 100, "--host-reads", "every:200")
    h.wait_for_card(name, card)
    collector = h.start("ttcollect", "--device", f"emu:{name}", "--publish", bus.url(), f"--publish-with=--job={JOB}",
                        "--publish-with=--host=node0", "--publish-with=--rank=0", f"--publish-with=--spool={h.work('spool')}", "--quiet")
    def rows():
        ranks, _ = fleet("ls", bus, codes=(0, 1))
        return ranks["ranks"][0]["rows_stored"] if ranks else 0
    h.wait_until(lambda: rows() > 100, "rows are stored", collector)
    collector.send_signal(signal.SIGKILL)
    collector.wait()
    h.wait_until(lambda: not fleet("ls", bus, codes=(0, 1))[0], "the agent has ended")
    card.terminate()
    report, _ = fleet("report", bus)
    h.check(report["ranks"][0]["missing"] == 0 and report["ranks"][0]["again"] == 0, f"{report['ranks']}")
    h.check(report["ranks"][0]["ops"] > 0, "no op came")


def dumped():
    """Two ranks are cut at one instant, gathered, and reported on; commands are in the logs of both sides."""
    bus = Bus()
    collectors, cards = [], []
    for rank in range(2):
        name = h.card_name()
        cards.append(h.start("ttemu", "--name", name, "--programs", 1000000, "--cores", 2, "--pace", 100, "--host-reads", "every:200"))
        h.wait_for_card(name, cards[-1])
        collectors.append(h.start("ttcollect", "--device", f"emu:{name}", "--publish", bus.url(), f"--publish-with=--job={JOB}",
                                  f"--publish-with=--host=node{rank}", f"--publish-with=--rank={rank}",
                                  f"--publish-with=--spool={h.work('spool')}", "--quiet"))
    def ready():
        ranks, _ = fleet("ls", bus, codes=(0, 1))
        return ranks and len(ranks["ranks"]) == 2 and all(r["rows_stored"] > 50 and r["reference"] for r in ranks["ranks"])
    h.wait_until(ready, "both ranks publish", *collectors)
    directory = h.work("dump")
    dump, err = fleet("dump", bus, "--timeout", "5s", "--last", "2s", "-o", directory, "--why", "a test")
    h.check(len(dump["ranks"]) == 2 and all(r["ok"] for r in dump["ranks"]), f"{dump} {err}")
    for rank in range(2):
        path = os.path.join(directory, f"node{rank}_rank_{rank}.ttc")
        code, out, err = h.run("ttcollect", "info", path, "--json")
        h.check(code == 0, f"{path}: {err}")
        h.check(json.loads(out)["markers"] > 0, f"{path} is empty")
        with open(os.path.join(h.work("spool"), f"local.{JOB}.node{rank}.{rank}", "commands.log"), encoding="utf-8") as log:
            h.check(dump["id"] in log.read(), f"rank {rank} has no log of the command")
    with open(os.path.join(h.work("state"), "ttfleet", "commands.log"), encoding="utf-8") as log:
        h.check(dump["id"] in log.read(), "the command is in no log of this side")
    held, _ = fleet("gather", bus, dump["id"], "-o", h.work("again"))
    h.check(all(not r["error"] for r in held["ranks"]), f"{held}")
    code, out, err = h.run("ttfleet", "report", directory, "--json", "-o", h.work("dump.sqlite"))
    h.check(code == 0, f"ttfleet report ended with {code}: {err}")
    h.check({r["rank"] for r in json.loads(out)["ranks"]} == {"node0_rank_0", "node1_rank_1"}, out)
    armed, _ = fleet("trigger", bus, "--arm", "step>1h")
    h.check(all(r["ok"] for r in armed["ranks"]), f"{armed}")
    refused, _ = fleet("trigger", bus, "--arm", "nonsense>1", codes=(1,))
    h.check(all("is no rule" in r["text"] for r in refused["ranks"]), f"{refused}")
    fleet("gather", bus, "../../etc/passwd", codes=(2,))
    for process in collectors:
        process.terminate()
        h.check(h.finish(process)[0] == 0, "a collector failed")
    for card in cards:
        card.terminate()


ACCOUNTS = """
accounts {
  A: { jetstream: enabled, users: [
    { user: a, password: a },
    { user: looker, password: l, permissions: { publish: { deny: "ttctl.>" } } },
    { user: commander, password: c, permissions: { publish: { deny: "$JS.API.>" } } } ] }
  B: { jetstream: enabled, users: [ { user: b, password: b } ] }
}
"""


def foreign():
    """Users of another account reach no agent; one without the permission is refused; wrong passwords are one sentence."""
    bus = Bus(ACCOUNTS)
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 1000000, "--cores", 2, "--pace", 100, "--host-reads", "every:200")
    h.wait_for_card(name, card)
    collector = h.start("ttcollect", "--device", f"emu:{name}", "--publish", bus.url("a:a"), f"--publish-with=--job={JOB}",
                        "--publish-with=--host=node0", "--publish-with=--rank=0", f"--publish-with=--spool={h.work('spool')}", "--quiet")
    h.wait_until(lambda: fleet("ls", bus, codes=(0, 1), user="a:a")[0], "the agent answers", collector)
    _, err = fleet("dump", bus, codes=(1,), user="b:b")
    h.check("no agent of job" in err, err)
    _, err = fleet("dump", bus, codes=(1,), user="looker:l")
    h.check("ermissions" in err and "Violation" in err, f"the reason of the refusal is not printed: {err}")
    dump, err = fleet("dump", bus, "--last", "1s", "-o", h.work("commanded"), user="commander:c")
    h.check([r["ok"] for r in dump["ranks"]] == [True] and "a rank that does not answer is not named" in err, f"{dump} {err}")
    _, err = fleet("ls", bus, codes=(4,), user="a:wrong")
    h.check("uthorization" in err, err)
    log = os.path.join(h.work("spool"), f"local.{JOB}.node0.0", "commands.log")
    with open(log, encoding="utf-8") as file:
        dumps = [line for line in file if '"dump"' in line or ": dump" in line]
    h.check(len(dumps) == 1, f"a foreign command was obeyed: {dumps}")
    collector.terminate()
    h.check(h.finish(collector)[0] == 0, "the collector failed")
    card.terminate()


def hostile():
    """Bytes that are no rows, on every subject: counted, and nothing else changes."""
    bus = Bus()
    path = capture(programs=100)
    publish(bus, path, 0)
    import socket
    connection = socket.create_connection(("127.0.0.1", bus.port))
    connection.sendall(b'CONNECT {"verbose":false}\r\n')
    for kind in ("ops", "loss", "clock", "telemetry", "state", "nonsense"):
        for data in (b"", b"TTFB", b"TTFB\x01\x01\x28\x00" + b"\xff" * 64, b"{" * 1000, os.urandom(500)):
            for subject in (f"tt.local.{JOB}.node0.0.{kind}", f"tt.local.{JOB}.evil.99999999999.{kind}", f"ttctl.local.{JOB}.all"):
                connection.sendall(f"PUB {subject} {len(data)}\r\n".encode() + data + b"\r\n")
    connection.sendall(b"PING\r\n")
    answer = b""
    while b"PONG" not in answer:
        got = connection.recv(65536)
        h.check(got, f"the bus hung up: {answer[-200:]}")
        answer += got
    connection.close()
    report, _ = fleet("report", bus)
    balanced(report, {"node0_rank_0": ops_of(path)})
    h.check(report["refused"] == 60, f"{report['refused']} messages were refused: {report['refused_last']}")


def identity():
    """Names from launchers' variables; hostile ones become tokens."""
    bus = Bus()
    path = capture(programs=50)
    for variables, rank in (({"SLURM_JOB_ID": JOB, "SLURM_PROCID": "3"}, 3),
                            ({"TT_RUN_RANK": "5", "SLURM_PROCID": "1", "SLURM_JOB_ID": JOB}, 5),
                            ({"OMPI_COMM_WORLD_RANK": "../9", "PMI_RANK": "6", "TT_RUN_JOB": JOB}, 6)):
        process = h.start("ttfleet", "agent", "--from", path, "--bus", bus.url(), "--host", "a b.>*\n", "--spool", h.work("spool"),
                          env={**os.environ, **variables})
        code, _, err = h.finish(process)
        h.check(code == 0, f"{variables}: {code} {err}")
        report, _ = fleet("report", bus)
        names = [r["rank"] for r in report["ranks"]]
        h.check(any(n.startswith("a_b____-") and n.endswith(f"_rank_{rank}") for n in names), f"{variables}: {names}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("ok")

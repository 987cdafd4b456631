#!/usr/bin/env python3
"""Networks, disks, keys and clocks between ranks and a real nats-server that fail or are hostile. Usage: fleet_faults_test.py CASE"""
import atexit
import json
import os
import signal
import subprocess
import sys

import bus_secrets
import fleet_test as f
import harness as h
from bus import Bus

JOB = f.JOB


def root_only():
    if os.geteuid() != 0:
        h.skip("namespaces need root")


def command(*words, codes=(0,)):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    h.check(done.returncode in codes, f"{words}: {done}")
    return done.stdout


def collector(bus, rank, *extra, rate=200, inside=(), publish=(), user="", scheme="nats", **options):
    """(card, collector, the card's name) of a rank that goes on until it is stopped."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", rate, "--cores", 2, "--pace", 100, "--host-reads", "every:200", "-q", inside=inside)
    h.wait_for_card(name, card)
    words = [f"--publish-with={w}" for w in (f"--job={JOB}", f"--host=node{rank}", f"--rank={rank}", f"--spool={h.work('spool')}", *publish)]
    process = h.start("ttcollect", "--device", f"emu:{name}", "--publish", bus.url(user, scheme), *words, "--quiet", *extra, inside=inside, **options)
    return card, process, name


def stop(card, process, codes=(0,)):
    process.terminate()
    code, _, err = h.finish(process)
    h.check(code in codes, f"the collector ended with {code}: {err}")
    card.terminate()
    h.finish(card)


def spool_of(rank):
    return os.path.join(h.work("spool"), f"local.{JOB}.node{rank}.{rank}")


def spooled(rank):
    directory = spool_of(rank)
    return sum(e.stat().st_size for e in os.scandir(directory) if e.name.endswith(".spool")) if os.path.isdir(directory) else 0


def answers(bus, ranks, user="", more=()):
    """Whether so many ranks answer and have stored rows."""
    found, _ = f.fleet("ls", bus, *more, codes=(0, 1), user=user)
    return found and len(found["ranks"]) == ranks and all(r["rows_stored"] > 50 and r["reference"] for r in found["ranks"])


def commands_of(rank):
    """The log of a rank's commands, empty where it has taken none."""
    path = os.path.join(spool_of(rank), "commands.log")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as log:
        return log.read()


def partition():
    """The network between a rank and the bus takes nothing for a while: rows wait in the spool, collecting goes on, and then all of them are stored once."""
    root_only()
    seconds = 60 if h.LONG else 4
    space, here, there = f"ttc-{os.getpid()}", f"ttc{os.getpid() % 100000}a", f"ttc{os.getpid() % 100000}b"
    net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
    command("ip", "netns", "add", space)
    atexit.register(lambda: subprocess.run(["ip", "netns", "del", space], check=False))
    command("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
    command("ip", "addr", "add", f"{net}.1/30", "dev", here)
    command("ip", "link", "set", here, "up")
    for words in (("addr", "add", f"{net}.2/30", "dev", there), ("link", "set", there, "up"), ("link", "set", "lo", "up")):
        command("ip", "-n", space, *words)
    bus = Bus(address=f"{net}.2", inside=("ip", "netns", "exec", space))
    path = h.work("partition.ttc")
    card, process, _ = collector(bus, 0, "-o", path, publish=("--spool-size=8MiB", "--linger=300s"))
    h.wait_until(lambda: answers(bus, 1), "the rank publishes", process)
    command("ip", "-n", space, "link", "set", there, "down")
    before = os.path.getsize(path)
    h.wait_until(lambda: spooled(0) > 4096, "rows wait in the spool", process)
    subprocess.run(["sleep", str(seconds)], check=True)    # the time that the network is away is the test's subject
    h.check(os.path.getsize(path) > before, "collecting has waited for the network")
    most = spooled(0)
    h.check(most <= 8 << 20, f"the spool takes {most} bytes")
    command("ip", "-n", space, "link", "set", there, "up")
    stop(card, process)
    h.check(spooled(0) == 0, "rows remain in the spool")
    report, _ = f.fleet("report", bus)
    f.balanced(report, {"node0_rank_0": f.ops_of(path)})
    h.check(report["ranks"][0]["declared_lost"] == 0, f"{report['ranks']}")
    print(f"{seconds} s away, {most} bytes in the spool")


def disk_full():
    """The disk of the bus is full, then it is not: what was acknowledged is there, what was not is sent again, nothing twice."""
    root_only()
    storage = h.work("js")
    os.mkdir(storage)
    holder = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=2m none {storage} && echo ready && exec sleep infinity"],
                              stdout=subprocess.PIPE, text=True)
    h._running.append(holder)
    h.check(holder.stdout.readline() == "ready\n", "no file system for the test")
    within = ("nsenter", "-t", str(holder.pid), "-m")
    bus = Bus(storage=storage, jetstream="max_file_store: 1GB", inside=within)    # else the server sees to it that the disk never fills
    path = f.capture(programs=3000)
    ops = f.ops_of(path)
    f.publish(bus, path, 0)    # while there is room
    free = int(command(*within, "df", "--output=avail", "-B1", storage).split()[1])
    command(*within, "dd", "if=/dev/zero", f"of={storage}/ballast", "bs=4096", f"count={free // 4096 - 2}")
    err = f.publish(bus, path, 1, "--linger", "4s", codes=(6,))
    h.check("in the spool for the next agent" in err, err)
    h.check(spooled(1) > 0, "nothing waits in the spool")
    command(*within, "rm", f"{storage}/ballast")
    bus.kill()    # a server whose store has failed once takes nothing more until it is started again
    bus.start()
    f.publish(bus, f.capture(programs=50), 1)
    report, _ = f.fleet("report", bus)
    ranks = {r["rank"]: r for r in report["ranks"]}
    h.check(ranks["node0_rank_0"]["ops"] == ops, f"acknowledged rows are gone: {ranks['node0_rank_0']}, {ops} ops")
    h.check(ranks["node1_rank_1"]["ops"] > ops, f"{ranks['node1_rank_1']}, {ops} ops and those of another capture")
    h.check(all(r["missing"] == 0 and r["again"] == 0 for r in ranks.values()), f"{ranks}")


def tls():
    """TLS on both sides; another authority, no certificate of one's own, no TLS at all: refused with a sentence."""
    files, others = bus_secrets.certificates("own"), bus_secrets.certificates("other", "other-ca")
    bus = Bus(f'tls {{ cert_file: "{files["server"]}", key_file: "{files["server_key"]}", ca_file: "{files["ca"]}", verify: true }}')
    own = ("--ca", files["ca"], "--cert", files["client"], "--key", files["client_key"])
    path = f.capture(programs=100)
    process = h.start("ttfleet", "agent", "--from", path, "--bus", bus.url(scheme="tls"), "--job", JOB, "--host", "node0", "--rank", 0,
                      "--spool", h.work("spool"), *own)
    code, _, err = h.finish(process)
    h.check(code == 0, f"the agent ended with {code}: {err}")
    code, out, err = h.run("ttfleet", "report", "--bus", bus.url(scheme="tls"), "--job", JOB, "--json", *own)
    h.check(code == 0, f"the report ended with {code}: {err}")
    f.balanced(json.loads(out), {"node0_rank_0": f.ops_of(path)})
    for name, wrong in (("another authority", ("--ca", others["ca"], *own[2:])), ("no certificate", own[:2]),
                        ("a certificate of another authority", ("--ca", files["ca"], "--cert", others["client"], "--key", others["client_key"]))):
        code, out, err = h.run("ttfleet", "report", "--bus", bus.url(scheme="tls"), "--job", JOB, *wrong)
        h.check(code == 4 and err.count("\n") == 1 and not out, f"{name}: {code} {out}{err}")
        h.check(name == "another authority" or "certificate" in err, f"{name}: {err}")
    code, _, err = h.run("ttfleet", "report", "--bus", bus.url(), "--job", JOB)
    h.check(code == 4 and err.count("\n") == 1, f"without TLS: {code} {err}")
    code, _, err = h.run("ttfleet", "report", "--bus", bus.url(), "--job", JOB, "--cert", files["client"])
    h.check(code == 2, f"a certificate without its key: {code} {err}")


def credentials():
    """Operators' credentials: a rank publishes and obeys its own account; another account's commands reach it not, a user who may look commands not."""
    operator = bus_secrets.Operator()
    physics, vision = operator.account("physics"), operator.account("vision")
    runs, looks = operator.credentials(physics, "runs"), operator.credentials(physics, "looks", denied=["ttctl.*.*.all", "ttctl.*.*.rank.>"])
    foreign = operator.credentials(vision, "foreign")
    unknown = bus_secrets.Operator().account("unknown")
    wrong = operator.credentials(unknown, "wrong")
    bus = Bus(operator.configuration())
    card, process, _ = collector(bus, 0, publish=(f"--creds={runs}",))
    h.wait_until(lambda: answers(bus, 1, more=("--creds", runs)), "the rank publishes", process)
    _, err = f.fleet("dump", bus, "--creds", foreign, codes=(1,))
    h.check("no agent of job" in err, err)
    code, _, err = h.run("ttfleet", "report", "--bus", bus.url(), "--job", JOB, "--creds", foreign)
    h.check(code != 0, "the rows of another account were read")
    _, err = f.fleet("dump", bus, "--creds", looks, codes=(1,))
    h.check("ermissions" in err and "Violation" in err, f"no reason: {err}")
    report, _ = f.fleet("report", bus, "--creds", looks)
    h.check(report["ranks"], "a user who may look sees no rows")
    _, err = f.fleet("ls", bus, "--creds", wrong, codes=(4,))
    h.check("uthorization" in err and err.count("\n") == 1, err)
    _, err = f.fleet("ls", bus, codes=(4,))
    h.check("uthorization" in err and err.count("\n") == 1, err)
    other_card, other, _ = collector(bus, 1, publish=(f"--creds={wrong}", "--linger=0s"))    # refused for good: rows wait, collecting goes on
    h.wait_until(lambda: spooled(1) > 4096, "rows of the refused rank wait in the spool", other)
    stop(other_card, other)
    h.check(spooled(1) > 0, "the rows of the refused rank are gone")
    h.check('"dump"' not in commands_of(0), "a foreign command was obeyed")
    stop(card, process)


JOBS = """
authorization {
  users: [
    { user: a, password: a, permissions: { publish: ["ttctl.local.%(job)s.>", "tt.local.%(job)s.>", "$JS.API.>", "_INBOX.>"],
                                           subscribe: ["ttctl.local.%(job)s.>", "_INBOX.>"] } },
    { user: b, password: b, permissions: { publish: ["ttctl.local.other.>", "tt.local.other.>", "$JS.API.>", "_INBOX.>"],
                                           subscribe: ["ttctl.local.other.>", "_INBOX.>"] } }
  ]
}
"""


def foreign_job():
    """Two jobs in one account, parted by subjects: neither commands the other, nor writes its rows."""
    bus = Bus(JOBS % {"job": JOB})
    card, process, _ = collector(bus, 0, user="a:a")
    h.wait_until(lambda: answers(bus, 1, user="a:a"), "the rank publishes", process)
    for name, words in (("dump", ()), ("trigger", ("--arm", "step>1ms"))):
        _, err = f.fleet(name, bus, *words, codes=(1,), user="b:b")
        h.check("ermissions" in err and "Violation" in err, f"{name}: {err}")
    path = f.capture(programs=50)
    process_b = h.start("ttfleet", "agent", "--from", path, "--bus", bus.url("b:b"), "--job", JOB, "--host", "node9", "--rank", 9,
                        "--spool", h.work("spool"), "--linger", "1s")
    code, _, err = h.finish(process_b)
    h.check(code == 6, f"rows of a foreign job were stored: {code} {err}")
    report, _ = f.fleet("report", bus, user="a:a")
    h.check([r["rank"] for r in report["ranks"]] == ["node0_rank_0"], f"{report['ranks']}")
    text = commands_of(0)
    h.check('"dump"' not in text and '"arm"' not in text, f"a foreign command was obeyed: {text}")
    stop(card, process)


def hostile_live():
    """Bytes that make no sense on every subject of commands, and hostile answers: ranks and those who ask go on."""
    bus = Bus()
    card, process, _ = collector(bus, 0)
    h.wait_until(lambda: answers(bus, 1), "the rank publishes", process)
    f.fleet("trigger", bus, "--arm", "lag>1ms", "--arm", "p99:*>5%")
    peer = bus.connection()
    dice = __import__("random").Random(29)
    seeds = [b"", b"{}", b"TTFQ", b"TTFP\x01", b"TTFT\x01\0\0\0" + b"\xff" * 48, b"TTFP\x01\0\0\0" + b"\xff" * 32, b'{"cmd":"dump","id":"../x","last_ns":1}',
             b'{"cmd":"dump","id":"a","last_ns":1,"at_common_ns":18446744073709551615}', b'{"cmd":"fetch","id":"../../etc/passwd","length":5}',
             b'{"cmd":"describe","id":"no"}', b'{"cmd":"arm","rule":"' + b"p" * 5000 + b'>5%"}', b"[" * 8000, b"\xff\xfe" * 700, b'{"cmd":"ls","by":"\\u001b[2J"}']
    sent = 0
    for subject in ("all", "clock", "progress", "fired", "rank.node0.0", "rank.node0.0.more", "nonsense"):
        for data in seeds + [dice.randbytes(dice.randrange(200)) for _ in range(40)]:
            for reply in ("", " _INBOX.hostile"):
                peer.sendall(f"PUB ttctl.local.{JOB}.{subject}{reply} {len(data)}\r\n".encode() + data + b"\r\n")
                sent += 1
    # A client that answers whatever is asked of the job.
    peer.sendall(f"SUB ttctl.local.{JOB}.> 7\r\nPING\r\n".encode())
    answer = b""
    while b"PONG" not in answer:
        answer += peer.recv(65536)

    import threading
    over = threading.Event()

    def lie():
        text = b""
        peer.settimeout(1)
        while not over.is_set():
            try:
                text += peer.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            while b"\r\n" in text:
                line, text = text.split(b"\r\n", 1)
                words = line.split()
                if words[:1] == [b"PING"]:
                    peer.sendall(b"PONG\r\n")
                if words[:1] == [b"MSG"] and len(words) == 5:
                    for data in (b"no", b"TTFT\x01\0\0\0" + b"\xff" * 48, b"{}"):
                        peer.sendall(b"PUB " + words[3] + b" %d\r\n" % len(data) + data + b"\r\n")

    liar = threading.Thread(target=lie)
    liar.start()
    code, out, err = h.run("ttfleet", "ls", "--bus", bus.url(), "--job", JOB, "--json")
    h.check(code == 0 and "an answer makes no sense" in err, f"{code} {err}")
    h.check([r["host"] for r in json.loads(out)["ranks"]] == ["node0"], out)
    code, out, err = h.run("ttfleet", "watch", "--bus", bus.url(), "--job", JOB, "--for", "1s")
    h.check(code == 0 and "\033" not in out + err, f"{code} {out}{err}")
    over.set()
    liar.join()
    peer.close()
    dump, err = f.fleet("dump", bus, "--timeout", "5s", "--last", "1s", "-o", h.work("dump"))
    h.check(dump["ranks"][0]["ok"], f"{dump} {err}")
    text = commands_of(0)
    h.check("a command was refused" in text and "\033" not in text, "no line of a refused command")
    h.check(process.poll() is None, "the collector has ended")
    stop(card, process)
    report, _ = f.fleet("report", bus)
    h.check(report["ranks"][0]["missing"] == 0 and report["refused"] == 0, f"{report}")
    print(f"{sent} hostile messages")


def silent():
    """A rank whose agent was stopped was not missed: the dump had ended with 0, without its capture. It is named, and the others are cut."""
    bus = Bus()
    here = [collector(bus, rank)[:2] for rank in range(2)]
    h.wait_until(lambda: answers(bus, 2), "both ranks publish", *(c for _, c in here))
    with open(f"/proc/{here[1][1].pid}/task/{here[1][1].pid}/children", encoding="utf-8") as file:
        agents = [int(pid) for pid in file.read().split() if os.readlink(f"/proc/{pid}/exe").endswith("/ttfleet")]
    h.check(len(agents) == 1, f"agents of the collector: {agents}")
    os.kill(agents[0], signal.SIGSTOP)
    dump, err = f.fleet("dump", bus, "--last", "1s", "-o", h.work("dump"), codes=(1,))
    h.check(dump["silent"] == ["node1_rank_1"] and "1 of 2 ranks did not answer: node1_rank_1" in err, f"{dump} {err}")
    h.check(os.listdir(h.work("dump")) and dump["ranks"][0]["ok"] and os.path.isfile(h.work("dump/node0_rank_0.ttc")), f"{dump}")
    _, err = f.fleet("trigger", bus, "--arm", "step>1h", codes=(1,))
    h.check("1 of 2 ranks did not answer in time: node1_rank_1" in err, err)
    os.kill(agents[0], signal.SIGCONT)
    for card, process in here:
        stop(card, process)


def clocks():
    """Two ranks whose clocks differ by 5000 s, by a time namespace: the difference lies within the bound, and one time line has both."""
    root_only()
    if subprocess.run(["unshare", "--time", "--monotonic", "5000", "true"], check=False, capture_output=True).returncode != 0:
        h.skip("no time namespaces")
    bus = Bus()
    # A namespace's offset is against the machine's clock, whatever namespace makes it.
    with open("/proc/self/timens_offsets", encoding="utf-8") as offsets:
        own_s = next(int(line.split()[1]) for line in offsets if line.startswith("monotonic"))
    truth, here = -5000 * 10**9, []
    for rank in range(2):
        inside = ("unshare", "--time", "--monotonic", str(own_s + 5000)) if rank else ()
        here.append(collector(bus, rank, inside=inside)[:2])
    h.wait_until(lambda: answers(bus, 2), "both ranks publish", *(c for _, c in here))
    states, _ = f.fleet("ls", bus)
    own, other = states["ranks"]
    h.check(own["clock_how"] == "same host" and own["clock_bound_ns"] == 0, f"{own}")
    off = abs(other["clock_offset_ns"] - truth)
    h.check(other["clock_how"].startswith("round trips") and off <= other["clock_bound_ns"], f"off by {off}: {other}")
    directory = h.work("dump")
    dump, err = f.fleet("dump", bus, "--timeout", "5s", "--last", "2s", "-o", directory)
    h.check(all(r["ok"] for r in dump["ranks"]), f"{dump} {err}")
    with open(os.path.join(directory, "clocks.json"), encoding="utf-8") as file:
        related = json.load(file)
    h.check(related["node0_rank_0.ttc"].get("same_clock") and len(related["node1_rank_1.ttc"]["points"]) >= 2, f"{related}")
    h.check(all(abs(p[1] - truth) <= p[2] for p in related["node1_rank_1.ttc"]["points"]), f"{related}")
    at = dump["at_common_ns"]
    code, out, err = h.run("ttexport", "--from", directory, "--format", "ops-json")
    h.check(code == 0 and "wall clocks" not in err, f"{code} {err}")
    ends = {}
    for line in out.splitlines():
        op = json.loads(line)
        ends.setdefault(op["chip"], []).append(op["begin_ns"] + op["ns"])
    h.check(sorted(ends) == [0, 1] and all(at - 60 * 10**9 < max(e) < at + 10**9 for e in ends.values()), f"{at}: { {c: max(e) for c, e in ends.items()} }")
    os.unlink(os.path.join(directory, "clocks.json"))
    code, out, err = h.run("ttexport", "--from", directory, "--format", "ops-json")
    h.check(code == 0 and "by the hosts' wall clocks, without a bound" in err, f"{code} {err}")
    report, _ = f.fleet("report", bus)
    h.check({r["rank"]: r["clock"] for r in report["ranks"]}["node1_rank_1"].startswith("round trips"), f"{report['ranks']}")
    for card, process in here:
        stop(card, process)
    print(f"off by {off} ns, bound {other['clock_bound_ns']} ns")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("ok")

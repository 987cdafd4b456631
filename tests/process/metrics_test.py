#!/usr/bin/env python3
"""ttcollect --metrics: values against the card's truth, wrong addresses, hostile requests, rules, a real Prometheus."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import harness as h

RULES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../docs/prometheus"))


def start_served(card, collect=(), programs=0):
    """(card's name, emulator, collector, address). The collector outlives the card's program."""
    name = h.card_name()
    emulator = h.start("ttemu", "--name", name, "--wait-observer", "-q", "--programs", programs, *card)
    errors = open(h.work(name + ".err"), "w+")
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q", "--reattach", "--metrics", "0", *collect, stderr=errors)

    def said():
        errors.seek(0)
        return re.search(r"metrics are at (http://127.0.0.1:\d+/metrics)", errors.read())

    h.wait_until(said, "the address of the metrics", collector)
    return name, emulator, collector, said()[1]


def page_of(address):
    with urllib.request.urlopen(address, timeout=h.LIMIT_S) as answer:
        return answer.read().decode()


def values(text):
    """By name and labels, unchanged."""
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")}


def end(collector):
    collector.send_signal(signal.SIGTERM)
    code, _, _ = h.finish(collector)
    h.check(code == 0, f"ttcollect ended by {code}")


def of_truth(path):
    """Kernel time of every program in cycles, by its id."""
    spans = {}
    for row in h.rows(path):
        cells = row.split(",")
        if cells[10].endswith("-KERNEL") and cells[11] in ("ZONE_START", "ZONE_END"):
            spans.setdefault(cells[7], []).append(int(cells[5]))
    return {id: max(times) - min(times) for id, times in spans.items()}


def sums():
    """Counts and sums are the truth's, and those of an export of the same run."""
    programs, truth, capture = 200, h.work("truth.csv"), h.work("run.ttc")
    name, emulator, collector, address = start_served(["--cores", 3, "--host-reads", "every:50", "--pace", 64, "--truth", truth], ["-o", capture], programs)
    device = f'device="emu-{name}"'
    count = f'ttcollect_op_duration_seconds_count{{{device},op="unnamed"}}'
    h.wait_until(lambda: values(page_of(address)).get(count, 0) >= programs, "all programs among the metrics", collector)
    text = page_of(address)
    if shutil.which("promtool"):
        lint = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        h.check(lint.returncode == 0 and not lint.stdout and not lint.stderr, f"promtool: {lint}")
    end(collector)
    h.finish(emulator)
    found, cycles = values(text), of_truth(truth)
    h.check(found[count] == len(cycles) == programs, f"{found[count]} ops, the card ran {len(cycles)}")
    total = found[count.replace("_count", "_sum")]
    h.check(abs(total - sum(cycles.values()) / 1e9) < 0.01 * total, f"{total} s, truth {sum(cycles.values()) / 1e9} s")
    code, out, err = h.run("ttexport", "--from", capture, "--format", "ops-json")
    h.check(code in (0, 6), err)
    ops = [json.loads(line) for line in out.splitlines()]
    exported = sum(op.get("kernel_ns", op["ns"]) for op in ops) / 1e9
    h.check(len(ops) == programs and abs(total - exported) < 1e-9, f"{total} s, exported {exported} s of {len(ops)}")
    report = {key: found[f"ttcollect_{key}_total{{{device}}}"] for key in ("programs", "markers")}
    h.check(report["programs"] == programs and report["markers"] == len(h.rows(truth)), f"{report}, truth {len(h.rows(truth))}")
    last = found[count.replace("_count", "_bucket").replace('"unnamed"}', '"unnamed",le="+Inf"}')]
    gaps = found[f'ttcollect_op_gap_seconds_count{{{device},op="unnamed"}}']
    h.check(last == programs and gaps == programs - 1, f"{last} in the last bucket, {gaps} gaps")
    h.check(found[f"ttcollect_metrics_passed_bytes_total{{{device}}}"] == 0 and found[f"ttcollect_metrics_read_bytes_total{{{device}}}"] > 0, found)
    h.check(found[f"ttcollect_up{{{device}}}"] == 1, found)


def refused():
    """An address that is none, a port that is taken, options that mean nothing: a sentence and a code."""
    for where in ("65536", "here", "127.0.0.1", ""):
        code, _, err = h.run("ttcollect", "-d", "emu:x", "--metrics", where)
        h.check(code == 2 and "no place to listen" in err, f"--metrics {where}: {code} {err}")
    code, _, err = h.run("ttexport", "--format", "prometheus", "--from", h.work("none.ttc"))
    h.check(code == 2 and "live collectors" in err, f"of a capture: {code} {err}")
    code, _, err = h.run("ttexport", "--format", "prometheus", "--from", "live:none", "--zone", "X")
    h.check(code == 2 and "--zone" in err, f"with a filter: {code} {err}")
    code, _, err = h.run("ttexport", "--format", "prometheus", "--from", "live:" + h.card_name(), "--listen", "0")
    h.check(code == 3 and err.count("\n") == 1, f"of no segment: {code} {err}")
    _, emulator, collector, address = start_served(["--cores", 1], programs=20)
    port = address.split(":")[2].split("/")[0]
    name = h.card_name()
    other = h.start("ttemu", "--name", name, "--cores", 1, "--programs", 20, "--wait-observer", "-q")
    with open(h.work("taken.err"), "w+") as errors:
        second = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q", "--reattach", "--metrics", port, stderr=errors)
        said = lambda: open(errors.name).read()    # noqa: E731
        h.wait_until(lambda: "Address already in use; give another port" in said(), "a sentence on the port", second)
        second.send_signal(signal.SIGTERM)
        code = h.finish(second)[0]
    h.check(code == 6 and "metrics are at" not in said() and "--metrics: ttexport" in said(), f"a port that is taken: {code} {said()}")
    h.finish(other)
    end(collector)
    h.finish(emulator)


def hostile():
    """Whatever is sent, the next scrape is answered and the collector continues."""
    name, emulator, collector, address = start_served(["--cores", 1], programs=50)
    port = int(address.split(":")[2].split("/")[0])
    dice = __import__("random").Random(20)
    requests = [b"", b"\r\n\r\n", b"GET", b"GET /metrics", b"GET /metrics HTTP/1.1\r\n" + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
                b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /" + b"%00" * 5000 + b" HTTP/1.1\r\n\r\n",
                b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                b"GET /metrics HTTP/1.1\r\nRange: bytes=-1\r\nAccept-Encoding: gzip, \x00\xff\r\n\r\n", *(dice.randbytes(4000) for _ in range(40))]
    open_ones = []
    for request in requests:
        peer = socket.create_connection(("127.0.0.1", port), timeout=h.LIMIT_S)
        try:
            peer.sendall(request)
            if request.startswith(b"GET /../"):
                h.check(b"root:" not in peer.recv(100_000), "a file was served")
        except OSError:
            pass    # it was closed meanwhile, which is an answer
        open_ones.append(peer)    # and sends no more
    for path in ("/", "/metrics/x", "/metrics?x=y", "//"):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=h.LIMIT_S).read()
        except urllib.error.HTTPError as error:
            h.check(error.code == 404, f"{path}: {error}")
    h.check(f'ttcollect_up{{device="emu-{name}"}} 1' in page_of(address), "no page after hostile requests")
    for peer in open_ones:
        peer.close()
    end(collector)
    h.finish(emulator)


def rules():
    """Rules, their tests and the configuration are sound; rules and dashboard name metrics that are served."""
    if not shutil.which("promtool"):
        h.skip("promtool is not installed")
    for words in (["check", "rules", "ttcollect.rules.yml"], ["test", "rules", "ttcollect.rules.test.yml"], ["check", "config", "prometheus.yml"]):
        done = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, text=True)
        h.check(done.returncode == 0, f"promtool {words}: {done}")
    _, emulator, collector, address = start_served(["--cores", 1], programs=20)
    names = set(re.findall(r"^# TYPE (\S+)", page_of(address), re.M))
    end(collector)
    h.finish(emulator)
    # Those of telemetry and clocks come when the card has reported them; ops when one has run.
    later = {"ttcollect_power_watts", "ttcollect_temperature_celsius", "ttcollect_aiclk_hertz", "ttcollect_clock_bound_seconds",
             "ttcollect_clock_frequency_hertz", "ttcollect_op_duration_seconds", "ttcollect_op_gap_seconds", "ttcollect_last_sweep_age_seconds"}
    page = open(os.path.join(RULES, "../metrics.md")).read()
    for file in ("ttcollect.rules.yml", "ttcollect.dashboard.json"):
        text = open(os.path.join(RULES, file)).read()
        used = {re.sub(r"_(bucket|sum|count)$", "", m) for m in re.findall(r"(?<![:\w])ttcollect_\w+", text)} - {"ttcollect_mark"}
        h.check(len(used) > 5 and used <= names | later, f"{file} names {used - names - later}")
    h.check(not (missing := {n for n in names | later if n.startswith("ttcollect_") and f"`{n}`" not in page}), f"docs/metrics.md lacks {missing}")


def prometheus():
    """A real Prometheus scrapes, and evaluates the rules."""
    if not h.LONG or not shutil.which("prometheus"):
        h.skip("of --long, with prometheus installed")
    name, emulator, collector, address = start_served(["--cores", 2, "--rate", 200, "--host-reads", "every:50", "--pace", 64])
    target = address.split("/")[2]
    config, data = h.work("prometheus.yml"), h.work("tsdb")
    with open(os.path.join(RULES, "prometheus.yml")) as given, open(config, "w") as own:
        own.write(given.read().replace("127.0.0.1:9464", target).replace("15s", "1s")
                  .replace("  - ttcollect.rules.yml", f"  - {RULES}/ttcollect.rules.yml"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def query(expression):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.request.quote(expression)}") as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []    # it is not up yet

    try:
        # Without two scrapes after ops there is no rate.
        h.wait_until(lambda: query(f'device:ttcollect_host_bound:ratio_rate5m{{device="emu-{name}"}} >= 0'), "a recorded ratio", collector)
        share = float(query(f'device:ttcollect_host_bound:ratio_rate5m{{device="emu-{name}"}}')[0]["value"][1])
        h.check(0 <= share <= 1, f"a share of {share}")
        h.check(query("up == 1"), "the target is not up")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/rules") as answer:
            groups = json.load(answer)["data"]["groups"]
        sick = [r["name"] for g in groups for r in g["rules"] if r["health"] == "err"]
        h.check(len(groups) == 2 and not sick, f"rules that cannot be evaluated: {sick}")
    finally:
        server.terminate()
        server.wait()
    end(collector)
    emulator.terminate()
    h.finish(emulator)


def main():
    {"sums": sums, "refused": refused, "hostile": hostile, "rules": rules, "prometheus": prometheus}[sys.argv[1]]()
    print("ok")


main()

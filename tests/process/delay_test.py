"""ttdelay on the emulated card: a race found and reproduced, delays that are not taken, hangs, plans that are wrong, kills at any time."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import harness as h

WORKLOAD = """[[op]]
pattern = "multicast"
cores = 4
blocks = 2
out_blocks = 1
tiles = 2
host_us = 2
"""
RACE = "race = { from = 1, to = 2, slack_cycles = 3000 }\n"
HANG = "hang = { from = 0, to = 3, slack_cycles = 3000 }\n"


def write(name, text):
    with open(h.work(name), "w") as file:
        file.write(text)
    return h.work(name)


def plan(workload, cores, cycles=(500, 5000), kinds=("write",), emulator=(), extra="", **vary):
    """(path of a plan, name of its card)"""
    card = h.card_name()
    numbers = {"repetitions": 2, "watcher_only": 3, "plain": 1, **vary}
    command = ["{bin}/ttemu", "--name", card, "--workload", write(card + ".op.toml", workload), "--cores", "4", "--programs", "8", "--seed",
               "{number}", "--profiler", "environment", "--wait-observer", "--linger", "600s", "--time", "virtual", "--host-files", "{run}/host", "--host-signposts",
               "--json", *emulator]
    text = f"command = {json.dumps(command)}\ndevice = \"emu:{card}\"\nseed = 3\n[vary]\nkinds = {json.dumps(kinds)}\ncores = {json.dumps(cores)}\n" + \
        f"cycles = {list(cycles)}\n" + "".join(f"{k} = {v}\n" for k, v in numbers.items()) + \
        "[observe]\nhost_files = \"{run}/host\"\n[observe.numbers]\ntime = '\"simulated_cycles\":([0-9]+)'\n"
    text = text.replace("[observe]\n", "[observe]\nchecksum = '\"output_checksum\":\"([0-9a-f]+)\"'\n") + extra
    return write(card + ".toml", text), card


def made(plan_path, folder, *more, code=0):
    got, _, err = h.run("ttdelay", "run", plan_path, "-o", folder, *more)
    h.check(got == code, f"ttdelay run ends with {got}, expected {code}: {err}")
    return err


def reported(folder):
    code, out, err = h.run("ttdelay", "report", folder, "--json", "-")
    h.check(code == 0, err)
    return json.loads(out)


def journal(folder):
    with open(os.path.join(folder, "journal.jsonl")) as file:
        return [json.loads(line) for line in file]


def race():
    """Cores that a step waits for are named, the race is found, and its command reproduces it; page, CSV and table are there."""
    path, _ = plan(WORKLOAD + RACE, ["0,0", "1,0", "1,1"], repetitions=3, watcher_only=6)
    folder = h.work("race")
    err = made(path, folder, "--html", h.work("race.html"))
    h.check("overflowed by" in err and "no device profiler, watcher: all; the record of delays is at 0x" in err, err)
    report = reported(folder)
    h.check(report["made"] == report["planned"] == report["valid"] == 25 and len(report["trial"]["refused"]) == 9, f"{report}")
    time_of = {e["unit"]: e for e in report["effects"] if e["observable"] == "time"}
    h.check(time_of["write 1,0"]["found"] and time_of["write 1,0"]["slope_us_a_cycle"]["low"] > 0, f"{time_of}")
    suspicions = [s for s in report["suspicions"] if s["what"] == "output changed"]
    h.check([(s["unit"], s["cycles"], s["times"], s["runs"]) for s in suspicions] == [("write 1,0", 5000, 3, 3)], f"{suspicions}")
    command, shown = suspicions[0]["command"], suspicions[0]
    again = command.replace("--wait-observer", "--wait-observer --wait-limit 1ms")    # the card has no observer here
    out = subprocess.run(["sh", "-c", again], capture_output=True, text=True, check=True, timeout=h.LIMIT_S).stdout
    h.check(json.loads(out)["output_checksum"] == shown["output"] != shown["usual_output"], f"{again}: {out}")
    without = again.replace("DEBUG_DELAY=5000", "DEBUG_DELAY=500")
    out = subprocess.run(["sh", "-c", without], capture_output=True, text=True, check=True, timeout=h.LIMIT_S).stdout
    h.check(json.loads(out)["output_checksum"] == shown["usual_output"], f"{without}: {out}")
    with open(h.work("race.html")) as file:
        page = file.read()
    h.check("Delayed writes" in page and page.count("<rect") >= 4 and "Suspected races" in page and "http" not in page.replace("http://www.w3.org", ""), "page")
    code, out, _ = h.run("ttdelay", "report", folder, "--csv", "-")
    h.check(code == 0 and out.count("\n") == 1 + 2 * len(report["effects"]), out)
    # Every run has its folder and its environment, feedback of the core and kind that was delayed and of nothing else.
    for line in journal(folder)[1:]:
        h.check(os.path.isfile(os.path.join(folder, "runs", f"{line['run']:04}", "stdout")), f"{line}")
        if line["arm"] == "delay":
            h.check(line["feedback"] == {line["unit"].split()[1]: 2} and f"WATCHER_DEBUG_DELAY={line['cycles']} " in line["command"], f"{line}")


def zones():
    """Firmware with profiler and watcher that fits with fewer features: kernels and gaps of cores are observed, and the page is the run's."""
    path, _ = plan(WORKLOAD, ["0,0"], emulator=["--brisc-text", "7600", "--pace"])
    folder = h.work("zones")
    err = made(path, folder, "--html", h.work("zones.html"))
    report = reported(folder)
    h.check(report["trial"]["device_zones"] and report["trial"]["features"] == 6 and len(report["trial"]["refused"]) == 6, f"{err} {report['trial']}")
    details = {e["observable"] for e in report["effects"] if e["detail"]}
    h.check({"device: kernels", "device: gaps", "device: chip 0, core 1,1"} <= details, f"{details}")
    with open(h.work("zones.html")) as file:
        page = file.read()
    h.check('<a href="#delays">' in page and '<section id="ops">' in page and "Delayed writes" in page, "the run's page has no section of delays")
    h.check(all(any(f.name == "run.ttc" for f in os.scandir(d)) for d in
                (next(os.scandir(os.path.join(folder, "runs", f"{n:04}", "reports"))).path for n in range(1, report["made"] + 1))), "captures")


def ignored():
    """Delays that no kernel takes are invalid runs, and a workload that ignores all of them is reported as such."""
    path, _ = plan(WORKLOAD, ["1,1"], kinds=("read",))    # this core reads nothing: it gets its blocks from others
    err = made(path, h.work("ignored"), code=1)
    h.check("the workload ignores the delays" in err, err)
    report = reported(h.work("ignored"))
    h.check(report["ignores_delays"] and report["effects"] == [] and report["valid"] == 4, f"{report}")
    h.check(report["invalid"][0]["runs"] == 4 and "of (1,1) no such transaction waited" in report["invalid"][0]["why"], f"{report['invalid']}")
    path, _ = plan(WORKLOAD, ["20,0"])
    made(path, h.work("absent"), code=1)
    h.check("the card has no core (20,0)" in reported(h.work("absent"))["invalid"][0]["why"], "a core that the card lacks")


def hangs():
    """A hang ends the experiment unless it can reset the card; the same command continues after it."""
    path, card = plan(WORKLOAD + HANG, ["(1,1)"], kinds=("read", "write"), repetitions=1, cycles=(100, 20000), plain=0, watcher_only=2,
                      extra="[environment]\nTT_METAL_OPERATION_TIMEOUT_SECONDS = \"0.05\"\n")
    path = write(card + ".toml", open(path).read().replace('cores = ["(1,1)"]', 'cores = ["0,0"]').replace("to = 3", "to = 0"))
    write(card + ".op.toml", WORKLOAD + HANG.replace("from = 0, to = 3", "from = 3, to = 0"))
    folder = h.work("hangs")
    stops = 0
    while h.run("ttdelay", "run", path, "-q", "-o", folder, "--limit", f"{100 + stops}s")[0] == 4:    # another limit is no other experiment
        stops += 1
        h.check(stops < 5, "it does not end")
    h.check(stops >= 1, f"nothing hung: {journal(folder)}")
    report = reported(folder)
    h.check(report["made"] == report["planned"] and [s["what"] for s in report["suspicions"]] == ["hang"] * len(report["suspicions"]) and report["suspicions"],
            f"{report['suspicions']}")
    # The core that waits for its wake-up, and the cores that run no program, by the waypoints of all processors.
    stood = report["suspicions"][0]["waypoints"]
    h.check(stood["0,0"].startswith("NSW ") and stood["7,0"] == "GW W W W W", f"{report['suspicions']}")
    h.check("NSW W CWFW CWFW CWFW on (0,0)" in h.run("ttdelay", "report", folder)[1], h.run("ttdelay", "report", folder)[1])
    marker = h.work("resets")
    err = made(path, h.work("resets-on"), "--reset-cmd", f"echo again >> {marker}", code=1)
    with open(marker) as file:
        h.check(len(file.readlines()) == stops and "resetting" in err, err)
    # A workload that is silent for too long is ended, and so is one that runs for too long.
    silent = write("silent.toml", f"command = [\"sleep\", \"1000\"]\ndevice = \"emu:{card}\"\n[vary]\nkinds = [\"read\"]\ncores = [\"0,0\"]\ncycles = [5]\n"
                   "[observe]\ndevice_zones = false\n")
    err = made(silent, h.work("silent"), "--silent", "200ms", code=4)
    h.check("no sign of life for 200 ms" in err, err)
    h.check(all(line["waypoints"] is None for line in journal(h.work("silent")) if "run" in line), "waypoints of a card that is not there")
    endless = write("endless.toml", open(silent).read().replace('["sleep", "1000"]', '["sh", "-c", "while :; do echo; sleep 0.01; done"]'))
    err = made(endless, h.work("endless"), "--limit", "500ms", "--silent", "300s", code=4)
    h.check("the trial hung (not over after 500 ms)" in err, err)


def values():
    """A build whose key lacks the delay keeps the first one: cache_per_value builds each, and without it the doses do not differ."""
    def shifts(each):
        path, _ = plan(WORKLOAD, ["0,0"], emulator=["--metal-key", "no-delay"], repetitions=4, watcher_only=4, plain=0,
                       extra=f"[run]\ncache_per_value = {'true' if each else 'false'}\n"
                       f"[environment]\nTT_METAL_CACHE = \"{h.work('cache')}\"\n")
        folder = h.work(f"values-{each}")
        made(path, folder)
        effect = next(e for e in reported(folder)["effects"] if e["observable"] == "time")
        commands = {l["command"] for l in journal(folder)[1:] if l["arm"] == "delay"}
        h.check(any("/cache/5000 " in c for c in commands) == each, f"{commands}")
        return [d["shift_us"]["value"] for d in effect["doses"]]
    own, stale = shifts(True), shifts(False)
    h.check(own[1] > 5 * own[0] > 0, f"delays of 500 and 5000 cycles: {own}")
    h.check(abs(stale[1] - stale[0]) < 0.2 * abs(stale[0]), f"one delay was built, but it does not look so: {stale}")


def sick():
    """A card that does not answer stops the experiment before the next run, in a sentence with its name."""
    card, folder = h.card_name(), h.work("sick")
    # A card that stays when the workload is over, and whose clock is stopped.
    sick_card = h.start("ttemu", "--name", card, "--cores", 1, "--programs", 0, "--rate", 1, "--clock-step", "0:0", "--quiet")
    h.wait_for_card(card, sick_card)
    path = write("sick.toml", f"command = [\"true\"]\ndevice = \"emu:{card}\"\n[vary]\nkinds = [\"read\"]\ncores = [\"0,0\"]\ncycles = [5]\n"
                 "[observe]\ndevice_zones = false\n")
    err = made(path, folder, code=4)
    h.check(f"before run 1: the clock of the card emu:{card} does not advance" in err, err)
    sick_card.kill()
    sick_card.wait()


def marked(folder):
    with open(os.path.join(folder, "experiment.json")) as file:
        mark = b"TTDELAY_RUN=" + json.load(file)["mark"].encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read():
                    with open(f"/proc/{pid}/comm") as name:
                        found.append((int(pid), name.read().strip()))
        except OSError:
            pass
    return found


def kills():
    """kill -9 of ttdelay, of the collector and of the workload while device zones are collected: the same command continues, and every run counts once."""
    path, _ = plan(WORKLOAD, ["0,0", "1,0"], repetitions=6, emulator=["--brisc-text", "9000", "--pace"])
    folder, rng = h.work("kills"), random.Random(5)
    wanted = ["ttdelay", "ttcollect", "ttemu", "any", "ttcollect", "any", "ttemu", "ttdelay", "any"]
    killed = []
    for name in wanted:
        process = h.start("ttdelay", "run", path, "-q", "-o", folder)
        victims = []

        def appear():
            there = marked(folder) if os.path.exists(os.path.join(folder, "experiment.json")) else []
            if name == "ttdelay":
                victims[:] = [process.pid] if there else []
            else:
                victims[:] = [p for p, n in there if name in (n, "any")]
            return victims or process.poll() is not None
        h.wait_until(appear, f"a process of the run to kill ({name})")
        if process.poll() is not None:
            code, _, err = h.finish(process)
            h.check(False, f"ttdelay ended with {code} before {name} was killed: {err}; killed: {killed}")
        time.sleep(rng.uniform(0, 0.1))    # a moment of the run, whichever
        try:
            os.kill(rng.choice(victims), signal.SIGKILL)
            killed.append(name)
        except ProcessLookupError:
            pass    # its run was over at this moment
        if name != "ttdelay":
            time.sleep(rng.uniform(0, 0.1))
            process.kill()
        code, _, err = h.finish(process)
        h.check(code == -signal.SIGKILL or (code == 6 and "trial was broken off" in err) or code in (0, 1), f"ttdelay ends with {code}: {err}")
    code, _, err = h.run("ttdelay", "run", path, "-q", "-o", folder)
    report = reported(folder)
    h.check(code in (0, 1) and report["made"] == report["planned"] == 28, f"{code} {err} {report}")
    runs = [line for line in journal(folder) if "run" in line]
    finals = [line["run"] for line in runs if line["outcome"] != "broken off"]
    h.check(len(finals) == len(set(finals)), f"a run is there twice: {finals}")
    h.check(code == 1 or (sorted(finals) == list(range(1, 29)) and report["valid"] == 28), f"{report}")
    h.check(sum(d["runs"] for e in report["effects"] if e["observable"] == "time" for d in e["doses"]) ==
            sum(l["valid"] and l["arm"] == "delay" for l in {l["run"]: l for l in runs}.values()), f"{report['effects']}")
    h.check(not marked(folder), f"killed: {killed}, left: {marked(folder)}")
    with open(os.path.join(folder, "journal.jsonl"), "a") as file:
        file.write('{"run": 99')    # as a kill within a write leaves it
    before = len(runs)
    h.check(h.run("ttdelay", "run", path, "-q", "-o", folder)[0] == code and len([l for l in journal(folder) if "run" in l]) == before, "a torn line")
    print(f"killed: {killed}")


def on_model():
    """The whole path with the card behind the modelled kernel driver, which leaves nothing with it and does nothing that hurts silicon."""
    # No two runs have the same masks: on a busy machine the records of an earlier run could be full again before ttdelay reads the card.
    path, card = plan(WORKLOAD, ["0,0", "1,0"], cycles=(500,), kinds=("write",), repetitions=1, extra="[run]\nsilent = \"60s\"\n")
    # The driver keeps the card open, so that it would linger; what ttdelay has mapped stays readable.
    text = open(path).read().replace('"600s"', '"0s"').replace(f'"emu:{card}"', '"0"').replace(f'"{card}"', f'"{card}-{{number}}"').replace('"--time", "virtual", ', "")
    # Runs in real time are so long that ttdelay reads the cores' records during each, however busy the machine is.
    text = text.replace('"--programs", "8"', '"--programs", "20000"')
    path = write(card + ".toml", text.replace("[observe]\n", "[observe]\ndevice_zones = false\n", 1))
    folder = h.work("model")
    os.makedirs(h.work("notices"))
    process = h.start("ttdelay_on_model", card, "7" + str(os.getpid()), h.work("notices"), "--", "run", path, "-o", folder)
    code, _, err = h.finish(process)
    h.check(code == 0, f"ttdelay on the model ends with {code}: {err}")
    report = reported(folder)
    h.check(report["made"] == report["valid"] == report["planned"] == 6, f"{report}")


def plans():
    """Plan files that are wrong; what `plan` prints; folders that are others'."""
    path, _ = plan(WORKLOAD, ["each (0,0)-(1,1)"])
    code, out, _ = h.run("ttdelay", "plan", path, "--run-time", "2s")
    lines = out.splitlines()
    h.check(code == 0 and "20 runs of 4 units, order by seed 3; estimated time: 40 s" in lines[0] and len(lines) == 22, out)
    code, other, _ = h.run("ttdelay", "plan", path, "--seed", "4")
    h.check(code == 0 and other.splitlines()[2:] != lines[2:], "the seed does not change the order")
    h.check(h.run("ttdelay", "plan", path)[1].splitlines()[2:] == lines[2:], "a seed gives two orders")
    runs = json.loads(h.run("ttdelay", "plan", path, "--json")[1])["runs"]
    h.check(sum(r["arm"] == "watcher only" and r["environment"] == {"TT_METAL_WATCHER": "10"} for r in runs) == 3, f"{runs}")
    text = open(path).read()
    for wrong, words in (("cores = [\"all\"]", "delays no core at all"), ("cycles = [0]", "whole number"), ("colour = 1", "not known here"),
                         ("kinds = \"read\"", "list of texts")):
        bad = write("bad.toml", "command = [\"x\"]\n[vary]\n" + wrong + "\n")
        code, _, err = h.run("ttdelay", "plan", bad)
        h.check(code == 2 and err.startswith(f"ttdelay: {bad}:3: ") and words in err and err.count("\n") == 1, f"{wrong}: {code} {err}")
    code, _, err = h.run("ttdelay", "plan", h.work("none.toml"))
    h.check(code == 2 and "cannot be read" in err, err)
    code, out, err = h.run("ttdelay", "plan", "--kind", "read", "--cores", "0,1", "--cycles", "10,20", "--seed", "9", "--", "true", "x")
    h.check(code == 0 and "23 runs of 1 unit" in out, out + err)
    other = h.work("other")
    os.makedirs(other)
    code, _, err = h.run("ttdelay", "report", other)
    h.check(code == 3 and "no folder of an experiment" in err, err)
    none = write("none2.toml", text.replace("{bin}/ttemu", "/nonexistent/program"))
    code, _, err = h.run("ttdelay", "run", none, "-q", "-o", other)
    h.check(code == 3 and "cannot be started" in err, f"{code} {err}")
    code, _, err = h.run("ttdelay", "run", path, "-q", "-o", other)
    h.check(code == 2 and "holds another experiment" in err, f"{code} {err}")
    shutil.rmtree(other)


{f.__name__: f for f in (race, zones, ignored, hangs, values, sick, kills, on_model, plans)}[sys.argv[1]]()

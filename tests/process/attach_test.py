#!/usr/bin/env python3
"""A collector without a profiler to read prints why, and waits for one to start."""
import os
import sys

import harness as h

SWITCH = "TT_METAL_DEVICE_PROFILER"


def environment(**variables):
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TT_METAL_")}
    return {**plain, **variables}


def card(state, *options, env=None):
    name = h.card_name()
    process = h.start("ttemu", "--name", name, "--profiler", state, "--quiet", *options,
                      env=env or environment())
    h.wait_for_card(name, process)
    return name, process


def refused(state, words, *options, env=None):
    name, process = card(state, *options, env=env)
    code, out, err = h.run("ttcollect", "--device", "emu:" + name)
    h.check(code == 4 and not out, f"{state}: exit {code}, {out} {err}")
    sentence = err.strip()
    h.check("\n" not in sentence, f"{state}: more than one line: {err}")
    for word in ["no profiler found", f"emu:{name}", *words]:
        h.check(word in sentence, f"{state}: '{word}' is not in: {sentence}")
    process.terminate()
    h.check(h.finish(process)[0] == 0, f"{state}: the card did not end in order")


def states():
    pid_and_switch = ["was started without " + SWITCH + "=1", "TT_METAL_PROFILE_PERF_COUNTERS", "--wait"]
    refused("off", ["the profiler is off", *pid_and_switch])
    refused("off", ["the profiler is off"], "--arch", "blackhole", "--generation", "G3")
    refused("off", ["the profiler is off"], env=environment(TT_METAL_DEVICE_PROFILER="0"))
    for switch in ({SWITCH: "1"}, {"TT_METAL_DEVICE_PROFILER_NOC_EVENTS": "1"},
                   {"TT_METAL_PROFILE_PERF_COUNTERS": "7"}):
        refused("off", ["not initialised yet", "switched on", "--wait"], env=environment(**switch))
    refused("streaming", ["another profiler or mode", "TT_METAL_STREAMING_PROFILER", SWITCH + "=1"])
    for generation in ("G3", "G4"):
        refused("debug-dump", ["another profiler or mode", "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED"],
                "--generation", generation)
    refused("unknown", ["unknown firmware", "no worker magic word", SWITCH + "=1", "--layout help"])


def waits():
    """--wait stays attached, prints once why it waits, and then collects everything."""
    truth = h.work("late.csv")
    name, process = card("late", "--cores", 4, "--programs", 300, "--pace", "--truth", truth)
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--json")
    code, out, err = h.finish(collector)
    h.check(code == 0, f"exit {code}: {err}")
    h.check(h.finish(process)[0] == 0, "the card did not end in order")
    report = h.device(out)
    h.check(report["programs"] == 300 and not h.certain(report), f"{report}")
    h.check(report["mode"] == "normal", f"{report}")
    h.check(err.count("waiting: ") == 1 and "the profiler is off" in err, f"printed while waiting: {err}")
    code, _, err = h.run("ttexport", "--from", "live:emu-" + name, "-o", h.work("late-out.csv"))
    h.check(code == 0, err)
    h.check(len(h.rows(h.work("late-out.csv"))) == len(h.rows(truth)), "not every marker was collected")


def waits_in_vain():
    name, process = card("off")
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--wait", "300ms", "--quiet")
    h.check(code == 4 and "waiting" not in err, f"exit {code}: {err}")
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min")
    line = h.next_line(collector.stderr)
    h.check("waiting: " in line, line)
    collector.terminate()  # a signal ends the wait at once, with what it waited for
    h.check(h.finish(collector)[0] == 4, "a signal did not end the wait")
    process.terminate()
    h.finish(process)


def busy_cores_of_16_bit_ids():
    """Nothing holds still long enough to be read twice: which ids the firmware has is found out all the same. The host empties the
    log again and again, so that a collector which is kept waiting finds a running core later instead of a full log."""
    programs = 5000
    for generation in ("G1-16", "G1"):
        name = h.card_name()
        process = h.start("ttemu", "--name", name, "--generation", generation, "--mailbox", "M1", "--cores", 1, "--programs", programs,
                          "--host-reads", "every:200", "--zones-per-kernel", 12, "--wait-observer", "--quiet")
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--json", "--quiet")
        h.check(code == 0, f"exit {code}: {err}")
        h.check(h.device(out)["layout"] == generation, f"{generation} was taken for {h.device(out)['layout']}")
        code, out, err = h.run("ttexport", "--from", "live:emu-" + name, "-o", "-")
        ids = {int(line.split(",")[7]) for line in out.splitlines()[2:]}
        h.check(ids and max(ids) <= programs, f"{len(ids)} host ids, up to {max(ids, default=0)}: {err}")
        process.terminate()
        h.finish(process)


def log_sizes():
    """Every size that logs can have is found, with a hint in the workload's environment that is right, wrong or missing. The card
    waits for its reader, so that nothing may be lost meanwhile."""
    sizes = [("G4", "wormhole_b0", 44, 2, None), ("G3", "blackhole", 1864, 1, None), ("G4", "blackhole", 10000, 8, 10000),
             ("G3", "wormhole_b0", 5000, 3, 4000), ("G3", "wormhole_b0", 6000, 0, 6000)]
    if h.LONG:
        sizes += [("G4", "wormhole_b0", 43690, 2, None), ("G4", "blackhole", 43690, 8, None)]
    for generation, arch, count, cores, hint in sizes:
        size = 48 * count
        asked = {"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT": str(hint)} if hint else {}
        name, process = card("on", "--generation", generation, "--arch", arch, "--cores", cores, "--programs", 30, "--pace", 8,
                             "--host-reads", "every:15", "--zones-per-kernel", 0, "--region-bytes", size, "--wait-observer",
                             env=environment(**asked))
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--json", "--quiet")
        h.check(code == 0, f"{count} programs: exit {code}: {err}")
        report = h.device(out)
        h.check(report["bytes_per_risc"] == size, f"{size} bytes were taken for {report['bytes_per_risc']}")
        h.check(report["programs"] == 30 and not h.certain(report), f"{size} bytes: {report}")
        print(f"{size} bytes, {cores} cores, hint {hint}: {report['round_trips']} round trips")
        h.check(h.finish(process)[0] == 0, "the card did not end in order")


def waits_for_another_card():
    """A card that goes away while its profiler is waited for, and comes back with one."""
    name, first = card("off")
    collector = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--json")
    h.check("the profiler is off" in h.next_line(collector.stderr), "did not wait for a profiler")
    first.kill()
    first.wait()
    h.check("no emulated card named" in h.next_line(collector.stderr), "did not notice that the card went away")
    # Not waited for: it may be over before anybody lists it.
    second = h.start("ttemu", "--name", name, "--profiler", "on", "--quiet", "--cores", 2, "--programs", 100,
                     "--pace", "--wait-observer", env=environment())
    code, out, err = h.finish(collector)
    h.check(code == 0 and h.device(out)["programs"] == 100, f"{code} {out} {err}")
    h.check(h.finish(second)[0] == 0, "the card did not end in order")


def short():
    """A run prints at most five lines by default: what it attached to, where readers find it, cost, losses and the output."""
    name, process = card("on", "--cores", 4, "--programs", 40, "--pace", "--wait-observer")
    capture = h.work("short.ttc")
    code, out, err = h.run("ttcollect", "--device", "emu:" + name, "-o", capture)
    h.check(code == 0 and not out, f"exit {code}: {out} {err}")
    lines = err.splitlines()
    h.check(len(lines) <= 5, f"{len(lines)} lines: {err}")
    for words in ("n150 wormhole_b0, 88 cores; readers attach to live:emu-" + name, "40 programs, ", "\n  cost: ", "\n  lost: nothing\n", capture):
        h.check(words in err, f"{words!r} is not printed: {err}")
    h.check(all(len(line) <= 160 + len(capture) for line in lines), f"a line is long: {err}")
    code, out, _ = h.run("ttcollect", "info", capture)
    h.check(code == 0 and "{" not in out and "complete" in out and "  lost        nothing" in out, out)
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--verbose", "--quiet")
    h.check(code == 2, f"--verbose and --quiet: exit {code}: {err}")
    h.check(h.finish(process)[0] == 0, "the card did not end in order")


def named_mode():
    """A mode given by the user is used from the first word on and reported; without one it is detected."""
    for mode, generation in (("accumulate", "G4"), ("trace-only", "G3")):
        firmware = ("--mode", mode, "--generation", generation, "--cores", 4, "--programs", 360, "--pace",
                    "--host-reads", "every:120", "--wait-observer",
                    *(("--trace", "4:3") if mode == "trace-only" else ()))
        # Finding out takes two polls 20 ms apart at what is running.
        for pace, given in ((("--rate", 1000), ()), ((), ("--mode", mode, "--region-bytes", 48000))):
            name, process = card("on", *firmware, *pace)
            code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--json", "--verbose", *given)
            h.check(code == 0, f"{mode} {given}: exit {code}: {err}")
            report = h.device(out)
            h.check(report["mode"] == mode and report["markers"] > 0, f"{mode} {given}: {out}")
            h.check(not given or f"{mode} mode" in err, f"{mode}: {err}")
            h.check(h.finish(process)[0] == 0, "the card did not end in order")
    code, out, _ = h.run("ttcollect", "--layout", "help")
    h.check(code == 0 and all(g in out for g in ("G1-16", "G1 ", "G2", "G3", "G4")), f"--layout help: {out}")
    code, _, err = h.run("ttcollect", "--device", "emu:x", "--mode", "sideways")
    h.check(code == 2 and "--mode" in err, f"--mode sideways: {code} {err}")


CASES = (states, waits, waits_in_vain, busy_cores_of_16_bit_ids, log_sizes, waits_for_another_card, named_mode, short)
{case.__name__: case for case in CASES}[sys.argv[1]]()
print("ok")

#!/usr/bin/env python3
"""A device log played on an emulated card comes back through collector and exporter: usage replay_test.py CASE

real      a capture of hardware, byte for byte
piece     a piece of it, on several kinds of card
variants  export -> replay -> export, for every number of columns
damaged   what cannot be played is printed, with its line, and the rest comes back
speed     at a given pace the card's clock follows
card      the card is the one the file was written on, all kinds of rows come back
"""
import os
import sys
import time
from collections import defaultdict

import harness as h
from run_of import RunOf

DATA = os.path.join(os.path.dirname(__file__), "../data/device_log")
ROWS_LEFT_OUT = 6


def replay(log, columns, *card_arguments, code=0, collect=()):
    """Plays `log`; returns (path of what came back, the card's report, the collector's report, the card's stderr)."""
    run = RunOf(["--replay", log, *card_arguments], ["--ring", "32MiB", *collect], ["--columns", columns], truth=False)
    run.end(card_code=code)
    h.check(run.card["unread_words"] == 0, f"words were never fetched: {run.card}")
    return run.exported, run.card, run.report, run.card_err


def content(path):
    with open(path, "rb") as file:
        return file.read()


def same_bytes(log, *arguments):
    # Until early 2025 the id had 16 bits, which nothing on the card shows.
    collect = ["--layout", "G1-16"] if "G1-16" in arguments else []
    back, facts, report, told = replay(log, 13, *arguments, collect=collect)
    h.check(content(log) == content(back), f"{arguments}: the file that came back differs")
    h.check(told == "", f"{arguments}: printed {told!r}")
    # In G1 and G2 nothing shows whether the host read before the collector came, so it may report that this is not known.
    if report["layout"] in ("G3", "G4"):
        h.check(h.certain(report) == [], f"{arguments}: losses reported: {report['lost']}")
    print(f"{facts['rows']} rows in {facts['launches']} launches, byte for byte, {' '.join(map(str, arguments))}")


def real():
    log = os.path.join(h.GOLDEN, "ttnn-visualizer/smoke_profile_log_device.csv")
    if not h.GOLDEN or not os.path.exists(log):
        h.skip("no golden device log here (TTC_GOLDEN)")
    same_bytes(log)


def piece():
    log = os.path.join(DATA, "n300_brisc.csv")
    for arguments in ([], ["--generation", "G3"], ["--generation", "G2", "--mailbox", "M2-2025"],
                      ["--generation", "G1", "--mailbox", "M1"], ["--generation", "G1-16", "--mailbox", "M1"], ["--strict"], ["--landing-ns", 200000], ["--region-bytes", 64000],
                      ["--region-bytes", 2112], ["--wait-observer"]):
        same_bytes(log, *arguments)


def by_lane(path):
    """(first two lines, rows of each core and RISC in their order): lanes may come in any order."""
    lanes = defaultdict(list)
    with open(path) as lines:
        head = [next(lines), next(lines)]
        for line in lines:
            lanes[tuple(line.split(",")[1:4])].append(line)
    return head, lanes


def workload_capture():
    capture = h.work("workload.ttc")
    RunOf(["--pace", "--cores", 5, "--dispatch-cores", 2, "--programs", 260, "--host-reads", "every:200",
           "--skip-cores", 10, "--skip-riscs", 20, "--seed", 7], ["--ring", "64MiB", "-o", capture]).end()
    return capture


def variants():
    capture = workload_capture()
    for columns in (6, 12, 13, 15):
        log = h.work(f"workload{columns}.csv")
        code, _, err = h.run("ttexport", "--from", capture, "--columns", columns, "-o", log)
        h.check(code == 0, f"ttexport ended with {code}: {err}")
        # Small logs, so that the host has to read and reset while the file is played.
        back, facts, _, told = replay(log, columns, "--region-bytes", 14400)
        want, got = by_lane(log), by_lane(back)
        h.check(want[0] == got[0], f"{columns} columns: the head is {got[0]}")
        h.check(set(want[1]) == set(got[1]), f"{columns} columns: other lanes")
        for lane in want[1]:
            h.check(want[1][lane] == got[1][lane], f"{columns} columns: rows of {lane} differ")
        h.check(told == "", f"{columns} columns: printed {told!r}")
        h.check(facts["rows"] > 10000 and facts["host_reads"] > 1, f"{columns} columns: too little: {facts}")
        print(f"{columns} columns: {facts['rows']} rows of {len(want[1])} lanes, {facts['host_reads']} host reads")


def damaged():
    with open(os.path.join(DATA, "n300_brisc.csv")) as lines:
        good = list(lines)
    start = good[2].split(",")
    bad = ["0,1,1,BRISC\n", good[3].replace("/brisc.cc", "/a,b.cc"), good[3].replace(",BRISC,", ",DRISC,"),
           "0,1,1,ERISC," + ",".join(start[4:]), "0,1,6,BRISC," + ",".join(start[4:]), "4,1,1,BRISC," + ",".join(start[4:]),
           good[0], good[1]]
    log = h.work("damaged.csv")
    with open(log, "w") as file:
        # With the line ends of other systems.
        file.write("".join(good[:2] + bad + good[2:]).replace("\n", "\r\n"))
    back, facts, _, told = replay(log, 13, code=ROWS_LEFT_OUT)
    h.check(content(back).decode() == "".join(good), "the sound rows did not come back")
    for sentence in ("lines that have too few columns: 1, first at line 3", "lines that have too many columns",
                     "lines that name a processor", "lines that repeat the head of the file: 2, first at line 9",
                     "rows that are on tiles the card does not have: 2, first at line 6",
                     "rows that are of other chips: 1, first at line 8"):
        h.check(sentence in told, f"'{sentence}' is not in {told}")
    h.check(facts["rows_left_out"] == 8, f"left out: {facts}")

    # Ids stay, names come back as far as hashes determine them.
    log = h.work("renamed.csv")
    with open(log, "w") as file:
        file.write("".join(good).replace("/localdev/bgrady/", "/somewhere/else/"))
    back, _, _, told = replay(log, 13)
    h.check("that their id is not the hash of; the file comes back with a '#': 18, first at line 3" in told, told)
    for row, original in zip(h.rows(back), good[2:]):
        c, o = row.split(","), original.rstrip("\n").split(",")
        h.check(c[:11] == o[:11], f"{row} is not {original}")
        h.check(c[11].startswith(o[11].replace("/localdev/bgrady/", "/somewhere/else/")), row)

    def refused(text, words, *arguments):
        path = h.work("refused.csv")
        with open(path, "w") as file:
            file.write(text)
        code, _, err = h.run("ttemu", "--name", h.card_name(), "--replay", path, *arguments)
        h.check(code == 4 and err.count("\n") == 1 and words in err, f"{text[:40]!r}: {code} {err}")

    refused("", "is empty")
    refused("OP CODE,DEVICE\n1,2\n", "line 1 is 'OP CODE,DEVICE'")
    refused("".join(good[:1]), "ends after its first line")
    refused("".join(good[:1] + good[2:]), "line 2 is '0,1,1,BRISC")
    refused("".join(good).replace("wormhole_b0", "grayskull"), "--arch wormhole_b0")
    code, _, err = h.run("ttemu", "--name", h.card_name(), "--replay", "/nonexistent.csv")
    h.check(code == 4 and "cannot be opened" in err, err)
    code, _, err = h.run("ttemu", "--name", "x", "--replay", "x", "--truth", "y")
    h.check(code == 2, err)
    print("ok")


def speed():
    """100 ms of device time at a quarter of the pace takes 400 ms; at once it takes what the observers take."""
    log = h.work("pace.csv")
    with open(os.path.join(DATA, "n300_brisc.csv")) as lines:
        head = [next(lines), next(lines)]
    rows = []
    for launch in range(5):
        begin = 50_000_000 + launch * 25_000_000
        for kind, cycles in (("ZONE_START", begin), ("ZONE_END", begin + 1000)):
            rows.append(f"0,1,1,BRISC,22845,{cycles},0,{launch + 1},BRISC-FW,{kind},396,"
                        "/localdev/bgrady/tt-metal/tt_metal/hw/firmware/src/brisc.cc,\n")
    with open(log, "w") as file:
        file.writelines(head + rows)
    started = time.monotonic()
    back, _, _, _ = replay(log, 13, "--replay-speed", 0.25, "--wait-observer")
    h.check(time.monotonic() - started >= 0.4, "the replay was faster than its speed")
    h.check(content(back) == content(log), "the file that came back differs")
    print("ok")


def card():
    head = ["ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 110\n",
            "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, "
            "trace id, trace id counter, zone name, type, source line, source file, meta data\n"]
    rows = []
    riscs = ("BRISC", 12141), ("NCRISC", 5), ("TRISC_0", 6), ("TRISC_2", 6)
    # The last column is there: others are fused off. Row 1 has the Ethernet cores.
    for x, y, processors in ((1, 11, riscs), (16, 11, riscs), (7, 1, (("ERISC", 8),))):
        for replayed in (1, 2):
            for number, (risc, ident) in enumerate(processors):
                at = (2**44 - 40000 + 60000 * (replayed - 1) + number * 10) % 2**44  # it comes round in between
                zone = "BRISC-FW,{},417,fw/brisc.cc," if risc == "BRISC" else ",{},0,,"
                for ident_, time_, data, kind, meta in (
                        (ident, at, 0, "ZONE_START", ""), (ident, at, 4294967295, "ZONE_TOTAL", ""),
                        (12345, at + 100, 2**64 - 1, "TS_DATA", ""), (77, at + 110, 0, "TS_EVENT", ""),
                        (9191, at + 120, 1, "TS_DATA_16B", '{"data_2":%d}' % (2**64 - 2)),
                        (9090, at + 130, 4294967298, "TS_DATA_16B", '{"counter type":255;"ref cnt":1;"value":2}'),
                        (23456, at + 140, 11, "TS_DATA_16B",
                         '{"dst_addr":1234567;"noc_status_counter":4095;"posted":0;"src_addr":7654321}'),
                        (ident, at + 5000, 0, "ZONE_END", "")):
                    text = (zone if ident_ == ident else ",{},0,,").format(kind)
                    rows.append(f"0,{x},{y},{risc},{ident_},{time_},{data},2147483647,,{replayed},{text}{meta}\n")
    log = h.work("card.csv")
    with open(log, "w") as file:
        file.writelines(head + rows)
    back, facts, _, told = replay(log, 15)
    h.check(told == "", told)
    h.check(by_lane(back) == by_lane(log), "rows or head differ")
    h.check(facts["launches"] == 6, f"{facts}")
    print(f"{facts['rows']} rows")


{"real": real, "piece": piece, "variants": variants, "damaged": damaged, "speed": speed, "card": card}[sys.argv[1]]()

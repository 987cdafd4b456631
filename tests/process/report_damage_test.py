#!/usr/bin/env python3
"""ttreport on input that is none, damaged, or does not hold what was named. Usage: report_damage_test.py bad|damage

bad    input that is none, or damaged: an answer with the place
damage  cut, thinned, shuffled logs and tables, and such without a column: exit codes by rule (seed printed)
"""
import json
import os
import random
import sys

import harness as h
from report_support import big_log, report


def names_that_are_not_there(refused, needed):
    """A name of the command line that the input lacks is wrong usage; of a damaged input it may be what is gone."""
    op, named = b"\nA,tt_dnn_device,0,0,12\n", b"\nwarm up,signpost,,,\nA,tt_dnn_device,0,0,12\nwarm down,signpost,,,\n"
    refused(needed + op, ["'x'", "no signposts at all"], "ops", "--start-signpost", "y", "--signpost", "x", code=2)
    refused(needed + named, ["'warm-up'", "did you mean 'warm up'?"], "ops", "--start-signpost", "warm-up", "--csv", h.work("none.csv"), code=2)
    refused(needed + named, ["'cooling'", "first of the 2 is 'warm up'"], "ops", "--start-signpost", "warm up", "--end-signpost", "cooling", code=2)
    refused(needed + named, ["'warm up' is there once"], "ops", "--start-signpost", "warm up", "--end-signpost", "warm up", code=2)
    refused(needed + named + b"A,tt", ["did you mean 'warm up'?"], "ops", "--start-signpost", "warm-up", code=4)
    for option in ("--start-signpost", "--end-signpost"):
        refused(needed + named, ["did you mean 'warm up'?"], "steps", option, "Warm up", "--json", h.work("none.json"), code=2)
    refused(needed + named, ["'foo' is no architecture"], "ops", "--arch", "foo", code=2)
    refused(needed + named, ["A", "1 device ops"], "ops", "--start-signpost", "warm up", "--end-signpost", "warm down", code=0)
    h.check(not os.path.exists(h.work("none.csv")) and not os.path.exists(h.work("none.json")), "something was written")


def text_for_a_number(refused, needed, head15, run):
    """In every table that reports read: damage, in words with the place."""
    table_of_ops = needed + b"\nA,tt_dnn_device,0,0,%s\n"
    for cell, code in ((b"abc", 4), (b"1e99", 4), (b"-3", 4), (b"12", 0), (b"", 0), (b"nan", 0), (b"None", 0)):
        for command in ("ops", "steps"):
            refused(table_of_ops % cell, ["'" + cell.decode() + "'", "row 2"] if code else [], command, code=code)
    refused(table_of_ops % b"abc", ["'abc'"], "html", "-o", h.work("page.html"), code=4)
    with open(h.work("good.csv"), "wb") as file:
        file.write(table_of_ops % b"12")
    refused(table_of_ops % b"abc", ["'abc'"], "diff", h.work("good.csv"), code=4)
    refused(table_of_ops % b"abc", ["'abc'"], "ops", h.work("good.csv"), code=4)
    cpp = b"GLOBAL CALL COUNT,METAL TRACE ID,DEVICE ID,CORE COUNT,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n1024,,0,%s,1,1\n"
    refused(cpp % b"many", ["line 2", "'CORE COUNT'", "'many'"], code=4)
    refused(cpp % b"", [], code=0)
    # Beside a log: the host's messages and zones, the sync of its clocks, the table of its losses.
    message = b'"TT_DNN_DEVICE_OP: ""A"" ->\n{}`'
    beside = {"tracy_ops_data.csv": ((b"MessageName;total_ns\n`TT_SIGNPOST: s`;5\n", 0), (b"MessageName;total_ns\n`TT_SIGNPOST: s`;x\n", 4),
                                     (b"MessageName;total_ns\n`TT_METAL_TRACE_BEGIN: 0`;5\n", 4), (b"MessageName;total_ns\n`" + message + b";5\n", 4)),
              "sync_device_info.csv": ((b"device id,device_frequency_ratio,device_shift\n 0,1.0,0\n", 0),
                                       (b"device id,device_frequency_ratio,device_shift\n 0,1.0,abc\n", 4), (b"device id,device_frequency_ratio,device_shift\n 0,1.0\n", 4)),
              "log.losses.csv": ((b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,3,\n", 0), (b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,three,\n", 4),
                                 (b"ARCH\nhead\n0,1,1,BRISC,overwritten,exact_words,5,9,3,", 4))}
    for name, forms in beside.items():
        for text, code in forms:
            with open(h.work(name), "wb") as file:
                file.write(text)
            refused(head15 + run, [name] if code else [], code=code, name="log.csv")
        os.remove(h.work(name))
    counter = head15 + run + b'0,1,1,BRISC,9090,1650,7,1024,,,,TS_DATA,0,,{"counter type":"FPU_COUNTER";"ref cnt":%s;"value":"9"}\n'
    refused(counter % b"12", [], "ops", code=0)
    refused(counter % b"x", ["1 records of hardware counters hold no number"], "ops", code=4)


def bad():
    def refused(text, words, *arguments, code=3, name="bad.csv"):
        path = h.work(name)
        with open(path, "wb") as file:
            file.write(text)
        out, err = report(*(arguments or ("ops",)), path, code=code)
        for word in words:
            h.check(word in out + err, f"'{word}' is not in: {out}{err}")
    refused(b"", ["bad.csv is empty"])
    refused(b"hello\n", ["neither a capture", "nor a device log", "nor a table of ops"])
    refused(b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: x\n", ["line 1", "CHIP_FREQ"])
    refused(b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nno, columns\n", ["line 2", "PCIe slot"])
    needed = b"OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]"
    refused(needed + b"\na,b,c\n", ["1 rows were skipped", "line 2"], code=4)
    refused(b"GLOBAL CALL COUNT,METAL TRACE ID,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n1,,x,1,1\n", ["line 2"], code=4)
    refused(needed + b",DEVICE ARCH\nA,tt_dnn_device,0,0,12,quasar\n", ["'quasar'", "--arch takes"])
    for words, arguments in ((["cannot be opened", "no such file", "a device log"], ("ops", "/nonexistent.ttc")), (["neither"], ("ops", os.path.dirname(__file__)))):
        out, err = report(*arguments, code=3)
        h.check(all(w in err for w in words), err)
    for arguments in (("ops",), ("ops", "x", "--group-by", "size"), ("ops", "x", "--id-range", "a-b"), ("nothing",),
                      ("diff", "x"), ("diff", "a", "b", "--fail-if", "all>1"), ("heatmap", "x", "--of", "colour"),
                      ("ops", "x", "--memory", "much")):
        report(*arguments, code=2)
    report("heatmap", h.work("none.csv"), "-o", h.work("x.gif"), code=3)
    head13 = b"PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  zone name, type, source line, source file, meta data\n"
    rows = b"".join(b"0,1,1,BRISC,%d,%d,0,7,BRISC-%s,ZONE_%s,1,f.cc,\n" % (i, t, z, p)
                    for i, t, z, p in ((10, 1000, b"FW", b"START"), (11, 1100, b"KERNEL", b"START"), (11, 1600, b"KERNEL", b"END"), (10, 1700, b"FW", b"END")))
    # Cut anywhere, a log is read as far as it goes; no program hangs or crashes.
    whole = b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n" + head13 + rows
    for cut in range(len(whole) - len(rows), len(whole) + 1, 7):
        path = h.work("cut.csv")
        with open(path, "wb") as file:
            file.write(whole[:cut])
        report("ops", path, code=0 if whole[cut - 1:cut] == b"\n" else 4)
    # The eras of 6 and 12 columns.
    old = b"Chip clock is at 1.0 GHz\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset]\n0,1,1,BRISC,1,1000\n0,1,1,BRISC,4,1700\n"
    refused(old, ["No ops", "log of 6 columns"], code=0)
    twelve = (b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], stat value, Run ID, "
              b"zone name, zone phase, source line, source file\n"
              + b"".join(b"0,1,1,BRISC,10,%d,0,7,BRISC-%s,%s,1,f.cc\n" % row for row in ((1000, b"FW", b"begin"), (1100, b"KERNEL", b"begin"), (1600, b"KERNEL", b"end"), (1700, b"FW", b"end"))))
    refused(twelve, ["program 7", "0.5"], code=0)
    # Commas in a path, numbers that are none, a missing tail: counted with the first line; the other program stays.
    head15 = (b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], "
              b"data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n")
    def run15(host, file=b"f.cc", time=b"%d", start=1000, chip=0):
        return b"".join(b"%d,1,1,BRISC,%d,%s,0,%d,,,BRISC-%s,ZONE_%s,1,%s,\n" % (chip, i, time % t if b"%" in time else time, host, z, p, file)
                        for i, t, z, p in ((10, start, b"FW", b"START"), (11, start + 100, b"KERNEL", b"START"), (11, start + 600, b"KERNEL", b"END"),
                                           (10, start + 700, b"FW", b"END")))
    good = run15(2048, start=9000)
    for text, words in ((run15(1024, b"/a,b/f.cc"), ["4 lines were skipped", "comma in a path", "line 3"]),
                        (run15(1024, time=b"nan"), ["4 lines were skipped", "must be a number", "line 3"]),
                        (run15(1024, time=b"-5"), ["4 lines were skipped", "must be a number"]),
                        (b"0,1,1\n", ["1 lines were skipped", "too few columns", "line 3"])):
        refused(head15 + text + good, [*words, "program 2", "1 device ops"], code=4)
    refused((head15 + run15(1024) + good).replace(b"\n", b"\r\n"), ["2 device ops"], code=0)
    refused(head15 + run15(1024) + run15(1025, start=5000, chip=1) + good, ["2 devices"], code=0)
    refused(head15 + run15(1024, b"/src/gr\xc3\xb6\xc3\x9fe.cc") + run15(2048, b"/latin/\xf6.cc", start=9000), ["2 device ops"], code=0)
    refused(head15 + run15(1024) + run15(2048, start=1200), ["-0."], code=0)  # programs that overlap
    refused(head15, ["not one marker"], code=0)
    names_that_are_not_there(refused, needed)
    text_for_a_number(refused, needed, head15, run15(1024))
    # A bad cell costs that cell; a quote that is never closed costs its row.
    refused(needed + b",ATTRIBUTES\nA,tt_dnn_device,0,0,12x,\nB,tt_dnn_device,0,0,1000,\"open\n", ["row 2", "'12x'", "middle of a line"], code=4)
    # The missing thing and what may have been meant.
    for words, arguments in ((["'opz' is no subcommand of ttreport", "did you mean ops?"], ("opz", "x")), (["--hots", "did you mean --host?"], ("ops", "x", "--hots", "y")),
                             (["option --zzzzzz is not known", "--help"], ("ops", "x", "--zzzzzz"))):
        _, err = report(*arguments, code=2)
        h.check(all(w in err for w in words), f"{arguments}: {err}")


def damage():
    """Cut, thinned, shuffled and misnamed inputs: the exit code goes by rule, in every report that reads zones or tables."""
    seed = 20261122
    random_ = random.Random(seed)
    print(f"seed {seed}")
    log = h.work("whole.csv")
    big_log(log, programs=6, cores=4)
    with open(log, "rb") as file:
        lines = file.read().splitlines(True)
    head, rows = lines[:2], lines[2:]
    def code_of(name, data, *command):
        path = h.work(name)
        with open(path, "wb") as file:
            file.write(data)
        got, out, err = h.run("ttreport", *(command or ("ops", "--no-summary")), path)
        return got, out, err
    for command in (("ops",), ("kernels",), ("heatmap",), ("steps",), ("html", "-o", h.work("d.html")), ("files", "-o", h.work("d"), "--no-date")):
        got, _, err = code_of("thinned.csv", b"".join(head + rows[:26] + rows[41:]), *command)
        h.check(got == 4 and "markers are gone" in err and "has no" in err, f"rows deleted from the middle, {command[0]}: exit {got}: {err}")
    for cut in range(len(b"".join(head)) + 1, sum(map(len, lines)), 997):
        data = b"".join(lines)[:cut]
        got, _, err = code_of("cut.csv", data)
        h.check(got == (0 if data.endswith(b"\n") else 4), f"cut at {cut}: exit {got}: {err}")
    # A heat map without one kernel: of a damaged source that is the source's fault, of a whole one the question's.
    firmware = [row for row in rows if b"-FW" in row][:8]
    for data, code, words in ((head + firmware, 2, "no core ran a kernel"), (head + firmware + [rows[9][:-9]], 4, "no core ran a kernel"), (lines, 0, "Chip 0")):
        for more in ((), ("-o", h.work("map.svg"))):
            got, out, err = code_of("kernels.csv", b"".join(data), "heatmap", *more)
            h.check(got == code and (words in out + err or (more and code == 0)), f"heat map of {len(data)} lines: exit {got}: {err}")
            h.check(os.path.exists(h.work("map.svg")) == (bool(more) and code == 0), "a picture of nothing was left")
    whole, _, _ = code_of("again.csv", b"".join(lines), "ops", "--json", h.work("whole.json"))
    for _ in range(5):
        random_.shuffle(rows)
        got, _, err = code_of("shuffled.csv", b"".join(head + rows), "ops", "--json", h.work("shuffled.json"))
        h.check(got == whole == 0 and "were sorted" in err, f"shuffled: exit {got}: {err}")
        a, b = (json.load(open(h.work(n))) for n in ("whole.json", "shuffled.json"))
        h.check(a["rows"] == b["rows"], "a shuffled log gives other ops")
    got, _, err = code_of("shuffled.csv", b"".join(head + rows), "ops", "--memory", "1KiB")
    h.check(got == 3 and "--memory" in err, f"shuffled beyond the bound: exit {got}: {err}")
    # Every column of a log and of a table in turn: without it the answer is right, or refused by its name.
    names = [n.strip() for n in head[1].decode().split(",")]
    needed_of_log = {"PCIe slot", "core_x", "core_y", "RISC processor type", "timer_id", "time[cycles since reset]", "data", "run host ID",
                     "trace id", "trace id counter", "zone name", "type"}
    for i, name in enumerate(names):
        text = b"".join([head[0]] + [b",".join(c for k, c in enumerate(l.rstrip(b"\n").split(b",")) if k != i) + b"\n" for l in lines[1:]])
        got, _, err = code_of("column.csv", text)
        h.check(got == (3 if name in needed_of_log else 0), f"log without {name}: exit {got}: {err}")
    text = (b"OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,MATH FIDELITY,CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n"
            + b"".join(b"Op%d,tt_dnn_device,%d,0,{},HiFi4,64,%d,100,%d\n" % (i % 3, 1024 * i, 1000 * i, 5000 + i) for i in range(40)))
    names = text.split(b"\n")[0].split(b",")
    for i, name in enumerate(names):
        without = b"".join(b",".join(c for k, c in enumerate(l.split(b",")) if k != i) + b"\n" for l in text.splitlines())
        got, _, err = code_of("table.csv", without)
        refused = name.decode() in ("OP CODE", "OP TYPE", "DEVICE ID", "OP TO OP LATENCY [ns]", "DEVICE KERNEL DURATION [ns]")
        h.check(got == (3 if refused else 0) and (not refused or f"'{name.decode()}'" in err), f"table without {name}: exit {got}: {err}")
    for data, want in ((text[:100], 3), (text.replace(b"\n", b"\0"), 3), (text[:-20], 4), (text.replace(b"Op1", b"garbage\nOp1", 1), 4)):
        got, _, err = code_of("table.csv", data)
        h.check(got == want, f"table {data[-40:]}: exit {got} instead of {want}: {err}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()

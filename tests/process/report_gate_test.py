#!/usr/bin/env python3
"""ttreport as a gate and as a page. Usage: report_gate_test.py diff|short_captures|memory|terminal|html

diff   --fail-if and its exit code
short_captures  a change beyond the noise is found whatever is known of the clock
memory  peaks of `ops` and `files` on inputs of two sizes
terminal  what `ops` prints on terminals of several sizes
html   the page in headless Chromium: it makes no requests, sorts, searches, is used by keys, draws 10^5 zones
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

import harness as h
from report_support import big_log, log_of, report
from run_of import RunOf
from screen_of import Screen


def diff():
    def ops_file(name, ns):
        path = h.work(name)
        with open(path, "w") as file:
            file.write("OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n")
            for n in ns:
                file.write(f"Matmul,tt_dnn_device,0,100,{n}\n")
        return path
    a, b, noisy = ops_file("a.csv", (1000, 1010, 990)), ops_file("b.csv", (1200, 1210, 1190)), ops_file("n.csv", (500, 1000, 2100))
    out, _ = report("diff", a, b)
    h.check("significant" in out and "+20.0 %" in out, out)
    report("diff", a, b, "--fail-if", "total>25%")
    _, err = report("diff", a, b, "--fail-if", "total>5%", code=1)
    h.check("holds" in err and "20.00 %" in err, err)
    report("diff", a, b, "--fail-if", "any>5%", code=1)
    report("diff", a, noisy, "--fail-if", "any>5%")  # within its spread
    report("diff", b, a, "--fail-if", "any>0%")
    out, _ = report("diff", a, b, "--json", "-")
    found = json.loads(out)
    h.check(found["ops"][0]["significant"] is True, out)
    low, high = found["ops"][0]["change_interval_percent"]
    h.check(17 < low <= 20 <= high < 23, f"the interval of +20 % is {low} to {high}")
    h.check(abs(sum(p["us"] for p in found["waterfall"]) - 0.6) < 1e-9, f"the waterfall: {found['waterfall']}")
    # Noise about the same median, whatever its seed: no condition on growth may hold.
    for seed in range(1, 6):
        noise = random.Random(seed)
        one, two = (ops_file(n, [round(noise.gauss(10000, 800)) for _ in range(200)]) for n in ("one.csv", "two.csv"))
        report("diff", one, two, "--fail-if", "total>2%", "--fail-if", "any>2%")
        slower = ops_file("slower.csv", [round(noise.gauss(11000, 800)) for _ in range(200)])
        report("diff", one, slower, "--fail-if", "any>5%", code=1)


def short_captures():
    """The clock of a short run is known to milliseconds only: that hid every change of its ops, and a gate let all of them pass."""
    capture, log, slower = h.work("run.ttc"), h.work("log.csv"), h.work("slower.csv")
    RunOf(["--cores", 2, "--programs", 120, "--trace", "4:30", "--host-reads", "every:30", "--pace"], ["-o", capture]).end()
    code, _, err = h.run("ttexport", "--from", capture, "-o", log)
    h.check(code == 0, err)
    with open(log) as rows, open(slower, "w") as out:
        for i, row in enumerate(rows):
            cells = row.split(",")
            out.write(row if i < 2 else ",".join((*cells[:5], str(3 * int(cells[5])), *cells[6:])))
    report("diff", capture, log, "--fail-if", "any>5%", "--fail-if", "total>5%")
    for first, second, code in ((capture, slower, 1), (slower, capture, 0)):
        out, _ = report("diff", first, second, "--fail-if", "any>50%", code=code)
        h.check("significant" in out and "within clock bound" not in out, f"three times as long: {out}")


# A process is charged with what its parent had when it was made; this parent has next to nothing. Large pages are refused to
# the process (PR_SET_THP_DISABLE, 41, prctl(2)): the heap is the same, and its peak is exact to 4 KiB instead of 2 MiB.
RUNNER = """import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).prctl(41, int(sys.argv.pop(1)), 0, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(status, used.ru_maxrss, file=sys.stderr)"""


def peak(*arguments, small_pages):
    """Peak memory of a ttreport, in bytes; its output is discarded."""
    command = [sys.executable, "-S", "-E", "-c", RUNNER, str(int(small_pages)), os.path.join(h.BIN, "ttreport"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=h.LIMIT_S, check=True)
    status, peak_kib = map(int, done.stderr.splitlines()[-1].split())
    h.check(status == 0, f"ttreport {arguments}: {status}: {done.stderr}")
    return peak_kib * 1024


def memory():
    """Of two sizes the larger one takes no more: what grows with rows and programs is on disk. A quarter of `--memory` is for open programs."""
    def table_of(path, rows):
        with open(path, "w") as out:
            out.write("OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n")
            for i in range(rows):
                out.write(f"Matmul,tt_dnn_device,{i * 1024},{i % 2},64,{i * 1000},{i % 9999},{5000 + i % 77}\n" if i % 50 else f"step,signpost,,,,{i * 1000},,\n")
    def host_of(path, ops):
        """The log of a workload, and the two files of its host side beside it: all but the first op are cached, each has two zones inside."""
        log_of(path, ops)
        with open(h.work("tracy_ops_data.csv"), "w") as data, open(h.work("tracy_ops_times.csv"), "w") as times:
            data.write("MessageName;total_ns\n")
            times.write("name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n")
            for i in range(ops):
                id, at = 1024 * (i + 1), 1000 * i
                text = f'7, 0, true, {id}' if i else f'7, 0, false, {id} ->\n{{"global_call_count": {id}, "op_code": "Matmul", "op_type": "tt_dnn_device", "device_id": 0, "op_hash": 7}}'
                data.write(f'`TT_DNN_DEVICE_OP: "Matmul", {text}`;{at}\n')
                times.write(f"TT_DNN_DEVICE_OP,a.cpp,1,,id:{id},{at},800,1,\nCompile,a.cpp,2,,,{at + 1},50,1,id:{id}\nLaunch,a.cpp,3,,,{at + 60},70,1,id:{id}\n")
    one, both = ("--ignore-signposts", "--no-merge-devices"), ("--ignore-signposts",)
    logs, tables = (40_000, 100_000), (30_000, 100_000)
    for make, sizes, bound, *command in ((log_of, logs, 12, "files", "-o", h.work("out"), "--no-date", "--memory", "1MiB"),
                                         (log_of, logs, 12, "ops", "--rows", 0),
                                         (host_of, logs, 12, "files", "-o", h.work("out"), "--no-date", "--memory", "1MiB"),
                                         (table_of, tables, 12, "ops", *one, "--csv", h.work("o.csv")), (table_of, tables, 8, "ops", *both, "--csv", h.work("o.csv")),
                                         (table_of, (100_000, 250_000), 8, "ops", *both)):    # the text's buffers are full at both sizes
        peaks = []
        for n in sizes:
            make(h.work("input.csv"), n)
            peaks.append(peak(command[0], h.work("input.csv"), *command[1:], small_pages=True))
        at_most = max(peaks + [peak(command[0], h.work("input.csv"), *command[1:], small_pages=False)])
        growth = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
        print(f"{make.__name__} {command[0]}: {peaks[0] >> 10} and {peaks[1] >> 10} KiB, {growth:.1f} bytes a row or program; {at_most >> 10} KiB at most")
        h.check(growth < bound, f"{command} takes {growth:.1f} bytes more for every row or program")
        h.check(at_most < 40 << 20, f"{command} takes {at_most >> 20} MiB")


def terminal():
    """A page's worth: on a terminal of so many lines no more is printed, and the rest is named; into a file goes all of it."""
    path = h.work("many.csv")
    with open(path, "w") as out:
        out.write("OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n")
        for i in range(300):
            out.write(f"Op{i % 40},tt_dnn_device,{i * 1024},0,64,{i * 1000},{70000 + i},{5000 + 10 * i}\n")
    def printed(columns, rows, *more):
        screen = Screen("ttreport", "ops", path, *more, columns=columns, rows=rows)
        h.check(screen.end() == 0, screen.raw)
        lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", screen.raw).replace("\r\n", "\n").split("\n")]
        return [line[i:i + columns] for line in lines for i in range(0, max(len(line), 1), columns)]    # as the terminal breaks them
    for columns, rows in ((80, 24), (200, 50), (100, 40), (60, 30), (80, 2000)):
        lines = printed(columns, rows)
        h.check(len(lines) <= rows, f"{columns}x{rows}: {len(lines)} lines: {lines}")
        text = " ".join(lines)
        h.check("Verdict: host-bound" in text, f"no verdict: {text}")
        h.check(rows == 2000 or ("of 300 ops take longest" in text and "299 high gaps" in text and "--rows 0 prints all" in text), f"no hint: {text}")
        h.check(rows < 2000 or (len(lines) > 600 and "--rows 0" not in text), f"all of it fits and is not there: {len(lines)} lines")
    h.check(any("Summary" in line for line in printed(200, 50)), "there is room for the summary")
    h.check(len([line for line in printed(80, 24, "--rows", 0) if " Op" in line]) > 600, "--rows 0 on a terminal is not all")
    out, _ = report("ops", path)
    h.check(len(out.splitlines()) > 600 and "--rows" not in out, "a pipe does not get all of it")


PROBE = """
<script>
addEventListener('load', () => setTimeout(() => {
  const out = {}, key = (k, t, o) => (t || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, ...o}));
  const cell = (r, c) => { const rows = [...document.querySelectorAll('#optable tbody tr')].filter(x => x.dataset.i); return rows[r].cells[c].textContent; };
  out.ready = window.ttReady; out.count = $('count').textContent; out.inDocument = document.querySelectorAll('#optable tbody tr').length;
  const heads = [...document.querySelectorAll('#optable th button')]; heads.find(b => b.textContent.startsWith('Device ')).focus();
  const byTime = heads.find(b => b.textContent.includes('Device') && b.textContent.includes('s')); const at = heads.findIndex(b => b.textContent === 'Device \\u00b5s');
  heads[at].click(); out.sorted = [0, 1, 2, 3].map(i => parseFloat(cell(i, at).replace(/,/g, ''))); out.aria = heads[at].parentElement.getAttribute('aria-sort');
  key('/'); out.focus = document.activeElement.id; $('search').value = 'program 113'; $('search').dispatchEvent(new Event('input')); out.found = $('count').textContent;
  $('search').value = ''; $('search').dispatchEvent(new Event('input')); $('search').blur();
  key('j'); key('j'); out.chosen = document.querySelectorAll('#optable tr.on').length; out.heat = $('heatnote').textContent; key('Enter');
  out.theme = getComputedStyle(document.body).backgroundColor; key('t'); out.themeAfter = getComputedStyle(document.body).backgroundColor;
  out.cells = document.querySelectorAll('#grid div[tabindex]').length; out.kernels = document.querySelectorAll('#kerneltable tbody tr').length; out.steps = $('stepbody').textContent.length;
  out.zones = T ? T.begin.length : 0; setWindow(0, end); draw(); out.bars = ttDrawn.bars; let worst = 0; for (let i = 0; i < 20; i++) { zoom(0.7); draw(); worst = Math.max(worst, ttDrawn.ms); } out.worst = worst;
  out.asked = performance.getEntriesByType('resource').length;
  document.body.innerHTML = ''; const pre = document.createElement('pre'); pre.id = 'result'; pre.textContent = JSON.stringify(out); document.body.append(pre);
}, 300));
</script></body>"""


def html():
    browser = shutil.which("chromium")
    log, page = h.work("big.csv"), h.work("run.html")
    big_log(log)
    report("html", log, "-o", page, "--zones", "102400")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    h.check(not re.search(r"""(src|href)=["'](?!#)|@import|url\(|fetch\(|XMLHttpRequest|https?://""", text), "the page makes requests")
    if not browser:
        h.skip("no chromium here; the page was made and makes no requests")
    probed = h.work("probed.html")
    with open(probed, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", PROBE))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,900", "--virtual-time-budget=8000",
             "--user-data-dir=" + h.work("profile")]
    dom = subprocess.run([browser, *flags, "--dump-dom", "file://" + probed], capture_output=True, text=True, timeout=h.LIMIT_S).stdout
    match = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    h.check(match is not None, f"the page's script did not end: {dom[-400:]}")
    out = json.loads(match.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    print(out)
    h.check(out["ready"] and out["count"].startswith("160 of 160"), "the table is not there")
    h.check(out["sorted"] == sorted(out["sorted"], reverse=True) and out["aria"] == "descending", "sorting")
    h.check(out["focus"] == "search" and 1 <= int(out["found"].split()[0]) <= 5, f"searching: {out['found']}")
    h.check(out["chosen"] == 1 and "op " in out["heat"], "choosing an op by keys")
    h.check(out["theme"] != out["themeAfter"], "dark and light look alike")
    h.check(out["cells"] == 64 and out["kernels"] == 10 and out["steps"] > 20, "cores, kernels or steps are missing")
    h.check(out["zones"] >= 100_000 and out["bars"] > 1000, f"{out['zones']} zones, {out['bars']} bars")
    h.check(out["asked"] == 0, "the page made requests")
    for name, more in (("light", []), ("narrow", ["--window-size=420,900"])):
        shot = os.environ.get("TTC_SHOTS", os.path.dirname(page)) + f"/page-{name}.png"
        subprocess.run([browser, *flags, *more, f"--screenshot={shot}", "file://" + page], capture_output=True, timeout=h.LIMIT_S)
        h.check(os.path.getsize(shot) > 20_000, f"the screenshot {name} is empty")
    pdf = h.work("page.pdf")
    subprocess.run([browser, *flags, f"--print-to-pdf={pdf}", "file://" + page], capture_output=True, timeout=h.LIMIT_S)
    h.check(os.path.getsize(pdf) > 20_000, "nothing is printed")


if __name__ == "__main__":
    globals()[sys.argv[1]]()

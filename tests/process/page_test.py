#!/usr/bin/env python3
"""The page of ttreport html. Usage: page_test.py pure|data|browser|hands

pure     what the page computes, in Node.js: ticks, windows, hits, figures
data     what the page is given: programs, losses, clock bounds, one palette with the pictures
browser  in headless Chromium: default window, axis, losses drawn, touch, keys, long names, empty windows
hands    through Chromium's debugging protocol: wheel, drag, scroll, click, fingers, keys, print, 390 to 1920 pixels, light and
         dark; nothing on its console, and no complaint of axe-core where TTC_TOOLS has its axe.min.js
"""
import array
import base64
import json
import os
import re
import shutil
import subprocess
import sys

import harness as h
from chromium import Browser
from run_of import RunOf

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/report/page")

PURE = r"""
const p = require(process.argv[1]), assert = require('assert').strict;
const labels = (a, b, most) => p.timeTicks(a, b, most).ticks.map(t => t.label);

// All ticks of a window of 3 us read "29.7391 s".
assert.deepEqual(labels(29739100000, 29739103000, 6), ['0', '+500 ns', '+1000 ns', '+1500 ns', '+2000 ns', '+2500 ns', '+3000 ns']
    .map((l, i) => i ? '+' + (i * 0.5).toFixed(1) + ' \u00b5s' : l));
let seed = 7;
const dice = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
for (let i = 0; i < 20000; i++) {
  const t0 = dice() < 0.2 ? 0 : 10 ** (dice() * 11), w = 10 ** (dice() * 11), most = 2 + Math.floor(dice() * 12), a = p.timeTicks(t0, t0 + w, most), about = `${t0} ${w} ${most}`;
  assert.ok(a.ticks.length <= most + 1, about);
  assert.ok(new Set(a.ticks.map(t => t.label)).size === a.ticks.length, about + ' ' + a.ticks.map(t => t.label));   // no two alike
  for (const t of a.ticks) assert.ok(t.at >= t0 - a.step / 2 && t.at <= t0 + w + a.step / 2, about);
  const m = a.step / 10 ** Math.floor(Math.log10(a.step) + 1e-9);
  assert.ok(a.step === 0.01 || [1, 2, 5].some(r => Math.abs(m - r) < 1e-6), `${about}: step ${a.step}`);
}
assert.equal(p.exactTime(29739123456), '29.739 123 456 s');
assert.equal(p.exactTime(-1), '-0.000 000 001 s');
assert.deepEqual([0.4, 999.4, 999.6, 12345, 1234567, 2.5e9].map(p.spanText), ['0.4 ns', '999 ns', '1.00 \u00b5s', '12.3 \u00b5s', '1.23 ms', '2.50 s']);

assert.deepEqual([[1234, null], [1234, 3], [1234, 2.1], [1234.4, 3], [12345, 65534]].map(([ns, bound]) => p.lengthText(ns, bound)),
    ['1.23 \u00b5s', '1.23 \u00b5s (1234 \u00b1 3 ns)', '1.23 \u00b5s (1234 \u00b1 3 ns)', '1.23 \u00b5s (1234 \u00b1 4 ns)', '12.3 \u00b5s \u00b1 65 \u00b5s or more']);
assert.deepEqual([2.1, 9999, 12301].map(p.boundText), ['\u00b1 3 ns by the clock model', '\u00b1 9999 ns by the clock model', '\u00b1 12.4 \u00b5s by the clock model']);

// The default window showed everything: a second in which no zone was visible.
const begin = [], length = [];
for (let i = 0; i < 400; i++) begin.push(i < 200 ? i * 5e6 : 1e9 + (i - 200) * 1e4), length.push(1000);
const lanes = [{from: 0, to: 400, longest: 1000}], end = begin[399] + 1000, [a, b] = p.defaultWindow(begin, length, lanes, end);
assert.ok(b - a < 1e6 && a >= 9.9e8, `${a} ${b}`);
assert.deepEqual(p.defaultWindow([0, 1], [1, 1], [{from: 0, to: 2, longest: 1}], 2), [0, 2]);
assert.deepEqual(p.defaultWindow([], [], [], 1), [0, 1]);
const full = Array.from({length: 100}, (_, i) => i * 10);   // no gaps: everything is visible
assert.deepEqual(p.defaultWindow(full, full.map(() => 9), [{from: 0, to: 100, longest: 9}], 1000), [0, 999]);
// What the host did before the first program is not what is looked for.
assert.deepEqual(p.defaultWindow([0, 5e9, 5e9 + 10], [9e9, 5, 5], [{from: 1, to: 3, longest: 5}], 9e9), [5e9, 5e9 + 15]);

assert.deepEqual(p.nearestZones(begin, length, lanes, 2000, 3000), {before: 0, after: 1});
assert.deepEqual(p.nearestZones(begin, length, lanes, end + 5, end + 6), {before: 399, after: -1});

const T = {begin: [0, 2, 2, 50], length: [40, 30, 5, 1], depth: [0, 1, 2, 0], zone: [0, 1, 2, 0]}, lane = {from: 0, to: 4, longest: 40};
assert.equal(p.zoneAt(T, lane, 3, 0, 0), 0);
assert.equal(p.zoneAt(T, lane, 3, 2, 0), 2);
assert.equal(p.zoneAt(T, lane, 45, 0, 0), -1);
assert.equal(p.zoneAt(T, lane, 48, 0, 3), 3);   // narrower than a pixel
assert.deepEqual(p.zoneFigures(T, 0, 0, 100), {count: 2, sum: 41, least: 1, median: 40, p95: 40, most: 40});
assert.deepEqual(p.zoneFigures(T, 9, 0, 100), {count: 0});

assert.deepEqual(p.zoomed(100, 200, 0.5, 0.5, 0.5, 1000), [125, 175]);
assert.deepEqual(p.zoomed(100, 200, 1, 0.2, 0.5, 1000), [70, 170]);
assert.deepEqual(p.zoomed(0, 100, 50, 0.5, 0.5, 1000), [0, 1000]);
assert.deepEqual(p.zoomed(990, 1000, 1, 1, 0, 1000), [990, 1000]);

const light = c => [0.2126, 0.7152, 0.0722].reduce((s, f, i) => s + f * (c[i] / 255 <= 0.04045 ? c[i] / 255 / 12.92 : ((c[i] / 255 + 0.055) / 1.055) ** 2.4), 0);
for (let i = 0; i < 2000; i++) {
  const c = [0, 0, 0].map(() => Math.floor(dice() * 256)), l = light(c);
  assert.ok((p.inkOn(c) === '#000' ? (l + 0.05) / 0.05 : 1.05 / (l + 0.05)) >= 4.5, `${c}`);
}
"""

PROBE = """<script>
addEventListener('load', () => setTimeout(() => {
  const out = {}, cv = $('time'), box = () => cv.getBoundingClientRect();
  const pointer = (kind, x, y, id, type, more) => cv.dispatchEvent(new PointerEvent(kind, {clientX: box().left + x, clientY: box().top + y, pointerId: id, pointerType: type,
    bubbles: true, button: 0, buttons: kind === 'pointerup' ? 0 : 1, ...more}));
  cv.setPointerCapture = () => {};
  const red = () => { draw(); const d = cv.getContext('2d').getImageData(0, 0, cv.width, cv.height).data; let n = 0;
    for (let i = 0; i < d.length; i += 4) n += d[i] > 200 && d[i + 1] < 60 && d[i + 2] < 60; return n; };
  document.getElementById('timeline').scrollIntoView();
  out.width = document.documentElement.scrollWidth; out.inner = innerWidth;
  out.start = [t0, t1, end]; draw(); out.bars = ttDrawn.bars; out.losses = D.losses.length; out.bounds = bounds.length;
  const texts = [], fill = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function(t, x, y) { if (y === 9) texts.push([t, x, x + this.measureText(t).width]); return fill.apply(this, arguments); };
  const first = [t0, t1]; setWindow(1e6, 4e6); draw(); CanvasRenderingContext2D.prototype.fillText = fill; out.axis = texts; setWindow(...first);
  const loss = D.losses.find(l => l[2] !== null) || D.losses[0];
  if (loss) { setWindow(loss[1] - 1e5, loss[1] + 1e6); showLane(loss[0]); out.red = red(); const kept = lanes.map(l => l.losses); lanes.forEach(l => l.losses = []); out.notRed = red();
    lanes.forEach((l, i) => l.losses = kept[i]); }
  setWindow(end * 0.4, end * 0.5);
  let before = [t0, t1]; pointer('pointerdown', 200, 200, 1, 'touch'); pointer('pointermove', 150, 200, 1, 'touch'); out.touch = (t0 - before[0]) / (before[1] - before[0]);
  pointer('pointercancel', 150, 200, 1, 'touch'); before = [t0, t1]; pointer('pointermove', 100, 200, 1, 'touch'); out.stuck = t0 - before[0];
  pointer('pointerdown', 200, 200, 2, 'touch'); pointer('pointerdown', 250, 200, 3, 'touch'); before = t1 - t0; pointer('pointermove', 300, 200, 3, 'touch'); out.pinch = (t1 - t0) / before;
  pointer('pointerup', 200, 200, 2, 'touch'); pointer('pointerup', 300, 200, 3, 'touch'); out.fingers = fingers.size;
  const all = [...T.begin].sort((a, b) => a - b); let hole = 0; for (let i = 1; i < all.length; i++) if (all[i] - all[i - 1] > all[hole + 1] - all[hole]) hole = i - 1;
  setWindow(all[hole + 1] - 30, all[hole + 1] - 20); draw(); out.empty = !$('empty').hidden; out.later = $('later').textContent; $('later').click(); draw(); out.emptyAfter = !$('empty').hidden;
  out.zonebar = $('zonefigures').textContent; $('zoneop').click(); out.op = document.querySelectorAll('#optable tr.on').length; const was = picked; nextOfZone(1); out.next = picked > was;
  out.legend = $('legend').textContent; out.space = $('timebox').scrollHeight > $('timebox').clientHeight;
  $('timebox').scrollTop = 1e6; draw(); out.last = hits.some(x => x[2] === lanes.length - 1);
  document.body.innerHTML = ''; const pre = document.createElement('pre'); pre.id = 'result'; pre.textContent = JSON.stringify(out); document.body.append(pre);
}, 200));
</script></body>"""


def pure():
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        h.skip("no Node.js here")
    done = subprocess.run([node, "-e", PURE, os.path.join(PAGE, "pure.js")], capture_output=True, text=True, timeout=h.LIMIT_S)
    h.check(done.returncode == 0, done.stderr)


def losing_page():
    """A page of a run that lost markers, with long names."""
    capture, page = h.work("run.ttc"), h.work("run.html")
    RunOf(["--arch", "blackhole", "--cores", 4, "--ethernet", 1, "--programs", 900, "--rate", 1500, "--host-reads", "every:300", "--region-bytes", 4224],
          ["-o", capture]).end()
    code, _, err = h.run("ttreport", "html", capture, "-o", page, "--title", "T" * 140)
    h.check(code in (0, 4), f"{code} {err}")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1).replace("<\\/", "</"))
    return text, data


def columns(d):
    """The labels of each bar of the timeline."""
    return {name: array.array(kind, base64.b64decode(d["zones"][name])) for name, kind in
            (("begin", "d"), ("length", "f"), ("lane", "H"), ("op", "i"), ("zone", "H"))}


def data():
    _, d = losing_page()
    h.check(d["losses"] and all(0 <= lane < len(d["lanes"]) and (length is None or length >= 0) for lane, _, length, _ in d["losses"]),
            f"losses: {d['losses'][:3]} of {len(d['lanes'])} lanes")
    h.check(d["losses"][0][3].count(": ") == 1, f"{d['losses'][0]}")
    # The page had "within 17,863,422 ns" for a run whose markers were known to 70 ns: that is the bound of its tail.
    clock = next(c for c in d["cards"] if c["title"] == "Clock quality")["lines"]
    h.check(re.search(r"within [\d,]+ (ns|\u03bcs|ms) for half of the run and [\d,]+ (ns|\u03bcs|ms) for 99 % of it", clock[0]), f"{clock}")
    h.check(len(d["bounds"]["0"]) >= 1 and all(b > 0 for _, b in d["bounds"]["0"]), f"{d['bounds']}")
    # One meaning of colours: firmware of BRISC is what it is in pictures and in Tracy (tools/viewers/zones/zone_labels.cpp).
    h.check(d["palettes"]["BRISC"][0] == "#ee9a00" and len(d["laneprocessors"]) == len(d["lanes"]), f"{d['palettes']}")
    h.check(len(set(d["lanes"])) == len(d["lanes"]), "two lanes of one name")
    # Each chip has a row of its programs in front of its lanes, and every bar of it is a row of the table of ops.
    h.check(d["lanes"][0] == "0: programs" and d["laneprocessors"][0] == "programs", f"{d['lanes'][:2]}")
    column = columns(d)
    programs = [i for i, lane in enumerate(column["lane"]) if lane == 0]
    # How many of them came depends on how often the collector had the CPU.
    shown = {op for lane, op in zip(column["lane"], column["op"]) if lane != 0 and op >= 0}
    h.check(len(programs) > 1 and sorted(column["op"][i] for i in programs) == sorted(shown), f"{len(programs)} programs, {len(shown)} on cores")
    h.check({d["zonenames"][column["zone"][i]][0] for i in programs} == {"program"}, "the host's side is not known, so they have no names")
    first, until = {}, {}
    for i, lane in enumerate(column["lane"]):
        op = column["op"][i]
        if lane and op >= 0:
            first[op], until[op] = min(first.get(op, 1e18), column["begin"][i]), max(until.get(op, -1e18), column["begin"][i] + column["length"][i])
    for i in programs:
        op, begin, end = column["op"][i], column["begin"][i], column["begin"][i] + column["length"][i]
        h.check(op not in first or begin - 1 <= first[op] and until[op] <= end + max(1, end * 1e-6), f"op {op} is {begin} to {end}, its zones {first[op]} to {until[op]}")


def browser():
    chromium = shutil.which("chromium")
    if not chromium:
        h.skip("no chromium here")
    text, d = losing_page()
    long = "N" * 140
    text = text.replace('"zonenames":[["', f'"zonenames":[["{long}').replace('"kernels":[["', f'"kernels":[["{long}')
    probed = h.work("probed.html")
    with open(probed, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", PROBE))
    for width in (390, 1280):
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={max(width, 500)},900", "--virtual-time-budget=60000",
                 "--user-data-dir=" + h.work(f"profile{width}")]
        # Headless windows are at least 500 wide: the narrow one is a frame.
        shown = probed
        if width < 500:
            shown = h.work("narrow.html")
            with open(shown, "w", encoding="utf-8") as file:
                file.write(f'<iframe id="f" src="probed.html" width="{width}" height="844"></iframe><script>const wait = setInterval(() => '
                           '{ const out = document.getElementById("f")?.contentDocument?.getElementById("result"); '
                           'if (out) { clearInterval(wait); document.body.innerHTML = out.outerHTML; } }, 50);</script>')
            flags.append("--allow-file-access-from-files")
        dom = subprocess.run([chromium, *flags, "--dump-dom", "file://" + shown], capture_output=True, text=True, timeout=h.LIMIT_S).stdout
        found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
        h.check(found, f"the page's script did not end: {dom[-300:]}")
        out = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        print(width, out)
        h.check(out["width"] <= out["inner"], f"a long name makes the page {out['width']} wide")
        h.check(out["bars"] > 5 and out["start"][1] - out["start"][0] <= out["start"][2], f"the default window shows {out['bars']} zones")
        axis = sorted(out["axis"], key=lambda t: t[1])
        h.check(len(axis) >= 3 and all(a[2] <= b[1] for a, b in zip(axis, axis[1:])), f"the axis: {axis}")
        h.check(len({t[0] for t in axis}) == len(axis), f"two ticks alike: {axis}")
        h.check(out["losses"] > 0 and out["red"] > 20 and out["red"] > out["notRed"], f"losses are not drawn: {out['red']} and {out['notRed']}")
        h.check(out["touch"] > 0.02 and out["stuck"] == 0 and out["pinch"] < 0.9 and out["fingers"] == 0, f"touch: {out}")
        h.check(out["empty"] and out["later"] and not out["emptyAfter"], f"an empty window: {out}")
        h.check("median" in out["zonebar"] and out["op"] == 1 and out["next"], f"one zone: {out['zonebar']}")
        h.check("markers lost" in out["legend"] and "bound of host times" in out["legend"] and out["space"] and out["last"], f"{out['legend']}")


WIDTHS = (390, 768, 1280, 1920)


def window(page):
    return page.value("[t0, t1]")


def timeline_of(page):
    """Of the canvas: left, top, width, height, and the width of its names; it is on the screen."""
    page.value("document.getElementById('timeline').scrollIntoView({behavior: 'instant'})")
    page.settle()
    return page.value("(r => [r.left, r.top, r.width, r.height, labelWidth(cv.clientWidth)])(cv.getBoundingClientRect())")


def by_mouse(page):
    left, top, width, height, names = timeline_of(page)
    x, y = left + names + (width - names) * 0.25, top + height / 2
    page.value("setWindow(end * 0.4, end * 0.5)")
    before = window(page)
    page.wheel(x, y, 0, -120)
    a, b = window(page)
    h.check(abs((b - a) / (before[1] - before[0]) - 0.8) < 0.01, f"the wheel: {before} to {a, b}")
    h.check(abs((before[0] + (before[1] - before[0]) * 0.25) - (a + (b - a) * 0.25)) < (b - a) * 0.01, "what is below the pointer stays there")
    page.drag(x, y, x + 100, y)
    c, d = window(page)
    h.check(abs((a - c) / (b - a) - 100 / (width - names)) < 0.02 and abs((d - c) - (b - a)) < 1, f"a drag: {a, b} to {c, d}")
    page.mouse("Moved", x, y)
    h.check(window(page) == [c, d], "it moves without a button")
    page.wheel(x, y, 300, 0)
    h.check(window(page)[0] > c, "a sideways wheel")
    page.value("document.getElementById('timebox').scrollTop = 0")
    h.check(page.value("lanesHeight") > height, "all lanes fit: nothing can be scrolled")
    page.wheel(x, y, 0, 100, modifiers=8)    # with Shift
    h.check(page.value("document.getElementById('timebox').scrollTop") == 100, "Shift and the wheel scroll no lanes")
    page.value("document.getElementById('timebox').scrollTop = 0; setWindow(...defaultWindow(T.begin, T.length, zoneLanes, end))")
    page.settle()


def a_zone_of_an_op(page, op):
    """Where a zone of a chosen op is wide enough for a click: of `op`, or of the next that has one. On a busy host a launch reaches the
    emulated cores one after another, with long times between them in which its zones are too narrow."""
    for op in [op, *page.value("[...new Set(T.op)].filter(o => o >= 0 && o !== " + str(op) + ").slice(0, 100)")]:
        page.value(f"choose({op}, true)")
        page.settle()
        h.check(page.value("""T.op.some((o, i) => o === chosen && T.begin[i] >= t0 && T.begin[i] + T.length[i] <= t1)"""), "the chosen op is not in the window")
        timeline_of(page)
        at = page.value("""(() => { draw(); for (const [a, , l] of hits) for (let i = lanes[l].from; i < lanes[l].to; i++) {
            const L = labelWidth(cv.clientWidth), k = (cv.clientWidth - L) / (t1 - t0), x = L + (T.begin[i] + T.length[i] / 2 - t0) * k;
            if (T.op[i] === chosen && D.laneprocessors[l] !== 'programs' && a > TOP && a < cv.clientHeight - 20 && x > L + 2 && x < cv.clientWidth - 2 && T.length[i] * k > 3)
              return [x, a + T.depth[i] * LH + LH / 2, i]; } })()""")
        if at:
            return at
    h.fail("no zone of 100 ops is drawn")


def op_and_back(page):
    """A row of the table of ops leads to the timeline, a zone there to its figures, and from there to the row."""
    page.value("choose(-1, false); document.getElementById('opscroll').scrollIntoView({behavior: 'instant'})")
    page.settle()
    x, y, op = page.value("""(() => { const op = [...new Set(T.op)].find(o => o >= 0 && view.some(v => v.index === o));
        document.getElementById('opscroll').scrollTop = 0; const row = [...document.querySelectorAll('#optable tbody tr')].find(r => r.offsetHeight > 10);
        const r = row.getBoundingClientRect(); return [r.left + 40, r.top + r.height / 2, op]; })()""")
    page.click(x, y)
    page.settle()
    h.check(page.value("chosen") >= 0, "a click on a row chooses no op")
    at = a_zone_of_an_op(page, op)
    left, top, *_ = timeline_of(page)
    page.click(left + at[0], top + at[1])
    page.settle()
    h.check(page.value("picked") >= 0 and "median" in page.value("document.getElementById('zonefigures').textContent"), "a click on a zone shows no figures")
    page.value("document.getElementById('zoneop').scrollIntoView({behavior: 'instant', block: 'center'})")
    page.settle()
    page.click(*page.value("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.getElementById('zoneop').getBoundingClientRect())"))
    page.settle()
    h.check(page.value("document.querySelectorAll('#optable tr.on').length") == 1, "the zone leads to no op")


def by_keys(page):
    timeline_of(page)
    page.value("cv.focus({preventScroll: true}); setWindow(end * 0.4, end * 0.5)")
    before = window(page)
    for key, wanted in (("+", lambda a, b: b - a < before[1] - before[0]), ("-", lambda a, b: abs((b - a) - (before[1] - before[0])) < 1),
                        ("ArrowRight", lambda a, b: a > before[0]), ("ArrowLeft", lambda a, b: abs(a - before[0]) < 1)):
        page.key(key)
        h.check(wanted(*window(page)), f"key {key}: {before} to {window(page)}")
    page.value("pick(0)")
    page.key("n")
    h.check(page.value("picked") > 0 and page.value("T.zone[picked] === T.zone[0]"), "key n shows the next zone of the name")
    page.key("b")
    h.check(page.value("picked") == 0, "key b")
    theme = page.value("getComputedStyle(document.body).backgroundColor")
    page.key("t")
    h.check(page.value("getComputedStyle(document.body).backgroundColor") != theme, "key t changes no colour")
    page.key("t")
    page.key("/")
    h.check(page.value("document.activeElement.id") == "search", "key /")
    page.key("Escape")
    page.value("pick(-1)")


def by_fingers(page):
    left, top, width, height, names = timeline_of(page)
    x, y, w = left + names + (width - names) * 0.5, top + height / 2, width - names
    page.value("setWindow(end * 0.4, end * 0.5)")
    page.settle()
    a, b = window(page)
    page.fingers(((x, y), (x - 60, y)))
    c, d = window(page)
    h.check((c - a) / (b - a) > 30 / w and abs((d - c) - (b - a)) < 1, f"a finger: {a, b} to {c, d}")
    page.fingers(((x - 30, y), (x - 80, y)), ((x + 30, y), (x + 80, y)))
    e, f = window(page)
    h.check((f - e) / (d - c) < 0.75, f"two fingers: {c, d} to {e, f}")
    h.check(page.value("fingers.size") == 0, "a finger stays")


def accessible(page, tool, what):
    page.value("window.axe || (() => {" + tool + "})()")
    found = page.value("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]))")
    h.check(not found, f"axe-core, {what}: {found}")


def printed(page):
    data = base64.b64decode(page.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.7)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    h.check(data.startswith(b"%PDF") and 1 < pages < 60 and len(data) > 20_000, f"print: {pages} pages, {len(data)} bytes")
    page.settle()
    return pages


def hands():
    if not shutil.which("chromium"):
        h.skip("no chromium here")
    text, _ = losing_page()
    long = "N" * 140
    path = h.work("hands.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('"zonenames":[["', f'"zonenames":[["{long}').replace('"kernels":[["', f'"kernels":[["{long}'))
    axe = os.path.join(os.environ.get("TTC_TOOLS", ""), "axe.min.js")
    tool = None
    if os.environ.get("TTC_TOOLS") and os.path.exists(axe):
        with open(axe, encoding="utf-8") as file:
            tool = file.read()
    page = Browser()
    for width in WIDTHS:
        page.size(width, 844, touch=width < 1000)
        for theme in ("light", "dark"):
            page.theme(theme)
            page.open("file://" + path)
            page.value("new Promise(done => { const wait = () => window.ttReady ? done(1) : setTimeout(wait, 20); wait(); })")
            page.settle()
            wide = page.value("document.documentElement.scrollWidth")
            h.check(wide <= width, f"{width}: the page is {wide} wide")
            if tool:
                accessible(page, tool, f"{width} pixels, {theme}")
        if width < 1000:
            by_fingers(page)
        else:
            by_mouse(page)
            by_keys(page)
        op_and_back(page)
    print(f"{printed(page)} pages on paper, axe-core {'clean' if tool else 'absent'}")
    h.check(not page.complaints, f"the console: {page.complaints[:5]}")
    page.close()


if __name__ == "__main__":
    {"pure": pure, "data": data, "browser": browser, "hands": hands}[sys.argv[1]]()
    print("ok")

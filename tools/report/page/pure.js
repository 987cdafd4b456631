// What the page computes: plain values in, plain values out. Times are nanoseconds. tests/process/page_test.py runs it.
'use strict';

// 1, 2 or 5 times a power of ten: the least that makes at most `most` steps of `length`.
function niceStep(length, most) {
  const least = length / Math.max(1, most), power = 10 ** Math.floor(Math.log10(least));
  for (const m of [1, 2, 5])
    if (m * power >= least * (1 - 1e-9)) return m * power;
  return 10 * power;
}

const UNITS = [['s', 1e9], ['ms', 1e6], ['\u00b5s', 1e3], ['ns', 1]];

// An axis of the window: round ticks, as offsets from the tick at or before its left edge, in the unit that fits the window.
function timeTicks(t0, t1, most) {
  const step = Math.max(niceStep(t1 - t0, most), 0.01), base = Math.floor(t0 / step + 1e-9) * step,
        [unit, size] = UNITS.find(u => t1 - t0 >= u[1]) || UNITS[3],
        decimals = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / size) - 1e-9))), ticks = [];
  for (let i = 0; base + i * step <= t1 + step * 1e-6 && i < 1000; i++) {
    const at = base + i * step;
    if (at < t0 - step * 1e-6) continue;
    ticks.push({at, label: i === 0 ? '0' : `+${(i * step / size).toFixed(decimals)} ${unit}`});
  }
  return {base, step, ticks};
}

// A point in time to the nanosecond, its digits in groups: 29.739 123 456 s.
function exactTime(ns) {
  const whole = Math.round(Math.abs(ns)), s = Math.floor(whole / 1e9),
        rest = String(whole - s * 1e9).padStart(9, '0').replace(/(\d{3})(?=\d)/g, '$1 ');
  return `${ns < 0 ? '-' : ''}${s}.${rest} s`;
}

// A length of time.
function spanText(ns) {
  const of = (v, unit) => (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0)) + ' ' + unit;
  if (ns < 999.5) return `${+ns.toFixed(ns < 10 ? 1 : 0)} ns`;
  if (ns < 999.5e3) return of(ns / 1e3, '\u00b5s');
  if (ns < 999.5e6) return of(ns / 1e6, 'ms');
  return of(ns / 1e9, 's');
}

// A length with its bound, which is rounded up, as exactly as the bound is. Bounds of zones end at 65534 ns.
function lengthText(ns, bound) {
  if (bound === null) return spanText(ns);
  if (bound >= 65534) return `${spanText(ns)} \u00b1 65 \u00b5s or more`;
  return `${spanText(ns)} (${Math.round(ns)} \u00b1 ${Math.ceil(bound) + (Number.isInteger(ns) ? 0 : 1)} ns)`;
}

// A bound of ns, rounded up.
function boundText(ns) {
  return `\u00b1 ${ns < 10000 ? `${Math.ceil(ns)} ns` : `${Math.ceil(ns / 100) / 10} \u00b5s`} by the clock model`;
}

// The first index in [from, to) whose time is not before `t`.
function firstFrom(begin, from, to, t) {
  while (from < to) {
    const m = (from + to) >> 1;
    if (begin[m] < t)
      from = m + 1;
    else
      to = m;
  }
  return from;
}

// A window with visible zones: all zones of the lanes, or where that is mostly empty, the densest run of zones of the
// lane that has most of them. `lanes`: {from, to} into begin and length, in order of begin. Without a zone: all there is.
function defaultWindow(begin, length, lanes, end) {
  const MANY = 40;
  let lane = null, first = Infinity, last = -Infinity;
  for (const l of lanes) {
    if (!lane || l.to - l.from > lane.to - lane.from) lane = l;
    if (l.from < l.to) first = Math.min(first, begin[l.from]);
    for (let i = l.from; i < l.to; i++) last = Math.max(last, begin[i] + length[i]);
  }
  if (!(first < last)) return [0, end];
  const all = [first, last];
  if (lane.to - lane.from <= MANY) return all;
  let best = all, covered = 0, until = first;
  for (let i = lane.from; i < lane.to; i++) {
    covered += Math.max(0, begin[i] + length[i] - Math.max(begin[i], until));
    until = Math.max(until, begin[i] + length[i]);
    if (i + MANY <= lane.to) {
      const w = begin[i + MANY - 1] + length[i + MANY - 1] - begin[i];
      if (w < best[1] - best[0]) best = [begin[i], begin[i] + w];
    }
  }
  if (covered > (last - first) / 20 || (best[1] - best[0]) * 4 > last - first) return all;
  const margin = (best[1] - best[0]) * 0.05;
  return [Math.max(0, best[0] - margin), Math.min(end, best[1] + margin)];
}

// Of a window that holds no zone: the nearest zone that ends before it and the nearest that begins after it, -1: none.
// `longest`: length of each lane's longest zone.
function nearestZones(begin, length, lanes, t0, t1) {
  let before = -1, after = -1;
  for (const l of lanes) {
    const i = firstFrom(begin, l.from, l.to, t1);
    if (i < l.to && (after < 0 || begin[i] < begin[after])) after = i;
    const j = firstFrom(begin, l.from, l.to, t0) - 1;
    if (j >= l.from && (before < 0 || begin[j] + length[j] > begin[before] + length[before])) before = j;
  }
  return {before, after};
}

// The zone of a lane at a time and depth, the narrowest within `slack`; -1: none.
function zoneAt(T, lane, t, depth, slack) {
  let best = -1;
  for (let i = firstFrom(T.begin, lane.from, lane.to, t - lane.longest - slack); i < lane.to && T.begin[i] <= t + slack; i++)
    if (T.depth[i] === depth && T.begin[i] + T.length[i] >= t - slack && (best < 0 || T.length[i] <= T.length[best])) best = i;
  return best;
}

// Count, sum, least, median, 95th percentile and most of the zones of a number that lie in a window.
function zoneFigures(T, zone, t0, t1) {
  const all = [];
  for (let i = 0; i < T.zone.length; i++)
    if (T.zone[i] === zone && T.begin[i] <= t1 && T.begin[i] + T.length[i] >= t0) all.push(T.length[i]);
  all.sort((a, b) => a - b);
  const at = p => all[Math.min(all.length - 1, Math.floor(p * all.length))];
  return all.length === 0 ?
      {count: 0} :
      {count: all.length, sum: all.reduce((a, b) => a + b, 0), least: all[0], median: at(0.5), p95: at(0.95), most: all[all.length - 1]};
}

// The window after two fingers, or a wheel, moved: what was at `from` of its width (0..1) is then at `to`, and the window is
// `factor` times as long. Within [0, end].
function zoomed(t0, t1, factor, from, to, end) {
  const w = Math.max(1, Math.min((t1 - t0) * factor, end)), fixed = t0 + (t1 - t0) * from,
        a = Math.max(0, Math.min(fixed - w * to, end - w));
  return [a, a + w];
}

// Black or white, whichever has the greater contrast to a colour of red, green and blue (WCAG 2.2, relative luminance).
function inkOn(rgb) {
  const [r, g, b] = rgb.map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
}

if (typeof module !== 'undefined')
  module.exports = {niceStep, timeTicks, exactTime, spanText, lengthText, boundText, firstFrom, defaultWindow, nearestZones, zoneAt, zoneFigures, zoomed, inkOn};

// The timeline: zones, losses and clock bounds on a canvas. Zones of a lane are in order of time: drawing a view is a search
// and one pass, at most a bar a pixel.
const T = !D.zones ? null : {
  begin: unpack(D.zones.begin, Float64Array),
  length: unpack(D.zones.length, Float32Array),
  lane: unpack(D.zones.lane, Uint16Array),
  zone: unpack(D.zones.zone, Uint16Array),
  op: unpack(D.zones.op, Int32Array),
  depth: unpack(D.zones.depth, Uint8Array),
  bound: unpack(D.zones.bound, Uint16Array)  // of the length, ns
};
const LH = 11, AXIS = 22, BOUND = 26;  // heights: of a row of zones, of the axis, of the clock bounds below it
const KINDS = ['firmware', 'kernel', 'dispatch', 'profiler', 'user zone', 'program', 'host zone', 'lock held', 'lock waited for', 'frame'];
const lanes = D.lanes.map(
    (name, i) => ({name, from: 0, to: 0, deep: 0, longest: 0, y: 0, losses: [], palette: D.palettes[D.laneprocessors[i]]}));
const zoneLanes = lanes.filter((L, i) => !['programs', 'host'].includes(D.laneprocessors[i]));
const bounds = Object.entries(D.bounds || {});  // [chip, [[begin, bound], ...]]
const TOP = AXIS + (bounds.length ? BOUND : 0);
let t0 = 0, t1 = 1, end = 1, lanesHeight = 0, pending = false, picked = -1, hits = [];
if (T) {
  let at = 0;
  for (let l = 0; l < lanes.length; l++) {
    const L = lanes[l];
    L.from = at;
    while (at < T.lane.length && T.lane[at] === l) {
      L.deep = Math.max(L.deep, T.depth[at]);
      L.longest = Math.max(L.longest, T.length[at]);
      end = Math.max(end, T.begin[at] + T.length[at]);
      at++;
    }
    L.to = at;
    L.y = lanesHeight;
    lanesHeight += (L.deep + 1) * LH + 4;
  }
  for (const [lane, begin, length, what] of D.losses) lanes[lane].losses.push({begin, length, what});
  for (const L of lanes) L.losses.sort((a, b) => a.begin - b.begin);
  [t0, t1] = defaultWindow(T.begin, T.length, zoneLanes, end);
}
const labelWidth = W => Math.min(124, Math.round(W * 0.3));
function drawSoon() {
  if (!pending) {
    pending = true;
    requestAnimationFrame(draw);
  }
}
function fitting(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let n = text.length;
  while (n > 1 && g.measureText(text.slice(0, n) + '\u2026').width > width) n -= Math.ceil(n / 16);
  return n > 1 ? text.slice(0, n) + '\u2026' : '';
}
const parts = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));

function drawAxis(g, view, colours) {
  const {base, ticks} = timeTicks(t0, t1, Math.max(2, Math.floor((view.W - view.left) / 75)));
  g.fillStyle = colours.bg;
  g.fillRect(0, 0, view.W, TOP);
  let free = 0;
  const origin = exactTime(base);
  for (const t of ticks) {
    const x = view.x(t.at);
    g.fillStyle = colours.line;
    g.fillRect(Math.round(x), AXIS - 5, 1, view.H);
    const w = g.measureText(t.label).width, from = Math.min(Math.max(view.left + 2, x - w / 2), view.W - w - 3);
    if (from < free) continue;
    free = from + w + 10;
    g.fillStyle = colours.dim;
    g.fillText(t.label, from, 9);
  }
  g.fillStyle = colours.dim;
  g.fillText(fitting(g, origin, view.left - 8), 6, 9);
  view.base = base;
}
// The clock's bound over time, each chip's against its largest in the window, on a scale of powers of ten.
function drawBounds(g, view, colours) {
  if (!bounds.length) return;
  let text = '';
  for (const [chip, list] of bounds) {
    let i = Math.max(0, firstFrom(list.map(b => b[0]), 0, list.length, t0) - 1);
    const seen = [];
    for (; i < list.length && list[i][0] <= t1; i++)
      seen.push([list[i][0], i + 1 < list.length ? list[i + 1][0] : Math.max(end, t1), list[i][1]]);
    const most = Math.max(...seen.map(s => s[2]), 1);
    g.fillStyle = colours.accent;
    g.globalAlpha = 0.45;
    for (const [a, b, bound] of seen) {
      const h = Math.max(1, (BOUND - 8) * Math.log10(1 + bound) / Math.log10(1 + most)), x = Math.max(view.left, view.x(a));
      g.fillRect(x, TOP - 3 - h, Math.max(0.8, Math.min(view.W, view.x(b)) - x), h);
    }
    g.globalAlpha = 1;
    if (seen.length) text += `${text ? ', ' : ''}\u00b1${spanText(most)}`;
  }
  g.fillStyle = colours.dim;
  g.fillText(fitting(g, 'clock ' + text, view.left - 8), 6, TOP - 11);
  g.fillStyle = colours.line;
  g.fillRect(0, TOP - 2, view.W, 1);
}
function drawLosses(g, view, L, y, h) {
  g.fillStyle = D.losscolour;
  let drawnTo = view.left;  // where intervals overlap, they are drawn once
  for (const loss of L.losses) {
    const until = loss.length === null ? Math.max(end, t1) : loss.begin + loss.length;
    if (until < t0 || loss.begin > t1) continue;
    const x = Math.max(drawnTo, view.x(loss.begin)), w = Math.max(view.x(loss.begin) + 1.5, Math.min(view.W, view.x(until))) - x;
    if (w <= 0) continue;
    drawnTo = x + w;
    g.globalAlpha = 0.28;
    g.fillRect(x, y, w, h);
    g.globalAlpha = 1;
    g.fillRect(x, y + h - 2, w, 2);
  }
}
function drawZones(g, view, l, y, colours) {
  const L = lanes[l], last = [];
  let bars = 0;
  for (let i = firstFrom(T.begin, L.from, L.to, t0 - L.longest); i < L.to && T.begin[i] <= t1; i++) {
    if (T.begin[i] + T.length[i] < t0) continue;
    const d = T.depth[i];
    let x = view.x(T.begin[i]), w = T.length[i] * view.scale;
    if (x < view.left) {
      w -= view.left - x;
      x = view.left;
    }
    if (x + w < (last[d] ?? -1) && w < 1) continue;
    w = Math.max(Math.min(w, view.W - x), 0.8);
    last[d] = x + w;
    const on = T.op[i] >= 0 && T.op[i] === chosen;
    if (on || i === picked) {
      g.fillStyle = i === picked ? colours.fg : colours.warn;
      g.fillRect(x - 1, y + d * LH - 1, w + 2, LH + 1);
    }
    const name = D.zonenames[T.zone[i]], colour = L.palette[name[2]];
    g.fillStyle = colour;
    g.fillRect(x, y + d * LH + 0.5, w, LH - 1.5);
    bars++;
    if (w > 26) {
      g.fillStyle = inkOn(parts(colour));
      g.fillText(fitting(g, name[0], w - 5), x + 3, y + d * LH + LH / 2 + 0.5);
    }
  }
  return bars;
}
let drawn = {bars: 0, ms: 0};
function draw() {
  pending = false;
  const c = $('time'), r = devicePixelRatio || 1, W = c.clientWidth, H = c.clientHeight, g = c.getContext('2d');
  if (c.width !== Math.round(W * r)) c.width = Math.round(W * r);
  if (c.height !== Math.round(H * r)) c.height = Math.round(H * r);
  const colours = {};
  for (const name of ['bg', 'fg', 'dim', 'line', 'warn', 'accent']) colours[name] = css('--' + name);
  g.setTransform(r, 0, 0, r, 0, 0);
  g.fillStyle = colours.bg;
  g.fillRect(0, 0, W, H);
  g.font = '10px system-ui, DejaVu Sans, sans-serif';
  g.textBaseline = 'middle';
  if (!T) {
    g.fillStyle = colours.dim;
    g.fillText('This input holds no zones; a capture or a device log does.', 12, 24);
    return;
  }
  $('timespace').style.height = Math.max(0, lanesHeight + TOP + 4 - H) + 'px';
  const began = performance.now(), left = labelWidth(W), scale = (W - left) / (t1 - t0),
        view = {W, H, left, scale, x: t => left + (t - t0) * scale, base: t0}, scrolled = $('timebox').scrollTop;
  let bars = 0;
  hits = [];
  drawAxis(g, view, colours);
  g.save();
  g.beginPath();
  g.rect(0, TOP, W, H - TOP);
  g.clip();
  for (let l = 0; l < lanes.length; l++) {
    const L = lanes[l], h = (L.deep + 1) * LH, y = TOP + 2 + L.y - scrolled;
    if (y + h < TOP || y > H) continue;
    g.fillStyle = colours.line;
    g.fillRect(0, y + h + 1, W, 1);
    drawLosses(g, view, L, y, h);
    bars += drawZones(g, view, l, y, colours);
    g.fillStyle = colours.bg;
    g.fillRect(0, y, left - 1, h);
    g.fillStyle = colours.fg;
    g.fillText(fitting(g, L.name, left - 10), 6, y + LH / 2 + 0.5);
    hits.push([y, y + h, l]);
  }
  g.restore();
  drawBounds(g, view, colours);
  drawn = {bars, ms: performance.now() - began, base: view.base};
  window.ttDrawn = drawn;
  const note = D.zonenote ? '; ' + D.zonenote : '';
  $('timenote').textContent = `${fmt(zoneLanes.reduce((n, L) => n + L.to - L.from, 0), 0)} zones, ${zoneLanes.length} lanes${note}; window ${spanText(t1 - t0)} from ${
      exactTime(t0)}; wheel or pinch zooms, drag moves`;
  sayWhereZonesAre();
}
// A window without a zone is no riddle: where the nearest are.
function sayWhereZonesAre() {
  let any = false;
  for (const L of zoneLanes) {
    for (let i = firstFrom(T.begin, L.from, L.to, t0 - L.longest); i < L.to && T.begin[i] <= t1 && !any; i++)
      any = T.begin[i] + T.length[i] >= t0;
    if (any) break;
  }
  $('empty').hidden = any;
  if (any) return;
  const {before, after} = nearestZones(T.begin, T.length, zoneLanes, t0, t1);
  const put = (button, i, text) => {
    button.hidden = i < 0;
    button.textContent = text;
    button.onclick = () => showZone(i);
  };
  put($('earlier'), before, before < 0 ? '' : `\u2190 ${spanText(Math.max(0, t0 - T.begin[before] - T.length[before]))} earlier`);
  put($('later'), after, after < 0 ? '' : `${spanText(Math.max(0, T.begin[after] - t1))} later \u2192`);
}

function setWindow(a, b) {
  [t0, t1] = zoomed(a, b, 1, 0, 0, end);
  drawSoon();
}
function zoom(f, at = 0.5) {
  [t0, t1] = zoomed(t0, t1, f, at, at, end);
  drawSoon();
}
function pan(f) {
  setWindow(t0 + (t1 - t0) * f, t1 + (t1 - t0) * f);
}
function showLane(l) {
  const box = $('timebox');
  if (lanes[l].y < box.scrollTop || lanes[l].y + 60 > box.scrollTop + box.clientHeight - TOP) box.scrollTop = Math.max(0, lanes[l].y - 30);
}
function zoomToOp() {
  if (!T || chosen < 0) return;
  let a = Infinity, b = -1, lane = -1;
  for (let i = 0; i < T.op.length; i++)
    if (T.op[i] === chosen) {
      a = Math.min(a, T.begin[i]);
      b = Math.max(b, T.begin[i] + T.length[i]);
      if (lane < 0) lane = T.lane[i];
    }
  if (b < 0) {
    $('timenote').textContent = 'the zones of this op are not kept in the page (--zones keeps more)';
    return;
  }
  const m = (b - a) * 0.05 + 1;
  setWindow(a - m, b + m);
  showLane(lane);
}
function showCore(chip, x, y) {
  const l = lanes.findIndex(n => n.name.startsWith(`${chip}: ${x},${y} `) || n.name.startsWith(`${chip} (log): ${x},${y} `));
  if (l < 0) return;
  $('timebox').scrollTop = lanes[l].y;
  drawSoon();
  $('timebox').scrollIntoView({block: 'nearest'});
}

// --- one zone: its figures, its op, the others of its name
// The true length lies within so many ns; null: not known.
const zoneBound = i => T.bound[i] === 0xffff ? null : T.bound[i];
function showZone(i) {
  const w = Math.max(t1 - t0, T.length[i] * 1.3), m = T.begin[i] + T.length[i] / 2;
  if (T.begin[i] < t0 || T.begin[i] + T.length[i] > t1) setWindow(m - w / 2, m + w / 2);
  showLane(T.lane[i]);
  pick(i);
}
function pick(i) {
  picked = i;
  $('zonebar').hidden = i < 0;
  drawSoon();
  if (i < 0) return;
  const name = D.zonenames[T.zone[i]], all = zoneFigures(T, T.zone[i], 0, end);
  $('zonename').textContent = name[0];
  $('zonefigures').textContent = `${lengthText(T.length[i], zoneBound(i))} on ${lanes[T.lane[i]].name}; of ${fmt(all.count, 0)} kept here: least ${
      spanText(all.least)}, median ${spanText(all.median)}, 95 % within ${spanText(all.p95)}, most ${spanText(all.most)}, sum ${
      spanText(all.sum)}${name[1] ? '; ' + name[1] : ''}`;
  $('zoneop').hidden = T.op[i] < 0;
  if (T.op[i] >= 0) $('zoneop').textContent = `op ${ops[T.op[i]].id} in the table`;
  const kernel = kernels.find(k => k.name === name[0]);
  if (kernel && [...$('histzone').options].some(o => +o.value === kernel.index)) {
    $('histzone').value = kernel.index;
    zoneHist();
  }
}
function nextOfZone(d) {
  if (picked < 0) return;
  for (let i = picked + d; i >= 0 && i < T.zone.length; i += d)
    if (T.zone[i] === T.zone[picked]) {
      showZone(i);
      return;
    }
}
function showLongest(name) {
  const zone = D.zonenames.findIndex(z => z[0] === name);
  let best = -1;
  for (let i = 0; i < T.zone.length; i++)
    if (T.zone[i] === zone && (best < 0 || T.length[i] > T.length[best])) best = i;
  if (best < 0) return;
  setWindow(T.begin[best] - T.length[best], T.begin[best] + 2 * T.length[best]);
  showZone(best);
  $('timebox').scrollIntoView({block: 'nearest'});
}
$('zonenext').onclick = () => nextOfZone(1);
$('zonebefore').onclick = () => nextOfZone(-1);
$('zoneop').onclick = () => {
  choose(T.op[picked], false);
  $('opscroll').scrollIntoView({block: 'center'});
  $('opscroll').focus({preventScroll: true});
};

// --- pointer: a wheel, a mouse or a finger drags, two fingers pinch
const cv = $('time');
const timeAt = x => t0 + (x - labelWidth(cv.clientWidth)) / (cv.clientWidth - labelWidth(cv.clientWidth)) * (t1 - t0);
const shareAt = x => Math.max(0, Math.min(1, (x - labelWidth(cv.clientWidth)) / (cv.clientWidth - labelWidth(cv.clientWidth))));
function zoneUnder(e) {
  const hit = T && e.offsetY >= TOP && hits.find(h => e.offsetY >= h[0] && e.offsetY <= h[1]);
  if (!hit) return {lane: -1, zone: -1};
  const slack = (t1 - t0) / Math.max(1, cv.clientWidth - labelWidth(cv.clientWidth)) * 2;
  return {lane: hit[2], zone: zoneAt(T, lanes[hit[2]], timeAt(e.offsetX), Math.floor((e.offsetY - hit[0]) / LH), slack)};
}
function tipText(e) {
  const {lane, zone} = zoneUnder(e), t = timeAt(e.offsetX), from = ns => `+${spanText(Math.max(0, ns - drawn.base))}`;
  if (e.offsetX < labelWidth(cv.clientWidth)) return lane >= 0 ? lanes[lane].name : '';
  if (zone >= 0) {
    const z = D.zonenames[T.zone[zone]], op = T.op[zone] >= 0 ? `op ${ops[T.op[zone]].id} ${ops[T.op[zone]].name}\n` : '',
          begin = T.begin[zone], at = begin >= drawn.base ? `from ${from(begin)} (${exactTime(begin)})` : `from ${exactTime(begin)}`;
    return `${z[0]}\n${lengthText(T.length[zone], zoneBound(zone))} ${at}\n${lanes[lane].name}\n${op}${z[1]}`;
  }
  const lost = lane >= 0 && lanes[lane].losses.find(l => t >= l.begin && (l.length === null || t <= l.begin + l.length));
  if (lost) return `markers lost, ${lost.what}\n${lost.length === null ? 'no end is known' : spanText(lost.length)}\n${lanes[lane].name}`;
  if (bounds.length && e.offsetY >= AXIS && e.offsetY < TOP)
    return bounds.map(([chip, list]) => {
      const i = Math.max(0, firstFrom(list.map(b => b[0]), 0, list.length, t) - 1);
      return `chip ${chip}: host times within ${spanText(list[i][1])}`;
    }).join('\n');
  return '';
}
function showTip(e) {
  const tip = $('tip'), text = tipText(e);
  tip.style.display = text ? 'block' : 'none';
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = (e.clientY + 18 + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18) + 'px';
}
const fingers = new Map();  // by pointer
let moved = 0;
function letGo(e) {
  fingers.delete(e.pointerId);
}
cv.addEventListener('pointerdown', e => {
  if (!T || (e.pointerType === 'mouse' && e.button !== 0)) return;
  fingers.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
  if (fingers.size === 1) moved = 0;
  cv.setPointerCapture(e.pointerId);
});
cv.addEventListener('pointermove', e => {
  const at = fingers.get(e.pointerId), now = {x: e.offsetX, y: e.offsetY};
  if (!at) {
    if (e.pointerType === 'mouse') showTip(e);
    return;
  }
  if (e.pointerType === 'mouse' && e.buttons === 0) {  // released where no event came from
    letGo(e);
    return;
  }
  $('tip').style.display = 'none';
  moved += Math.abs(now.x - at.x) + Math.abs(now.y - at.y);
  const other = [...fingers].find(([id]) => id !== e.pointerId);
  if (other) {
    const before = Math.abs(at.x - other[1].x), after = Math.abs(now.x - other[1].x);
    if (before > 4 && after > 4)
      [t0, t1] = zoomed(t0, t1, before / after, shareAt((at.x + other[1].x) / 2), shareAt((now.x + other[1].x) / 2), end);
  } else {
    const w = cv.clientWidth - labelWidth(cv.clientWidth);
    setWindow(t0 - (now.x - at.x) / w * (t1 - t0), t1 - (now.x - at.x) / w * (t1 - t0));
    if (e.pointerType === 'mouse') $('timebox').scrollTop -= now.y - at.y;
  }
  fingers.set(e.pointerId, now);
  drawSoon();
});
cv.addEventListener('pointerup', e => {
  if (fingers.size === 1 && fingers.has(e.pointerId) && moved < 5) {
    pick(zoneUnder(e).zone);
    if (e.pointerType !== 'mouse') showTip(e);
  }
  letGo(e);
});
for (const name of ['pointercancel', 'lostpointercapture']) cv.addEventListener(name, letGo);
cv.addEventListener('pointerleave', () => $('tip').style.display = 'none');
cv.addEventListener('wheel', e => {
  if (!T) return;
  if (e.shiftKey)  // the lanes scroll; browsers turn the wheel's direction then
    $('timebox').scrollTop += e.deltaY || e.deltaX;
  else if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
    pan(e.deltaX / cv.clientWidth);
  else
    zoom(e.deltaY > 0 ? 1.25 : 0.8, shareAt(e.offsetX));
  e.preventDefault();
}, {passive: false});
cv.addEventListener('dblclick', e => {
  const {zone} = zoneUnder(e);
  if (zone >= 0 && T.op[zone] >= 0) choose(T.op[zone], true);
});
$('timebox').addEventListener('scroll', drawSoon);
$('zoomin').onclick = () => zoom(0.5);
$('zoomout').onclick = () => zoom(2);
$('zoomall').onclick = () => setWindow(0, end);
$('zoomop').onclick = zoomToOp;
addEventListener('resize', drawSoon);

// --- legend
if (T) {
  const item = (colour, text) => {
    const li = el('li'), box = el('i');
    box.style.background = colour;
    li.append(box, text);
    $('legend').append(li);
  };
  for (const processor of [...new Set(D.laneprocessors)].filter(p => !['programs', 'host'].includes(p))) {
    const p = D.palettes[processor];
    item(`linear-gradient(90deg, ${p[0]} 50%, ${p[1]} 50%)`, `${processor} firmware, kernel`);
  }
  const any = Object.values(D.palettes)[0];
  for (const kind of [5, 2, 3, 4, 6, 7, 8, 9])
    if (D.zonenames.some(z => z[2] === kind)) item(any[kind], KINDS[kind]);
  if (D.losses.length) item(D.losscolour, `markers lost (${fmt(D.losses.length, 0)} intervals${D.lossesleftout ? ', ' + fmt(D.lossesleftout, 0) + ' more are not drawn' : ''})`);
  if (bounds.length) item('color-mix(in srgb, var(--accent) 45%, transparent)', 'bound of host times');
} else {
  $('timebox').classList.add('none');
  for (const b of ['zoomin', 'zoomout', 'zoomall', 'zoomop']) $(b).disabled = true;
}

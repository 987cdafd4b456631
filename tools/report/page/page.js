// The report page. Data: the JSON element "data" (keys: html_report.cpp).
'use strict';
const D = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);
const el = (tag, text, cls) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};
const fmt = (v, d = 1) => {
  if (v === null || v === undefined) return '';
  return v.toLocaleString('en-US', {minimumFractionDigits: d, maximumFractionDigits: d});
};
const us = v => fmt(v, v < 10 ? 2 : v < 1000 ? 1 : 0);
const span = ns => {
  if (ns < 1000) return fmt(ns, 0) + ' ns';
  if (ns < 1e6) return fmt(ns / 1e3, 2) + ' \u00b5s';
  if (ns < 1e9) return fmt(ns / 1e6, 3) + ' ms';
  return fmt(ns / 1e9, 4) + ' s';
};
const unpack = (text, Type) => {
  const s = atob(text), b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
  return new Type(b.buffer);
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const heat = f => {
  const c = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]],
        x = Math.max(0, Math.min(1, f)) * 4, i = Math.min(3, Math.floor(x)), p = x - i;
  return `rgb(${[0, 1, 2].map(k => Math.round(c[i][k] + (c[i + 1][k] - c[i][k]) * p)).join(',')})`;
};

$('title').textContent = D.title;
$('subtitle').textContent = D.subtitle;
const isDark = () => {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};
const setTheme = t => {
  document.documentElement.dataset.theme = t;
  drawSoon();
};
$('theme').onclick = () => setTheme(isDark() ? 'light' : 'dark');

// --- summary
for (const card of D.cards) {
  const box = el('div', undefined, 'card');
  box.append(el('h3', card.title));
  if (card.big) box.append(el('p', card.big, 'big ' + (card.tone || '')));
  for (const line of card.lines || []) box.append(el('p', line));
  if (card.list) {
    const l = el('ol');
    for (const item of card.list) l.append(el('li', item));
    box.append(l);
  }
  $('cards').append(box);
}

// --- ops: only the rows in view are in the document
const OPCOLS = [
  ['id', 'ID', 0], ['total', 'Total %', 1], ['name', 'Op', -1], ['device', 'Device', 0], ['us', 'Device \u00b5s', 'us'],
  ['gap', 'Gap \u00b5s', 'us'], ['cores', 'Cores', 0], ['dram', 'DRAM %', 1], ['flops', 'FLOPs %', 1],
  ['fidelity', 'Fidelity', -1], ['limit', 'Limit', -1], ['waits', 'Waits for', -1], ['imbalance', 'Imbalance %', 0],
  ['nokernel', 'Not kernel %', 0]
];
const ops = D.ops.map((r, i) => {
  const o = {index: i};
  D.opkeys.forEach((k, j) => o[k] = r[j]);
  o.text = (o.name + ' ' + o.limit + ' ' + o.id + ' ' + (o.waits || '') + ' ' + (o.call ?? '')).toLowerCase();
  return o;
});
let view = ops.slice(), sortKey = null, sortDown = true, chosen = -1;
const ROW = 28, body = $('optable').tBodies[0];
function head(table, columns, onSort) {
  const tr = table.tHead.rows[0];
  for (const [key, name, kind] of columns) {
    const th = el('th', undefined, kind === -1 ? 'text' : ''), b = el('button', name);
    b.type = 'button';
    b.onclick = () => onSort(key, th, tr);
    th.append(b);
    tr.append(th);
  }
}
const compare = key => (a, b) => {
  const x = a[key], y = b[key];
  if (x === y) return a.index - b.index;
  if (x === null || x === undefined || x === '') return 1;
  if (y === null || y === undefined || y === '') return -1;
  const c = typeof x === 'string' ? x.localeCompare(y) : x - y;
  return sortDown ? -c : c;
};
head($('optable'), OPCOLS, (key, th, tr) => {
  sortDown = sortKey === key ? !sortDown : typeof (ops[0] || {})[key] !== 'string';
  sortKey = key;
  for (const t of tr.cells) t.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', sortDown ? 'descending' : 'ascending');
  filter();
});
for (const v of [...new Set(ops.map(o => o.limit))].filter(Boolean).sort()) $('limit').append(new Option(v, v));
for (const v of [...new Set(ops.map(o => o.device))].filter(v => v !== null).sort((a, b) => a - b))
  $('device').append(new Option(v, v));
const peak = ops.reduce((m, o) => Math.max(m, o.total || 0), 0) || 1;
function filter() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean), lim = $('limit').value,
        dev = $('device').value, least = +$('least').value || 0;
  view = ops.filter(
      o => words.every(w => o.text.includes(w)) && (!lim || o.limit === lim) && (dev === '' || o.device === +dev) &&
          (!least || (o.total || 0) >= least));
  if (sortKey) view.sort(compare(sortKey));
  const sum = view.reduce((s, o) => s + (o.us || 0), 0);
  $('count').textContent = `${fmt(view.length, 0)} of ${fmt(ops.length, 0)} rows, ${us(sum)} \u00b5s on the device`;
  rows(true);
}
let first = -1, printing = false;
function rows(force) {
  const box = $('opscroll'), all = printing, from = all ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW) - 10),
        to = all ? Math.min(view.length, 2000) : Math.min(view.length, from + Math.ceil(box.clientHeight / ROW) + 24);
  if (!force && from === first) return;
  first = from;
  const part = document.createDocumentFragment(), pad = h => {
    const tr = el('tr'), td = el('td');
    td.colSpan = OPCOLS.length;
    td.style.cssText = `height:${h}px;padding:0;border:0`;
    tr.style.height = h + 'px';
    tr.append(td);
    part.append(tr);
  };
  if (from > 0) pad(from * ROW);
  for (let i = from; i < to; i++) {
    const o = view[i], tr = el('tr', undefined, (o.index === chosen ? 'on ' : '') + (o.sign ? 'sign' : ''));
    tr.dataset.i = o.index;
    for (const [key, , kind] of OPCOLS) {
      const text = kind === -1 ? o[key] : kind === 'us' ? us(o[key]) : fmt(o[key], kind);
      const td = el('td', text, kind === -1 ? 'text' : '');
      if (kind === 0 && key === 'id') td.textContent = o.id;
      if (key === 'name') td.title = o.name;
      if (key === 'limit') td.title = o.rule || '';
      if (key === 'waits') td.title = o.shares || '';
      if (key === 'total' && o.total) {
        const b = el('span', undefined, 'bar');
        b.style.width = 40 * o.total / peak + 'px';
        td.append(b);
      }
      tr.append(td);
    }
    part.append(tr);
  }
  if (to < view.length) pad((view.length - to) * ROW);
  body.replaceChildren(part);
}
$('opscroll').addEventListener('scroll', () => rows(false));
for (const id of ['search', 'limit', 'device', 'least']) $(id).addEventListener('input', filter);
body.onclick = e => {
  const tr = e.target.closest('tr');
  if (tr && tr.dataset.i) choose(+tr.dataset.i, true);
};
function choose(index, show) {
  chosen = index;
  const at = view.findIndex(o => o.index === index), box = $('opscroll');
  if (at >= 0) {
    if (at * ROW < box.scrollTop) box.scrollTop = at * ROW;
    if ((at + 3) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (at + 3) * ROW - box.clientHeight;
  }
  rows(true);
  if (D.cores.length) {
    if (D.opcores[index]) $('heatop').checked = true;
    grid();
  }
  if (show) zoomToOp();
}
const step = d => {
  const at = view.findIndex(o => o.index === chosen), next = Math.max(0, Math.min(view.length - 1, at + d));
  if (view[next]) choose(view[next].index, false);
};
document.addEventListener('keydown', e => {
  const typing = /INPUT|SELECT|TEXTAREA/.test(e.target.tagName);
  if (e.key === 'Escape' && typing) {
    e.target.blur();
    return;
  }
  if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
  const shift = e.shiftKey, on = f => {
    f();
    e.preventDefault();
  };
  if (e.key === '/')
    on(() => $('search').focus());
  else if (e.key === 't')
    $('theme').click();
  else if (e.key === 'j' || (e.key === 'ArrowDown' && !shift && e.target === $('opscroll')))
    on(() => step(1));
  else if (e.key === 'k' || (e.key === 'ArrowUp' && !shift && e.target === $('opscroll')))
    on(() => step(-1));
  else if (e.key === 'Enter' && e.target.tagName !== 'BUTTON' && e.target.tagName !== 'A' && chosen >= 0)
    on(() => {
      zoomToOp();
      $('time').focus();
    });
  else if (e.key === '+' || e.key === '=')
    on(() => zoom(0.5));
  else if (e.key === '-')
    on(() => zoom(2));
  else if (e.key === 'ArrowLeft' && (shift || e.target === $('time')))
    on(() => pan(-0.2));
  else if (e.key === 'ArrowRight' && (shift || e.target === $('time')))
    on(() => pan(0.2));
  else if (e.key === 'ArrowUp' && e.target === $('time'))
    on(() => {
      top0 = Math.max(0, top0 - 3);
      drawSoon();
    });
  else if (e.key === 'ArrowDown' && e.target === $('time'))
    on(() => {
      top0 += 3;
      drawSoon();
    });
});

// --- cores
const chips = [...new Set(D.cores.map(c => c[0]))];
for (const c of chips) $('chip').append(new Option(c, c));
function grid() {
  const chip = +$('chip').value, key = $('heat').value, box = $('grid');
  let cells = new Map();
  const one = $('heatop').checked && D.opcores[chosen];
  if (one)
    for (let i = 0; i < one.length; i += 3) {
      const c = D.cores[one[i]];
      if (c[0] === chip)
        cells.set(
            c[2] * 256 + c[1],
            {time: one[i + 1], start: one[i + 2], wait: ops[chosen].us * 1000 - one[i + 1], behind: 0});
    }
  else
    for (const c of D.cores)
      if (c[0] === chip) cells.set(c[2] * 256 + c[1], {time: c[3], wait: c[4], behind: c[5], start: c[6]});
  if (one) {
    let mean = 0;
    for (const v of cells.values()) mean += v.time / cells.size;
    for (const v of cells.values()) v.behind = Math.max(0, v.time - mean);
  }
  if (!D.cores.length)
    $('heatnote').textContent = 'this input holds nothing about single cores';
  else if (!$('heatop').checked)
    $('heatnote').textContent = 'all programs; click a core to see its zones';
  else if (one)
    $('heatnote').textContent = 'op ' + ops[chosen].id + ' ' + ops[chosen].name;
  else
    $('heatnote').textContent = 'choose an op whose cores are kept (the longest are)';
  const xs = D.cores.filter(c => c[0] === chip).map(c => c[1]), ys = D.cores.filter(c => c[0] === chip).map(c => c[2]),
        x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
  box.replaceChildren();
  if (!xs.length) return;
  const values = [...cells.values()].map(v => Math.max(0, v[key])), most = Math.max(...values, 1),
        low = Math.min(...values, most);
  box.style.gridTemplateColumns = `28px repeat(${x1 - x0 + 1}, minmax(44px, 62px))`;
  box.append(el('div', '', 'axis'));
  for (let x = x0; x <= x1; x++) box.append(el('div', x, 'axis'));
  for (let y = y0; y <= y1; y++) {
    box.append(el('div', y, 'axis'));
    for (let x = x0; x <= x1; x++) {
      const v = cells.get(y * 256 + x), d = el('div');
      box.append(d);
      if (!v) continue;
      const ns = Math.max(0, v[key]), f = most > low ? (ns - low * 0.9) / (most - low * 0.9) : 0.5;
      d.style.background = heat(f);
      d.style.color = f > 0.62 ? '#000' : '#fff';
      d.textContent = us(ns / 1000);
      d.title = `core ${x}-${y}: ${span(ns)}`;
      d.tabIndex = 0;
      const go = () => showCore(chip, x, y);
      d.onclick = go;
      d.onkeydown = e => {
        if (e.key === 'Enter') {
          go();
          e.stopPropagation();
        }
      };
    }
  }
}
for (const id of ['chip', 'heat', 'heatop']) $(id).addEventListener('change', grid);

// --- timeline: zones of a lane are in order of time: drawing a view is a search and one pass, at most a bar a pixel
const T = !D.zones ? null : {
  begin: unpack(D.zones.begin, Float64Array),
  length: unpack(D.zones.length, Float32Array),
  lane: unpack(D.zones.lane, Uint16Array),
  zone: unpack(D.zones.zone, Uint16Array),
  op: unpack(D.zones.op, Int32Array),
  depth: unpack(D.zones.depth, Uint8Array)
};
const lanes = D.lanes.map((name, i) => ({name, from: 0, to: 0, deep: 0}));
let t0 = 0, t1 = 1, end = 1, top0 = 0, pending = false;
const LH = 9, LABEL = 118;
if (T) {
  let at = 0;
  for (let l = 0; l < lanes.length; l++) {
    lanes[l].from = at;
    while (at < T.lane.length && T.lane[at] === l) {
      lanes[l].deep = Math.max(lanes[l].deep, T.depth[at]);
      end = Math.max(end, T.begin[at] + T.length[at]);
      at++;
    }
    lanes[l].to = at;
  }
}
const longest = lanes.map(l => {
  let m = 0;
  if (T)
    for (let i = l.from; i < l.to; i++) m = Math.max(m, T.length[i]);
  return m;
});
t1 = end;
const hue = z => `hsl(${(z * 137.5) % 360} 55% ${isDark() ? 58 : 46}%)`;
function search(l, t) {
  let lo = lanes[l].from, hi = lanes[l].to;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (T.begin[m] < t)
      lo = m + 1;
    else
      hi = m;
  }
  return lo;
}
function drawSoon() {
  if (!pending) {
    pending = true;
    requestAnimationFrame(draw);
  }
}
let drawn = {bars: 0, ms: 0};
function draw() {
  pending = false;
  const c = $('time'), r = devicePixelRatio || 1, W = c.clientWidth, H = c.clientHeight;
  if (c.width !== Math.round(W * r)) c.width = Math.round(W * r);
  if (c.height !== Math.round(H * r)) c.height = Math.round(H * r);
  const g = c.getContext('2d');
  g.setTransform(r, 0, 0, r, 0, 0);
  g.fillStyle = css('--bg');
  g.fillRect(0, 0, W, H);
  g.font = '10px system-ui, DejaVu Sans, sans-serif';
  g.textBaseline = 'middle';
  if (!T) {
    g.fillStyle = css('--dim');
    g.fillText('This input holds no zones; a capture or a device log does.', 12, 30);
    return;
  }
  const began = performance.now(), scale = (W - LABEL) / (t1 - t0), fg = css('--fg'), dim = css('--dim'),
        line = css('--line');
  let y = 22, bars = 0;
  hits = [];
  g.fillStyle = dim;
  for (let i = 0; i <= 6; i++) {
    const x = LABEL + (W - LABEL) * i / 6;
    g.fillRect(x, 14, 1, H);
    g.textAlign = i === 6 ? 'right' : 'left';
    g.fillText(span(t0 + (t1 - t0) * i / 6), i === 6 ? x - 3 : x + 3, 8);
  }
  g.textAlign = 'left';
  top0 = Math.min(top0, Math.max(0, lanes.length - 4));
  for (let l = top0; l < lanes.length && y < H; l++) {
    const L = lanes[l], h = (L.deep + 1) * LH;
    g.fillStyle = fg;
    g.fillText(L.name, 6, y + Math.min(h, LH) / 2 + 1);
    g.fillStyle = line;
    g.fillRect(0, y + h + 1, W, 1);
    const last = [];
    for (let i = search(l, t0 - longest[l]); i < L.to && T.begin[i] <= t1; i++) {
      if (T.begin[i] + T.length[i] < t0) continue;
      const d = T.depth[i];
      let x = LABEL + (T.begin[i] - t0) * scale, w = T.length[i] * scale;
      if (x < LABEL) {
        w -= LABEL - x;
        x = LABEL;
      }
      if (x + w < (last[d] ?? -1) && w < 1) continue;
      w = Math.max(w, 0.8);
      last[d] = x + w;
      if (T.op[i] === chosen) {
        g.fillStyle = css('--warn');
        g.fillRect(x - 0.5, y + d * LH - 0.5, w + 1, LH);
      }
      g.fillStyle = hue(T.zone[i]);
      g.fillRect(x, y + d * LH + 0.5, w, LH - 1.5);
      bars++;
      if (w > 34) {
        g.fillStyle = '#fff';
        g.save();
        g.beginPath();
        g.rect(x, y, w, h);
        g.clip();
        g.fillText(D.zonenames[T.zone[i]][0], x + 3, y + d * LH + LH / 2);
        g.restore();
      }
    }
    hits.push([y, y + h, l]);
    y += h + 3;
  }
  drawn = {bars, ms: performance.now() - began};
  window.ttDrawn = drawn;
  const note = D.zonenote ? '; ' + D.zonenote : '';
  $('timenote').textContent = `${fmt(T.begin.length, 0)} zones, ${lanes.length} lanes${note}; wheel zooms, drag moves`;
}
let hits = [];
if (!T) {
  $('time').classList.add('none');
  for (const b of ['zoomin', 'zoomout', 'zoomall', 'zoomop']) $(b).disabled = true;
}
function clampView() {
  const w = Math.max(1, Math.min(t1 - t0, end));
  t0 = Math.max(0, Math.min(t0, end - w));
  t1 = t0 + w;
  drawSoon();
}
function zoom(f, at = 0.5) {
  const m = t0 + (t1 - t0) * at, w = (t1 - t0) * f;
  t0 = m - w * at;
  t1 = t0 + w;
  clampView();
}
function pan(f) {
  const w = (t1 - t0) * f;
  t0 += w;
  t1 += w;
  clampView();
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
  t0 = a - m;
  t1 = b + m;
  top0 = lane;
  clampView();
}
function showCore(chip, x, y) {
  const l = lanes.findIndex(n => n.name.startsWith(`${chip}: ${x}-${y} `));
  if (l >= 0) {
    top0 = l;
    drawSoon();
    $('time').scrollIntoView({block: 'nearest'});
  }
}
const cv = $('time');
cv.addEventListener('wheel', e => {
  if (!T) return;
  const at = Math.max(0, (e.offsetX - LABEL) / (cv.clientWidth - LABEL));
  if (e.shiftKey) {
    top0 = Math.max(0, top0 + Math.sign(e.deltaY) * 2);
    drawSoon();
  } else
    zoom(e.deltaY > 0 ? 1.25 : 0.8, at);
  e.preventDefault();
}, {passive: false});
let drag = null;
cv.onpointerdown = e => {
  drag = [e.offsetX, e.offsetY, t0, top0];
  cv.setPointerCapture(e.pointerId);
};
cv.onpointerup = () => drag = null;
cv.onpointermove = e => {
  const tip = $('tip');
  if (drag) {
    const w = t1 - t0;
    t0 = drag[2] - (e.offsetX - drag[0]) / (cv.clientWidth - LABEL) * w;
    t1 = t0 + w;
    top0 = Math.max(0, drag[3] - Math.round((e.offsetY - drag[1]) / 14));
    clampView();
    tip.style.display = 'none';
    return;
  }
  const hit = T && hits.find(h => e.offsetY >= h[0] && e.offsetY <= h[1]);
  if (!hit) {
    tip.style.display = 'none';
    return;
  }
  const t = t0 + (e.offsetX - LABEL) / (cv.clientWidth - LABEL) * (t1 - t0), d = Math.floor((e.offsetY - hit[0]) / LH),
        l = hit[2];
  let best = -1, slack = (t1 - t0) / (cv.clientWidth - LABEL) * 2;
  for (let i = search(l, t - longest[l] - slack); i < lanes[l].to && T.begin[i] <= t + slack; i++)
    if (T.depth[i] === d && T.begin[i] + T.length[i] >= t - slack) best = i;
  if (best < 0) {
    tip.style.display = 'none';
    return;
  }
  const z = D.zonenames[T.zone[best]];
  const op = T.op[best] >= 0 ? `op ${ops[T.op[best]].id} ${ops[T.op[best]].name}\n` : '';
  tip.textContent = `${z[0]}\n${span(T.length[best])} at ${span(T.begin[best])}, ${lanes[l].name}\n${op}${z[1]}`;
  tip.style.display = 'block';
  tip.style.left = Math.min(e.clientX + 14, innerWidth - 470) + 'px';
  tip.style.top = e.clientY + 14 + 'px';
};
cv.onpointerleave = () => $('tip').style.display = 'none';
cv.ondblclick = e => {
  const hit = hits.find(h => e.offsetY >= h[0] && e.offsetY <= h[1]);
  if (!hit) return;
  const t = t0 + (e.offsetX - LABEL) / (cv.clientWidth - LABEL) * (t1 - t0);
  for (let i = search(hit[2], t - longest[hit[2]]); i < lanes[hit[2]].to && T.begin[i] <= t; i++)
    if (T.begin[i] + T.length[i] >= t && T.op[i] >= 0) {
      choose(T.op[i], true);
      return;
    }
};
$('zoomin').onclick = () => zoom(0.5);
$('zoomout').onclick = () => zoom(2);
$('zoomall').onclick = () => {
  t0 = 0;
  t1 = end;
  top0 = 0;
  drawSoon();
};
$('zoomop').onclick = zoomToOp;
addEventListener('resize', drawSoon);

// --- kernels
const KCOLS = [
  ['name', 'Zone', -1], ['risc', 'Processor', -1], ['count', 'Count', 0], ['cores', 'Cores', 0],
  ['total', 'Total \u00b5s', 1], ['self', 'Self \u00b5s', 1], ['mean', 'Mean \u00b5s', 2], ['min', 'Min \u00b5s', 2],
  ['max', 'Max \u00b5s', 2], ['source', 'Source', -1]
];
const kernels = D.kernels.map((r, i) => {
  const o = {index: i};
  KCOLS.forEach((k, j) => o[k[0]] = r[j]);
  o.hist = r[KCOLS.length];
  return o;
});
let kKey = 'total';
function kernelRows() {
  const b = $('kerneltable').tBodies[0];
  b.replaceChildren(...kernels.map(k => {
    const tr = el('tr');
    for (const [key, , kind] of KCOLS) {
      const td = el('td', kind === -1 ? k[key] : fmt(k[key], kind), kind === -1 ? 'text' : '');
      if (kind === -1) td.title = k[key];
      tr.append(td);
    }
    return tr;
  }));
}
head($('kerneltable'), KCOLS, (key, th, tr) => {
  const keep = sortDown;
  sortDown = kKey === key ? !th.down : true;
  th.down = sortDown;
  kKey = key;
  kernels.sort(compare(key));
  sortDown = keep;
  for (const t of tr.cells) t.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', th.down ? 'descending' : 'ascending');
  kernelRows();
});
kernelRows();
if (!kernels.length) $('kerneltable').replaceWith(el('p', 'This input holds no zones.', 'dim'));

// --- histograms
function bars(box, axis, counts, labels) {
  const most = Math.max(...counts, 1);
  box.replaceChildren(...counts.map((n, i) => {
    const d = el('div');
    d.style.height = Math.max(n ? 3 : 0, 120 * n / most) + 'px';
    d.title = `${labels[i]}: ${n.toLocaleString('en-US')}`;
    return d;
  }));
  axis.replaceChildren(
      el('span', labels[0] || ''), el('span', `most: ${most.toLocaleString('en-US')}`),
      el('span', labels[labels.length - 1] || ''));
}
{
  const v = ops.filter(o => !o.sign && o.us > 0).map(o => o.us);
  if (v.length) {
    const lo = Math.floor(Math.log2(v.reduce((a, b) => Math.min(a, b))) * 2),
          hi = Math.ceil(Math.log2(v.reduce((a, b) => Math.max(a, b))) * 2) + 1,
          counts = new Array(Math.max(1, hi - lo)).fill(0);
    for (const x of v) counts[Math.min(counts.length - 1, Math.max(0, Math.floor(Math.log2(x) * 2) - lo))]++;
    bars($('histops'), $('histopsaxis'), counts, counts.map((_, i) => us(2 ** ((lo + i) / 2)) + ' \u00b5s'));
  }
}
kernels.slice()
    .sort((a, b) => b.total - a.total)
    .slice(0, 40)
    .forEach(k => $('histzone').append(new Option(`${k.name} ${k.risc}`, k.index)));
const zoneHist = () => {
  const k = kernels.find(x => x.index === +$('histzone').value);
  if (!k) return;
  bars($('histkern'), $('histkernaxis'), k.hist[1], k.hist[1].map((_, i) => span(k.hist[0] * 2 ** i)));
};
$('histzone').onchange = zoneHist;
if (kernels.length) zoneHist();

// --- steps, environment
{
  const box = $('stepbody');
  box.append(el('p', D.steps.how, 'dim'));
  if (D.steps.rows.length) {
    const t = el('table'), h = el('thead'), r = el('tr');
    ['Step', 'Ops', 'Wall \u00b5s', 'Device \u00b5s', 'Overhead %', 'Dispatch \u00b5s per op'].forEach(
        (n, i) => r.append(el('th', n, i ? '' : 'text')));
    h.append(r);
    const b = el('tbody');
    for (const s of D.steps.summary.concat(D.steps.rows.slice(0, 500))) {
      const tr = el('tr');
      [s[0], fmt(s[1], 0), us(s[2]), us(s[3]), fmt(s[4], 1), fmt(s[5], 2)].forEach(
          (v, i) => tr.append(el('td', v, i ? '' : 'text')));
      b.append(tr);
    }
    t.append(h, b);
    const sc = el('div', undefined, 'scroll');
    sc.style.maxHeight = '300px';
    sc.append(t);
    box.append(sc);
  }
}
for (const [k, v] of D.environment) $('env').append(el('dt', k), el('dd', v));
addEventListener('beforeprint', () => {
  printing = true;
  rows(true);
  draw();
});
addEventListener('afterprint', () => {
  printing = false;
  rows(true);
});
filter();
grid();
drawSoon();
window.ttReady = true;

// The tables, cores, histograms and steps of the page, and its keys.
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
if (D.ops.some(r => r[D.opkeys.indexOf('process')])) OPCOLS.push(['process', 'Process', -1]);
const ops = D.ops.map((r, i) => {
  const o = {index: i};
  D.opkeys.forEach((k, j) => o[k] = r[j]);
  o.text = (o.name + ' ' + o.limit + ' ' + o.id + ' ' + (o.waits || '') + ' ' + (o.call ?? '') + ' ' + (o.process || '')).toLowerCase();
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
      if (key === 'us' && o.us !== null && o.bound !== null) td.title = boundText(o.bound);
      if (key === 'gap' && o.gap !== null && o.gapbound !== null) td.title = boundText(o.gapbound);
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
    on(() => $('timebox').scrollTop -= 40);
  else if (e.key === 'ArrowDown' && e.target === $('time'))
    on(() => $('timebox').scrollTop += 40);
  else if (e.key === 'n')
    on(() => nextOfZone(1));
  else if (e.key === 'b')
    on(() => nextOfZone(-1));
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
  const corner = el('div', 'y\\x', 'axis');
  corner.title = 'rows are y, columns x, NOC0 physical';
  box.append(corner);
  for (let x = x0; x <= x1; x++) box.append(el('div', x, 'axis'));
  for (let y = y0; y <= y1; y++) {
    box.append(el('div', y, 'axis'));
    for (let x = x0; x <= x1; x++) {
      const v = cells.get(y * 256 + x), d = el('div', v ? '' : '\u00b7', v ? '' : 'absent'), eth = isEthernet(chip, x, y);
      box.append(d);
      if (eth) d.classList.add('eth');
      if (!v) continue;
      const ns = Math.max(0, v[key]), f = most > low ? (ns - low * 0.9) / (most - low * 0.9) : 0.5;
      d.style.background = `rgb(${heat(f).join(',')})`;
      d.style.color = inkOn(heat(f));
      d.textContent = us(ns / 1000);
      d.title = `${eth ? 'Ethernet core' : 'core'} ${x},${y}: ${spanText(ns)}`;
      d.tabIndex = 0;
      d.setAttribute('role', 'button');
      d.setAttribute('aria-label', `${d.textContent} \u00b5s, ${d.title}`);
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
// By its lanes.
function isEthernet(chip, x, y) {
  return D.lanes.some((name, i) => D.laneprocessors[i] === 'ERISC' && (name.startsWith(`${chip}: ${x},${y} `) || name.startsWith(`${chip} (log): ${x},${y} `)));
}
for (const id of ['chip', 'heat', 'heatop']) $(id).addEventListener('change', grid);

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
      if (key === 'name' && T && D.zonenames.some(z => z[0] === k.name)) {
        const b = el('button', k.name, 'link');
        b.type = 'button';
        b.title = 'the longest one in the timeline';
        b.onclick = () => showLongest(k.name);
        td.replaceChildren(b);
      }
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
  bars($('histkern'), $('histkernaxis'), k.hist[1], k.hist[1].map((_, i) => spanText(k.hist[0] * 2 ** i)));
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
    sc.tabIndex = 0;
    sc.setAttribute('role', 'region');
    sc.setAttribute('aria-label', 'steps');
    sc.style.maxHeight = '300px';
    sc.append(t);
    box.append(sc);
  }
}
for (const [k, v] of D.environment) $('env').append(el('dt', k), el('dd', v));
let themeBefore;
addEventListener('beforeprint', () => {
  printing = true;
  themeBefore = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
  rows(true);
  draw();
});
addEventListener('afterprint', () => {
  printing = false;
  if (themeBefore)
    document.documentElement.dataset.theme = themeBefore;
  else
    delete document.documentElement.dataset.theme;
  rows(true);
  drawSoon();
});
filter();
grid();
drawSoon();
window.ttReady = true;

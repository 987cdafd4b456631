// What the parts of the page share: the data, elements, numbers, themes. Data: the JSON element "data" (keys: html_report.cpp,
// html_timeline.cpp).
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
const unpack = (text, Type) => {
  const s = atob(text), b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
  return new Type(b.buffer);
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const heat = f => {
  const c = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]],
        x = Math.max(0, Math.min(1, f)) * 4, i = Math.min(3, Math.floor(x)), p = x - i;
  return [0, 1, 2].map(k => Math.round(c[i][k] + (c[i + 1][k] - c[i][k]) * p));
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
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawSoon());
$('theme').onclick = () => setTheme(isDark() ? 'light' : 'dark');


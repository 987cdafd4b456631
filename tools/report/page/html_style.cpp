#include "tools/report/page/html_page.hpp"

namespace ttc::report {

const char* const kHtmlStyle = R"css(
:root { --bg:#fff; --fg:#1b1f24; --dim:#5b6470; --line:#d5dae0; --panel:#f5f7f9; --accent:#0b62a8; --bad:#b3261e; --good:#1c7a3a; --warn:#8a5a00; --pick:#fff1c2; color-scheme: light; }
:root[data-theme=dark] { --bg:#14181d; --fg:#e4e8ec; --dim:#9aa4af; --line:#333b45; --panel:#1d232a; --accent:#6db5f2; --bad:#ff8a80; --good:#7fd69a; --warn:#f0c060; --pick:#4a3f14; color-scheme: dark; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --bg:#14181d; --fg:#e4e8ec; --dim:#9aa4af; --line:#333b45; --panel:#1d232a; --accent:#6db5f2; --bad:#ff8a80; --good:#7fd69a; --warn:#f0c060; --pick:#4a3f14; color-scheme: dark; } }
* { box-sizing: border-box; }
body { margin:0 auto; padding:1rem 1.2rem 4rem; max-width:1500px; background:var(--bg); color:var(--fg); font:14px/1.45 system-ui, "DejaVu Sans", sans-serif; }
header { display:flex; gap:1rem; align-items:baseline; flex-wrap:wrap; }
h1 { font-size:1.3rem; margin:.2rem 0; } h2 { font-size:1.05rem; margin:1.6rem 0 .5rem; border-bottom:1px solid var(--line); padding-bottom:.2rem; }
nav { display:flex; flex-wrap:wrap; gap:.2rem .9rem; } nav a { color:var(--accent); } .dim { color:var(--dim); } .right { margin-left:auto; }
button, input, select { font:inherit; color:inherit; background:var(--panel); border:1px solid var(--line); border-radius:4px; padding:.2rem .5rem; }
button:focus-visible, input:focus-visible, select:focus-visible, [tabindex]:focus-visible, a:focus-visible { outline:2px solid var(--accent); outline-offset:1px; }
.cards { display:grid; grid-template-columns:repeat(auto-fit,minmax(250px,1fr)); gap:.8rem; }
.card { background:var(--panel); border:1px solid var(--line); border-radius:6px; padding:.7rem .9rem; }
.card h3 { margin:0 0 .3rem; font-size:.8rem; color:var(--dim); font-weight:600; text-transform:uppercase; letter-spacing:.04em; }
.card p { margin:.2rem 0; } .big { font-size:1.35rem; font-weight:600; } .bad { color:var(--bad); } .good { color:var(--good); } .warn { color:var(--warn); }
.card ol, .card ul { margin:.2rem 0 0; padding-left:1.2rem; }
.controls { display:flex; gap:.6rem; flex-wrap:wrap; align-items:center; margin-bottom:.5rem; }
.scroll { max-height:460px; overflow:auto; border:1px solid var(--line); border-radius:6px; }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; }
th { position:sticky; top:0; background:var(--panel); text-align:right; padding:0; z-index:1; border-bottom:1px solid var(--line); }
th button { border:0; background:none; width:100%; padding:.35rem .5rem; text-align:inherit; font-weight:600; white-space:nowrap; cursor:pointer; }
th.text, td.text { text-align:left; } td { padding:.22rem .5rem; text-align:right; white-space:nowrap; border-bottom:1px solid var(--line); }
td.text { max-width:430px; overflow:hidden; text-overflow:ellipsis; } tbody tr { height:28px; } tbody tr:hover { background:var(--panel); }
tbody tr.on { background:var(--pick); } tbody tr.sign td { color:var(--dim); font-style:italic; } .bar { display:inline-block; height:.6em; background:var(--accent); opacity:.55; margin-left:.3em; vertical-align:middle; }
.split { display:grid; grid-template-columns:minmax(360px,1fr) minmax(300px,1fr); gap:1rem; } @media (max-width:900px) { .split { grid-template-columns:1fr; } }
canvas { width:100%; display:block; border:1px solid var(--line); border-radius:6px; background:var(--bg); } #time { height:420px; } #time.none { height:44px; } #tip { position:fixed; pointer-events:none; background:var(--panel); border:1px solid var(--line); border-radius:4px; padding:.3rem .5rem; font-size:12px; max-width:460px; display:none; z-index:5; white-space:pre-line; }
.grid { display:grid; gap:2px; width:max-content; max-width:100%; overflow:auto; } .grid div { min-width:44px; height:34px; font-size:11px; display:flex; align-items:center; justify-content:center; border-radius:3px; } .grid .axis { color:var(--dim); background:none; }
.hist { display:flex; align-items:flex-end; gap:2px; height:120px; } .hist div { flex:1; background:var(--accent); opacity:.75; min-height:1px; } .hist + .dim { display:flex; justify-content:space-between; font-size:11px; }
dl { display:grid; grid-template-columns:max-content 1fr; gap:.15rem 1rem; margin:0; } dt { color:var(--dim); } dd { margin:0; overflow-wrap:anywhere; }
#print-ops { display:none; }
@media print { :root { --bg:#fff !important; --fg:#000 !important; --panel:#fff !important; --line:#bbb !important; } body { max-width:none; padding:0; font-size:10px; } nav, .controls, #theme, #tip { display:none !important; } .scroll { max-height:none; overflow:visible; border:0; } th { position:static; } h2 { break-after:avoid; } .card { break-inside:avoid; } td.text { white-space:normal; } }
)css";

const char* const kHtmlBody = R"html(<header><h1 id="title"></h1><span class="dim" id="subtitle"></span>
<span class="right"><button id="theme" type="button" title="t">dark / light</button></span></header>
<nav aria-label="sections"><a href="#summary">Summary</a><a href="#ops">Ops</a><a href="#cores">Cores</a><a href="#timeline">Timeline</a><a href="#kernels">Kernels</a><a href="#histograms">Histograms</a><a href="#steps">Steps</a><a href="#environment">Environment</a><span class="dim">keys: / search, j k or arrows choose an op, Enter shows it, + - zoom, Shift and arrows move, t theme</span></nav>
<main>
<section id="summary"><h2>Summary</h2><div class="cards" id="cards"></div></section>
<section id="ops"><h2>Ops</h2><div class="controls"><label>Search <input id="search" type="search" placeholder="name, limit, id" size="22"></label>
<label>Limit <select id="limit"><option value="">all</option></select></label><label>Device <select id="device"><option value="">all</option></select></label>
<label>At least <input id="least" type="number" min="0" step="0.1" value="0" style="width:5em"> % of total</label><span class="dim" id="count" role="status"></span></div>
<div class="scroll" id="opscroll" tabindex="0" aria-label="ops"><table id="optable"><thead><tr></tr></thead><tbody></tbody></table></div></section>
<section id="cores"><h2>Cores</h2><div class="controls"><label>Chip <select id="chip"></select></label><label>Show <select id="heat"><option value="time">time in kernels</option><option value="wait">waiting</option><option value="behind">behind the mean core</option><option value="start">start after the first core</option></select></label>
<label><input type="checkbox" id="heatop"> of the chosen op only</label><span class="dim" id="heatnote"></span></div><div class="grid" id="grid"></div></section>
<section id="timeline"><h2>Timeline</h2><div class="controls"><button id="zoomin" type="button">+</button><button id="zoomout" type="button">&minus;</button><button id="zoomall" type="button">all</button><button id="zoomop" type="button">chosen op</button><span class="dim" id="timenote"></span></div><canvas id="time" height="420" tabindex="0" aria-label="timeline of zones"></canvas></section>
<section id="kernels"><h2>Kernels and zones</h2><div class="scroll" style="max-height:340px" tabindex="0" aria-label="kernels"><table id="kerneltable"><thead><tr></tr></thead><tbody></tbody></table></div></section>
<section id="histograms"><h2>Histograms</h2><div class="split"><div><p class="dim">Device time of ops, &micro;s, log scale</p><div class="hist" id="histops"></div><div class="dim" id="histopsaxis"></div></div><div><label class="dim">Durations of <select id="histzone"></select></label><div class="hist" id="histkern"></div><div class="dim" id="histkernaxis"></div></div></div></section>
<section id="steps"><h2>Steps</h2><div id="stepbody"></div></section>
<section id="environment"><h2>Environment</h2><dl id="env"></dl></section>
</main><div id="tip" role="tooltip"></div>
)html";

}  // namespace ttc::report

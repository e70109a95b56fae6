"""How a report looks: on a phone and a desk, in light and dark, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --wash: #f4f6f8; --rule: #d5dbe1;
  --ink: #16202a; --soft: #5b6773; --area: #c9d0d7; --accent: #0b5e93;
  --good: #14663b; --bad: #a3211b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12171c; --wash: #1b2229; --rule: #343e48;
    --ink: #e7ebef; --soft: #a3aeb9; --area: #47525d; --accent: #6fb7ea;
    --good: #7fd3a3; --bad: #ff9d94;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 0 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
main { max-width: 60rem; margin: 0 auto; }
header { border-top: .4rem solid var(--accent); padding-top: 1.6rem; }
h1 { font-size: clamp(1.6rem, 1.2rem + 2vw, 2.3rem); line-height: 1.15; margin: 0 0 .4rem; }
h2 {
  font-size: 1.3rem; line-height: 1.2; margin: 2.8rem 0 .7rem; padding-bottom: .35rem;
  border-bottom: 1px solid var(--rule);
}
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p, ul { max-width: 44rem; margin: .5rem 0; }
ul { padding-left: 1.2rem; }
li { margin: .35rem 0; }
.byline, figcaption, caption, .note { color: var(--soft); font-size: .875rem; }
.verdict {
  margin: 1.3rem 0 0; padding: .8rem 1rem; max-width: none; background: var(--wash);
  border-left: .3rem solid var(--good); font-weight: 600;
}
.verdict.broken { border-color: var(--bad); }
.verdict b { color: var(--good); margin-right: .4rem; }
.verdict.broken b { color: var(--bad); }
.keys {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem;
  margin: .75rem 0 0;
}
.keys div { display: flex; flex-direction: column; background: var(--wash); padding: .9rem 1rem; }
.keys dt { font-size: .875rem; color: var(--soft); }
.keys dd { margin: 0; font-size: .875rem; }
.keys dd:first-of-type {
  font-size: clamp(1.5rem, 1.2rem + 1.5vw, 1.9rem); font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums;
}
.facts { margin: .7rem 0; }
.facts div {
  display: grid; grid-template-columns: 14rem 1fr; gap: 0 1rem; padding: .4rem 0;
  border-bottom: 1px solid var(--rule);
}
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
table { width: 100%; border-collapse: collapse; margin: 1rem 0; font-size: .9375rem; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { padding: .4rem .75rem .4rem 0; vertical-align: top; text-align: right; }
th:first-child { text-align: left; }
thead th {
  overflow-wrap: normal; color: var(--soft); font-weight: 600; vertical-align: bottom;
  font-size: .875rem;
}
thead tr { border-bottom: 2px solid var(--rule); }
tbody tr { border-bottom: 1px solid var(--rule); }
tbody th { font-weight: 600; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
td:last-child, thead th:last-child { padding-right: 0; }
.measures td:last-child, .measures thead th:last-child {
  text-align: left; white-space: normal; padding-left: 1rem; width: 55%;
}
.share { display: flex; justify-content: flex-end; align-items: center; gap: .7rem; }
.share span:last-child { min-width: 3.4rem; text-align: right; }
.bar {
  width: 6rem; height: .5rem; background: var(--wash);
  print-color-adjust: exact; -webkit-print-color-adjust: exact;
}
.bar::before {
  content: ""; display: block; height: 100%; width: var(--share); background: var(--accent);
}
.plots {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr));
  gap: 1.4rem 1.6rem; margin: 1rem 0;
}
.plot { margin: 0; }
.plot svg { display: block; width: 100%; height: auto; overflow: visible; fill: var(--ink); }
.plot svg * { stroke-linejoin: round; stroke-linecap: butt; }
.wide { max-width: 31rem; margin: 1rem 0; }
.key { display: inline-block; margin-right: 1.2rem; white-space: nowrap; }
.key::before {
  content: ""; display: inline-block; width: 1.3rem; height: .8rem; margin-right: .4rem;
  vertical-align: -.05rem; background: var(--area); print-color-adjust: exact;
  -webkit-print-color-adjust: exact;
}
.key.release::before {
  background: none; border: solid var(--ink); border-width: 2px 0 0; height: .3rem;
}
code {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .875rem;
}
pre {
  background: var(--wash); padding: .8rem 1rem; margin: .7rem 0; white-space: pre-wrap;
}
footer { margin-top: 3rem; padding-top: .7rem; border-top: 1px solid var(--rule); }
@media (max-width: 40rem) {
  .facts div { grid-template-columns: 1fr; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, th, td { display: block; text-align: left; }
  caption { display: block; }
  tbody tr { padding: .6rem 0; }
  tbody th { padding: 0; }
  td {
    display: flex; justify-content: space-between; gap: 0 .8rem; padding: .15rem 0;
    white-space: normal;
  }
  td::before { content: attr(data-label); color: var(--soft); }
  .measures td:last-child { display: block; padding-left: 0; width: auto; }
  .measures td:last-child::before { content: none; }
}
@media print {
  :root {
    color-scheme: light; font-size: 10pt;
    --paper: #ffffff; --wash: #f4f6f8; --rule: #c4ccd4; --ink: #000000; --soft: #4a545e;
    --area: #c9d0d7; --accent: #0b5e93; --good: #14663b; --bad: #a3211b;
  }
  @page { margin: 18mm 16mm; }
  body { padding: 0; }
  h2 { break-after: avoid; }
  figure, tr, .keys div, .facts div, .verdict { break-inside: avoid; }
  .plots { grid-template-columns: repeat(3, 1fr); }
}
"""

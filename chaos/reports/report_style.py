"""The style sheet of report.html: light, dark, narrow and print.

Colours of lines are Okabe and Ito's, which people with any colour vision can tell apart, made
darker on white and lighter on black; dashes and widths say the same without colour.
"""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --line: #8886; --soft: #8881;
  --faint: #565b63; --VALID: #0f6b30; --UNKNOWN: #805500; --INVALID: #b3161d; --link: #0b57b7;
  --l1: #0060a0; --l2: #b04a00; --l3: #00785a; --fault: #8a5a0055; --faultline: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #15171a; --soft: #fff1;
  --faint: #a4abb5; --VALID: #4cc772; --UNKNOWN: #e3b341; --INVALID: #ff8a84; --link: #7ab4ff;
  --l1: #63b3ed; --l2: #ff9d5c; --l3: #4fd1a5; --fault: #e3b34144; --faultline: #e3b341; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem; }
a { color: var(--link); }
h1 { font-size: 1.6rem; line-height: 1.25; border-left: .5rem solid currentColor;
  padding-left: .8rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; overflow-wrap: anywhere; }
p, li { max-width: 56rem; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: .6rem 0; padding: 0; }
.facts div { display: flex; gap: .5rem; } dt { color: var(--faint); } dd { margin: 0;
  overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; padding: .35rem 1.4rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead th { white-space: nowrap; color: var(--faint); font-weight: 600; }
tbody th { font-weight: 600; }
.all > * { border-bottom-width: 2px; }
.VALID { color: var(--VALID); } .UNKNOWN { color: var(--UNKNOWN); }
.INVALID { color: var(--INVALID); }
b.VALID, b.UNKNOWN, b.INVALID { white-space: nowrap; }
td a:has(b) { color: inherit; }
.small { color: var(--faint); font-size: .88rem; }
td .small { display: block; }
pre { background: var(--soft); padding: .7rem .9rem; font-size: .85rem; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .4rem 0; }
code { font-size: .85em; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .15rem 0; overflow-wrap: anywhere; }
details { margin: .4rem 0; }
.finding { border-left: 3px solid var(--line); padding-left: .8rem; margin: .7rem 0; }
.finding[open] { border-color: var(--INVALID); }
.events { width: 100%; font-size: .88rem; }
.events td { padding-right: .9rem; } .events td:last-child { padding-right: 0; }
.events td:nth-child(-n+4) { white-space: nowrap; } .events td:last-child { width: 100%; }
.events code { display: block; color: var(--faint); }
.told { border-left: .3rem solid var(--INVALID); background: var(--soft);
  padding: .7rem 1rem; margin: 2.6rem 0 1rem; }
.told h2 { margin-top: 0; border: 0; } .told p:last-child { margin-bottom: 0; }
.chart { margin: 0 0 2rem; break-inside: avoid; }
.chart p.small { margin: 0 0 .4rem; }
.of { margin: .5rem 0 .1rem; font-weight: 600; font-size: .9rem; }
.strip { display: grid; grid-template-columns: 13rem minmax(0, 1fr) 4rem; column-gap: .7rem;
  align-items: center; margin: .25rem 0; }
.who { font-size: .88rem; line-height: 1.25; overflow-wrap: anywhere; }
.who span { color: var(--faint); display: block; font-size: .82rem; }
.lane .who { padding-left: .8rem; } .lane .who span { display: inline; }
.plot { position: relative; height: 3.6rem; background: var(--soft);
  border-bottom: 1px solid var(--line); }
.plot > svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.lane .plot { height: 1.05rem; } .lane.small .plot { height: 1.5rem; }
.lane { margin: .12rem 0; }
.lane.small .who { color: var(--ink); }
.scale { align-self: stretch; display: flex; flex-direction: column;
  justify-content: space-between; font-size: .78rem; line-height: 1; color: var(--faint); }
.scale b { font-weight: 400; white-space: nowrap; }
.axis .plot { background: none; border: 0; height: 1.3rem; }
.axis i, .phases i { position: absolute; font-style: normal; font-size: .78rem; top: 0;
  line-height: 1.05rem; white-space: nowrap; padding-left: 4px; }
.axis i { color: var(--faint); border-left: 1px solid var(--line); line-height: 1.2rem; }
.axis .who { color: var(--faint); font-size: .78rem; }
.phases i { color: var(--ink); }
.lane rect, .many { fill: var(--faultline); }
.phases rect.safety { fill: var(--line); } .phases rect.heal { fill: var(--ink); }
.phases rect.liveness { fill: var(--soft); stroke: var(--line); }
rect.fault { fill: var(--fault); }
path { vector-effect: non-scaling-stroke; } .line, .edge { fill: none; }
.edge { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 4; opacity: .7; }
.line { stroke-width: 1.6; stroke: var(--l1); }
.area { fill: var(--l1); opacity: .22; }
.l2 { stroke: var(--l2); stroke-dasharray: 6 3; stroke-width: 1.8; }
.l3 { stroke: var(--l3); stroke-dasharray: 2 2; stroke-width: 2.2; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; font-size: .88rem; margin: .3rem 0; }
.legend svg { width: 30px; height: 8px; vertical-align: middle; }
.defs { position: absolute; }
.data { font-size: .9rem; } .data td, .data th { padding: .15rem 1rem .15rem 0; }
.data thead th { vertical-align: bottom; white-space: normal; min-width: 5.5rem; }
@media (max-width: 46rem) { body { margin: 1rem auto; padding: 0 .7rem; }
  h1 { font-size: 1.3rem; } th, td { padding-right: .8rem; }
  .strip { grid-template-columns: minmax(0, 1fr) 3.2rem; }
  .who { grid-column: 1 / -1; } .who span { display: inline; margin-left: .4rem; }
  .axis .who { order: 1; } .lane .who { padding-left: 0; }
  .events thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .events tr { display: block; border-bottom: 1px solid var(--line); padding: .3rem 0; }
  .events td { display: inline; border: 0; padding: 0 .5rem 0 0; }
  .events td:last-child { display: block; } }
@page { size: A4; margin: 14mm; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --VALID: #000;
    --UNKNOWN: #000; --INVALID: #000; --faint: #333; --link: #000; --line: #8886; --soft: #8881;
    --l1: #0060a0; --l2: #b04a00; --l3: #00785a; --fault: #8a5a0055; --faultline: #8a5a00; }
  body { max-width: none; margin: 0; padding: 0; font-size: 1rem; }
  html { font-size: 10.5px; } nav { display: none; }
  a { text-decoration: none; } h2, h3, summary, .of { break-after: avoid; }
  .finding, .told, .chart, tr, li, pre.repeat { break-inside: avoid; }
  .wide { overflow: visible; } thead th { white-space: normal; } th, td { padding-right: .6rem; }
  .strip { grid-template-columns: 9rem minmax(0, 1fr) 3rem; } .plot { height: 2.4rem; }
  .plot, .strip svg, .legend svg { print-color-adjust: exact; } .data { display: none; } }
"""

"""The style sheet of story.html: light, dark, narrow and print."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --line: #8887; --soft: #8881;
  --bad: #b3161d; --bad-soft: #fdecec; --a0: #6b7280; --a1: #1f6feb; --a2: #b35900; --a3: #7a3ec8;
  --a4: #0f7b6c; --a5: #a3246b; --a6: #5c6b00; --on: #fff; --lane: 6rem; --time: 5rem; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #15171a; --soft: #fff1;
  --bad: #ff8a84; --bad-soft: #3a1a1c; --a0: #9aa3af; --a1: #7ab4ff; --a2: #f0a350; --a3: #c6a0ff;
  --a4: #5fd3c0; --a5: #ff8cc6; --a6: #c3d14a; --on: #101214; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 88rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; border-left: .5rem solid var(--bad);
  padding-left: .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p, .short { max-width: 52rem; overflow-wrap: anywhere; }
.short li { margin: .3rem 0; }
.small { opacity: .8; font-size: .9rem; }
.wrong { border-left: .25rem solid var(--bad); background: var(--bad-soft); padding: .6rem .9rem; }
.wrong b, .here { color: var(--bad); }
.key { font-size: .9rem; max-width: none; }
.key i { font-style: normal; display: inline-block; vertical-align: middle; }
.key .dot { width: 12px; height: 12px; border-radius: 6px; background: var(--ink); }
.key .thin { width: 6px; height: 16px; background: var(--a1); opacity: .55; }
.key .thick { width: 14px; height: 16px; background: var(--a1); border-radius: 2px; }
.key .pill { background: var(--a1); color: var(--on); border-radius: 10px; padding: 0 .5em;
  font-size: .8rem; line-height: 20px; }
.key .none { background: var(--a0); }
.key .cross { color: var(--bad); font-weight: bold; }
.head, .steps li { display: grid;
  grid-template-columns: var(--time) calc(var(--lane) * var(--lanes)) minmax(12rem, 1fr); }
.head { position: sticky; top: 0; z-index: 1; background: var(--paper);
  border-bottom: 2px solid var(--line); align-items: end; }
.names { display: flex; height: 100%; }
.lane { width: var(--lane); padding: .4rem .2rem; text-align: center; font-size: .85rem;
  line-height: 1.25; display: flex; align-items: end; justify-content: center; }
.lane b, .lane small { display: block; overflow-wrap: anywhere; }
.lane small { opacity: .8; font-size: .75rem; }
.lane i { display: inline-block; width: 14px; height: 5px; border-radius: 2px; }
.tinted, .tint { background: var(--soft); fill: var(--soft); }
.tinted.first { border-left: 1px solid var(--line); }
.steps { list-style: none; margin: 0; padding: 0; }
.steps li { min-height: var(--high); break-inside: avoid; }
.time { text-align: right; padding: 7px .6rem 0 0; font-variant-numeric: tabular-nums;
  font-size: .85rem; white-space: nowrap; }
.head .time { padding-bottom: .4rem; }
.strip { position: relative; }
.strip > svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden; }
.said { padding: 7px 0 7px 1rem; overflow-wrap: anywhere; border-bottom: 1px solid var(--soft); }
.said code { display: block; font-size: .8rem; opacity: .75; }
.gap { font-size: .85rem; } .gap .said { opacity: .8; padding-block: 3px; }
.breaks, tr.breaks { background: var(--bad-soft); outline: 2px solid var(--bad); }
svg line.host { stroke: var(--line); stroke-width: 1.5; stroke-dasharray: 4 4; }
svg line.empty { stroke: var(--line); stroke-width: 1; stroke-dasharray: 1 5; }
svg line.edge { stroke: var(--line); stroke-width: 1; }
svg rect.alive { opacity: .55; } svg .dashed { opacity: .4; }
svg .arrow { stroke: var(--ink); stroke-width: 1.8; fill: none; }
svg .missed { stroke: var(--bad); stroke-dasharray: 4 3; }
svg .nothing { stroke: var(--bad); stroke-width: 2.5; }
svg .head { fill: var(--ink); }
svg .mark { fill: var(--ink); stroke: var(--paper); stroke-width: 2; }
svg .broken { fill: var(--bad); stroke: var(--paper); stroke-width: 2; }
svg .cross { stroke: var(--on); stroke-width: 3; fill: none; }
svg .held rect { stroke: var(--paper); stroke-width: 2; }
svg .held text { fill: var(--on); font: bold 12px system-ui, sans-serif; text-anchor: middle; }
.a0 { fill: var(--a0); background: var(--a0); } .a1 { fill: var(--a1); background: var(--a1); }
.a2 { fill: var(--a2); background: var(--a2); } .a3 { fill: var(--a3); background: var(--a3); }
.a4 { fill: var(--a4); background: var(--a4); } .a5 { fill: var(--a5); background: var(--a5); }
.a6 { fill: var(--a6); background: var(--a6); }
dl div { display: grid; grid-template-columns: 8rem 1fr; gap: .8rem; padding: .15rem 0; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
.many { --lane: 2.6rem; overflow-x: auto; }
.many .lane > span { writing-mode: vertical-rl; rotate: 180deg; }
.many .lane b, .many .lane small { display: inline; }
@media (max-width: 70rem) { :root { --lane: 4.4rem; } }
@media (max-width: 52rem) { :root { --lane: 2.1rem; --time: 4.2rem; } .many { --lane: 1.5rem; }
  body { padding: 0 .6rem; margin-top: 1rem; } h1 { font-size: 1.3rem; }
  .head, .steps li { grid-template-columns:
    var(--time) calc(var(--lane) * var(--lanes)) minmax(9rem, 1fr); }
  .lane { padding: .3rem 0; } .lane > span { writing-mode: vertical-rl; rotate: 180deg; }
  .lane b, .lane small { display: inline; } .said { padding-left: .6rem; font-size: .9rem; }
  dl div { grid-template-columns: 6rem 1fr; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --bad: #000;
    --bad-soft: #eee; --on: #fff; --lane: 1.9rem; --time: 3.4rem; --a0: #6b7280; --a1: #1f6feb;
    --a2: #b35900; --a3: #7a3ec8; --a4: #0f7b6c; --a5: #a3246b; --a6: #5c6b00; }
  .many { --lane: 1.2rem; overflow: visible; }
  body { max-width: none; margin: 0; padding: 0; font-size: 11px; } .head { position: static; }
  .key, .said, .time, .lane { font-size: 10px; } .said code, .lane small { font-size: 8px; }
  svg, .key i, .lane, .lane i, .breaks { print-color-adjust: exact; } h2 { break-after: avoid; } }
"""

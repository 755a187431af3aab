"""The Markdown summary: complete, literal, and short enough for a comment."""

from __future__ import annotations

import msgspec
import pytest
from markdown_it import MarkdownIt

from chaos.reports import markdown
from chaos.reports.escape import markdown as escaped
from chaos.reports.escape import markdown_block, markdown_code
from chaos.verdict import Finding, GateVerdict, Outcome, PromiseVerdict, VariantVerdict
from tests.reports.samples import HISTORY, STOCK, VERDICT

MARKDOWN = """\
### ✅ saq-chaos: PASSED: the baseline gate against stock\\@0.26.3 passed

plan `same-key` · live world · seed 1 · 5 events · exit code 0: the gate passed

| | `stock@0.26.3` | `guarded@0.26.3` |
|---|---|---|
| **all in all** | ❌ INVALID | ✅ VALID |
| no-internal-errors | ❌ INVALID 37× | ✅ VALID |
| one-at-a-time | ❔ UNKNOWN | ✅ VALID |

- guarded\\@0.26.3: no promise is worse

<details><summary>❌ <code>stock@0.26.3</code> no-internal-errors, 37×: \
<code>KeyError 30, AssertionError 7</code></summary>

```text
KeyError out of process() of k1
  #4 at 1.300 s stock@0.26.3/worker-1.1 slot-overwritten job=k1 attempt=#1 by=#2
  #5 at 1.401 s stock@0.26.3/worker-1.1 slot-missed job=k1 attempt=#2
```

</details>

<details><summary>What these answers are worth</summary>

- `stock@0.26.3` no-internal-errors: 37 in 412 slot collisions: 8.98 %, at most 11.6 % (95 %)
- `stock@0.26.3` one-at-a-time: 0 found; no overlaps were met, so no rate can be given
- `stock@0.26.3`: 412 slot collisions (the plan wants 300)
- `stock@0.26.3` threshold INVALID: key\\_errors == 0: measured 30
- `guarded@0.26.3` no-internal-errors: 0 in 412 slot collisions: at most 0.73 % (95 %)
- `guarded@0.26.3` one-at-a-time: 0 in 1200 overlaps: at most 0.25 % (95 %)
- `guarded@0.26.3`: 412 slot collisions (the plan wants 300)

</details>

Repeat it:

```sh
saq-chaos soak runs/r1/plan.yaml
```
"""
HOSTILE = [
    "<script>alert(1)</script>",
    "![x](http://evil/x.png) [y](javascript:alert(1))",
    "http://evil.example www.evil.example",
    "| a | b |",
    "`code` ``` fence ~~~",
    "**bold** _it_ ~~no~~ &amp; &#64;",
    "1. one",
    "- item",
    "+ item",
    "# heading",
    "> quote",
    "=====",
    "</details></summary>",
    "*[]()!",
]


def test_the_whole_summary() -> None:
    assert markdown.render(VERDICT, HISTORY) == MARKDOWN


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_from_a_run_is_text_and_nothing_else(text: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(escaped(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    inline = tokens[1].children or []
    assert {token.type for token in inline} <= {"text", "text_special"}
    assert "".join(token.content for token in inline).replace("\u200b", "") == text


@pytest.mark.parametrize("text", [*HOSTILE, "`", "a`", "``", "", " "])
def test_a_code_span_holds_any_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(markdown_code(text))
    (inline,) = (token for token in tokens if token.type == "inline")
    assert [(one.type, one.content.strip()) for one in inline.children or ()] == [
        ("code_inline", text.strip())
    ]


def test_a_block_is_not_ended_by_what_is_in_it() -> None:
    lines = ["```", "</details>", "````", "~~~"]
    (token,) = MarkdownIt("commonmark").parse(markdown_block(lines))
    assert (token.type, token.content) == ("fence", "```\n</details>\n````\n~~~\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@team look", "\\@\u200bteam look"),
        ("(@team)", "(\\@\u200bteam)"),
        ("stock@0.26.3", "stock\\@0.26.3"),  # behind a letter it is no mention
        ("see #12", "see \\#\u200b12"),
        ("see GH-12", "see GH\u200b-12"),
    ],
)
def test_nobody_is_mentioned_and_no_issue_is_referred_to(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_variant_with_a_bar_in_its_name_does_not_break_the_table() -> None:
    variant = msgspec.structs.replace(STOCK, variant="a|b`c")
    shown = markdown.render(msgspec.structs.replace(VERDICT, variants=(variant,)))
    html = MarkdownIt("commonmark").enable("table").render(shown)
    assert "<th><code>a|b`c</code></th>" in html
    assert html.count("<th>") == 2


def test_a_finding_cannot_leave_its_block() -> None:
    finding = Finding(kind="x", message="</details>\n```\n<b>@team</b>\x1b", events=())
    promise = msgspec.structs.replace(STOCK.promises[0], findings=(finding,), kinds={"<i>": 1})
    variant = msgspec.structs.replace(STOCK, promises=(promise,))
    shown = markdown.render(msgspec.structs.replace(VERDICT, variants=(variant,)))
    assert "\n````text\n</details>\\n```\\n<b>@team</b>\\x1b\n````\n" in shown
    assert "<code>&lt;i&gt; 1</code>" in shown
    assert shown.count("<details>") == 2


def test_a_summary_of_very_much_fits_into_a_comment_and_counts_what_it_leaves_out() -> None:
    finding = Finding(kind="lost", message="m" * 600, events=())
    promises = tuple(
        PromiseVerdict(promise=f"p{n}", outcome=Outcome.INVALID, count=9, findings=(finding,) * 9)
        for n in range(16)
    )
    variants = tuple(
        VariantVerdict(variant=f"v{n}@1", outcome=Outcome.INVALID, promises=promises)
        for n in range(16)
    )
    reasons = tuple(f"v1@1: {n} {'r' * 600}" for n in range(200))
    gate = GateVerdict(gate="strict", outcome=Outcome.INVALID, reasons=reasons)
    shown = markdown.render(msgspec.structs.replace(VERDICT, variants=variants, gate=gate))
    assert len(shown) <= 60_000
    kept = shown.count("```text")
    assert 0 < kept < 256
    assert f"\n{256 - kept} more broken promises are left out here: see report.html.\n" in shown
    assert "- … and 180 more reasons: see report.html\n" in shown
    assert shown.endswith("```sh\nsaq-chaos soak runs/r1/plan.yaml\n```\n")

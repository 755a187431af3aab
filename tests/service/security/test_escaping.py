"""What comes from a run is harmless in every format that it is shown in.

Lone surrogates are not among the samples: the recorder has turned them into their escapes.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from chaos.event import AttemptBegan, ErrorRaised, HostBegan, RunBegan
from chaos.history import History
from chaos.reports import files
from chaos.verdict import Finding, Verdict
from service.api import streams
from service.models import Event, EventData
from tests.reports.samples import HOST, STOCK, VERDICT

HOSTILE = (
    '</script><script>alert(1)</script><img src=x onerror=alert(2)>\' onclick="alert(3)" '
    "]]> --> &lt; \x00\x07\x08\x1b[31m\x1b]0;title\x07\x7f\x85\u202e\u2066\u2028\ufeff "
    "``` | @team <!-- [link](javascript:alert(4)) ![x](http://evil.example/x) \r\n\r\ndata: forged"
)
ACTIVE = ("script", "img", "iframe", "object", "embed", "form", "base", "link")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ufeff]")


class Page(HTMLParser):
    """The elements of a page, its event handlers, and the addresses it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            if name in ("href", "src", "action", "xlink:href"):
                self.addresses.append(value or "")


def hostile_history() -> History:
    """A run whose job and error texts somebody chose badly."""
    return History(
        [
            RunBegan(run="r1", plan="same-key", world="live", seed=1, variants=("stock@0.26.3",)),
            HostBegan(
                t_us=1_000, host=HOST, role="worker", python=HOSTILE, saq=HOSTILE, redis_py=HOSTILE
            ),
            AttemptBegan(t_us=2_000, host=HOST, job=HOSTILE, attempt=f"{HOST}#1"),
            ErrorRaised(
                t_us=3_000, host=HOST, job=HOSTILE, attempt=f"{HOST}#1", where="process",
                origin="internal",
                error="KeyError", traceback=HOSTILE, message=HOSTILE,
            ),
        ]
    )  # fmt: skip


def hostile_verdict() -> Verdict:
    """Its verdict, with those texts in a finding, a reason, and the gate's."""
    finding = Finding(kind="KeyError", message=HOSTILE, job=HOSTILE, events=(3, 4))
    promise = msgspec.structs.replace(STOCK.promises[0], findings=(finding,))
    unknown = msgspec.structs.replace(STOCK.promises[1], reason=HOSTILE)
    variant = msgspec.structs.replace(STOCK, promises=(promise, unknown), server=HOSTILE)
    gate = msgspec.structs.replace(VERDICT.gate, reasons=(HOSTILE,))
    return msgspec.structs.replace(VERDICT, variants=(variant,), gate=gate, repeat=HOSTILE)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with every report of it."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "plan.yaml").write_text("# </script><script>alert(5)</script>\n", "utf-8")
    files.write(folder, hostile_verdict(), hostile_history())
    return folder


def test_the_sample_is_hostile() -> None:
    page = Page(HOSTILE)
    assert "script" in page.elements
    assert "onerror" in page.handlers
    assert HIDDEN.search(HOSTILE)


@pytest.mark.parametrize("name", ["report.html", "story.html"])
def test_a_page_of_a_run_runs_nothing_and_loads_nothing(written: Path, name: str) -> None:
    text = (written / name).read_text("utf-8")
    page = Page(text)
    assert [tag for tag in page.elements if tag in ACTIVE] == []
    assert page.handlers == []
    local = ("#", "data:", "story.html", "report.html")
    assert [address for address in page.addresses if not address.startswith(local)] == []
    assert HIDDEN.findall(text) == []
    assert "alert(1)" in text  # shown as text


def test_junit_is_xml_that_any_reader_takes(written: Path) -> None:
    text = (written / "junit.xml").read_text("utf-8")
    tree = ElementTree.fromstring(text)
    assert HIDDEN.findall(text) == []
    assert [element.tag for element in tree.iter() if element.tag in ACTIVE] == []
    assert "alert(1)" in "".join(tree.itertext())


def test_a_summary_is_markdown_without_markup_of_the_run(written: Path) -> None:
    text = (written / "summary.md").read_text("utf-8")
    assert HIDDEN.findall(text) == []
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", text)  # code shows everything as it is
    outside = re.sub(r"`[^`\n]*`", "", outside)
    assert outside.count("alert(1)") == 1  # in the gate's reasons
    assert re.findall(r"(?<!\\)<(script|img)", outside) == []
    assert re.findall(r"(?<!\\)\]\(", outside) == []
    assert re.findall(r"(?<!\\)@team", outside) == []
    assert "alert" in text


def test_a_verdict_is_json_of_one_kind_of_line(written: Path) -> None:
    raw = (written / "verdict.json").read_bytes()
    read = json.loads(raw)
    assert "alert(1)" in json.dumps(read)
    assert re.findall(rb"[\x00-\x09\x0b-\x1f]", raw) == []


def test_an_event_of_a_stream_cannot_forge_another() -> None:
    event = Event(
        id=7, run="r1", type="note", at=datetime(2026, 1, 1, tzinfo=UTC),
        data=EventData(text=HOSTILE, error="a\r\nevent: ended\ndata: {}\n\n"),
    )  # fmt: skip
    sent = streams.written(event).encode().decode("utf-8")
    lines = re.split(r"\r\n|\r|\n", sent)
    fields = [line.partition(":")[0] for line in lines if line]
    assert sorted(fields) == ["data", "event", "id"]
    data = next(line for line in lines if line.startswith("data:")).removeprefix("data:")
    assert json.loads(data)["text"] == HOSTILE
    assert json.loads(data)["error"] == "a\r\nevent: ended\ndata: {}\n\n"

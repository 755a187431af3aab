"""YAML as plans use it: values with places, and everything else refused where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.plan_file.yaml_text import DEPTH_MAX, Place, read, resolve


def told(text: str) -> list[tuple[int, int, str]]:
    return [(one.place.line, one.place.column, one.message) for one in read(text).troubles]


def test_every_value_knows_its_place() -> None:
    document = read("a: 1\nb:\n  - x\n  - {c: true}\n")
    assert document.data == {"a": 1, "b": ["x", {"c": True}]}
    assert document.places == {
        (): Place(1, 1),
        ("a",): Place(1, 1),
        ("b",): Place(2, 1),
        ("b", 0): Place(3, 5),
        ("b", 1): Place(4, 5),
        ("b", 1, "c"): Place(4, 6),
    }
    assert document.troubles == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("", None),
        ("on", "on"),  # YAML 1.1 reads true
        ("1:30", "1:30"),  # … 90
        ("0x10", "0x10"),  # … 16
        ("1_000", "1_000"),  # … 1000
        ("2024-01-01", "2024-01-01"),  # … a date
        ("9" * 5000, "9" * 5000),
        ("1e999", "1e999"),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_a_quoted_scalar_is_a_text() -> None:
    assert read("a: '12'\nb: \"true\"\n").data == {"a": "12", "b": "true"}


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("a: &x 1", (1, 4, "`&x` is an anchor: write the value out where it is used")),
        ("a: *x", (1, 4, "`*x` is an alias: write the value out, so that the plan shows it")),
        ("*x : 1", (1, 1, "`*x` is an alias: write the value out, so that the plan shows it")),
        (
            "<<: {a: 1}",
            (1, 1, "`<<` is a merge key: write the keys out, so that the plan shows them"),
        ),
        ("a: 1\na: 2", (2, 1, "`a` stands here twice (first in line 1): keep one of them")),
        (
            "a: !!python/object:os.system {}",
            (1, 4, ("`tag:yaml.org,2002:python/object:os.system` is a tag: plans have plain values "
             "only")),
        ),
        ("a: !!int '3'", (1, 4, "`tag:yaml.org,2002:int` is a tag: plans have plain values only")),
        ("a: .inf", (1, 4, "`.inf` is no finite number")),
        ("a: 1\n---\nb: 2", (2, 1, "a second document: a plan is one (remove `---`)")),
        ("? [a]\n: b", (1, 3, "a key is a plain word, no list and no mapping")),
        ("[" * 99, (1, DEPTH_MAX + 1, "nested deeper than 16 levels: no plan needs that")),
        (
            "a: [1\nb: 2",
            (2, 2, "no YAML: while parsing a flow sequence did not find expected ',' or ']'"),
        ),
        (
            "a: \x07",
            (1, 4, "no YAML: unacceptable character #x0007: control characters are not allowed"),
        ),
    ],
)  # fmt: skip
def test_what_is_no_plain_yaml_is_refused_where_it_stands(
    text: str, trouble: tuple[int, int, str]
) -> None:
    assert told(text) == [trouble]


def test_all_troubles_are_told() -> None:
    text = "a: &x 1\nb: *x\nc: 1\nc: {d: 1, d: 2}\n<<: {e: 1}\n"
    assert [(line, column) for line, column, _ in told(text)] == [
        (1, 4), (2, 4), (4, 1), (4, 11), (5, 1),
    ]  # fmt: skip


def test_an_alias_leaves_a_hole_and_no_value() -> None:
    document = read("a: [1, *x]\n")
    assert document.data == {"a": [1, None]}
    assert document.holes == {("a", 1)}


def test_a_quoted_merge_sign_is_a_key() -> None:
    assert read("'<<': 1").data == {"<<": 1}


def test_a_bomb_of_aliases_is_not_unfolded() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert len(read("\n".join(lines)).troubles) == 100

"""Style is a test (STYLE 15). The rules stand in `tests/tidy.py`; exceptions stand here, by name.

An exception that is no longer needed is an error too, so the lists cannot grow stale.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from chaos.checkers import CHECKERS
from tests import map as project_map
from tests import tidy

ROOT = Path(__file__).parent.parent

LONG_FUNCTIONS: dict[str, str] = {
    "dashboards/builder/chaos_board.py::_now": "a row of panels is a table",
    "dashboards/builder/chaos_board.py::_danger": "the same",
    "dashboards/builder/queue_board.py::_flow": "the same",
    "tests/judge/test_counters.py::test_every_counter_of_an_eventful_history": "the whole table",
}
LONG_FILES: dict[str, str] = {}
FILE_LINES = {"chaos": 400, "dashboards": 400, "service": 400, "tests": 600}

RANDOM_AND_TIME: dict[str, str] = {
    "chaos/seed.py": "the root of all randomness",
    "chaos/cli/clean_verb.py": "the age of a file is wall-clock time",
}
RANDOM_AND_TIME_FOLDERS = ("chaos/live/", "chaos/sim/seams.py", "chaos/worker/main.py",
                           "chaos/worker/recorder.py")  # fmt: skip
ENDLESS_LOOPS: dict[str, str] = {
    "chaos/soak.py": "it watches over the worlds, and is cancelled when they are led to their end",
}


def sources(folder: str) -> list[Path]:
    """The Python files of a folder, in order."""
    return sorted((ROOT / folder).rglob("*.py"))


CODE = sources("chaos") + sources("dashboards") + sources("service")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def tracked() -> Iterator[Path]:
    """Every file of the project: as git knows them, or as they lie here without git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
        yield from (ROOT / name for name in names if (ROOT / name).is_file())
    else:
        kept = (
            "chaos", "dashboards", "docs", "examples", "packaging", "plans", "requirements",
            "service", "tests",
        )  # fmt: skip
        for folder in kept:
            yield from sorted(path for path in (ROOT / folder).rglob("*") if path.is_file())


def collect(
    paths: list[Path], rule: Callable[[str], list[str]], exceptions: dict[str, str]
) -> list[str]:
    """The problems of all files but the excepted ones, and the exceptions that are not needed."""
    problems, needed = [], set()
    for path in paths:
        found = rule(path.read_text("utf-8"))
        if found and named(path) in exceptions:
            needed.add(named(path))
        else:
            problems += [f"{named(path)}: {problem}" for problem in found]
    stale = [f"{name}: exception is not needed" for name in exceptions if name not in needed]
    return problems + stale


def test_functions_fit_a_screen() -> None:
    problems = []
    for path in (*CODE, *sources("tests")):
        prefix = f"{named(path)}::"
        allowed = frozenset(
            name.removeprefix(prefix) for name in LONG_FUNCTIONS if name.startswith(prefix)
        )
        text = path.read_text("utf-8")
        problems += [f"{prefix}{problem}" for problem in tidy.too_long(text, allowed)]
        lengths = dict(tidy.functions(text))
        problems += [
            f"{prefix}{name}: exception is not needed"
            for name in sorted(allowed)
            if lengths.get(name, 0) <= tidy.SOFT_LINES
        ]
    assert problems == []


def test_files_fit_a_sitting() -> None:
    problems = []
    for folder, limit in FILE_LINES.items():
        for path in sources(folder):
            lines = len(path.read_text("utf-8").splitlines())
            if lines > limit and named(path) not in LONG_FILES:
                problems.append(f"{named(path)} has {lines} lines (at most {limit})")
    assert problems == []


def test_arrows_point_down_and_siblings_do_not_know_each_other() -> None:
    problems = []
    for path in sources("chaos"):
        if path != ROOT / "chaos" / "__init__.py":
            problems += tidy.layer_problems(path.read_text("utf-8"), module_of(path))
    for path in sources("service"):
        problems += tidy.service_problems(path.read_text("utf-8"), module_of(path))
    assert problems == []


def test_the_package_itself_imports_nothing() -> None:
    assert tidy.imports((ROOT / "chaos" / "__init__.py").read_text("utf-8"), "chaos") == []


def test_the_worker_package_loads_beside_any_application() -> None:
    excepted = {"chaos/worker/instrument.py": "prometheus-client, once somebody asks for it"}
    assert collect(sources("chaos/worker"), tidy.worker_problems, excepted) == []


def test_randomness_and_time_come_from_the_seed_and_the_clock() -> None:
    paths = [
        path for path in sources("chaos") if not named(path).startswith(RANDOM_AND_TIME_FOLDERS)
    ]
    assert collect(paths, tidy.banned, RANDOM_AND_TIME) == []


def test_every_loop_ends() -> None:
    assert collect(CODE, tidy.endless_loops, ENDLESS_LOOPS) == []


def test_nothing_loops_over_a_set() -> None:
    assert collect(CODE, tidy.set_iterations, {}) == []


def test_every_module_says_what_it_is() -> None:
    assert collect(CODE + sources("tests"), tidy.missing_docstring, {}) == []


def test_exceptions_to_lint_rules_have_a_reason_and_nothing_is_unfinished() -> None:
    paths = [path for path in (*CODE, *sources("tests")) if "tidy" not in path.name]
    assert collect(paths, tidy.unexplained, {}) == []


def test_no_tracked_file_names_a_registry_or_a_place_of_one_machine() -> None:
    problems = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        problems += [f"{named(path)}: {problem}" for problem in tidy.addresses(text)]
    assert problems == []


def test_what_a_module_exports_exists() -> None:
    assert collect(CODE, tidy.unbound_exports, {}) == []


def test_every_checker_has_a_sound_history_and_a_mutant() -> None:
    problems = []
    for checker in CHECKERS:
        path = ROOT / "tests" / "judge" / f"test_{checker.name.replace('-', '_')}.py"
        text = path.read_text("utf-8") if path.is_file() else ""
        problems += [f"{checker.name}: {problem}" for problem in tidy.one_sided(text)]
    assert problems == []


# --- documents ------------------------------------------------------------------------------------


def commands_in(text: str) -> list[list[str]]:
    """The `saq-chaos …` command lines in the code blocks of a Markdown text."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = (re.search(r"(?:^|[\s$])saq-chaos( .*)?$", line.split(" #")[0]) for line in lines)
    return [shlex.split(match[1] or "") for match in found if match]


def command_problems(words: list[str]) -> list[str]:
    """What in a documented command line the real one would refuse."""
    from chaos.cli.command_line import cli

    if not words or words[0].startswith("-"):
        return []
    context = click.Context(cli)
    verb = cli.get_command(context, words[0])
    if verb is None:
        return [f"no verb {words[0]}"]
    rest = words[1:]
    if isinstance(verb, click.Group) and rest:
        verb = verb.get_command(context, rest[0])
        if verb is None:
            return [f"no verb {' '.join(words[:2])}"]
    known = {name for parameter in verb.params for name in parameter.opts} | {"--help"}
    options = [word.partition("=")[0] for word in rest if word.startswith("--")]
    return [f"{words[0]} has no {option}" for option in options if option not in known]


def test_documented_commands_exist() -> None:
    problems = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for words in commands_in(path.read_text("utf-8")):
            problems += [f"{named(path)}: {problem}" for problem in command_problems(words)]
    assert problems == []
    assert commands_in((ROOT / "README.md").read_text("utf-8")), "README shows no command"


def test_the_map_is_what_the_modules_say_of_themselves() -> None:
    assert project_map.page() == project_map.PAGE.read_text("utf-8"), "run: python -m tests.map"


def test_the_changelog_has_a_section_for_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_makefile_has_exactly_the_documented_targets_each_with_a_line() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z]+):.*## (.+)$", text, re.MULTILINE)
    assert [name for name, _ in targets] == [
        "setup", "soak", "test", "lint", "check", "bench", "serve",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("dev.txt", ("dask", "dev", "embedded", "fast", "gate", "service", "sim")),
        ("image.txt", ("embedded", "fast", "gate", "image", "service", "sim")),
    ],
)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(
    lock: str, extras: tuple[str, ...]
) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    entries = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)
    assert [one for one in entries if one.strip() and "==" not in one.split("\n")[0]] == []
    assert [one.split(" ")[0] for one in entries if one and "--hash=sha256:" not in one] == []
    assert _declared(extras) - {one.split("==")[0] for one in entries} == set()
    assert "://" not in text
    assert not re.search(r"^--?[a-z]", text, re.MULTILINE)


def _declared(extras: tuple[str, ...]) -> set[str]:
    """Every distribution that pyproject.toml asks for with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in optional[extra])]
    names = {re.split(r"[^A-Za-z0-9-]", one)[0] for one in wanted}
    return names - {"saq-chaos"}


# --- the rules can fail ---------------------------------------------------------------------------

LONG = "def long():\n    '''Doc\n    string.'''\n" + "    x = 1\n" * 40


@pytest.mark.parametrize(
    ("rule", "source", "problems"),
    [
        (tidy.too_long, LONG, ["long has 41 lines (soft 40, hard 70)"]),
        (tidy.too_long, LONG.replace("    x = 1\n", "", 1), []),
        (
            tidy.too_long,
            "class A:\n    async def b(self):\n" + "        x = 1\n" * 70,
            ["A.b has 71 lines (soft 40, hard 70)"],
        ),
        (tidy.worker_problems, "import json, saq, redis\nfrom . import events", []),
        (tidy.worker_problems, "from chaos.plan import Plan", ["imports chaos.plan"]),
        (tidy.worker_problems, "def f():\n    import pydantic", ["imports pydantic"]),
        (tidy.banned, "import random\nx: random.Random", []),
        (tidy.banned, "import random\nrandom.choice(x)", ["line 2: random.choice"]),
        (tidy.banned, "import random as r", ["line 1: random under another name"]),
        (tidy.banned, "from random import choice", ["imports random.choice"]),
        (tidy.banned, "from random import Random\nx: Random", []),
        (tidy.banned, "from random import Random\nx = Random()", ["line 2: Random()"]),
        (tidy.banned, "import uuid", ["imports uuid"]),
        (tidy.banned, "from time import time", ["imports time.time"]),
        (tidy.banned, "import time\ntime.time()", ["line 2: time.time"]),
        (tidy.banned, "import time\ntime.monotonic()", []),
        (tidy.unbound_exports, "from a import b\n__all__ = ['b']", []),
        (tidy.unbound_exports, "__all__ = ['b']", ["exports b, which is not there"]),
        (tidy.one_sided, "", ["no sound history that passes", "no mutant that is caught"]),
        (
            tidy.one_sided,
            "def test_a():\n    assert x == Judgement()",
            ["no mutant that is caught"],
        ),
        (
            tidy.one_sided,
            "def test_a():\n    assert x == Judgement(findings=(Finding(),))",
            ["no sound history that passes"],
        ),
        (tidy.unbound_exports, "def __getattr__(name):\n    ...\n__all__ = ['b']", []),
        (tidy.unbound_exports, "b = 1\n__all__ = ['b', 'b']", ["exports b twice"]),
        (tidy.endless_loops, "while True:\n    pass", ["line 1: while True"]),
        (tidy.endless_loops, "while 1:\n    pass", ["line 1: while 1"]),
        (tidy.endless_loops, "while x < 3:\n    pass", []),
        (tidy.set_iterations, "for x in set(y):\n    pass", ["line 1: for … in set(y)"]),
        (tidy.set_iterations, "[x for x in {1, 2}]", ["line 1: for … in {1, 2}"]),
        (tidy.set_iterations, "for x in sorted(set(y)):\n    pass", []),
        (tidy.missing_docstring, "x = 1", ["the module has no docstring"]),
        (
            tidy.unexplained,
            "x = 1  # " + "noqa: S101",
            ["line 1: noqa needs codes and a reason: `noqa: S101 - why`"],
        ),
        (tidy.unexplained, "x = 1  # " + "noqa: S101, S102 - because", []),
        (tidy.unexplained, "# " + "TODO: later", ["line 1: unfinished: # TODO: later"]),
        (tidy.addresses, "see https://py" + "pi.org/x", ["line 1: py" + "pi.org"]),
        (tidy.addresses, "open /ro" + "ot/x", ["line 1: /ro" + "ot/"]),
        (tidy.addresses, "a/root/cause and https://example.org/home/", []),
    ],
)
def test_each_rule_sees_what_it_is_for(
    rule: Callable[[str], list[str]], source: str, problems: list[str]
) -> None:
    assert rule(source) == problems


@pytest.mark.parametrize(
    ("module", "source", "problems"),
    [
        ("chaos.run", "from chaos.live import world", []),
        ("chaos.live.world", "from chaos.live.server import x", []),
        (
            "chaos.live.world",
            "from chaos.faults import kill",
            ["chaos.live.world imports chaos.faults: siblings never import each other"],
        ),
        (
            "chaos.history",
            "def f():\n    from chaos import run",
            ["chaos.history imports chaos.run: arrows point down only"],
        ),
        (
            "chaos.judge",
            "import service.app",
            ["chaos.judge imports service.app: chaos never imports service"],
        ),
        ("chaos.worker.probe", "from saq import Worker", []),
        (
            "chaos.live.world",
            "import saq",
            ["chaos.live.world imports saq: only worker and sim may"],
        ),
        ("chaos.novelty", "", ["chaos.novelty has no layer: name it in LAYERS"]),
        (
            "chaos.faults.kill",
            "from ..live import world",
            ["chaos.faults.kill imports chaos.live: siblings never import each other"],
        ),
    ],
)
def test_the_layer_rule_sees_arrows_that_point_up_or_across(
    module: str, source: str, problems: list[str]
) -> None:
    assert tidy.layer_problems(source, module) == problems


def test_a_stale_exception_is_a_problem() -> None:
    path = ROOT / "chaos" / "errors.py"
    assert collect([path], tidy.banned, {"chaos/errors.py": "no reason"}) == [
        "chaos/errors.py: exception is not needed"
    ]


def test_a_documented_command_that_does_not_exist_is_a_problem() -> None:
    text = "```\n$ saq-chaos soak same-key --sed 3   # a comment\n$ saq-chaos sook\n```\n"
    assert [command_problems(words) for words in commands_in(text)] == [
        ["soak has no --sed"],
        ["no verb sook"],
    ]

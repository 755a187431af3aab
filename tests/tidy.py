"""The rules of STYLE as functions over source text: each returns the problems that it sees.

`tests/test_tidy.py` applies them to the tree, with every exception named beside its rule, and shows
on small bad snippets that each of them can fail.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

SOFT_LINES = 40
HARD_LINES = 70

# Arrows point down only: a module may import from a lower layer, its own folder, or its own layer,
# but SIBLINGS never import each other. A module that stands above its folder is named in full.
LAYERS = {
    "errors": 0, "clock": 0, "seed": 0, "version": 0, "worker": 0,
    "event": 1, "plan": 1, "plan_units": 1, "plan_faults": 1, "history": 1, "tail": 1,
    "verdict": 1, "world": 1, "checkout": 1, "installer": 1, "environments": 1, "variants": 1,
    "stored": 1,
    "schedule": 1, "host_files": 1, "job_keys": 1, "saq_settings": 1, "timeline": 1,
    "counters": 1, "thresholds": 1, "links": 1, "steering": 1,
    "workloads": 2, "faults": 2, "checkers": 2, "sim": 2, "live": 2,
    "ledger": 3, "gate": 3, "judge": 3, "metrics": 3, "plan_file": 3, "script": 3, "request": 3,
    "run": 4, "soak": 4, "sim.run_one": 4,
    "explore": 5, "reports": 5,
    "cli": 6, "pytest_plugin": 6,
}  # fmt: skip
SIBLINGS = ("workloads", "faults", "checkers", "sim", "live")
MAY_IMPORT_SAQ = ("worker", "sim")
BANNED_MODULES = ("random", "uuid")
WORKER_MAY_IMPORT = ("saq", "redis", "typing_extensions")


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Qualified name and length of every function, without its docstring and decorators."""
    yield from _functions(ast.parse(source), "")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        name = f"{prefix}{child.name}" if named else prefix  # type: ignore[attr-defined]
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name, _length(child)
        yield from _functions(child, f"{name}." if named else prefix)


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def too_long(source: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """Functions over the soft budget that are not allowed, and any over the hard one."""
    return [
        f"{name} has {length} lines (soft {SOFT_LINES}, hard {HARD_LINES})"
        for name, length in functions(source)
        if length > HARD_LINES or (length > SOFT_LINES and name not in allowed)
    ]


def imports(source: str, package: str) -> list[str]:
    """Full dotted names of everything imported anywhere in a module of `package`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            found += [f"{base}.{alias.name}" for alias in node.names]
    return found


def layer_problems(source: str, module: str) -> list[str]:
    """Arrows that point up or across. `module` is its dotted name, such as `chaos.live.world`."""
    own = _part(module)
    if own not in ("", *LAYERS):
        return [f"{module} has no layer: name it in LAYERS"]
    problems = []
    for name in imports(source, module.rpartition(".")[0]):
        parts = name.split(".")
        if parts[0] == "service":
            problems.append(f"{module} imports {name}: chaos never imports service")
        if parts[0] == "saq" and own.partition(".")[0] not in MAY_IMPORT_SAQ:
            problems.append(f"{module} imports {name}: only worker and sim may")
        if parts[0] == "chaos" and len(parts) > 1:
            problems += _arrow(module, own, _part(name))
    return problems


def service_problems(source: str, module: str) -> list[str]:
    """The service stands beside the command line, above all else; it knows no saq either."""
    package = module.rpartition(".")[0]
    names = [name.split(".") for name in imports(source, package)]
    return [
        f"{module} imports {'.'.join(parts)}: the service may not"
        for parts in names
        if parts[0] == "saq" or parts[:2] == ["chaos", "cli"]
    ]


def _part(module: str) -> str:
    """The part of `chaos` that a module, or a name in one, belongs to."""
    parts = module.split(".")
    in_full = ".".join(parts[1:3])
    return in_full if in_full in LAYERS else ".".join(parts[1:2])


def _arrow(module: str, own: str, other: str) -> list[str]:
    if other == own or other not in LAYERS:
        return []
    if own in SIBLINGS and other in SIBLINGS:
        return [f"{module} imports chaos.{other}: siblings never import each other"]
    if not own or LAYERS[other] > LAYERS[own]:
        return [f"{module} imports chaos.{other}: arrows point down only"]
    return []


def worker_problems(source: str) -> list[str]:
    """The worker package loads beside any application: standard library, saq, redis, relative."""
    problems = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in WORKER_MAY_IMPORT:
                problems.append(f"imports {name}")
    return problems


def banned(source: str) -> list[str]:
    """Randomness and wall-clock time that no seed repeats. The type `random.Random` is no draw."""
    problems = [f"imports {name}" for name in imports(source, "") if _is_banned_import(name)]
    for node in ast.walk(ast.parse(source)):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if text == "time.time" or (text.startswith("random.") and text != "random.Random"):
            problems.append(f"line {node.lineno}: {text}")  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Random", "random.Random"):
            problems.append(f"line {node.lineno}: Random()")
        if isinstance(node, ast.alias) and node.asname and node.name in ("random", "time"):
            problems.append(f"line {node.lineno}: {node.name} under another name")
    return problems


def _is_banned_import(name: str) -> bool:
    if name in ("random", "random.Random"):
        return False
    return name.partition(".")[0] in BANNED_MODULES or name == "time.time"


def unbound_exports(source: str) -> list[str]:
    """Names in `__all__` that the module does not bind, and names that stand there twice.

    A module with a `__getattr__` of its own binds names when they are asked for.
    """
    bound, exported = set(), []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for one in targets if isinstance(one, ast.Name)]
            bound |= set(names)
            if names == ["__all__"] and node.value is not None:
                exported = list(ast.literal_eval(node.value))
    unbound = [name for name in exported if name not in bound and "__getattr__" not in bound]
    missing = [f"exports {name}, which is not there" for name in unbound]
    twice = sorted({name for name in exported if exported.count(name) > 1})
    return missing + [f"exports {name} twice" for name in twice]


def endless_loops(source: str) -> list[str]:
    """`while True` (or 1): everything has a limit."""
    return [
        f"line {node.lineno}: while {ast.unparse(node.test)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value
    ]


def set_iterations(source: str) -> list[str]:
    """Loops straight over a set: its order changes from process to process."""
    loops = [
        node.iter
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
    ]
    return [f"line {one.lineno}: for … in {ast.unparse(one)}" for one in loops if _is_set(one)]


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("set", "frozenset")
    return isinstance(node, ast.Set | ast.SetComp)


def unexplained(source: str) -> list[str]:
    """`noqa` without a reason, and notes that something is still to be done."""
    problems = []
    for number, line in enumerate(source.splitlines(), 1):
        if re.search(r"#\s*noqa(?!: [A-Z]+\d+(, ?[A-Z]+\d+)* - \w)", line):
            problems.append(f"line {number}: noqa needs codes and a reason: `noqa: S101 - why`")
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
            problems.append(f"line {number}: unfinished: {line.strip()}")
    return problems


def one_sided(source: str) -> list[str]:
    """What tests of a checker lack: a sound history that passes, a mutant that is caught."""
    tests = [
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    mutants = [text for text in tests if re.search(r"Finding\(|findings|kinds", text)]
    sound = [text for text in tests if text not in mutants and "Judgement(" in text]
    problems = [] if sound else ["no sound history that passes"]
    return problems if mutants else [*problems, "no mutant that is caught"]


def missing_docstring(source: str) -> list[str]:
    """A module says what, why this way, and what it does not do."""
    return [] if ast.get_docstring(ast.parse(source)) else ["the module has no docstring"]


# Built from parts, so that this file does not hold what it looks for.
_ADDRESSES = tuple(
    "".join(parts)
    for parts in (
        ("pypi", ".org"), ("python", "hosted.org"), ("simple", "/index"), ("file:/", "//"),
        ("artifactory", "."), ("nexus", "."),
    )
)  # fmt: skip
_PLACES = re.compile("|".join((r"(?<![\w.])/" + name + "/") for name in ("root", "home", "work")))


def addresses(text: str) -> list[str]:
    """Host names of package registries, and paths of one machine."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        found = [word for word in _ADDRESSES if word in line]
        found += [match[0] for match in _PLACES.finditer(line)]
        problems += [f"line {number}: {word}" for word in found]
    return problems

"""The tables of docs/whats-here.md, made from the modules' own first sentences.

`python -m tests.map` writes them again; a test in `tests/test_tidy.py` compares. The text around
the tables is written by hand. What git does not know yet is left out.
"""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "whats-here.md"
FOLDERS = ("chaos", "dashboards", "service")
BEGIN = "<!-- modules: made from docstrings; `python -m tests.map` writes them again -->\n"
END = "<!-- end of modules -->\n"


def tables() -> str:
    """A section for each folder of chaos/, dashboards/ and service/, a row for each module."""
    known = modules()
    folders = sorted(path.parent for path in known if path.name == "__init__.py")
    return "\n".join(_section(folder, known) for folder in folders)


def modules() -> list[Path]:
    """The modules that git knows; all of them where there is no git."""
    command = ["git", "ls-files", "-z", *(f"{folder}/*.py" for folder in FOLDERS)]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if name]
    found = [ROOT / name for name in names] or [
        path
        for folder in ("chaos", "dashboards", "service")
        for path in (ROOT / folder).rglob("*.py")
    ]
    return sorted(path for path in found if path.is_file())


def page() -> str:
    """The page as it should be."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


def _section(folder: Path, known: list[Path]) -> str:
    said = _first(folder / "__init__.py")
    rows = [
        f"| `{path.relative_to(ROOT).as_posix()}` | {_first(path)} |"
        for path in known
        if path.parent == folder and path.name != "__init__.py"
    ]
    title = f"## {folder.relative_to(ROOT).as_posix()}/\n"
    table = ["| file | what it is |", "|---|---|", *rows] if rows else []
    return "\n".join([title, *([f"{said}\n"] if said else []), *table]) + "\n"


def _first(path: Path) -> str:
    """The first paragraph of a module's docstring, in one line."""
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(said.partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

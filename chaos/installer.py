"""Installs packages: `uv` where there is one, else `venv` and `pip`.

Both honour the user's own configuration of package indexes. Their output is shown only when they
fail, its last lines alone and with every address taken out: an index URL may hold a password.
This file knows nothing of saq beyond the name of the package that it looks up.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.errors import EnvironmentFailed

BUILD_SECONDS = 600
_TAIL_LINES = 15
_ADDRESSES = (
    (re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"()<>]+", re.IGNORECASE), "<address>"),
    (re.compile(r"host='[^']*'"), "host=<address>"),
    (re.compile(r"(host:?|domain|for) ['`]?[\w-]+(\.[\w-]+){1,}\.?['`]?(:\d+)?", re.IGNORECASE),
     r"\1 <address>"),
)  # fmt: skip
_NO_SUCH_RELEASE = ("no version of saq==", "no matching distribution found for saq==")
_NO_INDEX = ("from versions: none", "network was disabled", "not found in the cache")


def redact(text: str) -> str:
    """`text` without the addresses in it."""
    for pattern, replacement in _ADDRESSES:
        text = pattern.sub(replacement, text)
    return text


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    """Our own variables without those that would point another Python to our packages."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    }
    return {**inherited, **extra}


@dataclass(frozen=True, slots=True)
class Tool:
    """What installs packages. `uv` is none where there is none: then it is venv and pip."""

    uv: Path | None

    @classmethod
    def find(cls) -> Tool:
        """uv beside the running interpreter's scripts or on PATH; else the fallback."""
        beside = (Path(sys.executable).parent / "uv", Path(sysconfig.get_path("scripts")) / "uv")
        for path in beside:
            if path.is_file() and os.access(path, os.X_OK):
                return cls(path)
        found = shutil.which("uv")
        return cls(Path(found) if found else None)

    @property
    def name(self) -> str:
        return "uv" if self.uv else "venv and pip"

    def make_venv(self, python: Path, folder: Path) -> None:
        """Make an empty environment in `folder`, an existing empty folder."""
        if self.uv:
            argv = [str(self.uv), "venv", "--quiet", "--allow-existing", "--no-project"]
            _run([*argv, "--python", str(python), str(folder)], "the environment")
        else:
            _run([str(python), "-m", "venv", str(folder)], "the environment")

    def install(
        self, python: Path, requirements: Sequence[str], *, what: str, target: Path | None = None
    ) -> None:
        """Install into the environment of `python`; or these alone into the folder `target`."""
        where = ["--target", str(target), "--no-deps"] if target else []
        if self.uv:
            argv = [str(self.uv), "pip", "install", "--quiet", "--compile-bytecode"]
            argv += ["--python", str(python)]
        else:
            argv = [str(sys.executable if target else python), "-m", "pip", "install", "--quiet"]
            argv += ["--disable-pip-version-check", "--no-input"]
            argv += ["--upgrade"] if target else []
        _run([*argv, *where, *requirements], what)

    def knows(self, version: str) -> bool:
        """Whether the package index has this release of saq.

        Raises:
            EnvironmentFailed: the index cannot be asked.
        """
        wanted = f"saq=={version}"
        with tempfile.TemporaryDirectory(prefix="saqchaos-ask-") as folder:
            if self.uv:
                (Path(folder) / "in.txt").write_text(wanted)
                argv = [str(self.uv), "pip", "compile", "--quiet", "--no-deps", "--no-header"]
                argv += ["--python", sys.executable, f"{folder}/in.txt"]
            else:
                argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
                argv += ["--disable-pip-version-check", "--no-input", "-d", folder, wanted]
            code, output = _call(argv)
        said = " ".join(output.split()).lower()
        if not code:
            return True
        answered = not any(sign in said for sign in _NO_INDEX)
        if not (answered and any(sign in said for sign in _NO_SUCH_RELEASE)):
            raise EnvironmentFailed(
                f"saq {version} is not in the cache and the package index cannot be asked:\n"
                f"{_tail(output)}"
            )
        return False


def make_writable(folder: Path) -> None:
    """Make the folder of the environments, and find out now whether anything can be made in it.

    Raises:
        EnvironmentFailed: nothing can; the message names the folder and the way out.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise EnvironmentFailed(
            f"cannot keep environments in {folder}: {error.strerror}; name a folder that can be "
            f"written with SAQCHAOS_CACHE"
        ) from error


def _run(argv: list[str], what: str) -> None:
    code, output = _call(argv)
    if code:
        raise EnvironmentFailed(
            f"installing {what} failed with exit code {code}:\n{_tail(output)}\n"
            f"(environments are built once and then work offline; "
            f"SAQCHAOS_CACHE says where they are kept)"
        )


def _call(argv: list[str]) -> tuple[int, str]:
    """Run one command to its end; it never outlives us, whatever ends the wait."""
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", env=clean_environment({}), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise EnvironmentFailed(f"cannot run {argv[0]}: {error.strerror}") from error
    try:
        output, _ = process.communicate(timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailed(f"{argv[0]} did not end within {BUILD_SECONDS} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, output


def _tail(output: str) -> str:
    lines = [line.rstrip() for line in redact(output).splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-_TAIL_LINES:]) or "  (it said nothing)"

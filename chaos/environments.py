"""Environments: an interpreter with one saq and the redis-py that this saq declares.

    Recipe (requirements + Python) ──hash──► cache entry
        missing or broken: build in a temporary folder ──atomic rename──► entry

Built with `uv` where there is one, else with `venv` and `pip`; usable without a network afterwards.
Pins matter: redis-py 8 has a socket timeout of 5 s by default, which makes the idle BLMOVE of saq
raise, so that a soak would find another bug than saq's. saq 0.26 imports `typing_extensions`
without declaring it. With a user's application its own interpreter is used, and another saq is an
overlay: a folder with that saq and its redis-py alone, put before the application's packages.

The simulator runs inside the variant's process, so what it is made of must be importable there. A
built environment gets it pinned, as an entry of its own: environments for live runs stay light. An
application's own interpreter is left as it is, and is only asked (`SIM_MODULES`).

What a variant is, and whether its patch fits, is `chaos.variants`' work.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from chaos import checkout
from chaos.errors import EnvironmentFailed
from chaos.installer import BUILD_SECONDS, Tool, clean_environment, make_writable, redact

__all__ = [
    "Environment", "Inspection", "Interpreter", "Recipe", "Tool", "as_installed", "build",
    "cache_dir", "inspect", "interpreter", "recipe_of_checkout", "recipe_of_version",
    "with_simulator",
]  # fmt: skip

CACHE_VARIABLE = "SAQCHAOS_CACHE"
INSPECTION = Path(__file__).parent / "worker" / "inspection.py"
INSPECTION_MARK = "saq-chaos-inspection:"
INSPECTION_SECONDS = 60

# What saq needs beside itself and redis-py. Every version below is one that was soaked.
_COMMON = (
    "croniter==7.0.0",
    "python-dateutil==4.0.0",
    "typing_extensions==4.16.0",
    "tzdata==2026.6",
    "async-timeout==5.0.1; python_full_version < '3.11.3'",
)
_REDIS_5 = ("redis==5.3.1", "pyjwt==2.15.1")
_REDIS_6 = ("redis==6.4.0",)
_REDIS_7 = ("redis==7.4.1",)

# What the simulator needs beside saq: the extra `sim` of pyproject.toml, pinned.
SIM_MODULES = ("pydantic", "msgspec", "yaml", "greenlet", "lupa.lua51")
_SIM = ("pydantic==2.14.4", "msgspec==0.23.0", "pyyaml==6.0.4", "greenlet==3.5.6", "lupa==2.8")
_MARKER = "saq-chaos.json"
_ENTRY_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python: where it is, and the version (`3.11.7`) that its environments depend on."""

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an environment said about itself.

    `missing`: it does not work, and why. `lacking`: the first module of those asked for that it
    does not have, and why.
    """

    saq: str = ""
    saq_path: str = ""
    redis_py: str = ""
    python: str = ""
    problem: str = ""
    missing: str = ""
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a variant's processes run.

    Attributes:
        python: the interpreter that starts them.
        env: variables to add to the controller's own (PYTHONPATH for an overlay).
        saq: the version of saq that is imported there.
        redis_py: the version of redis-py that is imported there.
        description: one line for reports.
    """

    python: Path
    env: dict[str, str] = field(default_factory=dict)
    saq: str = ""
    redis_py: str = ""
    description: str = ""

    def described(self, found: Inspection) -> Environment:
        """The same environment with the versions that it reported."""
        line = f"saq {found.saq}, redis-py {found.redis_py}, Python {found.python}"
        return replace(self, saq=found.saq, redis_py=found.redis_py, description=line)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made of; equal recipes share one cache entry.

    Attributes:
        title: for people: `saq 0.26.3`.
        interpreter: what it is built with.
        saq: the requirement of saq itself.
        others: what goes with it, pinned where the version is known.
        source: the checkout to install instead of a release.
        content: digest of that checkout's files.
        overlay: a folder of saq and redis-py alone instead of a whole environment.
    """

    title: str
    interpreter: Interpreter
    saq: str
    others: tuple[str, ...]
    source: Path | None = None
    content: str = ""
    overlay: bool = False

    @property
    def key(self) -> str:
        """The name of the cache entry: readable, then a digest of all that it depends on."""
        parts = (
            str(_ENTRY_FORMAT), self.saq, *self.others, self.content, str(self.overlay),
            self.interpreter.version, platform.machine(),
        )  # fmt: skip
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        kind = "overlay" if self.overlay else "venv"
        return f"{kind}-{self.title.replace(' ', '-')}-{digest}"

    @property
    def entry(self) -> Path:
        """The folder in the cache, whether or not it is there yet."""
        return environments_dir() / self.key

    def is_cached(self) -> bool:
        """Whether a finished entry is there (it may still turn out to be broken)."""
        return (self.entry / _MARKER).is_file()

    def environment(self) -> Environment:
        """The environment that the entry gives."""
        if self.overlay:
            path = os.pathsep.join(filter(None, (str(self.entry), os.environ.get("PYTHONPATH"))))
            return Environment(self.interpreter.path, {"PYTHONPATH": path})
        return Environment(self.entry / "bin" / "python")


def cache_dir() -> Path:
    """`SAQCHAOS_CACHE`, or `saq-chaos` in the user's cache folder (XDG).

    Raises:
        EnvironmentFailed: neither is known.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "saq-chaos"
    try:
        return Path.home() / ".cache" / "saq-chaos"
    except RuntimeError as error:  # no HOME, and a user that the system does not know
        raise EnvironmentFailed(
            f"there is no home folder to keep environments in ({error}): name a folder that can "
            f"be written with {CACHE_VARIABLE}"
        ) from error


def environments_dir() -> Path:
    """Where the environments are: one folder and one lock file each."""
    return cache_dir() / "environments"


def interpreter(python: Path | None) -> Interpreter:
    """The interpreter at `python`, or the one that runs us.

    Raises:
        EnvironmentFailed: it does not run.
    """
    path = (python.expanduser() if python else Path(sys.executable)).absolute()
    code = "import platform; print(platform.python_version())"
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFailed(
            f"{path} does not run as a Python interpreter ({error}): name one with --python"
        ) from error
    return Interpreter(path, done.stdout.strip())


def recipe_of_version(version: str, python: Interpreter, overlay: bool) -> Recipe:
    """What a release of saq runs with."""
    pins = _redis_pins(version)
    others = (*pins, *_COMMON) if pins else ("redis<8", "typing_extensions")
    saq = f"saq=={version}" if pins else f"saq[redis]=={version}"
    return Recipe(f"saq {version}", python, saq, others, overlay=overlay)


def recipe_of_checkout(source: Path, python: Interpreter, overlay: bool) -> Recipe:
    """What a checkout runs with: what it declares itself, with redis-py below 8."""
    source = source.absolute()
    return Recipe(
        "saq checkout", python, "saq", ("redis<8", "typing_extensions"),
        source=source, content=checkout.content(source), overlay=overlay,
    )  # fmt: skip


def with_simulator(recipe: Recipe) -> Recipe:
    """The same with what the simulator needs; an overlay has that from its interpreter, or not."""
    if recipe.overlay:
        return recipe
    return replace(
        recipe, title=f"{recipe.title} with the simulator", others=(*recipe.others, *_SIM)
    )


def as_installed(python: Interpreter) -> Environment:
    """An interpreter as it is, with whatever saq it and the user's PYTHONPATH have."""
    inherited = os.environ.get("PYTHONPATH")
    return Environment(python.path, {"PYTHONPATH": inherited} if inherited else {})


def build(
    recipe: Recipe, tool: Tool, progress: Callable[[str], None], *, fresh: bool = False
) -> Environment:
    """The environment of a recipe: from the cache, or built into it first.

    Args:
        recipe: what to build.
        tool: what installs packages.
        progress: told one line for each step that takes time.
        fresh: throw the cache entry away first: it proved broken.

    Raises:
        EnvironmentFailed: the build failed; the message ends with the tool's last lines.
    """
    if recipe.is_cached() and not fresh:
        return recipe.environment()
    make_writable(environments_dir())
    with _locked(environments_dir() / f"{recipe.key}.lock", progress):
        if fresh or not recipe.is_cached():
            _discard(recipe.entry)
            _build_locked(recipe, tool, progress)
    return recipe.environment()


def inspect(
    environment: Environment,
    patch: str,
    folder: str = "",
    app: str = "",
    modules: tuple[str, ...] = (),
) -> Inspection:
    """Ask inside an environment which saq is there and whether `patch` fits it.

    Args:
        environment: where to ask.
        patch: `stock`, `by-key`, … or `module:WorkerClass`.
        folder: put first on the path for `module` and `app`, after saq itself was imported.
        app: `module:settings` of a user's application, or empty.
        modules: what else must be importable there.
    """
    argv = [str(environment.python), str(INSPECTION), patch, folder, app, *modules]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=INSPECTION_SECONDS,
            env=clean_environment(environment.env), stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Inspection(missing=redact(str(error)))
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(INSPECTION_MARK):
            return Inspection(**json.loads(line.removeprefix(INSPECTION_MARK)))
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Inspection(missing=redact(last))


# --- building -------------------------------------------------------------------------------------


def _build_locked(recipe: Recipe, tool: Tool, progress: Callable[[str], None]) -> None:
    """Build beside the entry, then put it in place at once: a half-built entry is never seen."""
    began = time.monotonic()
    progress(f"building an environment with {recipe.title} ({tool.name})")
    for stale in sorted(environments_dir().glob(f".{recipe.key}.*")):
        _discard(stale)  # a builder that was killed left it; we hold its lock
    folder = Path(tempfile.mkdtemp(prefix=f".{recipe.key}.", dir=environments_dir()))
    try:
        if recipe.overlay:
            _fill_overlay(recipe, tool, folder)
        else:
            _fill_venv(recipe, tool, folder)
        marker = {"format": _ENTRY_FORMAT, "title": recipe.title, "packages": _packages(folder)}
        (folder / _MARKER).write_text(json.dumps(marker, indent=1) + "\n")
        folder.rename(recipe.entry)
    finally:
        _discard(folder)
    progress(f"environment ready after {time.monotonic() - began:.1f} s")


def _fill_venv(recipe: Recipe, tool: Tool, folder: Path) -> None:
    tool.make_venv(recipe.interpreter.path, folder)
    with checkout.copied(recipe.source) as source:
        saq = f"{source}[redis]" if source else recipe.saq
        tool.install(folder / "bin" / "python", (saq, *recipe.others), what=recipe.title)


def _fill_overlay(recipe: Recipe, tool: Tool, folder: Path) -> None:
    """saq first: which redis-py goes with it stands in its own metadata, if not in our pins."""
    python = recipe.interpreter.path
    with checkout.copied(recipe.source) as source:
        saq = str(source) if source else recipe.saq.replace("[redis]", "")
        tool.install(python, (saq,), what=recipe.title, target=folder)
    redis = next(line for line in recipe.others if line.startswith("redis"))
    if "==" not in redis:
        redis = f"redis{_declared_redis(folder)}<8"
    tool.install(python, (redis,), what=recipe.title, target=folder)


def _declared_redis(folder: Path) -> str:
    """The range of redis-py that the installed saq declares, as `>=4.2,<7.0,`; or nothing."""
    for metadata in sorted(folder.glob("saq-*.dist-info/METADATA")):
        for line in metadata.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, rest = line.partition("Requires-Dist: redis")
            limits = rest.partition(";")[0].strip(" ()")
            if not name and limits and not limits.startswith("["):
                return f"{limits},"
    return ""


def _redis_pins(version: str) -> tuple[str, ...]:
    """The redis-py to run a release with; nothing for a release that nobody soaked yet."""
    parts = version.split(".")
    if not all(part.isdigit() for part in parts):
        return ()
    numbers = tuple(int(part) for part in (*parts, "0", "0")[:3])
    if (0, 22, 0) <= numbers < (0, 26, 0):
        return _REDIS_5
    if (0, 26, 0) <= numbers <= (0, 26, 3):
        return _REDIS_6
    return _REDIS_7 if numbers == (0, 26, 4) else ()


def _packages(folder: Path) -> list[str]:
    found = (path.name.removesuffix(".dist-info") for path in folder.rglob("*.dist-info"))
    return sorted(name.replace("-", "==", 1) for name in found)


def _discard(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(path: Path, progress: Callable[[str], None]) -> Iterator[None]:
    """Hold the build lock of one entry; wait as long as one build may take."""
    deadline = time.monotonic() + BUILD_SECONDS
    with path.open("w") as file:
        waiting = False
        while not _try_lock(file.fileno()):
            if not waiting:
                progress("waiting for another process that builds this environment")
            waiting = True
            if time.monotonic() > deadline:
                raise EnvironmentFailed(f"another process holds {path} for {BUILD_SECONDS} s")
            time.sleep(0.1)
        yield


def _try_lock(fd: int) -> bool:
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True

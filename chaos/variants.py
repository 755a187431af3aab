"""Variants: what `PATCH@SAQ` means, whether it can exist, and the environment it runs in.

    text ──parse──► Variant ──check──► (nothing started yet) ──prepare──► Environment

PATCH is a policy that ships (`stock`, `by-key`, …) or a user's own `module:WorkerClass`. SAQ is a
version, a path to a checkout, or `installed`. The controller imports no saq: what the table of
patches does not know (the version of a checkout, a user's class) is asked inside the variant's own
environment, by `chaos/worker/inspection.py`. How environments are built and cached is
`chaos.environments`' work.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos import environments
from chaos.environments import Environment, Inspection, Recipe, Tool
from chaos.errors import EnvironmentFailed, VariantError
from chaos.worker.patches import PATCHES, fits

INSTALLED = "installed"
FORM = "write PATCH@SAQ, such as stock@0.26.3, guarded@./saq or my.module:MyWorker@installed"

_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*")
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9@._+-]")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Variant:
    """A saq build under test.

    Attributes:
        text: as the user wrote it.
        label: its name in hosts, folders and reports; `text` with odd characters as `_`.
        patch: `stock`, `by-key`, … or `module:WorkerClass`.
        saq: a version, a path as it was written, or `installed`.
    """

    text: str
    label: str
    patch: str
    saq: str

    @property
    def own_class(self) -> bool:
        """Whether the patch is a user's own Worker class."""
        return ":" in self.patch

    @property
    def path(self) -> Path | None:
        """The checkout that SAQ names, if it names one."""
        return Path(self.saq).expanduser() if _is_path(self.saq) else None

    @property
    def version(self) -> str | None:
        """The release that SAQ names, if it names one."""
        return None if self.saq == INSTALLED or _is_path(self.saq) else self.saq


def parse(text: str) -> Variant:
    """The variant that `text` names.

    Raises:
        VariantError: it is no `PATCH@SAQ`, or names a patch that nobody knows.
    """
    patch, at, saq = text.strip().partition("@")
    if not (patch and at and saq):
        raise VariantError(f"{text!r} is no variant: {FORM}")
    _check_patch(patch, text)
    if saq != INSTALLED and not _is_path(saq) and not _VERSION.fullmatch(saq):
        raise VariantError(
            f"{saq!r} in {text!r} is no saq: write a version (0.26.3), "
            f"a path to a checkout (./saq), or {INSTALLED}"
        )
    return Variant(text.strip(), _NOT_IN_LABEL.sub("_", text.strip()), patch, saq)


def parse_all(texts: Sequence[str]) -> tuple[Variant, ...]:
    """All variants of a run, in order.

    Raises:
        VariantError: one is wrong, or two would have one label.
    """
    seen: dict[str, str] = {}
    variants = tuple(parse(text) for text in texts)
    for variant in variants:
        if variant.label in seen:
            raise VariantError(
                f"{seen[variant.label]!r} and {variant.text!r} would both be called "
                f"{variant.label!r}: name each variant once; if the paths differ, rename one"
            )
        seen[variant.label] = variant.text
    return variants


def check(
    variants: Sequence[Variant],
    *,
    app: str | None = None,
    python: Path | None = None,
    sim: bool = False,
) -> None:
    """Refuse what cannot exist, before anything is started or built.

    A version that is not in the cache is looked up in the package index. A checkout's version, a
    user's class and what is installed are known once the environment stands: `prepare` asks there.
    With `sim`, the environments are those of the simulator.

    Raises:
        VariantError: an unknown version, a patch that does not fit it, or a path that is no saq
            checkout.
        EnvironmentFailed: the interpreter does not run, or the index cannot be asked.
    """
    tool = Tool.find()
    interpreter = environments.interpreter(python)
    for variant in variants:
        if variant.path is not None:
            _check_checkout(variant, variant.path)
        elif variant.version is not None:
            if problem := fits(variant.patch, variant.version):
                raise VariantError(f"{variant.text}: {problem}")
            recipe = environments.recipe_of_version(variant.version, interpreter, app is not None)
            recipe = environments.with_simulator(recipe) if sim else recipe
            if not recipe.is_cached() and not tool.knows(variant.version):
                raise VariantError(
                    f"unknown saq version {variant.version!r} in {variant.text!r}: "
                    f"the package index has no such release"
                )


def prepare(
    variant: Variant,
    progress: Progress,
    *,
    app: str | None = None,
    python: Path | None = None,
    tool: Tool | None = None,
    sim: bool = False,
) -> Environment:
    """The environment of a variant, built on first use, and asked whether the patch fits.

    Args:
        variant: what to prepare.
        progress: told one line for each step that takes time.
        app: `module:settings` of a user's application: its interpreter is then used, and another
            saq is an overlay before that interpreter's own packages.
        python: the application's interpreter (or the one to build with); none: the running one.
        tool: what installs packages; none: uv if there is one, else venv and pip.
        sim: whether the simulator is to run in it: a built one then holds what that needs.

    Raises:
        EnvironmentFailed: the environment cannot be built or does not run.
        VariantError: the patch does not fit this saq, or its module cannot be imported there; or
            the interpreter is an application's own and lacks what the simulator needs.
    """
    interpreter = environments.interpreter(python)
    modules = environments.SIM_MODULES if sim else ()
    if variant.saq == INSTALLED:
        environment = environments.as_installed(interpreter)
        return _judged(variant, environment, _ask(variant, environment, app, modules))
    if variant.path is not None:
        _check_checkout(variant, variant.path)
        recipe = environments.recipe_of_checkout(variant.path, interpreter, app is not None)
    else:
        recipe = environments.recipe_of_version(variant.saq, interpreter, app is not None)
    recipe = environments.with_simulator(recipe) if sim else recipe
    return _built(variant, recipe, tool or Tool.find(), progress, app, modules)


def own_code_folder(variant: Variant, app: str | None) -> Path | None:
    """Where a user's application or Worker class is imported from: the working directory."""
    return Path.cwd() if app is not None or variant.own_class else None


def _built(
    variant: Variant,
    recipe: Recipe,
    tool: Tool,
    progress: Progress,
    app: str | None,
    modules: tuple[str, ...],
) -> Environment:
    """The environment of a recipe; one that proves broken in the cache is built once more."""

    def say(line: str) -> None:
        progress(f"{variant.text}: {line}")

    was_cached = recipe.is_cached()
    environment = environments.build(recipe, tool, say)
    found = _ask(variant, environment, app, modules)
    broken = found.missing or ("" if recipe.overlay else found.lacking)
    if broken and was_cached:
        say(f"the cached environment is broken ({broken})")
        environment = environments.build(recipe, tool, say, fresh=True)
        found = _ask(variant, environment, app, modules)
    return _judged(variant, environment, found)


def _ask(
    variant: Variant, environment: Environment, app: str | None, modules: tuple[str, ...]
) -> Inspection:
    """Ask inside the environment what is there, and whether the patch fits it."""
    folder = str(own_code_folder(variant, app) or "")
    return environments.inspect(environment, variant.patch, folder, app or "", modules)


def _judged(variant: Variant, environment: Environment, found: Inspection) -> Environment:
    if found.missing:
        raise _missing(variant, environment, found)
    if found.problem:
        raise VariantError(f"{variant.text}: {found.problem}")
    if found.lacking:
        raise VariantError(
            f"{variant.text}: the simulator runs inside {environment.python}, which lacks a part "
            f"of it ({found.lacking}); run {environment.python} -m pip install 'saq-chaos[sim]', "
            f"or name a saq version without --app, whose environment is built with it"
        )
    if variant.version is not None and found.saq != variant.version:
        raise EnvironmentFailed(
            f"{variant.text}: {environment.python} imports saq {found.saq} instead of "
            f"{variant.version}, from {found.saq_path}; is PYTHONPATH or a .pth file in the way?"
        )
    return environment.described(found)


def _missing(
    variant: Variant, environment: Environment, found: Inspection
) -> VariantError | EnvironmentFailed:
    if variant.saq == INSTALLED:
        return VariantError(
            f"{variant.text}: {environment.python} cannot import saq with Redis ({found.missing}); "
            f"run {environment.python} -m pip install 'saq[redis]' typing_extensions, "
            f"name the application's interpreter with --python, or name a saq version"
        )
    return EnvironmentFailed(
        f"{variant.text}: the environment of {environment.python} does not work: {found.missing}"
    )


def _check_patch(patch: str, text: str) -> None:
    names = list(PATCHES)
    if patch in names or _CLASS.fullmatch(patch):
        return
    near = difflib.get_close_matches(patch, names, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    raise VariantError(
        f"unknown patch {patch!r} in {text!r}{guess}: "
        f"use {', '.join(names)}, or module:WorkerClass of your own"
    )


def _check_checkout(variant: Variant, path: Path) -> None:
    built_by = [name for name in ("pyproject.toml", "setup.py") if (path / name).is_file()]
    if (path / "saq" / "worker.py").is_file() and built_by:
        return
    raise VariantError(
        f"{variant.saq!r} in {variant.text!r} is no saq checkout: it needs saq/worker.py and "
        f"pyproject.toml or setup.py (looked in {path.absolute()})"
    )


def _is_path(saq: str) -> bool:
    return "/" in saq or saq.startswith((".", "~"))

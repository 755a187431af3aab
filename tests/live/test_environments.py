"""Environments are built once, hold the right redis-py, survive damage, and fail in plain words.

The tests that build need a package index once, or a filled `SAQCHAOS_CACHE`; else they are skipped.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import environments, variants
from chaos.environments import Environment, Interpreter, Recipe, Tool
from chaos.errors import EnvironmentFailed, VariantError
from chaos.installer import redact

HERE = environments.interpreter(None)
Environments = Callable[[str], Environment]


@pytest.fixture
def index() -> None:
    """A package index that can be asked; a test that builds on purpose is skipped without one."""
    try:
        Tool.find().knows("0.26.4")
    except EnvironmentFailed as error:
        pytest.skip(f"the package index cannot be asked: {error}")


@pytest.mark.parametrize(
    ("version", "redis"),
    [
        ("0.22.4", "redis==5.3.1"),
        ("0.25.2", "redis==5.3.1"),
        ("0.26.0", "redis==6.4.0"),
        ("0.26.3", "redis==6.4.0"),
        ("0.26.4", "redis==7.4.1"),
        ("0.26.5", "redis<8"),
        ("0.12.1", "redis<8"),
        ("0.26.4rc1", "redis<8"),
    ],
)
def test_each_saq_gets_the_redis_py_that_it_declares(version: str, redis: str) -> None:
    recipe = environments.recipe_of_version(version, HERE, overlay=False)
    assert [line for line in recipe.others if line.startswith("redis")] == [redis]


def test_another_python_or_another_saq_is_another_cache_entry() -> None:
    other = Interpreter(HERE.path, "3.99.0")
    keys = {
        environments.recipe_of_version("0.26.3", HERE, overlay=False).key,
        environments.recipe_of_version("0.26.3", HERE, overlay=True).key,
        environments.recipe_of_version("0.26.4", HERE, overlay=False).key,
        environments.recipe_of_version("0.26.3", other, overlay=False).key,
    }
    assert len(keys) == 4


def test_a_built_environment_has_exactly_that_saq_and_its_redis_py(
    environment: Environments,
) -> None:
    old, new = environment("stock@0.26.3"), environment("guarded@0.26.4")
    assert (old.saq, old.redis_py) == ("0.26.3", "6.4.0")
    assert (new.saq, new.redis_py) == ("0.26.4", "7.4.1")
    assert old.python != new.python
    assert old.description.startswith("saq 0.26.3, redis-py 6.4.0, Python 3.")


def test_the_simulator_has_an_environment_of_its_own_beside_the_light_one(
    environment: Environments, sim_environment: Environments
) -> None:
    light, heavy = environment("stock@0.26.3"), sim_environment("stock@0.26.3")
    assert (heavy.saq, heavy.redis_py) == ("0.26.3", "6.4.0")
    assert heavy.python != light.python
    modules = environments.SIM_MODULES
    assert environments.inspect(heavy, "stock", modules=modules).lacking == ""
    assert environments.inspect(light, "stock", modules=modules).lacking == (
        "ModuleNotFoundError: No module named 'pydantic'"
    )


def test_an_interpreter_without_the_simulator_is_one_clear_error(environment: Environments) -> None:
    python = environment("stock@0.26.4").python
    with pytest.raises(VariantError) as error:
        variants.prepare(variants.parse("stock@installed"), print, python=python, sim=True)
    assert str(error.value) == (
        f"stock@installed: the simulator runs inside {python}, which lacks a part of it "
        "(ModuleNotFoundError: No module named 'pydantic'); "
        f"run {python} -m pip install 'saq-chaos[sim]', "
        "or name a saq version without --app, whose environment is built with it"
    )


def test_an_overlay_is_the_same_with_and_without_the_simulator() -> None:
    overlay = environments.recipe_of_version("0.26.3", HERE, overlay=True)
    assert environments.with_simulator(overlay) == overlay


def test_a_second_use_needs_no_index_and_says_nothing(
    environment: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment("stock@0.26.3")
    for name in ("UV_OFFLINE", "PIP_NO_INDEX"):
        monkeypatch.setenv(name, "1")
    lines: list[str] = []
    variant = variants.parse("stock@0.26.3")
    variants.check([variant])
    assert variants.prepare(variant, lines.append).saq == "0.26.3"
    assert lines == []


@pytest.mark.usefixtures("index")
def test_a_damaged_cache_entry_is_built_again(environment: Environments) -> None:
    found = environment("stock@0.26.3")
    package = next(found.python.parent.parent.glob("lib/python*/site-packages/croniter"))
    package.rename(package.with_name("gone"))
    lines: list[str] = []
    again = variants.prepare(variants.parse("stock@0.26.3"), lines.append)
    assert again == found
    assert lines[0] == (
        "stock@0.26.3: the cached environment is broken "
        "(ModuleNotFoundError: No module named 'croniter')"
    )
    assert lines[1].startswith("stock@0.26.3: building an environment with saq 0.26.3 (")


@pytest.mark.usefixtures("index")
def test_two_builders_of_one_entry_wait_for_each_other(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment("stock@0.26.3")  # the index can be had, and the installer's own cache is warm
    monkeypatch.setenv("SAQCHAOS_CACHE", str(tmp_path))
    recipe = environments.recipe_of_version("0.26.3", HERE, overlay=False)
    lines: list[str] = []

    def build() -> None:
        environments.build(recipe, Tool.find(), lines.append)

    builders = [threading.Thread(target=build) for _ in range(2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert sum("building" in line for line in lines) == 1
    kept = [path.name for path in (tmp_path / "environments").iterdir()]
    assert sorted(kept) == [recipe.key, f"{recipe.key}.lock"]


@pytest.mark.usefixtures("index")
def test_venv_and_pip_build_the_same_where_there_is_no_uv(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_uv = environment("stock@0.26.3")
    monkeypatch.setenv("SAQCHAOS_CACHE", str(tmp_path))
    with_pip = variants.prepare(variants.parse("stock@0.26.3"), print, tool=Tool(None))
    assert with_pip.description == with_uv.description


@pytest.mark.usefixtures("index")
def test_a_checkout_is_built_by_its_content(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = _checkout(environment("stock@0.26.4"), tmp_path / "saq checkout")
    before = sorted(path.name for path in checkout.iterdir())
    variant = variants.parse(f"guarded@{checkout}")
    first = variants.prepare(variant, print)
    (checkout / "saq" / "__init__.py").write_text(
        (checkout / "saq" / "__init__.py").read_text().replace("0.26.4", "0.26.99")
    )
    second = variants.prepare(variant, print)
    assert (first.saq, second.saq) == ("0.26.4", "0.26.99")
    assert first.python != second.python
    assert sorted(path.name for path in checkout.iterdir()) == before


@pytest.mark.usefixtures("index")
def test_an_overlay_puts_another_saq_before_an_applications_own(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = environment("stock@0.26.4")
    (tmp_path / "chat.py").write_text("settings = {'functions': [print]}\n")
    monkeypatch.chdir(tmp_path)
    overlaid = variants.prepare(
        variants.parse("by-id@0.26.3"), print, app="chat:settings", python=application.python
    )
    assert (overlaid.saq, overlaid.redis_py) == ("0.26.3", "6.4.0")
    assert overlaid.python == application.python
    as_it_is = variants.prepare(
        variants.parse("by-id@installed"), print, app="chat:settings", python=application.python
    )
    assert (as_it_is.saq, as_it_is.redis_py) == ("0.26.4", "7.4.1")


def test_an_app_that_cannot_be_imported_is_refused(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment("stock@0.26.4").python
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VariantError, match=r"chat:settings.* No module named 'chat'"):
        variants.prepare(
            variants.parse("stock@installed"), print, app="chat:settings", python=python
        )


def test_a_users_worker_class_is_looked_up_in_the_working_directory(
    environment: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment("stock@0.26.3")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.py").write_text(
        "from saq import Worker\nclass Ours(Worker):\n    pass\nclass Other:\n    pass\n"
    )
    assert variants.prepare(variants.parse("ours:Ours@0.26.3"), print).saq == "0.26.3"
    for text, message in (
        ("ours:Other@0.26.3", "'ours' has no class 'Other' that is a saq Worker"),
        (
            "theirs:Ours@0.26.3",
            "module 'theirs' cannot be imported: ModuleNotFoundError: No module named 'theirs'",
        ),
    ):
        with pytest.raises(VariantError) as error:
            variants.prepare(variants.parse(text), print)
        assert str(error.value) == f"{text}: {message}"


def test_an_interpreter_without_saq_is_no_installed_variant(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    with pytest.raises(VariantError) as error:
        variants.prepare(variants.parse("stock@installed"), print, python=python)
    assert str(error.value) == (
        f"stock@installed: {python} cannot import saq with Redis "
        f"(ModuleNotFoundError: No module named 'saq'); "
        f"run {python} -m pip install 'saq[redis]' typing_extensions, "
        f"name the application's interpreter with --python, or name a saq version"
    )


@pytest.mark.usefixtures("index")
def test_an_unknown_version_is_refused_before_a_build() -> None:
    with pytest.raises(VariantError) as error:
        variants.check([variants.parse("stock@9.9.9")])
    assert str(error.value) == (
        "unknown saq version '9.9.9' in 'stock@9.9.9': the package index has no such release"
    )


@pytest.mark.parametrize("tool", [Tool.find(), Tool(None)], ids=lambda tool: tool.name)
def test_without_an_index_an_uncached_version_is_a_clear_error(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UV_CACHE_DIR", "SAQCHAOS_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "http://user:secret@127.0.0.1:1/simple")
    for name in ("PIP_RETRIES", "UV_HTTP_RETRIES"):
        monkeypatch.setenv(name, "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(EnvironmentFailed) as error:
        tool.knows("0.26.3")
    message = str(error.value)
    first = "saq 0.26.3 is not in the cache and the package index cannot be asked:\n"
    assert message.startswith(first)
    assert "secret" not in message
    assert "127.0.0.1" not in message


def test_a_failed_build_shows_the_tools_words_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAQCHAOS_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")
    recipe = Recipe("saq nonsense", HERE, "saq==not-a-version", ())
    with pytest.raises(EnvironmentFailed, match=r"^installing saq nonsense failed with exit code"):
        environments.build(recipe, Tool.find(), print)
    assert [path.name for path in (tmp_path / "environments").iterdir()] == [f"{recipe.key}.lock"]


def test_a_cache_that_cannot_be_written_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me").write_text("no folder, so nothing can be made below it, by root neither")
    monkeypatch.delenv("SAQCHAOS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    recipe = Recipe("saq nonsense", HERE, "saq==not-a-version", ())
    with pytest.raises(EnvironmentFailed) as failed:
        environments.build(recipe, Tool.find(), print)
    assert str(failed.value) == (
        f"cannot keep environments in {tmp_path}/me/.cache/saq-chaos/environments: "
        "Not a directory; name a folder that can be written with SAQCHAOS_CACHE"
    )


def test_a_user_without_a_home_is_told_to_name_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAQCHAOS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_000)  # one that the system does not know
    with pytest.raises(EnvironmentFailed, match=r"no home folder .* with SAQCHAOS_CACHE$"):
        environments.cache_dir()


def test_addresses_are_taken_out_of_what_a_tool_said() -> None:
    said = (
        "Looking in indexes: https://me:pw@index.example/simple\n"
        "HTTPConnectionPool(host='index.example', port=80): failed to resolve host index.example"
    )
    assert redact(said) == (
        "Looking in indexes: <address>\n"
        "HTTPConnectionPool(host=<address>, port=80): failed to resolve host <address>"
    )


def _checkout(built: Environment, folder: Path) -> Path:
    """A saq checkout made of an installed saq: the package and a pyproject.toml."""
    package = next(built.python.parent.parent.glob("lib/python*/site-packages/saq"))
    for path in sorted(package.rglob("*.py")):
        target = folder / "saq" / path.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "saq"\nversion = "0.26.4"\ndependencies = ["croniter>=0.3.18"]\n'
        '[project.optional-dependencies]\nredis = ["redis>=4.2,<8.0"]\n'
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[tool.setuptools]\npackages = ["saq", "saq.queue"]\n'
    )
    return folder

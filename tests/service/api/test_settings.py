"""Settings from the environment: what is wrong is said with its variable and the way out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from service import settings_loading
from service.settings_loading import WrongSettings, load, unknown

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("SAQCHAOS_") and name != "SAQCHAOS_CACHE":
            monkeypatch.delenv(name)


def environ(monkeypatch: pytest.MonkeyPatch, **variables: str) -> dict[str, str]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


def test_the_documentation_has_every_setting_with_its_default() -> None:
    text = (ROOT / "docs" / "service.md").read_text("utf-8")
    rows = re.findall(r"^\| `(SAQCHAOS_\w+)` \| (?:`([^`]*)`)? ?\| .{10,} \|$", text, re.MULTILINE)
    assert rows == settings_loading.variables()


def test_settings_come_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load(environ(monkeypatch, SAQCHAOS_PORT="0", SAQCHAOS_LIMITS__RUN_S="60",
                         SAQCHAOS_VARIANTS="stock@0.26.4, guarded@0.26.3"))  # fmt: skip
    assert (found.port, found.limits.run_s) == (0, 60)
    assert found.variants == ("stock@0.26.4", "guarded@0.26.3")


def test_every_wrong_variable_is_named_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = environ(monkeypatch, SAQCHAOS_PORT="80800", SAQCHAOS_LIMITS__RUN_S="soon")
    with pytest.raises(WrongSettings) as caught:
        load(variables)
    no_integer = "input should be a valid integer, unable to parse string as an integer"
    way_out = "; correct or unset it (docs/service.md)"
    assert [one.removesuffix(way_out) for one in caught.value.problems] == [
        "SAQCHAOS_PORT='80800': input should be less than or equal to 65535",
        f"SAQCHAOS_LIMITS__RUN_S='soon': {no_integer}",
    ]
    assert all(one.endswith(way_out) for one in caught.value.problems)


def test_what_is_no_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongSettings, match=r"SAQCHAOS_APPS='\{shop': is no JSON"):
        load(environ(monkeypatch, SAQCHAOS_APPS="{shop"))


def test_a_value_that_may_be_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = '{"ci": {"url": "https://example.org", "key": "hunter2"}}'
    with pytest.raises(WrongSettings) as caught:
        load(environ(monkeypatch, SAQCHAOS_WEBHOOKS=wrong))
    assert "SAQCHAOS_WEBHOOKS__CI__SECRET" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(WrongSettings) as caught:
        load(environ(monkeypatch, SAQCHAOS_WEBHOOKS='{"hunter2'))
    assert str(caught.value) == (
        "SAQCHAOS_WEBHOOKS: is no JSON; docs/service.md shows what it looks like"
    )


def test_a_value_can_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "hooks"
    file.write_text('{"ci": {"url": "https://example.org/x", "secret": "abc"}}\n')
    found = load(environ(monkeypatch, SAQCHAOS_WEBHOOKS_FILE=str(file)))
    assert found.webhooks["ci"].secret.get_secret_value() == "abc"


def test_a_value_can_come_from_a_folder_of_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "saqchaos_redis").write_text('{"staging": {"url": "redis://:pw@h:1"}}')
    found = load(environ(monkeypatch, SAQCHAOS_SECRETS_DIR=str(tmp_path)))
    assert found.redis["staging"].url.get_secret_value() == "redis://:pw@h:1"


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongSettings) as caught:
        load(environ(monkeypatch, SAQCHAOS_REDIS_FILE="nowhere"))
    assert str(caught.value) == (
        "SAQCHAOS_REDIS_FILE='nowhere' cannot be used: No such file or directory"
    )


def test_a_variable_that_nothing_reads_is_pointed_out() -> None:
    found = unknown({"SAQCHAOS_PROT": "1", "SAQCHAOS_CACHE": "x", "SAQCHAOS_REDIS_FILE": "f",
                     "SAQCHAOS_LIMITS__RUN_S": "1", "HOME": "h"})  # fmt: skip
    assert found == ["nothing reads SAQCHAOS_PROT: did you mean SAQCHAOS_PORT?"]

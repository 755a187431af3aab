"""Where the service may listen, and what it takes for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.errors import UsageError
from service.security.exposure import check_exposure, is_loopback
from tests.service.security.stage import app_of, settings_in, tokens_in


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_needs_no_tokens(tmp_path: Path, host: str) -> None:
    check_exposure(settings_in(tmp_path, host=host))
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.7", "chaos.example", "localhost."])
def test_beyond_loopback_there_is_no_service_without_tokens(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match="has no tokens: make one with"):
        check_exposure(settings_in(tmp_path, host=host))
    with pytest.raises(UsageError, match="has no tokens"):
        app_of(settings_in(tmp_path, host=host))


def test_beyond_loopback_tokens_are_enough(tmp_path: Path) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    check_exposure(settings_in(tmp_path, host="0.0.0.0", tokens_file=path))


def test_a_bad_tokens_file_is_refused_before_anything_listens(tmp_path: Path) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    path.chmod(0o644)
    with pytest.raises(UsageError, match="has mode 0644"):
        check_exposure(settings_in(tmp_path, host="127.0.0.1", tokens_file=path))

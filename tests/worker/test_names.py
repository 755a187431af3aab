"""One package under two names, and what the names of patches mean."""

from __future__ import annotations

import pytest

from chaos.worker import PATCHES, PatchError, fits, worker_class
from tests.worker.conftest import Scenarios

ENVIRONMENT = "stock@0.26.4"
ACCEPTED = "use stock, by-key, by-id, guarded, or module:WorkerClass of your own"
DOES_NOT_WAIT = "before that, saq's abort() does not wait for the body that it cancels"
ON_THE_PATH = "write module:WorkerClass, with the module's folder on the path"


def test_the_package_is_one_module_object_under_both_of_its_names(scenarios: Scenarios) -> None:
    assert scenarios("names", ENVIRONMENT)["one package"] == {
        "no chaos before": True,
        "package": True,
        "module": True,
        "class": True,
        "spec": True,
    }


def test_an_application_keeps_its_own_package_called_chaos(scenarios: Scenarios) -> None:
    found = scenarios("names", ENVIRONMENT)["an own chaos"]
    assert found == {"whose": "the application", "ours": "BLIND"}


def test_a_patch_or_a_class_of_ones_own_names_a_worker_class(scenarios: Scenarios) -> None:
    found = scenarios("names", ENVIRONMENT)["worker classes"]
    assert found == {
        "stock": True,
        "by-key": "ByKeyWorker",
        "by-id": "ByIdWorker",
        "guarded": "GuardedWorker",
        "mine:Mine": "Mine",
        "mine:Outer.Inner": "Inner",
        "guard": f"unknown patch 'guard': {ACCEPTED}",
        "mine:Other": (
            f"patch 'mine:Other' is no saq Worker class but <class 'mine.Other'>: {ACCEPTED}"
        ),
        "mine:None": (
            "patch 'mine:None' cannot be imported "
            f"(AttributeError: module 'mine' has no attribute 'None'): {ON_THE_PATH}"
        ),
        "broken:Mine": (
            "patch 'broken:Mine' cannot be imported "
            f"(ZeroDivisionError: division by zero): {ON_THE_PATH}"
        ),
        "nowhere:Mine": (
            "patch 'nowhere:Mine' cannot be imported "
            f"(ModuleNotFoundError: No module named 'nowhere'): {ON_THE_PATH}"
        ),
    }


def test_the_names_can_be_read_and_refused_where_there_is_no_saq() -> None:
    assert tuple(PATCHES) == ("stock", "by-key", "by-id", "guarded")
    with pytest.raises(PatchError, match="unknown patch 'guard'"):
        worker_class("guard")


@pytest.mark.parametrize(
    ("patch", "version"),
    [
        ("stock", "0.1.0"),
        ("by-key", "0.22.4"),
        ("by-id", "0.26.0"),
        ("by-id", "1.0"),
        ("guarded", "0.26.4rc1"),
        ("guarded", "unknown"),
        ("mine:Mine", "0.22.4"),
    ],
)
def test_a_patch_fits_what_it_was_made_for(patch: str, version: str) -> None:
    assert fits(patch, version) == ""


@pytest.mark.parametrize(
    ("patch", "version", "reason"),
    [
        (
            "by-id",
            "0.25.2",
            f"patch 'by-id' needs saq 0.26 or newer, not 0.25.2: {DOES_NOT_WAIT}",
        ),
        (
            "guarded",
            "0.20.1",
            "patch 'guarded' needs saq 0.22 or newer, not 0.20.1: nothing older was tried",
        ),
        ("guard", "0.26.4", f"unknown patch 'guard': {ACCEPTED}"),
    ],
)
def test_a_patch_that_does_not_fit_says_why(patch: str, version: str, reason: str) -> None:
    assert fits(patch, version) == reason

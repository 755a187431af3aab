"""What `PATCH@SAQ` may say, and what is refused before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import variants
from chaos.errors import EnvironmentFailed, VariantError
from chaos.variants import Variant

FORM = "write PATCH@SAQ, such as stock@0.26.3, guarded@./saq or my.module:MyWorker@installed"


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("stock@0.26.3", Variant("stock@0.26.3", "stock@0.26.3", "stock", "0.26.3")),
        ("by-id@1.0rc1", Variant("by-id@1.0rc1", "by-id@1.0rc1", "by-id", "1.0rc1")),
        ("guarded@./saq", Variant("guarded@./saq", "guarded@._saq", "guarded", "./saq")),
        ("stock@~/my saq", Variant("stock@~/my saq", "stock@__my_saq", "stock", "~/my saq")),
        ("a.b:W@installed", Variant("a.b:W@installed", "a.b_W@installed", "a.b:W", "installed")),
    ],
)
def test_a_variant_is_a_patch_and_a_saq(text: str, variant: Variant) -> None:
    assert variants.parse(text) == variant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stock", f"'stock' is no variant: {FORM}"),
        ("@0.26.3", f"'@0.26.3' is no variant: {FORM}"),
        ("stock@", f"'stock@' is no variant: {FORM}"),
        (
            "guardet@0.26.3",
            (
                "unknown patch 'guardet' in 'guardet@0.26.3' (did you mean guarded?): "
                "use stock, by-key, by-id, guarded, or module:WorkerClass of your own"
            ),
        ),
        (
            "my module:W@0.26.3",
            (
                "unknown patch 'my module:W' in 'my module:W@0.26.3': "
                "use stock, by-key, by-id, guarded, or module:WorkerClass of your own"
            ),
        ),
        (
            "stock@latest",
            (
                "'latest' in 'stock@latest' is no saq: write a version (0.26.3), "
                "a path to a checkout (./saq), or installed"
            ),
        ),
    ],
)
def test_what_is_no_variant_is_refused_with_the_form(text: str, message: str) -> None:
    with pytest.raises(VariantError) as error:
        variants.parse(text)
    assert str(error.value) == message


def test_two_variants_of_one_name_are_refused() -> None:
    with pytest.raises(VariantError) as error:
        variants.parse_all(["stock@./a_b", "guarded@0.26.3", "stock@./a b"])
    assert str(error.value) == (
        "'stock@./a_b' and 'stock@./a b' would both be called 'stock@._a_b': "
        "name each variant once; if the paths differ, rename one"
    )


def test_a_patch_that_does_not_fit_the_version_is_refused_before_a_build() -> None:
    with pytest.raises(VariantError) as error:
        variants.check([variants.parse("by-id@0.25.1")])
    assert str(error.value) == (
        "by-id@0.25.1: patch 'by-id' needs saq 0.26 or newer, not 0.25.1: "
        "before that, saq's abort() does not wait for the body that it cancels"
    )


def test_a_path_without_a_saq_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VariantError) as error:
        variants.check([variants.parse(f"stock@{tmp_path}")])
    assert str(error.value) == (
        f"'{tmp_path}' in 'stock@{tmp_path}' is no saq checkout: it needs saq/worker.py and "
        f"pyproject.toml or setup.py (looked in {tmp_path})"
    )


def test_an_interpreter_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed) as error:
        variants.check([variants.parse("stock@installed")], python=tmp_path / "python")
    assert str(error.value).startswith(f"{tmp_path}/python does not run as a Python interpreter (")
    assert str(error.value).endswith("): name one with --python")

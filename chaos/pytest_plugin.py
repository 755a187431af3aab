"""The pytest plugin: seeds of a plan, explored in the simulator, inside a project's own tests.

    @pytest.mark.saq_chaos(plan="same-key", variant="stock@installed", seeds=200)
    def test_our_worker_survives_the_same_key_race(saq_chaos):
        saq_chaos.explore()

The marker and the call take the same names, those of `Exploration.explore`; the call wins. The test
fails unless the gate passes: a broken promise shows its story and the command that repeats it, and
a danger that was not met is a failure too, since a quiet run proves nothing. `installed` is the saq
of the environment that runs pytest, which needs `saq-chaos[sim]` for it. Nothing heavy is imported
before a test asks for the fixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chaos.explore.explore import ExploreResult

MARKER = "saq_chaos"
ARGUMENTS = (
    "plan", "variant", "seeds", "seed", "promises", "duration", "swarm", "jobs", "app",
    "allow_unknown",
)  # fmt: skip
WIDTH = 100


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(plan, variant='stock@installed', seeds=100, seed, promises, duration, "
        "swarm=False, jobs=1, app, allow_unknown=False): what the fixture saq_chaos explores",
    )


@pytest.fixture
def saq_chaos(request: pytest.FixtureRequest, tmp_path: Path) -> Exploration:
    """Explores what the test's marker says. Run directories lie in the test's `tmp_path`."""
    marker = request.node.get_closest_marker(MARKER)
    given = dict(marker.kwargs) if marker else {}
    if marker and marker.args:
        raise pytest.UsageError(f"{MARKER}{marker.args!r}: name what you give: plan=…, seeds=…")
    unknown = sorted(name for name in given if name not in ARGUMENTS)
    if unknown:
        raise pytest.UsageError(
            f"{MARKER} does not know {', '.join(unknown)}; accepted are {', '.join(ARGUMENTS)}"
        )
    return Exploration(tmp_path / "saq-chaos", given)


@dataclass(frozen=True)
class Exploration:
    """What a test explores.

    Attributes:
        runs_dir: where run directories are made.
        given: what the test's marker says.
    """

    runs_dir: Path
    given: dict[str, Any] = field(default_factory=dict)

    def explore(self, **named: Any) -> ExploreResult:
        """Run seeds of a plan on one variant; fail the test unless the gate passes.

        Args:
            named: over what the marker says. plan: a shipped plan's name or a YAML file. variant:
                `PATCH@SAQ`. seeds: how many. seed: what they are drawn from; the plan's own unless
                given. promises: the only ones to be judged. duration: of each seed, as text.
                swarm: let each seed draw the plan's parameters. jobs: seeds at a time. app:
                `module:settings`. allow_unknown: do not fail where the danger was not met.

        Returns:
            The verdict, what was searched, and the run directory.

        Raises:
            SaqChaosError: the plan or the variant is wrong, or its environment does not work.
        """
        options = {**self.given, **named}
        unknown = sorted(name for name in options if name not in ARGUMENTS)
        if unknown:
            accepted = ", ".join(ARGUMENTS)
            raise TypeError(f"explore() does not know {', '.join(unknown)}; it takes {accepted}")
        if "plan" not in options:
            raise TypeError(f"explore() needs a plan, here or in the marker {MARKER}")
        result = _explored(self.runs_dir, options)
        _assert_passed(result, allow_unknown=bool(options.get("allow_unknown")))
        return result


def _explored(runs_dir: Path, options: dict[str, Any]) -> ExploreResult:
    from chaos.checkers import by_name
    from chaos.cli.exploring import Quiet
    from chaos.explore.explore import explore
    from chaos.explore.request import ExploreRequest
    from chaos.explore.search import Extent
    from chaos.plan_file import Overrides, load

    overrides = Overrides(
        variants=(options.get("variant", "stock@installed"),),
        seed=options.get("seed"),
        duration=options.get("duration"),
        gate="strict",
        app=options.get("app"),
    )
    plan = load(str(options["plan"]), overrides)
    if options.get("promises"):
        names = tuple(dict.fromkeys(by_name(name).name for name in options["promises"]))
        plan = plan.model_copy(update={"promises": names})
    seeds = int(options.get("seeds", 100))
    request = ExploreRequest(
        plan=plan,
        runs_dir=runs_dir,
        extent=Extent(seeds=seeds, lengths=options.get("duration") is None),
        jobs=int(options.get("jobs", 1)),
        swarm=bool(options.get("swarm")),
        app=options.get("app"),
    )
    return explore(request, Quiet())


def _assert_passed(result: ExploreResult, *, allow_unknown: bool) -> None:
    """Keep the reports; fail with what a person needs: what broke, how, how to see it again."""
    from chaos.cli.exploring import tell
    from chaos.reports import exploration, files, story, text, words

    files.write(result.folder, result.verdict, result.history)
    if result.failure is not None:
        raise result.failure
    code = words.exit_code(result.verdict)
    if code == 0 or (code == 3 and allow_unknown):
        return
    told = tell(result)
    parts = [
        exploration.render(result.explored),
        f"{story.text(told, WIDTH)}\n" if told is not None else "",
        text.render(result.verdict, result.history, run_dir=result.folder, width=WIDTH),
    ]
    pytest.fail("".join(parts), pytrace=False)

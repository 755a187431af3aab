"""Every error that saq-chaos raises on purpose, and the exit code that each one means.

    SaqChaosError
    ├── UsageError            2   the request is wrong: nothing was started
    │   ├── PlanError         2   a plan file is wrong; carries every problem at once
    │   └── VariantError      2   PATCH@SAQ names something that does not exist or does not fit
    ├── WorldError            4   the world failed: no verdict on saq can be drawn
    │   ├── EnvironmentFailed 4   a variant's environment could not be built
    │   ├── ServerFailed      4   a Redis server did not start, or stopped by itself
    │   ├── HostFailed        4   a worker or producer process did not come up
    │   └── NotModelled       4   the program under test needs what the simulator has not
    └── HistoryError          2   a stored history cannot be read

A message shows the offending value and the way out. The command line prints the message alone,
never a traceback: a traceback means a fault of ours.
"""

from __future__ import annotations


class SaqChaosError(Exception):
    """Base of the tree. `exit_code` is what the command line returns for it."""

    exit_code = 4


class UsageError(SaqChaosError):
    """The request is wrong; nothing was started and nothing was lost."""

    exit_code = 2


class PlanError(UsageError):
    """A plan is wrong. `problems` holds all of them, each with its place in the file."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class VariantError(UsageError):
    """A variant cannot exist: unknown patch, unknown saq, or a patch that does not fit it."""


class HistoryError(UsageError):
    """A stored history cannot be read; the message names the line."""


class WorldError(SaqChaosError):
    """The world in which the run should have happened failed."""


class EnvironmentFailed(WorldError):
    """The environment of a variant could not be built."""


class ServerFailed(WorldError):
    """A Redis server could not be found, did not start, or stopped by itself."""


class HostFailed(WorldError):
    """A worker or producer process did not come up, or ended when it should not have."""


class NotModelled(WorldError):
    """The program under test needs something that the simulator has not, named in the message."""

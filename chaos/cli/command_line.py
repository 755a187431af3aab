"""The command line: finds the verb, turns every way to end into a message and an exit code.

    SaqChaosError      its message on stderr, its exit code (2 or 4)
    a usage error      click's message with the closest accepted value, exit 2
    ^C, SIGTERM        exit 130, after the verb healed what it had broken
    a broken pipe      the output ends; the exit code stays that of the verb
    anything else      a fault of ours: one line, the traceback in a file or with --debug, exit 4

Verbs are imported when they are called.
"""

from __future__ import annotations

import importlib
import tempfile
import traceback
from collections.abc import Sequence

import click

from chaos.cli import output
from chaos.cli.main import EXIT_INTERRUPTED
from chaos.cli.params import closest
from chaos.errors import SaqChaosError

VERBS = (
    "soak", "explore", "replay", "confirm", "export", "check", "story", "validate", "list",
    "gate", "prepare", "doctor", "clean", "serve", "bench",
)  # fmt: skip
EXIT_FAULT_OF_OURS = 4


class Verbs(click.Group):
    """The verbs, each in a module of its own (`soak` in `chaos.cli.soak_verb`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"chaos.cli.{cmd_name}_verb")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            ctx.fail(f"there is no verb {name!r}: {closest(name, VERBS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="saq-chaos", prog_name="saq-chaos")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault of ours.")
def cli(debug: bool) -> None:
    """Prove what a saq worker does under fire: restarts, sweeps, aborts, crashes.

    \b
    See the same-key race on stock saq, and what each repair cures:
      saq-chaos soak same-key --variant stock@0.26.3 --variant guarded@0.26.3
    Gate a deploy on your own app and your own build of saq:
      saq-chaos soak my-plan.yaml --app myapp.tasks:settings --variant stock@./saq
    Judge a stored run again, or one that crashed:
      saq-chaos check runs/latest
    Find a schedule that breaks it, and see that very one again, here or on real parts:
      saq-chaos explore same-key --variant stock@0.26.3 --until-failure
      saq-chaos replay runs/latest
      saq-chaos confirm runs/latest
      saq-chaos export runs/latest --pytest test_it.py
    Find out why something does not start here:
      saq-chaos doctor

    \b
    Exit codes: 0 the gate passed, 1 it failed, 2 the request is wrong,
    3 UNKNOWN (the danger was not met), 4 the world failed, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command line.

    Returns:
        The exit code (DESIGN, Exit codes).
    """
    try:
        code = cli.main(args=list(arguments), prog_name="saq-chaos", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SaqChaosError as error:
        output.say(f"saq-chaos: {error}")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.say("saq-chaos: interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever is left is a fault of ours: told as one
        return _fault_of_ours(error, debug="--debug" in arguments)
    return code if isinstance(code, int) else 0


def _fault_of_ours(error: Exception, debug: bool) -> int:
    text = "".join(traceback.format_exception(error))
    if debug:
        output.say(text.rstrip())
        where = "the traceback is above"
    else:
        where = f"the traceback is in {_keep(text)}"
    output.say(
        f"saq-chaos: {type(error).__name__}: {error}\n"
        f"This is a fault of saq-chaos, not of your plan or of saq; {where}."
    )
    return EXIT_FAULT_OF_OURS


def _keep(text: str) -> str:
    """Write the traceback to a file of its own (0600) and return its path."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="saq-chaos-fault-", suffix=".txt", delete=False
    ) as file:
        file.write(text)
    return file.name

"""The table of commands: name, arity, flags and keys, beside the function that carries it out.

    @command("LREM", 4, WRITE, keys=FIRST)
    def lrem(client: Client, args: Args) -> Reply: …

Arity counts the name itself; a negative one is a minimum. Arity, flags and keys are the server's
own (`COMMAND INFO`), and a test compares them. Commands with subcommands are found by both words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .replies import CommandError, Reply, Unmodelled

if TYPE_CHECKING:
    from .client import Client

Args: TypeAlias = tuple[bytes, ...]
Handler: TypeAlias = "Callable[[Client, Args], Reply]"

WRITE = 1  # changes data: refused on a read-only replica
DENY_OOM = 2  # may need memory: refused when there is none
NO_SCRIPT = 4  # refused in a script
LOADING = 8  # answered while the data set is being loaded
BLOCKING = 16
NO_MULTI = 32  # refused in a transaction
IMMEDIATE = 64  # carried out, not queued, in a transaction
IN_PUBSUB = 128  # allowed on a connection that is subscribed

NO_KEYS = (0, 0, 0)
FIRST = (1, 1, 1)
FIRST_TWO = (1, 2, 1)
ALL = (1, -1, 1)
ALL_BUT_LAST = (1, -2, 1)
PAIRS = (1, -1, 2)


@dataclass(frozen=True, slots=True)
class Command:
    """One command or subcommand.

    Attributes:
        name: as error messages show it: `lrem`, `client|setinfo`.
        arity: number of arguments with the name (of a subcommand: with both words), or -minimum.
        flags: WRITE, DENY_OOM, … or-ed together.
        keys: place of the first key, of the last (negative: from the end), and the step.
        run: carries it out; raises CommandError.
    """

    name: str
    arity: int
    flags: int
    keys: tuple[int, int, int]
    run: Handler

    def takes(self, count: int) -> bool:
        """Whether `count` arguments, the name included, are right."""
        return count == self.arity if self.arity > 0 else count >= -self.arity

    def keys_of(self, args: Args) -> Args:
        """The keys among the arguments."""
        first, last, step = self.keys
        if not first:
            return ()
        return args[first : last + 1 if last >= 0 else len(args) + last + 1 : step]


COMMANDS: dict[bytes, Command] = {}
CONTAINERS: dict[bytes, dict[bytes, Command]] = {}


def command(
    name: str, arity: int, flags: int = 0, keys: tuple[int, int, int] = NO_KEYS
) -> Callable[[Handler], Handler]:
    """Put a handler into the table; `CLIENT SETINFO` goes into its container's."""

    def enter(run: Handler) -> Handler:
        words = name.encode().split()
        entry = Command("|".join(name.lower().split()), arity, flags, keys, run)
        if len(words) == 1:
            COMMANDS[words[0]] = entry
        else:
            CONTAINERS.setdefault(words[0], {})[words[1]] = entry
        return run

    return enter


def find(args: Args) -> Command:
    """The command that the arguments name, in any case of letters, with a right arity.

    Raises:
        Unmodelled: there is none of that name here.
        CommandError: the number of arguments is wrong.
    """
    name = args[0].upper()
    found = COMMANDS.get(name)
    if found is None and name in CONTAINERS:
        found = _subcommand(name, args)
    if found is None:
        raise Unmodelled(_unknown(args), args[0].decode(errors="replace"))
    if not found.takes(len(args)):
        raise CommandError(f"ERR wrong number of arguments for '{found.name}' command")
    return found


def _subcommand(name: bytes, args: Args) -> Command:
    lower = name.decode().lower()
    if len(args) < 2:
        raise CommandError(f"ERR wrong number of arguments for '{lower}' command")
    found = CONTAINERS[name].get(args[1].upper())
    if found is None:
        word = args[1].decode(errors="replace")
        text = f"ERR unknown subcommand '{word[:128]}'. Try {name.decode()} HELP."
        raise Unmodelled(text, f"{name.decode()} {word}")
    return found


def _unknown(args: Args) -> str:
    """The server's words: the name and the arguments, cut at 128 characters each and in all."""
    name = args[0].decode(errors="replace")
    shown = ""
    for arg in args[1:]:
        if len(shown) >= 128:
            break
        shown += f"'{arg.decode(errors='replace')[: 128 - len(shown)]}' "
    return f"ERR unknown command '{name[:128]}', with args beginning with: {shown}"

"""How a plan's problems are worded: values short and without secrets, accepted words listed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from chaos.plan_file.yaml_text import Path

SHOWN_MAX = 60
TELLING_PARAMETERS = "password|passwd|pwd|secret|token|access_token|api_key"
_USER = re.compile(r"://[^\s/@]*@")
_TOKEN = re.compile(rf"([?&](?:{TELLING_PARAMETERS})=)[^\s&'\"]*")


def without_secrets(text: str) -> str:
    """The text with user, password and tokens of any URL in it starred out."""
    return _USER.sub("://***@", _TOKEN.sub(r"\1***", text))


def show(value: Any) -> str:
    """A value as a message shows it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        value = without_secrets(value)
        return repr(value if len(value) <= SHOWN_MAX else f"{value[:SHOWN_MAX]}…")
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_of(value: Any, accepted: Iterable[str]) -> str:
    """`did you mean `a`? Accepted are a, b, c`."""
    words = list(accepted)
    listed = f"ccepted are {', '.join(words)}"
    near = difflib.get_close_matches(str(value), words, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? A{listed}" if near else f"a{listed}"


def path_text(path: Path) -> str:
    """`workload.bodies[1].takes`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")

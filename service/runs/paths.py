"""Texts of a run without paths of the server: who may see a run need not learn where it lies.

A runner's last words and the errors of its processes name files, environments and folders of this
machine. Of an absolute path its last part is kept, which is what a reader needs: `…/plan.yaml`.
"""

from __future__ import annotations

import re

_PATH = re.compile(r"(?<![\w.:/…])/(?:[^\s/'\":,;<>()]+/)+([^\s/'\":,;<>()]*)")


def without_paths(text: str) -> str:
    """The text with `…/name` for `/folder/of/the/server/name`; URLs stay."""
    return _PATH.sub(r"…/\1", text)

"""Writes service/openapi.json again: `python -m service.api.openapi`. A test compares the two.

The committed file is what clients are generated from, and what shows in a review when an answer
changes. It is made with the default settings: no setting changes what the routes are.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from service.app import make_app
from service.settings import Settings

FILE = Path(__file__).parent.parent / "openapi.json"


def text() -> str:
    """The description as it is committed."""
    with tempfile.TemporaryDirectory() as folder:
        made = make_app(Settings.model_construct(data_dir=Path(folder))).openapi()
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")

"""The version of this distribution, as it is installed: the one in pyproject.toml."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("saq-chaos")

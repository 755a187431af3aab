"""Write docs/plan.schema.json and the tables of docs/plans.md again, from the models.

Run it at the top of a checkout: `python -m chaos.plan_file`.
"""

from __future__ import annotations

from pathlib import Path

from chaos.plan_file import reference

if __name__ == "__main__":
    page = Path("docs/plans.md")
    page.write_text(reference.page(page.read_text("utf-8")), "utf-8")
    Path("docs/plan.schema.json").write_text(reference.schema_text(), "utf-8")

"""`python -m dashboards.builder` writes grafana/ and prometheus/ again."""

from dashboards.builder.output import write

write()

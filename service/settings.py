"""The settings: everything that the server's operator decides, from `SAQCHAOS_…` variables.

    environment, files of secrets ──► Settings ──► the app, its limits, what a request may name

A request can choose only among what stands here. Secrets come from files: a variable that is named
`…_FILE`, or a directory that `SAQCHAOS_SECRETS_DIR` names with one file per setting, such as
Docker's and Kubernetes' secrets. docs/service.md has a table of all settings; a test holds the two
against each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

DEFAULT_VARIANTS = (
    "stock@0.26.3",
    "by-key@0.26.3",
    "by-id@0.26.3",
    "guarded@0.26.3",
    "stock@0.26.4",
)


def _words(value: object) -> object:
    """`a, b` is a list of two, as people write lists in environment variables."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]


class AllowedApp(BaseModel):
    """An app that requests may name: `settings` is `module:name`, `python` its interpreter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: str
    python: Path | None = None


class AllowedRedis(BaseModel):
    """A Redis that requests may name. Jobs are written to it: it must be one for tests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: SecretStr


class AllowedWebhook(BaseModel):
    """An address that is told when a run ends, and the key that signs what it is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    secret: SecretStr


class Limits(BaseModel):
    """What a request and all requests together may cost.

    Attributes:
        body_bytes: the largest request body.
        run_s: the longest a run may take, its drain and its variants in turn included.
        live_variants: variants of one run.
        waiting_runs: runs in the queue that have not begun.
        subscribers: event streams open at once.
        requests_per_s: requests of one caller, sustained.
        requests_burst: requests of one caller at once.
        writes_per_minute: requests of one caller that change something.
        schedules: schedules in all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = Field(256 * 1024, ge=1024)
    run_s: int = Field(3_600, ge=1)
    live_variants: int = Field(8, ge=1)
    waiting_runs: int = Field(50, ge=1)
    subscribers: int = Field(500, ge=1)
    requests_per_s: int = Field(500, ge=1)
    requests_burst: int = Field(2_000, ge=1)
    writes_per_minute: int = Field(600, ge=1)
    schedules: int = Field(50, ge=0)


class Retention(BaseModel):
    """How long ended runs are kept. The newest one is always kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: int = Field(200, ge=1)
    days: int = Field(90, ge=1)
    total_bytes: int = Field(10 * 1024**3, ge=1024)


class Standing(BaseModel):
    """The standing soak: this plan again and again, with a fresh seed each time.

    Attributes:
        plan: a plan that this server offers; empty: no standing soak.
        variants: what it runs on; empty: the plan's own.
        gate: strict or baseline; empty: the plan's own.
        baseline: the variant to compare with, for gate baseline.
        pause_s: seconds between the end of one run and the beginning of the next.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: str = ""
    variants: Words = ()
    gate: Literal["", "strict", "baseline"] = ""
    baseline: str = ""
    pause_s: int = Field(10, ge=1)


class Settings(BaseSettings):
    """Every setting. A nested one is `SAQCHAOS_LIMITS__RUN_S`, a mapping is JSON.

    Attributes:
        host: where to listen. Beyond loopback only with a file of tokens.
        port: the port; 0: a free one, which is then written to `<data_dir>/port`.
        hosts: names that a request's Host header may carry beside loopback and `host`.
        data_dir: runs, the index, sessions' key, the audit log. 0700.
        plans_dir: a folder of further plans (*.yaml) beside those that ship.
        tokens_file: who may do what (`python -m service token` makes its lines). None: everybody
            on loopback is an administrator.
        first_tokens: a folder for the very first tokens: if `tokens_file` is not there yet, it is
            made with a random administrator and viewer, whose tokens are written to this folder's
            `admin-token` and `viewer-token`. For containers, where nobody could make them before.
        variants: what requests may name.
        apps, redis, webhooks: the same, by the names that requests use.
        secure_cookies: the console is reached through TLS, so its cookie is for TLS alone.
        docs: whether /openapi.json is served.
    """

    model_config = SettingsConfigDict(
        env_prefix="SAQCHAOS_", env_nested_delimiter="__", frozen=True, extra="ignore"
    )

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65_535)
    hosts: Words = ()
    data_dir: Path = Path("service-data")
    plans_dir: Path | None = None
    tokens_file: Path | None = None
    first_tokens: Path | None = None
    variants: Words = DEFAULT_VARIANTS
    apps: dict[str, AllowedApp] = Field(default_factory=dict)
    redis: dict[str, AllowedRedis] = Field(default_factory=dict)
    webhooks: dict[str, AllowedWebhook] = Field(default_factory=dict)
    secure_cookies: bool = False
    docs: bool = True
    limits: Limits = Limits()
    retention: Retention = Retention()
    standing: Standing = Standing()

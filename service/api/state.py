"""What routes are given by the app: settings, runs, the catalogue, schedules.

The app puts its parts into `app.state` when it is made and when it starts; a route names what it
needs as an argument of one of these types.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from service.api.catalogue import Catalogue
from service.errors import Unavailable
from service.ports import Runs
from service.schedules.keeper import Keeper
from service.webhooks.hooks import Webhooks

_NOT_NOW = "the service is starting or ending"


def _runs(request: Request) -> Runs:
    found: Runs | None = request.app.state.runs
    if found is None:
        raise Unavailable(_NOT_NOW, retry_after_s=2)
    return found


def _keeper(request: Request) -> Keeper:
    found: Keeper | None = request.app.state.schedules
    if found is None:
        raise Unavailable(_NOT_NOW, retry_after_s=2)
    return found


def _webhooks(request: Request) -> Webhooks:
    found: Webhooks | None = request.app.state.webhooks
    if found is None:
        raise Unavailable(_NOT_NOW, retry_after_s=2)
    return found


def _catalogue(request: Request) -> Catalogue:
    found: Catalogue = request.app.state.catalogue
    return found


RunsOf = Annotated[Runs, Depends(_runs)]
CatalogueOf = Annotated[Catalogue, Depends(_catalogue)]
KeeperOf = Annotated[Keeper, Depends(_keeper)]
WebhooksOf = Annotated[Webhooks, Depends(_webhooks)]

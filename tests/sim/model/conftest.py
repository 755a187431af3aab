"""A fresh model for each test."""

from __future__ import annotations

import pytest

from tests.sim.model.driver import Client, Driver


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def client(driver: Driver) -> Client:
    return driver.client()

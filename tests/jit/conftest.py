"""What tests of compiled functions share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbgrad.base import config
from nbgrad.base.grad_mode import special
from nbgrad.engine import watchers


def emptied(found: list) -> Iterator[None]:
    """Empty a list that modules share, until the test is over."""
    held = found.copy()
    found.clear()
    yield
    found[:] = held


@pytest.fixture
def any_values() -> Iterator[None]:
    """Calls may make NaN, also where ``NBGRAD_CHECK=1`` looks for them."""
    yield from emptied(special)


@pytest.fixture
def unchecked(any_values: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For what ``NBGRAD_CHECK=1`` changes: native calls that are made, how often functions run, passes left to the engine."""
    monkeypatch.setattr(config, "CHECK", False)
    yield from emptied(watchers)

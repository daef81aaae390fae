"""What tests of compiled functions share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbgrad.base import config
from nbgrad.base.grad_mode import special


@pytest.fixture
def any_values() -> Iterator[None]:
    """Calls may make NaN, also where ``NBGRAD_CHECK=1`` looks for them."""
    found = special.copy()
    special.clear()
    yield
    special[:] = found


@pytest.fixture
def unchecked(any_values: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what ``NBGRAD_CHECK=1`` changes: which native calls are made, and how often functions run."""
    monkeypatch.setattr(config, "CHECK", False)

"""What tests of compiled functions share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbgrad.base.grad_mode import unusual


@pytest.fixture(autouse=True)
def usual_types() -> Iterator[None]:
    """As if no other test had types that override functions: while there are any, compiled functions run as they are."""
    found = unusual.copy()
    unusual.clear()
    yield
    unusual[:] = found

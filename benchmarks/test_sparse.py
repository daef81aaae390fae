"""What a product of a sparse matrix costs, and its gradient by the dense one: by rows and by coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import both, grad_of

SIZE, WIDTH, COUNT = 10_000, 64, 100_000
RNG = np.random.default_rng(0)
PLACES = np.unique(RNG.integers(0, SIZE * SIZE, COUNT))
AT, VALUES = np.stack((PLACES // SIZE, PLACES % SIZE)), RNG.normal(size=len(PLACES)).astype(np.float32)
FEATURES = RNG.normal(size=(SIZE, WIDTH)).astype(np.float32)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_product(compare, layout, backward):
    """10,000 x 10,000, of which one in a thousand is stored, times 64 columns."""

    def program(lib):
        a = lib.sparse_coo_tensor(lib.tensor(AT), lib.tensor(VALUES), (SIZE, SIZE)).coalesce()
        a = a.to_sparse_csr() if layout == "csr" else a
        y = lib.tensor(FEATURES, requires_grad=backward)
        if not backward:
            return lambda: lib.sparse.mm(a, y)
        grad = grad_of(lib)
        return lambda: grad(lib.sparse.mm(a, y).sum(), (y,))

    compare(f"sparse {layout} times 64 columns{', with gradient' * backward}", both(program), budget=1.0, tolerance=1e-4)

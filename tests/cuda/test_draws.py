"""Random numbers by weights, as GPUs choose them: the same calls on the CPU, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import RangeError
from nbgrad.lowering.cuda.random import chosen_on_gpu, weights_on_gpu
from nbgrad.methods.parameter_draws import chosen_indices


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("replacement", [False, True])
def test_the_same_indices_as_on_the_cpu(dtype, replacement):
    """Of the same weights and numbers; what has no weight behind the last that has some is never chosen."""
    random = np.random.default_rng(0)
    weights = random.random((4, 50))
    weights[:, 40:] = 0.0
    weights[1, ::2] = 0.0
    x = nbgrad.tensor(weights).to(getattr(nbgrad, dtype))
    count = 60 if replacement else 15
    drawn = random.random((4, 60)) if replacement else random.exponential(size=(4, 50))
    if replacement:
        drawn[0, 0] = 1.0 - 2.0**-53
    numbers = nbgrad.tensor(drawn)
    found = chosen_on_gpu(weights_on_gpu(x), numbers, count, replacement)
    assert found.tolist() == chosen_indices(x, numbers, count, replacement).tolist()


@pytest.mark.parametrize("weights", [[[1.0, -1.0]], [[1.0, np.nan]], [[np.inf, 1.0]], [[1.0, 2.0], [0.0, 0.0]]])
def test_weights_that_choose_nothing_are_refused(weights):
    """In the CPU's words."""
    with pytest.raises(RangeError, match="multinomial: weights must be finite and >= 0, and one in each row > 0."):
        weights_on_gpu(nbgrad.tensor(weights))

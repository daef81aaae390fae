"""Products of matrices, and what solves their equations, against NumPy in double precision, and beside torch on the same GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .report import Report, guarded

__all__ = ["PRODUCTS", "SOLVERS", "products_and_solvers"]

# By name, of two matrices (and batches of them) of a package, whose functions have the names of both packages.
PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x @ y": lambda m, x, y: x @ y,
    "x.T @ y": lambda m, x, y: x.swapaxes(-1, -2) @ y,
    "x @ y.T": lambda m, x, y: x @ y.swapaxes(-1, -2),
    "columns of x @ y": lambda m, x, y: x[..., ::2] @ y[..., ::2, :],
    "x @ a row of y": lambda m, x, y: (x @ y[..., 0, :, None])[..., 0],
    "einsum": lambda m, x, y: m.einsum("...ij,...jk->...ik", x, y),
}
SOLVERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "cholesky": lambda m, x, y: m.linalg.cholesky(x @ x.swapaxes(-1, -2)),
    "solve": lambda m, x, y: m.linalg.solve(x, y),
    "inv": lambda m, x, y: m.linalg.inv(x),
    "det": lambda m, x, y: m.linalg.det(x * 0.03),  # of a size that float32 has
    "slogdet": lambda m, x, y: m.linalg.slogdet(x)[1],
    "qr": lambda m, x, y: abs(m.linalg.qr(x)[1]),
    "eigvalsh": lambda m, x, y: m.linalg.eigvalsh(x + x.swapaxes(-1, -2)),
    "eigh": lambda m, x, y: rebuilt(*m.linalg.eigh(x + x.swapaxes(-1, -2))),
    "svdvals": lambda m, x, y: m.linalg.svd(x)[1],
    "pinv": lambda m, x, y: m.linalg.pinv(x),
}
SHAPES = ((5, 5), (3, 33, 33), (130, 130))


def rebuilt(values: Any, vectors: Any) -> Any:
    """The matrix of eigenvalues and vectors, of which the signs are anybody's."""
    return (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)


def peer() -> tuple[str, Any]:
    """torch, if it sees the GPU, else NumPy."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch = __import__("torch")
        if torch.cuda.is_available():
            return "torch", torch
    except ImportError:
        pass
    return "numpy", np


def matrices(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are far from singular."""
    random = np.random.default_rng(sum(shape))
    x, y = (random.standard_normal(shape) for _ in range(2))
    return x + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1]), y


def products_and_solvers(report: Report, stage: str, seconds: float) -> None:
    """A row for each function and dtype, with the greatest error as ``value``, relative to the greatest number, and the peer's."""
    import nbgrad

    name, module = peer()

    def run(act: Callable[[Any, Any, Any], Any], dtype: str) -> dict[str, Any]:
        worst, theirs, eps = 0.0, 0.0, {"float32": 2.0**-23, "float64": 2.0**-52, "bfloat16": 2.0**-8}[dtype]
        for shape in SHAPES:
            x, y = matrices(shape)
            given = [nbgrad.tensor(z).to(getattr(nbgrad, dtype)) for z in (x, y)]
            x, y = (z.double().numpy() for z in given)  # as they are rounded
            expected = np.asarray(act(np, x, y))
            scale = float(np.abs(expected).max())
            found = act(nbgrad, *(z.cuda() for z in given)).cpu().double().numpy()
            error = float(np.abs(found - expected).max()) / scale
            limit = 16 * eps * (shape[-1] if act in SOLVERS.values() else 1) + 4 * 2.0**-24 * (dtype == "bfloat16")
            assert error <= limit, f"{list(shape)}: an error of {error:.3g} of the greatest number, expected at most {limit:.3g}"
            worst = max(worst, error)
            if name == "torch":
                other = act(module, *(module.tensor(z).to("cuda", getattr(module, dtype)) for z in (x, y)))
                theirs = max(theirs, float(np.abs(other.cpu().double().numpy() - expected).max()) / scale)
        return {"value": worst, "peer": name, **({"ratio": worst / theirs} if theirs else {})}

    for title, act in {**PRODUCTS, **SOLVERS}.items():
        for dtype in ("float32", "float64", *(("bfloat16",) if title in PRODUCTS else ())):
            guarded(report, stage, f"{title} of {dtype}", partial(run, act, dtype))

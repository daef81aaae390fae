"""Programs that reach every template of kernels, as functions of numbers that are the same in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.calls import CALLS

__all__ = ["DTYPES", "PROGRAMS", "SIZES", "results"]

DTYPES = ("float32", "float64", "bfloat16")
SIZES = (1, 37, 5000)  # one element, part of a warp and a tile, several blocks


def layers(nb: Any, x: Any, pool: str, **settings: Any) -> Any:
    """A pool of planes."""
    return getattr(nb.nn.functional, pool)(x.reshape(1, 1, -1).expand(1, 2, -1), 2, **settings)


def rows(x: Any) -> Any:
    """Rows of 1 to 50 elements."""
    n = x.numel()
    return x[: n // 2 * 2].reshape(2, -1) if n > 1 and n < 100 else x.reshape(-1, 50) if n > 1 else x.reshape(1, 1)


def back(nb: Any, f: Callable[[Any], Any], x: Any) -> Any:
    """A result, and the gradient of its sum of products with equidistant numbers."""
    leaf = x.detach().requires_grad_()
    out = f(leaf)
    weights = nb.linspace(-1, 1, out.numel(), dtype=out.dtype, device=out.device).reshape(out.shape)
    return out, nb.grad((out * weights).sum(), leaf)[0]


def stepped(nb: Any, x: Any) -> Any:
    """Two steps of an optimizer over tensors of several shapes."""
    params = [x.detach().clone().requires_grad_(), x[:1].detach().clone().requires_grad_()]
    optimizer = nb.optim.Adam(params, lr=0.1, capturable=True)
    for _ in range(2):
        for p in params:
            p.grad = p.detach() + 1
        optimizer.step()
    return [p.detach() for p in params], nb.nn.utils.clip_grad_norm_(params, 1.0)


# By name what is done with a vector of normal numbers, and one of positions within it; ``nb`` is the package.
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "elementwise": lambda nb, x, at: back(nb, lambda x: (x * 2 - 1).tanh() * x.exp() / (1 + x.square()) + x.sin().erf(), x),
    "powers and logarithms": lambda nb, x, at: back(nb, lambda x: (x.abs() + 0.1) ** x + x.abs().log1p() + x.sigmoid().sqrt(), x),
    "strided": lambda nb, x, at: (
        rows(x).t() * 2 + rows(x).t()[:, :1],
        rows(x)[:, ::2] * 3,
        rows(x) + rows(x).sum(1, keepdim=True),
    ),
    "turned": lambda nb, x, at: rows(x).repeat(20, 1) + rows(x).repeat(20, 1).t().contiguous().t(),
    "copies": lambda nb, x, at: (rows(x).t().contiguous(), x.flip(0), x.to(nb.float16), x.to(nb.int32), x.roll(1), rows(x).tril()),
    "joins": lambda nb, x, at: (nb.cat([x, x * 2, x[:1]]), nb.stack([x, x]), rows(x).repeat(2, 1), nb.nn.functional.pad(x, (1, 2))),
    "folds": lambda nb, x, at: (
        *(x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.norm(), x.var(), x.logsumexp(0), x.argmax(), (x > 0).any()),
        *(rows(x).sum(1), rows(x).amax(0), rows(x).std(1), rows(x).argmin(1), rows(x).sum(0)),
    ),
    "softmax": lambda nb, x, at: (*back(nb, lambda x: rows(x).softmax(1), x), *back(nb, lambda x: rows(x).log_softmax(0), x)),
    "losses": lambda nb, x, at: (
        *back(nb, lambda x: nb.nn.functional.cross_entropy(rows(x), at[: len(rows(x))] % rows(x).shape[1]), x),
        *back(nb, lambda x: nb.nn.functional.nll_loss(x.unsqueeze(1).expand(-1, 2), at % 2), x),
    ),
    "norms": lambda nb, x, at: back(nb, lambda x: nb.nn.functional.layer_norm(rows(x), rows(x).shape[1:]), x),
    "scans": lambda nb, x, at: (
        *(x.cumsum(0), x.cummax(0)[0], rows(x).cumsum(0), rows(x).cumprod(1), x.logcumsumexp(0)),
        *back(nb, lambda x: x.sigmoid().cumprod(0), x),
        *back(nb, lambda x: rows(x).cummin(1)[0], x),
        CALLS["shift_along"](rows(x), 1, 1),
    ),
    "sorts": lambda nb, x, at: (
        *(*x.sort(), *x.topk(min(5, x.numel())), *rows(x).sort(1), x.median(), x.kthvalue(1)[0], x.argsort()),
        *back(nb, lambda x: rows(x).kthvalue(1, 1)[0], x),
        *x.repeat(40).sort(),
    ),
    "searches": lambda nb, x, at: (nb.searchsorted(x.sort()[0], x), nb.isin(at, at[:3]), nb.bincount(at), x.float().histc(7)),
    "reads by indices": lambda nb, x, at: (x[at], rows(x)[:, at[:1] * 0], x.take(at), x.gather(0, at)),
    "writes by indices": lambda nb, x, at: (
        *(x.index_add(0, at, x), x.scatter(0, at, x * 2), x.index_copy(0, at, x)),
        nb.zeros_like(x).scatter_reduce(0, at, x, "amax"),
    ),
    "masks": lambda nb, x, at: (
        *(x[x > 0], x.masked_fill(x > 0, 2.0), x.nonzero(), nb.unique(at)),
        *back(nb, lambda y: x.masked_scatter(x > 0, y), x),
    ),
    "sequences": lambda nb, x, at: (nb.arange(len(x), device=x.device), nb.linspace(0, 1, len(x), dtype=x.dtype, device=x.device)),
    "overlaps": lambda nb, x, at: back(nb, lambda x: x.unfold(0, min(3, len(x)), 1) * 2, x),
    "pools": lambda nb, x, at: (
        *back(nb, lambda x: layers(nb, x, "max_pool1d", stride=1, padding=1), x),
        *back(nb, lambda x: layers(nb, x, "avg_pool1d", stride=1, padding=1), x),
        *back(nb, lambda x: nb.nn.functional.adaptive_max_pool1d(x.reshape(1, -1), 3), x),
    ),
    "products": lambda nb, x, at: (
        *(rows(at)[:, :50] @ rows(at)[:, :50].t(), at.expand(3, -1) @ at.expand(2, -1).t(), at // (at + 1)),
        x.expand(3, -1).contiguous() @ x,
    ),
    "random numbers": lambda nb, x, at: (
        *(nb.rand_like(x), nb.randn_like(x), nb.randperm(len(x), device=x.device)),
        nb.nn.functional.dropout(x),
    ),
    "steps of optimizers": lambda nb, x, at: stepped(nb, x),
    "complex numbers": lambda nb, x, at: (nb.complex(x.double(), x.double().flip(0)) ** 2 / (2 + 1j)).sum(),
}


def tensors_in(found: Any) -> Iterator[Any]:
    """The tensors among results."""
    if hasattr(found, "detach"):
        yield found.detach()
    else:
        for each in found:
            yield from tensors_in(each)


def results(name: str, dtype: str, size: int) -> list[np.ndarray]:
    """What a program gives on the current GPU, as arrays; half types as float32, which holds them."""
    import nbgrad as nb

    random = np.random.default_rng(size)
    x = nb.tensor(random.standard_normal(size)).to(getattr(nb, dtype)).cuda()
    at = nb.tensor(random.integers(0, size, size)).cuda()
    nb.manual_seed(size)
    made = tensors_in(PROGRAMS[name](nb, x, at))
    return [(y.float() if y.dtype in (nb.float16, nb.bfloat16) else y).resolve_conj().cpu().numpy() for y in made]

"""Sequences of low discrepancy: points that fill a cube more evenly than random ones do.

>>> import nbgrad
>>> nbgrad.quasirandom.SobolEngine(dimension=2).draw(3)
tensor([[0.0000, 0.0000],
        [0.5000, 0.5000],
        [0.7500, 0.2500]])
"""

from __future__ import annotations

import warnings
from typing import Any

import nbgrad

from . import Tensor
from .base.dtypes import DType, float32, float64
from .base.errors import ArgumentError, DTypeError, NotSupportedError, RangeError

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of Sobol's sequence in the unit cube, by SciPy, with the direction numbers of Joe and Kuo (2008).

    Without scrambling they are the numbers of ``torch.quasirandom.SobolEngine``; scrambled ones (Owen's scrambling, of each
    dimension on its own) are drawn by SciPy's generator.

    Args:
        dimension: of the cube, from 1 to 21,201.
        scramble: whether the points are scrambled.
        seed: of scrambling; None takes one from the default generator, so that ``manual_seed`` decides.

    Attributes:
        num_generated: how many points have been drawn or passed by.

    Raises:
        ArgumentError: ``dimension`` is no int.
        RangeError: ``dimension`` is out of range.
        NotSupportedError: SciPy is not installed.

    Source: ``scipy.stats.qmc.Sobol``.

    >>> import nbgrad
    >>> points = nbgrad.quasirandom.SobolEngine(3, scramble=True, seed=1)
    >>> x = points.draw(1024)
    >>> x.shape, bool(abs(x.mean() - 0.5) < 0.001)
    (nbgrad.Size([1024, 3]), True)
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        dimension = whole("dimension", dimension)
        if not 1 <= dimension <= self.MAXDIM:
            raise RangeError(f"SobolEngine: dimension is {dimension}, expected 1 to {self.MAXDIM}.")
        self.dimension, self.scramble, self.seed = dimension, bool(scramble), seed
        self.num_generated = 0
        drawn = int(nbgrad.randint(0, 2**31, ())) if scramble and seed is None else seed
        self._start = dimension, self.scramble, self.MAXBIT, drawn
        self._points = sobols(*self._start)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next points.

        Args:
            n: how many.
            out: is resized and written, and returned.
            dtype: float32 or float64; None is that of ``out``, or the default dtype.

        Returns:
            [n, dimension], numbers from 0 to 1, of which 1 is none.

        Raises:
            RangeError: ``n`` is below 1, or the sequence has no more points.
            DTypeError: another dtype.

        >>> import nbgrad
        >>> points = nbgrad.quasirandom.SobolEngine(1)
        >>> points.draw(4, dtype=nbgrad.float64).squeeze(1)
        tensor([0.0000, 0.5000, 0.7500, 0.2500], dtype=nbgrad.float64)
        """
        n = whole("n", n)
        if n < 1 or self.num_generated + n > 2**self.MAXBIT:
            raise RangeError(f"SobolEngine.draw: n is {n}, expected 1 to {2**self.MAXBIT - self.num_generated}, the points left.")
        dtype = dtype or (nbgrad.get_default_dtype() if out is None else out.dtype)
        if dtype not in (float32, float64):
            raise DTypeError(f"SobolEngine.draw: dtype is {dtype}, expected float32 or float64.")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The balance properties", UserWarning)
            drawn = nbgrad.from_numpy(self._points.random(n)).to(dtype)
        self.num_generated += n
        return drawn if out is None else out.resize_(drawn.shape).copy_(drawn)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2**m points, where all that are drawn then are a power of two in number, and so in balance.

        Raises:
            RangeError: they would not be, or ``m`` is negative.

        >>> import nbgrad
        >>> nbgrad.quasirandom.SobolEngine(2).draw_base2(1)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000]])
        """
        m = whole("m", m)
        if m < 0:
            raise RangeError(f"SobolEngine.draw_base2: m is {m}, expected a number from 0.")
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise RangeError(
                f"SobolEngine.draw_base2: with the {self.num_generated} points drawn before, 2**{m} are {total}, no power of two. "
                "Hint: draw(n) takes any number."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin anew, with the same points.

        >>> import nbgrad
        >>> points = nbgrad.quasirandom.SobolEngine(1, scramble=True, seed=5)
        >>> first = points.draw(2)
        >>> bool((first == points.reset().draw(2)).all())
        True
        """
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass by the next ``n`` points.

        Raises:
            RangeError: ``n`` is negative, or the sequence has not so many points.

        >>> import nbgrad
        >>> nbgrad.quasirandom.SobolEngine(1).fast_forward(2).draw(1)
        tensor([[0.7500]])
        """
        n = whole("n", n)
        if not 0 <= n <= 2**self.MAXBIT - self.num_generated:
            raise RangeError(f"SobolEngine.fast_forward: n is {n}, expected 0 to {2**self.MAXBIT - self.num_generated}.")
        if n:
            self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __getstate__(self) -> dict[str, Any]:
        """SciPy's object is made anew from what it started with."""
        return {name: value for name, value in vars(self).items() if name != "_points"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._points = sobols(*self._start)
        if self.num_generated:
            self._points.fast_forward(self.num_generated)

    def __repr__(self) -> str:
        told = [f"dimension={self.dimension}"]
        if self.scramble:
            told.append("scramble=True")
        if self.seed is not None:
            told.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(told)})"


def whole(argument: str, value: Any) -> int:
    """An argument that counts.

    Raises:
        ArgumentError: it is no int.
    """
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise ArgumentError(f"SobolEngine: {argument} is {value!r}, expected an int.") from None


def sobols(d: int, scramble: bool, bits: int, seed: int | None) -> Any:
    """SciPy's sequence.

    Raises:
        NotSupportedError: it is not installed.
    """
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise NotSupportedError("SobolEngine: SciPy is not installed. Hint: pip install scipy.") from error
    return qmc.Sobol(d, scramble=scramble, bits=bits, rng=seed)

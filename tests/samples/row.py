"""What a row of samples is: an operation, its reference in NumPy, and where its inputs come from.

Arrays are drawn deterministically: the same row, case and dtype give the same numbers in every run.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import numpy as np

from nbgrad.ops.core import OPS, Elementwise, General, Movement, Op

from ..parts import SELDOM

__all__ = ["Case", "Row", "SAMPLES", "case", "fails", "row", "through", "REAL", "POSITIVE", "NONZERO", "UNIT", "SMALL"]

# Domains are unions of closed intervals.
REAL = ((-3.0, 3.0),)
POSITIVE = ((0.3, 4.0),)
NONZERO = ((-3.0, -0.4), (0.4, 3.0))
UNIT = ((-0.9, 0.9),)
SMALL = ((0.0, 3.0),)

SAMPLES: dict[str, Row] = {}


@dataclass(frozen=True)
class Case:
    """The operands of one call, and its attributes.

    An operand is a shape (numbers are drawn), an array or a number (taken as it is), or a list of operands.
    """

    operands: tuple
    attributes: dict[str, Any]

    def __str__(self) -> str:
        """As in a call."""
        parts = [_short(x) for x in self.operands] + [f"{name}={_short(x)}" for name, x in self.attributes.items()]
        return f"({', '.join(parts)})"


def _short(x: Any) -> str:
    return f"array{list(x.shape)}" if isinstance(x, np.ndarray) else str(x)


def case(*operands: Any, **attributes: Any) -> Case:
    """One call: ``case((2, 3), dim=1)``."""
    return Case(operands, attributes)


@dataclass(frozen=True)
class Failure:
    """A call that must raise ``error`` with a message that contains ``match``."""

    error: type[Exception]
    match: str
    case: Case
    dtype: str = "float64"


def fails(error: type[Exception], match: str, *operands: Any, in_dtype: str = "float64", **attributes: Any) -> Failure:
    """An error input: ``fails(nbgrad.ShapeError, "columns", (2, 3), (2, 3))``."""
    return Failure(error, match, Case(operands, attributes), in_dtype)


@dataclass
class Row:
    """The samples of one operation.

    Attributes:
        name: of the operation in the table.
        reference: the same function in NumPy: the oracle of values and, by finite differences, of gradients.
        domain: of all operands, ``domains`` of single ones by name.
        cases: calls; by default, for elementwise operations, one of two-dimensional operands and one that broadcasts.
        at: ``{operands: partial derivatives}``: conventions at points that are not smooth.
        edges: ``{order: (points, reason)}``: special values at which the "value", or the "first" or "second" derivative, is NaN or
            not its limit. Of two operands, instead of points a test of a pair: "second" where second derivatives are NaN, "mixed"
            where their order matters.
        saves: names of the operands (or ``out``) that a recorded call keeps for backward; None makes no claim.
        errors: calls that must fail.
        unlike: checks that the operation has good reason to fail, with the reason.
        through: for helpers that no test calls: the operation whose samples exercise it.
        seldom: its cases are left out of a usual run, see NOTE [Parts of a run].
    """

    name: str
    reference: Callable | None
    domain: tuple = REAL
    domains: dict[str, tuple] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    at: dict[tuple, tuple] = field(default_factory=dict)
    edges: dict[str, tuple] = field(default_factory=dict)
    saves: tuple[str, ...] | None = None
    errors: tuple[Failure, ...] = ()
    unlike: dict[str, str] = field(default_factory=dict)
    through: str | None = None
    seldom: bool = False

    def __post_init__(self):
        if self.name in SAMPLES:
            raise ValueError(f"{self.name}: two rows.")
        SAMPLES[self.name] = self
        if self.seldom:
            SELDOM.add(self.name)

    @property
    def op(self) -> Op:
        """The declaration."""
        return OPS[self.name]

    @property
    def calls(self) -> tuple[Case, ...]:
        """The cases, or the usual ones of an elementwise operation."""
        if self.cases:
            return self.cases
        count = len(self.op.operands)
        shapes = ((2, 3), (3,), (2, 1))
        usual = (Case(((2, 3),) * count, {}),)
        return usual if count == 1 else (*usual, Case(tuple(shapes[k % 3] for k in range(count)), {}))

    @property
    def differentiable(self) -> bool:
        """Whether gradients flow through the operation."""
        op = self.op
        if isinstance(op, Elementwise):
            return bool(op.partial_formulas) and not op.refuses_gradient
        if isinstance(op, General):
            return bool(op.vjps or op.in_steps) and "formula" not in self.unlike  # which refuses
        return isinstance(op, Movement) or "gradient" not in self.unlike

    def arrays(self, call: Case, dtype: str = "float64") -> list:
        """The operands of a case as arrays of ``dtype``; truth values, given arrays and numbers stay what they are."""
        names = [*self.op.operands, *(f"operand{k}" for k in range(len(self.op.operands), len(call.operands)))]
        rng = np.random.default_rng(zlib.crc32(f"{self.name}{call}".encode()))
        return [self._array(x, name, dtype, rng) for x, name in zip(call.operands, names)]

    def _array(self, x: Any, name: str, dtype: str, rng: np.random.Generator) -> Any:
        if isinstance(x, list):
            return [self._array(each, name, dtype, rng) for each in x]
        if not isinstance(x, tuple):
            return x.copy() if isinstance(x, np.ndarray) else x
        if name in getattr(self.op, "boolean", ()):
            dtype = "bool"
        return draw(rng, x, self.domains.get(name, self.domain), dtype)


def draw(rng: np.random.Generator, shape: tuple[int, ...], domain: tuple, dtype: str) -> np.ndarray:
    """Numbers of a domain, as ``dtype`` holds them."""
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    kind = np.dtype(dtype).kind if dtype != "bfloat16" else "f"
    if kind == "c":
        return np.asarray(draw(rng, shape, domain, "float64") + 1j * draw(rng, shape, domain, "float64"), dtype)
    if kind in "iu":
        low = 0 if kind == "u" else -np.inf
        whole = [n for a, b in domain for n in range(int(np.ceil(a)), int(np.floor(b)) + 1) if n >= low]
        return np.asarray(rng.choice(whole or [1], shape), dtype)
    widths = np.array([b - a for a, b in domain])
    which = rng.choice(len(domain), shape, p=widths / widths.sum())
    numbers = np.array([a for a, _ in domain])[which] + rng.random(shape) * widths[which]
    return np.asarray(numbers, numpy_dtype(dtype))


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's dtype of a name of nbgrad's."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def row(
    name: str, reference: Callable, domain: tuple = REAL, *cases: Case, saves: str | None = None, errors: tuple = (), **options: Any
) -> Row:
    """Add the samples of an operation: ``row("tanh", np.tanh)``."""
    return Row(
        name, reference, domain, cases=cases, saves=None if saves is None else tuple(saves.split()), errors=tuple(errors), **options
    )


def through(name: str, public: str) -> Row:
    """State that a helper's only caller is ``public``, whose samples exercise it; as often as those are looked at."""
    return Row(name, None, through=public, seldom=public in SELDOM)


def leaves(operands: list) -> Iterator:
    """Operands, those of sequences one by one."""
    for x in operands:
        if isinstance(x, (list, tuple)):
            yield from leaves(list(x))
        else:
            yield x

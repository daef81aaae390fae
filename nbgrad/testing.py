"""``torch.testing``: ``assert_close`` with tolerances by dtype, ``make_tensor``.

>>> import nbgrad
>>> nbgrad.testing.assert_close(nbgrad.ones(2) / 3 * 3, nbgrad.ones(2))"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any, Callable, NamedTuple

import numpy as np

from .base.dtypes import INTEGER, DType, bool_, dtype_of, float64, promote_types
from .base.errors import ArgumentError, RangeError
from .creation.factories import empty
from .creation.from_data import as_tensor, tensor
from .methods.random import rand, randint
from .tensors.arrays import values_of
from .tensors.memory_format import MemoryFormat
from .tensors.tensor import Tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# Relative and absolute tolerance by dtype; the others, integers and bools, are to be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class Closeness(NamedTuple):
    """The demands of ``assert_close``."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool
    allow_subclasses: bool

    def tolerances(self, *dtypes: DType) -> tuple[float, float]:
        """Relative and absolute tolerance for values of these dtypes: the given ones, or those of the least precise."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        own = [TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in own), max(atol for _, atol in own)


class Difference(Exception):
    """Found by a comparison: what differs, and where in nested values."""

    def __init__(self, text: str, *, path: str = ""):
        self.text, self.path = text, path

    def message(self) -> str:
        """For people."""
        return self.text + (f"\n\nThe failure occurred for item {self.path}" if self.path else "")


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that ``|actual - expected| <= atol + rtol * |expected|`` everywhere, and that shapes, dtypes and devices agree.

    Args:
        actual, expected: tensors, arrays, numbers, None, or nested sequences and mappings of those, of the same structure.
        allow_subclasses: compare tensors of types of which one is a subclass of the other.
        rtol, atol: both or none of them; None: by the dtypes, as torch: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64,
            1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, equal for integers and bools.
        equal_nan: NaN is close to NaN.
        check_device, check_dtype, check_stride: what must agree besides. ``check_layout`` has no effect: all are dense.
        msg: a text in the place of the message, or a function of the message.

    Raises:
        AssertionError: they differ; the message has the number of elements that do, and the largest differences.
        ArgumentError: what cannot be compared (a TypeError). RangeError: one tolerance without the other (a ValueError).

    >>> import nbgrad
    >>> nbgrad.testing.assert_close(nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([1.0, 2.0 + 1e-6]))
    """
    if (rtol is None) != (atol is None):
        raise RangeError(f"assert_close: got rtol={rtol} and atol={atol}; expected both or none of them.")
    wanted = Closeness(rtol, atol, equal_nan, check_device, check_dtype, check_stride, allow_subclasses)
    try:
        compare(actual, expected, wanted, "")
    except Difference as difference:
        message = difference.message()
        raise AssertionError((msg(message) if callable(msg) else msg) if msg is not None else message) from None


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """``assert_close`` of values alone: dtypes and devices may differ.

    >>> from nbgrad.testing import assert_allclose
    >>> assert_allclose(nbgrad.ones(2), nbgrad.ones(2, dtype=nbgrad.float64))
    """
    actual, expected = (x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False, msg=msg or None
    )


# ---- by kind -------------------------------------------------------------------------------------------------------


def compare(actual: Any, expected: Any, wanted: Closeness, path: str) -> None:
    """Compare by what is to be compared.

    Raises:
        Difference: they differ. ArgumentError: they cannot be compared.
    """
    if is_sequence(actual) and is_sequence(expected):
        compare_sequences(actual, expected, wanted, path)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        compare_mappings(actual, expected, wanted, path)
    elif actual is None or expected is None:
        if actual is not expected:
            raise Difference(f"None mismatch: {actual} is not {expected}", path=path)
    elif are_of(bool, actual, expected) or are_of(np.bool_, actual, expected):
        if bool(actual) is not bool(expected):
            raise Difference(f"Booleans mismatch: {actual} is not {expected}", path=path)
    elif are_of(Number, actual, expected):
        compare_numbers(actual, expected, wanted, path)
    else:
        compare_tensors(*as_tensors(actual, expected, wanted), wanted, path)


def is_sequence(x: Any) -> bool:
    """Whether it is compared member by member."""
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def are_of(kind: type, *values: Any) -> bool:
    """Whether all values are of a type."""
    return all(isinstance(x, kind) for x in values)


def compare_sequences(actual: Sequence, expected: Sequence, wanted: Closeness, path: str) -> None:
    """Members in order."""
    if len(actual) != len(expected):
        raise Difference(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path=path)
    for k, (x, y) in enumerate(zip(actual, expected)):
        compare(x, y, wanted, f"{path}[{k}]")


def compare_mappings(actual: Mapping, expected: Mapping, wanted: Closeness, path: str) -> None:
    """Values under the same keys."""
    if set(actual) != set(expected):
        missing, additional = (sorted(a, key=str) for a in (set(expected) - set(actual), set(actual) - set(expected)))
        raise Difference(
            f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}",
            path=path,
        )
    for key in expected:
        compare(actual[key], expected[key], wanted, f"{path}[{key!r}]")


def compare_numbers(actual: Any, expected: Any, wanted: Closeness, path: str) -> None:
    """Two Python numbers, by the tolerances of their types."""
    if wanted.check_dtype and type(actual) is not type(expected):
        raise Difference(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path=path)
    rtol, atol = wanted.tolerances(dtype_of(type(actual)), dtype_of(type(expected)))
    if is_close(np.asarray(actual), np.asarray(expected), rtol, atol, wanted.equal_nan):
        return
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected else math.inf
    near = bool(rtol or atol)
    raise Difference(
        f"Scalars are not {'close' if near else 'equal'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{f' (up to {atol} allowed)' if near else ''}\n"
        f"Relative difference: {relative}{f' (up to {rtol} allowed)' if near else ''}",
        path=path,
    )


# ---- tensors -------------------------------------------------------------------------------------------------------


def as_tensors(actual: Any, expected: Any, wanted: Closeness) -> tuple[Tensor, Tensor]:
    """Two tensors or arrays as tensors.

    Raises:
        ArgumentError: they are none, or of types of which neither is the other's subclass.
    """
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    allowed = related if wanted.allow_subclasses else type(actual) is type(expected)
    if not allowed or not isinstance(actual, (Tensor, np.ndarray)):
        raise ArgumentError(
            f"assert_close: cannot compare {type(actual).__name__} and {type(expected).__name__}; expected two "
            "tensors, two arrays, two numbers, or sequences or mappings of those."
        )
    return as_tensor(actual), as_tensor(expected)


def compare_tensors(x: Tensor, y: Tensor, wanted: Closeness, path: str) -> None:
    """Attributes, then values."""
    for name, found, due, checked in (
        ("shape", x.shape, y.shape, True),
        ("device", x.device, y.device, wanted.check_device),
        ("dtype", x.dtype, y.dtype, wanted.check_dtype),
        ("stride()", x.stride(), y.stride(), wanted.check_stride),
    ):
        if checked and found != due:
            raise Difference(f"The values for attribute {name!r} do not match: {found} != {due}.", path=path)
    rtol, atol = wanted.tolerances(x.dtype, y.dtype)
    dtype = promote_types(x.dtype, y.dtype)
    actual, expected = (wide(values_of(t.detach().to_dense().resolve_conj().resolve_neg().to(dtype)), dtype) for t in (x, y))
    close = is_close(actual, expected, rtol, atol, wanted.equal_nan)
    if not close.all():
        raise Difference(report(actual, expected, close, rtol, atol), path=path)


def wide(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Values in a type in which differences are exact enough: double precision, integers as they are."""
    if dtype is bool_ or dtype.category == INTEGER and not dtype.is_signed and dtype.itemsize < 8:
        return values.astype(np.int64)
    return values.astype(np.complex128 if dtype.is_complex else np.float64) if dtype.differentiable else values


def is_close(actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> Any:
    """Where the values are close; infinities are close to themselves alone."""
    if rtol == atol == 0.0:
        return (actual == expected) | (equal_nan & (actual != actual) & (expected != expected))
    return np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)


def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|x - y|; of integers without sign, too, whose differences wrap."""
    return np.maximum(x, y) - np.minimum(x, y) if x.dtype.kind == "u" else np.abs(x - y)


def report(actual: np.ndarray, expected: np.ndarray, close: np.ndarray, rtol: float, atol: float) -> str:
    """How many elements differ, and which of them most."""
    lines = [f"{'Tensor-likes' if close.ndim else 'Scalars'} are not {'close' if rtol or atol else 'equal'}!", ""]
    if close.ndim:
        lines.append(f"Mismatched elements: {close.size - close.sum()} / {close.size} ({1 - close.mean():.1%})")
    else:
        lines.append(f"Expected {expected} but got {actual}.")
    with np.errstate(all="ignore"):
        absolute = np.where(close, 0, distance(actual, expected))
        relative = np.where(close, 0, absolute / np.abs(expected))
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        where = f" at index {tuple(map(int, place))}" if close.ndim else ""
        limit = f" (up to {allowed} allowed)" if rtol or atol else ""
        lines.append(f"{'Greatest ' + name if close.ndim else name.capitalize()} difference: {values[place]}{where}{limit}")
    return "\n".join(lines)


# ---- inputs --------------------------------------------------------------------------------------------------------


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of random elements, evenly distributed over ``[low, high)``.

    Args:
        shape: sizes, or a sequence of them.
        dtype: of any kind; of complex ones the real and the imaginary parts are drawn.
        low, high: by default -9 and 9, for integers without sign 0 and 9.
        noncontiguous: every other element of the memory is left out, if there is more than one.
        exclude_zero: zeros become the smallest positive number, or 1.
        memory_format: the order in which the elements lie in memory; not together with ``noncontiguous``.

    Raises:
        RangeError: ``low`` is not below ``high``; a memory format of what is not contiguous; integers that require grad.

    >>> import nbgrad
    >>> nbgrad.testing.make_tensor(2, 3, dtype=nbgrad.float64, low=1, high=1.5).shape
    nbgrad.Size([2, 3])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    low = (-9 if dtype.is_signed else 0) if low is None else low
    high = (2 if dtype is bool_ else 10 if not dtype.differentiable else 9) if high is None else high
    if not low < high:
        raise RangeError(f"make_tensor: low must be below high, got {low} and {high}.")
    if noncontiguous and memory_format is not None:
        raise RangeError("make_tensor: noncontiguous and memory_format exclude each other. Hint: leave one out.")
    if requires_grad and not dtype.differentiable:
        raise RangeError(f"make_tensor: only floating and complex tensors can require gradients, got {dtype}.")
    drawn = elements(sizes, dtype, low, high).to(device)
    if exclude_zero:
        drawn[drawn == 0] = 1
    if noncontiguous and drawn.numel() > 1:
        drawn = empty(*sizes, 2, dtype=dtype).select(-1, 0).copy_(drawn)
    drawn = drawn if memory_format is None else drawn.clone(memory_format=memory_format)
    return drawn.detach().requires_grad_(requires_grad)


def elements(sizes: tuple, dtype: DType, low: float, high: float) -> Tensor:
    """Random elements of a dtype."""
    if not dtype.differentiable:
        return randint(math.floor(low), math.ceil(high), sizes).to(dtype)
    parts = [rand(*sizes, dtype=float64) * (high - low) + low for _ in range(1 + dtype.is_complex)]
    return (parts[0] + tensor(1j) * parts[1] if dtype.is_complex else parts[0]).to(dtype)

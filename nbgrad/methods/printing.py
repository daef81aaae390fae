"""Tensors as text, in torch's format, so that output can be compared line by line.

All elements of a tensor share one format, chosen from the finite nonzero ones that are shown: whole numbers get a bare
point, others ``precision`` digits, and where the magnitudes span too much, scientific notation.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.dtypes import DType, bool_, get_default_dtype, int64
from ..base.errors import ArgumentError, InplaceError, RangeError
from ..creation.numpy_exchange import item
from ..graph.edges import requires_grad
from ..graph.rule import name_of
from ..tensors.arrays import values_of
from ..tensors.storage import META
from ..tensors.tensor import Parameter, Tensor

__all__ = ["get_printoptions", "install_printing", "printoptions", "set_printoptions", "text_of"]


class PrintOptions(NamedTuple):
    """How tensors print.

    Attributes:
        precision: digits after the point.
        threshold: elements above which a tensor is summarised.
        edgeitems: elements shown at each end of a summarised dimension.
        linewidth: characters a line.
        sci_mode: scientific notation always (True), never (False), or as the values need it (None).
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {"default": PrintOptions(), "short": PrintOptions(precision=2, edgeitems=2), "full": PrintOptions(threshold=math.inf)}
_options = PrintOptions()


def get_printoptions() -> dict:
    """The options that ``set_printoptions`` sets, by name.

    >>> nbgrad.get_printoptions()["precision"]
    4
    """
    return _options._asdict()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; what is not given stays, except ``sci_mode``, which becomes automatic again.

    Args:
        precision, threshold, edgeitems, linewidth, sci_mode: see ``PrintOptions``.
        profile: "default", "short" or "full": start from these.

    Raises:
        RangeError: no such profile.

    >>> import nbgrad
    >>> with nbgrad.printoptions(precision=2):
    ...     print(nbgrad.tensor(1 / 3))
    tensor(0.33)
    """
    global _options
    if profile is not None and profile not in PROFILES:
        raise RangeError(f"set_printoptions: profile is {profile!r}, expected one of {', '.join(PROFILES)}.")
    given: dict[str, Any] = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options = (PROFILES[profile] if profile else _options)._replace(
        sci_mode=sci_mode, **{name: value for name, value in given.items() if value is not None}
    )


class printoptions:
    """``set_printoptions`` for the extent of a ``with`` block.

    >>> with nbgrad.printoptions(precision=2):
    ...     print(nbgrad.tensor([0.125]))
    tensor([0.12])
    """

    def __init__(self, **options):
        self.options = options

    def __enter__(self) -> dict:
        self.before = _options
        set_printoptions(**self.options)
        return get_printoptions()

    def __exit__(self, *error) -> None:
        global _options
        _options = self.before


# ---- one element ---------------------------------------------------------------------------------------------------


class Format(NamedTuple):
    """How the elements of one tensor are written: ``text(value)``, aligned; ``width`` is what a line reckons with."""

    text: Callable
    width: int


def format_for(values: np.ndarray) -> Format:
    """The common format of an array of bools, integers or floats."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        values = values[np.isfinite(values) & (values != 0)]
        plain: Callable = float_text(values)
    else:
        plain = str
    width = max((len(plain(v)) for v in values.ravel().tolist()), default=1)
    return Format(lambda value: plain(value).rjust(width), width)


def float_text(shown: np.ndarray) -> Callable[[float], str]:
    """The notation that suits finite nonzero numbers."""
    precision, sci_mode = _options.precision, _options.sci_mode
    whole = bool((shown == np.ceil(shown)).all())
    if needs_exponent(np.abs(shown), whole) if sci_mode is None else sci_mode and shown.size:
        return lambda v: f"{v:.{precision}e}"
    if whole:
        return lambda v: f"{v:.0f}" + "." * math.isfinite(v)
    return lambda v: f"{v:.{precision}f}"


def needs_exponent(magnitudes: np.ndarray, whole: bool) -> bool:
    """Whether fixed notation would hide digits or be too wide."""
    if not magnitudes.size:
        return False
    low, high = magnitudes.min(), magnitudes.max()
    with np.errstate(over="ignore"):
        return bool(high / low > 1000 or high > 1e8 or (not whole and low < 1e-4))


def complex_format(values: np.ndarray) -> Format:
    """Real and imaginary parts have formats of their own; only the real ones are aligned."""
    real, imag = format_for(values.real), format_for(values.imag)

    def text(value):
        part = imag.text(value.imag).lstrip() + "j"
        return real.text(value.real) + ("" if part[0] in "+-" else "+") + part

    return Format(text, real.width + imag.width + 1)


# ---- arrays --------------------------------------------------------------------------------------------------------


def edges_of(values: np.ndarray) -> np.ndarray:
    """The elements of a summary: ``edgeitems`` at each end of each long dimension."""
    n = _options.edgeitems
    for axis, size in enumerate(values.shape):
        if size > 2 * n:
            values = values.take([*range(n), *range(size - n, size)], axis)
    return values


def lines_of(values: np.ndarray, indent: int, summarize: bool, element: Format) -> str:
    """The nested brackets of an array of one or more dimensions; continuation lines are indented."""
    n = _options.edgeitems
    summarize_here = summarize and len(values) > 2 * n
    shown = [*values[:n], None, *values[len(values) - n :]] if summarize_here else values
    if values.ndim == 1:
        texts = [" ..." if v is None else element.text(v.item()) for v in shown]
        return bracketed(texts, indent, max(1, (_options.linewidth - indent) // (element.width + 2)))
    rows = ["..." if v is None else lines_of(v, indent + 1, summarize, element) for v in shown]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def bracketed(texts: list[str], indent: int, per_line: int) -> str:
    """Elements in brackets, so many a line."""
    lines = [", ".join(texts[k : k + per_line]) for k in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def body_of(x: Tensor, indent: int) -> str:
    """The values of a tensor; on meta there are none."""
    if x.layout.device is META:
        return "..."
    if not x.layout.numel:
        return "[]"
    values = values_of(x)
    if x.layout.dtype.compute == "float32":
        values = values.astype(np.float32)  # half types print as float32
    summarize = x.layout.numel > _options.threshold
    shown = edges_of(values) if summarize else values
    if summarize and not shown.size:
        return "..." if values.ndim == 0 else "[" * values.ndim + "..." + "]" * values.ndim
    element = complex_format(shown) if values.dtype.kind == "c" else format_for(shown)
    return element.text(values.item()) if values.ndim == 0 else lines_of(values, indent, summarize, element)


_tensor_str = body_of  # torch's name


def __getattr__(name: str) -> PrintOptions:
    """``PRINT_OPTS``: torch's name of the options as they are now."""
    if name != "PRINT_OPTS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
    return _options


# ---- tensors -------------------------------------------------------------------------------------------------------


def implied(dtype: DType, numel: int) -> bool:
    """Whether printed values imply the dtype."""
    default = get_default_dtype()
    return dtype is default or (numel > 0 and dtype in (int64, bool_, default.to_complex()))


def suffixes_of(x: Tensor) -> list[str]:
    """What is said after the values."""
    layout, parts = x.layout, []
    if layout.device.type != "cpu":
        parts.append(f"device='{layout.device}'")
    if layout.device is META or not layout.numel and layout.ndim != 1:
        parts.append(f"size={layout.shape}")
    if not implied(layout.dtype, 0 if layout.device is META else layout.numel):
        parts.append(f"dtype={layout.dtype}")
    if requires_grad(x):
        try:
            node = x.grad_fn
        except InplaceError:
            return [*parts, "grad_fn=<Invalid>"]
        parts.append("requires_grad=True" if node is None else f"grad_fn=<{name_of(node)}>")
    if x._meta_ is not None and x._meta_.tangent:
        parts += [f"tangent={tangent}" for tangent in x._meta_.tangent.values()]
    return parts


def text_of(x: Tensor) -> str:
    """``tensor(values, what the values do not say)``, as torch prints it; a subclass by its own name."""
    start = "tensor(" if x._mark_ is None else f"{type(x).__name__}("
    text = start + body_of(x, len(start))
    width = len(text) - text.rfind("\n")
    for part in suffixes_of(x):
        if width + len(part) + 2 > _options.linewidth:
            text += ",\n" + " " * len(start) + part
            width = len(start) + len(part)
        else:
            text += ", " + part
            width += len(part) + 2
    return text + ")"


def parameter_text(x: Parameter) -> str:
    """A Parameter says so."""
    return "Parameter containing:\n" + text_of(x)


def formatted(x: Tensor, spec: str) -> str:
    """``f"{x:.3f}"``: a 0-d tensor formats as its number, others take no format.

    Raises:
        ArgumentError: a format for a tensor of one or more dimensions.
    """
    if not x.layout.ndim and type(x) is Tensor and x.layout.device is not META:
        return format(item(x), spec)
    if spec:
        raise ArgumentError(
            f"format: {spec!r} for a tensor of shape {list(x.layout.shape)}; only a 0-d "
            "tensor takes a format. "
            "Hint: f'{x.item():.3f}', or set_printoptions."
        )
    return str(x)


def install_printing() -> None:
    """Hang the texts on Tensor and Parameter."""
    setters: tuple = ((Tensor, text_of), (Parameter, parameter_text))
    for kind, text in setters:
        kind.__repr__ = text  # and ``str``, also of subclasses with a ``__repr__`` of their own
    setattr(Tensor, "__format__", formatted)  # noqa: B010  (mypy: a method)

"""Complex numbers: parts and conjugates as views, and functions composed of them.

Cotangents follow the convention of torch and JAX: the gradient of a real loss with respect to z is dL/d(re z) + i dL/d(im z).

NOTE [Lazy bits]: conjugation and negation are views: the layout says that the memory is to be read (and written) conjugated or
negated, no element moves. Views keep the bits. Elementwise operations and copies convert on the way in and out, as between dtypes;
all other operations get their operands resolved by the interpreter of rank "bits" (modes/interpreters.py). Results never have bits.
"""

from __future__ import annotations

import math

from ..base.dtypes import bool_
from ..base.errors import DTypeError, ShapeError
from .core import composite, elementwise, general, movement, of_reals
from .expr import scalar

__all__: list[str] = []


def _real_view(layout, offset):
    if not layout.dtype.is_complex:
        raise DTypeError(f"real, imag: expected a complex tensor, got {layout.dtype}.")
    return layout.shape, tuple(2 * stride for stride in layout.strides), offset


def _pairs(x):
    if not x.dtype.is_complex:
        raise DTypeError(f"view_as_real: expected a complex tensor, got {x.dtype}.")
    if x.conj:
        raise ShapeError(
            "view_as_real: the tensor is lazily conjugated, its memory does not hold the pairs. Hint: x.resolve_conj()."
        )
    return (*x.shape, 2), (*(2 * stride for stride in x.strides), 1), 0


def _joined(x):
    if not x.dtype.is_floating_point or x.dtype.itemsize == 2:
        raise DTypeError(f"view_as_complex: expected float32 or float64, got {x.dtype}.")
    if not x.shape or x.shape[-1] != 2 or x.strides[-1] != 1 or any(s % 2 for s in x.strides[:-1]):
        raise ShapeError(
            f"view_as_complex: the last dimension must be 2 adjacent numbers, got {list(x.shape)} with strides "
            f"{list(x.strides)}. Hint: x.contiguous()."
        )
    return x.shape[:-1], tuple(stride // 2 for stride in x.strides[:-1]), 0


def _retyped(layout, dtype):
    """Strides of the same bytes in elements of another size: the last dimension grows or shrinks."""
    old, new = layout.dtype.itemsize, dtype.itemsize
    if layout.conj or layout.neg:
        raise ShapeError(
            "view: the tensor is lazily conjugated or negated, its memory cannot be read as another dtype. "
            "Hint: x.resolve_conj().resolve_neg()."
        )
    if old == new:
        return layout.shape, layout.strides, 0
    if (
        not layout.shape
        or layout.strides[-1] != 1
        or layout.shape[-1] * old % new
        or any(s * old % new for s in layout.strides[:-1])
    ):
        raise ShapeError(
            f"view: {layout.dtype} {list(layout.shape)} with strides {list(layout.strides)} cannot be read as {dtype}."
        )
    return ((*layout.shape[:-1], layout.shape[-1] * old // new), (*(s * old // new for s in layout.strides[:-1]), 1), 0)


def to_real(dtype):
    """The dtype of the parts."""
    return dtype.to_real()


def to_complex(dtype):
    """The dtype of which ``dtype`` is a part."""
    return dtype.to_complex()


movement(
    "real_view",
    lambda x: _real_view(x, 0),
    lambda g, x_dtype: g.to_dtype(x_dtype),
    retype=to_real,
    bits=lambda conj, neg: (False, neg),
    method=False,
    function=False,
    node="RealBackward0",
    doc="The real parts, as a view.",
)
movement(
    "imag_view",
    lambda x: _real_view(x, 1),
    lambda g, x_dtype: g.to_dtype(x_dtype) * 1j,
    retype=to_real,
    bits=lambda conj, neg: (False, conj is not neg),
    method=False,
    function=False,
    node="ImagBackward0",
    doc="The imaginary parts, as a view.",
)
movement(
    "view_as_real",
    _pairs,
    lambda g: scalar.view_as_complex(g.resolve_neg().contiguous()),
    retype=to_real,
    method=False,
    doc="A complex tensor as pairs of numbers: one more dimension, of size 2.",
)
movement(
    "view_as_complex",
    _joined,
    lambda g: scalar.view_as_real(g.resolve_conj().contiguous()),
    retype=to_complex,
    method=False,
    doc="Pairs of numbers as a complex tensor.",
)
movement(
    "view_dtype",
    lambda x, dtype: _retyped(x, dtype),
    lambda g, x_dtype: g.view_dtype(x_dtype),
    retype=lambda own, dtype: dtype,
    function=False,
    method=False,
    node="ViewBackward0",
    doc="The same bytes read as another dtype.",
    aten=".dtype",
)
general(
    "complex",
    lambda real, imag: real,
    {
        "real": lambda g, real_shape: g._apply("real_view", (g,)).sum_to(real_shape),
        "imag": lambda g, imag_shape: g._apply("imag_view", (g,)).sum_to(imag_shape),
    },
    operands=("real", "imag"),
    method=False,
    batched="broadcasting",
    doc="The complex numbers with these parts, which broadcast.",
)


def _real(x):
    return x._apply("real_view", (x,)) if x.dtype.is_complex else x


def _imag(x):
    return x._apply("imag_view", (x,))


def _same_place(x):
    return x.shape, x.strides, 0


# Their cotangents are computed at once: whoever asks for a gradient can hand it to NumPy.
movement(
    "conj_view",
    _same_place,
    lambda g: scalar.conj_physical(g),
    bits=lambda conj, neg: (not conj, neg),
    method=False,
    function=False,
    node="ConjBackward0",
    doc="The complex conjugate, as a view.",
)
movement(
    "neg_view",
    _same_place,
    lambda g: -g,
    bits=lambda conj, neg: (conj, not neg),
    method=False,
    function=False,
    node="NegViewBackward0",
    doc="The negative, as a view.",
    aten="_neg_view",
)


def _conj(x):
    return scalar.conj_view(x) if x.dtype.is_complex else x


def _neg_view(x):
    if not x.dtype.is_signed or x.dtype.category == 0:
        raise DTypeError(f"_neg_view: {x.dtype.name} has no negative numbers.")
    return scalar.neg_view(x)


# On the parts of complex numbers: kernels of the real dtype, whose derivatives at 0 are 0 by convention.
PARTS = {"policy": "floating", "method": False, "function": False, "inplace": False, "out": False}
elementwise(
    "modulus",
    lambda x, y: scalar.hypot(x, y),
    {
        "x": lambda x, y: scalar.where((x == 0) & (y == 0), 0, x / scalar.hypot(x, y)),
        "y": lambda x, y: scalar.where((x == 0) & (y == 0), 0, y / scalar.hypot(x, y)),
    },
    **PARTS,
    node="AbsBackward0",
    doc="|x + iy|.",
)
elementwise(
    "argument",
    lambda x, y: scalar.atan2(y, x),
    {"x": lambda x, y: -scalar.over_square(x, y), "y": lambda x, y: scalar.over_square(y, x)},
    **PARTS,
    node="AngleBackward0",
    doc="The angle of x + iy.",
)
elementwise(
    "angle",
    lambda x: scalar.where(scalar.isnan(x), x, scalar.where(x < 0, math.pi, 0.0)),
    {"x": lambda: 0},
    policy="float",
    complex_form=lambda x: scalar.argument(_real(x), _imag(x)),
    inplace=False,
    doc="The angle of complex numbers, in radians; of real ones 0 or pi.",
)


def _unit(x):
    size = scalar.abs(x)
    return scalar.where(size == 0, 0.0, x / scalar.where(size == 0, 1.0, size))


elementwise("sgn", lambda x: scalar.sign(x), {"x": lambda: 0}, complex_form=_unit, doc="x / |x|, 0 at 0; of real numbers the sign.")


elementwise(
    "abscissa",
    lambda x, y: x * scalar.cos(y),
    {"x": lambda y: scalar.cos(y), "y": lambda x, y: -(x * scalar.sin(y))},
    **PARTS,
    public="polar",
    doc="x cos(y).",
)
elementwise(
    "ordinate",
    lambda x, y: x * scalar.sin(y),
    {"x": lambda y: scalar.sin(y), "y": lambda x, y: x * scalar.cos(y)},
    **PARTS,
    public="polar",
    doc="x sin(y).",
)


def polar(abs, angle):
    """The complex numbers of this modulus and angle.

    Args:
        abs, angle: of one floating dtype; their shapes broadcast.

    Raises:
        DTypeError: the parts are not of one floating dtype.

    >>> nbgrad.polar(nbgrad.tensor([2.]), nbgrad.tensor([0.]))
    tensor([2.+0.j])
    """
    dtype = abs.dtype
    if dtype is not angle.dtype or not dtype.is_floating_point:
        raise DTypeError(f"polar: abs is {abs.dtype.name}, angle is {angle.dtype.name}, expected one floating dtype.")
    return scalar.complex(scalar.abscissa(abs, angle), scalar.ordinate(abs, angle))


def isreal(x):
    """Where the imaginary part is 0; True everywhere for real tensors.

    >>> nbgrad.isreal(nbgrad.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    return scalar.eq(_imag(x), 0) if x.dtype.is_complex else x.new_ones(x.layout.shape, dtype=bool_)


def conjugate_transpose(x):
    """The transpose of a matrix, conjugated: a view.

    Raises:
        ShapeError: neither a matrix nor 0-d.
    """
    if x.ndim not in (0, 2):
        raise ShapeError(f"H: expected a matrix, got {x.ndim} dimensions. Hint: mH takes batches of matrices.")
    return x.adjoint() if x.ndim else x.conj()


def is_complex(x):
    """Whether the dtype is a complex one: a Python bool."""
    return x.dtype.is_complex


def is_floating_point(x):
    """Whether the dtype is a floating one: a Python bool."""
    return x.dtype.is_floating_point


def is_conj(x):
    """Whether the tensor is a lazy conjugate: a Python bool.

    >>> z = nbgrad.tensor([1 + 2j])
    >>> z.conj().is_conj(), z.conj().conj().is_conj(), z.conj().clone().is_conj()
    (True, False, False)
    """
    return x.layout.conj


def is_neg(x):
    """Whether the tensor is a lazy negative, as the imaginary part of a lazy conjugate is: a Python bool.

    >>> nbgrad.tensor([1 + 2j]).conj().imag.is_neg()
    True
    """
    return x.layout.neg


def resolve_conj(x):
    """The tensor itself, or a copy if it is lazily conjugated.

    >>> nbgrad.tensor([1 + 2j]).conj().resolve_conj().numpy()
    array([1.-2.j], dtype=complex64)
    """
    return x.clone() if x.layout.conj else x


def resolve_neg(x):
    """The tensor itself, or a copy if it is lazily negated."""
    return x.clone() if x.layout.neg else x


composite(
    "real", _real, method=False, text=of_reals("{0}"), doc="The real parts: a view of a complex tensor, a real tensor itself."
)
composite("imag", _imag, method=False, doc="The imaginary parts of a complex tensor, as a view.")
composite(
    "conj",
    _conj,
    aliases=("_conj",),
    numpy=("conjugate",),
    doc="The complex conjugate, as a view: see is_conj; a real tensor itself.",
)
composite("_neg_view", _neg_view, doc="The negative, as a view: see is_neg.")
composite("H", conjugate_transpose, function=False, spelling=True, is_property=True, doc=conjugate_transpose.__doc__)
for _function in (is_complex, is_floating_point):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)
composite("polar", polar, method=False, out=True, doc=polar.__doc__)
for _function in (isreal, is_conj, is_neg, resolve_conj, resolve_neg):
    composite(_function.__name__, _function, doc=_function.__doc__)

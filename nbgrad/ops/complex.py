"""Complex numbers: their parts as views, and what is composed of those.

Cotangents follow the convention of torch and JAX: the gradient of a real loss with respect to z is dL/d(re z) + i dL/d(im z).
"""
from __future__ import annotations

from ..errors import DTypeError, ShapeError
from .core import composite, general, movement
from .expr import scalar

__all__: list[str] = []


def _real_view(layout, offset):
    if not layout.dtype.is_complex:
        raise DTypeError(f"real, imag: expected a complex tensor, got {layout.dtype}.")
    return layout.shape, tuple(2 * stride for stride in layout.strides), offset


def _pairs(x):
    if not x.dtype.is_complex:
        raise DTypeError(f"view_as_real: expected a complex tensor, got {x.dtype}.")
    return (*x.shape, 2), (*(2 * stride for stride in x.strides), 1), 0


def _joined(x):
    if not x.dtype.is_floating_point or x.dtype.itemsize == 2:
        raise DTypeError(f"view_as_complex: expected float32 or float64, got {x.dtype}.")
    if not x.shape or x.shape[-1] != 2 or x.strides[-1] != 1 or any(s % 2 for s in x.strides[:-1]):
        raise ShapeError(f"view_as_complex: the last dimension must be 2 adjacent numbers, got {list(x.shape)} with strides "
                         f"{list(x.strides)}. Hint: x.contiguous().")
    return x.shape[:-1], tuple(stride // 2 for stride in x.strides[:-1]), 0


def _retyped(layout, dtype):
    """Strides of the same bytes in elements of another size: the last dimension grows or shrinks."""
    old, new = layout.dtype.itemsize, dtype.itemsize
    if old == new:
        return layout.shape, layout.strides, 0
    if (not layout.shape or layout.strides[-1] != 1 or layout.shape[-1] * old % new
            or any(s * old % new for s in layout.strides[:-1])):
        raise ShapeError(f"view: {layout.dtype} {list(layout.shape)} with strides {list(layout.strides)} "
                         f"cannot be read as {dtype}.")
    return ((*layout.shape[:-1], layout.shape[-1] * old // new), (*(s * old // new for s in layout.strides[:-1]), 1), 0)


def to_real(dtype):
    """The dtype of the parts."""
    return dtype.to_real()


def to_complex(dtype):
    """The dtype of which ``dtype`` is a part."""
    return dtype.to_complex()


movement("real_view", lambda x: _real_view(x, 0), lambda g, x_dtype: g.to_dtype(x_dtype), retype=to_real, method=False,
         function=False, node="RealBackward0", doc="The real parts, as a view.")
movement("imag_view", lambda x: _real_view(x, 1), lambda g, x_dtype: g.to_dtype(x_dtype) * 1j, retype=to_real, method=False,
         function=False, node="ImagBackward0", doc="The imaginary parts, as a view.")
movement("view_as_real", _pairs, lambda g: scalar.view_as_complex(g.contiguous()), retype=to_real, method=False,
         doc="A complex tensor as pairs of numbers: one more dimension, of size 2.")
movement("view_as_complex", _joined, lambda g: scalar.view_as_real(g.contiguous()), retype=to_complex, method=False,
         doc="Pairs of numbers as a complex tensor.")
movement("view_dtype", lambda x, dtype: _retyped(x, dtype), lambda g, x_dtype: g.view_dtype(x_dtype),
         retype=lambda own, dtype: dtype, function=False, method=False, node="ViewBackward0",
         doc="The same bytes read as another dtype.")
general("complex", lambda real, imag: real, {"real": lambda g: g._apply("real", (g,)), "imag": lambda g: g._apply("imag", (g,))},
        operands=("real", "imag"), method=False, doc="The complex numbers with these parts.")


def _real(x):
    return x._apply("real_view", (x,)) if x.dtype.is_complex else x


def _imag(x):
    return x._apply("imag_view", (x,))


def _conj(x):
    return x._apply("conj_physical", (x,)) if x.dtype.is_complex else x


def _angle(x):
    return x._apply("atan2", (_imag(x), _real(x)))


composite("real", _real, method=False, doc="The real parts: a view of a complex tensor, a real tensor itself.")
composite("imag", _imag, method=False, doc="The imaginary parts of a complex tensor, as a view.")
composite("conj", _conj, doc="The complex conjugate; a real tensor itself.")
composite("angle", _angle, doc="The angle of complex numbers, in radians.")

"""NumPy's functions on tensors: ``np.exp(x)``, ``np.add(array, x)``, ``np.concatenate([x, y])``.

Where nbgrad has the function, that is called, and its result is a tensor, recorded as usual. Other functions are NumPy's, computed
on the values; with a tensor that requires grad they are refused, since its gradient would be lost.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError
from ..graph.edges import requires_grad
from ..ops.core import OPS
from ..tensors.arrays import array_of, values_of
from ..tensors.tensor import Tensor

__all__ = ["install_numpy_protocol"]

# nbgrad's functions by public name; set when installed.
_functions: dict[str, Callable] = {}

# The operations that universal functions, and methods of those (``add.reduce``), are, by NumPy's names where those are others.
_names: dict[str, str] = {}


# ---- universal functions -------------------------------------------------------------------------------------------


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """NumPy's protocol for universal functions.

    Raises:
        GradError: a tensor requires grad and nbgrad has no such function, or the result goes into an array.
    """
    target = out[0] if out else None
    named = {k: v for k, v in options.items() if not (k == "where" and v is True) and not (k in ("dtype", "initial") and v is None)}
    function = _functions.get(_names.get(ufunc.__name__, ufunc.__name__))
    other = _names.get(f"{ufunc.__name__}.{method}", "")
    if isinstance(target, Tensor) or (out is not None and len(out) > 1):
        if method == "__call__" and function is not None and not named and len(out) == 1:
            return function(*map(as_operand, inputs), out=target)
        raise ArgumentError(f"numpy.{ufunc.__name__}: cannot write to a Tensor. Hint: write out[...] = result.")
    if method == "__call__" and function is not None and not named:
        result = function(*map(as_operand, inputs))
    elif method == "reduce" and other and set(named) <= {"axis", "keepdims", "dtype"}:
        result = reduced(other, inputs[0], **named)
    elif method == "accumulate" and other and set(named) <= {"axis"}:
        result = _functions[other](inputs[0], named.get("axis", 0))
    else:
        if method == "at" and isinstance(inputs[0], Tensor):
            raise ArgumentError(f"numpy.{ufunc.__name__}.at: cannot write to a Tensor. Hint: index_add_, or x.numpy().")
        result = by_numpy(f"numpy.{ufunc.__name__}", getattr(ufunc, method), inputs, {**options, "out": out} if out else options)
        return target if target is not None else result
    return result if target is None else into_array(f"numpy.{ufunc.__name__}", result, target)


def as_operand(x: Any) -> Any:
    """An input of a universal function: arrays, and lists, as tensors on their memory."""
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    return CALLS["asarray"](x) if isinstance(x, np.ndarray) else x


def reduced(name: str, x: Tensor, axis: Any = 0, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """A reduction by NumPy's arguments."""
    axis = tuple(range(x.layout.ndim)) if axis is None else axis
    result = _functions[name](x, axis, keepdims)
    return result if dtype is None else result.to(dtype_named(dtype))


def dtype_named(dtype: Any):
    """nbgrad's dtype for one of NumPy's."""
    from ..base.dtypes import dtype_of

    return dtype_of(np.dtype(dtype))


def into_array(name: str, result: Tensor, target: np.ndarray) -> np.ndarray:
    """Write a result into the array that ``out=`` names, as ``array += x`` does.

    Raises:
        GradError: the result requires grad, which an array cannot.
    """
    if requires_grad(result):
        raise GradError(
            f"{name}: the result requires grad and cannot be written into an array. Hint: x.detach(), or a tensor "
            "in the place of the array."
        )
    np.copyto(target, values_of(result), casting="same_kind")
    return target


def by_numpy(name: str, function: Callable, args: Any, kwargs: dict, constant: bool = False) -> Any:
    """What NumPy computes on the values; arrays come back as tensors.

    Args:
        constant: the result has no gradient in any case.

    Raises:
        GradError: a tensor requires grad.
    """

    def value(x: Any) -> Any:
        if isinstance(x, Tensor):
            if not constant and requires_grad(x):
                raise GradError(f"{name}: not differentiable here, and an argument requires grad. Hint: x.detach().")
            return array_of(x) if not x.layout.special else values_of(x)
        if type(x) in (list, tuple):
            return type(x)(map(value, x))
        return x

    return as_tensors(function(*map(value, args), **{k: value(v) for k, v in kwargs.items()}))


def as_tensors(result: Any) -> Any:
    """Arrays of numbers among results as tensors on their memory."""
    if isinstance(result, np.ndarray) and result.dtype.kind in "biufc":
        return CALLS["asarray"](result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(as_tensors, result))
    return type(result)(map(as_tensors, result)) if type(result) in (list, tuple) else result


# ---- other functions -----------------------------------------------------------------------------------------------

# ``{NumPy's name: (nbgrad's name, {NumPy's parameter: nbgrad's})}`` for functions that mean the same.
_AXIS = {"axis": "dim"}
_REDUCE = {"axis": "dim", "keepdims": "keepdim", "dtype": "dtype"}
_DIM = {"axis": "dim", "keepdims": "keepdim"}
FUNCTIONS: dict[str, tuple[str, dict[str, str]]] = {
    **dict.fromkeys(("sum", "mean"), ("", _REDUCE)),
    **dict.fromkeys(("all", "any", "amax", "amin", "argmax", "argmin"), ("", _DIM)),
    "max": ("amax", _DIM),
    "min": ("amin", _DIM),
    **dict.fromkeys(("stack", "concatenate", "squeeze"), ("", _AXIS)),
    "roll": ("", {"axis": "dims", "shift": "shifts"}),
    "expand_dims": ("unsqueeze", _AXIS),
    **dict.fromkeys(
        ("vstack", "hstack", "dstack", "tril", "triu", "trace", "outer", "inner", "kron", "tile", "moveaxis", "swapaxes"), ("", {})
    ),
    "diagonal": ("", {"axis1": "dim1", "axis2": "dim2"}),
    "where": ("", {}),
    "real": ("", {}),
    "imag": ("", {}),
    "angle": ("", {}),
    "broadcast_to": ("", {}),
    "copy": ("clone", {}),
    **dict.fromkeys(("zeros_like", "ones_like"), ("", {})),
}
# What has no gradient in any case, so that NumPy may compute it on the values of tensors that require grad.
PREDICATES = {
    "isclose",
    "allclose",
    "array_equal",
    "array_equiv",
    "count_nonzero",
    "nonzero",
    "flatnonzero",
    "argwhere",
    "searchsorted",
    "digitize",
    "may_share_memory",
    "shares_memory",
    "iscomplexobj",
    "isrealobj",
}


def transposed(a: Tensor, axes: Any = None) -> Tensor:
    """``np.transpose``: the dimensions reversed, or in the order named."""
    return a.permute(tuple(axes) if axes is not None else tuple(range(a.layout.ndim))[::-1])


def spread_about_mean(name: str) -> Callable:
    """``np.var`` and ``np.std``, whose divisor is the number of elements less ``ddof``."""

    def function(a, axis=None, dtype=None, ddof=0, keepdims=False):
        a = a if dtype is None else a.to(dtype_named(dtype))
        return getattr(a, name)(axis, correction=ddof, keepdim=keepdims)

    return function


def dotted(a: Any, b: Any) -> Any:
    """``np.dot``: of vectors, matrices, and numbers; of more dimensions over the last of one and the last but one of the other."""
    a, b = as_operand(a), as_operand(b)
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    return a @ b if b.ndim <= 2 else CALLS["tensordot"](a, b, ([-1], [-2]))


def flipped(m: Tensor, axis: Any = None) -> Tensor:
    """``np.flip``: every dimension by default."""
    return m.flip(tuple(range(m.layout.ndim)) if axis is None else axis)


def clipped(a: Tensor, a_min: Any = None, a_max: Any = None, **limits: Any) -> Tensor:
    """``np.clip``."""
    return a.clamp(limits.get("min", a_min), limits.get("max", a_max))


def reshaped(a: Tensor, shape: Any, order: str = "C") -> Tensor:
    """``np.reshape`` in row-major order."""
    if order != "C":
        raise ArgumentError(f"numpy.reshape: order {order!r} of a Tensor; expected 'C'. Hint: np.transpose first.")
    return a.reshape(shape)


def scanned(name: str) -> Callable:
    """``np.cumsum`` and ``np.cumprod``, which flatten by default."""

    def function(a, axis=None, dtype=None):
        a = a if dtype is None else a.to(dtype_named(dtype))
        return getattr(a if axis is not None else a.reshape(-1), name)(0 if axis is None else axis)

    return function


def product(a, axis=None, dtype=None, keepdims=False):
    """``np.prod``."""
    return reduced("prod", a, axis, keepdims, dtype)


def sorted_along(name: str) -> Callable:
    """``np.sort`` and ``np.argsort``: along the last dimension by default."""

    def function(a, axis=-1, kind=None):
        a, axis = (a.reshape(-1), -1) if axis is None else (a, axis)
        result = getattr(a, name)(axis, stable=True)
        return result[0] if isinstance(result, tuple) else result

    return function


ADAPTED: dict[str, Callable] = {
    "transpose": transposed,
    "permute_dims": transposed,
    "var": spread_about_mean("var"),
    "std": spread_about_mean("std"),
    "clip": clipped,
    "dot": dotted,
    "flip": flipped,
    "round": lambda a, decimals=0: a.round(decimals=decimals),
    "reshape": reshaped,
    "cumsum": scanned("cumsum"),
    "cumprod": scanned("cumprod"),
    "prod": product,
    "sort": sorted_along("sort"),
    "argsort": sorted_along("argsort"),
    "ravel": lambda a: a.reshape(-1),
    "einsum": lambda subscripts, *operands: CALLS["einsum"](subscripts, *operands),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.numel(),
    "result_type": lambda *a: np.result_type(*(x.layout.dtype.numpy if isinstance(x, Tensor) else x for x in a)),
}


def array_function(self: Tensor, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
    """NumPy's protocol for all other functions.

    Raises:
        GradError: a tensor requires grad and nbgrad has no such function. ArgumentError: arguments that it does not know.
    """
    module, name = getattr(func, "__module__", "numpy"), func.__name__
    full = f"{module}.{name}"
    target = kwargs.get("out")
    if target is not None:
        if isinstance(target, Tensor):
            raise ArgumentError(f"{full}: cannot write to a Tensor. Hint: write out[...] = result.")
        result = array_function(self, func, types, args, {k: v for k, v in kwargs.items() if k != "out"})
        return into_array(full, result, target) if isinstance(result, Tensor) else result
    known = function_of(module, name, kwargs)
    if known is None:
        return by_numpy(full, func, args, kwargs, name in PREDICATES)
    function, named = known
    lists = tuple(
        tuple(map(as_operand, x))
        if type(x) in (list, tuple) and any(isinstance(y, Tensor) for y in x)
        else as_operand(x)
        if isinstance(x, np.ndarray)
        else x
        for x in args
    )
    return function(*lists, **named)


def function_of(module: str, name: str, kwargs: dict) -> tuple[Callable, dict] | None:
    """nbgrad's function for one of NumPy's with the arguments named as it names them; None if NumPy is to compute it."""
    if module == "numpy.linalg":
        return norm_of(kwargs) if name == "norm" else None
    if module != "numpy":
        return None
    if name in ADAPTED:
        return ADAPTED[name], kwargs
    if name not in FUNCTIONS:
        return None
    own, names = FUNCTIONS[name]
    named = {names.get(k, k): v for k, v in kwargs.items()}
    if named.get("dtype", 0) is None:
        del named["dtype"]
    elif "dtype" in named:
        named["dtype"] = dtype_named(named["dtype"])
    return _functions.get(own or name) or CALLS[own or name], named


def norm_of(kwargs: dict) -> tuple[Callable, dict]:
    """``np.linalg.norm``, of vectors and, elementwise, of everything."""

    def norm(x, ord=None, axis=None, keepdims=False):
        if ord is not None and axis is None and x.layout.ndim > 1:
            raise ArgumentError("numpy.linalg.norm: matrix norms of a Tensor are not available. Hint: axis= for vector norms.")
        return x.norm(2 if ord is None else ord, axis, keepdims)

    return norm, kwargs


def install_numpy_protocol(functions: dict[str, Callable]) -> None:
    """Hang the protocols on Tensor."""
    global _functions
    _functions = functions
    _names.update((theirs, op.name) for op in OPS.values() for theirs in op.numpy)
    _names["nextafter"] = ""  # NumPy's takes numbers too
    for name, protocol in {"__array_ufunc__": array_ufunc, "__array_function__": array_function}.items():
        setattr(Tensor, name, protocol)

"""Products of vectors and matrices. All are bilinear: each cotangent is again a product, so every order is exact.

``gemm`` is the one that backward passes use: it multiplies transposed operands without copying them.
"""
from __future__ import annotations

from .core import composite, general
from .expr import scalar

# ---- the bilinear rule ---------------------------------------------------------------------------------------------


def conjugate(x):
    """``x``, conjugated if it is complex: the adjoint of multiplying by ``x`` multiplies by this."""
    return scalar.conj_physical(x) if x.dtype.is_complex else x


def left_cotangent(g, y, x_shape, y_shape, turn_x=False, turn_y=False):
    """The cotangent of ``x`` in ``op(x) @ op(y)``: g @ op(y)^H, in x's own orientation and shape."""
    y = conjugate(y)
    if len(y_shape) == 1:
        if len(x_shape) == 1:
            return g * y
        outer = g.unsqueeze(-2) * y.unsqueeze(-1) if turn_x else g.unsqueeze(-1) * y
        return fitted(outer, x_shape)
    if len(x_shape) == 1:
        return fitted(scalar.gemm(y, g.unsqueeze(-1), turn_y, False).select(-1, 0), x_shape)
    product = scalar.gemm(y, g, turn_y, True) if turn_x else scalar.gemm(g, y, False, not turn_y)
    return fitted(product, x_shape)


def right_cotangent(g, x, x_shape, y_shape, turn_x=False, turn_y=False):
    """The cotangent of ``y`` in ``op(x) @ op(y)``: op(x)^H @ g, in y's own orientation and shape."""
    x = conjugate(x)
    if len(x_shape) == 1:
        if len(y_shape) == 1:
            return g * x
        outer = g.unsqueeze(-1) * x if turn_y else x.unsqueeze(-1) * g.unsqueeze(-2)
        return fitted(outer, y_shape)
    if not turn_x and len(y_shape) < 3 < len(x_shape) + 1:
        # One right operand for a whole batch: its cotangent is one product over all rows.
        x = x.reshape((-1, x_shape[-1]))
        g = g.reshape((-1,) if len(y_shape) == 1 else (-1, g.shape[-1]))
    if len(y_shape) == 1:
        return fitted(scalar.gemm(x, g, not turn_x, False), y_shape)
    product = scalar.gemm(g, x, True, turn_x) if turn_y else scalar.gemm(x, g, not turn_x, False)
    return fitted(product, y_shape)


def fitted(g, shape):
    """``g`` summed over the batch dimensions that were broadcast."""
    return g if g.shape == shape else g.sum_to(shape)


BILINEAR = {"x": left_cotangent, "y": right_cotangent}


def product(name: str, **options):
    """Declare a product of two operands as they are."""
    return general(name, lambda x, y: x, {"x": lambda g, y, x_shape, y_shape: left_cotangent(g, y, x_shape, y_shape),
                                          "y": lambda g, x, x_shape, y_shape: right_cotangent(g, x, x_shape, y_shape)},
                   operands=("x", "y"), **options)


product("matmul", node="MmBackward0", doc="The matrix product of the last two dimensions; batches broadcast, vectors take part as "
        "a row on the left or a column on the right.")
product("mm", doc="The product of two matrices.")
product("bmm", doc="The products of two batches of matrices, (b, m, k) by (b, k, n).")
product("mv", doc="The product of a matrix and a vector.")
product("dot", doc="The sum of the products of two vectors' elements.")
general("gemm", lambda x, y, transpose_x=False, transpose_y=False: x,
        {"x": lambda g, y, x_shape, y_shape, transpose_x, transpose_y: left_cotangent(g, y, x_shape, y_shape, transpose_x, transpose_y),
         "y": lambda g, x, x_shape, y_shape, transpose_x, transpose_y: right_cotangent(g, x, x_shape, y_shape, transpose_x, transpose_y)},
        operands=("x", "y"), method=False, function=False, node="MmBackward0",
        doc="matmul with either operand's last two dimensions exchanged.")
general("linear_bias", lambda x, weight, bias: x,
        {"x": lambda g, weight, x_shape, weight_shape: left_cotangent(g, weight, x_shape, weight_shape, False, True),
         "weight": lambda g, x, x_shape, weight_shape: right_cotangent(g, x, x_shape, weight_shape, False, True),
         "bias": lambda g, bias_shape: g.sum_to(bias_shape)},
        operands=("x", "weight", "bias"), method=False, function=False, node="AddmmBackward0", doc="x @ weight.T + bias in one pass.")

"""Inverses, solutions of systems, pseudo-inverses."""

from __future__ import annotations

from ..core import general
from ..expr import scalar
from .parts import INTERNAL, h, triangle


def found_in(out, strict: bool):
    """Results, with 0 for what singular matrices lack, on which nothing depends."""
    return out if strict else scalar.where(scalar.eq(out, out), out, 0)


def inverse_cotangent(g, adjoint):
    """-x^-H g x^-H."""
    return -(adjoint @ g @ adjoint)


general(
    "inverse_matrix",
    lambda x, strict: x,
    {"x": lambda g, out, strict: inverse_cotangent(g, h(found_in(out, strict)))},
    **INTERNAL,
    node="LinalgInvExBackward0",
    public="linalg.inv",
    doc="The inverse; NaN of a singular matrix, unless strict.",
)
general(
    "singular_order",
    lambda x, found: x,
    None,
    operands=("x", "found"),
    **INTERNAL,
    public="linalg.inv_ex",
    doc="The order of the first leading part without a pivot; 0 if the matrix has an inverse, as where what was found by it is "
    "finite.",
)
general(
    "solve_system",
    lambda x, y, strict: x,
    {"y": lambda g, x, strict: found_in(scalar.solve_system(h(x), g, False), strict)},
    after={"x": ("y", lambda w, out, strict: -(w @ h(found_in(out, strict))))},
    operands=("x", "y"),
    **INTERNAL,
    node="LinalgSolveExBackward0",
    public="linalg.solve",
    doc="The z with x @ z = y; NaN of a singular matrix, unless strict.",
)


general(
    "solve_triangle",
    lambda x, y, upper, unit: x,
    {"y": lambda g, x, upper, unit: scalar.solve_triangle(h(x), g, not upper, unit)},
    after={"x": ("y", lambda w, out, upper, unit: triangle(-(w @ h(out)), upper, unit))},
    operands=("x", "y"),
    **INTERNAL,
    node="LinalgSolveTriangularBackward0",
    public="linalg.solve_triangular",
    doc="The z with x @ z = y, of a triangle of x, with 1 on its diagonal if it is a unit one.",
)


def pseudo_cotangent(g, x, out, x_shape):
    """Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973."""
    g, p = h(g), h(out)
    if x_shape[-2] <= x_shape[-1]:
        k = g @ out
        return -h(out @ k) + k @ p - (x @ out) @ (k @ p) + (p @ out) @ (g - k @ x)
    k = out @ g
    return -h(k @ out) + (g - x @ k) @ out @ p + p @ k - (p @ k @ out) @ x


general(
    "pseudo_inverse",
    lambda x, rtol, atol, hermitian: x,
    {"x": pseudo_cotangent},
    **INTERNAL,
    node="LinalgPinvBackward0",
    public="linalg.pinv",
    doc="The Moore-Penrose inverse.",
)

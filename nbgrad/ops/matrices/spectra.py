"""Eigenvalues, singular values and their vectors."""

from __future__ import annotations

from typing import Any, Callable

from ...base.errors import GradError
from ..core import general
from ..expr import scalar
from .parts import INTERNAL, eigh_parts, h, in_kind, on_diagonal, real_part, svd_parts, without_diagonal


def eigenvalue_gaps(left, right):
    """``right_j - left_i``, with 1 on the diagonal."""
    difference = right.unsqueeze(-2) - left.unsqueeze(-1)
    return without_diagonal(difference) + on_diagonal((right * 0).detach() + 1)


def require_gauge(name: str, imaginary, what: str) -> None:
    """Refuse a cotangent of a result that is unique only up to phases: the loss depends on the phase that LAPACK chose.

    Raises:
        GradError: it does.
    """
    from ...base.grad_mode import special

    if special or imaginary.layout.special or imaginary.is_meta:  # no values to look at, or values of a batch
        return
    size = float(imaginary.detach().abs().max()) if imaginary.numel() else 0.0
    if size > 1e-2:
        raise GradError(
            f"{name}: the gradient depends on the phase of the {what}, which is arbitrary: it is off by {size:.3g}. "
            "Hint: let the loss depend on absolute values, or on products in which phases cancel."
        )


def eigh_cotangent(g, out, x_shape):
    """The Hermitian part of V (diag(g_w) + V^H g_V / (w_j - w_i)) V^H: what differs from it reaches no Hermitian matrix."""
    n = x_shape[-1]
    (v, w), (g_v, g_w) = eigh_parts(out, n), eigh_parts(g, n)
    inner = h(v) @ g_v
    if g.dtype.is_complex:
        require_gauge("linalg.eigh", inner.diagonal(0, -2, -1).imag, "eigenvectors")
    inner = without_diagonal(inner / eigenvalue_gaps(w, w))
    return v @ ((inner + h(inner)) / 2 + on_diagonal(real_part(g_w))) @ h(v)


general(
    "eigh_row",
    lambda x, upper: x,
    {"x": eigh_cotangent},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigh",
    doc="Eigenvectors and eigenvalues of a Hermitian matrix.",
)


def is_first_order() -> bool:
    """Whether a cotangent is computed for itself: no derivative of it is asked for, so that what was known before serves."""
    from ...base.grad_mode import mode, special

    return not (special or mode.enabled)


def known_or(known, make: Callable):
    """A decomposition that is known, where that serves; else it is made again, with its history."""
    return make() if known is None or not is_first_order() else known


def eigvalsh_cotangent(g, x, x_shape, upper, known=None):
    """V diag(g) V^H."""
    v = eigh_parts(known_or(known, lambda: scalar.eigh_row(x, upper)), x_shape[-1])[0]
    return (v * g.unsqueeze(-2)) @ h(v)


general(
    "hermitian_eigenvalues",
    lambda x, upper: x,
    {"x": lambda g, x, x_shape, upper: eigvalsh_cotangent(g, x, x_shape, upper)},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigvalsh",
    doc="The eigenvalues of a Hermitian matrix.",
)
general(
    "known_hermitian_eigenvalues",
    lambda x, known, upper: x,
    {"x": lambda g, x, known, x_shape, upper: eigvalsh_cotangent(g, x, x_shape, upper, known)},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigvalsh",
    doc="The eigenvalues of a Hermitian matrix of which ``eigh_row`` is known.",
)


def eig_cotangent(g, out, x_shape, x_dtype):
    """V^-H (diag(g_w) + (V^H g_V - V^H V diag(Re(V^H g_V))) / conj(w_j - w_i)) V^H: the vectors have length 1.

    Source: C. Boeddeker et al., "On the computation of complex-valued gradients", arXiv:1701.00392, 2017.
    """
    n = x_shape[-1]
    (v, w), (g_v, g_w) = eigh_parts(out, n), eigh_parts(g, n)
    inner = h(v) @ g_v
    require_gauge("linalg.eig", inner.diagonal(0, -2, -1).imag, "eigenvectors")
    inner = inner - h(v) @ (v * real_part(inner.diagonal(0, -2, -1)).unsqueeze(-2))
    w = scalar.conj_physical(w)
    inner = on_diagonal(g_w) + without_diagonal(inner / eigenvalue_gaps(w, w))
    return in_kind(scalar.solve_system(h(v), inner @ h(v), True), x_dtype)


general(
    "eig_row",
    lambda x: x,
    {"x": eig_cotangent},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eig",
    doc="Eigenvectors and eigenvalues, both complex.",
)


def eigvals_cotangent(g, x, x_shape, x_dtype, known=None):
    """V^-H diag(g) V^H."""
    v = eigh_parts(known_or(known, lambda: scalar.eig_row(x)), x_shape[-1])[0]
    return in_kind(scalar.solve_system(h(v), g.unsqueeze(-1) * h(v), True), x_dtype)


general(
    "eigenvalues",
    lambda x: x,
    {"x": lambda g, x, x_shape, x_dtype: eigvals_cotangent(g, x, x_shape, x_dtype)},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eigvals",
    doc="The eigenvalues, complex.",
)
general(
    "known_eigenvalues",
    lambda x, known: x,
    {"x": lambda g, x, known, x_shape, x_dtype: eigvals_cotangent(g, x, x_shape, x_dtype, known)},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eigvals",
    doc="The eigenvalues of a matrix of which ``eig_row`` is known.",
)


def skew(x):
    """x - x^H."""
    return x - h(x)


def svd_cotangent(g, out, x_shape, full):
    """U ((skew(U^H g_U) S + S skew(V^H g_V)) / (s_j^2 - s_i^2) + diag(g_s)) V^H, and what g_U and g_V have outside of U and V.

    Source: J. Townsend, "Differentiating the singular value decomposition", 2016; Z.-Q. Wan and S.-X. Zhang, arXiv:1909.02659, for
    the diagonal of complex ones.
    """
    m, n = x_shape[-2:]
    k = min(m, n)
    (u, s, v), (g_u, g_s, g_v) = svd_parts(out, m, n, full), svd_parts(g, m, n, full)
    u, v, g_u, g_v = u.slice(-1, 0, k, 1), v.slice(-2, 0, k, 1), g_u.slice(-1, 0, k, 1), g_v.slice(-2, 0, k, 1)
    s, g_s = real_part(s), real_part(g_s)
    left, right = skew(h(u) @ g_u), skew(v @ h(g_v))
    gaps = eigenvalue_gaps(s * s, s * s)
    inner = without_diagonal(left / gaps * s.unsqueeze(-2) + s.unsqueeze(-1) * (right / gaps))
    diagonal: Any = g_s
    if g.dtype.is_complex:
        own = left.diagonal(0, -2, -1)
        require_gauge("linalg.svd", (own + right.diagonal(0, -2, -1)).imag, "singular vectors")
        diagonal = g_s + own / (2 * s)
    whole = u @ (inner + on_diagonal(diagonal)) @ v
    if m > k:
        outside = g_u / s.unsqueeze(-2)
        whole = whole + (outside - u @ (h(u) @ outside)) @ v
    if n > k:
        outside = g_v / s.unsqueeze(-1)
        whole = whole + u @ (outside - (outside @ h(v)) @ v)
    return whole


general(
    "svd_row",
    lambda x, full: x,
    {"x": svd_cotangent},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svd",
    doc="Left singular vectors, singular values and right singular vectors.",
)


def svdvals_cotangent(g, x, x_shape, known=None):
    """U diag(g) V^H."""
    u, _, v = svd_parts(known_or(known, lambda: scalar.svd_row(x, False)), *x_shape[-2:], False)
    return (u * g.unsqueeze(-2)) @ v


general(
    "singular_values",
    lambda x: x,
    {"x": lambda g, x, x_shape: svdvals_cotangent(g, x, x_shape)},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svdvals",
    doc="The singular values.",
)
general(
    "known_singular_values",
    lambda x, known: x,
    {"x": lambda g, x, known, x_shape: svdvals_cotangent(g, x, x_shape, known)},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svdvals",
    doc="The singular values of a matrix of which ``svd_row`` is known.",
)

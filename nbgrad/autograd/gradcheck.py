"""``gradcheck`` and ``gradgradcheck``: derivatives compared with finite differences.

>>> import nbgrad
>>> nbgrad.gradcheck(nbgrad.sin, nbgrad.ones(3, dtype=nbgrad.float64, requires_grad=True))
True
"""

from __future__ import annotations

from typing import Any, Callable

from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor
from .derivative_checks import check
from .entry import grad
from .measured_jacobians import CheckSettings, GradcheckError, as_arguments, by_values, differentiable, random_cotangent, results_of
from .old_jacobians import get_analytical_jacobian, get_numerical_jacobian, get_numerical_jacobian_wrt_specific_input

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]


# Step, absolute and relative tolerance of central differences by the bytes of a real element. The difference of two values is off
# by about 1e-7 (single) or 1e-3 (half) of them, divided by the step; the step's own error grows with its square.
PRECISION = {8: (1e-6, 1e-5, 1e-3), 4: (1e-2, 1e-3, 1e-2), 2: (1e-1, 1e-1, 1e-1)}


def precision_of(arguments: tuple) -> tuple[float, float, float]:
    """Step and tolerances for the least precise argument that requires grad."""
    sizes = [x.layout.dtype.to_real().itemsize for x in arguments if isinstance(x, Tensor) and requires_grad(x)]
    return PRECISION[min(sizes, default=8)]


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of ``func`` with central differences.

    Args:
        func: takes the inputs, returns a tensor or a sequence of them; results that do not require grad are left out.
        inputs: a Tensor or a sequence of arguments. Those that require grad are varied; they should be float64 or complex128: with
            others there is a warning, and the check is coarse.
        eps: the step, in both directions and, for complex inputs, along both axes; by default that of the least precise input.
        atol, rtol: an entry passes if ``|numerical - analytical| <= atol + rtol * |numerical|``; by default those of the least
            precise input: 1e-5 and 1e-3 for double precision, see ``PRECISION``.
        raise_exception: raise on the first difference; else return False.
        nondet_tol: how far two equal passes may differ.
        check_undefined_grad: run with results that receive no gradient.
        check_grad_dtypes: a gradient must have its input's dtype.
        check_batched_grad, check_batched_forward_grad: compare batched passes with single ones.
        check_forward_ad: compare forward mode too. check_backward_ad: compare backward mode.
        fast_mode: compare one random projection of the Jacobian instead of all entries.
        masked: of sparse inputs what is stored is varied in either case, and gradients are compared there.

    Returns:
        True, or False with ``raise_exception=False``.

    Raises:
        GradcheckError: a difference; the message shows both Jacobians and the worst entry.
        RangeError: no input requires grad (a ValueError).

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.5, 2.0], dtype=nbgrad.float64, requires_grad=True)
    >>> nbgrad.gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: nothing to check. Hint: leave check_forward_ad or check_backward_ad on.")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad is a check of the backward mode. Hint: check_backward_ad=True.")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad needs check_forward_ad=True.")
    func, arguments = by_values(func, as_arguments(inputs))
    usual = precision_of(arguments)
    eps, atol, rtol = (given if given is not None else own for given, own in zip((eps, atol, rtol), usual))
    settings = CheckSettings(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
    )
    try:
        check(func, arguments, settings)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare second derivatives with central differences of first ones: ``gradcheck`` of ``func``'s backward pass.

    Args:
        grad_outputs: cotangents of the results; random ones by default.
        gen_non_contig_grad_outputs: make those not contiguous.
        check_fwd_over_rev: check forward mode over backward mode. check_rev_over_rev: backward over backward.
        Others as for ``gradcheck``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.5, 2.0], dtype=nbgrad.float64, requires_grad=True)
    >>> nbgrad.gradgradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: nothing to check. Hint: leave check_fwd_over_rev or check_rev_over_rev on.")
    if check_undefined_grad and not check_rev_over_rev:
        check_undefined_grad = False
    func, arguments = by_values(func, as_arguments(inputs))
    if grad_outputs is None:
        results = differentiable(results_of(func, arguments))
        cotangents = tuple(random_cotangent(y, gen_non_contig_grad_outputs) for y in results)
    else:
        cotangents = as_arguments(grad_outputs)
    count = len(cotangents)

    wanted = [isinstance(x, Tensor) and requires_grad(x) for x in arguments]

    def first_derivative(*extended: Any) -> tuple[Tensor, ...]:
        own = extended[: len(extended) - count]
        for x, of_interest in zip(own, wanted):
            if of_interest and not requires_grad(x):  # forward mode brings inputs without
                x.requires_grad_()
        varied = tuple(x for x in own if isinstance(x, Tensor) and requires_grad(x))
        found = grad(
            differentiable(results_of(func, own)), varied, extended[len(extended) - count :], create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivative,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )

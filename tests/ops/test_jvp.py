"""Tangents of every operation against directional differences of the reference, and against its cotangents."""

from __future__ import annotations

import dis
from types import CodeType, FunctionType

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, General
from tests.helpers import asking
from tests.samples import SAMPLES
from tests.samples.checking import (
    close,
    expected,
    flatten,
    gradients,
    holds_numbers,
    results,
    run,
    tensors,
    to_tensor,
    waves,
    weights_of,
    with_one,
)

DIFFERENTIABLE = sorted(
    name for name, row in SAMPLES.items() if row.reference is not None and row.differentiable and "gradient" not in row.unlike
)
SMOOTH = [name for name in DIFFERENTIABLE if "second order" not in SAMPLES[name].unlike]
INPLACE = [name for name in DIFFERENTIABLE if getattr(OPS[name], "inplace", False)]
COMPLEX = [name for name in DIFFERENTIABLE if getattr(OPS[name], "complex", False) or getattr(OPS[name], "complex_form", None)]
CONVENTIONS = [(name, point) for name, row in SAMPLES.items() for point in row.at]
STEP = 1e-6


def plain(x: np.ndarray) -> nbgrad.Tensor:
    """An array as a row-major tensor."""
    return to_tensor(x)


def strided(x: np.ndarray) -> nbgrad.Tensor:
    """An array as a tensor whose memory is in reverse order of dimensions, with a gap between elements."""
    memory = np.zeros((*x.shape[::-1], 2), x.dtype)
    memory[..., 0] = x.T
    return nbgrad.from_numpy(memory).select(-1, 0).permute(tuple(range(x.ndim))[::-1])


def dual_operands(arrays: list, directions: list, as_tensor=plain) -> list:
    """Arrays that hold numbers as dual tensors along the directions, one after the other; anything else as it is."""
    along = iter(directions)

    def made(x):
        if isinstance(x, list):
            return [made(each) for each in x]
        return make_dual(as_tensor(x), to_tensor(next(along))) if holds_numbers(x) else to_tensor(x)

    return [made(x) for x in arrays]


def moved(arrays: list, directions: list, step: float) -> list:
    """The arrays some way along the directions."""
    along = iter(directions)

    def made(x):
        if isinstance(x, list):
            return [made(each) for each in x]
        return x + step * next(along) if holds_numbers(x) else x

    return [made(x) for x in arrays]


def tangent_arrays(out: tuple) -> list:
    """The tangents of results as arrays, zeros where there is none."""
    return [
        np.zeros(value.shape, value.dtype)
        if not isinstance(x, nbgrad.Tensor) or unpack_dual(x).tangent is None
        else unpack_dual(x).tangent.resolve_conj().resolve_neg().numpy()
        for x, value in zip(out, results(out))
    ]


def check_tangents(name: str, dtype: str, as_tensor=plain) -> None:
    """Compare the tangents of all cases with central differences of the reference."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call, dtype)
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        with dual_level():
            out = run(row, dual_operands(arrays, directions, as_tensor), call)
            found = tangent_arrays(out)
        ahead, behind = (expected(row, moved(arrays, directions, s * STEP), call) for s in (1, -1))
        for k, (got, a, b) in enumerate(zip(found, ahead, behind)):
            if got.dtype.kind in "fc":
                close(got, (a - b) / (2 * STEP), 1e-7, f"{name}{call}: tangent of result {k}")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangent(name):
    """Forward mode agrees with central differences in float64."""
    check_tangents(name, "float64")


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_tangent(name):
    """Of complex operands: the derivative along a complex direction."""
    check_tangents(name, "complex128")


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if "layout" not in SAMPLES[name].unlike])
def test_tangent_of_strided_operands(name):
    """The same of operands that are not row-major."""
    check_tangents(name, "float64", strided)


def turned(arrays: list) -> list:
    """Other numbers in the same places: those of each array in reverse order, a little smaller."""
    return [turned(x) if isinstance(x, list) else np.flip(x) * 0.97 if holds_numbers(x) else x for x in arrays]


@pytest.mark.part(4, 1)
@pytest.mark.parametrize(
    "name, as_tensor",
    [(name, how) for name in DIFFERENTIABLE for how in (plain, strided) if how is plain or "layout" not in SAMPLES[name].unlike],
)
def test_tangents_do_not_depend_on_what_came_before(name, as_tensor):
    """What is prepared by calls on other numbers, and run again, gives what the first call of all gives."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        others = turned(arrays)
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        with dual_level():
            with asking():
                want = run(row, dual_operands(arrays, directions, as_tensor), call)
                want = [*results(want), *tangent_arrays(want)]
            for _ in range(3):
                try:
                    run(row, dual_operands(others, directions, as_tensor), call)
                except nbgrad.NbgradError:  # no operands of this operation, in the other order
                    run(row, dual_operands(arrays, directions, as_tensor), call)
            for _ in range(2):
                got = run(row, dual_operands(arrays, directions, as_tensor), call)
                for k, (a, b) in enumerate(zip([*results(got), *tangent_arrays(got)], want, strict=True)):
                    close(a, b, 1e-12, f"{name}{call}: array {k}")


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangent_and_cotangent_are_adjoint(name):
    """``<w, J t> == <J^T w, t>``: forward and reverse are two readings of one declaration."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        weights = weights_of(expected(row, arrays, call))
        with dual_level():
            made = tangent_arrays(run(row, dual_operands(arrays, directions), call))
        forward = sum(np.vdot(w, t).real for w, t in zip(weights, made))
        found = gradients(row, tensors(row, call, requires_grad=True), call, weights)
        backward = sum(np.vdot(g.numpy(), t).real for g, t in zip(found, directions))
        close(forward, backward, 1e-11, f"{name}{call}: <w, J t> against <J^T w, t>")


@pytest.mark.parametrize("name, point", CONVENTIONS, ids=lambda x: str(x).replace(" ", ""))
def test_convention_where_it_is_not_smooth(name, point):
    """At a kink the tangent along an operand is the derivative that the row states."""
    for k, want in enumerate(SAMPLES[name].at[point]):
        with dual_level():
            duals = [
                make_dual(nbgrad.tensor(x, dtype=nbgrad.float64), nbgrad.tensor(float(j == k), dtype=nbgrad.float64))
                for j, x in enumerate(point)
            ]
            assert unpack_dual(CALLS[name](*duals)).tangent.item() == want, f"along operand {k}"


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_recorded_tangent_is_the_same(name):
    """Where the tangent is to be differentiated it is computed by calls, not by a kernel: with the same result."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        with dual_level():
            usual = tangent_arrays(run(row, dual_operands(arrays, directions), call))
            duals = dual_operands(arrays, directions, lambda x: plain(x).requires_grad_())
            recorded = [
                x.detach() if t is None else t.detach()
                for x, t in (unpack_dual(x) for x in run(row, duals, call) if isinstance(x, nbgrad.Tensor))
            ]
        for k, (got, want) in enumerate(zip(recorded, usual)):
            if want.any():
                close(got.resolve_conj().resolve_neg().numpy(), want, 1e-12, f"{name}{call}: recorded tangent of result {k}")


@pytest.mark.parametrize("name", sorted(name for name in DIFFERENTIABLE if isinstance(OPS[name], General)))
def test_linear_operations_are_linear(name):
    """An operation that is taken for linear in some operands gives zeros where those are zeros."""
    row, op = SAMPLES[name], OPS[name]
    for call in row.calls:
        for group in op.linear_groups():
            operands = tensors(row, call)
            for k, (operand, x) in enumerate(zip(op.operands, operands)):
                if operand in group:
                    operands[k] = [nbgrad.zeros_like(each) for each in x] if isinstance(x, list) else nbgrad.zeros_like(x)
            out = results(run(row, operands, call))[0]
            assert not out.any(), f"{name}{call} of zeros for {group}: {out}"


def refuses(function) -> bool:
    """Whether a formula, or a function of nbgrad.ops that it names, names the error of what has no derivative."""
    codes, known = [function.__code__], set()
    while codes:
        code = codes.pop()
        if code in known:
            continue
        known.add(code)
        names = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
        if "NotSupportedError" in names:
            return True
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        named = [function.__globals__.get(name) for name in names]
        codes += [each.__code__ for each in named if isinstance(each, FunctionType) and each.__module__.startswith("nbgrad.ops")]
    return False


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if isinstance(op, General) and op.vjps))
def test_a_linear_operation_refuses_no_derivative(name):
    """Where forward mode takes an operation for linear it does not ask the cotangent formula: that must not be one that raises."""
    op = OPS[name]
    for operand in {each for group in op.linear_groups() for each in group}:
        assert not refuses(op.vjps[operand]), f"{name}, {operand}: the formula raises; decorate it with @refusing"


def takes_integers(name: str) -> bool:
    """Whether an operation has nothing to do with derivatives."""
    return getattr(OPS[name], "policy", "") == "integer"


def reverse(row, call, arrays: list, which: int) -> None:
    """Differentiate by one of the operands."""
    operands = with_one(arrays, which, lambda x: x.requires_grad_())
    outs = [x for x in run(row, operands, call) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    nbgrad.backward(outs, [nbgrad.ones_like(x) for x in outs])


def forward(row, call, arrays: list, which: int) -> None:
    """Call with a tangent for one of the operands."""
    with dual_level():
        run(row, with_one(arrays, which, lambda x: make_dual(x, nbgrad.ones_like(x))), call)


def refusal(differentiate, *args) -> str | None:
    """What an operation that has no derivative says."""
    try:
        differentiate(*args)
    except nbgrad.NotSupportedError as error:
        return str(error)
    return None


@pytest.mark.part(4, 0)
@pytest.mark.parametrize(
    "name",
    sorted(
        name for name, row in SAMPLES.items() if row.reference is not None and not name.endswith("_") and not takes_integers(name)
    ),
)
def test_both_modes_refuse_the_same(name):
    """By every operand alone: what has no derivative in reverse mode has none in forward mode, and both say the same."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        for which in range(sum(map(holds_numbers, flatten(arrays)))):
            given = row, call, arrays, which
            assert refusal(reverse, *given) == refusal(forward, *given), f"{name}{call}, operand {which}"


@pytest.mark.parametrize("transform", [lambda f, x: nbgrad.func.jvp(f, (x,), (x,)), lambda f, x: nbgrad.func.jacfwd(f)(x)])
@pytest.mark.parametrize(
    "refused",
    [
        lambda x: nbgrad.igamma(x, nbgrad.tensor(0.7)),
        lambda x: nbgrad.igammac(x, nbgrad.tensor(0.7)),
        lambda x: nbgrad.special.gammainc(x, nbgrad.tensor(0.7)),
        lambda x: nbgrad.special.gammaincc(x, x),
        lambda x: nbgrad.linalg.qr(x.expand(3).diag()[:, :2], mode="complete")[1],
        lambda x: x.floor_divide(2),
    ],
)
def test_transforms_in_forward_mode_refuse_what_has_no_derivative(refused, transform):
    """``func.jvp`` and ``func.jacfwd`` refuse it, as reverse mode does."""
    with pytest.raises(nbgrad.NotSupportedError, match="derivative"):
        transform(refused, nbgrad.tensor(1.5))


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", SMOOTH)
def test_forward_over_reverse(name):
    """The tangent of a gradient is its directional difference."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        weights = weights_of(expected(row, arrays, call))
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        with dual_level():
            found = tangent_arrays(tuple(gradients_of_duals(row, call, arrays, directions, weights)[0]))
        ahead, behind = (
            gradients(row, [to_tensor(x, True) for x in moved(arrays, directions, s * STEP)], call, weights) for s in (1, -1)
        )
        for k, (got, a, b) in enumerate(zip(found, ahead, behind)):
            close(got, (a.numpy() - b.numpy()) / (2 * STEP), 1e-6, f"{name}{call}: tangent of gradient {k}")


def gradients_of_duals(row, call, arrays: list, directions: list, weights: list) -> tuple:
    """The gradients of ``<weights, results>`` by dual leaves, zeros where there is none; the leaves."""
    operands = dual_operands(arrays, directions, lambda x: plain(x).requires_grad_())
    leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    outs = [(x, w) for x, w in zip(run(row, operands, call), weights) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    found = nbgrad.grad([x for x, _ in outs], leaves, [nbgrad.tensor(w).to(x.dtype) for x, w in outs], allow_unused=True)
    return [nbgrad.zeros_like(x).detach() if g is None else g for x, g in zip(leaves, found)], leaves


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", SMOOTH)
def test_reverse_over_forward(name):
    """The gradient of a tangent is the tangent of the gradient: second derivatives commute."""
    row = SAMPLES[name]
    for call in row.calls:
        arrays = row.arrays(call)
        weights = weights_of(expected(row, arrays, call))
        directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
        with dual_level():
            wanted = tangent_arrays(tuple(gradients_of_duals(row, call, arrays, directions, weights)[0]))
            operands = dual_operands(arrays, directions, lambda x: plain(x).requires_grad_())
            leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
            made = [(unpack_dual(x).tangent, w) for x, w in zip(run(row, operands, call), weights) if isinstance(x, nbgrad.Tensor)]
            made = [(t, w) for t, w in made if t is not None and t.requires_grad]
            found = (
                nbgrad.grad([t for t, _ in made], leaves, [nbgrad.tensor(w).to(t.dtype) for t, w in made], allow_unused=True)
                if made
                else [None] * len(leaves)
            )
        for k, (got, want) in enumerate(zip(found, wanted)):
            close(np.zeros_like(want) if got is None else got.numpy(), want, 1e-10, f"{name}{call}: gradient {k} of the tangent")


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", INPLACE)
def test_tangent_of_the_in_place_form(name):
    """``x.op_()`` changes the tangent of ``x`` in place to what ``x.op()`` has."""
    row = SAMPLES[name]
    call = row.calls[0]
    arrays = row.arrays(call)
    directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
    with dual_level():
        (out,) = run(row, dual_operands(arrays, directions), call)
        (want,) = tangent_arrays((out,))
        x, *others = dual_operands(arrays, directions)
        tangent = unpack_dual(x).tangent
        if out.dtype is not x.dtype or out.shape != x.shape:
            pytest.skip("the result does not fit the operand")
        CALLS[name + "_"](x, *others, **call.attributes)
        assert unpack_dual(x).tangent is tangent, f"{name}_: the tangent is another tensor"
        close(tangent.numpy(), want, 1e-14, f"{name}_: tangent")


@pytest.mark.parametrize("name", sorted({*INPLACE} & {*SMOOTH}))
def test_forward_over_reverse_of_the_in_place_form(name):
    """What the node of a write saved, the old value or the result, has its tangent in the backward pass."""
    row = SAMPLES[name]
    call = row.calls[0]
    arrays = row.arrays(call)
    directions = [waves(x, 1 + k) for k, x in enumerate(flatten(arrays)) if holds_numbers(x)]
    weights = weights_of(expected(row, arrays, call))
    with dual_level():
        want = tangent_arrays(tuple(gradients_of_duals(row, call, arrays, directions, weights)[0]))
        leaves = dual_operands(arrays, directions, lambda x: plain(x).requires_grad_())
        x = leaves[0].clone()
        if expected(row, arrays, call)[0].shape != x.shape:
            pytest.skip("the result does not fit the operand")
        CALLS[name + "_"](x, *leaves[1:], **call.attributes)
        found = nbgrad.grad(
            x,
            [leaf for leaf in leaves if isinstance(leaf, nbgrad.Tensor) and leaf.requires_grad],
            nbgrad.tensor(weights[0]),
            allow_unused=True,
        )
        got = tangent_arrays(tuple(nbgrad.zeros(1) if g is None else g for g in found))
    for k, (a, b) in enumerate(zip(got, want)):
        close(a + np.zeros_like(b), b, 1e-12, f"{name}_: tangent of gradient {k}")


WIDER = {
    "clip": lambda x, wide: x.clip(wide, wide + 1),
    "clamp_min": lambda x, wide: x.clamp_min(wide),
    "maximum": lambda x, wide: nbgrad.maximum(x, wide),
    "fmax": lambda x, wide: nbgrad.fmax(x, wide),
    "minimum": lambda x, wide: nbgrad.minimum(wide, x),
    "where": lambda x, wide: nbgrad.where(x > 0, x, wide),
    "mul": lambda x, wide: x * wide,
    "pow": lambda x, wide: x**wide,
    "logaddexp": lambda x, wide: nbgrad.logaddexp(x, wide),
    "clamp_min_": lambda x, wide: x.clone().clamp_min_(wide),
    "elu": lambda x, wide: nbgrad.nn.functional.elu(x, 0.5),
}


@pytest.mark.parametrize("name", WIDER)
@pytest.mark.parametrize(
    "narrow, wide, shape", [("float32", "float64", (1,)), ("bfloat16", "float32", ()), ("float16", "float32", (1,))]
)
@pytest.mark.parametrize("recorded", [(False, True), (True, False), (True, True)], ids=str)
def test_a_tangent_has_the_dtype_of_its_primal(name, narrow, wide, shape, recorded):
    """Also beside an operand of another dtype, where the tangent is recorded."""
    narrow, wide = getattr(nbgrad, narrow), getattr(nbgrad, wide)
    x = nbgrad.full((2,), 1.5, dtype=narrow, requires_grad=recorded[0])
    other = nbgrad.full(shape, 1.25, dtype=wide, requires_grad=recorded[1])
    with nbgrad.forward_ad.dual_level():
        primal, t = nbgrad.forward_ad.unpack_dual(WIDER[name](nbgrad.forward_ad.make_dual(x, nbgrad.ones(2, dtype=narrow)), other))
        assert t.dtype is primal.dtype and t.shape == primal.shape

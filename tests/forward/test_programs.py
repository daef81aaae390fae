"""Dual programs: later calls of a kind, with other numbers, give what the call gives the long way."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.forward import program_calls
from nbgrad.ops.core import OPS
from tests.parts import in_part
from tests.samples import SAMPLES
from tests.samples.checking import as_tuple, run, to_tensor

CALLS = 4  # the first is looked at, the second traced, the third and the fourth take the program


def without_programs():
    """Forget the programs of all operations."""
    for op in OPS.values():
        for table in program_calls.programs_of(op):
            table.clear()


def with_tensors(x, tensors):
    """An operand of a sample, its floating arrays replaced by the next tensors."""
    if isinstance(x, list):
        return [with_tensors(each, tensors) for each in x]
    return next(tensors) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else to_tensor(x)


def floats(x):
    """The floating arrays of an operand."""
    if isinstance(x, list):
        return [array for each in x for array in floats(each)]
    return [x] if isinstance(x, np.ndarray) and x.dtype.kind == "f" else []


def bits(x):
    """Dtype, shape and bits of a tensor; None for None."""
    if x is None:
        return None
    shown = x.detach().resolve_conj().resolve_neg().contiguous()
    return shown.dtype, tuple(shown.shape), shown.reshape(-1).view(nbgrad.uint8).numpy().tobytes() if shown.numel() else b""


def dual(x, rng, k, dtype):
    """A dual tensor of numbers near those of an array."""
    near = x * (1 + 0.01 * k * rng.random(x.shape))
    return make_dual(nbgrad.tensor(near, dtype=dtype), nbgrad.tensor(rng.random(x.shape), dtype=dtype))


def dual_calls(row, call, arrays, dtype):
    """Values and tangents of calls of one kind, each with other numbers."""
    got = []
    for k in range(CALLS):
        rng = np.random.default_rng(k)
        nbgrad.manual_seed(k)
        with dual_level():
            duals = iter([dual(x, rng, k, dtype) for operand in arrays for x in floats(operand)])
            made = run(row, [with_tensors(x, duals) for x in arrays], call)
            outs = [x for x in as_tuple(made) if isinstance(x, nbgrad.Tensor)]
            got.append([tuple(map(bits, unpack_dual(x))) for x in outs])
    return got


@pytest.mark.parametrize(
    "k, dtype",
    [
        (0, nbgrad.float64),
        (1, nbgrad.float32),
        pytest.param(0, nbgrad.float16, marks=pytest.mark.slow),
        pytest.param(1, nbgrad.bfloat16, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_programs_compute_what_the_long_way_does(k, dtype, monkeypatch, request):
    """For every sample: the bits of values and tangents. A third of the operations in either dtype, unless all is asked for."""
    wrong, right = [], 0
    whole = request.config.getoption("--slow")
    for name, row in SAMPLES.items():
        if not (whole or in_part([(3, k)], name)):
            continue
        for call in row.calls if row.reference is not None and row.differentiable else ():
            arrays = row.arrays(call, "float64")
            if not any(map(floats, arrays)):
                continue
            without_programs()
            try:
                with monkeypatch.context() as patch:
                    patch.setattr(program_calls, "program_of", lambda *_, **__: None)
                    want = dual_calls(row, call, arrays, dtype)
            except (nbgrad.NbgradError, KeyError):  # not for this dtype; a kernel of distances that nobody asks for
                continue
            without_programs()
            if dual_calls(row, call, arrays, dtype) != want:
                wrong.append(f"{name}{call}")
            right += 1
    assert not wrong
    assert right > (780 if whole else 220)


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16, nbgrad.float32], ids=str)
def test_what_an_unseen_step_has_made_is_no_constant(dtype):
    """A 0-d result of several launches is filled with one number, as a constant is."""
    for k in (1.0, 2.0, 3.0, 4.0):
        with dual_level():
            out = unpack_dual(make_dual(nbgrad.full((3,), k, dtype=dtype), nbgrad.full((3,), k + 1, dtype=dtype)).square().sum())
        assert out.primal.item() == 3 * k * k
        assert out.tangent.item() == 3 * 2 * k * (k + 1)


def test_views_as_integers_have_no_tangent_in_any_call():
    """Nor in the later ones, which take a plan."""
    for _ in range(4):
        with dual_level():
            assert unpack_dual(make_dual(nbgrad.ones(2), nbgrad.ones(2)).view(nbgrad.int32)).tangent is None


JOINED = {
    "cat": lambda x, y: nbgrad.cat([x, y]),
    "stack": lambda x, y: nbgrad.stack([x, y]),
    "kron": nbgrad.kron,
    "linear": nbgrad.nn.functional.linear,
    "index_add": lambda x, y: x.index_add(0, nbgrad.tensor([0, 1]), y),
    "a view of the first": lambda x, y: nbgrad.cat([x.t().t(), y]),
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize(
    "inputs",
    [lambda x, y, t, u: (x, t, x, t), lambda x, y, t, u: (x, x, y, y), lambda x, y, t, u: (x, t, y, t)],
    ids=["one operand twice", "tangents that are their primals", "one tangent twice"],
)
def test_operands_that_were_one_are_told_apart_later(name, inputs):
    """Calls whose operands or tangents are the same memory leave no program behind that takes one of them for the other."""
    f = JOINED[name]
    x, y, t, u = (nbgrad.arange(4.0).reshape(2, 2) + k for k in (0.5, 10.0, 20.0, 30.0))

    def both(x, t, y, u):
        with dual_level():
            out = unpack_dual(f(make_dual(x, t), make_dual(y, u)))
        return out.primal, out.tangent

    for _ in range(3):
        both(*inputs(x, y, t, u))
    slope = (f(x + t, y + u) - f(x - t, y - u)) / 2  # exact: all of them are polynomials of second degree at most
    for _ in range(3):
        out, tangent = both(x, t, y, u)
        assert nbgrad.equal(out, f(x, y)) and nbgrad.equal(tangent, slope)


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_one_operand_twice_has_a_program(name):
    """A call of copies makes it."""
    without_programs()
    with dual_level():
        x = make_dual(nbgrad.ones(2), nbgrad.full((2,), 3.0))
        for _ in range(CALLS):
            out = unpack_dual(getattr(nbgrad, name)([x, x]))
            assert out.primal.sum() == 4 and out.tangent.sum() == 12
    assert len(program_calls.programs_of(OPS[name])[0]) == 1

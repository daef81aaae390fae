"""Scalar functions that are run into LLVM instructions: the bits of Numba's own compilation, and what is left to Numba."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels.codegen import guard_functions, scalar_function
from nbgrad.kernels.cpu import build, traced
from nbgrad.kernels.cpu.store import Loader, Store
from nbgrad.kernels.scalars import BY_DTYPE
from nbgrad.kernels.templates.elementwise import elementwise_loop
from nbgrad.ops.expr import scalar, symbol

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
LOADER = Loader(Store(None))  # nothing from the disk: what is tested is compiled now
X, Y, C = symbol("x"), symbol("y"), symbol("c", True)
FORMULAS = {
    "exp": ((("x", False),), (scalar.exp(X),)),
    "tanh": ((("x", False),), (scalar.tanh(X),)),
    "several": ((("x", False), ("y", False)), (scalar.log(X) * Y, -X / (Y + 1.0))),
    "chosen": ((("c", True), ("x", False)), (scalar.where(C, scalar.sigmoid(X), X * 0.5),)),
    "predicate": ((("x", False), ("y", False)), (X < Y,)),
    "pow": ((("x", False), ("y", False)), (scalar.pow(X, Y),)),  # which compares truth values and integers
    "erfc": ((("x", False),), (scalar.erfc(X),)),  # which has a polynomial of a constant
}


def program(name: str, dtype: str) -> build.Program:
    """The elementwise kernel of one of the formulas."""
    params, results = FORMULAS[name]
    guards = guard_functions(name, params, results, dtype)
    outs = tuple("bool" if result.boolean else dtype for result in results)
    ins = tuple(("bool" if boolean else dtype, False) for _, boolean in params)
    functions = {"scalar": scalar_function(name, params, results, dtype), **guards}
    return build.Program(name, elementwise_loop(outs, ins, 0, next(iter(guards), "")), dtype, tuple(functions.items()))


def computed(made: build.Program, label: str, dtype: str) -> list[bytes]:
    """What a kernel that is compiled now makes of ordinary, huge and special numbers."""
    params, results = FORMULAS[made.name]
    key = f"test-{label}-{made.name}-{dtype}"
    (address,) = LOADER.load(key, lambda: build.compile_program(made)).values()
    x = np.concatenate([np.random.default_rng(0).normal(size=1500) * 40, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30]])
    arrays = [np.empty(x.size, "bool" if result.boolean else dtype) for result in results]
    arrays += [(x > 0) if boolean else np.roll(x, k).astype(dtype) for k, (_, boolean) in enumerate(params)]
    pointers = (ctypes.c_void_p * (1 + len(arrays)))(None, *[array.ctypes.data for array in arrays])
    scratch = (ctypes.c_void_p * 2)()
    KERNEL(address)(ctypes.byref(scratch), None, 0, x.size, pointers)
    return [np.where(np.isnan(array), 7, array).astype(array.dtype).tobytes() for array in arrays[: len(results)]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_traced_kernels_have_the_bits_of_numbas_own(name, dtype, monkeypatch):
    """A kernel whose functions are traced computes bit for bit what it computes when Numba infers and lowers them."""
    made = program(name, dtype)
    names = {key for key, _ in made.bindings}
    assert set(traced.traced(dict(made.bindings), BY_DTYPE[dtype], dtype)) == names
    found = computed(made, "traced", dtype)
    monkeypatch.setattr(traced, "traced", lambda *given: {})
    assert found == computed(made, "inferred", dtype)


def branching(x):
    """A function that looks at a value."""
    if x > 0.0:
        return x
    return x * 2.0


def counting(x):
    """A function with a whole number in its arithmetic, which Numba would compute in float64."""
    return x * 2


def constant(x):
    """A function whose result no operand determines."""
    return 1.0


def straight(x):
    """A function that can be traced."""
    return x * x


@pytest.mark.parametrize("function", [branching, counting, constant])
def test_what_cannot_be_traced_is_left_to_numba(function, monkeypatch):
    """Branches, whole numbers and constants are not traced, and that is no error."""
    for each in (function, straight):
        monkeypatch.setattr(each, "booleans", (False,), raising=False)
    found = traced.traced({"scalar": function, "precise": straight}, BY_DTYPE["float32"], "float32")
    assert list(found) == ["precise"]


def test_functions_of_unknown_operands_are_left_to_numba():
    """Only functions that say which operands are elements of the dtype are traced: those of conversions take other numbers."""
    assert traced.traced({"scalar": straight}, BY_DTYPE["float32"], "float32") == {}
    with nbgrad.no_grad():
        z = nbgrad.tensor([0.1 + 0.2j], dtype=nbgrad.complex128)
        assert (z.to(nbgrad.complex64).to(nbgrad.complex128) - z).abs().item() < 1e-7
        assert nbgrad.tensor([0.1], dtype=nbgrad.float64).to(nbgrad.complex128).real.item() == 0.1


def test_kernels_that_reassociate_are_not_traced(monkeypatch):
    """The flags of a kernel that may reorder sums do not reach its scalar functions, so these stay functions of their own."""

    def refuse(*given):
        raise AssertionError("traced")

    monkeypatch.setattr(traced, "traced", refuse)
    made = program("tanh", "float32")._replace(reassociate=True)
    code, symbols = build.compile_program(made)
    assert code and len(symbols) == 1
    with pytest.raises(AssertionError, match="traced"):
        build.compile_program(made._replace(reassociate=False))

"""Values of every operation against NumPy in float64, by dtype."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, Elementwise, General
from tests.parts import alternating
from tests.samples import SAMPLES
from tests.samples.checking import close, expected, results, run, to_tensor
from tests.samples.row import Case, leaves

ROWS = sorted(name for name, row in SAMPLES.items() if row.reference is not None)
ELEMENTWISE = sorted(name for name in ROWS if isinstance(OPS[name], Elementwise))
# Relative to the largest value: a few roundings of each dtype.
TOLERANCES = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2, "complex64": 1e-6, "complex128": 1e-14}


def takes(op, dtype: str) -> bool:
    """Whether an elementwise operation is declared to be defined for a dtype."""
    kind = getattr(nbgrad, dtype)
    if kind.is_complex:
        return op.complex or op.complex_form is not None
    if dtype == "bool":
        return not op.refuses_bool and op.policy != "floating"
    return op.policy != ("integer" if kind.is_floating_point else "floating")


def result_dtype(op, dtype: str) -> str:
    """The dtype of the result that the declaration promises."""
    if op.predicate:
        return "bool"
    if dtype.startswith("complex") and op.name in ("abs", "angle", "absolute_difference"):
        return getattr(nbgrad, dtype).to_real().name
    if op.policy == "float" and not getattr(nbgrad, dtype).differentiable:
        return "float32"
    if op.policy == "number" and dtype == "bool":
        return "int64"
    return dtype


def widened(x, boolean: bool = True):
    """An operand as the reference gets it: in float64, int64 or complex128; truth values as such if ``boolean``."""
    if isinstance(x, list):
        return [widened(each) for each in x]
    if not isinstance(x, np.ndarray) or (x.dtype == bool and boolean):
        return x
    return x.astype({"b": np.int64, "i": np.int64, "u": np.int64, "c": np.complex128}.get(x.dtype.kind, np.float64))


def check_value(row, call: Case, dtype: str, tolerance: float) -> tuple:
    """Compare one call with the reference; returns the results."""
    arrays = row.arrays(call, dtype)
    out = run(row, [to_tensor(x) for x in arrays], call)
    with np.errstate(all="ignore"):
        wanted = expected(row, [widened(x, getattr(row.op, "policy", "") != "float") for x in arrays], call)
    assert len(out) == len(wanted)
    for got, want in zip(results(out), wanted):
        if got.dtype.kind in "iu":
            want = want.astype(got.dtype)  # the reference does not wrap around
        close(got, want, tolerance, f"{row.name}{call} in {dtype}")
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ROWS)
def test_value(name, dtype):
    """The reference in float64 is met within a few roundings."""
    row = SAMPLES[name]
    if "float" in row.unlike or (isinstance(row.op, Elementwise) and not takes(row.op, dtype)):
        dtype = "int64"
    for call in row.calls:
        check_value(row, call, dtype, TOLERANCES.get(dtype, 0.0))


@pytest.mark.parametrize("dtype", ["int64", *alternating("uint8", "bool", "float16", "bfloat16"), "complex128"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_value_and_dtype_of_elementwise(name, dtype):
    """Defined for the dtypes of the declaration, with its result dtype; else an error names the operation."""
    row, op = SAMPLES[name], OPS[name]
    call = row.calls[0]
    if dtype in row.unlike:
        pytest.skip(row.unlike[dtype])
    if not takes(op, dtype):
        with pytest.raises(nbgrad.DTypeError, match=f"^{OPS[name].public}: "):
            CALLS[name](*map(to_tensor, row.arrays(call, dtype)))
        return
    (out,) = check_value(row, call, dtype, TOLERANCES.get(dtype, TOLERANCES["float32"] if op.policy == "float" else 0.0))
    assert out.dtype is getattr(nbgrad, result_dtype(op, dtype))


@pytest.mark.parametrize("name", [name for name in ROWS if isinstance(OPS[name], General)])
def test_results_of_single_precision_are_of_single_precision(name):
    """What a lowering computes wider, as NumPy does of a quotient with integers, is rounded to the operands' dtype."""
    row = SAMPLES[name]
    if "float" in row.unlike:
        pytest.skip(row.unlike["float"])
    doubles = (nbgrad.float64, nbgrad.complex128)
    for call in row.calls:
        operands = [to_tensor(x) for x in row.arrays(call, "float32")]
        if "dtype" not in call.attributes and not any(x.dtype in doubles for x in leaves(operands) if isinstance(x, nbgrad.Tensor)):
            wide = [x.dtype for x in run(row, operands, call) if x.dtype in doubles]
            assert not wide, f"{name}{call} of float32 is {wide[0]}. Hint: tensor_of(values, x) has the dtype of the values."


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(ELEMENTWISE)))
def test_value_in_half_precision(name):
    """Half types are computed in float32 and rounded once."""
    row = SAMPLES[name]
    if "half" in row.unlike:
        pytest.skip(row.unlike["half"])
    check_value(row, row.calls[0], "bfloat16", TOLERANCES["bfloat16"])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_zero_dimensional_and_empty(name):
    """A number as a 0-d tensor, and nothing at all: shapes () and (0, 3)."""
    row, op = SAMPLES[name], OPS[name]
    dtype = "float64" if takes(op, "float64") else "int64"
    operands = row.calls[0].operands
    for shape in ((), (0, 3)):
        call = Case(tuple(shape if isinstance(x, tuple) else x for x in operands), {})
        out = check_value(row, call, dtype, 1e-14)
        assert out[0].shape == shape

"""Every sample of the table on the device meta: the results of the CPU in shape, dtype and strides, without elements or kernels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.errors import NotSupportedError
from nbgrad.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.kernels.cpu import build
from nbgrad.ops.core import OPS, Elementwise
from tests.parts import alternating
from tests.samples import SAMPLES
from tests.samples.checking import as_tuple, flatten, run, tensors, to_tensor

LENGTH = "the result is as long as something is true"
ANSWER = "the result is a number or a truth value of Python's"
BY_VALUES = "the result's shape is what elements say"
REFUSED = {
    **dict.fromkeys("nonzero nonzero_places argwhere masked_select unique unique_consecutive".split(), LENGTH),
    "getitem": "through a mask " + LENGTH,
    "setitem": "elements go where a mask is true",
    **dict.fromkeys(["one_hot", "bincount"], BY_VALUES),
    **dict.fromkeys(["allclose", "equal"], ANSWER),
    **dict.fromkeys(["histogram", "histogramdd", "geqrf"], "by NumPy, of elements"),
    "istft": "whether the windows cover the signal is looked at",
    "to_device": "nothing comes back",
}
ELSEWHERE = ("tril_indices", "triu_indices", "valid_mean")  # made on the CPU; a report of the CPU's
ROWS = sorted(name for name, row in SAMPLES.items() if row.reference is not None and name not in ELSEWHERE)
DIFFERENTIABLE = [name for name in ROWS if SAMPLES[name].differentiable and name not in (*REFUSED, "masked_select_backward")]
INPLACE = [name for name in ROWS if isinstance(OPS[name], Elementwise) and OPS[name].inplace]


def no_kernel(*args: object) -> None:
    """What stands in the place of the loader of kernels."""
    raise AssertionError("a kernel of the CPU is compiled or run")


@pytest.fixture
def kernels(monkeypatch) -> Iterator[pytest.MonkeyPatch]:
    """Within ``kernels.context()`` and ``forbid`` there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield monkeypatch


def forbid(patch: pytest.MonkeyPatch) -> None:
    """Let it be an error to find a kernel."""
    patch.setattr(build, "loader", no_kernel)
    patch.setattr(build, "_addresses", {})


def there(x):
    """Tensors on meta, also inside sequences; anything else as it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(there(each) for each in x)
    if not isinstance(x, nbgrad.Tensor):
        return x
    moved = nbgrad.empty_like(x, device="meta").as_strided(x.shape, x.stride())
    return moved.requires_grad_() if x.requires_grad else moved


run_there = partial(run, there=there)


def told(x, device: str):
    """What is known of a result; of one without elements strides tell nothing."""
    if not isinstance(x, nbgrad.Tensor):
        return x
    return x.dtype, tuple(x.shape), x.stride() if x.numel() else None, x.requires_grad, device


def is_public(name: str) -> bool:
    """Whether programs call an operation under its name."""
    places = nbgrad, nbgrad.Tensor, nbgrad.nn.functional, nbgrad.special
    return name.startswith("linalg_") or any(hasattr(place, name) for place in places)


def cases(name: str, dtype: str, requires_grad: bool = False) -> Iterator:
    """Row, call, operands and results on the CPU, of calls that there are in a dtype."""
    row = SAMPLES[name]
    if dtype in row.unlike or dtype not in ("float32", "float64") and not is_public(name):
        pytest.skip("not in this dtype")
    for call in row.calls:
        here = tensors(row, call, dtype, requires_grad)
        try:
            outs = run(row, here, call)
        except (nbgrad.NbgradError, np.linalg.LinAlgError, TypeError, KeyError, RecursionError):
            continue
        yield row, call, here, outs


FAILURES = [(name, failure) for name, row in sorted(SAMPLES.items()) for failure in row.errors]
# What elements are to be blamed for: classes, places and lengths out of range, matrices without an inverse.
OF_ELEMENTS = "one_hot nll_loss cross_entropy scatter_reduce segment_reduce cholesky_factor linalg_inv".split()


@pytest.mark.parametrize(("name", "failure"), FAILURES, ids=[f"{name}{failure.case}" for name, failure in FAILURES])
def test_errors(name, failure):
    """Shapes, dtypes and settings that the CPU refuses are refused with its words; what is wrong with elements is not seen."""
    row = SAMPLES[name]
    operands = there(tensors(row, failure.case, failure.dtype))
    try:
        run_there(row, operands, failure.case)
    except failure.error as error:
        assert re.search(failure.match, str(error))
    else:
        assert name in OF_ELEMENTS


@pytest.mark.parametrize("dtype", ["float32", *alternating("complex64", "bfloat16"), pytest.param("int64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROWS)
def test_results(name, dtype, kernels):
    """As the CPU's; what cannot be known without elements is refused, and nothing else is."""
    refused = False
    for row, call, here, outs in cases(name, dtype):
        with kernels.context() as patch:
            forbid(patch)
            try:
                got = run_there(row, there(here), call)
            except NotSupportedError as error:
                assert name in REFUSED and "no data!" in str(error)
                refused = True
                continue
        made = any(isinstance(x, nbgrad.Tensor) for x in flatten(here))
        assert [told(x, x.device.type if isinstance(x, nbgrad.Tensor) else "") for x in got] == [
            told(x, "meta" if made else "cpu") for x in outs
        ], call
    assert refused or name not in REFUSED or dtype != "float32"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name, kernels):
    """Gradients, and those of gradients, are as the CPU's."""
    for row, call, here, outs in cases(name, "float64", True):
        want = pulled(outs, here)
        operands = there(here)
        with kernels.context() as patch:
            forbid(patch)
            got = pulled(run_there(row, operands, call), operands)
        assert [told(x, "meta") for x in got] == [told(x, "meta") for x in want], call


def pulled(outs, operands) -> list:
    """Gradients of both orders at operands that require grad."""
    leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    outs = [x for x in outs if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    if not outs:
        return []
    grads = nbgrad.grad(outs, leaves, [nbgrad.ones_like(x) for x in outs], create_graph=True, allow_unused=True)
    again = [x for x in grads if x is not None and x.requires_grad]
    second = nbgrad.grad(again, leaves, [nbgrad.ones_like(x) for x in again], allow_unused=True) if again else ()
    return [*grads, *second]


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangents(name, kernels):
    """Tangents are as the CPU's, of the first call of a kind and of later ones, whose steps are known."""
    for row, call, here, _ in cases(name, "float64"):
        want = pushed(run, row, here, call)
        operands = there(here)
        with kernels.context() as patch:
            forbid(patch)
            for _ in range(3):
                assert [told(x, "meta") for x in pushed(run_there, row, operands, call)] == [told(x, "meta") for x in want], call


def pushed(run: Callable, row, operands: list, call) -> list:
    """The tangents of the results."""
    with dual_level():
        duals = [dual(x) for x in operands]
        return [unpack_dual(x).tangent for x in run(row, duals, call) if isinstance(x, nbgrad.Tensor)]


def dual(x):
    """A tensor with a tangent, where it may have one."""
    if isinstance(x, (list, tuple)):
        return type(x)(dual(each) for each in x)
    if not isinstance(x, nbgrad.Tensor) or not x.dtype.differentiable:
        return x
    return make_dual(x.detach(), nbgrad.ones_like(x))


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_batches(name, kernels):
    """Calls of batches give what they give on the CPU."""
    for row, call, here, _ in cases(name, "float64"):
        if any(isinstance(x, list) for x in here):
            continue
        batch = [nbgrad.stack([x, x]) if isinstance(x, nbgrad.Tensor) else x for x in here]
        try:
            want = mapped(run, row, batch, call)
        except (nbgrad.NbgradError, TypeError):
            continue
        operands = there(batch)
        with kernels.context() as patch:
            forbid(patch)
            got = mapped(run_there, row, operands, call)
        assert [told(x, "meta") for x in got] == [told(x, "meta") for x in want], call


def mapped(run: Callable, row, operands: list, call) -> tuple:
    """The tensors among the results, mapped over the operands' first dimensions."""
    dims = tuple([0 if isinstance(x, nbgrad.Tensor) else None for x in operands])

    def call_one(*given):
        return tuple([x for x in run(row, list(given), call) if isinstance(x, nbgrad.Tensor)])

    return nbgrad.vmap(call_one, in_dims=dims, randomness="different")(*operands)


@pytest.mark.parametrize("name", ROWS)
def test_the_default_device_is_where_no_steps_are(name, kernels):
    """What a call of the CPU makes on its way is on the CPU, though new tensors of the program go to meta."""
    for row, call, here, outs in cases(name, "float64"):
        attributes = {name: to_tensor(x) for name, x in call.attributes.items()}
        if row.name.endswith("_") or row.name == "setitem":
            continue
        nbgrad.manual_seed(1)
        outs = as_tuple(CALLS[name](*here, **attributes))
        nbgrad.manual_seed(1)
        with nbgrad.device("meta"):
            got = as_tuple(CALLS[name](*here, **attributes))
        for x, y in zip(got, outs, strict=True):
            assert not isinstance(x, nbgrad.Tensor) or nbgrad.equal(x.nan_to_num(), y.nan_to_num()), call


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name, kernels):
    """Writes give the operand, a version further, or the CPU's error."""
    for _, call, here, _ in cases(name, "float32"):
        moved = there(here)
        try:
            CALLS[name + "_"](*here)
        except (nbgrad.NbgradError, KeyError) as error:
            with pytest.raises(type(error)):
                CALLS[name + "_"](*moved)
            continue
        with kernels.context() as patch:
            forbid(patch)
            assert CALLS[name + "_"](*moved) is moved[0] and moved[0]._version == here[0]._version, call

"""Every sample of the table on a GPU against the same call on the CPU: values, gradients of both orders, tangents, writes.

They run on the emulated device, in a child process; a third of them, of those either second orders or tangents, and all with
``--slow``.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.base.calls import CALLS
from nbgrad.kernels.cuda import cusolver
from nbgrad.ops.core import OPS, Elementwise
from tests.samples import SAMPLES
from tests.samples.checking import close, flatten, run, tensors, waves

from .emulation import in_a_child, on_gpus, slow_too, without_gpus

ROWS = sorted(name for name, row in SAMPLES.items() if row.reference is not None)
DIFFERENTIABLE = [name for name in ROWS if SAMPLES[name].differentiable and "gradient" not in SAMPLES[name].unlike]
SMOOTH = [name for name in DIFFERENTIABLE if "second order" not in SAMPLES[name].unlike]
INPLACE = [name for name in ROWS if isinstance(OPS[name], Elementwise) and OPS[name].inplace]
# Of the largest expected value: sums of other orders, and functions of another compiler, differ by some roundings.
TOLERANCES = {"float32": 1e-5, "float64": 1e-11, "complex64": 1e-5, "complex128": 1e-11, "float16": 1e-2, "bfloat16": 6e-2}
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int8", "bool", "complex64", "complex128")
FIRST = ("float32", "float64")
NO_VALUES = {
    ("neg_view", "bool"): "truth values have no negative; what is seen of it is no value",
    **dict.fromkeys([("valid_mean", "bool"), ("valid_share", "bool")], "losses are floating"),
}
# Vectors that another library turns otherwise, and eigenvalues that it finds in another order.
UP_TO_SIGNS = ("linalg_eigh", "linalg_svd", "eigh_row", "svd_row", "linalg_eig", "linalg_eigvals", "eig_row", "eigenvalues")
ELSEWHERE = ("to_device", "valid_mean")  # it goes where it is told; the report beside the mean is the CPU's


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.early
def test_samples_in_a_child(request):
    """All tests of this file pass in a process with the emulated device."""
    in_a_child(__file__, *slow_too(request))


def thirds(*dtypes: str) -> list:
    """Dtypes as parameters: of those in ``FIRST`` a third of the operations, another for each; with ``--slow`` all in all."""
    parts = {name: pytest.mark.part(3, k) for k, name in enumerate(FIRST)}
    return [pytest.param(dtype, marks=parts.get(dtype, pytest.mark.slow)) for dtype in dtypes]


def there(x, requires_grad: bool = False):
    """Tensors on the GPU, also inside sequences; anything else as it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(there(each, requires_grad) for each in x)
    if not isinstance(x, nbgrad.Tensor):
        return x
    moved = x.detach().cuda()
    return moved.requires_grad_() if x.requires_grad else moved


run_there = partial(run, there=there)


def agree(got, want, dtype: str, what: str, gpu: bool = True) -> None:
    """Assert that results on the GPU are those on the CPU, in shape, dtype and value."""
    assert (got is None) == (want is None), f"{what}: {got}, expected {want}"
    if not isinstance(want, nbgrad.Tensor):
        assert got == want or want is None, what
        return
    assert got.dtype is want.dtype and got.shape == want.shape, (
        f"{what}: {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    )
    assert not gpu or got.device == nbgrad.device("cuda:0"), f"{what}: on {got.device}"
    tolerance = TOLERANCES.get(want.dtype.name, 0.0) if want.dtype.differentiable else 0.0
    close(got.cpu().numpy(force=True), want.numpy(force=True), max(tolerance, TOLERANCES.get(dtype, 0.0) * (tolerance > 0)), what)


class Case:
    """A call on the CPU and on the GPU.

    Attributes:
        here, there: the operands; ``outs``, ``got``: the results.
    """

    def __init__(self, row, call, dtype: str, requires_grad: bool):
        self.row, self.call, self.dtype = row, call, dtype
        self.here = tensors(row, call, dtype, requires_grad)
        self.outs = run(row, self.here, call)
        self.there = [there(x) for x in self.here]
        self.got = run_there(row, self.there, call)
        self.on_gpu = any(isinstance(x, nbgrad.Tensor) for x in flatten(self.there)) and row.name not in ELSEWHERE

    def compare(self) -> None:
        """Assert that the results are alike."""
        assert len(self.got) == len(self.outs)
        for got, want in zip(self.got, self.outs):
            agree(got, want, self.dtype, f"{self.row.name}{self.call} in {self.dtype}", self.on_gpu)

    def pulled(self, orders: int) -> list[tuple]:
        """Gradients of the first order, or of a product with those of the second: pairs of the GPU's and the CPU's."""
        try:
            want = pulled(self.outs, self.here, lambda x: x, orders)
        except nbgrad.NbgradError as error:
            with pytest.raises(type(error)):
                pulled(self.got, self.there, there, orders)
            return []
        return list(zip(pulled(self.got, self.there, there, orders), want, strict=True))


def pulled(outs, operands: list, move, orders: int) -> tuple:
    """The gradients at operands that require grad; ``move``: puts cotangents where they are."""
    outs = [x for x in outs if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    weights = [move(cotangent(x, 0.3)).to(x.device) for x in outs]
    grads = nbgrad.grad(outs, leaves, weights, create_graph=orders > 1, allow_unused=True) if outs else ()
    if orders > 1:
        again = [x for x in grads if x is not None and x.requires_grad]
        weights = [move(cotangent(x, 1.1)).to(x.device) for x in again]
        grads = nbgrad.grad(again, leaves, weights, allow_unused=True) if again else ()
    return grads


def cotangent(x: nbgrad.Tensor, phase: float) -> nbgrad.Tensor:
    """Numbers of no symmetry like a result, on the CPU."""
    shape = tuple(x.shape)
    numbers = waves(np.zeros(shape, complex if x.dtype.is_complex else float), phase)
    return nbgrad.tensor(np.asarray(numbers)).to(x.dtype)


def cases(name: str, dtype: str, requires_grad: bool = False) -> list[Case]:
    """The calls of a row that there are in a dtype, on both."""
    row, made = SAMPLES[name], []
    if dtype in row.unlike:
        pytest.skip(row.unlike[dtype])
    if name in UP_TO_SIGNS and cusolver.solvers() is not None:
        pytest.skip("unique but for signs or order: test_cusolver.py asks for products of vectors")
    if (name, dtype) in NO_VALUES:
        pytest.skip(NO_VALUES[name, dtype])
    if dtype not in FIRST and not is_public(name):
        pytest.skip("a part of operations, which call it in the dtypes that it has")
    for call in row.calls:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(row, tensors(row, call, dtype, requires_grad), call)
        except (nbgrad.NbgradError, np.linalg.LinAlgError, TypeError, KeyError, RecursionError):
            continue  # not in this dtype, on no device; parts of losses have no kernel for it
        made.append(Case(row, call, dtype, requires_grad))
    if not made:
        pytest.skip(f"there is no sample of {name} in {dtype}")
    return made


def is_public(name: str) -> bool:
    """Whether programs call an operation under its name."""
    places = nbgrad, nbgrad.Tensor, nbgrad.nn.functional, nbgrad.special
    return name.startswith("linalg_") or any(hasattr(place, name) for place in places)


@pytest.fixture(autouse=True)
def quiet():
    """Warnings of operations that run on the CPU, and of what the CPU warns of too, are none of these tests' concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@on_gpus
@pytest.mark.parametrize("dtype", thirds(*DTYPES))
@pytest.mark.parametrize("name", ROWS)
def test_values(name, dtype):
    """The CPU's results, in its dtypes, on the GPU of the operands."""
    for case in cases(name, dtype):
        case.compare()


@on_gpus
@pytest.mark.parametrize("dtype", thirds("float32", "float64", "bfloat16", "complex128"))
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name, dtype):
    """The CPU's gradients, on the GPU."""
    for case in cases(name, dtype, True):
        for got, want in case.pulled(1):
            agree(got, want, dtype, f"gradient of {name}{case.call} in {dtype}")


@on_gpus
@pytest.mark.part(2, 0)
@pytest.mark.parametrize("dtype", thirds("float64", "complex128"))
@pytest.mark.parametrize("name", SMOOTH)
def test_second_order(name, dtype):
    """The CPU's gradients of gradients."""
    for case in cases(name, dtype, True):
        for got, want in case.pulled(2):
            agree(got, want, dtype, f"second order of {name}{case.call} in {dtype}")


@on_gpus
@pytest.mark.part(2, 1)
@pytest.mark.parametrize("dtype", thirds("float64", "complex64"))
@pytest.mark.parametrize("name", SMOOTH)
def test_tangents(name, dtype):
    """The CPU's tangents."""
    for case in cases(name, dtype, False):
        pushed = []
        for operands, move, call_of in ((case.there, there, run_there), (case.here, lambda x: x, run)):
            with dual_level():
                duals = [dual(x, move) for x in operands]
                pushed.append([unpack_dual(x).tangent for x in call_of(case.row, duals, case.call) if isinstance(x, nbgrad.Tensor)])
        assert len(pushed[0]) == len(pushed[1])
        for got, want in zip(*pushed):
            agree(got, want, dtype, f"tangent of {name}{case.call} in {dtype}", case.on_gpu)


def dual(x, move):
    """A tensor with a tangent, where it may have one."""
    if isinstance(x, (list, tuple)):
        return type(x)(dual(each, move) for each in x)
    if not isinstance(x, nbgrad.Tensor) or not x.dtype.differentiable:
        return x
    return make_dual(x.detach(), move(cotangent(x, 0.7)))


@on_gpus
@pytest.mark.parametrize("dtype", thirds("float32", "float64", "int64"))
@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name, dtype):
    """The CPU's results written over the first operand, recorded where it can be."""
    row = SAMPLES[name]
    for call in row.calls:
        here = tensors(row, call, dtype)
        moved = [there(x) for x in here]
        address = moved[0].data_ptr() if isinstance(moved[0], nbgrad.Tensor) else None
        try:
            CALLS[name + "_"](*here)
        except (nbgrad.NbgradError, KeyError) as error:
            with pytest.raises(type(error)):
                CALLS[name + "_"](*moved)
            continue
        assert CALLS[name + "_"](*moved) is moved[0] and moved[0].data_ptr() == address
        agree(moved[0], here[0], dtype, f"{name}_{call} in {dtype}")

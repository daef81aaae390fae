"""``nbgrad.library``: functions of programs as operations."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import nbgrad
from nbgrad import library


def cube_of(name: str) -> library.CustomOpDef:
    """The third power, computed by NumPy, with its gradient."""

    @library.custom_op(f"tests::{name}", mutates_args=())
    def cube(x: nbgrad.Tensor, scale: float = 1.0) -> nbgrad.Tensor:
        return nbgrad.from_numpy(scale * x.numpy() ** 3)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * x**2 * g, None

    cube.register_autograd(backward, setup_context=setup_context)
    return cube


def test_gradient_and_batches():
    """Values, gradients of two orders, batches without a rule, compiled calls, and the place among the operations."""
    cube = cube_of("cube")
    x = nbgrad.tensor([0.5, -2.0], dtype=nbgrad.float64, requires_grad=True)
    assert nbgrad.autograd.gradcheck(lambda x: cube(x, scale=2.0), (x,)) and nbgrad.autograd.gradgradcheck(cube, (x,))
    rows = nbgrad.ones(3, 2)
    assert nbgrad.vmap(nbgrad.func.grad(lambda x: cube(x).sum()))(rows).tolist() == [[3.0, 3.0]] * 3
    assert nbgrad.compile(lambda x: cube(x) + 1)(rows).tolist() == [[2.0, 2.0]] * 3
    assert nbgrad.ops.tests.cube is cube and nbgrad.ops.tests.cube.default(rows, 2.0).tolist() == [[2.0, 2.0]] * 3


def test_lists_of_tensors():
    """The gradient of a list is a list; None stands for all of it."""

    @library.custom_op("tests::total", mutates_args=())
    def total(xs, y):
        return sum(x.detach() for x in xs) + y.detach()

    total.register_autograd(lambda ctx, g: ([g * (k + 1) for k in range(ctx.count)], None), setup_context=count)
    x, y = nbgrad.ones(2, requires_grad=True), nbgrad.ones(2, requires_grad=True)
    total([x, x * 2], y).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0] and y.grad is None
    library.register_autograd("tests::total", lambda ctx, g: (None,), setup_context=count)
    with pytest.raises(nbgrad.GradError, match="returned 1 gradients, expected 2"):
        total([x], y).sum().backward()


def count(ctx, inputs, output):
    """How many tensors the list has."""
    ctx.count = len(inputs[0])


def test_writes():
    """What is written to is named, and must not ask for a gradient; other arguments may."""

    @library.custom_op("tests::add_into", mutates_args={"out"})
    def add_into(x, out):
        out.add_(x)

    out, x = nbgrad.zeros(2), nbgrad.ones(2, requires_grad=True)
    assert add_into(x, out) is None and out.tolist() == [1.0, 1.0] and not out.requires_grad and out._version == 1
    with pytest.raises(nbgrad.GradError, match="tests::add_into: out is written to"):
        add_into(out, x)


def test_writes_through_the_memory_are_counted():
    """What NumPy writes inside of an operation makes tensors that were saved before it stale, as another write does."""

    @library.custom_op("tests::raise_by_one", mutates_args="x")
    def raise_by_one(x: nbgrad.Tensor) -> None:
        x.numpy()[...] += 1

    x, w = nbgrad.zeros(2), nbgrad.ones(2, requires_grad=True)
    y = (x * w).sum()
    raise_by_one(x)
    assert x.tolist() == [1.0, 1.0] and x._version == 1
    with pytest.raises(nbgrad.VersionError):
        y.backward()
    nbgrad.vmap(lambda each: [raise_by_one(each), each][1])(x)
    assert x.tolist() == [2.0, 2.0] and x._version > 1
    for wrong, message in (
        ((3,), "x is int, expected a Tensor"),
        ((), "missing a required argument: 'x'; expected"),
        ((x, x), "too many"),
    ):
        with pytest.raises(nbgrad.ArgumentError, match=f"tests::raise_by_one: {message}"):
            raise_by_one(*wrong)


@pytest.mark.parametrize("writes", [False, True])
def test_first_met_in_a_compiled_function(writes):
    """What an operation does with NumPy leaves the graph, also where nothing called it before: reads as a step, writes at all."""

    @library.custom_op(f"tests::first_{writes}", mutates_args="x" if writes else ())
    def first(x: nbgrad.Tensor):
        if writes:
            x.numpy()[...] += 1
            return None
        return nbgrad.from_numpy(x.numpy() + 1)

    def program(x):
        y = x * 2
        made = first(y)
        return (y if writes else made) * 3

    compiled = nbgrad.compile(program)
    with pytest.warns(UserWarning, match="writes to its arguments") if writes else nullcontext():
        assert compiled(nbgrad.ones(2)).tolist() == [9.0, 9.0]
    assert compiled(nbgrad.zeros(2)).tolist() == [3.0, 3.0]


def test_rules_by_name_and_device():
    """A rule of batches and kernels of kinds of devices, registered later, by the operation's name."""
    cube_of("ruled")
    library.register_vmap("tests::ruled", lambda info, in_dims, x, scale: (x * 0 + info.batch_size, in_dims[0]))
    assert nbgrad.vmap(nbgrad.ops.tests.ruled)(nbgrad.ones(3, 2)).tolist() == [[3.0, 3.0]] * 3

    @library.register_kernel("tests::ruled", "cpu")
    def doubled(x, scale):
        return x * 2

    assert nbgrad.ops.tests.ruled(nbgrad.ones(1)).item() == 2.0

    @library.custom_op("tests::elsewhere", mutates_args=(), device_types="cuda")
    def elsewhere(x):
        return x + 1

    with pytest.raises(nbgrad.ArgumentError, match=r"no kernel for 'cpu'"):
        elsewhere(nbgrad.ones(1))


def test_opcheck():
    """What an operation does beside what its definition says is found."""
    cube = cube_of("checked")
    x = nbgrad.ones(2, requires_grad=True)
    cube.register_fake(lambda x, scale=1.0: nbgrad.empty_like(x))
    assert set(library.opcheck(cube, (x,)).values()) == {"SUCCESS"}
    library.register_fake(cube, lambda x, scale=1.0: x.new_empty(3))
    with pytest.raises(nbgrad.ArgumentError, match=r"test_faketensor: the fake results are \[\(\(3,\)"):
        library.opcheck(cube, (x,))

    @library.custom_op("tests::secret", mutates_args=())
    def secret(x):
        x.add_(1)
        return x * 2

    found = library.opcheck("tests::secret", (nbgrad.ones(2),), raise_exception=False)
    assert found["test_schema"].startswith("x is written to") and found["test_faketensor"] == "SUCCESS"
    again = library.opcheck("tests::secret", (nbgrad.tensor(np.nan, requires_grad=True).reshape(1) * 1,), raise_exception=False)
    assert again["test_autograd_registration"] == "no gradient is registered" and again["test_schema"] == "SUCCESS"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: library.custom_op("bare", lambda x: x), "'bare' is no name"),
        (lambda: library.custom_op("linalg::mine", lambda x: x), "the namespace 'linalg' is taken"),
        (lambda: library.custom_op("tests::one", lambda x: x, mutates_args="y"), "mutates_args has 'y'"),
        (lambda: library.custom_op("tests::same", lambda x: x)(nbgrad.ones(1)), "a result lies in the memory of an argument"),
        (lambda: library.opcheck("tests::none", ()), "'tests::none' is no operation"),
        (lambda: library.get_ctx(), "fake functions have no context"),
    ],
)
def test_refusals(make, message):
    """What is no operation is refused, with the reason."""
    with pytest.raises(nbgrad.ArgumentError, match=message):
        make()


def test_without_a_gradient():
    """A result has a place in the graph, a pass through it says what is missing; what was never made is not there."""
    plain = library.custom_op("tests::plain", lambda x: x * 2)
    with pytest.raises(nbgrad.GradError, match="tests::plain: has no gradient"):
        plain(nbgrad.ones(1, requires_grad=True)).backward()
    with pytest.raises(AttributeError, match="no operation 'missing'"):
        nbgrad.ops.tests.missing

"""Calls in place with operands of other dtypes, in compiled functions."""

import pytest

import nbgrad
from tests.parts import alternating

NAMES = "float16 bfloat16 float32 float64 int8 uint8 int32 int64 bool complex64 complex128".split()
WRITES = {
    **{name: lambda x, y, name=name: getattr(x, name)(y) for name in "add_ sub_ mul_ div_ copy_ pow_ remainder_ fmod_".split()},
    **{name: lambda x, y, name=name: getattr(x, name)(y) for name in "floor_divide_ atan2_ eq_ lt_ logical_and_".split()},
    "twice": lambda x, y: x.sub_(y, alpha=2),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y),
    "clamp_": lambda x, y: x.clamp_(y),
    "where": lambda x, y: x.masked_fill_(x == 1, y.reshape(-1)[0]),
    "item": lambda x, y: x.__setitem__(0, y[1]),
    "part": lambda x, y: x[1:].mul_(y[:-1]),
    "index_add_": lambda x, y: x.index_add_(0, nbgrad.tensor([0, 2]), y[:2]),
}


def outcome(fn, x, y):
    """What a call leaves and gives, or the kind of error that it raises."""
    try:
        fn(x, y)
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__
    return repr((x.tolist(), x.dtype, x._version))


@pytest.mark.filterwarnings("ignore:copy_. complex numbers")
@pytest.mark.filterwarnings("ignore:compile. . runs as it is")
@pytest.mark.parametrize("into", alternating("float16", "float32", "float64", "int32", "bool", "complex64"))
@pytest.mark.parametrize("name", WRITES)
def test_writes_of_other_dtypes(name, into):
    """An argument that is written to by an operand of another dtype has, compiled, what it has without, or the same error."""
    write, wrong = WRITES[name], []
    for dtype in map(nbgrad.__dict__.get, NAMES):
        values = [nbgrad.tensor([1.0, 2.0, 4.0]).to(each) for each in (nbgrad.__dict__[into], dtype) * 2]
        want, got = outcome(write, *values[:2]), outcome(nbgrad.compile(write), *values[2:])
        if got != want:
            wrong.append((str(dtype), got, want))
    assert not wrong


def test_captured_tensors_and_intermediates_of_other_dtypes():
    """The same of tensors that the function names, and of those that it makes."""
    total = nbgrad.zeros(2)

    @nbgrad.compile(fullgraph=True)
    def f(x):
        total.add_((x > 0).double())
        return (x * 1).add_(x.double()).sub_(x.to(nbgrad.int32)), (x * 3).div_(x.double().square())

    for k in range(3):
        assert [y.tolist() for y in f(nbgrad.tensor([2.0, 1.0]))] == [[2.0, 1.0], [1.5, 3.0]]
        assert total.tolist() == [k + 1.0, k + 1.0]


def test_gradients_through_writes_of_other_dtypes():
    """They are those of the function."""

    def f(x, y):
        z = (x * 2).sub_(y).add_(y.double() * y)
        return nbgrad.grad(z.sum(), (x, y))

    x, y = nbgrad.tensor([2.0, 3.0], requires_grad=True), nbgrad.tensor([1.5, 0.1], dtype=nbgrad.float64, requires_grad=True)
    assert repr(nbgrad.compile(f, fullgraph=True)(x, y)) == repr(f(x, y))

"""``nbgrad.functional``: Jacobians, Hessians and products with vectors, against closed forms."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.func.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from tests.helpers import wave
from tests.samples.checking import agree

MODES = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]
OUTER = [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]


def diagonal(x):
    """A diagonal matrix."""
    return nbgrad.eye(x.numel(), dtype=nbgrad.float64) * x


@pytest.mark.parametrize("mode", MODES)
def test_jacobian_structure(mode):
    """result[i][j] is that of output i by input j; a single output or input has no tuple."""
    x, y = wave(2), wave(2, 3)
    (a, b), (c, d) = jacobian(lambda x, y: (x @ y, (x * x).sum()), (x, y), **mode)
    agree(a, y.T)
    agree(b, nbgrad.einsum("i,kj->kij", x, nbgrad.eye(3, dtype=nbgrad.float64)))
    agree(c, 2 * x)
    agree(d, nbgrad.zeros(2, 3))
    agree(jacobian(nbgrad.sin, x, **mode), diagonal(x.cos()))
    assert isinstance(jacobian(nbgrad.sin, (x,), **mode), tuple)
    assert tuple(jacobian(nbgrad.sin, wave(), **mode).shape) == ()


@pytest.mark.parametrize("mode", MODES)
def test_jacobian_of_what_does_not_depend(mode):
    """It is zero, in the shape of output and input."""
    assert tuple(jacobian(lambda x: nbgrad.ones(2), wave(3), **mode).shape) == (2, 3)
    agree(jacobian(lambda x, y: y * 2, (wave(3), wave(2)), **mode)[0], nbgrad.zeros(2, 3))


@pytest.mark.parametrize("mode", MODES[:2])
def test_jacobian_of_no_elements(mode):
    """An output of no elements has a Jacobian of no rows."""
    assert tuple(jacobian(lambda x: x[:0], wave(3), **mode).shape) == (0, 3)


@pytest.mark.parametrize("mode", OUTER)
def test_hessian(mode):
    """That of a quadratic form is its matrix; of two inputs a tuple of tuples; an output of shape (1,) is a number."""
    a, x, y = wave(3, 3), wave(3), wave(2)
    agree(hessian(lambda x: x @ a @ x, x, **mode), a + a.T)
    (xx, xy), (yx, yy) = hessian(lambda x, y: x.square().sum() * y.sum(), (x, y), **mode)
    agree(xx, 2 * y.sum() * nbgrad.eye(3, dtype=nbgrad.float64))
    agree(xy, (2 * x).unsqueeze(1).expand(3, 2))
    agree(yx, xy.T)
    agree(yy, nbgrad.zeros(2, 2))
    agree(hessian(lambda x: (x**3).sum().reshape(1), x, **mode), diagonal(6 * x))


def test_products():
    """vjp, jvp, hvp and vhp are products with the Jacobian and the Hessian."""
    x, y, v, u = wave(3), wave(2), wave(3) * 2, wave(2, 3)
    function = lambda x: nbgrad.outer(y, x.sin())
    j = jacobian(function, x)
    output, product = vjp(function, x, u)
    agree(output, function(x))
    agree(product, nbgrad.einsum("ij,ijk->k", u, j))
    agree(jvp(function, x, v)[1], j @ v)
    number = lambda x: (x**3).sum() * x[0]
    h = hessian(number, x)
    agree(hvp(number, x, v)[1], h @ v)
    agree(vhp(number, x, v)[1], v @ h)
    agree(hvp(number, x, v)[0], number(x))


def test_products_of_several_tensors():
    """Products have the structure of the inputs, of jvp that of the outputs."""
    x, y = wave(2), wave(2) + 1
    _, (a, b) = vjp(lambda x, y: (x * y, x), (x, y), (x, y))
    agree(a, x * y + y)
    agree(b, x * x)
    _, (a, b) = jvp(lambda x, y: (x * y, x), (x, y), (x, y))
    agree(a, 2 * x * y)
    agree(b, x)
    for product in (hvp, vhp):
        _, (a, b) = product(lambda x, y: (x * x * y).sum(), (x, y), (x, y))
        agree(a, 4 * x * y)
        agree(b, 2 * x * x)


def test_vectors_may_be_left_out_for_numbers():
    """One element needs no vector."""
    agree(vjp(lambda x: x.square().sum(), wave(3))[1], 2 * wave(3))
    agree(jvp(lambda x: x**3, wave())[1], 3 * wave() ** 2)
    for product in (hvp, vhp):
        agree(product(lambda x: x**3, wave())[1], 6 * wave())


@pytest.mark.parametrize(
    "program",
    [
        lambda x: vjp(nbgrad.sin, x),
        lambda x: vjp(nbgrad.sin, x, x[:1]),
        lambda x: vjp(nbgrad.sin, x, (x, x)),
        lambda x: jvp(nbgrad.sin, x),
        lambda x: jvp(nbgrad.sin, x, x[:1]),
        lambda x: hvp(lambda x: (x**3).sum(), x),
        lambda x: hvp(nbgrad.sin, x, x),
        lambda x: vhp(lambda x: (x.sum(), x.sum()), x, x),
        lambda x: hessian(nbgrad.sin, x),
        lambda x: jacobian(nbgrad.sin, x, strict=True, vectorize=True),
        lambda x: jacobian(nbgrad.sin, x, strict=True, strategy="forward-mode"),
    ],
)
def test_errors_of_vectors_and_outputs(program):
    """Missing or misshapen vectors, and outputs that are no number, are RuntimeErrors."""
    with pytest.raises(RuntimeError):
        program(wave(3))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: jacobian(nbgrad.sin, [x]),
        lambda x: jacobian(nbgrad.sin, (x, 2.0)),
        lambda x: jacobian(lambda x: 3.0, x),
        lambda x: vjp(lambda x: [x], x, x),
        lambda x: jvp(nbgrad.sin, x, 2.0),
        lambda x: hvp(lambda x: 1.0, x, x),
    ],
)
def test_what_is_no_tensor_is_a_type_error(program):
    """Inputs, outputs and vectors are tensors or tuples of tensors."""
    with pytest.raises(TypeError):
        program(wave(3))


def test_strategies():
    """Forward mode needs vectorize; other words are refused."""
    with pytest.raises(NotImplementedError):
        jacobian(nbgrad.sin, wave(3), strategy="forward-mode")
    with pytest.raises(NotImplementedError):
        hessian(lambda x: x.sum(), wave(3), outer_jacobian_strategy="forward-mode")
    with pytest.raises(AssertionError):
        jacobian(nbgrad.sin, wave(3), strategy="sideways")


@pytest.mark.parametrize(
    "program",
    [
        lambda strict: jacobian(lambda x: nbgrad.ones(2), wave(3), strict=strict),
        lambda strict: jacobian(lambda x, y: x * 2, (wave(3), wave(2)), strict=strict),
        lambda strict: jacobian(lambda x: x * 2, wave(3), strict=strict, create_graph=True),
        lambda strict: hessian(lambda x: x.sum(), wave(3), strict=strict),
        lambda strict: vjp(lambda x: nbgrad.ones(3), wave(3), wave(3), strict=strict),
        lambda strict: jvp(lambda x: nbgrad.ones(3), wave(3), wave(3), strict=strict),
        lambda strict: hvp(lambda x: x.sum(), wave(3), wave(3), strict=strict),
        lambda strict: vhp(lambda x: x.sum(), wave(3), wave(3), strict=strict),
    ],
)
def test_strict(program):
    """Independence is zero by default, an error where strict."""
    program(False)
    with pytest.raises(RuntimeError, match="strict"):
        program(True)


@pytest.mark.parametrize(
    "program",
    [
        lambda x, **options: jacobian(lambda z: z**3, x, **options),
        lambda x, **options: jacobian(lambda z: z**3, x, vectorize=True, **options),
        lambda x, **options: hessian(lambda z: (z**3).sum(), x, **options),
        lambda x, **options: vjp(lambda z: z**3, x, x, **options)[1],
        lambda x, **options: jvp(lambda z: z**3, x, x, **options)[1],
        lambda x, **options: hvp(lambda z: (z**3).sum(), x, x, **options)[1],
        lambda x, **options: vhp(lambda z: (z**3).sum(), x, x, **options)[1],
    ],
)
def test_history_of_results(program):
    """With create_graph results lead to the inputs; without it they are constants, whatever the inputs are."""
    x = wave(3).requires_grad_()
    assert not program(x).requires_grad
    made = program(x, create_graph=True)
    (slope,) = nbgrad.grad(made.sum(), x)
    step = 1e-6 * wave(3)
    change = (program(x.detach() + step).sum() - program(x.detach() - step).sum()) / 2
    assert float(change) == pytest.approx(float(slope @ step), rel=1e-6)
    assert x.grad is None


def test_inputs_are_left_alone():
    """The function gets other tensors: neither requires_grad nor grad of the caller's change, nor does grad mode matter."""
    x, seen = wave(3), []
    with nbgrad.no_grad():
        agree(jacobian(lambda z: (seen.append(z), z * z)[1], x), diagonal(2 * x))
    assert seen[0] is not x and seen[0].requires_grad and not x.requires_grad


# ---- modes and histories ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "program",
    [
        lambda x: jacobian(lambda z: z**3, x),
        lambda x: hessian(lambda z: (z**3).sum(), x),
        lambda x: vjp(lambda z: z**3, x, x)[1],
        lambda x: jvp(lambda z: z**3, x, x)[1],
        lambda x: hvp(lambda z: (z**3).sum(), x, x)[1],
        lambda x: vhp(lambda z: (z**3).sum(), x, x)[1],
    ],
    ids=["jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"],
)
def test_grad_mode_of_the_caller_does_not_matter(program):
    """Under ``no_grad`` derivatives are what they are outside, and the mode is still off afterwards."""
    want = program(wave(3))
    with nbgrad.no_grad():
        agree(program(wave(3)), want)
        assert not nbgrad.is_grad_enabled()


@pytest.mark.parametrize(
    "product",
    [
        lambda x, **options: vjp(lambda z: z**3, x, x, **options),
        lambda x, **options: jvp(lambda z: z**3, x, x, **options),
        lambda x, **options: hvp(lambda z: (z**3).sum(), x, x, **options),
        lambda x, **options: vhp(lambda z: (z**3).sum(), x, x, **options),
    ],
    ids=["vjp", "jvp", "hvp", "vhp"],
)
def test_output_has_a_history_where_the_product_has(product):
    """The function's value leads to the inputs with ``create_graph``, and is a constant without it."""
    x = wave(3).requires_grad_()
    assert [t.requires_grad for t in product(x)] == [False, False]
    output, made = product(x, create_graph=True)
    (slope,) = nbgrad.grad(output.sum(), x, retain_graph=True)
    agree(slope, 3 * x.detach() ** 2)
    assert made.requires_grad


def test_inputs_with_a_history_keep_it():
    """A recorded input is replaced by a view for the function: its own node, flag and ``.grad`` stay."""
    x = wave(3).requires_grad_()
    h = x * 2
    node, seen = h.grad_fn, []
    agree(jacobian(lambda z: (seen.append(z), z * z)[1], h), diagonal(2 * h.detach()))
    assert h.grad_fn is node and seen[0] is not h and seen[0].data_ptr() == h.data_ptr() and x.grad is None


@pytest.mark.parametrize(
    "call",
    [
        jacobian,
        hessian,
        vjp,
        jvp,
        hvp,
        vhp,
        nbgrad.gradcheck,
        nbgrad.gradgradcheck,
        lambda func, x: nbgrad.func.functional_call(func, {}, x),
    ],
)
def test_what_is_no_function(call):
    """It is refused before anything runs, by name."""
    with pytest.raises(TypeError, match=r"^\w+: expected a (function|Module), got int"):
        call(3, wave(2).requires_grad_())


def test_private_names_of_torchs_module():
    """Programs with Jacobians of their own take these: unit vectors of several tensors, tuples or none, history or none."""
    functional = nbgrad.autograd.functional
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    assert functional._as_tuple(x, "inputs", "jacobian") == (False, (x,))
    with pytest.raises(TypeError, match="jacobian: inputs must be a Tensor or a tuple"):
        functional._as_tuple([x], "inputs", "jacobian")
    first, second = functional._construct_standard_basis_for((x, x.double()[:1]), (2, 1))
    assert first.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]] and second.tolist() == [[0.0], [0.0], [1.0]]
    assert second.dtype is nbgrad.float64
    assert functional._tuple_postprocess(((x,),), (False, True))[0] is x
    assert functional._tuple_postprocess(((x,),), (False, False)) is x
    (done,) = functional._grad_postprocess((x * 2,), create_graph=False)
    assert done.grad_fn is None and functional._grad_preprocess((x,), True, True)[0].requires_grad

"""``gradcheck`` and ``gradgradcheck``: they accept right derivatives and catch wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from tests.functions import Square
from tests.helpers import leaf
from tests.ops.test_gradients import COMPLEX, DIFFERENTIABLE, SMOOTH
from tests.samples import SAMPLES
from tests.samples.checking import flatten, run, tensors


def function(forward, backward, **static):
    """A Function of these two."""
    members = {name: staticmethod(f) for name, f in {"forward": forward, "backward": backward, **static}.items()}
    return type("Own", (nbgrad.Function,), members).apply


RIGHT = {
    "one input": (lambda x: x.exp() * x, (leaf([0.5, 1.5]),)),
    "two inputs and outputs": (lambda x, y: (x * y.sin(), x + y), (leaf([1.0, 2.0]), leaf([[0.3], [0.4]]))),
    "arguments that are no tensors": (lambda x, n, s: x**n if s else x, (leaf([1.0, 2.0]), 3, "power")),
    "an output without grad": (lambda x: (x * 2, x.detach() * 5, (x > 1)), (leaf([0.5, 2.0]),)),
    "holomorphic": (lambda z: z * z + 1j * z, (leaf([1 + 2j, 0.5j], nbgrad.complex128),)),
    "not holomorphic": (lambda z: z * z.conj() + z.real, (leaf([1 + 2j, 0.5j], nbgrad.complex128),)),
    "complex to real": (lambda z: (z.abs(), z.imag), (leaf([1 + 2j, 0.5 - 1j], nbgrad.complex128),)),
    "real to complex": (lambda x: x * (2 - 1j), (leaf([1.0, -0.5]),)),
    "real and complex": (lambda x, z: x * z, (leaf([1.0, -0.5]), leaf([1 + 2j, 0.5j], nbgrad.complex128))),
    "a number": (lambda x: x * x, (leaf(3.0),)),
    "nothing": (lambda x: x * 2, (leaf(np.zeros((0, 3))),)),
    "strided": (lambda x: x.sin(), (leaf([[1.0, 2.0], [3.0, 4.0]]).detach().t().requires_grad_(),)),
    "non-leaf": (lambda x: x * x, (leaf([1.0, 2.0]) * 3,)),
    "constant": (lambda x: nbgrad.ones(2, dtype=nbgrad.float64), (leaf([1.0, 2.0]),)),
    "identity": (lambda x: x, (leaf([1.0, 2.0]),)),
}


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name, fast):
    """True, in both modes; values and gradients of the inputs are left alone."""
    func, inputs = RIGHT[name]
    before = [x.detach().clone() for x in inputs if isinstance(x, nbgrad.Tensor)]
    assert nbgrad.gradcheck(func, inputs, fast_mode=fast) is True
    after = [x for x in inputs if isinstance(x, nbgrad.Tensor)]
    assert all(np.array_equal(a.detach().numpy(), b.numpy()) for a, b in zip(after, before))
    assert all(x.grad is None for x in after if x.is_leaf)


WRONG = {
    "factor": (function(lambda ctx, x: x * 2, lambda ctx, g: g * 2.1), leaf([1.0, 2.0])),
    "sign of one entry": (function(lambda ctx, x: x * 2, lambda ctx, g: g * nbgrad.tensor([2.0, -2.0])), leaf([1.0, 2.0])),
    "not conjugated": (function(lambda ctx, z: z * (1 + 2j), lambda ctx, g: g * (1 + 2j)), leaf([1 + 2j], nbgrad.complex128)),
    "detached": (lambda x: x.detach() * 2, leaf([1.0, 2.0])),
    "lost gradient": (function(lambda ctx, x: x * 2, lambda ctx, g: None), leaf([1.0, 2.0])),
    "constant gradient": (function(lambda ctx, x: x.sum(), lambda ctx, g: nbgrad.ones(2, dtype=nbgrad.float64)), leaf([1.0, 2.0])),
}


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_derivatives_fail(name, fast):
    """GradcheckError, a RuntimeError; False with ``raise_exception=False``."""
    func, x = WRONG[name]
    with pytest.raises(nbgrad.GradcheckError, match="gradcheck: "):
        nbgrad.gradcheck(func, x, fast_mode=fast)
    assert nbgrad.gradcheck(func, x, fast_mode=fast, raise_exception=False) is False
    assert issubclass(nbgrad.GradcheckError, RuntimeError)


def test_message_shows_both_and_the_worst_entry():
    """The message has the numerical and the analytical Jacobian, and names the entry that is furthest off."""
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: g * nbgrad.tensor([[2.0, 2.0], [2.0, 9.0]]))
    with pytest.raises(nbgrad.GradcheckError) as caught:
        nbgrad.gradcheck(wrong, leaf([[1.0, 2.0], [3.0, 4.0]]))
    text = str(caught.value)
    assert "output 0 with respect to input 0" in text and "numerical:\n[[2." in text and "analytical:\n[[2." in text
    assert "output [1, 1], input [1, 1]" in text and "analytical 9" in text and "difference 7" in text


def test_tolerances():
    """A small error passes with loose tolerances only."""
    nearly = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2.0001)
    x = leaf([1.0, 2.0])
    assert not nbgrad.gradcheck(nearly, x, atol=1e-8, rtol=1e-8, raise_exception=False)
    assert nbgrad.gradcheck(nearly, x, atol=1e-2)


def test_eps_is_the_step():
    """A kink within the step is seen, one outside of it is not."""
    x = leaf([0.001])
    assert nbgrad.gradcheck(lambda x: x.abs(), x, eps=1e-4)
    assert not nbgrad.gradcheck(lambda x: x.abs(), x, eps=1e-2, raise_exception=False)


def test_no_input_requires_grad():
    """ValueError: there is nothing to check."""
    with pytest.raises(ValueError, match="no input requires grad"):
        nbgrad.gradcheck(lambda x: x, nbgrad.ones(2))


def test_single_precision_warns():
    """Inputs that are no doubles get a warning that names them."""
    with pytest.warns(UserWarning, match="input 0 is float32"):
        nbgrad.gradcheck(lambda x: x * 2, leaf([1.0], nbgrad.float32), raise_exception=False)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float16, nbgrad.complex64])
def test_tolerances_follow_the_dtype(dtype):
    """Less precise inputs get a larger step and wider tolerances: right derivatives pass, gross errors do not."""
    x = leaf([0.5, 1.5], dtype)
    with pytest.warns(UserWarning, match="coarse"):
        assert nbgrad.gradcheck(lambda x: x * x + x, x)
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: g * 3)
    with pytest.warns(UserWarning, match="coarse"):
        assert not nbgrad.gradcheck(wrong, x, raise_exception=False)


def test_expanded_inputs_are_refused():
    """Elements that share memory cannot be varied one by one: an error of the call, not a result of the check."""
    x = nbgrad.ones(1, dtype=nbgrad.float64).expand(3).requires_grad_()
    for raises in (True, False):
        with pytest.raises(nbgrad.GradError, match="share one memory location"):
            nbgrad.gradcheck(lambda x: x * 2, x, raise_exception=raises)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "later", [lambda x: (x * 2).sum().reshape(1), lambda x: (x * 2)[:2], lambda x: (x * 2).float(), lambda x: (x * 2, x * 3)]
)
def test_results_that_change_their_form(later, fast):
    """Another shape (that broadcasts or does not), dtype or number of results for moved inputs: an AssertionError that says so."""
    for raises in (True, False):
        calls = []

        def changing(x):
            calls.append(x)  # noqa: B023
            return later(x) if len(calls) > 1 else x * 2  # noqa: B023

        with pytest.raises(AssertionError, match="expected results of the same shapes and dtypes"):
            nbgrad.gradcheck(changing, leaf([1.0, 2.0, 3.0]), fast_mode=fast, raise_exception=raises)


@pytest.mark.parametrize("fast", [False, True])
def test_forward_mode_sees_dual_inputs_without_history(fast):
    """While tangents are checked no input requires grad, and every differentiable one has a tangent, zeros but for one."""
    seen = []

    def watched(x, y, c):
        tangents = [nbgrad.forward_ad.unpack_dual(each).tangent for each in (x, y, c)]
        if any(t is not None for t in tangents):
            seen.append((x.requires_grad, y.requires_grad, *(t is None or bool(t.any()) for t in tangents)))
        return x * y * c

    given = leaf([1.0, 2.0]), leaf([3.0, 4.0]), nbgrad.ones(2, dtype=nbgrad.float64)
    assert nbgrad.gradcheck(watched, given, check_forward_ad=True, fast_mode=fast)
    assert set(seen) == {(False, False, True, False, True), (False, False, False, True, True)}


def test_backward_that_changes():
    """Two equal passes that differ are reported; ``nondet_tol`` says by how much they may."""
    count = [0]

    def backward(ctx, g):
        count[0] += 1
        return g * (2 + 1e-8 * count[0])

    func, x = function(lambda ctx, x: x * 2, backward), leaf([1.0, 2.0])
    with pytest.raises(nbgrad.GradcheckError, match="not deterministic"):
        nbgrad.gradcheck(func, x)
    assert nbgrad.gradcheck(func, x, nondet_tol=1e-4)


@pytest.mark.parametrize(
    "answer",
    [lambda g: nbgrad.ones(2, dtype=nbgrad.float64) if g is None else g * 2, lambda g: g * 2],
    ids=["makes something of nothing", "fails on None"],
)
def test_undefined_gradients(answer):
    """A backward that does not take None for zeros is reported, unless that check is off."""

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    func, x = function(forward, lambda ctx, g: answer(g)), leaf([1.0, 2.0])
    with pytest.raises(nbgrad.GradcheckError, match="receive no gradient"):
        nbgrad.gradcheck(func, x)
    assert nbgrad.gradcheck(func, x, check_undefined_grad=False)


def test_forward_mode_is_checked():
    """A wrong ``jvp`` fails only with ``check_forward_ad``; the backward mode may be left out."""
    func = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 2.5)
    x = leaf([1.0, 2.0])
    assert nbgrad.gradcheck(func, x)
    for fast in (False, True):
        with pytest.raises(nbgrad.GradcheckError, match="forward mode"):
            nbgrad.gradcheck(func, x, check_forward_ad=True, fast_mode=fast)
        assert nbgrad.gradcheck(lambda x: (x.sin() * x, x.sum()), x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast)


def test_batched_passes_are_checked():
    """Passes with a batch of cotangents, and of tangents, agree with single ones."""
    z = leaf([1 + 2j, 0.5j], nbgrad.complex128)
    for func, x in ((lambda x: (x.sin() * x, x @ x), leaf([1.0, 2.0])), (lambda z: z * z.abs(), z)):
        assert nbgrad.gradcheck(func, x, check_batched_grad=True, check_forward_ad=True, check_batched_forward_grad=True)


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_batched_forward_grad": True},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
    ],
)
def test_contradictory_options(options):
    """Nothing to check, or a check of what is not checked: AssertionError."""
    with pytest.raises(AssertionError, match="gradcheck"):
        nbgrad.gradcheck(lambda x: x, leaf([1.0]), **options)


def test_result_that_is_no_tensor():
    """A function must return tensors."""
    with pytest.raises(TypeError, match="must return tensors"):
        nbgrad.gradcheck(lambda x: (x, 3), leaf([1.0]))


# ---- second derivatives ----------------------------------------------------------------------------------------------
def test_second_derivatives():
    """Right ones pass, with random, given and strided cotangents, forward over backward too."""
    x = leaf([[1.0, 2.0], [0.5, 1.5]])
    assert nbgrad.gradgradcheck(lambda a: a**3, x)
    assert nbgrad.gradgradcheck(lambda a: a.sin(), x, grad_outputs=leaf([[1.0, 0.5], [2.0, -1.0]]))
    assert nbgrad.gradgradcheck(lambda a: (a @ a, a.sum()), x, gen_non_contig_grad_outputs=True)
    assert nbgrad.gradgradcheck(lambda a: a.exp() * a, x, check_fwd_over_rev=True)
    assert nbgrad.gradgradcheck(lambda z: z * z.abs(), leaf([1 + 2j, 0.5 - 1j], nbgrad.complex128))


def test_wrong_second_derivative():
    """First derivatives that are right and detached fail the second check."""
    func = function(Square.forward, lambda ctx, g: 2 * ctx.saved_tensors[0].detach() * g)
    x = leaf([1.0, 2.0])
    assert nbgrad.gradcheck(func, x)
    with pytest.raises(nbgrad.GradcheckError):
        nbgrad.gradgradcheck(func, x)
    assert nbgrad.gradgradcheck(func, x, raise_exception=False) is False


# ---- the table -------------------------------------------------------------------------------------------------------
def check_row(name, dtype, checker):
    """Check the first case of an operation."""
    row = SAMPLES[name]
    call = row.calls[0]
    operands = tensors(row, call, dtype, requires_grad=True)
    inputs = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]

    def func(*varied):
        given = iter(varied)
        again = [
            [next(given) if member.requires_grad else member for member in x]
            if isinstance(x, list)
            else next(given)
            if isinstance(x, nbgrad.Tensor) and x.requires_grad
            else x
            for x in operands
        ]
        return run(row, again, call)

    assert checker(func, inputs, fast_mode=True)


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if "differences" not in SAMPLES[name].unlike])
def test_table(name):
    """Every differentiable operation passes."""
    check_row(name, "float64", nbgrad.gradcheck)


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", SMOOTH)
def test_table_second_derivatives(name):
    """And so do its second derivatives."""
    check_row(name, "float64", nbgrad.gradgradcheck)


@pytest.mark.parametrize("name", COMPLEX)
def test_table_complex(name):
    """Complex operands too."""
    check_row(name, "complex128", nbgrad.gradcheck)


# ---- what else can be wrong ------------------------------------------------------------------------------------------
def test_rtol_is_relative():
    """An error of a thousandth of a large slope passes by the relative tolerance alone."""
    nearly = function(lambda ctx, x: x * 1e4, lambda ctx, g: g * 1.0001e4)
    x = leaf([1.0, 2.0])
    assert not nbgrad.gradcheck(nearly, x, atol=1e-6, rtol=1e-6, raise_exception=False)
    assert nbgrad.gradcheck(nearly, x, atol=1e-6, rtol=1e-2)


def test_wrong_batch_rule_is_found():
    """A backward that is right for one cotangent and wrong for a batch fails only where batches are checked."""

    def setup_context(ctx, inputs, output):
        """Nothing to save."""

    scale = function(
        lambda g: g * 2, lambda ctx, g: g * 2, setup_context=setup_context, vmap=lambda info, in_dims, g: (g * 3, in_dims[0])
    )
    func = function(lambda ctx, x: x * 2, lambda ctx, g: scale(g))
    x = leaf([1.0, 2.0])
    assert nbgrad.gradcheck(func, x)
    with pytest.raises(nbgrad.GradcheckError, match="batched"):
        nbgrad.gradcheck(func, x, check_batched_grad=True)


def test_composite_of_saved_results_writes_and_views():
    """First and second derivatives are right through an exp that saved its result, writes to a view and a base, and views."""

    def composite(x):
        saved = x.exp()
        written = saved * 1
        written[:1].mul_(saved[1:2])
        written.add_(x)
        return written.view(3, 1).t().sin()

    x = leaf([0.1, 0.2, 0.3])
    assert nbgrad.gradcheck(composite, x) and nbgrad.gradgradcheck(composite, x)


# ---- Jacobians by themselves -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_jacobians_by_themselves():
    """Numerical and analytical ones agree with the formula: rows for elements of the input, columns for those of the result."""
    from nbgrad.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian, get_numerical_jacobian_wrt_specific_input

    x = nbgrad.tensor([1.0, 2.0, 3.0], dtype=nbgrad.float64, requires_grad=True)
    y = nbgrad.tensor([[2.0]], dtype=nbgrad.float64, requires_grad=True)

    def function(x, y):
        return (x * y).reshape(-1)[:2]

    by_x, by_y = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 2.0]])
    found, reentrant, sizes, dtypes = get_analytical_jacobian((x, y), function(x, y))
    assert (reentrant, sizes, dtypes) == (True, True, True)
    for pair in (found, get_numerical_jacobian(lambda inputs: function(*inputs), (x, y))):
        np.testing.assert_allclose(pair[0].numpy(), by_x, atol=1e-9)
        np.testing.assert_allclose(pair[1].numpy(), by_y, atol=1e-9)
    assert len(get_numerical_jacobian(lambda inputs: function(*inputs), (x, y), target=y)) == 1
    (one,) = get_numerical_jacobian_wrt_specific_input(function, 0, (x, y), (function(x, y),), 1e-6)
    np.testing.assert_allclose(one.numpy(), by_x, atol=1e-8)


def test_jacobians_that_are_refused():
    """Complex results and scaled cotangents are; the functions say that they are old."""
    from nbgrad.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian

    x = nbgrad.tensor([1.0], dtype=nbgrad.float64, requires_grad=True)
    with pytest.warns(FutureWarning, match="old programs"), pytest.raises(ValueError, match="grad_out"):
        get_numerical_jacobian(lambda inputs: inputs[0], (x,), grad_out=2.0)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="complex"):
        get_analytical_jacobian((x,), x * 1j)


def test_a_function_that_returns_no_tensor():
    """Says what it returned."""
    x = nbgrad.tensor([1.0], dtype=nbgrad.float64, requires_grad=True)
    with pytest.raises(TypeError, match="must return tensors, got .*float"):
        nbgrad.gradcheck(lambda x: 3.0, x)


def test_an_argument_that_is_no_tensor():
    """Leaves nothing to differentiate by, which is a ValueError."""
    with pytest.raises(ValueError, match="no input requires grad"):
        nbgrad.gradcheck(lambda x: x, 1)

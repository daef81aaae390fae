"""``requires_grad_`` within compiled functions, and gradients of what they detach."""

import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.testing import assert_close


def both(make, calls):
    """A function and the compiled one give the same, and leave the same in their arguments, by one program."""
    eager, compiled = make(), nbgrad.compile(make(), fullgraph=True)
    for arguments in calls:
        xs, ys = ([x.clone() for x in arguments] for _ in range(2))
        want, got = eager(*xs), compiled(*ys)
        assert_close(got, want, rtol=0, atol=0)
        for x, y in zip(xs, ys):
            assert x.requires_grad == y.requires_grad
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None:
                assert_close(y.grad, x.grad, rtol=0, atol=0)
    assert len(compiled.variants) == 1
    return compiled


CALLS = [(nbgrad.tensor([k, 2.0]),) for k in (1.0, -2.0, 3.0)]


def test_arguments_that_need_gradients_from_then_on():
    """The flag is set behind every call."""

    def fn(x):
        x.requires_grad_()
        return nbgrad.grad((x * x).sum(), x)[0]

    compiled = both(lambda: fn, CALLS)
    assert compiled.explain().variants[0].changes == ("which tensors need gradients",)


def test_passes_leave_gradients_in_them():
    """In every call anew."""

    def fn(x):
        x.requires_grad_(True)
        (x**3).sum().backward()
        return x.grad.clone()

    both(lambda: fn, CALLS)


def test_a_residual_with_second_derivatives():
    """As physics-informed networks are trained."""

    def make():
        nbgrad.manual_seed(0)
        net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        def step(t):
            t.requires_grad_(True)
            u = net(t)
            (du,) = nbgrad.grad(u.sum(), t, create_graph=True)
            (ddu,) = nbgrad.grad(du.sum(), t, create_graph=True)
            loss = ((ddu + u) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    both(make, [(nbgrad.linspace(0.0, k, 5).reshape(5, 1),) for k in (1.0, 2.0, 3.0)])


@pytest.mark.filterwarnings("ignore:compile.*runs as it is")
def test_flags_of_what_names_hold():
    """Whatever they were; gradients of what is returned arrive in what has become a leaf."""
    w = nbgrad.ones(2)

    @nbgrad.compile
    def fn(x, flag):
        w.requires_grad_(flag)
        return (w * x).sum()

    for k, (before, flag) in enumerate(
        [(False, True), (True, False), (False, False), (True, True), (False, True), (True, False)] * 2
    ):
        w.requires_grad_(before)
        out = fn(CALLS[k % 3][0], flag)
        assert out.requires_grad == w.requires_grad == flag
        if flag:
            assert_close(nbgrad.grad(out, w)[0], CALLS[k % 3][0])


@pytest.mark.parametrize("detach", [lambda x: x.detach(), lambda x: x.detach()[:1], lambda x: x.data, lambda x: x.clone().detach()])
def test_gradients_of_a_detached_argument(detach):
    """Which is a leaf of the function's own, on the argument's memory."""

    def fn(x):
        y = detach(x).requires_grad_()
        energy = (y**4 - y).sum()
        energy.backward()
        return energy.detach(), -y.grad

    both(lambda: fn, CALLS)
    both(lambda: lambda x: fn(x * 2), CALLS)


@pytest.mark.filterwarnings("ignore:compile.*runs as it is")
def test_state_that_is_differentiated():
    """A name that holds a leaf is no state of the program."""
    held = {"h": nbgrad.ones(2)}

    def fn(x):
        h = held["h"].requires_grad_()
        (h * x).sum().backward()
        held["h"] = h.detach() - 0.1 * h.grad
        return held["h"].clone()

    compiled, expected = nbgrad.compile(fn), nbgrad.ones(2)
    for (x,) in CALLS:
        expected = expected - 0.1 * x
        assert_close(compiled(x), expected)
        assert_close(held["h"], expected)


@pytest.mark.filterwarnings("ignore:compile.*runs as it is")
def test_views_between_two_flags():
    """A view that was taken while its base needed no gradient has no history behind it, whatever the flag is in the end."""

    def fn(x):
        x.requires_grad_(False)
        view = x[:1]
        x.requires_grad_()
        return view

    x, compiled = nbgrad.ones(2, 3, requires_grad=True), nbgrad.compile(fn)
    for _ in range(2):
        got, want = compiled(x), fn(x)
        assert got.is_leaf is want.is_leaf and got.requires_grad is want.requires_grad and got.grad_fn is want.grad_fn


@nbgrad.inference_mode()
def predicted(x):
    y = x * 2
    return y, y.t(), x[1:], nbgrad.zeros(3), x.clone().mul_(2), y.sum().item()


@pytest.mark.parametrize("saved", [False, True])
def test_results_of_an_inference_mode_inside_are_inference_tensors(saved, tmp_path):
    """Those that it makes, as without compile; a part of an argument is none."""

    def kinds(outs):
        return [nbgrad.is_inference(out) if isinstance(out, nbgrad.Tensor) else out for out in outs]

    x = nbgrad.ones(3, requires_grad=True)
    f = nbgrad.compile(predicted, fullgraph=True)
    for _ in range(2):
        assert kinds(f(x)) == kinds(predicted(x)) == [True, True, False, True, True, 6.0]
    if saved:
        nbgrad.jit.save(f, tmp_path / "f", objects=False)
        f = nbgrad.jit.load(tmp_path / "f")
        assert kinds(f(x)) == kinds(predicted(x))
    with pytest.raises(nbgrad.errors.NbgradError, match="inference"):
        f(x)[0].mul_(2)

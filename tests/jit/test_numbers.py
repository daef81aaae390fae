"""Floats among the arguments of compiled functions are words of their programs."""

import copy
import math
import threading
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import optim
from nbgrad.dispatch.updates import fused_update
from nbgrad.testing import assert_close

NUMBERS = (0.1, 0.25, -3.0, 1e-7, 12345.678)


def agree(fn, *others, numbers=NUMBERS, variants=1, **options):
    """A compiled function gives what the function gives, for every number, bit for bit, with so many variants."""
    compiled = nbgrad.compile(fn, fullgraph=True, **options)
    for number in numbers:
        got, want = compiled(*others, number), fn(*others, number)
        assert repr(got) == repr(want)
        assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    assert len(compiled.variants) == variants, compiled.explain()
    return compiled


X = nbgrad.tensor([1.5, -2.25, 1e3])


def test_another_number_captures_nothing():
    """A number is an input of the graph, rounded to the dtype of the call."""
    f = agree(lambda x, lr: x * lr, X)
    assert "lr: float64[()]" in f.source()
    assert f.explain().variants[0].arguments == {"x": "float32[3]", "lr": "float"}


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64, nbgrad.int64, nbgrad.complex64, nbgrad.bool])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_numbers_promote_as_numbers_do(dtype, shape):
    """A number does not widen tensors without dimensions; integers become floats of the default dtype."""
    x = nbgrad.ones(shape, dtype=dtype)
    agree(lambda x, a: (x * a, a - x, x / a), x)


def test_half_types_take_the_value():
    """A tensor of a half type is no operand of float32: such numbers are known by their values."""
    agree(lambda x, a: x * a, X.to(nbgrad.float16), numbers=(0.1, 0.2), variants=2)


def test_arithmetic_is_recorded():
    """What Python computes of numbers is computed again in every call, in float64."""
    agree(lambda x, a: x * (2 * a - 1 / (a + 3.5) + abs(-a)), X)
    agree(lambda x, a: x * (a * a / 3) - +a, X.double())
    f = agree(lambda x, a: x + (1 - 0.9) * a, X)
    assert len(f.variants) == 1


def test_powers_are_recorded():
    """Powers of numbers are part of the program, and have the bits that Python gives them."""
    agree(lambda x, a: x.double() * (a**3) + 2.0**a - 0.9 ** (a * 17.25) + a**a, X, numbers=(0.1, 0.25, 1e-7, 12.345678))
    agree(lambda x, a: (x * (3**-a), a**0.5, a**2, a**-1, True**a), X, numbers=(0.1, 0.25, 7.5))


def test_powers_that_are_no_floats():
    """A power that is complex, too large, or of zero is what Python makes of it."""
    f = nbgrad.compile(lambda x, a: (x * (a**0.5).real, abs(a**-1)))
    plain = f.fn
    for a in (4.0, -4.0, 0.25):
        assert repr(f(X, a)) == repr(plain(X, a))
    for a, kind in ((0.0, ZeroDivisionError), (1e-320, OverflowError)):
        with pytest.raises(kind):
            f(X, a)
    assert repr(f(X, 9.0)) == repr(plain(X, 9.0))


def test_two_numbers():
    """Numbers of several arguments meet."""
    f = nbgrad.compile(lambda x, a, b: x * (a - b) / (a * b))
    for a in (0.5, 2.0):
        for b in (0.25, 3.0):
            assert_close(f(X, a, b), X * (a - b) / (a * b), rtol=0, atol=0)
    assert len(f.variants) == 1


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, a: nbgrad.add(x, x, alpha=a),
        lambda x, a: x.sub(x * x, alpha=a),
        lambda x, a: x.clamp(min=a),
        lambda x, a: x.clamp(-a * a, a * a),
        lambda x, a: nbgrad.where(x > a, x, a),
        lambda x, a: nbgrad.addcmul(x, x, x, value=a),
        lambda x, a: nbgrad.lerp(x, 2 * x, a),
        lambda x, a: nbgrad.nn.functional.leaky_relu(x, a),
        lambda x, a: nbgrad.maximum(x, x * 0 + a),
        lambda x, a: (x < a, x >= a, x == a),
        lambda x, a: x.clone().add_(x, alpha=a).mul_(a).sub_(a),
        lambda x, a: x.clone().fill_(a),
        lambda x, a: x.masked_fill(x > 0, a),
        lambda x, a: a / x - a,
        lambda x, a: nbgrad.atan2(x, x * a),
        lambda x, a: x.abs() ** a,
        lambda x, a: x * nbgrad.tensor(a) + nbgrad.as_tensor(a, dtype=nbgrad.float64),
        lambda x, a: x * nbgrad.full((3,), a) + nbgrad.full_like(x, a),
        lambda x, a: nbgrad.trapezoid(x, dx=a) + nbgrad.gradient(x, spacing=a)[0],
        lambda x, a: nbgrad.scan(lambda c, y: (c * 0.5 + y * a, c), a, x)[1],
    ],
)
def test_operations_take_numbers(fn):
    """Operations take a number where they take one, as operand and by name."""
    agree(fn, X)


def test_gradients_of_numbers_of_this_call():
    """Derivatives are those of this call's number, inside of the function and behind it."""
    x = nbgrad.tensor([1.5, -2.0], requires_grad=True)
    f = nbgrad.compile(lambda x, a: ((x * a).exp() * (a - x)).sum())
    inside = nbgrad.compile(lambda x, a: nbgrad.grad(((x * a).exp() * (a - x)).sum(), x, create_graph=True)[0].detach())
    for a in (0.5, -0.25, 2.0):
        (want,) = nbgrad.grad(((x * a).exp() * (a - x)).sum(), x, create_graph=True)
        (got,) = nbgrad.grad(f(x, a), x, create_graph=True)
        assert_close(got, want)
        assert_close(inside(x, a), want.detach())
        assert_close(nbgrad.grad(got.sum(), x), nbgrad.grad(want.sum(), x))
    assert len(f.variants) == len(inside.variants) == 1


def test_a_training_step_by_hand():
    """Writes to parameters by a learning rate that is an argument, by name."""
    w = nbgrad.tensor([1.0, 2.0], requires_grad=True)

    @nbgrad.compile(fullgraph=True)
    def step(x, *, options):
        loss = ((w * x) ** 2).sum()
        (g,) = nbgrad.grad(loss, w)
        with nbgrad.no_grad():
            w.sub_(options["lr"] * g)
            w.mul_(1 - options["lr"] * options["decay"])
        return loss.detach()

    expected = np.array([1.0, 2.0], np.float64)
    x = nbgrad.tensor([0.5, 0.25])
    for lr, decay in ((0.1, 0.0), (0.01, 0.5), (0.2, 0.1)):
        step(x, options={"lr": lr, "decay": decay})
        expected = (expected - lr * 2 * expected * np.array([0.5, 0.25]) ** 2) * (1 - lr * decay)
        assert np.allclose(w.detach().numpy(), expected, rtol=1e-6)
    assert len(step.variants) == 1


def test_numbers_in_trees():
    """Floats and ints in tuples, lists and dicts are numbers; other values in them are not."""
    f = nbgrad.compile(lambda x, tree: x * tree["a"] + tree["b"][0] * tree["b"][1], fullgraph=True)
    for a, b, c in ((0.5, 2.0, 3), (0.25, 1.5, 3), (0.5, 2.0, 4)):
        assert_close(f(X, {"a": a, "b": (b, c)}), X * a + b * c)
    assert len(f.variants) == 1
    f(X, {"a": 0.5, "b": (2.0, True)})
    assert len(f.variants) == 2


def test_bools_and_strings_are_known_by_value():
    """Other plain arguments are compared, and an int is no float."""
    f = nbgrad.compile(lambda x, a: x if a == "same" else x * a)
    for a in (1, 2, True, False, "same", 1.0, 2.5, 3.0):
        f(X, a)
    assert len(f.variants) == 5


# ---- answers ---------------------------------------------------------------------------------------------------------


def test_comparisons_are_guards_on_the_answer():
    """What is decided by a number holds while the answer is the same."""

    def signed(x, a):
        return x * a if a > 0 else x - a

    f = agree(signed, X, numbers=(0.5, 0.25, -1.0, -2.0, 3.0, -0.0), variants=2)
    assert any("gt" in node.name for node in f.variants[0].graph.nodes)
    agree(lambda x, a: x if a else -x, X, numbers=(0.5, 2.0, 0.0, -0.0, 3.0), variants=2)
    agree(lambda x, a: x * min(a, 1.0), X, numbers=(0.5, 0.25, 2.0, 3.0), variants=2)
    agree(lambda x, a: x if 0 <= a < 1 else x * a, X, numbers=(0.5, 0.25, 2.0, 3.0, -1.0), variants=3)


def test_whole_parts_are_guards_on_the_answer():
    """``int`` asks for the whole part."""
    agree(lambda x, a: x.repeat(int(a)), X, numbers=(1.25, 1.5, 2.0, 2.75), variants=2)


def test_division_by_a_number_that_becomes_zero():
    """Python's division by zero is an error in every call."""
    f = nbgrad.compile(lambda x, a: x * (1 / a))
    f(X, 0.5)
    with pytest.raises(ZeroDivisionError):
        f(X, 0.0)
    assert_close(f(X, 0.25), X * 4)
    assert len(f.variants) == 1


def test_numbers_that_are_compared_to_other_things():
    """No number equals a string or None, whatever it is."""
    agree(lambda x, a: x if a is None or a == "mean" else x * a, X)


# ---- values ----------------------------------------------------------------------------------------------------------


def test_powers_that_have_kernels_of_their_own():
    """Which exponent has one is an answer; others share the kernel of all."""
    f = nbgrad.compile(lambda x, a: x.abs() ** a, fullgraph=True)
    for a in (0.3, 2.0, 0.5, 1 / 3, 0.7):
        assert f(X, a).tolist() == (X.abs() ** a).tolist()
    assert len(f.variants) == 3


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, a: x * math.frexp(a * a)[0],
        lambda x, a: x * float(a),
        lambda x, a: x * ((-a) ** 0.5).real,
        lambda x, a: x * pow(int(a * 8), 2, 3),
        lambda x, a: x * (a // 0.1) + a % 2,
        lambda x, a: x * float(np.float64(a)) + float((np.ones(2) * a)[0]) + float(np.sin(a)),
        lambda x, a: x * len(f"{a:.3f}{a}{a!r}"),
        lambda x, a: x * {0.5: 3, 0.25: 4}[a],
        lambda x, a: x * round(a, 1) * round(a),
        lambda x, a: x + math.floor(a) + math.ceil(a) + math.trunc(a + math.pi),
        lambda x, a: x * nbgrad.tensor(np.array([a, a, a])),
        lambda x, a: x * a.hex().count("0") + a.as_integer_ratio()[0] + a.is_integer(),
        lambda x, a: x * complex(a).real,
        lambda x, a: x.norm(p=a),
        lambda x, a: x * float(a * 2 + 1),
        lambda x, a: x + sum(divmod(a, 0.2)),
    ],
)
def test_what_takes_the_value_is_known_by_it(fn):
    """Whatever needs the float itself has a variant for each value, and never another's."""
    agree(fn, X, numbers=(0.5, 0.25, 0.5, 0.25), variants=2)


def test_what_takes_floats_alone():
    """Code that refuses everything but floats is captured for their values."""

    def scaled(x, a):
        if type(a) is not float:
            raise TypeError("no float")
        return x * a

    agree(scaled, X, numbers=(0.5, 0.25), variants=2)


def test_errors_of_the_function_are_its_own():
    """What the function raises is raised; the numbers stay words."""

    def fails(x, a):
        return (x * a).reshape(7) if x.shape[0] == 4 else x * a

    f = nbgrad.compile(fails)
    f(X, 0.5)
    with pytest.raises(nbgrad.errors.ShapeError):
        f(nbgrad.ones(4), 0.5)
    f(X, 0.25)
    assert len(f.variants) == 1


def test_one_number_is_a_word_and_another_is_not():
    """Only those are known by value whose values are taken."""
    f = nbgrad.compile(lambda x, a, b: x * a + round(b, 3))
    for a in (0.5, 0.25, 3.0):
        for b in (1.0, 2.0):
            assert_close(f(X, a, b), X * a + round(b, 3), rtol=0, atol=0)
    assert len(f.variants) == 2
    assert [v.arguments["b"] for v in f.explain().variants] == ["1.0", "2.0"]


def test_numbers_beyond_their_capture():
    """A number that the function keeps somewhere is a float from then on."""
    kept = []

    @nbgrad.compile
    def keeping(x, a):
        kept.append(a)
        return x * a

    keeping(X, 0.5)
    (a,) = kept
    assert a == 0.5 and a + 1 == 1.5 and type(a * 2) is float and repr(a) == "0.5" and copy.deepcopy(a) == 0.5
    assert isinstance(a, float) and hash(a) == hash(0.5) and (X * a).tolist() == (X * 0.5).tolist()


def test_numbers_that_another_thread_reads():
    """Its answers are of values."""

    def asked(x, a):
        found = []
        thread = threading.Thread(target=lambda: found.append(a > 0.3))
        thread.start()
        thread.join()
        return x * a if found[0] else x

    agree(asked, X, numbers=(0.5, 0.25), variants=2)


# ---- results ---------------------------------------------------------------------------------------------------------


def test_numbers_as_results():
    """A number that is returned is a float of this call."""
    f = nbgrad.compile(lambda x, a: {"y": x * a, "a": a, "twice": a * 2})
    for a in (0.5, 0.1):
        made = f(X, a)
        assert type(made["a"]) is type(made["twice"]) is float and (made["a"], made["twice"]) == (a, 2 * a)
    assert len(f.variants) == 1


# ---- other parts -------------------------------------------------------------------------------------------------------


MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.5, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "nadam": lambda p: optim.NAdam(p, lr=0.1, weight_decay=0.01),
    "radam": lambda p: optim.RAdam(p, lr=0.1, weight_decay=0.01),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, t0=2, weight_decay=0.01),
}


@pytest.mark.parametrize("name, steps", [*((name, 1) for name in MAKERS), ("nadam", 2), ("asgd", 2)])
def test_optimizers_take_new_options_from_a_scheduler(name, steps):
    """Options of groups that change between calls are noticed, and captured by no call; of several steps each has its numbers."""
    twins = [nbgrad.tensor([1.0, -2.0], requires_grad=True) for _ in range(2)]
    optimizers = [MAKERS[name]([p]) for p in twins]
    x = nbgrad.tensor([0.5, 0.25])

    def stepping(p, optimizer):
        def step():
            for _ in range(steps):
                optimizer.zero_grad()
                ((p * x) ** 2).sum().backward()
                optimizer.step()

        return step

    plain, step = map(stepping, twins, optimizers)
    compiled = nbgrad.compile(step, fullgraph=True)
    for epoch in range(6):
        for optimizer in optimizers:
            (group,) = optimizer.param_groups
            group["lr"], group["weight_decay"] = 0.1 * 0.5**epoch, group["weight_decay"] * 0.9
        plain()
        compiled()
        assert_close(twins[1], twins[0], rtol=0, atol=0)
        assert numbers_of(optimizers[1]) == numbers_of(optimizers[0])
    assert len(compiled.variants) == 1


def numbers_of(optimizer):
    """What an optimizer keeps beside tensors."""
    return [{name: x for name, x in each.items() if not isinstance(x, nbgrad.Tensor)} for each in optimizer.state.values()]


def test_options_that_a_step_sets_itself_are_not_followed_where_numbers_are_kept():
    """The step runs as it is, and is what it is."""
    kept = []
    for compiled in (lambda fn: fn, nbgrad.compile):
        p = nbgrad.tensor([1.0, -2.0], requires_grad=True)
        optimizer = optim.NAdam([p], lr=0.1)

        def step(p=p, optimizer=optimizer):
            optimizer.param_groups[0]["momentum_decay"] *= 0.5
            optimizer.zero_grad()
            (p**2).sum().backward()
            optimizer.step()

        run = compiled(step)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(4):
                run()
        kept.append((p.tolist(), numbers_of(optimizer)))
    assert kept[0] == kept[1] and any("set an option" in str(each.message) for each in said)


def test_an_update_of_a_rule_takes_numbers():
    """``fused_update`` takes numbers among its scalars."""
    p, g = nbgrad.ones(3), nbgrad.tensor([1.0, 2.0, 3.0])

    @nbgrad.compile(fullgraph=True)
    def step(g, lr):
        fused_update(descend, [p], [g], {"lr": lr * 2, "scale": 3.0})
        return g * 1

    expected = p.clone()
    for lr in (0.1, 0.25, 0.5):
        step(g, lr)
        expected = expected - (2 * lr) * 3 * g
        assert_close(p, expected)
    assert len(step.variants) == 1


def descend(scalar, p, g, *, lr, scale):
    """A rule of an update."""
    return (p - lr * scale * g,)


def test_an_option_that_is_set_to_a_number():
    """A number of a call that an optimizer keeps is the one of that call, in one program."""
    p = nbgrad.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5)

    @nbgrad.compile(fullgraph=True)
    def step(lr):
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        (p * 1.0).sum().backward()
        optimizer.step()

    for lr, left in ((0.25, 0.75), (0.5, 0.25)):
        step(lr)
        assert p.item() == left
        assert optimizer.param_groups == [{**optimizer.param_groups[0], "lr": lr}]
    assert len(step.variants) == 1


def test_loops_take_numbers_that_they_capture():
    """The step of an integrator, in a scan and in a while_loop."""

    def decay(x, dt):
        return nbgrad.scan(lambda c, _: (c - dt * c, c * (1 - dt)), x, length=5)

    def until(x, dt):
        return nbgrad.while_loop(lambda c: c.sum() > 1.0, lambda c: c - dt * c, x)

    for fn in (decay, until):
        f = nbgrad.compile(fn, fullgraph=True)
        for dt in (0.1, 0.25, 0.01):
            for got, want in zip(flat(f(X, dt)), flat(fn(X, dt))):
                assert_close(got, want)
        assert len(f.variants) == 1, f.explain()


def flat(result):
    """The tensors of a result."""
    return [y for x in result for y in flat(x)] if isinstance(result, tuple) else [result]


def test_branches_and_maps_take_numbers():
    """``cond``, ``vmap`` and ``jvp`` see the number of the call."""

    def chosen(x, a):
        return nbgrad.cond(x.sum() > 0, lambda: x * a, lambda: x - a)

    def mapped(x, a):
        return nbgrad.func.vmap(lambda y: y * a + a)(x)

    def pushed(x, a):
        return nbgrad.func.jvp(lambda y: (y * a) ** 2, (x,), (x * 0 + 1,))[1]

    for fn in (chosen, mapped, pushed):
        agree(fn, X, numbers=(0.5, 0.25, -2.0))


def test_functions_take_numbers():
    """Custom Functions are given the number, those that are steps in Python its value."""

    class Scale(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, a):
            ctx.a = a
            return x * a

        @staticmethod
        def backward(ctx, g):
            return g * ctx.a, None

    class Numpy(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, a):
            ctx.a = a
            return nbgrad.from_numpy(x.numpy() * np.float32(a))

        @staticmethod
        def backward(ctx, g):
            return g * ctx.a, None

    for kind, variants in ((Scale, 1), (Numpy, 2)):
        x = X.clone().requires_grad_()
        f = nbgrad.compile(lambda x, a, kind=kind: nbgrad.grad(kind.apply(x, a).sum(), x)[0], fullgraph=True)
        for a in (0.5, 0.25, 0.5):
            assert f(x, a).tolist() == [a] * 3
        assert len(f.variants) == variants


def test_the_native_call_takes_the_float(monkeypatch, unchecked):
    """A call that is known does not pass through Python, and takes floats alone where it was given floats."""
    f = nbgrad.compile(lambda x, a: x * a)
    f(X, 0.5)
    quick = f._quick_
    monkeypatch.setattr(f, "_dispatch_", None)
    assert quick(X, 0.25).tolist() == (X * 0.25).tolist()
    monkeypatch.undo()
    assert f(X, nbgrad.tensor(0.5, dtype=nbgrad.float64)).tolist() == (X * 0.5).tolist() and len(f.variants) == 2
    assert f(X, 3).tolist() == (X * 3).tolist() and f(X, np.float64(0.25)).tolist() == (X * 0.25).tolist()


def test_a_loaded_function_takes_numbers(tmp_path):
    """A file has the words of numbers, and the values of those that are known by value."""
    x = X.clone().requires_grad_()
    f = nbgrad.compile(lambda x, a, b: ((x * a).exp() * round(b, 3), a * 2))
    y, _ = f(x, 0.5, 1.0)
    y.sum().backward()
    nbgrad.jit.save(f, tmp_path / "f", objects=False)
    again = nbgrad.jit.load(tmp_path / "f")
    for a in (0.5, 0.1):
        (got, twice), (want, _) = again(x, a, 1.0), f(x, a, 1.0)
        assert got.tolist() == want.tolist() and twice == 2 * a
        assert_close(nbgrad.grad(got.sum(), x), nbgrad.grad(want.sum(), x), rtol=0, atol=0)
    with pytest.raises(nbgrad.errors.ArgumentError, match="b: expected 1.0, got 2.0"):
        again(x, 0.5, 2.0)
    with pytest.raises(nbgrad.errors.ArgumentError, match="a: expected float, got 1"):
        again(x, 1, 1.0)
    with pytest.raises(nbgrad.errors.ArgumentError, match="expected"):
        again(x, nbgrad.tensor(0.5, dtype=nbgrad.float64), 1.0)


@pytest.mark.parametrize("wrap", [lambda fn: fn, lambda fn: nbgrad.compile(fn, fullgraph=True)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex64", "complex128"])
def test_where_with_a_complex_number(dtype, wrap):
    """The number makes the result complex, of the tensor's precision; the gradient is the tensor's."""
    kind = getattr(nbgrad, dtype)
    mask, y = nbgrad.tensor([True, False]), nbgrad.tensor([2, 3], dtype=kind)
    wanted = nbgrad.complex128 if dtype in ("float64", "complex128") else nbgrad.complex64
    y.requires_grad_(dtype != "int64")
    for choose, values, slope in (
        (lambda m, y: nbgrad.where(m, 1j, y), [1j, 3], [0, 1]),
        (lambda m, y: nbgrad.where(m, y, 1j), [2, 1j], [1, 0]),
        (lambda m, y: y.where(m, 1j), [2, 1j], [1, 0]),
    ):
        out = wrap(choose)(mask, y)
        assert out.dtype is wanted and out.tolist() == values
        if y.requires_grad:
            (g,) = nbgrad.grad(out.real.sum(), y)
            assert g.dtype is kind and g.tolist() == slope


def test_where_with_two_numbers():
    """A float argument beside a complex number."""
    choose = nbgrad.compile(lambda m, number: nbgrad.where(m, 1j, number), fullgraph=True)
    for number in (2.0, 3.0):
        assert choose(nbgrad.tensor([True, False]), number).tolist() == [1j, number]
    assert len(choose.variants) == 1

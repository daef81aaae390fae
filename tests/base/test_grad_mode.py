"""Grad mode and inference mode: what is recorded, how modes nest, decorate and stay in their thread."""

from __future__ import annotations

import asyncio
import dis
import signal

import pytest

import nbgrad
from tests.helpers import in_thread, leaf

F64 = nbgrad.float64


# ---- no_grad, enable_grad --------------------------------------------------------------------------------------------
def test_nothing_is_recorded_under_no_grad():
    """Results under ``no_grad`` do not require grad."""
    x = leaf(2.0)
    with nbgrad.no_grad():
        y = x * 3
    assert not y.requires_grad and y.grad_fn is None


def test_factories_obey_requires_grad_under_no_grad():
    """A tensor made under ``no_grad`` with ``requires_grad=True`` requires grad."""
    with nbgrad.no_grad():
        assert nbgrad.ones(2, requires_grad=True).requires_grad
        assert nbgrad.Parameter(nbgrad.ones(2)).requires_grad


def test_the_mode_at_the_op_decides():
    """Whether an op is recorded does not depend on where its inputs were made."""
    with nbgrad.no_grad():
        x = leaf(2.0)
    assert (x * 3).requires_grad


def test_enable_grad_inside_no_grad():
    """``enable_grad`` records again and gives way to the outer mode at its end."""
    x = leaf(2.0)
    with nbgrad.no_grad():
        with nbgrad.enable_grad():
            assert (x * 3).requires_grad
        assert not (x * 3).requires_grad
    assert (x * 3).requires_grad


@pytest.mark.parametrize(
    "mode",
    [nbgrad.no_grad, lambda: nbgrad.set_grad_enabled(False), nbgrad.inference_mode],
    ids=["no_grad", "set_grad_enabled", "inference_mode"],
)
def test_modes_are_restored_after_an_exception(mode):
    """A context left by an exception restores the previous mode."""
    with pytest.raises(KeyError):
        with mode():
            raise KeyError
    assert nbgrad.is_grad_enabled() and not nbgrad.is_inference_mode_enabled()


def test_set_grad_enabled_acts_at_the_call():
    """``set_grad_enabled`` called as a function changes the mode until it is changed again."""
    try:
        nbgrad.set_grad_enabled(False)
        assert not nbgrad.is_grad_enabled()
    finally:
        nbgrad.set_grad_enabled(True)
    assert nbgrad.is_grad_enabled()


@pytest.mark.parametrize("flag", [True, False])
def test_set_grad_enabled_as_a_context(flag):
    """As a context it restores what was there."""
    with nbgrad.set_grad_enabled(flag):
        assert nbgrad.is_grad_enabled() is flag
    assert nbgrad.is_grad_enabled()


def test_set_grad_enabled_as_a_decorator():
    """As a decorator it leaves the mode at the point of decoration alone."""

    @nbgrad.set_grad_enabled(False)
    def f():
        return nbgrad.is_grad_enabled()

    assert nbgrad.is_grad_enabled() and f() is False and nbgrad.is_grad_enabled()


def test_one_context_object_entered_again():
    """A context object may be entered many times, one after another."""
    context = nbgrad.no_grad()
    for _ in range(2):
        with context:
            assert not nbgrad.is_grad_enabled()
        assert nbgrad.is_grad_enabled()


def test_integer_results_never_require_grad():
    """Comparisons and indices are not differentiable in any mode."""
    x = leaf([1.0, 2.0])
    for t in (x > 1, x.argmax(), x == x, x.to(nbgrad.int64), x.sort()[1]):
        assert not t.requires_grad


def test_walking_a_graph_under_no_grad():
    """The caller's mode does not matter to a pass over a recorded graph."""
    x = leaf(3.0)
    y = x * x
    with nbgrad.no_grad():
        y.backward()
    assert x.grad.item() == 6.0


# ---- decorators ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "decorate",
    [nbgrad.no_grad, lambda f: nbgrad.no_grad()(f), nbgrad.inference_mode, lambda f: nbgrad.inference_mode()(f)],
    ids=["no_grad", "no_grad()", "inference_mode", "inference_mode()"],
)
def test_decorators_with_and_without_parentheses(decorate):
    """The function runs in the mode and keeps its name."""

    def f():
        return nbgrad.is_grad_enabled()

    g = decorate(f)
    assert g() is False and g.__name__ == "f" and nbgrad.is_grad_enabled()


def test_enable_grad_as_a_decorator():
    """``enable_grad`` decorates like ``no_grad``."""

    @nbgrad.enable_grad()
    def f():
        return nbgrad.is_grad_enabled()

    with nbgrad.no_grad():
        assert f() is True


def test_decorated_recursion():
    """The mode is entered anew at each call."""

    @nbgrad.no_grad()
    def f(n):
        return [nbgrad.is_grad_enabled()] + (f(n - 1) if n else [])

    assert f(3) == [False] * 4 and nbgrad.is_grad_enabled()


@nbgrad.no_grad()
def modes():
    """A decorated generator that yields the mode in which its body runs."""
    received = yield nbgrad.is_grad_enabled()
    yield received, nbgrad.is_grad_enabled()
    return "done"


def test_decorated_generator_keeps_its_mode_to_itself():
    """The body runs in the mode, the caller's code between two yields in the caller's."""
    g = modes()
    assert next(g) is False and nbgrad.is_grad_enabled()


def test_decorated_generator_passes_sent_values():
    """``send`` and the return value go through the decorator."""
    g = modes()
    next(g)
    assert g.send("hello") == ("hello", False)
    with pytest.raises(StopIteration) as end:
        next(g)
    assert end.value.value == "done"


def test_decorated_generator_passes_exceptions():
    """``throw`` reaches the body, which may catch it in its own mode."""

    @nbgrad.no_grad()
    def catching():
        try:
            yield
        except KeyError:
            yield nbgrad.is_grad_enabled()

    g = catching()
    next(g)
    assert g.throw(KeyError()) is False and nbgrad.is_grad_enabled()


def test_decorated_generator_can_be_closed():
    """``close`` runs the body's ``finally`` in the body's mode."""
    seen = []

    @nbgrad.no_grad()
    def closing():
        try:
            yield
        finally:
            seen.append(nbgrad.is_grad_enabled())

    g = closing()
    next(g)
    g.close()
    assert seen == [False] and nbgrad.is_grad_enabled()


# ---- threads ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", [nbgrad.no_grad, nbgrad.inference_mode])
def test_new_thread_starts_in_the_default_mode(mode):
    """A thread does not inherit the modes of the one that started it."""
    with mode():
        assert in_thread(lambda: (nbgrad.is_grad_enabled(), nbgrad.is_inference_mode_enabled())) == (True, False)


def test_mode_of_a_thread_does_not_leak():
    """What a thread sets is over with it."""
    in_thread(lambda: nbgrad.set_grad_enabled(False))
    assert nbgrad.is_grad_enabled()


def test_multithreading_switch():
    """The switch works as a context and as a function, and is local to its thread."""
    assert nbgrad.is_multithreading_enabled()
    with nbgrad.set_multithreading_enabled(False):
        assert not nbgrad.is_multithreading_enabled()
        assert in_thread(nbgrad.is_multithreading_enabled)
    assert nbgrad.is_multithreading_enabled()


# ---- arguments and spellings -----------------------------------------------------------------------------------------
def test_set_grad_enabled_takes_a_bool():
    """Anything else is refused, and the mode stays."""
    with pytest.raises(TypeError):
        nbgrad.set_grad_enabled(1)
    assert nbgrad.is_grad_enabled()


def test_contexts_can_be_cloned():
    """A clone means the same and has a state of its own."""
    context = nbgrad.set_grad_enabled(mode=True)
    clone = context.clone()
    assert clone is not context and clone.mode is True and repr(clone) == "set_grad_enabled(mode=True)"
    with nbgrad.no_grad().clone():
        assert not nbgrad.is_grad_enabled()


def test_decorated_class():
    """Decorating a class warns; its constructor runs in the mode, its methods do not."""
    with pytest.warns(FutureWarning, match="Model: decorating a class"):

        @nbgrad.no_grad()
        class Model:
            """Remembers the mode."""

            def __init__(self):
                self.made = nbgrad.is_grad_enabled()

            def mode(self):
                return nbgrad.is_grad_enabled()

    assert (Model().made, Model().mode(), Model.__name__) == (False, True, "Model")


def test_hidden_writes():
    """Inside of ``_unsafe_preserve_version_counter`` a write does not count, and backward uses what is there."""
    x, c = leaf([3.0]), nbgrad.tensor([2.0], dtype=F64)
    y = x * c
    with nbgrad.grad_mode._unsafe_preserve_version_counter(c):
        c.mul_(5)
    y.sum().backward()
    assert c._version == 0 and x.grad.tolist() == [10.0]


# ---- coroutines ------------------------------------------------------------------------------------------------------
def test_decorated_coroutine_keeps_its_mode_to_itself():
    """While a decorated coroutine waits, other tasks of its thread run in their own mode."""
    seen = []

    @nbgrad.no_grad()
    async def inside(turn):
        seen.append(("inside", nbgrad.is_grad_enabled()))
        await turn
        seen.append(("inside", nbgrad.is_grad_enabled()))
        return 7

    async def outside(turn):
        seen.append(("outside", nbgrad.is_grad_enabled()))
        turn.set_result(None)

    async def both():
        turn = asyncio.get_running_loop().create_future()
        result, _ = await asyncio.gather(inside(turn), outside(turn))
        return result

    assert asyncio.run(both()) == 7
    assert seen == [("inside", False), ("outside", True), ("inside", False)]


def test_decorated_coroutine_passes_exceptions():
    """An exception thrown by what the coroutine waits for arrives in it, in its mode."""

    @nbgrad.no_grad()
    async def waiting(future):
        try:
            await future
        except KeyError:
            return nbgrad.is_grad_enabled()

    async def main():
        future = asyncio.get_running_loop().create_future()
        future.set_exception(KeyError())
        return await waiting(future)

    assert asyncio.run(main()) is False and nbgrad.is_grad_enabled()


def test_decorated_asynchronous_generator():
    """Its body runs in the mode, the loop over it does not; sent values pass and the end is the end."""
    seen = []

    @nbgrad.no_grad()
    async def numbers():
        try:
            await asyncio.sleep(0)
            received = yield nbgrad.is_grad_enabled()
            yield received, nbgrad.is_grad_enabled()
        finally:
            seen.append(nbgrad.is_grad_enabled())

    async def main():
        generator = numbers()
        seen.append(await generator.__anext__())
        seen.append(nbgrad.is_grad_enabled())
        seen.append(await generator.asend("sent"))
        await generator.aclose()
        assert [item async for item in numbers()] == [False, (None, False)]

    asyncio.run(main())
    assert seen == [False, True, ("sent", False), False, False]


# ---- how views are replayed ------------------------------------------------------------------------------------------
def test_the_switch_for_replaying_views():
    """It reads as set, restores what was, and views are right either way."""
    assert not nbgrad.is_view_replay_enabled()
    for mode in (False, True):
        with nbgrad.grad_mode._force_original_view_tracking(mode):
            assert nbgrad.is_view_replay_enabled() is mode
            x = leaf([1.0, 2.0, 3.0])
            base = x * 1
            view = base[1:].view(2, 1)
            base.mul_(10)
            view.sum().backward()
            assert x.grad.tolist() == [0.0, 10.0, 10.0]
    assert not nbgrad.is_view_replay_enabled()
    with pytest.raises(TypeError):
        nbgrad.grad_mode._force_original_view_tracking(1)


# ---- enable_grad in full ---------------------------------------------------------------------------------------------
def test_enable_grad_as_a_bare_decorator():
    """Without parentheses it keeps the function's name and enters the mode at each call."""

    @nbgrad.enable_grad
    def recorded(x):
        return x * 3

    with nbgrad.no_grad():
        assert recorded(leaf(2.0)).requires_grad and not nbgrad.is_grad_enabled()
    assert recorded.__name__ == "recorded"


@pytest.mark.parametrize(
    "mode",
    [nbgrad.enable_grad, lambda: nbgrad.set_grad_enabled(True), lambda: nbgrad.inference_mode(False)],
    ids=["enable_grad", "set_grad_enabled", "normal mode"],
)
def test_modes_that_record_are_left_by_an_exception(mode):
    """What was off outside is off again."""
    with nbgrad.inference_mode():
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert not nbgrad.is_grad_enabled() and nbgrad.is_inference_mode_enabled()


@pytest.mark.parametrize("context", [nbgrad.no_grad, nbgrad.enable_grad], ids=["no_grad", "enable_grad"])
@pytest.mark.parametrize("method", ["__enter__", "__exit__"])
def test_no_interrupt_falls_between_a_mode_and_its_block(context, method):
    """Python looks for Ctrl-C after calls and at jumps back: there are none once the mode is set, nor before it is set back."""
    steps = [step.opname for step in dis.get_instructions(getattr(context, method))]
    assert "STORE_ATTR" in steps
    assert not [name for name in steps if name.startswith(("CALL", "PRECALL", "JUMP_BACKWARD"))]


def test_an_interrupt_on_entering_leaves_no_mode():
    """Ctrl-C that arrives before ``with nbgrad.no_grad()`` has begun is raised there, and recording is on."""

    def interrupted():
        signal.raise_signal(signal.SIGINT)
        with nbgrad.no_grad():
            return None

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    try:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                interrupted()
            assert nbgrad.is_grad_enabled()
    finally:
        signal.signal(signal.SIGINT, handler)


def test_contexts_of_a_programs_own_decorate():
    """What is derived from torch's base class runs functions inside of a clone, and bodies of generators in each step."""
    from nbgrad.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager

    open_now = []

    class Noted(_DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def clone(self):
            return type(self)(self.name)

        def __enter__(self):
            open_now.append(self.name)

        def __exit__(self, *error):
            open_now.pop()

    @Noted("f")
    def f():
        return list(open_now)

    @Noted("g")
    def g():
        yield list(open_now)
        yield list(open_now)

    steps = g()
    assert f() == ["f"] and next(steps) == ["g"] and open_now == [] and next(steps) == ["g"]
    assert isinstance(nbgrad.no_grad(), _NoParamDecoratorContextManager)
    assert isinstance(nbgrad.set_grad_enabled(True), _DecoratorContextManager)

"""The order in which nodes run, depth, nested passes, exceptions and final callbacks."""

from __future__ import annotations

import math
import random
import sys

import pytest

import nbgrad
from nbgrad.base import config
from tests.functions import Nested, Returns, Stop
from tests.helpers import leaf

# Nodes of a chain over which nothing may recurse: Python's own recursion ends at a thousand, the processor's stack much later.
DEEP = 150_000 if config.NATIVE else 10_000


def logged(t, name, log):
    """``t``, with a hook on its node that appends ``name`` to ``log`` when the node has run."""
    t.grad_fn.register_hook(lambda grad_inputs, grad_outputs: log.append(name))
    return t


class Fail(nbgrad.Function):
    """Identity whose backward raises."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ZeroDivisionError("in backward")


# ---- order -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("swap", [False, True])
def test_last_recorded_runs_first(swap):
    """Among ready nodes the one recorded last runs first, whichever operand it feeds."""
    x, log = leaf(1.0), []
    a, b, c = (logged(x * k, k, log) for k in (2, 3, 4))
    y = c + (b + a) if swap else (a + b) + c
    y.backward()
    assert log == [4, 3, 2]


def test_roots_are_ordered_like_any_node():
    """With several roots the order is by age over all of them, not by position in the list."""
    x, log = leaf(1.0), []
    a = logged(x * 2, "a", log)
    b = logged(x * 3, "b", log)
    nbgrad.backward([a, b])
    assert log == ["b", "a"]


def test_node_waits_for_all_its_consumers():
    """A node runs once, after every consumer within the pass has contributed."""
    x, log = leaf(3.0), []
    h = x * x
    h.grad_fn.register_prehook(lambda grads: log.append(("h", grads[0].item())))
    a = logged(h * 2, "a", log)
    b = logged(h * 3, "b", log)
    (a + b).backward()
    assert log == ["b", "a", ("h", 5.0)]


def test_consumers_outside_of_the_pass_are_not_waited_for():
    """A consumer that the roots do not lead to has no part in the count."""
    x = leaf(3.0)
    h = x * x
    unused = h * 100
    (h * 2).backward()
    assert x.grad.item() == 12.0 and unused.requires_grad


def test_leaf_is_accumulated_before_other_ready_nodes():
    """A leaf whose gradient is complete is accumulated at once, while older branches still wait."""
    x, w, log = leaf(1.0), leaf(1.0), []
    older = x * 2
    older.register_hook(lambda g: log.append(w.grad.item()))
    newer = w * 3
    (older + newer).backward()
    assert log == [3.0]


def test_sequence_numbers_grow():
    """Each recorded node takes the next number of its thread; what is not recorded takes none."""
    x = leaf(1.0)
    a = x * 2
    with nbgrad.no_grad():
        x * 2
    b = x * 3
    assert b.grad_fn._sequence_nr() == a.grad_fn._sequence_nr() + 1


def test_accumulate_grad_has_the_greatest_number():
    """AccumulateGrad outranks every node, those recorded later included."""
    x = leaf(1.0)
    accumulate = (x * 2).grad_fn.next_functions[0][0]
    later = x * 3
    assert accumulate._sequence_nr() > later.grad_fn._sequence_nr()


def test_nodes_that_lead_to_no_input_do_not_run():
    """With inputs given a node runs only if one of them lies behind it."""
    x, w, log = leaf(1.0), leaf(1.0), []
    a, b = logged(x * 2, "a", log), logged(w * 3, "b", log)
    nbgrad.grad(a + b, x)
    assert log == ["a"]


def test_numbers_that_do_not_follow_the_edges():
    """Which nodes lead to an input does not depend on sequence numbers, which a program may set: d(3ac + bc)/da = 3c."""
    a, b, c = leaf(2.0), leaf(5.0), leaf(7.0)
    first = a * c
    second = 3 * first
    last = second + b * c
    first.grad_fn._set_sequence_nr(last.grad_fn._sequence_nr() + 1)
    assert nbgrad.grad(last, [a], retain_graph=True)[0].item() == 21.0
    last.backward(inputs=[a])
    assert a.grad.item() == 21.0 and b.grad is None and c.grad is None


@pytest.mark.parametrize("many", [59, 60, 61, 130])
def test_one_input_of_many_operands(many):
    """Of a node with more edges than a word has bits, the one input asked for gets its gradient and runs alone."""
    xs, log = [leaf(float(k)) for k in range(many)], []
    parts = [logged(x * x, k, log) for k, x in enumerate(xs)]
    total = nbgrad.stack(parts).sum()
    for k in (0, many // 2, many - 1):
        del log[:]
        (g,) = nbgrad.grad(total, xs[k], retain_graph=True)
        assert g.item() == 2.0 * k and log == [k]


def test_roots_that_lead_to_no_input_do_not_run():
    """Of several roots only those run that an input lies behind; a root may be the input itself."""
    x, y, log = leaf(2.0), leaf(3.0), []
    first, second = logged(x * x, "first", log), logged(y * y, "second", log)
    assert [g.item() for g in nbgrad.grad([first, second], [x], retain_graph=True)] == [4.0] and log == ["first"]
    assert [g.item() for g in nbgrad.grad([first, second], [second], retain_graph=True)] == [1.0] and log == ["first"]
    assert [g.item() for g in nbgrad.grad([first, second, x], [x], retain_graph=True)] == [5.0]


def test_a_part_of_a_freed_node():
    """A pass about one operand of a node that was freed says so; what it did not come to is not freed."""
    x, y = leaf(2.0), leaf(3.0)
    product, other = x * y, y.exp()
    total = product + other
    assert nbgrad.grad(total, [x])[0].item() == 3.0
    with pytest.raises(nbgrad.base.errors.GradError, match="second time"):
        nbgrad.grad(total, [x])
    assert nbgrad.grad(other, [y])[0].item() == pytest.approx(math.exp(3.0))


class ProductAndSum(nbgrad.Function):
    """Two results, so that edges lead to later outputs of a node."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


def random_graph(rng):
    """Tensors that require grad, leaves and others, made of one another in a random way."""
    values = [leaf([rng.uniform(-1, 1) for _ in range(3)]) for _ in range(rng.randint(1, 4))]
    steps = [
        lambda x, y: (x * y,),
        lambda x, y: (x.sin(),),
        lambda x, y: (x - 0.1 * y.exp(),),
        ProductAndSum.apply,
        lambda x, y: nbgrad.stack((x, y, x)).unbind(0),
        lambda x, y: (0.5 * nbgrad.cat((x, y))[:3],),
    ]
    for _ in range(rng.randint(3, 15)):
        values += rng.choice(steps)(rng.choice(values), rng.choice(values))
    nodes = [x.grad_fn for x in values if x.grad_fn is not None]
    if rng.random() < 0.2:
        rng.choice(nodes)._set_sequence_nr(rng.choice(nodes)._sequence_nr() + 1)
    return values


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_gradients_of_some_inputs_are_those_of_all(seed, create_graph):
    """What else is asked for never changes a gradient; in a graph that is asked about all its tensors every node runs whole."""
    rng = random.Random(seed)
    values = random_graph(rng)
    roots = rng.sample(values, min(len(values), rng.randint(1, 2)))
    seeds, options = [nbgrad.ones_like(root) for root in roots], {"retain_graph": True, "allow_unused": True}
    every = nbgrad.grad(roots, values, seeds, **options)
    for _ in range(3):
        chosen = rng.sample(range(len(values)), min(len(values), rng.randint(1, 3)))
        some = nbgrad.grad(roots, [values[k] for k in chosen], seeds, create_graph=create_graph, **options)
        for k, g in zip(chosen, some):
            assert (g is None) == (every[k] is None)
            assert g is None or g.tolist() == pytest.approx(every[k].tolist(), rel=1e-12)


def test_diamond_sums_before_it_runs():
    """In a tower of diamonds each node runs once, on the sum of its two consumers."""
    x, log = leaf(1.0), []
    y = x
    for level in range(8):
        y = logged(y * 1, level, log)
        y = y + y
    y.backward()
    assert log == list(range(7, -1, -1)) and x.grad.item() == 256.0


# ---- depth -----------------------------------------------------------------------------------------------------------
def test_deep_chain_is_walked_and_freed():
    """A chain of ``DEEP`` nodes is recorded, walked and destroyed without recursion."""
    x = leaf(1.0)
    y = x
    for _ in range(DEEP):
        y = y + 1
    y.backward()
    del y
    assert x.grad.item() == 1.0


def test_deep_chain_is_freed_unwalked():
    """A long chain that nobody walks dies without recursion, and without its saved tensors."""
    x = leaf(1.0)
    y = x
    for _ in range(DEEP):
        y = y * 1.0
    value = y.item()
    del y
    assert value == 1.0


def test_tower_of_diamonds_is_linear():
    """2^5000 paths through 5000 diamonds take one visit a node."""
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = (y + y) * 0.5
    y.backward()
    assert x.grad.item() == 1.0


def test_deep_chain_with_create_graph():
    """A deep pass that records itself gives a graph that can be walked and destroyed in turn."""
    x = leaf(1.0)
    y = x
    for _ in range(10_000):
        y = y * 1.0
    y = y * y
    (g,) = nbgrad.grad(y, x, create_graph=True)
    (second,) = nbgrad.grad(g, x)
    del g, y
    assert second.item() == 2.0


# ---- nested passes ---------------------------------------------------------------------------------------------------


def test_nested_two_thousand_deep():
    """Passes may be nested 2 000 deep without exhausting the stack; Python's recursion limit is then what it was."""
    x, limit = leaf(3.0), sys.getrecursionlimit()
    Nested.apply(x, 2000).backward()
    assert x.grad.item() == 1.0 and sys.getrecursionlimit() == limit


@pytest.mark.parametrize("chosen", [None, 5000])
def test_a_recursion_limit_that_is_set_within_a_nested_pass_stays(chosen):
    """What others have set meanwhile is theirs; else the old limit comes back, also behind an error."""
    limit = sys.getrecursionlimit()

    def inner(g):
        if chosen is None:
            raise ValueError
        sys.setrecursionlimit(chosen)
        return g

    def outer(g):
        with nbgrad.enable_grad():
            Returns.apply(leaf(1.0), inner).backward()
        return g

    try:
        if chosen is None:
            with pytest.raises(ValueError):
                Returns.apply(leaf(1.0), outer).backward()
        else:
            Returns.apply(leaf(1.0), outer).backward()
        assert sys.getrecursionlimit() == (chosen or limit)
    finally:
        sys.setrecursionlimit(limit)


def test_nested_pass_is_done_before_the_outer_goes_on():
    """A nested call returns with its gradients stored, before another node of the outer pass runs."""
    x, w, log = leaf(2.0), leaf(5.0), []
    older, newer = x * 3, x * 4

    def nest(g):
        with nbgrad.enable_grad():
            (w * w).backward()
        log.append(w.grad.item())

    older.register_hook(lambda g: log.append("older"))
    newer.register_hook(nest)
    (older + newer).backward()
    assert log == [10.0, "older"] and x.grad.item() == 7.0


def test_nested_pass_over_the_same_leaf():
    """Outer and nested passes both contribute to a leaf they share."""
    x = leaf(2.0)
    y = x * 3

    def nest(g):
        with nbgrad.enable_grad():
            (x * 10).backward()

    y.register_hook(nest)
    y.backward()
    assert x.grad.item() == 13.0


def test_nested_error_keeps_its_type():
    """An exception in a nested pass leaves the outer call as itself."""
    x = leaf(2.0)
    y = x * 3

    def nest(g):
        with nbgrad.enable_grad():
            Fail.apply(x).backward()

    y.register_hook(nest)
    with pytest.raises(ZeroDivisionError):
        y.backward()


def test_engine_works_after_a_nested_error():
    """After a failed nested pass the next pass is undisturbed."""
    x = leaf(2.0)
    y = x * 3

    def nest(g):
        with nbgrad.enable_grad():
            Fail.apply(x).backward()

    handle = y.register_hook(nest)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert x.grad.item() == 3.0


class CubeSlope(nbgrad.Function):
    """3 x^2, obtained by differentiating x^3 inside forward, and 6 x by differentiating 3 x^2 inside backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        with nbgrad.enable_grad():
            v = x.detach().requires_grad_()
            (slope,) = nbgrad.grad(v * v * v, v)
        return slope

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with nbgrad.enable_grad():
            v = x.detach().requires_grad_()
            (curvature,) = nbgrad.grad(3 * v * v, v)
        return g * curvature


def test_grad_inside_forward_and_backward_of_a_function():
    """``grad`` may be called in a Function's forward and backward without touching the pass around it."""
    x = leaf(2.0)
    y = CubeSlope.apply(x)
    (y * 5).backward()
    assert (y.item(), x.grad.item()) == (12.0, 60.0)


# ---- exceptions ------------------------------------------------------------------------------------------------------
def test_exception_from_a_hook_is_the_same_object():
    """What a hook raises reaches the caller as the same exception object."""
    error, y = KeyError("mine"), leaf(2.0) + 1

    def fail(g):
        raise error

    y.register_hook(fail)
    with pytest.raises(KeyError) as caught:
        y.backward()
    assert caught.value is error


def test_graph_is_usable_after_a_hook_failed():
    """Once the failing hook is removed, the same graph can be walked."""
    x = leaf(2.0)
    y = x + 1

    def fail(g):
        raise KeyError

    handle = y.register_hook(fail)
    with pytest.raises(KeyError):
        y.backward()
    handle.remove()
    y.backward()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_is_restored_after_an_exception(create_graph):
    """A pass that fails restores the caller's grad mode."""
    y = Fail.apply(leaf(2.0))
    with nbgrad.no_grad():
        with pytest.raises(ZeroDivisionError):
            nbgrad.backward(y, retain_graph=True, create_graph=False)
        assert not nbgrad.is_grad_enabled()
    with pytest.raises(ZeroDivisionError):
        nbgrad.grad(y, y.grad_fn.next_functions[0][0].variable, create_graph=create_graph)
    assert nbgrad.is_grad_enabled()


def test_exception_in_a_function_leaves_its_leaf_alone():
    """A leaf behind a failing backward receives nothing."""
    x = leaf(2.0)
    with pytest.raises(ZeroDivisionError):
        Fail.apply(x).backward()
    assert x.grad is None


def test_no_rollback_after_an_exception():
    """Leaves accumulated before the exception keep what they received."""
    x, w = leaf(2.0), leaf(3.0)
    a = Fail.apply(x)
    b = w * 2
    with pytest.raises(ZeroDivisionError):
        (a + b).backward()
    assert x.grad is None and w.grad.item() == 2.0


# ---- callbacks and ids -----------------------------------------------------------------------------------------------
def test_callbacks_run_after_all_nodes_in_order():
    """Queued callbacks see finished gradients, run in the order queued, and may queue further ones."""
    x, log = leaf(2.0), []
    y = x * 3

    def hook(g):
        nbgrad.queue_callback(lambda: log.append(x.grad.item()))
        nbgrad.queue_callback(lambda: nbgrad.queue_callback(lambda: log.append("third")))
        nbgrad.queue_callback(lambda: log.append("second"))

    y.register_hook(hook)
    y.backward()
    assert log == [3.0, "second", "third"]


def test_callback_runs_once():
    """A callback belongs to the pass in which it was queued and does not return in the next."""
    x, log = leaf(2.0), []
    y = x * 3
    handle = y.register_hook(lambda g: nbgrad.queue_callback(lambda: log.append("ran")))
    y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert log == ["ran"]


def test_callback_outside_of_a_pass():
    """There is nothing to queue a callback on outside of a pass."""
    with pytest.raises(RuntimeError):
        nbgrad.queue_callback(lambda: None)


def test_callback_of_a_nested_pass():
    """A callback queued by a nested pass runs at the end of that pass."""
    x, log = leaf(2.0), []

    def outer(g):
        with nbgrad.enable_grad():
            z = x * 5
        z.register_hook(lambda g: nbgrad.queue_callback(lambda: log.append("callback")))
        z.backward()
        log.append("after nested")

    y = x * 3
    y.register_hook(outer)
    y.backward()
    assert log == ["callback", "after nested"]


def test_exception_in_a_callback():
    """A callback's exception leaves ``backward``; the gradients are stored all the same."""
    x = leaf(2.0)
    y = x * 3

    def fail():
        raise LookupError

    y.register_hook(lambda g: nbgrad.queue_callback(fail))
    with pytest.raises(LookupError):
        y.backward()
    assert x.grad.item() == 3.0


def test_each_pass_has_its_own_id():
    """Passes, nested ones included, see distinct ids; outside of a pass the id is -1."""
    x, ids = leaf(2.0), []
    y, z = x + 1, x + 2
    z.register_hook(lambda g: ids.append(nbgrad.current_graph_task_id()))
    y.register_hook(lambda g: ids.append(nbgrad.current_graph_task_id()))
    y.register_hook(lambda g: z.backward())
    y.backward()
    y.backward()
    assert len(set(ids)) == 4 and -1 not in ids
    assert nbgrad.current_graph_task_id() == -1


def test_the_running_node_can_be_asked_for():
    """Hooks see the node for which they run; outside of a pass there is none."""
    y, seen = leaf(2.0) * 3, []
    y.register_hook(lambda g: seen.append(nbgrad.current_autograd_node()))
    y.backward()
    assert seen[0] is y.grad_fn
    assert nbgrad.current_autograd_node() is None


# ---- sums and gaps ---------------------------------------------------------------------------------------------------
def test_sum_of_gradients_leaves_the_summands_alone():
    """The engine adds up contributions without changing a tensor that a hook has kept."""
    x, kept = leaf([1.0, 2.0]), []
    h = x * 1
    branches = [h * 2, h * 3, h * 4]
    for t in branches:
        t.grad_fn.register_hook(lambda grad_inputs, grad_outputs: kept.append(grad_inputs[0]))
    (branches[0] + branches[1] + branches[2]).sum().backward()
    assert [g.tolist() for g in kept] == [[4.0, 4.0], [3.0, 3.0], [2.0, 2.0]]
    assert x.grad.tolist() == [9.0, 9.0]


def test_undefined_gradient_travels_on():
    """A node behind an undefined gradient still runs, sees None, and the leaf behind it stays without ``.grad``."""
    x, seen = leaf(2.0), []
    h = x * x
    h.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_outputs))
    Stop.apply(h).backward()
    assert seen == [(None,)] and x.grad is None


def test_undefined_gradient_beside_a_defined_one():
    """An undefined contribution adds nothing to a defined one."""
    x = leaf(3.0)
    h = x * x
    (Stop.apply(h) + h * 2).backward()
    assert x.grad.item() == 12.0


# ---- custom backwards in a pass --------------------------------------------------------------------------------------
def test_the_running_node_in_a_custom_backward_is_its_context():
    """``ctx`` of a Function is the node that the pass says it runs."""
    seen = []

    class Asks(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(nbgrad.current_autograd_node() is ctx)
            return g

    Asks.apply(leaf(2.0)).backward()
    assert seen == [True]


def test_exception_from_a_custom_backward_is_the_same_object():
    """What a backward raises reaches the caller as itself, and the next pass over another graph is right."""
    error, x = LookupError("mine"), leaf(2.0)

    class Raises(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise error

    with pytest.raises(LookupError) as caught:
        Raises.apply(x).backward()
    assert caught.value is error
    (x * 3).backward()
    assert x.grad.item() == 3.0


def test_what_a_custom_backward_computes_is_not_recorded():
    """Without ``create_graph`` recording inside of a backward has to be asked for."""
    seen, x = [], leaf(2.0)

    class Watches(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((x * 2).requires_grad)
            with nbgrad.enable_grad():
                seen.append((x * 2).requires_grad)
            return g

    Watches.apply(x).backward()
    assert seen == [False, True]

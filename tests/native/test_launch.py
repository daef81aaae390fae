"""The native functions: calls that they refuse, memory that runs out in the middle of one, what they hold meanwhile."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
import textwrap

import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.elementwise_plans import find_plan
from nbgrad.dispatch.movements import viewer
from nbgrad.kernels.late import Code
from nbgrad.native.plans import PARALLEL, LateRecord, Plan, complete, pack_record
from nbgrad.ops.core import OPS

native = sys.modules["nbgrad.tensor"].native  # `nbgrad.tensor` is the function
pytestmark = pytest.mark.skipif(not config.NATIVE, reason="NBGRAD_NATIVE=0")

UNBOUND = ("fresh", "into", "tensor", "alias", "number_node")


@pytest.mark.parametrize("name", UNBOUND)
def test_calls_without_arguments_are_refused(name):
    """A native function counts what it is given before it reads it."""
    with pytest.raises(TypeError, match="launch: .* number of arguments"):
        getattr(native, name)()


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_bound_calls_count_too(count):
    """The same of the functions that are made for one operation: of a node, and of a copied object."""
    backward = (nbgrad.ones(2, requires_grad=True) * nbgrad.ones(2)).grad_fn._backward_
    with pytest.raises(TypeError, match="number of arguments"):
        backward(*[None] * count)
    build = native.builder(nbgrad.graph.Node.__new__(nbgrad.graph.Node), ("_seq_", "_plan_", "_edges_"))
    with pytest.raises(TypeError, match="number of arguments"):
        build(*[None] * count)


@pytest.mark.parametrize(
    "call",
    [lambda: nbgrad.Tensor.__contains__(3, 1), lambda: native.alias("x"), lambda: native.number_node(nbgrad.ones(2))],
    ids=["contains", "alias", "number_node"],
)
def test_other_kinds_are_refused(call):
    """What programs can reach with an object of their own looks at its kind before it reads, or writes, its slots."""
    with pytest.raises(TypeError, match="launch: expected a (Tensor|Node)"):
        call()


@pytest.mark.parametrize(
    "use",
    [
        lambda x, y: x * y,
        lambda x, y: y * x,
        lambda x, y: x.exp(),
        lambda x, y: x.mul_(y),
        lambda x, y: y.mul_(x),
        lambda x, y: 2 * x,
        lambda x, y: x.detach(),
        lambda x, y: x[0],
        lambda x, y: native.alias(x),
        lambda x, y: y.lerp(x, 0.5),
        lambda x, y: y.lerp_(x, 0.5),
        lambda x, y: x.addcmul_(y, y),
        lambda x, y: x.zero_(),
    ],
    ids=[
        "first",
        "second",
        "unary",
        "written",
        "read by a write",
        "number",
        "detached",
        "view",
        "alias",
        "one of three",
        "read with a number",
        "written with two",
        "filled",
    ],
)
def test_a_tensor_that_was_never_made(use):
    """An object of the class without what makes it a tensor is an error of Python's."""
    with pytest.raises((AttributeError, TypeError)):
        use(object.__new__(nbgrad.Tensor), nbgrad.ones(3))


WITHOUT_MEMORY = """
    import gc, sys
    import _testcapi
    import nbgrad
    gc.disable()
    x, y = nbgrad.ones(3, requires_grad=True), nbgrad.ones(3)
    for _ in range(300):
        y.mul_(y)                                       # its version is no longer one of the integers that always exist

    def chain():
        h = x * y
        (h.sin() * h).sum().backward()
        x.grad = None

    calls = {
        "product": lambda: x * y, "number": lambda: x * 2.0, "view": lambda: x.unsqueeze(0),
        "view of a view": lambda: (x * 1).unsqueeze(0).unsqueeze(0),
        "in place": lambda: y.mul_(y), "backward": chain,
    }
    for name, call in calls.items():
        for _ in range(300):                            # the numbers of nodes too
            call()
        held = [sys.getrefcount(object) for object in (x, y, None)][:2]
        failed, refused = 0, 0
        while failed < refused + 20:
            result = None
            _testcapi.set_nomemory(failed, failed + 1)
            try:
                result = call()
            except MemoryError:
                refused = failed
            finally:
                _testcapi.remove_mem_hooks()
            failed += 1
        result = x.grad = None
        assert [sys.getrefcount(object) for object in (x, y)] == held, name
        assert refused > 1 or name == "in place" and sys.version_info >= (3, 14), name    # which keeps freed integers at hand
        call()
    print("sound")
"""


def test_memory_that_runs_out_anywhere():
    """Whichever allocation of a call fails, it raises ``MemoryError``, keeps no operand alive, and the next call works."""
    pytest.importorskip("_testcapi")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(WITHOUT_MEMORY)],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
    )
    assert done.returncode == 0 and done.stdout.strip() == "sound", done.stderr


class Freed:
    """What frees the graph of ``y`` when the collector finds it."""

    def __init__(self, y):
        self.y, self.cycle = y, self

    def __del__(self):
        self.y.sum().backward()


def test_saved_tensors_that_the_collector_frees_during_the_pass():
    """A collection in the middle of a node's turn may run another pass, which frees that very node."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            x = nbgrad.ones(3, requires_grad=True)
            y = (x * nbgrad.full((3,), 2.0)).exp() * nbgrad.full((3,), 3.0)
            Freed(y)
            try:
                y.sum().backward()
            except RuntimeError:
                pass  # the other pass was first
            assert x.grad is not None
    finally:
        gc.set_threshold(*thresholds)


def test_a_layout_that_changed_under_a_view():
    """A plan of another layout than the operand's is refused: another thread may have exchanged a tensor's data since."""
    x = nbgrad.ones(6)
    x.unsqueeze(0)
    plan = CALLS["unsqueeze"].plans[x.layout, 0]
    view = viewer(plan.op)
    assert view(plan, x, True).shape == (1, 6)
    with pytest.raises(RuntimeError, match="launch: an operand changed"):
        view(plan, nbgrad.ones(3), True)


def test_questions_about_a_tensor_that_was_never_made():
    """What properties ask of native code is an error of Python's, too."""
    x = object.__new__(nbgrad.Tensor)
    for ask in (lambda: x.requires_grad, lambda: nbgrad.graph.get_gradient_edge(x), lambda: x.retain_grad()):
        with pytest.raises(TypeError, match="expected a Tensor"):
            ask()


def test_a_batched_tensor_answers_for_its_value():
    """Its slots are empty: whether gradients flow is asked of the class."""
    seen = []

    def look(x):
        seen.append((x.requires_grad, (x * 2).requires_grad))
        return x * 2

    y = nbgrad.vmap(look)(nbgrad.ones(3, requires_grad=True))
    assert seen == [(True, True)] and y.requires_grad


AFTER_NUMBA = """
    import numba
    numba.njit(lambda x: x + 1)(1)          # Numba makes LLVM know the classes of errors by the names of C's pointers to them
    import nbgrad
    x = nbgrad.ones(2, requires_grad=True)
    backward = (x * x).grad_fn._backward_
    for call, error in ((backward, TypeError), (lambda: nbgrad.Tensor.__contains__(3, 1), TypeError)):
        try:
            call()
        except error:
            print("refused")
"""


def test_a_program_that_used_numba_before():
    """What Numba tells LLVM of the interpreter does not change what native code means by an error."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(AFTER_NUMBA)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.split() == ["refused"] * 2, done.stderr


def late_square(x, find, flags=0):
    """The plan of a square, whose kernel is found by ``find(address)``."""
    plan = find_plan(OPS["mul"], (x, x))
    address, units, grain, outs, _, _, shared_from, _, *codes = struct.unpack(f"{len(plan.record) // 8}q", complete(plan.record))
    code = Code(lambda: find(address))
    return Plan(pack_record(code, units, grain, outs, tuple(codes), flags, b"", shared_from), plan.outs, plan.layouts)


def test_a_kernel_is_found_at_the_first_launch():
    """The plan is made without it; later launches, and plans that copy the record, have it."""
    found, x = [], nbgrad.full((3,), 3.0, dtype=nbgrad.float64)
    plan = late_square(x, lambda address: found.append(address) or address)
    late = plan.record
    assert isinstance(late, LateRecord) and not found
    for each in (plan, plan, Plan(late, plan.outs, plan.layouts)):
        assert native.fresh(each, x, x).tolist() == [9.0, 9.0, 9.0]
        assert type(each.record) is bytes
    assert len(found) == 1


def test_threads_that_find_a_kernel_at_once_have_one_record():
    """Another thread's kernel reads its parameters in the record without the interpreter lock; a second one would free it."""
    x = nbgrad.full((3,), 3.0, dtype=nbgrad.float64)
    meanwhile = []

    def find(address):
        if not meanwhile:  # this thread is still looking when another one is done
            meanwhile.append(None)
            meanwhile[0] = late.complete()
        return address

    plan = late_square(x, find)
    late = plan.record
    assert native.fresh(plan, x, x).tolist() == [9.0, 9.0, 9.0]
    assert plan.record is meanwhile[0] is late.complete()


def test_a_launch_whose_kernel_is_not_found_can_be_repeated():
    """The error is that of whoever looks for it; the plan stays late."""
    answers = [KeyboardInterrupt, None]

    def find(address):
        if answers.pop(0):
            raise KeyboardInterrupt
        return address

    x = nbgrad.full((3,), 2.0, dtype=nbgrad.float64)
    plan = late_square(x, find)
    with pytest.raises(KeyboardInterrupt):
        native.fresh(plan, x, x)
    assert native.fresh(plan, x, x).tolist() == [4.0, 4.0, 4.0]


def test_what_is_written_to_changes_while_its_kernel_is_found():
    """Another thread may exchange it meanwhile: that is seen before a pointer is used."""
    out, x = nbgrad.zeros(3, dtype=nbgrad.float64), nbgrad.ones(3, dtype=nbgrad.float64)
    plan = late_square(x, lambda address: set_data(out, nbgrad.ones(50, dtype=nbgrad.float64)) or address)
    with pytest.raises(RuntimeError, match="changed its type or layout"):
        native.into(plan, out, x, x)


def test_memory_that_is_exchanged_while_a_kernel_is_found_is_written_to():
    """The tensor's own, as it is then."""
    out, x = nbgrad.zeros(3, dtype=nbgrad.float64), nbgrad.ones(3, dtype=nbgrad.float64)
    plan = late_square(x, lambda address: set_data(out, nbgrad.zeros(3, dtype=nbgrad.float64)) or address)
    native.into(plan, out, x, x)
    assert out.tolist() == [1.0, 1.0, 1.0]


def test_what_stands_in_a_late_record_is_completed():
    """With words behind it, with addresses among its parameters, with its flags."""
    given = {"units": 5, "grain": 3, "outs": 1, "codes": (0, 2), "flags": PARALLEL, "shared_from": 7}
    for make in (
        lambda address: pack_record(address, params=[4, address, 6], **given),
        lambda address: pack_record(address, params=struct.pack("q", 4), **given) + struct.pack("2q", 5, 6),
    ):
        late, whole = make(Code(lambda: 11)), make(11)
        assert (len(late), complete(late), complete(whole)) == (len(whole), whole, whole)


def set_data(x, other):
    """Another tensor's memory and layout in the place of a tensor's own."""
    x.data = other

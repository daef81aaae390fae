"""Nodes and edges as the user sees them, and the hooks around the saving of tensors."""

from __future__ import annotations

import gc
import math
import threading

import pytest

import nbgrad
from nbgrad import graph
from tests.functions import Double, Square
from tests.helpers import leaf


# ---- nodes -----------------------------------------------------------------------------------------------------------
def test_node_protocol():
    """A grad_fn is a Node with a name and one next function an input slot, None where no gradient goes."""
    x, c = leaf(2.0), nbgrad.tensor(3.0, dtype=nbgrad.float64)
    node = (x * c).grad_fn
    assert isinstance(node, graph.Node) and node.name() == "MulBackward0"
    assert [(after is None, number) for after, number in node.next_functions] == [(False, 0), (True, 0)]


@pytest.mark.parametrize(
    "f, name",
    [
        (lambda x: x + x, "AddBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.t(), "TBackward0"),
        (lambda x: x @ x, "MmBackward0"),
        (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[:, :1], "SliceBackward0"),
        (lambda x: x.view(4), "ViewBackward0"),
        (Double.apply, "DoubleBackward"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_node_names(f, name):
    """Nodes are named as the tools that read them expect."""
    assert f(leaf([[1.0, 2.0], [3.0, 4.0]])).grad_fn.name() == name


def test_metadata_is_one_dict():
    """What is put into a node's metadata is there at the next look."""
    y = leaf(2.0) * 3
    y.grad_fn.metadata["key"] = 1
    assert y.grad_fn.metadata["key"] == 1


def test_grad_fn_is_one_object():
    """``grad_fn`` is the same object at each reading, also seen through a consumer."""
    y = leaf(2.0) * 3
    z = y * 5
    assert y.grad_fn is y.grad_fn and z.grad_fn.next_functions[0][0] is y.grad_fn


@pytest.mark.parametrize(
    "make, is_leaf",
    [
        (lambda x, c: x, True),
        (lambda x, c: c, True),
        (lambda x, c: x * c, False),
        (lambda x, c: c * c, True),
        (lambda x, c: (x * c).detach(), True),
    ],
    ids=["parameter", "constant", "recorded", "unrecorded", "detached"],
)
def test_is_leaf(make, is_leaf):
    """A leaf is what no recorded op has made, and exactly the leaves have no grad_fn."""
    t = make(leaf(2.0), nbgrad.tensor(1.0, dtype=nbgrad.float64))
    assert t.is_leaf is is_leaf and (t.grad_fn is None) is is_leaf


def test_outputs_of_one_node_are_numbered():
    """The outputs of a split share one node and are numbered in order."""
    a, b, c = leaf([1.0, 2.0, 3.0]).split(1)
    assert a.grad_fn is b.grad_fn is c.grad_fn
    assert [t.output_nr for t in (a, b, c)] == [0, 1, 2]


def test_next_functions_carry_the_output_number():
    """An edge says which output of the next node it consumes."""
    a, _, c = leaf([1.0, 2.0, 3.0]).split(1)
    assert [number for _, number in (c * a).grad_fn.next_functions] == [2, 0]


def test_node_is_callable():
    """A node can be called with gradients and returns those of its inputs."""
    x = leaf([2.0])
    result = (x * x).grad_fn(nbgrad.ones(1, dtype=nbgrad.float64))
    assert [g.item() for g in result] == [2.0, 2.0]


def test_input_metadata():
    """A node describes the gradient it expects for each output."""
    (meta,) = (nbgrad.ones((2, 3), dtype=nbgrad.float64, requires_grad=True) * 2).grad_fn._input_metadata
    assert tuple(meta.shape) == (2, 3) and meta.dtype == nbgrad.float64


# ---- edges -----------------------------------------------------------------------------------------------------------
def test_edge_of_a_non_leaf():
    """The edge of a recorded tensor is its node and output number."""
    _, b = leaf([1.0, 2.0]).split(1)
    edge = graph.get_gradient_edge(b)
    assert edge.node is b.grad_fn and edge.output_nr == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_edge_of_a_leaf(enabled):
    """The edge of a leaf is its AccumulateGrad node, in any grad mode."""
    x = leaf(2.0)
    y = x * 3
    with nbgrad.set_grad_enabled(enabled):
        assert graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]


def test_edge_of_a_constant():
    """A tensor that does not require grad has no edge."""
    with pytest.raises(RuntimeError):
        graph.get_gradient_edge(nbgrad.tensor(1.0))


def test_edge_is_a_tuple_that_can_be_built():
    """An edge is a named tuple of node and number and may be made by hand."""
    a, b = leaf([1.0, 2.0]).split(1)
    edge = graph.GradientEdge(b.grad_fn, 1)
    assert isinstance(edge, tuple) and edge[0] is b.grad_fn and edge[1] == 1
    assert nbgrad.grad((a * 2 + b * 3).sum(), edge)[0].item() == 3.0


def test_edge_of_a_function_outlives_the_tensor():
    """An edge keeps the node of a custom Function usable after its output has died."""
    x = leaf([2.0])
    y = Double.apply(x)
    edge = graph.get_gradient_edge(y)
    del y
    gc.collect()
    assert nbgrad.grad(edge, x, nbgrad.ones(1, dtype=nbgrad.float64))[0].item() == 2.0


# ---- what a node saved -----------------------------------------------------------------------------------------------
def test_saved_values_are_readable():
    """Saved tensors and numbers are attributes of the node."""
    x = leaf([2.0, 3.0])
    node = x.pow(3).grad_fn
    assert node._saved_self is x and node._saved_exponent == 3


def test_reading_freed_tensors():
    """After a pass that freed them saved tensors cannot be read, numbers can."""
    y = leaf([2.0, 3.0]).pow(3)
    y.sum().backward()
    with pytest.raises(RuntimeError):
        y.grad_fn._saved_self
    assert y.grad_fn._saved_exponent == 3


def test_saved_input_is_the_same_object():
    """A saved input comes back as the tensor object that was used."""
    h = leaf([2.0, 3.0]) * 1
    assert h.sin().grad_fn._saved_self is h


def test_saved_output_is_a_new_object_on_the_same_node():
    """A saved output comes back as another object of the same memory and history."""
    y = leaf([2.0, 3.0]).exp()
    saved = y.grad_fn._saved_result
    assert saved is not y and saved.grad_fn is y.grad_fn and saved.data_ptr() == y.data_ptr()


def test_saved_leaf_stays_a_leaf():
    """A saved leaf comes back as itself in each slot, so that double backward reaches it."""
    x = leaf([2.0])
    node = (x * x).grad_fn
    assert node._saved_self is x and node._saved_other is x


# ---- saved-tensor hooks ----------------------------------------------------------------------------------------------
def test_pack_once_unpack_at_each_access():
    """``pack`` runs when the op is recorded, ``unpack`` each time backward reads the value."""
    x, log = leaf([2.0, 3.0]), []

    def pack(t):
        log.append("pack")
        return t.detach().tolist()

    def unpack(values):
        log.append("unpack")
        return nbgrad.tensor(values, dtype=nbgrad.float64)

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert log == ["pack", "unpack", "unpack"]
    assert x.grad.tolist() == pytest.approx([2 * math.cos(2), 2 * math.cos(3)], rel=1e-14)


def test_only_what_is_recorded_inside_is_packed():
    """Tensors saved before or after the context, and ops that save nothing, do not meet ``pack``."""
    x, log = leaf([2.0, 3.0]), []
    a = x.sin()
    with graph.saved_tensors_hooks(lambda t: log.append("pack") or t.detach(), lambda t: t):
        b = a + 1
    b.cos().sum().backward()
    assert log == []


def test_innermost_hooks_alone_apply():
    """In nested contexts only the innermost pair is used."""
    x, log = leaf([2.0]), []
    with graph.saved_tensors_hooks(lambda t: log.append("outer") or t.detach(), lambda t: t):
        with graph.saved_tensors_hooks(lambda t: log.append("inner") or t.detach(), lambda t: t):
            x.sin()
        x.sin()
    assert log == ["inner", "outer"]


def fail(*args):
    """A hook that raises."""
    raise NotADirectoryError


def test_exception_from_pack():
    """What ``pack`` raises leaves the forward op."""
    with graph.saved_tensors_hooks(fail, lambda t: t), pytest.raises(NotADirectoryError):
        leaf([2.0]).sin()


def test_exception_from_unpack():
    """What ``unpack`` raises leaves the pass."""
    with graph.saved_tensors_hooks(lambda t: t.detach(), fail):
        y = leaf([2.0]).sin()
    with pytest.raises(NotADirectoryError):
        y.sum().backward()


def test_hooks_are_left_after_an_exception():
    """A context left by an exception leaves its hooks."""
    log = []
    with pytest.raises(NotADirectoryError):
        with graph.saved_tensors_hooks(lambda t: log.append(t), lambda t: t):
            fail()
    leaf([2.0]).sin()
    assert log == []


def test_unpack_must_return_a_tensor():
    """Backward cannot use anything but a tensor."""
    with graph.saved_tensors_hooks(lambda t: 5, lambda v: v):
        y = leaf([2.0]).sin()
    with pytest.raises(TypeError):
        y.sum().backward()


def test_pack_may_not_write_to_its_argument():
    """A ``pack`` that changes the tensor in place is an error at once."""
    x, c = leaf([1.0, 1.0]), nbgrad.ones(2, dtype=nbgrad.float64)
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), pytest.raises(RuntimeError):
        x * c


def test_hooks_of_wrong_arity():
    """A hook that does not take one argument fails when it is called."""
    with graph.saved_tensors_hooks(lambda: 1, lambda v: v), pytest.raises(TypeError):
        leaf([2.0]).sin()


def test_hooks_apply_to_functions():
    """``save_for_backward`` and ``saved_tensors`` go through the hooks as well."""
    x = leaf([2.0, 3.0])
    with graph.saved_tensors_hooks(lambda t: t.detach() * 10, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [40.0, 60.0]


def test_double_backward_through_packed_inputs():
    """The history of a saved input is put back on the unpacked value."""
    x = leaf([2.0])
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = x**3
    (g,) = nbgrad.grad(y.sum(), x, create_graph=True)
    assert nbgrad.grad(g.sum(), x)[0].item() == 12.0


def test_packed_copy_is_out_of_reach_of_writes():
    """Where ``pack`` returned a copy, later in-place writes do no harm."""
    x = leaf([2.0])
    h = x * 1
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = h.sin()
    h.mul_(5)
    y.sum().backward()
    assert x.grad.item() == pytest.approx(math.cos(2), rel=1e-14)


def test_ops_inside_pack_are_not_packed():
    """``pack`` may compute without being called for its own ops."""
    log = []

    def pack(t):
        log.append("pack")
        return t.sin()

    with graph.saved_tensors_hooks(pack, lambda t: t):
        leaf([2.0]).cos()
    assert log == ["pack"]


def test_pack_sees_tensors_with_their_history():
    """A leaf is packed as a leaf, an intermediate with its grad_fn, a saved output on its own node."""
    x, seen = leaf([1.0]), []

    def pack(t):
        seen.append((t.is_leaf, t.grad_fn))
        return t.detach()

    with graph.saved_tensors_hooks(pack, lambda t: t):
        results = x.sin(), (h := x + 1).sin(), (e := x.exp())
    assert len(results) == 3
    assert seen == [(True, None), (False, h.grad_fn), (False, e.grad_fn)]


def test_hooks_are_local_to_the_thread():
    """Another thread's ops are not packed."""
    x, log = leaf([2.0]), []
    with graph.saved_tensors_hooks(lambda t: log.append("pack") or t.detach(), lambda t: t):
        thread = threading.Thread(target=x.sin)
        thread.start()
        thread.join()
    assert log == []


def test_hooks_on_one_saved_tensor():
    """Hooks may be set on a single saved tensor of a node; ``pack`` runs at once."""
    x, log = leaf([2.0, 3.0]), []
    y = x.sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda t: log.append("pack") or t.detach() * 2, lambda t: t / 2)
    assert log == ["pack"]
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([math.cos(2), math.cos(3)], rel=1e-14)


def test_hooks_on_one_saved_tensor_only_once():
    """A saved tensor takes one pair of hooks."""
    y = leaf([2.0]).sin()
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda t: t.detach(), lambda t: t)
    with pytest.raises(RuntimeError):
        raw.register_hooks(lambda t: t.detach(), lambda t: t)


def test_increment_version_marks_a_tensor_as_changed():
    """A graph that saved a tensor refuses to run after its version was bumped by hand."""
    x, c = leaf([2.0]), nbgrad.ones(1, dtype=nbgrad.float64)
    y = (x * c).sum()
    graph.increment_version(c)
    assert c._version == 1
    with pytest.raises(RuntimeError):
        y.backward()


def test_increment_version_takes_many():
    """An iterable of tensors is bumped one by one."""
    tensors = [nbgrad.ones(1), nbgrad.ones(2)]
    graph.increment_version(tensors)
    assert [t._version for t in tensors] == [1, 1]


# ---- more of nodes and hooks -----------------------------------------------------------------------------------------
def test_what_is_a_node():
    """Nodes of operations, of leaves and of Functions are Nodes; other things are not."""
    x = leaf([1.0])
    for node in ((x * 2).grad_fn, Double.apply(x).grad_fn, graph.get_gradient_edge(x).node):
        assert isinstance(node, graph.Node) and isinstance(node.name(), str) and isinstance(node.metadata, dict)
    assert not isinstance(x, graph.Node) and not issubclass(int, graph.Node)


def test_metadata_of_each_output():
    """A node with several outputs describes the gradient of each."""
    node = leaf([1.0, 2.0, 3.0]).split([1, 2])[0].grad_fn
    assert [(tuple(meta.shape), meta.dtype) for meta in node._input_metadata] == [((1,), nbgrad.float64), ((2,), nbgrad.float64)]


def test_unpack_of_wrong_arity():
    """An ``unpack`` that does not take one argument fails in the pass."""
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda: 1):
        y = leaf([2.0]).sin()
    with pytest.raises(TypeError):
        y.sum().backward()


def test_hooks_on_a_freed_saved_tensor():
    """There is nothing left that could be packed."""
    y = leaf([2.0]).sin()
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    with pytest.raises(RuntimeError):
        raw.register_hooks(lambda t: t.detach(), lambda t: t)


def refusal():
    """What entering a pair of hooks says, or None where it is allowed."""
    try:
        with graph.save_on_cpu():
            return None
    except RuntimeError as error:
        return str(error)


def test_blocks_that_disable_hooks_nest():
    """The innermost message counts, and each block's end brings back what was before it."""
    seen = []
    with graph.disable_saved_tensors_hooks("outer reason"):
        seen.append(refusal())
        with graph.disable_saved_tensors_hooks("inner reason"):
            seen.append(refusal())
        seen.append(refusal())
    seen.append(refusal())
    assert "outer" in seen[0] and "inner" in seen[1] and "outer" in seen[2] and seen[3] is None


def test_hooks_that_are_active_cannot_be_disabled():
    """The block is refused while hooks are active, and leaves both as they were."""
    with graph.save_on_cpu():
        with pytest.raises(RuntimeError), graph.disable_saved_tensors_hooks("too late"):
            pass
    assert refusal() is None


def test_what_a_node_shows_does_not_change():
    """``next_functions`` is a tuple of pairs, and ``metadata`` the same dict at each look."""
    x = leaf([1.0])
    for node in ((x * 2).grad_fn, Double.apply(x).grad_fn):
        assert type(node.next_functions) is tuple and all(type(pair) is tuple for pair in node.next_functions)
        assert node.metadata is node.metadata
        assert node.next_functions[0][0] is graph.get_gradient_edge(x).node


# ---- writes through views --------------------------------------------------------------------------------------------
VIEW_WRITES = {
    "with a constant": (lambda h: h[0].mul_(nbgrad.tensor([5.0, 7.0], dtype=nbgrad.float64)), [[5.0, 7.0], [1.0, 1.0]]),
    "operand saved": (lambda h: h[0].sin_(), [[math.cos(1), math.cos(2)], [1.0, 1.0]]),
    "result saved": (lambda h: h[0].exp_(), [[math.e, math.exp(2)], [1.0, 1.0]]),
    "view of a view": (lambda h: h.t()[1].pow_(2), [[1.0, 4.0], [1.0, 8.0]]),
    "mask": (lambda h: h[0].masked_fill_(nbgrad.tensor([False, True]), 3.0), [[1.0, 0.0], [1.0, 1.0]]),
}


@pytest.mark.parametrize("write, slope", VIEW_WRITES.values(), ids=VIEW_WRITES)
def test_what_a_write_through_a_view_saves_is_packed(write, slope):
    """Also a write that only the base's history knows of goes through ``pack`` and ``unpack``, each once a pass."""
    x, log = leaf([[1.0, 2.0], [3.0, 4.0]]), []
    h = x * 1
    with graph.saved_tensors_hooks(lambda t: log.append("pack") or t.detach().clone(), lambda t: log.append("unpack") or t):
        write(h)
    h.sum().backward()
    assert log == ["pack", "unpack"]
    for row, expected in zip(x.grad.tolist(), slope):
        assert row == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "write, second",
    [(lambda h: h[0].exp_(), math.exp(2)), (lambda h: h[0].pow_(3), 12.0), (lambda h: h[0].sin_(), -math.sin(2))],
    ids=["exp_", "pow_", "sin_"],
)
def test_double_backward_through_a_packed_write(write, second):
    """The history of what was packed is put back, of the overwritten value and of the result alike."""
    x = leaf([2.0, 5.0])
    h = x * 1
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        write(h)
    (g,) = nbgrad.grad(h.sum(), x, create_graph=True)
    assert nbgrad.grad(g.sum(), x)[0].tolist() == pytest.approx([second, 0.0], rel=1e-14)


def test_a_constant_that_a_write_through_a_view_saved_may_change():
    """Inside of ``allow_mutation_on_saved_tensors`` it is copied before it is written to."""
    x, c = leaf([1.0, 2.0]), nbgrad.tensor([5.0], dtype=nbgrad.float64)
    h = x * 1
    with graph.allow_mutation_on_saved_tensors():
        h[:1].mul_(c)
        c.zero_()
        h.sum().backward()
    assert x.grad.tolist() == [5.0, 1.0]

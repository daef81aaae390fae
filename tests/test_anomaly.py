"""Anomaly mode: places of nodes, the search for NaN, reports of failures, who wrote to a saved tensor, and the switch itself."""

from __future__ import annotations

import gc
import inspect
import threading
import traceback
import warnings
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad import anomaly
from nbgrad.base.errors import ArgumentError, GradError, VersionError
from tests.helpers import float32_leaf


@pytest.fixture
def watched():
    """The mode, on for one test."""
    with nbgrad.set_detect_anomaly(True):
        yield


def failure(run, kind=RuntimeError):
    """The error that ``run`` raises, and the texts of the warnings before it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(kind) as raised:
            run()
    return raised.value, [str(warning.message) for warning in caught]


def here(offset=0):
    """``line N, in f`` of the caller, as tracebacks write it; ``offset`` lines away."""
    frame = inspect.currentframe().f_back
    return f"line {frame.f_lineno + offset}, in {frame.f_code.co_name}"


def last_line(node):
    """The innermost line of a node's forward stack."""
    return node.metadata["traceback_"][-1]


class Poison(nbgrad.Function):
    """Identity of two arguments whose second gradient is NaN."""

    @staticmethod
    def forward(ctx, x, y):
        return x * 1, y * 1

    @staticmethod
    def backward(ctx, g, h):
        return g, h * float("nan")


class Broken(nbgrad.Function):
    """Identity whose backward raises."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise KeyError("broken")


# ---- places ----------------------------------------------------------------------------------------------------------

MAKERS = {
    "binary": lambda x: x * 2,
    "unary": lambda x: x.exp(),
    "three operands": lambda x: nbgrad.where(x > 0, x, x * x),
    "reduction": lambda x: x.sum(),
    "product": lambda x: x @ x,
    "view": lambda x: x.view(2, 1),
    "several views": lambda x: x.split(1)[1],
    "indexing": lambda x: x[nbgrad.tensor([0, 1])],
    "joining": lambda x: nbgrad.cat([x, x]),
    "function": lambda x: Poison.apply(x, x)[1],
    "in place": lambda x: x.clone().mul_(2),
    "write to a view": lambda x: written_view(x),
}


def written_view(x):
    """A base that was written to through a view."""
    y = x.clone()
    y[0].mul_(3)
    return y


@pytest.mark.parametrize("maker", MAKERS)
def test_every_kind_of_node_knows_its_place(watched, maker):
    """The forward stack is there for every way of recording, and says where the operation was called."""
    node = MAKERS[maker](float32_leaf()).grad_fn
    assert "test_anomaly.py" in last_line(node)
    assert here(-2) in "".join(node.metadata["traceback_"])


@pytest.mark.parametrize("maker", MAKERS)
def test_nodes_recorded_outside_have_no_place(maker):
    """Without the mode a node's metadata is empty."""
    assert MAKERS[maker](float32_leaf()).grad_fn.metadata == {}


def test_place_is_the_stack_of_the_call(watched):
    """It is what traceback.format_stack shows on that line."""
    x = float32_leaf()
    y, expected = x * 2, traceback.format_stack()
    assert y.grad_fn.metadata["traceback_"] == expected


def test_lines_of_a_loop_and_of_two_callers_differ(watched):
    """One line called from two places has two stacks, two lines of one function have two."""
    x = float32_leaf()

    def double():
        first = x * 2
        return first, x * 2

    a, b = double(), double()
    lines = [["".join(y.grad_fn.metadata["traceback_"]) for y in pair] for pair in (a, b)]
    assert lines[0][0] != lines[0][1]
    assert lines[0] == lines[1]  # one line of this test called it twice
    again = double()
    assert ["".join(y.grad_fn.metadata["traceback_"]) for y in again] != lines[0]


def test_place_of_a_generator_names_who_resumed_it(watched):
    """A generator's frame is the same in all its steps, its callers are not."""
    x = float32_leaf()

    def products():
        while True:
            yield x * 2

    steps = products()

    def resume():
        return next(steps)

    first, second = next(steps), resume()
    assert ", in resume" not in "".join(first.grad_fn.metadata["traceback_"])
    assert ", in resume" in "".join(second.grad_fn.metadata["traceback_"])


def test_place_at_the_bottom_of_a_deep_stack(watched):
    """A stack of more frames than are walked keeps the innermost ones; repeated ones are counted."""
    x = float32_leaf()

    def descend(depth):
        return descend(depth - 1) if depth else x * 2

    stack = descend(300).grad_fn.metadata["traceback_"]
    assert "in descend" in stack[0] and "more times" in stack[-1]


def test_native_walk_agrees_with_the_interpreter():
    """Where frames are known to native code, it sees the stack that sys._getframe sees."""
    assert anomaly.reads_frames() is isinstance(anomaly.watcher()[0], list)
    with nbgrad.set_detect_anomaly(True):
        place, expected = anomaly.native.place(), anomaly.Place(*anomaly.stack_of(inspect.currentframe()))
    assert list(place.frames()) == list(expected.frames())


def test_places_are_found_in_python_where_frames_are_unknown():
    """Without the native walk every place is made by Python, with the same text."""
    x = float32_leaf()
    _, *others = anomaly.watcher()
    with nbgrad.set_detect_anomaly(True):
        anomaly.note((None, *others))
        y = x * 2
    assert here(-1) in last_line(y.grad_fn)


def test_a_place_holds_nothing_alive(watched):
    """Tensors of a frame that recorded die with it."""
    x = float32_leaf()

    def record():
        local = nbgrad.ones(2)
        return x * local.sum(), weakref.ref(local)

    y, local = record()
    gc.collect()
    assert local() is None and "in record" in last_line(y.grad_fn)


def test_metadata_is_the_users_dict(watched):
    """The stack is an entry beside those of the user."""
    node = (float32_leaf() * 2).grad_fn
    node.metadata["mine"] = 1
    assert set(node.metadata) == {"mine", "traceback_"}


def test_a_node_recorded_in_a_pass_knows_its_parent(watched):
    """The parent is the node that the pass was running; outside of passes there is none."""
    x = float32_leaf()
    y = x.exp()
    (g,) = nbgrad.grad(y.sum(), x, create_graph=True)
    assert g.grad_fn.metadata["parent_"] is y.grad_fn
    assert "parent_" not in y.grad_fn.metadata
    assert "parent_" not in (g * 2).grad_fn.metadata


def test_parents_of_threads_do_not_mix(watched):
    """A node recorded in one thread while another runs a pass has no parent."""
    x, found = float32_leaf(), []

    def elsewhere():
        found.append((float32_leaf() * 2).grad_fn.metadata)

    y = x * 2
    y.register_hook(lambda g: (thread := threading.Thread(target=elsewhere)).start() or thread.join())
    y.sum().backward()
    assert set(found[0]) == {"traceback_"}


# ---- NaN -------------------------------------------------------------------------------------------------------------


def test_nan_is_an_error_that_names_node_and_output(watched):
    """The first node that returns NaN is named, with the position of its operand."""
    x = float32_leaf()
    a, b = Poison.apply(x, x)
    error, texts = failure((a + b).sum().backward, GradError)
    assert "Function 'PoisonBackward' returned nan values in its 1th output" in str(error)
    assert len(texts) == 1 and "Error detected in PoisonBackward" in texts[0] and here(-3) in texts[0]


def test_outputs_are_counted_by_operands(watched):
    """A product of a constant and a leaf has one gradient, in place 1."""
    x = float32_leaf()
    error, _ = failure((nbgrad.tensor([float("nan"), 1.0]) * x).sum().backward)
    assert "MulBackward0" in str(error) and "1th output" in str(error)


def test_infinity_is_no_error(watched):
    """Only NaN is looked for."""
    x = float32_leaf()
    (x * 2).backward(nbgrad.tensor([float("inf"), -float("inf")]))
    assert np.isinf(x.grad.numpy()).all()


@pytest.mark.parametrize("check_nan", [True, False])
def test_nan_passes_without_the_mode_or_the_check(check_nan):
    """The same program runs where nothing looks."""
    x = float32_leaf()
    with nbgrad.set_detect_anomaly(not check_nan, check_nan):
        (x * float("nan")).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_a_leaf_that_gets_nan_is_no_error(watched):
    """Accumulation returns nothing."""
    x = float32_leaf()
    x.backward(nbgrad.tensor([float("nan"), 1.0]))
    assert np.isnan(x.grad.numpy()).tolist() == [True, False]


@pytest.mark.parametrize("hook", ["tensor", "node"])
def test_nan_from_a_hook_is_found(watched, hook):
    """What hooks make of gradients is looked at where the node returns it."""
    x = float32_leaf()
    y = x * 2
    if hook == "tensor":
        y.register_hook(lambda g: g * float("nan"))
    else:
        y.grad_fn.register_hook(lambda grads, _: tuple(None if g is None else g * float("nan") for g in grads))
    error, _ = failure((y * 3).sum().backward)
    assert "MulBackward0" in str(error)


def test_nan_in_a_captured_gradient_is_found(watched):
    """``grad`` is watched like ``backward``."""
    x = float32_leaf()
    y = x * float("nan")
    error, _ = failure(lambda: nbgrad.grad(y.sum(), x))
    assert "MulBackward0" in str(error)


def test_what_a_captured_pass_does_not_run_is_not_searched(watched):
    """A branch that leads to no input stays unrun."""
    x, z = float32_leaf(), float32_leaf()
    y = (x * 2 + z * float("nan")).sum()
    assert nbgrad.grad(y, x)[0].tolist() == [2.0, 2.0]


LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.transpose(0, 1),
    "expanded": lambda a: a[:1, :1].expand(5, 7),
    "expanded in one dimension": lambda a: a[:, :1].expand(9, 31),
    "strided": lambda a: a[::2, ::3],
    "offset": lambda a: a[3:, 2:],
    "scalar": lambda a: a[4, 5],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_search_finds_exactly_the_nan_that_numpy_finds(dtype, layout):
    """Wherever one NaN lies in the memory, the answer is NumPy's for the view's elements."""
    find = anomaly.nan_finder()
    for position in [(0, 0), (4, 5), (8, 30), (3, 2), (6, 6), (8, 0)]:
        values = np.arange(279.0).reshape(9, 31)
        values[position] = np.nan
        view = LAYOUTS[layout](nbgrad.tensor(values).to(getattr(nbgrad, dtype)))
        expected = bool(np.isnan(view.to(nbgrad.complex128).numpy()).any())
        assert [find(view) is not None, find(view) is not None] == [expected] * 2  # the second time natively


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 31])
def test_search_sees_every_element(count):
    """The vector part and the rest of a row, element by element."""
    find = anomaly.nan_finder()
    for position in range(count):
        values = np.zeros(count, np.float32)
        values[position] = np.nan
        assert find((None, nbgrad.tensor(values))) == 1
    assert find([nbgrad.zeros(count), None, nbgrad.ones(count, dtype=nbgrad.int64)]) is None
    assert find(None) is None


def test_search_looks_into_a_whole_batch(watched):
    """A NaN in one element of a batch that vmap hides is found."""
    x = float32_leaf()

    def pull(g):
        return nbgrad.grad(x * 2, x, g)[0]

    seeds = nbgrad.tensor([[1.0, 2.0], [3.0, float("nan")]])
    error, _ = failure(lambda: nbgrad.vmap(pull)(seeds))
    assert "MulBackward0" in str(error)


# ---- reports ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_reported_and_raised_as_it_is(watched):
    """Any error of a node is raised unchanged, after a warning with its forward stack."""
    x = float32_leaf()
    y = Broken.apply(x)
    error, texts = failure(y.sum().backward, KeyError)
    assert error.args == ("broken",)
    assert len(texts) == 1 and "BrokenBackward" in texts[0] and here(-3) in texts[0]


def test_a_failing_hook_is_reported_with_its_node(watched):
    """Hooks belong to the node that they are called for."""
    x = float32_leaf()
    y = x.exp()
    y.register_hook(lambda g: 1 / 0)
    _, texts = failure(y.sum().backward, ZeroDivisionError)
    assert "ExpBackward0" in texts[0] and here(-3) in texts[0]


def test_a_failing_leaf_is_reported(watched):
    """A leaf has no forward operation."""
    x = float32_leaf()
    x.register_post_accumulate_grad_hook(lambda p: 1 / 0)
    _, texts = failure((x * 2).sum().backward, ZeroDivisionError)
    assert "Error detected in AccumulateGrad" in texts[0]


def test_a_node_from_outside_is_reported_without_a_stack():
    """The report says what is missing."""
    x = float32_leaf()
    y = Broken.apply(x).sum()
    with nbgrad.set_detect_anomaly(True):
        _, texts = failure(y.backward, KeyError)
    assert len(texts) == 1 and "No forward pass information" in texts[0] and "detect_anomaly" in texts[0]


def test_a_failing_double_backward_reports_parents(watched):
    """First the node, then the one whose backward recorded it."""

    class Outer(nbgrad.Function):
        """A square, its gradient by ``Broken``."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return Broken.apply(2 * ctx.saved_tensors[0] * g)

    x = float32_leaf()
    y = Outer.apply(x)
    (g,) = nbgrad.grad(y.sum(), x, create_graph=True)
    _, texts = failure(g.sum().backward, KeyError)
    assert "Error detected in BrokenBackward" in texts[0]
    assert "induced by OuterBackward" in texts[1] and here(-4) in texts[1]


def test_a_nested_pass_reports_both_nodes(watched):
    """The inner pass reports its node, the outer one the node that started it."""

    class Nested(nbgrad.Function):
        """Runs another pass in backward."""

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with nbgrad.enable_grad():
                Broken.apply(float32_leaf()).sum().backward()

    _, texts = failure(Nested.apply(float32_leaf()).sum().backward, KeyError)
    names = [text.split(".")[0].split()[-1] for text in texts]
    assert names == ["BrokenBackward", "NestedBackward", "NestedBackward"]


def test_warnings_point_at_the_users_line(watched):
    """The warning is attributed to the call of backward, not to the engine."""
    y = Broken.apply(float32_leaf()).sum()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyError):
            y.backward()
    assert caught[0].filename == __file__


def test_where_warnings_are_errors_the_first_error_stays(watched):
    """The report is then a note on the error that it is about."""
    y = Broken.apply(float32_leaf()).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError) as raised:
            y.backward()
    assert "BrokenBackward" in raised.value.__notes__[0]


def test_the_engine_is_sound_after_a_failure(watched):
    """The next pass runs, and recording is as it was."""
    x = float32_leaf()
    failure(Broken.apply(x).sum().backward, KeyError)
    assert nbgrad.is_grad_enabled() and nbgrad.current_autograd_node() is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# ---- writes ----------------------------------------------------------------------------------------------------------


def test_a_version_error_names_the_line_that_wrote(watched):
    """Of several writes after the saving, the first; writes before it do not count."""
    x = float32_leaf()
    y = x * 1
    y.mul_(2)
    z = y.exp()
    z.add_(1)
    line = here(-1)
    z.add_(2)
    error, texts = failure(z.sum().backward, VersionError)
    number, function = line.removeprefix("line ").split(", in ")
    assert f"test_anomaly.py:{number} in {function}" in str(error)
    assert "ExpBackward0" in texts[0]


WRITERS = {
    "in place": lambda x: x.add_(1),
    "through a view": lambda x: x[0].add_(1),
    "copy_": lambda x: x.copy_(nbgrad.ones(2)),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "subscript": lambda x: x.__setitem__(0, 5.0),
    "index_add_": lambda x: x.index_add_(0, nbgrad.tensor([0]), nbgrad.ones(1)),
    "out=": lambda x: nbgrad.add(x, 1, out=x),
    "random": lambda x: x.normal_(),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_write_is_found(watched, writer):
    """Whatever writes to the saved tensor is named by its line."""
    x = float32_leaf()
    y = nbgrad.tensor([1.0, 2.0])
    z = (x * y).sum()
    WRITERS[writer](y)
    error, _ = failure(z.backward, VersionError)
    assert "it was written to at" in str(error) and "test_anomaly.py" in str(error)


def test_a_version_error_without_the_mode_says_how_to_find_the_line():
    """The hint names the mode."""
    x = float32_leaf()
    y = x.exp()
    y.add_(1)
    with pytest.raises(VersionError, match="detect_anomaly"):
        y.sum().backward()


# ---- the switch ------------------------------------------------------------------------------------------------------


def test_detect_anomaly_warns_and_set_detect_anomaly_does_not():
    """Entering the first says that it costs time."""
    with pytest.warns(UserWarning, match="anomaly mode is on"), nbgrad.detect_anomaly(check_nan=False):
        assert nbgrad.is_anomaly_enabled() and not nbgrad.is_anomaly_check_nan_enabled()
    assert not nbgrad.is_anomaly_enabled() and nbgrad.is_anomaly_check_nan_enabled()


def test_set_detect_anomaly_acts_at_the_call_and_restores():
    """Both flags come back, also from nested blocks."""
    with nbgrad.set_detect_anomaly(True):
        with nbgrad.set_detect_anomaly(True, check_nan=False):
            assert not nbgrad.is_anomaly_check_nan_enabled()
        assert nbgrad.is_anomaly_check_nan_enabled()
        nbgrad.set_detect_anomaly(False)
        assert not nbgrad.is_anomaly_enabled()
    assert not nbgrad.is_anomaly_enabled()


@pytest.mark.parametrize("arguments", [(1,), ("yes",), (None,), (True, 1)])
def test_flags_must_be_bools(arguments):
    """Anything else is refused, and changes nothing."""
    with pytest.raises(ArgumentError, match="must be a bool"):
        nbgrad.set_detect_anomaly(*arguments)
    assert not nbgrad.is_anomaly_enabled() and nbgrad.is_anomaly_check_nan_enabled()


def test_the_mode_is_one_for_all_threads(watched):
    """Another thread sees it, records places and searches for NaN."""
    found = []

    def other():
        y = float32_leaf() * float("nan")
        error, texts = failure(y.sum().backward)
        found.extend([nbgrad.is_anomaly_enabled(), "traceback_" in y.grad_fn.metadata, "MulBackward0" in str(error)])

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [True, True, True]


def test_results_are_the_same_with_the_mode(watched):
    """Values, gradients and freeing of the graph do not depend on it."""

    def run():
        x, w = float32_leaf(np.arange(6.0).reshape(2, 3)), float32_leaf(np.ones((3, 2)))
        y = (x @ w).tanh().sum() + (x * x).mean()
        y.backward()
        return y, x.grad.tolist(), w.grad.tolist()

    y, *inside = run()
    with pytest.raises(RuntimeError, match="second time"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward()
    with nbgrad.set_detect_anomaly(False):
        assert run()[1:] == tuple(inside)


def test_calls_keep_their_native_path(watched):
    """The mode is none of the special ones that send every call through the interpreters."""
    from nbgrad.base.grad_mode import special

    assert special == []


# ---- errors at length ------------------------------------------------------------------------------------------------


def test_explain_tells_node_place_versions_and_writer(watched):
    """All that is known of a version error, in one text."""
    x = float32_leaf()
    y = x.exp()
    y.add_(1)
    error, _ = failure(y.sum().backward, VersionError)
    text = nbgrad.debug.explain(error)
    assert "Node ExpBackward0, recorded at:" in text and here(-4) in text
    assert "Saved 'out': float32 [2], version 1, expected 0" in text and "version 1 was written at" in text


def test_explain_without_the_mode_says_what_is_missing():
    """Node and versions are known anyway."""
    x = float32_leaf()
    y = x.exp()
    y.add_(1)
    with pytest.raises(VersionError) as raised:
        y.sum().backward()
    text = nbgrad.debug.explain(raised.value)
    assert "ExpBackward0" in text and "not known" in text and "version 1, expected 0" in text


def test_explain_of_an_error_without_a_node():
    """An error that is about no node is its own text."""
    with pytest.raises(RuntimeError) as raised:
        nbgrad.ones(2) @ nbgrad.ones(3)
    assert nbgrad.debug.explain(raised.value).startswith(type(raised.value).__name__)


# ---- places without the search ---------------------------------------------------------------------------------------


def test_places_are_kept_where_nan_is_not_looked_for():
    """With ``check_nan=False`` nodes still know their place, and other failures are still reported."""
    with nbgrad.set_detect_anomaly(True, check_nan=False):
        y = Broken.apply(float32_leaf())
        assert "traceback_" in y.grad_fn.metadata
        _, texts = failure(y.sum().backward, KeyError)
    assert "BrokenBackward" in texts[0] and here(-3) in texts[0]


def test_nan_of_the_forward_pass_is_blamed_on_the_node_that_passes_it_on(watched):
    """sqrt(-1) is NaN already forward; its node is the first whose gradient is."""
    x = float32_leaf((-1.0, 1.0))
    error, _ = failure(((x * 2).sqrt() * 3).sum().backward)
    assert "SqrtBackward0" in str(error) and "0th output" in str(error)


def test_nan_in_the_seed_is_blamed_on_the_root(watched):
    """The first node that hands a NaN on is the root's."""
    y = float32_leaf() * 2 + 1
    error, _ = failure(lambda: y.backward(nbgrad.tensor([float("nan"), 1.0])))
    assert "AddBackward0" in str(error)

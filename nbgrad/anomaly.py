"""Anomaly mode: it finds where a failing node was recorded, what wrote to a saved tensor, and which node made the first NaN.

While the mode is on, in the whole process,
  - every new node keeps its ``Place``, the stack at its recording (NOTE [Places] in native/node_lines.py); a node that is recorded
    while a pass runs another node keeps that one, too, as its parent;
  - in-place writes are noted by storage, so that a version error can name the line that wrote;
  - the engine walks with ``watched_walk``: what nodes return is searched for NaN, and a failure is reported with the node's place.

Calls do not become special for it: they keep their native path, which notes a place
(benchmarks/test_anomaly.py). Places are codes and instructions; they become text, read from the source files,
when somebody asks.
"""

from __future__ import annotations

import linecache
import os
import struct
import sys
import traceback
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Callable, Iterator

import numpy as np

from . import engine
from .autograd.device_nans import DeviceSearch
from .base.bounded import keep
from .base.errors import ArgumentError, GradError
from .base.locks import new_lock
from .base.user_stack import warn_user
from .engine import run_as_walk_does
from .graph.edges import Node
from .graph.noting import note
from .graph.rule import name_of
from .graph.task import GraphTask, state
from .graph.writes import remember_writer, writes
from .kernels.cpu.build import Program, address
from .kernels.templates.nan import nan_loop
from .native.node_lines import FRAMES, MOST_FRAMES, PLACES
from .native.plans import pack_record
from .tensors.batch_levels import BATCHED, whole
from .tensors.choices import opened
from .tensors.layout import Layout, sparse_marks
from .tensors.tensor import Tensor, is_sparse, native, values_if_sparse

__all__ = [
    "detect_anomaly",
    "set_detect_anomaly",
    "set_anomaly_enabled",
    "is_anomaly_enabled",
    "is_anomaly_check_nan_enabled",
    "explain",
    "Place",
]

PACKAGE = str(Path(__file__).parent) + os.sep
# Files of nbgrad that are a user's program as much as ours: their lines are shown.
SHOWN = tuple(PACKAGE + name + os.sep for name in ("nn", "optim"))
CODE_START = CodeType.__basicsize__  # a code object's instructions follow its fields


# ---- places --------------------------------------------------------------------------------------------------------


class Place:
    """A stack, as codes and byte offsets into them, innermost first.

    Attributes:
        codes: the frames' code objects.
        offsets: where in its code each frame was.
    """

    __slots__ = ("codes", "offsets")

    def __init__(self, codes: tuple[CodeType, ...], offsets: tuple[int, ...]):
        self.codes, self.offsets = codes, offsets

    def frames(self) -> Iterator[tuple[CodeType, int]]:
        """Code and line of every frame, innermost first, from the user's line on: nbgrad's own beneath it are left out."""
        pairs = list(zip(self.codes, self.offsets))
        first = next((k for k, (code, _) in enumerate(pairs) if not is_ours(code.co_filename)), 0)
        for code, offset in pairs[first:]:
            yield code, line_of(code, offset)

    def stack(self) -> list[str]:
        """The stack as ``traceback.format_stack`` shows one: outermost first, a string a frame."""
        summaries = []
        for code, line in self.frames():
            linecache.checkcache(code.co_filename)
            summaries.append(traceback.FrameSummary(code.co_filename, line, code.co_name, lookup_line=True))
        return traceback.format_list(summaries[::-1])

    def line(self) -> str:
        """The user's line: ``file:line in function``."""
        code, line = next(self.frames())
        return f"{code.co_filename}:{line} in {code.co_name}"

    def metadata(self) -> dict[str, Any]:
        """What ``node.metadata`` shows of it."""
        return {"traceback_": self.stack()}


class InducedPlace:
    """A place in a backward pass, with the node that the pass ran."""

    __slots__ = ("place", "parent")

    def __init__(self, place: Place, parent: Node):
        self.place, self.parent = place, parent

    def line(self) -> str:
        """The user's line."""
        return self.place.line()

    def metadata(self) -> dict[str, Any]:
        """What ``node.metadata`` shows of it."""
        return {**self.place.metadata(), "parent_": self.parent}


def is_ours(filename: str) -> bool:
    """Whether a frame's file is part of nbgrad, and no layer or optimizer; or text that nbgrad generated."""
    return filename.startswith("<nbgrad ") or (filename.startswith(PACKAGE) and not filename.startswith(SHOWN))


def line_of(code: CodeType, offset: int) -> int:
    """The line of the instruction at a byte offset."""
    position = next(islice(code.co_positions(), offset // 2, None), (None,))
    return position[0] or code.co_firstlineno


def stack_of(frame: FrameType | None) -> tuple[tuple[CodeType, ...], tuple[int, ...]]:
    """Codes and offsets of a frame and its callers, as many as native code walks."""
    codes: list[CodeType] = []
    offsets: list[int] = []
    while frame is not None and len(codes) < MOST_FRAMES:
        codes.append(frame.f_code)
        offsets.append(frame.f_lasti)
        frame = frame.f_back
    return tuple(codes), tuple(offsets)


_table: list[tuple[bytes, Place] | None] = [None] * PLACES
_running: list[None] = []  # as many as passes are being watched, in all threads


def capture_place(walk: bytes | None, index: int | None) -> Place:
    """The place of the caller, put into the table if it has a walk. The place keeps its codes, so their addresses stay its own."""
    place = Place(*stack_of(sys._getframe(1)))
    if walk is not None and index is not None:
        _table[index] = walk, place
    return place


def induced(place: Place) -> Place | InducedPlace:
    """The place with its cause, if this thread is running a pass."""
    node = state.node
    return InducedPlace(place, node) if isinstance(node, Node) else place


def agrees(walk: bytes | None, frame: FrameType) -> bool:
    """Whether native code walked over ``frame`` and its callers: the addresses of their instructions, in order.

    Python 3.12 and later mark where C called Python by frames of their own, which nobody else is shown.
    """
    walked = iter(struct.unpack(f"{len(walk or b'') // 8}Q", walk or b""))
    expected = [id(code) + CODE_START + offset for code, offset in zip(*stack_of(frame))]
    return sum(address in walked for address in expected[: MOST_FRAMES // 2]) == len(expected[: MOST_FRAMES // 2])


@cache
def reads_frames() -> bool:
    """Whether native code understands this interpreter's frames: tried once, on the stack that it is called from."""
    answers = []
    if sys.version_info[:2] in FRAMES:

        def compare(walk, index):
            answers.append(agrees(walk, sys._getframe(1)))

        note(([None] * PLACES, compare, [], induced, remember_writer))
        try:
            native.place()
        finally:
            note(None)
    return answers == [True]


@cache
def watcher() -> tuple:
    """The tuple by which native code notes places: see ``Watcher`` in native/node_lines.py."""
    return _table if reads_frames() else None, capture_place, _running, induced, remember_writer


# ---- NaN -----------------------------------------------------------------------------------------------------------

# By layout the launch that searches its memory; else False where no NaN can be, True where ``has_nan`` is asked.
_searches: dict[Layout, bytes | bool] = {}
NUMBERS = {"float32": ("float32", 1), "complex64": ("float32", 2), "float64": ("float64", 1), "complex128": ("float64", 2)}


def search_of(layout: Layout) -> bytes | bool:
    """What native code must know to search memory of a layout: see ``NanFinder`` of native/nans.py.

    Elements that lie side by side are searched in any order, and an element that is expanded is searched once.
    """
    if layout.special is BATCHED or layout.special in sparse_marks:
        return True
    if not layout.dtype.differentiable or not layout.numel or layout.memory is not None:  # of a GPU: DeviceSearch
        return False
    if layout.dtype.name not in NUMBERS:
        return True
    sizes = [(stride, size) for size, stride in zip(layout.shape, layout.strides) if stride and size > 1]
    reach = 1
    for stride, size in sorted(sizes):
        if stride != reach:
            return True
        reach *= size
    dtype, numbers = NUMBERS[layout.dtype.name]
    return pack_record(nan_kernel(dtype), reach * numbers, 1, 1, (0,), 0)


@cache
def nan_kernel(dtype: str) -> int:
    """Address of the search."""
    return address(Program("nan", nan_loop(dtype), None))


def has_nan(x: Tensor) -> bool:
    """Whether a tensor holds a NaN, where its layout is new to the native search or none for it."""
    layout = x.layout
    if layout not in _searches:
        keep(_searches, layout, search_of(layout))
    if is_sparse(x):
        return has_nan(values_if_sparse(x))
    if layout.memory is not None or not layout.dtype.differentiable or not layout.numel:
        return False
    return bool(np.isnan(elements(whole(x))).any())


def elements(x: Tensor) -> np.ndarray:
    """A tensor's memory as it lies, whatever its bits and marks say."""
    layout, size = x.layout, x.layout.dtype.itemsize
    strides = tuple(stride * size for stride in layout.strides)
    return np.ndarray(layout.shape, layout.descr, x._storage_.array.view(np.uint8), x._offset_, strides)


@cache
def nan_finder() -> Callable:
    """``first_nan(results)``, natively."""
    return native.nan_finder(_searches, has_nan)


@cache
def nan_finder_on_gpus() -> Callable:
    """The same where GPUs are in use."""
    on_cpu = nan_finder()

    def first_nan(results: Any) -> int | None:
        DeviceSearch.innermost().look(results)
        position: int | None = on_cpu(results)
        return position

    return first_nan


def first_nan() -> Callable:
    """What is asked about the results of every node."""
    return nan_finder_on_gpus() if opened else nan_finder()


# ---- the watched pass ----------------------------------------------------------------------------------------------


def watched_walk(task: GraphTask, seeds: list, create_graph: bool, current: dict[str, Any]) -> None:
    """``engine.walk`` with an eye on every node.

    Raises:
        GradError: a node returned NaN. Whatever a node or hook raises, after its forward stack was reported.
    """
    _running.append(None)
    search = DeviceSearch.begin()
    try:
        internal = task.captures is not None and task.captures.internal
        if _mode.check_nan and not internal:
            checks = first_nan(), refuse_nan
            engine.walks[0](task, seeds, create_graph, current, watched_run, checks)
            search.finish(refuse_nan)
        else:
            engine.walks[0](task, seeds, create_graph, current)
    except Exception as error:
        report(failed_node(error), error)
        raise
    finally:
        _running.pop()
        search.end()


def watched_run(node: Node, g, create_graph: bool, task: GraphTask):
    """The function that runs the nodes of a watched pass that are not plain: it does as the engine does, then looks for NaN."""
    g = run_as_walk_does(node, g, create_graph, task)
    position = first_nan()(g)
    if position is not None:
        refuse_nan(node, position)
    return g


def refuse_nan(node: Node, position: int) -> None:
    """Raise the error of a node that returned NaN; results are counted by the node's operands."""
    places = node._rule_.places(node)
    number = position if places is None else places[1][position]
    raise GradError(
        f"Function '{name_of(node)}' returned nan values in its {number}th output.\n"
        "Hint: the warning shows the line that recorded it; 0 * inf, inf - inf and sqrt at 0 are usual causes."
    )


def failed_node(error: BaseException) -> Any:
    """The node, or leaf, that a pass of this thread had come to when the error was raised."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is engine.settle.__code__:
            return step.tb_frame.f_locals["leaf"]
        step = step.tb_next
    return state.node


def report(node: Any, error: BaseException) -> None:
    """Warn where the failed node was recorded, and the nodes that induced it; where warnings are errors, a note on the error."""
    for text in reports(node):
        try:
            warn_user(text)
        except UserWarning:
            error.add_note(text)


def reports(node: Any) -> Iterator[str]:
    """The reports on a failed node: on itself, on the node that ran when it was recorded, and so on."""
    what, caused = "Error detected in", "caused the error"
    while node is not None:
        name, facts = (name_of(node), node.metadata) if isinstance(node, Node) else ("AccumulateGrad", {})
        lines = facts.get("traceback_")
        if lines is None:
            yield (
                f"{what} {name}. No forward pass information available: it was recorded outside of anomaly mode. "
                "Hint: record it under detect_anomaly()."
            )
        else:
            yield f"{what} {name}. Traceback of forward call that {caused}:\n{''.join(lines)}"
        node = facts.get("parent_")
        what, caused = "Previous calculation was induced by", "induced the previous calculation"


# ---- the mode ------------------------------------------------------------------------------------------------------


class Mode:
    """Whether the mode is on, and whether passes look for NaN: one for all threads."""

    enabled = False
    check_nan = True


_mode = Mode()
_switch = new_lock()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> nbgrad.is_anomaly_enabled()
    False
    """
    return _mode.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN, if it is on.

    >>> nbgrad.is_anomaly_check_nan_enabled()
    True
    """
    return _mode.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off, in all threads; passes that are running stay as they are.

    Raises:
        ArgumentError: an argument is no bool.

    >>> nbgrad.set_anomaly_enabled(True, check_nan=False)
    >>> nbgrad.is_anomaly_enabled()
    True
    >>> nbgrad.set_anomaly_enabled(False)
    """
    for name, value in (("mode", enabled), ("check_nan", check_nan)):
        if type(value) is not bool:
            raise ArgumentError(f"set_detect_anomaly: {name} must be a bool, got {type(value).__name__}.")
    with _switch:
        _mode.enabled, _mode.check_nan = enabled, check_nan
        note(watcher() if enabled else None)
        others = [each for each in engine.walks if each is not watched_walk]
        engine.walks[:] = [*others, watched_walk] if enabled else others


class set_detect_anomaly:  # torch's name
    """Switch anomaly mode on or off, at once; as a context manager, until its end.

    Args:
        mode: whether it is on.
        check_nan: whether what nodes return is searched for NaN.

    >>> import nbgrad
    >>> with nbgrad.set_detect_anomaly(True):
    ...     nbgrad.is_anomaly_enabled()
    True
    >>> nbgrad.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self.prev, self.prev_check_nan = _mode.enabled, _mode.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        """The mode was set by the call."""

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:  # torch's name
    """Anomaly mode as a context manager: says on entry that it costs time, here about a tenth.

    Inside, operations remember where they were called. If the backward of one fails, or returns NaN, a warning shows that place; if
    it failed because a saved tensor was overwritten, the error names the line that did it. Passes must run inside to be watched,
    and operations be recorded inside to have a place.

    Args:
        check_nan: whether a node that returns NaN is an error (``GradError``); infinities are not.

    >>> import nbgrad, warnings
    >>> x = nbgrad.zeros(2, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), nbgrad.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True):
        self.prev, self.prev_check_nan, self.check_nan = _mode.enabled, _mode.check_nan, check_nan
        warn_user("detect_anomaly: anomaly mode is on; it slows recording and backward down. Hint: it is meant for debugging.")

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


# ---- errors at length ----------------------------------------------------------------------------------------------


def explain(error: BaseException) -> str:
    """What is known of an error of a backward pass: which node failed, where it was recorded, what it had saved, who wrote to that.

    Args:
        error: as it was caught, with its traceback. Recorded under ``detect_anomaly`` there is more to say.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.set_detect_anomaly(True, check_nan=False):
    ...     y = x.exp()
    ...     _ = y.add_(1)
    >>> try:
    ...     y.sum().backward()
    ... except RuntimeError as caught:
    ...     text = nbgrad.debug.explain(caught)
    >>> [line for line in text.splitlines() if line.startswith(("Node", "Saved"))]
    ['Node ExpBackward0, recorded at:', "Saved 'out': float32 [2], version 1, expected 0"]
    """
    parts = [f"{type(error).__name__}: {error}"]
    node = node_in(error)
    if node is not None:
        lines = node.metadata.get("traceback_")
        parts.append(
            f"Node {name_of(node)}, recorded at:\n{''.join(lines)}"
            if lines
            else f"Node {name_of(node)}; where it was recorded is not known. Hint: detect_anomaly() around the forward pass."
        )
        parts += [text.replace("Previous calculation was induced", "It was induced") for text in islice(reports(node), 1, None)]
        parts += saved_states(node)
    parts += getattr(error, "__notes__", [])
    return "\n".join(part.rstrip("\n") for part in parts)


def node_in(error: BaseException) -> Node | None:
    """The node that the innermost of the engine's frames in a traceback was about."""
    found, step = None, error.__traceback__
    while step is not None:
        frame = step.tb_frame
        node = frame.f_locals.get("node") if is_ours(frame.f_code.co_filename) else None
        found = node if isinstance(node, Node) else found
        step = step.tb_next
    return found


def saved_states(node: Node) -> Iterator[str]:
    """A line for every saved tensor of a node: what it is, and whether it is as it was."""
    for slot, name in enumerate(node._rule_.saved_names):
        value, expected = getattr(node, f"_s{slot}_"), getattr(node, f"_v{slot}_")
        if isinstance(value, Tensor):
            layout, version = value.layout, value._storage_.version
            text = f"Saved '{name}': {layout.dtype.name} {list(layout.shape)}, version {version}, expected {expected}"
            yield text + "".join(
                f"\n  version {before + 1} was written at {place.line()}"
                for before, place in writes.get(value._storage_, ())
                if place is not None and before >= expected
            )
        elif value is None and expected is not None:
            yield f"Saved '{name}': freed by an earlier pass"

"""Layouts: dtype, device, shape and strides of a tensor as one object; equal layouts in use are the same object.

Everything that chooses a kernel is in the layout, so a call finds its plan by looking up the layouts of its operands in a dict, and
checks nothing else. ``is`` proves that two layouts are equal. ``is not`` proves nothing to an operation, which need
not rely on it: of two threads that meet in the table, one may keep a layout that the other has forgotten.
"""

from __future__ import annotations

import struct
from functools import cache
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, cast

from ..base import bounded
from ..base.dtypes import DType
from ..base.errors import ShapeError
from ..base.open_sizes import OPEN, Derivation, derivation_of, is_open, number_of, spelled
from ..kernels.cpu import LARGE
from ..native.handle import native
from .storage import CPU, Device, located

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "DISPATCHED",
    "DispatchMark",
    "TRACED",
    "WRAPPER",
    "Layout",
    "derived_layout",
    "form_of",
    "layout_of",
    "open_input",
    "marked_layout",
    "sparse_marks",
    "contiguous_strides",
    "like_strides",
    "common_strides",
    "broadcast_shapes",
]

MOST_LAYOUTS = 1 << 14
MOST_ELEMENTS = 1 << 62


class Mark:
    """What marks the layouts of tensors that a capture of a graph follows: NOTE [Traced] in modes/traced.py."""

    def __repr__(self) -> str:
        return "TRACED"


TRACED = Mark()

# What marks the layouts of sparse tensors, which have no elements in memory: NOTE [Sparse layouts]. Nothing before nbgrad.sparse is
# imported, as it is when the first such tensor is made.
sparse_marks: set = set()


class DispatchMark:
    """What marks the layouts of tensors whose class says what operations mean: NOTE [Wrappers] of modes/wrappers.py."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


DISPATCHED = DispatchMark("DISPATCHED")  # tensors on memory of their own
WRAPPER = DispatchMark("WRAPPER")  # tensors without elements


class Layout:
    """dtype, device, shape and strides of a tensor, with what follows from them.

    Attributes:
        dtype, device, shape: as a tensor's.
        strides: in elements.
        numel, ndim: number of elements and of dimensions.
        contiguous: whether the elements lie one after the other in row-major order.
        dense: whether they fill their memory without gap or overlap, in whatever order.
        expanded: whether several positions share an element.
        conj, neg: lazy conjugation and negation.
        kind: all but the sizes of an ordinary contiguous tensor, for plans that are copied from shape to shape; else None.
        form: ``form_of``, once somebody has asked.
        special: False, or what marks it: the tensor needs an interpreter (lazy bits, a subclass with overrides, batched, traced);
            such layouts have no plans.
        beneath: the layout that was marked, which may be a marked one itself; None of those that no mark was put on.
        memory: what gives memory to tensors on a GPU, the ``Heap`` of native/heaps.py; None on the CPU.
        descr, record, template: for the native builders: NumPy's dtype, the size as an int64, a Tensor to copy.
    """

    __slots__ = (
        "dtype",
        "device",
        "shape",
        "strides",
        "numel",
        "ndim",
        "contiguous",
        "dense",
        "expanded",
        "conj",
        "neg",
        "kind",
        "form",
        "special",
        "beneath",
        "memory",
        "descr",
        "record",
        "template",
        "__weakref__",
    )
    dtype: DType
    device: Device
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    numel: int
    ndim: int
    contiguous: bool
    dense: bool
    expanded: bool
    conj: bool
    neg: bool
    kind: LayoutKind | None
    form: LayoutForm | None
    special: Any
    beneath: Layout | None
    memory: Any
    descr: Any
    record: bytes
    template: Tensor

    def __repr__(self) -> str:
        if self.special in sparse_marks:
            return repr(self.special)
        return f"Layout({self.dtype.name}, {list(self.shape)}, strides={list(self.strides)}, {self.device})"

    def __reduce__(self):
        return layout_where, (self.dtype, self.shape, self.strides, self.device, self.conj, self.neg)

    def __deepcopy__(self, memo):
        return self

    def like(self, dtype: DType | None = None, shape: tuple | None = None) -> Layout:
        """The contiguous layout of another dtype or shape."""
        return layout_of(dtype or self.dtype, self.shape if shape is None else shape, None, self.device)

    is_nested_tensor = is_cpp_nested_tensor = False  # torch's names: what tools ask of a node's ``_input_metadata``

    def unmarked(self) -> Layout:
        """The layout that ``marked_layout`` marked, which may be marked itself; without a mark the layout as it is."""
        return self if self.beneath is None else self.beneath

    def is_traced(self) -> bool:
        """Whether a capture follows tensors of this layout, whatever else is marked of it."""
        layout: Layout | None = self
        while layout is not None and layout.special is not TRACED:
            layout = layout.beneath
        return layout is not None

    def plain(self) -> Layout:
        """The layout below all marks."""
        layout = self
        while layout.beneath is not None:
            layout = layout.beneath
        return layout


ONE, NONE = (1,), (0,)  # strides of a row, and of a row that is one element
_pack_size = struct.Struct("q").pack
_layouts: dict[Any, Layout] = {}
# By dtype, device and strides of one dimension, how many there were, or what makes further ones: ``copies_of_row``.
_rows: dict[tuple[DType, Device, tuple[int]], Any] = {}
ROWS = 8  # of a dtype are made before; when a module is imported there are fewer, and native code is not there
_most = MOST_LAYOUTS  # grows where more are in use
# Makes ``Layout.template``; set by tensors/tensor.py, which knows the Tensor class.
new_template: Callable[[Layout], Any] = lambda layout: None


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements (a size of 0 counts as 1, as in torch).

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    if len(shape) == 1:
        return ONE
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1
    strides.reverse()
    return tuple(strides)


def _is_contiguous(shape, strides) -> bool:
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1:
            if stride != step:
                return 0 in shape
            step *= size
    return True


def _is_dense(shape, strides) -> bool:
    step = 1
    for stride, size in sorted((t, s) for s, t in zip(shape, strides) if s != 1):
        if stride != step:
            return False
        step *= size
    return True


def layout_of(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None, device: Device, conj: bool = False, neg: bool = False
) -> Layout:
    """The Layout of these properties; ``strides`` in elements, None for row-major."""
    key = (dtype, shape, contiguous_strides(shape) if strides is None else strides, device, conj, neg)
    if OPEN and any(map(is_open, (*shape, *key[2]))):
        return open_layout(key)
    found = _layouts.get(key)
    return found if found is not None else _new_layout(key)


def layout_where(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], device: Device, conj: bool = False, neg: bool = False
) -> Layout:
    """The layout that a pickle describes, on the device that is meant for it now."""
    return layout_of(dtype, shape, strides, located(device), conj, neg)


def memory_on(device: Device) -> Any:
    """``Layout.memory`` of a GPU."""
    from .heaps import heap_of

    return heap_of(device)


def derived_layout(key: tuple, known: tuple[int, bool, bool, bool]) -> Layout:
    """``layout_of`` for functions that are derived, which know the ``geometry``."""
    found = _layouts.get(key)
    return found if found is not None else _new_layout(key, known)


def _new_layout(key, known: tuple[int, bool, bool, bool] | None = None) -> Layout:
    """Make a layout; of one dimension without loops, as new shapes mostly are."""
    strides = key[2]
    # Of one element that is shown everywhere there may be none, or one, which is contiguous.
    row = (strides == ONE or strides == NONE and key[1][0] > 1) and not (key[4] or key[5]) and 0 <= key[1][0] <= MOST_ELEMENTS
    if row:  # benchmarks/test_overhead.py: a shape never seen before
        like = _rows.get((key[0], key[3], strides), 0)
        if type(like) is not int:
            return like(key)
    layout = Layout()
    layout.dtype, layout.shape, layout.strides, layout.device, layout.conj, layout.neg = key
    dtype, shape, strides, device, conj, neg = key
    ndim, special = len(shape), conj or neg
    layout.ndim, layout.special, layout.beneath, layout.descr, layout.form = ndim, special, None, dtype.numpy, None
    layout.memory = None if device is CPU else memory_on(device)
    if known is not None:
        numel, contiguous, dense, expanded = known
    elif ndim == 1:
        numel, step = shape[0], strides[0]
        contiguous = dense = step == 1 or numel <= 1
        expanded = step == 0 and not contiguous
    else:
        numel, contiguous, dense, expanded = geometry(shape, strides)
    if not 0 <= numel <= MOST_ELEMENTS:
        raise ShapeError(f"a tensor of shape {list(shape)} cannot exist: sizes must be >= 0 and give fewer than 2**62 elements.")
    layout.contiguous, layout.dense, layout.expanded = contiguous, dense, expanded
    layout.numel, layout.record = numel, _pack_size(numel)
    layout.kind = layout_kind(dtype, device, ndim > 0) if contiguous and not special else None
    layout.template = new_template(layout)
    if row:
        _rows[dtype, device, strides] = like + 1 if like < ROWS else copies_of_row(layout)
    return _remember(key, layout)


def copies_of_row(layout: Layout) -> Callable[[tuple], Layout]:
    """What makes the layout of one dimension of another size, with the same strides."""
    form_of(layout)
    shared, own = Layout(), ("shape", "numel", "record")
    for slot in Layout.__slots__[:-1]:
        if slot not in (*own, "template"):
            setattr(shared, slot, getattr(layout, slot))
    blank = object.__new__(type(layout.template))
    for slot in ("_offset_", "_edge_", "_needs_grad_", "_meta_"):
        setattr(blank, slot, getattr(layout.template, slot))
    build, build_template, pack = native.builder(shared, own), native.builder(blank, ("layout",)), _pack_size

    def like(key: tuple) -> Layout:
        """The layout of this key, remembered."""
        shape = key[1]
        numel = shape[0]
        made: Layout = build(shape, numel, pack(numel))
        made.template = build_template(made) if numel < LARGE else new_template(made)
        return _remember(key, made)

    return like


def geometry(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, bool, bool, bool]:
    """Number of elements; whether they are contiguous, dense, expanded: see ``Layout``."""
    contiguous = strides == contiguous_strides(shape) or _is_contiguous(shape, strides)
    expanded = not contiguous and 0 in strides and any(t == 0 and s > 1 for s, t in zip(shape, strides))
    return prod(shape), contiguous, contiguous or (not expanded and _is_dense(shape, strides)), expanded


def open_layout(key) -> Layout:
    """A layout of sizes that are open: one for the same texts of a derivation, and in no table. See NOTE [Open sizes]."""
    layout = Layout()
    layout.dtype, layout.shape, layout.strides, layout.device, layout.conj, layout.neg = key
    layouts = derivation_of((*layout.shape, *layout.strides)).layouts
    known = layouts.get(text := layout_text(layout))
    if known is not None:
        return known
    numel, layout.contiguous, layout.dense, layout.expanded = geometry(layout.shape, layout.strides)
    layout.ndim, layout.special, layout.beneath, layout.kind = len(layout.shape), layout.conj or layout.neg, None, None
    layout.memory = None if layout.device is CPU else memory_on(layout.device)
    layout.numel = number_of(numel)  # a template asks nothing that the plan may depend on
    layout.template, layout.numel = new_template(layout), numel
    return layouts.setdefault(text, layout)


# What a layout of other sizes has in common with the one that a function is derived from.
SAME_IF_OPEN = ("dtype", "device", "ndim", "contiguous", "dense", "expanded", "conj", "neg", "special", "beneath", "memory")


def open_input(derivation: Derivation, name: str, layout: Layout) -> Layout:
    """A layout with its sizes open, and its strides where they do not follow from them.

    Args:
        name: of the layout in the text of the function.
    """
    shape = derivation.opened(f"{name}.shape", layout.shape, 0)
    row_major = form_of(layout).row_major
    strides = contiguous_strides(shape) if row_major else derivation.opened(f"{name}.strides", layout.strides, None)
    opened = Layout()
    for slot in SAME_IF_OPEN:
        setattr(opened, slot, getattr(layout, slot))
    opened.shape, opened.strides, opened.kind, opened.form = shape, strides, layout.kind, layout.form
    opened.numel = layout.numel  # a template asks nothing that the plan may depend on
    opened.template, opened.numel = new_template(opened), prod(shape)
    return derivation.layouts.setdefault(layout_text(opened), opened)


def layout_text(layout: Layout) -> tuple:
    """What tells an open layout from others of its derivation."""
    sizes = tuple(map(spelled, (*layout.shape, *layout.strides)))
    return layout.dtype, layout.device, layout.conj, layout.neg, *sizes


class LayoutForm(NamedTuple):
    """What layouts of a form have in common: all but sizes, and strides unless they are those of the sizes."""

    dtype: DType
    device: Device
    ndim: int
    contiguous: bool
    dense: bool
    expanded: bool
    conj: bool
    neg: bool
    special: Any
    row_major: bool


@cache
def form_where(*properties: Any) -> LayoutForm:
    """The one form of these properties, so that it is found by its address."""
    return LayoutForm(*properties)


def form_of(layout: Layout) -> LayoutForm:
    """The form of a layout."""
    form = layout.form
    if form is None:
        row_major = layout.contiguous and layout.strides == contiguous_strides(layout.shape)
        facts = layout.dtype, layout.device, layout.ndim, layout.contiguous, layout.dense, layout.expanded
        form = layout.form = form_where(*facts, layout.conj, layout.neg, layout.special, row_major)
    return form


class LayoutKind:
    """A kind of layouts, to be used as a key: an object that equals only itself."""

    __slots__ = ()


@cache
def layout_kind(dtype: DType, device: Device, dimensions: bool) -> LayoutKind:
    """The kind of contiguous layouts with dimensions, or without."""
    return LayoutKind()


def marked_layout(layout: Layout, mark: Any) -> Layout:
    """The same layout for tensors that need an interpreter: ``mark`` says whose; what is derived from it is not marked.

    A marked layout may be marked again: the interpreter that comes first has the outer mark.
    """
    key = (layout, mark)
    found = _layouts.get(key)
    if found is not None:
        return found
    return _remember(key, _marked(layout, mark))


def _marked(layout: Layout, mark: Any) -> Layout:
    new = Layout()
    for slot in Layout.__slots__[:-1]:
        setattr(new, slot, getattr(layout, slot))
    new.kind, new.form, new.special, new.beneath, new.template = None, None, mark, layout, new_template(new)
    return new


def _remember(key, layout: Layout) -> Layout:
    global _most
    if len(_layouts) >= _most:
        forget_layouts()
        _most = max(MOST_LAYOUTS, 2 * len(_layouts))  # looking at all of them is paid for by as many new ones
    bounded.conceal(key)
    if layout.beneath is None:  # a mark may be a class of the user's
        bounded.conceal(layout)
    # setdefault: of two threads that meet here, one token wins.
    return _layouts.setdefault(key, layout)


def forget_layouts() -> None:
    """Forget the layouts that nothing has; tensors, plans and compiled functions keep theirs, the only ones of their kind.

    Two equal layouts in use would be no error of any operation, but to a compiled function they are two.
    """
    own = object()
    layout: Layout | None = _marked(next(iter(_layouts.values())), None)
    alone = getrefcount(layout)
    _layouts[own] = cast(Layout, layout)
    layout = None
    unused = _references(own)
    for key in reversed(list(_layouts)):  # a marked layout was remembered after the one beneath it, which it has
        if _references(key) == unused:
            layout = _layouts.pop(key, None)
            if layout is not None and getrefcount(layout) == alone:
                del layout.template  # which has it, and the collector may not see either


def _references(key) -> tuple[int, int]:
    """How many references there are to a layout, and to its template."""
    layout = _layouts.get(key)
    return getrefcount(layout), getrefcount(layout and layout.template)


def like_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dense strides for ``shape`` in the memory order that ``strides`` has (row-major where that is ambiguous)."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    result, step = [0] * len(shape), 1
    for d in reversed(order):
        result[d] = step
        step *= shape[d] or 1
    return tuple(result)


def common_strides(shape: tuple[int, ...], operands: list[Layout]) -> tuple[int, ...]:
    """Dense strides for ``shape`` in the order in which operands that broadcast to it go through memory.

    Of two dimensions the inner one is that along which the first operand that moves along both takes the smaller step, of equal
    steps the shorter one; where no operand tells, the last. As operands may contradict each other, dimensions change places one
    by one, as in torch.
    """
    ndim, steps = len(shape), []
    for x in operands:
        lead = ndim - x.ndim
        own = [0 if x.shape[d] != shape[lead + d] else step for d, step in enumerate(x.strides)]
        steps.append([0] * lead + own)

    def compare(inner: int, outer: int) -> int:
        """Above 0 where they stand right, below where they do not, 0 where nothing tells."""
        signs = (own[outer] - own[inner] or min(shape[outer] - shape[inner], 0) for own in steps if own[outer] and own[inner])
        return next(filter(None, signs), 0)

    order = list(reversed(range(ndim)))  # from the innermost dimension
    for at in range(1, ndim):
        for k in reversed(range(at)):
            sign = compare(order[k], order[at])
            if sign > 0:
                break
            if sign < 0:
                order[k], order[at], at = order[at], order[k], k
    result, step = [0] * ndim, 1
    for d in order:
        result[d] = step
        step *= shape[d] or 1
    return tuple(result)


def broadcast_shapes(op: str, shapes) -> tuple[int, ...]:
    """The common shape of operands, by NumPy's rule.

    Raises:
        ShapeError: two sizes differ and neither is 1.
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        lead = ndim - len(shape)
        for d, size in enumerate(shape):
            if size != 1 and result[lead + d] != size:
                if result[lead + d] != 1:
                    raise ShapeError(
                        f"{op}: shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast: sizes "
                        f"{result[lead + d]} and {size} at dimension {lead + d} must match or be 1."
                    )
                result[lead + d] = size
    return tuple(result)

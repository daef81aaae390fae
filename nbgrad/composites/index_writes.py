"""Writes through an index, in place and recorded (``scatter_``, ``index_put_``), and the functions that choose among them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..dispatch.arguments import attribute_names, binder, check_tensor
from ..dispatch.rules import record_result, run_plan
from ..dispatch.writes import write
from ..graph.edges import requires_grad
from ..graph.saved import tensors_in, with_tensors
from ..lowering.index_writers import PREPARED_WRITES, WRITERS, writer_for
from ..modes.interpreters import Call, interpret, is_marked
from ..ops.core import OPS, composite
from ..ops.indexing import times
from ..tensors.layout import layout_of
from ..tensors.overlap import overlapping, unchanged
from ..tensors.tensor import Tensor
from .subscript import beside, is_mask, is_points, mask_indices, result_shape, trimmed

__all__ = ["INPLACE"]


class IndexWriter:
    """``write(x, *others, *attributes)``: what a functional operation computes, written into ``x`` and recorded.

    Attributes:
        plans: what writes, by the kind of a call that went well before: NOTE [Prepared runs].
        parts: what is made of each argument for the key: a layout, layouts, the type of a number that is written, or itself.
    """

    __slots__ = ("name", "plans", "parts")

    def __init__(self, name: str):
        self.name = name
        self.plans: dict[tuple, Callable | None] = {}
        op = OPS[name]
        parts: dict[str, Callable] = {"indices": layouts_of, "value": type, **dict.fromkeys((*op.operands, "index"), LAYOUT)}
        self.parts = tuple([parts.get(parameter, value_of) for parameter in op.signature.parameters])

    def __call__(self, *args, **kwargs):
        plans, key = self.plans, None
        if not special and not kwargs and len(args) == len(self.parts):
            key = self.key_of(args)
            run = plans.get(key) if key is not None else None
            if run is not None and is_free(args):
                if mode.enabled and any(map(requires_grad, args)):
                    return self.write(args, lambda: run(*args) is not None or self.write_in_full(args))
                if run(*args) is not None:
                    return args[0]
        out = self.in_full(*args, **kwargs)
        if key is not None and key not in plans:
            keep(plans, key, self.prepared(args))
        return out

    def key_of(self, args: tuple) -> tuple | None:
        """The key of a call: layouts, and values with their types; None where there can be none."""
        try:
            key = tuple([part(x) for part, x in zip(self.parts, args)])
            hash(key)
        except (AttributeError, TypeError):  # of other types: refused, or a list
            return None
        return key

    def prepared(self, args: tuple) -> Callable | None:
        """The function that writes for calls of this kind."""
        op, make = OPS[self.name], PREPARED_WRITES.get(self.name)
        if make is None or any(x.layout.special or x.layout.memory is not None for x in tensors_in(args)):
            return None
        count, layouts = len(op.operands), [with_layout(x) for x in args]
        return make(op, tuple(layouts[:count]), dict(zip(attribute_names(op), layouts[count:])))

    def in_full(self, x, *args, **kwargs):
        """A call that is looked at: operands that the write would change are copied, interpreters are asked."""
        op = OPS[self.name]
        tensors, attributes = binder(op)(x, *args, **kwargs)
        for operand, tensor in zip(op.operands, tensors):
            check_tensor(op, operand, tensor)
        tensors, attributes = unchanged_operands(op, tensors[0], tensors, attributes)
        if special or is_marked((*tensors, *attributes.values())):
            return interpret(Call(op, tensors, attributes, self.plain, "_"))
        return self.plain(*tensors, **attributes)

    def plain(self, *tensors, **attributes):
        """The write without interpreters."""
        args = (*tensors, *[attributes[name] for name in attribute_names(OPS[self.name])])
        return self.write(args, lambda: self.write_in_full(args))

    def write_in_full(self, args: tuple) -> None:
        """Write the elements; an index is looked at first."""
        op = OPS[self.name]
        count = len(op.operands)
        writer_for(op.name, args[0].layout)(op, args[0], args[1:count], dict(zip(attribute_names(op), args[count:])))

    def write(self, args: tuple, launch: Callable) -> Tensor:
        """Record and write: NOTE [In-place order]."""
        op, x = OPS[self.name], args[0]
        count = len(op.operands)

        def record(before, out):  # no rule of a writer mentions the result, or the old value
            operands, attributes = (before, *args[1:count]), dict(zip(attribute_names(op), args[count:]))
            plan, guarded = run_plan(op, operands, attributes, out)
            record_result(op, plan, operands, out, guarded)
            return ()

        return write(op.public + "_", x, mode.enabled and any(map(requires_grad, args[:count])), record, launch)


def is_free(args: tuple) -> bool:
    """Whether the first argument can be written to, and nothing that is read lies in its memory."""
    x = args[0]
    if x._storage_.writable is not True:
        return False
    for y in args[1:]:
        for each in y if type(y) is tuple else (y,):
            if isinstance(each, Tensor) and overlapping(x, each):
                return False
    return True


LAYOUT = attrgetter("layout")


def with_layout(x: Any) -> Any:
    """An argument with layouts in the places of tensors."""
    return x.layout if isinstance(x, Tensor) else layouts_of(x) if type(x) is tuple else x


def value_of(x: Any) -> tuple:
    """An argument as part of a key: True is no 1."""
    return x, type(x)


def layouts_of(indices: tuple) -> tuple:
    """The layouts of several indices."""
    return tuple([None if index is None else index.layout for index in indices])


def unchanged_operands(op, x: Tensor, tensors: tuple, attributes: dict) -> tuple[tuple, dict]:
    """Operands and indices, copied where the write would change them before they are read.

    Raises:
        InplaceError: x and one of them are dense and share memory.
    """

    def change(y: Any, operand: str = "") -> Any:
        copied = operand in ("value", "values") and y.layout.numel == 1 or op.name == "masked_scatter"
        return unchanged(op.public + "_", x, y, at_its_place=False, copied=copied)

    others = tuple([change(y, operand) for operand, y in zip(op.operands[1:], tensors[1:])])
    return (x, *others), {name: with_tensors(value, change, Tensor) for name, value in attributes.items()}


INPLACE: dict[str, Callable] = {name: IndexWriter(name) for name in WRITERS}
CALLS.update({name + "_": call for name, call in INPLACE.items()})


def scatter(x, dim, index, src=None, *, value=None, reduce=None):
    """``x`` with ``src`` (a tensor or a number) written along ``dim`` where ``index`` says; ``reduce="add"`` adds
    it, ``"multiply"`` multiplies by it."""
    return scattered(CALLS, x, dim, index, src, value, reduce)


def scatter_(x, dim, index, src=None, *, value=None, reduce=None):
    """In place: scatter."""
    return scattered(INPLACE, x, dim, index, src, value, reduce)


def scattered(calls: dict, x, dim, index, src, value, reduce):
    """Functional or in place, by where the calls come from."""
    src = value if src is None else src
    if reduce not in (None, "add", "multiply"):
        raise ArgumentError(f"scatter: reduce must be None, 'add' or 'multiply', got {reduce!r}.")
    if not reduce and not isinstance(src, Tensor):
        return calls["scatter_value"](x, dim, index, src)
    if not isinstance(src, Tensor):
        src = CALLS["new_full"](layout_of(x.layout.dtype, index.layout.shape, None, x.layout.device), src)
    if reduce == "multiply":
        return (x.scatter_reduce_ if calls is INPLACE else x.scatter_reduce)(dim, index, src, "prod")
    from ..ops.indexing import fitted

    return calls["scatter_add_src" if reduce else "scatter_src"](x, fitted(src, index), dim, index)


def scatter_add_(x, dim, index, src):
    """In place: scatter_add."""
    from ..ops.indexing import fitted

    return INPLACE["scatter_add_src"](x, fitted(src, index), dim, index)


def index_add_(x, dim, index, source, *, alpha=1):
    """In place: index_add."""
    return INPLACE["index_add_source"](x, times(source, alpha), dim, index)


def index_copy_(x, dim, index, source):
    """In place: index_copy."""
    return INPLACE["index_copy_source"](x, source, dim, index)


def index_fill_(x, dim, index, value):
    """In place: index_fill."""
    name = "index_fill_tensor" if isinstance(value, Tensor) else "index_fill_value"
    return INPLACE[name](x, value, dim, index) if isinstance(value, Tensor) else INPLACE[name](x, dim, index, value)


def masked_scatter_(x, mask, source):
    """In place: masked_scatter."""
    return INPLACE["masked_scatter"](x, mask, source)


def index_put(x, indices, values, accumulate=False):
    """``x`` with ``values`` written (or added) at a tuple of index tensors or masks."""
    return put(CALLS, x, indices, values, accumulate)


def index_put_(x, indices, values, accumulate=False):
    """In place: index_put."""
    return put(INPLACE, x, indices, values, accumulate)


def put(calls: dict, x, indices, values, accumulate):
    """Functional or in place, by where the calls come from."""
    if isinstance(indices, Tensor) or not hasattr(indices, "__len__"):
        raise ArgumentError(f"index_put: indices must be a tuple or list of Tensors, got {type(indices).__name__}.")
    if (
        len(indices) == 1
        and is_points(x, indices[0])
        and isinstance(values, Tensor)
        and (values.layout.shape == (*indices[0].layout.shape, *x.layout.shape[1:]))
    ):
        return calls["index_write"](x, values, (beside(x, indices[0]),), bool(accumulate))
    tensors: list[Tensor | None] = []
    for index in indices:
        if index is None:
            tensors.append(None)
        elif isinstance(index, Tensor):
            # x keeps its shape, so a mask becomes an index a dimension.
            tensors += mask_indices(index, x, len(tensors)) if is_mask(index) else (index,)
        else:
            raise ArgumentError(
                f"index_put: indices must be tensors of ints or bools, got {type(index).__name__}. "
                "Hint: x[...] = values takes ints and slices."
            )
    while tensors and tensors[-1] is None:
        tensors.pop()
    if not tensors:
        raise ArgumentError("index_put: indices must name a tensor.")
    points = tuple([beside(x, index) for index in tensors])
    return calls["index_write"](x, trimmed(values, result_shape(x, points)), points, bool(accumulate))


_function: Callable
for _function in (scatter, index_put):
    composite(_function.__name__, _function, out=_function is scatter, doc=_function.__doc__)
for _function in (scatter_, scatter_add_, index_add_, index_copy_, index_fill_, masked_scatter_, index_put_):
    composite(_function.__name__, _function, function=False, doc=_function.__doc__)

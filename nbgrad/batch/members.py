"""Methods and properties of batched tensors that are no operations: refused, or those of the value."""

from __future__ import annotations

from typing import Callable

from ..base.grad_mode import mode
from ..dispatch.inplace_views import inplace_views
from ..graph.writes import count_write
from ..modes.batched import Batched, wrap_batched
from ..tensors.batch_levels import BatchingError
from ..tensors.tensor import Tensor, put_layout
from .tensors import lifted, lowered

__all__: list[str] = []


ONE_VALUE = (
    "it would read one value, and the batch has one for each of its elements. "
    "Hint: write it with operations on tensors, or call it outside of vmap."
)
NO_MEMORY = "an element of a batch has no memory of its own. Hint: call it outside of vmap."


def refusing(name: str, reason: str) -> Callable:
    """A method that has no meaning for an element of a batch."""

    def refuse(x, *args, **kwargs):
        raise BatchingError(f"{name}: {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in (
    "item",
    "tolist",
    "numpy",
    "__array__",
    "__float__",
    "__int__",
    "__complex__",
    "__index__",
    "__contains__",
    "__dlpack__",
    "data_ptr",
):
    setattr(Batched, _name, refusing(_name, ONE_VALUE))
for _name in ("set_", "resize_", "resize_as_"):
    setattr(Batched, _name, refusing(_name, NO_MEMORY))


def of_value(name: str) -> property:
    """A property that the value has; a tensor is batched as the value is."""

    def get(x):
        found = getattr(x._value_, name)
        return lifted(found, x._levels_) if isinstance(found, Tensor) else found

    def put(x, given):
        setattr(x._value_, name, lowered(given, x._levels_) if isinstance(given, Tensor) else given)

    return property(get, put, doc=f"``{name}`` of the whole batch.")


for _name in ("grad", "requires_grad", "grad_fn", "is_leaf", "output_nr", "retains_grad", "data", "_base"):
    setattr(Batched, _name, of_value(_name))


def on_value(name: str) -> Callable:
    """A method that concerns the value."""

    def call(x, *args, **kwargs):
        result = getattr(x._value_, name)(*args, **kwargs)
        return x if result is x._value_ else lifted(result, x._levels_) if isinstance(result, Tensor) else result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{name}`` of the whole batch."
    return call


for _name in ("detach", "detach_", "requires_grad_", "retain_grad", "register_hook", "register_post_accumulate_grad_hook"):
    setattr(Batched, _name, on_value(_name))


def new_of(name: str) -> Callable:
    """``new_zeros`` and its like: new tensors that may be different for every element of the batch."""

    def call(x, *sizes, **kwargs):
        if name == "new_full":
            given = [*sizes, *(kwargs.pop(key) for key in ("size", "fill_value") if key in kwargs)]
            return wrap_batched(x._value_.new_full((*batch_sizes(x), *given[0]), given[1], **kwargs), x._levels_)
        size = kwargs.pop("size", sizes)
        size = size[0] if len(size) == 1 and not hasattr(size[0], "__index__") else size
        return wrap_batched(getattr(x._value_, name)((*batch_sizes(x), *size), **kwargs), x._levels_)

    call.__name__ = call.__qualname__ = name
    return call


def batch_sizes(x: Batched) -> tuple[int, ...]:
    """The sizes of a tensor's levels."""
    return tuple(level.size for level in x._levels_)


for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    setattr(Batched, _name, new_of(_name))


def moved_in_place(name: str) -> Callable:
    """``transpose_`` and its like: the tensor becomes its view, with the history that it has, also where nothing is recorded."""

    def call(x, *args, **kwargs):
        enabled, mode.enabled = mode.enabled, True
        try:
            view = getattr(x, name)(*args, **kwargs)
        finally:
            mode.enabled = enabled
        x._value_, x._offset_ = view._value_, view._offset_
        put_layout(x, view.layout)
        count_write(x._value_._storage_)
        return x

    call.__name__ = call.__qualname__ = name + "_"
    return call


for _name in inplace_views():
    setattr(Batched, _name + "_", moved_in_place(_name))

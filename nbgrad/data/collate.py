"""Samples to batches: what a loader does with a list of samples if nothing else is said."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, ShapeError

__all__ = ["collate", "collate_tensors", "default_collate", "default_collate_fn_map", "default_convert", "pinned"]

EXPECTED = "expected tensors, NumPy arrays, numbers, strings, and mappings, tuples and sequences of them"
INT64 = 1 << 63
np_str_obj_array_pattern = re.compile("[SaUO]")  # torch's name: NumPy's dtypes of strings and objects, as ``dtype.str`` has them
HINT = "Hint: give the loader a collate_fn."


# ---- the same container, of other values -----------------------------------------------------------------------------


def mapping_like(model: Mapping, values: dict) -> Any:
    """A mapping of the model's type with other values; a dict where the type cannot be made so."""
    try:
        if isinstance(model, MutableMapping):
            made = copy.copy(model)  # it may hold more than its items
            made.update(values)
            return made
        return type(model)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def sequence_like(model: Sequence, values: list) -> Any:
    """A sequence of the model's type with other values; a list where the type cannot be made so."""
    if type(model) is list:
        return values
    try:
        if isinstance(model, MutableSequence):
            made = copy.copy(model)
            for position, value in enumerate(values):
                made[position] = value
            return made
        return type(model)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def is_named_tuple(x: Any) -> bool:
    """Whether it is a tuple whose members have names."""
    return isinstance(x, tuple) and hasattr(x, "_fields")


# ---- one sample ------------------------------------------------------------------------------------------------------


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers in a sample as tensors; everything else stays what it is.

    >>> import numpy as np
    >>> default_convert({"x": np.array([0, 1]), "name": "first"})
    {'x': tensor([0, 1]), 'name': 'first'}
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else nbgrad.as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if is_named_tuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence):
        return sequence_like(data, [default_convert(value) for value in data])
    return data


def pinned(data: Any) -> Any:
    """The tensors of a batch in pinned memory; other objects that have the method ``pin_memory`` by it."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return mapping_like(data, {key: pinned(value) for key, value in data.items()})
    if is_named_tuple(data):
        return type(data)(*map(pinned, data))
    if isinstance(data, tuple):
        return type(data)(map(pinned, data))
    if isinstance(data, Sequence):
        return sequence_like(data, [pinned(value) for value in data])
    return data


# ---- several samples -------------------------------------------------------------------------------------------------


def collate(batch: Sequence, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """A batch of samples: containers of them by member, what the types of the map are by its functions.

    Args:
        collate_fn_map: ``{type, or a tuple of types: function(batch, collate_fn_map=...)}``; a sample's own type comes first,
            then the first entry that it is an instance of.

    Raises:
        ArgumentError: samples of a type that is neither in the map nor a container. ShapeError: sequences that are not equally
            long.

    >>> collate([{"x": 1}, {"x": 2}], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch)})
    {'x': 3}
    """
    first, functions = batch[0], collate_fn_map or {}
    kind = type(first)
    if kind in functions:
        return functions[kind](batch, collate_fn_map=collate_fn_map)
    for kinds, function in functions.items():
        if isinstance(first, kinds):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        members = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return mapping_like(first, members)
    if is_named_tuple(first):
        return kind(*(collate(members, collate_fn_map=collate_fn_map) for members in zip(*batch)))
    if not isinstance(first, Sequence):
        raise ArgumentError(f"default_collate: {EXPECTED}; found {kind}. {HINT}")
    lengths = {len(sample) for sample in batch}
    if len(lengths) > 1:
        raise ShapeError(f"default_collate: expected sequences of equal size in a batch, got lengths {sorted(lengths)}. {HINT}")
    found = [collate(members, collate_fn_map=collate_fn_map) for members in zip(*batch)]
    return found if isinstance(first, tuple) else sequence_like(first, found)


def collate_tensors(batch: Iterable, *, collate_fn_map: Any = None) -> Tensor:
    """Tensors of one shape, stacked.

    Raises:
        ShapeError: they differ.
    """
    batch = list(batch)
    try:
        return nbgrad.stack(batch)
    except ShapeError:
        sizes = " and ".join(str(list(shape)) for shape in dict.fromkeys(tuple(x.shape) for x in batch if isinstance(x, Tensor)))
        raise ShapeError(f"default_collate: expected tensors of equal size in a batch, got {sizes}. {HINT}") from None


def collate_arrays(batch: Sequence, *, collate_fn_map: Any = None) -> Any:
    """NumPy's arrays of one shape, stacked.

    Raises:
        ArgumentError: strings or objects. ShapeError: shapes differ.
    """
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise ArgumentError(f"default_collate: {EXPECTED}; found an array of {first.dtype}. {HINT}")
    if all(type(x) is np.ndarray and x.dtype == first.dtype and x.shape == first.shape for x in batch):
        return nbgrad.as_tensor(np.stack(batch))
    return collate([nbgrad.as_tensor(x) for x in batch], collate_fn_map=collate_fn_map)


def collate_scalars(batch: Sequence, *, collate_fn_map: Any = None) -> Tensor:
    """NumPy's numbers, in their dtype."""
    return nbgrad.as_tensor(np.array(batch))


def collate_floats(batch: Sequence, *, collate_fn_map: Any = None) -> Tensor:
    """Python's floats, in float64."""
    if set(map(type, batch)) == {float}:
        return nbgrad.from_numpy(np.array(batch))
    return nbgrad.tensor(batch, dtype=nbgrad.float64)


def collate_ints(batch: Sequence, *, collate_fn_map: Any = None) -> Tensor:
    """Python's integers and bools."""
    if set(map(type, batch)) == {int} and -INT64 <= min(batch) and max(batch) < INT64:
        return nbgrad.from_numpy(np.array(batch))
    return nbgrad.tensor(batch)


def collate_texts(batch: Sequence, *, collate_fn_map: Any = None) -> Sequence:
    """Strings as they came."""
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensors,
    np.ndarray: collate_arrays,
    (np.bool_, np.number, np.object_): collate_scalars,
    float: collate_floats,
    int: collate_ints,
    str: collate_texts,
    bytes: collate_texts,
}


# torch's names.
collate_tensor_fn, collate_numpy_array_fn, collate_numpy_scalar_fn = collate_tensors, collate_arrays, collate_scalars
collate_float_fn, collate_int_fn, collate_str_fn = collate_floats, collate_ints, collate_texts


def default_collate(batch: Sequence) -> Any:
    """Samples as a batch: tensors, arrays and numbers stacked along a new first dimension, strings in their sequence; mappings,
    named tuples and sequences member by member, a tuple as a list.

    Raises:
        ArgumentError: samples of another type. ShapeError: tensors or sequences that differ in size.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> default_collate([{"x": nbgrad.zeros(2)}, {"x": nbgrad.ones(2)}])
    {'x': tensor([[0., 0.],
            [1., 1.]])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)

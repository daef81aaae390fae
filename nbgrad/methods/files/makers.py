"""What a file that is not trusted may name, and what is made then: containers, NumPy's arrays, what nbgrad's own pickles hold.

A maker looks at its arguments before it makes anything: see NOTE [Restricted pickles] in restricted.py.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from math import prod
from typing import Any, Callable

import numpy as np

from ...base.dtypes import DType, dtype_of
from ...base.errors import DeviceError, NbgradError, NotSupportedError
from ...base.size import Size
from ...creation.generators import Generator, generator_in_state
from ...tensors.layout import MOST_ELEMENTS, Layout, layout_where
from ...tensors.storage import CPU, Device, Storage, device, located
from ...tensors.tensor import Parameter, Tensor
from ..pickling import storage_of, tensor_of
from .archive import damaged
from .errors import LoadError

__all__ = ["MAKERS", "STATES", "Maker", "guarded", "made", "maker", "plain_key", "tensor_on"]


class Maker:
    """What a name stands for.

    Attributes:
        name: as the file spells it.
        make: called with what the file gives.
        kind: the type that the name means where it is an argument.
    """

    __slots__ = ("name", "make", "kind")

    def __init__(self, name: str, make: Callable[..., Any], kind: type | None = None) -> None:
        self.name, self.make, self.kind = name, make, kind

    def __call__(self, *args: Any) -> Any:
        return guarded(self.name, self.make, *args)


KEYS = (str, int, float, bool, bytes, complex, type(None), DType, Device)
MOST_IN_A_KEY = 1000

# By module and name; a value that is no Maker is what the name means itself.
MAKERS: dict[tuple[str, str], Any] = {}
# By type of what was made: a function that takes it and a state.
STATES: dict[type, Callable[[Any, Any], None]] = {}


def maker(*names: str, kind: type | None = None) -> Callable:
    """A decorator: the function makes what these names stand for."""

    def enter(make: Callable) -> Callable:
        for name in names:
            module, _, own = name.rpartition(".")
            MAKERS[module, own] = Maker(name, make, kind)
        return make

    return enter


def guarded(name: str, make: Callable, *args: Any) -> Any:
    """Call what a name stands for; what it says of arguments that do not fit is an error of the file.

    Raises:
        LoadError: they do not fit.
    """
    try:
        return make(*args)
    except (LoadError, DeviceError, NotSupportedError):
        raise
    except (NbgradError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError) as error:
        raise damaged(f"the pickle calls {name} with what it does not take: {error}") from None


def made(function: Any, args: Any) -> Any:
    """What an instruction of a pickle calls.

    Raises:
        LoadError: no maker.
    """
    if type(function) is not Maker or type(args) is not tuple:
        raise damaged(f"the pickle calls a {type(function).__name__}")
    return function(*args)


def kind_of(named: Any) -> type:
    """The type that a name means.

    Raises:
        LoadError: none.
    """
    kind = named.kind if type(named) is Maker else named if isinstance(named, type) else None
    if kind is None:
        raise damaged(f"the pickle has a {type(named).__name__} for a type")
    return kind


def whole_numbers(what: str, values: Any) -> tuple[int, ...]:
    """Integers from 0 on.

    Raises:
        LoadError: others.
    """
    if not isinstance(values, (tuple, list)) or not all(type(v) is int and 0 <= v <= MOST_ELEMENTS for v in values):
        raise damaged(f"a tensor has {what} {values!r}")
    return tuple(values)


def plain_key(key: Any) -> Any:
    """A key, of which the hash is found soon."""
    waiting, count = [key], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, (tuple, frozenset)) and count <= MOST_IN_A_KEY:
            waiting += part
        elif type(part) not in KEYS:
            raise LoadError(f"load: the file has a {type(part).__name__} in a key of a dictionary or set, expected plain values.")
    return key


# ---- Python's containers ---------------------------------------------------------------------------------------------


def builtin(*names: str, kind: type | None = None) -> Callable:
    """``maker`` of names of Python's builtins, by the module's names in Python 3 and 2."""
    return maker(*(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in names), kind=kind)


def without_arguments(kind: type) -> Callable[[], Any]:
    """What makes an empty one."""

    def make() -> Any:
        return kind()

    return make


for empty in (list, dict, int, float, str, tuple):
    builtin(empty.__name__, kind=empty)(without_arguments(empty))


def plain_members(members: Any) -> Any:
    """Members of a set."""
    return map(plain_key, members)


builtin("set", kind=set)(lambda members=(): set(plain_members(members)))
builtin("frozenset", kind=frozenset)(lambda members=(): frozenset(plain_members(members)))
builtin("complex", kind=complex)(complex)
builtin("range", "xrange")(range)
builtin("slice")(slice)


@builtin("bytearray", kind=bytearray)
def bytearray_of(data: Any = b"", encoding: str = "latin-1") -> bytearray:
    """Of bytes or of text, not of a size."""
    return bytearray(data.encode("latin-1") if isinstance(data, str) else bytes(memoryview(data)))


@maker("_codecs.encode")
def encoded(text: str, encoding: str = "latin1") -> bytes:
    """How bytes are written in old pickles."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {encoding!r}")
    return text.encode("latin-1")


@maker("collections.OrderedDict", kind=OrderedDict)
def ordered(items: Any = ()) -> OrderedDict:
    """Of pairs."""
    return OrderedDict((*plain_members([key]), value) for key, value in (items.items() if isinstance(items, dict) else items))


@maker("collections.defaultdict", kind=defaultdict)
def default(factory: Any = None) -> defaultdict:
    """With a factory of this list."""
    return defaultdict(None if factory is None else kind_of(factory))


@maker("collections.Counter", kind=Counter)
def counter(counts: Any = ()) -> Counter:
    """Of counts by key."""
    return Counter(dict(counts))


@maker("collections.deque", kind=deque)
def queue(members: Any = (), most: int | None = None) -> deque:
    """Of members."""
    return deque(members, most)


def set_attributes(target: Any, state: Any) -> None:
    """Attributes of an OrderedDict, as ``_metadata``."""
    vars(target).update(named(state))


def named(attributes: Any) -> dict[str, Any]:
    """Attributes, whose names are text."""
    return {str(name): value for name, value in dict(attributes).items()}


STATES[OrderedDict] = set_attributes

# ---- NumPy -----------------------------------------------------------------------------------------------------------

ARRAYS = ("numpy._core.multiarray", "numpy.core.multiarray")


@maker("numpy.dtype", kind=np.dtype)
def plain_dtype(spec: str, align: bool = False, copy: bool = True) -> np.dtype:
    """Numbers and text of a size."""
    found = np.dtype(spec) if isinstance(spec, str) else None
    if found is None or found.kind not in "biufcSU" or found.names or found.subdtype:
        raise LoadError(f"load: the file has an array of dtype {spec!r}, expected numbers or text.")
    return found


def check_order(dtype: np.dtype, state: Any) -> None:
    """The state of a dtype is its byte order."""
    if state[1] not in ("<", "|", "="):
        raise LoadError("load: the file has an array in the byte order of another machine.")


for code in "?bhilqBHILQefdgFDGSU":
    STATES[type(np.dtype(code))] = check_order

maker("numpy.ndarray", kind=np.ndarray)(lambda: np.empty(0))


@maker(*(f"{place}._reconstruct" for place in ARRAYS))
def blank_array(kind: Any, shape: Any, code: Any) -> np.ndarray:
    """An array that gets its state afterwards."""
    return np.ndarray((0,), np.uint8)


def set_array(target: np.ndarray, state: Any) -> None:
    """Shape, dtype, order and bytes, which must fit."""
    version, shape, dtype, is_fortran, data = state
    shape = whole_numbers("shape", shape)
    if not isinstance(dtype, np.dtype) or not isinstance(data, bytes) or len(data) != prod(shape) * dtype.itemsize:
        raise damaged(f"an array of shape {shape} has other bytes")
    target.__setstate__((1, shape, dtype, bool(is_fortran), data))  # type: ignore[arg-type]


STATES[np.ndarray] = set_array


@maker(*(f"{place}.scalar" for place in ARRAYS))
def scalar_of(dtype: np.dtype, data: bytes) -> Any:
    """A number of NumPy's."""
    (value,) = np.frombuffer(data, dtype)
    return value


@maker("numpy._core.numeric._frombuffer", "numpy.core.numeric._frombuffer")
def array_from(data: Any, dtype: np.dtype, shape: Any, order: str, axes: Any = None) -> np.ndarray:
    """An array of bytes that stand in the pickle."""
    array = np.frombuffer(data, dtype).reshape(whole_numbers("shape", shape), order="F" if order == "F" else "C")
    return array if axes is None else array.transpose(axes)


# ---- nbgrad ----------------------------------------------------------------------------------------------------------


maker("nbgrad.base.dtypes.dtype_of")(dtype_of)
maker("nbgrad.base.size.Size", "torch.Size", kind=Size)(lambda sizes=(): Size(whole_numbers("shape", sizes)))
maker("nbgrad.tensors.storage.device", "nbgrad.tensors.storage.Device", "torch.device", kind=Device)(device)
maker("nbgrad.tensors.tensor.Tensor", "torch.Tensor", kind=Tensor)(lambda: None)
maker("nbgrad.tensors.tensor.Parameter", "torch.nn.parameter.Parameter", kind=Parameter)(lambda: None)
maker("torch.nn.parameter.Buffer", kind=Tensor)(lambda: None)


@maker("nbgrad.creation.generators.generator_in_state")
def generator(seed: int, calls: int, device: str = "cpu") -> Generator:
    """A generator in its state."""
    if not 0 <= seed < 1 << 64 or not 0 <= calls < 1 << 64:
        raise ValueError(f"seed {seed}, calls {calls}")
    return generator_in_state(seed, calls, str(located(device)))


@maker("nbgrad.methods.pickling.storage_of")
def own_storage(data: Any, name: str, writable: bool, device: Device = CPU) -> Storage:
    """A storage of bytes."""
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1:
        raise TypeError("no bytes")
    return storage_of(data, dtype_of(name).name, bool(writable), device)


@maker("nbgrad.tensors.layout.layout_where")
def own_layout(dtype: DType, shape: Any, strides: Any, device: Device, conj: bool = False, neg: bool = False) -> Layout:
    """A layout."""
    return checked_layout(dtype, shape, strides, device, conj, neg)


@maker("nbgrad.tensors.layout.layout_of")
def contiguous_layout(dtype: DType, shape: Any, strides: Any, device: Device) -> Layout:
    """A layout, as the first files had it."""
    return checked_layout(dtype, shape, strides, device)


def checked_layout(dtype: DType, shape: Any, strides: Any, device: Device, conj: bool = False, neg: bool = False) -> Layout:
    """A layout of numbers from 0 on."""
    if type(dtype) is not DType or type(device) is not Device:
        raise TypeError("no dtype and device")
    shape, strides = whole_numbers("shape", shape), whole_numbers("strides", strides)
    if len(shape) != len(strides) or prod(shape) > MOST_ELEMENTS:
        raise damaged(f"a tensor has shape {shape} and strides {strides}")
    return layout_where(dtype, shape, strides, device, bool(conj), bool(neg))


@maker("nbgrad.methods.pickling.tensor_of")
def own_tensor(
    kind: Any, storage: Storage, layout: Layout, offset: int, needs_grad: Any, attributes: Any, grad: Any = None
) -> Tensor:
    """A leaf on a storage."""
    return tensor_on(kind_of(kind), storage, layout, offset, bool(needs_grad), attributes)


def tensor_on(kind: type, storage: Storage, layout: Layout, offset: int, needs_grad: bool, attributes: Any = None) -> Tensor:
    """A leaf of a type on a storage that has all of its elements; ``offset`` in bytes.

    Raises:
        LoadError: it has not.
    """
    if not isinstance(storage, Storage) or not isinstance(layout, Layout) or type(offset) is not int:
        raise TypeError("no storage and layout")
    size, nbytes = layout.dtype.itemsize, storage.array.nbytes
    last = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides)) * size + size if layout.numel else 0
    if offset < 0 or offset % size or offset + last > nbytes or layout.device is not storage.device:
        raise damaged(
            f"a tensor of shape {list(layout.shape)}, strides {list(layout.strides)}, {layout.dtype}, begins at byte {offset} "
            f"of a storage of {nbytes} bytes, which does not hold it"
        )
    return leaf_of(kind, storage, layout, offset, needs_grad, attributes)


def leaf_of(kind: type, storage: Storage, layout: Layout, offset: int, needs_grad: bool, attributes: Any) -> Tensor:
    """A leaf of a type, with attributes.

    Raises:
        LoadError: it requires grad, and is of a dtype that has none.
    """
    if needs_grad and not layout.dtype.differentiable:
        raise damaged(f"a tensor of {layout.dtype} requires grad")
    return tensor_of(kind, storage, layout, offset, needs_grad, named(attributes or {}))

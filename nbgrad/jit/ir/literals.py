"""How the texts of graphs spell what is no call: types, numbers, constants; and what these spellings mean when they run.

A type is what is known of a value: ``float64[2, 3]``, ``float64[2, 3].strides(1, 2).requires_grad``, ``Tensor`` where nothing is.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from ...base.dtypes import DTYPES, DType
from ...creation.generators import WORD, Generator, generator_in_state
from ...kernels.cpu.digest import hexdigest
from ...tensors.arrays import array_from_gpu, array_of
from ...tensors.layout import Layout, contiguous_strides, layout_of
from ...tensors.storage import CPU, Device, Storage, device, wrap_array
from ...tensors.tensor import Tensor, native
from .ir import Value
from .replay import tensor_of

__all__ = ["KINDS", "LONGEST", "Kind", "Type", "complex_number", "constant_text", "digest_of", "is_inline", "literal", "type_text"]

LONGEST = 16  # elements of constants that stand in the text


class Type:
    """What is known of a value.

    Attributes:
        layout: None where nothing is.
        flag: whether it requires a gradient; None where that is not known.
    """

    __slots__ = ("layout", "flag")

    def __init__(self, layout: Layout | None, flag: bool | None = False):
        self.layout, self.flag = layout, flag

    def __repr__(self) -> str:
        return type_text(self.layout, self.flag)

    def known(self) -> Layout:
        """The layout.

        Raises:
            ValueError: nothing is known.
        """
        if self.layout is None:
            raise ValueError("nothing is known of a Tensor")
        return self.layout

    def changed(self, **changes: Any) -> Type:
        """The type with other strides, device, bits."""
        x = self.known()
        facts = {name: getattr(x, name) for name in ("dtype", "shape", "strides", "device", "conj", "neg")}
        return Type(layout_of(**{**facts, **changes}), self.flag)

    def strides(self, *steps: int) -> Type:
        """The type with these strides, in elements."""
        if len(steps) != self.known().ndim:
            raise ValueError(f"{len(steps)} strides of {self.known().ndim} dimensions")
        return self.changed(strides=steps)

    def on(self, name: str) -> Type:
        """The type on a device."""
        return self.changed(device=device(name))

    @property
    def conj(self) -> Type:
        """The type of tensors that are lazily conjugated."""
        return self.changed(conj=True)

    @property
    def neg(self) -> Type:
        """The type of tensors that are lazily negated."""
        return self.changed(neg=True)

    @property
    def requires_grad(self) -> Type:
        """The type of values that gradients flow through."""
        return Type(self.layout, True)

    @property
    def may_require_grad(self) -> Type:
        """The type of values of which it is not known whether gradients flow through them."""
        return Type(self.layout, None)

    # ---- constants -------------------------------------------------------------------------------------------------

    def filled_value(self, number: Any) -> Value:
        """The constant all of whose elements are a number."""
        return Value(self.layout, self.flag, data=rounded(number, self.known().dtype))

    def value_of(self, elements: Sequence[Any]) -> Value:
        """The constant of these elements, in row-major order."""
        return self.value_of_array(converted(elements, self.known().dtype))

    def value_of_bits(self, text: str) -> Value:
        """The constant whose elements have these bytes, in hexadecimal digits."""
        return self.value_of_array(np.frombuffer(bytes.fromhex(text), np.uint8).view(self.known().dtype.numpy))

    def value_of_array(self, array: np.ndarray) -> Value:
        """The constant of these elements, in row-major order, on memory of its own."""
        layout = self.known()
        if array.size != layout.numel:
            raise ValueError(f"{array.size} elements, expected {layout.numel}")
        count = sum((n - 1) * t for n, t in zip(layout.shape, layout.strides)) + 1 if layout.numel else 0
        memory = np.zeros(count, layout.dtype.numpy)
        there = tuple([t * layout.dtype.itemsize for t in layout.strides])
        np.ndarray(layout.shape, layout.dtype.numpy, memory, 0, there)[...] = array.reshape(layout.shape)
        return Value(layout, self.flag, data=native.tensor(layout.template, stored(memory, layout), 0, bool(self.flag), None))

    def full(self, number: Any) -> Tensor:
        """A tensor all of whose elements are a number."""
        return tensor_of(self.filled_value(number))

    def of(self, *elements: Any) -> Tensor:
        """A tensor of these elements, in row-major order."""
        return self.value_of(elements).data

    def bits(self, text: str) -> Tensor:
        """A tensor whose elements have these bytes, in hexadecimal digits."""
        return self.value_of_bits(text).data


class Kind:
    """A dtype, ``float64``, of which ``float64[2, 3]`` is a type."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType):
        self.dtype = dtype

    def __getitem__(self, shape: Any) -> Type:
        return Type(layout_of(self.dtype, shape if isinstance(shape, tuple) else (shape,), None, CPU))

    def __repr__(self) -> str:
        return self.dtype.name


KINDS = {dtype.name: Kind(dtype) for dtype in DTYPES}


def type_text(layout: Layout | None, flag: bool | None = False) -> str:
    """How a type is spelled."""
    text = "Tensor" if layout is None else layout_text(layout.plain())
    return text + {False: "", True: ".requires_grad", None: ".may_require_grad"}[flag]


def layout_text(layout: Layout) -> str:
    """How a layout is spelled: what is as usual is not said."""
    text = f"{layout.dtype.name}[{', '.join(map(str, layout.shape)) or '()'}]"
    if layout.strides != contiguous_strides(layout.shape):
        text += f".strides({', '.join(map(str, layout.strides))})"
    if layout.device is not CPU:
        text += f".on({str(layout.device)!r})"
    return text + ".conj" * layout.conj + ".neg" * layout.neg


# ---- numbers -------------------------------------------------------------------------------------------------------


def complex_number(real: float, imag: float) -> complex:
    """The complex number of these parts: ``complex`` is an operation."""
    return complex(real, imag)


def literal(x: Any) -> str:
    """How an argument of a call is spelled, other than values."""
    if isinstance(x, float):
        return repr(float(x)) if not math.isnan(x) else "-nan" if math.copysign(1, x) < 0 else "nan"
    if isinstance(x, complex):
        return f"complex_number({literal(x.real)}, {literal(x.imag)})"
    if x is None or x is Ellipsis or isinstance(x, (bool, int, str, bytes)):
        return repr(x)
    if isinstance(x, DType):
        return f"{x.name}.dtype"
    if isinstance(x, Layout):
        return f"{layout_text(x.plain())}.layout"
    if isinstance(x, Device):
        return f"device({str(x)!r})"
    if isinstance(x, Generator):
        return "generator({}, {})".format(*x.__reduce__()[1])
    if isinstance(x, slice):
        return f"slice_of({literal(x.start)}, {literal(x.stop)}, {literal(x.step)})"
    return literal(x.item()) if isinstance(x, np.generic) else f"unspoken({type(x).__name__!r})"


def generator(seed: int, calls: int) -> Generator:
    """The random generator of a seed that so many calls have drawn from.

    Raises:
        ValueError: no words of 64 bits.
    """
    if not all(type(x) is int and 0 <= x < WORD for x in (seed, calls)):
        raise ValueError(f"a generator in the state {seed!r}, {calls!r}")
    return generator_in_state(seed, calls)


def unspoken(name: str) -> Any:
    """What stands for an argument that has no spelling.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"an argument of type {name} has no spelling")


def rounded(number: Any, dtype: DType) -> Any:
    """A number as one of a dtype, as a Python number."""
    return python_type(dtype)(converted(number, dtype).item())


def converted(numbers: Any, dtype: DType) -> np.ndarray:
    """Numbers as an array."""
    with np.errstate(all="ignore"):
        return np.array(numbers, np.complex128 if dtype.is_complex else None).astype(dtype.numpy)


def python_type(dtype: DType) -> type:
    """The class of Python's numbers that holds the numbers of a dtype."""
    return complex if dtype.is_complex else float if dtype.is_floating_point else bool if dtype.name == "bool" else int


def number_text(number: Any, dtype: DType) -> str:
    """The shortest spelling of a number that reads back as the same one of a dtype."""
    if dtype.is_complex:
        part = dtype.to_real()
        return f"complex_number({number_text(number.real, part)}, {number_text(number.imag, part)})"
    if not dtype.is_floating_point or not math.isfinite(number):
        return literal(python_type(dtype)(number))
    tries = (repr(float(f"{number:.{digits}g}")) for digits in range(1, 18))
    return next(text for text in tries if rounded(float(text), dtype) == rounded(number, dtype))


def bytes_of(x: Tensor) -> bytes:
    """The bytes of the elements in row-major order, as they lie in memory. A GPU is waited for."""
    return np.ascontiguousarray(array_of(x) if x.layout.device is CPU else array_from_gpu(x)).tobytes()


def stored(memory: np.ndarray, layout: Layout) -> Storage:
    """An array as memory of a layout's device."""
    if layout.device is CPU:
        return wrap_array(memory)
    from ...tensors.gpu import stored as stored_there

    return stored_there(memory, layout.device, "load")


# ---- constants -----------------------------------------------------------------------------------------------------


def is_inline(constant: Value) -> bool:
    """Whether a constant stands in the text."""
    if not isinstance(constant.data, Tensor):
        return constant.layout is not None and isinstance(constant.data, (bool, int, float, complex))
    return constant.data.layout.numel <= LONGEST and constant.data.layout.device is CPU


def constant_text(constant: Value) -> str:
    """How a constant that stands in the text is spelled."""
    data = constant.data
    layout: Any = data.layout.plain() if isinstance(data, Tensor) else constant.layout
    kind = type_text(layout, constant.requires_grad)
    if not isinstance(data, Tensor):
        return f"{kind}.full({number_text(data, layout.dtype)})"
    text = ", ".join([number_text(python_type(layout.dtype)(x), layout.dtype) for x in array_of(data).flat])
    return f"{kind}.of({text})" if reads_back(data, text) else f"{kind}.bits({bytes_of(data).hex()!r})"


def reads_back(x: Tensor, text: str) -> bool:
    """Whether elements that are spelled so have the same bytes: those of some that are no numbers do not."""
    elements = eval(f"[{text}]", {"nan": math.nan, "inf": math.inf, "complex_number": complex})
    return bytes_of(Type(x.layout.plain()).value_of(elements).data) == bytes_of(x)


def digest_of(x: Tensor) -> str:
    """What tells tensors of other elements apart; of memory on other devices nothing."""
    return hexdigest(bytes_of(x))[:16] if x.layout.device is CPU else ""


MEANINGS: dict[str, Any] = {
    **KINDS,
    "Generator": Generator,
    "Tensor": Type(None),
    "complex_number": complex_number,
    "device": device,
    "generator": generator,
    "inf": math.inf,
    "nan": math.nan,
    "slice_of": slice,
    "unspoken": unspoken,
}

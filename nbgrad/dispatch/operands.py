"""The operands of elementwise operations: which may come together, in which dtype they are computed, and what is refused.

The dtype follows from those of the tensors, the types of the numbers, and the ``policy`` of the declaration: ``add`` promotes to a
common dtype, ``exp`` also turns integers into floats. The value of a number never matters, as in torch.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, as_word, bool_, get_default_dtype, iinfo, int64, result_dtype, uint8, uint64
from ..base.errors import ArgumentError, DeviceError, DivisionError, DTypeError, NotSupportedError, NumberError
from ..base.grad_mode import traces
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..modes.numbers import Number, plain_number
from ..ops.core import Elementwise
from ..ops.expr import MIRRORED, OPERATORS
from ..ops.spellings import target_of
from ..tensors.arrays import values_of
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .launches import need

NUMBERS = (bool, int, float, complex, np.generic)


def bind(op: Elementwise, operands: tuple, named: dict, defaults: tuple, empty) -> tuple:
    """Complete positional operands with named ones and defaults."""
    if not named and len(operands) < len(defaults) and defaults[len(operands)] is not empty:  # those behind have one too
        return (*operands, *defaults[len(operands) :])
    values = list(operands)
    named = {name if name in op.operands else target_of(op, name) or name: value for name, value in named.items()}
    for name, default in zip(op.operands[len(values) :], defaults[len(values) :]):
        value = named.pop(name, default)
        if value is empty:
            raise ArgumentError(f"{op.public}: missing argument {name!r}; expected {op.name}{op.signature}.")
        values.append(value)
    if named or len(values) > len(op.operands):
        raise ArgumentError(
            f"{op.public}: unexpected arguments {list(named) or values[len(op.operands) :]}; expected {op.name}{op.signature}."
        )
    return tuple(values)


def unwrap_number(operand):
    """A NumPy scalar, or what a capture has followed, as a number, an array as a tensor on its memory; all else as it is."""
    if isinstance(operand, np.generic):
        return operand.item()
    if isinstance(operand, Number) and not operand.is_followed():
        return plain_number(operand)
    return CALLS["asarray"](operand) if isinstance(operand, np.ndarray) else operand


def any_complex(operands: tuple) -> bool:
    """Whether a tensor among the operands is complex."""
    for x in operands:
        if isinstance(x, Tensor) and x.layout.dtype.is_complex:
            return True
    return False


def with_numbers(op: Elementwise, operands: tuple) -> tuple:
    """The operands where numbers that a capture follows are tensors of the dtype in which the operation takes numbers.

    Half types take numbers as float32, which no tensor among operands of half types is: such numbers are fixed.
    """
    if not any(isinstance(x, Number) for x in operands):
        return operands
    if any(isinstance(x, Tensor) for x in operands):
        kinds = zip(operands, kinds_of(operands))
        dtype = dtype_of_kinds(op, tuple([x.PYTHON if isinstance(x, Number) else kind for x, kind in kinds]))
        dtype = dtype.to_real() if dtype.is_complex else dtype
        if all(x.fits(dtype) for x in operands if isinstance(x, Number)):
            return tuple([x.cast(dtype) if isinstance(x, Number) and x.is_followed() else plain_number(x) for x in operands])
    return tuple(map(plain_number, operands))


def on_several_devices(operands: tuple) -> bool:
    """Whether tensors among the operands are on different devices."""
    device = None
    for x in operands:
        if isinstance(x, Tensor):
            if device is not None and x.layout.device is not device:
                return True
            device = x.layout.device
    return False


def with_host_numbers(op: Elementwise, operands: tuple) -> tuple:
    """Operands where single numbers that the CPU has have gone to the GPU that the others are on. Recorded.

    Raises:
        DeviceError: tensors with dimensions on different devices, or single numbers of another GPU.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    there = next((x.layout.device for x in tensors if x.layout.memory is not None), None)
    if op.policy == "first" and tensors and tensors[0].layout.memory is None:
        return operands  # what is on the CPU takes nothing from a GPU: check_kinds refuses it
    return tuple(
        CALLS["to_device"](x, there) if isinstance(x, Tensor) and x.layout.memory is None and not x.layout.ndim else x
        for x in operands
    )


def kinds_of(operands: tuple) -> tuple:
    """What a plan depends on: the layouts of tensors, the types of numbers."""
    return tuple([x.layout if isinstance(x, Tensor) else type(x) for x in operands])


def layouts_in(kinds: tuple) -> tuple[Layout | None, ...]:
    """The layouts among kinds; None in the places of numbers."""
    return tuple([x if type(x) is Layout else None for x in kinds])


def check_kinds(op: Elementwise, kinds: tuple) -> None:
    """At least one tensor, all on one device, nothing else but Python numbers."""
    device = None
    for name, x in zip(op.operands, kinds):
        if type(x) is Layout:
            if device is not None and x.device is not device:
                raise DeviceError(
                    f"{op.public}: {name} is on {x.device}, another operand on {device}. Hint: move one with x.to(device)."
                )
            device = x.device
        elif not issubclass(x, NUMBERS):
            raise ArgumentError(f"{op.public}: {name} must be a Tensor or a number, got {x.__name__}. Hint: nbgrad.asarray(x).")
    if device is None:
        raise ArgumentError(f"{op.public}: expected a Tensor among the operands, got only numbers. Hint: nbgrad.tensor(x).")


CATEGORIES = (bool, int, float, complex)


def settings_among(op: Elementwise, known: dict[str, Any]) -> list[str]:
    """The operands that are tensors of one element in the place of numbers, and count as numbers of their category.

    They are what the declaration says are numbers to derivatives, and the bound beside a bound that is a number.
    """
    names = {name for name, fixed in zip(op.operands, op.fixed) if fixed}
    if not names and not op.bounds:
        return []
    if any(type(known[name]) is not Layout for name in op.bounds):
        names |= {*op.bounds}
    return [name for name in names if type(known[name]) is Layout and not known[name].ndim]


def dtype_of_kinds(op: Elementwise, kinds: tuple) -> DType:
    """The dtype in which ``op`` computes on operands of these kinds.

    Raises:
        DTypeError: the operation is not defined for it.
    """
    known = dict(zip(op.operands, kinds))
    counted = {name: x for name, x in known.items() if name not in op.boolean}
    for name in settings_among(op, known):
        counted[name] = CATEGORIES[known[name].dtype.category]
    tensors = [(x.dtype, x.ndim) for x in counted.values() if type(x) is Layout]
    numbers = [x for x in counted.values() if type(x) is not Layout]
    dtype = kinds[0].dtype if op.policy == "first" else result_dtype(tensors, numbers)
    if op.policy == "float" and not dtype.differentiable:
        dtype = get_default_dtype()
    if op.policy == "number" and dtype is bool_:
        dtype = int64
    if op.policy == "integer" and dtype.differentiable:
        raise DTypeError(f"{op.public}: expected integer or bool operands, got {dtype}.")
    if op.policy == "floating" and not (given := result_dtype(tensors, [])).differentiable:
        raise DTypeError(f"{op.public}: expected floating operands, got {given}. Hint: x.to(nbgrad.float32).")
    if op.refuses_bool and dtype is bool_:
        raise DTypeError(f"{op.public}: not defined for bool. Hint: logical_not, logical_xor and their like are.")
    if dtype.is_complex and not op.complex:
        raise DTypeError(f"{op.public}: not defined for {dtype}.")
    for name in op.boolean:
        x = known[name]
        if type(x) is Layout and x.dtype is not bool_ and not (op.old_masks and x.dtype is uint8):
            raise DTypeError(f"{op.public}: {name} must be a bool tensor, got {x.dtype}.")
        if type(x) is not Layout and not issubclass(x, (int, np.integer, np.bool_)):
            raise DTypeError(f"{op.public}: {name} must be a bool tensor, or True or False, got {x.__name__}. Hint: x != 0.")
    return dtype


def stored_numbers(op: Elementwise, operands: tuple) -> tuple:
    """The operands of an operation that stores numbers as the first operand's dtype, those numbers converted to it.

    Raises:
        DTypeError: complex into real. RangeError: out of range.
    """
    dtype = operands[0].layout.dtype
    if not dtype.differentiable:  # what is stored as integers has no history
        operands = tuple(
            native.alias(x) if isinstance(x, Tensor) and x._needs_grad_ and not x.layout.special else x for x in operands
        )
    last = operands[-1]
    if isinstance(last, Tensor) and last.layout.dtype.is_complex and not dtype.is_complex:
        lose_imaginary(op, dtype)
    return tuple(x if isinstance(x, Tensor) else stored_number(op.name, x, dtype) for x in operands)


def lose_imaginary(op: Elementwise, dtype: DType) -> None:
    """Warn of complex numbers that are copied to real ones; refuse them where no conversion is to be expected.

    Raises:
        DTypeError: ``op`` is no copy.
    """
    if op.name == "masked_fill":
        raise DTypeError(f"masked_fill: a complex value cannot be stored in a {dtype.name} tensor. Hint: value.real.")
    if dtype is not bool_:
        warn_user(
            f"{op.name}_: complex numbers are stored in a {dtype.name} tensor and lose their imaginary part. Hint: value.real."
        )


def stored_number(name: str, value: Any, dtype: DType) -> Any:
    """A Python number as an element of ``dtype``: floats are truncated for integers, what does not fit is refused."""
    if not isinstance(value, (bool, int, float, complex)) or dtype.is_complex:
        return value
    if isinstance(value, complex) and not value.imag:
        value = value.real
    if isinstance(value, complex):
        raise DTypeError(f"{name}: the complex number {value} cannot be stored in a {dtype.name} tensor. Hint: value.real.")
    if dtype is bool_:
        return bool(value)
    if dtype.differentiable:
        return value
    info = iinfo(dtype)
    finite = value == value and abs(float(value)) != float("inf") if isinstance(value, float) else True
    # A negative number wraps in an unsigned dtype, as in torch.
    if not finite or not (info.min or -info.max) <= int(value) <= info.max:
        raise NumberError(f"{name}: {value} cannot be stored in a {dtype.name} tensor; expected {info.min} to {info.max}.")
    whole = int(value) if int(value) >= info.min else int(value) + info.max + 1
    return as_word(whole)


def stores_with_care(kinds: tuple) -> bool:
    """Whether ``stored_numbers`` has something to do where operands of these kinds are stored in the first one."""
    dtype, last = kinds[0].dtype, kinds[-1]
    if type(last) is not Layout:
        return not dtype.differentiable
    return last.dtype.is_complex and not dtype.is_complex or last.dtype.differentiable and not dtype.differentiable


def require_divisor(op: Elementwise, dtype: DType, operands: tuple) -> None:
    """Refuse to divide integers by 0, which floats may be; a GPU's are looked at there, and refused when it is next waited for.

    Where an operand has no elements nothing is divided.
    """
    if not op.integer_divisor or dtype.differentiable or any(isinstance(x, Tensor) and not x.layout.numel for x in operands):
        return
    divisor = operands[op.operands.index(op.integer_divisor)]
    text = (
        f"{op.public}: {op.integer_divisor} is 0 somewhere, and integers have no infinity. "
        "Hint: convert an operand to a floating dtype, or mask the zeros."
    )
    # As an element: 256 is 0 in uint8.
    if isinstance(divisor, Tensor):
        if traces:
            need((divisor,))
        elif divisor.layout.memory is not None:  # which need not wait for it
            from .device_divisors import note_zero_divisors

            return note_zero_divisors(divisor, dtype, text)
        elements = divisor.numpy() if divisor.layout.memory is None else values_of(divisor)
        zero = (elements.astype(dtype.numpy, copy=False) == 0).any()
    else:
        zero = int(divisor) % (1 << 8 * dtype.itemsize) == 0
    if zero:
        raise DivisionError(text)


def misfit(op: Elementwise, operands: tuple, error: OverflowError) -> OverflowError:
    """The error for a number that is too large for native code; ``error`` itself where it is one of nbgrad's."""
    large = [x for x in operands if isinstance(x, int) and not -(1 << 63) <= x < 1 << 63]
    if isinstance(error, NumberError) or not large:
        return error
    shown = large[0] if abs(large[0]) < 10**30 else f"an integer of {large[0].bit_length()} bits"
    return NumberError(f"{op.public}: {shown} does not fit int64, nor a floating dtype if it is far larger. Hint: float(number).")


# The operator that Python asks of the second operand where the first one has no answer, by operation.
REFLECTED = {name: f"__r{symbol}__" for symbol, name in OPERATORS.items()}
REFLECTED |= {name: f"__{mirrored}__" for name, mirrored in MIRRORED.items()}


def answer_of_other(name: str, operands: tuple, error: ArgumentError) -> Any:
    """What ``x op y`` is by the operator of ``y``, where a call of tensors ended in ``error``.

    That of a type of a program's own; of sequences of Python's, which a whole number repeats; of arrays, where a product of
    matrices meets one. To return NotImplemented to Python in the place of an error would take operators a frame more in every call.

    Raises:
        ArgumentError: the error, where ``y`` has no answer either.
    """
    if len(operands) == 2 and isinstance(operands[0], Tensor):
        x, y = operands
        reflected = getattr(type(y), REFLECTED.get(name, ""), None)
        if not (reflected is None or isinstance(y, Tensor) or type(y).__module__ in ("builtins", "numpy")):
            answer = reflected(y, x)
            if answer is not NotImplemented:
                return answer
        if name == "mul" and isinstance(y, (str, bytes, list, tuple)) and not x.layout.ndim and not x.layout.dtype.differentiable:
            return y * int(x)
        if name == "matmul" and isinstance(y, np.ndarray):
            return CALLS["matmul"](x, CALLS["asarray"](y))
    try:
        raise error
    finally:
        del error  # whose traceback holds this frame


def refitted(op: Elementwise, operands: tuple, error: OverflowError, call: Callable[..., Any]) -> Any:
    """The call once more, where a number was too large for native code and uint64 holds it: as the int64 of the same bits.

    Raises:
        NumberError: nothing holds it.
    """
    of_tensors = {x.layout.dtype for x in operands if isinstance(x, Tensor)} - {bool_}
    large = [type(x) is int and 1 << 63 <= x < 1 << 64 for x in operands]
    if of_tensors != {uint64} or not any(large):
        raise misfit(op, operands, error) from None
    return call(*(as_word(x) if wide else x for x, wide in zip(operands, large)))


def gradient_bits(op: Elementwise) -> list[int]:
    """For every operand its bit in ``gradient_mask``, 0 without a derivative by it, or -1 where one is refused."""
    return [-1 if fixed else able << k for k, (fixed, able) in enumerate(zip(op.fixed, op.differentiable))]


def gradient_mask(op: Elementwise, operands: tuple) -> int:
    """The operands that need a gradient, as bits.

    Raises:
        NotSupportedError: one by which there is no derivative.
    """
    mask = 0
    for k, (x, differentiable) in enumerate(zip(operands, op.differentiable)):
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            if differentiable:
                mask |= 1 << k
            elif op.fixed[k]:
                raise no_derivative_by(op.public, op.operands[k])
    return mask


def no_derivative(name: str) -> NotSupportedError:
    """What reverse and forward mode say of such an operation."""
    return NotSupportedError(
        f"{name}: it has no derivative. Hint: detach its operands (of a dual tensor: unpack_dual(x).primal), "
        "or see its documentation."
    )


def no_derivative_by(op: str, name: str) -> NotSupportedError:
    """What both modes say of an operand that is a number to the derivatives: it would silently count as a constant."""
    return NotSupportedError(
        f"{op}: {name} requires grad or has a tangent, and there is no derivative by it; expected a number, "
        f"or a tensor that is a constant. Hint: {name}.detach() (if dual: unpack_dual({name}).primal)."
    )

"""Kinds of attributes by their names, for the error of a call that failed over one.

NOTE [Kinds of attributes]: no call is checked. Where planning or running one has failed with an error of Python's own, the first
attribute of another kind than its name says is the reason, and the error becomes one of the house. A call that works pays nothing,
and an attribute of an unusual kind that works (a tensor for an int) stays allowed.

NOTE [Whole numbers]: True and 1.0 equal 1, and would find in a table what that has left there. Wherever a table is asked by
attributes that are integers, the call looks at their types: the native call that makes views, else the text
(``odd_lines``). What is odd goes the long way, where ``settled_attributes`` says so, or makes ints of NumPy's and of tensors: past
it, in every mode, a whole number is an int, and a number is Python's.
"""

from __future__ import annotations

from functools import cache, wraps
from inspect import Parameter
from reprlib import repr as shortened
from typing import Any, Callable, Iterable, NamedTuple, Sequence

from ..base.dtypes import DType
from ..base.errors import ArgumentError, NbgradError, RangeError
from .core import OPS, Op

__all__ = [
    "constant_number",
    "NUMBER",
    "TRUTH",
    "WHOLE",
    "WHOLES",
    "attribute_kind",
    "counted",
    "explained",
    "is_strange",
    "is_tensor",
    "odd_condition",
    "odd_lines",
    "odd_test",
    "refuse_arguments",
    "refuse_odd",
    "refuse_wrong_kind",
    "settled_number",
    "whole_names",
]


class AttributeKind(NamedTuple):
    """A kind of attribute: in words, how it is recognised, and the names of its attributes."""

    words: str
    holds: Callable[[Any], bool]
    names: str


def is_integer(value: Any) -> bool:
    """Whether Python takes it for an index, and it is no truth value."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def is_truth(value: Any) -> bool:
    """Whether it is a truth value, or an integer that stands for one."""
    return hasattr(value, "__index__")


def is_number(value: Any) -> bool:
    """Whether it converts to a float or a complex number."""
    return hasattr(value, "__float__") or hasattr(value, "__complex__")


def is_tensor(value: Any) -> bool:
    """Whether it has a layout."""
    return hasattr(value, "layout")


def are_tensors(value: Any) -> bool:
    """Whether it is a tensor, or a sequence of such, or of sequences of them."""
    return is_tensor(value) or isinstance(value, (tuple, list)) and all(map(are_tensors, value))


def are_integers(value: Any) -> bool:
    """Whether it is one integer, or a sequence of them."""
    return is_integer(value) or isinstance(value, (tuple, list)) and all(map(is_integer, value))


def are_numbers(value: Any) -> bool:
    """Whether it is one number, or a sequence of them."""
    return is_number(value) or isinstance(value, (tuple, list)) and all(map(is_number, value))


KINDS = (
    AttributeKind(
        "an int",
        is_integer,
        "k n r ind dim0 dim1 dim2 dimension start_dim end_dim diagonal offset storage_offset start end step "
        "by length chunks bins minlength num_classes ignore_index edge_order split_size",
    ),
    AttributeKind(
        "an int or a tuple of ints",
        are_integers,
        "dim dims axis size sizes shape stride repeats shifts pad source destination "
        "padding dilation kernel_size output_padding split_sizes split_size_or_sections indices_or_sections",
    ),
    AttributeKind(
        "a number",
        is_number,
        "p alpha beta correction value maxnorm rtol atol tol rcond eps delta label_smoothing keep nan "
        "posinf neginf min max dx exponent",
    ),
    AttributeKind("a number or a Tensor", are_numbers, "q"),
    AttributeKind(
        "a bool",
        is_truth,
        "keepdim keepdims largest sorted descending stable unbiased as_tuple right out_int32 training "
        "hermitian upper left accumulate equal_nan return_inverse return_counts include_self density counted",
    ),
    AttributeKind("a dtype", lambda value: isinstance(value, DType), "dtype"),
    AttributeKind(
        "a Tensor",
        is_tensor,
        "other batch1 batch2 mat mat1 mat2 vec vec1 vec2 target src mask weight test_elements values x2 "
        "tensor1 tensor2 pos_weight index",
    ),
    AttributeKind("a tuple or list of Tensors", are_tensors, "tensors operands"),
)
KIND_OF = {name: kind for kind in KINDS for name in kind.names.split()}
# Where a declaration gives no default, None stands for one in these.
OPTIONAL = {"dim", "dims", "axis", "dtype", "start", "end", "storage_offset", "correction", "atol", "rtol"}


WHOLE, WHOLES, NUMBER = KINDS[:3]
TRUTH = KINDS[4]
TRUTHS = {"keepdim", "keepdims"}


def attribute_kind(op: Op, name: str) -> AttributeKind | None:
    """The kind of an attribute; the index of a movement is an integer."""
    return WHOLE if name == "index" and op.kind == "movement" else KIND_OF.get(name)


def is_strange(value: Any) -> bool:
    """Whether an argument that is no int is none of those that may be part of a key: None, or a tuple of ints."""
    if type(value) is tuple or isinstance(value, tuple):
        for size in value:
            if type(size) is not int:
                return True
        return False
    return value is not None


def odd_condition(op: Op, spelled: str = "{0}") -> str:
    """The source of a test whether an attribute of a call is no part of a key; empty where there is nothing to test.

    ``is_strange`` and ``is_tensor`` are among the names of the text.

    Args:
        spelled: how the text spells the attribute of a name.
    """
    tests = []
    for name in list(op.signature.parameters)[len(op.operands) :]:
        value = spelled.format(name)
        kind = attribute_kind(op, name)
        if kind is WHOLE:
            tests.append(f"type({value}) is not int and {value} is not None")
        elif kind is WHOLES:
            tests.append(f"type({value}) is not int and {value} is not None and is_strange({value})")
        elif kind is NUMBER:
            tests.append(f"is_tensor({value})")
        elif name in TRUTHS:
            tests.append(f"{value} is not False and {value} is not True")
    return " or ".join(tests)


def odd_lines(op: Op, consequence: str) -> list[str]:
    """The same as statements, for calls: what follows stands where it is so."""
    lines = []
    for name in list(op.signature.parameters)[len(op.operands) :]:
        if name in TRUTHS:
            lines.append(f"    if {name} is not False and {name} is not True: {consequence}")
        elif name in whole_names(op):
            lines.append(f"    if {name} is not None and type({name}) is not int:")
            lines += (
                [f"        {consequence}"]
                if attribute_kind(op, name) is WHOLE
                else [
                    f"        if type({name}) is not tuple: {consequence}",
                    f"        for each in {name}:",
                    f"            if type(each) is not int: {consequence}",
                ]
            )
    return lines


@cache
def whole_names(op: Op) -> tuple[str, ...]:
    """The attributes that are integers, or several."""
    return tuple(name for name in list(op.signature.parameters)[len(op.operands) :] if attribute_kind(op, name) in (WHOLE, WHOLES))


@cache
def odd_test(op: Op) -> Callable[[dict[str, Any]], bool] | None:
    """``test(attributes)``, what ``odd_condition`` says; None where there is nothing to test."""
    condition = odd_condition(op, "attributes[{0!r}]")
    return eval(f"lambda attributes: {condition}", {"is_strange": is_strange, "is_tensor": is_tensor}) if condition else None


def refuse_odd(op: Op, attributes: Iterable[tuple[str, Any]]) -> None:
    """Refuse truth values and floats in the place of integers.

    Raises:
        ArgumentError: one of the attributes is of another kind than its name says.
    """
    for name, value in attributes:
        if type(value) is not int and is_strange(value) and attribute_kind(op, name) in (WHOLE, WHOLES):
            refuse_wrong_kind(op, ((name, value),), TypeError())


def refuse_wrong_kind(op: Op, attributes: Iterable[tuple[str, Any]], error: Exception) -> None:
    """Say which attribute is of another kind than its name says, after a call of ``op`` has failed with ``error``.

    Args:
        attributes: names and values. None is of the right kind where it is the default.

    Raises:
        ArgumentError: one is, and the error is not one of the house.
    """
    if isinstance(error, NbgradError):
        return
    for name, value in attributes:
        kind = attribute_kind(op, name)
        if kind is not None and not kind.holds(value) and not (value is None and may_be_none(op, name)):
            hint = " Hint: nbgrad.tensor(data)." if kind.holds is is_tensor else ""
            raise ArgumentError(f"{op.public}: {name} must be {kind.words}, got {described(value)}.{hint}") from None


def described(value: Any) -> str:
    """A value's type, and in short what it is."""
    return f"{type(value).__name__} {shortened(value)}" if isinstance(value, (str, float, tuple, list)) else type(value).__name__


def may_be_none(op: Op, name: str) -> bool:
    """Whether None is a value of the attribute."""
    default = op.signature.parameters[name].default if name in op.signature.parameters else None
    return default is None or (default is Parameter.empty and name in OPTIONAL)


def explained(formula: Callable, known: Op | None = None) -> Callable:
    """The formula of a composite whose failures over an attribute's kind are explained, see NOTE [Kinds of attributes].

    A frame more: for operations that take many times that (indices by NumPy, orders), and for calls of a kind that is new. Others
    catch what they can at the place.

    Args:
        known: the operation; else that of the formula's name.
    """

    @wraps(formula)
    def call(*args, **named):
        try:
            return formula(*args, **named)
        except (TypeError, AttributeError, ValueError) as error:
            op = known or OPS.get(formula.__name__)
            if op is not None:
                refuse_arguments(op, args, named, error)
            raise

    return call


def refuse_arguments(op: Op, args: tuple, named: dict[str, Any], error: Exception) -> None:
    """``refuse_wrong_kind`` of the arguments of a call; and what a formula has taken for a tensor, and is none.

    Raises:
        ArgumentError: one of them is why the call has failed.
    """
    if isinstance(error, NbgradError):
        return
    given = attributes_given(op, args, named)
    refuse_wrong_kind(op, given, error)
    for name, value in given:
        if isinstance(error, AttributeError) and value is error.obj and attribute_kind(op, name) is None:
            raise ArgumentError(
                f"{op.public}: {name} must be a Tensor, got {described(value)}. Hint: nbgrad.tensor(data)."
            ) from None


def attributes_given(op: Op, args: tuple, named: dict[str, Any]) -> Sequence[tuple[str, Any]]:
    """The arguments of a call that are no tensors; none of a call that does not fit the signature."""
    try:
        bound = op.signature.bind(*args, **named).arguments
    except TypeError:
        return ()
    return [(name, value) for name, value in bound.items() if not hasattr(value, "layout")]


def constant_number(op: str, name: str, value: Any) -> Any:
    """An attribute that is a number to the derivatives; of a tensor of one element that element, else the attribute itself.

    Raises:
        NotSupportedError: a tensor that gradients flow into, or that has a tangent: it would silently count as a constant.
    """
    return value._number_(op, name) if is_tensor(value) else value


def settled_number(op: str, name: str, value: Any) -> Any:
    """Python's number of NumPy's, and of a tensor or an array of one element.

    Raises:
        ArgumentError: no number, or several. NotSupportedError: as of ``constant_number``.
    """
    if type(value) in PLAIN_NUMBERS:
        return value
    count = value.layout.numel if is_tensor(value) else getattr(value, "size", 1)
    if count != 1 or not is_number(value):
        raise ArgumentError(f"{op}: {name} must be a number, got {type(value).__name__}{f' of {count} elements' * (count != 1)}.")
    return constant_number(op, name, value) if is_tensor(value) else value.item() if hasattr(value, "item") else value


PLAIN_NUMBERS = {bool, int, float, complex}


def counted(op: str, name: str, value: Any) -> int:
    """An attribute that says how often, as an int.

    Raises:
        ArgumentError: no whole number. RangeError: it is negative.
    """
    try:
        number: int = value.__index__()
    except AttributeError:
        raise ArgumentError(f"{op}: {name} must be an int, got {type(value).__name__}.") from None
    if number < 0:
        raise RangeError(f"{op}: {name} is {number}, expected a number >= 0.")
    return number

"""Fast path of tensors of subclasses that say nothing of functions: calls of plain tensors, whose results get the type at once.

They do what ``Overrides.run`` and ``default_function`` do (modes/overrides.py) where it is plain to see that neither another
interpreter nor a method of a user is concerned, and return None elsewhere.
"""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.grad_mode import special
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, told_of_subclasses
from .interpreters import Call, FastPath, fast_paths, run_plainly
from .overrides import concerns_others, converted, inside_of_disabled, on_unmarked, says_nothing, twin

__all__ = ["install_subclass_calls"]

PLAIN = frozenset((int, float, bool, complex, type(None), str, DType, Layout))


def known_of_subclass(op: Any, operands: tuple) -> Any:
    """The result of an elementwise call; None where interpreters must be asked."""
    return None if special or op.kind != "elementwise" else computed(op, operands, {})


def call_of_subclass(op: Any, operands: tuple, attributes: dict | None) -> Any:
    """The result of a call that was looked at; None where interpreters must be asked."""
    if special or op.kind == "composite":
        return None
    return (viewed if op.kind == "movement" else computed)(op, operands, attributes or {})


def computed(op: Any, operands: tuple, attributes: dict) -> Any:
    """The call of what is no view, of the operands' twins: NOTE [Twins]."""
    cls = class_of((*operands, *attributes.values()))
    if cls is None:
        return None
    result = CALLS[op.name](*[twin(x) if type(x) is cls else x for x in operands], **attributes)
    return result if inside_of_disabled() else converted(result, cls)


def viewed(op: Any, operands: tuple, attributes: dict) -> Any:
    """A view, whose base is the tensor itself."""
    cls = class_of((*operands, *attributes.values()))
    if cls is None:
        return None
    result = on_unmarked(Call(op, operands, attributes, CALLS[op.name].plain), run_plainly)
    return result if inside_of_disabled() else converted(result, cls)


def class_of(values: tuple) -> Any:
    """The subclass of the marked tensors among the arguments; None where there are several, or where it is to be asked."""
    cls: Any = None
    for x in values:
        kind = type(x)
        if kind in PLAIN or kind is tuple and {*map(type, x)} <= PLAIN:
            continue
        if not isinstance(x, Tensor):
            return None
        mark = x.layout.special
        if mark:
            if mark is not kind or (cls is not None and kind is not cls) or concerns_others(x.layout):
                return None
            cls = kind
    return cls if cls is not None and (inside_of_disabled() or says_nothing(cls)) else None


def prepare_fast_path(cls: type) -> None:
    """Let the calls of a subclass's tensors be looked for here first."""
    fast_paths[cls] = FastPath(known_of_subclass, call_of_subclass)


def install_subclass_calls() -> None:
    """Have subclasses prepared as they are made."""
    told_of_subclasses.append(prepare_fast_path)

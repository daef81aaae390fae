"""Public functions that choose among declared operations: torch's signatures, with their options.

They are written in variants_of_arithmetic.py and its neighbours, and in special.py.

NOTE [Variants]: a variant is written once, in terms of ``op(name)``, and built three times: ``op`` gives the operation
itself, its in-place form, or its ``out=`` form. Python's operators do not pass here: ``x + y`` is the operation
``add`` directly.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

__all__ = ["VARIANTS", "Variant", "variant"]


class Variant(NamedTuple):
    """A public function over several operations.

    Attributes:
        names: of function and method; the first is its own.
        build: ``build(op) -> function``, see NOTE [Variants].
        method, function, inplace, out: which public forms it has.
        operator: the special method that it replaces, for those that profit from a look at the operand.
        special: its names in ``torch.special``.
        example: the arguments of a call that its documentation shows, of tensors x and y.
        usual: the operation that it is without options; none where the operand decides.
    """

    names: tuple[str, ...]
    build: Callable[[Callable[[str], Callable]], Callable]
    method: bool
    function: bool
    inplace: bool
    out: bool
    operator: str | None
    special: tuple[str, ...]
    example: str
    usual: str


VARIANTS: list[Variant] = []


def variant(
    *names: str,
    method: bool = True,
    function: bool = True,
    inplace: bool = True,
    out: bool = True,
    operator: str | None = None,
    special: tuple[str, ...] = (),
    example: str = "",
    usual: str = "",
) -> Callable:
    """Register the decorated ``build`` under ``names``."""

    def register(build):
        VARIANTS.append(Variant(names, build, method, function, inplace, out, operator, special, example, usual))
        return build

    return register

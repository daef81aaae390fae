"""Variants of activations: torch's names of their arguments, and its flag ``inplace``."""

from __future__ import annotations

from typing import Any

from ..base.errors import DTypeError, RangeError
from .core import OPS
from .variants import variant

__all__ = ["of_integers"]


@variant("gelu", inplace=False, example="x")
def gelu(op):
    forms = {"none": op("gelu_erf"), "tanh": op("gelu_tanh")}

    def gelu(input, approximate="none"):
        """input times its normal distribution function; approximate="tanh" uses Hendrycks and Gimpel's formula."""
        if approximate not in forms:
            raise RangeError(f"gelu: approximate is {approximate!r}, expected 'none' or 'tanh'.")
        return forms[approximate](input)

    return gelu


def of_integers(name: str, inplace: bool, input: Any, *settings: Any) -> Any:
    """An activation of integers; in place it writes the result over input.

    Raises:
        DTypeError: bools, or another dtype that the function has not.
    """
    dtype, form = getattr(input, "dtype", None), OPS[name].of_integers
    if form is None or dtype is None or dtype.differentiable or dtype.name == "bool":
        raise DTypeError(f"{name}: not defined for {dtype}.")
    settings = tuple(map(int, settings))
    if name == "hardtanh" and dtype.name == "uint8" and settings[0] < 0:
        raise DTypeError(f"hardtanh: min_val is {settings[0]}, which uint8 does not hold.")
    out = form(input, *settings)
    return input.copy_(out) if inplace else out


def with_inplace_flag(name: str, example: str = "x", possible: str = "") -> None:
    """Register an activation whose function takes ``inplace`` as last argument, as torch.nn.functional's do.

    Args:
        possible: which settings are possible, as a condition; any unless given.
    """
    settings = list(OPS[name].signature.parameters.values())[1:]
    named, passed = ([f"{p.name}{'' if p.default is p.empty else f'={p.default!r}'}" for p in settings], [p.name for p in settings])
    call = f"(over if inplace else plain)({', '.join(['input', *passed])})"
    text = f"def {name}({', '.join(['input', *named, 'inplace=False'])}):\n"
    if possible:
        shown = ", ".join(f"{setting} is {{{setting}}}" for setting in passed)
        text += f"    if not ({possible}): raise RangeError(f'{name}: {shown}, expected {possible}.')\n"
    if OPS[name].of_integers is not None:
        text += f"    try: return {call}\n"
        text += f"    except refusal: return of_integers({name!r}, inplace, {', '.join(['input', *passed])})\n"
    else:
        text += f"    return {call}\n"

    @variant(name, method=False, inplace=False, out=False, example=example)
    def build(op):
        scope = {
            "plain": op(name),
            "over": op(name + "_"),
            "of_integers": of_integers,
            "refusal": DTypeError,
            "RangeError": RangeError,
        }
        exec(compile(text, f"<nbgrad {name} with inplace>", "exec"), scope)
        head, *rest = OPS[name].doc.split("\n\n", 1)
        scope[name].__doc__ = "\n\n".join([f"{head} inplace=True overwrites input.", *rest])
        return scope[name]


for _name in ("relu", "silu", "elu", "hardsigmoid", "hardswish", "selu", "mish"):
    with_inplace_flag(_name)
with_inplace_flag("hardtanh", possible="min_val <= max_val")
with_inplace_flag("celu", possible="alpha != 0")
with_inplace_flag("leaky_relu", "x, 0.1")
with_inplace_flag("threshold", "x, 0.5, 0.0")


@variant("softshrink", method=False, inplace=False, example="x")
def softshrink(op):
    towards_zero = op("softshrink")

    def softshrink(input, lambd=0.5):
        """input moved towards 0 by lambd, which is not negative, as far as 0."""
        if lambd < 0:
            raise RangeError(f"softshrink: lambd is {lambd}, expected a number >= 0.")
        return towards_zero(input, lambd)

    return softshrink

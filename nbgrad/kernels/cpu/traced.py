"""Scalar functions as LLVM instructions, found by running them: on values that write down what is done to them.

A scalar function is Python arithmetic and primitives, mostly without branches. Called with ``Traced`` values it says itself which
instructions it is, where Numba infers types and lowers for every function on the way (``exp`` is seven of
them). What cannot be run so, because it has branches, loops or integer arithmetic, is left to Numba.

NOTE [Same instructions]: the instructions are those of Numba's own lowering, without fast-math flags, in the same order: kernels
have the same bits either way. Kernels that reassociate do not come here: their flags would reach the instructions.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..instantiate import instantiate
from ..prims import llvm_prims, numpy_prims

__all__ = ["traced"]


class Untraceable(Exception):
    """The function does what only Numba can compile."""


class Traced:
    """A value in a function that is being built.

    Attributes:
        builder: where instructions go.
        type: Numba's: the dtype of computation, the integer of its width, boolean or int64.
        value: LLVM's.
    """

    __slots__ = ("builder", "type", "value")
    __array_ufunc__ = None  # NumPy's scalars leave operators with them to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder, type, value):
        self.builder, self.type, self.value = builder, type, value

    def __bool__(self):
        raise Untraceable("a branch")

    def __neg__(self):
        if not isinstance(self.type, types.Float):
            raise Untraceable(f"-{self.type}")
        return Traced(self.builder, self.type, self.builder.fsub(ir.Constant(self.value.type, -0.0), self.value))


def operand(builder, value, type) -> Any:
    """A Traced value, or a constant, as LLVM's value of a Numba type."""
    if isinstance(value, Traced):
        if value.type == type:
            return value.value
        if isinstance(value.type, types.Integer) and type == types.int64:
            return builder.sext(value.value, ir.IntType(64))
        raise Untraceable(f"{value.type} as {type}")
    if isinstance(type, types.Float):
        if not isinstance(value, np.floating) or value.dtype.name != type.name:
            raise Untraceable(f"{value!r} as {type}")
        return ir.Constant({"float32": ir.FloatType(), "float64": ir.DoubleType()}[type.name], float(value))
    if not isinstance(value, bool if type == types.boolean else (int, np.integer)):
        raise Untraceable(f"{value!r} as {type}")
    return ir.Constant(ir.IntType(1 if type == types.boolean else type.bitwidth), int(value))


def type_of(value) -> Any:
    """Numba's type of a Traced value or a constant."""
    if isinstance(value, Traced):
        return value.type
    if isinstance(value, bool):
        return types.boolean
    return types.int64 if isinstance(value, (int, np.integer)) else getattr(types, np.dtype(type(value)).name)


def operator(kind, build: Callable, result=None, swapped=False) -> Callable:
    """A method of Traced for two values of the same type, which is a ``kind``."""

    def method(self, other):
        if not isinstance(self.type, kind):
            raise Untraceable(f"an operator of {self.type}")
        pair = self.value, operand(self.builder, other, self.type)
        return Traced(self.builder, result or self.type, build(self.builder, *(pair[::-1] if swapped else pair)))

    return method


def comparison(sign: str) -> Callable:
    """The method for a comparison; NaN is unequal to everything, and nothing else."""
    name = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"
    of_numbers = operator(types.Float, lambda b, x, y: getattr(b, name)(sign, x, y), types.boolean)
    of_truths = operator(types.Boolean, lambda b, x, y: b.icmp_unsigned(sign, x, y), types.boolean)
    of_integers = operator(types.Integer, lambda b, x, y: b.icmp_signed(sign, x, y), types.boolean)
    by_kind = {types.Float: of_numbers, types.Boolean: of_truths, types.Integer: of_integers}
    return lambda self, other: by_kind[type(self.type)](self, other)


for python, llvm in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    build = getattr(ir.IRBuilder, llvm)
    setattr(Traced, f"__{python}__", operator(types.Float, build))
    setattr(Traced, f"__r{python}__", operator(types.Float, build, swapped=True))
for python, llvm in (("and", "and_"), ("or", "or_"), ("xor", "xor")):
    setattr(Traced, f"__{python}__", operator(types.Boolean, getattr(ir.IRBuilder, llvm)))
    setattr(Traced, f"__r{python}__", operator(types.Boolean, getattr(ir.IRBuilder, llvm), swapped=True))
for python, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(Traced, f"__{python}__", comparison(sign))


def primitive(rule: Callable, of_constants: Callable) -> Callable:
    """One of ``llvm_prims`` as a function of Traced values; of constants alone that of ``numpy_prims``, which has its bits."""

    def call(*operands):
        builder = next((each.builder for each in operands if isinstance(each, Traced)), None)
        if builder is None:
            return of_constants(*operands)
        signature, generate = rule(None, *map(type_of, operands))
        values = [operand(builder, each, type) for each, type in zip(operands, signature.args)]
        return Traced(builder, signature.return_type, generate(None, builder, signature, values))

    return call


def run(function: Callable, kinds: tuple, builder, values) -> tuple:
    """The results of a function of Traced values, one or several."""
    results = function(*(Traced(builder, kind, value) for kind, value in zip(kinds, values)))
    return results if isinstance(results, tuple) else (results,)


def result_types(function: Callable, kinds: tuple) -> list:
    """Numba's types of what a function returns; it is run once, in a module of its own."""
    llvm_types = {"float32": ir.FloatType(), "float64": ir.DoubleType(), "bool": ir.IntType(1)}
    made = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [llvm_types[kind.name] for kind in kinds]), "trial")
    results = run(function, kinds, ir.IRBuilder(made.append_basic_block()), made.args)
    if not all(isinstance(each, Traced) for each in results):
        raise Untraceable("a constant result")
    return [each.type for each in results]


def as_intrinsic(function: Callable, kinds: tuple) -> Any:
    """The function as a Numba intrinsic of operands of those kinds."""
    found = result_types(function, kinds)
    result = found[0] if len(found) == 1 else types.Tuple(found)

    def generate(context, builder, signature, values):
        results = [each.value for each in run(function, kinds, builder, values)]
        return results[0] if len(found) == 1 else context.make_tuple(builder, signature.return_type, results)

    # Numba counts the parameters of what types an intrinsic: as many as the function has.
    scope: dict[str, Any] = {"made": (result(*kinds), generate)}
    names = ", ".join(f"x{k}" for k in range(len(kinds)))
    exec(f"def scalar(typing, {names}):\n    return made", scope)
    return intrinsic(scope["scalar"])


def traced(functions: dict[str, Callable], source: dict[str, Any], dtype: str) -> dict[str, Any]:
    """Those of the given functions that can be traced, as intrinsics.

    Args:
        functions: by the name under which a kernel calls them. Only those of ``codegen`` are traced, whose ``booleans`` says which
            operands are truth values: all others are elements of the dtype, which conversions' are not.
        source: as of ``instantiate``.
        dtype: float32 or float64.
    """
    real = getattr(types, dtype)
    made: dict[str, Any] = {}
    copies: dict[Callable, Callable] = {}
    rules = llvm_prims(lambda rule: rule, types, dtype, f"llvm.rint.f{real.bitwidth}")
    of_constants = numpy_prims(dtype)
    target = {name: primitive(rule, of_constants[name]) for name, rule in rules.items()}
    for name, function in functions.items():
        booleans = getattr(function, "booleans", None)
        if booleans is None:
            continue
        kinds = tuple(types.boolean if boolean else real for boolean in booleans)
        try:
            made[name] = as_intrinsic(instantiate(function, target, source, dtype, cache=copies), kinds)
        except (Untraceable, TypeError, AttributeError):
            continue
    return made

"""Expressions of kernels: syntax trees become instructions, and what is constant is computed."""

from __future__ import annotations

import ast
import builtins
import operator
import types
from typing import Any, Callable

import numpy as np
from llvmlite import ir

from . import kinds
from .arithmetic import (
    Builder,
    Value,
    binary,
    common,
    compare,
    complex_of,
    constant,
    convert,
    ir_of,
    kind_of,
    negative,
    part,
    same_kind,
)
from .kinds import Complex, Float, Integer, Kind, Pointer, Refused

__all__ = ["Expressions", "Namespace", "Primitive", "Scope", "Widened"]

SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def literal(node: ast.expr) -> bool:
    """Whether Python computes an expression when it compiles: before a number becomes one of the dtype."""
    if isinstance(node, ast.BinOp):
        return literal(node.left) and literal(node.right)
    return literal(node.operand) if isinstance(node, ast.UnaryOp) else isinstance(node, ast.Constant)


class Widened(Exception):
    """A variable turned out to need another kind: the kernel is compiled again."""


class Primitive:
    """What this compiler alone can write.

    Attributes:
        emit: ``emit(builder, *operands)`` of what ``expr`` gives, kinds too; gives such a thing, or None.
        read: whether its name is a value, which is written where the name stands; it is called otherwise.
    """

    __slots__ = ("emit", "read")

    def __init__(self, emit: Callable, read: bool = False):
        self.emit, self.read = emit, read


class Namespace:
    """Names behind a name: ``cuda.threadIdx.x``."""

    def __init__(self, **members: Any):
        vars(self).update(members)


class Scope:
    """What is the same for a kernel and all functions that it calls.

    Attributes:
        builder: where instructions go.
        target: what names mean: rules of primitives, kinds, operators.
        source: further names, looked up before a function's own globals.
        dtype: of float literals; None leaves them float64.
        of_constants: primitives of constants, by name.
        layout: of data in the target's memory, in LLVM's words.
        widened: kinds of variables that more than one kind is assigned to, by function, kinds of its arguments and name.
        reached: loads and stores with the pointers that they go through; None: those may share memory.
        loops: how many were begun.
        accesses: how many loads and stores through pointers were written.
        vectors: whether LLVM makes vectors of loops: NOTE [Series].
    """

    def __init__(
        self,
        target: dict[str, Any],
        source: dict[str, Any],
        dtype: str | None,
        of_constants: dict[str, Callable],
        layout: str,
        vectors: bool = False,
    ):
        self.builder: Builder = None  # type: ignore[assignment]  # (made with each attempt)
        self.target, self.source, self.dtype, self.of_constants = target, source, dtype, of_constants
        self.layout, self.widened = layout, dict[tuple, Kind]()
        self.reached: list[tuple[Any, Any]] | None = None
        self.loops = self.accesses = 0
        self.vectors = vectors

    def get_value_type(self, kind: Kind) -> Any:
        """LLVM's type of a kind, as the context that Numba gives to rules says it."""
        return kind.llvm

    def get_dummy_value(self) -> None:
        """What a rule returns that has no result."""
        return None

    def narrow(self, value: Any) -> Any:
        """A Python float as a scalar of the dtype; anything else as it is."""
        return np.dtype(self.dtype).type(value) if type(value) is float and self.dtype is not None else value


class Expressions:
    """Translates the expressions of one function; ``expr`` is the entry.

    Attributes:
        scope: of the kernel.
        function: what is translated.
        known: variables that are set once, and never change.
        places: the memory of the others: kind and address; of a tuple, a tuple of those.
    """

    def __init__(self, scope: Scope, function: types.FunctionType):
        self.scope, self.function = scope, function
        self.known: dict[str, Any] = {}
        self.places: dict[str, Any] = {}

    @property
    def b(self) -> Builder:
        return self.scope.builder

    def expr(self, node: ast.expr) -> Any:
        """A value, a constant, a tuple of them; or a kind, a rule or a function, which is called."""
        of = getattr(self, "of_" + type(node).__name__, None)
        if of is None:
            raise Refused(type(node).__name__)
        return of(node)

    def number(self, node: ast.expr) -> Any:
        """An expression that must be a number, a truth value, a pointer or a tuple."""
        found = self.expr(node)
        if not isinstance(found, (Value, bool, int, float, complex, np.generic, tuple)):
            raise Refused(f"{ast.unparse(node)} as a value")
        return found

    def of_Constant(self, node) -> Any:
        if node.value is None or isinstance(node.value, str):
            raise Refused(repr(node.value))
        return self.scope.narrow(node.value)

    def of_Name(self, node) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        if node.id in self.places:
            return self.loaded(self.places[node.id])
        scope = self.scope
        if node.id in scope.target:
            return scope.target[node.id]
        if node.id in scope.source:
            return scope.narrow(scope.source[node.id])
        if node.id in self.function.__globals__:
            return scope.narrow(self.function.__globals__[node.id])
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        raise Refused(f"the name {node.id}")

    def loaded(self, place: Any) -> Any:
        """What a variable holds."""
        if type(place) is tuple:
            return tuple([self.loaded(each) for each in place])
        return Value(place.kind, self.b.load(place.ir))

    def of_Attribute(self, node) -> Any:
        if node.attr in ("real", "imag"):
            return part(self.b, self.number(node.value), int(node.attr == "imag"))
        owner = self.expr(node.value)
        if isinstance(owner, types.ModuleType):
            return self.scope.narrow(getattr(owner, node.attr))
        if isinstance(owner, Namespace):
            found = getattr(owner, node.attr)
            return found.emit(self.b) if isinstance(found, Primitive) and found.read else found
        raise Refused(f".{node.attr}")

    def of_Tuple(self, node) -> Any:
        return tuple([self.number(each) for each in node.elts])

    def of_Subscript(self, node) -> Any:
        base = self.number(node.value)
        if isinstance(base, tuple):
            k = self.number(node.slice)
            return self.tabulated(base, k) if isinstance(k, Value) else base[k]
        place = self.element(base, node.slice)
        address = base.kind.reached(self.b, place, False)
        return Value(base.kind.dtype, self.noted(self.b.load(address), base))

    def noted(self, access: Any, base: Value) -> Any:
        """A load or store through a pointer, which the scope may want to know of."""
        self.scope.accesses += 1
        if self.scope.reached is not None:
            self.scope.reached.append((access, base.ir))
        return access

    def tabulated(self, numbers: tuple, k: Value) -> Value:
        """The k-th of constants of one kind."""
        kind = kind_of(self.scope.narrow(numbers[0]))
        if any(isinstance(each, Value) or not same_kind(kind_of(self.scope.narrow(each)), kind) for each in numbers):
            raise Refused("an element of a tuple that only the kernel knows")
        b, array = self.b, ir.ArrayType(kind.llvm, len(numbers))
        table = ir.GlobalVariable(b.module, array, b.module.get_unique_name("table"))
        table.linkage, table.global_constant, table.unnamed_addr = "private", True, True
        table.initializer = ir.Constant(array, [constant(each, kind) for each in numbers])
        k = convert(b, k, kinds.int64)
        return Value(kind, b.load(b.gep(table, [ir.Constant(kinds.int64.llvm, 0), k.ir])))

    def element(self, base: Any, index: ast.expr) -> Any:
        """The address of an element behind a pointer."""
        if not isinstance(base, Value) or not isinstance(base.kind, Pointer):
            raise Refused(f"an element of {kind_of(base)}")
        position = self.number(index)
        if not isinstance(kind_of(position), Integer):
            raise Refused(f"an index of {kind_of(position)}")
        return self.b.gep(base.ir, [ir_of(convert(self.b, position, kinds.int64), kinds.int64)])

    def of_BinOp(self, node) -> Any:
        if literal(node):
            return self.scope.narrow(eval(compile(ast.Expression(node), "<literal>", "eval")))
        return self.operated(SIGNS.get(type(node.op), ""), self.number(node.left), self.number(node.right))

    def operated(self, sign: str, x: Any, y: Any) -> Any:
        """``x sign y``."""
        if isinstance(x, tuple) or isinstance(y, tuple):
            raise Refused(f"{sign} of tuples")
        return binary(self.b, sign, x, y)

    def of_UnaryOp(self, node) -> Any:
        if literal(node):
            return self.scope.narrow(eval(compile(ast.Expression(node), "<literal>", "eval")))
        x = self.number(node.operand)
        if isinstance(node.op, ast.USub):
            return negative(self.b, x)
        if isinstance(node.op, ast.Not):
            truth = self.truth(x)
            return Value(kinds.boolean, self.b.not_(truth.ir)) if isinstance(truth, Value) else not truth
        if isinstance(node.op, ast.Invert) and isinstance(kind_of(x), Integer):
            return binary(self.b, "^", x, -1)
        raise Refused(type(node.op).__name__)

    def of_Compare(self, node) -> Any:
        values = [self.number(each) for each in (node.left, *node.comparators)]
        if any(type(how) not in SIGNS for how in node.ops):
            raise Refused(ast.unparse(node))
        found = [compare(self.b, SIGNS[type(how)], x, y) for how, x, y in zip(node.ops, values, values[1:])]
        result = found[0]
        for more in found[1:]:
            result = binary(self.b, "&", result, more)
        return result

    def truth(self, x: Any) -> Any:
        """A value as a condition: a truth value, or a constant."""
        return convert(self.b, x, kinds.boolean) if isinstance(x, Value) else bool(x)

    def of_BoolOp(self, node) -> Any:
        """``and`` and ``or`` of truth values: the second is computed where the first does not decide."""
        first, rest = node.values[0], node.values[1:]
        more = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        both = isinstance(node.op, ast.And)
        known = self.number(first)
        if not isinstance(known, Value):
            return self.number(more) if bool(known) is both else known
        return self.chosen(known, more if both else None, None if both else more, (kinds.boolean, not both))

    def of_IfExp(self, node) -> Any:
        return self.chosen(self.number(node.test), node.body, node.orelse)

    def chosen(self, test: Any, yes: ast.expr | None, no: ast.expr | None, known: tuple = ()) -> Any:
        """One of two expressions; in the place of a missing one is a constant of a kind."""
        truth = self.truth(test)
        if not isinstance(truth, Value):
            return self.number(yes if truth else no)  # type: ignore[arg-type]
        b, ends = self.b, []
        values: list[Any] = []
        blocks, after = [b.append_basic_block(), b.append_basic_block()], b.append_basic_block()
        b.cbranch(truth.ir, *blocks)
        for block, each in zip(blocks, (yes, no)):
            b.position_at_end(block)
            values.append(known[1] if each is None else self.number(each))
            ends.append(b.block)
        if known and not all(same_kind(kind_of(value), known[0]) for value in values):
            raise Refused("and, or of what is no truth value")
        return self.merged(values, ends, after)

    def merged(self, values: list[Any], ends: list[Any], after: Any) -> Any:
        """The value that one of several blocks gives, behind all of them."""
        b = self.b
        kind = self.joined(*map(kind_of, values))
        parts = [value if isinstance(value, tuple) else (value,) for value in values]
        wanted: tuple[Kind, ...] = kind.kinds if isinstance(kind, kinds.Tuple) else (kind,)
        results = list[list[Any]]()
        for block, numbers in zip(ends, parts):
            b.position_at_end(block)
            results.append([ir_of(convert(b, each, one), one) for each, one in zip(numbers, wanted)])
            b.branch(after)
        b.position_at_end(after)
        found = list[Value]()
        for k, one in enumerate(wanted):
            phi = b.phi(one.llvm)
            for block, made in zip(ends, results):
                phi.add_incoming(made[k], block)
            found.append(Value(one, phi))
        return tuple(found) if isinstance(kind, kinds.Tuple) else found[0]

    def joined(self, x: Kind, y: Kind) -> Kind:
        """The kind of what is one or the other."""
        if same_kind(x, y):
            return x
        if isinstance(x, kinds.Tuple) and isinstance(y, kinds.Tuple) and len(x) == len(y):
            return kinds.Tuple(tuple(map(self.joined, x.kinds, y.kinds)))
        if isinstance(x, (Integer, kinds.Boolean)) and isinstance(y, (Integer, kinds.Boolean)):
            return kinds.int64
        return common(x, y)

    # ---- calls ---------------------------------------------------------------------------------------------------------

    def of_Call(self, node) -> Any:
        called = self.expr(node.func) if not isinstance(node.func, ast.Attribute) else self.method(node.func)
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise Refused("a call with names or stars")
        if isinstance(called, Primitive):
            return called.emit(self.b, *map(self.expr, node.args))
        return self.called(called, [self.number(each) for each in node.args])

    def method(self, node: ast.Attribute) -> Any:
        """The function ``conjugate`` of a complex number; another attribute that is called."""
        if node.attr != "conjugate":
            return self.expr(node)
        z = self.number(node.value)
        return lambda b: complex_of(b, part(b, z, 0), negative(b, part(b, z, 1)))

    def called(self, called: Any, operands: list[Any]) -> Any:
        """The result of a call."""
        b = self.b
        if isinstance(called, Kind):
            (x,) = operands
            return convert(b, x, called)
        rule = getattr(called, "rule", None)
        if rule is not None:
            return self.primitive(called, rule, operands)
        sign = OPERATORS.get(called)
        if sign is not None:
            return self.operated(sign, *operands)
        own = OWN.get(called)
        if own is not None:
            return own(b, *operands)
        if isinstance(called, types.FunctionType):
            if called.__name__ == "<lambda>" and called.__module__ == __name__:
                return called(b)
            return self.inlined(called, operands)
        raise Refused(f"a call of {called!r}")

    def primitive(self, called: Any, rule: Callable, operands: list[Any]) -> Any:
        """A primitive, by its rule; of constants alone as NumPy has it."""
        of_constants = self.scope.of_constants.get(called.__name__)
        if of_constants is not None and not any(isinstance(each, (Value, tuple)) for each in operands):
            found = of_constants(*operands)
            return bool(found) if isinstance(found, np.bool_) else found
        try:
            found = rule(None, *map(kind_of, operands))
        except TypeError as error:
            raise Refused(str(error)) from None
        if found is None:
            raise Refused(f"{called.__name__} of these operands")
        signature, generate = found
        values = [self.passed(each, kind) for each, kind in zip(operands, signature.args)]
        found = generate(self.scope, self.b, signature, values)
        return None if signature.return_type is kinds.void else Value(signature.return_type, found)

    def passed(self, operand: Any, kind: Kind) -> Any:
        """An operand as LLVM's value of the kind that a rule wants."""
        if isinstance(operand, tuple):
            found = ir.Constant(kind.llvm, ir.Undefined)
            for k, (each, one) in enumerate(zip(operand, kind.kinds)):  # type: ignore[attr-defined]
                found = self.b.insert_value(found, ir_of(each, one), k)
            return found
        if isinstance(kind_of(operand), Float) and not isinstance(kind, Float):
            raise Refused(f"{kind_of(operand)} as {kind}")
        if isinstance(kind, (Pointer, kinds.Kind)) and not isinstance(operand, Value) and not hasattr(kind, "bitwidth"):
            raise Refused(f"{operand!r} as {kind}")
        return ir_of(convert(self.b, operand, kind), kind)

    def inlined(self, function: types.FunctionType, operands: list[Any]) -> Any:
        """The result of a function whose body comes here."""
        raise NotImplementedError


def extremum(sign: str) -> Callable:
    """``min`` or ``max``, which keeps the first of equal ones, and what NaN comes to."""

    def call(b: Builder, first: Any, *others: Any) -> Any:
        found = first
        for each in others:
            if not isinstance(each, Value) and not isinstance(found, Value):
                found = each if compare(b, sign, each, found) else found
                continue
            x, y = kind_of(each), kind_of(found)
            kind = x if same_kind(x, y) else common(x, y)
            p, q = convert(b, each, kind), convert(b, found, kind)
            found = Value(kind, b.select(compare(b, sign, p, q).ir, ir_of(p, kind), ir_of(q, kind)))
        return found

    return call


def whole(b: Builder, x: Any) -> Any:
    """``int(x)``."""
    return convert(b, x, kinds.int64) if isinstance(x, Value) else int(x)


def real(b: Builder, x: Any) -> Any:
    """``float(x)``: a float stays what it is."""
    return x if isinstance(kind_of(x), Float) else convert(b, x, kinds.float64)


def magnitude(b: Builder, x: Any) -> Any:
    """``abs(x)`` of an integer."""
    if not isinstance(x, Value):
        return abs(x)
    if not isinstance(x.kind, Integer) or not x.kind.signed:
        raise Refused(f"abs of {x.kind}")
    wide = convert(b, x, kinds.int64)
    below = b.icmp_signed("<", wide.ir, ir.Constant(kinds.int64.llvm, 0))
    return Value(kinds.int64, b.select(below, negative(b, wide).ir, wide.ir))


def paired(b: Builder, x: Any, y: Any = None) -> Any:
    """``complex(x, y)``."""
    if y is None:
        if isinstance(kind_of(x), Complex):
            return x
        y = convert(b, 0.0, kind_of(x)) if isinstance(kind_of(x), Float) else 0.0
    return complex_of(b, x, y)


OPERATORS = {operator.add: "+", operator.mul: "*", operator.or_: "|", operator.and_: "&"}
# What Python's own functions are.
OWN: dict[Any, Callable] = {
    min: extremum("<"),
    max: extremum(">"),
    int: whole,
    float: real,
    abs: magnitude,
    complex: paired,
    bool: lambda b, x: convert(b, x, kinds.boolean) if isinstance(x, Value) else bool(x),
}

"""Statements of kernels: assignments, branches, loops.

A variable that is set once is its value; the others are memory, which LLVM makes registers of. Where values of several kinds are
assigned to one, it has the kind that holds them all, and the kernel is compiled again.
"""

from __future__ import annotations

import ast
import types
from collections import Counter
from functools import cache
from typing import Any

from llvmlite import ir

from . import kinds
from .arithmetic import Value, binary, convert, ir_of, kind_of, same_kind
from .expressions import SIGNS, Expressions, Scope, Widened
from .kinds import IntegerLiteral, Pointer, Refused
from .loops import LOOPS, MOST_TERMS, OUTER, SERIES, Told, hinted

__all__ = ["Statements"]


class Names:
    """What a part of a function sets and reads: how often, by name."""

    __slots__ = ("stored", "read")

    def __init__(self) -> None:
        self.stored, self.read = Counter[str](), Counter[str]()


@cache
def changing(tree: ast.FunctionDef) -> set[str]:
    """Names that are set more than once, or by a branch or a loop outside of which they are read."""
    whole, parts = Names(), list[Names]()
    whole.stored.update(each.arg for each in tree.args.args)
    for statement in tree.body:
        note_names(statement, (whole,), parts)
    found = {name for name, count in whole.stored.items() if count > 1}
    for part in parts:
        found.update(name for name in part.stored if part.read[name] < whole.read[name])
    return found


def note_names(node: Any, around: tuple[Names, ...], parts: list[Names]) -> None:
    """Note the names in a node for the parts that it lies in, and these parts: bodies of branches and loops."""
    kind = type(node)
    if kind is ast.Name:
        how = "read" if type(node.ctx) is ast.Load else "stored"
        for each in () if type(node.ctx) is ast.Del else around:
            getattr(each, how)[node.id] += 1
        return
    if kind is ast.AugAssign and type(node.target) is ast.Name:
        around[0].stored[node.target.id] += 1  # is read, too
    if kind in (ast.If, ast.For, ast.While):
        for field in ("test", "iter", "target"):
            if (part := getattr(node, field, None)) is not None:
                note_names(part, around, parts)
        for statements in (node.body, node.orelse):
            inside = Names()
            parts.append(inside)
            if kind is ast.For and type(node.target) is ast.Name:
                inside.stored[node.target.id] += 1
            for statement in statements:
                note_names(statement, (*around, inside), parts)
        return
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            note_names(value, around, parts)
        elif type(value) is list:
            for each in value:
                if isinstance(each, ast.AST):
                    note_names(each, around, parts)


@cache
def is_series(loop: ast.For) -> bool:
    """Whether nothing in a loop leaves it early."""
    return not any(isinstance(each, (ast.Break, ast.Return)) for each in ast.walk(loop))


def fixed_trips(bounds: list[Any]) -> int:
    """How often a loop runs; 0 if only the kernel knows."""
    return 0 if any(isinstance(each, Value) for each in bounds) else len(range(*map(int, bounds)))


class Statements(Expressions):
    """Translates the statements of one function.

    Attributes:
        key: the function and the kinds of its arguments.
        often: the names that are set more than once, or read outside of the branch or loop that sets them.
        loops: where ``continue`` and ``break`` lead, innermost last.
        end: where ``return`` leads, if not only the last statement returns; and the places of what it returns.
    """

    def __init__(self, scope: Scope, function: types.FunctionType, tree: ast.FunctionDef, operands: list[Any]):
        super().__init__(scope, function)
        self.key = (function.__code__, tuple([str(kind_of(each)) for each in operands]))
        self.often = changing(tree)
        self.loops: list[tuple[Any, Any]] = []
        self.end: Any = None
        self.returned: Any = None
        parameters = [each.arg for each in tree.args.args]
        if len(parameters) != len(operands) or tree.args.vararg or tree.args.kwonlyargs or tree.args.kwarg:
            raise Refused(f"{len(operands)} operands of {tree.name}")
        for name, operand in zip(parameters, operands):
            self.assign(name, operand)

    # ---- variables -----------------------------------------------------------------------------------------------------

    def assign(self, name: str, value: Any) -> None:
        """Set a variable."""
        if value is None:
            raise Refused(f"{name} is nothing")
        if name not in self.often:
            self.known[name] = value
            return
        place = self.places.get(name)
        if place is None:
            place = self.places[name] = self.place(name, value)
        self.store(name, place, value)

    def place(self, name: str, value: Any) -> Any:
        """Memory for a variable, of the kind of its first value or as wide as an earlier attempt found it to be."""
        if isinstance(value, tuple):
            return tuple([self.place(f"{name}.{k}", each) for k, each in enumerate(value)])
        kind = self.scope.widened.get((*self.key, name)) or kind_of(value)
        if isinstance(kind, IntegerLiteral):
            kind = kinds.int64
        return self.memory(kind)

    def memory(self, kind: Any) -> Value:
        """New memory for a value."""
        with self.b.goto_entry_block():
            return Value(kind, self.b.alloca(kind.llvm))

    def store(self, name: str, place: Any, value: Any) -> None:
        """Put a value into a variable's memory."""
        if type(place) is tuple:
            if not isinstance(value, tuple) or len(value) != len(place):
                raise Refused(f"{name} is a tuple, or something else")
            for k, (at, each) in enumerate(zip(place, value)):
                self.store(f"{name}.{k}", at, each)
            return
        kind = kind_of(value)
        if not same_kind(kind, place.kind):
            wider = self.joined(kind, place.kind)
            if not same_kind(wider, place.kind):
                self.scope.widened[(*self.key, name)] = wider
                raise Widened
        self.b.store(ir_of(convert(self.b, value, place.kind), place.kind), place.ir)

    def assign_to(self, target: ast.expr, value: Any) -> None:
        """Set what an assignment names."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise Refused(f"{ast.unparse(target)} = {value}")
            for each, one in zip(target.elts, value):
                self.assign_to(each, one)
        elif isinstance(target, ast.Subscript):
            base = self.number(target.value)
            self.store_at(base, self.element(base, target.slice), value)
        else:
            raise Refused(type(target).__name__)

    def store_at(self, base: Value, address: Any, value: Any) -> None:
        """Put a number behind a pointer."""
        assert isinstance(base.kind, Pointer)
        kind = base.kind.dtype
        element = ir_of(convert(self.b, value, kind), kind)
        self.noted(self.b.store(element, base.kind.reached(self.b, address, True)), base)

    # ---- statements ----------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> bool:
        """Translate statements; whether the end of them is reached."""
        for node in statements:
            do = getattr(self, "do_" + type(node).__name__, None)
            if do is None:
                raise Refused(type(node).__name__)
            if do(node) is False:
                return False
        return True

    def do_Pass(self, node) -> None:
        """Nothing."""

    def do_Expr(self, node) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expr(node.value)

    def do_Assign(self, node) -> None:
        value = self.number(node.value)
        for target in node.targets:
            self.assign_to(target, value)

    def do_AugAssign(self, node) -> None:
        sign = SIGNS.get(type(node.op), "")
        if isinstance(node.target, ast.Name):
            before = self.number(ast.Name(node.target.id, ast.Load()))
            self.assign(node.target.id, self.operated(sign, before, self.number(node.value)))
            return
        if not isinstance(node.target, ast.Subscript):
            raise Refused(ast.unparse(node.target))
        base = self.number(node.target.value)
        address = self.element(base, node.target.slice)
        before = Value(base.kind.dtype, self.b.load(base.kind.reached(self.b, address, False)))
        self.store_at(base, address, self.operated(sign, before, self.number(node.value)))

    def do_If(self, node) -> bool:
        truth, b = self.truth(self.number(node.test)), self.b
        if not isinstance(truth, Value):
            return self.block(node.body if truth else node.orelse)
        yes, no, after = (b.append_basic_block() for _ in range(3))
        b.cbranch(truth.ir, yes, no)
        reached = False
        for block, part in ((yes, node.body), (no, node.orelse)):
            b.position_at_end(block)
            if self.block(part):
                reached = True
                b.branch(after)
        b.position_at_end(after)
        if not reached:
            b.unreachable()
        return reached

    def do_While(self, node) -> None:
        if node.orelse:
            raise Refused("while with else")
        b = self.b
        test, body, after = (b.append_basic_block() for _ in range(3))
        b.branch(test)
        b.position_at_end(test)
        truth = self.truth(self.number(node.test))
        b.cbranch(ir_of(truth, kinds.boolean), body, after)
        b.position_at_end(body)
        self.looped(node.body, test, after)

    def looped(self, body: list[ast.stmt], test: Any, after: Any, told: Told = (), fixed: bool = False) -> None:
        """The body of a loop, and the way back to its test.

        Args:
            fixed: whether it is known now how often the loop runs, and that this is not very often.
        """
        b, scope = self.b, self.scope
        again = b.append_basic_block()
        self.loops.append((again, after))
        scope.loops += 1
        begun, accesses = scope.loops, scope.accesses
        if self.block(body):
            b.branch(again)
        self.loops.pop()
        b.position_at_end(again)
        if not told and scope.loops > begun:
            told = OUTER
        elif not told and fixed and scope.accesses == accesses:
            told = SERIES
        hinted(b.branch(test), told)
        b.position_at_end(after)

    def do_For(self, node) -> None:
        call = node.iter
        kind = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if node.orelse or kind not in LOOPS:
            raise Refused(f"for over {ast.unparse(call)}")
        bounds = [convert(self.b, self.number(each), kinds.int64) for each in call.args]
        first, last, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        b, i64 = self.b, kinds.int64
        place, left = self.memory(i64), self.memory(i64)
        b.store(ir_of(first, i64), place.ir)
        b.store(self.trips(first, last, step), left.ir)
        test, body, after = (b.append_basic_block() for _ in range(3))
        b.branch(test)
        b.position_at_end(test)
        count, now = b.load(left.ir), b.load(place.ir)
        b.cbranch(b.icmp_signed(">", count, ir.Constant(i64.llvm, 0)), body, after)
        b.position_at_end(body)
        b.store(b.sub(count, ir.Constant(i64.llvm, 1), flags=("nsw",)), left.ir)
        b.store(b.add(now, ir_of(step, i64)), place.ir)
        self.assign_to(node.target, Value(i64, now))
        fixed = self.scope.vectors and 0 < fixed_trips(bounds) <= MOST_TERMS and is_series(node)
        self.looped(node.body, test, after, LOOPS[kind], fixed)

    def trips(self, first: Any, last: Any, step: Any) -> Any:
        """How often a loop runs, if that is positive."""
        b, zero = self.b, ir.Constant(kinds.int64.llvm, 0)
        length = binary(b, "-", last, first)
        distance, by = ir_of(length, kinds.int64), ir_of(step, kinds.int64)
        if not isinstance(step, Value) and step == 1:
            return distance
        if isinstance(step, Value):  # LLVM must not divide by 0, although no kernel has such a step
            by = b.select(b.icmp_signed("==", by, zero), ir.Constant(by.type, 1), by)
        rest = b.srem(distance, by)
        onward = b.icmp_signed(">", distance, zero)
        uneven = b.icmp_signed(">", b.select(onward, rest, b.neg(rest)), zero)
        count = b.add(b.sdiv(distance, by), b.zext(uneven, by.type))
        return b.select(b.xor(onward, b.icmp_signed(">", by, zero)), zero, count)

    def do_Break(self, node) -> bool:
        self.b.branch(self.loops[-1][1])
        return False

    def do_Continue(self, node) -> bool:
        self.b.branch(self.loops[-1][0])
        return False

    def do_Return(self, node) -> bool:
        value = None if node.value is None else self.number(node.value)
        if self.end is None:
            self.returned = value
            return False
        if value is not None:
            if self.returned is None:
                self.returned = self.place("return", value)
            self.store("return", self.returned, value)
        self.b.branch(self.end)
        return False

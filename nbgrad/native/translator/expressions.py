"""Expressions of native code; and conditions, with what they tell of variables on either way."""

from __future__ import annotations

import ast
import math

from ..language import Static
from .kinds import ANY, BOOL, INT, NAMES, NONE, WORDS, Kind, Value, joined
from .values import Values


class Expressions(Values):
    """The translation of every kind of expression; ``expr`` is the entry."""

    def expr(self, node: ast.expr) -> Value:
        of = getattr(self, "of_" + type(node).__name__, None)
        if of is None:
            raise self.refuse(node, f"{type(node).__name__} is no expression of native code")
        return of(node)

    def of_Constant(self, node) -> Value:
        if node.value is None:
            return Value("@_Py_NoneStruct", NONE)
        if isinstance(node.value, bool):
            return Value(str(node.value).lower(), BOOL)
        if isinstance(node.value, int):
            return self.constant_int(node.value, node)
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise self.refuse(node, "has no literal")
        return self.known(repr(node.value), type(node.value))

    def of_Name(self, node) -> Value:
        if node.id in self.kinds:
            return self.variable(node.id)
        if node.id in self.local or node.id not in self.scope and node.id not in NAMES:
            raise self.refuse(node, "is not set on all ways to here")
        found = self.scope.get(node.id, NAMES.get(node.id))
        if isinstance(found, Static):
            return Value(self.unit.static(node.id, found), WORDS)
        return self.constant_int(found, node) if type(found) is int else self.known(node.id, type(found), self.scope["__name__"])

    def of_Attribute(self, node) -> Value:
        return self.attribute(self.boxed(self.expr(node.value)), node)

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """The value of a slot, or the attribute that Python finds."""
        cls = base.kind.cls
        note = self.unit.annotation(cls, node.attr)
        if note is None:
            name = self.known(repr(node.attr), str)
            (base,) = self.held(base)
            return self.new(self.op(f"call ptr @PyObject_GetAttr(ptr {base.ir}, ptr {name.ir})"), ANY)
        ir = self.op(f"load ptr, ptr {self.at(base.ir, self.offset(base, node, node.attr))}")
        if self.unit.checked:
            self.raise_if(self.op(f"icmp eq ptr {ir}, null"), "AttributeError", f"{cls.__name__}.{node.attr} is not set\n")
        found = Value(ir, ANY, base.root, "", base.lender) if self.is_frozen(cls) else Value(ir, ANY, "")
        return self.promised(found, self.unit.kind(note, self.scope, True))

    def of_Subscript(self, node) -> Value:
        if isinstance(node.slice, ast.Slice):
            return self.part(self.expr(node.value), node)
        where, key = self.values([node.value, node.slice])
        return self.item(where, self.index(key, node), node)

    BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}

    ORDER = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}

    def of_BinOp(self, node) -> Value:
        left, right = self.values([node.left, node.right])
        if (left.kind, right.kind) != (INT, INT):
            raise self.refuse(node, "arithmetic of what is no int")
        if type(node.op) in self.BINARY:
            return Value(self.op(f"{self.BINARY[type(node.op)]} i64 {left.ir}, {right.ir}"), INT)
        if isinstance(node.op, (ast.LShift, ast.RShift)):
            return Value(self.shifted(node, left.ir, right.ir), INT)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            return Value(self.divided(node, left.ir, right.ir), INT)
        raise self.refuse(node, "is no operation of machine numbers")

    def shifted(self, node: ast.BinOp, x: str, bits: str) -> str:
        """A shift as in Python: by more bits than a number has it gives 0, or -1.

        In raw code a negative count is a large one.
        """
        left = isinstance(node.op, ast.LShift)
        if bits.lstrip("-").isdigit():
            if not 0 <= int(bits) < 64:
                raise self.refuse(node, "a machine number has 64 bits")
            return self.op(f"{'shl' if left else 'ashr'} i64 {x}, {bits}")
        if not self.raw:
            self.raise_if(self.op(f"icmp slt i64 {bits}, 0"), "ValueError", "negative shift count")
        far = self.op(f"icmp ugt i64 {bits}, 63")
        if left:
            return self.op(f"select i1 {far}, i64 0, i64 {self.op(f'shl i64 {x}, {bits}')}")
        return self.op(f"ashr i64 {x}, {self.op(f'select i1 {far}, i64 63, i64 {bits}')}")

    def divided(self, node: ast.BinOp, x: str, y: str) -> str:
        """A division as in Python: rounded down, the remainder with the divisor's sign. Raw code must not divide by 0."""
        if y == "0":
            raise self.refuse(node, "division by zero")
        if not self.raw and not y.lstrip("-").isdigit():
            self.raise_if(self.op(f"icmp eq i64 {y}, 0"), "ZeroDivisionError", "integer division or modulo by zero")
        minus = self.op(f"icmp eq i64 {y}, -1")  # the processor traps at the lowest number by -1
        by = self.op(f"select i1 {minus}, i64 1, i64 {y}")
        rest = self.op(f"srem i64 {x}, {by}")
        apart = self.op(f"icmp slt i64 {self.op(f'xor i64 {rest}, {by}')}, 0")
        down = self.op(f"and i1 {apart}, {self.op(f'icmp ne i64 {rest}, 0')}")
        if isinstance(node.op, ast.Mod):
            return self.op(f"add i64 {rest}, {self.op(f'select i1 {down}, i64 {by}, i64 0')}")
        quotient = self.op(f"sub i64 {self.op(f'sdiv i64 {x}, {by}')}, {self.op(f'zext i1 {down} to i64')}")
        return self.op(f"select i1 {minus}, i64 {self.op(f'sub i64 0, {x}')}, i64 {quotient}")

    def of_Compare(self, node) -> Value:
        if not all(isinstance(each, (ast.Name, ast.Constant)) for each in node.comparators[1:]):
            raise self.refuse(node, "only names and constants may come third: Python does not always come to them")
        terms, parts = self.values([node.left, *node.comparators]), []
        for left, right, how in zip(terms, terms[1:], node.ops):
            if isinstance(how, (ast.Is, ast.IsNot)):
                sign = "eq" if isinstance(how, ast.Is) else "ne"
                parts.append(self.op(f"icmp {sign} ptr {self.itself(left, node).ir}, {self.itself(right, node).ir}"))
            elif isinstance(how, (ast.In, ast.NotIn)) and right.kind.cls is dict and not right.kind.optional:
                found = self.op(f"call i32 @PyDict_Contains(ptr {right.ir}, ptr {self.boxed(left).ir})")
                self.fail_if(self.op(f"icmp slt i32 {found}, 0"))
                parts.append(self.op(f"icmp {'ne' if isinstance(how, ast.In) else 'eq'} i32 {found}, 0"))
            elif (left.kind, right.kind) == (INT, INT) and type(how) in self.ORDER:
                parts.append(self.op(f"icmp {self.ORDER[type(how)]} i64 {left.ir}, {right.ir}"))
            else:
                raise self.refuse(node, "a comparison of objects")
        while len(parts) > 1:
            parts[:2] = [self.op(f"and i1 {parts[0]}, {parts[1]}")]
        return Value(parts[0], BOOL)

    def itself(self, value: Value, node: ast.AST) -> Value:
        """An operand of ``is``: an object, a bool, or an int so small that Python has one object for it."""
        small = value.kind is INT and value.ir.isdigit() and int(value.ir) <= 256
        if value.kind.what != "object" and value.kind is not BOOL and not small:
            raise self.refuse(node, "machine numbers are equal, never the same object")
        return self.boxed(value)

    def of_IfExp(self, node, bools: bool = False) -> Value:
        """One of two values, which the statement owns."""
        yes, no, end = (self.name() for _ in range(3))
        facts, base, values, where, since = self.test(node.test, yes, no, bools), self.kinds, [], "", len(self.pending)
        for label, known, part in ((yes, facts[0], node.body), (no, facts[1], node.orelse)):
            self.label(label)
            self.kinds = {**base, **known}
            value = self.expr(part)
            values.append(value)
            if value.kind.what != values[0].kind.what or value.kind.what in ("row", "words"):
                raise self.refuse(node, "is of one kind or another")
            if value.kind.what == "object":
                where = where or self.slot()
                self.emit(f"store ptr {self.take(value)}, ptr {where}")
            else:
                if not where:
                    where = f"%either.{end}"
                    self.allocas.append(f"{where} = alloca {value.kind.ir}")
                self.emit(f"store {value.kind.ir} {value.ir}, ptr {where}")
            self.end(since)
            self.emit(f"br label %{end}")
        self.label(end)
        self.kinds, kind = base, joined(*(value.kind for value in values))
        ir = self.op(f"load {kind.ir}, ptr {where}")
        if kind.what != "object":
            return Value(ir, kind)
        self.pending.append((where, ir))
        return Value(ir, kind, "here", where)

    def of_BoolOp(self, node) -> Value:
        return self.of_IfExp(ast.copy_location(ast.IfExp(node, ast.Constant(True), ast.Constant(False)), node), True)

    def of_UnaryOp(self, node) -> Value:
        if isinstance(node.op, ast.Not):
            return self.of_BoolOp(node)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
            return self.constant_int(-node.operand.value, node)
        value = self.expr(node.operand)
        if value.kind is not INT or isinstance(node.op, ast.UAdd):
            raise self.refuse(node, "is no operation of machine numbers")
        return Value(self.op(f"sub i64 0, {value.ir}" if isinstance(node.op, ast.USub) else f"xor i64 {value.ir}, -1"), INT)

    def of_Tuple(self, node) -> Value:
        values = [self.boxed(v) for v in self.held(*self.values(node.elts))]
        new = self.new(self.op(f"call ptr @PyTuple_New(i64 {len(values)})"), Kind("object", tuple))
        for k, value in enumerate(values):
            ir = self.take(value)
            self.emit(f"store ptr {ir}, ptr {self.at(self.at(new.ir, '@TUPLE_ITEMS'), k, 'ptr')}")
        return new

    def of_List(self, node) -> Value:
        values = self.held(*self.values(node.elts))
        new = self.new(self.op("call ptr @PyList_New(i64 0)"), Kind("object", list))
        for value in values:
            self.status("PyList_Append", new, value)
        return new

    def test(self, node: ast.expr, yes: str, no: str, bools: bool = False) -> tuple[dict, dict]:
        """Branch on a condition, which ``bools`` wants to be one; what is known of variables on either way."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.test(node.operand, no, yes)[::-1]
        if isinstance(node, ast.BoolOp):
            known: dict[str, Kind] = {}
            base, both = self.kinds, isinstance(node.op, ast.And)
            for part in node.values[:-1]:
                more = self.name()
                known |= self.test(part, more, no, bools)[0] if both else self.test(part, yes, more, bools)[1]
                self.label(more)
                self.kinds = {**base, **known}
            known |= self.test(node.values[-1], yes, no, bools)[0 if both else 1]
            self.kinds = base
            return (known, {}) if both else ({}, known)
        since, value = len(self.pending), self.expr(node)
        if bools and value.kind is not BOOL and value.kind != Kind("object", bool):
            raise self.refuse(node, "is no bool; what and, or make of other things is one of them")
        truth, facts = self.truth(value, node), self.facts(node)
        self.end(since)
        self.emit(f"br i1 {truth}, label %{yes}, label %{no}")
        return facts

    def facts(self, node: ast.expr) -> tuple[dict, dict]:
        """What ``isinstance(name, cls)``, ``type(name) is cls`` and ``name is None`` say of a variable, if true and if not."""
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name() as cls]):
                return {name: self.class_of(cls)} if name in self.kinds else {}, {}
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]), ops=[how], comparators=[ast.Name() as cls]
            ):
                known: tuple[dict, dict] = {name: self.class_of(cls)}, {}
            case ast.Compare(left=ast.Name(id=name), ops=[how], comparators=[ast.Constant(value=None)]):
                known = {name: NONE}, {name: self.kinds.get(name, ANY)._replace(optional=False)}
            case _:
                return {}, {}
        if name not in self.kinds:
            return {}, {}
        return known if isinstance(how, ast.Is) else known[::-1]

    def truth(self, value: Value, node: ast.expr) -> str:
        if value.kind is BOOL:
            return value.ir
        if value.kind.cls is bool:
            return self.op(f"icmp eq ptr {value.ir}, @_Py_TrueStruct")
        return self.op(f"icmp ne i64 {value.ir if value.kind is INT else self.length(value, node)}, 0")

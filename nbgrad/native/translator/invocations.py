"""Calls: of native functions and primitives, of the C library, of Python objects, and of forms that only look like calls."""

from __future__ import annotations

import ast
import builtins
import copy
import types
from collections.abc import Container, Hashable, Sequence
from typing import Any, TypeGuard, cast

from ..primitives import function_address, give_lock, new, others, take_lock, words
from .expressions import Expressions
from .kinds import ANY, BOOL, FLOAT, INT, NONE, NOTHING, ROW, WORDS, Kind, Made, Value

# Functions of Python's own, and forms of this language, with the number of their arguments.
FORMS: dict[Any, tuple[str, int]] = {
    len: ("len", 1),
    int: ("int", 1),
    float: ("float", 1),
    cast: ("cast", 2),
    hasattr: ("hasattr", 2),
    type: ("type", 1),
    isinstance: ("isinstance", 2),
    tuple: ("tuple", 1),
    others: ("others", 1),
    function_address: ("function_address", 1),
    words: ("words", 1),
    new: ("new", 1),
}


class Invocations(Expressions):
    """The translation of calls."""

    def of_Call(self, node) -> Value:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.local:
            known: Any = self.scope.get(function.id, getattr(builtins, function.id, None))
            form, count = FORMS.get(known, ("", 0)) if isinstance(known, Hashable) else ("", 0)
            if node.keywords and form != "new":
                raise self.refuse(node, "an argument has no name")
            if form:
                if len(node.args) != count or any(isinstance(each, ast.Starred) for each in node.args):
                    raise self.refuse(node, f"{len(node.args)} arguments, expected {count}")
                return getattr(self, "call_" + form)(node)
            if hasattr(known, "primitive"):
                self.unlocked = self.unlocked and known is not take_lock
                called = self.invoke(self.unit.primitive(known), node)
                self.unlocked = self.unlocked or known is give_lock
                return called
            if hasattr(known, "c_function"):
                return self.c_call(known.c_function, node)
            if isinstance(known, types.FunctionType) and known in self.unit.functions:
                return self.invoke(self.unit.function(known), node)
        if node.keywords:
            raise self.refuse(node, "an argument has no name")
        if isinstance(function, ast.Attribute):
            base = self.expr(function.value)
            method: Any = vars(base.kind.cls).get(function.attr) if isinstance(base.kind.cls, type) else None
            if isinstance(method, types.FunctionType) and method in self.unit.functions:
                return self.invoke(self.unit.function(method), node, [base])
            if method in (list.append, set.add, dict.get) and len(node.args) == 1:
                return self.method(method, base, node)
            (callee,) = self.held(self.attribute(self.boxed(base), function))
        else:
            (callee,) = self.held(self.boxed(self.expr(function)))
        single = len(node.args) == 1 and isinstance(node.args[0], ast.Starred)
        row = self.row(node.args, 0 if single else 1)
        flagged = row.ir[1] if single else self.op(f"or i64 {row.ir[1]}, -9223372036854775808")  # a place in front is free
        return self.new(self.op(f"call ptr @PyObject_Vectorcall(ptr {callee.ir}, ptr {row.ir[0]}, i64 {flagged}, ptr null)"), ANY)

    def method(self, method: Any, base: Value, node: ast.Call) -> Value:
        """``append`` of a list, ``add`` of a set, ``get`` of a dict."""
        if base.kind.optional:
            raise self.refuse(node, "may be None here")
        base, given = self.values(node.args, base)
        if method is not dict.get:
            self.status("PyList_Append" if method is list.append else "PySet_Add", base, given)
            return Value("@_Py_NoneStruct", NONE)
        key = self.boxed(given)
        found = self.op(f"call ptr @found(ptr {base.ir}, ptr {key.ir})")
        self.fail_if(self.op(f"icmp eq ptr {found}, null"))
        return Value(found, ANY, "")

    def c_call(self, known: tuple[str, int, str], node: ast.Call) -> Value:
        """A function of the C library."""
        symbol, count, out = known
        if len(node.args) != count:
            raise self.refuse(node, f"{len(node.args)} arguments, expected {count}")
        values = self.values(node.args)
        if any(value.kind not in (INT, WORDS) for value in values):
            raise self.refuse(node, "C functions take ints and words")
        args = [f"i64 {v.ir if v.kind is INT else self.op(f'ptrtoint ptr {v.ir} to i64')}" for v in values]
        if out == "void":
            self.emit(f"call void @{symbol}({', '.join(args)})")
            return Value("@_Py_NoneStruct", NONE)
        result = self.op(f"call {out} @{symbol}({', '.join(args)})")
        return Value(result if out == "i64" else self.op(f"sext i32 {result} to i64"), INT)

    def row(self, nodes: list[ast.expr], free: int = 0) -> Value:
        """Arguments in memory, one behind the other, with free places in front; the last may be all operands of a row."""
        last = nodes[-1] if nodes and isinstance(nodes[-1], ast.Starred) else None
        values, rest = self.values([*nodes[:-1], last.value] if last else nodes), None
        if last:
            rest = self.operands(values.pop(), last)
            if not values and not free:
                return rest  # as they are
        values = [self.boxed(v) for v in self.held(*values)]
        memory = f"%row.{self.name()}"
        self.allocas.append(f"{memory} = alloca [{free + len(values) + (self.unit.most if rest else 0)} x ptr]")
        first = self.at(memory, free, "ptr")
        for k, value in enumerate(values):
            self.emit(f"store ptr {value.ir}, ptr {self.at(first, k, 'ptr')}")
        if rest is None:
            return Value((first, str(len(values))), ROW)
        self.raise_if(self.op(f"icmp ugt i64 {rest.ir[1]}, {self.unit.most}"), "TypeError", "launch: too many operands in a call")
        self.emit(f"call void @copy_row(ptr {self.at(first, len(values), 'ptr')}, ptr {rest.ir[0]}, i64 {rest.ir[1]})")
        return Value((first, self.op(f"add i64 {rest.ir[1]}, {len(values)}")), ROW)

    def operands(self, value: Value, node: ast.AST) -> Value:
        """A row, or the items of a tuple as one."""
        if value.kind is ROW:
            return value
        if value.kind.cls is not tuple:
            raise self.refuse(node, "a row or a tuple is expected")
        (value,) = self.held(value)
        return Value((self.at(value.ir, "@TUPLE_ITEMS"), self.length(value, node)), ROW)

    def invoke(self, made: Made, node: ast.Call, given: Sequence[Value] = ()) -> Value:
        """Call a native function or a primitive."""
        fixed = len(made.kinds) - len(given)
        values = self.values(node.args[:fixed], *given)
        if len(values) != len(made.kinds) or len(node.args) > fixed and not made.star:
            raise self.refuse(node, f"{len(node.args)} arguments, expected {fixed}")
        values = [self.adapted(v, k, node) for v, k in zip(values, made.kinds)]
        if made.yields and not made.late:
            values = self.held(*values)
        rows = [v for v in values if v.kind is ROW] + ([self.row(node.args[fixed:])] if made.star else [])
        args = [f"{v.kind.ir} {v.ir}" for v in values if v.kind is not ROW] + [f"ptr {r.ir[0]}, i64 {r.ir[1]}" for r in rows]
        call, result = f"call {made.out} @{made.symbol}({', '.join(args)})", made.result
        self.yields += made.yields
        if made.yields:
            self.has_lock("run")
        if made.out == "void":
            self.emit(call)
            return Value("@_Py_NoneStruct", NONE)
        ir = self.op(call)
        if result.ir == "ptr" and result is not NOTHING:
            if made.raises:
                self.fail_if(self.op(f"icmp eq ptr {ir}, null"))
            if made.new and result.what == "object":
                return self.own(ir, result)
            if result is WORDS:  # live as long as what they are of
                self.late.update(v.lender for v in values if v.lender)
                lasting = all(v.root == "always" or v.lender or v.slot in self.owned.values() for v in values)
                return Value(ir, result, "always" if lasting else "")
            if self.unit.checked and not made.raises:
                self.raise_if(self.op(f"icmp eq ptr {ir}, null"), "AttributeError", f"{made.symbol[2:]}: nothing is there")
            return Value(ir, result, "")
        if made.raises:
            self.fail_if(ir if result is NOTHING else self.op(f"extractvalue {made.out} {ir}, 1"))
            ir = "@_Py_NoneStruct" if result is NOTHING else self.op(f"extractvalue {made.out} {ir}, 0")
        return Value(ir, NONE if result is NOTHING else result)

    def bounds(self, node: Any) -> tuple[str, str]:
        """First number of a range, and the one behind its last."""
        if node.keywords or len(node.args) not in (1, 2):
            raise self.refuse(node, "a range has one or two bounds")
        values = self.values(node.args)
        if any(value.kind is not INT for value in values):
            raise self.refuse(node, "a range has bounds that are ints")
        return "0" if len(values) == 1 else values[0].ir, values[-1].ir

    def operand(self, node: ast.Call) -> Value:
        """The first argument, an object."""
        value = self.expr(node.args[0])
        if value.kind.what != "object":
            raise self.refuse(node, f"{value.kind.what} given, expected an object")
        return value

    def call_len(self, node) -> Value:
        return Value(self.length(self.expr(node.args[0]), node), INT)

    def call_int(self, node) -> Value:
        """Of an int: another number, or a text, is refused here, or raises TypeError."""
        value = self.expr(node.args[0])
        if value.kind is BOOL:
            return Value(self.op(f"zext i1 {value.ir} to i64"), INT)
        if value.kind is not INT and (value.kind.what != "object" or value.kind.cls not in (object, int, bool)):
            raise self.refuse(node, "an int is expected")
        return value if value.kind is INT else self.number(value, INT, "int_of")

    def call_float(self, node) -> Value:
        value = self.expr(node.args[0])
        if value.kind is INT:
            return Value(self.op(f"sitofp i64 {value.ir} to double"), FLOAT)
        if value.kind is not FLOAT and (value.kind.what != "object" or value.kind.cls not in (object, int, bool, float)):
            raise self.refuse(node, "a number is expected")
        return value if value.kind is FLOAT else self.number(value, FLOAT, "float_of")

    def call_cast(self, node) -> Value:
        kind = self.class_of(node.args[0])
        if kind.what != "object":
            raise self.refuse(node, f"nothing is cast to {kind.what}")
        return self.promised(self.boxed(self.expr(node.args[1])), kind)

    def call_hasattr(self, node) -> Value:
        """Whether a slot is set."""
        base, name = self.operand(node), getattr(node.args[1], "value", None)
        at = self.at(base.ir, self.offset(base, node, name))
        return Value(self.op(f"icmp ne ptr {self.op(f'load ptr, ptr {at}')}, null"), BOOL)

    def call_type(self, node) -> Value:
        value = self.operand(node)
        return Value(self.op(f"load ptr, ptr {self.at(value.ir, 8)}"), Kind("object", type), value.root, "", value.lender)

    def call_isinstance(self, node) -> Value:
        value, cls = self.values(node.args)
        known = self.scope.get(getattr(node.args[1], "id", ""))
        if (
            value.kind.what != "object"
            or not isinstance(cls.kind.cls, type)
            or not issubclass(cls.kind.cls, type)
            or cls.kind.optional
        ):
            raise self.refuse(node, "an object and a class are expected")
        if isinstance(known, type) and type(known).__instancecheck__ is not type.__instancecheck__:
            raise self.refuse(node, "a class that says itself what belongs to it")
        return Value(self.op(f"call i1 @is_instance(ptr {value.ir}, ptr {cls.ir})"), BOOL)

    def call_others(self, node) -> Value:
        value = self.operand(node)
        count = self.op(f"zext i32 {self.op(f'load i32, ptr {value.ir}')} to i64")
        return Value(self.op(f"sub i64 {count}, {int(bool(value.slot))}"), INT)

    def call_function_address(self, node) -> Value:
        known = self.scope.get(getattr(node.args[0], "id", ""))
        if not isinstance(known, types.FunctionType) or known not in self.unit.functions:
            raise self.refuse(node, "a native function is expected")
        return Value(self.op(f"ptrtoint ptr @{self.unit.function(known).symbol} to i64"), INT)

    def call_words(self, node) -> Value:
        memory, size = f"%words.{self.name()}", self.expr(node.args[0])
        if size.kind is not INT or not size.ir.isdigit():
            raise self.refuse(node, "a constant number of words is expected")
        self.allocas.append(f"{memory} = alloca [{size.ir} x i64], align 16")
        return Value(memory, WORDS)

    def call_new(self, node) -> Value:
        """``new(cls, slot=value, ...)``."""
        cls, *values = self.held(*self.values([node.args[0], *(k.value for k in node.keywords)]))
        values, kind = [self.boxed(v) for v in values], self.class_of(node.args[0])
        made = self.new(self.op(f"call ptr @PyType_GenericAlloc(ptr {cls.ir}, i64 0)"), kind)
        for keyword, value in zip(node.keywords, values):
            ir = self.take(value)
            self.emit(f"store ptr {ir}, ptr {self.at(made.ir, self.offset(made, node, keyword.arg))}")
        return made

    def call_tuple(self, node) -> Value:
        """``tuple([value for k in range(n)])``."""
        match node.args[0]:
            case ast.ListComp(elt=elt, generators=[ast.comprehension(target=ast.Name(id=k), iter=over, ifs=[], is_async=0)]) if (
                is_range(over, self.scope, self.local) and len(over.args) == 1
            ):
                _, stop = self.bounds(over)
            case _:
                raise self.refuse(node, "only tuple([... for k in range(n)]) is known")
        self.held()  # the collector may run
        stop = self.op(f"call i64 @llvm.smax.i64(i64 {stop}, i64 0)")
        new = self.new(self.op(f"call ptr @PyTuple_New(i64 {stop})"), Kind("object", tuple))
        step, body, end, since = *(self.name() for _ in range(3)), len(self.pending)
        index, own = f"%index.{step}", f"{k}.{step}"
        self.allocas.append(f"{index} = alloca i64")
        self.emit(f"store i64 0, ptr {index}")
        self.emit(f"br label %{step}")
        self.label(step)
        self.yields += 1
        at = self.op(f"load i64, ptr {index}")
        self.emit(f"br i1 {self.op(f'icmp slt i64 {at}, {stop}')}, label %{body}, label %{end}")
        self.label(body)
        self.assign_name(own, Value(at, INT))
        ir = self.take(self.boxed(self.expr(Renamed(k, own).visit(copy.deepcopy(elt)))))
        self.emit(f"store ptr {ir}, ptr {self.at(self.at(new.ir, '@TUPLE_ITEMS'), at, 'ptr')}")
        self.end(since)
        self.emit(f"store i64 {self.op(f'add i64 {at}, 1')}, ptr {index}")
        self.emit(f"br label %{step}")
        self.label(end)
        del self.kinds[own]
        return new


class Renamed(ast.NodeTransformer):
    """A comprehension's variable has a name of its own."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node


def is_range(node: ast.AST, scope: dict, local: Container[str]) -> TypeGuard[ast.Call]:
    """Whether something is a range of Python's own."""
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "range"
        and "range" not in local
        and scope.get("range", range) is range
    )

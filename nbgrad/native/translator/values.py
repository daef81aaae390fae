"""Values: machine numbers, objects, fields, items of sequences, variables."""

from __future__ import annotations

import ast
import types
from typing import Any

from .kinds import ANY, BOOL, FLOAT, INT, ROW, WORDS, Kind, Value, fits
from .references import References


class Values(References):
    """Values: how they are found, boxed, converted, and kept in variables."""

    def boxed(self, value: Value) -> Value:
        """A value as a Python object."""
        if value.kind is BOOL:
            known = {"true": "@_Py_TrueStruct", "false": "@_Py_FalseStruct"}.get(value.ir)
            return Value(known or self.op(f"select i1 {value.ir}, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct"), Kind("object", bool))
        if value.kind is INT:
            return (
                self.known(value.ir, int)
                if value.ir.isdigit()
                else self.new(self.op(f"call ptr @PyLong_FromSsize_t(i64 {value.ir})"), Kind("object", int))
            )
        if value.kind is FLOAT:
            return self.new(self.op(f"call ptr @PyFloat_FromDouble(double {value.ir})"), Kind("object", float))
        if value.kind.what != "object":
            raise self.refuse(self.statement, f"{value.kind.what} given, expected an object")
        return value

    def status(self, function: str, *values: Value) -> None:
        """A C function of objects that returns 0, or -1 with an error set."""
        args = ", ".join(f"ptr {v.ir}" for v in self.held(*map(self.boxed, values)))
        self.fail_if(self.op(f"icmp ne i32 {self.op(f'call i32 @{function}({args})')}, 0"))

    def number(self, value: Value, kind: Kind, function: str) -> Value:
        """An object as a machine number."""
        (value,) = self.held(value) if value.kind.cls is not int else [value]
        pair = self.op(f"call {{ {kind.ir}, i1 }} @{function}(ptr {value.ir})")
        self.fail_if(self.op(f"extractvalue {{ {kind.ir}, i1 }} {pair}, 1"))
        return Value(self.op(f"extractvalue {{ {kind.ir}, i1 }} {pair}, 0"), kind)

    def promised(self, value: Value, kind: Kind) -> Value:
        """A value as one of the kind that an annotation or ``cast`` promises."""
        looked_at = kind.what == "object" and isinstance(kind.cls, type) and kind.cls not in (object, type(None), type)
        if self.unit.checked and looked_at:
            cls = self.known(kind.cls.__name__, type, "class").ir
            good = self.op(f"call i1 @is_instance(ptr {value.ir}, ptr {cls})")
            if kind.optional:
                good = self.op(f"or i1 {good}, {self.op(f'icmp eq ptr {value.ir}, @_Py_NoneStruct')}")
            self.raise_if(self.op(f"xor i1 {good}, true"), "TypeError", f"expected {kind.cls.__name__} in {self.tree.name}\n")
        return value._replace(kind=kind)

    def adapted(self, value: Value, kind: Kind, node: ast.AST) -> Value:
        """A value converted to the kind of a parameter or result."""
        if kind.what == "object":
            value = self.boxed(value)
            if not fits(value.kind, kind):
                raise self.refuse(node, f"{value.kind.cls}{' or None' * value.kind.optional} given, expected {kind.cls}")
            return value
        if kind is BOOL and value.kind == Kind("object", bool):
            return Value(self.op(f"icmp eq ptr {value.ir}, @_Py_TrueStruct"), BOOL)
        if value.kind.what != kind.what:
            raise self.refuse(node, f"{value.kind.what} given, expected {kind.what}")
        return value

    def class_of(self, node: ast.expr) -> Kind:
        return self.unit.kind(node, self.scope, True)

    def constant_int(self, value: int, node: ast.AST) -> Value:
        if not -1 << 63 <= value < 1 << 63:
            raise self.refuse(node, "has more than 64 bits")
        return Value(str(value), INT)

    def known(self, text: str, cls: type, module: str = "") -> Value:
        """A Python object that native code names: a literal, or an attribute of a module."""
        return Value(self.op(f"load ptr, ptr {self.unit.constant(text, module)}"), Kind("object", cls))

    def is_frozen(self, cls: Any) -> bool:
        """Whether the fields of a class never change."""
        return cls in self.unit.frozen or isinstance(cls, type) and hasattr(cls, "native")

    def offset(self, base: Value, node: ast.AST, name: Any) -> int:
        """Where an object keeps a slot."""
        if base.kind.optional:
            raise self.refuse(node, "may be None here")
        if base.kind.what != "object" or self.unit.annotation(base.kind.cls, name) is None:
            raise self.refuse(node, f"{base.kind.cls if base.kind.what == 'object' else base.kind.what} has no slot {name!r}")
        return self.unit.slot_offset(base.kind.cls, name)

    def length(self, value: Value, node: ast.AST) -> str:
        if value.kind is ROW:
            return value.ir[1]
        if value.kind.cls not in (tuple, list) or value.kind.optional:
            raise self.refuse(node, f"a {value.kind.cls} where a tuple, a list or a row is expected")
        return self.op(f"load i64, ptr {self.at(value.ir, 16)}")

    def index(self, key: Value, node: ast.AST) -> str:
        """An index, which counts from the beginning."""
        if key.kind is not INT or key.ir.startswith("-"):
            raise self.refuse(node, "an index is an int, and counts from the beginning")
        return key.ir

    def part(self, row: Value, node: ast.Subscript) -> Value:
        """Some of a row, as Python cuts it."""
        bounds, places = node.slice, []
        if row.kind is not ROW or not isinstance(bounds, ast.Slice) or bounds.step:
            raise self.refuse(node, "only a row has parts, side by side")
        length = row.ir[1]
        for bound, default in (bounds.lower, "0"), (bounds.upper, length):
            value = self.expr(bound) if bound else Value(default, INT)
            if value.kind is not INT:
                raise self.refuse(node, "a bound is an int")
            if bound and value.ir != "0":
                behind = self.op(f"add i64 {value.ir}, {length}")
                from_end = self.op(f"call i64 @llvm.smax.i64(i64 {behind}, i64 0)")
                inside = self.op(f"call i64 @llvm.smin.i64(i64 {value.ir}, i64 {length})")
                places.append(self.op(f"select i1 {self.op(f'icmp slt i64 {value.ir}, 0')}, i64 {from_end}, i64 {inside}"))
            else:
                places.append(value.ir)
        count = self.op(f"call i64 @llvm.smax.i64(i64 {self.op(f'sub i64 {places[1]}, {places[0]}')}, i64 0)")
        return Value((self.at(row.ir[0], places[0], "ptr"), count), ROW)

    def item(self, where: Value, index: str, node: ast.AST) -> Value:
        kind, root, lender, cls = ANY, where.root, where.lender, where.kind.cls
        if where.kind is WORDS:
            return Value(self.op(f"load i64, ptr {self.at(where.ir, index, 'i64')}"), INT)
        if isinstance(cls, types.GenericAlias):
            if cls.__origin__ is not tuple or where.kind.optional or not index.isdigit() or int(index) >= len(cls.__args__):
                raise self.refuse(node, f"a constant index of {cls} is expected")
            base, kind = self.at(where.ir, "@TUPLE_ITEMS"), self.unit.kind(cls.__args__[int(index)], self.scope, True)
        else:
            bad = self.op(f"icmp uge i64 {index}, {self.length(where, node)}")
            self.raise_if(bad, "IndexError", "index out of range")
            if where.kind is ROW:
                base = where.ir[0]
            elif cls is list:
                base, root, lender = self.op(f"load ptr, ptr {self.at(where.ir, 24)}"), "", ""
            else:
                base = self.at(where.ir, "@TUPLE_ITEMS")
        return Value(self.op(f"load ptr, ptr {self.at(base, index, 'ptr')}"), kind, root, "", lender)

    def has_items(self, value: Value, count: int, node: ast.AST) -> None:
        """Look whether there are as many items as variables for them."""
        if isinstance(value.kind.cls, types.GenericAlias):
            if len(value.kind.cls.__args__) != count:
                raise self.refuse(node, f"{value.kind.cls} has {len(value.kind.cls.__args__)} items")
        else:
            bad = self.op(f"icmp ne i64 {self.length(value, node)}, {count}")
            self.raise_if(bad, "ValueError", f"expected {count} values to unpack")

    def variable(self, name: str) -> Value:
        kind = self.kinds[name]
        if kind is ROW:
            return Value(self.rows[name], ROW)
        ir, slot = self.op(f"load {kind.ir}, ptr {self.vars[name]}"), self.owned.get(name, "")
        if name in self.lent:
            if self.yields > self.lent[name]:
                self.late.add(name)
            return Value(ir, kind, "", "", name)
        return Value(ir, kind, "here" if slot and name not in self.stable else "always", slot)

    def assign_name(self, name: str, value: Value) -> None:
        what, declared = value.kind.what, self.declared.get(name)
        if self.what.setdefault(name, what) != what:
            raise self.refuse(self.statement, f"{name} is of one kind or another")
        if declared and what == "object" and not fits(value.kind, declared):
            if value.kind.cls is not object:
                raise self.refuse(self.statement, f"{name} is said to be a {declared.cls}, and set to a {value.kind.cls}")
            value = self.promised(value, declared)
        if value.kind is ROW:
            if name in self.rows or name not in self.single:
                raise self.refuse(self.statement, f"{name} is a row, and set at several places")
            self.rows[name] = value.ir
        elif what != "object" or name in self.single - self.owned.keys() and (value.root == "always" or self.lends(name, value)):
            if what != "object" and value.root != "always":
                raise self.refuse(self.statement, f"{name} would be the words of what this function does not hold")
            if name not in self.vars:
                self.vars[name] = f"%v.{name}"
                self.allocas.append(f"%v.{name} = alloca {value.kind.ir}")
            self.emit(f"store {value.kind.ir} {value.ir}, ptr {self.vars[name]}")
            if value.kind.what == "object" and not value.root:
                self.lent[name] = self.yields
        else:
            first = name not in self.owned
            if first:
                self.vars[name] = self.owned[name] = self.slot()
            ir, old = self.take(value), self.op(f"load ptr, ptr {self.vars[name]}")
            self.emit(f"store ptr {ir}, ptr {self.vars[name]}")
            if self.loops or not first:
                self.emit(f"call void @xdecref(ptr {old})")
                self.yields += 1
        self.kinds[name] = value.kind

    def lends(self, name: str, value: Value) -> bool:
        """Whether a variable may borrow its value: nothing that runs Python comes before its last use."""
        return not value.root and name not in self.owning and not self.unit.checked

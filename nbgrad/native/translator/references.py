"""The text of a function as it grows, and who owns which reference in it.

NOTE [References]: native functions never mention reference counts; the translator writes them, by these rules.
  1. A variable owns what it refers to, until it is set again, deleted, or the function ends, whichever way.
  2. An object that an expression makes is owned until the statement ends, or moves into a field, a tuple, a variable, a result.
  3. An object that an expression finds (in a field, a list, a dict) is *borrowed*. It may be used by anything that cannot run
  Python.
     A call that can run Python holds it meanwhile. Where something else might run before it is used, the translation is refused:
     the remedy is to give it a variable.
  4. Parameters, constants and what is found in frozen things (fields of classes that never change, items of tuples) need no counts
     as long as the function runs.
A look-up in a dict runs no Python: native code looks for objects that are compared by identity, for strs, numbers, and tuples of
these.

NOTE [Errors]: every native function may fail. It returns null, or true beside its result, with an error set; each call of one is
followed by a branch to the function's one failing end, which lets go of whatever is owned, or to the handler of the ``try`` around
it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from .kinds import Kind, Made, Refused, Value

if TYPE_CHECKING:
    from .units import Unit


class Loop(NamedTuple):
    """A loop around the statement: where it goes on, where it ends, what is set at its head, what is known at each ``break``."""

    step: str
    end: str
    names: frozenset[str]
    breaks: list[dict[str, Kind]]


class References:
    """What all parts of a translation write to: lines, labels, places of references.

    Args:
        unit, tree, scope: what the function belongs to, its syntax tree, and what names mean in its module.
        style: see ``language.native``.
        owning: variables that own although they are set at one place, to what is borrowed: they are used after something may run.

    Attributes:
        late: those of which that came to light.
    """

    made: Made  # the function, as others call it

    def __init__(self, unit: Unit, tree: ast.FunctionDef, scope: dict, style: str, owning: frozenset[str]):
        self.unit, self.tree, self.scope, self.owning, self.late = unit, tree, scope, owning, set[str]()
        self.raw, self.borrows = style in ("raw", "c"), style == "borrows" and not unit.checked
        self.lent: dict[str, int] = {}  # variables that borrow, and how much might have run when they were set
        self.lines: list[Any] = []
        self.allocas: list[str] = []
        self.vars: dict[str, str] = {}  # where variables are
        self.owned: dict[str, str] = {}  # ... those that own
        self.slots: list[str] = []  # all places of owned references
        self.unused: list[str] = []  # ... those that a statement may take
        self.pending: list[tuple[str, str]] = []  # what the statement owns: place, value
        self.kinds: dict[str, Kind] = {}  # what is known of variables, here
        self.rows: dict[str, tuple[str, str]] = {}
        self.what: dict[str, str] = {}  # what the machine holds in them
        self.loops: list[Loop] = []
        self.count = self.yields = 0
        self.failing = "fail"  # where errors go
        self.unlocked = False  # between give_lock and take_lock
        self.statement: ast.AST = tree
        self.local: set[str] = set()  # names of variables
        self.single: set[str] = set()  # those that are set at one place
        self.stable: set[str] = set()  # ... and for good: what they have lives as long as the function runs
        self.declared: dict[str, Kind] = {}  # what their annotations say

    def expr(self, node: ast.expr) -> Value:
        """The value of an expression: see ``Expressions``."""
        raise NotImplementedError

    def emit(self, line: Any) -> None:
        self.lines.append(line)

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def op(self, line: str) -> str:
        name = "%" + self.name()
        self.emit(f"{name} = {line}")
        return name

    def label(self, name: str) -> None:
        self.emit(f"{name}:")

    def at(self, base: str, offset: Any, unit: str = "i8") -> str:
        return self.op(f"getelementptr {unit}, ptr {base}, i64 {offset}")

    def fail_if(self, bad: str) -> None:
        """Leave with the error that is set."""
        self.has_lock("fail")
        if self.raw:
            raise self.refuse(self.statement, "raw code cannot fail")
        good = self.name()
        self.emit(f"br i1 {bad}, label %{self.failing}, label %{good}, !prof !0")
        self.label(good)

    def raise_if(self, bad: str, error: str, text: str) -> None:
        raising, good = self.name(), self.name()
        self.emit(f"br i1 {bad}, label %{raising}, label %{good}, !prof !0")
        self.label(raising)
        self.raises(error, text)
        self.label(good)

    def raises(self, error: str, text: str) -> None:
        self.has_lock("fail")
        if self.raw:
            raise self.refuse(self.statement, "raw code cannot fail")
        self.emit(f"call void @raise(ptr @error.{error}, ptr {self.unit.string(text)})")
        self.emit(f"br label %{self.failing}")

    def has_lock(self, what: str) -> None:
        """Refuse what needs the interpreter between ``give_lock`` and ``take_lock``."""
        if self.unlocked:
            raise self.refuse(self.statement, f"nothing may {what} without the lock")

    def refuse(self, node: Any, why: str) -> Refused:
        return Refused(f"{self.tree.name}, line {node.lineno}: {why}: {ast.unparse(node).strip().splitlines()[0]}")

    def slot(self) -> str:
        """A place for an owned reference, empty at first."""
        slot = f"%slot.{len(self.slots)}"
        self.slots.append(slot)
        self.allocas += [f"{slot} = alloca ptr", f"store ptr null, ptr {slot}"]
        return slot

    def own(self, ir: str, kind: Kind) -> Value:
        """A new reference, kept until the statement ends."""
        slot = self.unused.pop() if self.unused else self.slot()
        self.emit(f"store ptr {ir}, ptr {slot}")
        self.pending.append((slot, ir))
        return Value(ir, kind, "here", slot)

    def new(self, ir: str, kind: Kind) -> Value:
        """A new reference, or null with an error set."""
        self.fail_if(self.op(f"icmp eq ptr {ir}, null"))
        return self.own(ir, kind)

    def take(self, value: Value) -> str:
        """A reference to give away."""
        if (value.slot, value.ir) in self.pending:
            self.pending.remove((value.slot, value.ir))
            self.unused.append(value.slot)
            self.emit(f"store ptr null, ptr {value.slot}")
        else:
            self.has_lock("count")
            self.emit(f"call void @incref(ptr {value.ir})")
        return value.ir

    def releases(self, slots: list[str], how: str) -> list[str]:
        lines = []
        for slot in slots:
            name = self.name()
            lines += [f"%{name} = load ptr, ptr {slot}", f"call void @{how}(ptr %{name})"]
        return lines

    def releases_now(self, slot: str) -> None:
        """Release what a place holds, and empty it."""
        old = self.op(f"load ptr, ptr {slot}")
        self.emit(f"store ptr null, ptr {slot}")
        self.emit(f"call void @xdecref(ptr {old})")
        self.yields += 1

    def end(self, since: int = 0) -> None:
        """Release what the statement owns."""
        for slot, ir in self.pending[since:]:
            self.unused.append(slot)
            self.emit(f"store ptr null, ptr {slot}")
            self.emit(f"call void @decref(ptr {ir})")
            self.yields += 1
        del self.pending[since:]

    def held(self, *values: Value) -> list[Value]:
        """Operands of a call that may run Python: they live until the statement ends."""
        kept = [v if v.root or v.kind.what != "object" else self.own(self.take(v), v.kind) for v in values]
        self.yields += 1
        return kept

    def lasting(self, value: Value) -> Value:
        """A value that does not change when variables are set: what these own gets one more reference."""
        if value.kind.what != "object" or value.root == "always" or (value.slot, value.ir) in self.pending:
            return value
        return self.own(self.take(value), value.kind)

    def values(self, nodes: list[ast.expr], *first: Value) -> list[Value]:
        """Several expressions, evaluated in their order."""
        made: list[tuple[Value, int, ast.AST]] = [(value, self.yields, self.statement) for value in first]
        made += [(self.expr(node), self.yields, node) for node in nodes]
        for value, before, node in made:
            self.still(value, before, node)
        return [value for value, _, _ in made]

    def still(self, value: Value, before: int, node: ast.AST) -> None:
        """See to it that a borrowed value is still alive: if something may have run since, its lender has to own it."""
        if not value.root and self.yields > before:
            if not value.lender:
                raise self.refuse(node, "is borrowed, and what comes next may run anything; give it a variable")
            self.late.add(value.lender)

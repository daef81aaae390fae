"""From the syntax trees of native functions to LLVM's text: types, references, errors. What they may say is in ``language``.

NOTE [References]: nobody writes counts. A variable owns what it refers to, until it is set again, deleted, or the function ends,
whichever way. What an expression makes is owned until the statement ends, or moves into a field, a tuple, a variable, a result.
What it merely finds (in a field, a list, a dict) is *borrowed*: good for anything that cannot run Python; a call that can holds it
meanwhile, and where something else could run before it is used, the translation is refused: give it a variable. Parameters,
constants and what is found in frozen things (fields of classes that never change, items of tuples) need no counts as long as the
function runs. A look-up in a dict runs nothing: what native code asks for is compared by identity, or a str, a number, or a
tuple of such.

NOTE [Errors]: every native function may fail. It returns null, or true beside its result, with an error set; each call of one is
followed by a branch to the function's one failing end, which lets go of whatever is owned, or to the handler of the ``try`` around
it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import math
import re
import types
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard, cast

from .language import Row, Static, Words
from .primitives import Slot, function_address, give_lock, new, others, take_lock, words
from .support import FAULTS, SUPPORT, reference_counts

__all__ = ["Refused", "Unit", "declarations"]


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


class Refused(SyntaxError):
    """Native code cannot say this."""


class Kind(NamedTuple):
    """A static type: what the machine holds; of an object its class, and whether it may be None instead."""

    what: str
    cls: Any = object
    optional: bool = False

    @property
    def ir(self) -> str:
        return {"int": "i64", "bool": "i1", "float": "double"}.get(self.what, "ptr")


INT, BOOL, FLOAT, NOTHING, WORDS, ROW, ANY = map(Kind, ("int", "bool", "float", "none", "words", "row", "object"))
NONE = Kind("object", type(None), True)
RAW = {int: INT, bool: BOOL, float: FLOAT, type(None): NOTHING, Words: WORDS, Row: ROW}
NAMES = {t.__name__: t for t in (int, bool, float, bytes, dict, list, set, tuple, type, Words)} | {
    "None": type(None),
    "Any": object,
    "Callable": object,
    "Row": Row,
    "Slot": Slot,
    "BaseException": BaseException,
}


class Value(NamedTuple):
    """The result of an expression.

    Attributes:
        ir: LLVM's name of it; of a row a pair: pointer, count.
        root: what keeps an object alive: "always" something outside of the function, "here" this statement or a variable, ""
        nothing.
        slot: where the reference is that this statement owns, or the variable that does.
        lender: the variable that borrows it.
    """

    ir: Any
    kind: Kind
    root: str = "always"
    slot: str = ""
    lender: str = ""


class Made(NamedTuple):
    """A translated function or a primitive; see NOTE [Flags] of ``language``."""

    symbol: str
    kinds: tuple[Kind, ...]
    result: Kind
    star: bool = False
    new: bool = True
    raises: bool = True
    yields: bool = True
    late: bool = False

    @property
    def out(self) -> str:
        """LLVM's type of the result."""
        if self.result is NOTHING:
            return "i1" if self.raises else "void"
        return f"{{ {self.result.ir}, i1 }}" if self.raises and self.result.ir != "ptr" else self.result.ir


class Unit:
    """Modules of native code, and what becomes of them.

    Args:
        classes: by name, what annotations may mean besides what their modules know.
        slot_offset: ``slot_offset(cls, name)``.
        frozen: classes whose fields never change once an object is made; those of native classes never do.
        most: how many operands a call may have.
        checked: whether to look at every slot and every object of a promised class before it is used.
        faults: whether statements fail when ``fault_countdown`` comes to 0, for tests of what is let go of then.
    """

    def __init__(
        self,
        modules: Iterable[ModuleType],
        classes: dict[str, type],
        slot_offset: Callable[[type, str], int],
        frozen: Iterable[type],
        most: int,
        checked: bool = False,
        faults: bool = False,
    ):
        self.classes, self.slot_offset, self.frozen, self.most = classes, slot_offset, frozenset(frozen), most
        self.checked, self.faults = checked, faults
        self.functions: dict[Any, tuple[ast.FunctionDef, dict, Any]] = {}
        self.made: dict[Any, Made] = {}
        self.constants: dict[tuple[str, str], str] = {}  # by module and expression, or "" and a literal
        self.strings: dict[str, str] = {}
        self.statics: dict[int, tuple[str, Static]] = {}
        self.annotations: dict[type, dict] = {}
        self.errors: list[str] = []
        self.begun: set[Callable] = set()
        self.text = [SUPPORT, reference_counts(), FAULTS * faults]
        for module in modules:
            scope = vars(module)
            for tree in ast.parse(inspect.getsource(module)).body:
                named = scope.get(getattr(tree, "name", ""))
                if isinstance(tree, ast.FunctionDef) and hasattr(named, "native"):
                    self.functions[named] = tree, scope, None
                elif isinstance(tree, ast.ClassDef) and hasattr(named, "native"):
                    methods = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name != "__init__"]
                    for method in methods:
                        function = vars(named)[method.name]
                        if method.decorator_list and not hasattr(function, "native"):
                            raise Refused(f"{tree.name}.{method.name}, line {method.lineno}: its decorators are not native")
                        self.functions[function] = method, scope, named
        made = [(f, self.function(f)) for f in list(self.functions)]
        self.entries = [
            each.symbol if getattr(f, "native", "") == "c" else self.entry(each)
            for f, each in made
            if self.functions[f][2] or f.native in ("entry", "c")
        ]

    def function(self, function: Callable) -> Made:
        """A native function, translated now if it is not yet."""
        if function not in self.made:
            if function in self.begun:
                tree = self.functions[function][0]
                raise Refused(f"{tree.name}, line {tree.lineno}: a native function does not call itself")
            self.begun.add(function)
            owning: set[str] = set()
            while True:
                body = Body(self, *self.functions[function], getattr(function, "native", ""), frozenset(owning))
                if body.late <= owning:
                    break
                owning |= body.late
            self.made[function] = body.made
            self.text.append(body.text)
        return self.made[function]

    def primitive(self, function: Any) -> Made:
        """A primitive, written out once."""
        if function not in self.made:
            given, (*notes, result) = function.primitive, [self.kind(note, {}) for note in function.__annotations__.values()]
            flags = {name: getattr(given, name) for name in ("new", "raises", "yields", "late")}
            made = self.made[function] = Made(f"p.{function.__name__}", tuple(notes), result, **flags)
            params = ", ".join(f"{k.ir} %{name}" for k, name in zip(notes, function.__annotations__))
            self.text.append(f"define private {made.out} @{made.symbol}({params}) alwaysinline {{\n{given.body}\n}}\n")
        return self.made[function]

    def kind(self, note: Any, scope: dict, boxed: bool = False) -> Kind:
        """The static type that an annotation means; numbers in fields (``boxed``) are objects."""
        if isinstance(note, ast.expr):
            note = ast.unparse(note)
        if isinstance(note, str):
            if note.endswith(" | None"):
                known_kind = self.kind(note[:-7], scope, True)
                if known_kind.what != "object":
                    raise Refused(f"{note}: words and rows are never None")
                return known_kind._replace(optional=True)
            known = NAMES | self.classes
            note = known.get(note) or scope.get(note) or known.get(note.split("[")[0], object)
        if note is Any or note is None:
            return ANY if note is Any else RAW[type(None)]
        if note is Slot or note in RAW and (not boxed or note in (Words, Row)):
            return INT if note is Slot else RAW[note]
        return Kind("object", note) if isinstance(note, (type, types.GenericAlias)) else ANY

    def annotation(self, cls: type, name: str) -> Any:
        """What a class says of a slot; None where there is no such slot."""
        for each in getattr(cls, "__mro__", ()):
            if name in vars(each).get("__slots__", ()):
                if each not in self.annotations:
                    self.annotations[each] = inspect.get_annotations(each)
                return self.annotations[each].get(name, object)
        return None

    def constant(self, text: str, module: str = "") -> str:
        """The variable that has a Python object's address when the code is loaded."""
        quoted = f"{module}:{text}".replace("\\", "\\5C").replace('"', "\\22")
        return self.constants.setdefault((module, text), f'@"const.{quoted}"')

    def static(self, name: str, words: Static) -> str:
        """The variable of static words."""
        return "@static." + self.statics.setdefault(id(words), (f"{len(self.statics)}.{name}", words))[0]

    def string(self, text: str) -> str:
        """A C string."""
        return self.strings.setdefault(text, f"@string.{len(self.strings)}")

    def entry(self, made: Made) -> str:
        """The builtin (METH_FASTCALL) around a native function: it counts and converts arguments, and boxes the result."""
        name, skip = made.symbol[2:], int("." in made.symbol[2:])
        kinds = made.kinds[skip:]
        lines = [
            f"define ptr @e.{name}(ptr %self, ptr %args, i64 %count) {{",
            f"  %rest = sub i64 %count, {len(kinds)}",
            f"  %bad = icmp ugt i64 %rest, {self.most if made.star else 0}",
            "  br i1 %bad, label %refuse, label %go, !prof !0",
            "refuse:",
            f"  call void @wrong_count(ptr {self.string(name)}, i64 %count)",
            "  ret ptr null",
            "go:",
        ]
        args = ["ptr %self"] * skip
        for k, kind in enumerate(kinds):
            lines += [f"  %at{k} = getelementptr ptr, ptr %args, i64 {k}", f"  %x{k} = load ptr, ptr %at{k}"]
            if kind is BOOL:
                lines.append(f"  %b{k} = icmp eq ptr %x{k}, @_Py_TrueStruct")
            elif kind.what != "object":
                raise Refused(f"{name}: an entry takes objects and bools, no {kind.what}")
            args.append(f"{kind.ir} %{'b' if kind is BOOL else 'x'}{k}")
        if made.star:
            lines.append(f"  %row = getelementptr ptr, ptr %args, i64 {len(kinds)}")
            args += ["ptr %row", "i64 %rest"]
        lines += [f"  %r = call {made.out} @{made.symbol}({', '.join(args)})"]
        if made.result is FLOAT:
            raise Refused(f"{name}: an entry returns objects, ints and bools, no float")
        box = {"none": "none_result", "int": "int_result", "bool": "bool_result"}.get(made.result.what)
        lines += [f"  %o = call ptr @{box}({made.out} %r)", "  ret ptr %o", "}\n"] if box else ["  ret ptr %r", "}\n"]
        self.text.append("\n".join(lines))
        return f"e.{name}"

    def ir(self) -> str:
        """All of it as text."""
        text = "\n".join(self.text)
        self.errors = sorted(set(re.findall(r"@(error\.\w+)", text)))
        text += "".join(f"@{symbol} = global ptr null\n" for symbol in self.errors)
        for content, name in self.strings.items():
            data = content.encode() + b"\0"
            text += f'{name} = private constant [{len(data)} x i8] c"' + "".join(f"\\{b:02X}" for b in data) + '"\n'
        for name, first in self.statics.values():
            values = ", ".join(f"i64 {each}" for each in first)
            text += f"@static.{name} = private global [{len(first)} x i64] [{values}], align 64\n"
        return text + "".join(f"{symbol} = global ptr null\n" for symbol in self.constants.values())


class Loop(NamedTuple):
    """A loop around the statement: where it goes on, where it ends, what is set at its head, what is known at each ``break``."""

    step: str
    end: str
    names: frozenset[str]
    breaks: list[dict[str, Kind]]


class Body:
    """One function, translated.

    Args:
        owning: variables that own although they are set at one place, to what is borrowed: they are used after something may run.

    Attributes:
        late: those of which that came to light.
        text: the function.
    """

    def __init__(self, unit: Unit, tree: ast.FunctionDef, scope: dict, owner: Any, style: str, owning: frozenset[str]):
        self.unit, self.tree, self.scope, self.owning, self.late = unit, tree, scope, owning, set[str]()
        self.raw, self.borrows = style in ("raw", "c"), style == "borrows" and not unit.checked
        self.lent: dict[str, int] = {}  # variables that borrow, and how much might have run when they were set
        if tree.args.defaults or tree.args.posonlyargs or tree.args.kwonlyargs or tree.args.kwarg:
            raise self.refuse(tree, "parameters have names and no defaults")
        stored, given = names_set(tree), {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
        self.local = {*stored, *given}
        self.single = {name for name in stored if stored.count(name) == 1} - given  # set at one place
        # ... and for good: what they have lives as long as the function runs.
        again = [each for each in ast.walk(tree) if isinstance(each, (ast.For, ast.While, ast.Delete))]
        self.stable = self.single - {*names_set(*again, also=ast.Del)}
        self.declared: dict[str, Kind] = {}
        for each in ast.walk(tree):
            if isinstance(each, ast.AnnAssign):
                kind = unit.kind(each.annotation, scope, True)
                if not isinstance(each.target, ast.Name) or self.declared.setdefault(each.target.id, kind) != kind:
                    raise self.refuse(each, "a variable has one annotation, and nothing else has one")
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
        params = {
            a.arg: Kind("object", owner) if owner and a.arg == "self" else unit.kind(a.annotation or object, scope)
            for a in tree.args.args
        }
        star = tree.args.vararg.arg if tree.args.vararg else ""
        self.failing = "fail"  # where errors go
        self.unlocked = False  # between give_lock and take_lock
        self.statement: ast.AST = tree
        symbol = tree.name if style == "c" else f"n.{owner.__name__ + '.' if owner else ''}{tree.name}"
        self.made = Made(
            symbol,
            tuple(params.values()),
            unit.kind(tree.returns or object, scope),
            bool(star),
            new=not self.borrows,
            raises=not self.raw,
            yields=not self.raw and not self.borrows,
        )
        if (
            self.made.result in (WORDS, ROW)
            or self.raw
            and (star or ROW in params.values() or "object" in {k.what for k in (*params.values(), self.made.result)})
        ):
            raise self.refuse(tree, "raw code knows numbers and words" if self.raw else "a function returns no words and no row")
        self.what = {name: kind.what for name, kind in params.items()}
        header = [f"{k.ir} %p.{n}" for n, k in params.items() if k is not ROW]
        for name, kind in params.items():
            if kind is not ROW:
                if kind.what == "object" and name in stored:
                    self.assign_name(name, Value(f"%p.{name}", kind, "here"))
                else:
                    self.vars[name] = f"%v.{name}"
                    self.allocas.append(f"%v.{name} = alloca {kind.ir}")
                    self.emit(f"store {kind.ir} %p.{name}, ptr %v.{name}")
                    self.kinds[name] = kind
        for name, kind in params.items() if unit.checked else ():
            if kind.what == "object":
                self.promised(Value(f"%p.{name}", kind), kind)
        for name in [n for n, k in params.items() if k is ROW] + [star] * bool(star):
            header += [f"ptr %p.{name}", f"i64 %p.{name}.count"]
            self.rows[name], self.kinds[name] = (f"%p.{name}", f"%p.{name}.count"), ROW
        if self.block(tree.body):
            self.leave(None)
        if self.borrows and self.yields:
            raise self.refuse(tree, "a function that borrows runs nothing")
        self.label("fail")
        if self.raw:
            self.emit("unreachable")
        for slot in self.slots:
            self.emit(f"call void @drop(ptr {self.op(f'load ptr, ptr {slot}')})")
        zero = {"ptr": "null", "i1": "true"}.get(self.made.out, f"{{ {self.made.result.ir} undef, i1 true }}")
        if not self.raw:
            self.emit(f"ret {self.made.out} {zero}")
        inline = {"inline": " alwaysinline", "borrows": " alwaysinline", "cold": " noinline cold"}.get(style, "")
        for k in range(len(self.lines) - 1, -1, -1):  # the ends, now that all variables are known
            if isinstance(self.lines[k], tuple):
                looped, known, kept, how = self.lines[k]
                self.lines[k : k + 1] = self.releases([s for s in (self.owned.values() if looped else known) if s != kept], how)
        private = "" if style == "c" else "private "
        self.text = (
            "\n  ".join(
                [f"define {private}{self.made.out} @{self.made.symbol}({', '.join(header)}){inline} {{", *self.allocas, *self.lines]
            )
            + "\n}\n"
        )

    # ---- text

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
        """See to it that nothing that needs the interpreter happens between ``give_lock`` and ``take_lock``."""
        if self.unlocked:
            raise self.refuse(self.statement, f"nothing may {what} without the lock")

    def refuse(self, node: Any, why: str) -> Refused:
        return Refused(f"{self.tree.name}, line {node.lineno}: {why}: {ast.unparse(node).strip().splitlines()[0]}")

    # ---- references

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
        """The same, or null with an error set."""
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
        """Empty a place."""
        old = self.op(f"load ptr, ptr {slot}")
        self.emit(f"store ptr null, ptr {slot}")
        self.emit(f"call void @xdecref(ptr {old})")
        self.yields += 1

    def end(self, since: int = 0) -> None:
        """Let go of what the statement owns."""
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

    def apart(self, value: Value) -> Value:
        """A value that stays what it is when variables are set: what they own, or keep alive, gets a reference more."""
        if value.kind.what != "object" or value.root == "always" or (value.slot, value.ir) in self.pending:
            return value
        return self.own(self.take(value), value.kind)

    def values(self, nodes: list[ast.expr], *first: Value) -> list[Value]:
        """Several expressions in their order, behind what was found just now."""
        made: list[tuple[Value, int, ast.AST]] = [(value, self.yields, self.statement) for value in first]
        made += [(self.expr(node), self.yields, node) for node in nodes]
        for value, before, node in made:
            self.still(value, before, node)
        return [value for value, _, _ in made]

    def still(self, value: Value, before: int, node: ast.AST) -> None:
        """See to it that what was found is still there: whoever lent it has to own it, if something may have run since."""
        if not value.root and self.yields > before:
            if not value.lender:
                raise self.refuse(node, "is borrowed, and what comes next may run anything; give it a variable")
            self.late.add(value.lender)

    # ---- statements

    def block(self, body: list[ast.stmt]) -> bool:
        """Statements in a row; whether anything follows them."""
        for statement in body:
            self.statement = statement
            if self.unit.faults and not self.raw and not self.unlocked:
                self.fail_if(self.op("call i1 @fault()"))
            do = getattr(self, "do_" + type(statement).__name__, None)
            if do is None:
                raise self.refuse(statement, f"{type(statement).__name__} is no statement of native code")
            if do(statement) is False:
                return False
        return True

    def do_Expr(self, node) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expr(node.value)
            self.end()

    def do_Return(self, node) -> bool:
        self.leave(node.value)
        return False

    def leave(self, node: ast.expr | None) -> None:
        self.has_lock("return")
        value, made = self.expr(node) if node else Value("@_Py_NoneStruct", NONE), self.made
        if made.result is not NOTHING:
            value = self.adapted(value, made.result, node or self.tree)
        kept = value.slot if value.slot in self.owned.values() else ""
        if made.result.what == "object" and self.borrows:
            if value.slot:
                raise self.refuse(node or self.tree, "a function that borrows cannot return what it owns")
        elif made.result.what == "object" and not kept:
            self.take(value)
        self.end()
        rare = False
        match node:
            # return self.slow(...): Python takes over
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=field)):
                rare = field in vars(self.kinds["self"].cls).get("__slots__", ())
        self.emit((bool(self.loops), list(self.owned.values()), kept, "drop" if rare else "xdecref"))
        if made.result is NOTHING:
            self.emit("ret void" if self.raw else "ret i1 false")
        elif made.out == "ptr" or self.raw:
            self.emit(f"ret {made.out} {value.ir}")
        else:
            whole = f"insertvalue {made.out} {{ {made.result.ir} undef, i1 false }}, {made.result.ir} {value.ir}, 0"
            self.emit(f"ret {made.out} {self.op(whole)}")

    def do_Raise(self, node) -> bool:
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=error), args=[ast.Constant(value=str(text))], keywords=[]), cause=None):
                pass
            case ast.Raise(exc=ast.Call(func=ast.Name(id=error), args=[ast.Name(id=name)], keywords=[]), cause=None) if (
                name not in self.local and isinstance(self.scope.get(name), str)
            ):
                text = self.scope[name]
            case _:
                raise self.refuse(node, "an error is raised with one constant text")
        own = getattr(builtins, error, None)
        if (
            error in self.local
            or self.scope.get(error, own) is not own
            or not isinstance(own, type)
            or not issubclass(own, BaseException)
        ):
            raise self.refuse(node, "is no error of Python's own")
        self.raises(error, text)
        return False

    def do_If(self, node) -> bool:
        yes, no, end, states = self.name(), self.name(), self.name(), []
        facts, base, before, ran = self.test(node.test, yes, no), self.kinds, self.yields, []
        for label, known, body in ((yes, facts[0], node.body), (no, facts[1], node.orelse)):
            self.label(label)
            self.kinds, self.yields = {**base, **known}, before
            if self.block(body):
                self.emit(f"br label %{end}")
                states.append(self.kinds)
                ran.append(self.yields)
        self.yields = max(ran, default=before)
        return self.meet(end, states)

    def do_While(self, node) -> bool:
        step, body, end = self.name(), self.name(), self.name()
        base = self.begin_loop(node, step)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        if endless:
            self.emit(f"br label %{body}")
        facts = ({}, {}) if endless else self.test(node.test, body, end)
        return self.end_loop(node, base, facts, step, body, end, endless)

    def do_Try(self, node) -> bool:
        """``try`` with ``except BaseException``: the error is forgotten."""
        caught = [getattr(handler.type, "id", "") for handler in node.handlers]
        if caught != ["BaseException"] or node.orelse or node.finalbody:
            raise self.refuse(node.body[0], "only try with except BaseException is known around")
        handler, end, states = self.name(), self.name(), []
        base, outer, self.failing = self.kinds, self.failing, handler
        if self.block(node.body):
            self.emit(f"br label %{end}")
            states.append(self.kinds)
        self.failing = outer
        self.label(handler)
        self.emit("call void @PyErr_Clear()")
        variables = {place for name, place in self.vars.items() if "." not in name}
        for slot in self.slots:  # what the failed statement owned
            if slot not in variables:
                self.releases_now(slot)
        set_there = names_set(*node.body, also=ast.Del)
        self.kinds = {n: kind for n, kind in base.items() if n not in set_there}
        if self.block(node.handlers[0].body):
            self.emit(f"br label %{end}")
            states.append(self.kinds)
        return self.meet(end, states)

    def meet(self, end: str, states: list[dict[str, Kind]]) -> bool:
        """Go on behind ways that come together; whether there is one."""
        if states:
            self.label(end)
            self.kinds = {n: joined(*(s[n] for s in states)) for n in states[0] if all(n in s for s in states)}
        return bool(states)

    def begin_loop(self, node, step: str) -> dict:
        """Go into a loop, knowing only what its body leaves true."""
        if node.orelse:
            raise self.refuse(node, "a loop has no else")
        for name in set(names_set(node)) & self.kinds.keys():
            if self.kinds[name].what == "object":
                self.kinds[name] = self.declared.get(name, ANY)
        self.emit(f"br label %{step}")
        self.label(step)
        self.yields += 1  # what runs in the loop runs before what is in front of it, the next time
        return dict(self.kinds)

    def end_loop(
        self, node, base: dict, facts: tuple, step: str, body: str, end: str, endless: bool = False, begin: Callable = lambda: None
    ) -> bool:
        self.label(body)
        self.kinds = {**base, **facts[0]}
        loop = Loop(step, end, frozenset(base), [])
        self.loops.append(loop)
        begin()
        if self.block(node.body):
            self.go_on(node)
        self.loops.pop()
        self.yields += 1
        return self.meet(end, loop.breaks if endless else [{**base, **facts[1]}, *loop.breaks])

    def go_on(self, node) -> None:
        """To the head of the loop, where as much is set as before."""
        for name in self.loops[-1].names - self.kinds.keys():
            raise self.refuse(node, f"{name} was set before the loop and is not when it goes on")
        self.emit(f"br label %{self.loops[-1].step}")

    def do_For(self, node) -> None:
        """Over a range, a tuple, a list or a row; as in Python the next index is fixed before the body runs."""
        step, body, end = (self.name() for _ in range(3))
        over, index, where = node.iter, f"%index.{step}", f"over.{step}"
        self.allocas.append(f"{index} = alloca i64")
        if is_range(over, self.scope, self.local):
            start, stop = self.bounds(over)
        else:
            start, stop = "0", ""
            if isinstance(over, ast.Name) and over.id in self.stable & self.kinds.keys():
                where = over.id
            else:
                value = self.expr(over)
                if value.root == "always":
                    self.single.add(where)
                self.assign_name(where, value)
        self.end()
        self.emit(f"store i64 {start}, ptr {index}")
        base = self.begin_loop(node, step)
        k = self.op(f"load i64, ptr {index}")
        container = None if stop else self.variable(where)
        more = self.op(f"icmp slt i64 {k}, {self.length(container, over) if container else stop}")
        self.emit(f"store i64 {self.op(f'add i64 {k}, 1')}, ptr {index}")
        self.emit(f"br i1 {more}, label %{body}, label %{end}")

        def begin() -> None:
            self.assign(node.target, Value(k, INT) if container is None else self.item(container, k, over))
            self.end()

        self.end_loop(node, base, ({}, {}), step, body, end, begin=begin)
        if where in self.owned and "." in where:
            self.releases_now(self.owned[where])
            del self.kinds[where]

    def bounds(self, node: Any) -> tuple[str, str]:
        """First number of a range, and the one behind its last."""
        if node.keywords or len(node.args) not in (1, 2):
            raise self.refuse(node, "a range has one or two bounds")
        values = self.values(node.args)
        if any(value.kind is not INT for value in values):
            raise self.refuse(node, "a range has bounds that are ints")
        return "0" if len(values) == 1 else values[0].ir, values[-1].ir

    def do_Continue(self, node) -> bool:
        self.go_on(node)
        return False

    def do_Break(self, node) -> bool:
        self.loops[-1].breaks.append(self.kinds)
        self.emit(f"br label %{self.loops[-1].end}")
        return False

    def do_Delete(self, node) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.kinds and self.kinds[target.id] is not ROW:
                if target.id in self.owned:  # else it has no reference of its own
                    self.releases_now(self.owned[target.id])
                del self.kinds[target.id]
            elif isinstance(target, ast.Subscript):
                where, key = self.values([target.value, target.slice])
                if where.kind.cls is not dict or where.kind.optional:
                    raise self.refuse(node, "is no dict")
                self.status("PyDict_DelItem", where, key)
            else:
                raise self.refuse(node, "is no variable that is set on all ways to here")
        self.end()

    def do_Pass(self, node) -> None:
        """Nothing."""

    # ---- assignment

    def do_Assign(self, node) -> None:
        first = node.targets[0]
        if isinstance(node.value, ast.Tuple) and isinstance(first, ast.Tuple) and len(node.targets) == 1:
            if len(first.elts) != len(node.value.elts):
                raise self.refuse(node, "as many values as variables are expected")
            values = [self.apart(value) for value in self.held(*self.values(node.value.elts))]
            for target, value in zip(first.elts, values):
                self.assign(target, value)
        elif len(node.targets) == 1:
            self.assign(first, self.expr(node.value))
        else:
            value = self.apart(*self.held(self.expr(node.value)))
            for target in node.targets:
                self.assign(target, value._replace(slot=""))
        self.end()

    def do_AnnAssign(self, node) -> None:
        if node.value is None:
            raise self.refuse(node, "is given no value")
        value, kind = self.expr(node.value), self.declared[node.target.id]
        if kind.what == "object":
            value = self.boxed(value)
        elif value.kind.what != kind.what:
            raise self.refuse(node, f"{value.kind.what} given, expected {kind.what}")
        self.assign(node.target, self.promised(value, kind))
        self.end()

    def do_AugAssign(self, node) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node, "is no variable")
        sum_ = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        self.assign(node.target, self.expr(ast.fix_missing_locations(ast.copy_location(sum_, node))))
        self.end()

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value)
        elif isinstance(target, ast.Tuple):
            whole = self.apart(*self.held(value))
            self.has_items(whole, len(target.elts), target)
            items = [
                self.item(whole, str(k), target) if getattr(each, "id", "") != "_" else None for k, each in enumerate(target.elts)
            ]
            found = zip([each for each, item in zip(target.elts, items) if item], self.held(*filter(None, items)))
            for each, item in found:
                self.assign(each, item)
        elif isinstance(target, ast.Attribute):
            value, before = self.boxed(value), self.yields
            base = self.expr(target.value)
            self.still(value, before, target)
            if self.is_frozen(base.kind.cls):
                raise self.refuse(target, "is a field of what never changes")
            at = self.at(base.ir, self.offset(base, target, target.attr))
            old, ir = self.op(f"load ptr, ptr {at}"), self.take(value)
            self.emit(f"store ptr {ir}, ptr {at}")
            self.emit(f"call void @xdecref(ptr {old})")
            self.yields += 1
        elif isinstance(target, ast.Subscript):
            before = self.yields
            where, key = self.values([target.value, target.slice])
            self.still(value, before, target)
            if where.kind is WORDS and value.kind is INT:
                self.emit(f"store i64 {value.ir}, ptr {self.at(where.ir, self.index(key, target), 'i64')}")
            elif where.kind.cls is dict and not where.kind.optional:
                self.status("PyDict_SetItem", where, key, value)
            else:
                raise self.refuse(target, "is no item of a dict, and no int among words")
        else:
            raise self.refuse(target, "cannot be assigned to")

    def has_items(self, value: Value, count: int, node: ast.AST) -> None:
        """Look whether there are as many items as variables for them."""
        if isinstance(value.kind.cls, types.GenericAlias):
            if len(value.kind.cls.__args__) != count:
                raise self.refuse(node, f"{value.kind.cls} has {len(value.kind.cls.__args__)} items")
        else:
            bad = self.op(f"icmp ne i64 {self.length(value, node)}, {count}")
            self.raise_if(bad, "ValueError", f"expected {count} values to unpack")

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
        """Whether a variable may borrow what it is set to: nothing runs until it was used last."""
        return not value.root and name not in self.owning and not self.unit.checked

    # ---- conditions

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

    def class_of(self, node: ast.expr) -> Kind:
        return self.unit.kind(node, self.scope, True)

    def truth(self, value: Value, node: ast.expr) -> str:
        if value.kind is BOOL:
            return value.ir
        if value.kind.cls is bool:
            return self.op(f"icmp eq ptr {value.ir}, @_Py_TrueStruct")
        return self.op(f"icmp ne i64 {value.ir if value.kind is INT else self.length(value, node)}, 0")

    # ---- expressions

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

    def constant_int(self, value: int, node: ast.AST) -> Value:
        if not -1 << 63 <= value < 1 << 63:
            raise self.refuse(node, "has more than 64 bits")
        return Value(str(value), INT)

    def known(self, text: str, cls: type, module: str = "") -> Value:
        """A Python object that native code refers to: a literal, or what a module calls by that name."""
        return Value(self.op(f"load ptr, ptr {self.unit.constant(text, module)}"), Kind("object", cls))

    def of_Name(self, node) -> Value:
        if node.id in self.kinds:
            return self.variable(node.id)
        if node.id in self.local or node.id not in self.scope and node.id not in NAMES:
            raise self.refuse(node, "is not set on all ways to here")
        found = self.scope.get(node.id, NAMES.get(node.id))
        if isinstance(found, Static):
            return Value(self.unit.static(node.id, found), WORDS)
        return self.constant_int(found, node) if type(found) is int else self.known(node.id, type(found), self.scope["__name__"])

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

    def offset(self, base: Value, node: ast.AST, name: Any) -> int:
        """Where an object keeps a slot."""
        if base.kind.optional:
            raise self.refuse(node, "may be None here")
        if base.kind.what != "object" or self.unit.annotation(base.kind.cls, name) is None:
            raise self.refuse(node, f"{base.kind.cls if base.kind.what == 'object' else base.kind.what} has no slot {name!r}")
        return self.unit.slot_offset(base.kind.cls, name)

    def is_frozen(self, cls: Any) -> bool:
        """Whether the fields of a class never change."""
        return cls in self.unit.frozen or isinstance(cls, type) and hasattr(cls, "native")

    def of_Attribute(self, node) -> Value:
        return self.attribute(self.boxed(self.expr(node.value)), node)

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """What is in a slot, or what Python finds by that name."""
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

    def promised(self, value: Value, kind: Kind) -> Value:
        """A value that somebody says to be of that kind."""
        looked_at = kind.what == "object" and isinstance(kind.cls, type) and kind.cls not in (object, type(None), type)
        if self.unit.checked and looked_at:
            cls = self.known(kind.cls.__name__, type, "class").ir
            good = self.op(f"call i1 @is_instance(ptr {value.ir}, ptr {cls})")
            if kind.optional:
                good = self.op(f"or i1 {good}, {self.op(f'icmp eq ptr {value.ir}, @_Py_NoneStruct')}")
            self.raise_if(self.op(f"xor i1 {good}, true"), "TypeError", f"expected {kind.cls.__name__} in {self.tree.name}\n")
        return value._replace(kind=kind)

    def of_Subscript(self, node) -> Value:
        if isinstance(node.slice, ast.Slice):
            return self.part(self.expr(node.value), node)
        where, key = self.values([node.value, node.slice])
        return self.item(where, self.index(key, node), node)

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

    def length(self, value: Value, node: ast.AST) -> str:
        if value.kind is ROW:
            return value.ir[1]
        if value.kind.cls not in (tuple, list) or value.kind.optional:
            raise self.refuse(node, f"a {value.kind.cls} where a tuple, a list or a row is expected")
        return self.op(f"load i64, ptr {self.at(value.ir, 16)}")

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
        """As in Python: by more bits than there are leaves nothing, or the sign. In raw code a negative number is large."""
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
        """As in Python: rounded down, and what is left over has the divisor's sign. Raw code must not divide by 0."""
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
        """An operand of ``is``: an object, a bool, or an int so small that there is one object of it."""
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

    # ---- calls

    def status(self, function: str, *values: Value) -> None:
        """A C function of objects that returns 0, or -1 with an error set."""
        args = ", ".join(f"ptr {v.ir}" for v in self.held(*map(self.boxed, values)))
        self.fail_if(self.op(f"icmp ne i32 {self.op(f'call i32 @{function}({args})')}, 0"))

    def boxed(self, value: Value) -> Value:
        """A value as an object."""
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

    def number(self, value: Value, kind: Kind, function: str) -> Value:
        """An object as a machine number."""
        (value,) = self.held(value) if value.kind.cls is not int else [value]
        pair = self.op(f"call {{ {kind.ir}, i1 }} @{function}(ptr {value.ir})")
        self.fail_if(self.op(f"extractvalue {{ {kind.ir}, i1 }} {pair}, 1"))
        return Value(self.op(f"extractvalue {{ {kind.ir}, i1 }} {pair}, 0"), kind)

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
        """Arguments in memory, behind some free places; the last may be all operands of a row."""
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

    def adapted(self, value: Value, kind: Kind, node: ast.AST) -> Value:
        """A value as a parameter, or a result, of that kind."""
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

    # ---- functions of Python's own, and forms of this language

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


def names_set(*trees: ast.AST, also: type = ast.Store) -> list[str]:
    """Names of variables that are set, once for each place; ``also``: or deleted. Comprehensions have variables of their own."""
    nodes = [n for tree in trees for n in ast.walk(tree)]
    inner = {id(n) for each in nodes if isinstance(each, ast.comprehension) for n in ast.walk(each.target)}
    return [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, also)) and id(n) not in inner]


def is_range(node: ast.AST, scope: dict, local: Container[str]) -> TypeGuard[ast.Call]:
    """Whether something is a range of Python's own."""
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "range"
        and "range" not in local
        and scope.get("range", range) is range
    )


def fits(given: Kind, kind: Kind) -> bool:
    """Whether an object of one kind is one of another."""
    if kind.cls is object:
        return True
    if given.cls is type(None):
        return kind.optional or kind.cls is type(None)
    if given.optional and not kind.optional:
        return False
    return given.cls == kind.cls or isinstance(given.cls, type) and isinstance(kind.cls, type) and issubclass(given.cls, kind.cls)


def joined(*kinds: Kind) -> Kind:
    """What is known of a value that is of one of several kinds."""
    if len(set(kinds)) == 1:
        return kinds[0]
    classes = {k.cls for k in kinds} - {type(None)}
    cls = classes.pop() if len(classes) == 1 else object
    return Kind(kinds[0].what, cls, cls is not object and any(k.optional for k in kinds))


def declarations(text: str) -> str:
    """Declarations of the C functions that a text calls and does not define or declare, by how it calls them."""
    known = set(re.findall(r"^(?:define|declare)[^@]*@\"?([\w.]+)", text, re.M))
    found = {
        name: f"declare {result} @{name}({', '.join(a.split()[0] for a in args.split(',') if a)})\n"
        for result, name, args in re.findall(r"call (\w+) @([\w.]+)\(([^)]*)\)", text)
        if name not in known
    }
    return "".join(found.values())

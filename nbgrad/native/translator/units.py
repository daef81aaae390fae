"""Modules of native functions, from their sources to LLVM's text."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from ..language import Row, Static, Words
from ..primitives import Slot
from ..support import FAULTS, SUPPORT, reference_counts
from .functions import Body
from .kinds import ANY, BOOL, FLOAT, INT, NAMES, RAW, Kind, Made, Refused


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
            self.collect(module)
        made = [(f, self.function(f)) for f in list(self.functions)]
        self.entries = [
            each.symbol if getattr(f, "native", "") == "c" else self.entry(each)
            for f, each in made
            if self.functions[f][2] or f.native in ("entry", "c")
        ]

    def collect(self, module: ModuleType) -> None:
        """Note the native functions of a module, and the methods of its native classes, with what they see."""
        scope = vars(module)
        for tree in ast.parse(inspect.getsource(module)).body:
            named = scope.get(getattr(tree, "name", ""))
            if isinstance(tree, ast.FunctionDef) and hasattr(named, "native"):
                self.functions[named] = tree, scope, None
            elif isinstance(tree, ast.ClassDef) and hasattr(named, "native"):
                for method in tree.body:
                    if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                        function = vars(named)[method.name]
                        if method.decorator_list and not hasattr(function, "native"):
                            raise Refused(f"{tree.name}.{method.name}, line {method.lineno}: its decorators are not native")
                        self.functions[function] = method, scope, named

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
            f"  %bad = icmp ugt i64 %rest, {made.star}",
            "  br i1 %bad, label %refuse, label %go, !prof !0",
            "refuse:",
            f"  call void @wrong_count(ptr {self.string(name)}, i64 %count)",
            "  ret ptr null",
            "go:",
        ]
        args = ["ptr %self"] * skip
        for k, kind in enumerate(kinds):
            lines += [f"  %at{k} = getelementptr ptr, ptr %args, i64 {k}", f"  %x{k} = load ptr, ptr %at{k}"]
            if kind is BOOL:  # True or False itself: a call costs as much as a comparison; a checked build looks
                lines.append(f"  %b{k} = icmp eq ptr %x{k}, @_Py_TrueStruct")
                lines += self.bool_or_refused(k, name) if self.checked else []
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

    def bool_or_refused(self, k: int, name: str) -> list[str]:
        """Lines that refuse an argument which is no bool."""
        return [
            f"  %f{k} = icmp eq ptr %x{k}, @_Py_FalseStruct",
            f"  %either{k} = or i1 %b{k}, %f{k}",
            f"  br i1 %either{k}, label %bool{k}, label %odd{k}, !prof !1",
            f"odd{k}:",
            f"  call void @raise(ptr @error.TypeError, ptr {self.string(f'{name}: argument {k} must be a bool')})",
            "  ret ptr null",
            f"bool{k}:",
        ]

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


def declarations(text: str) -> str:
    """Declarations of the C functions that a text calls and does not define or declare, by how it calls them."""
    known = set(re.findall(r"^(?:define|declare)[^@]*@\"?([\w.]+)", text, re.M))
    found = {
        name: f"declare {result} @{name}({', '.join(a.split()[0] for a in args.split(',') if a)})\n"
        for result, name, args in re.findall(r"call (\w+) @([\w.]+)\(([^)]*)\)", text)
        if name not in known
    }
    return "".join(found.values())

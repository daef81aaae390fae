"""One native function, translated: its variables, signature, ends and body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .kinds import ROW, WORDS, Kind, Made, Value
from .statements import Statements, names_set

if TYPE_CHECKING:
    from .units import Unit


class Body(Statements):
    """One function, translated: see ``References`` for the arguments; ``owner`` is the class whose method it is.

    Attributes:
        text: the function.
    """

    def __init__(self, unit: Unit, tree: ast.FunctionDef, scope: dict, owner: Any, style: str, owning: frozenset[str]):
        super().__init__(unit, tree, scope, style, owning)
        self.owner, self.style = owner, style
        self.look_for_variables()
        header = self.begin()
        if self.block(tree.body):
            self.leave(None)
        if self.borrows and self.yields:
            raise self.refuse(tree, "a function that borrows runs nothing")
        self.fail()
        self.let_go_at_the_ends()
        inline = {"inline": " alwaysinline", "borrows": " alwaysinline", "cold": " noinline cold"}.get(style, "")
        private = "" if style == "c" else "private "
        head = f"define {private}{self.made.out} @{self.made.symbol}({', '.join(header)}){inline} {{"
        self.text = "\n  ".join([head, *self.allocas, *self.lines]) + "\n}\n"

    def look_for_variables(self) -> None:
        """Find the variables, the places where each is set, and what annotations say of them."""
        tree = self.tree
        if tree.args.defaults or tree.args.posonlyargs or tree.args.kwonlyargs or tree.args.kwarg:
            raise self.refuse(tree, "parameters have names and no defaults")
        stored, given = names_set(tree), {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
        self.local = {*stored, *given}
        self.single = {name for name in stored if stored.count(name) == 1} - given
        again = [each for each in ast.walk(tree) if isinstance(each, (ast.For, ast.While, ast.Delete))]
        self.stable = self.single - {*names_set(*again, also=ast.Del)}
        for each in ast.walk(tree):
            if isinstance(each, ast.AnnAssign):
                kind = self.unit.kind(each.annotation, self.scope, True)
                if not isinstance(each.target, ast.Name) or self.declared.setdefault(each.target.id, kind) != kind:
                    raise self.refuse(each, "a variable has one annotation, and nothing else has one")

    def begin(self) -> list[str]:
        """The signature, and variables for the parameters; LLVM's parameters."""
        tree, owner, unit = self.tree, self.owner, self.unit
        params = {
            a.arg: Kind("object", owner) if owner and a.arg == "self" else unit.kind(a.annotation or object, self.scope)
            for a in tree.args.args
        }
        star = tree.args.vararg.arg if tree.args.vararg else ""
        self.made = Made(
            tree.name if self.style == "c" else f"n.{owner.__name__ + '.' if owner else ''}{tree.name}",
            tuple(params.values()),
            unit.kind(tree.returns or object, self.scope),
            getattr(owner, "MOST_OPERANDS", unit.most) if star else 0,
            new=not self.borrows,
            raises=not self.raw,
            yields=not self.raw and not self.borrows,
        )
        objects = "object" in {k.what for k in (*params.values(), self.made.result)}
        if self.made.result in (WORDS, ROW) or self.raw and (star or ROW in params.values() or objects):
            raise self.refuse(tree, "raw code knows numbers and words" if self.raw else "a function returns no words and no row")
        self.what = {name: kind.what for name, kind in params.items()}
        stored = names_set(tree)
        header = [f"{k.ir} %p.{n}" for n, k in params.items() if k is not ROW]
        for name, kind in params.items():
            if kind.what == "object" and name in stored:
                self.assign_name(name, Value(f"%p.{name}", kind, "here"))
            elif kind is not ROW:
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
        return header

    def fail(self) -> None:
        """The end where all errors go: NOTE [Errors]."""
        self.label("fail")
        if self.raw:
            self.emit("unreachable")
            return
        for slot in self.slots:
            self.emit(f"call void @drop(ptr {self.op(f'load ptr, ptr {slot}')})")
        zero = {"ptr": "null", "i1": "true"}.get(self.made.out, f"{{ {self.made.result.ir} undef, i1 true }}")
        self.emit(f"ret {self.made.out} {zero}")

    def let_go_at_the_ends(self) -> None:
        """Write what every other end releases, now that all variables are known."""
        for k in range(len(self.lines) - 1, -1, -1):
            if isinstance(self.lines[k], tuple):
                looped, known, kept, how = self.lines[k]
                self.lines[k : k + 1] = self.releases([s for s in (self.owned.values() if looped else known) if s != kept], how)

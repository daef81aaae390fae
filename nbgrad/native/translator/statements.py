"""Statements and assignments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from .invocations import Invocations, is_range
from .kinds import ANY, INT, NONE, NOTHING, ROW, WORDS, Kind, Value, joined
from .references import Loop


class Statements(Invocations):
    """The translation of statements; ``block`` takes several in a row."""

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
        """Go on where several ways come together; whether any way leads there."""
        if states:
            self.label(end)
            self.kinds = {n: joined(*(s[n] for s in states)) for n in states[0] if all(n in s for s in states)}
        return bool(states)

    def begin_loop(self, node, step: str) -> dict:
        """Begin a loop. What is known of a variable holds in the body only if the body leaves it true."""
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
        """Jump to the head of the loop, where the same variables must be set as before."""
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

    def do_Assign(self, node) -> None:
        first = node.targets[0]
        if isinstance(node.value, ast.Tuple) and isinstance(first, ast.Tuple) and len(node.targets) == 1:
            if len(first.elts) != len(node.value.elts):
                raise self.refuse(node, "as many values as variables are expected")
            values = [self.lasting(value) for value in self.held(*self.values(node.value.elts))]
            for target, value in zip(first.elts, values):
                self.assign(target, value)
        elif len(node.targets) == 1:
            self.assign(first, self.expr(node.value))
        else:
            value = self.lasting(*self.held(self.expr(node.value)))
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
            whole = self.lasting(*self.held(value))
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


def names_set(*trees: ast.AST, also: type = ast.Store) -> list[str]:
    """Names of variables that are set, once for each place; ``also``: or deleted. Comprehensions have variables of their own."""
    nodes = [n for tree in trees for n in ast.walk(tree)]
    inner = {id(n) for each in nodes if isinstance(each, ast.comprehension) for n in ast.walk(each.target)}
    return [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, also)) and id(n) not in inner]

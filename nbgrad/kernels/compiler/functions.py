"""Kernels and the functions they call, which become part of them."""

from __future__ import annotations

import ast
import linecache
import textwrap
import types
from functools import cache
from typing import Any, Callable

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.ir._utils import NameScope

from ..prims import llvm_prims, numpy_prims
from ..texts import ready
from . import kinds
from .arithmetic import Builder, Value
from .expressions import Scope, Widened
from .kinds import Refused
from .statements import Statements

__all__ = ["Entry", "kernel_text", "rules"]

MOST_ATTEMPTS = 20  # each widens a variable
REORDERED = ("reassoc", "nsz")


@cache
def tree_of(code: types.CodeType) -> ast.FunctionDef:
    """The syntax tree of a function, from the lines that its byte code names."""
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno
    last = max([line for _, line, _, _ in code.co_positions() if line], default=first)
    while last <= len(lines):
        try:
            (found,) = ast.parse(textwrap.dedent("".join(lines[first - 1 : last]))).body
        except SyntaxError:  # brackets that are closed further down
            last += 1
            continue
        if isinstance(found, ast.FunctionDef):
            return found
        break
    raise Refused(f"the source of {code.co_name}")


@cache
def simple(tree: ast.FunctionDef) -> bool:
    """Whether only the last statement returns."""
    returns = returns_among(tree.body)
    return not returns or len(returns) == 1 and tree.body[-1] is returns[0]


def returns_among(statements: list[ast.stmt]) -> list[ast.Return]:
    """The returns in statements; expressions have none, and are most of a tree."""
    found = list[ast.Return]()
    for each in statements:
        if isinstance(each, ast.Return):
            found.append(each)
        elif isinstance(each, (ast.If, ast.For, ast.While)):
            found += returns_among(each.body) + returns_among(each.orelse)
    return found


class Names(NameScope):
    """The names of a function's values, most of which have none: those are numbered, without a search.

    Attributes:
        unnamed: how many have none.
    """

    def __init__(self, unnamed: int):
        super().__init__()
        self.unnamed = unnamed

    def register(self, name: str, deduplicate: bool = False) -> str:
        """The name that a value has."""
        if name:
            return super().register(name, deduplicate)
        self.unnamed += 1
        return f".{self.unnamed}"


class Function(Statements):
    """One function, whose body is written where it is called."""

    def run(self, tree: ast.FunctionDef) -> Any:
        """Write the body; what it returns."""
        if simple(tree):
            self.block(tree.body)
            return self.returned
        self.end = self.b.append_basic_block()
        if self.block(tree.body):
            self.b.branch(self.end)
        self.b.position_at_end(self.end)
        return None if self.returned is None else self.loaded(self.returned)

    def inlined(self, function: types.FunctionType, operands: list[Any]) -> Any:
        """See ``Expressions``: what is ``part_of_loop`` is reordered as its caller is."""
        if ready(function).__code__.co_freevars:
            raise Refused(f"the closure {function.__name__}")
        tree, builder = tree_of(function.__code__), self.b
        before, builder.fast = builder.fast, builder.fast if getattr(function, "part_of_loop", False) else ()
        try:
            return Function(self.scope, function, tree, operands).run(tree)
        finally:
            builder.fast = before


class Rule:
    """A primitive, as expressions find it."""

    def __init__(self, rule: Callable):
        self.rule, self.__name__ = rule, rule.__name__


def rules(dtype: str) -> tuple[dict[str, Rule], dict[str, Callable]]:
    """The primitives at a dtype, and those of constants."""
    width = {"float32": 32, "float64": 64}.get(dtype, 64)
    return llvm_prims(Rule, kinds, dtype, f"llvm.rint.f{width}"), numpy_prims(dtype)


class Entry:
    """What a target calls: the function of a module that is a kernel. This one is the processor's, ``kernel(start, stop, args)``.

    Attributes:
        triple: the target, in LLVM's words.
    """

    @property
    def triple(self) -> str:
        return llvm.get_process_triple()

    def declare(self, module: ir.Module, symbol: str) -> ir.Function:
        """The function."""
        pointer, i64 = ir.IntType(8).as_pointer(), ir.IntType(64)
        return ir.Function(module, ir.FunctionType(ir.IntType(32), [pointer, pointer, i64, i64, pointer.as_pointer()]), symbol)

    def operands(self, made: ir.Function, builder: Builder) -> list[Value]:
        """The operands of what it is translated from; instructions go to where it begins."""
        _, _, start, stop, args = made.args
        return [Value(kinds.int64, start), Value(kinds.int64, stop), Value(kinds.CPointer(kinds.voidptr), args)]

    def leave(self, builder: Builder, result: Any) -> None:
        """The end of the function.

        Args:
            result: what is returned; None if nothing is.
        """
        builder.ret(ir.Constant(ir.IntType(32), 0))


def kernel_text(
    function: Any,
    symbol: str,
    scope: Scope,
    reassociate: bool = False,
    apart: bool = False,
    entry: Entry | None = None,
    fused: bool = False,
) -> str:
    """LLVM's text of a kernel.

    Args:
        function: what is translated.
        symbol: its name.
        scope: what its names mean.
        reassociate: whether its sums may be reordered.
        apart: whether memory that it writes through a pointer is reached through no other.
        fused: whether, where sums may be reordered, a product may be added to one without being rounded before.
        entry: how the target calls it; None: the processor, as a kernel of the CPU.

    Raises:
        Refused: it contains what this compiler does not know.
    """
    if ready(function).__code__.co_freevars:
        raise Refused("a closure")
    fast = (*REORDERED, *("contract",) * fused) if reassociate else ()
    for _ in range(MOST_ATTEMPTS):
        try:
            return attempt(function, symbol, scope, fast, apart, entry or Entry())
        except Widened:
            continue
    raise Refused("variables of ever other kinds")


def attempt(function: Any, symbol: str, scope: Scope, fast: tuple[str, ...], apart: bool, entry: Entry) -> str:
    """The text, with the kinds of variables that are known so far."""
    module = ir.Module(symbol)
    module.triple, module.data_layout = entry.triple, scope.layout
    made = entry.declare(module, symbol)
    made.scope = Names(len(made.args))
    first, body = made.append_basic_block("entry"), made.append_basic_block("body")
    builder = scope.builder = Builder(body)
    builder.fast = fast
    scope.reached = [] if apart else None
    with builder.goto_block(first):
        operands = entry.operands(made, builder)
    tree = tree_of(function.__code__)
    result = Function(scope, function, tree, operands).run(tree)
    if not builder.block.is_terminated:
        entry.leave(builder, result)
    with builder.goto_block(first):
        builder.branch(body)
    keep_apart(module, scope.reached or [])
    return str(module)


def keep_apart(module: ir.Module, reached: list[tuple[Any, Any]]) -> None:
    """Tell LLVM that loads and stores through different pointers share no memory: loops need not compare addresses first."""
    pointers = list(dict.fromkeys(pointer for _, pointer in reached))
    domain = module.add_metadata(["pointers"])
    scopes = [module.add_metadata([f"pointer {k}", domain]) for k in range(len(pointers))]
    for access, pointer in reached:
        own = pointers.index(pointer)
        access.set_metadata("alias.scope", module.add_metadata([scopes[own]]))
        access.set_metadata("noalias", module.add_metadata([*scopes[:own], *scopes[own + 1 :]]))

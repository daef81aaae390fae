"""From the text of a graph, as text.py writes it, to the graph.

>>> from nbgrad.jit import parse
>>> graph = parse('''
... def twice(x: float64[3]) -> [float64[3]]:
...     y: float64[3] = add(x, x)
...     return [y]
... ''')
>>> graph
<Graph twice: 1 inputs, 1 nodes, 1 outputs>
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from typing import Any, Mapping

from ...base.errors import ArgumentError, GraphError
from ...creation.generators import Generator
from ...tensors.tensor import Tensor
from ..ir.graph import Graph
from ..ir.ir import Block, Control, Node, Value
from ..ir.literals import Type, digest_of, type_text
from ..ir.operations import control_nodes, operation_of
from .expressions import Expressions, type_of_text, value_of_text
from .text import AUTOMATIC

__all__ = ["given_constants", "parse", "type_of_text", "value_of_text"]


def parse(text: str, constants: Mapping[str, Tensor | Generator] | None = None) -> Graph:
    """The graph of a text.

    Args:
        text: what ``str(graph)`` gives, or the like.
        constants: the tensors of the parameters by keyword; generators too, if the graph is to draw from those that there are, and
            not from new ones in the state that the text tells.

    Returns:
        The graph: its text is the same one again.

    Raises:
        ArgumentError: no text. GraphError: no text of a graph, with line and column; a constant that is missing, or another than
            the text says.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> text = str(trace(lambda x: x * x + 1, nbgrad.ones(2)))
    >>> str(parse(text)) == text
    True
    """
    if not isinstance(text, str):
        raise ArgumentError(f"parse: expected the text of a graph, got {type(text).__name__}. Hint: str(graph).")
    tree = tree_of(text)
    control_nodes()
    parser = Parser(Comments(text), dict(constants or {}))
    functions = [x for x in tree.body if isinstance(x, ast.FunctionDef)]
    if len(functions) != 1 or len(tree.body) != 1:
        parser.refuse(tree.body[-1] if tree.body else None, f"{len(tree.body)} statements", "one function")
    return parser.graph(functions[0])


def tree_of(text: str) -> ast.Module:
    """The statements of a text.

    Raises:
        GraphError: it is no Python.
    """
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise GraphError(f"parse: line {error.lineno}, column {error.offset}: {error.msg}.") from None


def given_constants(text: str) -> dict[str, Type]:
    """The names and types of the constants that a text takes.

    Raises:
        GraphError: it is no text of a graph.
    """
    functions, types = [x for x in tree_of(text).body if isinstance(x, ast.FunctionDef)], Expressions()
    pairs = [pair for function in functions for pair in zip(function.args.kwonlyargs, function.args.kw_defaults)]
    return {each.arg: types.type(each.annotation) for each, default in pairs if default is None and each.annotation is not None}


class Comments:
    """The comments of a text.

    Attributes:
        digests: by line.
    """

    def __init__(self, text: str):
        self.digests: dict[int, str] = {}
        self.starts, self.lines = [0], [""]
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT:
                continue
            note, (row, column) = token.string[1:].strip(), token.start
            if not token.line[:column].strip():
                self.starts.append(row)
                self.lines.append("" if note == "unknown line" else note)
            elif note.startswith("sha256 "):
                self.digests[row] = note[7:].strip()

    def line_at(self, row: int) -> str:
        """The line of the program that a statement comes from."""
        return self.lines[bisect_right(self.starts, row) - 1]


class Parser(Expressions):
    """Reads one text.

    Attributes:
        given: constants by name.
        blocks: of the functions that were defined and not yet taken.
    """

    def __init__(self, comments: Comments, given: dict[str, Any]):
        super().__init__()
        self.comments, self.given = comments, given
        self.seen: set[str] = set()
        self.blocks: dict[str, Block] = {}
        self.types: dict[str, Type] = {}

    # ---- functions -------------------------------------------------------------------------------------------------

    def graph(self, function: ast.FunctionDef) -> Graph:
        """The graph that a function is."""
        found: dict[str, Value] = {}
        for each, default in zip(function.args.kwonlyargs, function.args.kw_defaults):
            if default is None:
                found[each.arg] = self.define(each.arg, self.constant_given(each), each)
            else:
                self.generators[each.arg] = self.generator(each, default)
        graph = Graph(name=function.name)
        self.fill(graph, function, found)
        order = sorted(found, key=lambda name: int(name[1:]) if re.fullmatch(r"c\d+", name) else len(found))
        graph.constants = [found[name] for name in order]
        return graph

    def fill(self, block: Any, function: ast.FunctionDef, constants: dict[str, Value] | None) -> Any:
        """Read a function into a block."""
        arguments = function.args
        if arguments.posonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults or function.decorator_list:
            self.refuse(function, "a function of another form", "parameters with types, and no defaults")
        if constants is None and arguments.kwonlyargs:
            self.refuse(arguments.kwonlyargs[0], "a parameter by keyword", "constants of the outermost function alone")
        for each in arguments.args:
            if each.annotation is None:
                self.refuse(each, f"'{each.arg}' without a type", f"'{each.arg}: float32[2]' or '{each.arg}: Tensor'")
            kind = self.type(each.annotation)
            block.inputs.append(self.define(each.arg, Value(kind.layout, kind.flag), each))
        *body, last = function.body
        for statement in body:
            self.statement(block, statement, constants)
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.List):
            self.refuse(last, f"{ast.unparse(last)[:60]!r}", f"'return [...]' at the end of {function.name}")
        block.outputs = [self.argument(x) for x in last.value.elts]
        return block

    def define(self, name: str, value: Value, where: Any) -> Value:
        """Give a name to a value."""
        if name in self.seen:
            self.refuse(where, f"a second definition of '{name}'", "one")
        self.seen.add(name)
        self.values[name] = value
        if not AUTOMATIC.fullmatch(name):
            value.name = name
        return value

    def generator(self, parameter: ast.arg, default: ast.expr) -> Generator:
        """The generator of a parameter by keyword: the one that was given, or a new one."""
        made, kind = self.expression(default), parameter.annotation
        typed = isinstance(kind, ast.Name) and kind.id == "Generator"
        if not isinstance(made, Generator) or not typed or parameter.arg in self.seen:
            self.refuse(parameter, f"'{parameter.arg} = {ast.unparse(default)[:60]}'", "'g0: Generator = generator(seed, calls)'")
        self.seen.add(parameter.arg)
        given = self.given.get(parameter.arg, made)
        if not isinstance(given, Generator):
            self.refuse(parameter, f"a constant '{parameter.arg}' of type {type(given).__name__}", "a Generator")
        return given

    def constant_given(self, parameter: ast.arg) -> Value:
        """The constant of a parameter by keyword."""
        name, row = parameter.arg, parameter.lineno
        if parameter.annotation is None:
            self.refuse(parameter, f"'{name}' without a type", f"'{name}: float32[2]'")
        kind, x = self.type(parameter.annotation), self.given.get(name)
        if not isinstance(x, Tensor):
            self.refuse(parameter, f"no constant '{name}'", f"parse(text, constants={{'{name}': tensor}})")
        own = x.layout.plain()
        if type_text(own) != type_text(kind.layout):
            self.refuse(parameter, f"a constant '{name}' of {type_text(own)}", type_text(kind.layout))
        digest = self.comments.digests.get(row, "")
        if digest and digest != digest_of(x):
            self.refuse(parameter, f"a constant '{name}' of other values (sha256 {digest_of(x)})", f"sha256 {digest}")
        return Value(kind.layout, kind.flag, data=x)

    # ---- statements ------------------------------------------------------------------------------------------------

    def statement(self, block: Block, x: ast.stmt, constants: dict[str, Value] | None) -> None:
        """Read a statement of a block's body."""
        if isinstance(x, ast.FunctionDef):
            outer = dict(self.values)
            self.blocks[x.name] = self.fill(Block(), x, None)
            self.values = outer
        elif isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name):
            if x.value is None:
                self.types[x.target.id] = self.type(x.annotation)
            else:
                self.call(block, x.value, [x.target], [self.type(x.annotation)])
        elif isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Name) and constants is not None:
            name = x.targets[0].id
            constants[name] = self.define(name, self.constant(x.value), x)
        elif isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Tuple):
            names = [self.require(y, ast.Name, "a name") for y in x.targets[0].elts]
            missing = [y for y in names if y.id not in self.types]
            if missing:
                self.refuse(missing[0], f"'{missing[0].id}' without a type", f"'{missing[0].id}: float32[2]' above")
            self.call(block, x.value, names, [self.types.pop(y.id) for y in names])
        elif isinstance(x, ast.Expr):
            self.call(block, x.value, [], [])
        else:
            self.refuse(x, f"{ast.unparse(x)[:60]!r}", "'name: type = operation(...)'")

    def call(self, block: Block, x: ast.expr, targets: list[ast.Name], types: list[Type]) -> None:
        """Read the call of an operation or a control node."""
        call = self.require(x, ast.Call, "a call of an operation")
        name = self.require(call.func, ast.Name, "the name of an operation").id
        op = operation_of(name)
        if op is None:
            self.refuse(call.func, f"'{name}'", "an operation of the table or a control node")
        attributes = {each.arg: each.value for each in call.keywords if each.arg is not None}
        taken = self.require(attributes.pop("blocks"), ast.Tuple, "functions").elts if "blocks" in attributes else []
        blocks = tuple([self.block(each) for each in taken])
        ins = tuple([self.argument(each) for each in call.args])
        named = {key: self.argument(value) for key, value in attributes.items()}
        if not isinstance(op, Control):
            try:
                op.signature.bind(*ins, **named)
            except TypeError as error:
                self.refuse(call, f"{name}: {error}", f"{name}{op.signature}")
        node = Node(op, ins, named, [y.layout for y in types], blocks, self.comments.line_at(x.lineno), [y.flag for y in types])
        for target, value in zip(targets, node.outs):
            self.define(target.id, value, target)
        block.nodes.append(node)

    def block(self, x: ast.expr) -> Block:
        """The block of a function, which one node takes."""
        name = self.require(x, ast.Name, "the name of a function").id
        if name not in self.blocks:
            self.refuse(x, f"'{name}'", "a function that is defined above, for one statement")
        return self.blocks.pop(name)

"""Graphs as Python that runs: one statement for every call, and what is known of its results as annotations.

>>> import nbgrad
>>> from nbgrad.jit import trace
>>> def total(x):
...     return (x * 0.5 + nbgrad.tensor([1.0, 2.0])).sum()
>>> print("\\n".join(line for line in str(trace(total, nbgrad.ones(2))).splitlines() if "#" not in line))
def total(x: float32[2]) -> [float32[()]]:
    c0 = float32[2].of(1.0, 2.0)
    v0: float32[2] = mul(x, 0.5)
    v1: float32[2] = add(v0, c0)
    v2: float32[()] = sum(v1, dim=None, keepdim=False, dtype=None)
    return [v2]

NOTE [Texts of graphs]: the text of a graph is a function of its inputs that returns the list of its outputs. A comment names the
line of the program from which the statements beneath it come. Constants of few elements are made in front; others are parameters
by keyword, with a digest. So are random generators other than the default one, with the state that they have. Blocks of control
nodes are functions in front of the statement that takes them. ``namespace()`` gives the names their meaning, so that ``exec`` makes
the function; parser.py makes the graph again. Names follow from the order of the statements alone, so that equal graphs have equal
texts in every process.
"""

from __future__ import annotations

import keyword
import linecache
import re
from types import FunctionType
from typing import Any, Callable, Iterable, Iterator, Sequence

from ...base.calls import CALLS
from ...creation.generators import Generator
from ...kernels.cpu.digest import sha256
from ...ops.core import Op
from ...tensors.tensor import Tensor
from ..ir.ir import Block, Control, Node, Value, map_values
from ..ir.literals import MEANINGS, Type, constant_text, digest_of, is_inline, literal, type_text
from ..ir.operations import control_nodes, gives_several, operation_names, operation_of

__all__ = ["constants_of", "function_of", "namespace", "rows_of", "text_of"]

WIDEST = 120
AUTOMATIC = re.compile(r"[vcug]\d+|\w+_block\d+")


class Line(str):
    """The line of a text that calls a node."""

    node: Node


def line_of(text: str, node: Node) -> Line:
    """The line that calls a node."""
    made = Line(text)
    made.node = node
    return made


def lines_of(block: Block, constants: Sequence[Value], name: str) -> list[str]:
    """The lines of a block."""
    free = is_free(name, {node.name for node in block.all_nodes()})
    return list(Printer(block, constants).function(block, name if free else f"{name}_graph", "", constants))


def text_of(block: Block, constants: Sequence[Value] = (), name: str = "graph") -> str:
    """A block as a function: see NOTE [Texts of graphs]."""
    return "\n".join(lines_of(block, constants, name)) + "\n"


def rows_of(block: Block, constants: Sequence[Value] = (), name: str = "graph") -> tuple[str, dict[Node, int]]:
    """The text of a block, and in which of its rows each node is called."""
    lines = lines_of(block, constants, name)
    return "\n".join(lines) + "\n", {line.node: row for row, line in enumerate(lines, 1) if isinstance(line, Line)}


def constants_of(constants: Sequence[Value]) -> dict[str, Tensor]:
    """The constants that a text takes as parameters, by their names there."""
    return {f"c{k}": value.data for k, value in enumerate(constants) if not is_inline(value)}


class Printer:
    """Writes one text.

    Attributes:
        names: of the values that were met.
        line: the line of the program that the text named last.
        counts: how many names of a kind were given.
        generators: those that nodes draw from, with their names.
    """

    def __init__(self, block: Block, constants: Sequence[Value]):
        self.names = {value: f"c{k}" for k, value in enumerate(constants)}
        self.line, self.counts = "", dict[str, int]()
        taken: dict[str, Value] = {}
        called = {node.name for node in block.all_nodes()}
        found = [x for node in block.all_nodes() for x in node.attributes.values() if isinstance(x, Generator)]
        self.generators = {x: f"g{k}" for k, x in enumerate(dict.fromkeys(found))}
        for value in every_value(block):
            if is_free(value.name, called) and not AUTOMATIC.fullmatch(value.name):
                taken.setdefault(value.name, value)
        self.names.update((value, name) for name, value in taken.items())

    def count(self, kind: str) -> int:
        """The next number of a kind of names."""
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return self.counts[kind]

    def define(self, value: Value) -> str:
        """The name of a value that appears for the first time."""
        if value not in self.names:
            self.names[value] = f"v{self.count('v')}"
        return self.names[value]

    def use(self, value: Value) -> str:
        """The name of a value that is read; ``u0`` of one that nothing defines."""
        if value not in self.names:
            self.names[value] = f"u{self.count('u')}"
        return self.names[value]

    def argument(self, x: Any) -> str:
        """An operand or an attribute."""
        if isinstance(x, Value):
            return self.use(x)
        if isinstance(x, (tuple, list)):
            parts = ", ".join(map(self.argument, x))
            return f"[{parts}]" if isinstance(x, list) else f"({parts},)" if len(x) == 1 else f"({parts})"
        return self.generators[x] if isinstance(x, Generator) else literal(x)

    # ---- lines -----------------------------------------------------------------------------------------------------

    def function(self, block: Block, name: str, indent: str, constants: Sequence[Value] = ()) -> Iterator[str]:
        """The lines of a block."""
        given = {} if indent else self.generators
        yield from self.header(block, name, indent, [value for value in constants if not is_inline(value)], given)
        indent += "    "
        for value in constants:
            if is_inline(value):
                yield f"{indent}{self.names[value]} = {constant_text(value)}"
        for node in block.nodes:
            yield from self.statement(node, indent)
        yield f"{indent}return [{', '.join(map(self.argument, block.outputs))}]"

    def header(self, block: Block, name: str, indent: str, given: Sequence[Value], generators: dict) -> Iterator[str]:
        """The line of ``def``, or a line for each parameter."""
        parameters = [f"{self.define(value)}: {type_of(value)}" for value in block.inputs]
        result = ", ".join([str(map_values(x, type_of)) if isinstance(x, Value) else "None" for x in block.outputs])
        line = f"{indent}def {name}({', '.join(parameters)}) -> [{result}]:"
        if len(line) <= WIDEST and not given and not generators:
            yield line
            return
        yield f"{indent}def {name}("
        for text in parameters:
            yield f"{indent}    {text},"
        if given or generators:
            yield f"{indent}    *,"
        for value in given:
            note = f"  # sha256 {digest_of(value.data)}" if isinstance(value.data, Tensor) else ""
            yield f"{indent}    {self.names[value]}: {type_of(value)},{note}"
        for generator, known in generators.items():
            yield f"{indent}    {known}: Generator = {literal(generator)},"
        yield f"{indent}) -> [{result}]:"

    def statement(self, node: Node, indent: str) -> Iterator[str]:
        """The lines of a node: blocks, types of several results, the call."""
        if node.line != self.line:
            self.line = node.line
            yield f"{indent}# {node.line or 'unknown line'}"
        blocks = []
        for block in node.blocks:
            blocks.append(f"{node.name}_block{self.count('block')}")
            yield from self.function(block, blocks[-1], indent)
        arguments = [*map(self.argument, node.ins), *(f"{name}={self.argument(x)}" for name, x in ordered(node))]
        if blocks:
            arguments.append(f"blocks=({', '.join(blocks)}{',' * (len(blocks) == 1)})")
        call = f"{node.name}({', '.join(arguments)})"
        typed = [f"{self.define(value)}: {type_of(value)}" for value in node.outs]
        if len(typed) == 1 and not gives_several(node.op):
            yield line_of(f"{indent}{typed[0]} = {call}", node)
            return
        yield from (f"{indent}{text}" for text in typed)
        names = ", ".join([self.names[value] for value in node.outs])
        yield line_of(f"{indent}({names}{',' * (len(typed) == 1)}) = {call}" if typed else f"{indent}{call}", node)


def type_of(value: Value) -> str:
    """The type of a value, as it is spelled."""
    return type_text(value.layout, value.requires_grad)


def every_value(block: Block) -> Iterator[Value]:
    """The values that a block and those within define."""
    yield from block.inputs
    for node in block.nodes:
        for inner in node.blocks:
            yield from every_value(inner)
        yield from node.outs


def ordered(node: Node) -> Iterable[tuple[str, Any]]:
    """The attributes in the order of their declaration."""
    declared = list(node.op.signature.parameters) if isinstance(node.op, Op) else []
    return sorted(node.attributes.items(), key=lambda item: (declared.index(item[0]) if item[0] in declared else 99, item[0]))


def is_free(name: str, called: set[str]) -> bool:
    """Whether a name may be given to what the text defines: it is Python's, and means nothing else there."""
    return name.isidentifier() and not keyword.iskeyword(name) and name not in MEANINGS and name not in called


# ---- what the text means when it runs ------------------------------------------------------------------------------


def namespace() -> dict[str, Any]:
    """The names of the texts: ``exec(str(graph), namespace())`` defines the function.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> names = namespace()
    >>> exec(str(trace(lambda x: 2 * x, nbgrad.ones(2))), names)
    >>> names["graph"](nbgrad.tensor([1.0, 2.0]))
    [tensor([2., 4.])]
    """
    controls = {name: control_call(control) for name, control in control_nodes().items()}
    operations = {name: CALLS[name] for name in operation_names() if operation_of(name) is not None}
    return {**MEANINGS, **controls, **operations}


def function_of(text: str) -> Callable:
    """The function that a text defines; tracebacks show its lines."""
    path, names = f"<graph {sha256(text.encode()).hexdigest()[:16]}>", namespace()
    exec(compile(text, path, "exec", dont_inherit=True), names)
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return next(x for x in names.values() if isinstance(x, FunctionType) and x.__code__.co_filename == path)


def control_call(control: Control) -> Callable:
    """What runs a control node whose blocks are functions."""

    def call(*operands: Any, blocks: tuple[Callable, ...] = (), **attributes: Any) -> Any:
        node = Node(control, operands, attributes, [], tuple(map(block_of, blocks)))
        return control.run(node, {}, *operands, **attributes)

    return call


def block_of(function: Callable) -> Block:
    """A block that calls a function of a text."""
    types = dict(function.__annotations__)
    outs = [x if isinstance(x, Type) else Type(None) for x in types.pop("return")]
    inputs = [Value(x.layout, x.flag, name=name) for name, x in types.items()]
    node = Node(FUNCTION, tuple(inputs), {"function": function}, [x.layout for x in outs])
    return Block(inputs, [node], list(node.outs))


FUNCTION = Control("function", lambda node, values, *operands, function: tuple(function(*operands)), effect="python")

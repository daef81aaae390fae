"""How a graph becomes the text of ``forward``: a line for each node, and the names that the text needs."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

import nbgrad

from ..methods import pytree
from ..tensors.storage import Device
from .names import Names, identifier, is_own, path_of
from .node import Argument, Node, map_arg
from .shapes import shape_text

__all__ = ["CodeGen", "PythonCode"]

# Python's operators: how a call of operator.NAME is written.
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
EXPRESSIONS = {name: f"{{}} {sign} {{}}" for name, sign in BINARY.items()}
EXPRESSIONS |= {"neg": "-{}", "pos": "+{}", "invert": "~{}", "getitem": "{}[{}]"}
ARITHMETIC = list(BINARY)[: list(BINARY).index("lt")]
STATEMENTS = {f"i{name.rstrip('_')}": f"{{}} {BINARY[name]}= {{}}" for name in ARITHMETIC} | {"setitem": "{}[{}] = {}"}

# What constants and annotations in the text refer to.
ALWAYS: dict[str, Any] = {
    "inf": math.inf,
    "nan": math.nan,
    "NoneType": type(None),
    "nbgrad": nbgrad,
    "device": Device,
    "pytree": pytree,
}


@dataclass
class PythonCode:
    """The text of a graph, and the values of the names in it.

    Attributes:
        src: defines ``forward``.
        globals: what it refers to.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None, repr=False)


class CodeGen:
    """How the first line and the ``return`` of a graph's text are written; a subclass may write others.

    >>> import nbgrad
    >>> graph = nbgrad.fx.symbolic_trace(lambda x: x + 1).graph
    >>> CodeGen().gen_fn_def(["x", "y = 2"], "")
    'def forward(self, x, y = 2):'
    """

    _func_name = "forward"

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The line that begins with ``def``."""
        names = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument, *, repr_fn: Callable[[Argument], str] = repr) -> str:
        """The statement that returns the result."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """What placeholders take of the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of a call, of what the output node gives."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names beside those that nodes need."""
        return []

    def _gen_python_code(self, nodes: Any, root_module: str, names: Names, **options: Any) -> PythonCode:
        return Writer(self, root_module, names, **options).code_of(nodes)


class PyTreeCodeGen(CodeGen):
    """The text of a graph whose arguments are leaves of nested lists and dicts: ``forward`` takes them apart first.

    Args:
        names: of the arguments of ``forward``.
        spec: the structure of the list of all arguments, which the module has as ``_in_spec``.
    """

    def __init__(self, names: list[str], spec: Any):
        super().__init__()
        self.names, self.spec = names, spec

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        head = super().gen_fn_def(self.names, maybe_return_annotation)
        leaves = [name.partition(" ")[0] for name in free_vars]
        return f"{head}\n    {', '.join(leaves)}, = pytree.leaves_like([{', '.join(self.names)}], self._in_spec)"

    def process_inputs(self, *args: Any) -> Any:
        return pytree.leaves_like(list(args), self.spec)


class Writer:
    """The text of one graph in the making: see ``code_of``."""

    def __init__(self, codegen: CodeGen, root: str, names: Names, verbose: bool = False, **options: bool):
        self.codegen, self.root, self.names, self.verbose, self.options = codegen, root, names, verbose, options
        self.globals = dict(ALWAYS)
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.returned = ""
        self.wrapped: dict[str, None] = {}

    def code_of(self, nodes: Any) -> PythonCode:
        """The text, with every variable set to None behind its last use, so that its memory is free."""
        for name, value in self.codegen.additional_globals():
            self.global_name(name, value)
        nodes = list(nodes)
        unused = last_uses(nodes)
        trace: str | None = None
        for node in nodes:
            if self.verbose:
                trace = self.write_trace(node, trace)
            line = self.line_of(node)
            if line is not None:
                ends = "" if node.op == "output" else ending(unused[node])
                self.body.append(line + ends)
        if self.codegen._body_transformer is not None:
            self.body = [line.rstrip("\n") for line in self.codegen._body_transformer([f"{line}\n" for line in self.body])]
        wraps = "\n".join(f'nbgrad.fx.wrap("{name}")' for name in self.wrapped)
        head = self.codegen.gen_fn_def(self.parameters, self.returned)
        lines = "\n    ".join(line for part in self.body or ["pass"] for line in part.split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n    {lines}\n    ", self.globals)

    def write_trace(self, node: Node, last: str | None) -> str | None:
        """A comment that says where the program made the node, where that is another place than the last one."""
        if node.op in ("placeholder", "output"):
            return last
        trace = (node.stack_trace or "").strip().split("\n")
        if not trace[-1]:
            comment = "# No stacktrace found for following nodes"
        else:
            place = next((line.strip() for line in reversed(trace) if line.strip().startswith("File ")), "")
            comment = f"# {place}, code: {trace[-1].strip()}".replace('"', "").replace(", line ", ":")
        if comment != last:
            self.body.append(comment if last is None else f"\n{comment}")
        return comment

    # ---- lines ----

    def line_of(self, node: Node) -> str | None:
        """The statement of a node; None of an argument that is a variable already."""
        if node.op == "placeholder":
            return self.parameter(node)
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.annotation(node.type)}"
            return self.codegen.generate_output(node.args[0], repr_fn=self.text)
        name = f"{node.name}{self.kind_of(node)}"
        if node.op == "get_attr":
            return f"{name} = {attribute(self.root, str(node.target))}"
        if node.op == "call_method":
            return f"{name} = {attribute(self.text(node.args[0]), str(node.target))}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{name} = {attribute(self.root, str(node.target))}({self.arguments(node.args, node.kwargs)})"
        return self.function_line(node, name)

    def function_line(self, node: Node, name: str) -> str:
        """The statement of a call of a function, an operator where it is one."""
        target: Any = node.target
        if getattr(target, "__module__", None) == "_operator":
            args = [self.text(x) for x in node.args]
            if target.__name__ in EXPRESSIONS and not node.kwargs:
                return f"{name} = {EXPRESSIONS[target.__name__].format(*args)}"
            if target.__name__ in STATEMENTS and not node.kwargs:
                return f"{STATEMENTS[target.__name__].format(*args)};  {name} = {args[0]}"
        if target is getattr and len(node.args) == 2 and is_attribute(node.args[1]):
            return f"{name} = {attribute(self.text(node.args[0]), node.args[1])}"
        function = self.global_name(path_of(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped[function] = None
        return f"{name} = {function}({self.arguments(node.args, node.kwargs)})"

    def parameter(self, node: Node) -> str | None:
        """Enter an argument; the statement that gives it the node's name, if it has another one."""
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{self.kind_of(node)}{default}")
        plain = str(node.target).replace("*", "")
        return f"{node.name} = {plain}" if plain != node.name else None

    def kind_of(self, node: Node) -> str:
        """The annotation of a variable: in verbose text the shape, if it is known."""
        shape = shape_text(node, **self.options) if self.verbose else ""
        if shape:
            return f': "{shape}"'
        return "" if node.type is None else f" : {self.annotation(node.type)}"

    def arguments(self, args: tuple, kwargs: Any) -> str:
        """What stands between the parentheses of a call."""
        named = [f"{name} = {self.text(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.text, args), *named])

    # ---- values ----

    def text(self, value: Argument) -> str:
        """An argument as an expression."""
        if isinstance(value, tuple):
            members = [self.text(x) for x in value]
            if hasattr(value, "_fields"):
                return f"{self.global_name(path_of(type(value)), type(value))}({', '.join(members)})"
            return f"({', '.join(members)}{',' if len(members) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.text(name)}: {self.text(member)}" for name, member in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, enum.Enum):
            return f"{self.global_name(path_of(type(value)), type(value))}.{value.name}"
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.global_name(path_of(value), value)
        return repr(value)

    def annotation(self, kind: Any) -> str:
        """An annotation as an expression."""
        origin, members = get_origin(kind), get_args(kind)
        if isinstance(kind, types.UnionType):
            return " | ".join(map(self.annotation, members))
        if isinstance(kind, types.GenericAlias) and not any(isinstance(x, list) for x in members):
            return f"{self.global_name(path_of(origin), origin)}[{', '.join(map(self.annotation, members))}]"
        if isinstance(kind, type):
            return self.global_name(path_of(kind), kind)
        return "..." if kind is ... else self.global_name(str(kind), kind)

    def global_name(self, hint: str, value: Any) -> str:
        """An expression for a value that the text refers to: the path of what is nbgrad's, else a global name."""
        if getattr(builtins, hint, None) is value:
            self.globals[hint] = value
            return hint
        if is_own(value):
            return path_of(value)
        for name, known in self.globals.items():
            if known is value and name.startswith(identifier(hint)):
                return name
        name = self.names.create_name(identifier(hint), value)
        self.globals[name] = value
        return name


def last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node those that nobody uses behind it: inputs that it is the last to use, and itself where it has no users."""
    found: dict[Node, list[Node]] = {node: [] for node in nodes}
    used: set[Node] = set()
    for node in reversed(nodes):

        def note(x: Node, user: Node = node) -> Node:
            if x not in used:
                used.add(x)
                found[user].append(x)
            return x

        map_arg((node.args, node.kwargs), note)
        if not node.users and node.op not in ("placeholder", "output"):
            found[node].append(node)
    return found


def ending(unused: list[Node]) -> str:
    """What ends a line: variables that are no longer needed are set to None."""
    return f";  {' = '.join(node.name for node in unused)} = None" if unused else ""


def is_attribute(name: Any) -> bool:
    """Whether a name may stand behind a dot."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def attribute(base: str, path: str) -> str:
    """The expression of an attribute by its dotted path.

    >>> attribute("self", "blocks.0.weight")
    'getattr(self.blocks, "0").weight'
    """
    for name in path.split("."):
        base = f"{base}.{name}" if is_attribute(name) else f'getattr({base}, "{name}")'
    return base

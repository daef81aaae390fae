"""Graph: the list of nodes that is a module's program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Signature
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, GraphError
from ..base.user_stack import warn_user
from .codegen import CodeGen, PythonCode, PyTreeCodeGen as _PyTreeCodeGen
from .lint import lint
from .names import Names, path_of, snake_case
from .node import Argument, Node, Target, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen"]


class NodeList:
    """The nodes of a graph in their order. Nodes may be inserted and erased while it is gone through."""

    def __init__(self, graph: Graph, backward: bool = False):
        self.graph, self.backward = graph, backward

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev if self.backward else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backward else node._next

    def __reversed__(self) -> NodeList:
        return NodeList(self.graph, not self.backward)


class InsertPoint:
    """Where a graph gets its new nodes; as a context manager, until its end."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program as a list of nodes. ``symbolic_trace`` makes it of a module, its methods by hand.

    Args:
        owning_module: whose program it is.
        tracer_cls: the class of the tracer that made it.

    >>> import nbgrad
    >>> graph = nbgrad.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> node = graph.output(graph.call_method("exp", (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %exp : [num_users=1] = call_method[target=exp](args = (%x,), kwargs = {})
        return exp
    >>> module = nbgrad.fx.GraphModule(nbgrad.nn.Module(), graph)
    >>> module(nbgrad.zeros(2))
    tensor([1., 1.])
    """

    def __init__(
        self, owning_module: GraphModule | None = None, tracer_cls: type | None = None, tracer_extras: dict[str, Any] | None = None
    ):
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._names = Names()
        self._owning_module, self._owners = owning_module, 0
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose program it is, if it is that of one alone."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        if module is not None and self._owning_module is not module:
            self._owners += 1
        self._owning_module = module if self._owners <= 1 else None

    @property
    def nodes(self) -> NodeList:
        """The nodes in their order; ``reversed`` goes backward."""
        return NodeList(self)

    def output_node(self) -> Node:
        """The node that gives the result."""
        node = next(iter(reversed(self.nodes)), None)
        if node is None or node.op != "output":
            raise GraphError("output_node: the last node of the graph is no output. Hint: graph.output(result).")
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, in their order; of those that call something, the ones that call ``target``."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # ---- making nodes ----

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the insert point, which is the end unless ``inserting_before`` says another.

        Args:
            op: what it does: see ``Node``.
            name: what it is called, if that is free.
            type_expr: the annotation of its value.

        Raises:
            ArgumentError: ``op`` is none, ``target`` does not suit it, or an argument is a node of another graph.
        """
        args, kwargs = args or (), kwargs or {}
        map_arg((args, kwargs), lambda x: self._require_own(x))
        called = self._names.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, called, op, target, args, kwargs, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def _require_own(self, node: Node) -> Node:
        if node.graph is not self:
            raise ArgumentError(f"create_node: {node} is a node of another graph. Hint: graph.node_copy.")
        return node

    def _target_to_str(self, target: Target | None) -> str:
        """What a node that calls ``target`` is called."""
        name = path_of(target).rpartition(".")[2] if callable(target) else str(target)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = Signature.empty) -> Node:
        """An argument of the program, at the beginning; a default makes it optional."""
        args = () if default_value is Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """The value of an attribute of the module, by its dotted name; a warning if the module has none such."""
        if self.owning_module is not None and not has_path(self.owning_module, qualified_name):
            warn_user(f"get_attr: the module has no attribute {qualified_name!r}. Hint: add_submodule, or register_buffer.")
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a module below, by its dotted name.

        Raises:
            MemberError: the owning module has none such; an AttributeError too.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The result of the program, at its end."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """A node of another graph in this one; ``arg_transform`` says what stands here for its arguments.

        >>> import nbgrad
        >>> old = nbgrad.fx.symbolic_trace(lambda x: x.exp()).graph
        >>> new, copies = nbgrad.fx.Graph(), {}
        >>> for node in old.nodes:
        ...     copies[node] = new.node_copy(node, lambda x: copies[x])
        >>> str(new) == str(old)
        True
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Argument:
        """Copy all nodes of another graph but its output.

        Args:
            val_map: what stands here for nodes of ``g``; it takes the others.
            return_output_node: return the output's node, too.

        Returns:
            What the output of ``g`` returns, in this graph's nodes; None if it has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda x: val_map[x])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda x: val_map[x])
        return None

    # ---- changing it ----

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out of the graph.

        Raises:
            GraphError: other nodes use it. ArgumentError: it is no node of this graph.
        """
        if to_erase.users:
            raise GraphError(
                f"erase_node: tried to erase node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{', '.join(map(str, to_erase.users))}. Hint: replace_all_uses_with."
            )
        if to_erase.graph is not self:
            raise ArgumentError(f"erase_node: {to_erase} is a node of another graph.")
        if to_erase._erased:
            warn_user(f"erase_node: {to_erase} was erased before.")
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """From now on, or within ``with``, new nodes come right before ``n``; without a node at the beginning of the graph."""
        if n is None:
            return self.inserting_after(self._root)
        return InsertPoint(self, self._require_own(n).prepend)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """From now on, or within ``with``, new nodes come right behind ``n``; without a node at the end of the graph."""
        if n is None:
            return self.inserting_before(self._root)
        return InsertPoint(self, self._require_own(n).append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase the nodes that nobody uses; whether there were any.

        A node stays that does something beside giving a value, as ``is_impure_node``, by default ``Node.is_impure``, says. Methods
        that write to a tensor do not: a graph that has them keeps its meaning only if what they wrote to is not used afterwards.
        """
        impure = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
        return self._len < before

    def lint(self) -> None:
        """Check the graph.

        Raises:
            GraphError: a node is used before it is there, or belongs to another graph; two have one name; a module or an attribute
                of the owning module is missing.
        """
        lint(self)

    # ---- text ----

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let ``codegen`` write the first line and the ``return`` of the text."""
        self._codegen = codegen

    @contextmanager
    def _codegen_restored(self, transformer: Callable | None) -> Iterator[None]:
        try:
            yield
        finally:
            self._codegen._body_transformer = transformer

    def on_generate_code(self, make_transformer: Callable) -> Any:
        """Let a function rewrite the lines of the text whenever it is generated; as a context manager, until its end.

        Args:
            make_transformer: called with the function that was there before, or None; returns one that takes and returns lines.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return self._codegen_restored(before)

    def process_inputs(self, *args: Any) -> Any:
        """What placeholders take of the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of a call, of what the output node gives."""
        return self._codegen.process_outputs(out)

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False, **others: Any
    ) -> PythonCode:
        """The text of ``forward``, and what it refers to.

        Args:
            root_module: the name of the module in it, ``"self"``.
            verbose: with comments that say where nodes come from, and shapes that ``meta`` has.
        """
        names = Names()
        for node in self.nodes:
            names.associate(node.name, node)
        options = {"verbose": verbose, "include_stride": include_stride, "include_device": include_device}
        return self._codegen._gen_python_code(self.nodes, root_module, names, **options)

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print a table of the nodes.

        >>> import nbgrad
        >>> nbgrad.fx.symbolic_trace(lambda x: x.exp()).graph.print_tabular()
        opcode       name    target    args    kwargs
        -----------  ------  --------  ------  --------
        placeholder  x       x         ()      {}
        call_method  exp     exp       (x,)    {}
        output       output  output    (exp,)  {}
        """
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(x) for x in (node.op, node.name, node.target, node.args, node.kwargs)] for node in self.nodes]
        widths = [max(len(head) + 2, *map(len, column)) for head, *column in zip(head, *rows)]
        for row in (head, ["-" * width for width in widths], *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    # ---- copies ----

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copy = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        copy._codegen = self._codegen
        copies: dict[Node, Node] = {}
        result = copy.graph_copy(self, copies, return_output_node=True)
        if result is not None:
            returned, old = result
            copies[old] = copy.output(returned, old.type)
            copies[old].meta = dict(old.meta)
        memo[id(self)] = copy
        return copy


def has_path(module: Any, path: str) -> bool:
    """Whether an object has the attribute of a dotted path."""
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True

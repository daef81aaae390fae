"""Interpreter: runs a graph node by node. Transformer: runs it on proxies, which makes another graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..base.errors import ArgumentError
from ..nn.module import Module
from .asking import functions_ask
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy
from .tracer import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node. Subclass it to say what a kind of node does.

    Args:
        module: whose graph it is.
        garbage_collect_values: whether values are given free behind their last use.
        graph: run instead of the module's.

    Attributes:
        env: the values of nodes that are known and still used.

    >>> import nbgrad
    >>> class Doubling(Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return 2 * super().call_function(target, args, kwargs)
    >>> Doubling(nbgrad.fx.symbolic_trace(lambda x: nbgrad.exp(x))).run(nbgrad.zeros(2))
    tensor([2., 2.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.graph: Graph = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            self.user_to_last_uses = last_uses(self.graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The result of the graph.

        Args:
            args: of the module, by position.
            initial_env: values of nodes that are not computed.
            enable_io_processing: whether nested arguments are taken apart, as the module's ``forward`` does.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}\n{node.stack_trace or ''}".rstrip())
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                self.env.pop(unused, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """``run`` of arguments in a list, which is emptied, so that they are given free."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of a node, by the method that is called as its ``op``."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # ---- what subclasses may say otherwise ----

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument; the default if there is no more; all that are left for ``*args``.

        Raises:
            ArgumentError: there is neither.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise ArgumentError(f"Interpreter: expected positional argument for parameter {target}, but one was not passed in.")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module, by its dotted name."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        obj, *others = args
        return getattr(obj, str(target))(*others, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a module below."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the graph."""
        return args[0]

    # ---- for subclasses ----

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module, by its dotted name.

        Raises:
            ArgumentError: it is not there.
        """
        found = self.module
        for name in target.split("."):
            if not hasattr(found, name):
                raise ArgumentError(f"Interpreter: node referenced nonexistent target {target!r}: no attribute {name!r}.")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """The arguments of a node, with values in the places of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """An argument with values in the places of nodes; lists and dicts are plain ones."""

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise ArgumentError(f"Interpreter: node {n} uses {node}, which has no value yet. Hint: graph.lint().")
            return self.env[node]

        return plain(args, value_of)


def plain(a: Argument, fn: Callable[[Node], Any]) -> Any:
    """``map_arg`` with lists and dicts that can be written to."""
    if isinstance(a, tuple):
        members = [plain(x, fn) for x in a]
        return type(a)(*members) if hasattr(a, "_fields") else tuple(members)
    if isinstance(a, list):
        return [plain(x, fn) for x in a]
    if isinstance(a, dict):
        return {name: plain(x, fn) for name, x in a.items()}
    return map_arg(a, fn)


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node the nodes that nobody uses behind it."""
    found: dict[Node, list[Node]] = {}
    used: set[Node] = set()
    for node in reversed(graph.nodes):
        for x in node.all_input_nodes:
            if x not in used:
                used.add(x)
                found.setdefault(node, []).append(x)
    return found


class TransformerTracer(Tracer):
    """The tracer of a Transformer: all modules are leaves."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph
        self.root = Module()

    def is_leaf_module(self, _: Module, __: str) -> bool:
        return True


class Transformer(Interpreter):
    """An Interpreter on proxies: what its methods do is a new graph.

    Args:
        module: whose graph is transformed.

    >>> import nbgrad
    >>> class ExpForSin(Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(nbgrad.exp if target is nbgrad.sin else target, args, kwargs)
    >>> ExpForSin(nbgrad.fx.symbolic_trace(lambda x: nbgrad.sin(x))).transform()(nbgrad.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("placeholder", target, args, {})

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """A module with the transformed graph, on the same modules and parameters."""
        with functions_ask():
            result = super().run(enable_io_processing=False)
        if result is not None:
            returned = map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x)
            output = self.new_graph.output(returned, self.graph.output_node().type)
            output.meta = dict(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph, self.module._get_name())

"""Proxy: what a program is run on to be traced. Whatever is done with one becomes a node of a graph.

Functions of nbgrad see proxies by ``__torch_function__``, as they see every type that says itself what functions mean on it.
"""

from __future__ import annotations

import dataclasses
import dis
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

import nbgrad

from ..base.errors import ArgumentError, NbgradError, NotSupportedError
from .asking import ask_while_alive
from .codegen import ARITHMETIC, BINARY
from .graph import Graph
from .node import Argument, Node, Target, base_types, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(NbgradError, ValueError):
    """A program asks for what is known only when it runs on tensors."""


class TracerBase:
    """What proxies ask to make nodes: where they go, what becomes an argument, what control flow means.

    Attributes:
        graph: takes the nodes.
        record_stack_traces: whether nodes know the lines of the program that made them.
        proxy_buffer_attributes: whether buffers that a module reads become proxies, as parameters do.
        module_stack: the modules that are being called: their paths, with path and class.
    """

    graph: Graph
    record_stack_traces = False
    proxy_buffer_attributes = False
    check_mutable_operations = False
    trace_asserts = False
    traced_func_name = "forward"
    module_stack: dict[str, tuple[str, Any]] = {}

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the graph's insert point; every node of the tracer comes by here."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy that stands for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A node whose arguments may hold proxies, and the proxy of its value.

        Args:
            proxy_factory_fn: makes the proxy, by default ``proxy``.
        """
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        if self.record_stack_traces:
            node.stack_trace = place_of_user()
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """A value of the program as an argument of a node: proxies become nodes, also in collections.

        Raises:
            ArgumentError: a key of a dict is a proxy. NotSupportedError: nothing of the kind stands in a graph.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            members = [self.create_arg(x) for x in a]
            return type(a)(*members) if hasattr(a, "_fields") else tuple(members)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._key(name): self.create_arg(value) for name, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, np.generic):
            return a.item()
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            values = {each.name: self.create_arg(getattr(a, each.name)) for each in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), values)
        if isinstance(a, base_types) or callable(a):
            return a
        raise NotSupportedError(
            f"fx: argument of type: {type(a)}, expected proxies, tensors, numbers, strings, functions, or collections of them. "
            "Hint: override Tracer.create_arg, or wrap the function that makes it."
        )

    def _key(self, name: Any) -> Any:
        """A key of a dict, which is a constant."""
        if isinstance(name, Proxy) or isinstance(name, tuple) and any(isinstance(x, Proxy) for x in name):
            raise ArgumentError(f"fx: the key {name} of a dict is a proxy, expected a constant.")
        return name

    def to_bool(self, obj: Proxy) -> bool:
        """What ``if x`` means, for subclasses that know.

        Raises:
            TraceError: always.
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow. "
            "Hint: nbgrad.where, concrete_args=, or a module that is a leaf."
        )

    def iter(self, obj: Any) -> Iterator:
        """What ``for x in obj`` means: the members, where a statement unpacks as many as it has names.

        Raises:
            TraceError: how many there are is not known.
        """
        count = unpacked_by(sys._getframe(2))
        if count is None:
            raise TraceError(
                "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
                "function argument. Hint: how often a loop runs must not depend on a traced value; index it, or unpack it."
            )
        return iter([obj[place] for place in range(count)])

    def keys(self, obj: Proxy) -> Any:
        """What ``obj.keys()`` means, also in ``**obj``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that a program makes itself of a graph's nodes."""

    def __init__(self, graph: Graph):
        ask_while_alive(self)
        self.graph = graph


def place_of_user() -> str:
    """The lines of the program that are being run, as a traceback shows them."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != "nbgrad":
            frames.append(traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return "".join(traceback.format_list(frames[::-1]))


def unpacked_by(frame: FrameType | None) -> int | None:
    """How many names the statement that a frame is at unpacks into; None if it does something else."""
    if frame is None:
        return None
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            return int(step.arg or 0) if step.opname == "UNPACK_SEQUENCE" else None
    return None


class Proxy:
    """Stands for the value of a node while a program is traced. Operators, methods, attributes and functions become nodes.

    Args:
        node: whose value it stands for.
        tracer: makes the nodes; by default they are added to the node's graph.

    >>> import nbgrad
    >>> graph = nbgrad.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> y = nbgrad.relu(x * 2).sum()
    >>> [node.name for node in graph.nodes], y
    (['x', 'mul', 'relu', 'sum_1'], Proxy(sum_1))
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__nbgrad", "__array")) or name in ("node", "tracer", "__fx_create_arg__"):
            raise AttributeError(f"Proxy has no attribute {name!r}.")
        return Attribute(self, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """What ``**x`` asks."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise NotSupportedError(
            "'len' is not supported in symbolic tracing by default. "
            "Hint: if you want this call to be recorded, call nbgrad.fx.wrap('len') at module scope."
        )

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """A call of a function of nbgrad, as a node of the tracer of the proxies among its arguments."""
        tracers: dict[int, TracerBase] = {}

        def note(x: Any) -> None:
            if isinstance(x, Proxy):
                tracers[id(x.tracer.graph)] = x.tracer

        map_aggregate((args, kwargs or {}), note)
        if len(tracers) != 1:
            raise ArgumentError(
                f"{getattr(func, '__name__', func)}: its arguments are proxies of {len(tracers)} graphs, expected one."
            )
        (tracer,) = tracers.values()
        if nbgrad.overrides.is_tensor_method_or_property(func):
            name = func.__name__
            name = f"__{name}__" if name in ("getitem", "setitem") else name
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        return tracer.create_proxy("call_function", func, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a value. A call of it is a node ``call_method``; it has one of its own only if it is used otherwise."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter whose shape is taken for constant: questions about it are answered while tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any):
        super().__init__(node, tracer)
        self.name, self.param = name, param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """The parameter's size."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The parameter's number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The parameter's number of elements."""
        return self.param.nelement()


def _operator_of(function: Callable, swapped: bool = False) -> Callable:
    """The method of an operator."""

    def method(self: Proxy, *operands: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (*operands, self) if swapped else (self, *operands), {})

    return method


def _install_operators() -> None:
    """Give proxies the operators that texts of graphs know."""
    for name in (*BINARY, "neg", "pos", "invert", "getitem"):
        function = getattr(operator, name)
        setattr(Proxy, f"__{name.rstrip('_')}__", _operator_of(function))
        if name in ARITHMETIC:
            setattr(Proxy, f"__r{name.rstrip('_')}__", _operator_of(function, swapped=True))


_install_operators()

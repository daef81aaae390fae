"""Node: one step of a symbolic graph, its arguments and who uses it."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args

import nbgrad

from ..base.dtypes import DType
from ..base.errors import ArgumentError, RangeError
from ..tensors.memory_format import MemoryFormat, Strided
from ..tensors.storage import Device
from ..tensors.tensor import Tensor
from .immutable_collections import immutable_dict, immutable_list
from .names import path_of, type_text

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "BaseArgumentTypes", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")

Target = Callable[..., Any] | str  # what a node calls: a function, or the name of a method, module or attribute
Argument = Any  # constants, nodes, and tuples, lists, dicts, slices and ranges of them
BaseArgumentTypes = (
    str | int | float | bool | complex | DType | Tensor | Device | MemoryFormat | Strided
)  # stand in a graph as they are
base_types: tuple[type, ...] = (*get_args(BaseArgumentTypes), type(None), types.EllipsisType)

# Functions whose calls are kept though nobody uses their results; programs add theirs by ``has_side_effect``.
_side_effectful_functions: set[Callable] = {nbgrad._assert}


def has_side_effect(fn: Callable) -> Callable:
    """Decorator for a function whose calls are kept in graphs though nobody uses their results.

    >>> import nbgrad
    >>> nbgrad.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


class Node:
    """One step of a graph: an argument of it, the value of an attribute, a call, or its result. Graphs make them.

    Attributes:
        op: ``placeholder``, ``get_attr``, ``call_function``, ``call_method``, ``call_module`` or ``output``.
        name: unique within the graph.
        target: what is called: a function, or the name of a method, module, attribute or argument.
        args, kwargs: the arguments, with nodes in the places of values; assign them to change them.
        users: the nodes that use this one, as keys.
        type: the annotation of the value, or None.
        meta: what passes know about the node.

    >>> import nbgrad
    >>> graph = nbgrad.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(nbgrad.relu, (x,))
    >>> x.users, y.args, y.format_node()
    ({relu: None}, (x,), '%relu : [num_users=0] = call_function[target=nbgrad.relu](args = (%x,), kwargs = {})')
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        return_type: Any = None,
    ):
        if op not in OPS:
            raise ArgumentError(f"Node: op is {op!r}, expected one of {', '.join(OPS[:-1])}.")
        if op == "call_function" and not callable(target):
            raise ArgumentError(f"Node {name}: target is {target!r}, expected a function, which call_function calls.")
        if op != "call_function" and not isinstance(target, str):
            raise ArgumentError(f"Node {name}: target is {target!r}, expected a str, as op is {op}.")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self  # neighbours in the graph's list, which is closed to a ring by its root
        self._erased = False
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: Mapping[str, Argument] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._update_args_kwargs(args, kwargs)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    # ---- place in the graph ----

    @property
    def next(self) -> Node:
        """The node behind this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move ``x``, a node of the same graph, right before this one."""
        if x.graph is not self.graph:
            raise ArgumentError(f"prepend: {x} and {self} are nodes of different graphs. Hint: graph.node_copy.")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move ``x``, a node of the same graph, right behind this one."""
        if x is not self._next:
            self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # ---- arguments ----

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments; assigning them keeps ``users`` right."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Argument]:
        """The arguments by name; assigning them keeps ``users`` right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: Iterable[Argument], kwargs: Mapping[str, Argument]) -> None:
        before, self._input_nodes = self._input_nodes, {}

        def used(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), used)
        self._kwargs = map_arg(dict(kwargs), used)
        for node in before:
            if node not in self._input_nodes:
                node.users.pop(self, None)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put ``arg`` in the place of a positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put ``arg`` before the positional argument ``idx``, or behind the last one."""
        if not 0 <= idx <= len(self._args):
            raise RangeError(f"insert_arg: idx is {idx}, expected 0 to {len(self._args)}, the number of arguments.")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Put ``arg`` in the place of an argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use ``new_input`` wherever this node uses ``old_input``."""

        def exchanged(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, exchanged), map_arg(self._kwargs, exchanged))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let every user of this node use another one.

        Args:
            delete_user_cb: for which users; all by default.
            propagate_meta: whether ``replace_with``, whose ``meta`` is empty, gets that of this node.

        Returns:
            The users that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise ArgumentError(
                    f"replace_all_uses_with: the meta of {replace_with} is {replace_with.meta}, expected an empty one."
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ---- what it is ----

    @property
    def stack_trace(self) -> str | None:
        """Where the program made the node, if its tracer records that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does something beside giving a value, so that it stays though nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions
        if self.op == "call_module" and (module := self.graph.owning_module) is not None:
            return bool(getattr(module.get_submodule(str(self.target)), "_is_impure", False))
        return False

    def _pretty_print_target(self, target: Target) -> str:
        """How a function is called in prints."""
        if isinstance(target, str):
            return target
        name = getattr(target, "__name__", repr(target))
        module = getattr(target, "__module__", None)
        if getattr(builtins, name, None) is target:
            return f"builtins.{name}"
        return f"operator.{name}" if module == "_operator" else path_of(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of its graph's print.

        Args:
            placeholder_names: a list that takes the name of an argument; the line is None then.
            maybe_return_typename: a list whose first member takes the annotation of a graph's result.
        """
        kind = "" if self.type is None else f" {type_text(self.type)}"
        users = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{kind and ' :' + kind}")
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} :{kind} {users} = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} :{kind} {users} = get_attr[target={self.target}]"
        if self.op == "output":
            if kind and maybe_return_typename:
                maybe_return_typename[0] = f" ->{kind}"
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        args, kwargs = argument_text(self.args), argument_text(self.kwargs)
        return f"%{self.name} :{kind} {users} = {self.op}[target={target}](args = {args}, kwargs = {kwargs})"


def argument_text(argument: Argument) -> str:
    """An argument in prints: nodes with a percent sign, what is in collections without quotes."""
    if isinstance(argument, tuple):
        return f"({', '.join(map(argument_text, argument))}{',' if len(argument) == 1 else ''})"
    if isinstance(argument, list):
        return f"[{', '.join(map(argument_text, argument))}]"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{name}: {argument_text(value)}" for name, value in argument.items()) + "}"
    return f"%{argument}" if isinstance(argument, Node) else str(argument)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """``fn`` applied to every node in an argument; its tuples, lists and dicts become ones that cannot be written to.

    >>> import nbgrad
    >>> x = nbgrad.fx.Graph().placeholder("x")
    >>> nbgrad.fx.map_arg(([x, 2], x), lambda node: node.name)
    (['x', 2], 'x')
    """
    if not callable(fn):
        raise ArgumentError(f"map_arg: fn is {fn!r}, expected a function of a node.")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """``fn`` applied to every member of nested tuples, lists, dicts and slices that is none of these itself."""
    if isinstance(a, tuple):
        members = [map_aggregate(x, fn) for x in a]
        return type(a)(*members) if hasattr(a, "_fields") else tuple(members)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({name: map_aggregate(value, fn) for name, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)

"""Tracer: runs a module on proxies and writes down what it does."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import nbgrad

from ..base.errors import NamingError
from ..nn.container import Sequential
from ..nn.module import Module
from .arguments import root_arguments
from .asking import functions_ask
from .graph import Graph
from .names import is_own
from .node import Argument
from .proxy import ParameterProxy, Proxy, TracerBase
from .wrapping import patched

__all__ = ["Tracer", "is_fx_symbolic_tracing", "is_fx_tracing"]

_depth = 0  # how many tracers run


def is_fx_tracing() -> bool:
    """Whether a program is being traced.

    >>> import nbgrad
    >>> nbgrad.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _depth > 0


is_fx_symbolic_tracing = is_fx_tracing


class Tracer(TracerBase):
    """Runs a module on proxies and makes a graph of it. Subclass it to say which modules are called and not traced into.

    Args:
        autowrap_modules: modules of Python whose functions stay calls in the graph.
        autowrap_functions: such functions.
        param_shapes_constant: whether shapes of parameters are known while tracing, so that ``if`` may depend on them.

    >>> import nbgrad
    >>> class Shallow(nbgrad.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> model = nbgrad.nn.Sequential(nbgrad.nn.Sequential(nbgrad.nn.Tanh()))
    >>> print(Shallow().trace(model))
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %_0 : [num_users=1] = call_module[target=0](args = (%input_1,), kwargs = {})
        return _0
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable, ...] = (),
        param_shapes_constant: bool = False,
    ):
        self._autowrap_search = list(autowrap_modules)
        members = (value for module in autowrap_modules for name, value in vars(module).items() if not name.startswith("_"))
        self._autowrap_function_ids = {id(value) for value in (*members, *autowrap_functions) if callable(value)}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.tensor_attrs: dict[int, str] = {}
        self.module_stack: dict[str, tuple[str, Any]] = {}

    # ---- what subclasses may say otherwise ----

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is called in the graph, and not traced into: by default all of ``nbgrad.nn`` but ``Sequential``."""
        return type(m).__module__.startswith("nbgrad.nn.") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a module below the root.

        Raises:
            NamingError: it is not there.
        """
        if self.submodule_paths is None:
            path = next((name for name, module in self.root.named_modules() if module is mod), None)
        else:
            path = self.submodule_paths.get(mod)
        if path is None:
            raise NamingError(
                f"fx: {type(mod).__name__} is called, but is no module below the root. Hint: assign it as an attribute."
            )
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a module below: a node if it is a leaf, else what ``forward`` gives."""
        path = self.path_of_module(m)
        self.module_stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(path, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading a registered attribute of a module gives: a proxy of a parameter, the object itself else."""
        if isinstance(attr_val, nbgrad.Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, nbgrad.Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def create_arg(self, a: Any) -> Argument:
        """See ``TracerBase``; modules, parameters, buffers and other tensors are attributes of the root."""
        if isinstance(a, nbgrad.Parameter):
            name = path_in(self.root.named_parameters(), a)
            if name is None:
                raise NamingError(
                    "fx: a parameter is used that is not a member of the root module. Hint: assign it as an attribute."
                )
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, nbgrad.Tensor):
            return self.create_node("get_attr", self._tensor_path(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(x) for x in a), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has: ``prefix`` and a number."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | tuple | None = None
    ) -> tuple[Callable, list[Any]]:
        """The function to run, and its arguments: a proxy for each that ``concrete_args`` does not give."""
        return root_arguments(self, root_fn, is_module, concrete_args)

    # ---- tracing ----

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's ``forward``, or of a function.

        Args:
            concrete_args: values of arguments that are constants of the graph; in lists and dicts of them ``fx.PH`` stands for what
                is an argument.

        Raises:
            TraceError: which way the program takes depends on values.
        """
        if isinstance(root, Module):
            self.root, fn = root, getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
        else:
            self.root, fn, self.root_module_name = Module(), root, ""
        if isinstance(root, Module):
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {id(x): name for name, x in plain_tensors(self.root)}
        self.module_stack = {}
        spaces = [vars_of(fn)]
        fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        try:
            result = self._run(fn, args, spaces)
        finally:
            self.submodule_paths = None
        annotation = None if is_own(fn) else getattr(fn, "__annotations__", {}).get("return")
        self.create_node("output", "output", (result,), {}, type_expr=annotation)
        return self.graph

    def _run(self, fn: Callable, args: list[Any], spaces: list[dict[str, Any]]) -> Argument:
        """The result of the program, run while modules, wrapped functions and attributes are seen by this tracer."""
        global _depth
        cache: dict[str, Proxy] = {}
        with functions_ask(), patched() as patches:
            watch_modules(self, patches, cache)
            forwards = [vars_of(type(module).forward) for module in self.root.modules()]
            patches.record_wrapped([*spaces, *forwards])
            for space in [*spaces, *map(vars, self._autowrap_search)]:
                patches.record_members(space, self._autowrap_function_ids)
            _depth += 1
            try:
                return self.create_arg(fn(*args))
            finally:
                _depth -= 1

    def _proxy_of(self, value: Any, members: Iterator[tuple[str, Any]], cache: dict[str, Any]) -> Any:
        """The proxy of a parameter or buffer, one for each; the object itself if the root has it not."""
        name = path_in(members, value)
        if name is None:
            return value
        if name not in cache:
            make = (lambda node: ParameterProxy(self, node, name, value)) if self.param_shapes_constant else None
            options: dict[str, Any] = {"proxy_factory_fn": make} if make else {}
            cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
        return cache[name]

    def _tensor_path(self, x: Any) -> str:
        """Under which name the root has a tensor; one that it has not becomes a constant of it."""
        name = path_in(self.root.named_buffers(), x) or self.tensor_attrs.get(id(x))
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[id(x)] = name
            setattr(self.root, name, x)
        return name

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copy = type(self).__new__(type(self))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name != "submodule_paths"})
        copy.submodule_paths = None
        return copy


def watch_modules(tracer: Tracer, patches: Any, cache: dict[str, Proxy]) -> None:
    """Have the tracer asked about calls of modules, and about registered attributes that they read."""
    call, load = Module.__call__, Module.__getattribute__

    def called(module: Module, *args: Any, **kwargs: Any) -> Any:
        def forward(*args: Any, **kwargs: Any) -> Any:
            return call(module, *args, **kwargs)

        patches.record_members(vars_of(type(module).forward), tracer._autowrap_function_ids)
        return tracer.call_module(module, forward, args, kwargs)

    def loaded(module: Module, name: str) -> Any:
        value = load(module, name)
        if isinstance(value, (nbgrad.Tensor, Module)) and name in load(module, "__dict__").get("_kinds_", ()):
            return tracer.getattr(name, value, cache)
        return value

    patches.put_attribute(Module, "__call__", called)
    patches.put_attribute(Module, "__getattribute__", loaded)


def vars_of(fn: Any) -> dict[str, Any]:
    """The globals of a function; none of what is no function of Python."""
    found: dict[str, Any] = getattr(inspect.unwrap(fn), "__globals__", {})
    return found


def path_in(members: Iterator[tuple[str, Any]], value: Any) -> str | None:
    """The name of an object among named ones."""
    return next((name for name, member in members if member is value), None)


def plain_tensors(root: Module) -> Iterator[tuple[str, Any]]:
    """Tensors that modules have as plain attributes, with their dotted names."""
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, nbgrad.Tensor) and name not in module._kinds_:
                yield f"{path}.{name}" if path else name, value

"""GraphModule: a module whose ``forward`` is made of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import nbgrad

from ..base.errors import ArgumentError
from ..nn.module import Module
from .codegen import ALWAYS, PythonCode
from .graph import Graph
from .tracer import Tracer

__all__ = ["GraphModule"]

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # torch's: where ``meta`` says what copies of the module keep


class GraphModule(Module):
    """A module whose ``forward`` is made of a graph, and is made again when that has changed: ``recompile``.

    Args:
        root: a module, or a dict of dotted names, that has the modules and attributes that the graph refers to.
        graph: the program.
        class_name: of the class that is made for this module alone.

    Attributes:
        graph: the program; assigning one makes ``forward`` of it.
        code: the text of ``forward``.
        meta: what passes know about the module.

    Raises:
        ArgumentError: ``root`` is neither, or lacks what the graph refers to.

    >>> import nbgrad
    >>> module = nbgrad.fx.symbolic_trace(nbgrad.nn.Sequential(nbgrad.nn.Tanh()))
    >>> for node in module.graph.find_nodes(op="call_module"):
    ...     with module.graph.inserting_after(node):
    ...         exp = module.graph.call_function(nbgrad.exp, (node,))
    ...     used = node.replace_all_uses_with(exp, lambda user: user is not exp)
    >>> code = module.recompile()
    >>> module(nbgrad.zeros(2))
    tensor([1., 1.])
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A class of its own, whose ``forward`` is that of this graph; a class that has been made for a module is passed over.
        base = next(each for each in cls.__mro__ if "_is_made_for_one_" not in vars(each))
        made = type("GraphModuleImpl", (base,), {"_is_made_for_one_": True, "__module__": __name__})
        return super().__new__(made)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if not isinstance(root, (Module, dict)):
            raise ArgumentError(f"GraphModule: root is {root!r}, expected a module or a dict.")
        if isinstance(root, Module):
            self.training = root.training
            take_from_module(self, root, graph)
        else:
            take_from_dict(self, root, graph)
        self.meta: dict[str, Any] = {}
        if isinstance(root, Module) and hasattr(root, "meta"):
            self.meta.update(vars(root).get("meta", {}))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The program."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise ArgumentError(f"GraphModule: graph is {type(g).__name__}, expected a Graph.")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of ``forward``."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make ``forward`` of the graph, after it was changed."""
        spec = getattr(self._graph._codegen, "spec", None)
        if spec is not None:
            self._in_spec = spec
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        type(self).forward = forward_of(made.src, made.globals)  # type: ignore[method-assign]
        return made

    # ---- modules below ----

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a dotted name, with empty modules on the way; False if something else is there."""
        *path, name = target.split(".")
        owner: Module = self
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module at a dotted name; False if there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
            owner.get_submodule(name)
        except AttributeError:
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                names = str(node.target).split(".")
                used.update(".".join(names[:count]) for count in range(1, len(names) + 1))
                if node.op == "call_module":
                    inside = self.get_submodule(str(node.target)).named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in inside if name)
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    # ---- text ----

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **others: Any,
    ) -> str:
        """The text of the class, with shapes that ``meta`` has, and that of the graphs of modules below; it is printed, too."""
        options = {"include_stride": include_stride, "include_device": include_device}
        code = self.graph.python_code("self", verbose=True, **options).src.strip("\n ")
        below = [m.print_readable(False, **options) for m in self.children() if isinstance(m, GraphModule)]
        parts = [f"class {self._get_name()}(nbgrad.nn.Module):\n{indented(code)}", *map(indented, below)]
        text = "\n\n".join(part.rstrip() for part in parts) + "\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return f"{super().__repr__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"

    # ---- copies ----

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, self._get_name())
        self._keep_for_copy(made)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        blank = GraphModule.__new__(type(self))
        memo[id(self)] = blank
        state = {name: value for name, value in self.__dict__.items() if name != "_graph"}
        blank.__dict__.update(copy.deepcopy(state, memo))
        type(blank).__name__ = self._get_name()
        blank.graph = copy.deepcopy(self._graph, memo)
        return blank

    def _keep_for_copy(self, made: GraphModule) -> None:
        """Give a copy what ``meta`` says that it keeps."""
        for name in self.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}):
            setattr(made, name, getattr(self, name))

    def __reduce__(self) -> tuple:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        code = self.graph.python_code("self")
        names = {name: value for name, value in code.globals.items() if name not in ALWAYS}
        return reduce_graph_module, (state, self._get_name(), code.src, names, self.graph._tracer_cls)


def reduce_graph_module(
    state: dict[str, Any], name: str, code: str, names: dict[str, Any], tracer_cls: type | None = None
) -> GraphModule:
    """The module of a pickle: the text is traced again, with all modules as leaves."""
    body = _CodeOnlyModule(state)
    type(body).__name__ = name
    type(body).forward = forward_of(code, {**ALWAYS, **names})  # type: ignore[method-assign]
    graph = keeping_modules(tracer_cls or Tracer).trace(body)
    graph._tracer_cls = tracer_cls
    made = GraphModule(body, graph, name)
    for attribute, value in state.items():
        if attribute not in made.__dict__:
            made.__dict__[attribute] = value
    return made


def keeping_modules(base: type[Tracer]) -> Tracer:
    """A tracer of a class, to which every module is a leaf."""

    class KeepModules(base):  # type: ignore[valid-type, misc]
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    return KeepModules()


class _CodeOnlyModule(Module):
    """A module of which only attributes and a text are known."""

    def __new__(cls, *args: Any) -> _CodeOnlyModule:
        return super().__new__(type(cls.__name__, (cls,), {}))

    def __init__(self, body: dict[str, Any]):
        super().__init__()
        self.__dict__.update(body)


# ---- forward ----


def forward_of(code: str, names: dict[str, Any]) -> Callable:
    """The function that a text defines; tracebacks show its lines."""
    file = f"<fx graph {next(_numbers)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    space = dict(names)
    exec(compile(code, file, "exec", dont_inherit=True), space)
    made: Callable = space["forward"]
    weakref.finalize(made, linecache.cache.pop, file, None).atexit = False
    return made


def indented(text: str) -> str:
    """A text four columns further right."""
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


# ---- what the graph refers to ----


def referred(graph: Graph) -> Iterator[str]:
    """The dotted names of modules and attributes that a graph refers to."""
    return (str(node.target) for node in graph.nodes if node.op in ("call_module", "get_attr"))


def take_from_module(module: GraphModule, root: Module, graph: Graph) -> None:
    """Give a module what its graph refers to, from another one."""
    for target in referred(graph):
        _copy_attr(root, module, target)


def take_from_dict(module: GraphModule, root: dict[str, Any], graph: Graph) -> None:
    """Give a module what its graph refers to, from a dict by dotted names; what lies inside of others comes behind them."""
    targets = list(referred(graph))
    for target in targets:
        if target not in root:
            raise ArgumentError(f"GraphModule: the graph refers to {target!r}, which root has not. Hint: add it to the dict.")
    for target in sorted(targets, key=lambda target: target.count(".")):
        _assign_attr(root[target], module, target)


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Let one module have an attribute of another one, by its dotted name; empty modules stand on the way."""
    *path, name = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        elif getattr(to_module, part) is from_module:
            return  # all of it is there
        to_module = getattr(to_module, part)
    set_attribute(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Let a module have an object as an attribute by its dotted name; empty modules stand on the way."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    set_attribute(to_module, name, from_obj)


def set_attribute(module: Module, name: str, value: Any) -> None:
    """Set an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, nbgrad.Tensor) and not isinstance(value, nbgrad.Parameter):
        if name not in module._kinds_ and hasattr(module, name):
            delattr(module, name)
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)

"""Functions that stay calls in graphs: ``wrap``, and the names of modules that are replaced while a program is traced."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..base.errors import ArgumentError, NotSupportedError
from .node import map_aggregate
from .proxy import Proxy

__all__ = ["Patches", "patched", "wrap"]

MISSING = object()
WRAPPED = "__fx_wrapped__"  # in a module's globals: the names that wrap was called with there
_modules: dict[int, dict[str, Any]] = {}  # globals of modules that have such names


def wrap(fn_or_name: Callable | str) -> Any:
    """Let calls of a function be nodes of graphs, where its module calls it with proxies; it is not traced into.

    Args:
        fn_or_name: the function, or the name by which the module knows it (``"len"``); also as a decorator.

    Raises:
        ArgumentError: it is neither. NotSupportedError: not called at the top level of a module.

    >>> import nbgrad
    >>> def twice(x):
    ...     return [x, x] if x.sum() > 0 else [x]
    >>> nbgrad.fx.wrap("twice")
    'twice'
    >>> nbgrad.fx.symbolic_trace(lambda x: twice(x.exp())).graph.find_nodes(op="call_function")
    [twice]
    """
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise ArgumentError(f"wrap: expected a function or its name, got {fn_or_name!r}.")
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotSupportedError("wrap must be called at the top level of a module. Hint: nbgrad.fx.wrap('name') below the imports.")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    space = caller.f_globals
    space.setdefault(WRAPPED, {})[name] = None
    if "__name__" in space:  # texts of graphs have no name: their modules lead to them
        _modules[id(space)] = space
    return fn_or_name


def proxy_in(args: Any) -> Proxy | None:
    """A proxy among the arguments of a call, if there is one."""
    found: list[Proxy] = []
    map_aggregate(args, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


def recording(function: Callable) -> Callable:
    """The function, whose calls with proxies become nodes."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = proxy_in((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    call.__fx_patched__ = True  # type: ignore[attr-defined]
    return call


class Patches:
    """Names that are replaced for a while: in dicts of globals, and attributes of classes."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, space: dict[str, Any], name: str, value: Any) -> None:
        """Replace a global name."""
        self._before.append((space, name, space.get(name, MISSING)))
        space[name] = value

    def put_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a class."""
        self._before.append((owner, name, vars(owner).get(name, MISSING)))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Put back what was there."""
        for owner, name, value in reversed(self._before):
            if not isinstance(owner, dict):
                delattr(owner, name) if value is MISSING else setattr(owner, name, value)
            elif value is MISSING:
                del owner[name]
            else:
                owner[name] = value
        self._before.clear()

    def record_wrapped(self, spaces: list[dict[str, Any]]) -> None:
        """Replace all names that ``wrap`` was called with, in modules and in the given globals."""
        for space in {id(space): space for space in (*_modules.values(), *spaces)}.values():
            for name in space.get(WRAPPED, ()):
                function = space.get(name, getattr(builtins, name, None))
                if function is not None and not hasattr(function, "__fx_patched__"):
                    self.put(space, name, recording(function))

    def record_members(self, space: dict[str, Any], functions: set[int]) -> None:
        """Replace the global names of some functions, given by their ids."""
        for name, value in list(space.items()):
            if id(value) in functions and callable(value) and not name.startswith("_"):
                self.put(space, name, recording(value))


@contextmanager
def patched() -> Iterator[Patches]:
    """Patches that are undone at the end."""
    patches = Patches()
    try:
        yield patches
    finally:
        patches.undo()

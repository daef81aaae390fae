"""``torch._dynamo`` and ``torch._inductor``: what programs set on a compiler that reads bytecode, and tell it.

>>> import nbgrad
>>> nbgrad._dynamo.config.suppress_errors = True
>>> nbgrad._dynamo.is_compiling()
False
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext as TransformGetItemToIndex  # x[i] of a batch takes tensors anyway
from types import SimpleNamespace
from typing import Any, Callable, Iterator

from ..base.errors import GraphError
from ..jit.compile import compile
from ..jit.compiler import allow_in_graph, disable, is_compiling, reset
from ..nn.module import Module

__all__ = [
    "OptimizedModule",
    "TransformGetItemToIndex",
    "Unsupported",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "graph_break",
    "is_compile_supported",
    "is_compiling",
    "is_dynamo_supported",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
]


class Config(SimpleNamespace):
    """Settings that are kept and can be read again; nothing depends on them."""

    @contextmanager
    def patch(self, changes: dict[str, Any] | str | None = None, value: Any = None, **more: Any) -> Iterator[None]:
        """Set some of them for a block, or for the calls of a function.

        >>> with config.patch(verbose=True):
        ...     config.verbose
        True
        >>> config.verbose
        False
        """
        before = dict(self.__dict__)
        self.__dict__.update({changes: value} if isinstance(changes, str) else changes or {}, **more)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)


# With torch's defaults, where programs read before they set.
config = Config(cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False, capture_scalar_outputs=False)


class OptimizedModule(Module):
    """What torch makes of a module that is compiled. No module is one here: ``compile`` gives a module of the same class.

    >>> import nbgrad
    >>> isinstance(compile(nbgrad.nn.Tanh()), OptimizedModule)
    False
    """


class Unsupported(GraphError):
    """What torch raises of code that its compiler cannot follow. It is never raised: here that is a ``GraphError``."""


def optimize(backend: Any = None, *, nopython: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """A decorator that compiles a function, as ``compile``.

    Args:
        nopython: as ``fullgraph`` of ``compile``.
        backend, options: a choice among torch's compilers; here there is one.

    >>> import nbgrad
    >>> @optimize("inductor")
    ... def twice(x):
    ...     return x + x
    >>> twice(nbgrad.ones(2))
    tensor([2., 2.])
    """
    return lambda fn: compile(fn, fullgraph=nopython)


def is_dynamo_supported() -> bool:
    """True: functions can be compiled, if otherwise than by their bytecode.

    >>> is_dynamo_supported()
    True
    """
    return True


def is_compile_supported(device_type: str) -> bool:
    """True: functions on all devices can be compiled.

    >>> is_compile_supported("cpu")
    True
    """
    return True


def graph_break(msg: str = "") -> None:
    """Do nothing: graphs do not break."""


def mark_dynamic(t: Any, index: int | list[int] | tuple[int, ...] | None = None, **bounds: Any) -> None:
    """Do nothing: another size is another variant of a compiled function.

    >>> import nbgrad
    >>> mark_dynamic(nbgrad.ones(2), 0)
    """


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic
disallow_in_graph, assume_constant_result = disable, allow_in_graph

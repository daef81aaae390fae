"""The arguments that a program is traced with: a proxy for each parameter, constants where the caller says so."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import nbgrad

from ..base.errors import ArgumentError
from ..base.user_stack import warn_user
from ..methods import pytree
from .codegen import PyTreeCodeGen
from .names import is_own
from .proxy import Proxy

if TYPE_CHECKING:
    from .tracer import Tracer

__all__ = ["PH", "root_arguments"]


class Placeholder:
    """What stands in ``concrete_args`` for an argument of the graph."""

    def __repr__(self) -> str:
        return "PH"


PH = Placeholder()


def root_arguments(tracer: Tracer, fn: Callable, is_module: bool, concrete: dict | tuple | None) -> tuple[Callable, list[Any]]:
    """The function that is run, and its arguments: see ``Tracer.create_args_for_root``."""
    parameters = list(parameters_of(fn))
    given = parameters[is_module:]
    if isinstance(concrete, tuple):
        if len(concrete) != len(given):
            raise ArgumentError(f"fx: concrete_args has {len(concrete)} members, expected {len(given)}, one for each argument.")
        concrete = dict(zip((each.name for each in given), concrete))
    concrete = concrete or {}
    if unknown := sorted(set(concrete) - {each.name for each in parameters}):
        raise ArgumentError(
            f"fx: concrete_args has {unknown}, expected names of arguments: {', '.join(each.name for each in given)}."
        )
    values: list[Any] = [tracer.root] if is_module else []
    nested, leaves = False, []
    for each in given:
        if each.name in concrete:
            found, spec = pytree.tree_flatten(concrete[each.name])
            proxies = [proxy_of(tracer, each, number + 1, leaf) for number, leaf in enumerate(found)]
            values.append(pytree.tree_unflatten(proxies, spec))
            nested = nested or not pytree.tree_is_leaf(concrete[each.name])
            leaves.append(concrete[each.name])
        else:
            values.append(placeholder(tracer, each, each.name))
            leaves.append(PH)
    if nested:
        tracer.graph.set_codegen(PyTreeCodeGen([each.name for each in given], pytree.tree_structure(leaves)))
    return called_in_order(fn, parameters), values


def parameters_of(fn: Callable) -> list[inspect.Parameter]:
    """The parameters of a function, in the order of its code: what is gathered by stars comes last."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise ArgumentError(f"fx: {fn!r} cannot be traced, expected a module or a function written in Python.") from None
    if is_own(fn):  # its annotations are no part of the program
        parameters = [each.replace(annotation=each.empty) for each in parameters]
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sorted(parameters, key=lambda each: (each.kind in starred, each.kind))


def placeholder(tracer: Tracer, parameter: inspect.Parameter, name: str) -> Proxy:
    """The proxy of an argument, optional if the parameter is."""
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    default = () if parameter.default is parameter.empty else (parameter.default,)
    annotation = None if parameter.annotation is parameter.empty else parameter.annotation
    return tracer.create_proxy("placeholder", stars + name, default, {}, type_expr=annotation)


def proxy_of(tracer: Tracer, parameter: inspect.Parameter, number: int, value: Any) -> Any:
    """A leaf of a concrete argument: a proxy for ``PH``, else the value itself, which the graph compares with what it is given."""
    proxy = placeholder(tracer, parameter, f"{parameter.name}_{number}")
    if value is PH:
        return proxy
    if isinstance(value, (bool, int, float, str)):
        message = f"{parameter.name} has been specialized to have value {value} but got another value"
        tracer.create_proxy("call_function", nbgrad._assert, (proxy == value, message), {})
    elif value is not None:
        warn_user(f"fx: argument {parameter.name} was taken as it is, and the graph does not compare what it is given with that.")
    return value


def called_in_order(fn: Callable, parameters: list[inspect.Parameter]) -> Callable:
    """The function, called with the values of all parameters in their order, also of those that are gathered or only have names."""
    kinds = {each.kind for each in parameters}
    if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds:
        return with_plain_parameters(fn)
    named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if not named:
        return fn

    def call(*values: Any) -> Any:
        count = len(values) - len(named)
        return fn(*values[:count], **dict(zip(named, values[count:])))

    call.__annotations__ = getattr(fn, "__annotations__", {})
    return call


def with_plain_parameters(fn: Callable) -> Callable:
    """The function with plain parameters for those with stars, so that a proxy can stand for all that they gather."""
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType):
        raise ArgumentError(f"fx: {fn!r} cannot be traced: its arguments are gathered by stars, and it is no function of Python.")
    code = function.__code__
    stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars.bit_count()
    plain = code.replace(co_flags=code.co_flags & ~stars, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0)
    made = FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)
    made.__annotations__ = function.__annotations__
    return MethodType(made, fn.__self__) if isinstance(fn, MethodType) else made

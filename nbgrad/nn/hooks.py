"""Hooks of a Module, called before and after ``forward`` and with the gradients of its inputs and outputs.

``Module._hooks_`` is None in a module without hooks, which never comes here. Where there are hooks of all modules (``EVERYWHERE``)
the class has them under that name, for modules that have none of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, GradError
from ..base.user_stack import warn_user
from ..graph.edges import RemovableHandle
from ..graph.hooks import Hooks, placed

__all__ = ["EVERYWHERE", "ForwardHook", "HookTable", "ModuleHooks"]


class ForwardHook(NamedTuple):
    """A hook of ``forward``, and how it wants to be called."""

    function: Callable
    with_kwargs: bool
    always: bool = False


class ModuleHooks:
    """The hooks of one module, of four kinds, each in the order in which they are called."""

    def __init__(self) -> None:
        self.before_forward, self.after_forward = Hooks(), Hooks()
        self.before_backward, self.after_backward = Hooks(), Hooks()

    def add(self, kind: str, hook: Any, prepend: bool) -> RemovableHandle:
        """Add a hook to the end of its kind, or to the front.

        Raises:
            ArgumentError: what is to be called cannot be.
        """
        function = hook.function if isinstance(hook, ForwardHook) else hook
        if not callable(function):
            raise ArgumentError(f"Module: expected a callable as hook, got {type(function).__name__}.")
        return placed(getattr(self, kind), hook, prepend)

    def all_of(self, kind: str) -> list[tuple[int, Any]]:
        """The hooks of a kind: those of all modules, then the module's own."""
        own = getattr(self, kind).items()
        return [*own] if self is EVERYWHERE else [*getattr(EVERYWHERE, kind).items(), *own]

    def call(self, module: Any, args: tuple, kwargs: dict) -> Any:
        """``module.forward`` among the hooks. Those that are always to be called are, whatever is raised."""
        done: set[int] = set()
        result = None
        try:
            args, kwargs = self.prepared(module, args, kwargs)
            watched = self.all_of("before_backward") or self.all_of("after_backward")
            watch = BackwardWatch(module, self) if watched else None
            result = module.forward(*(args if watch is None else watch.inputs(args)), **kwargs)
            for key, hook in self.all_of("after_forward"):
                done.add(key)
                result = replaced(result, call_after(hook, module, args, kwargs, result))
            return result if watch is None else watch.outputs(result)
        except Exception:
            for key, hook in self.all_of("after_forward"):
                if hook.always and key not in done:
                    call_after(hook, module, args, kwargs, result)
            raise

    def prepared(self, module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments of ``forward`` after the hooks that come before it."""
        for _, hook in self.all_of("before_forward"):
            if hook.with_kwargs:
                new = hook.function(module, args, kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2 and isinstance(new[1], dict)):
                        raise GradError(f"forward pre-hook: expected None or (args, kwargs), got {type(new).__name__}.")
                    args, kwargs = new
            else:
                new = hook.function(module, args)
                args = args if new is None else new if isinstance(new, tuple) else (new,)
        return args, kwargs


EVERYWHERE = ModuleHooks()


class HookTable:
    """An attribute of Module: the hooks of one kind, by the numbers of their handles, to be looked at, cleared or set anew.

    Args:
        kind: of the hooks.
        held_by: the method of the module that gives what holds its hooks.
    """

    def __init__(self, kind: str, held_by: str = "_own_hooks") -> None:
        self.kind, self.held_by = kind, held_by

    def __get__(self, module: Any, owner: Any = None) -> Any:
        return self if module is None else getattr(getattr(module, self.held_by)(), self.kind)

    def __set__(self, module: Any, hooks: dict) -> None:
        setattr(getattr(module, self.held_by)(), self.kind, Hooks(hooks))


def call_after(hook: ForwardHook, module: Any, args: tuple, kwargs: dict, result: Any) -> Any:
    """What a forward hook returns."""
    return hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)


def replaced(value: Any, new: Any) -> Any:
    """``new``, unless it is None."""
    return value if new is None else new


class BackwardHookFunction(nbgrad.Function):  # torch's name, which its nodes show
    """Its operands: a place in the graph where the gradients of all of them are known at once."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The operands themselves."""
        ctx.mark_non_differentiable(*[x for x in tensors if not x.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """The gradients themselves."""
        return grads


class BackwardWatch:
    """The backward hooks during one call of a module: nodes around its inputs and around its outputs call them.

    Where no input requires grad there is no node behind the module; the hooks are called before it then.
    """

    def __init__(self, module: Any, hooks: ModuleHooks):
        self.module, self.hooks = module, hooks
        self.grad_outputs: tuple | None = None
        self.count = 0
        self.inner = False  # whether a node behind the module will call the hooks

    def inputs(self, args: tuple) -> tuple:
        """The arguments, those that are tensors led through a node that calls the hooks of the gradients of inputs."""
        self.count = len(args)
        places, passed, node = led_through(args)
        if node is not None:
            self.inner = True
            node.register_hook(lambda grads, _: self.after(places, grads))
        return passed

    def outputs(self, result: Any) -> Any:
        """The result, led through a node that calls the hooks of the gradients of outputs."""
        single = not isinstance(result, tuple)
        values = (result,) if single else result
        if not any(isinstance(value, Tensor) for value in values):
            warn_user(
                f"Module: backward hooks are called for a Tensor or a tuple of them, forward returned {type(result).__name__}."
            )
            return result
        places, passed, node = led_through(values)
        if node is not None:
            node.register_prehook(lambda grads: self.before(places, len(values), grads))
        return passed[0] if single else passed

    def before(self, places: list[int], count: int, grads: tuple) -> tuple:
        """Call the pre-hooks with the gradients of the outputs; what they return goes into the module."""
        known = spread(places, grads, count)
        for _, hook in self.hooks.all_of("before_backward"):
            new = hook(self.module, known)
            known = known if new is None else checked("backward pre-hook", "grad_output", new, known)
        self.grad_outputs = known
        if not self.inner and self.hooks.all_of("after_backward"):
            self.without_inputs()
        return tuple(known[k] for k in places)

    def without_inputs(self) -> None:
        """Call the hooks of a module whose inputs have no gradients."""
        warn_user("Module: no input requires grad, so its backward hooks are called with None for them, before its backward.")
        nothing = (None,) * self.count
        for _, hook in self.hooks.all_of("after_backward"):
            new = hook(self.module, nothing, self.grad_outputs)
            if new is not None and any(g is not None for g in (new if isinstance(new, tuple) else (new,))):
                raise GradError("backward hook: no input requires grad, expected None, or None for each of them.")

    def after(self, places: list[int], grads: tuple) -> tuple | None:
        """Call the hooks with the gradients of the inputs; what they return goes on. Only after those of the outputs."""
        if self.grad_outputs is None:  # a pass of second order, or one from a place inside of the module
            return None
        known = spread(places, grads, self.count)
        for _, hook in self.hooks.all_of("after_backward"):
            new = hook(self.module, known, self.grad_outputs)
            known = known if new is None else checked("backward hook", "grad_input", new, known)
        self.grad_outputs = None
        return tuple(known[k] for k in places)


def led_through(values: tuple) -> tuple[list[int], tuple, Any]:
    """``values`` with the tensors among them led through one node; where those are; the node, None if none requires grad."""
    places = [k for k, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[k] for k in places]
    if not (nbgrad.is_grad_enabled() and any(x.requires_grad for x in tensors)):
        return places, values, None
    passed = list(values)
    for k, x in zip(places, BackwardHookFunction.apply(*tensors)):
        passed[k] = x
    node = next(passed[k].grad_fn for k in places if passed[k].grad_fn is not None)
    return places, tuple(passed), node


def spread(places: list[int], grads: tuple, count: int) -> tuple:
    """The gradients at the places of their tensors, None elsewhere."""
    known: list = [None] * count
    for k, g in zip(places, grads):
        known[k] = g
    return tuple(known)


def checked(hook: str, name: str, new: Any, known: tuple) -> tuple:
    """What a hook returned, as a tuple of as many gradients.

    Raises:
        GradError: more or fewer.
    """
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(known):
        raise GradError(f"{hook}: returned {len(new)} values, expected as many as {name} has, {len(known)}.")
    return new

"""Hooks in the order of their registration, the handles that remove them, and what few nodes have beside their slots."""

from __future__ import annotations

from itertools import count
from typing import Any, Callable
from weakref import ref

from ..base.errors import ArgumentError

__all__ = ["OWN_DTYPE", "Hooks", "LeafHooks", "NodeMeta", "RemovableHandle", "add_hook", "placed"]


class RemovableHandle:
    """Removes a hook: by ``remove()``, or at the end of a ``with`` block. Keeps nothing alive but itself.

    Args:
        hooks_dict: the dict that the hook is, or will be, in under ``handle.id``; weakly referable.
        extra_dict: a dict, or a list of dicts, from which ``remove`` deletes the same key.

    A handle can be pickled with the dict that it belongs to; one whose dict has died comes back without.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 10):          # as a context manager it removes itself
    ...     x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """

    __slots__ = ("hooks_dict_ref", "id", "extra_dict_ref", "__weakref__")
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = ref(hooks_dict)
        extras = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self.extra_dict_ref = tuple(ref(extra) for extra in extras)
        self.id = next(_hook_ids)
        RemovableHandle.next_id = self.id + 1

    def remove(self) -> None:
        """Take the hook away; harmless if that has happened."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state) -> None:
        global _hook_ids
        hooks, self.id = state[:2]
        extras = state[2] if len(state) > 2 else ()
        self.hooks_dict_ref = ref(Hooks() if hooks is None else hooks)
        self.extra_dict_ref = tuple(ref(Hooks() if extra is None else extra) for extra in extras or ())
        if self.id >= RemovableHandle.next_id:  # no new handle may get the number of one that was read back
            RemovableHandle.next_id = self.id + 1
            _hook_ids = count(self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error) -> None:
        self.remove()


_hook_ids = count()


class Hooks(dict):
    """``{id: hook}`` in order of registration, weakly referable by handles."""

    __slots__ = ("__weakref__",)


OWN_DTYPE = object()  # a leaf's ``grad_dtype`` until it is set: that of the leaf, whatever it is then


class LeafHooks(Hooks):
    """What a leaf does to its gradient before it is used: a cast to ``grad_dtype`` (None: no cast), then the hooks."""

    __slots__ = ("grad_dtype",)

    def __init__(self) -> None:
        super().__init__()
        self.grad_dtype: object = OWN_DTYPE


def add_hook(hooks: Hooks, hook: Callable, prepend: bool = False) -> RemovableHandle:
    """Add ``hook`` to the end of ``hooks``, or to the front.

    Raises:
        ArgumentError: it cannot be called.
    """
    if not callable(hook):
        raise ArgumentError(f"register_hook: expected a callable, got {type(hook).__name__}.")
    return placed(hooks, hook, prepend)


def placed(hooks: Hooks, hook: Any, prepend: bool) -> RemovableHandle:
    """``add_hook`` of what is known to be right."""
    handle = RemovableHandle(hooks)
    others = dict(hooks) if prepend else {}
    hooks[handle.id] = hook
    for key in others:  # one after the other to the end
        hooks[key] = hooks.pop(key)
    return handle


class NodeMeta:
    """The rare attributes of a node, for the few that have any.

    Attributes:
        tensor_hooks: ``{output number: {id: hook}}``.
        pre_hooks, post_hooks: ``{id: hook}``.
        retains: ``{output number: weak reference to the tensor that keeps its gradient}``.
        metadata: the user's dict.
    """

    __slots__ = ("tensor_hooks", "pre_hooks", "post_hooks", "retains", "metadata")

    def __init__(self):
        self.tensor_hooks, self.pre_hooks, self.post_hooks, self.retains = {}, Hooks(), Hooks(), {}
        self.metadata = None

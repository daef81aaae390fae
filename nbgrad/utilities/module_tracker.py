"""``nbgrad.utils.module_tracker``: in which modules a program is, forward and backward."""

from __future__ import annotations

from typing import Any, Callable
from weakref import WeakKeyDictionary

from .. import Tensor
from ..autograd.graph_tools import register_multi_grad_hook
from ..graph.task import queue_callback, state
from ..methods.pytree import tree_leaves
from ..nn.global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.module import Module

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """While entered, ``parents`` has the names of the modules that run, or of which a pass computes gradients.

    Attributes:
        parents: ``"Global"``, and names as ``"Sequential.0"``, which begin with the class of the outermost module.

    >>> import nbgrad
    >>> model = nbgrad.nn.Sequential(nbgrad.nn.ReLU())
    >>> with ModuleTracker() as tracker:
    ...     handle = model[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    ...     y = model(nbgrad.ones(2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._handles: list[Any] = []
        self._awaited = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass of this thread runs."""
        return state.task is not None

    def __enter__(self) -> ModuleTracker:
        self.parents = {"Global"}
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name_of(self, module: Module) -> str:
        """The name of a module, which gives those below it theirs."""
        if module not in self._names:
            self._names[module] = type(module).__name__
        name = self._names[module]
        for child_name, child in module.named_children():
            self._names.setdefault(child, f"{name}.{child_name}")
        return name

    def _before(self, module: Module, args: Any) -> None:
        """A module begins; a pass leaves it where the gradients of its arguments are complete."""
        name = self._name_of(module)
        self.parents.add(name)
        self._at_gradients(args, lambda: self.parents.discard(name), "all")

    def _after(self, module: Module, args: Any, result: Any) -> None:
        """A module ends; a pass enters it where the first gradient of its results is there."""
        name = self._name_of(module)
        self.parents.discard(name)
        self._at_gradients(result, lambda: self._enter_backward(name), "any")

    def _enter_backward(self, name: str) -> None:
        """A pass is about to compute gradients of a module; when it ends it is in none."""
        if not self._awaited:
            self._awaited = True
            queue_callback(self._end_backward)
        self.parents.add(name)

    def _end_backward(self) -> None:
        """The pass has ended."""
        self.parents, self._awaited = {"Global"}, False

    def _at_gradients(self, values: Any, function: Callable[[], None], mode: str) -> None:
        """Call a function when the gradients of tensors are there; not of those of a pass."""
        tensors = [x for x in tree_leaves(values) if isinstance(x, Tensor) and x.requires_grad]
        if tensors and not self.is_bw:
            self._handles.append(register_multi_grad_hook(tensors, lambda _: function(), mode=mode))

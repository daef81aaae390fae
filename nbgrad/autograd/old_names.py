"""Names of old programs: ``Variable`` and the engine that it had."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base.errors import ArgumentError, GradError
from ..base.function_attributes import attach
from ..base.user_stack import warn_user
from ..graph.task import current_graph_task, queue_callback
from ..tensors.tensor import Tensor, native, require_differentiable
from .entry import backward, grad

__all__ = ["Variable", "VariableMeta", "variable"]


class VariableMeta(type):
    """Tensors are Variables."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class ExecutionEngine:
    """The engine, as programs reach it that go through ``Variable._execution_engine``."""

    queue_callback = staticmethod(queue_callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether every leaf gets its gradient: not inside of ``grad`` and of passes with ``inputs``."""
        task = current_graph_task()
        return task is None or task.needed is None

    @staticmethod
    def run_backward(
        tensors,
        grad_tensors,
        keep_graph: bool,
        create_graph: bool,
        inputs=(),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ):
        """``backward`` or ``grad`` with all arguments given."""
        if accumulate_grad:
            return backward(tensors, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
        return grad(tensors, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable)


class Variable(metaclass=VariableMeta):
    """The old name of tensors with a gradient: ``Variable(x, requires_grad)`` is a leaf on the memory of ``x``.

    Raises:
        ArgumentError: ``x`` is no Tensor. DTypeError: ``requires_grad`` for a dtype without gradients.

    >>> import nbgrad
    >>> nbgrad.Variable(nbgrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False, **names: Any) -> Any:
        if data is None:
            data = import_module("nbgrad.creation.from_data").tensor([])
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Variable: expected a Tensor, got {type(data).__name__}. Hint: nbgrad.tensor(data).")
        if requires_grad:
            require_differentiable("Variable", data.layout.dtype)
        if volatile:
            warn_user("Variable: volatile has no effect. Hint: compute under nbgrad.no_grad().")
        x = native.alias(data)
        x._needs_grad_ = bool(requires_grad)
        return x


def variable(*args: Any, **kwargs: Any) -> None:
    """Was once ``nbgrad.tensor``.

    Raises:
        GradError: always.
    """
    raise GradError("variable: was replaced. Hint: nbgrad.tensor(data, requires_grad=True).")


attach(variable, Variable=Variable)  # `autograd.variable.Variable`: the function hides torch's module

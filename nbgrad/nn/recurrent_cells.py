"""Single steps of recurrent layers: ``RNNCell``, ``LSTMCell``, ``GRUCell``."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import special
from ..modes.autocast import operand
from . import init
from .module import Module, unusual
from .recurrence import GATES, one_step

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the cells share: parameters and shapes.

    Args:
        input_size, hidden_size: sizes of the last dimension of input and states.
        bias: whether there are biases.
        num_chunks: how many gates there are.
        device, dtype: of the parameters.

    Attributes:
        weight_ih, weight_hh: ``(num_chunks * hidden_size, input_size)`` and ``(num_chunks * hidden_size, hidden_size)``.
        bias_ih, bias_hh: ``(num_chunks * hidden_size,)``, or None. At first all are uniform within ``±1 / sqrt(hidden_size)``.

    >>> isinstance(nbgrad.nn.LSTMCell(2, 3), RNNCellBase)
    True
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(hidden_size, int) or hidden_size < 1:
            raise RangeError(f"{type(self).__name__}: hidden_size is {hidden_size}, expected a whole number greater than 0.")
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            absent = len(shape) == 1 and not bias
            self.register_parameter(name, None if absent else Parameter(nbgrad.empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        init.by_fan_in(self.hidden_size, *self.parameters())

    def step(self, mode: str, input: Tensor, hx: Any) -> tuple[Tensor, ...]:
        """The states after a step; ``input`` is ``(batch, input_size)``, or ``(input_size,)`` of one sequence.

        Raises:
            ShapeError, DTypeError, ArgumentError: input or states do not fit.
        """
        name, count = type(self).__name__, 2 if mode == "LSTM" else 1
        if not isinstance(input, Tensor) or input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            shown = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
            raise ShapeError(f"{name}: input is {shown}, expected (batch, {self.input_size}) or ({self.input_size}).")
        if special:  # beside weights of float32; the step takes both in the region's dtype
            input = operand(input, cpu="single", cuda="single")
        if input.dtype is not self.weight_ih.dtype:
            raise DTypeError(
                f"{name}: input is {input.dtype}, the weights are {self.weight_ih.dtype}. Hint: input.to(weight.dtype)."
            )
        shape = (*input.shape[:-1], self.hidden_size)
        if hx is None:
            states = (nbgrad.zeros(shape, dtype=input.dtype, device=input.device),) * count
        elif count == 1:
            states = (hx,)
        elif isinstance(hx, (tuple, list)) and len(hx) == 2:
            states = tuple(hx)
        else:
            raise ArgumentError(f"{name}: hx is {type(hx).__name__}, expected a pair of states (h, c).")
        for state in states:
            if not isinstance(state, Tensor) or tuple(state.shape) != shape:
                shown = list(state.shape) if isinstance(state, Tensor) else type(state).__name__
                raise ShapeError(f"{name}: a state is {shown}, expected {list(shape)}.")
        weights = {own: getattr(self, own) for own in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        return one_step(mode, input, weights, states)

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *unusual(self, bias=True, nonlinearity="tanh")])


class RNNCell(RNNCellBase):
    """One step of ``RNN``: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        nonlinearity: ``"tanh"`` or ``"relu"``.

    >>> nbgrad.nn.RNNCell(3, 4)(nbgrad.ones(2, 3)).shape
    nbgrad.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise RangeError(f"RNNCell: nonlinearity is {nonlinearity!r}, expected 'tanh' or 'relu'.")
        super().__init__(input_size, hidden_size, bias, GATES["RNN_TANH"], device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The state after a step, ``(batch, hidden_size)``; ``hx``: the state before it, zeros unless given."""
        return self.step(f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``.

    >>> h, c = nbgrad.nn.LSTMCell(3, 4)(nbgrad.ones(2, 3))
    >>> h.shape, c.shape
    (nbgrad.Size([2, 4]), nbgrad.Size([2, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, GATES["LSTM"], device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The states h and c after a step, ``(batch, hidden_size)`` each; ``hx``: those before it, zeros unless given."""
        h, c = self.step("LSTM", input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """One step of ``GRU``.

    >>> nbgrad.nn.GRUCell(3, 4)(nbgrad.ones(2, 3)).shape
    nbgrad.Size([2, 4])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, GATES["GRU"], device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The state after a step, ``(batch, hidden_size)``; ``hx``: the state before it, zeros unless given."""
        return self.step("GRU", input, hx)[0]

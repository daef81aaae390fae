"""Recurrent layers: ``RNN``, ``LSTM``, ``GRU``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import special
from ..base.user_stack import warn_user
from ..modes.autocast import operand
from . import init
from .module import Module, unusual
from .packing import PackedSequence, Plan, plan_of
from .recurrence import GATES, all_layers

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


class RNNBase(Module):
    """What the recurrent layers share: parameters, shapes, layers and directions.

    Args:
        mode: ``"RNN_TANH"``, ``"RNN_RELU"``, ``"LSTM"`` or ``"GRU"``.
        input_size, hidden_size: sizes of the last dimension of input and states.
        num_layers: each takes the output of the one before.
        bias: whether the layers have biases.
        batch_first: input and output are ``(batch, steps, *)`` instead of ``(steps, batch, *)``; states are not.
        dropout: probability with which elements of the output of every layer but the last are zeroed.
        bidirectional: whether a second set of weights goes through the sequence from its end; outputs lie side by side.
        proj_size: of an LSTM: its outputs are multiplied by one more matrix, to this size.
        device, dtype: of the parameters.

    Raises:
        RangeError: a size, ``dropout`` or ``proj_size`` out of range, or another mode. ArgumentError: a size that is no int.

    >>> isinstance(nbgrad.nn.LSTM(2, 3), RNNBase)
    True
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if mode not in GATES:
            raise RangeError(f"RNNBase: mode is {mode!r}, expected one of {', '.join(GATES)}.")
        name = type(self).__name__
        for what, value in (("hidden_size", hidden_size), ("input_size", input_size), ("num_layers", num_layers)):
            if not isinstance(value, int):
                raise ArgumentError(f"{name}: {what} is {value!r}, expected a whole number greater than 0.")
            if value < 1:
                raise RangeError(f"{name}: {what} is {value}, expected a whole number greater than 0.")
        if isinstance(dropout, bool | str) or not 0 <= dropout <= 1:
            raise RangeError(f"{name}: dropout is {dropout}, expected a probability, from 0 to 1.")
        if not 0 <= proj_size < hidden_size or proj_size and mode != "LSTM":
            raise RangeError(f"{name}: proj_size is {proj_size}, expected less than hidden_size, and 0 where it is no LSTM.")
        if dropout and num_layers == 1:
            warn_user(f"{name}: dropout is {dropout}, but there is one layer, and dropout comes behind all but the last.")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        self._names_: list[list[str]] = []
        rows, out = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for ending in ("", "_reverse")[: self.directions]:
                size = input_size if layer == 0 else out * self.directions
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, size), "weight_hh": (rows, out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                self._names_.append([f"{kind}_l{layer}{ending}" for kind in shapes])
                for own, shape in zip(self._names_[-1], shapes.values()):
                    self.register_parameter(own, Parameter(nbgrad.empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    @property
    def directions(self) -> int:
        """1, or 2 where the sequence is gone through from its end, too."""
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of every layer and direction."""
        return [[getattr(self, own) for own in names] for names in self._names_]

    @property
    def _all_weights(self) -> list[list[str]]:  # torch's names, by which programs find biases
        return [list(names) for names in self._names_]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._names_ for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: Iterable[Any]) -> None:
        """Compute with ``weights`` from now on, which need not be parameters: recipes that drop or clone weights set them."""
        self.__dict__.update(zip(self._flat_weights_names, weights))

    def reset_parameters(self) -> None:
        """Draw all parameters anew: uniform within ``±1 / sqrt(hidden_size)``."""
        init.by_fan_in(self.hidden_size, *self.parameters())

    def flatten_parameters(self) -> None:
        """Nothing: parameters lie where they are, and no library wants them side by side."""

    def states_of(self, hx: Any, like: Tensor, batch: int, plan_order: Tensor | None, lone: bool) -> list[Tensor]:
        """The first states, ``(layers * directions, batch, size)`` each; zeros unless given.

        Raises:
            ShapeError, DTypeError, ArgumentError: they do not fit.
        """
        name, count = type(self).__name__, self.num_layers * self.directions
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        if hx is None:
            return [nbgrad.zeros(count, batch, size, dtype=like.dtype, device=like.device) for size in sizes]
        if self.mode == "LSTM" and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise ArgumentError(f"{name}: hx is {type(hx).__name__}, expected a pair of states (h_0, c_0).")
        found = list(hx) if self.mode == "LSTM" else [hx]
        for k, (state, size) in enumerate(zip(found, sizes)):
            what = ("h_0", "c_0")[k]
            if not isinstance(state, Tensor):
                raise ArgumentError(f"{name}: {what} is {type(state).__name__}, expected a Tensor.")
            expected = (count, size) if lone else (count, batch, size)
            if tuple(state.shape) != expected:
                raise ShapeError(f"{name}: {what} is {list(state.shape)}, expected {list(expected)}.")
            state = operand(state, cpu="single", cuda="single") if special else state
            if state.dtype is not like.dtype:
                raise DTypeError(f"{name}: {what} is {state.dtype}, input {like.dtype}. Hint: call {what}.to(input.dtype).")
            state = state.unsqueeze(1) if lone else state
            found[k] = state if plan_order is None else state.index_select(1, plan_order)
        return found

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """All outputs of the last layer, and the last states of all layers.

        Args:
            input: ``(steps, batch, input_size)``; ``(batch, steps, input_size)`` with ``batch_first``; ``(steps, input_size)`` of
                one sequence; or a ``PackedSequence``.
            hx: the first states, zeros unless given: ``(layers * directions, batch, size)``, of an LSTM a pair of these; without
                ``batch`` for one sequence.

        Returns:
            Outputs, like the input but for the last dimension, ``directions * size``, and the states, like ``hx``.

        Raises:
            ShapeError: shapes do not fit, or there are no steps. DTypeError: dtypes do not.
        """
        packed = isinstance(input, PackedSequence)
        x: Any = input.data if packed else input
        if special and isinstance(x, Tensor):  # beside weights of float32; the steps take both in the region's dtype
            x = operand(x, cpu="single", cuda="single")
        self.check_input(x, packed)
        lone = not packed and x.ndim == 2
        plan: Plan | None = None
        order = back = None
        if packed:
            plan, order, back = plan_of(input.batch_sizes, x.device), input.sorted_indices, input.unsorted_indices
        elif lone:
            x = x.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        batch = x.shape[1] if plan is None else plan.lengths.shape[0]
        states = self.states_of(hx, x, batch, order, lone)
        out: Any
        out, last = self.through_layers(x, states, plan)
        last = [state if back is None else state.index_select(1, back) for state in last]
        if lone:
            out, last = out.squeeze(1), [state.squeeze(1) for state in last]
        elif packed:
            out = PackedSequence(out, input.batch_sizes, order, back)
        elif self.batch_first:
            out = out.transpose(0, 1)
        return out, tuple(last) if self.mode == "LSTM" else last[0]

    def through_layers(self, x: Tensor, states: list[Tensor], plan: Plan | None) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer and the last states of all; ``x`` has steps in front, or is packed data."""
        weights = [{own.split("_l")[0]: getattr(self, own) for own in names} for names in self._names_]
        return all_layers(self.mode, x, weights, states, plan, self.directions, self.dropout if self.training else 0.0)

    def check_input(self, x: Any, packed: bool) -> None:
        """Refuse what is no input.

        Raises:
            ArgumentError, ShapeError, DTypeError: it is none.
        """
        name = type(self).__name__
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: input is {type(x).__name__}, expected a Tensor or a PackedSequence.")
        ranks = (2,) if packed else (2, 3)
        if x.ndim not in ranks:
            shown = "data of 2 dimensions" if packed else "3 dimensions, or 2 of one sequence"
            raise ShapeError(f"{name}: input is {list(x.shape)}, expected {shown}.")
        if x.shape[-1] != self.input_size:
            raise ShapeError(f"{name}: input is {list(x.shape)}, expected input_size = {self.input_size} in the last dimension.")
        if not (packed or x.shape[1 if self.batch_first and x.ndim == 3 else 0]):
            raise ShapeError(f"{name}: input is {list(x.shape)}, expected at least one step.")
        weight = getattr(self, self._names_[0][0])
        if x.dtype is not weight.dtype:
            raise DTypeError(f"{name}: input is {x.dtype}, the weights are {weight.dtype}. Hint: call input.to(weight.dtype).")

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        others = unusual(self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])


class RNN(RNNBase):
    """Elman's recurrent layer: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` in every step.

    Args:
        nonlinearity: ``"tanh"`` or ``"relu"``; the others: see ``RNNBase``.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: of the first layer; of layer k they end in ``_lk``, and of the way from
            the end in ``_reverse``.

    >>> rnn = nbgrad.nn.RNN(3, 4, num_layers=2)
    >>> out, h_n = rnn(nbgrad.ones(5, 2, 3))
    >>> out.shape, h_n.shape
    (nbgrad.Size([5, 2, 4]), nbgrad.Size([2, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise RangeError(f"RNN: nonlinearity is {nonlinearity!r}, expected 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: in every step

    ``i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)``, ``f`` and ``o`` likewise, ``g = tanh(W_ig x + b_ig + W_hg h + b_hg)``,
    ``c' = f c + i g``, ``h' = o tanh(c')``. The weights of i, f, g and o lie below one another. Arguments: see ``RNNBase``.

    >>> lstm = nbgrad.nn.LSTM(3, 4, bidirectional=True)
    >>> out, (h_n, c_n) = lstm(nbgrad.ones(5, 2, 3))
    >>> out.shape, c_n.shape
    (nbgrad.Size([5, 2, 8]), nbgrad.Size([2, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        )


class GRU(RNNBase):
    """Gated recurrent units: in every step

    ``r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)``, ``z`` likewise, ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``,
    ``h' = (1 - z) n + z h``. The weights of r, z and n lie below one another. Arguments: see ``RNNBase``.

    >>> gru = nbgrad.nn.GRU(3, 4, batch_first=True)
    >>> out, h_n = gru(nbgrad.ones(2, 5, 3))
    >>> out.shape, h_n.shape
    (nbgrad.Size([2, 5, 4]), nbgrad.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)

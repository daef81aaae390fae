# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from builtins import bool as _bool, float as _float
from ..tensors.members import Number, Operand
from ..tensors.tensor import Tensor

def celu_(input: Tensor, alpha: Number = 1.0) -> Tensor: """``celu``, written into ``input``, which is returned."""
def elu_(input: Tensor, alpha: Number = 1.0) -> Tensor: """``elu``, written into ``input``, which is returned."""
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """``hardtanh``, written into ``input``, which is returned."""
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """``leaky_relu``, written into ``input``, which is returned."""
def relu_(input: Tensor) -> Tensor: """``relu``, written into ``input``, which is returned."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor:
    """``rrelu``, written into ``input``, which is returned."""
def selu_(input: Tensor) -> Tensor: """``selu``, written into ``input``, which is returned."""
def threshold_(input: Tensor, threshold: Number, value: Operand) -> Tensor:
    """``threshold``, written into ``input``, which is returned."""

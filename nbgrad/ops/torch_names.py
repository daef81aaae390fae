"""What nodes show of an operation under torch's names, where those are not the declaration's: for readers of ``_saved_*``."""
from __future__ import annotations

from typing import Any, Callable

__all__ = ["CONSTANTS", "NAMES", "NODES", "shown"]

# Arguments that torch's operation has and this one is the case of.
CONSTANTS: dict[str, dict[str, Any]] = {
    "add": {"alpha": 1}, "sub": {"alpha": 1}, "gemm_bias": {"alpha": 1, "beta": 1}, "gelu_erf": {"approximate": "none"},
    "gelu_tanh": {"approximate": "tanh"}, "elu": {"scale": 1, "input_scale": 1}, "clamp_min": {"max": None},
    "clamp_max": {"min": None}, "norm1": {"ord": 1}, "norm2": {"ord": 2},
    "selu": {"alpha": 1.6732632423543772, "scale": 1.0507009873554805, "input_scale": 1},
    "div_floor": {"rounding_mode": "floor"}, "div_trunc": {"rounding_mode": "trunc"}, "logit_open": {"eps": None},
    "probability_difference": {"weight": None}, "logits_difference": {"weight": None, "pos_weight": None},
    "weighted_logits_difference": {"weight": None}, "valid_mean": {"weight": None},
    "index_add_source": {"alpha": 1}, "pow_half": {"exponent": 0.5}, "pow_inverse": {"exponent": -1},
}

# Torch's names of nodes that depend on which operands are numbers.
NODES: dict[tuple[str, tuple[bool, ...]], str] = {
    ("pow", (False, False)): "PowBackward1", ("pow", (True, False)): "PowBackward2", ("fmod", (False, False)): "FmodBackward1",
    ("remainder", (False, False)): "RemainderBackward1", ("lerp", (False, False, False)): "LerpBackward1",
    ("sub", (True, False)): "RsubBackward1", ("clamp_both", (False, False, False)): "ClampBackward0",
}

# Torch's names of operands and arguments, where they are others.
NAMES: dict[str, dict[str, str]] = {
    "gemm_bias": {"mat1": "x", "mat2": "y"}, "gemm": {"mat2": "y"}, "matmul": {"vec": "y", "tensor": "y", "mat2": "y"},
    "bmm": {"mat2": "y"}, "pick": {"indices": "index"}, "mv": {"vec": "y"}, "dot": {"tensor": "y"},
    "pow": {"exponent": "y"}, "addcmul_scaled": {"value": "value"}, "addcdiv_scaled": {"value": "value"},
    "split_size": {"split_size": "size"}, "as_strided_from": {"storage_offset": "offset"},
}


def as_list(dims: Any) -> tuple | None:
    """Dimensions or amounts as torch keeps those that may be several."""
    return dims if dims is None or isinstance(dims, tuple) else (dims,)


def or_one(step: Any) -> int:
    """A step."""
    return 1 if step is None else step


# How torch shows an argument.
FORMS: dict[tuple[str, str], Callable[[Any], Any]] = {
    **{(name, "dim"): as_list for name in ("sum", "mean", "variance", "deviation", "amax", "amin", "logsumexp", "norm1", "norm2",
                                            "power_norm", "nansum")},
    ("roll", "shifts"): as_list, ("roll", "dims"): as_list, ("slice", "step"): or_one,
}


def shown(op: str, name: str, value: Any) -> Any:
    """An argument as torch shows it."""
    form = FORMS.get((op, name))
    return value if form is None else form(value)

"""``nbgrad.utils.flop_counter``: how many floating-point operations products, convolutions and attention take, by modules."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Callable

from .. import Tensor
from ..graph.task import state
from ..methods.pytree import tree_map
from ..modes.dispatch_modes import TorchDispatchMode
from ..modes.overloads import OpOverloadPacket, packet_of
from .module_tracker import ModuleTracker

__all__ = [
    "FlopCounterMode",
    "conv_flop_count",
    "flop_registry",
    "register_flop_formula",
    "sdpa_backward_flop_count",
    "sdpa_flop_count",
]

Formula = Callable[..., int]

# By operator: ``formula(*args, **kwargs, out_val=result)``.
flop_registry: dict[OpOverloadPacket, Formula] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorator: the function says how many operations a call of these operators takes.

    Args:
        targets: operators (``nbgrad.ops.aten.exp``), one or several.
        get_raw: the function gets arguments as they are, and the result as ``out_val``; else shapes in the place of tensors, and
            ``out_shape``.

    >>> import nbgrad
    >>> @register_flop_formula(nbgrad.ops.aten.exp2)
    ... def exp2_flop(x, *args, out_shape, **kwargs):
    ...     return 10 * math.prod(x)
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = nbgrad.exp2(nbgrad.ones(3))
    >>> counter.get_total_flops()
    30
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            flop_registry[target] = formula if get_raw else of_shapes(formula)
        return formula

    return register


def of_shapes(formula: Formula) -> Formula:
    """A formula of shapes as one of tensors."""

    def counted(*args: Any, out_val: Any, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(lambda x: x.shape if isinstance(x, Tensor) else x, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return counted


def built_in(*names: str) -> Callable[[Formula], Formula]:
    """``register_flop_formula`` of operators by their names."""
    return register_flop_formula([packet_of("aten", name) for name in names], get_raw=True)


@built_in("mm", "bmm")
def product_flop(x: Tensor, y: Tensor, out_val: Tensor, transpose_x: bool = False, **rest: Any) -> int:
    """A product and a sum for each element of the result and each term of it."""
    return 2 * out_val.numel() * x.shape[-2 if transpose_x else -1]


@built_in("addmm", "baddbmm")
def added_product_flop(addend: Tensor, x: Tensor, y: Tensor, out_val: Tensor, **rest: Any) -> int:
    """The product's; what is added to it counts for nothing."""
    return product_flop(x, y, out_val, **rest)


@built_in("convolution")
def conv_flop(x: Tensor, weight: Tensor, *bias: Any, out_val: Tensor, transposed: bool = False, **rest: Any) -> int:
    """Of a convolution, forward, or of the cotangent of what is convolved."""
    return conv_flop_count(x.shape, weight.shape, out_val.shape, transposed)


@built_in("convolution_backward")
def conv_weight_flop(x: Tensor, y: Tensor, out_val: Tensor, kernel: tuple, **rest: Any) -> int:
    """Of the cotangent of a weight: channels and batch have changed places, as torch counts it."""
    (batch, channels, *_), (_, others, *places) = x.shape, y.shape
    return 2 * batch * channels * others * math.prod(places) * math.prod(kernel)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """The operations of a convolution.

    >>> conv_flop_count((1, 2, 5, 5), (3, 2, 3, 3), (1, 3, 3, 3))
    972
    """
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * math.prod(places) * math.prod(w_shape) * x_shape[0]


SDPA = "_scaled_dot_product_flash_attention_for_cpu"


@built_in(SDPA)
def sdpa_flop(query: Tensor, key: Tensor, value: Tensor, *mask: Any, out_val: Any, **rest: Any) -> int:
    """Of attention."""
    return sdpa_flop_count(query.shape, key.shape, value.shape)


@built_in(f"{SDPA}_backward")
def sdpa_backward_flop(g: Tensor, query: Tensor, key: Tensor, value: Tensor, *mask: Any, out_val: Any, **rest: Any) -> int:
    """Of its cotangents."""
    return sdpa_backward_flop_count(g.shape, query.shape, key.shape, value.shape)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Scores, and what they weigh: two products.

    >>> sdpa_flop_count((2, 3, 5, 8), (2, 3, 5, 8), (2, 3, 5, 8))
    4800
    """
    scores = math.prod(query_shape[:-1]) * key_shape[-2]
    return 2 * scores * (query_shape[-1] + value_shape[-1])


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Scores once more, cotangents of weights and of values, of queries and of keys: five products.

    >>> sdpa_backward_flop_count(*[(2, 3, 5, 8)] * 4)
    12000
    """
    scores = math.prod(query_shape[:-1]) * key_shape[-2]
    return 2 * scores * (3 * query_shape[-1] + 2 * value_shape[-1])


class FlopCounterMode(TorchDispatchMode):
    """Counts floating-point operations while it is entered, forward and backward, by modules and operators.

    Counted are products of matrices, convolutions and attention, and what has a formula of its own (``register_flop_formula``).

    Args:
        mods: not used: modules are found as they run.
        depth: how many levels of modules the table has; None: all.
        display: whether leaving prints the table.
        custom_mapping: ``{operator: formula}``, of shapes, as of ``register_flop_formula``; before the registered ones.

    >>> import nbgrad
    >>> model = nbgrad.nn.Linear(3, 4)
    >>> with FlopCounterMode(display=False) as counter:
    ...     model(nbgrad.ones(5, 3)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
    (240, {<OpOverloadPacket(op='aten.addmm')>: 120, <OpOverloadPacket(op='aten.mm')>: 120})
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[OpOverloadPacket, Formula] | None = None,
    ):
        super().__init__()
        self.depth, self.display = depth, display
        own = {k: v if getattr(v, "_get_raw", False) else of_shapes(v) for k, v in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.flop_counts: dict[str, dict[OpOverloadPacket, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()

    def __torch_dispatch__(self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet)
        if formula is not None:
            if packet is CONVOLUTION and state.task is not None:
                packet = CONVOLUTION_BACKWARD  # of which it is a part
            count = formula(*args, **kwargs, out_val=out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += count
        return out

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.mod_tracker.__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[OpOverloadPacket, int]]:
        """``{module: {operator: count}}``; ``"Global"`` is all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, modules by name, operators below them.

        Args:
            depth: how many levels of modules; None: as the mode was made.
        """
        depth = depth or self.depth or 999999
        total = self.get_total_flops()
        suffix = next((k for k in reversed(range(len(SUFFIXES))) if total >= 1000**k), 0)
        shown = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        rows = [row for name in shown for row in self._rows(name, name.count("."), total, suffix)]
        if total and not any(sum(self.flop_counts[name].values()) >= total for name in shown):
            rows = self._rows("Global", 0, total, suffix) + [(f" {name}", *rest) for name, *rest in rows]  # type: ignore[misc]
        return as_table([("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])])

    def _rows(self, name: str, indent: int, total: int, suffix: int) -> list[tuple[str, str, str]]:
        """A module's rows."""
        counts, pad = self.flop_counts[name], " " * indent
        entries = [(pad + name, sum(counts.values())), *((f"{pad} - {packet}", count) for packet, count in counts.items())]
        return [
            (text, f"{count / 1000**suffix:.3f}{SUFFIXES[suffix]}", f"{count / total:.2%}" if total else "0%")
            for text, count in entries
        ]


SUFFIXES = ("", "K", "M", "B", "T")
CONVOLUTION, CONVOLUTION_BACKWARD = packet_of("aten", "convolution"), packet_of("aten", "convolution_backward")


def as_table(rows: list[tuple[str, str, str]]) -> str:
    """Rows, of which the first is the header, in columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    line = lambda row: f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}"
    return "\n".join([line(rows[0]), "  ".join("-" * width for width in widths), *map(line, rows[1:])])

"""``summary``: a module as a table of its layers, their results and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError
from .module import Module

__all__ = ["Layer", "Summary", "summary"]


class Layer(NamedTuple):
    """A module that was called.

    Attributes:
        name, kind: its path, "" of the whole, and its class. depth: below the whole.
        output: the shapes of its results; parameters: of its own, not counting those of modules within.
    """

    name: str
    kind: str
    depth: int
    output: tuple[tuple[int, ...], ...]
    parameters: int


class Summary(NamedTuple):
    """What ``summary`` returns; it prints as a table.

    Attributes:
        layers: in the order in which they were called.
        parameters, trainable: how many numbers the module has, and how many of them require grad, shared ones once.
        bytes_of_parameters, bytes_of_results: memory of these, and of the results of layers without layers within.
    """

    layers: list[Layer]
    parameters: int
    trainable: int
    bytes_of_parameters: int
    bytes_of_results: int

    def __str__(self) -> str:
        rows = [("layer", "result", "parameters")]
        for each in self.layers:
            label = f"{each.name.rpartition('.')[2]}: {each.kind}" if each.name else each.kind
            shapes = ", ".join(str(list(shape)) for shape in each.output)
            rows.append(("  " * each.depth + label, shapes, f"{each.parameters:,}" if each.parameters else ""))
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
        lines.insert(1, "-" * (sum(widths) + 4))
        fixed = self.parameters - self.trainable
        lines += [
            lines[1],
            f"{self.parameters:,} parameters in {size(self.bytes_of_parameters)}" + (f", {fixed:,} of them fixed" if fixed else ""),
            f"{size(self.bytes_of_results)} of results",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def size(count: int) -> str:
    """Bytes as people read them."""
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"


def summary(model: Module, *inputs: Any, input_size: Sequence[int] | None = None, **named: Any) -> Summary:
    """The layers of a module, in the order of their calls, with the shapes of their results and how many parameters they have.

    The module runs once, in evaluation and without recording; its mode and its random numbers are as before.

    Args:
        model: the module.
        inputs, named: what it is called with; or
        input_size: the shape of its only input, of normal numbers in the dtype and on the device of its first parameter.

    Raises:
        ArgumentError: no module; neither inputs nor a size, or both.

    >>> import nbgrad
    >>> model = nbgrad.nn.Sequential(nbgrad.nn.Linear(8, 4), nbgrad.nn.ReLU(), nbgrad.nn.Linear(4, 1))
    >>> nbgrad.summary(model, input_size=(32, 8))
    layer        result   parameters
    --------------------------------
    Sequential   [32, 1]
      0: Linear  [32, 4]          36
      1: ReLU    [32, 4]
      2: Linear  [32, 1]           5
    --------------------------------
    41 parameters in 164 bytes
    1,152 bytes of results
    """
    if not isinstance(model, Module):
        raise ArgumentError(f"summary: expected a Module, got {type(model).__name__}.")
    if (input_size is None) is not bool(inputs or named):
        raise ArgumentError("summary: expected inputs, or their size. Hint: summary(model, input_size=(32, 8)).")
    with nbgrad.random.fork_rng(), nbgrad.no_grad():
        if input_size is not None:
            first = next(model.parameters(), None)
            options = {} if first is None else {"dtype": first.dtype, "device": first.device}
            inputs = (nbgrad.randn(tuple(input_size), **options),)
        layers, results = called(model, inputs, named)
    distinct = list(model.parameters())
    return Summary(
        layers,
        sum(p.numel() for p in distinct),
        sum(p.numel() for p in distinct if p.requires_grad),
        sum(p.numel() * p.element_size() for p in distinct),
        results,
    )


def called(model: Module, inputs: tuple, named: dict[str, Any]) -> tuple[list[Layer], int]:
    """The layers that a call of the module goes through, and the bytes of what the innermost return."""
    layers: list[Layer | None] = []
    places: list[int] = []
    total = 0

    def note(module: Module, name: str) -> None:
        def before(module: Any, args: Any) -> None:
            places.append(len(layers))
            layers.append(None)  # stands before the layers within

        def behind(module: Any, args: Any, out: Any) -> None:
            nonlocal total
            place = places.pop()
            found = [x for x in nbgrad.pytree.tree_leaves(out) if isinstance(x, Tensor)]
            own = sum(p.numel() for p in module.parameters(recurse=False))
            shapes = tuple([tuple(x.shape) for x in found])
            layers[place] = Layer(name, type(module).__name__, len(places), shapes, own)
            if not any(module.children()):
                total += sum(x.numel() * x.element_size() for x in found)

        handles.extend((module.register_forward_pre_hook(before), module.register_forward_hook(behind)))

    handles: list[Any] = []
    modes = [(module, module.training) for module in model.modules()]
    try:
        for name, module in model.named_modules():
            note(module, name)
        model.eval()
        model(*inputs, **named)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
    return [each for each in layers if each is not None], total

"""What the programs that learn to write share: a text as numbers, training to say what comes next, the program around a network.

The text, examples/data/harbour.txt, is read once; on a GPU it lies there, batches are cut out there, and the program waits for the
GPU only to print.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import pyplot as plt
from rich.console import Console
from training import HERE, begin, counted, described, draw_losses, options_of as shared_options

import nbgrad
from nbgrad import nn, optim

__all__ = ["Text", "drawn", "options_of", "run"]

SHOWN = 6  # lines that training prints


class Text(NamedTuple):
    """Characters by their numbers ``(n,)`` int64: those to learn from, and those to test with.

    Attributes:
        letters: what the numbers mean.
    """

    train: nbgrad.Tensor
    test: nbgrad.Tensor
    letters: str

    def numbers(self, words: str) -> nbgrad.Tensor:
        """A text's characters by their numbers: ``(1, n)``."""
        return nbgrad.tensor([[self.letters.index(letter) for letter in words]], device=self.train.device)

    def words(self, numbers: nbgrad.Tensor) -> str:
        """The text that numbers ``(1, n)`` mean."""
        return "".join(self.letters[k] for k in numbers[0].tolist())


def load(path: Path, device: nbgrad.device) -> Text:
    """A text on a device, of which the last tenth is for testing."""
    text = path.read_text(encoding="utf-8")
    letters = "".join(sorted(set(text)))
    numbers = nbgrad.tensor([letters.index(letter) for letter in text], device=device)
    first = len(text) * 9 // 10
    return Text(numbers[:first], numbers[first:], letters)


# ---- training ------------------------------------------------------------------------------------------------------


def windows(numbers: nbgrad.Tensor, starts: nbgrad.Tensor, context: int) -> nbgrad.Tensor:
    """Pieces of a text, one character longer than the context: ``(len(starts), context + 1)``."""
    return numbers[starts.unsqueeze(1) + nbgrad.arange(context + 1, device=numbers.device)]


def loss_of(model: nn.Module, pieces: nbgrad.Tensor) -> nbgrad.Tensor:
    """The mean cross-entropy of each next character."""
    return nn.functional.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


@nbgrad.no_grad()
def evaluate(model: nn.Module, numbers: nbgrad.Tensor) -> float:
    """The loss on all of a text, piece by piece."""
    model.eval()
    starts = nbgrad.arange(0, len(numbers) - model.context, model.context, device=numbers.device)
    loss = loss_of(model, windows(numbers, starts, model.context)).item()
    model.train()
    return loss


class Curve(NamedTuple):
    """Losses: of every step, and on the test text after some of them."""

    train: list[float]
    steps: list[int]
    test: list[float]


def fit(model: nn.Module, text: Text, steps: int, batch: int, console: Console) -> Curve:
    """Train, with a progress bar and a line now and then."""
    optimizer, device = optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2), text.train.device
    losses: list[nbgrad.Tensor] = []
    curve = Curve([], [], [])
    shown = {max(1, steps * k // SHOWN) for k in range(1, SHOWN + 1)}
    for number in counted(console, "steps", steps):
        # Ever larger steps in the first tenth, smaller ones after half of them.
        optimizer.param_groups[0]["lr"] = 4e-3 * min(1.0, 10 * number / steps, 2.1 - 2 * number / steps)
        starts = nbgrad.randint(0, len(text.train) - model.context, (batch,), device=device)
        optimizer.zero_grad()
        loss = loss_of(model, windows(text.train, starts, model.context))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
        if number in shown:
            curve.steps.append(number)
            curve.test.append(evaluate(model, text.test))
            console.print(f"step {number:4d}   train loss {loss.item():.3f}   test loss {curve.test[-1]:.3f}")
    curve.train.extend(nbgrad.stack(losses).tolist())
    return curve


def drawn(scores: nbgrad.Tensor) -> nbgrad.Tensor:
    """The number of a character ``(batch, 1)`` for scores ``(batch, letters)``, likelier characters more often than they say."""
    return nbgrad.multinomial(nbgrad.softmax(scores / 0.7, -1), 1)


# ---- the program -----------------------------------------------------------------------------------------------------


def options_of(about: str, steps: int, picture: str) -> argparse.ArgumentParser:
    """What the user may choose.

    Args:
        about: what the program says of itself.
        steps, picture: how long it trains and where it draws, by default.
    """
    parser = shared_options(about, picture)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--batch", type=int, default=24, help="pieces of text in a step")
    parser.add_argument("--context", type=int, default=48, help="characters of a piece")
    parser.add_argument("--characters", type=int, default=300, help="how many it writes in the end")
    return parser


def run(
    parser: argparse.ArgumentParser,
    network: Callable[[int, argparse.Namespace], nn.Module],
    write: Callable[[Any, Text, str, int], str],
) -> None:
    """Read, train, write, draw.

    Args:
        parser: as ``options_of`` makes it, with what else the network asks for.
        network: makes what is trained, for so many letters: it scores ``(batch, length, letters)`` what comes next, for numbers
            ``(batch, length)``, and ``context`` is the length that it learns from.
        write: a beginning, and so many characters more that the network writes.
    """
    program = begin(parser)
    options, device, console = program.options, program.device, program.console
    text = load(HERE / "data" / "harbour.txt", device)
    model = network(len(text.letters), options).to(device)
    console.print(
        f"{len(text.train)} characters to learn from, {len(text.test)} to test with, {len(text.letters)} different ones; "
        f"{sum(x.numel() for x in model.parameters())} parameters, on {described(device)}"
    )
    curve = fit(model, text, options.steps, options.batch, console)
    console.print(write(model, text, "The keeper ", options.characters), markup=False)

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    steps = range(1, len(curve.train) + 1)
    draw_losses(axes, "step", {"training loss": (steps, curve.train), "test loss": (curve.steps, curve.test)}, "cross-entropy")
    program.end(figure, f"test loss {curve.test[-1]:.3f}")

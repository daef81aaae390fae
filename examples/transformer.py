"""Train a small transformer to write like a short tale, character by character, in seconds.

    python examples/transformer.py [--device auto] [--steps 300] [--seed 0] [--picture examples/transformer.png]

Prints the loss as it learns, on text that it has not seen too, then lets it write, and draws the learning curve. The text,
examples/data/harbour.txt, is read once; on a GPU it lies there, batches are cut out there, and the program waits for the GPU
only to print.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import NamedTuple

from matplotlib import pyplot as plt
from rich.console import Console
from training import add_device, chosen_device, described, draw_losses, progress_bar

import nbgrad
from nbgrad import nn, optim

HERE = Path(__file__).parent
SHOWN = 6  # lines that training prints


class Text(NamedTuple):
    """Characters by their numbers ``(n,)`` int64: those to learn from, and those to test with.

    Attributes:
        letters: what the numbers mean.
    """

    train: nbgrad.Tensor
    test: nbgrad.Tensor
    letters: str


def load(path: Path, device: nbgrad.device) -> Text:
    """A text on a device, of which the last tenth is for testing."""
    text = path.read_text(encoding="utf-8")
    letters = "".join(sorted(set(text)))
    numbers = nbgrad.tensor([letters.index(letter) for letter in text], device=device)
    first = len(text) * 9 // 10
    return Text(numbers[:first], numbers[first:], letters)


# ---- the network ---------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    """Every place asks those before it, by several heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.asked = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)

    def forward(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        batch, length, width = x.shape
        # Three tensors (batch, heads, length, width / heads).
        q, k, v = self.asked(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        later = nbgrad.ones(length, length, dtype=nbgrad.bool, device=x.device).triu(1)
        found = nbgrad.softmax(scores.masked_fill(later, -math.inf), -1) @ v
        return self.joined(found.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention, then a perceptron; each adds to what comes in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads), nn.Dropout(0.1))
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        x = x + self.attention(x)
        return x + self.perceptron(x)


class Transformer(nn.Module):
    """Scores ``(batch, length, letters)`` of what comes next, for numbers ``(batch, length)``."""

    def __init__(self, letters: int, context: int, width: int = 64, heads: int = 4, blocks: int = 2):
        super().__init__()
        self.context = context
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.scores = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, letters))

    def forward(self, numbers: nbgrad.Tensor) -> nbgrad.Tensor:
        places = nbgrad.arange(numbers.shape[1], device=numbers.device)
        return self.scores(self.blocks(self.letters(numbers) + self.places(places)))


# ---- training ------------------------------------------------------------------------------------------------------


def windows(numbers: nbgrad.Tensor, starts: nbgrad.Tensor, context: int) -> nbgrad.Tensor:
    """Pieces of a text, one character longer than the context: ``(len(starts), context + 1)``."""
    return numbers[starts.unsqueeze(1) + nbgrad.arange(context + 1, device=numbers.device)]


def loss_of(model: Transformer, pieces: nbgrad.Tensor) -> nbgrad.Tensor:
    """The mean cross-entropy of each next character."""
    return nn.functional.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


@nbgrad.no_grad()
def evaluate(model: Transformer, numbers: nbgrad.Tensor) -> float:
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


def fit(model: Transformer, text: Text, steps: int, batch: int, console: Console) -> Curve:
    """Train, with a progress bar and a line now and then."""
    optimizer, device = optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2), text.train.device
    losses: list[nbgrad.Tensor] = []
    curve = Curve([], [], [])
    shown = {max(1, steps * k // SHOWN) for k in range(1, SHOWN + 1)}
    with progress_bar(console, "steps") as progress:
        for number in progress.track(range(1, steps + 1)):
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


@nbgrad.no_grad()
def write(model: Transformer, text: Text, start: str, count: int) -> str:
    """``start``, and so many characters more, each drawn from what the network expects."""
    model.eval()
    numbers = nbgrad.tensor([[text.letters.index(letter) for letter in start]], device=text.train.device)
    for _ in range(count):
        scores = model(numbers[:, -model.context :])[:, -1] / 0.7  # below 1: likelier characters more often
        numbers = nbgrad.cat([numbers, nbgrad.multinomial(nbgrad.softmax(scores, -1), 1)], 1)
    return "".join(text.letters[k] for k in numbers[0].tolist())


def main() -> None:
    """Read, train, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_device(parser)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=24, help="pieces of text in a step")
    parser.add_argument("--context", type=int, default=48, help="characters that it sees")
    parser.add_argument("--characters", type=int, default=300, help="how many it writes in the end")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights and all that is drawn")
    parser.add_argument("--picture", type=Path, default=HERE / "transformer.png")
    options = parser.parse_args()
    device = chosen_device(parser, options.device)

    started = time.perf_counter()
    nbgrad.manual_seed(options.seed)
    text, console = load(HERE / "data" / "harbour.txt", device), Console(highlight=False)
    model = Transformer(len(text.letters), options.context).to(device)
    console.print(
        f"{len(text.train)} characters to learn from, {len(text.test)} to test with, {len(text.letters)} different ones; "
        f"{sum(x.numel() for x in model.parameters())} parameters, on {described(device)}"
    )
    curve = fit(model, text, options.steps, options.batch, console)
    seconds = time.perf_counter() - started

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    steps = range(1, len(curve.train) + 1)
    draw_losses(axes, "step", {"training loss": (steps, curve.train), "test loss": (curve.steps, curve.test)}, "cross-entropy")
    figure.savefig(options.picture, dpi=110)
    plt.close(figure)
    console.print(write(model, text, "The keeper ", options.characters), markup=False)
    console.print(f"learning curve: {options.picture}", soft_wrap=True)
    console.print(f"test loss {curve.test[-1]:.3f} after {seconds:.1f} s")


if __name__ == "__main__":
    main()

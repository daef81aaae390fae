"""Train a recurrent network to write like a short tale, character by character, in seconds.

    python examples/characters.py [--device auto] [--cell lstm] [--steps 400] [--seed 0] [--picture examples/characters.png]

As examples/transformer.py, on the same text and with the same training; but what has been read is a state, which goes from one
character to the next, so that writing looks at each character once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from rich.console import Console
from training import add_device, chosen_device, described, draw_losses
from transformer import HERE, Text, fit, load

import nbgrad
from nbgrad import nn

CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Reader(nn.Module):
    """Scores ``(batch, length, letters)`` of what comes next, for numbers ``(batch, length)``, and the state behind them."""

    def __init__(self, letters: int, context: int, cell: str = "lstm", width: int = 96, layers: int = 2):
        super().__init__()
        self.context = context
        self.letters = nn.Embedding(letters, width)
        self.steps = CELLS[cell](width, width, num_layers=layers, dropout=0.1, batch_first=True)
        self.scores = nn.Linear(width, letters)

    def read(self, numbers: nbgrad.Tensor, state: Any = None) -> tuple[nbgrad.Tensor, Any]:
        """Scores, and the state that the next characters begin with."""
        outputs, state = self.steps(self.letters(numbers), state)
        return self.scores(outputs), state

    def forward(self, numbers: nbgrad.Tensor) -> nbgrad.Tensor:
        return self.read(numbers)[0]


@nbgrad.no_grad()
def write(model: Reader, text: Text, start: str, count: int) -> str:
    """``start``, and so many characters more, each drawn from what the network expects."""
    model.eval()
    read = nbgrad.tensor([[text.letters.index(letter) for letter in start]], device=text.train.device)
    written, state = [read], None
    for _ in range(count):
        scores, state = model.read(written[-1], state)
        written.append(nbgrad.multinomial(nbgrad.softmax(scores[:, -1] / 0.7, -1), 1))  # likelier characters more often
    return "".join(text.letters[k] for k in nbgrad.cat(written, 1)[0].tolist())


def main() -> None:
    """Read, train, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_device(parser)
    parser.add_argument("--cell", choices=CELLS, default="lstm", help="what goes from one character to the next")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=24, help="pieces of text in a step")
    parser.add_argument("--context", type=int, default=48, help="characters of a piece")
    parser.add_argument("--characters", type=int, default=300, help="how many it writes in the end")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights and all that is drawn")
    parser.add_argument("--picture", type=Path, default=HERE / "characters.png")
    options = parser.parse_args()
    device = chosen_device(parser, options.device)

    started = time.perf_counter()
    nbgrad.manual_seed(options.seed)
    text, console = load(HERE / "data" / "harbour.txt", device), Console(highlight=False)
    model = Reader(len(text.letters), options.context, options.cell).to(device)
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

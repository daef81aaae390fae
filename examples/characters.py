"""Train a recurrent network to write like a short tale, character by character, in seconds.

    python examples/characters.py [--device auto] [--cell lstm] [--steps 200] [--seed 0] [--picture examples/characters.png]

As examples/transformer.py, on the same text and with the same training; but what has been read is a state, which goes from one
character to the next, so that writing looks at each character once.
"""

from __future__ import annotations

from typing import Any

from writing import Text, drawn, options_of, run

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
    written, state = [text.numbers(start)], None
    for _ in range(count):
        scores, state = model.read(written[-1], state)
        written.append(drawn(scores[:, -1]))
    return text.words(nbgrad.cat(written, 1))


if __name__ == "__main__":
    parser = options_of(__doc__, steps=200, picture="characters.png")
    parser.add_argument("--cell", choices=CELLS, default="lstm", help="what goes from one character to the next")
    run(parser, lambda letters, options: Reader(letters, options.context, options.cell), write)

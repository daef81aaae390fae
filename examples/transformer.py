"""Train a small transformer to write like a short tale, character by character, in seconds.

    python examples/transformer.py [--device auto] [--steps 300] [--seed 0] [--picture examples/transformer.png]

Prints the loss as it learns, on text that it has not seen too, then lets it write, and draws the learning curve: writing.py.
"""

from __future__ import annotations

import math

from writing import Text, drawn, options_of, run

import nbgrad
from nbgrad import nn


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


@nbgrad.no_grad()
def write(model: Transformer, text: Text, start: str, count: int) -> str:
    """``start``, and so many characters more, each drawn from what the network expects."""
    model.eval()
    numbers = text.numbers(start)
    for _ in range(count):
        numbers = nbgrad.cat([numbers, drawn(model(numbers[:, -model.context :])[:, -1])], 1)
    return text.words(numbers)


if __name__ == "__main__":
    parser = options_of(__doc__, steps=300, picture="transformer.png")
    run(parser, lambda letters, options: Transformer(letters, options.context), write)

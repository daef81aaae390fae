"""Train a small convolutional network on 1,797 handwritten digits, in seconds.

    python examples/digits_cnn.py [--device auto] [--epochs 10] [--seed 0] [--picture examples/digits_cnn.png]

The images, the split, training and picture are those of ``digits.py``; only the network is another one.
"""

from __future__ import annotations

from digits import main

import nbgrad
from nbgrad import nn


class Convolutional(nn.Module):
    """Two convolutions, each followed by a pool, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.2)
        self.scores = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        """Images ``(n, 64)`` to scores ``(n, 10)``."""
        x = x.reshape(-1, 1, 8, 8)
        x = nn.functional.max_pool2d(self.first(x).relu(), 2)
        x = nn.functional.max_pool2d(self.second(x).relu(), 2)
        return self.scores(self.dropout(x.flatten(1)))


if __name__ == "__main__":
    main(Convolutional, __doc__, "digits_cnn.png", epochs=10)

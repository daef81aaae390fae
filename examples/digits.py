"""Train a small network on 1,797 handwritten digits, in seconds.

    python examples/digits.py [--device auto] [--epochs 20] [--seed 0] [--picture examples/digits.png]

Prints loss and accuracy as it learns, then the accuracy on images it has not seen, and draws both with some of its
answers. Everything but reading the file, printing and drawing is nbgrad's public API. On a GPU the images and the
network are there, and the program waits for it once an epoch.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from rich.console import Console
from training import HERE, begin, counted, described, draw_losses, options_of

import nbgrad
from nbgrad import nn, optim

BATCH = 64


class Digits(NamedTuple):
    """Images ``(n, 64)`` float32 from 0 to 1, and their digits ``(n,)`` int64."""

    images: nbgrad.Tensor
    labels: nbgrad.Tensor

    def to(self, device: nbgrad.device) -> Digits:
        """They, on a device."""
        return Digits(self.images.to(device), self.labels.to(device))


class Epoch(NamedTuple):
    """What one pass over the training images gave."""

    train_loss: float
    test_loss: float
    test_accuracy: float


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images ``(1797, 64)`` float32 from 0 to 1, and labels ``(1797,)`` int64."""
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return (table[:, :-1] / 16).astype(np.float32), table[:, -1]


def shifted(images: np.ndarray) -> np.ndarray:
    """The images, and copies moved by one pixel down, up, right and left: ``(5 n, 64)``."""
    framed = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    corners = (1, 1), (0, 1), (2, 1), (1, 0), (1, 2)
    return np.concatenate([framed[:, y : y + 8, x : x + 8] for y, x in corners]).reshape(-1, 64)


def split(images: np.ndarray, labels: np.ndarray, seed: int, test_part: float = 0.2) -> tuple[Digits, Digits]:
    """Training images, shifted in all directions, and test images; of every digit, ``test_part`` is for testing."""
    rng = np.random.default_rng(seed)
    is_test = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        of_digit = rng.permutation(np.flatnonzero(labels == digit))
        is_test[of_digit[: round(test_part * len(of_digit))]] = True
    train = Digits(nbgrad.tensor(shifted(images[~is_test])), nbgrad.tensor(np.tile(labels[~is_test], 5)))
    return train, Digits(nbgrad.tensor(images[is_test]), nbgrad.tensor(labels[is_test]))


def network() -> nn.Module:
    """A perceptron with two hidden layers."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def train_epoch(model: nn.Module, optimizer: optim.Optimizer, data: Digits) -> float:
    """Visit every image once, in a new order; returns the mean loss of the batches."""
    model.train()
    order, losses = nbgrad.randperm(len(data.labels), device=data.labels.device), []
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data.images[batch]), data.labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return nbgrad.stack(losses).mean().item()


@nbgrad.no_grad()
def evaluate(model: nn.Module, data: Digits) -> tuple[float, np.ndarray]:
    """Mean loss, and the class probabilities ``(n, 10)``."""
    model.eval()
    scores = model(data.images)
    return nn.functional.cross_entropy(scores, data.labels).item(), nbgrad.softmax(scores, 1).cpu().numpy()


def accuracy(probabilities: np.ndarray, data: Digits) -> float:
    """The part of the images whose most probable class is right."""
    return float((probabilities.argmax(1) == data.labels.cpu().numpy()).mean())


def fit(model: nn.Module, train: Digits, test: Digits, epochs: int, console: Console) -> list[Epoch]:
    """Train, with a progress bar and a line every few epochs."""
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    history: list[Epoch] = []
    for number in counted(console, "epochs", epochs):
        # The last third is taken in ever smaller steps.
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1.0, 3 * (1 - (number - 1) / epochs))
        loss = train_epoch(model, optimizer, train)
        test_loss, probabilities = evaluate(model, test)
        history.append(Epoch(loss, test_loss, accuracy(probabilities, test)))
        if number % 5 == 0 or number in (1, epochs):
            console.print(
                f"epoch {number:3d}   train loss {loss:.4f}   test loss {test_loss:.4f}   "
                f"test accuracy {history[-1].test_accuracy:.3f}"
            )
    return history


def draw(history: list[Epoch], test: Digits, probabilities: np.ndarray) -> plt.Figure:
    """The learning curve above; below, the images the network was least sure of, with its answers."""
    figure = plt.figure(figsize=(9, 6.5), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[3, 2])
    draw_curve(top.subplots(), history)
    least_sure = np.argsort(probabilities.max(1))[:16]
    bottom.suptitle("least certain answers on the test images (red: wrong)", fontsize=10)
    for axes, index in zip(bottom.subplots(2, 8).flat, least_sure, strict=True):
        answer, truth = int(probabilities[index].argmax()), int(test.labels[index].item())
        axes.imshow(test.images[index].numpy().reshape(8, 8), cmap="gray_r")
        axes.set_title(f"{answer}  ({probabilities[index].max():.0%})", fontsize=9, color="black" if answer == truth else "red")
        axes.set_axis_off()
    return figure


def draw_curve(axes: plt.Axes, history: list[Epoch]) -> None:
    """Losses on the left axis, errors in percent on the right."""
    epochs = range(1, len(history) + 1)
    train, test = [epoch.train_loss for epoch in history], [epoch.test_loss for epoch in history]
    draw_losses(axes, "epoch", {"training loss (with dropout)": (epochs, train), "test loss": (epochs, test)}, "cross-entropy")
    errors = axes.twinx()
    errors.plot(epochs, [100 * (1 - epoch.test_accuracy) for epoch in history], "k:", label="test error")
    errors.set(ylabel="test error, %", ylim=(0, 15))
    handles = axes.get_lines() + errors.get_lines()
    axes.legend(handles=handles, loc="upper right")


def main(network: Callable[[], nn.Module], about: str, picture: str, epochs: int) -> None:
    """Read, train, test, draw.

    Args:
        network: makes what is trained, which takes ``(n, 64)`` and gives ``(n, 10)``.
        about: what the program says of itself.
        picture, epochs: where it draws and how long it trains, by default.
    """
    parser = options_of(about, picture)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--images", type=int, help="how many to train with; all by default")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console
    train, test = (part.to(device) for part in split(*load(HERE / "data" / "digits.csv.gz"), options.seed))
    train = Digits(train.images[: options.images], train.labels[: options.images])
    model = network().to(device)
    console.print(
        f"{len(train.labels)} training images of 8x8 pixels (a fifth of them original, the others shifted), "
        f"{len(test.labels)} test images, on {described(device)}"
    )
    console.print(repr(model), markup=False)
    history = fit(model, train, test, options.epochs, console)

    _, probabilities = evaluate(model, test)
    figure = draw(history, test.to(nbgrad.device("cpu")), probabilities)
    program.end(figure, f"test accuracy {accuracy(probabilities, test):.3f}")


if __name__ == "__main__":
    main(network, __doc__, "digits.png", epochs=20)

"""What the examples share: the choice of a device, a progress bar, the axes of a learning curve."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import matplotlib
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import nbgrad

matplotlib.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["add_device", "chosen_device", "described", "draw_losses", "progress_bar"]


def add_device(parser: argparse.ArgumentParser) -> None:
    """Let the user say where a program runs."""
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where it trains; auto: on a GPU if there is one"
    )


def chosen_device(parser: argparse.ArgumentParser, name: str) -> nbgrad.device:
    """The device that ``--device`` names. A GPU that is not there ends the program with the reason."""
    if name == "auto":
        name = "cuda" if nbgrad.cuda.is_available() else "cpu"
    if name == "cuda":
        try:
            nbgrad.cuda.init()
        except nbgrad.DeviceError as error:
            parser.error(f"--device cuda: {error}")
    return nbgrad.device(name)


def described(device: nbgrad.device) -> str:
    """A device as people call it."""
    return f"{device}, {nbgrad.cuda.get_device_name()}" if device.type == "cuda" else str(device)


def progress_bar(console: Console, unit: str) -> Progress:
    """A bar that counts ``unit``, and the time."""
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeElapsedColumn()
    return Progress(*columns, console=console)


def draw_losses(axes: plt.Axes, unit: str, curves: dict[str, tuple[Sequence[int], Sequence[float]]], ylabel: str) -> None:
    """Curves by their names, each at which epochs or steps, and what it was then; the axis of losses is logarithmic."""
    for name, (places, losses) in curves.items():
        axes.semilogy(places, losses, label=name)
    axes.set(xlabel=unit, ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper right")

"""What the examples share: their options, a progress bar, the axes of a learning curve, and how they end."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import nbgrad

matplotlib.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["HERE", "Program", "begin", "counted", "described", "draw_losses", "options_of"]

HERE = Path(__file__).parent


def options_of(about: str, picture: str) -> argparse.ArgumentParser:
    """What every program lets the user choose.

    Args:
        about: what the program says of itself.
        picture: the name of what it draws, by default beside it.
    """
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where it trains; auto: on a GPU if there is one"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the initial values and all that is drawn")
    parser.add_argument("--picture", type=Path, default=HERE / picture)
    return parser


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


class Program(NamedTuple):
    """A program that runs: what the user chose, where it computes and prints, and what the clocks showed at first."""

    options: argparse.Namespace
    device: nbgrad.device
    console: Console
    started: tuple[float, float]

    def compiled(self, step: Callable) -> Callable:
        """A function as one native call, by ``nbgrad.compile``; on a GPU, for which it makes no programs, the function itself."""
        return nbgrad.compile(step) if self.device.type == "cpu" else step

    def end(self, figure: plt.Figure, result: str) -> None:
        """Keep the picture; say what came out, and how long it and the processor took, without imports and drawing."""
        seconds, worked = (now - then for now, then in zip(clocks(), self.started, strict=True))
        figure.savefig(self.options.picture, dpi=110)
        plt.close(figure)
        self.console.print(f"picture: {self.options.picture}", soft_wrap=True)
        self.console.print(
            f"{result} after {seconds:.1f} s ({worked:.1f} s of the processor) on {described(self.device)}", soft_wrap=True
        )


def clocks() -> tuple[float, float]:
    """Seconds of the clock, and seconds that the processor has worked for this program, whatever else runs beside it."""
    return time.perf_counter(), time.process_time()


def begin(parser: argparse.ArgumentParser, device: nbgrad.device | None = None) -> Program:
    """Read the options, choose the device if it is not given, set the seed."""
    options = parser.parse_args()
    device = device or chosen_device(parser, options.device)
    nbgrad.manual_seed(options.seed)
    return Program(options, device, Console(highlight=False), clocks())


def counted(console: Console, unit: str, count: int) -> Iterator[int]:
    """The numbers from 1 to ``count``, under a bar that counts ``unit``, and the time."""
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        yield from progress.track(range(1, count + 1))


def draw_losses(axes: plt.Axes, unit: str, curves: dict[str, tuple[Sequence[int], Sequence[float]]], ylabel: str) -> None:
    """Curves by their names, each at which epochs or steps, and what it was then; the axis of losses is logarithmic."""
    for name, (places, losses) in curves.items():
        axes.semilogy(places, losses, label=name)
    axes.set(xlabel=unit, ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper right")

"""Times of a statement, and what is told of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

from ..base.errors import ArgumentError

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

# Units by what they are in seconds, smallest first.
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
WORDS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
# Runs that vary by more than this part of their median are warned of, and those that take less time than that.
VARYING, QUICK = 0.1, 1e-4


@dataclass(frozen=True)
class TaskSpec:
    """What was measured.

    Attributes:
        stmt, setup, global_setup: code.
        label, sub_label, description: what a table calls it: its title, its row and its column.
        env: where it ran, if several places are compared.
        num_threads: how many threads computed.
    """

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def _line(self) -> str:
        """The statement in one line."""
        return self.stmt.strip().replace("\n", "; ")

    @property
    def title(self) -> str:
        """What is above it: the label, else the statement."""
        return self.label or self._line

    @property
    def as_row_name(self) -> str:
        """What its row is called."""
        return self.sub_label or self._line or "[Unknown]"


@dataclass
class Measurement:
    """The times of a statement.

    Args:
        number_per_run: how often the statement ran in each of them.
        raw_times: seconds of each.
        task_spec: what was measured.
        metadata: whatever the user keeps with it.

    >>> found = Measurement(10, [1e-3, 2e-3, 4e-3], TaskSpec("f(x)"))
    >>> found.median, found.mean == 7e-3 / 30
    (0.0002, True)
    """

    number_per_run: int
    raw_times: Sequence[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        """Seconds of one run of the statement, in each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The middle of the times; 0 without any."""
        return statistics.median(self.times) if self.raw_times else 0.0

    @property
    def mean(self) -> float:
        """The mean of the times; 0 without any."""
        return statistics.mean(self.times) if self.raw_times else 0.0

    @property
    def iqr(self) -> float:
        """How far the middle half of the times reaches; 0 of fewer than two."""
        if len(self.raw_times) < 2:
            return 0.0
        lower, _, upper = statistics.quantiles(self.times, n=4, method="inclusive")
        return upper - lower

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, by how the times vary; at least one."""
        spread = self.iqr / max(len(self.raw_times), 1) ** 0.5
        return 5 if not spread or not self.median else max(1, min(5, floor(log10(self.median / spread))))

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much, or are too short for the clock."""
        return bool(self.raw_times) and (self.iqr > VARYING * self.median or min(self.raw_times) < QUICK)

    # What the task says, under torch's names.
    @property
    def title(self) -> str:
        """The task's."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The task's."""
        return self.task_spec.as_row_name

    @property
    def env(self) -> str:
        """The task's, "Unspecified env" if it has none."""
        return self.task_spec.env or "Unspecified env"

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one; each with the times of single runs."""
        together: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            together.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, spec) for spec, times in together.items()]

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        spec = self.task_spec
        yield f"<nbgrad.utils.benchmark.Measurement of {spec.title}>"
        if spec.sub_label or spec.description:
            yield ", ".join(filter(None, [spec.sub_label, spec.description]))
        if spec.setup != "pass":
            yield f"setup: {spec.setup.strip()}"
        unit, scale = select_unit(self.median)
        if len(self.raw_times) > 1:
            yield f"  Median: {self.median / scale:.2f} {unit}"
            yield f"  IQR:    {self.iqr / scale:.2f} {unit}"
        else:
            yield f"  {self.median / scale:.2f} {unit}"
        count, runs, threads = len(self.raw_times), self.number_per_run, spec.num_threads
        yield f"  {count} measurement{'s' * (count != 1)}, {runs} runs per measurement, {threads} thread{'s' * (threads != 1)}"
        if self.has_warnings:
            yield "  WARNING: the times vary much, or are short. Hint: blocked_autorange(min_run_time=2), a quiet machine."


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time of ``t`` seconds is told, and that in seconds.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    fitting = [(unit, scale) for unit, scale in UNITS.items() if scale <= t]
    return fitting[-1] if fitting else ("ns", UNITS["ns"])


def unit_to_english(u: str) -> str:
    """The word for a unit.

    Raises:
        ArgumentError: no unit.
    """
    if u not in WORDS:
        raise ArgumentError(f"unit_to_english: got {u!r}, expected one of {list(WORDS)}.")
    return WORDS[u]


def trim_sigfig(x: float, n: int) -> float:
    """``x``, rounded to ``n`` digits that count.

    >>> trim_sigfig(123.456, 2)
    120.0
    """
    return float(f"{x:.{n}g}")

"""Times of statements, and tables of them: ``nbgrad.utils.benchmark``, as ``torch.utils.benchmark``.

>>> import nbgrad
>>> from nbgrad.utils.benchmark import Timer
>>> found = Timer("x.sin()", globals={"x": nbgrad.ones(8)}).timeit(10)
>>> found.number_per_run, found.median > 0
(10, True)
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import nbgrad

from ..base.errors import ArgumentError, NotSupportedError, RangeError
from .measurements import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]

# How many seconds a block of runs takes at least.
SHORTEST_BLOCK = 1e-3


def timer() -> float:
    """Seconds on a clock, once the GPU's work is done where there is a GPU.

    >>> start = timer()
    >>> timer() >= start
    True
    """
    if nbgrad.accelerator.is_available():
        nbgrad.accelerator.synchronize()
    return timeit.default_timer()


class Timer:
    """Measures how long a statement takes.

    Args:
        stmt: the code.
        setup: code that runs before each measurement and is not measured.
        global_setup: of C++ alone, so none.
        timer: the clock.
        globals: the names that the code finds; it finds ``nbgrad``, and by the name ``torch`` too.
        label, sub_label, description: what tables call it: their title, its row and its column.
        env: where it runs, if results of several places are compared.
        num_threads: how many threads compute, meanwhile.
        language: Python; C++ is refused.

    Raises:
        ArgumentError: ``stmt`` is no text. RangeError: fewer than one thread. NotSupportedError: C++.

    >>> import nbgrad
    >>> Timer("x + 1", globals={"x": nbgrad.ones(4)}, label="sum").timeit(5).title
    'sum'
    """

    _timer_cls: type = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ArgumentError(f"Timer: stmt must be a str, got {type(stmt).__name__}.")
        if global_setup or str(getattr(language, "name", language)).lower() not in ("py", "python"):
            raise NotSupportedError("Timer: statements are in Python, global_setup and language are for C++.")
        if num_threads < 1:
            raise RangeError(f"Timer: num_threads is {num_threads}, expected 1 or more.")
        names = {"nbgrad": nbgrad, "torch": nbgrad, **(globals or {})}
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        """How long ``number`` runs take, with the task's number of threads."""
        threads = nbgrad.get_num_threads()
        nbgrad.set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            nbgrad.set_num_threads(threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement ``number`` times, after some runs to warm up, and measure all of them together."""
        self._seconds(max(number // 100, 2))
        return Measurement(number, [self._seconds(number)], self._task_spec)

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Measure as many runs together as take 0.2 seconds, once.

        Args:
            callback: ``callback(number, seconds)``, called on the way.
        """
        number, seconds = 1, self._seconds(1)
        while seconds < 0.2:
            if callback is not None:
                callback(number, seconds)
            number *= 2 if seconds > 0.02 else 10
            seconds = self._seconds(number)
        return Measurement(number, [seconds], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Of ``timeit``, not here.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("Timer.repeat: not there, as in torch. Hint: blocked_autorange().")

    def _block_size(self, min_run_time: float) -> int:
        """How many runs are measured together: so many that the clock's own time is small beside theirs."""
        self._seconds(2)  # warm: compiled, and in caches
        number, enough = 1, max(min(min_run_time / 1000, 0.1), SHORTEST_BLOCK)
        while self._seconds(number) < enough:
            number *= 2 if number < 10 else 10
        return number

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of runs, again and again, for ``min_run_time`` seconds: what to take if nothing else is wanted.

        Args:
            callback: ``callback(number, seconds)``, called for each block.

        >>> 0 < Timer("sum(range(50))").blocked_autorange(min_run_time=0.01).median < 1
        True
        """
        number, times = self._block_size(min_run_time), list[float]()
        while sum(times) < min_run_time or len(times) < 2:
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As ``blocked_autorange``, until the middle half of the times reaches less than ``threshold`` of their median, or
        ``max_run_time`` seconds are over."""
        number, times = self._block_size(min_run_time), list[float]()
        while True:
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
            found, spent = Measurement(number, times, self._task_spec), sum(times)
            if spent >= max_run_time or len(times) > 3 and spent >= min_run_time and found.iqr < threshold * found.median:
                return found

    def collect_callgrind(self, number: int = 100, **options: Any) -> None:
        """Counts of instructions, not here.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("Timer.collect_callgrind: instructions are not counted. Hint: nbgrad.profiler.profile().")


class Compare:
    """A table of measurements: one for each label, with a row for each sub label and a column for each description.

    Args:
        results: the measurements; those of the same task are put together.

    >>> spec = lambda column: TaskSpec("", label="sin", sub_label="8 numbers", description=column)
    >>> table = Compare([Measurement(1, [5e-6] * 4, spec("eager")), Measurement(1, [2e-6] * 4, spec("compiled"))])
    >>> table.print()
    [------------ sin -------------]
                  | eager | compiled
    1 threads: ---------------------
      8 numbers   |   5.0 |      2.0
    <BLANKLINE>
    Times are in microseconds (us).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims = self._warns = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ArgumentError: something else.
        """
        for each in results:
            if not isinstance(each, Measurement):
                raise ArgumentError(f"Compare: expected measurements, got {type(each).__name__}.")
            self._results.append(each)

    def trim_significant_figures(self) -> None:
        """Show the digits alone that mean something."""
        self._trims = True

    def highlight_warnings(self) -> None:
        """Mark the measurements that vary much, or are short, with "(!)"."""
        self._warns = True

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted: tables have no colours."""

    def print(self) -> None:
        """Write the table to the standard output."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        titles = dict.fromkeys(each.title for each in merged)
        return "\n\n".join(self._table(title, [each for each in merged if each.title == title]) for title in titles)

    def _table(self, title: str, results: list[Measurement]) -> str:
        """One table."""
        unit, scale = select_unit(min((each.median for each in results), default=0.0))
        columns = list(dict.fromkeys(each.task_spec.description or "" for each in results))
        rows = {(each.num_threads, each.env, each.as_row_name): dict[str, str]() for each in results}
        for each in results:
            rows[each.num_threads, each.env, each.as_row_name][each.task_spec.description or ""] = self._cell(each, scale)
        several = len({env for _, env, _ in rows}) > 1
        names = {row: f"  {f'({row[1]}) ' if several else ''}{row[2]}" for row in rows}
        wide = max(map(len, names.values())) + 3
        widths = [max(len(column), *(len(cells.get(column, "")) for cells in rows.values())) for column in columns]
        total = wide + sum(width + 3 for width in widths)
        lines = [f"[{f' {title} '.center(total - 3, '-')}]"]
        lines.append(" " * wide + "".join(f"| {column:>{width}} " for column, width in zip(columns, widths)).rstrip())
        for threads, group in groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0]):
            lines.append(f"{threads} threads: ".ljust(total - 1, "-"))
            for row in group:
                cells = "".join(f"| {rows[row].get(column, ''):>{width}} " for column, width in zip(columns, widths))
                lines.append(f"{names[row]:<{wide}}{cells}".rstrip())
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit})."])

    def _cell(self, found: Measurement, scale: float) -> str:
        """A time in a unit."""
        value = found.median / scale
        text = f"{trim_sigfig(value, found.significant_figures):g}" if self._trims else f"{value:.1f}"
        return f"{text} (!)" if self._warns and found.has_warnings else text

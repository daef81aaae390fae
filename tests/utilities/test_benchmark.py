"""Times of statements, and tables of them; no test asks how long anything takes."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.errors import ArgumentError, NotSupportedError, RangeError
from nbgrad.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig, unit_to_english


class Clock:
    """A clock on which every run of ``tick()`` takes a tenth of a second."""

    def __init__(self):
        self.now, self.threads = 0.0, set()

    def tick(self):
        self.now += 0.1
        self.threads.add(nbgrad.get_num_threads())

    def __call__(self):
        return self.now


def timer(clock, **options):
    """A timer by that clock."""
    return Timer("clock.tick()", timer=clock, globals={"clock": clock}, **options)


def test_runs_are_measured_together_or_in_blocks():
    """All at once; a block that is long enough again and again until the time is over; each block is told of."""
    clock, told = Clock(), []
    found = timer(clock, num_threads=1).timeit(5)
    assert (found.number_per_run, found.raw_times) == (5, pytest.approx([0.5])) and found.median == pytest.approx(0.1)
    assert clock.threads == {1}
    blocks = timer(clock).blocked_autorange(lambda *block: told.append(block), min_run_time=0.35)
    assert blocks.times == pytest.approx([0.1] * 4) and [number for number, _ in told] == [1] * 4
    assert timer(clock).adaptive_autorange(min_run_time=0.5).times == pytest.approx([0.1] * 5)
    assert timer(clock).autorange().number_per_run == 2


def test_the_names_that_code_finds():
    """Those that are given, ``nbgrad``, and the same as ``torch``; setup runs before."""
    Timer("assert torch is nbgrad and y == 2", setup="y = x + 1", globals={"x": 1}).timeit(1)
    with pytest.raises(NameError):
        Timer("no_such_name").timeit(1)


def test_what_is_told_of_times():
    """The middle, the mean, the reach of the middle half, how many digits count; what varies is warned of."""
    found = Measurement(2, [2.0, 4.0, 6.0, 8.0, 30.0], TaskSpec("f()", label="L", sub_label="s", description="d"))
    assert (found.median, found.mean, found.iqr) == (3.0, 5.0, 2.0)
    assert found.has_warnings and found.significant_figures == 1 and found.stmt == "f()"
    assert not Measurement(1, [2.0, 2.1, 2.2], TaskSpec("f()")).has_warnings
    text = repr(found)
    assert all(part in text for part in ("L", "s, d", "Median: 3.00 s", "IQR:    2.00 s", "5 measurements, 2 runs", "WARNING"))
    merged = Measurement.merge([found, Measurement(1, [7.0], found.task_spec)])
    assert [each.times for each in merged] == [[1.0, 2.0, 3.0, 4.0, 15.0, 7.0]]
    assert (select_unit(3e-9), select_unit(0.002), unit_to_english("ms"), trim_sigfig(0.01234, 2)) == (
        ("ns", 1e-9),
        ("ms", 1e-3),
        "millisecond",
        0.012,
    )


def test_a_table_for_each_label_with_blocks_of_threads():
    """Rows by sub label, columns by description, empty where nothing was measured, in the unit of the shortest time."""
    made = [("a", "eager", 1, 1e-3), ("a", "compiled", 1, 5e-4), ("b", "eager", 2, 2e-3)]
    table = Compare(
        Measurement(1, [t] * 3, TaskSpec("", label="L", sub_label=s, description=d, num_threads=n)) for s, d, n, t in made
    )
    table.trim_significant_figures()
    table.highlight_warnings()
    assert str(table).splitlines() == [
        "[--------- L ----------]",
        "      | eager | compiled",
        "1 threads: -------------",
        "  a   |  1000 |      500",
        "2 threads: -------------",
        "  b   |  2000 |",
        "",
        "Times are in microseconds (us).",
    ]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Timer(3), ArgumentError),
        (lambda: Timer(num_threads=0), RangeError),
        (lambda: Timer(language="c++"), NotSupportedError),
        (lambda: Timer().collect_callgrind(), NotSupportedError),
        (lambda: Timer().repeat(), NotSupportedError),
        (lambda: Compare([1]), ArgumentError),
        (lambda: unit_to_english("h"), ArgumentError),
    ],
)
def test_mistakes(make, error):
    """Each is refused."""
    with pytest.raises(error):
        make()

"""What is outside of the process, or changes by itself: such functions run as they are."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import time
import uuid
import warnings
from datetime import date, datetime
from time import perf_counter

import pytest

import nbgrad
from nbgrad.base.errors import GraphError
from nbgrad.jit.guards.external_state import Records, Watched

logger = logging.getLogger("nbgrad.tests.outside")


def caught(x):
    try:
        print("text")
    except Exception:
        return x
    return x * 2


def prints(x):
    print("shape", tuple(x.shape))
    return x * 2


def writes(x):
    sys.stdout.write("text\n")
    sys.stdout.writelines(["more", "\n"])
    return x * 2


def logs(x):
    logger.warning("text")
    return x * 2


def complains(x):
    print("text", file=sys.stderr)
    return x * 2


def reads_the_clock(x):
    return x * 2, time.time() > 0


def reads_a_name(x):
    return x * 2, perf_counter() > 0


def reads_the_day(x):
    return x * 2, datetime.now().year > 0


def reads_a_file(x):
    with open(__file__, encoding="utf-8") as file:
        return x * 2, len(file.readline())


def draws_a_name(x):
    return x * 2, len(str(uuid.uuid4()))


def output_of(fn, calls=3):
    """What calls print, log and warn of, and what they return."""
    out, err, handler = io.StringIO(), io.StringIO(), logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = [repr(fn(nbgrad.arange(3.0) + k)) for k in range(calls)]
    finally:
        logger.removeHandler(handler)
    return made, out.getvalue(), err.getvalue(), handler.stream.getvalue(), [str(each.message) for each in said]


@pytest.mark.parametrize("fn", [caught, prints, writes, logs, complains])
def test_text_is_written_once_in_every_call(fn):
    """By a function that runs as it is, which is said with its line."""
    *want, _ = output_of(fn)
    *got, said = output_of(nbgrad.compile(fn))
    assert got == want and any(want[1:])
    assert len(said) == 1 and f"runs as it is: {'logging' if fn is logs else 'print'}: " in said[0]
    assert f"{__file__}:" in said[0] and "Hint: nbgrad.jit.print" in said[0]
    with pytest.raises(GraphError, match="writes"):
        output_of(nbgrad.compile(fn, fullgraph=True))


@pytest.mark.parametrize("fn", [reads_the_clock, reads_a_name, reads_the_day, reads_a_file, draws_a_name])
def test_clocks_and_files_are_read_in_every_call(fn):
    """A function that names one is not captured."""
    made = nbgrad.compile(fn)
    with pytest.warns(UserWarning, match="may be another one in every call. Hint: call it outside"):
        made(nbgrad.ones(2))
    assert not made.variants


def test_what_is_not_written_breaks_nothing():
    """Text of a branch that is not taken, records below the level, warnings, days that were given."""
    day = date(2020, 1, 2)

    def fn(x):
        if x.numel() == 0:
            print("nothing")
        logger.debug("not written")
        warnings.warn("careful", stacklevel=1)
        return x * day.year

    made = nbgrad.compile(fn, fullgraph=True)
    with pytest.warns(UserWarning, match="careful"):
        made(nbgrad.ones(2))
    assert len(made.variants) == 1


def test_open_files_are_seen(tmp_path):
    """As names of the program."""
    with open(tmp_path / "log", "w", encoding="utf-8") as file:

        def fn(x):
            file.write("text")
            return x

        with pytest.raises(GraphError, match="an open file"):
            nbgrad.compile(fn, fullgraph=True)(nbgrad.ones(2))
    assert (tmp_path / "log").read_text() == ""


def test_steps_in_python_write_when_they_run(capsys):
    """A custom Function that reads arrays: not when it is captured."""

    class Noisy(nbgrad.autograd.Function):
        """Twice, with a word."""

        @staticmethod
        def forward(ctx, x):
            print("forward")
            return nbgrad.tensor(x.numpy() * 2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    made = nbgrad.compile(lambda x: Noisy.apply(x) + 1, fullgraph=True)
    for _ in range(2):
        made(nbgrad.ones(2))
    assert capsys.readouterr().out == "forward\n" * 2


def test_other_threads_write_meanwhile_and_streams_are_put_back(unchecked):
    """Whether a capture ends well or not."""
    out, begun, done = io.StringIO(), threading.Event(), threading.Event()

    def writer():
        begun.wait()
        print("another thread")
        logger.error("another thread")
        done.set()

    def fn(x, good):
        assert type(sys.stdout) is Watched and sys.stdout.getvalue() == ""
        begun.set()
        done.wait()
        if not good:
            raise LookupError
        return x * 2

    before, factory = sys.stderr, logging.getLogRecordFactory()
    for good in (True, False):
        begun.clear(), done.clear()
        out.truncate(out.seek(0))
        thread = threading.Thread(target=writer)
        with contextlib.redirect_stdout(out):
            thread.start()
            with contextlib.nullcontext() if good else pytest.raises(LookupError):
                nbgrad.compile(fn, fullgraph=True)(nbgrad.ones(2), good)
            thread.join()
            assert sys.stdout is out
        assert out.getvalue() == "another thread\n"
    assert sys.stderr is before and logging.getLogRecordFactory() is factory
    assert not isinstance(logging.getLogRecordFactory(), Records)


def test_disabled_functions_stay_outside():
    """What calls one runs as it is, which is said once with the function and the reason; the answer is asked anew each time."""
    asked = []

    @nbgrad.compiler.disable(reason="it counts")
    def counted(x):
        asked.append(nbgrad.compiler.is_compiling())
        return x * len(asked)

    f = nbgrad.compile(lambda x: counted(x) + 1)
    with pytest.warns(UserWarning, match="counted is disabled.*Hint: it counts"):
        assert f(nbgrad.ones(1)).tolist() == [2.0]
    assert f(nbgrad.ones(1)).tolist() == [3.0] and asked == [False, False]
    with pytest.raises(nbgrad.GraphError, match="counted is disabled"):
        nbgrad.jit.trace(counted, nbgrad.ones(1))


class Model:
    """A program that keeps files and times beside what is computed."""

    def __init__(self, path, loud=False):
        self.path, self.loud, self.scale = path, loud, 2.0

    def step(self, x):
        if self.loud:
            self.save(x)
        return x * self.scale

    def save(self, x):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{time.time() > 0}")

    def shows(self, x):
        return [self.save for _ in range(2)] and x * 3

    def hides(self, x):
        try:
            self.save(x)
        except Exception:
            x = x + 100
        return x * 2


def test_what_is_named_and_never_called_breaks_nothing(tmp_path):
    """Functions that name files and clocks are called before they do anything, or they do not matter."""
    path = tmp_path / "log"
    model = Model(path)
    for method in (model.step, model.shows):
        made = nbgrad.compile(method, fullgraph=True)
        assert made(nbgrad.ones(2)).equal(method(nbgrad.ones(2))) and len(made.variants) == 1
    assert not path.exists()
    loud = nbgrad.compile(Model(path, True).step)
    with pytest.warns(UserWarning, match="runs as it is: open: may be another one in every call"):
        loud(nbgrad.ones(2))
    loud(nbgrad.ones(2))
    assert path.read_text() == "True" * 2 and not loud.variants


def test_a_refusal_that_a_program_catches_stays_one(tmp_path):
    """What it has done instead is not captured; the file is written by the function as it is, once."""
    made = nbgrad.compile(Model(tmp_path / "log").hides)
    with pytest.warns(UserWarning, match="open: may be another one"):
        assert made(nbgrad.ones(2)).tolist() == [2, 2]
    assert (tmp_path / "log").read_text() == "True" and not made.variants


def test_a_profiler_that_is_there_stays_there(tmp_path):
    """While it watches calls, whoever names a file is taken to use it."""
    calls = []
    made = nbgrad.compile(Model(tmp_path / "log").step)
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    try:
        with pytest.warns(UserWarning, match="open: may be another one"):
            made(nbgrad.ones(2))
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert calls and not made.variants

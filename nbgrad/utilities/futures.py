"""``nbgrad.futures``: results that another thread gives later."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from ..base.errors import ArgumentError, NbgradError

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result that is not there yet: one thread waits for it, another one sets it.

    Args:
        devices: torch's; without effect.

    >>> import nbgrad
    >>> future = nbgrad.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(nbgrad.ones(2))
    >>> doubled.wait()
    tensor([2., 2.])
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._result: concurrent.futures.Future = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether a result or an error is there."""
        return self._result.done()

    def wait(self) -> Any:
        """The result, as soon as it is there; an error that was set in its place is raised."""
        return self._result.result()

    def value(self) -> Any:
        """The result, which is there.

        Raises:
            NbgradError: it is not.
        """
        if not self.done():
            raise NbgradError("Future: there is no value yet. Hint: wait() for it.")
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Give the result to who waits, and call what was told to.

        Raises:
            NbgradError: there is one.
        """
        self._require_open()
        self._result.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Have an error raised where the result is waited for.

        Raises:
            ArgumentError: no exception. NbgradError: there is a result.
        """
        if not isinstance(result, BaseException):
            raise ArgumentError(f"Future.set_exception: expected an exception, got {type(result).__name__}.")
        self._require_open()
        self._result.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call ``callback(self)`` when the result is there: at once, if it is."""
        self._result.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future whose result is that of ``callback(self)``, or the error that it raises."""
        following: Future = Future()

        def follow(done: Future) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(follow)
        return following

    def _require_open(self) -> None:
        if self.done():
            raise NbgradError("Future: a result is set for the second time.")


def collect_all(futures: Iterable[Future]) -> Future:
    """The future of the list of ``futures``, which is there when all of them are done.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> second.set_result(2), first.set_result(1), [each.value() for each in both.wait()]
    (None, None, [1, 2])
    """
    futures = list(futures)
    together: Future = Future()
    counts = iter(range(1, len(futures)))  # ``next`` is one step for all threads; the last call finds it at its end

    def note(_: Future) -> None:
        if next(counts, None) is None:
            together.set_result(futures)

    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(note)
    return together


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """The results of all, as soon as they are there; the first error is raised.

    >>> future = Future()
    >>> future.set_result(3)
    >>> wait_all([future])
    [3]
    """
    return [future.wait() for future in futures]

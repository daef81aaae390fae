"""Loading by other processes, as the program sees it.

Each worker has a pipe of its own, so that one that is killed holds nothing that another needs. Indices go to the workers in turn, a
few ahead, and batches are taken in the same turn: their order is that of the sampler, whoever is faster.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import warnings
import weakref
from collections import deque
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from ..base.errors import ArgumentError, NbgradError, NotSupportedError, RangeError
from .fetch import _DatasetKind
from .passes import LoaderIterator
from .transport import receive
from .worker import BATCH, END, EPOCH, Job, work

__all__ = ["ParallelIterator", "context_of"]

PATIENCE = 5.0  # seconds that a worker has to end by itself

# The program's ends of all pipes. A forked child inherits them, and would keep workers waiting for a program that is no more.
_ends: weakref.WeakSet[Connection] = weakref.WeakSet()


def close_inherited() -> None:
    """In a forked child: the pipes are its parent's."""
    for end in list(_ends):
        end.close()
    _ends.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=close_inherited)


def context_of(context: Any) -> Any:
    """A context of ``multiprocessing``, or the one of a name.

    Raises:
        RangeError: no such name. ArgumentError: neither.
    """
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise RangeError(f"DataLoader: multiprocessing_context={context!r}: expected a start method, one of {known}.")
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise ArgumentError(
            f"DataLoader: multiprocessing_context is a {type(context).__name__}; expected a context of multiprocessing, or the "
            "name of a start method."
        )
    return context


class Worker:
    """A process, the program's end of its pipe, and what it owes."""

    __slots__ = ("number", "process", "connection", "owed", "is_active")

    def __init__(self, context: Any, number: int, job: Job):
        self.number, self.owed, self.is_active = number, 0, True
        self.connection, theirs = context.Pipe()
        _ends.add(self.connection)
        self.process = context.Process(target=work, args=(theirs, number, job), daemon=True, name=f"DataLoader-{number}")
        try:
            with warnings.catch_warnings():
                # Python's warning of forks in programs with threads: nbgrad's own know of forks.
                warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
                self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def hang_up(self) -> None:
        """Tell the process to end, without waiting: also where another process has a copy of the pipe's end."""
        if not self.connection.closed:
            try:
                with socket.socket(fileno=os.dup(self.connection.fileno())) as pipe:
                    pipe.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended
            self.connection.close()

    def end(self, until: float) -> None:
        """Wait for the process, and end it if it does not by itself."""
        self.process.join(max(0.0, until - monotonic()))
        for force in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                force()
                self.process.join(1.0)


def stop(workers: list[Worker], program: int) -> None:
    """End workers, in the process that has started them."""
    if os.getpid() != program:
        return
    for worker in workers:
        worker.hang_up()
    until = monotonic() + PATIENCE
    for worker in workers:
        worker.end(until)


class ParallelIterator(LoaderIterator):
    """A pass by workers, which end with it, and whenever it is given up; persistent ones do the next pass too."""

    def __init__(self, loader: Any):
        if multiprocessing.current_process().daemon:
            raise NotSupportedError("DataLoader: a worker of a loader can have no workers. Hint: num_workers=0 inside of datasets.")
        super().__init__(loader)
        self._epoch, self._ahead, self._timeout = 0, loader.prefetch_factor or 1, loader.timeout
        self._in_order, self._persistent = loader.in_order, loader.persistent_workers
        job = Job(
            loader.dataset,
            loader._dataset_kind == _DatasetKind.Iterable,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            loader.worker_init_fn,
            loader.num_workers,
            self._seed,
        )
        self._workers: list[Worker] = []
        self._stop = weakref.finalize(self, stop, self._workers, os.getpid())
        context = loader.multiprocessing_context or multiprocessing.get_context()
        try:
            for number in range(loader.num_workers):
                self._workers.append(Worker(context, number, job))
            self.hand_out_first()
        except BaseException:
            self._stop()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the workers are there for another pass."""
        return self._stop.alive and all(worker.process.is_alive() for worker in self._workers)

    def begin(self, loader: Any) -> None:
        """The next pass, by the same workers; what they owe of the last one is left."""
        self.restart(loader)
        self._epoch += 1
        self.hand_out_first()

    def hand_out_first(self) -> None:
        """Give every worker something to do."""
        self._due: deque[Worker] = deque()  # who owes batches, in the order of the sampler
        self._turn = 0
        for worker in self._workers:
            worker.owed, worker.is_active = 0, True
        while self.hand_out():
            pass

    def hand_out(self) -> bool:
        """Send the next index to the next worker in turn that has not enough; whether there were both."""
        count = len(self._workers)
        for step in range(count):
            worker = self._workers[(self._turn + step) % count]
            if worker.is_active and worker.owed < self._ahead:
                break
        else:
            return False
        try:
            index = next(self._samples)
        except StopIteration:
            return False
        self._turn = (worker.number + 1) % count
        message = EPOCH.pack(self._epoch) + pickle.dumps(index)
        try:
            worker.connection.send_bytes(message)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended, which is seen when its turn comes
        worker.owed += 1
        self._due.append(worker)
        return True

    def following(self) -> Any:
        try:
            while self._due:
                if not self._stop.alive:
                    raise NbgradError("DataLoader: the workers of this pass have ended. Hint: begin another one.")
                worker, kind, value = self.answer()
                self._due.remove(worker)
                worker.owed -= 1
                if kind == END:
                    worker.is_active = False
                self.hand_out()
                if kind == BATCH:
                    return value()
                if kind != END:
                    raise_failure(worker, *value())
        except BaseException as error:
            if not isinstance(error, Exception):  # Ctrl-C
                self._stop()
            raise
        if not self._persistent:
            self._stop()
        raise StopIteration

    def answer(self) -> tuple[Worker, str, Any]:
        """The next answer: of the worker whose turn it is, or of any with ``in_order=False``.

        Raises:
            NbgradError: a worker has ended; ``timeout`` seconds have passed.
        """
        until = monotonic() + self._timeout if self._timeout else None
        while True:
            worker = self.ready(until)
            try:
                (epoch, kind), value = receive(worker.connection)
            except (EOFError, OSError):
                self.refuse_dead(worker)
            if epoch == self._epoch:
                return worker, kind, value

    def ready(self, until: float | None) -> Worker:
        """A worker that has something to say, or has ended."""
        asked = [self._due[0]] if self._in_order else list(dict.fromkeys(self._due))
        by_object: dict[Any, Worker] = {}
        for worker in asked:
            by_object[worker.connection] = by_object[worker.process.sentinel] = worker
        found = wait(list(by_object), None if until is None else max(0.0, until - monotonic()))
        if not found:
            raise NbgradError(
                f"DataLoader: timeout: worker {asked[0].number} (pid {asked[0].process.pid}) has sent no batch for {self._timeout} "
                "seconds. Hint: a longer timeout, or num_workers=0 to see where it waits."
            )
        return by_object[next((each for each in found if isinstance(each, Connection)), found[0])]

    def refuse_dead(self, worker: Worker) -> None:
        """Tell how a worker has ended, and end the others."""
        worker.process.join(1.0)
        code, pid = worker.process.exitcode, worker.process.pid
        self._stop()
        if code is not None and code < 0:
            how = f"was killed by signal {-code} ({signal.Signals(-code).name})"
        else:
            how = f"has ended by itself, with status {code}"
        raise NbgradError(
            f"DataLoader: worker {worker.number} (pid {pid}) {how}. "
            "Hint: it may have used too much memory, or crashed in a library; num_workers=0 shows where."
        )


class KeyErrorText(str):
    """A text that KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def raise_failure(worker: Worker, kind: bytes | None, name: str, text: str) -> None:
    """Raise an error of a worker here: of its type, with its traceback in the text."""
    told = f"DataLoader: worker {worker.number} has raised {name}, there:\n\n{text}"
    try:
        error = pickle.loads(kind)(KeyErrorText(told)) if kind is not None else NbgradError(told)
        if told not in str(error):
            error.add_note(told)
    except Exception:
        error = NbgradError(told)  # its type needs more than a text, or is not known here
    raise error

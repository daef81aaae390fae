"""``spawn``: several processes that run one function, of which the first that fails ends all."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from ..base.errors import NbgradError

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "spawn", "start_processes"]


class ProcessException(NbgradError):
    """A process that ``spawn`` has started did not end well.

    Attributes:
        error_index: which of them; pid: its number.
    """

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It raised; the message has the traceback."""


class ProcessExitedException(ProcessException):
    """It ended with another code than 0, or by a signal.

    Attributes:
        exit_code, signal_name: the code; the signal's number as a name, None without one.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def run(fn: Callable, index: int, args: tuple, errors: Any) -> None:
    """What a process does; a traceback goes to the one that waits."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        raise SystemExit(1) from None
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run one function.

    Attributes:
        processes: the processes, by index.
    """

    def __init__(self, processes: list[Any], errors: list[Any]):
        self.processes, self._errors = processes, errors
        self._running = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all have ended, or one has failed, which ends the others.

        Args:
            timeout: seconds, None: however long.
            grace_period: seconds that others get to end by themselves, before they are killed.

        Returns:
            Whether all have ended.

        Raises:
            ProcessRaisedException, ProcessExitedException: one has failed.
        """
        if not self._running:
            return True
        failed = None
        for sentinel in connection.wait(list(self._running), timeout):
            index = self._running.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self._running
        self._end(grace_period)
        raise self._failure(failed)

    def _end(self, grace_period: float | None) -> None:
        """End those that still run."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, index: int) -> ProcessException:
        """What the process of that index ended with."""
        process = self.processes[index]
        told = text_from(self._errors[index])
        if told:
            return ProcessRaisedException(f"spawn: process {index} raised:\n\n{told}", index, process.pid)
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        how = f"ended with code {code}" if name is None else f"was ended by signal {name}"
        return ProcessExitedException(f"spawn: process {index} {how}.", index, process.pid, code, name)


def text_from(errors: Any) -> str:
    """The traceback that a process has sent before it ended, if it has sent one."""
    try:
        return errors.recv() if errors.poll() else ""
    except EOFError:
        return ""


def start_processes(
    fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """``spawn`` by another start method of ``multiprocessing``."""
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=run, args=(fn, index, args, sending), daemon=daemon)
        process.start()
        sending.close()
        processes.append(process)
        errors.append(receiving)
    made = ProcessContext(processes, errors)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(
    fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Run ``fn(index, *args)`` in processes of their own.

    Args:
        fn: a function of a module, which the processes can import.
        args: its other arguments; tensors share their memory.
        nprocs: how many processes; ``index`` counts them.
        join: wait for all; False: return at once.
        daemon: they end with this process.
        start_method: "spawn", unless ``start_processes`` is meant.

    Returns:
        None, or without ``join`` a ``ProcessContext``, whose ``join`` waits.

    Raises:
        ProcessRaisedException, ProcessExitedException: a process has failed; the others were ended.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)

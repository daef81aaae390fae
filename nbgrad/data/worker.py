"""What a worker does: it is sent indices, loads, and sends batches back, in the order of the indices.

NOTE [Ends of a worker]: a thread of the worker does nothing but read what the program sends, so that the program never waits for a
worker that works. It also sees when the program closes the pipe, or is no more, and then the worker ends: after what it is doing,
or without that after GRACE seconds. Ctrl-C is for the program, which ends its workers.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import struct
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

import nbgrad

from .fetch import Fetch, fetch_of
from .info import WorkerInfo, enter
from .transport import Packed, packed, send

__all__ = ["BATCH", "END", "FAILURE", "EPOCH", "Job", "work"]

BATCH, END, FAILURE = "batch", "end", "failure"
EPOCH = struct.Struct("<Q")  # before the pickled index: which pass of the loader it is of
GRACE = 10.0
LOOK = 5.0  # seconds between looks whether the program is there, which a fork elsewhere may hide
OVER = 1 << 62


class Job(NamedTuple):
    """What a worker is made with."""

    dataset: Any
    is_stream: bool
    batched: bool
    collate_fn: Callable
    drop_last: bool
    init_fn: Callable | None
    workers: int
    seed: int


def work(connection: Connection, number: int, job: Job) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nbgrad.set_num_threads(1)
    orders: SimpleQueue = SimpleQueue()
    newest = [0]
    threading.Thread(target=listen, args=(connection, orders, newest, os.getppid()), daemon=True).start()
    failure = prepared(number, job)
    try:
        serve(connection, orders, newest, job, failure)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the program does not want it any more
    connection.close()


def listen(connection: Connection, orders: SimpleQueue, newest: list[int], program: int) -> None:
    """Put what comes into the queue; None at the end, of the program or of the pipe."""
    try:
        while os.getppid() == program:
            if connection.poll(LOOK):
                message = connection.recv_bytes()
                newest[0] = EPOCH.unpack_from(message)[0]
                orders.put(message)
    except (EOFError, OSError):
        pass
    newest[0] = OVER
    orders.put(None)
    time.sleep(GRACE)
    os._exit(1)


def prepared(number: int, job: Job) -> Packed | None:
    """Seed this process's random numbers and let the user prepare it; what went wrong, or None."""
    seed = (job.seed + number) % (1 << 63)
    enter(WorkerInfo(number, job.workers, seed, job.dataset))
    random.seed(seed)
    nbgrad.manual_seed(seed)
    np.random.seed(np.random.SeedSequence((job.seed % (1 << 63), number)).generate_state(4))
    try:
        if job.init_fn is not None:
            job.init_fn(number)
    except Exception as error:
        return failed(error)
    return None


def serve(connection: Connection, orders: SimpleQueue, newest: list[int], job: Job, failure: Packed | None) -> None:
    """Answer each index of the newest pass until None comes."""
    fetch: Fetch | None = None
    epoch = -1
    while (message := orders.get()) is not None:
        of = EPOCH.unpack_from(message)[0]
        if of < newest[0]:
            continue  # the program has begun another pass
        if of != epoch:
            fetch, epoch = None, of
        kind, value = FAILURE, failure
        if failure is None:
            try:
                index = pickle.loads(message[EPOCH.size :])
                if fetch is None:
                    fetch = fetch_of(job.dataset, job.is_stream, job.batched, job.collate_fn, job.drop_last)
                kind, value = BATCH, packed(fetch(index))
            except Exception as error:
                ended = job.is_stream and isinstance(error, StopIteration)
                kind, value = (END, packed(None)) if ended else (FAILURE, failed(error))
        assert value is not None
        send(connection, (epoch, kind), value)
        del value


def failed(error: Exception) -> Packed:
    """An error as what can be sent: its type, where that can, and its traceback."""
    text = "".join(traceback.format_exception(error))
    try:
        kind = pickle.dumps(type(error))
    except Exception:
        kind = None
    return packed((kind, type(error).__name__, text))

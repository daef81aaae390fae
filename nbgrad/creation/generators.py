"""Generators of random numbers, the default one among them.

A generator is a seed and the number of calls made so far. What a call draws depends on these two and on the position in
the result, so it is the same for any number of threads and on any device; see NOTE [Counter] in
kernels/templates/philox.py.
"""

from __future__ import annotations

import contextlib
import operator
import os
import struct
from collections.abc import Iterable
from typing import Any, Iterator

import numpy as np

from ..base.dtypes import int64, uint8
from ..base.errors import ArgumentError, DeviceError, RangeError
from ..base.grad_mode import traces
from ..base.locks import new_lock
from ..modes.traced import capture_of_thread, refuse_in_graph
from ..tensors.arrays import array_of
from ..tensors.choices import captures, current
from ..tensors.layout import layout_of
from ..tensors.storage import CPU, META, Device
from ..tensors.tensor import Tensor
from .allocation import empty_of
from .casting import on_device
from .numpy_exchange import flat_tensor

__all__ = [
    "Generator",
    "default_generator",
    "default_generator_on",
    "default_generators",
    "restore",
    "fork_rng",
    "generator_of",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

WORD = 1 << 64


def refuse_in_capture() -> None:
    """Refuse what no replay of a graph would do to a generator again, where a GPU's work is captured by this thread."""
    if captures:
        from ..tensors.cuda_graphs import guard

        guard("random")


class Generator:
    """A source of random numbers: a seed, and how many calls have drawn from it.

    >>> import nbgrad
    >>> first = nbgrad.Generator().manual_seed(1)
    >>> second = first.clone_state()
    >>> nbgrad.equal(nbgrad.rand(3, generator=first), nbgrad.rand(3, generator=second))
    True
    """

    __slots__ = ("_seed", "_calls", "_lock", "_device", "__weakref__")

    def __init__(self, device: Any = "cpu"):
        self._device = on_device("Generator", device)
        if self._device is META:
            raise DeviceError("Generator: no numbers are drawn on meta; expected 'cpu', 'cuda' or 'cuda:N'.")
        self._seed, self._calls, self._lock = 0, 0, new_lock()
        if traces and (trace := capture_of_thread()) is not None:
            trace.draws.note_made(self)

    @property
    def device(self) -> Device:
        """Where the numbers are drawn. Those of a seed are the same everywhere."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``, an integer from -2**63 to 2**64 - 1; negative ones count from 2**64 down.

        Raises:
            ArgumentError: no integer. RangeError: out of range.
        """
        try:
            value = operator.index(seed)
        except TypeError:
            raise ArgumentError(f"manual_seed: expected an integer, got {type(seed).__name__}.") from None
        if not -WORD // 2 <= value < WORD:
            raise RangeError(f"manual_seed: {value} is out of range, -2**63 to 2**64 - 1.")
        self._refuse_to_change("manual_seed")
        if self._device is not CPU:
            refuse_in_capture()
        with self._lock:
            self._seed, self._calls = value % WORD, 0
        return self

    def seed(self) -> int:
        """Start again from a seed that the operating system draws, and return it."""
        if traces:
            refuse_in_graph("seed: the operating system draws", "seed the generator outside")
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed."""
        self._refuse_to_change("initial_seed")
        return self._seed

    def get_state(self) -> Tensor:
        """The state: a uint8 tensor of 16 elements, for ``set_state``."""
        if traces and (trace := capture_of_thread()) is not None and not trace.draws.is_made(self):
            return trace.draws.state(self)
        captured = self._captured()
        with self._lock:
            state = struct.pack("<2Q", self._seed, self._calls if captured is None else captured.calls)
        return flat_tensor(np.frombuffer(state, np.uint8).copy(), uint8, (16,))

    def set_state(self, state: Tensor) -> Generator:
        """Return to a state that ``get_state`` gave.

        Raises:
            ArgumentError: something else.
        """
        if not isinstance(state, Tensor) or state.layout.dtype is not uint8 or state.layout.shape != (16,):
            raise ArgumentError("set_state: expected the uint8 tensor of 16 elements that get_state returns.")
        if traces and (trace := capture_of_thread()) is not None and trace.draws.restore(self, state):
            return self
        self._refuse_to_change("set_state")
        seed, calls = struct.unpack("<2Q", array_of(state).tobytes())
        captured = self._captured()
        if captured is not None:
            captured.return_to(seed, calls)
            return self
        with self._lock:
            self._seed, self._calls = seed, calls
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self._device).set_state(self.get_state())

    def next_call(self) -> tuple[int, ...]:
        """The words of the next call: see ``reserve``."""
        if traces:
            refuse_in_graph("random numbers are drawn", "draw them outside, and give them to the function")
        if self._device is not CPU:
            return self._words(1, False)
        with self._lock:
            seed, call = self._seed, self._calls
            self._calls = (call + 1) % WORD
        return signed(seed), signed(call)

    def reserve(self, count: int) -> tuple[int, ...]:
        """The words by which a kernel draws the first of ``count`` calls that nobody else draws; of none, the next call.

        Returns:
            int64s: the seed, and the number of the call. Of a GPU a third one, 0; while a CUDA graph is captured: 0, how many calls
            the capture has drawn before, and the address of two words that each replay writes: NOTE [Captured draws].
        """
        if self._device is CPU:
            seed, call = self.take(count)
            return signed(seed), signed(call)
        return self._words(count, True)

    def _words(self, count: int, kept: bool) -> tuple[int, int, int]:
        """The words of a GPU; ``kept``: somebody may draw by them again, as a pass through a loop does."""
        captured = self._captured()
        if captured is not None:
            return 0, captured.take(count), captured.address(words_on, kept)
        seed, call = self.take(count)
        return signed(seed), signed(call), 0

    def take(self, count: int) -> tuple[int, int]:
        """Seed and number of the first of ``count`` calls, also for a replay of a graph while another one is captured."""
        with self._lock:
            seed, call = self._seed, self._calls
            self._calls = (call + count) % WORD
        return seed, call

    def give_back(self, call: int, count: int) -> None:
        """Nothing was drawn in calls that ``reserve`` has given: later ones have these numbers, if nobody drew meanwhile.

        Args:
            call: the number of the first; ``count``: how many.
        """
        captured = self._captured()
        if captured is not None:
            captured.give_back(call, count)
            return
        with self._lock:
            if self._calls == (call + count) % WORD:
                self._calls = call % WORD

    def begin_again(self) -> None:
        """No call was made."""
        captured = self._captured()
        if captured is not None:
            captured.return_to(self._seed, 0)
        else:
            self.give_back(0, self._calls)

    def _captured(self) -> Any:
        """What this thread draws from it in a CUDA graph that it captures: ``CapturedDraws``; None where it captures none."""
        if not captures or self._device is CPU or current.capture is None:
            return None
        return current.capture.draws_of(self, self._seed, self._calls)

    def _refuse_to_change(self, what: str) -> None:
        """Refuse, in a thread that captures a graph, what the graph would do but once.

        Raises:
            GraphError: the generator is not one that the captured function has made.
        """
        if traces:
            trace = capture_of_thread()
            if trace is None or not trace.draws.is_made(self):
                refuse_in_graph(f"{what}, of a random generator", "draw outside, or from a Generator that the function makes")

    def __reduce__(self):
        return generator_in_state, (self._seed, self._calls, str(self._device))

    def __repr__(self) -> str:
        device = "" if self._device is CPU else f", device={self._device}"
        return f"Generator(seed={self._seed}, calls={self._calls}{device})"


def generator_in_state(seed: int, calls: int, device: str = "cpu") -> Generator:
    """A generator as it was pickled."""
    made = Generator(device)
    made._seed, made._calls = seed, calls
    return made


def words_on(device: Device) -> Tensor:
    """Two words on a GPU."""
    return empty_of(layout_of(int64, (2,), None, device))


def signed(word: int) -> int:
    """A word of 64 bits as the int64 of the same bits."""
    return word - WORD if word >= WORD // 2 else word


default_generator = Generator()
_of_gpus: dict[Device, Generator] = {}
_of_meta: dict[Device, Generator] = {}


def generator_of(generator: Generator | None, device: Device = CPU) -> Generator:
    """The generator that an argument names, for numbers on a device; None is the default one there.

    Raises:
        ArgumentError: something else. DeviceError: it is another device's.
    """
    if generator is None:
        return default_generator if device is CPU else default_generator_on(device)
    if not isinstance(generator, Generator):
        raise ArgumentError(f"generator: expected a Generator or None, got {type(generator).__name__}.")
    if device is META:  # nothing is drawn of it
        return default_generator_on(device)
    if generator._device is not device:
        raise DeviceError(
            f"generator: it is of {generator._device}, the numbers are drawn on {device}; expected one device. "
            f"Hint: nbgrad.Generator({str(device)!r})."
        )
    return generator


def default_generator_on(device: Device) -> Generator:
    """The default generator of a GPU, which begins with the seed that the CPU's has; of meta one that nobody knows of."""
    known = _of_gpus if device is not META else _of_meta
    found = known.get(device)
    if found is None:
        made = Generator.__new__(Generator)  # of nobody's program, whoever asks for it first
        made._device, made._seed, made._calls, made._lock = device, default_generator._seed, 0, new_lock()
        found = known.setdefault(device, made)
    return found


def default_generators() -> list[Generator]:
    """The default generators that have been used: the CPU's first, then those of GPUs."""
    return [default_generator, *tuple(_of_gpus.values())]


def manual_seed(seed: int) -> Generator:
    """Start the default generators of all devices again from ``seed``; the CPU's is returned: see ``Generator.manual_seed``.

    >>> import nbgrad
    >>> _ = nbgrad.manual_seed(1)
    >>> first = nbgrad.rand(3)
    >>> _ = nbgrad.manual_seed(1)
    >>> nbgrad.equal(first, nbgrad.rand(3))
    True
    """
    refuse_in_capture()  # also where no number was drawn on a GPU yet
    found = default_generator.manual_seed(seed)
    for generator in tuple(_of_gpus.values()):
        generator.manual_seed(seed)
    return found


def seed() -> int:
    """Start the default generator again from a seed that the operating system draws, and return it.

    >>> nbgrad.seed() == nbgrad.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> import nbgrad
    >>> _ = nbgrad.manual_seed(7)
    >>> nbgrad.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator.

    >>> import nbgrad
    >>> state = nbgrad.get_rng_state()
    >>> first = nbgrad.rand(2)
    >>> nbgrad.set_rng_state(state)
    >>> nbgrad.equal(first, nbgrad.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Return the default generator to a state that ``get_rng_state`` gave.

    >>> import nbgrad
    >>> state = nbgrad.get_rng_state()
    >>> first = nbgrad.rand(2)
    >>> nbgrad.set_rng_state(state)
    >>> nbgrad.equal(first, nbgrad.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = (), enabled: bool = True, *, device_type: str = "cuda") -> Iterator[None]:
    """What is drawn inside leaves the default generators of all devices as they were before.

    Args:
        devices, device_type: accepted for torch's sake: the state of a generator is two numbers, so all are kept.

    >>> import nbgrad
    >>> with nbgrad.fork_rng():
    ...     first = nbgrad.rand(2)
    >>> nbgrad.equal(first, nbgrad.rand(2))
    True
    """
    states = [(generator, generator.get_state()) for generator in default_generators()]
    try:
        yield
    finally:
        if enabled:
            restore(states)


def restore(states: Iterable[tuple[Generator, Tensor]]) -> None:
    """Return generators to their states; default ones that are not among them, for they were not there then, to their beginning."""
    known = set()
    for generator, seen in states:
        generator.set_state(seen)
        known.add(id(generator))
    for generator in default_generators():
        if id(generator) not in known:
            generator.begin_again()

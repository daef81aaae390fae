"""What objects keep to themselves: generators of random numbers that are not nbgrad's, iterators, what a thread or a process sees.

A captured program holds what it got of them. That it took something is seen by the state before and after; the call is another one
then every time, and ends as the function itself.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from importlib import import_module
from io import IOBase
from operator import length_hint
from pickle import dumps
from threading import local
from types import GeneratorType
from typing import Any, Callable, Iterator

import numpy as np

from ...base.nested import flatten
from .members import CACHED, is_made

__all__ = ["TAKING", "bytes_of", "elements_of_array", "foreign_states", "is_followed", "is_taken", "keeper", "state_reader"]


def state_reader(value: Any) -> Callable[[Any], tuple] | None:
    """``read(value)``, the state of an object that has one of its own; None of others."""
    kind = type(value)
    if kind.__module__ == "random" or kind.__module__.startswith("numpy.random."):
        return next((read for name, read in GENERATORS.items() if hasattr(value, name)), None)
    if isinstance(value, GeneratorType):
        return state_of_generator
    if hasattr(kind, "__next__") and not is_made(kind) and not isinstance(value, IOBase):
        return state_of_count if kind.__name__ == "count" else state_of_iterator
    if isinstance(value, os._Environ):
        return lambda environ: tuple([part for item in environ.items() for part in item])
    if isinstance(value, CData):
        return lambda data: (bytes(data),)
    if isinstance(value, ContextVar):
        return lambda variable: (variable.get(None),)
    if isinstance(value, local):
        return lambda data: tuple([part for item in vars(data).items() for part in item])
    return None


def is_taken(value: Any) -> bool:
    """Whether something is an iterator from which what is taken cannot be put back."""
    kind = type(value)
    made = is_made(kind) or kind in REWOUND or isinstance(value, IOBase)
    return isinstance(value, GeneratorType) or hasattr(kind, "__next__") and not made


def is_followed(x: np.ndarray) -> bool:
    """Whether a graph can ask for the elements of an array that the program names."""
    return bool(x.flags.writeable and x.dtype.kind in "biufc" and x.dtype.isnative and min(x.strides, default=0) >= 0)


def elements_of_array(x: np.ndarray) -> tuple:
    """What an array holds: objects, or bytes."""
    return tuple(flatten(x.tolist())[0]) if x.dtype.hasobject else (x.tobytes(),)


def bytes_of(x: Any) -> tuple:
    """What a memoryview shows."""
    return (x.tobytes(),)


def foreign_states(spoken: bool) -> Iterator[tuple[Any, Callable[[Any], tuple]]]:
    """The generators of random numbers behind the functions of modules that are imported, with their readers.

    Args:
        spoken: whether the program speaks of them, and may import NumPy's.
    """
    if spoken:
        import_module("numpy.random")
    if "random" in sys.modules:
        yield sys.modules["random"]._inst, GENERATORS["getstate"]
    if "numpy.random" in sys.modules:
        yield sys.modules["numpy.random"].mtrand._rand, GENERATORS["get_state"]


def state_of_generator(value: GeneratorType) -> tuple:
    """Where a generator is, and what its variables are."""
    frame = value.gi_frame
    return () if frame is None else (frame.f_lasti, *frame.f_locals.values())


def state_of_count(value: Any) -> tuple:
    """Of ``itertools.count``."""
    return (repr(value),)


def state_of_iterator(value: Any) -> tuple:
    """How many members are to come, where an iterator says so; else nothing that was ever there before."""
    left = length_hint(value, -1)
    return (left,) if left >= 0 else (object(),)


def state_of_random(x: Any) -> tuple:
    """Of Python's generators: 625 words, and a number that waits."""
    words = words_of_random(x)
    return (repr(x.getstate()),) if words is None else (words,)  # of a class that has a state of its own


def state_of_numpy(x: Any) -> tuple:
    """Of NumPy's older generators: the same."""
    words = words_of_numpy(x)
    return (dumps(x.get_state(legacy=False)) if words is None else words,)


def words_of_random(x: Any) -> bytes | None:
    """All that a generator of Python's own class is, as it lies in memory, which a capture asks for several times; else None.

    ``getstate`` makes 625 ints of it (benchmarks/test_graph_costs.py).
    """
    base: Any = type(x).__base__
    return memory_of(x, base) + repr(x.gauss_next).encode() if base.__module__ == "_random" else None


def words_of_numpy(x: Any) -> bytes | None:
    """All that one of NumPy's older generators is, as it lies in memory, on the one source of bits of which that is known."""
    kind: Any = type(x)
    known = kind.__name__ == "RandomState" and type(x._bit_generator).__name__ == "MT19937" and tells_all(kind)
    return numpy_memory(x) if known else None


def numpy_memory(x: Any) -> bytes:
    """What an older generator is itself, with a number that waits, and 625 words of its source of bits."""
    return memory_of(x, type(x)) + ctypes.string_at(x._bit_generator.ctypes.state_address, SOURCE)


@cache
def tells_all(kind: Any) -> bool:
    """Whether this version of NumPy keeps all of that there: tried out, for nothing says so."""
    x = kind(0)
    found = [numpy_memory(x)]
    for _ in range(2):  # the first call draws two numbers, the second takes the one that waits
        x.standard_normal()
        found.append(numpy_memory(x))
    _, words, place, *_ = x.get_state()
    return len(set(found)) == 3 and found[2][-SOURCE:] == words.tobytes() + place.to_bytes(4, sys.byteorder)


SOURCE = 4 * 625
GENERATORS: dict[str, Callable[[Any], tuple]] = {
    "getstate": state_of_random,
    "get_state": state_of_numpy,
    "bit_generator": lambda x: (dumps(x.bit_generator.state),),
}


@lru_cache(maxsize=2)
def state_behind(read: Callable[[Any], Any], x: Any, words: bytes) -> Any:
    """The state of a generator that is these words, as it takes it: nearly always the one of the capture before."""
    return read(x)


def keeper(value: Any) -> Callable[[], None] | None:
    """``put_back()``, for the state that an object has now; None where that cannot be put back."""
    kind = type(value)
    if kind.__module__ == "random" or kind.__module__.startswith("numpy.random."):
        for name, (write, read, words_of) in SETTERS.items():
            if hasattr(value, name):
                words = words_of(value)
                return partial(getattr(value, write), read(value) if words is None else state_behind(read, value, words))
        bits = getattr(value, "bit_generator", None)
        return None if bits is None else partial(setattr, bits, "state", bits.state)
    if isinstance(value, (os._Environ, local)):
        held = value if isinstance(value, os._Environ) else vars(value)
        return partial(refill, held, dict(held))
    if isinstance(value, CACHED):
        return partial(empty, value, value.cache_info().misses)
    if isinstance(value, CData):
        return partial(write_bytes, value, bytes(value))
    if isinstance(value, ContextVar):
        before = value.get(keeper)  # an object that no variable holds
        return None if before is keeper else partial(value.set, before)  # type: ignore[return-value]
    if kind is RANGE:
        return partial(write_words, value, memory_of(value, RANGE))  # whose ``__setstate__`` goes no way back from Python 3.12 on
    if kind in REWOUND:
        reduced = value.__reduce__()
        return partial(value.__setstate__, reduced[2]) if len(reduced) == 3 else None
    return None


def empty(cache: Any, count: int) -> None:
    """Let the cache of a function hold nothing of a call that has filled it."""
    if cache.cache_info().misses != count:
        cache.cache_clear()


def write_bytes(data: Any, before: bytes) -> None:
    """Let an object of ctypes hold what it held."""
    ctypes.memmove(ctypes.addressof(data), before, len(before))


def refill(held: Any, before: dict) -> None:
    """Let a mapping hold what it held."""
    for key in held.keys() - before.keys():
        del held[key]
    for key, value in before.items():
        if held.get(key) is not value:
            held[key] = value


def memory_of(value: Any, kind: type) -> bytes:
    """What an object has in memory of a class in C, its own or one that this inherits from."""
    return ctypes.string_at(id(value) + object.__basicsize__, kind.__basicsize__ - object.__basicsize__)


def write_words(value: Any, words: bytes) -> None:
    """Let an iterator over a range, which is numbers alone, be what it was."""
    ctypes.memmove(id(value) + object.__basicsize__, words, len(words))


SETTERS: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], bytes | None]]] = {
    "getstate": ("setstate", lambda x: x.getstate(), words_of_random),
    "get_state": ("set_state", lambda x: x.get_state(legacy=False), words_of_numpy),
}
SAMPLES: tuple[Any, ...] = iter([]), iter(()), iter(range(0)), reversed([]), iter(""), iter("\xff"), iter(b""), iter(bytearray())
REWOUND = frozenset(map(type, SAMPLES))
# How a program may take from an iterator that it names, one that cannot be put back; "for" stands for loops.
TAKING = frozenset(
    "for next __next__ send throw close zip map filter enumerate islice chain list tuple set dict sum min max any all".split()
)
CData: Any = ctypes.Array.__base__
RANGE: type = type(iter(range(0)))

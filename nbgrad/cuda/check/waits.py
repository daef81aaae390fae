"""Waits of streams against a kernel that takes long: whoever does not wait reads what was there before."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from ...base import config
from ...base.dtypes import float32
from ...dispatch.device_plans import device_plan
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import identity
from ...kernels.cuda.spin import spin
from ...kernels.cuda.steps import Step, Steps, out
from ...tensors.layout import layout_of
from ...tensors.tensor import Tensor, native
from .report import Report, guarded

__all__ = ["WAITS", "spun", "waits"]

TURNS = 100 if config.EMULATED else 20_000_000  # of which a GPU takes tens of milliseconds


@lru_cache(maxsize=4)
def plan(device: Any) -> Any:
    """The launch of one thread that is busy, and then writes 2."""
    layout = layout_of(float32, (1,), None, device)
    step = Step(Recipe(spin(), identity, "float32"), (1,), (out(),), (), (TURNS,))
    return device_plan((layout,), (), Steps((step,)))


def spun() -> Tensor:
    """A tensor with one element, 2, that is there long after this has returned."""
    import nbgrad

    like = nbgrad.empty(1, device="cuda")
    made: Tensor = native.fresh(plan(like.device))
    return made


def by_stream(nb: Any, one: Any, other: Any) -> Any:
    """A stream waits for another one."""
    with nb.cuda.stream(one):
        x = spun()
    other.wait_stream(one)
    with nb.cuda.stream(other):
        return x + 1


def by_event(nb: Any, one: Any, other: Any) -> Any:
    """A stream waits for an event, and a third one for the second's."""
    with nb.cuda.stream(one):
        x, event = spun(), one.record_event()
        y = x * 0  # behind the event
    other.wait_event(event)
    with nb.cuda.stream(other):
        z = x + 1
        later = other.record_event()
    later.synchronize()
    one.synchronize()
    return z + y


def by_host(nb: Any, one: Any, other: Any) -> Any:
    """The program waits for a stream, and reads by another one."""
    with nb.cuda.stream(one):
        x = spun()
    one.synchronize()
    with nb.cuda.stream(other):
        return x + 1


def by_copies(nb: Any, one: Any, other: Any) -> Any:
    """A copy to pinned memory, for which the program waits, and back by another stream."""
    with nb.cuda.stream(one):
        there = spun().to("cpu", non_blocking=True)
    one.synchronize()
    with nb.cuda.stream(other):
        return there.cuda(non_blocking=True) + 1


def by_pass(nb: Any, one: Any, other: Any) -> Any:
    """A backward pass over two streams, from the default one."""
    x = nb.ones(1, device="cuda", requires_grad=True)
    for stream in (one, other):
        stream.wait_stream(nb.cuda.current_stream())
    with nb.cuda.stream(one):
        y = x * spun()
    with nb.cuda.stream(other):
        z = x * 1
    for stream in (one, other):
        nb.cuda.current_stream().wait_stream(stream)
    (y + z).sum().backward()
    return x.grad


def by_allocator(nb: Any, one: Any, other: Any) -> Any:
    """Memory that a stream still writes to is freed: the next tensor of another stream does not get it."""
    with nb.cuda.stream(other):
        x = nb.zeros(1, device="cuda")
    one.wait_stream(other)
    with nb.cuda.stream(one):
        x += spun()
    del x
    with nb.cuda.stream(other):
        y = nb.full((1,), 3.0, device="cuda")
    one.synchronize()
    return y


WAITS = (by_stream, by_event, by_host, by_copies, by_pass, by_allocator)


def waits(report: Report, stage: str, seconds: float) -> None:
    """A row for each way to wait: all give 3. On hardware a row more says how long the kernel takes, and that it runs meanwhile."""
    import nbgrad as nb

    def run(act: Callable[[Any, Any, Any], Any]) -> None:
        streams = [nb.cuda.Stream(), nb.cuda.Stream()]
        found = act(nb, *streams)
        nb.cuda.synchronize()
        assert found.tolist() == [3.0], f"{found.tolist()}, expected [3.0]"

    def long() -> dict[str, Any]:
        spun().tolist()  # which loads it
        stream, start, end = nb.cuda.Stream(), nb.cuda.Event(enable_timing=True), nb.cuda.Event(enable_timing=True)
        with nb.cuda.stream(stream):
            start.record()
            spun()
            end.record()
        early = end.query()
        end.synchronize()
        assert config.EMULATED or not early, "the kernel was done at once: the other rows decide nothing"
        return {"value": start.elapsed_time(end), "unit": "ms"}

    guarded(report, stage, "a kernel that takes long", long)
    for act in WAITS:
        guarded(report, stage, str(act.__doc__).partition(".")[0], partial(run, act))

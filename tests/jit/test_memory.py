"""Places in the block that the steps of a graph share."""

from __future__ import annotations

import random

import pytest

from nbgrad.base.dtypes import float32, float64
from nbgrad.jit.execution.memory import ALIGNMENT, plan_memory
from nbgrad.jit.ir.ir import Value
from nbgrad.jit.ir.steps import Launch, Place, Schedule
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU


def value(count: int, dtype=float32) -> Value:
    return Value(layout_of(dtype, (count,), None, CPU))


def launch(out: Value, *reads: Value) -> Launch:
    return Launch(0, 1, (out,), tuple(map(Place, reads)))


def test_a_chain_needs_two_places():
    """A value's memory is free again behind its last reader, which writes elsewhere."""
    x, values = value(100), [value(100) for _ in range(10)]
    steps = [launch(out, before) for out, before in zip(values, [x, *values])]
    plan = plan_memory(Schedule(steps, {}), [x, values[-1]])
    assert plan.size == 2 * 448 and set(plan.offsets) == set(values[:-1])


def test_what_is_seen_outside_has_no_place():
    """Inputs and results lie on memory of their own."""
    x, y = value(3), value(3)
    assert plan_memory(Schedule([launch(y, x)], {}), [x, y]).offsets == {}


def test_what_nobody_reads_has_a_place_for_its_step_alone():
    """A launch fills all that it writes."""
    x, unread, y = value(3), value(3), value(3)
    plan = plan_memory(Schedule([launch(unread, x), launch(y, x)], {}), [x])
    assert plan.offsets[unread] == plan.offsets[y]


@pytest.mark.parametrize("seed", range(20))
def test_no_two_values_meet(seed):
    """Random programs: values that are alive at the same step never overlap, and all begin on a line of the cache."""
    draw = random.Random(seed)
    x = value(8)
    values, steps = [x], []
    for _ in range(60):
        out = value(draw.choice([0, 1, 7, 64, 1000]), draw.choice([float32, float64]))
        steps.append(launch(out, *draw.sample(values, min(len(values), draw.randint(1, 3)))))
        values.append(out)
    plan = plan_memory(Schedule(steps, {}), [x, values[-1]], start=24)
    born = {step.writes[0]: at for at, step in enumerate(steps)}
    last = {place.value: at for at, step in enumerate(steps) for place in step.reads}
    for at in range(len(steps)):
        alive = [v for v in plan.offsets if born[v] <= at <= last.get(v, born[v])]
        spans = sorted((plan.offsets[v], plan.offsets[v] + v.layout.numel * v.layout.dtype.itemsize) for v in alive)
        assert all(stop <= start for (_, stop), (start, _) in zip(spans, spans[1:]))
        assert all(start % ALIGNMENT == 0 and start >= 24 and stop <= plan.size for start, stop in spans)

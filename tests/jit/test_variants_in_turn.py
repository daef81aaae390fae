"""Calls of several variants in turn: each is found natively, and none serves for another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import nbgrad


def looked_at(f):
    """A list of the calls that are looked at in Python from now on."""
    looked, dispatch = [], f._dispatch_
    f._dispatch_ = lambda args, kwargs: (looked.append(args), dispatch(args, kwargs))[1]
    return looked


def test_shapes_in_turn(unchecked):
    """Of two shapes, and of four, neither is looked at in Python again; of five, those that came last are not."""
    f = nbgrad.compile(lambda x: (x * 2).sum())
    for shapes, least in ((2, 0), (4, 0), (5, 1)):
        inputs = [nbgrad.arange(float(n)) for n in range(1, shapes + 1)]
        for x in inputs:
            f(x)
        looked = looked_at(f)
        for _ in range(3):
            assert [f(x).item() for x in inputs] == [n * (n - 1) for n in range(1, shapes + 1)]
        assert len(looked) >= least and (least or not looked)
        del f._dispatch_


def test_modes_in_turn(unchecked):
    """Passes that record, that do not, and those of a module that is trained or not."""
    nbgrad.manual_seed(0)
    model = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 3), nbgrad.nn.BatchNorm1d(3, track_running_stats=True))
    compiled, x = nbgrad.compile(model), nbgrad.randn(4, 3)

    def rounds(called):
        results = []
        for training in (True, False, True):
            model.train(training)
            results.append(called(x).requires_grad)
            with nbgrad.no_grad():
                results += [called(x).requires_grad, called(x[:2]).tolist()]
        return results

    state = {name: value.clone() for name, value in model.state_dict().items()}
    expected = rounds(model)
    for _ in range(3):
        model.load_state_dict(state)
        assert rounds(compiled) == expected


def test_numbers_and_values_in_turn(unchecked):
    """Variants for answers about values go before those for other shapes."""
    f = nbgrad.compile(lambda x: x * 2 if x.sum() > 0 else x - 1)
    inputs = [nbgrad.ones(2), -nbgrad.ones(2), nbgrad.ones(3), -nbgrad.ones(3)]
    expected = [[2, 2], [-2, -2], [2, 2, 2], [-2, -2, -2]]
    for _ in range(3):
        assert [f(x).tolist() for x in inputs] == expected
    looked = looked_at(f)
    for _ in range(3):
        assert [f(x).tolist() for x in inputs] == expected
    assert not looked


def test_what_is_changed_between_is_noticed(unchecked):
    """A variant whose guards no longer hold is none that another call goes on with."""
    scale = {"by": 2.0}
    f = nbgrad.compile(lambda x: x * scale["by"])
    x, y = nbgrad.ones(2), nbgrad.ones(3)
    for factor in (2.0, 3.0, 2.0):
        scale["by"] = factor
        for _ in range(2):
            assert f(x).tolist() == [factor] * 2 and f(y).tolist() == [factor] * 3


def test_threads_in_turn(unchecked):
    """Threads that call with other shapes each put their variant first, and none goes round in a circle."""
    f = nbgrad.compile(lambda x: (x * 2).sum(), limit=16)
    inputs = [nbgrad.ones(n) for n in range(1, 9)]
    for x in inputs:
        f(x)

    def work(k):
        return all(f(inputs[(k + i) % 8]).item() == 2 * ((k + i) % 8 + 1) for i in range(300))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))

"""What programs set on torch's compiler, and tell it: nothing here depends on it."""

from __future__ import annotations

import pytest

import nbgrad


def test_settings_are_kept():
    """They can be set, read, and set for a block or for the calls of a function."""
    config = nbgrad._dynamo.config
    config.of_mine = 1
    with config.patch(verbose=True), config.patch("of_mine", 2), config.patch({"cache_size_limit": 3}):
        assert (config.verbose, config.of_mine, config.cache_size_limit) == (True, 2, 3)
    assert (config.verbose, config.of_mine, config.cache_size_limit) == (False, 1, 8)
    assert config.patch(verbose=True)(lambda: config.verbose)() and not config.verbose
    del config.of_mine


def test_settings_are_put_back_after_an_error():
    """A block that fails leaves them as they were."""
    with pytest.raises(KeyError), nbgrad._dynamo.config.patch(verbose=True):
        raise KeyError
    assert not nbgrad._dynamo.config.verbose


def test_what_programs_tell_the_compiler():
    """Marks do nothing, decorators compile or leave alone, questions have answers."""
    dynamo = nbgrad._dynamo
    x = nbgrad.ones(2)
    dynamo.mark_dynamic(x, 0, min=1)
    dynamo.mark_static_address(x)
    dynamo.graph_break()
    assert dynamo.allow_in_graph(len) is len and not dynamo.is_compiling()
    assert dynamo.optimize("eager", nopython=True)(lambda x: x * 3)(x).tolist() == [3, 3]
    assert not isinstance(nbgrad.compile(nbgrad.nn.Linear(2, 2)), dynamo.OptimizedModule)
    assert issubclass(dynamo.exc.Unsupported, nbgrad.GraphError)

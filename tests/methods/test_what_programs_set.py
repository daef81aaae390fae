"""Switches of ``backends``, default types, and the small modules that programs ask."""

from __future__ import annotations

import nbgrad.backends.cudnn as cudnn
import pytest

import nbgrad
from nbgrad import backends
from nbgrad.base.errors import ArgumentError, NamingError, NotSupportedError, RangeError


def test_switches_are_remembered_and_checked():
    """A switch has one type, a block of ``flags`` puts it back, and another name is an error."""
    assert cudnn is backends.cudnn and not cudnn.benchmark and not cudnn.is_available() and cudnn.version() is None
    with pytest.raises(KeyError), cudnn.flags(benchmark=True, enabled=False):
        assert cudnn.benchmark and not cudnn.enabled
        raise KeyError
    assert cudnn.enabled and not cudnn.benchmark
    with pytest.raises(AttributeError, match="there is no switch 'benchmrk'"):
        cudnn.benchmrk = True
    with pytest.raises(ArgumentError, match="cudnn.deterministic: expected bool, got int"):
        cudnn.deterministic = 1
    with pytest.raises(NamingError, match="cudnn.flags: there are no switches"), cudnn.flags(fast=True):
        pass
    assert not any(module.is_available() for module in (backends.mps, backends.mkl, backends.mkldnn, backends.openmp, nbgrad.xpu))
    assert backends.nnpack.set_flags(False) == (True,) and backends.nnpack.set_flags(True) == (False,)


def test_ways_of_attention_are_remembered():
    """One by one, and by a block."""
    with backends.cuda.sdp_kernel(enable_flash=False):
        backends.cuda.enable_math_sdp(False)
        assert not backends.cuda.flash_sdp_enabled() and not backends.cuda.math_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled()
    backends.mha.set_fastpath_enabled(False)
    assert not backends.mha.get_fastpath_enabled()
    backends.mha.set_fastpath_enabled(True)
    with pytest.raises(RangeError, match="preferred_linalg_library"):
        backends.cuda.preferred_linalg_library("lapack")


def test_default_tensor_types():
    """By class and by name, of whatever library; of no other kind."""
    for kind in (nbgrad.DoubleTensor, "torch.DoubleTensor", "nbgrad.DoubleTensor"):
        nbgrad.set_default_tensor_type(kind)
        try:
            assert nbgrad.ones(1).dtype is nbgrad.tensor(0.5).dtype is nbgrad.float64
        finally:
            nbgrad.set_default_tensor_type(nbgrad.FloatTensor)
    for kind in (nbgrad.float64, "torch.Tensor", nbgrad.LongTensor, int):
        with pytest.raises(ArgumentError, match="set_default"):
            nbgrad.set_default_tensor_type(kind)
    assert isinstance(nbgrad.ones(1), nbgrad.FloatTensor) and not isinstance(nbgrad.ones(1), nbgrad.cuda.FloatTensor)


def test_settings_without_effect():
    """They can be read again, or say that they have none."""
    nbgrad.set_deterministic_debug_mode("warn")
    assert nbgrad.get_deterministic_debug_mode() == 1 and nbgrad.is_deterministic_algorithms_warn_only_enabled()
    nbgrad.set_deterministic_debug_mode(0)
    assert not nbgrad.are_deterministic_algorithms_enabled() and not nbgrad.set_flush_denormal(True)
    nbgrad.set_num_interop_threads(3)
    assert nbgrad.get_num_interop_threads() == 3
    for call, given in ((nbgrad.set_num_interop_threads, 0), (nbgrad.set_deterministic_debug_mode, "loud")):
        with pytest.raises(RangeError, match=call.__name__):
            call(given)
    assert nbgrad.version.cuda is None and nbgrad.__config__.show().startswith("nbgrad runs with")
    assert (nbgrad.accelerator.current_accelerator() is None) is not nbgrad.cuda.is_available()
    assert nbgrad.get_device_module("cpu") is nbgrad.cpu


def test_what_programs_tell_the_compiler():
    """torch's options are taken; a backend that is a function is refused."""
    x = nbgrad.ones(2)
    assert nbgrad.compile(model=lambda x: x * 2, mode="max-autotune", dynamic=True, backend="inductor")(x).tolist() == [2.0, 2.0]
    assert nbgrad.compile(abs, disable=True) is abs and nbgrad.compiler.compile is nbgrad.compile
    with pytest.raises(NotSupportedError, match="backend is a function"):
        nbgrad.compile(abs, backend=lambda graph, examples: graph)

"""Regions of mixed precision: dtypes are torch's, derivatives those of the conversions written out, in every mode."""

from __future__ import annotations

import threading
import warnings

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import ArgumentError, DeviceError
from nbgrad.base.grad_mode import special

F = nn.functional
FULL, HALF = nbgrad.float32, nbgrad.bfloat16


def x(*shape, dtype=HALF):
    """Numbers between 0.3 and 0.8."""
    count = nbgrad.arange(float(nbgrad.Size(shape).numel()))
    return (count.reshape(shape) / max(1, len(count)) * 0.5 + 0.3).to(dtype)


# Functions of a dtype; what torch 2.13 on the CPU makes of float32 and of bfloat16 in a region of bfloat16.
RESULTS = [
    (lambda d: x(2, 3, dtype=d) @ x(3, 2, dtype=d), HALF, HALF),
    (lambda d: nbgrad.bmm(x(1, 2, 3, dtype=d), x(1, 3, 2, dtype=d)), HALF, HALF),
    (lambda d: nbgrad.einsum("ij,jk->ik", x(2, 3, dtype=d), x(3, 2, dtype=FULL)), HALF, HALF),
    (lambda d: F.linear(x(2, 3, dtype=d), x(4, 3, dtype=FULL), x(4, dtype=FULL)), HALF, HALF),
    (lambda d: F.conv1d(x(1, 2, 4, dtype=d), x(3, 2, 2, dtype=FULL), x(3, dtype=FULL)), HALF, HALF),
    (lambda d: F.scaled_dot_product_attention(*[x(1, 1, 2, 4, dtype=d)] * 3), HALF, HALF),
    (lambda d: nn.GRU(3, 4)(nn.LSTM(2, 3)(x(2, 1, 2, dtype=d))[0])[0], HALF, HALF),
    (lambda d: F.huber_loss(x(3, dtype=d), x(3, dtype=d)), FULL, FULL),
    (lambda d: F.mse_loss(x(3, dtype=d), x(3, dtype=d)), FULL, FULL),
    (lambda d: F.cross_entropy(x(2, 3, dtype=d), nbgrad.tensor([0, 1])), FULL, FULL),
    (lambda d: F.cross_entropy(x(2, 3, dtype=d), nbgrad.tensor([0, 1]), label_smoothing=0.1), FULL, FULL),
    (lambda d: F.binary_cross_entropy_with_logits(x(3, dtype=d), x(3, dtype=d)), FULL, FULL),
    (lambda d: F.margin_ranking_loss(x(3, dtype=d), x(3, dtype=d), nbgrad.tensor([1, -1, 1])), FULL, FULL),
    (lambda d: x(3, dtype=d).prod(), FULL, FULL),
    (lambda d: nbgrad.cat([x(3, dtype=d), x(3, dtype=FULL)]), FULL, FULL),
    (lambda d: x(3, dtype=d).sum(), FULL, HALF),
    (lambda d: x(3, dtype=d).softmax(0), FULL, HALF),
    (lambda d: x(3, dtype=d).exp(), FULL, HALF),
    (lambda d: F.layer_norm(x(2, 3, dtype=d), (3,)), FULL, HALF),
    (lambda d: x(3, dtype=d) + x(3, dtype=FULL), FULL, FULL),
    (lambda d: x(2, 3, dtype=nbgrad.float64) @ x(3, 2, dtype=nbgrad.float64), nbgrad.float64, nbgrad.float64),
]


def test_dtypes_of_results():
    """Operations run in the dtypes of torch's lists in a region, and as they are outside of it and where it is off."""
    before = [*special]
    for number, (function, of_full, of_half) in enumerate(RESULTS):
        with nbgrad.autocast("cpu"):
            assert (function(FULL).dtype, function(HALF).dtype) == (of_full, of_half), number
            with nbgrad.autocast("cpu", enabled=False):
                assert function(FULL).dtype is not HALF
    with nbgrad.autocast("cpu", dtype=nbgrad.float16):
        assert (x(2, 2, dtype=FULL) @ x(2, 2, dtype=FULL)).dtype is nbgrad.float16
    assert (x(2, 2, dtype=FULL) @ x(2, 2, dtype=FULL)).dtype is FULL and special == before


def test_what_is_not_converted():
    """Writes in place, ``out=``, a dtype that is asked for."""
    y, out = x(2, 2, dtype=FULL), nbgrad.empty(2, 2)
    with nbgrad.autocast("cpu"):
        assert y.addmm_(y, y).dtype is FULL and nbgrad.mm(y, y, out=out).dtype is FULL
        assert nbgrad.prod(x(3), 0, dtype=HALF).dtype is HALF


def layers():
    """Two uses of one layer."""
    nbgrad.manual_seed(0)
    return nn.Linear(4, 4), nbgrad.randn(3, 4)


def test_gradients_are_those_of_the_conversions_written_out():
    """Weights are converted once in a region, so that their gradient is summed in the half type, and have one in float32."""
    layer, y = layers()
    with nbgrad.autocast("cpu"):
        layer(layer(y)).float().square().sum().backward()
    found = layer.weight.grad
    w, b = layer.weight.detach().requires_grad_(), layer.bias.detach().requires_grad_()
    once = w.to(HALF), b.to(HALF)
    F.linear(F.linear(y.to(HALF), *once), *once).float().square().sum().backward()
    assert found.dtype is FULL and nbgrad.equal(found, w.grad)


def test_kept_conversions_follow_writes_and_grad_mode():
    """A weight that was written to, or first used without recording, is converted again; nothing is kept behind the region."""
    layer, y = layers()
    with nbgrad.autocast("cpu"):
        with nbgrad.no_grad():
            first = layer(y)
        layer(y).float().sum().backward()
        assert layer.weight.grad is not None
        with nbgrad.no_grad():
            layer.weight.zero_()
        assert not nbgrad.equal(layer(y), first)
        layer(y).float().sum().backward()  # the kept conversion goes through a second pass
    from nbgrad.modes.autocast import casting

    assert not casting.cache


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_run_again_in_their_region(use_reentrant):
    """Outside of it, the second run saves what the first did; inside of another, what ran in none runs in none."""
    layer, y = layers()
    y.requires_grad_()
    for forward, backward in ((True, False), (False, True)):
        gradients = []
        for run in (lambda f, y: f(y), lambda f, y: nbgrad.checkpoint(f, y, use_reentrant=use_reentrant)):
            layer.zero_grad()
            with nbgrad.autocast("cpu", enabled=forward, cache_enabled=False):
                out = run(lambda y: layer(layer(y).relu()), y)
            with nbgrad.autocast("cpu", enabled=backward):
                out.float().square().sum().backward()
            gradients.append(layer.weight.grad)
        assert nbgrad.equal(*gradients)


def test_transforms():
    """A batch, a tangent and a gradient in a region are those of the function with conversions."""
    layer, y = layers()

    def written(y):
        return F.linear(y.to(HALF), layer.weight.to(HALF), layer.bias.to(HALF))

    with nbgrad.autocast("cpu"):
        mapped, pushed = nbgrad.vmap(layer)(y), nbgrad.func.jvp(layer, (y,), (y,))
        slope = nbgrad.func.grad(lambda y: layer(y).float().square().sum())(y)
        cube = F.linear(y, layer.weight).float().pow(3).sum()
        (first,) = nbgrad.grad(cube, layer.weight, create_graph=True)
    second = nbgrad.grad(first.sum(), layer.weight)
    assert nbgrad.equal(mapped, written(y)) and second[0].dtype is FULL
    assert all(map(nbgrad.equal, pushed, nbgrad.func.jvp(written, (y,), (y,))))
    assert nbgrad.equal(slope, nbgrad.func.grad(lambda y: written(y).float().square().sum())(y))


def test_compiled_functions():
    """A region within a compiled function, and one around it, have the bits of calls; each region is a variant of its own."""
    layer, y = layers()

    class Overriding(nbgrad.Tensor):  # that there is such a type somewhere makes no difference
        __torch_function__ = classmethod(lambda cls, fn, types, args=(), kwargs=None: NotImplemented)

    def within(y):
        with nbgrad.autocast("cpu"):
            return F.mse_loss(layer(y).relu(), y)

    compiled = nbgrad.compile(lambda y: F.mse_loss(layer(y).relu(), y), fullgraph=True)
    expected = within(y)
    expected.backward()
    gradient, full = layer.weight.grad, F.mse_loss(layer(y).relu(), y)
    assert nbgrad.equal(nbgrad.compile(within, fullgraph=True)(y), expected)
    for _ in range(2):
        layer.zero_grad()
        with nbgrad.autocast("cpu"):
            out = compiled(y)
        out.backward()
        assert nbgrad.equal(out, expected) and nbgrad.equal(layer.weight.grad, gradient)
        assert nbgrad.equal(compiled(y), full)
    assert len(compiled.variants) == 2


def test_compiled_functions_in_a_region_of_a_backward_pass():
    """What is captured in a region that a pass has entered is of that region, though one like it was there before the pass."""
    layer, y = layers()
    compiled, seen = nbgrad.compile(lambda y: layer(y).relu(), fullgraph=True), []

    def hook(g):
        with nbgrad.autocast("cpu"):
            seen.append(compiled(y[:2]).dtype)

    with nbgrad.autocast("cpu"):
        out = compiled(y)
    out.register_hook(hook)
    out.sum().backward()
    assert seen == [HALF] and len(compiled.variants) == 2


def test_threads_generators_and_errors_leave_regions_alone():
    """A region is its thread's and ends with an exception; a decorated generator's caller is not in it."""
    seen, before = [], [*special]

    @nbgrad.autocast("cpu")
    def steps():
        yield nbgrad.is_autocast_enabled("cpu")

    with pytest.raises(KeyError), nbgrad.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x(2, 2, dtype=FULL) @ x(2, 2, dtype=FULL)).dtype))
        thread.start()
        thread.join()
        raise KeyError
    for inside in steps():
        seen += [inside, nbgrad.is_autocast_enabled("cpu")]
    assert seen == [FULL, True, False] and special == before


def test_what_programs_set():
    """The default half type, whether conversions are kept, regions without a context."""
    before, active = nbgrad.get_autocast_dtype("cpu"), [*special]
    nbgrad.set_autocast_dtype("cpu", nbgrad.float16)
    nbgrad.set_autocast_enabled("cpu", True)
    try:
        assert (x(2, 2, dtype=FULL) @ x(2, 2, dtype=FULL)).dtype is nbgrad.float16 and nbgrad.is_autocast_cpu_enabled()
    finally:
        nbgrad.set_autocast_enabled("cpu", False)
        nbgrad.set_autocast_dtype("cpu", before)
    assert special == active and nbgrad.get_autocast_cpu_dtype() is HALF and nbgrad.get_autocast_gpu_dtype() is nbgrad.float16


def test_functions_take_part():
    """``custom_fwd`` converts inputs and switches off, or leaves operations their choice, which ``custom_bwd`` repeats."""
    seen = []

    def product(cast_inputs):
        class Product(nbgrad.autograd.Function):
            @staticmethod
            @nbgrad.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
            def forward(ctx, y, z):
                ctx.save_for_backward(y, z)
                return y @ z

            @staticmethod
            @nbgrad.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                y, z = ctx.saved_tensors
                seen.append((y.dtype, (y @ z).dtype))
                return (g @ z.T).to(y.dtype), (y.T @ g).to(z.dtype)

        return Product.apply

    for cast_inputs, dtypes in ((FULL, (FULL, FULL)), (None, (FULL, HALF))):
        y = x(2, 2, dtype=FULL).requires_grad_()
        with nbgrad.autocast("cpu"):
            out = product(cast_inputs)(y, y)
        assert out.dtype is dtypes[1]
        out.float().sum().backward()
        assert seen.pop() == dtypes and y.grad.dtype is FULL


def test_errors():
    """Devices and dtypes that have no regions are refused, or leave the region off with a warning."""
    for given, error in ((("mps",), DeviceError), ((3,), ArgumentError)):
        with pytest.raises(error, match="autocast: device_type"):
            nbgrad.autocast(*given)
    with pytest.warns(UserWarning, match="dtype is nbgrad.float32, expected bfloat16 or float16"), nbgrad.autocast("cpu", FULL):
        assert (x(2, 2, dtype=FULL) @ x(2, 2, dtype=FULL)).dtype is FULL
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        nbgrad.autocast("cuda")
    assert bool(told) is not nbgrad.cuda.is_available()

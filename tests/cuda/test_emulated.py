"""The emulated device: what a thread must not do is refused, each time; and it agrees with the interpreter bit for bit."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nbgrad.base.errors import KernelError, NotSupportedError
from nbgrad.cubins import table
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import random, reductions, simt, sorting, templates
from nbgrad.kernels.cuda.access import Access, compute_dtype
from nbgrad.kernels.cuda.accumulators import accumulator
from nbgrad.kernels.cuda.build import Recipe
from nbgrad.kernels.cuda.emulated import device, switch
from nbgrad.kernels.cuda.emulated.device import Device, emulate
from nbgrad.kernels.cuda.templates import Template, array, compile_template
from nbgrad.ops.core import OPS

WORD = "float32"
ACCESSES = frozenset(Access(direction, WORD, lanes) for direction in ("load", "store") for lanes in (1, 4))


def kernel(name, body, pointers=1, integers=(), state=(WORD,)):
    """A template of a few lines; ``thread`` and ``block`` are its numbers."""
    parameters = ", ".join([*(f"x{k}" for k in range(pointers)), *integers])
    lines = ["thread = cuda.threadIdx.x", "block = cuda.blockIdx.x", *body]
    source = f"def NAME({parameters}):\n    " + "\n    ".join(lines) + "\n"
    return Template(name, compile_template(name, source), (WORD,) * pointers, 0, ACCESSES, Counter(), state=state)


def run(template, grid, *args, on=None, **source):
    emulate(template, table.identity, WORD, grid, *args, device=on or Device(), **source)


def numbers(n):
    return np.arange(n, dtype=np.float32)


WRONG = {
    "beyond the end": (["store_float32(x0, thread + 1, 1.0)"], "access outside of every allocation: thread 255"),
    "before the beginning": (["store_float32(x0, thread - 1, 1.0)"], "access outside of every allocation: thread 0"),
    "far away": (["load_float32(x0, 1 << 40)"], "access outside of every allocation"),
    "a vector across the end": (["load_float32x4(x0, 63 + thread // 255)"], "access outside of every allocation: thread 255"),
    "two threads of a block write": (["store_float32(x0, thread // 2, 1.0)"], "race: two threads write to one place"),
    "two blocks write": (["store_float32(x0, thread, 1.0)"], "race: two threads write to one place"),
    "a neighbour is read": (
        ["store_float32(x0, thread, load_float32(x0, (thread + 1) % 256))"],
        "race: one thread writes what another one reads",
    ),
    "what another block writes is read": (
        ["if block == 0:", "    store_float32(x0, thread, 1.0)", "else:", "    load_float32(x0, thread)"],
        "race: one thread writes what another one reads",
    ),
    "what another block reads is written": (
        ["if block == 1:", "    store_float32(x0, thread, 1.0)", "else:", "    load_float32(x0, thread)"],
        "race: one thread writes what another one reads",
    ),
    "all read and one writes": (
        ["load_float32(x0, 5)", "if thread == 9:", "    store_float32(x0, 5, 1.0)"],
        "race: one thread writes what another one reads",
    ),
    "shared memory without a barrier": (
        [
            "s = cuda.shared.array(256, STATE0)",
            "s[thread] = load_float32(x0, thread)",
            "store_float32(x0, thread, s[255 - thread])",
        ],
        "race: one thread writes what another one reads|read of memory that nobody has written to",
    ),
    "shared memory that nobody wrote": (
        ["s = cuda.shared.array(256, STATE0)", "cuda.syncthreads()", "store_float32(x0, thread, s[thread])"],
        "read of memory that nobody has written to.* of shared memory",
    ),
    "beyond shared memory": (
        ["s = cuda.shared.array(12288, STATE0)", "s[thread + 12033] = 1.0"],
        "access outside of every allocation: thread 255",
    ),
    "shared memory written twice": (
        ["s = cuda.shared.array(128, STATE0)", "s[thread // 2] = 1.0"],
        "race: two threads write to one place",
    ),
    "a second barrier is missing": (
        ["s = cuda.shared.array(256, STATE0)", "s[thread] = 1.0", "cuda.syncthreads()", "t = s[255 - thread]", "s[thread] = t"],
        "race: one thread writes what another one reads",
    ),
    "half of a block waits": (["if thread < 128:", "    cuda.syncthreads()"], "threads wait for others that do not come"),
    "half of a warp shuffles": (
        ["if thread % 32 < 16:", "    cuda.shfl_down_sync(0xffffffff, load_float32(x0, 0), 1)"],
        "threads wait for others that do not come",
    ),
    "shuffles of two distances": (
        [
            "v = load_float32(x0, 0)",
            "if thread % 2 == 0:",
            "    cuda.shfl_down_sync(0xffffffff, v, 1)",
            "else:",
            "    cuda.shfl_down_sync(0xffffffff, v, 2)",
        ],
        "threads wait for others that do not come",
    ),
    "a shuffle beside a barrier": (
        [
            "if thread < 32:",
            "    cuda.shfl_down_sync(0xffffffff, load_float32(x0, 0), 1)",
            "elif thread < 40:",
            "    cuda.syncthreads()",
        ],
        "threads wait for others that do not come",
    ),
    "too much shared memory": (["s = cuda.shared.array(12289, STATE0)", "s[thread] = 1.0"], "49156 bytes of shared memory.* 49152"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_thread_must_not_do_is_refused(name):
    """Each kernel is wrong in one way, of which a GPU would say nothing; the message says who did it."""
    body, message = WRONG[name]
    with pytest.raises(KernelError, match=message) as caught:
        run(kernel("wrong_" + name.replace(" ", "_"), body), (2,), numbers(256))
    assert str(caught.value).startswith(("wrong_", "cuda: "))


RIGHT = {
    "each thread its own": (["if block == 0:", "    store_float32(x0, thread, load_float32(x0, thread) + 1.0)"], lambda x: x + 1),
    "all read one": (["v = load_float32(x0, 3)", "if thread == 7 and block == 0:", "    store_float32(x1, 0, v)"], None),
    "a barrier between": (
        [
            "s = cuda.shared.array(256, STATE0)",
            "if block == 0:",
            "    s[thread] = load_float32(x0, thread)",
            "cuda.syncthreads()",
            "if block == 0:",
            "    store_float32(x0, thread, s[255 - thread])",
        ],
        lambda x: x[::-1],
    ),
    "an exchange": (
        ["v = cuda.shfl_xor_sync(0xffffffff, load_float32(x0, thread), 5)", "if block == 0:", "    store_float32(x1, thread, v)"],
        None,
    ),
    "a shuffle": (
        [
            "v = load_float32(x0, thread)",
            "v = cuda.shfl_down_sync(0xffffffff, v, 3)",
            "if block == 0:",
            "    store_float32(x1, thread, v)",
        ],
        None,
    ),
    "a shuffle from before": (
        ["v = cuda.shfl_up_sync(0xffffffff, thread, 3)", "if block == 0:", "    store_float32(x0, thread, v)"],
        lambda x: (np.arange(256) - 3 * (np.arange(256) % 32 > 2)).astype(np.float32),
    ),
    "votes": (
        [
            "lower = (1 << thread % 32) - 1",
            "even = cuda.popcount(cuda.ballot(thread % 2 == 0) & lower)",
            "same = cuda.popcount(cuda.match_bits(thread % 4, 2) & lower)",
            "if block == 0:",
            "    store_float32(x0, thread, 100 * even + same)",
        ],
        lambda x: (100 * ((np.arange(256) % 32 + 1) // 2) + np.arange(256) % 32 // 4).astype(np.float32),
    ),
    "a barrier of a warp between": (
        [
            "s = cuda.shared.array(256, STATE0)",
            "s[thread] = thread",
            "cuda.syncwarp()",
            "v = s[thread + 1 - 2 * (thread % 2)]",
            "if block == 0:",
            "    store_float32(x0, thread, v)",
        ],
        lambda x: (np.arange(256) ^ 1).astype(np.float32),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_thread_may_do(name, seed):
    """Beside the kernels that are refused: the same with what they lack, in any order of the threads."""
    body, expected = RIGHT[name]
    x, y = numbers(256), np.zeros(256, np.float32)
    run(kernel("right_" + name.replace(" ", "_"), body, pointers=2), (2,), x, y, on=Device(seed=seed))
    if expected is not None:
        np.testing.assert_array_equal(x, expected(numbers(256)))
    elif "exchange" in name:
        np.testing.assert_array_equal(y, np.arange(256) ^ 5)
    elif "shuffle" in name:
        lanes = np.arange(256)
        np.testing.assert_array_equal(y, np.where(lanes % 32 < 29, lanes + 3, lanes))
    else:
        assert y[0] == 3


LOAD = kernel("load_one", ["store_float32(x0, thread, load_float32(x1, thread + shift))"], 2, ("shift",))


def compiled(template, checked=True):
    return device.compiled(template, table.identity, WORD, {}, checked)


def test_memory_that_nobody_has_written_to_is_refused():
    """What an allocation holds at first is nobody's; after a write it is."""
    on, made = Device(), compiled(LOAD)
    target, source = on.allocate(1024, "target"), on.allocate(1024, "source")
    with pytest.raises(KernelError, match="read of memory that nobody has written to: .* of source of 1024 bytes"):
        on.launch(made, (1,), 256, [target, source, 0])
    source = on.upload(numbers(256), "source")
    on.launch(made, (1,), 256, [target, source, 0])
    on.launch(made, (1,), 256, [source, target, 0])  # one launch is behind the other


def test_freed_memory_is_refused_and_freed_once():
    """A pointer that outlived its memory, and a second free."""
    on, made = Device(), compiled(LOAD)
    target, source = on.upload(numbers(256), "target"), on.upload(numbers(256), "source")
    on.release(source)
    with pytest.raises(KernelError, match="access to memory that was freed: thread .* of source of 1024 bytes"):
        on.launch(made, (1,), 256, [target, source, 0])
    with pytest.raises(KernelError, match="source of 1024 bytes is freed twice"):
        on.release(source)


@pytest.mark.parametrize("shift", [1, 2])
def test_misaligned_access_is_refused(shift):
    """An address that is no multiple of what is accessed at once."""
    on, memory = Device(), None
    memory = on.upload(numbers(260), "memory")
    with pytest.raises(KernelError, match="misaligned access: thread .* 16 bytes at byte"):
        on.launch(compiled(kernel("vectors", ["load_float32x4(x0, thread % 8)"])), (1,), 256, [memory.address + 4 * shift])


@pytest.mark.parametrize(
    "grid, threads, message",
    [
        ((1, 65536), 256, "65536 blocks along y, expected 0 to 65535"),
        ((1, 1, 65536), 256, "65536 blocks along z, expected 0 to 65535"),
        ((-1,), 256, "-1 blocks along x"),
        ((1,), 1025, "1025 threads in a block, expected 1 to 1024"),
        ((1,), 0, "0 threads in a block"),
    ],
)
def test_limits_of_a_launch(grid, threads, message):
    """What every GPU refuses."""
    on = Device()
    with pytest.raises(KernelError, match=message):
        on.launch(compiled(LOAD), grid, threads, [on.allocate(8), on.allocate(8), 0])


@pytest.mark.parametrize("threads", [1, 96, 105, 1000])
def test_each_thread_has_a_turn(threads):
    """Whatever the number of threads and the order: no thread runs twice, none is left out."""
    made = compiled(kernel("count", ["store_float32(x0, thread, load_float32(x0, thread) + 1.0)"]))
    for seed in range(12):
        on = Device(seed=seed)
        memory, found = on.upload(np.zeros(threads, np.float32)), np.empty(threads, np.float32)
        on.launch(made, (1,), threads, [memory])
        on.download(memory, found)
        assert (found == 1).all()


def test_no_block_is_no_launch():
    """An empty grid touches nothing."""
    on = Device()
    on.launch(compiled(LOAD), (0,), 256, [0, 0, 0])


def test_a_fault_leaves_the_device_usable():
    """After an error the next launch is as good as ever."""
    on = Device()
    with pytest.raises(KernelError, match="outside"):
        run(kernel("wrong_once", ["store_float32(x0, thread + 1, 1.0)"]), (1,), numbers(256), on=on)
    x = numbers(256)
    run(kernel("right_again", ["store_float32(x0, thread, 2.0)"]), (1,), x, on=on)
    assert (x == 2).all()


def test_unchecked_kernels_look_at_nothing():
    """Without the look at accesses a race passes unseen, as on a GPU."""
    x = numbers(256)
    run(kernel("race", ["store_float32(x0, thread // 2, 1.0)"]), (1,), x, on=Device(checked=False))
    assert (x[:128] == 1).all() and x[128] == 128


def test_other_processors_are_told_apart(monkeypatch):
    """Where changing stacks is not written, the reason is given."""
    monkeypatch.setattr(switch, "MACHINE", None)
    with pytest.raises(NotSupportedError, match="threads change stacks on .*x86_64.* Hint:"):
        switch.text()


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_each_processor_keeps_what_it_must(name):
    """A new stack's words are where its processor's ``switch`` takes them up, and there are as many as it has registers to keep."""
    machine = switch.MACHINES[name]
    kept = [line for line in machine.switch if line.startswith(("popq", "ldp"))]
    words = sum(1 if line.startswith("popq") else 2 for line in kept) + (name == "x86_64")
    assert max(machine.first, machine.second, machine.back) < words <= switch.REGISTERS


# ---- agreement with the interpreter -----------------------------------------------------------------------------------------


def flat(name, dtype, unroll=1):
    """An operation of the table over contiguous memory: recipe, grid, operands."""
    operation = named(name, dtype)
    lanes = table.lanes_of(operation)
    template = templates.elementwise(operation.inputs, operation.outputs, operation.into, lanes, unroll)
    n, rng = 1300, np.random.default_rng(len(name))
    real = np.dtype(np.float32) if dtype.startswith("bfloat") else np.dtype(dtype)

    def data(operand_dtype):
        kind = templates.dtype_of(operand_dtype).numpy
        drawn = rng.standard_normal(n) + (1j * rng.standard_normal(n) if np.issubdtype(real, np.complexfloating) else 0)
        return (rng.random(n) < 0.5) if operand_dtype == "bool" else (drawn * 3).astype(kind)

    outputs = [data(each) for each in operation.outputs[len(operation.into) :]]
    inputs = [data(x.dtype) for x in operation.inputs if x.kind in ("array", "single")]
    values = [0.75] * template.values
    return (
        Recipe(template, operation.scalar, operation.dtype),
        templates.elementwise_grid(n, lanes, unroll),
        [*outputs, *inputs, *values, n],
    )


def folded(name, dtype, form):
    """A reduction of the table."""
    of = accumulator(OPS[name], compute_dtype(dtype))
    output = {"truth": "bool", "count": "int64"}.get(OPS[name].gives, dtype)
    x = (np.random.default_rng(3).standard_normal((3, 600)) * 9).astype(dtype)
    values = [600] * of.values
    result = np.zeros(3 if form != "columns" else 40, templates.dtype_of(output).numpy)
    if form == "rows":
        template, grid, counts = reductions.reduce_rows(of, (dtype,), output, "whole", 1), (3, 1), [600, 600, 768]
    elif form == "short":
        template, grid, counts = reductions.reduce_short_rows(of, (dtype,), output), (1,), [3, 600, 600]
    else:
        template, grid = reductions.reduce_columns(of, (dtype,), output), (2, 1, 1)
        x, counts = np.ascontiguousarray(x.reshape(45, 40)), [0, 1, 45, 40, 48, 1800, 40, 1]
    return Recipe(template, of.term, of.dtype, of.source()), grid, [result, x, *values, *counts]


def transposed(dtype):
    """A strided copy."""
    template = templates.strided((array(dtype),), (dtype,), 2)
    x = (np.arange(300) % 100).astype(dtype)
    counts = [300, *templates.strided_args((15, 20), [(20, 1), (1, 15)])]
    source = templates.index_source(32)
    return Recipe(template, table.identity, compute_dtype(dtype), source), (2,), [np.zeros(300, dtype), x, *counts]


def drawn(distribution):
    """Random numbers."""
    template, n = random.random_fill(distribution, WORD), 1001
    source = random.random_source(distribution, WORD)
    return (
        Recipe(template, table.identity, WORD, source),
        random.random_grid(n, WORD),
        [np.zeros(n, np.float32), 0.0, 1.0, n, 5, 7, 0],
    )


def counted(key):
    """How often each byte comes up in keys: threads add to the counts of their block, in any order."""
    n = 300 * sorting.STEPS[key] + 77
    keys = np.random.default_rng(5).integers(-300, 300, n).astype(key)
    tiles = sorting.tiles_of(n, key)
    recipe = Recipe(sorting.count_bytes(key), table.identity, "int64")
    return recipe, (tiles,), [np.zeros(sorting.BYTES * tiles, np.int32), keys, n, tiles, 0, 0]


KERNELS = {
    **{f"{name} {dtype}": (flat, name, dtype) for name, dtype in (
        ("mul", "float32"), ("mul", "float64"), ("mul", "float16"), ("mul", "bfloat16"), ("mul", "complex64"), ("add", "int32"),
        ("div", "float32"), ("exp", "float32"), ("exp", "float64"), ("tanh", "bfloat16"), ("sin", "float32"), ("pow", "float32"),
        ("lt", "float32"), ("where", "float32"), ("mul_backward_x_y", "float32"), ("tanh_backward_x", "float32"),
        ("adam", "float32"), ("erf", "float32"), ("log", "float64"), ("exp", "complex64"),
    )},
    "unrolled": (flat, "mul", "float32", 4),
    **{f"{name} {dtype} {form}": (folded, name, dtype, form) for name, dtype, form in (
        ("sum", "float32", "rows"), ("mean", "float32", "short"), ("amax", "float64", "columns"), ("argmax", "float32", "rows"),
        ("sum", "complex64", "short"), ("any", "float32", "columns"), ("norm2", "float32", "rows"), ("prod", "float64", "columns"),
    )},
    "transposed float32": (transposed, "float32"), "transposed int8": (transposed, "int8"),
    "uniform": (drawn, "uniform"), "normal": (drawn, "normal"),
    "bytes of int32": (counted, "int32"), "bytes of int64": (counted, "int64"),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_the_interpreter_agrees(name, interpreter):
    """Two readings of one source, by LLVM and by Python: the same bits, from the same operands."""
    make, *options = KERNELS[name]
    recipe, grid, args = make(*options)
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    with np.errstate(all="ignore"):
        simt.interpret(recipe.template, recipe.scalar, recipe.dtype, grid, *copies, **recipe.source)
    emulate(recipe.template, recipe.scalar, recipe.dtype, grid, *args, **recipe.source)
    for ours, theirs in zip(args, copies):
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)  # NaN to NaN


def test_the_table_of_agreement_is_long_enough():
    """As many as the promise says."""
    assert len(KERNELS) >= 30

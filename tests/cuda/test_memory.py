"""Memory of GPUs: what is counted, kept and given back, what happens without it; pinned memory. Emulated, in a child."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nbgrad
from nbgrad.base import config

from .emulation import GPUS, on_gpus, played_driver, two_gpus, without_gpus

ROOT = Path(__file__).parents[2]


# Threads that all ask for the GPU first, and whose turns change at nearly every step.
AT_ONCE = """
import sys, threading
import nbgrad

sys.setswitchinterval(1e-5)
right = []

def work(k):
    x = nbgrad.full((8,), float(k), device="cuda")
    right.append((x + x).tolist() == [2.0 * k] * 8)

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(right, nbgrad.cuda.memory_allocated())
"""


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("native", ["1", "0"])
def test_threads_that_find_the_gpu_at_once(native):
    """They get one heap and one record of each plan, with native code and without."""
    environment = {**os.environ, "NBGRAD_CUDA": "emulated", "NBGRAD_NATIVE": native}
    found = subprocess.run([sys.executable, "-c", AT_ONCE], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == "[True, True, True, True] 0\n", found.stderr


@pytest.fixture
def driver():
    """The emulated driver, of which nothing is to fail any longer."""
    made = played_driver()
    made.failures.clear()
    yield made
    made.failures.clear()


@pytest.fixture(autouse=True)
def nothing_kept():
    """Each test begins with the blocks that its own tensors take."""
    if GPUS:
        gc.collect()
        nbgrad.cuda.empty_cache()
    yield


def bytes_of(tensors) -> int:
    """Of the memory behind tensors, that of several once."""
    return sum({x.data_ptr(): x.untyped_storage().nbytes() for x in tensors}.values())


# ---- what is counted -------------------------------------------------------------------------------------------------


@two_gpus
@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_live_tensors(seed):
    """After every step of a random program: bytes, blocks, peaks, totals of both GPUs, exactly."""
    choose = random.Random(seed)
    live: dict[int, list] = {0: [], 1: []}
    for k in range(2):
        nbgrad.cuda.reset_peak_memory_stats(k)
    base, most = [nbgrad.cuda.memory_stats(k) for k in range(2)], [0, 0]
    for _ in range(150):
        k = choose.randrange(2)
        mine, action = live[k], choose.random()
        if action < 0.35 or not mine:
            mine.append(nbgrad.zeros(choose.choice((0, 1, 7, 128, 1000, 5000, 40_000, 300_001)), device=k))
        elif action < 0.55:
            x = choose.choice(mine)
            mine.append(x.clone() if choose.random() < 0.5 else x + x)
        elif action < 0.6:
            live[1 - k].append(choose.choice(mine).to(1 - k))
        elif action < 0.9:
            mine.pop(choose.randrange(len(mine)))
        elif action < 0.95:
            mine[-1].resize_(choose.choice((1, 100, 10_000))).zero_()
        else:
            nbgrad.cuda.empty_cache()
        x = None
        for j in range(2):
            stats, nbytes = nbgrad.cuda.memory_stats(j), bytes_of(live[j])
            assert nbgrad.cuda.memory_allocated(j) == nbytes + base[j]["allocated_bytes.all.current"]
            assert stats["allocation.all.current"] == len(live[j]) + base[j]["allocation.all.current"]
            assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]
            assert stats["allocated_bytes.all.allocated"] - stats["allocated_bytes.all.freed"] == nbgrad.cuda.memory_allocated(j)
            assert nbytes <= stats["active_bytes.all.current"] <= nbgrad.cuda.memory_reserved(j)
            assert stats["inactive_bytes.all.current"] == nbgrad.cuda.memory_reserved(j) - stats["active_bytes.all.current"]
            free, total = nbgrad.cuda.mem_get_info(j)
            assert free + nbgrad.cuda.memory_reserved(j) == total
            most[j] = max(most[j], nbgrad.cuda.memory_allocated(j))
            assert nbgrad.cuda.max_memory_allocated(j) >= most[j]
            assert nbgrad.cuda.max_memory_reserved(j) >= nbgrad.cuda.memory_reserved(j)
    live.clear()
    del mine
    nbgrad.cuda.empty_cache()
    for j in range(2):
        assert nbgrad.cuda.memory_allocated(j) == base[j]["allocated_bytes.all.current"]
        assert nbgrad.cuda.memory_stats(j)["inactive_bytes.all.current"] == 0
        nbgrad.cuda.reset_peak_memory_stats(j)
        assert nbgrad.cuda.max_memory_allocated(j) == nbgrad.cuda.memory_allocated(j)


@on_gpus
def test_the_summary():
    """It has the counters in readable units."""
    x = nbgrad.empty(3 << 18, device="cuda")
    text = nbgrad.cuda.memory_summary()
    assert "memory of cuda:0" in text and "3.0 MiB" in text and len(nbgrad.cuda.memory_summary(abbreviated=True)) < len(text)
    assert x.numel() == 3 << 18


@on_gpus
def test_blocks_are_used_again():
    """What a tensor leaves is the next one's of its size, without a call of the driver; ``empty_cache`` gives it back."""
    x = nbgrad.empty(1000, device="cuda")
    address, given = x.data_ptr(), nbgrad.cuda.memory_stats()["num_device_alloc"]
    del x
    kept = nbgrad.cuda.memory_reserved()
    y = nbgrad.empty(1000, device="cuda")
    assert y.data_ptr() == address and nbgrad.cuda.memory_stats()["num_device_alloc"] == given
    del y
    nbgrad.cuda.empty_cache()
    assert nbgrad.cuda.memory_reserved() <= kept - 4096


@on_gpus
def test_ten_thousand_steps_leak_nothing():
    """Forward, backward, an update: after every thousand all counts are what they were."""
    w = nbgrad.ones(16, device="cuda", requires_grad=True)

    def steps(count):
        for _ in range(count):
            (w * w).backward(nbgrad.ones_like(w))
            with nbgrad.no_grad():
                w.sub_(w.grad, alpha=1e-3)
            w.grad = None

    steps(20)
    nbgrad.cuda.synchronize()
    gc.collect()
    count = 10_000 if config.NATIVE else 1000
    before = nbgrad.cuda.memory_allocated(), nbgrad.cuda.memory_reserved(), nbgrad.cuda.memory_stats()["allocation.all.current"]
    for _ in range(10):
        steps(count // 10)
        nbgrad.cuda.synchronize()
        found = nbgrad.cuda.memory_allocated(), nbgrad.cuda.memory_reserved(), nbgrad.cuda.memory_stats()["allocation.all.current"]
        assert found == before


@on_gpus
def test_threads_share_a_heap():
    """Four threads at once: their results are right, and nothing is left."""
    before, wrong = nbgrad.cuda.memory_allocated(), []

    def work(k):
        for n in range(60):
            x = nbgrad.full((n + 1,), float(k), device="cuda")
            if ((x + x) * 2).tolist() != [4.0 * k] * (n + 1):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong and nbgrad.cuda.memory_allocated() == before


# ---- without memory --------------------------------------------------------------------------------------------------

ALLOCATE = "cuMemAllocFromPoolAsync"
OUT_OF_MEMORY = 2


@on_gpus
def test_what_is_kept_goes_back_before_a_request_fails(driver):
    """The request is made once more then; what the driver had refused is counted, and nobody notices."""
    del_me = nbgrad.empty(100_000, device="cuda")
    del del_me
    kept, before = nbgrad.cuda.memory_reserved(), nbgrad.cuda.memory_stats()
    driver.fail(ALLOCATE, OUT_OF_MEMORY)
    x = nbgrad.ones(300_000, device="cuda")
    after = nbgrad.cuda.memory_stats()
    assert x.sum().item() == 300_000
    assert after["num_alloc_retries"] == before["num_alloc_retries"] + 1 and after["num_ooms"] == before["num_ooms"]
    assert nbgrad.cuda.memory_reserved() < kept + 1_300_000


CALLS = {
    "mul": lambda x: x * 3.0,
    "exp": lambda x: x.exp(),
    "full": lambda x: nbgrad.full((500_000,), 2.0, device="cuda"),
    "empty": lambda x: nbgrad.empty(500_000, device="cuda"),
    "contiguous_copy": lambda x: x.contiguous(),
    "to": lambda x: nbgrad.ones(500_000).to("cuda"),
}


@on_gpus
@pytest.mark.parametrize("name", CALLS)
def test_out_of_memory(driver, name):
    """The error names operation, bytes, GPU, what tensors have, what was kept; then all works, and nothing is lost."""
    x = nbgrad.ones(1, device="cuda").expand(500_000)
    CALLS["mul"](x)
    before = nbgrad.cuda.memory_allocated(), nbgrad.cuda.memory_stats()["allocation.all.current"]
    failures = nbgrad.cuda.memory_stats()["num_ooms"]
    nbgrad.cuda.empty_cache()
    for at in (1, 2):
        driver.fail(ALLOCATE, OUT_OF_MEMORY, at)
    with pytest.raises(nbgrad.OutOfMemoryError) as caught:
        CALLS[name](x)
    text = str(caught.value)
    assert isinstance(caught.value, MemoryError) and nbgrad.cuda.OutOfMemoryError is nbgrad.OutOfMemoryError
    assert text.startswith(f"{name}: 2000000 bytes on cuda:0 ") and f"tensors have {before[0]}" in text and "kept" in text
    assert "Hint:" in text and nbgrad.cuda.memory_stats()["num_ooms"] == failures + 1
    caught = None
    gc.collect()
    assert (nbgrad.cuda.memory_allocated(), nbgrad.cuda.memory_stats()["allocation.all.current"]) == before
    assert CALLS[name](x).device == nbgrad.device("cuda:0") and CALLS["mul"](x)[7].item() == 3.0


@on_gpus
def test_out_of_memory_in_a_backward_pass(driver):
    """The pass ends with the error, and the next one gives the gradient."""
    x = nbgrad.ones(200_000, device="cuda", requires_grad=True)
    y = x * x
    nbgrad.cuda.empty_cache()
    for at in (1, 2):
        driver.fail(ALLOCATE, OUT_OF_MEMORY, at)
    with pytest.raises(nbgrad.OutOfMemoryError):
        y.backward(nbgrad.ones_like(x), retain_graph=True)
    x.grad = None
    y.backward(nbgrad.ones_like(x))
    assert x.grad[5].item() == 2.0


@on_gpus
@pytest.mark.parametrize("nbytes", [1 << 46, (1 << 47) + 1, 1 << 49, 1 << 52, 1 << 61])
def test_more_than_any_gpu_has(nbytes):
    """Sizes beyond every list of blocks are refused like others, again and again."""
    for _ in range(3):
        with pytest.raises(nbgrad.OutOfMemoryError, match="bytes on cuda:0 are not to be had"):
            nbgrad.empty(nbytes, dtype=nbgrad.uint8, device="cuda")
    assert nbgrad.ones(3, device="cuda").sum().item() == 3


@on_gpus
def test_a_fraction_of_the_memory():
    """Beyond it a request fails, below it does not; 1 is all; other numbers are refused."""
    total = nbgrad.cuda.mem_get_info()[1]
    nbgrad.cuda.set_per_process_memory_fraction(2_000_000 / total + nbgrad.cuda.memory_reserved() / total)
    try:
        assert nbgrad.empty(400_000, device="cuda").numel() == 400_000
        for name, make in (("empty", nbgrad.empty), ("zeros", nbgrad.zeros), ("full", lambda n, **d: nbgrad.full((n,), 2.0, **d))):
            first = make(400_000, device="cuda")
            for size in (700_000, 400_000):  # nobody has asked for it yet, or somebody has
                with pytest.raises(nbgrad.OutOfMemoryError, match=f"^{name}: .* the process may have"):
                    make(size, device="cuda")
            assert first.shape == (400_000,)
            del first
    finally:
        nbgrad.cuda.set_per_process_memory_fraction(1.0)
    assert nbgrad.empty(700_000, device="cuda").numel() == 700_000 and nbgrad.cuda.get_per_process_memory_fraction() == 1.0
    for wrong, error in ((1.5, nbgrad.RangeError), (-0.1, nbgrad.RangeError), ("half", nbgrad.ArgumentError)):
        with pytest.raises(error, match="set_per_process_memory_fraction"):
            nbgrad.cuda.set_per_process_memory_fraction(wrong)


# ---- pinned memory ---------------------------------------------------------------------------------------------------


@on_gpus
def test_pinned_memory():
    """A copy in pinned memory knows that it is, views of it too; another is made of the block that it leaves."""
    x = nbgrad.arange(1000.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[3:].is_pinned() and pinned.pin_memory() is pinned and not x.is_pinned()
    assert pinned.tolist() == x.tolist() and not x.cuda().is_pinned()
    leaf = nbgrad.ones(3, requires_grad=True)
    (2 * leaf.pin_memory()).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3
    address = pinned.data_ptr()
    del pinned
    again = nbgrad.zeros(1000).pin_memory()
    assert again.data_ptr() == address and again.sum() == 0
    with pytest.raises(nbgrad.DeviceError, match=r"pin_memory: the tensor is on cuda:0.*Hint: x.cpu\(\).pin_memory"):
        x.cuda().pin_memory()


def queued(driver) -> int:
    """How much work of GPUs nobody has waited for."""
    return sum(len(stream.queue) for stream in driver.timeline.streams)


@on_gpus
def test_what_is_waited_for(driver):
    """``non_blocking=True`` waits for nothing if the memory is pinned; all other copies wait, or have read what they copy."""
    x = nbgrad.arange(100.0)
    pinned = x.pin_memory()
    nbgrad.cuda.synchronize()
    there = pinned.to("cuda", non_blocking=True)
    assert queued(driver), "a copy from pinned memory was waited for"
    nbgrad.cuda.synchronize()
    pinned.to("cuda")
    assert not queued(driver), "a copy from pinned memory was not waited for"
    pageable = x.clone()
    moved = pageable.to("cuda", non_blocking=True)
    pageable.zero_()
    assert moved.tolist() == x.tolist()
    doubled = there * 2
    back = doubled.to("cpu", non_blocking=True)
    assert queued(driver) and back.is_pinned()
    nbgrad.cuda.synchronize()
    assert back.tolist() == (x * 2).tolist()
    target = nbgrad.zeros(100).pin_memory()
    version = target._version
    doubled = there * 3
    assert target.copy_(doubled, non_blocking=True) is target and queued(driver) and target._version == version + 1
    nbgrad.cuda.synchronize()
    assert target.tolist() == (x * 3).tolist()
    assert (there * 4).to("cpu").tolist() == (x * 4).tolist() and not queued(driver)


@on_gpus
def test_the_source_of_a_running_copy_is_not_used_again(driver):
    """Its block is another tensor's only when the copy is done; an emulated copy would find other bytes."""
    x = nbgrad.arange(500.0)
    for _ in range(5):
        pinned = x.pin_memory()
        address = pinned.data_ptr()
        there = pinned.to("cuda", non_blocking=True)
        del pinned
        other = nbgrad.zeros(500).pin_memory()
        assert other.data_ptr() != address
        assert there.sum().item() == x.sum().item()
        del other, there
        nbgrad.cuda.synchronize()


@on_gpus
def test_copies_between_gpus_follow_both_streams(driver):
    """The copy comes behind what made the source and what used the target's block, and before what uses the result."""
    for _ in range(5):
        x = nbgrad.full((4096,), 3.0, device=0) * 2
        junk = nbgrad.ones(4096, device=1) * 5
        del junk
        y = x.to("cuda:1")
        del x
        z = nbgrad.ones(4096, device=0) * 7
        assert (y + 1).sum().item() == 7 * 4096 and z[0].item() == 7


@on_gpus
def test_no_pinned_memory(driver):
    """What is kept goes back and the request is made again; then the error says what to do, and all goes on."""
    name = "cuMemAllocHost"
    driver.fail(name, OUT_OF_MEMORY)
    assert nbgrad.ones(5000).pin_memory().is_pinned()
    nbgrad.cuda.empty_cache()
    for at in (1, 2):
        driver.fail(name, OUT_OF_MEMORY, at)
    with pytest.raises(nbgrad.OutOfMemoryError, match="pin_memory: .*Hint: leave pin_memory out"):
        nbgrad.ones(7000).pin_memory()
    driver.failures.clear()
    assert nbgrad.ones(7000).pin_memory().is_pinned()

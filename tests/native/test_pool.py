"""The thread pool: every unit is done once whoever claims it, nothing hangs, and a slow pool steps aside."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from nbgrad.base.errors import RangeError
from nbgrad.kernels.cpu import pool as pool_module
from nbgrad.kernels.cpu.pool import NoPool, Pool, available_threads, default_threads, quota
from nbgrad.kernels.cpu.store import Loader, Store
from nbgrad.native import pool as native_pool, serial
from nbgrad.native.link import NativeModule
from tests.helpers import fork

pytestmark = pytest.mark.skipif(not pool_module.HAS_WORKERS, reason="the pool has workers on 64-bit Linux only")

# Kernels have Numba's convention; `args` is an array of pointers.
PARALLEL = """
define private void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %args) {
  %k = ptrtoint ptr %kernel to i64
  %a = ptrtoint ptr %args to i64
  call void @n.parallel(i64 %k, i64 %units, i64 %grain, i64 %a)
  ret void
}
"""
KERNELS = (
    PARALLEL
    + """
declare i64 @pthread_self()
declare i32 @usleep(i32)

define void @run(ptr %kernel, i64 %units, i64 %grain, ptr %args) {
  call void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %args)
  ret void
}

define void @run_often(ptr %kernel, i64 %units, i64 %grain, ptr %args, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %args)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %out
out:
  ret void
}

; args[0][i] += 1, without an atomic: two threads on one unit would show.
define i32 @count(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
entry:
  %out = load ptr, ptr %args
  br label %test
test:
  %i = phi i64 [%start, %entry], [%next, %body]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %body, label %end
body:
  %at = getelementptr i64, ptr %out, i64 %i
  %old = load volatile i64, ptr %at
  %new = add i64 %old, 1
  store volatile i64 %new, ptr %at
  %next = add i64 %i, 1
  br label %test
end:
  ret i32 0
}

; args[0][0] += stop - start; args[0][1] += 1
define i32 @total(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
  %out = load ptr, ptr %args
  %length = sub i64 %stop, %start
  atomicrmw add ptr %out, i64 %length monotonic
  %calls = getelementptr i64, ptr %out, i64 1
  atomicrmw add ptr %calls, i64 1 monotonic
  ret i32 0
}

; args[0][start] = this thread, and sleep, so that others have the time to come.
define i32 @who(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
  %out = load ptr, ptr %args
  %at = getelementptr i64, ptr %out, i64 %start
  %self = call i64 @pthread_self()
  store i64 %self, ptr %at
  call i32 @usleep(i32 2000)
  ret i32 0
}

; args[0][start] = 1 if both scratch words still hold what was written before a sleep.
define i32 @scribble(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
  %out = load ptr, ptr %args
  store volatile i64 %start, ptr %s0
  store volatile i64 %stop, ptr %s1
  call i32 @usleep(i32 300)
  %low = load volatile i64, ptr %s0
  %high = load volatile i64, ptr %s1
  %low_kept = icmp eq i64 %low, %start
  %high_kept = icmp eq i64 %high, %stop
  %kept = and i1 %low_kept, %high_kept
  %word = zext i1 %kept to i64
  %at = getelementptr i64, ptr %out, i64 %start
  store i64 %word, ptr %at
  ret i32 0
}

; Launches `count` from inside a chunk: unit i of this launch does units [10 i, 10 i + 10) of the inner one.
define i32 @nested(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
entry:
  %out = load ptr, ptr %args
  %inner = alloca ptr
  br label %test
test:
  %i = phi i64 [%start, %entry], [%next, %body]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %body, label %end
body:
  %tens = mul i64 %i, 10
  %at = getelementptr i64, ptr %out, i64 %tens
  store ptr %at, ptr %inner
  call void @parallel(ptr @count, i64 10, i64 1, ptr %inner)
  %next = add i64 %i, 1
  br label %test
end:
  ret i32 0
}

; A machine whose other cores are taken. args[0] = {caller, whether a worker came}: a worker needs 5 ms for its first
; chunk; the caller sleeps (which is no processor time) until it came, then is fast.
define i32 @busy_cores(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
entry:
  %state = load ptr, ptr %args
  %caller = load i64, ptr %state
  %came_at = getelementptr i64, ptr %state, i64 1
  %self = call i64 @pthread_self()
  %is_caller = icmp eq i64 %self, %caller
  br i1 %is_caller, label %look, label %worker
worker:
  %was = atomicrmw xchg ptr %came_at, i64 1 seq_cst
  %first = icmp eq i64 %was, 0
  br i1 %first, label %slow, label %end
slow:
  call i32 @usleep(i32 5000)
  ret i32 0
look:
  %tries = phi i64 [0, %entry], [%tried, %doze]
  %came = load atomic i64, ptr %came_at seq_cst, align 8
  %here = icmp ne i64 %came, 0
  %tired = icmp sgt i64 %tries, 20000
  %over = or i1 %here, %tired
  br i1 %over, label %end, label %doze
doze:
  call i32 @usleep(i32 50)
  %tried = add i64 %tries, 1
  br label %look
end:
  ret i32 0
}

define i32 @doze(ptr %s0, ptr %s1, i64 %start, i64 %stop, ptr %args) {
  call i32 @usleep(i32 20000)
  ret i32 0
}

define i64 @self() {
  %self = call i64 @pthread_self()
  ret i64 %self
}
"""
)
NAMES = ["run", "run_often", "count", "total", "who", "scribble", "nested", "busy_cores", "doze", "self"]
# Kept as long as the process: workers, and the hooks of fork and exit, are inside this code.
LOADER = Loader(Store(None))
ENTRIES = NativeModule(LOADER, (native_pool,), {}, more=(KERNELS, NAMES)).entries
LAUNCHER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
RUN = LAUNCHER(ENTRIES["run"])
RUN_OFTEN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(
    ENTRIES["run_often"]
)
SHARING, STEPPING = Pool(ENTRIES, threads=1, steps_aside=False), Pool(ENTRIES, threads=1)


def launch(name: str, out: np.ndarray, units: int, grain: int, times: int = 0) -> None:
    """Run a kernel in the pool, with the interpreter lock dropped; ``times`` in a native loop if given."""
    args = (ctypes.c_void_p * 1)(out.ctypes.data)
    if times:
        RUN_OFTEN(ENTRIES[name], units, grain, args, times)
    else:
        RUN(ENTRIES[name], units, grain, args)


@pytest.fixture
def sharing():
    """Four threads that share every launch, however slow this machine makes that."""
    SHARING.set_num_threads(4)
    yield SHARING
    SHARING.stop()


@pytest.fixture
def stepping():
    """Two threads, in the usual mode."""
    STEPPING.set_num_threads(2)
    yield STEPPING
    STEPPING.stop()


# ---- claims ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_each_unit_is_done_once(sharing, threads):
    """Whatever the number of units, of threads and the grain, each unit is counted up once."""
    sharing.set_num_threads(threads)
    for units in (1, 2, 3, 7, 64, 1000, 4097):
        for grain in (1, 2, 3, 64, 999, 5000):
            out = np.zeros(units + 1, np.int64)
            launch("count", out, units, grain)
            assert (out[:units] == 1).all() and out[units] == 0, (units, grain, np.flatnonzero(out[:units] != 1)[:5])


@pytest.mark.parametrize("grain", [0, -5])
def test_grain_is_at_least_one(sharing, grain):
    """A grain that makes no sense cuts into single units."""
    out = np.zeros(100, np.int64)
    launch("count", out, 100, grain)
    assert (out == 1).all()


def test_no_units(sharing):
    """An empty launch touches nothing and returns."""
    out = np.zeros(4, np.int64)
    launch("count", out, 0, 16)
    assert (out == 0).all()


@pytest.mark.parametrize(("grain", "calls"), [(1 << 30, 8), (1 << 20, 1 << 13), ((1 << 20) + 1, 1 << 13)])
def test_more_units_than_32_bits(sharing, grain, calls):
    """Units are counted in 64 bits; only the chunks, here 8192 at most, share a word with the number of the run."""
    out = np.zeros(2, np.int64)
    launch("total", out, 1 << 33, grain)
    assert out.tolist() == [1 << 33, calls]


def test_workers_take_part(sharing):
    """Chunks that sleep are run by more than one thread, the caller among them."""
    out = np.zeros(24, np.int64)
    launch("who", out, 24, 1)
    caller = ctypes.CFUNCTYPE(ctypes.c_int64)(ENTRIES["self"])()
    assert caller in out and 2 <= len(set(out.tolist())) <= 4 and 0 not in out
    assert sharing.counters().workers == 3


def test_each_thread_has_scratch_words_of_its_own(sharing):
    """A kernel may write its two result words; no other thread's kernel writes the same."""
    out = np.zeros(64, np.int64)
    launch("scribble", out, 64, 1)
    assert (out == 1).all()


def test_one_chunk_stays_with_the_caller(sharing):
    """A launch of one grain wakes nobody."""
    before = sharing.counters().shared
    launch("count", np.zeros(10, np.int64), 10, 10)
    assert sharing.counters().shared == before


def test_nested_launch_is_serial(sharing):
    """A launch from inside a kernel finds the pool taken and runs where it is, without a deadlock."""
    out = np.zeros(400, np.int64)
    launch("nested", out, 40, 1)
    assert (out == 1).all()


# ---- threads ---------------------------------------------------------------------------------------------------------


def test_launches_from_four_python_threads(sharing):
    """At once, each on its own array: one holds the pool, the others run serially, all are right."""
    outs = [np.zeros(500, np.int64) for _ in range(4)]

    def work(out):
        for _ in range(300):
            launch("count", out, 500, 50)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all((out == 300).all() for out in outs)


def test_number_of_threads_may_change_during_launches(sharing):
    """Workers end and start between the launches of another thread; no unit is lost."""
    out, stop = np.zeros(200, np.int64), threading.Event()
    launches = 0

    def work():
        nonlocal launches
        while not stop.is_set():
            launch("count", out, 200, 10)
            launches += 1

    thread = threading.Thread(target=work)
    thread.start()
    for threads in (1, 2, 5, 3, 1, 4) * 5:
        sharing.set_num_threads(threads)
        assert sharing.get_num_threads() == threads
    stop.set()
    thread.join(60)
    assert launches > 0 and (out == launches).all()


def test_workers_start_with_the_first_large_launch(sharing):
    """Nothing is started by an import or a setting; ``ensure`` starts them too, and once."""
    assert sharing.counters().workers == 0
    launch("count", np.zeros(10, np.int64), 10, 1)
    assert sharing.counters().workers == 3
    sharing.set_num_threads(3)
    assert sharing.counters().workers == 0 and sharing.ensure() == 2 and sharing.ensure() == 2


def test_stop_ends_the_workers(sharing):
    """After ``stop`` there are no workers, and launches are serial and right."""
    before = set(os.listdir("/proc/self/task"))
    sharing.ensure()
    workers = set(os.listdir("/proc/self/task")) - before
    sharing.stop()
    deadline = time.monotonic() + 30  # the kernel lists a thread for a moment after it was joined
    while workers & set(os.listdir("/proc/self/task")) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(workers) == 3 and not workers & set(os.listdir("/proc/self/task"))
    out = np.zeros(100, np.int64)
    launch("count", out, 100, 1)
    assert (out == 1).all() and sharing.counters().workers == 0


def test_workers_block_signals(sharing):
    """A signal, Ctrl-C above all, is for Python's threads: the workers' masks hold SIGINT and SIGTERM."""
    before = set(os.listdir("/proc/self/task"))
    sharing.ensure()
    workers = set(os.listdir("/proc/self/task")) - before
    assert len(workers) == 3
    for task in workers:
        with open(f"/proc/self/task/{task}/status") as file:
            (blocked,) = (int(line.split()[1], 16) for line in file if line.startswith("SigBlk"))
        assert blocked >> signal.SIGINT - 1 & 1 and blocked >> signal.SIGTERM - 1 & 1


def test_worker_leaves_the_callers_core(sharing):
    """Worker and caller on one core take turns: the worker forbids itself that core when it notices."""
    allowed, before = os.sched_getaffinity(0), set(os.listdir("/proc/self/task"))
    if len(allowed) < 2:
        pytest.skip("needs two processors")
    sharing.set_num_threads(2)
    sharing.ensure()
    (worker,) = (int(task) for task in set(os.listdir("/proc/self/task")) - before)
    core = min(allowed)
    os.sched_setaffinity(worker, {core})
    os.sched_setaffinity(0, {core})
    try:
        launch("who", np.zeros(16, np.int64), 16, 1)
        assert os.sched_getaffinity(worker) == allowed - {core}
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("threads", [0, -1, 257, 1.5, "4", True, None])
@pytest.mark.parametrize("pool", [SHARING, NoPool()], ids=["workers", "none"])
def test_impossible_number_of_threads(pool, threads):
    """The error says what came and what is possible, also where there is nothing but the caller's thread."""
    with pytest.raises(RangeError, match="expected a whole number from 1 to 256"):
        pool.set_num_threads(threads)


def test_twenty_thousand_shared_launches(sharing):
    """Workers that go to sleep and are woken twenty thousand times never miss a launch."""
    out = np.zeros(64, np.int64)
    launch("count", out, 64, 16, times=20_000)
    assert (out == 20_000).all()


def test_two_hundred_thousand_launches(stepping):
    """In the usual mode, without a hang and with every unit right."""
    out = np.zeros(64, np.int64)
    launch("count", out, 64, 16, times=200_000)
    assert (out == 200_000).all()


# ---- fork ------------------------------------------------------------------------------------------------------------


def computes(workers: int) -> bool:
    """Whether a launch in this process is right and has that many workers."""
    out = np.zeros(1000, np.int64)
    launch("count", out, 1000, 10)
    return (out == 1).all() and SHARING.counters().workers == workers


@pytest.mark.forks
def test_forked_child_starts_its_own_workers(sharing):
    """The child has the pool's memory but not its threads; its first large launch starts three of its own."""
    assert computes(3) and fork(lambda: SHARING.counters().workers == 0 and computes(3)) == 0 and computes(3)


@pytest.mark.forks
def test_fork_while_another_thread_launches(sharing):
    """A child may be born while the pool is taken: it is free in the child."""
    stop, out = threading.Event(), np.zeros(64, np.int64)

    def work():
        while not stop.is_set():
            launch("count", out, 64, 4, times=100)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        results = [fork(lambda: computes(3)) for _ in range(10)]
    finally:
        stop.set()
        thread.join()
    assert results == [0] * 10


@pytest.mark.forks
def test_child_may_set_its_number_of_threads(sharing):
    """Ending workers that exist only in the parent is no wait without end."""

    def child():
        SHARING.set_num_threads(2)
        return computes(1)

    assert computes(3) and fork(child) == 0


# ---- step aside ------------------------------------------------------------------------------------------------------


def pretend_busy_cores() -> None:
    """A launch whose worker keeps the caller waiting for 5 ms."""
    caller = ctypes.CFUNCTYPE(ctypes.c_int64)(ENTRIES["self"])()
    state = np.array([caller, 0], np.int64)
    launch("busy_cores", state, 8, 1)
    assert state[1] == 1, "no worker came within a second"


def test_slow_pool_steps_aside_and_comes_back(stepping):
    """A run that lost 5 ms owes 16 times as much: the next runs are serial until they have lasted 80 ms."""
    pretend_busy_cores()
    owing = stepping.counters()
    assert owing.owed > 16 * 4_000_000
    began = time.perf_counter_ns()
    while stepping.counters().owed > 0:
        launch("doze", np.zeros(1, np.int64), 2, 1)
    paid = stepping.counters()
    assert time.perf_counter_ns() - began >= owing.owed and paid.shared == owing.shared and paid.aside > owing.aside
    launch("who", np.zeros(8, np.int64), 8, 1)
    assert stepping.counters().shared == paid.shared + 1


def test_loss_is_bounded(stepping):
    """A process that was stopped for long, or a slow worker, costs 16 * 20 ms of serial work at most."""
    pretend_busy_cores()
    assert stepping.counters().owed <= native_pool.DEBT * native_pool.MOST_LOSS


def test_sharing_pool_does_not_step_aside(sharing):
    """With ``steps_aside=False`` no loss is counted."""
    pretend_busy_cores()
    assert sharing.counters().owed == 0


# ---- number of threads -----------------------------------------------------------------------------------------------


def tree(root, files: dict[str, str]) -> str:
    """A folder with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


V1 = "sys/fs/cgroup/cpu,cpuacct"
QUOTAS = {
    "no cgroups": ({}, float("inf")),
    "v2 without limit": ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, float("inf")),
    "v2": ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5),
    "v2 limited above": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
        },
        0.5,
    ),
    "v2 in a container": ({"proc/self/cgroup": "0::/host/path\n", "sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3.0),
    "v1": (
        {
            "proc/self/cgroup": "4:memory:/a\n3:cpu,cpuacct:/a\n",
            f"{V1}/a/cpu.cfs_quota_us": "250000\n",
            f"{V1}/a/cpu.cfs_period_us": "100000\n",
        },
        2.5,
    ),
    "v1 without limit": (
        {"proc/self/cgroup": "3:cpu,cpuacct:/\n", f"{V1}/cpu.cfs_quota_us": "-1\n", f"{V1}/cpu.cfs_period_us": "100000\n"},
        float("inf"),
    ),
    "v1 in a container": (
        {
            "proc/self/cgroup": "3:cpu:/host\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        2.0,
    ),
    "nonsense": ({"proc/self/cgroup": "hello\n0::/a\n", "sys/fs/cgroup/a/cpu.max": "0 0\n"}, float("inf")),
}


@pytest.mark.parametrize(("files", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_control_group_quota(tmp_path, files, expected):
    """The smallest quota of the process's groups and those above, in processors."""
    assert quota(tree(tmp_path, files)) == expected


@pytest.mark.parametrize(("affinity", "limit", "expected"), [(8, float("inf"), 8), (8, 2.5, 3), (8, 0.5, 1), (2, 16, 2)])
def test_available_threads(monkeypatch, affinity, limit, expected):
    """The affinity mask or the quota rounded up, whichever is less, and at least one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(affinity))
    monkeypatch.setattr(pool_module, "quota", lambda: limit)
    assert available_threads() == expected


@pytest.mark.parametrize(
    ("nbgrad_threads", "omp_threads", "expected"),
    [("", "", 6), ("3", "", 3), ("12", "2", 12), ("", "4", 4), ("", "4,2", 4), ("", "64", 6), ("", "x", 6), ("", "0", 6)],
)
def test_default_threads(monkeypatch, nbgrad_threads, omp_threads, expected):
    """NBGRAD_NUM_THREADS as it stands; OMP_NUM_THREADS can only lower what is available."""
    monkeypatch.setattr(pool_module, "available_threads", lambda: 6)
    monkeypatch.setenv("NBGRAD_NUM_THREADS", nbgrad_threads)
    monkeypatch.setenv("OMP_NUM_THREADS", omp_threads)
    assert default_threads() == expected


@pytest.mark.parametrize("text", ["0", "-2", "many", "2.5", "1000"])
def test_default_threads_refuses_nonsense(monkeypatch, text):
    """A malformed NBGRAD_NUM_THREADS is an error that names the variable, not a guess."""
    monkeypatch.setenv("NBGRAD_NUM_THREADS", text)
    with pytest.raises(RangeError, match="NBGRAD_NUM_THREADS"):
        default_threads()


# ---- other systems ---------------------------------------------------------------------------------------------------


def test_pool_without_workers(monkeypatch):
    """Where there are no POSIX semaphores the same entry points run everything serially."""
    monkeypatch.setattr(pool_module, "HAS_WORKERS", False)
    text = (
        PARALLEL
        + """
        define void @run(ptr %kernel, i64 %units, i64 %grain, ptr %args) {
          call void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %args)
          ret void
        }"""
    )
    entries = NativeModule(LOADER, (serial,), {}, more=(text, ["run"])).entries
    out = np.zeros(100, np.int64)
    args = (ctypes.c_void_p * 1)(out.ctypes.data)
    LAUNCHER(entries["run"])(ENTRIES["count"], 100, 10, args)
    alone = Pool(entries, threads=4)
    assert (out == 1).all() and alone.get_num_threads() == 1 and alone.ensure() == 0


def test_exit_with_workers_asleep():
    """A process ends at once and cleanly while its workers sleep."""
    script = (
        "import sys; sys.path[:0] = sys.argv[1].split(chr(10))\n"
        "from nbgrad.kernels.cpu.pool import Pool\n"
        "from nbgrad.kernels.cpu.store import Loader, Store\n"
        "from nbgrad.native import pool\n"
        "from nbgrad.native.link import NativeModule\n"
        "loader = Loader(Store(None))\n"
        "pool = Pool(NativeModule(loader, (pool,), {}).entries, threads=3)\n"
        "assert pool.ensure() == 2\n"
    )
    paths = "\n".join(filter(None, sys.path))
    done = subprocess.run([sys.executable, "-c", script, paths], timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")

"""Native code: a pool of threads. A large kernel is cut into chunks that parked workers and the caller claim.

``parallel(kernel, units, grain, pointers)`` runs a kernel of Numba's convention over ``[0, units)``, ``grain`` units a claim. The
workers are plain POSIX threads that block all signals and never touch Python: waking them costs no Python, and the first large
launch starts them, in a forked child too. ``Pool`` of kernels/cpu/pool.py sets their number.

A launch is serial when there are no workers, one chunk, another launch holds the pool (which covers launches from several Python
threads and from inside a kernel), or the pool is in debt. Everything here is numbers: it cannot fail, and needs no interpreter.
Tests run these very functions in Python, under schedules drawn at random.

NOTE [Claim]: ``pool_word`` is run << 32 | chunks left. A chunk is claimed by compare-and-swap from n to n - 1, and
only then are the run's fields read: a run cannot end, and its fields cannot change, while a claimed chunk is
unfinished. The run's number makes an old value fail to compare. A worker that wakes late finds 0 left and touches
nothing.

NOTE [Sleep]: sleepers + tokens of the semaphore >= workers asleep or about to be. A worker announces itself in
``pool_sleepers`` and looks once more before it waits; if there is work after all it takes the announcement back, or,
if a publisher has already turned it into a token, waits for that token. Without this every such worker would leave a
token behind, and workers would wake for nothing ever more often.

NOTE [Place]: a scheduler that knows of no cache that two cores share (many virtual machines) wakes a worker where it
last ran, be it on the caller's core with all others idle: the two take turns until, milliseconds later, load is
balanced. So a worker that finds itself on the core from which the run was published forbids itself that core.
Fixed places would be worse: a worker
could not leave a core that another process took.

NOTE [Debt]: where the cores are busy a worker that holds a chunk may not run for milliseconds, and the caller waits.
One thread would have taken (caller's processor time in its chunks) * chunks / (its chunks). What a run took beyond
7/8 of that is a loss, and the pool owes ``DEBT`` times the loss: later runs are serial and pay with their duration
until nothing is owed. So whatever the machine does, about 1/DEBT of the time at most is lost to trying. Processor
time, not the clock's, since a worker that
wakes on the caller's own core makes the caller look slow. A loss counts as ``MOST_LOSS`` at most, since a process
that was stopped comes back with hours.
"""

from __future__ import annotations

from .language import Static, Words, c_entry, c_function, raw
from .primitives import add, address_of, exchange, function_address, load, pause, run_chunk, store, subtract, swap, words

__all__ = ["parallel", "pool_configure", "pool_counters", "pool_ensure", "pool_forget"]

# Looks before a worker sleeps. A longer spin halves the speed of a BLAS that wants the same core.
SPIN = 32
# The caller waits as briefly: if the worker it waits for sits on its own core, spinning keeps that worker from running.
PATIENCE = 50
DEBT = 16
MOST_LOSS = 20_000_000  # nanoseconds
HALF = 1 << 32

sem_init, sem_wait, sem_post = c_function("sem_init", 3), c_function("sem_wait", 1), c_function("sem_post", 1)
sched_yield, sched_getcpu = c_function("sched_yield", 0), c_function("sched_getcpu", 0)
sched_getaffinity, sched_setaffinity = c_function("sched_getaffinity", 3), c_function("sched_setaffinity", 3)
clock_gettime = c_function("clock_gettime", 2)
pthread_create, pthread_join = c_function("pthread_create", 4), c_function("pthread_join", 2)
pthread_sigmask, sigfillset = c_function("pthread_sigmask", 3), c_function("sigfillset", 1)

# One cache line each, so that claims do not disturb the readers of the run.
pool_word, pool_done, pool_busy, pool_sleepers = Static(0), Static(0), Static(0), Static(0)
pool_run = Static(0, 0, 0, 0, 0, 0)  # kernel, units, grain, pointers, chunks; the caller's core
pool_semaphore, pool_stopping = Static(0, 0, 0, 0, 0, 0, 0, 0), Static(0)
pool_wanted = Static(0, 0, 1, 0)  # workers that there ought to be, and are; losses are counted; semaphore is ready
pool_owed, pool_shared, pool_aside = Static(0), Static(0), Static(0)  # nanoseconds; runs that were shared, that stepped aside
pool_threads, pool_cores = Static(*[0] * 256), Static(*[0] * 16)


@raw
def clock(which: int) -> int:
    """The time in nanoseconds, of clock 1, the wall's, or 3, this thread's processor time."""
    time = words(2)
    clock_gettime(which, time)
    return time[0] * 1000000000 + time[1]


@raw
def drain() -> int:
    """Claim and run chunks until none is left; how many this thread ran. See NOTE [Claim]."""
    mine = 0
    while True:
        seen = load(pool_word)
        left = seen & 0xFFFFFFFF
        if left == 0:
            return mine
        if swap(pool_word, seen, seen - 1):
            start = (pool_run[4] - left) * pool_run[2]
            stop = start + pool_run[2]
            if stop > pool_run[1]:
                stop = pool_run[1]
            run_chunk(pool_run[0], start, stop, pool_run[3])
            add(pool_done, 1)
            mine += 1


@raw
def wake() -> None:
    """Wake one or two sleeping workers, if there are chunks for them besides the one that this thread will claim."""
    most = (load(pool_word) & 0xFFFFFFFF) - 1
    if most > 2:
        most = 2
    while True:
        asleep = load(pool_sleepers)
        count = asleep if asleep < most else most
        if count <= 0:
            return
        if swap(pool_sleepers, asleep, asleep - count):
            for _k in range(count):
                sem_post(pool_semaphore)
            return


@raw
def withdrawn() -> bool:
    """Take back this worker's announcement. False if a publisher has already made a token for it."""
    while True:
        sleepers = load(pool_sleepers)
        if sleepers <= 0:
            return False
        if swap(pool_sleepers, sleepers, sleepers - 1):
            return True


@raw
def rest() -> bool:
    """Wait for work: briefly awake, then asleep. False if the token said something else than work. See NOTE [Sleep]."""
    for _k in range(SPIN):
        if load(pool_word) & 0xFFFFFFFF != 0:
            return True
        pause()
    add(pool_sleepers, 1)
    if load(pool_word) & 0xFFFFFFFF != 0 and withdrawn():
        return True
    sem_wait(pool_semaphore)
    return False


@raw
def worker(unused: int) -> int:
    """The life of a worker."""
    while load(pool_stopping) == 0:
        if rest():
            wake()  # two more, each of which wakes two: the caller cannot do all
            avoid_caller()
            drain()
    return 0


@raw
def avoid_caller() -> None:
    """Forbid this worker the caller's core, for good. See NOTE [Place]."""
    here = sched_getcpu()
    if here == pool_run[5] and 0 <= here < 1024:
        cores = words(16)
        for k in range(16):
            cores[k] = pool_cores[k]
        cores[here >> 6] = cores[here >> 6] & ((1 << (here & 63)) ^ -1)
        sched_setaffinity(0, 128, cores)  # refused where no other core is left: then we stay


@raw
def spawn() -> None:
    """Start the wanted workers, with all signals blocked; the holder of pool_busy only."""
    if pool_wanted[3] == 0:
        sem_init(pool_semaphore, 0, 0)
        pool_wanted[3] = 1
    blocked, before = words(16), words(16)
    sched_getaffinity(0, 128, pool_cores)
    sigfillset(blocked)
    pthread_sigmask(2, blocked, before)
    wanted, count = load(pool_wanted), 0
    while count < wanted:
        if pthread_create(address_of(pool_threads) + 8 * count, 0, function_address(worker), 0) != 0:
            store(pool_wanted, count)  # refused: no more are tried again
            break
        count += 1
    pool_wanted[1] = count
    pthread_sigmask(2, before, 0)


@raw
def seize() -> None:
    """Take the pool for itself, however long that needs."""
    while exchange(pool_busy, 1) != 0:
        sched_yield()


@c_entry
def pool_configure(wanted: int, steps_aside: int) -> None:
    """Set how many workers the next shared run is to have, and whether to step aside; ends those that there are."""
    seize()
    store(pool_stopping, 1)
    for _k in range(pool_wanted[1]):
        sem_post(pool_semaphore)
    for k in range(pool_wanted[1]):
        pthread_join(pool_threads[k], 0)
    pool_wanted[1] = 0
    store(pool_stopping, 0)
    store(pool_sleepers, 0)
    pool_wanted[3] = 0  # a fresh semaphore next time: no token is left over
    store(pool_wanted, wanted)
    pool_wanted[2] = steps_aside
    store(pool_owed, 0)
    store(pool_busy, 0)


@c_entry
def pool_ensure() -> int:
    """Start the workers now rather than in the first shared run; how many there are."""
    seize()
    if pool_wanted[1] == 0:
        spawn()
    now = pool_wanted[1]
    store(pool_busy, 0)
    return now


@c_entry
def pool_forget() -> None:
    """In a forked child: its parent's workers are not there, and what they were doing is no matter of ours."""
    pool_wanted[1] = 0
    pool_wanted[3] = 0
    store(pool_stopping, 0)
    store(pool_sleepers, 0)
    store(pool_owed, 0)
    store(pool_word, 0)
    store(pool_busy, 0)


@c_entry
def pool_counters(out: Words) -> None:
    """wanted, workers, runs that were shared, runs that stepped aside, nanoseconds owed"""
    out[0], out[1], out[2], out[3], out[4] = load(pool_wanted), pool_wanted[1], pool_shared[0], load(pool_aside), load(pool_owed)


@raw
def share(kernel: int, units: int, grain: int, chunks: int, pointers: int) -> None:
    """Publish a run to the workers, take part in it, and return when all chunks are done."""
    published = clock(1)
    pool_run[0], pool_run[1], pool_run[2], pool_run[3], pool_run[4] = kernel, units, grain, pointers, chunks
    pool_run[5] = sched_getcpu()
    store(pool_done, 0)
    store(pool_word, (load(pool_word) & -HALF) + HALF | chunks)
    wake()
    begun = clock(3)
    mine = drain()
    own, patience = clock(3) - begun, 0
    while load(pool_done) != chunks:
        patience += 1
        if patience > PATIENCE:
            sched_yield()
        else:
            pause()
    pool_shared[0] = pool_shared[0] + 1
    if pool_wanted[2] != 0:
        # See NOTE [Debt]. A caller that ran no chunk was kept from its core, most likely by the worker: half the time is lost.
        wall = clock(1) - published
        serial = wall // 2 if mine == 0 else own // mine * chunks
        loss = wall - serial * 7 // 8
        if loss > MOST_LOSS:
            loss = MOST_LOSS
        if loss > 0:
            store(pool_owed, loss * DEBT)


@raw
def parallel(kernel: int, units: int, grain: int, pointers: int) -> None:
    """Run a kernel over ``[0, units)``, shared with the workers if that promises to be quicker."""
    if load(pool_wanted) > 0 and grain < units:
        if load(pool_owed) > 0:  # a serial run, whose duration pays off what is owed
            before = clock(1)
            run_chunk(kernel, 0, units, pointers)
            subtract(pool_owed, clock(1) - before)
            add(pool_aside, 1)
            return
        if exchange(pool_busy, 1) == 0:
            if pool_wanted[1] == 0:
                spawn()
            if pool_wanted[1] != 0:
                if grain <= units >> 31:  # the number of chunks has 32 bits
                    grain = (units >> 31) + 1
                share(kernel, units, grain, (units - 1) // grain + 1, pointers)
                store(pool_busy, 0)
                return
            store(pool_busy, 0)
    run_chunk(kernel, 0, units, pointers)

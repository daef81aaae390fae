"""A thread pool in machine code: a large kernel is cut into chunks that parked workers and the caller claim.

``pool_ir()`` is LLVM IR for the launcher's module. Its ``@parallel(kernel, units, grain, pointers)`` runs a kernel of
Numba's convention, ``i32 kernel(ptr scratch0, ptr scratch1, i64 start, i64 stop, ptr args)``, over ``[0, units)``,
``grain`` units a claim. The workers are plain POSIX threads that block all signals and never touch Python: waking
them costs no Python, and the first large launch starts them, in a forked child too. ``Pool`` sets their number.

A launch is serial when there are no workers, one chunk, another launch holds the pool (which covers launches from
several Python threads and from inside a kernel), or the pool is in debt.

NOTE [Claim]: ``@pool_word`` is run << 32 | chunks left. A chunk is claimed by compare-and-swap from n to n - 1, and
only then are the run's fields read: a run cannot end, and its fields cannot change, while a claimed chunk is
unfinished. The run's number makes an old value fail to compare. A worker that wakes late finds 0 left and touches
nothing.

NOTE [Sleep]: sleepers + tokens of the semaphore >= workers asleep or about to be. A worker announces itself in
``@pool_sleepers`` and looks once more before it waits; if there is work after all it takes the announcement back, or,
if a publisher has already turned it into a token, waits for that token. Without this every such worker would leave a
token behind, and workers would wake for nothing ever more often.

NOTE [Place]: a scheduler that knows of no cache that two cores share (many virtual machines) wakes a worker where it
last ran, be it on the caller's core with all others idle: the two take turns until, milliseconds later, load is
balanced. So a worker that finds itself on the core from which the run was published forbids itself that core (two
cores, 130 us of work: 1.05 of one thread's time without this, 0.61 with it). Fixed places would be worse: a worker
could not leave a core that another process took.

NOTE [Debt]: where the cores are busy a worker that holds a chunk may not run for milliseconds, and the caller waits.
One thread would have taken (caller's processor time in its chunks) * chunks / (its chunks). What a run took beyond
7/8 of that is a loss, and the pool owes ``DEBT`` times the loss: later runs are serial and pay with their duration
until nothing is owed. So whatever the machine does, about 1/DEBT of the time at most is lost to trying (measured with
every core busy: 0.93 to 1.03 times the speed of one thread). Processor time, not the clock's, since a worker that
wakes on the caller's own core makes the caller look slow. A loss counts as ``MOST_LOSS`` at most, since a process
that was stopped comes back with hours.
"""
from __future__ import annotations

import atexit
import ctypes
import math
import os
import platform
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ...base.errors import RangeError

__all__ = ["NoPool", "Pool", "PoolCounters", "pool_ir", "available_threads", "default_threads"]

MOST_THREADS = 256
# Looks before a worker sleeps: 0.8 us on Zen 4 (25 ns a pause), 1.5 us on Skylake. A longer spin halves the speed of a
# BLAS that wants the same core.
SPIN = 32
# The caller waits as briefly: if the worker it waits for sits on its own core, spinning keeps that worker from running.
PATIENCE = 50
DEBT = 16
MOST_LOSS = 20_000_000          # nanoseconds

ENTRY_POINTS = """
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

; One cache line each, so that claims do not disturb the readers of the run.
@pool_word = internal global i64 0, align 64
@pool_done = internal global i64 0, align 64
@pool_busy = internal global i32 0, align 64
@pool_sleepers = internal global i64 0, align 64
@pool_run = internal global [5 x i64] zeroinitializer, align 64     ; kernel, units, grain, pointers, chunks
@pool_callers_core = internal global i32 0                          ; a hint, so read without a claim
@pool_semaphore = internal global [8 x i64] zeroinitializer, align 64
@pool_stopping = internal global i64 0, align 64
; Rarely written.
@pool_wanted = internal global i64 0, align 64                      ; workers that there ought to be
@pool_workers = internal global i64 0                               ; workers that there are
@pool_steps_aside = internal global i64 1                           ; whether losses are counted
@pool_ready = internal global i64 0                                 ; whether the semaphore is initialised
@pool_threads = internal global [@MOST_THREADS x i64] zeroinitializer
@pool_cores = internal global [16 x i64] zeroinitializer            ; cpu_set_t: where workers may run
; Written by every run: nanoseconds owed, then runs that were shared and runs that stepped aside.
@pool_owed = internal global i64 0, align 64
@pool_shared_runs = internal global i64 0
@pool_aside_runs = internal global i64 0

; Nanoseconds of a clock.
define internal i64 @pool_clock(i32 %which) alwaysinline {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 %which, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

; CLOCK_MONOTONIC: takes 22 ns.
define internal i64 @pool_now() {
  %now = call i64 @pool_clock(i32 1)
  ret i64 %now
}

; CLOCK_THREAD_CPUTIME_ID, which stands still while this thread is kept from running: takes 500 ns, a system call.
define internal i64 @pool_own_time() {
  %now = call i64 @pool_clock(i32 3)
  ret i64 %now
}

@PAUSE

; Claim and run chunks until none is left; return how many this thread ran. See NOTE [Claim].
define internal i64 @pool_drain() {
entry:
  %scratch = alloca [4 x i64], align 16                   ; of this thread: kernels may write their two result words
  %second = getelementptr i64, ptr %scratch, i64 2
  br label %look
look:
  %mine = phi i64 [0, %entry], [%mine, %claim], [%more, %work]
  %seen = load atomic i64, ptr @pool_word acquire, align 8
  %left = and i64 %seen, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out, label %claim
claim:
  %less = sub i64 %seen, 1
  %swap = cmpxchg ptr @pool_word, i64 %seen, i64 %less acq_rel acquire
  %won = extractvalue { i64, i1 } %swap, 1
  br i1 %won, label %work, label %look
work:
  %kernel = load ptr, ptr @pool_run
  %units = load i64, ptr getelementptr (i64, ptr @pool_run, i64 1)
  %grain = load i64, ptr getelementptr (i64, ptr @pool_run, i64 2)
  %pointers = load ptr, ptr getelementptr (i64, ptr @pool_run, i64 3)
  %chunks = load i64, ptr getelementptr (i64, ptr @pool_run, i64 4)
  %index = sub i64 %chunks, %left
  %start = mul i64 %index, %grain
  %rest = sub i64 %units, %start
  %length = call i64 @llvm.smin.i64(i64 %grain, i64 %rest)
  %stop = add i64 %start, %length
  call i32 %kernel(ptr %scratch, ptr %second, i64 %start, i64 %stop, ptr %pointers)
  atomicrmw add ptr @pool_done, i64 1 acq_rel
  %more = add i64 %mine, 1
  br label %look
out:
  ret i64 %mine
}
declare i64 @llvm.smin.i64(i64, i64)

; The life of a worker. See NOTE [Sleep].
define internal ptr @pool_worker(ptr %unused) {
entry:
  br label %begin
begin:
  br label %spin
spin:
  %i = phi i64 [0, %begin], [%next, %idle]
  %seen = load atomic i64, ptr @pool_word acquire, align 8
  %left = and i64 %seen, 4294967295
  %some = icmp ne i64 %left, 0
  br i1 %some, label %work, label %idle
idle:
  call void @pool_pause()
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, @SPIN
  br i1 %again, label %spin, label %announce
announce:
  atomicrmw add ptr @pool_sleepers, i64 1 seq_cst
  %last = load atomic i64, ptr @pool_word seq_cst, align 8
  %last_left = and i64 %last, 4294967295
  %came = icmp ne i64 %last_left, 0
  br i1 %came, label %retract, label %wait
retract:
  %sleepers = load atomic i64, ptr @pool_sleepers seq_cst, align 8
  %token_is_due = icmp sle i64 %sleepers, 0
  br i1 %token_is_due, label %wait, label %withdraw
withdraw:
  %fewer = sub i64 %sleepers, 1
  %swap = cmpxchg ptr @pool_sleepers, i64 %sleepers, i64 %fewer seq_cst seq_cst
  %withdrawn = extractvalue { i64, i1 } %swap, 1
  br i1 %withdrawn, label %work, label %retract
wait:
  call i32 @sem_wait(ptr @pool_semaphore)
  %stopping = load atomic i64, ptr @pool_stopping acquire, align 8
  %stop = icmp ne i64 %stopping, 0
  br i1 %stop, label %end, label %begin
work:
  call void @pool_wake()                                  ; two more, each of which wakes two: the caller cannot do all
  call void @pool_avoid_caller()
  call i64 @pool_drain()
  br label %begin
end:
  ret ptr null
}

; Leave the caller's core for good. See NOTE [Place].
define internal void @pool_avoid_caller() {
entry:
  %cores = alloca [16 x i64]
  %here = call i32 @sched_getcpu()
  %callers = load atomic i32, ptr @pool_callers_core monotonic, align 4
  %same = icmp eq i32 %here, %callers
  %known = icmp ult i32 %here, 1024
  %leave = and i1 %same, %known
  br i1 %leave, label %move, label %out
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %cores, ptr @pool_cores, i64 128, i1 false)
  %index = lshr i32 %here, 6
  %bit = and i32 %here, 63
  %bit64 = zext i32 %bit to i64
  %one = shl i64 1, %bit64
  %mask = xor i64 %one, -1
  %at = getelementptr i64, ptr %cores, i32 %index
  %word = load i64, ptr %at
  %others = and i64 %word, %mask
  store i64 %others, ptr %at
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %cores) ; refused where no other core is left: then we stay
  br label %out
out:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Wake one or two sleeping workers, if there are chunks for them besides the one that this thread will claim.
define internal void @pool_wake() {
entry:
  %seen = load atomic i64, ptr @pool_word monotonic, align 8
  %left = and i64 %seen, 4294967295
  %others = sub i64 %left, 1
  %most = call i64 @llvm.smin.i64(i64 %others, i64 2)
  br label %look
look:
  %asleep = load atomic i64, ptr @pool_sleepers seq_cst, align 8
  %count = call i64 @llvm.smin.i64(i64 %asleep, i64 %most)
  %nobody = icmp sle i64 %count, 0
  br i1 %nobody, label %out, label %take
take:
  %rest = sub i64 %asleep, %count
  %swap = cmpxchg ptr @pool_sleepers, i64 %asleep, i64 %rest seq_cst seq_cst
  %taken = extractvalue { i64, i1 } %swap, 1
  br i1 %taken, label %post, label %look
post:
  %i = phi i64 [0, %take], [%next, %post]
  call i32 @sem_post(ptr @pool_semaphore)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %post, label %out
out:
  ret void
}

; Start the wanted workers, with all signals blocked; the holder of @pool_busy only. Fewer if the system refuses, and
; no more are tried again then.
define internal void @pool_spawn() noinline {
entry:
  %all = alloca [16 x i64]                                ; sigset_t is 128 bytes
  %old = alloca [16 x i64]
  %ready = load i64, ptr @pool_ready
  %fresh = icmp eq i64 %ready, 0
  br i1 %fresh, label %initialise, label %mask
initialise:
  call i32 @sem_init(ptr @pool_semaphore, i32 0, i32 0)
  store i64 1, ptr @pool_ready
  br label %mask
mask:
  call i32 @sched_getaffinity(i32 0, i64 128, ptr @pool_cores)
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)    ; SIG_SETMASK
  %wanted = load atomic i64, ptr @pool_wanted monotonic, align 8
  br label %test
test:
  %i = phi i64 [0, %mask], [%next, %start]
  %more = icmp slt i64 %i, %wanted
  br i1 %more, label %start, label %done
start:
  %thread = getelementptr i64, ptr @pool_threads, i64 %i
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @pool_worker, ptr null)
  %next = add i64 %i, 1
  %good = icmp eq i32 %error, 0
  br i1 %good, label %test, label %refused
refused:
  store atomic i64 %i, ptr @pool_wanted monotonic, align 8
  br label %done
done:
  store i64 %i, ptr @pool_workers
  call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}

; Take the pool for itself, however long that needs.
define internal void @pool_seize() {
entry:
  br label %try
try:
  %was = atomicrmw xchg ptr @pool_busy, i32 1 acquire
  %taken = icmp ne i32 %was, 0
  br i1 %taken, label %yield, label %out
yield:
  call i32 @sched_yield()
  br label %try
out:
  ret void
}

define internal void @pool_release() alwaysinline {
  store atomic i32 0, ptr @pool_busy release, align 4
  ret void
}

; End the workers and wait for them; the holder of @pool_busy only. Each leaves with the first token that it gets.
define internal void @pool_end_workers() noinline {
entry:
  %workers = load i64, ptr @pool_workers
  store atomic i64 1, ptr @pool_stopping release, align 8
  br label %post
post:
  %i = phi i64 [0, %entry], [%next, %token]
  %more = icmp slt i64 %i, %workers
  br i1 %more, label %token, label %join
token:
  call i32 @sem_post(ptr @pool_semaphore)
  %next = add i64 %i, 1
  br label %post
join:
  %j = phi i64 [0, %post], [%next_j, %wait]
  %more_j = icmp slt i64 %j, %workers
  br i1 %more_j, label %wait, label %done
wait:
  %at = getelementptr i64, ptr @pool_threads, i64 %j
  %thread = load i64, ptr %at
  call i32 @pthread_join(i64 %thread, ptr null)
  %next_j = add i64 %j, 1
  br label %join
done:
  store i64 0, ptr @pool_workers
  store atomic i64 0, ptr @pool_stopping release, align 8
  store atomic i64 0, ptr @pool_sleepers seq_cst, align 8
  store i64 0, ptr @pool_ready                            ; a fresh semaphore next time: no token is left over
  ret void
}

; Set how many workers the next shared run is to have, and whether to step aside; ends those that there are.
define void @pool_configure(i64 %wanted, i64 %steps_aside) {
  call void @pool_seize()
  call void @pool_end_workers()
  store atomic i64 %wanted, ptr @pool_wanted monotonic, align 8
  store i64 %steps_aside, ptr @pool_steps_aside
  store atomic i64 0, ptr @pool_owed monotonic, align 8
  call void @pool_release()
  ret void
}

; Start the workers now rather than in the first shared run; return how many there are.
define i64 @pool_ensure() {
entry:
  call void @pool_seize()
  %workers = load i64, ptr @pool_workers
  %none = icmp eq i64 %workers, 0
  br i1 %none, label %spawn, label %out
spawn:
  call void @pool_spawn()
  br label %out
out:
  %now = load i64, ptr @pool_workers
  call void @pool_release()
  ret i64 %now
}

; In a forked child: its parent's workers are not there, and what they were doing is no matter of ours.
define void @pool_forget() {
  store i64 0, ptr @pool_workers
  store i64 0, ptr @pool_ready
  store atomic i64 0, ptr @pool_stopping release, align 8
  store atomic i64 0, ptr @pool_sleepers seq_cst, align 8
  store atomic i64 0, ptr @pool_owed monotonic, align 8
  store atomic i64 0, ptr @pool_word seq_cst, align 8
  call void @pool_release()
  ret void
}

; wanted, workers, runs that were shared, runs that stepped aside, nanoseconds owed
define void @pool_counters(ptr %out) {
@COUNTERS
  ret void
}

define internal void @pool_serial(ptr %kernel, i64 %units, ptr %pointers) alwaysinline {
  %scratch = alloca [4 x i64], align 16
  %second = getelementptr i64, ptr %scratch, i64 2
  call i32 %kernel(ptr %scratch, ptr %second, i64 0, i64 %units, ptr %pointers)
  ret void
}

; A serial run, whose duration pays off what is owed.
define internal void @pool_aside(ptr %kernel, i64 %units, ptr %pointers) {
  %before = call i64 @pool_now()
  call void @pool_serial(ptr %kernel, i64 %units, ptr %pointers)
  %after = call i64 @pool_now()
  %took = sub i64 %after, %before
  atomicrmw sub ptr @pool_owed, i64 %took monotonic
  atomicrmw add ptr @pool_aside_runs, i64 1 monotonic
  ret void
}

; Publish a run to the workers, take part in it, and return when all chunks are done.
define internal void @pool_share(ptr %kernel, i64 %units, i64 %grain, i64 %chunks, ptr %pointers) {
entry:
  %published = call i64 @pool_now()
  store ptr %kernel, ptr @pool_run
  store i64 %units, ptr getelementptr (i64, ptr @pool_run, i64 1)
  store i64 %grain, ptr getelementptr (i64, ptr @pool_run, i64 2)
  store ptr %pointers, ptr getelementptr (i64, ptr @pool_run, i64 3)
  store i64 %chunks, ptr getelementptr (i64, ptr @pool_run, i64 4)
  %core = call i32 @sched_getcpu()
  store atomic i32 %core, ptr @pool_callers_core monotonic, align 4
  store atomic i64 0, ptr @pool_done release, align 8
  %old = load atomic i64, ptr @pool_word monotonic, align 8
  %old_run = and i64 %old, -4294967296
  %new_run = add i64 %old_run, 4294967296
  %new = or i64 %new_run, %chunks
  store atomic i64 %new, ptr @pool_word seq_cst, align 8
  call void @pool_wake()
  %begun = call i64 @pool_own_time()
  %mine = call i64 @pool_drain()
  %drained = call i64 @pool_own_time()
  br label %finish
finish:
  %n = phi i64 [0, %entry], [%n1, %pause], [%n1, %yield]
  %done = load atomic i64, ptr @pool_done acquire, align 8
  %all = icmp eq i64 %done, %chunks
  br i1 %all, label %account, label %late
late:
  %n1 = add i64 %n, 1
  %long = icmp sgt i64 %n1, @PATIENCE
  br i1 %long, label %yield, label %pause
pause:
  call void @pool_pause()
  br label %finish
yield:
  call i32 @sched_yield()
  br label %finish
account:
  %finished = call i64 @pool_now()
  %wall = sub i64 %finished, %published
  %own = sub i64 %drained, %begun
  call void @pool_account(i64 %wall, i64 %own, i64 %mine, i64 %chunks)
  ret void
}

; See NOTE [Debt]. A caller that ran no chunk was kept from its core, most likely by the worker: half the time is lost.
define internal void @pool_account(i64 %wall, i64 %own, i64 %mine, i64 %chunks) {
entry:
  %runs = load i64, ptr @pool_shared_runs
  %runs1 = add i64 %runs, 1
  store i64 %runs1, ptr @pool_shared_runs
  %counting = load i64, ptr @pool_steps_aside
  %counts = icmp ne i64 %counting, 0
  br i1 %counts, label %judge, label %out
judge:
  %own_f = sitofp i64 %own to double
  %mine_f = sitofp i64 %mine to double
  %chunks_f = sitofp i64 %chunks to double
  %wall_f = sitofp i64 %wall to double
  %rate = fdiv double %own_f, %mine_f
  %estimate = fmul double %rate, %chunks_f
  %half = fmul double %wall_f, 5.0e-1
  %ran_none = icmp eq i64 %mine, 0
  %serial = select i1 %ran_none, double %half, double %estimate
  %fair = fmul double %serial, 8.75e-1
  %loss = fsub double %wall_f, %fair
  %lost = fcmp ogt double %loss, 0.0
  br i1 %lost, label %owe, label %out
owe:
  %huge = fcmp ogt double %loss, @MOST_LOSS.0
  %counted = select i1 %huge, double @MOST_LOSS.0, double %loss
  %debt = fmul double %counted, @DEBT.0
  %debt_i = fptosi double %debt to i64
  store atomic i64 %debt_i, ptr @pool_owed monotonic, align 8
  br label %out
out:
  ret void
}

define private void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %pointers) {
entry:
  %wanted = load atomic i64, ptr @pool_wanted monotonic, align 8
  %nobody = icmp sle i64 %wanted, 0
  %single = icmp sge i64 %grain, %units
  %alone = or i1 %nobody, %single
  br i1 %alone, label %serial, label %solvent
solvent:
  %owed = load atomic i64, ptr @pool_owed monotonic, align 8
  %owes = icmp sgt i64 %owed, 0
  br i1 %owes, label %aside, label %enter
enter:
  %was = atomicrmw xchg ptr @pool_busy, i32 1 acquire
  %taken = icmp ne i32 %was, 0
  br i1 %taken, label %serial, label %have
have:
  %workers = load i64, ptr @pool_workers
  %none = icmp eq i64 %workers, 0
  br i1 %none, label %spawn, label %share
spawn:
  call void @pool_spawn()
  %spawned = load i64, ptr @pool_workers
  %refused = icmp eq i64 %spawned, 0
  br i1 %refused, label %leave, label %share
leave:
  call void @pool_release()
  br label %serial
serial:
  call void @pool_serial(ptr %kernel, i64 %units, ptr %pointers)
  ret void
aside:
  call void @pool_aside(ptr %kernel, i64 %units, ptr %pointers)
  ret void
share:
  ; The number of chunks has 32 bits, and a grain is at least 1.
  %least = lshr i64 %units, 31
  %least1 = add i64 %least, 1
  %short = icmp slt i64 %grain, %least1
  %length = select i1 %short, i64 %least1, i64 %grain
  %before_last = sub i64 %units, 1
  %last = sdiv i64 %before_last, %length
  %chunks = add i64 %last, 1
  call void @pool_share(ptr %kernel, i64 %units, i64 %length, i64 %chunks, ptr %pointers)
  call void @pool_release()
  ret void
}
"""

# Elsewhere there are no workers: macOS has no unnamed semaphores, Windows none of these functions.
SERIAL_ENTRY_POINTS = """
define void @pool_configure(i64 %wanted, i64 %steps_aside) {
  ret void
}
define i64 @pool_ensure() {
  ret i64 0
}
define void @pool_forget() {
  ret void
}
define void @pool_counters(ptr %out) {
  ret void
}
define private void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %pointers) {
  %scratch = alloca [4 x i64], align 16
  %second = getelementptr i64, ptr %scratch, i64 2
  call i32 %kernel(ptr %scratch, ptr %second, i64 0, i64 %units, ptr %pointers)
  ret void
}
"""

HAS_WORKERS = sys.platform == "linux" and sys.maxsize > 2**32
# What tells a core that it waits; not inline assembly, which would need LLVM's assembler in a warm process.
PAUSES = {"x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
          "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)")}
COUNTERS = ("pool_wanted", "pool_workers", "pool_shared_runs", "pool_aside_runs", "pool_owed")


def pool_ir() -> str:
    """The pool as LLVM IR for this machine: ``@parallel``, names in ``@pool_`` and declarations of C functions."""
    if not HAS_WORKERS:
        return SERIAL_ENTRY_POINTS
    counters = "\n".join(f"  %v{i} = load atomic i64, ptr @{name} monotonic, align 8\n"
                         f"  %at{i} = getelementptr i64, ptr %out, i64 {i}\n  store i64 %v{i}, ptr %at{i}"
                         for i, name in enumerate(COUNTERS))
    declaration, call = PAUSES.get(platform.machine(), ("", ""))
    pause = f"{declaration}\ndefine internal void @pool_pause() alwaysinline {{\n  {call}\n  ret void\n}}"
    values = {"PAUSE": pause, "COUNTERS": counters, "SPIN": SPIN, "PATIENCE": PATIENCE,
              "MOST_THREADS": MOST_THREADS, "MOST_LOSS": MOST_LOSS, "DEBT": DEBT}
    text = ENTRY_POINTS
    for name, value in values.items():
        text = text.replace("@" + name, str(value))
    return text


class PoolCounters(NamedTuple):
    """What the pool is and has done.

    Attributes:
        wanted: workers besides the caller that it is set to have.
        workers: workers that run; 0 before the first large launch.
        shared: launches that were cut up.
        aside: launches that ran on one thread to pay for a loss: see NOTE [Debt].
        owed: nanoseconds of serial work still to be done for that; nothing if negative.
    """

    wanted: int
    workers: int
    shared: int
    aside: int
    owed: int


class NoPool:
    """The pool of launchers that have no threads."""

    def set_num_threads(self, threads: int) -> None:
        """Accepted and without effect."""

    def get_num_threads(self) -> int:
        """One."""
        return 1


class Pool:
    """The threads of one module that contains ``pool_ir()``; nbgrad has one.

    Args:
        entries: addresses of the functions in ``ENTRIES``.
        threads: threads in total, the caller included; by default ``default_threads()``.
        steps_aside: False keeps sharing launches however slow that is (for tests).

    Raises:
        RangeError: ``threads`` is not 1 to 256.
    """

    ENTRIES = ("pool_configure", "pool_ensure", "pool_forget", "pool_counters")

    def __init__(self, entries: Mapping[str, int], threads: int | None = None, steps_aside: bool = True):
        # CFUNCTYPE drops the interpreter lock: a thread that waits for the pool must not stop the one that holds it.
        self._configure = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(entries["pool_configure"])
        self._ensure = ctypes.CFUNCTYPE(ctypes.c_int64)(entries["pool_ensure"])
        self._forget = ctypes.CFUNCTYPE(None)(entries["pool_forget"])
        self._counters = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entries["pool_counters"])
        self._threads = 1
        self._steps_aside = steps_aside
        self.set_num_threads(default_threads() if threads is None else threads)
        # Before LLVM's memory goes: a worker must not be inside code that is unmapped.
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def set_num_threads(self, threads: int) -> None:
        """Use ``threads`` threads, the caller included; 1 means no workers. Waits for a launch that is being shared.

        Raises:
            RangeError: ``threads`` is not 1 to 256.
        """
        self._threads = check_threads(threads, "set_num_threads")
        self._configure(self._threads - 1, self._steps_aside)

    def get_num_threads(self) -> int:
        """How many threads a large launch uses, the caller included."""
        return self._threads if HAS_WORKERS else 1

    def ensure(self) -> int:
        """Start the workers now, which the first large launch would do (some 50 us each); return how many there are."""
        return self._ensure()

    def stop(self) -> None:
        """End the workers and launch serially from now on, until ``set_num_threads``."""
        self._configure(0, self._steps_aside)

    def counters(self) -> PoolCounters:
        """What the pool is and has done."""
        words = (ctypes.c_int64 * len(COUNTERS))()
        self._counters(words)
        return PoolCounters(*words)


def check_threads(threads: object, where: str) -> int:
    """``threads`` if it is a possible number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise RangeError(f"{where}: {threads!r} threads, expected a whole number from 1 to {MOST_THREADS}.")
    return threads


def default_threads() -> int:
    """``NBGRAD_NUM_THREADS`` as it stands, else what is available, and at most ``OMP_NUM_THREADS``.

    Raises:
        RangeError: ``NBGRAD_NUM_THREADS`` is not 1 to 256. (A malformed ``OMP_NUM_THREADS`` is not ours to judge.)
    """
    chosen = os.environ.get("NBGRAD_NUM_THREADS", "").strip()
    if chosen:
        return check_threads(int(chosen) if chosen.isdecimal() else chosen, "NBGRAD_NUM_THREADS")
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()     # the outermost level of "4,2"
    asked = int(first) if first.isdecimal() and int(first) else MOST_THREADS
    return min(available_threads(), asked, MOST_THREADS)


def available_threads() -> int:
    """Processors that this process may keep busy: its affinity mask, and the control group's quota rounded up."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(count, quota())))


def quota(root: str = "/") -> float:
    """Processors' worth of time that the control groups (version 1 or 2) grant; infinity without a limit.

    Args:
        root: where ``proc`` and ``sys`` are, for tests.
    """
    groups = os.path.join(root, "sys/fs/cgroup")
    limits = [math.inf]
    for line in read_text(os.path.join(root, "proc/self/cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts, read = [groups, os.path.join(groups, "unified")], quota_v2
        elif "cpu" in controllers.split(","):
            mounts, read = [os.path.join(groups, controllers), os.path.join(groups, "cpu")], quota_v1
        else:
            continue
        limits += [read(folder) for mount in mounts for folder in ancestors(mount, path)]
    return min(limits)


def ancestors(mount: str, path: str) -> list[str]:
    """The folders from ``mount/path`` up to ``mount``: any group above limits those below.

    In a container ``path`` may be the host's, and missing; then ``mount`` is the group.
    """
    parts = [part for part in path.split("/") if part]
    return [os.path.join(mount, *parts[:depth]) for depth in range(len(parts), -1, -1)]


def quota_v2(folder: str) -> float:
    """``cpu.max`` is "quota period", in microseconds, or "max period"."""
    return ratio(*(read_text(os.path.join(folder, "cpu.max")).split() + ["", ""])[:2])


def quota_v1(folder: str) -> float:
    """Two files; a quota of -1 is no limit."""
    return ratio(*(read_text(os.path.join(folder, f"cpu.cfs_{name}_us")).strip() for name in ("quota", "period")))


def ratio(quota: str, period: str) -> float:
    """``quota / period`` where both are positive numbers, else infinity."""
    usable = quota.isdecimal() and period.isdecimal() and int(quota) > 0 and int(period) > 0
    return int(quota) / int(period) if usable else math.inf


def read_text(path: str) -> str:
    """A small file's text; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""

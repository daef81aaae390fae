"""The pool's own source under schedules drawn at random: at every step that other threads may see, another may run."""

from __future__ import annotations

import inspect
import random
import textwrap
import threading

import pytest

from nbgrad.native import pool, primitives
from nbgrad.native.language import Static

WORKERS, RUNS, CHUNKS = 2, 3, 4
WORDS = ("pool_word", "pool_done", "pool_busy", "pool_sleepers", "pool_stopping", "pool_owed", "pool_shared", "pool_aside")


class Actor:
    """A thread that runs only while it has the baton."""

    def __init__(self, schedule, body):
        self.schedule, self.body = schedule, body
        self.baton, self.done, self.waiting, self.error = threading.Semaphore(0), False, False, None
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def live(self):
        self.baton.acquire()
        try:
            self.body()
        except Ended:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self.schedule.baton.release()

    def turn(self):
        """Let it run to its next step."""
        self.baton.release()
        self.schedule.baton.acquire()

    def step(self):
        """Called by the thread itself: let others run."""
        self.schedule.baton.release()
        self.baton.acquire()
        if self.schedule.ended:
            raise Ended


class Ended(BaseException):
    """The schedule is over, and so are its threads."""


class Schedule:
    """One caller and some workers, of which one runs at a time.

    Attributes:
        tokens: of the semaphore.
        ran: the chunks that ran: kernel, start, stop.
    """

    def __init__(self, seed, patch):
        self.chance, self.baton, self.ended = random.Random(seed), threading.Semaphore(0), False
        self.tokens, self.ran = 0, []
        # Words of its own: with ``NBGRAD_NATIVE=0`` those of the module are what launches of this process read.
        stand_ins = {name: Static(0) for name in WORDS} | {
            "pool_run": Static(0, 0, 0, 0, 0, 0),
            "pool_wanted": Static(WORKERS, WORKERS, 0, 1),
            "SPIN": 2,
            "PATIENCE": 4,
            "sem_wait": self.wait,
            "sem_post": self.post,
            "run_chunk": self.run_chunk,
            "sched_yield": self.switch,
            "sched_getcpu": lambda: 0,
            "clock": lambda which: 0,
            "avoid_caller": lambda: None,
        }
        for name, value in stand_ins.items():
            patch.setattr(pool, name, value)
        patch.setattr(primitives, "switch", self.switch)
        self.caller = Actor(self, self.call)
        self.workers = [Actor(self, lambda: pool.worker(0)) for _ in range(WORKERS)]

    def current(self):
        return next((actor for actor in (self.caller, *self.workers) if actor.thread is threading.current_thread()), None)

    def switch(self):
        actor = self.current()
        if actor is not None:
            actor.step()

    def wait(self, semaphore):
        actor = self.current()
        actor.waiting = True
        while not self.tokens:
            actor.step()
        self.tokens -= 1
        actor.waiting = False
        return 0

    def post(self, semaphore):
        self.tokens += 1
        return 0

    def run_chunk(self, kernel, start, stop, pointers):
        self.switch()
        self.ran.append((kernel, start, stop))
        self.switch()

    def call(self):
        """Several runs, one after another: each chunk of each runs once, before the run returns."""
        for number in range(RUNS):
            before = len(self.ran)
            pool.share(number, 10 * CHUNKS, 10, CHUNKS, 0)
            expected = [(number, 10 * k, 10 * k + 10) for k in range(CHUNKS)]
            assert sorted(self.ran[before:]) == expected, self.ran[before:]
            for _ in range(self.chance.randrange(6)):
                self.switch()

    def able(self, actors):
        return [actor for actor in actors if not actor.done and not (actor.waiting and not self.tokens)]

    def run(self):
        """Until the runs are over, and then until the workers are at rest: all asleep, no token left (NOTE [Sleep])."""
        try:
            turns = 0
            while not self.caller.done:
                able = self.able((self.caller, *self.workers))
                assert able, "nobody can run"
                self.chance.choice(able).turn()
                turns += 1
                assert turns < 20_000, "nobody gets on"
            for actor in (self.caller, *self.workers):
                assert actor.error is None, actor.error
            for _ in range(2_000):
                able = self.able(self.workers)
                if not able:
                    break
                self.chance.choice(able).turn()
            asleep = sum(worker.waiting for worker in self.workers)
            assert (asleep, self.tokens, pool.pool_sleepers[0]) == (WORKERS, 0, WORKERS), "the workers do not come to rest"
        finally:
            self.end()

    def end(self):
        self.ended = True
        for actor in (self.caller, *self.workers):
            while not actor.done:
                actor.turn()
            actor.thread.join()


def explore(schedules, seed=0):
    """Run so many schedules."""
    for number in range(schedules):
        with pytest.MonkeyPatch.context() as patch:
            Schedule(seed + number, patch).run()


def test_every_chunk_runs_once_under_any_schedule():
    """However the threads take turns, a run's chunks run once each and before it returns; then all workers sleep."""
    explore(400)


@pytest.mark.slow
def test_every_chunk_runs_once_under_many_schedules():
    """The same, longer."""
    explore(5_000, 1_000)


PLANTED = {
    "a claim without compare-and-swap": (
        "drain",
        "if swap(pool_word, seen, seen - 1):",
        "store(pool_word, seen - 1)\n        if True:",
    ),
    "an announcement that is not taken back": ("rest", "!= 0 and withdrawn():", "!= 0:"),
    "a run that does not wait for its chunks": ("share", "while load(pool_done) != chunks:", "while False:"),
    "a count of done chunks that is not reset": ("share", "    store(pool_done, 0)\n", ""),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_is_seen(name, monkeypatch):
    """A mistake that is put into the source shows under some schedule: what the test above says is not empty."""
    function, old, new = PLANTED[name]
    text = textwrap.dedent(inspect.getsource(getattr(pool, function)))
    assert text.count(old) == 1
    scope = dict(vars(pool))
    text = text.replace("@raw\n", "").replace(old, new)
    monkeypatch.setattr(pool, function, getattr(pool, function))  # put back at the end
    exec(compile(text, f"<{function} with a mistake>", "exec"), vars(pool))
    assert scope[function] is not getattr(pool, function)
    with pytest.raises(AssertionError):
        explore(400)

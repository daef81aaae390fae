"""Texts become machine code side by side, each the same as alone; what fails is raised, and no thread stays."""

from __future__ import annotations

import sys
import threading

import pytest

from nbgrad.errors import KernelError
from nbgrad.kernels.cpu import emit
from nbgrad.kernels.cpu.disk import Store
from nbgrad.kernels.cpu.store import Loader


def function(name, value):
    """A function that gives a number."""
    return f"define i64 @{name}() {{\n  ret i64 {value}\n}}\n"


TEXTS = {f"f{k}": function(f"f{k}", k) for k in range(7)}


def test_side_by_side_as_one_by_one(monkeypatch):
    """The bytes are the same, for any number of threads."""
    alone = {name: emit.Emitter().emit(text) for name, text in TEXTS.items()}
    for threads in (1, 2, 5):
        monkeypatch.setattr(emit, "available_threads", lambda threads=threads: threads)
        assert emit.emit_all(iter(TEXTS.items()), len(TEXTS)) == alone


def test_what_llvm_refuses_is_raised():
    """After all others are done."""
    before = threading.active_count()
    with pytest.raises(KernelError, match="LLVM refuses the text"):
        emit.emit_all(iter({**TEXTS, "wrong": "define i64 @f( {"}.items()), 8)
    assert threading.active_count() == before


def test_an_interrupt_between_texts_ends_the_threads():
    """Ctrl-C while the next text is written; turns of Python's threads are as long as before, too."""

    def interrupted():
        yield "f1", TEXTS["f1"]
        raise KeyboardInterrupt

    before = threading.active_count(), sys.getswitchinterval()
    with pytest.raises(KeyboardInterrupt):
        emit.emit_all(interrupted(), 3)
    assert (threading.active_count(), sys.getswitchinterval()) == before


def test_a_loader_loads_many(tmp_path):
    """Each once: what it has, what the disk has, what is compiled; objects and texts."""
    asked = []

    def of(name):
        def compile():
            asked.append(name)
            text = TEXTS[name]
            return (emit.Emitter().emit(text) if name == "f3" else text), [name]

        return compile

    wanted = {name: of(name) for name in TEXTS}
    loader = Loader(Store(tmp_path))
    loader.load("f0", wanted["f0"])
    loader.load_all(wanted)
    loader.load_all(wanted)
    assert asked == list(TEXTS) and loader.compiled == len(TEXTS) and sorted(loader.keys()) == sorted(TEXTS)
    again = Loader(Store(tmp_path))
    again.load_all(wanted)
    assert again.hits == len(TEXTS) and again.compiled == 0 and asked == list(TEXTS)


def test_one_that_fails_keeps_no_other_from_being_asked_for_again(tmp_path):
    """Nothing is half loaded."""
    loader = Loader(Store(tmp_path))
    with pytest.raises(KernelError):
        loader.load_all({"f1": lambda: (TEXTS["f1"], ["f1"]), "wrong": lambda: ("nothing", ["wrong"])})
    assert loader.keys() == [] and loader.load("f1", lambda: (TEXTS["f1"], ["f1"])).keys() == {"f1"}

"""Loaded functions: what their arguments must be, what objects they use, where they may be called, damaged and foreign files."""

from __future__ import annotations

import json
import os

import pytest

import nbgrad
from nbgrad.errors import ArgumentError, GraphError
from nbgrad.jit import load, loading, save
from nbgrad.jit.files import files
from nbgrad.kernels.cpu.store import loader


def scaled(x, y, k=2):
    return {"sum": (x * y * k).sum(), "x": x.exp()}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A saved function."""
    made = nbgrad.compile(scaled, fullgraph=True)
    made(nbgrad.ones(2, 3), nbgrad.ones(3))
    path = tmp_path_factory.mktemp("saved") / "scaled"
    save(made, path)
    return path


# ---- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (lambda: (nbgrad.ones(2, 2), nbgrad.ones(3)), r"x: expected float32\[2, 3\], got float32\[2, 2\]\. Hint: save it behind"),
        (lambda: (nbgrad.ones(3, 2).t(), nbgrad.ones(3)), r"x: expected float32\[2, 3\], got float32\[2, 3\]\.strides\(1, 2\)"),
        (lambda: (nbgrad.ones(2, 3), nbgrad.ones(3).double()), r"y: expected float32\[3\], got float64\[3\]"),
        (
            lambda: (nbgrad.ones(2, 3), nbgrad.ones(3, requires_grad=True)),
            r"y: expected float32\[3\], got float32\[3\].requires_grad",
        ),
        (lambda: (nbgrad.ones(2, 3), 3), r"y: expected float32\[3\], got 3"),
        (lambda: (nbgrad.ones(2, 3),), r"expected \(x: float32\[2, 3\], y: float32\[3\]\), got"),
        (lambda: (nbgrad.ones(2, 3), nbgrad.ones(3), 2), r"expected \(x: float32\[2, 3\], y: float32\[3\]\), got"),
        (lambda: (nbgrad.ones(2, 3)[0], nbgrad.ones(3)), r"x: expected"),
    ],
)
def test_other_arguments_are_refused_with_what_was_expected(path, args, said):
    """In the first call, and behind the quick one."""
    for calls in (0, 2):
        loaded = load(path)
        for _ in range(calls):
            loaded(nbgrad.ones(2, 3), nbgrad.ones(3))
        with pytest.raises(ArgumentError, match=f"scaled: was saved for other arguments: {said}"):
            loaded(*args())
        assert loaded(nbgrad.ones(2, 3), nbgrad.ones(3))["sum"].item() == 12


def test_other_modes_are_refused(path):
    """Grad mode and default dtype are as when it was saved."""
    with pytest.raises(ArgumentError, match="grad mode: expected on, got off"), nbgrad.no_grad():
        load(path)(nbgrad.ones(2, 3), nbgrad.ones(3))
    nbgrad.set_default_dtype(nbgrad.float64)
    try:
        x, y = nbgrad.ones(2, 3, dtype=nbgrad.float32), nbgrad.ones(3, dtype=nbgrad.float32)
        with pytest.raises(ArgumentError, match="default dtype: expected float32, got float64"):
            load(path)(x, y)
    finally:
        nbgrad.set_default_dtype(nbgrad.float32)


def test_answers_that_were_not_saved_are_refused(tmp_path):
    """With the line that asks for them."""

    def fn(x):
        return x * 2 if x.sum() > 0 else x - 1

    made = nbgrad.compile(fn, fullgraph=True)
    made(nbgrad.ones(2))
    save(made, tmp_path / "f", objects=False)
    loaded = load(tmp_path / "f")
    line = fn.__code__.co_firstlineno + 1
    for _ in range(2):
        assert loaded(nbgrad.ones(2)).tolist() == [2, 2]
        with pytest.raises(GraphError, match=f"fn: was saved for other answers: values that are asked for, at .*:{line}"):
            loaded(-nbgrad.ones(2))


def test_a_loaded_function_does_not_look_at_the_program(path, monkeypatch):
    """It is what it was when it was saved, whatever names hold now."""
    monkeypatch.setitem(globals(), "scaled", None)
    assert load(path)(nbgrad.ones(2, 3), nbgrad.ones(3))["sum"].item() == 12


def test_a_loaded_function_explains_itself(path):
    """As the one that was saved."""
    loaded = load(path)
    told = loaded.explain()
    assert told.name == "scaled" and told.variants[0].arguments == {"x": "float32[2, 3]", "y": "float32[3]"}
    assert "def scaled(x: float32[2, 3], y: float32[3])" in loaded.source()
    loaded.clear()
    assert len(loaded.variants) == 1


# ---- special modes -----------------------------------------------------------------------------------------------------


def test_a_loaded_function_may_be_part_of_a_compiled_one(path):
    """Its operations are captured."""
    loaded = load(path)
    outer = nbgrad.compile(lambda x, y: loaded(x, y)["sum"] + 1, fullgraph=True)
    for _ in range(2):
        assert outer(nbgrad.ones(2, 3), nbgrad.ones(3)).item() == 13


def test_a_loaded_function_runs_on_batches(path):
    """Its graph goes call by call."""
    loaded = load(path)
    x = nbgrad.randn(5, 2, 3)
    found = nbgrad.vmap(lambda x: loaded(x, nbgrad.ones(3))["sum"])(x)
    assert found.allclose((2 * x).sum((1, 2)))
    with pytest.raises(ArgumentError, match="expected"):
        nbgrad.vmap(lambda x: loaded(x, nbgrad.ones(3))["sum"])(nbgrad.randn(5, 3, 3))


def test_tangents_are_refused(path):
    """A program that was saved without them does not know which ones flow."""
    loaded = load(path)
    x = nbgrad.ones(2, 3)
    with pytest.raises(GraphError, match="tangents"):
        nbgrad.func.jvp(lambda x: loaded(x, nbgrad.ones(3))["sum"], (x,), (x,))


# ---- objects -----------------------------------------------------------------------------------------------------------


def rewritten(path, target, change) -> None:
    """A file with another table."""
    file = files.read_file(path)
    change(file.table)
    parts = {digest: file.find(digest) for digest in file.table["bytes"]}
    files.write_file(target, file.table, parts)


def test_objects_of_the_file_are_used(path):
    """As many as are in it."""
    assert load(path).objects == f"{len(files.read_file(path).table['objects'])} from the file"


def test_objects_of_another_processor_are_not_used(path, tmp_path):
    """The text is compiled."""
    rewritten(path, tmp_path / "f", lambda table: table.update(platform="another"))
    loaded = load(tmp_path / "f")
    assert "another processor" in loaded.objects
    assert loaded(nbgrad.ones(2, 3), nbgrad.ones(3))["sum"].item() == 12


def test_objects_of_another_version_are_not_used(path, monkeypatch):
    """Since kernels of a name may mean something else there."""
    monkeypatch.setattr(loading, "__version__", "99")
    assert "and this is 99: compiled from the text" in load(path).objects


def test_objects_that_others_may_have_written_are_not_used(path, tmp_path):
    """Machine code runs in our process."""
    (tmp_path / "f").write_bytes(path.read_bytes())
    os.chmod(tmp_path / "f", 0o666)
    assert "others may write the file" in load(tmp_path / "f").objects


def test_damaged_objects_are_compiled_again(path, tmp_path, monkeypatch):
    """Their digests tell."""
    table = files.read_file(path).table
    digest = next(iter(table["objects"].values()))["bytes"]
    data, (start, size) = bytearray(path.read_bytes()), table["bytes"][digest]
    at = len(data) - sum(count for _, count in table["bytes"].values()) + start + size // 2
    data[at] ^= 255
    (tmp_path / "f").write_bytes(data)
    offered = []
    monkeypatch.setattr(loader(), "offer", offered.append)
    loaded = load(tmp_path / "f")
    assert loaded.objects == f"{len(table['objects']) - 1} from the file, 1 damaged: compiled from the text"
    assert len(offered[0]) == len(table["objects"]) - 1
    assert loaded(nbgrad.ones(2, 3), nbgrad.ones(3))["sum"].item() == 12


# ---- files that are none -----------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    """As for any other file."""
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04zip", b"def f(): pass\n", b"\x80\x04\x95pickle", b"\n" * 500])
def test_foreign_files_are_refused(tmp_path, data):
    """By their first line."""
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(GraphError, match=r"load: '.*f' is no file that nbgrad.jit.save wrote: it begins with"):
        load(tmp_path / "f")


def test_files_of_another_format_are_refused(path, tmp_path):
    """A later nbgrad may write them otherwise."""
    (tmp_path / "f").write_bytes(path.read_bytes().replace(b"format 2", b"format 7", 1))
    with pytest.raises(GraphError, match="has format 7, expected 2. Hint: load it with the version"):
        load(tmp_path / "f")


def test_truncated_and_damaged_files_are_refused_wherever_it_is(path, tmp_path):
    """At every length; and for every byte of the head and the table."""
    data = path.read_bytes()
    size = len(files.read_file(path).data)
    for end in [*range(0, 200, 7), *range(200, len(data), 997), len(data) - 1]:
        (tmp_path / "f").write_bytes(data[:end])
        with pytest.raises(GraphError, match="is damaged|is no file"):
            load(tmp_path / "f")
    for at in [*range(120), *range(120, len(data) - size, 211)]:
        changed = bytearray(data)
        changed[at] ^= 1
        (tmp_path / "f").write_bytes(changed)
        with pytest.raises(GraphError, match="is damaged|is no file|has format"):
            load(tmp_path / "f")


def test_damaged_constants_are_refused(tmp_path):
    """They are none of the things that can be made again."""
    held = nbgrad.arange(100.0)
    made = nbgrad.compile(lambda x: x * held, fullgraph=True)
    made(nbgrad.ones(100))
    save(made, tmp_path / "f", objects=False)
    data = bytearray((tmp_path / "f").read_bytes())
    data[-5] ^= 255
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(GraphError, match=r"is damaged: a tensor float32\[100\] has not the digest"):
        load(tmp_path / "f")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.pop("variants"),
        lambda table: table["variants"][0].pop("kinds"),
        lambda table: table["variants"][0].update(leaves=[7]),
        lambda table: table["variants"][0].update(given={"kind": "os:system", "keys": None, "children": []}),
        lambda table: table["variants"][0].update(given={"kind": "nbgrad.base.config:os.system", "keys": None, "children": []}),
        lambda table: table["variants"][0]["graph"].update(text="import os\n"),
        lambda table: table["variants"][0]["graph"].update(text="def f(x: float32[2]) -> [float32[2]]:\n    return [exec('1')]\n"),
    ],
)
def test_tables_that_save_does_not_write_are_refused(path, tmp_path, change):
    """Whoever has written them: nothing of them runs."""
    rewritten(path, tmp_path / "f", change)
    with pytest.raises(GraphError):
        load(tmp_path / "f")


@pytest.mark.parametrize(
    "call",
    [
        "call(x, function='os:getcwd')",
        "call(x, function='nbgrad.base.config:os.getcwd')",
        "call(x, function='nbgrad.jit.files.files:remove')",
        "function_forward(x, args=(None,), extras=(), facts=(), function='subprocess:Popen', needs=(False,), places=(0,))",
        "update(x, rule='os:getcwd', outputs=1, names=(), numbers=())",
    ],
)
def test_graphs_that_name_functions_of_other_modules_are_refused(path, tmp_path, call):
    """Loading a file imports nothing, and running it calls nothing but operations."""
    head = "def f(x: float32[2, 3], y: float32[3]) -> [float32[2, 3]]:"
    text = f"{head}\n    v0: float32[2, 3]\n    (v0,) = {call}\n    return [v0, v0]\n"
    rewritten(path, tmp_path / "f", lambda table: table["variants"][0]["graph"].update(text=text, constants={}))
    with pytest.raises(GraphError, match="is a step in Python|check after load"):
        load(tmp_path / "f")


def test_graphs_that_break_the_rules_are_refused(path, tmp_path):
    """Layouts that operations do not give would read memory that is not theirs."""
    text = "def f(x: float32[2, 3], y: float32[3]) -> [float32[99]]:\n    v0: float32[99] = exp(x)\n    return [v0, v0]\n"
    rewritten(path, tmp_path / "f", lambda table: table["variants"][0]["graph"].update(text=text, constants={}))
    with pytest.raises(GraphError, match="check after load: layouts"):
        load(tmp_path / "f")


def test_the_table_is_text(path):
    """People can read it."""
    _, _, *rest = path.read_bytes().split(b"\n", 2)
    table, _ = json.JSONDecoder().raw_decode(rest[0].decode(errors="replace"))
    assert table["name"] == "scaled" and "mul(" in table["variants"][0]["graph"]["text"]


def test_the_nearest_program_is_named(tmp_path):
    """One for arguments of the same types, and what was given as one would write it."""
    fn, path = nbgrad.compile(lambda x: x * 2), str(tmp_path / "doubled")
    fn("ab")
    fn(nbgrad.ones(2))
    save(fn, path)
    loaded = load(path)
    for args, message in (
        ((nbgrad.ones(3),), r"x: expected float32\[2\], got float32\[3\] \(1 other kind of arguments does not fit either\). Hint"),
        ((), r"expected \(x: .*\), got \(\) \(1 other"),
        ((1, [nbgrad.ones(2)]), r"expected \(x: .*\), got \(1, \[float32\[2\]\]\) \(1 other"),
    ):
        with pytest.raises(ArgumentError, match=message):
            loaded(*args)


def test_a_folder_that_is_missing_is_named(tmp_path):
    """By its own name."""
    fn = nbgrad.compile(lambda x: x * 2)
    fn(nbgrad.ones(2))
    with pytest.raises(FileNotFoundError, match=r"no such folder.*missing'$"):
        save(fn, tmp_path / "missing" / "f.nbgrad")
    with pytest.raises(IsADirectoryError, match=r"/folder'$"):
        (tmp_path / "folder").mkdir()
        save(fn, tmp_path / "folder", objects=False)

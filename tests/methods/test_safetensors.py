"""Files of safetensors: what is written is read, other programs' files are, and what is no such file is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, safetensors
from nbgrad.base.errors import ArgumentError, FileError, NotSupportedError


def file_of(header, data=b""):
    """The bytes of a file."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_all_dtypes_and_shapes_come_back(tmp_path):
    """Strided and empty ones, scalars, metadata; elements are aligned."""
    tensors = {dtype.name: (nbgrad.arange(6) % 2).to(dtype).reshape(2, 3).T for dtype in safetensors.DTYPES}
    tensors |= {"empty": nbgrad.empty(0, 3), "scalar": nbgrad.tensor(2.5), "é": nbgrad.ones(1, requires_grad=True)}
    path = tmp_path / "some.safetensors"
    safetensors.save_file(tensors, path, {"format": "pt"})
    found = safetensors.load_file(path)
    assert safetensors.metadata_of(path) == {"format": "pt"} and found.keys() == tensors.keys()
    for name, x in tensors.items():
        assert found[name].dtype is x.dtype and found[name].equal(x.detach()) and found[name].shape == x.shape
        assert found[name].is_contiguous() and not found[name].requires_grad
    header = json.loads(path.read_bytes()[8:].split(b"}}")[0] + b"}}")
    assert all(value["data_offsets"][0] % 2 == 0 for name, value in header.items() if value.get("dtype") == "F16")


def test_the_format():
    """A file that is written out is read; the header of what is written ends at a multiple of 8."""
    data = np.array([1.5, -2.0], np.float32).tobytes() + b"\x01"
    entries = {
        "b": {"dtype": "BOOL", "shape": [], "data_offsets": [8, 9]},
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    }
    found = safetensors.load(file_of(entries, data))
    assert list(found) == ["b", "a"] and found["a"].tolist() == [1.5, -2.0] and found["b"].item() is True
    assert int.from_bytes(safetensors.save({"a": nbgrad.ones(1)})[:8], "little") % 8 == 0


def test_modules(tmp_path):
    """Their states are written and loaded, strictly or not."""
    model, other = nn.Linear(2, 3), nn.Linear(2, 3)
    safetensors.save_model(model, tmp_path / "model")
    assert safetensors.load_model(other, tmp_path / "model") == ([], []) and other.weight.equal(model.weight)
    assert safetensors.load_model(nn.Linear(2, 3, bias=False), tmp_path / "model", strict=False) == ([], ["bias"])


F4 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "would have 0 bytes, of 0"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "would have 1099511627776 bytes"),
        (file_of(b"{"), "is no JSON"),
        (file_of(b"[" * 100_000), "is no JSON"),
        (file_of(b'{"a": 1, "a": 2}'), "a name is there twice"),
        (file_of([]), "no object of JSON"),
        (file_of({"__metadata__": {"a": 1}}), "metadata are no texts"),
        (file_of({"a": 3}), "the entry of 'a' is 3"),
        (file_of({"a": {**F4, "dtype": "F8"}}, b"1234"), "the entry of 'a'"),
        (file_of({"a": {**F4, "shape": [-1]}}, b"1234"), "has sizes"),
        (file_of({"a": {**F4, "shape": [True]}}, b"1234"), "has sizes"),
        (file_of({"a": {**F4, "shape": [2]}}, b"1234"), "has 4 bytes, its shape"),
        (file_of({"a": F4}, b"123"), "it has 3 bytes of elements"),
        (file_of({"a": F4}, b"12345"), "it has 5 bytes of elements"),
        (file_of({"a": F4, "b": F4}, b"1234"), "begins at 0, expected 4"),
        (file_of({"a": {**F4, "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}, b"1234"), "its header names"),
    ],
)
def test_damaged_files(data, message):
    """Truncated, foreign, hostile: one error that says what is wrong, before memory is taken."""
    with pytest.raises(FileError, match=message):
        safetensors.load(data)


def test_what_cannot_be_written(tmp_path):
    """Complex numbers, other things than tensors; a file that was there stays."""
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    for tensors, options, error in (
        ({"a": nbgrad.ones(1, dtype=nbgrad.complex64)}, {}, NotSupportedError),
        ({"a": 3}, {}, ArgumentError),
        ([nbgrad.ones(1)], {}, ArgumentError),
        ({"__metadata__": nbgrad.ones(1)}, {}, ArgumentError),
        ({"a": nbgrad.ones(1)}, {"metadata": {"a": 1}}, ArgumentError),
    ):
        with pytest.raises(error, match="save_file"):
            safetensors.save_file(tensors, path, **options)
    assert path.read_bytes() == b"old"

"""Event files; the tensorboard package is no requirement of the tests, so what it writes is looked at where it is."""

from __future__ import annotations

import struct
import sys
import zlib

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArgumentError, NotSupportedError, ShapeError
from nbgrad.utils.tensorboard import SummaryWriter


def test_without_the_package(monkeypatch, tmp_path):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(NotSupportedError, match="pip install tensorboard"):
        SummaryWriter(tmp_path)


def events(folder):
    """The values of a folder's events by tag, with their steps."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    files = [file for file in folder.iterdir() if file.is_file()]
    found = [event for file in files for event in loader.LegacyEventFileLoader(str(file)).Load()]
    return {value.tag: (event.step, value) for event in found for value in event.summary.value}


def test_what_is_written_is_read(tmp_path):
    """Numbers, texts, histograms, pictures, settings; of tensors, arrays and numbers."""
    pytest.importorskip("tensorboard")
    values = nbgrad.tensor([0.0, 1.0, 1.0, -2.0])
    picture = nbgrad.arange(12.0).reshape(3, 2, 2) / 255
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        writer.add_scalar("loss", nbgrad.tensor(0.5, requires_grad=True), 7)
        writer.add_scalars("both", {"a": 1, "b": np.float64(2)}, 1)
        writer.add_text("note", "*text*", 2)
        writer.add_histogram("all", values)
        writer.add_histogram("few", values, bins=4, max_bins=2)
        writer.add_image("one", picture)
        writer.add_images("many", nbgrad.zeros(9, 1, 2, 3, dtype=nbgrad.uint8))
        writer.add_hparams({"lr": 0.1, "kind": "adam"}, {"end": 0.25}, {"kind": ["adam", "sgd"]}, run_name="run")
        with pytest.raises(ShapeError, match="4 elements"):
            writer.add_scalar("x", values)
        with pytest.raises(ArgumentError, match="no values"):
            writer.add_histogram("x", [])
        with pytest.raises(ShapeError, match="2 channels"):
            writer.add_image("x", nbgrad.zeros(2, 3, 3))
        with pytest.raises(NotSupportedError):
            writer.add_graph(None)
    found = events(tmp_path)
    assert found["loss"][0] == 7 and found["loss"][1].simple_value == 0.5
    assert events(tmp_path / "both_b")["both"][1].simple_value == 2
    assert found["note/text_summary"][1].tensor.string_val[0] == b"*text*"
    whole, few = found["all"][1].histo, found["few"][1].histo
    assert (whole.min, whole.max, whole.num, whole.sum, whole.sum_squares) == (-2, 1, 4, 0, 6) and sum(whole.bucket) == 4
    assert list(few.bucket_limit) == [-2, -0.5, 1] and list(few.bucket) == [0, 1, 3]
    image = found["one"][1].image
    assert (image.height, image.width, image.colorspace) == (2, 2, 3)
    assert pixels(image).tolist() == [[0, 4, 8, 1, 5, 9], [2, 6, 10, 3, 7, 11]]
    assert (found["many"][1].image.height, found["many"][1].image.width) == (4, 24)
    assert events(tmp_path / "run")["end"][1].simple_value == 0.25


def pixels(image):
    """The rows of a PNG that has one block of data, without their filters."""
    data = image.encoded_image_string
    at = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[at - 4 : at])
    return np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + length]), np.uint8).reshape(image.height, -1)[:, 1:]

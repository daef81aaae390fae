"""Event files for TensorBoard: ``nbgrad.utils.tensorboard``, as ``torch.utils.tensorboard``. The tensorboard package writes them.

>>> import os, tempfile, nbgrad
>>> folder = tempfile.mkdtemp()
>>> with SummaryWriter(folder) as writer:
...     writer.add_scalar("loss", nbgrad.tensor(0.5), 1)
>>> len(os.listdir(folder))
1
"""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

import numpy as np

from .. import Tensor
from ..base.errors import ArgumentError, NotSupportedError, ShapeError

__all__ = ["SummaryWriter"]


def package(path: str) -> Any:
    """A module of the tensorboard package.

    Raises:
        NotSupportedError: it is not installed.
    """
    try:
        return import_module(f"tensorboard.{path}")
    except ImportError as error:
        raise NotSupportedError("SummaryWriter: tensorboard is not installed. Hint: pip install tensorboard.") from error


class SummaryWriter:
    """Writes what a program says of its training to an event file, which ``tensorboard --logdir runs`` shows.

    Args:
        log_dir: the folder; by default one below ``runs``, of the time and the machine's name.
        comment: the end of the default folder's name.
        purge_step: the step from which on events of an earlier run, which stopped, are to be hidden.
        max_queue: how many events may wait; flush_secs: how many seconds.
        filename_suffix: the end of the file's name.

    Numbers may be tensors, arrays or Python's; a ``global_step`` is the place on the axis, ``walltime`` seconds since 1970.

    Raises:
        NotSupportedError: tensorboard is not installed.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir, self._settings = os.fspath(log_dir), (max_queue, flush_secs, filename_suffix)
        self._writers: dict[str, Any] = {}
        self._write(time.time(), purge_step, **({} if purge_step is None else {"session_log": purging()}))

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number.

        Args:
            new_style, double_precision: accepted; numbers are kept in single precision.
        """
        self._add(tag, global_step, walltime, simple_value=number(tag, scalar_value))

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Numbers for one diagram, each a run of its own in a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            self._add(main_tag, global_step, walltime, folder, simple_value=number(tag, value))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How often the elements of ``values`` fall into bins.

        Args:
            bins: "tensorflow", bins that grow by a tenth from 0 on both sides; or what ``numpy.histogram`` takes.
            max_bins: neighbouring bins are put together, to as many.

        Raises:
            ArgumentError: no values.
        """
        self._add(tag, global_step, walltime, histo=histogram(tag, array(values).ravel(), bins, max_bins))

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """A picture of one, three or four channels: floats from 0 to 1, or integers to 255.

        Args:
            dataformats: what the dimensions are, as "HWC" or "HW".

        Raises:
            ShapeError: other dimensions.
        """
        self._add(tag, global_step, walltime, image=picture(planes(tag, array(img_tensor), dataformats)))

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Pictures, in rows of eight."""
        self.add_image(tag, sheet(tag, array(img_tensor), dataformats), global_step, walltime, "HWC")

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """What a figure of matplotlib's shows, or several of a list, as pictures; each is closed unless told otherwise."""
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        pictures = []
        for each in figures:
            canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(each)
            canvas.draw()
            pictures.append(np.asarray(canvas.buffer_rgba()))
            if close:
                import_module("matplotlib.pyplot").close(each)
        if isinstance(figure, (list, tuple)):
            self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, pictures[0], global_step, walltime, "HWC")

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """A text, in Markdown."""
        metadata = package("plugins.text.metadata").create_summary_metadata(tag, "")
        shape = package("compat.proto.tensor_shape_pb2").TensorShapeProto
        tensor = package("compat.proto.tensor_pb2").TensorProto(
            dtype="DT_STRING", string_val=[str(text_string).encode()], tensor_shape=shape(dim=[shape.Dim(size=1)])
        )
        self._add(f"{tag}/text_summary", global_step, walltime, metadata=metadata, tensor=tensor)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The settings of this run and what came of them, in a folder of their own.

        Args:
            hparam_domain_discrete: the values that settings may have.
            run_name: the folder; by default the time.
        """
        hparams = package("plugins.hparams.summary_v2")
        domains = hparam_domain_discrete or {}
        names = [hparams.HParam(name, hparams.Discrete(domains[name]) if name in domains else None) for name in hparam_dict]
        folder, now = os.path.join(self.log_dir, run_name or str(time.time())), time.time()
        config = hparams.hparams_config_pb(names, [hparams.Metric(name) for name in metric_dict], now)
        settings = {name: value.item() if isinstance(value, (Tensor, np.generic)) else value for name, value in hparam_dict.items()}
        for summary in (config, hparams.hparams_pb(settings, trial_id=folder, start_time_secs=now)):
            self._write(now, None, folder, summary=summary)
        for name, value in metric_dict.items():
            self._add(name, global_step, None, folder, simple_value=number(name, value))

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """The graph of a model, not here.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("SummaryWriter.add_graph: not there. Hint: add_text with nbgrad.summary(model), nbgrad.graph.draw.")

    def flush(self) -> None:
        """Write what waits to the disk."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files; a later event opens others."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _add(self, tag: str, step: Any, walltime: float | None, folder: str | None = None, **value: Any) -> None:
        """One value under a tag."""
        summary = package("compat.proto.summary_pb2").Summary
        found = summary.Value(tag=tag, **value)
        self._write(time.time() if walltime is None else walltime, step, folder, summary=summary(value=[found]))

    def _write(self, walltime: float, step: Any, folder: str | None = None, **content: Any) -> None:
        """One event into the file of a folder, which is made on first use."""
        folder = folder or self.log_dir
        if folder not in self._writers:
            queue, seconds, suffix = self._settings
            kind = package("summary.writer.event_file_writer").EventFileWriter
            self._writers[folder] = kind(folder, queue, seconds, suffix)
        if content:
            event = package("compat.proto.event_pb2").Event(wall_time=walltime, step=int(step or 0), **content)
            self._writers[folder].add_event(event)


def purging() -> Any:
    """What hides later events of an earlier run."""
    log = package("compat.proto.event_pb2").SessionLog
    return log(status=log.START)


def array(values: Any) -> np.ndarray:
    """NumPy's array of what a user gives."""
    return values.detach().cpu().resolve_conj().numpy() if isinstance(values, Tensor) else np.asarray(values)


def number(tag: str, value: Any) -> float:
    """A number that a user gives.

    Raises:
        ShapeError: several.
    """
    found = array(value)
    if found.size != 1:
        raise ShapeError(f"SummaryWriter: {tag!r} has {found.size} elements, expected one number.")
    return float(found.reshape(()))


def histogram(tag: str, values: np.ndarray, bins: Any, max_bins: int | None) -> Any:
    """The message that a histogram is."""
    if not values.size:
        raise ArgumentError(f"SummaryWriter.add_histogram: {tag!r} has no values.")
    values = values.astype(np.float64)
    if isinstance(bins, str) and bins == "tensorflow":
        positive = 1e-12 * 1.1 ** np.arange(774)
        bins = np.concatenate([-positive[::-1], [0.0], positive])
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, range(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    (filled,) = counts.nonzero()
    first, last = (filled[0], filled[-1] + 1) if len(filled) else (0, 1)
    return package("compat.proto.summary_pb2").HistogramProto(
        min=values.min(),
        max=values.max(),
        num=values.size,
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=[*limits[first : last + 1]],
        bucket=[0.0, *counts[first:last]],
    )


def planes(tag: str, values: np.ndarray, dimensions: str) -> np.ndarray:
    """A picture as bytes: rows, columns, channels.

    Raises:
        ShapeError: other dimensions than it is said to have, or a number of channels that no picture has.
    """
    if sorted(dimensions.upper()) not in (["H", "W"], ["C", "H", "W"]) or len(dimensions) != values.ndim:
        raise ShapeError(f"SummaryWriter: {tag!r} has {values.ndim} dimensions, expected those of dataformats, {dimensions!r}.")
    if len(dimensions) == 2:
        values, dimensions = values[..., None], dimensions + "C"
    values = values.transpose([dimensions.upper().index(letter) for letter in "HWC"])
    if values.shape[-1] not in (1, 3, 4):
        raise ShapeError(f"SummaryWriter: {tag!r} has {values.shape[-1]} channels, expected 1, 3 or 4.")
    whole = np.issubdtype(values.dtype, np.integer)
    return np.ascontiguousarray((values if whole else values.astype(np.float32) * 255).clip(0, 255).astype(np.uint8))


def sheet(tag: str, values: np.ndarray, dimensions: str) -> np.ndarray:
    """Pictures, in rows of eight, as one; rows, columns, channels."""
    if "N" not in dimensions.upper() or len(dimensions) != values.ndim:
        raise ShapeError(f"SummaryWriter: {tag!r} has {values.ndim} dimensions, expected those of dataformats, {dimensions!r}.")
    batch = np.moveaxis(values, dimensions.upper().index("N"), 0)
    pictures = [planes(tag, each, dimensions.upper().replace("N", "")) for each in batch]
    empty = np.zeros_like(pictures[0])
    wide = min(8, len(pictures))
    rows = [pictures[k : k + wide] for k in range(0, len(pictures), wide)]
    return np.concatenate([np.concatenate([*row, *[empty] * (wide - len(row))], axis=1) for row in rows])


COLOURS = {1: 0, 3: 2, 4: 6}  # of PNG, by channels


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file: its length, its kind, what it has, and the sum by which it is checked."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(values: np.ndarray) -> Any:
    """The message that a picture is, in PNG. Source: the W3C's Portable Network Graphics."""
    high, wide, channels = values.shape
    filters = np.zeros((high, 1), np.uint8)  # each row begins with its filter: none
    rows = np.concatenate([filters, values.reshape(high, -1)], axis=1)
    head = struct.pack(">IIBBBBB", wide, high, 8, COLOURS[channels], 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    image = package("compat.proto.summary_pb2").Summary.Image
    return image(height=high, width=wide, colorspace=channels, encoded_image_string=png)

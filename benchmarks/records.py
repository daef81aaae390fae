"""Files of results, in the order in which their runs finished, and the places in texts where something of them is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS

__all__ = ["newest", "records_in", "replace_between"]


def records_in(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The results of a folder with their files, in the order in which their runs finished, by their own clocks.

    Raises:
        FileNotFoundError: no run has been recorded.
    """
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]
    if not found:
        raise FileNotFoundError(f"report: no results in {folder}, expected a JSON file. Hint: run `make bench` first.")
    return sorted(found, key=lambda pair: pair[1]["finished"])


def newest(folder: Path = RESULTS) -> Path:
    """The results file whose run finished last.

    Raises:
        FileNotFoundError: no run has been recorded.
    """
    return records_in(folder)[-1][0]


def replace_between(text: str, start: str, end: str, content: str) -> str:
    """``text`` with ``content`` between the two markers, which stay.

    Raises:
        ValueError: a marker is missing, or they stand in the wrong order.
    """
    head, found_start, rest = text.partition(start)
    _, found_end, tail = rest.partition(end)
    if not (found_start and found_end):
        raise ValueError(f"report: no {start} followed by {end} in the text. Hint: add both, on lines of their own.")
    return f"{head}{start}\n{content}\n{end}{tail}"

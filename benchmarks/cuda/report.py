"""The README's excerpt of what was measured on a GPU; ``python -m benchmarks.report`` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .run import RESULTS, told

__all__ = ["excerpt", "newest", "update"]

START, END = "<!-- gpu:start -->", "<!-- gpu:end -->"
ROOT = Path(__file__).parents[2]

# The rows that a reader of the README sees.
HEADLINES = (
    "add",
    "rows * row",
    "sum of rows",
    "softmax 65536x1024, forward and backward",
    "layer norm 65536x1024, forward and backward",
    "cross entropy 65536x1024, forward and backward",
    "cumsum",
    "sort of 16M",
    "product 8192 bfloat16",
    "mul of 16 with its node, host",
    "20 mul + sum, forward and backward",
    "MLP step 64-128-128-10, batch 128, SGD",
    "transformer step, 2 layers of 256, batch 16x128",
    "transformer step, 2 layers of 256, batch 16x128, captured",
    "Adam of 200 tensors of 65536",
    "import and first product, a process",
)


def newest(folder: Path = RESULTS) -> Path:
    """The results file whose run finished last.

    Raises:
        FileNotFoundError: no run has been recorded.
    """
    files = list(folder.glob("*.json"))
    if not files:
        raise FileNotFoundError(f"report: no results in {folder}. Hint: run `make bench-cuda` where a GPU is.")
    return max(files, key=lambda path: json.loads(path.read_text(encoding="utf-8")).get("finished", ""))


def excerpt(record: dict[str, Any], link: str) -> str:
    """Headline rows, how many budgets are met, and with what it was measured."""
    lines = ["| on a GPU | nbgrad | of a copy's rate | ratio to torch (p10-p90) | |", "|---|---:|---:|---:|---|"]
    rows = {row["name"]: row for row in record["rows"]}
    for row in (rows[name] for name in HEADLINES if name in rows and rows[name]["status"] != "failed"):
        share = f"{row['of copy']:.2f}" if "of copy" in row else ""
        ratio = "**{1:.2f}** ({0:.2f}-{2:.2f})".format(*row["ratios"]["torch"]) if "torch" in row["ratios"] else ""
        lines.append(f"| {row['name']} | {told(row)} | {share} | {ratio} | {'missed' if row['status'] == 'missed' else 'met'} |")
    judged = [row for row in record["rows"] if {"share", "budget", "limit"} & set(row)]
    met = sum(row["status"] == "ok" for row in judged)
    known = record["versions"]
    used = ", ".join(f"{name} {value}" for name, value in known.items() if name != "card")
    lines += ["", f"[All rows on an {known['card']}: {met} of {len(judged)} meet their budgets]({link}); {used}."]
    return "\n".join(lines)


def update(readme: Path = ROOT / "README.md", folder: Path = RESULTS) -> Path:
    """Write the newest results into a README between its markers; the path of their file."""
    from benchmarks.report import replace_between

    source = newest(folder)
    link = source.with_suffix(".md").relative_to(readme.parent).as_posix()
    content = excerpt(json.loads(source.read_text(encoding="utf-8")), link)
    readme.write_text(replace_between(readme.read_text(encoding="utf-8"), START, END, content), encoding="utf-8")
    return source

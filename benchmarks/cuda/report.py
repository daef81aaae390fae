"""The README's excerpt of what was measured on a GPU; ``python -m benchmarks.report`` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT

from .run import RESULTS, told

__all__ = ["excerpt", "records", "update"]

START, END = "<!-- gpu:start -->", "<!-- gpu:end -->"

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


def records(folder: Path = RESULTS) -> list[tuple[Path, dict[str, Any]]]:
    """Results with their files, the run that finished last first.

    Raises:
        FileNotFoundError: no run has been recorded.
    """
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]
    if not found:
        raise FileNotFoundError(f"report: no results in {folder}. Hint: run `make bench-cuda` where a GPU is.")
    return sorted(found, key=lambda pair: pair[1].get("finished", ""), reverse=True)


def excerpt(folder: Path = RESULTS, root: Path = ROOT) -> str:
    """Headline rows, each of the last run that has it, how many budgets that run meets, and with what it was measured."""
    runs = records(folder)
    lines = ["| on a GPU | nbgrad | of a copy's rate | ratio to torch (p10-p90) | |", "|---|---:|---:|---:|---|"]
    earlier = set()
    for name in HEADLINES:
        found = [(k, row) for k, (_, run) in enumerate(runs) for row in run["rows"] if row["name"] == name]
        if not found or found[0][1]["status"] == "failed":
            continue
        k, row = found[0]
        earlier |= {k} - {0}
        share = f"{row['of copy']:.2f}" if "of copy" in row else ""
        ratio = "**{1:.2f}** ({0:.2f}-{2:.2f})".format(*row["ratios"]["torch"]) if "torch" in row["ratios"] else ""
        verdict = "missed" if row["status"] == "missed" else "met"
        lines.append(f"| {name} {'*' * k}| {told(row)} | {share} | {ratio} | {verdict} |")
    links = [path.with_suffix(".md").relative_to(root).as_posix() for path, _ in runs]
    judged = [row for row in runs[0][1]["rows"] if {"share", "budget", "limit"} & set(row)]
    met = sum(row["status"] == "ok" for row in judged)
    known = runs[0][1]["versions"]
    used = ", ".join(f"{name} {value}" for name, value in known.items() if name != "card")
    notes = "".join(f" {chr(92)}{'*' * k}: [an earlier run]({links[k]})." for k in sorted(earlier))
    return "\n".join(
        [*lines, "", f"[All rows on an {known['card']}: {met} of {len(judged)} meet their budgets]({links[0]}); {used}.{notes}"]
    )


def update(readme: Path = ROOT / "README.md", folder: Path = RESULTS) -> Path:
    """Write the excerpt into a README between its markers; the path of the newest results."""
    from benchmarks.report import replace_between

    readme.write_text(
        replace_between(readme.read_text(encoding="utf-8"), START, END, excerpt(folder, readme.parent)), encoding="utf-8"
    )
    return records(folder)[0][0]

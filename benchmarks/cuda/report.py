"""The README's excerpt of what was measured on a GPU; ``python -m benchmarks.report`` writes it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.records import newest, records_in, replace_between

from .run import RESULTS, told

__all__ = ["excerpt", "update"]

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


def excerpt(folder: Path = RESULTS, root: Path = ROOT) -> str:
    """Headline rows, each of the last run that has it, how many budgets the last run meets, and with what it was measured."""
    runs = [(path.with_suffix(".md").relative_to(root).as_posix(), run) for path, run in reversed(records_in(folder))]
    last, final = runs[0]
    lines = ["| on a GPU | nbgrad | of a copy's rate | ratio to torch (p10-p90) | |", "|---|---:|---:|---:|---|"]
    for name in HEADLINES:
        found = [(link, row) for link, run in runs for row in run["rows"] if row["name"] == name]
        if not found or found[0][1]["status"] == "failed":
            continue
        link, row = found[0]
        share = f"{row['of copy']:.2f}" if "of copy" in row else ""
        ratio = "**{1:.2f}** ({0:.2f}-{2:.2f})".format(*row["ratios"]["torch"]) if "torch" in row["ratios"] else ""
        earlier = "" if link == last else f" ([earlier]({link}))"
        lines.append(f"| {name}{earlier} | {told(row)} | {share} | {ratio} | {'missed' if row['status'] == 'missed' else 'met'} |")
    judged = [row for row in final["rows"] if {"share", "budget", "limit"} & set(row)]
    met = sum(row["status"] == "ok" for row in judged)
    used = ", ".join(f"{name} {value}" for name, value in final["versions"].items() if name != "card")
    card = final["versions"]["card"]
    return "\n".join([*lines, "", f"[All rows on an {card}: {met} of {len(judged)} meet their budgets]({last}); {used}."])


def update(readme: Path = ROOT / "README.md", folder: Path = RESULTS) -> Path:
    """Write the excerpt into a README between its markers; the path of the newest results."""
    text = replace_between(readme.read_text(encoding="utf-8"), START, END, excerpt(folder, readme.parent))
    readme.write_text(text, encoding="utf-8")
    return newest(folder)

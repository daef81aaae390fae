"""Tables and plots of measured ratios: on the terminal, beside a results file, and in the project's README.

``python -m benchmarks.report`` takes the newest file of ``benchmarks/results``, writes the complete table beside it as
Markdown and the headline rows between the markers in ``README.md``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cuda.report import update as update_gpu
from benchmarks.harness import OURS, RESULTS, ROOT, Result, Spread
from benchmarks.records import records_in, replace_between

__all__ = ["Row", "plot", "results_in", "rows_of", "show", "update_operations", "update_readme"]

PREFIXES = {"s": {1.0: "", 1e-3: "m", 1e-6: "µ", 1e-9: "n"}, "B": {1e9: "G", 1e6: "M", 1e3: "k", 1.0: ""}}
START, END = "<!-- benchmarks:start -->", "<!-- benchmarks:end -->"

# The rows that a reader of the README sees; the others are one click away.
HEADLINES = (
    "mul of 16 elements, grad recorded",
    "20 mul + sum of 16 elements, forward and backward",
    "MLP 64x8-16-1, forward and backward",
    "MLP training step, batch 128, 64-128-128-10, SGD",
    "sum(tanh(2x+1) exp(-x^2)), 1M float32, forward and backward",
    "tanh 1,000,000 float32",
    "layer norm 512x256, forward and backward",
    "matmul 512x512 float32",
    "Lotka-Volterra, 100 steps, gradient",
    "double backward, 16 elements",
    "chain of 1,000,000 nodes: backward",
    "compiled: MLP 64x8-16-1, value and gradients",
    "compiled: MLP 64x8-16-1, training step with Adam",
    "import nbgrad",
)


@dataclass(frozen=True)
class Row:
    """A line of a table: one budget of one result, or a result without a budget."""

    name: str
    ours: str
    peer: str
    theirs: str
    ratio: Spread | None
    budget: str
    verdict: str
    others: str


def rows_of(result: Result) -> list[Row]:
    """A row for each budget of ``result``; one row, with an empty verdict, if it has none."""
    rows = [
        row_against(result, peer, f"{ratio:g}", verdict_on(result.ratios[peer].median, ratio))
        for peer, ratio in result.budgets.items()
    ]
    if result.limit is not None:
        verdict = verdict_on(result.measured[OURS].median, result.limit)
        rows.append(row_against(result, result.peer, quantity(result.limit, result.unit), verdict))
    return rows or [row_against(result, result.peer, "", "")]


def row_against(result: Result, peer: str, budget: str, verdict: str) -> Row:
    """The row that sets nbgrad beside ``peer``; the remaining candidates' ratios go into ``others``."""
    measured = {key: quantity(spread.median, result.unit) for key, spread in result.measured.items()}
    others = " · ".join(
        [*(f"{key} {s.median:.2f}" for key, s in sorted(result.ratios.items()) if key != peer), *filter(None, [result.note])]
    )
    theirs = measured.get(peer, "")
    return Row(result.name, measured[OURS], peer if theirs else "", theirs, result.ratios.get(peer), budget, verdict, others)


def verdict_on(value: float, budget: float) -> str:
    """The verdict on a budget."""
    return "missed" if value > budget else "met"


def quantity(value: float, unit: str) -> str:
    """A measurement with three digits and a prefix: ``12.3 µs``, ``1.5 MB``."""
    prefixes = PREFIXES.get(unit, {1.0: ""})
    scale = next((scale for scale in prefixes if abs(value) >= scale), min(prefixes))
    return f"{value / scale:.3g} {prefixes[scale]}{unit}"


def spread_text(ratio: Spread | None) -> str:
    """The 10th to the 90th percentile of a ratio."""
    return f"{ratio.low:.2f}-{ratio.high:.2f}" if ratio else ""


def median_text(ratio: Spread | None) -> str:
    """The median of a ratio."""
    return f"{ratio.median:.2f}" if ratio else ""


def results_in(record: Mapping[str, Any]) -> list[Result]:
    """The results of a record as read from JSON."""
    return [Result.from_dict(entry) for entry in record["results"]]


def score(rows: Sequence[Row]) -> str:
    """How many budgets were met."""
    judged = [row for row in rows if row.verdict]
    return f"{sum(row.verdict == 'met' for row in judged)} of {len(judged)} budgets met"


def show(results: Sequence[Result], before: Sequence[Result] = ()) -> None:
    """Print the table on the terminal; with ``before``, the earlier ratio of every row that has one."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = [row for result in results for row in rows_of(result)]
    earlier = {(row.name, row.peer): median_text(row.ratio) for result in before for row in rows_of(result)}
    table = Table(title=f"nbgrad beside its peers: {score(rows)}", box=None, header_style="bold", title_justify="left")
    table.add_column("benchmark", overflow="fold")
    for title in ("nbgrad", "peer", "ratio", *(["before"] if before else []), "p10-p90", "budget"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("other ratios", style="dim")
    for row in rows:
        past = [earlier.get((row.name, row.peer), "")] if before else []
        style = {"met": "green", "missed": "red"}.get(row.verdict, "")
        table.add_row(
            escape(row.name),
            row.ours,
            f"{row.peer} {row.theirs}",
            median_text(row.ratio),
            *past,
            spread_text(row.ratio),
            row.budget,
            f"[{style}]{row.verdict}[/]" if style else "",
            row.others,
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=180)
    console.print()
    console.print(table)


def plot(results: Sequence[Result], path: Path) -> None:
    """Draw every ratio that has a budget, on a logarithmic axis: dot and bar the median and spread, tick the budget."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    points = [(f"{r.name} / {peer}", r.ratios[peer], budget) for r in results for peer, budget in r.budgets.items()]
    if not points:
        return
    labels, ratios, budgets = zip(*reversed(points), strict=True)
    colours = ["tab:green" if s.median <= b else "tab:red" for s, b in zip(ratios, budgets, strict=True)]
    height = range(len(labels))
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.22 * len(labels)), layout="constrained")
    axes.hlines(height, [s.low for s in ratios], [s.high for s in ratios], colors=colours)
    axes.scatter([s.median for s in ratios], height, c=colours, s=14, zorder=3)
    axes.scatter(budgets, height, marker="|", c="black", s=60)
    axes.axvline(1, color="grey", linewidth=0.5)
    axes.set(
        xscale="log",
        yticks=height,
        yticklabels=labels,
        ylim=(-1, len(labels)),
        xlabel="time of nbgrad / time of the peer (median, p10 to p90; | is the budget)",
    )
    axes.tick_params(axis="y", labelsize=7)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def markdown(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| benchmark | nbgrad | peer | ratio (p10-p90) | budget | | other ratios |"
    yield "|---|---:|---:|---:|---:|---|---|"
    for row in rows:
        ratio = f"**{row.ratio.median:.2f}** ({spread_text(row.ratio)})" if row.ratio else ""
        budget = f"≤ {row.budget}" if row.budget else ""
        yield (f"| {row.name} | {row.ours} | {row.peer} {row.theirs} | {ratio} | {budget} | {row.verdict} | {row.others} |")


def provenance(record: Mapping[str, Any]) -> str:
    """One paragraph: where, when and with what the numbers were measured."""
    machine, versions = record["machine"], record["versions"]
    share = f"{machine['cpu share']:.2f} of a core used"
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = " to ".join(f"{machine[key][0]:.1f}" for key in ("load before", "load after"))
    products = f", products by the kernels for {machine['blas']}" if "blas" in machine else ""  # records of old have none
    failed = f" Failed, and so not listed: {', '.join(record['failed'])}." if record["failed"] else ""
    return (
        f"Ratios are time of nbgrad / time of the peer, below 1 where nbgrad is faster: median and 10th to 90th "
        f"percentile over interleaved rounds, one thread unless the row says otherwise. {record['finished'][:10]}, "
        f"commit {record['commit']}, {machine['cpu']}, {machine['cores']} cores{products}, load {load}, {share}; {used}.{failed}"
    )


def page(record: Mapping[str, Any], plot_name: str) -> str:
    """The complete table of a record, as a Markdown page."""
    rows = [row for result in results_in(record) for row in rows_of(result)]
    return "\n".join(
        [f"# Benchmarks: {score(rows)}", "", provenance(record), "", *markdown(rows), "", f"![ratios and budgets]({plot_name})", ""]
    )


def headline(record: Mapping[str, Any], link: str) -> str:
    """The README's excerpt: the headline rows, the score of all rows, the provenance."""
    results = results_in(record)
    rows = [row for name in HEADLINES for result in results if result.name == name for row in rows_of(result)]
    total = score([row for result in results for row in rows_of(result)])
    return "\n".join([*markdown(rows), "", f"[All rows: {total}]({link}). {provenance(record)}"])


def update_readme(readme: Path = ROOT / "README.md", folder: Path = RESULTS) -> Path:
    """Write the newest results into ``readme`` and, completely, beside the results file; the path of that file."""
    source, record = records_in(folder)[-1]
    complete = source.with_suffix(".md")
    complete.write_text(page(record, source.with_suffix(".png").name))
    link = complete.relative_to(readme.parent).as_posix()
    readme.write_text(replace_between(readme.read_text(), START, END, headline(record, link)))
    return source


# ---- operations ------------------------------------------------------------------------------------------------------

MOST, MEAN = 1.2, 0.5  # budgets: of every ratio, and of their geometric mean
PAGE = ROOT / "docs" / "performance.md"
KINDS = (("small", "call"), ("small", "step"), ("large", "call"), ("large", "step"))
DECISIONS = ROOT / "benchmarks" / "decisions.md"
INTRODUCTION = """# Performance

## Operations beside torch

Every operation, torch 2.13 beside nbgrad in one process, in turn, one thread, float32: operands of 16 elements (small)
and of about a million (large; less where the work grows faster than the operand). *call*: nothing is recorded; *step*:
the call and its gradient. Numbers are time of nbgrad / time of torch, medians over interleaved rounds: below 1, nbgrad
is faster. The budget is 1.2 for every operation and 0.5 for the geometric mean. `make bench` measures,
`python -m benchmarks.report` writes this page."""
GRADIENTS = """Gradients are asked for by `grad`. `backward` into `.grad` copies a gradient that is a view of the cotangent
that the caller gave (of `view`, `transpose` and their like), so that neither changes with the other; torch's `.grad` is
that memory.

Half of the large calls lie between 0.78 and 1.2: they move memory, as torch's do, and a loop in C takes as long (the sum
of two operands of a million elements 403 us in C, with stores that pass the caches 406). A mean of 0.5 is out of reach
for them on a processor whose vectors are as wide as torch's; what computes is at half and below."""


def ratios_of(record: Mapping[str, Any]) -> dict[str, dict[tuple[str, str], float]]:
    """The median ratios of a record of operations: by name, then by size and kind."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in record["results"]:
        name, size, kind = row["name"].split(" | ")
        found.setdefault(name, {})[size, kind] = row["ratio"][0]
    return found


def mean_of(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def summary_lines(now: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """The summary by size and kind, with that of an earlier record."""
    yield "| | operations | geometric mean | slower than 1.2 | earlier: mean | slower than 1.2 |"
    yield "|---|---:|---:|---:|---:|---:|"
    for key in KINDS:
        cells = [" ".join(key)]
        for found in (now, before):
            values = [ratios[key] for ratios in found.values() if key in ratios]
            cells += [str(len(values))] if found is now else []
            cells += [f"{mean_of(values):.2f}", str(sum(value > MOST for value in values))]
        yield f"| {' | '.join(cells)} |"


def operation_lines(found: Mapping[str, Mapping[tuple[str, str], float]]) -> Iterator[str]:
    """A row for every operation, the worst first."""
    from benchmarks.operations import reason_of

    yield "| operation | small call | small step | large call | large step | why |"
    yield "|---|---:|---:|---:|---:|---|"
    for name in sorted(found, key=lambda name: -max(found[name].values())):
        ratios = found[name]
        numbers = [(ratios.get(key, 0.0), f"{ratios[key]:.2f}" if key in ratios else "") for key in KINDS]
        cells = [f"**{text}**" if value > MOST else text for value, text in numbers]
        why = reason_of(name) if max(ratios.values()) > MOST else ""
        yield f"| `{name}` | {' | '.join(cells)} | {why} |"


def update_operations(page: Path = PAGE, folder: Path = RESULTS / "operations") -> Path:
    """Write the page of performance: operations from the newest record, beside the oldest, and decisions; the path of that record.

    Raises:
        FileNotFoundError: no run has been recorded. LookupError: a row is slower than the budget, and nobody says why.
    """
    from benchmarks.operations import unexplained

    records = records_in(folder)
    (_, first), (source, last) = records[0], records[-1]
    found = ratios_of(last)
    missing = unexplained(found, MOST)
    if missing:
        raise LookupError(f"report: slower than {MOST} without a reason: {', '.join(missing)}. Hint: REASONS in operations.py.")
    earlier = f"Earlier is commit {first['commit']}."
    tables = (*summary_lines(found, ratios_of(first)), "", GRADIENTS, "", *operation_lines(found), "")
    decisions = ("## Why it is made like that", "", DECISIONS.read_text(encoding="utf-8").rstrip(), "")
    lines = (INTRODUCTION, "", provenance(last), "", earlier, "", *tables, *decisions)
    page.write_text("\n".join(lines), encoding="utf-8")
    return source


if __name__ == "__main__":
    try:
        print(f"docs/performance.md: table from {update_operations().name}")
    except (FileNotFoundError, LookupError) as error:
        print(error)
    try:
        print(f"README.md: table from {update_readme().name}")
        print(f"README.md: table of a GPU from {update_gpu().name}")
    except (FileNotFoundError, ValueError) as error:
        sys.exit(str(error))

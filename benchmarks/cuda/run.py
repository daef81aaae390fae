"""A run of the measurements: a line a row as it happens, and a table of all."""

from __future__ import annotations

import datetime
import gc
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import nbgrad
from nbgrad.cuda.check.report import versions

from .measure import Measured, measure
from .others import others, program_of
from .programs import Row, rows

__all__ = ["peers", "run", "save", "table"]

RESULTS = Path(__file__).parent.parent / "results" / "cuda"


def peers() -> dict[str, Any]:
    """nbgrad, and torch where it sees a GPU."""
    found: dict[str, Any] = {"nbgrad": nbgrad}
    try:
        import torch
    except ImportError:
        return found
    if torch.cuda.is_available():
        found["torch"] = torch
    return found


def run(words: list[str], rounds: int, seconds: float, out: str | None, tiny: bool = False) -> list[dict[str, Any]] | None:
    """All rows whose names have one of the words; None without a GPU.

    Args:
        seconds: no row begins later.
        out: a file to which each row goes as a line of JSON.
    """
    if not nbgrad.cuda.is_available():
        print("benchmarks.cuda: there is no GPU, or no driver, or no cuda-core. Hint: pip install 'nbgrad[cuda]'.", file=sys.stderr)
        return None
    start, found = datetime.datetime.now(), []
    lines = open(out, "a", encoding="utf-8") if out else None
    known, copy_rate, libraries, more = versions(), None, peers(), others()
    print(" ".join(f"{name} {value}" for name, value in known.items()))
    for row in rows(tiny):
        if not any(word in row.name for word in words):
            continue
        if (datetime.datetime.now() - start).total_seconds() > seconds:
            break
        record = measured_row(row, libraries, more, rounds, copy_rate)
        if row.name == "copy" and record["status"] != "failed":
            copy_rate = row.nbytes / min(record["seconds"].values())
        found.append(record)
        print(line(record), flush=True)
        if lines is not None:
            print(json.dumps(record | {"versions": known}), file=lines, flush=True)
        gc.collect()
        for each in (*libraries.values(), *more.values()):
            each.cuda.empty_cache()
    return found


def measured_row(row: Row, libraries: dict[str, Any], more: dict[str, Any], rounds: int, copy_rate: float | None) -> dict[str, Any]:
    """What a row's measurement gives; a failure is a row, too.

    Args:
        more: libraries that have programs of their own (others.py).
    """
    record: dict[str, Any] = {"stage": "benchmarks", "name": row.name, "clock": row.clock}
    candidates, theirs = {}, program_of(row)
    programs = {name: (lib, row.program) for name, lib in libraries.items()}
    programs |= {name: (lib, theirs) for name, lib in more.items() if theirs is not None}
    for name, (lib, program) in programs.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                candidates[name] = lib, program(lib)
        except Exception as error:  # a peer without the operation is left out
            record[f"error of {name}"] = f"{type(error).__name__}: {error}"[:300]
    try:
        if "nbgrad" not in candidates:
            raise RuntimeError(record.get("error of nbgrad", ""))
        before = sum(nbgrad.cuda.host_fallbacks().values())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(candidates, row.clock, rounds, 0.03)
        if sum(nbgrad.cuda.host_fallbacks().values()) > before:
            record["note"] = "runs on the host"
    except Exception as error:
        return record | {"status": "failed", "error": f"{type(error).__name__}: {error}"[:500]}
    return record | judged(row, found, copy_rate)


def judged(row: Row, found: Measured, copy_rate: float | None) -> dict[str, Any]:
    """Times, rates and ratios, and whether the budgets are met."""
    ours = found.seconds["nbgrad"]
    record: dict[str, Any] = {"seconds": found.seconds, "ratios": found.ratios, "rounds": found.rounds, "status": "ok"}
    missed = []
    if row.nbytes:
        record["GB/s"] = row.nbytes / ours / 1e9
        if copy_rate:
            record["of copy"] = row.nbytes / ours / copy_rate
            if row.share:
                record["share"] = row.share
                missed += [f"of copy {row.share}"] if record["of copy"] < row.share else []
    if row.flops:
        record["TFLOP/s"] = row.flops / ours / 1e12
    if row.budget is not None:
        record["budget"] = row.budget
        missed += [f"torch {row.budget}"] if "torch" in found.ratios and found.ratios["torch"][1] > row.budget else []
    if row.limit is not None:
        record["limit"] = row.limit
        missed += [f"{row.limit:g} s"] if ours > row.limit else []
    if missed:
        record["status"], record["missed"] = "missed", missed
    return record


def line(record: dict[str, Any]) -> str:
    """A row for the terminal."""
    if record["status"] == "failed":
        return f"{record['name']:58} FAILED {record['error'][:150]}"
    rate = f"{record['GB/s']:6.0f} GB/s" if "GB/s" in record else f"{record['TFLOP/s']:6.1f} TF/s" if "TFLOP/s" in record else ""
    share = f"{record['of copy']:5.2f}" if "of copy" in record else ""
    ratio = "{1:6.2f} ({0:.2f} to {2:.2f})".format(*record["ratios"]["torch"]) if "torch" in record["ratios"] else ""
    missed = ", ".join(record.get("missed", ()))
    ends = " ".join(filter(None, [missed, ratios_of_others(record), record.get("note", "")]))
    return f"{record['name']:58} {told(record):>13} {rate:12} {share:5} {ratio:24} {ends}"


def ratios_of_others(record: dict[str, Any]) -> str:
    """Medians of nbgrad's time over that of libraries beside torch."""
    return " · ".join(f"{name} {ratio[1]:.2f}" for name, ratio in record["ratios"].items() if name != "torch")


def told(record: dict[str, Any]) -> str:
    """What was measured of nbgrad, with its unit."""
    ours = record["seconds"]["nbgrad"]
    return f"{ours / 1e6:.1f} MB" if record["clock"] == "peak" else f"{ours * 1e6:.2f} µs"


def table(found: list[dict[str, Any]], known: dict[str, str]) -> str:
    """A run as Markdown."""
    lines = [
        "# Measurements on a GPU",
        "",
        ", ".join(f"{name} {value}" for name, value in known.items()) + ".",
        "",
        "Medians over the rounds; the ratio is nbgrad's time over torch's, with the 10th and 90th percentile: below 1 nbgrad is "
        'faster. "Of copy" is the rate, each byte counted once, over that of a copy on the device. Time of the device between '
        "events; rows named host: the host's time until a call returns; steps and chains, and all others beside torch: until all "
        "is done. A row that is compiled is so in torch (`torch.compile`) and JAX, too, unless it says otherwise.",
        "",
        "| what | time | rate | of copy | of torch | of others | missed |",
        "| --- | --: | --: | --: | --: | --- | --- |",
    ]
    for record in found:
        if record["status"] == "failed":
            lines.append(f"| {record['name']} | failed: {record['error'][:80]} | | | | | |")
            continue
        rate = (
            f"{record['GB/s']:.0f} GB/s" if "GB/s" in record else f"{record['TFLOP/s']:.1f} TFLOP/s" if "TFLOP/s" in record else ""
        )
        share = f"{record['of copy']:.2f}" if "of copy" in record else ""
        ratio = "{1:.2f} ({0:.2f} to {2:.2f})".format(*record["ratios"]["torch"]) if "torch" in record["ratios"] else ""
        missed = ", ".join([*record.get("missed", ()), *filter(None, [record.get("note")])])
        lines.append(f"| {record['name']} | {told(record)} | {rate} | {share} | {ratio} | {ratios_of_others(record)} | {missed} |")
    return "\n".join(lines) + "\n"


def save(found: list[dict[str, Any]]) -> Path:
    """Keep a run: its records, and its table."""
    known = versions()
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{datetime.date.today()}-{known['card'].replace(' ', '-')}.json"
    record = {"finished": datetime.datetime.now().isoformat(timespec="seconds"), "versions": known, "rows": found}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(table(found, known), encoding="utf-8")
    return path

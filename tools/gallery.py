"""Run the examples, and write what came out: ``docs/gallery.md`` with their pictures, and the README's table.

    python -m tools.gallery              # all, and on torch too where it is installed: minutes
    python -m tools.gallery pinn vae     # these; of the others what is known stays

What an example says of itself is its docstring; results and times are its last line. Each runs twice, so that kernels lie on disk,
and the second time counts. Times are the processor's, of one thread, in nbgrad and in torch: who else works there counts little.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.records import replace_between

ROOT = Path(__file__).parents[1]
EXAMPLES, PICTURES = ROOT / "examples", ROOT / "docs" / "pictures"
PAGE, RECORD, README = ROOT / "docs" / "gallery.md", PICTURES / "results.json", ROOT / "README.md"
START, END = "<!-- examples:start -->", "<!-- examples:end -->"
COLORS = 48  # of a picture: a few kB each

# In the order in which to read them.
NAMES = (
    *("digits", "digits_cnn", "transformer", "characters", "vae", "pinn", "neural_ode", "gaussian_process", "spectrum"),
    *("implicit", "cart_pole", "own_kernel"),
)
ON_TORCH = {"neural_ode": ["--unrolled"]}  # torch has no scan
ENDING = re.compile(r"^(.+) after [\d.]+ s \(([\d.]+) s of the processor\) on .+$", re.M)


# ---- running ---------------------------------------------------------------------------------------------------------


def ran(*command: str) -> tuple[str, float] | None:
    """What a program found and how many seconds it took the processor, as it says in the end; None if it had nothing to do."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = ENDING.search(done.stdout)
    return (found[1], float(found[2])) if found else None


def on_nbgrad(name: str) -> dict[str, Any]:
    """The record of one example, whose picture is kept; nothing if it cannot run here."""
    picture = PICTURES / f"{name}.png"
    command = f"examples/{name}.py", "--device", "cpu", "--picture", str(picture)
    if ran(*command) is None:
        return {}
    result, seconds = ran(*command)
    shrink(picture)
    return {"result": result, "seconds": seconds}


def on_torch(name: str) -> tuple[str, float]:
    """What torch finds, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        options = "--device", "cpu", "--picture", f"{folder}/picture.png", *ON_TORCH.get(name, [])
        return ran("examples/on_torch.py", name, *options)


def shrink(picture: Path) -> None:
    """Write a picture again, with few colours."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(picture, optimize=True)


# ---- what is written -------------------------------------------------------------------------------------------------


def said(name: str) -> tuple[str, str, str]:
    """An example's docstring: its first line, how it is called, and the rest."""
    doc = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""
    first, usage, *rest = doc.split("\n\n")
    return first, usage.strip(), "\n\n".join(part if not part.startswith("    ") else f"```text\n{part}\n```" for part in rest)


def times(record: dict[str, Any] | None) -> tuple[str, str, str]:
    """Result, seconds, and seconds on torch, as cells."""
    if not record:
        return "not run yet" if record is None else "needs a GPU and numba-cuda", "", ""
    torch = record.get("torch")
    return record["result"], f"{record['seconds']:.1f} s", f"{torch[1]:.1f} s" if torch else ""


def table(records: dict[str, dict[str, Any]]) -> str:
    """The README's table."""
    lines = ["| in `examples/` | what it does | result | time | on torch |", "|---|---|---|---:|---:|"]
    for name in NAMES:
        result, seconds, torch = times(records["examples"].get(name))
        lines.append(f"| `{name}.py` | {said(name)[0].rstrip('.')} | {result} | {seconds} | {torch} |")
    return "\n".join([*lines, "", records["machine"]])


def page(records: dict[str, dict[str, Any]]) -> str:
    """The gallery."""
    parts = [
        "# Examples",
        "Programs of a page or two, each about one idea. All take `--device cpu`, `cuda` or `auto`, `--seed` and `--picture`. "
        "`make examples` runs them and writes this page; `python examples/on_torch.py NAME` runs one on torch.",
        records["machine"],
    ]
    for name in NAMES:
        first, usage, rest = said(name)
        record = records["examples"].get(name)
        result, seconds, torch = times(record)
        parts += [f"## {first.rstrip('.')}", f"[`examples/{name}.py`](../examples/{name}.py)"]
        parts += [f"![{first.rstrip('.')}](pictures/{name}.png)"] if record else []
        parts += [f"```sh\n{usage}\n```", rest]
        facts = f"Result: {result}", seconds and f"after {seconds}", torch and f"on torch after {torch}"
        parts += [", ".join(filter(None, facts)) + "."]
    return "\n\n".join(filter(None, parts)) + "\n"


def machine() -> str:
    """Where and when the times were taken."""
    versions = [f"python {platform.python_version()}"]
    if find_spec("torch") is not None:
        from importlib.metadata import version

        versions.append(f"torch {version('torch')}, eager")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"Seconds that one thread of the processor works, without imports and drawing, with kernels on disk; {date.today()}, "
        f"{platform.machine()}, {os.cpu_count()} processors, load {load}; {', '.join(versions)}."
    )


def main(names: list[str]) -> None:
    """Run all on nbgrad, then on torch; what is known after each is kept."""
    from rich.console import Console
    from rich.progress import track

    PICTURES.mkdir(exist_ok=True)
    records = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"machine": "", "examples": {}}
    examples, console = records["examples"], Console(stderr=True)
    for name in track(names, "on nbgrad", console=console):
        examples[name] = on_nbgrad(name)
        keep(records)
    if find_spec("torch") is not None:
        for name in track([name for name in names if examples[name]], "on torch", console=console):
            examples[name]["torch"] = on_torch(name)
            keep(records)
    print(table(records))


def keep(records: dict[str, Any]) -> None:
    """Write the record, the page and the README's table."""
    records["machine"] = machine()
    RECORD.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(records), encoding="utf-8")
    README.write_text(replace_between(README.read_text(encoding="utf-8"), START, END, table(records)), encoding="utf-8")


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(NAMES)
    if unknown:
        sys.exit(f"gallery: {', '.join(sorted(unknown))}: expected some of {', '.join(NAMES)}.")
    main(sys.argv[1:] or list(NAMES))

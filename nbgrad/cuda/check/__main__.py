"""The command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ...kernels.cuda.host import missing
from .report import Report
from .stages import STAGES, run_stage


def span(text: str) -> tuple[int, int]:
    """``a-b`` or ``a``."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run stages; the exit status."""
    listed = "; ".join(f"{k} {stage.name}" for k, stage in enumerate(STAGES, 1))
    parser = argparse.ArgumentParser(prog="python -m nbgrad.cuda.check", description=f"Check a GPU. Stages: {listed}.")
    parser.add_argument("--stages", type=span, default=(1, len(STAGES)), metavar="A-B", help="which, by number")
    parser.add_argument("--seconds", type=float, default=480.0, metavar="N", help="what a stage may take (480)")
    parser.add_argument("--out", metavar="FILE", help="where a JSON line a row is added; else they are not kept")
    asked = parser.parse_args(arguments)
    first, last = asked.stages
    if not 1 <= first <= last <= len(STAGES):
        parser.error(f"--stages: {first}-{last}, expected numbers from 1 to {len(STAGES)}, the lower one first")
    reason = missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    report = Report(asked.out)
    for stage in STAGES[first - 1 : last]:
        run_stage(stage, report, asked.seconds)
    print(report.summary())
    return int(report.failed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m benchmarks.cuda [-k WORD] [--rounds N] [--seconds S] [--out FILE] [--tiny] [--save]``: the table of a GPU."""

from __future__ import annotations

import argparse
import sys

from .run import run, save


def main() -> int:
    """The command; 1 if a row failed, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda", description="Measure on a GPU, beside torch.")
    parser.add_argument("-k", default="", help="rows whose name has this word; several, apart by |")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=480.0, help="begin no row after so many")
    parser.add_argument("--out", help="a file for a JSON line a row, as it happens")
    parser.add_argument("--tiny", action="store_true", help="sizes that show that the programs run, for an emulated device")
    parser.add_argument("--save", action="store_true", help="keep the results in benchmarks/results/cuda")
    asked = parser.parse_args()
    found = run(asked.k.split("|"), asked.rounds, asked.seconds, asked.out, asked.tiny)
    if found is None:
        return 2
    if asked.save:
        print(save(found))
    return int(any(row["status"] == "failed" for row in found))


sys.exit(main())

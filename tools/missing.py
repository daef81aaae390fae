"""What programs use of torch, and nbgrad lacks: ``python -m tools.missing FOLDER ...``, a table with counts.

Programs are read, not run: every name that begins at an import of torch, or of nbgrad (``import torch.nn as nn``, ``from torch
import optim``, ``import nbgrad as torch``), is followed to its last dot and looked up in nbgrad. A name is told as far as it could
not be found: ``nn.Conv9d`` for ``torch.nn.Conv9d.from_file``. Methods of tensors and of other objects are not seen, since nobody
knows what a variable holds before the program runs; nor is what ``import *`` brings.
"""

from __future__ import annotations

import ast
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOTS = ("torch", "nbgrad")


class Missing(NamedTuple):
    """A name that nbgrad lacks, how often programs use it, and how many of them do."""

    name: str
    uses: int
    programs: int


class Found(NamedTuple):
    """What was found in programs: which names are missing, and files that are no Python of today."""

    missing: list[Missing]
    programs: int
    complete: int
    unreadable: list[Path]


def names_used(tree: ast.AST) -> Iterator[str]:
    """Full names below torch or nbgrad, without that: ``nn.Linear``, at every use; of imports, too."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root in ROOTS:
                    known[alias.asname or root] = rest if alias.asname else ""
                    if rest:
                        yield rest
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module.partition(".")[0] in ROOTS:
            place = node.module.partition(".")[2]
            for alias in node.names:
                name = place if alias.name == "*" else f"{place}.{alias.name}".lstrip(".")
                known[alias.asname or alias.name] = name
                if name:
                    yield name
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            parts: list[str] = []
            base: ast.AST = node
            while isinstance(base, ast.Attribute):
                parts.append(base.attr)
                base = base.value
            if isinstance(base, ast.Name) and base.id in known:
                yield ".".join(filter(None, (known[base.id], *reversed(parts))))


@cache
def lacking(name: str) -> str | None:
    """The part of a name, from its beginning, that nbgrad does not have; None if it has all of it."""
    found: Any = import_module("nbgrad")
    parts = name.split(".")
    for length, part in enumerate(parts, 1):
        if not isinstance(found, (types.ModuleType, type)):
            return None  # an attribute of an object
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(f"nbgrad.{'.'.join(parts[:length])}")
            except ImportError:
                return ".".join(parts[:length])
    return None


def look_at(paths: Iterable[Path]) -> Found:
    """What the programs in folders, and files by name, use and nbgrad lacks, most programs first."""
    uses: Counter[str] = Counter()
    by_program: Counter[str] = Counter()
    unreadable: list[Path] = []
    programs = complete = 0
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            try:
                names = [*names_used(ast.parse(file.read_text(encoding="utf-8")))]
            except (SyntaxError, ValueError):
                unreadable.append(file)
                continue
            if names:
                missing = Counter(part for name in names if (part := lacking(name)) is not None)
                uses += missing
                by_program.update(missing.keys())
                programs += 1
                complete += not missing
    rows = [Missing(name, count, by_program[name]) for name, count in uses.items()]
    return Found(sorted(rows, key=lambda row: (-row.programs, -row.uses, row.name)), programs, complete, unreadable)


def main(arguments: list[str]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not arguments or any(not Path(argument).exists() for argument in arguments):
        sys.exit(f"usage: python -m tools.missing FOLDER ...; each must exist, got {arguments}.")
    found = look_at(map(Path, arguments))
    if found.missing:
        table = Table("name", "uses", "programs", title="Names of torch that nbgrad lacks")
        for row in found.missing:
            table.add_row(row.name, str(row.uses), str(row.programs))
        console.print(table)
    console.print(f"{found.complete} of {found.programs} programs find every name that they use.", highlight=False)
    for path in found.unreadable:
        console.print(f"not read: {path}, which is no Python of today", highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])

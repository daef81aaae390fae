"""What the package is made of, in numbers: ``python -m tools.house [TREE ...]``, a column for each tree of sources.

Files and lines are counted, imports between modules are followed (those inside functions too), and texts of LLVM are found by what
they say. docs/architecture.md quotes a column.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LLVM = ("define ", "getelementptr", "br label")


def modules(package: Path) -> dict[str, Path]:
    """All modules by dotted name; a package by its folder's."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a module imports, but for type checkers."""
    package = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in skipped:
            base = [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
            for alias in node.names:
                longer = ".".join([*base, alias.name])
                yield longer if longer in known else ".".join(base)


def circles(edges: dict[str, set[str]]) -> int:
    """How many groups of modules import one another in a circle."""
    reach = {}
    for start in edges:
        seen: set[str] = set()
        left = list(edges[start])
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += edges.get(name, ())
        reach[start] = seen
    return len({frozenset(each for each in reach[name] if name in reach.get(each, ())) for name in edges if name in reach[name]})


def lines(paths: list[Path]) -> int:
    """Lines of files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def statements(paths: list[Path]) -> int:
    """Statements of files, whatever their format; docstrings are none."""
    return sum(
        isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def filled_by_hand(paths: list[Path]) -> int:
    """Places that look into a table of plans, and fill it themselves: calls of ``keep``."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "keep"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def text_of_llvm(path: Path) -> int:
    """Lines of LLVM's text in a module's strings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return sum(len(text.splitlines()) for text in texts if sum(word in text for word in LLVM) >= 2 or text.startswith("  %"))


def house(tree: Path) -> dict[str, int]:
    """The numbers of one tree."""
    package = tree / "nbgrad"
    known = modules(package)
    edges = {name: {target for target in imports(name, path, known) if target != name} for name, path in known.items() if name}
    texts = {path: text_of_llvm(path) for path in known.values()}
    return {
        "modules": len(known),
        "files flat in `nbgrad/`": len(list(package.glob("*.py"))),
        "folders in `nbgrad/`": sum((path / "__init__.py").exists() for path in package.iterdir() if path.is_dir()),
        "arrows between modules": sum(map(len, edges.values())),
        "circles of imports": circles(edges),
        "lines of the package": lines(list(known.values())),
        "statements of the package": statements(list(known.values())),
        "longest module, in lines": max(lines([path]) for path in known.values()),
        "lines of LLVM text": sum(texts.values()),
        "modules with LLVM text": sum(count > 0 for count in texts.values()),
        "tables of plans that calls fill by hand": filled_by_hand(list(known.values())),
        "lines of tests": lines(sorted((tree / "tests").rglob("*.py"))),
        "statements of tests": statements(sorted((tree / "tests").rglob("*.py"))),
    }


def main(trees: list[str]) -> None:
    """Print a row for each number."""
    columns = [house(Path(tree)) for tree in trees or ["."]]
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{column[name]:,}" for column in columns) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])

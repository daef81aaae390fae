"""What torch's schedulers make of the cases in ``tests/optim/schedules.py``.

    python -m tools.schedules > tests/optim/schedules.json

needs torch; ``tests/optim/test_lr_scheduler.py`` compares nbgrad's schedulers with the numbers.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

schedules: Any = import_module("tests.optim.schedules")
torch: Any = import_module("torch")


def main() -> None:
    """Print the numbers, a case a line."""
    cases = {name: schedules.recorded(torch, name) for name in schedules.CASES}
    plateaus = {name: schedules.watched(torch, name) for name in schedules.PLATEAUS}
    rows = [f" {json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in {**cases, **plateaus}.items()]
    print("{\n" + ",\n".join(rows) + "\n}")


if __name__ == "__main__":
    main()

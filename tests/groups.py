"""Cases of a test that run as one item, where pytest would take longer for each than the case does.

NOTE [Groups]: the suite has some 40,000 cases, and an item costs a millisecond in each process that makes or runs it.
  1. where whole tests are asked for, the cases of a test that has many are run one behind the other, a group of them an item;
     who names cases, by an id or by ``-k``, gets an item for each, as with ``--slow``
  2. all of a group run, whichever of them fail; a failure says under which id its case runs alone
  3. what a case leaves of global state is that case's failure
  4. no groups are made of cases that have marks of their own, and of tests that take what is made anew for each: their fixtures,
     Hypothesis' examples
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import pytest

__all__ = ["cases_of", "groups", "run_group"]

MANY = 24  # cases, from which on they are grouped
MOST = 12  # cases of a group; of more than 15 failures not all would be shown
FEWEST = 8  # groups of a test: processes share them
SHARED = frozenset(("no_leaked_state", "device"))  # fixtures that serve a group as they serve a case
LONE = ("forks", "early", "skipif", "slow", "cuda")  # marks of tests that are run or left out for themselves


class Arguments(dict):
    """The arguments of the first case of a group, which pytest looks at, and the calls of all its cases."""

    def __init__(self, cases: Sequence[Any]) -> None:
        super().__init__(cases[0].params)
        self.cases = tuple(cases)


def groups(metafunc: Any) -> list[Any]:
    """The cases of a test by groups, in their order, if they share all that they do not take as arguments.

    Fixtures with parameters are shared by those cases that get the same.
    """
    calls, marks = metafunc._calls, list(metafunc.definition.iter_markers())
    alone = any(mark.name in LONE or "indirect" in mark.kwargs for mark in marks) or hasattr(metafunc.function, "hypothesis")
    if len(calls) < MANY or alone or any(mark.name != "part" for call in calls for mark in call.marks):
        return calls
    argnames = [mark.args[0] for mark in marks if mark.name == "parametrize"]
    given = {name.strip() for names in argnames for name in (names.split(",") if isinstance(names, str) else names)}
    if not all(is_shared(metafunc, name) for name in {*metafunc.fixturenames, *calls[0].params} - given):
        return calls
    alike: dict[tuple, list[Any]] = {}
    for call in calls:
        alike.setdefault(tuple((name, k) for name, k in call.indices.items() if name not in given), []).append(call)
    size = min(MOST, len(calls) // FEWEST)
    return [grouped(each[begin : begin + size]) for each in alike.values() for begin in range(0, len(each), size)]


def is_shared(metafunc: Any, name: str) -> bool:
    """Whether a fixture is the same for all cases; ``request`` is where fixtures alone ask it."""
    if name == "request":
        return name not in signature(metafunc.function).parameters
    found = metafunc._arg2fixturedefs.get(name)
    return name in SHARED or bool(found) and found[-1].scope != "function"


def grouped(calls: Sequence[Any]) -> Any:
    """One call for several."""
    return replace(calls[0], params=Arguments(calls), _idlist=[f"{calls[0].id} to {calls[-1].id}"])


def cases_of(item: Any) -> Sequence[Any]:
    """The calls that an item stands for; none, if it is a case itself."""
    params = item.callspec.params if hasattr(item, "callspec") else None
    return params.cases if isinstance(params, Arguments) else ()


def run_group(name: str, run: Callable[[dict[str, Any]], None], cases: Sequence[Any]) -> None:
    """Run all cases; raise what one of them did, or all that several did.

    Args:
        name: of the test, as one names it on the command line.
        run: runs the case of these arguments.

    Raises:
        BaseExceptionGroup: several cases failed, each of which is named.
    """
    failed, skipped = list[BaseException](), list[BaseException]()
    for case in cases:
        try:
            run(case.params)
        except pytest.skip.Exception as error:
            skipped.append(error)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"This is the case {name}[{case.id}]")
            failed.append(error)
    if len(failed) > 1:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
    if failed or len(skipped) == len(cases):
        raise (failed or skipped)[0]

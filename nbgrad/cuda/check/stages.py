"""The stages of a check. Each can be run alone, and ends in the time that it is given."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
import warnings
import xml.etree.ElementTree
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from time import monotonic
from typing import Any

import numpy as np

from ...base import config
from .algebra import products_and_solvers
from .bits import bits
from .report import Report, guarded, versions
from .waits import waits

__all__ = ["STAGES", "Stage", "run_stage"]


@dataclass(frozen=True)
class Stage:
    """A part of a check.

    Args:
        name: what it is about.
        run: ``run(report, name, seconds)`` adds rows.
    """

    name: str
    run: Callable[[Report, str, float], None]


def run_stage(stage: Stage, report: Report, seconds: float) -> None:
    """Run a stage; that it cannot be run is a row that failed."""
    try:
        stage.run(report, stage.name, seconds)
    except Exception:
        report.row(stage.name, "the stage itself", "failed", reason=traceback.format_exc(limit=-4))


# ---- what there is -----------------------------------------------------------------------------------------------------------


def environment(report: Report, stage: str, seconds: float) -> None:
    """Card, driver, packages; that a value goes there and comes back."""
    import nbgrad

    for name, value in versions().items():
        report.row(stage, name, "ok", value=value)
    free, total = nbgrad.cuda.mem_get_info()
    report.row(stage, "free memory", "ok", value=free, unit="B")
    report.row(stage, "memory", "ok", value=total, unit="B")

    def there_and_back() -> dict[str, Any]:
        x = np.random.default_rng(0).standard_normal(1000)
        assert np.array_equal(nbgrad.asarray(x).cuda().cpu().numpy(), x)
        return {"value": x.nbytes, "unit": "B"}

    guarded(report, stage, "there and back", there_and_back)


def cubins(report: Report, stage: str, seconds: float) -> None:
    """Every kernel of a release is built and loaded, as many as there is time for; first each 16th, so that all kinds are among."""
    from ...cubins.command import Options, build_all
    from ...cubins.table import kernels
    from ...kernels.cuda.driver import card

    table, gpu = list(kernels()), card(0)
    end = monotonic() + seconds
    entries = {each.label: each for k in range(16) for each in table[k::16]}
    built: Iterable[tuple[str, str]] = ((label, "") for label in entries)
    if not config.EMULATED:
        results = build_all([*entries.values()], Options(gpu.arch), os.cpu_count() or 1)
        built = ((each.label, each.reason) for each in results)
    loaded = 0
    for label, reason in built:
        if monotonic() > end:
            break
        try:
            if reason:
                raise RuntimeError(reason)
            gpu.kernel(entries[label].recipe)
            loaded += 1
        except Exception as error:
            report.row(stage, label, "failed", reason=f"{type(error).__name__}: {error}")
    report.row(stage, "built and loaded", "ok", value=loaded, unit=f"of {len(entries)} kernels")


# ---- what must go wrong ------------------------------------------------------------------------------------------------------

# Programs that ruin a context, or might: each in a process of its own. What it prints last is looked at.
RUINOUS = {
    "an index out of range": (
        "x = nbgrad.ones(3, device='cuda')\ny = x[nbgrad.tensor([5]).cuda()]\n"
        "try:\n    y.tolist()\nexcept IndexError as error:\n    print('index 5' in str(error) and (x + 1).tolist() == [2.0] * 3)"
    ),
    "more memory than there is": (
        "x = nbgrad.ones(3, device='cuda')\n"
        "try:\n    nbgrad.empty(1 << 50, device='cuda')\n"
        "except nbgrad.cuda.OutOfMemoryError as error:\n    print('bytes on cuda:0' in str(error) and x.sum().item() == 3)"
    ),
    "a foreign address": (
        "class Foreign:\n"
        "    __cuda_array_interface__ = dict(shape=(4,), typestr='<f4', data=(4096, False), version=3)\n"
        "try:\n    print(nbgrad.as_tensor(Foreign(), device='cuda').tolist())\n"
        "except Exception as error:\n    print(type(error).__name__ != 'AssertionError')"
    ),
}


def errors(report: Report, stage: str, seconds: float) -> None:
    """What is wrong is said, and nothing hangs."""

    def child(script: str) -> None:
        program = f"import warnings; warnings.simplefilter('ignore')\nimport nbgrad\n{script}\n"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60 + seconds)
        assert done.stdout.split()[-1:] == ["True"], f"exit status {done.returncode}: {done.stdout[-500:]}{done.stderr[-1000:]}"

    for name, script in RUINOUS.items():
        guarded(report, stage, name, partial(child, script))


# ---- tests -------------------------------------------------------------------------------------------------------------------


def checkout() -> Path | None:
    """The project's folder, with its tests and measurements, if the command is given there."""
    here = Path.cwd()
    return here if (here / "tests" / "cuda" / "emulation.py").exists() else None


def tested(*files: str, options: tuple[str, ...] = ()) -> Callable[[Report, str, float], None]:
    """A stage that runs files of ``tests/cuda`` in this machine's processors, a row for each test that failed."""

    def run(report: Report, stage: str, seconds: float) -> None:
        root = checkout()
        if root is None:
            report.row(stage, "tests", "skipped", reason="there is no tests/cuda here. Hint: run it in a checkout of the project.")
            return
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-pno:benchmark", "--tb=short"]
            command += [f"--junitxml={results}"]
            command += [*parallel(), *options, *(str(root / "tests" / "cuda" / name) for name in files)]
            try:
                done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=seconds)
            except subprocess.TimeoutExpired:
                report.row(stage, "tests", "failed", reason=f"they took more than {seconds:g} s")
                return
            if not results.exists():
                report.row(stage, "tests", "failed", reason=done.stdout[-1500:] + done.stderr[-1500:])
                return
            add_tests(report, stage, results)

    return run


def parallel() -> list[str]:
    """Options of pytest: a process for each processor, where pytest-xdist is installed."""
    count = min(os.cpu_count() or 1, 16)
    try:
        import xdist  # noqa: F401
    except ImportError:
        return []
    return ["-n", str(count), "--dist", "worksteal"] if count > 2 else ["-n", "0"]


def add_tests(report: Report, stage: str, results: Path) -> None:
    """Rows of a run of pytest."""
    suite = next(xml.etree.ElementTree.parse(results).iter("testsuite"))
    for case, reason in failures(suite):
        report.row(stage, f"{case.get('classname')}.{case.get('name')}", "failed", reason=reason)
    counts = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    passed = counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"]
    facts = {"value": passed, "unit": "tests", "skipped": counts["skipped"], "seconds": float(suite.get("time", 0))}
    report.row(stage, "passed", "ok" if passed else "skipped", **facts)


def failures(suite: xml.etree.ElementTree.Element) -> Iterator[tuple[xml.etree.ElementTree.Element, str]]:
    """Tests that failed, each with what pytest says of it."""
    for case in suite.iter("testcase"):
        for kind in ("failure", "error"):
            for found in case.iter(kind):
                yield case, (found.text or found.get("message") or "")


# ---- other libraries, speed --------------------------------------------------------------------------------------------------


def others(report: Report, stage: str, seconds: float) -> None:
    """Memory goes to torch and CuPy and back without a copy, where they are installed."""
    import nbgrad

    def through(name: str) -> dict[str, Any]:
        module = __import__(name)
        x = nbgrad.ones(5, device="cuda")
        y = module.from_dlpack(x)
        y += 1
        z = nbgrad.from_dlpack(y)
        assert z.data_ptr() == x.data_ptr() and z.tolist() == [2.0] * 5
        return {"value": module.__version__}

    for name in ("torch", "cupy"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = __import__(name)
            if name == "torch" and not module.cuda.is_available():
                raise ImportError("it sees no GPU")
        except ImportError as error:
            report.row(stage, name, "skipped", reason=str(error))
        else:
            guarded(report, stage, name, partial(through, name))


def sanitizer(report: Report, stage: str, seconds: float) -> None:
    """A program of many kernels under compute-sanitizer, where that is installed."""
    command = which("compute-sanitizer")
    if command is None or config.EMULATED:
        report.row(stage, "compute-sanitizer", "skipped", reason="it is not installed, or there is nothing for it to see")
        return
    program = (
        "import nbgrad\nx = nbgrad.rand(257, 129, device='cuda').requires_grad_()\n"
        "y = (x.softmax(1) @ x.T).sort(0)[0].cumsum(1)[:, ::2].sum()\ny.backward()\nprint(x.grad.sum().item())"
    )
    for tool in ("memcheck", "racecheck", "initcheck"):
        done = subprocess.run(
            [command, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=seconds / 3,
        )
        report.row(stage, tool, "ok" if done.returncode == 0 else "failed", reason=done.stdout[-1500:] if done.returncode else "")


def speed(report: Report, stage: str, seconds: float) -> None:
    """The measurements of ``benchmarks/cuda``."""
    if checkout() is None:
        report.row(stage, "measurements", "skipped", reason="there is no benchmarks/cuda here. Hint: run it in a checkout.")
        return
    command = [sys.executable, "-m", "benchmarks.cuda", "--seconds", str(seconds * 0.9)]
    command += ["--tiny", "--rounds", "1"] if config.EMULATED else ["--save"]
    command += [] if report.path is None else ["--out", report.path]
    done = subprocess.run(command, cwd=checkout(), capture_output=True, text=True, timeout=seconds)
    print(done.stdout)
    status = "ok" if done.returncode == 0 else "failed"
    report.row(stage, "measurements", status, reason=done.stderr[-1500:] if done.returncode else "")


OTHERS = " and ".join(
    f"not {name}" for name in ("child", "memory", "devices", "samples_on", "streams", "cuda_graphs", "test_check")
)
STAGES = (
    Stage("environment", environment),
    Stage("kernels", cubins),
    Stage("bits", bits),
    Stage("errors", errors),
    Stage("memory", tested("test_memory.py", "test_devices.py", "test_device.py")),
    Stage("operations", tested("test_samples_on_device.py", options=("--slow",))),
    Stage("streams", tested("test_streams.py")),
    Stage("waits", waits),
    Stage("captures", tested("test_cuda_graphs.py")),
    Stage("other tests", tested("", options=("-k", OTHERS))),
    Stage("products and solvers", products_and_solvers),
    Stage("other libraries", others),
    Stage("sanitizer", sanitizer),
    Stage("speed", speed),
)

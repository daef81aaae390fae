"""``python -m nbgrad.cuda.check``: every stage runs on the emulated device, what fails is a row and an exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nbgrad
from benchmarks.cuda import programs
from benchmarks.cuda.others import PROGRAMS, program_of
from benchmarks.cuda.programs import numbers_of, rows
from benchmarks.cuda.report import excerpt
from nbgrad.cuda.check import bits as checked_bits
from nbgrad.cuda.check.__main__ import main, span
from nbgrad.cuda.check.report import Report
from nbgrad.cuda.check.stages import STAGES, Stage, run_stage, tested as stage_of

from .emulation import without_gpus

NAMES = [stage.name for stage in STAGES]


def number(name: str) -> int:
    """Of a stage."""
    return 1 + NAMES.index(name)


def ran(folder: Path, *options: str) -> tuple[subprocess.CompletedProcess, list[dict]]:
    """The command on the emulated device, given in a folder, and its rows."""
    out = folder / "rows.jsonl"
    command = [sys.executable, "-m", "nbgrad.cuda.check", "--out", str(out), *options]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NBGRAD_CUDA": "emulated", "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return done, rows


def checkout(folder: Path, test: str) -> Path:
    """A folder that looks like a checkout, with one file of tests for each stage that runs some."""
    tests = folder / "tests" / "cuda"
    tests.mkdir(parents=True)
    (tests / "emulation.py").write_text("")
    (folder / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--slow', action='store_true')\n")
    for name in "memory devices device samples_on_device streams cuda_graphs other".split():
        (tests / f"test_{name}.py").write_text(test)
    return folder


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("first, last", [(4, 8), pytest.param(1, len(NAMES), marks=pytest.mark.slow)])
def test_stages_that_need_no_checkout(tmp_path, first, last):
    """They run; those that need one are skipped, with the reason; each row is a line with the versions."""
    done, rows = ran(tmp_path, "--seconds", "1", "--stages", f"{first}-{last}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["stage"] for row in rows} == set(NAMES[first - 1 : last])
    assert {row["stage"] for row in rows if row["status"] == "ok"} >= {"errors", "waits"}
    assert all(row["reason"] for row in rows if row["status"] == "skipped" and row["stage"] != "other libraries")
    assert all(row["versions"]["card"] == "nbgrad emulated device" for row in rows)
    assert all(row["value"] > 0 for row in rows if row["name"] == "built and loaded")


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("last", ["memory", pytest.param("other tests", marks=pytest.mark.slow)])
def test_stages_of_tests(tmp_path, last):
    """They run the files of a checkout, and say how many tests passed."""
    done, rows = ran(checkout(tmp_path, "def test_it(): pass\n"), "--stages", f"{number('memory')}-{number(last)}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["name"]: row["value"] for row in rows if row["stage"] == "memory"} == {"passed": 3}
    assert all(row["value"] >= 1 for row in rows if row["stage"] != "waits")


@without_gpus
@pytest.mark.usefixtures("compiler")
def test_a_planted_failure(tmp_path):
    """It is a row with what pytest says; the next stage runs; the exit status is 1."""
    done, rows = ran(checkout(tmp_path, "def test_it(): assert 1 == 2, 'planted'\n"), "--stages", f"{number('captures')}")
    assert done.returncode == 1
    assert [row["status"] for row in rows if row["stage"] == "captures"] == ["failed", "skipped"]
    assert "planted" in rows[0]["reason"] and "test_it" in rows[0]["name"]


def test_a_stage_that_raises_is_a_failed_row(capsys):
    """The run goes on behind it."""

    def broken(report, name, seconds):
        raise OSError("planted")

    report = Report()
    run_stage(Stage("broken", broken), report, 1.0)
    assert report.failed == 1 and "planted" in capsys.readouterr().out


def test_bits_that_differ(monkeypatch):
    """Of results that are the same bits, a rounding apart, others, of another shape, or not there."""
    x = np.float32([1.0, np.nan, -0.0])
    found = {
        "same": lambda: [x.copy()],
        "rounded": lambda: [np.nextafter(x, np.float32(2))],
        "others": lambda: [x + 1],
        "signs": lambda: [np.float32([1.0, np.nan, 0.0])],
        "shapes": lambda: [x[:2]],
        "raises": lambda: 1 / 0,
    }
    monkeypatch.setattr(checked_bits, "results", lambda name, dtype, size: found[name]())
    report, rows = Report(), dict[str, str]()
    monkeypatch.setattr(report, "row", lambda stage, name, status, **facts: rows.update({name.split()[0]: status}))
    checked_bits.compare(report, "bits", {f"{name}|float32|3|0": x for name in found})
    assert rows == {
        "same": "ok",
        "rounded": "missed",
        "others": "failed",
        "signs": "missed",
        "shapes": "failed",
        "raises": "failed",
    }


PLANTED = {
    "waits": "import nbgrad\nnbgrad.cuda.Stream.wait_stream = lambda self, other: None",
    "products and solvers": "import nbgrad\nnbgrad.linalg.solve = lambda x, y: y",
    "bits": "import nbgrad.cuda.check.bits as b\nold = b.results\nb.results = lambda *a: [x + 1 for x in old(*a)]",
}


@without_gpus
@pytest.mark.slow
@pytest.mark.parametrize("stage", PLANTED)
def test_planted_faults_of_what_is_checked(tmp_path, stage):
    """A wait that waits for nothing, a solver that solves nothing, bits that are others: rows that failed, beside others."""
    out = tmp_path / "rows.jsonl"
    program = (
        f"import sys\nif __name__ == '__main__':\n    exec({PLANTED[stage]!r})\n    from nbgrad.cuda.check.__main__ import main\n"
        f"    sys.exit(main(['--stages', '{number(stage)}', '--seconds', '6', '--out', {str(out)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "NBGRAD_CUDA": "emulated"}, capture_output=True, text=True
    )
    rows = [json.loads(line)["status"] for line in out.read_text().splitlines()]
    assert done.returncode == 1 and "failed" in rows and (stage == "bits" or "ok" in rows)


@without_gpus
@pytest.mark.slow
def test_programs_reach_all_templates(tmp_path):
    """Of kernels; but those that only cuSOLVER's results, or a requirement of values, are for."""
    program = """
import importlib, pkgutil, warnings
import nbgrad, nbgrad.kernels.cuda as kernels
from nbgrad.cuda.check.programs import PROGRAMS, results
warnings.simplefilter("ignore")
makers = {}
for found in pkgutil.iter_modules(kernels.__path__):
    module = importlib.import_module(f"nbgrad.kernels.cuda.{found.name}")
    for name, maker in vars(module).items():
        if hasattr(maker, "cache_info") and maker.__module__ == module.__name__:
            if maker.__wrapped__.__annotations__.get("return") == "Template":
                makers[name] = maker
for name in PROGRAMS:
    for size in (37, 5000):
        results(name, "float32", size)
print(*sorted(name for name, maker in makers.items() if not maker.cache_info().currsize))
"""
    environment = {**os.environ, "NBGRAD_CUDA": "emulated"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["note_unless", "order_of_exchanges", "spin"], done.stdout + done.stderr[-2000:]


def test_tests_that_take_too_long_are_a_failed_row(tmp_path, monkeypatch, capsys):
    """They are ended."""
    monkeypatch.chdir(checkout(tmp_path, "import time\ndef test_it(): time.sleep(60)\n"))
    report = Report()
    stage_of("test_other.py")(report, "slow", 2.0)
    assert report.failed == 1 and "more than 2 s" in capsys.readouterr().out


@without_gpus
def test_without_a_gpu(capsys):
    """The reason, and status 2."""
    assert main([]) == 2
    assert "no usable GPU" in capsys.readouterr().err


@pytest.mark.parametrize("stages", ["0", f"{len(STAGES)}-{len(STAGES) + 1}", "5-3"])
def test_stages_that_are_not_there(stages, capsys):
    """They are refused, rather than nothing run and called good."""
    with pytest.raises(SystemExit):
        main(["--stages", stages])
    assert f"expected numbers from 1 to {len(STAGES)}" in capsys.readouterr().err


def test_spans_of_stages():
    """One, or from one to another."""
    assert span("3") == (3, 3) and span("2-5") == (2, 5)
    with pytest.raises(ValueError):
        span("all")


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("words, least", [("sum of|mul of 16|MLP", 6), pytest.param("", 69, marks=pytest.mark.slow)])
def test_the_measurements_run(tmp_path, words, least):
    """Each program of benchmarks/cuda, of tiny sizes on the emulated device, gives a row that did not fail."""
    root = Path(__file__).parents[2]
    out = tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "benchmarks.cuda", "--tiny", "--rounds", "1", "--out", str(out), "-k", words]
    done = subprocess.run(command, env={**os.environ, "NBGRAD_CUDA": "emulated"}, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) >= least and all(row["seconds"]["nbgrad"] > 0 for row in rows)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_what_others_do_is_what_is_measured(name):
    """NumPy in their place gives what nbgrad's program gives, here on the CPU."""
    (row,) = [each for each in rows(tiny=True) if each.name == name]
    done = []
    numpy = SimpleNamespace(np=np, array=np.array, compiled=lambda f: f, note=done.append)
    program_of(row)(numpy)()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            programs, "numbers", lambda lib, *shape, dtype="float32", seed=0, grad=False: lib.tensor(numbers_of(shape, seed))
        )
        ours = row.program(nbgrad)()
    ours = (ours[0] if isinstance(ours, tuple) else ours).numpy()
    np.testing.assert_allclose(done[0], ours, rtol=1e-4, atol=1e-4)
    assert np.shape(done[0]) == ours.shape


@without_gpus
@pytest.mark.usefixtures("compiler")
def test_the_variants_run():
    """Kernels of one, two and four vectors a thread are made and launched."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.cuda.variants", "--elements", "3000", "--rounds", "1"]
    done = subprocess.run(command, env={**os.environ, "NBGRAD_CUDA": "emulated"}, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == 8 and "mul bfloat16" in done.stdout


def test_the_readme_shows_the_newest_results():
    """Its excerpt is what ``benchmarks.report`` makes of the files of the last runs."""
    text = excerpt()
    assert "torch" in text and text in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")

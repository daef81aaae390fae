"""Kernels compiled for a GPU on whatever machine this is, and held to their gates; each gate is seen failing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import nbgrad
from nbgrad.base import errors
from nbgrad.cubins import command, table
from nbgrad.cubins.operations import named
from nbgrad.kernels import scalars
from nbgrad.kernels.cuda import build, gates, host
from nbgrad.kernels.cuda.access import Access, compute_dtype
from nbgrad.kernels.cuda.accumulators import accumulator
from nbgrad.kernels.cuda.build import Recipe
from nbgrad.kernels.cuda.linker import link
from nbgrad.kernels.cuda.reductions import reduce_columns, reduce_rows, reduce_short_rows
from nbgrad.kernels.cuda.store import CubinStore, encode, load_or_build
from nbgrad.kernels.cuda.templates import accumulate, array, elementwise, index_source, single, strided, value
from nbgrad.ops.core import OPS

pytestmark = pytest.mark.usefixtures("compiler")


def momentum(p, buffer, g, rate):
    buffer = buffer * 0.9 + g
    return p - rate * buffer, buffer


MUL, DIV, LT, WHERE, MUL_BACKWARD = (named(name, "float32").scalar for name in ("mul", "div", "lt", "where", "mul_backward_x_y"))


def flat(scalar, *dtypes, into=(), unroll=1, dtype=None):
    """The contiguous kernel from the first dtypes to the last."""
    template = elementwise(tuple(map(array, dtypes[:-1])), dtypes[-1:], into, unroll=unroll)
    return Recipe(template, scalar, dtype or compute_dtype(dtypes[0]))


def fold(template, name, dtype, output=None, **options):
    of = accumulator(OPS[name], compute_dtype(dtype))
    return Recipe(template(of, (dtype,), output or dtype, **options), of.term, of.dtype, of.source())


FLOAT = array("float32")
REPRESENTATIVE = [
    *[flat(MUL, d, d, d) for d in ("float32", "float64", "float16", "bfloat16", "int32", "int8", "complex64")],
    flat(MUL, "float32", "float32", "float32", unroll=4),
    flat(DIV, "float32", "float32", "float32"),
    flat(scalars.FUNCTIONS["exp"], "float32", "float32"),
    flat(scalars.FUNCTIONS["tanh"], "float64", "float64"),
    flat(scalars.FUNCTIONS["tanh"], "bfloat16", "bfloat16"),
    flat(scalars.FUNCTIONS["pow"], "float32", "float32", "float32"),
    flat(LT, "float32", "float32", "bool"),
    flat(WHERE, "bool", "float32", "float32", "float32", dtype="float32"),
    flat(table.identity, "int64", "float16", dtype="float32"),
    flat(table.identity, "float32", "uint8"),
    Recipe(elementwise((FLOAT,) * 3, ("float32",) * 2), MUL_BACKWARD, "float32"),
    Recipe(elementwise((FLOAT, FLOAT, FLOAT, value("float32")), ("float32",) * 2, (0, 1)), momentum, "float32"),
    Recipe(elementwise((FLOAT, single("float32")), ("float32",)), MUL, "float32"),
    Recipe(elementwise((value("int16"),), ("int16",)), table.identity, "int64"),
    Recipe(accumulate("float16"), table.add, "float32"),
    *[Recipe(strided((FLOAT, FLOAT), ("float32",), n), MUL, "float32", index_source(32)) for n in (1, 2, 4)],
    Recipe(strided((FLOAT, FLOAT), ("float32",), 3, 64), MUL, "float32", index_source(64)),
    fold(reduce_rows, "sum", "float32"),
    fold(reduce_rows, "sum", "float32", stage="partial"),
    fold(reduce_rows, "sum", "float32", stage="merge"),
    fold(reduce_rows, "mean", "bfloat16"),
    fold(reduce_rows, "argmax", "float32", "int64", stage="merge"),
    fold(reduce_rows, "any", "bool"),
    fold(reduce_columns, "sum", "float32"),
    fold(reduce_columns, "amax", "float64", stage="partial"),
    fold(reduce_short_rows, "sum", "float32"),
    fold(reduce_short_rows, "argmin", "int64"),
    fold(reduce_rows, "sum", "complex64"),
    fold(reduce_columns, "mean", "complex128", stage="merge"),
    fold(reduce_short_rows, "prod", "complex64"),
]


@pytest.mark.parametrize("recipe", REPRESENTATIVE, ids=lambda recipe: recipe.name)
def test_representative_kernels_pass_their_gates(recipe):
    """No spills, no float64 in a float32 kernel, no generic access, no division, and the promised vector accesses."""
    kernel = recipe()
    assert gates.check(kernel, gates.gates_for(recipe.template, recipe.dtype)) == []
    assert kernel.cubin.startswith(b"\x7fELF") and kernel.name.encode() in kernel.cubin


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_100", "sm_120"])
def test_other_architectures(arch):
    """The same source compiles from Ampere to Blackwell."""
    recipe = flat(MUL, "bfloat16", "bfloat16", "bfloat16")
    assert gates.check(recipe(arch), gates.gates_for(recipe.template, "float32")) == []


def multiply_then_add(x, y):
    return x * y + 1.0


def test_nothing_is_contracted():
    """x * y + 1 keeps both roundings, as on the CPU: GPUs have an instruction that rounds once."""
    ptx = flat(multiply_then_add, "float32", "float32", "float32")().ptx
    assert "fma" not in ptx and "mul.rn.f32" in ptx and "add.rn.f32" in ptx


@pytest.mark.parametrize("arch, ptx", [("sm_80", "8.0"), ("sm_90", "8.0"), ("sm_100", "8.6")])
def test_ptx_is_as_old_as_the_architecture(arch, ptx):
    """A driver of the architecture's first day can load it."""
    text = build.compile_ptx(elementwise((FLOAT, FLOAT), ("float32",)), MUL, "float32", arch, {})
    assert f".version {ptx}\n.target {arch}\n" in text and ".maxntid 256" in text and ".minnctapersm 4" in text


@pytest.mark.parametrize("arch", ["sm_75", "gfx90a", "sm_", "90"])
def test_unknown_architecture_is_refused(arch):
    """An architecture that kernels are not written for, or no architecture at all, is named."""
    with pytest.raises(errors.KernelError, match=f"the architecture '{arch}', expected sm_80 or later.* Hint: "):
        flat(MUL, "float32", "float32", "float32")(arch)


def test_what_threads_do_together_is_convergent():
    """No pass may move a barrier or a shuffle into a branch: all of their calls and declarations say so."""
    recipe = fold(reduce_rows, "sum", "float64")
    text = build.kernel_text(recipe.template, recipe.scalar, recipe.dtype, recipe.source)
    together = [line for line in text.splitlines() if "shfl.sync" in line or "barrier.cta" in line]
    assert len(together) > 10 and all("convergent" in line for line in together)


def test_dtypes_may_be_mixed():
    """Operands of any dtypes meet in a kernel's own: what the table does not list is made when it is asked for."""
    for inputs, output, dtype in (
        (("int8", "float32"), "float32", "float32"),
        (("bfloat16", "float64"), "float64", "float64"),
        (("bool", "int16"), "int16", "int64"),
        (("uint8", "int32"), "int32", "int64"),
        (("int64", "complex64"), "complex64", "complex64"),
    ):
        numbers = tuple(array("uint8" if name == "bool" else name) for name in inputs)
        for recipe in (
            Recipe(elementwise(numbers, (output,)), MUL, dtype),
            Recipe(strided(numbers, (output,), 2), MUL, dtype, index_source(32)),
        ):
            assert gates.check(recipe(), gates.gates_for(recipe.template, dtype, integers=True)) == [], (inputs, output)


def test_compiling_imports_no_numba():
    """LLVM's back end for NVIDIA's GPUs comes with llvmlite; a process that builds a kernel starts nothing else."""
    program = """
import sys
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import build, templates
product = named("mul", "float32")
kernel = build.build(templates.elementwise(product.inputs, product.outputs), product.scalar, "float32")
assert kernel.cubin.startswith(b"\\x7fELF")
print([name for name in sys.modules if name.partition(".")[0] == "numba"])
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_without_a_linker_the_remedy_is_named(monkeypatch):
    """A machine without cuda-core can write PTX, and says what makes a cubin of it."""
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(errors.KernelError, match=r"cuda-core cannot be imported: .* Hint: pip install 'nbgrad\[cuda\]'"):
        flat(MUL, "float32", "float32", "float32")()


def undeclared(x):
    return [x, x][0]


def test_what_no_kernel_may_contain_is_named():
    """A scalar function of a user may contain anything: what cannot be compiled is told with the kernel's name."""
    with pytest.raises(errors.KernelError, match="elementwise_float32_to_float32_x4u1 of undeclared contains List"):
        flat(undeclared, "float32", "float32")()


def test_division_by_zero_takes_no_branch():
    """A float division is one instruction: an error exit would leave elements unwritten."""
    ptx = flat(DIV, "float32", "float32", "float32")().ptx
    assert "div.rn.f32" in ptx and not re.search(r"setp\S*\.f32|trap|exit", ptx)


TENTH = np.float64(0.1)


def leaky(x):
    return x * TENTH


def divides(x):
    return x // 3


WIDE = Recipe(strided((FLOAT,), ("float32",), 2, 64), table.identity, "float32", index_source(64))
NARROW = Recipe(strided((FLOAT,), ("float32",), 2), table.identity, "float32", index_source(32))


def test_division_gate():
    """The 64-bit fallback divides; a 32-bit kernel may not."""
    assert "integer division" in gates.no_division(WIDE())


def test_wide_index_gate():
    """The 64-bit fallback multiplies 64-bit words; a 32-bit kernel may not."""
    assert "64-bit multiplication" in gates.no_wide_index(WIDE())
    assert gates.no_wide_index(NARROW()) is None


def test_memory_gate_counts_vectors():
    """A kernel over misaligned data has no vector accesses, and cannot pass as one that has."""
    scalar = Recipe(elementwise((FLOAT,), ("float32",), (), 1), table.identity, "float32")()
    promised = Counter({Access("load", "float32", 4): 1})
    assert "expected 1 loads of 16 bytes" in gates.memory_access(scalar, promised)


def test_float64_gate():
    """A float64 kernel stands for a float32 one whose constant was not narrowed."""
    assert "float64 arithmetic" in gates.no_float64(flat(MUL, "float64", "float64", "float64")())


def test_unnarrowed_constant_is_refused():
    """A captured NumPy float64 makes the result float64: the store refuses it where C would convert in silence."""
    with pytest.raises(Exception, match="store"):
        flat(leaky, "float32", "float32")()


def test_register_and_spill_gates():
    """What the linker's log reports is judged."""
    kernel = NARROW()
    assert "255 registers" in gates.few_registers(replace(kernel, registers=255), 64)
    assert "8 bytes spilled" in gates.no_spills(replace(kernel, spill_bytes=8))
    assert "generic" in gates.global_access(replace(kernel, ptx="\tld.f32 \t%f1, [%rd1];"))


def test_a_kernel_that_spills_is_given_more_registers(monkeypatch):
    """Those of as many blocks fewer as it takes, of half of them at most; what spills then, too, passes no gate."""
    spills, asked = {"4": 8, "3": 4, "2": 0}, []

    def link(ptx, arch):
        asked.append(re.search(r"minnctapersm (\d)", ptx)[1])
        return b"", f"Used 100 registers, {spills[asked[-1]]} bytes spill stores"

    monkeypatch.setattr("nbgrad.kernels.cuda.linker.link", link)
    few = gates.gates_for(NARROW.template, "float32")[1]
    assert NARROW().spill_bytes == 0 and asked == ["4", "3", "2"]
    assert few(NARROW()) is None and "129 registers" in few(replace(NARROW(), registers=129))
    spills["2"], asked[:] = 2, []
    assert NARROW().spill_bytes == 2 and asked == ["4", "3", "2"]
    spills["4"], asked[:] = 0, []
    assert NARROW().spill_bytes == 0 and asked == ["4"]


def test_a_failing_gate_names_the_kernel():
    """Reasons come with the kernel's name; a good kernel has none."""
    assert gates.check(WIDE(), [gates.no_division])[0].startswith("strided64_float32_to_float32_2d_identity_float32: ")
    assert gates.check(WIDE(), [gates.no_spills]) == []


def test_operand_of_a_richer_kind_is_refused():
    """A float operand in an integer kernel would be truncated on the way in."""
    with pytest.raises(errors.KernelError, match="float32 operand in a kernel that computes in int64"):
        flat(MUL, "float32", "float32", "int64", dtype="int64")()


def test_equal_recipes_share_a_key():
    """Another scalar, dtype, constant, helper, source or architecture is another kernel."""

    def key(scalar=multiply_then_add, dtype="float32", arch="sm_90", **source):
        return Recipe(elementwise((FLOAT,), ("float32",)), scalar, dtype, source).key(arch)

    exp = scalars.FUNCTIONS["exp"]
    keys = [
        key(),
        key(MUL),
        key(exp),
        key(exp, EXP_MAX=80.0),
        key(exp, "float64"),
        key(arch="sm_100"),
        key(momentum),
        key(leaky),
        key(leaky, TENTH=0.2),
    ]
    assert key() == keys[0] and len(set(keys)) == len(keys)


def test_store_gives_back_the_same_cubin(tmp_path):
    """A second process finds the bytes; a damaged file is compiled anew."""
    recipe = flat(table.add, "float32", "float32", "float32")
    first, stored = load_or_build(recipe, store=CubinStore(str(tmp_path)))
    again, found = load_or_build(recipe, store=CubinStore(str(tmp_path)))
    assert (stored, found) == (False, True) and again.cubin == first.cubin and again.name == first.name
    (file,) = tmp_path.glob("*.kernel")
    file.write_bytes(file.read_bytes()[:-20])
    assert load_or_build(recipe, store=CubinStore(str(tmp_path)))[1] is False


@pytest.mark.parametrize("harm", ["cut", "changed", "foreign", "other architecture", "no cubin", "link"])
def test_damaged_and_foreign_cubins_are_rebuilt(tmp_path, harm):
    """What is not a whole file of ours, of this kernel and architecture, is compiled anew, and replaced; it is never loaded."""
    recipe, other = flat(table.add, "float32", "float32", "float32"), flat(MUL, "float32", "float32", "float32")
    store = CubinStore(str(tmp_path))
    first, _ = load_or_build(recipe, store=store)
    (file,) = tmp_path.glob("*.kernel")
    good = file.read_bytes()
    if harm == "cut":
        file.write_bytes(good[:-20])
    elif harm == "changed":
        file.write_bytes(good[:-20] + bytes(20))
    elif harm == "no cubin":
        key = file.name.removesuffix(".kernel")
        file.write_bytes(encode(replace(first, cubin=b"no cubin at all"), key))
    elif harm == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        load_or_build(*((other,) if harm == "foreign" else (recipe, (), "sm_80")), store=store)
        (stranger,) = set(tmp_path.glob("*.kernel")) - {file}
        file.write_bytes(stranger.read_bytes())
    again, found = load_or_build(recipe, store=store)
    assert not found and again.cubin == first.cubin
    assert load_or_build(recipe, store=store)[1] and not file.is_symlink() and file.read_bytes() == good


HIDDEN = """
import sys, warnings
import cuda.bindings, cuda.bindings.nvjitlink, cuda.core
sys.modules["cuda.bindings.nvjitlink"] = None
del cuda.bindings.nvjitlink
warnings.simplefilter("error")
from nbgrad.kernels.cuda import build, gates, linker, templates
from nbgrad.cubins.operations import named
operation = named("mul", "float32")
recipe = build.Recipe(templates.elementwise(operation.inputs, operation.outputs), operation.scalar, "float32")
print(linker.linker_name())
try:
    kernel = recipe()
    print(kernel.cubin[:4], kernel.ptx.encode() in kernel.cubin, kernel.registers)
    print(gates.few_registers(kernel, 64))
except Exception as error:
    print(type(error).__name__, error)
"""


def without_nvjitlink(before=""):
    """What a process prints that has no nvJitLink."""
    return subprocess.run([sys.executable, "-c", before + HIDDEN], capture_output=True, text=True, check=True).stdout


def test_the_driver_links_where_nvjitlink_is_missing():
    """Its linker gets the PTX; registers that it does not tell pass no gate."""
    installed = "from nbgrad.kernels.cuda.emulated.driver import install; install()\n"
    context = "from cuda.core import Device; Device(0).set_current()\n"
    found = without_nvjitlink(installed + context).splitlines()
    assert found[:2] == ["driver", "b'\\x7fELF' True -1"]
    assert found[2].startswith("registers that the linker does not tell") and "Hint:" in found[2]


def test_no_linker_at_hand_is_an_error_with_the_remedy():
    """Neither nvJitLink nor a driver."""
    if host.is_available():
        pytest.skip("there is a driver")
    found = without_nvjitlink().splitlines()
    assert found[0] == "driver"
    assert found[1].startswith("KernelError cuda: the driver makes no cubin for sm_90: ")
    assert "Hint: pip install nvidia-nvjitlink, which needs no driver" in found[1]


def test_ptx_that_is_wrong_is_an_error_that_says_where():
    """The assembler's words, and no exception of a library."""
    with pytest.raises(errors.KernelError, match="nvJitLink makes no cubin for sm_90: .*line 4; error.*'foo'.* Hint: "):
        link(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(){foo;}\n", "sm_90")


def test_what_fails_a_gate_is_not_stored(tmp_path):
    """A later run must meet the failure again."""
    with pytest.raises(errors.KernelError, match="integer division"):
        load_or_build(WIDE, [gates.no_division], store=CubinStore(str(tmp_path)))
    assert list(tmp_path.glob("*.kernel")) == []


def test_cubins_command_reports(tmp_path, monkeypatch, capsys):
    """Its last line counts, its exit status tells, and it says of how many kernels each property holds."""
    pytest.importorskip("rich", reason="the progress bar needs rich")
    good = table.Entry("good", NARROW, gates.gates_for(NARROW.template, "float32"))
    bad = table.Entry("bad", WIDE, (gates.no_division,))
    for entries, status, line in (([good], 0, "1 kernels, 0 failed"), ([good, bad], 1, "2 kernels, 1 failed")):
        monkeypatch.setattr(command, "kernels", lambda entries=entries: iter(entries))
        assert command.main(["--fresh", "--jobs", "1"]) == status
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == line and "     1 kernels: nothing spilled, no local memory" in lines
    assert command.main(["--fresh", "--jobs", "1", "--arch", "sm_80", "sm_100"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "sm_80: 2 kernels, 1 failed" in lines and lines[-1] == "4 kernels, 2 failed"


def test_kernels_that_take_many_registers_are_named():
    """Those of which a multiprocessor holds fewer blocks; of complex128, whose limit is another one, only the number."""
    found = [command.Result(label, True, count, "") for label, count in (("a", 64), ("b", 66), ("c_complex128", 90))]
    assert list(command.inspected([], found))[-1] == (
        "       more than 64, so fewer blocks on a multiprocessor: 2 kernels, 1 of them of complex128; b (66)"
    )


def test_every_kernel_of_the_table_has_a_name_of_its_own():
    """Labels tell kernels apart, and the table covers copies between all dtypes."""
    labels = [entry.label for entry in table.kernels()]
    assert len(set(labels)) == len(labels)
    assert sum(label.startswith("elementwise") and "_identity_" in label for label in labels) >= 144


def test_missing_gpu_is_explained():
    """Without a GPU the reason and a remedy are given, not a driver's stack trace."""
    if host.is_available():
        pytest.skip("there is a GPU")
    assert host.missing().startswith("cuda: ") and "Hint:" in host.missing()
    with pytest.raises(errors.DeviceError, match="Hint:"):
        host.Gpu()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: nbgrad.ones(2).to("cuda"),
        lambda: nbgrad.ones(2).cuda(),
        lambda: nbgrad.zeros(2, device="cuda"),
        lambda: nbgrad.tensor([1.0], device="cuda"),
    ],
)
def test_a_tensor_on_a_gpu_is_refused_with_the_reason(ask):
    """However it is asked for: what is missing on this machine, and the remedy, in one message."""
    if host.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(errors.DeviceError) as caught:
        ask()
    message = str(caught.value)
    assert "device cuda is not available" in message and "Hint: " in message
    assert host.missing().partition("cuda: ")[2].partition(". ")[0] in message

"""Files: what torch wrote is read, what ``save`` writes has torch's form, and no file makes anything but what it may."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path

import numpy as np
import pytest

import nbgrad

# Written by torch 2.13 on a processor, once; beside each value stands what it was.
FILES = Path(__file__).parent / "files"
NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def saved(value, **options) -> io.BytesIO:
    """A file in memory with it."""
    file = io.BytesIO()
    nbgrad.save(value, file, **options)
    file.seek(0)
    return file


def zipped(contents: bytes, compression: int = zipfile.ZIP_STORED, **members: bytes) -> io.BytesIO:
    """A zip of a pickle and of storages: ``_0=b"..."``."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("a/data.pkl", contents)
        for name, data in members.items():
            archive.writestr(f"a/data/{name[1:]}" if name[0] == "_" else f"a/{name}", data)
    file.seek(0)
    return file


def tensor_pickle(offset=0, size=(2, 2), stride=(2, 1), count=4, location="cpu", kind="FloatStorage", extra="") -> bytes:
    """A pickle of one tensor, as torch spells it."""
    size, stride = ("".join(f"I{n}\n" for n in numbers) for numbers in (size, stride))
    storage = f"(S'storage'\nctorch\n{kind}\nS'0'\nS'{location}'\nI{count}\ntQ"
    return f"ctorch._utils\n_rebuild_tensor_v2\n({storage}I{offset}\n({size}t({stride}tI00\nNtR{extra}.".encode()


@pytest.mark.parametrize("name", ["torch.pt", "torch_before_1_6.pt"])
@pytest.mark.parametrize("mmap", [False, True])
def test_tensors_of_torch(name, mmap):
    """All dtypes, strides, and memory that tensors share; of the older format, too, which cannot be mapped."""
    if mmap and "before" in name:
        with pytest.raises(nbgrad.FileError, match="needs a zip"):
            nbgrad.load(FILES / name, mmap=True)
        return
    found = nbgrad.load(FILES / name, mmap=mmap)
    for x, dtype in zip(found["dtypes"], NAMES, strict=True):
        assert str(x.dtype) == f"nbgrad.{dtype}" and x.to(nbgrad.float64 if "c" not in dtype else x.dtype).tolist() == (
            [0, 1, 1, 1] if dtype == "bool" else [0, 1, 2, 3]
        )
    whole, turned, part, spread = found["views"]
    assert whole.tolist() == [[0, 1, 2], [3, 4, 5]] and turned.stride() == (1, 3) and spread.stride() == (0, 1)
    whole.add_(1)
    assert turned.tolist() == [[1, 4], [2, 5], [3, 6]] and part.tolist() == [5, 6] and spread.tolist() == [[1, 2, 3]] * 2
    assert nbgrad.load(FILES / name)["views"][0][0, 0] == 0  # the file is as it was


def test_other_things_of_torch():
    """Lazy bits, parameters with attributes, plain values; and the file may be whatever can be read."""
    found = nbgrad.load(io.BytesIO((FILES / "torch.pt").read_bytes()))
    conj, neg = found["lazy"]
    assert conj.is_conj() and conj.tolist() == [1 - 2j] and neg.is_neg() and neg.tolist() == [-2]
    assert (
        isinstance(found["parameter"], nbgrad.nn.Parameter)
        and found["parameter"].note == "kept"
        and found["parameter"].requires_grad
    )
    plain = (1, 2.5, None, True, "text", b"bytes", 10**30, {1, 2}, [3], nbgrad.float16, nbgrad.device("cpu"), nbgrad.Size([2, 3]))
    assert found["plain"] == plain and type(found["plain"][-1]) is nbgrad.Size and found["empty"].shape == (0, 3)
    assert type(found["net"]) is OrderedDict and list(found["net"]._metadata) == ["", "0", "1", "2"]


def test_training_goes_on_from_a_file_of_torch():
    """Module, optimizer and scheduler continue with torch's states: the parameters two steps later are torch's."""
    found, nn = nbgrad.load(FILES / "torch.pt"), nbgrad.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    optimizer = nbgrad.optim.Adam(net.parameters())
    scheduler = nbgrad.optim.lr_scheduler.StepLR(optimizer, 7)
    assert net.load_state_dict(found["net"]) == ([], [])
    optimizer.load_state_dict(found["opt"])
    scheduler.load_state_dict(found["sch"])
    x = nbgrad.arange(6.0).reshape(3, 2).cos()
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.0012500000000000002
    expected = [0.15361784398555756, 0.5810255408287048, 1.1340994834899902, -0.07504840195178986]
    assert np.allclose(net[0].weight.detach().reshape(-1), expected, rtol=1e-5)
    assert np.allclose(net[2].bias.detach(), -0.12351673096418381, rtol=1e-5)


def test_the_form_of_a_file():
    """A zip of uncompressed members at multiples of 64 bytes, whose pickle names what ``torch.load(weights_only=True)`` knows."""
    x = nbgrad.arange(6.0).reshape(2, 3)
    p = nbgrad.nn.Parameter(x[0].clone())
    p.note = 1
    file = saved({"x": x, "view": x.t(), "bits": x.view(nbgrad.int32), "p": p, "d": nbgrad.int8, "where": x.device, "s": x.shape})
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        assert list(members) == [f"archive/{name}" for name in ("data.pkl", "byteorder", "data/0", "data/1", "version")]
        assert archive.read("archive/data/0") == x.numpy().tobytes() and archive.read("archive/byteorder") == b"little"
        for info in members.values():
            assert (info.header_offset + 30 + len(info.filename) + len(info.extra)) % 64 == 0 and not info.compress_type
        opcodes = [(code.name, value) for code, value, _ in pickletools.genops(archive.read("archive/data.pkl"))]
    assert {value for name, value in opcodes if name == "GLOBAL"} == {
        *(f"torch._utils _rebuild_{name}" for name in ("tensor_v2", "tensor_v3", "parameter_with_state")),
        *(f"torch {name}" for name in ("FloatStorage", "int32", "int8", "device", "Size")),
        "collections OrderedDict",
    }
    assert opcodes[0] == ("PROTO", 2) and sum(name == "BINPERSID" for name, _ in opcodes) == 4
    file.seek(0)
    found = nbgrad.load(file)
    found["x"].zero_()
    assert not found["view"].any() and not found["bits"].any() and found["p"].note == 1


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_what_comes_back(protocol):
    """Containers, NumPy's arrays, generators, tensors of all dtypes, in any protocol; what a file holds after another one."""
    value = {
        "containers": [
            OrderedDict(b=1, a=2),
            Counter("aab"),
            deque([1, 2], 5),
            frozenset({1}),
            {2},
            (3,),
            bytearray(b"x"),
            range(3),
        ],
        "arrays": [np.arange(6.0).reshape(2, 3).T, np.float32(2.5), np.array(["a", "bc"]), np.int64(3)],
        "tensors": [nbgrad.ones(2, dtype=getattr(nbgrad, name)) for name in NAMES],
    }
    for file in (saved(value, pickle_protocol=protocol), io.BytesIO(pickle.dumps(value, protocol))):
        found = nbgrad.load(file)
        assert repr(found) == repr(value) and found["arrays"][0].flags.f_contiguous
    assert nbgrad.load(io.BytesIO(b"(lp0\n(dp1\nI1\nI2\nsa.")) == [{1: 2}]
    grouped = defaultdict(list, a=[1])
    assert nbgrad.load(saved(grouped, pickle_protocol=protocol)) == grouped
    file = io.BytesIO(pickle.dumps(1, protocol) + pickle.dumps(nbgrad.ones(1), protocol))
    assert nbgrad.load(file) == 1 and nbgrad.load(file).tolist() == [1.0]
    generator = nbgrad.Generator().manual_seed(3)
    nbgrad.rand(2, generator=generator)
    again = nbgrad.load(saved(generator, pickle_protocol=protocol))
    assert nbgrad.equal(nbgrad.rand(3, generator=generator), nbgrad.rand(3, generator=again))


class Marked(nbgrad.Tensor):
    """A type of a program's own."""


def test_types_of_a_program():
    """What only a program has is read where ``weights_only`` is off, and named where it is not."""
    net, mine = nbgrad.nn.Linear(2, 1), nbgrad.ones(2).as_subclass(Marked)
    file = saved([net, mine])
    with pytest.raises(pickle.UnpicklingError, match=r"names nbgrad.nn.layers.Linear, which.*Hint: .*weights_only=False"):
        nbgrad.load(file)
    file.seek(0)
    found, other = nbgrad.load(file, weights_only=False)
    assert nbgrad.equal(found(nbgrad.ones(2)), net(nbgrad.ones(2))) and type(other) is Marked
    with pytest.raises(pickle.PicklingError, match=r"save: the object cannot be pickled.*Hint"):
        nbgrad.save([lambda: 1], io.BytesIO())
    foreign = b"ctorch.nn.modules.linear\nLinear\n."
    with pytest.raises(nbgrad.FileError, match=r"torch.nn.modules.linear.Linear, which is torch's own. Hint: save the state_dict"):
        nbgrad.load(io.BytesIO(foreign), weights_only=False)


def test_devices_that_are_not_here():
    """A file says where tensors were, by names that need not be known; ``map_location`` says where they go."""
    data = np.arange(4, dtype=np.float32).tobytes()
    for location in ("cuda:7", "mps", "xla:0"):
        file = zipped(tensor_pickle(location=location), _0=data)
        with pytest.raises(nbgrad.DeviceError, match=r"Hint: nbgrad.load\(file, map_location='cpu'\)"):
            nbgrad.load(file)
        for where in ("cpu", {location: "cpu"}, lambda storage, name: storage, nbgrad.device("cpu")):
            file.seek(0)
            assert nbgrad.load(file, map_location=where).tolist() == [[0, 1], [2, 3]]
        file.seek(0)
        with pytest.raises(nbgrad.ArgumentError, match="load: map_location raises AttributeError"):
            nbgrad.load(file, map_location=lambda storage, name: storage.elsewhere())


def test_a_file_of_another_byte_order():
    """The elements are turned, each part of a complex one by itself."""
    big = np.arange(8).astype(">f4").tobytes()
    for kind, expected in (("FloatStorage", [0, 1, 2, 3]), ("ComplexFloatStorage", [1j, 2 + 3j, 4 + 5j, 6 + 7j])):
        width = 4 if kind == "FloatStorage" else 8
        file = zipped(tensor_pickle(size=[4], stride=[1], kind=kind), byteorder=b"big", _0=big[: 4 * width])
        assert nbgrad.load(file).tolist() == expected


BYTES = bytes(16)
TWICE = b"q\x00h\x00\x86" * 60  # a tuple of the same tuple twice, sixty times
PART = "no pickle, or a part of one"
HOSTILE = {
    "calls a program": (b"cos\nsystem\n(S'true'\ntR.", r"names os.system, which is no tensor"),
    "calls a program as a class": (b"(S'true'\nios\nsystem\n.", PART),
    "calls a registered extension": (b"\x80\x02\x82\x01)R.", PART),
    "has a key of nested tuples": (b"\x80\x02})" + TWICE + b"K\x01s.", "a tuple in a key"),
    "has a key of one tensor": (b"}" + tensor_pickle()[:-1] + b"I1\ns.", "a Tensor in a key"),
    "has a set of nested tuples": (b"\x80\x04\x8f()" + TWICE + b"\x90.", "a tuple in a key"),
    "has a huge integer": (b"\x80\x02\x8b\xff\xff\xff\x7f.", "integer of 2147483647 bytes"),
    "has huge bytes": (b"\x80\x05\x8e\0\0\0\0\0\x10\0\0.", PART),
    "has a huge bytearray": (b"\x80\x05\x96\0\0\0\0\0\x10\0\0.", "are to follow"),
    "makes a huge bytearray": (b"c__builtin__\nbytearray\n(L1000000000000L\ntR.", "calls __builtin__.bytearray"),
    "sets a state of a maker": (b"ctorch\nTensor\n}b.", "sets the state of a Maker"),
    "calls a dtype": (b"ctorch\nfloat32\n)R.", "calls a DType"),
    "makes an array of objects": (b"cnumpy\ndtype\n(S'O'\ntR.", "dtype 'O'"),
    "appends to a tensor": (tensor_pickle(extra="I1\na"), "writes to a Tensor as to a list"),
    "writes into a tensor": (tensor_pickle(extra="I0\nI1\ns"), "writes to a Tensor as to a dict"),
    "begins before its storage": (tensor_pickle(offset=-1), "begins at byte -4 of a storage of 16 bytes"),
    "ends after its storage": (tensor_pickle(offset=1), "begins at byte 4 of a storage of 16 bytes, which does not hold it"),
    "is larger than its storage": (tensor_pickle(size=[1 << 40], stride=[1]), "storage of 16 bytes, which does not hold it"),
    "is too large": (tensor_pickle(size=[1 << 40] * 2, stride=[0] * 2), r"has shape \(1099511627776, 1099511627776\)"),
    "has a stride below 0": (tensor_pickle(stride=[2, -1]), r"strides \(2, -1\)"),
    "has more sizes than strides": (tensor_pickle(stride=[2]), r"shape \(2, 2\) and strides \(2,\)"),
    "has a storage of another size": (tensor_pickle(count=1 << 60), "has 16 bytes, and shall have 1152921504606846976 elements"),
    "has no such storage": (tensor_pickle().replace(b"S'0'", b"S'1'"), "no member 'data/1'"),
    "leaves its folder": (tensor_pickle().replace(b"S'0'", b"S'../../x'"), "no member 'data/../../x'"),
    "has a dtype that nbgrad lacks": (
        tensor_pickle().replace(b"_v2", b"_v3").replace(b"Nt", b"Nctorch\nfloat8_e5m2\nt"),
        "tensor of float8_e5m2, which nbgrad lacks",
    ),
}


@pytest.mark.parametrize("contents, said", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pickles(contents, said):
    """Nothing runs, nothing large is made, and the error says what was found."""
    for file in (zipped(contents, _0=BYTES), io.BytesIO(contents)):
        with pytest.raises((nbgrad.FileError, nbgrad.NotSupportedError)) as error:
            nbgrad.load(file)
        error.match(said if b"Q" not in contents or file.getvalue()[:2] == b"PK" else "")  # a zip alone has storages to name
        assert str(error.value).startswith(("load: the ", "load: a ", "load: s"))


def test_hostile_zips():
    """Compressed members, sizes that are not in the file, members that overlap, other checksums, no object, a program."""
    good = zipped(tensor_pickle(), _0=BYTES).getvalue()
    directory = good.rindex(b"PK\1\2")
    huge = bytearray(good)
    huge[directory + 20 : directory + 28] = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    changed = good.replace(BYTES, b"\1" + BYTES[1:])
    overlapping = zipped(tensor_pickle(), _0=BYTES, **{f"_{k}": b"" for k in range(1, 3)})
    for file, said in (
        (zipped(tensor_pickle(), zipfile.ZIP_DEFLATED, _0=BYTES), "'data.pkl' is compressed"),
        (io.BytesIO(huge), "has 4294967280 bytes, of which the file has"),
        (io.BytesIO(changed), "'data/0' has another checksum"),
        (zipped(tensor_pickle(), _0=BYTES, **{"constants.pkl": b""}), "a program of TorchScript"),
        (io.BytesIO(good.replace(b"data.pkl", b"data.txt")), "no member data.pkl"),
    ):
        with pytest.raises(nbgrad.FileError, match=said):
            nbgrad.load(file)
    assert nbgrad.load(overlapping).tolist() == [[0, 0], [0, 0]]


def test_files_that_are_not_whole():
    """However much of a file is missing, there is an error; bytes that were changed at random give one, or an object."""
    whole = saved({"a": nbgrad.ones(3), "b": [1, "text"]}).getvalue()
    older = (FILES / "torch_before_1_6.pt").read_bytes()
    for data in (whole, older):
        for length in range(0, len(data), 7):
            with pytest.raises(nbgrad.FileError):
                nbgrad.load(io.BytesIO(data[:length]))
    generator, refused = np.random.default_rng(0), 0
    samples = [pickle.dumps({"a": [1, {2}], "b": (1.5, b"x", 10**30, nbgrad.ones(2))}, protocol) for protocol in (2, 5)]
    for k in range(400):
        data = bytearray(samples[k % 2])
        data[generator.integers(len(data))] = generator.integers(256)
        try:
            nbgrad.load(io.BytesIO(data))
        except (nbgrad.FileError, nbgrad.DeviceError, nbgrad.NotSupportedError):
            refused += 1
    assert refused > 200


class Failing:
    """What fails where it is pickled or written."""

    def __reduce__(self):
        raise TypeError("not today")


def test_a_path_that_no_file_can_have(tmp_path):
    """An error of the family, which is RuntimeError as torch's, and of files, as Python's ``open`` raises it."""
    with pytest.raises(RuntimeError, match="save: there is no folder .*missing. Hint: os.makedirs") as missing:
        nbgrad.save(nbgrad.ones(1), tmp_path / "missing" / "x.pt")
    with pytest.raises(RuntimeError, match="save: .* is a folder, expected the path of a file.") as folder:
        nbgrad.save(nbgrad.ones(1), tmp_path)
    assert isinstance(missing.value, FileNotFoundError) and isinstance(folder.value, IsADirectoryError)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A file that was there stays where a save fails; nothing is left beside it; links and modes are kept."""
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    nbgrad.save(1, path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    nbgrad.save(2, str(link))
    assert nbgrad.load(path) == 2 and link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(nbgrad.ArgumentError, match="not today"):
        nbgrad.save(Failing(), path)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *arguments, **options: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        nbgrad.save(3, path)
    monkeypatch.undo()
    assert nbgrad.load(path) == 2 and sorted(tmp_path.iterdir()) == [link, path]
    with pytest.raises(FileNotFoundError):
        nbgrad.save(1, tmp_path / "missing" / "x.pt")


def test_a_mapped_file(tmp_path):
    """Tensors lie in the file, may be written to, and leave it as it is; memory that is shared stays shared."""
    x = nbgrad.arange(4.0)
    nbgrad.save([x, x[1:], nbgrad.ones(2, dtype=nbgrad.bfloat16)], tmp_path / "x.pt")
    found = nbgrad.load(tmp_path / "x.pt", mmap=True)
    found[0].neg_()
    assert found[1].tolist() == [-1, -2, -3] and found[2].tolist() == [1, 1]
    assert nbgrad.load(tmp_path / "x.pt", mmap=True)[0].tolist() == [0, 1, 2, 3]
    with pytest.raises(nbgrad.ArgumentError, match="mmap=True needs a path"):
        nbgrad.load(saved(1), mmap=True)
    for call in (lambda: nbgrad.save(1, io.BytesIO(), np), lambda: nbgrad.load(saved(1), pickle_module=np)):
        with pytest.raises(nbgrad.NotSupportedError, match="expected Python's pickle"):
            call()

"""Files from the net, by addresses of files on this disk."""

from __future__ import annotations

import hashlib

import pytest

import nbgrad
from nbgrad import hub
from nbgrad.errors import FileError, NamingError, NotSupportedError


def test_a_state_is_downloaded_once(tmp_path):
    """It is kept under its name, and read from there the next time; the digest in the name is compared."""
    made = tmp_path / "made.pth"
    nbgrad.save({"w": nbgrad.ones(2)}, made)
    source = tmp_path / f"net-{hashlib.sha256(made.read_bytes()).hexdigest()[:8]}.pth"
    made.rename(source)
    folder = tmp_path / "kept"
    state = hub.load_state_dict_from_url(source.as_uri(), folder, check_hash=True, progress=False)
    source.unlink()
    again = nbgrad.utils.model_zoo.load_url(source.as_uri(), folder, progress=False)
    assert state["w"].tolist() == again["w"].tolist() == [1.0, 1.0]


def test_a_download_that_is_not_what_was_expected_leaves_nothing(tmp_path, capsys):
    """Neither the file nor a part of it."""
    source = tmp_path / "net-00000000.pth"
    source.write_bytes(b"other")
    folder = tmp_path / "kept"
    with pytest.raises(FileError, match="expected 00000000"):
        hub.load_state_dict_from_url(source.as_uri(), folder, check_hash=True)
    assert not [*folder.iterdir()] and "0.0 of 0.0 MB" in capsys.readouterr().err


def test_where_files_are_kept(monkeypatch):
    """Where torch keeps them, unless the program or the environment says otherwise."""
    monkeypatch.setenv("TORCH_HOME", "/models")
    assert hub.get_dir() == "/models/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"


def test_models_of_a_folder(tmp_path):
    """``hubconf.py`` says which there are; nothing is downloaded."""
    (tmp_path / "hubconf.py").write_text('from parts import size\ndef net(scale=1):\n    "A net."\n    return size * scale\n')
    (tmp_path / "parts.py").write_text("size = 3\n")
    assert hub.load(tmp_path, "net", scale=2, source="local", trust_repo=True) == 6
    assert hub.list(tmp_path) == ["net"] and hub.help(tmp_path, "net") == "A net."
    with pytest.raises(NamingError, match="no function 'other'"):
        hub.load(tmp_path, "other", source="local")
    with pytest.raises(ValueError, match="source is 'elsewhere', expected 'local' or 'github'"):
        hub.load(tmp_path, "net", source="elsewhere")
    with pytest.raises(FileError, match="is not there"):
        hub.load(tmp_path / "no", "net", source="local")
    with pytest.raises(NotSupportedError, match='source="local"'):
        hub.load("owner/name", "net")


def test_progress_of_downloads(capsys):
    """It counts what is told or gone through, and says so on the error stream unless it is disabled."""
    with hub.tqdm(total=2e6, desc="net") as progress:
        progress.update(1_000_000)
    assert capsys.readouterr().err == "\rnet: 1.0 of 2.0 MB\n"
    assert list(hub.tqdm([1, 2], disable=True)) == [1, 2] and capsys.readouterr().err == ""
    assert hub.HASH_REGEX.search("net-0123abcd.pth")[1] == "0123abcd"

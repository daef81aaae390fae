"""Files from the net: ``nbgrad.hub`` and ``nbgrad.utils.model_zoo``, as ``torch.hub``.

They are kept where torch keeps them, so what torch downloaded is found.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlparse

import nbgrad

from ..base.errors import ArgumentError, FileError, NamingError, NotSupportedError, RangeError

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "load_url", "set_dir"]

# The beginning of a file's digest, in its name: ``resnet18-5c106cde.pth``.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # torch's name


class Chosen:
    """The folder that a program has chosen, if it has."""

    folder: str | None = None


def _get_torch_home() -> str:
    """The folder that libraries put what they download into: $TORCH_HOME, else ``torch`` in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    return os.path.expanduser(os.getenv("TORCH_HOME") or os.path.join(cache, "torch"))


def get_dir() -> str:
    """The folder for what is downloaded: that of ``set_dir``, else ``hub`` in $TORCH_HOME, else in the user's cache of torch.

    >>> os.path.basename(get_dir())
    'hub'
    """
    return Chosen.folder or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike | None) -> None:
    """Choose the folder for what is downloaded; None: that of ``get_dir`` where no program has chosen.

    >>> set_dir("models")
    >>> get_dir()
    'models'
    >>> set_dir(None)
    """
    Chosen.folder = None if d is None else os.path.expanduser(os.fspath(d))


def download_url_to_file(url: str, dst: str | os.PathLike, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file; it is at ``dst`` when it is whole.

    Args:
        hash_prefix: what its SHA256 digest, in hexadecimal digits, must begin with.
        progress: say on the error stream how much is there.

    Raises:
        FileError: another digest.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "from").write_text("text")
    >>> download_url_to_file((folder / "from").as_uri(), folder / "to", progress=False)
    >>> (folder / "to").read_text()
    'text'
    """
    target = Path(dst)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as file:
        try:
            digest = copied(url, file, target.name if progress else None)
            if hash_prefix and not digest.startswith(hash_prefix):
                raise FileError(f"download_url_to_file: the digest of {url} is {digest}, expected {hash_prefix}...")
            file.close()
            shutil.move(file.name, target)
        except BaseException:
            file.close()
            Path(file.name).unlink(missing_ok=True)
            raise


def copied(url: str, file: IO[bytes], name: str | None) -> str:
    """Write what is at an address to a file; the SHA256 digest of it.

    Args:
        name: under which the error stream is told how much is there; None: it is not.
    """
    digest = hashlib.sha256()
    with urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": "nbgrad"})) as source:
        total = int(source.headers.get("Content-Length") or 0)
        with tqdm(total=total, desc=name, disable=name is None) as progress:
            while chunk := source.read(1 << 20):
                file.write(chunk)
                digest.update(chunk)
                progress.update(len(chunk))
    return digest.hexdigest()


class tqdm:  # torch's name
    """Says on the error stream how many bytes are there: what programs take from ``torch.hub`` for their own downloads.

    Args:
        iterable: what it goes through, if it is used as one.
        total: how many bytes there will be.
        desc: of what.
        disable: say nothing.
        options: of the library of that name; without effect.

    >>> with tqdm(total=10, disable=True) as progress:
    ...     progress.update(4)
    ...     progress.n
    4
    """

    def __init__(
        self, iterable: Any = None, total: float | None = None, desc: str | None = None, disable: bool = False, **options: Any
    ):
        self.iterable, self.total, self.desc, self.disable, self.n = iterable, total or 0, desc or "download", disable, 0

    def update(self, n: int = 1) -> None:
        """So many more are there."""
        self.n += n
        if not self.disable:
            print(f"\r{self.desc}: {self.n / 1e6:.1f} of {self.total / 1e6:.1f} MB", end="", file=sys.stderr)

    def close(self) -> None:
        """No more will come."""
        if not self.disable:
            print(file=sys.stderr)
            self.disable = True

    def set_description(self, desc: str | None = None, refresh: bool = True) -> None:
        """Say of what."""
        self.desc = desc or self.desc

    def __iter__(self) -> Iterator[Any]:
        with self:
            for each in self.iterable:
                yield each
                self.update()

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """What a file has that is downloaded once, by ``nbgrad.load``.

    Args:
        model_dir: where it is kept; by default ``checkpoints`` in ``get_dir()``.
        map_location, weights_only: as of ``load``; torch reads whatever a file says unless told otherwise.
        check_hash: the name has the beginning of the digest, as ``name-0123abcd.pth``: compare them.
        file_name: the name under which it is kept, by default that of the address.

    Raises:
        FileError: another digest.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> nbgrad.save({"weight": nbgrad.ones(1)}, folder / "net.pth")
    >>> load_state_dict_from_url((folder / "net.pth").as_uri(), folder / "kept", progress=False)
    {'weight': tensor([1.])}
    """
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (file_name or os.path.basename(urlparse(url).path))
    if not target.exists():
        found = HASH_REGEX.search(target.name) if check_hash else None
        download_url_to_file(url, target, found[1] if found else None, progress)
    return nbgrad.load(target, map_location, weights_only=weights_only)


load_url = load_state_dict_from_url


def entries(repo_or_dir: str | os.PathLike, source: str) -> Any:
    """The module ``hubconf.py`` of a folder, which runs.

    Raises:
        RangeError: no such source. NotSupportedError: another one than a folder. FileError: it has no such file.
    """
    if source not in ("local", "github"):
        raise RangeError(f"hub: source is {source!r}, expected 'local' or 'github'.")
    if source != "local":
        raise NotSupportedError('hub: programs are not downloaded. Hint: get a copy, and source="local".')
    path = Path(repo_or_dir) / "hubconf.py"
    spec = spec_from_file_location("hubconf", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FileError(f"hub: {os.fspath(path)} is not there.")
    module = module_from_spec(spec)
    sys.path.insert(0, os.fspath(repo_or_dir))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.fspath(repo_or_dir))
    return module


def list(github: str | os.PathLike, *ignored: Any, source: str = "local", **options: Any) -> Any:
    """The names of the models in a folder: what can be called in its ``hubconf.py``.

    Raises:
        As ``load``.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def net(): return 1")
    >>> list(folder)
    ['net']
    """
    found = vars(entries(github, source))
    return [name for name, value in found.items() if callable(value) and not name.startswith("_")]


def help(github: str | os.PathLike, model: str, *ignored: Any, source: str = "local", **options: Any) -> str | None:
    """The docstring of a model.

    Raises:
        As ``load``.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def net(): 'A net.'")
    >>> help(folder, "net")
    'A net.'
    """
    return entry(entries(github, source), model).__doc__


def load(repo_or_dir: str | os.PathLike, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """A model of a folder: what the function of that name in its ``hubconf.py`` gives.

    Args:
        source: "local": nothing is downloaded.
        args, kwargs: what it is called with, but for torch's ``trust_repo``, ``force_reload``, ``verbose``, ``skip_validation``.

    Raises:
        NotSupportedError: another source. FileError: the folder has no ``hubconf.py``. NamingError: no such function there.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def double(x): return 2 * x")
    >>> list(folder), load(folder, "double", 3, source="local")
    (['double'], 6)
    """
    for name in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(name, None)
    return entry(entries(repo_or_dir, source), model)(*args, **kwargs)


def entry(module: Any, model: str) -> Any:
    """A function of ``hubconf.py``."""
    if not isinstance(model, str):
        raise ArgumentError(f"hub: model must be a str, got {type(model).__name__}.")
    found = getattr(module, model, None)
    if not callable(found):
        raise NamingError(f"hub: hubconf.py has no function {model!r}.")
    return found

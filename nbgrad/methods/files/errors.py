"""Errors of files of objects: those of the family, and what ``pickle`` raises in that place."""

from __future__ import annotations

from pickle import PicklingError, UnpicklingError

from ...base.errors import ArgumentError, FileError

__all__ = ["DirectoryPathError", "LoadError", "MissingFolderError", "SaveError"]


class LoadError(FileError, UnpicklingError):
    """A file that does not hold what it should, or something that is not made from files."""


class MissingFolderError(FileError, FileNotFoundError):
    """A path in a folder that is not there."""


class DirectoryPathError(FileError, IsADirectoryError):
    """A path that is a folder, where a file is to be written."""


class SaveError(ArgumentError, PicklingError):
    """An object that cannot be pickled."""

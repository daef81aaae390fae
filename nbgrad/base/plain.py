"""The types of Python's values that never change and hold nothing else."""

__all__ = ["PLAIN"]

PLAIN: tuple[type, ...] = (int, float, complex, bool, str, bytes, type(None))

"""The CPU target: build, store, launch, iterate, pool, BLAS."""
from __future__ import annotations

from ... import config

__all__ = ["launcher"]


def launcher(tensor_type, storage_type, layout_type, node_type, storage_template):
    """The native launcher, or its Python twin where the interpreter's objects are unknown or ``NBGRAD_NATIVE=0``."""
    from . import launch
    from .launch_python import Twin
    if not config.NATIVE or launch.check_layouts(tensor_type, storage_type) is not None:
        return Twin(tensor_type, storage_type, layout_type, node_type, storage_template)
    from .store import loader
    return launch.Native(loader(), tensor_type, storage_type, layout_type, node_type, storage_template)

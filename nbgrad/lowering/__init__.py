"""Lowerings: which kernels an operation launches for given layouts, and with which parameters. They know no graph.

``load`` imports every module here, which registers its lowerings (``LOWERINGS`` in dispatch/lowerings.py).
"""

from ..dispatch.lowerings import LATER


def load() -> None:
    """Register all lowerings."""
    # Order does not matter.
    from . import (  # noqa: F401
        attention,
        channels,
        complex,
        convolution,
        copy,
        counts,
        device,
        distances,
        extremum_places,
        fft,
        formulas,
        index_writers,
        indexing,
        join,
        linalg,
        losses,
        masks,
        matrices,
        paths,
        pooling,
        random,
        rearranging,
        recurrent,
        reduce,
        sampling,
        scan,
        scatter,
        softmax,
        sort,
        sparse,
        standardise,
        variances,
        view_cotangents,
    )

    LATER.append(load_on_gpu)


def load_on_gpu() -> None:
    """Register those of GPUs."""
    from . import cuda  # noqa: F401

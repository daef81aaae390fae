"""CUDA kernels: built from templates, checked and cached on any machine; launched where there is a GPU.

    access.py        how a kernel touches memory: storage dtypes, vectors, the dtype it computes in
    templates.py     loop skeletons around a scalar function: elementwise, strided
    accumulators.py  how a reduction's monoid is held: carried sums, parts of complex numbers, positions
    reductions.py    the skeletons that fold rows and columns with them
    moments.py       means and variances, as accumulators
    rows.py          the skeletons that fold rows, or columns, and then map their elements
    scores.py        what softmax, its family, standardised rows and losses by class are to those
    losses.py        elements at targets, means over the rows that count
    scans.py         the skeletons that fold up to each element
    picks.py         elements moved along a dimension
    memory.py        loads and stores as instructions
    intrinsics.py    what templates' names mean to a GPU
    entry.py         how a GPU calls a kernel
    build.py         template + scalar -> PTX -> cubin
    simt.py          what the same names mean to an interpreter on the CPU
    gates.py         what must hold of every kernel's PTX and registers
    store.py         cubins on disk, by content
    random.py        the skeletons that fill memory with random numbers
    libraries.py     NVIDIA's libraries, called by address
    cublas.py        products of matrices by one of them
    cusolver.py      decompositions and systems by another
    presence.py      whether there is a driver
    host.py          device memory, launches, streams, graphs; what is missing where there is no GPU

``nbgrad.cubins`` lists every kernel that a release carries, and builds them.
Importing this package imports neither numba nor any CUDA library.
"""

"""A device that this processor plays: the kernels of ``kernels/cuda`` compiled for it, their threads fibers, each access looked at.

    limits.py    what a launch may ask for
    words.py     what the words of a machine and its fibers say, for Python and for machine code
    switch.py    one stack left for another: the only part that knows which processor this is
    schedule.py  blocks, barriers, shuffles: how the threads of a launch take turns
    check.py     what an access may touch, and who else touched it
    names.py     what the names of a template mean here
    entry.py     how a thread is called
    memory.py    what is allocated where, and the table in which kernels look that up
    guard.py     the devices' memory, out of the host's reach
    device.py    launches
    timeline.py  what is queued on streams, and in which order it is done
    library.py   a shared library that Python writes
    played.py    NVIDIA's libraries as functions of Python's, for tests
    cublas.py    cuBLASLt
    handles.py   what the next two share
    cusolver.py  cuSOLVER
    solver_blas.py
                 what decompositions use of cuBLAS
    driver/      CUDA's driver, as that library: what cuda.core and our launches call

It is for proving kernels and host code where there is no GPU. What it cannot show is said in ``docs/cuda.md``.
"""

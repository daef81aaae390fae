"""Every CUDA kernel of a release, compiled and inspected: ``make cubins``, ``python -m nbgrad.cubins``. Needs no GPU.

    operations.py    the table of operations as scalar functions and operands
    table.py         their kernels, and those of copies, reductions and random numbers
    command.py       builds them all, and reports

No module that a program needs imports this package. It may look at every layer: formulas, cotangents, tangents, optimizers.
"""

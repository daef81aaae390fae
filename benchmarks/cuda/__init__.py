"""Measurements on a GPU, beside torch's where it is installed with CUDA: ``python -m benchmarks.cuda``.

Nothing here runs without a GPU but on the emulated device, where the programs are tested and no number means anything.
"""

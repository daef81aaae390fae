"""What hangs on Tensor and on the package: installed from the declarations, printed, pickled, asked, seen by NumPy."""

"""What ``Tensor`` and the package offer: installed operations, printing, pickling, NumPy's protocol, settings."""

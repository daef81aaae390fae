"""Arguments and results of compiled functions: their trees, the keys that choose a variant, which results are views of what."""

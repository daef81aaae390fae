"""The lowest layer, which everything may use: errors, settings, locks, dtypes, grad mode, bounded tables, the calls by name."""

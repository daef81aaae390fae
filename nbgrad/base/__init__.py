"""What everything may use: errors, settings, locks, dtypes, grad mode, bounded tables, and the calls by name."""

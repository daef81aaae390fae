"""From an operation on tensors to kernels: what to launch for these layouts, with which parameters. Knows no graph."""

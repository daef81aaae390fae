"""What operations exist: importing this package fills the table ``core.OPS``."""
# Order does not matter.
from . import complex, copies, einsum, elementwise, indexing, linalg, losses, movement, random, reduce, variants  # noqa: F401

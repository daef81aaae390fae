"""What operations exist: importing this package fills the table ``core.OPS``."""
# One line a module; order does not matter.
from . import complex  # noqa: F401
from . import copies, elementwise, indexing, movement  # noqa: F401
from . import einsum, linalg, losses  # noqa: F401
from . import reduce  # noqa: F401
from . import variants  # noqa: F401
from . import random  # noqa: F401

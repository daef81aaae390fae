# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from ..utilities.distributed import *

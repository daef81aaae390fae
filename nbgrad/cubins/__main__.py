"""``python -m nbgrad.cubins``."""

import sys

from .command import main

if __name__ == "__main__":  # the processes that build import this file too
    sys.exit(main())

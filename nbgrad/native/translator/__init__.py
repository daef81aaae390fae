"""From the syntax trees of native functions to LLVM's text: types, references, errors. What they may say is in ``language``.

From below: ``kinds``, the static types; ``references``, the text and who owns what; ``values``, ``expressions``, ``invocations``,
``statements``, each a class over the one before; ``functions``, one function; ``units``, modules of them. It is imported where
machine code is not yet kept on the disk, and knows nothing of what it translates.
"""

from .kinds import Refused
from .units import Unit, declarations

__all__ = ["Refused", "Unit", "declarations"]

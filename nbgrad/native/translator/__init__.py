"""The translator of native functions, from syntax trees to LLVM's text, with types, references and errors. ``language`` says what
such a function may contain.

From below: ``kinds``, the static types; ``references``, the text and who owns what; ``values``, ``expressions``, ``invocations``,
``statements``, each a class derived from the one before; ``functions``, one function; ``units``, modules of them. It is imported
only where the machine code is not yet on the disk, and knows nothing of what it translates.
"""

from .kinds import Refused
from .units import Unit, declarations

__all__ = ["Refused", "Unit", "declarations"]

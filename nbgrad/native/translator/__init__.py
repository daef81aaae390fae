"""The translator of native functions: it turns the syntax trees of annotated Python functions into LLVM's text.

What such a function may contain says ``language``. The modules, from below: ``kinds``, the static types; ``references``, the text
as it grows, and who owns which object; ``values``, ``expressions``, ``invocations``, ``statements``, each a class derived from the
one before; ``functions``, one function; ``units``, modules of them. The translator is imported only where the machine code is not
on the disk yet, and knows nothing of what it translates.
"""

from .kinds import Refused
from .units import Unit, declarations

__all__ = ["Refused", "Unit", "declarations"]

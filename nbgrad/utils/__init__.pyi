# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from . import _contextlib as _contextlib, _python_dispatch as _python_dispatch, _pytree as _pytree, benchmark as benchmark, checkpoint as checkpoint, cpp_extension as cpp_extension, data as data, dlpack as dlpack, flop_counter as flop_counter, hooks as hooks, model_zoo as model_zoo, module_tracker as module_tracker, tensorboard as tensorboard

# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from . import _pytree as _pytree, benchmark as benchmark, checkpoint as checkpoint, data as data, dlpack as dlpack, hooks as hooks, model_zoo as model_zoo, tensorboard as tensorboard

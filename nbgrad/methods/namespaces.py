"""torch's module paths, where ported programs look for names, and the modules here that have them.

``from nbgrad.utils.checkpoint import checkpoint`` finds a module in ``sys.modules`` that loads nothing before one of its names is
used.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["Namespace", "module_below", "install_namespaces"]

# A path, and the module whose names are found there; None: only paths below it.
PLACES: dict[str, str | None] = {
    "_dynamo": "utilities.dynamo",
    "_dynamo._trace_wrapped_higher_order_op": "utilities.dynamo",
    "_dynamo.eval_frame": "utilities.dynamo",
    "_dynamo.exc": "utilities.dynamo",
    "_dynamo.utils": "utilities.dynamo",
    "_higher_order_ops": "jit",
    "_higher_order_ops.associative_scan": "jit.associative",
    "_inductor": "utilities.dynamo",
    "_tensor_str": "methods.printing",
    "_jit_internal": "utilities.scripting",
    "_utils": "utilities.flattening",
    "_vmap_internals": "batch.vmap",
    "accelerator": "cuda.accelerator",
    "autograd.anomaly_mode": "anomaly",
    "autograd.functional": "func.functional",
    "autograd.graph": "graph",
    "autograd.profiler": "profiling.profiler",
    "autograd.profiler_util": "profiling.events",
    "autograd.variable": "autograd",
    "checkpoint": "recomputing.checkpoint",
    "compiler": "jit.compiler",
    "cpu.amp": "amp.cpu_names",
    "cpu.amp.autocast_mode": "amp.cpu_names",
    "cpu.amp.grad_scaler": "amp.cpu_names",
    "cuda.amp": "amp.cuda_names",
    "cuda.graphs": "cuda",
    "cuda.nvtx": "methods.nvtx",
    "cuda.streams": "cuda",
    "cuda.amp.autocast_mode": "amp.cuda_names",
    "cuda.amp.common": "amp.cuda_names",
    "cuda.amp.grad_scaler": "amp.cuda_names",
    "distributed": "utilities.distributed",
    "distributed.device_mesh": "utilities.distributed",
    "distributed.fsdp": "utilities.distributed",
    "distributed.nn": "utilities.distributed",
    "distributed.nn.functional": "utilities.distributed",
    "distributed.rpc": "utilities.distributed",
    "distributed.tensor": "utilities.distributed",
    "dtypes": "base.dtypes",
    "distributions.bernoulli": "distributions",
    "distributions.beta": "distributions",
    "distributions.binomial": "distributions",
    "distributions.categorical": "distributions",
    "distributions.cauchy": "distributions",
    "distributions.chi2": "distributions",
    "distributions.continuous_bernoulli": "distributions",
    "distributions.dirichlet": "distributions",
    "distributions.exponential": "distributions",
    "distributions.fishersnedecor": "distributions",
    "distributions.gamma": "distributions",
    "distributions.generalized_pareto": "distributions",
    "distributions.geometric": "distributions",
    "distributions.gumbel": "distributions",
    "distributions.half_cauchy": "distributions",
    "distributions.half_normal": "distributions",
    "distributions.independent": "distributions",
    "distributions.inverse_gamma": "distributions",
    "distributions.kumaraswamy": "distributions",
    "distributions.laplace": "distributions",
    "distributions.lkj_cholesky": "distributions",
    "distributions.log_normal": "distributions",
    "distributions.logistic_normal": "distributions",
    "distributions.lowrank_multivariate_normal": "distributions",
    "distributions.mixture_same_family": "distributions",
    "distributions.multinomial": "distributions",
    "distributions.multivariate_normal": "distributions.multivariate",
    "distributions.negative_binomial": "distributions",
    "distributions.normal": "distributions",
    "distributions.one_hot_categorical": "distributions",
    "distributions.pareto": "distributions",
    "distributions.poisson": "distributions",
    "distributions.relaxed_bernoulli": "distributions",
    "distributions.relaxed_categorical": "distributions",
    "distributions.studentT": "distributions",
    "distributions.transformed_distribution": "distributions",
    "distributions.uniform": "distributions",
    "distributions.von_mises": "distributions",
    "distributions.weibull": "distributions",
    "distributions.wishart": "distributions",
    "errors": "base.errors",
    "forward_ad": "autograd.forward_ad",
    "function": "autograd.function",
    "functional": "func.functional",
    "fx._symbolic_trace": "fx.tracing",
    "fx.passes.utils": None,
    "fx.passes.utils.matcher_utils": "fx.matching",
    "futures": "utilities.futures",
    "grad_mode": "autograd.grad_mode",
    "gradcheck": "autograd.gradcheck",
    "hub": "utilities.hub",
    "jit.annotations": "utilities.scripting",
    "library": "func.custom_ops",
    "memory": "methods.memory",
    "mps": "backends.absent",
    "nn.attention.bias": "nn.causal_masks",
    "nn.attention.flex_attention": "nn.flex_attention",
    "nn.common_types": "nn.tuples",
    "nn.modules": "nn",
    "nn.modules.activation": "nn",
    "nn.modules.batchnorm": "nn.normal_layers",
    "nn.modules.channelshuffle": "nn.rearranging",
    "nn.modules.container": "nn.container",
    "nn.modules.conv": "nn.convolution",
    "nn.modules.dropout": "nn.dropout",
    "nn.modules.flatten": "nn",
    "nn.modules.fold": "nn.pooling",
    "nn.modules.instancenorm": "nn.instance_layers",
    "nn.modules.lazy": "nn.lazy",
    "nn.modules.linear": "nn",
    "nn.modules.loss": "nn",
    "nn.modules.module": "nn.global_hooks",
    "nn.modules.normalization": "nn",
    "nn.modules.padding": "nn.padding",
    "nn.modules.pixelshuffle": "nn.rearranging",
    "nn.modules.pooling": "nn.pooling",
    "nn.modules.rnn": "nn",
    "nn.modules.sparse": "nn",
    "nn.modules.transformer": "nn.transformer",
    "nn.modules.upsampling": "nn.resampling",
    "nn.modules.utils": "nn.tuples",
    "nn.parameter": "nn.parameters",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.distributed": "nn.parallel",
    "nn.parallel.parallel_apply": "nn.parallel",
    "nn.parallel.replicate": "nn.parallel",
    "nn.parallel.scatter_gather": "nn.parallel",
    "nn.utils.clip_grad": "nn.utils",
    "nn.utils.convert_parameters": "nn.utils",
    "nn.utils.fusion": "nn.fusion",
    "nn.utils.memory_format": "nn.weight_formats",
    "nn.utils.parametrizations": "nn.parametrizations",
    "nn.utils.parametrize": "nn.parametrize",
    "nn.utils.prune": "nn.prune",
    "nn.utils.rnn": "nn.packing",
    "nn.utils.stateless": "func.modules",
    "onnx": "backends.absent",
    "optim.adadelta": "optim.squares",
    "optim.adagrad": "optim.squares",
    "optim.adamax": "optim.moments",
    "optim.adamw": "optim.adam",
    "optim.asgd": "optim.averaged",
    "optim.nadam": "optim.moments",
    "optim.radam": "optim.moments",
    "optim.rmsprop": "optim.squares",
    "optim.rprop": "optim.averaged",
    "overrides": "modes.overrides",
    "profiler": "profiling.profiler",
    "pytree": "methods.pytree",
    "random": "methods.random",
    "return_types": "methods.return_types",
    "serialization": "methods.files.serialization",
    "storage": "methods.typed_storage",
    "tensor": "tensors.tensor",
    "types": "utilities.types",
    "utils": None,
    "utils._contextlib": "autograd.grad_mode",
    "utils._python_dispatch": "utilities.python_dispatch",
    "utils._pytree": "methods.pytree",
    "utils.benchmark": "utilities.benchmark",
    "utils.checkpoint": "recomputing.checkpoint",
    "utils.cpp_extension": "utilities.cpp_extension",
    "utils.data": "data",
    "utils.data._utils": None,
    "utils.data._utils.collate": "data.collate",
    "utils.data.dataloader": "data.dataloader",
    "utils.data.dataset": "data.datasets",
    "utils.data.distributed": "data.distributed",
    "utils.data.sampler": "data.samplers",
    "utils.dlpack": "creation.dlpack",
    "utils.flop_counter": "utilities.flops",
    "utils.hooks": "methods.pickled_hooks",
    "utils.model_zoo": "utilities.hub",
    "utils.module_tracker": "utilities.module_tracker",
    "utils.tensorboard": "utilities.tensorboard",
    "utils.tensorboard.writer": "utilities.tensorboard",
    "vmap": "batch.vmap",
    "xpu": "backends.absent",
}
# Packages whose files hold other names here than in torch, where all of them are: what their paths begin with.
WHOLES = {"nn": "nn.modules", "distributions": "distributions"}
# The paths that have others below them.
PACKAGES = {path.rpartition(".")[0] for path in PLACES}


OWN_NAMES: Any = vars(ModuleType)["__dict__"]  # what is really in a module


class Namespace(ModuleType):
    """A module of that path with the names of another one, which is imported when the first of them is asked for.

    >>> from nbgrad.utils.hooks import RemovableHandle
    >>> import nbgrad.autograd.functional as F
    >>> F.jacobian(lambda x: x * x, nbgrad.ones(2))
    tensor([[2., 0.],
            [0., 2.]])
    """

    def __init__(self, path: str, source: str | None):
        super().__init__(path, f"The names of nbgrad.{source}." if source else "A package of namespaces.")
        self.__source__ = source
        if path.partition(".")[2] in PACKAGES:
            self.__path__: list[str] = []  # a package, of these modules alone

    def __getattr__(self, name: str) -> Any:
        below = sys.modules.get(f"{self.__name__}.{name}")
        if below is not None:
            return below
        # Tools ask every module for names like __file__ and __path__, which are not to load anything.
        if not name.startswith("__") or name == "__all__":
            for source in self._sources():
                with suppress(AttributeError):
                    return getattr(import_module(f"nbgrad.{source}"), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}.")

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The names with their values, for programs that go through ``vars(nbgrad.nn.modules.activation)``."""
        own: dict[str, Any] = OWN_NAMES.__get__(self)
        public = [sys.modules.get(f"nbgrad.{source}") for source in self._sources()]
        return {name: getattr(module, name) for module in public if module for name in getattr(module, "__all__", ())} | own

    def _sources(self) -> list[str]:
        """Where names are looked for: torch's files of layers hold some that lie in another one here; all are in the package."""
        source = self.__source__
        if source is None:
            return []
        whole = next((place for place, below in WHOLES.items() if self.__name__.startswith(f"nbgrad.{below}.")), None)
        return [source, whole] if whole else [source]

    def __dir__(self) -> list[str]:
        source = self.__source__
        children = {path.rpartition(".")[2] for path in PLACES if f"nbgrad.{path.rpartition('.')[0]}" == self.__name__}
        return sorted({*children, *(dir(import_module(f"nbgrad.{source}")) if source else ())})


def module_below(package: str, name: str) -> ModuleType:
    """The module ``package.name`` of the table, as an attribute of a package that has a file.

    Raises:
        AttributeError: there is none.
    """
    try:
        return sys.modules[f"{package}.{name}"]
    except KeyError:
        raise AttributeError(f"module {package!r} has no attribute {name!r}.") from None


def install_namespaces() -> dict[str, ModuleType]:
    """Make the paths importable; return those that have others below them (``utils``), as attributes of the package."""
    for path, source in PLACES.items():
        sys.modules.setdefault(f"nbgrad.{path}", Namespace(f"nbgrad.{path}", source))
    return {path: sys.modules[f"nbgrad.{path}"] for path in PLACES if path in PACKAGES and "." not in path}

"""Which public names of torch nbgrad leaves out, and why: the table in docs/differences.md, and whether it is whole.

    python -m tools.left_out            # names of the torch that is installed which are neither here nor in the table

``make docs`` writes the table. A name that has arrived meanwhile is no longer shown.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.missing import lacking

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
BEGIN, END = "<!-- names that are left out: tools/left_out.py -->", "<!-- end -->"

# Where programs look for names.
PLACES = """
accelerator amp autograd autograd.anomaly_mode autograd.forward_ad autograd.function autograd.functional autograd.grad_mode
autograd.gradcheck autograd.graph autograd.profiler autograd.variable backends compiler cuda cuda.amp distributions fft func hub
jit library linalg multiprocessing nn nn.attention nn.functional nn.init nn.modules.module nn.modules.utils nn.parallel
nn.parameter nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim optim.lr_scheduler
optim.optimizer optim.swa_utils overrides profiler random serialization signal.windows sparse special testing types utils
utils._pytree utils.benchmark utils.checkpoint utils.data utils.data.distributed utils.dlpack utils.flop_counter utils.hooks
utils.model_zoo
""".split()

# What torch leaves in its modules without meaning it for programs: other modules' names, helpers, pieces of documentation.
INTERNAL = """*.TYPE_CHECKING *_notes *_args *classproperty *.handle_torch_function *.has_torch_function* *.is_tensor_like parse_*
*.FAILED_* *_MSG *.multi_dim_common *.BroadcastingList* *.boolean_dispatch autograd.graph.TorchDispatchMode autograd.graph.Variable
autograd.function.hooks autograd.function.custom_function_call autograd.functional.fwAD backends.m compiler.F hub.tqdm
linalg.common_notes nn.functional.assert_int_or_pair nn.modules.module.BackwardHook nn.modules.module.T
nn.parallel.distributed nn.parameter.UninitializedTensorMixin nn.utils.init nn.utils.parametrizations.parametrize
nn.utils.parametrize.* nn.utils.rnn.* nn.modules.module.is_traceable_wrapper_subclass optim.lr_scheduler.Optimizer optim.optimizer.R
optim.optimizer.RemovableHandle optim.optimizer.T optim.optimizer.hooks profiler.Optimizer profiler.profiler
profiler.register_optimizer_step_post_hook signal.windows.windows serialization.* utils._pytree.? utils.benchmark.utils
utils.checkpoint.* utils.data.distributed.Dataset utils.data.distributed.dist utils.data.graph utils.data._DatasetKind
utils.flop_counter.TorchDispatchMode utils.flop_counter.aten utils.flop_counter.tree_* utils.hooks.BackwardHook utils.model_zoo.tqdm
utils.backcompat utils.set_module nn.Container nn.factory_kwargs nn.common_types windows to_dlpack
distributions.exp_family multiprocessing.init_reductions autograd.profiler.Future autograd.profiler.EnforceUnique
autograd.profiler.MemRecordsAcc autograd.profiler.*Config autograd.profiler.*State autograd.profiler.KinetoStepTracker
profiler.KinetoStepTracker profiler.is_fbcode autograd.DeviceType autograd.Profiler* autograd.kineto_available
autograd.profiler_legacy autograd.SavedTensor""".split()

# Names without "torch.", with stars, and behind the sign why they are left out.
TEXT = """
distributed.* nn.parallel.comm nn.parallel.DistributedDataParallelCPU is_distributed
= no process groups, no copies of a model: `distributed` says that there are none, `nn.DataParallel` is its module

export classes ops.* compiler.assume_constant_result compiler.config compiler.*_backend compiler.*_cache_artifacts
compiler.CacheInfo compiler.*guard* compiler.list_backends compiler.load_compiled_function compiler.nested_compile_region
compiler.NestedCompileRegionOptions compiler.set_stance compiler.substitute_in_graph compiler.wrap_numpy
library.Library library.impl library.define library.fallthrough_kernel library.register_autocast
library.register_torch_dispatch library.OpOverload library.get_kernel library.*triton* library.infer_schema
= graphs and operations are made otherwise: `compile`, `jit.trace`, `declare`; there is one compiler

Script* *Script* jit.*Traced* jit.Tracing* jit.*flatbuffer* jit.frontend jit.fuser jit.*onednn* jit.export_opnames
jit.trace_module jit.set_module jit.run_frozen_optimizations jit.last_executed_optimized_graph jit.CompilationUnit
jit.Future CompilationUnit *Type Capsule IODescriptor AliasDb Argument ArgumentSpec CompleteArgumentSpec Block CallStack
Code ConcreteModuleTypeBuilder ErrorReport ExecutionPlan FileCheck FunctionSchema Graph GraphExecutorState JITException Lite*
*Logger LoggerBase Node ModuleDict ParameterDict BufferDict OperatorInfo StaticModule TracingState Use Value Gradient
PyTorchFile* *StorageContext Type DeepCopyMemoTable FatalError AVG SUM AggregationType merge_type_from_type_comment
unify_type_list import_ir_module* fork wait cpp
= parts of TorchScript, a language of its own; `jit.script` is `compile`

SymBool SymFloat SymInt sym_* Tag Dispatch* ExcludeDispatchKeyGuard DisableTorchFunction* overrides.enable_reentrant_dispatch
overrides.redispatch_function overrides.get_*
= torch's dispatcher and its symbolic shapes; `overrides.disabled`, `overrides.FunctionMode`

*quant* q_* *qint* quint* qscheme int_repr choose_qparams_optimized fbgemm_* fused_moving_avg_obs_fake_quant ao nn.intrinsic
nn.qat nn.quantiz*
= no quantised types: `fake_quantize_per_tensor_affine` and `fake_quantize_per_channel_affine` are there

float8_* float4_* uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 bit bits*
chalf complex32 nn.functional.scaled_mm nn.functional.scaled_grouped_mm nn.functional.grouped_mm nn.functional.ScalingType
nn.functional.SwizzleType
= dtypes that are not there

nested masked ccol_indices_copy col_indices_copy crow_indices_copy
row_indices_copy indices_copy values_copy resize_as_sparse_ dsmm hsmm saddmm sparse.*SemiStructured*
sparse.as_sparse_gradcheck sparse.semi_structured sparse.solve sparse.spsolve
sparse.to_sparse_semi_structured
= nested and masked tensors, half-filled blocks on tensor cores, systems of equations with sparse matrices

*Storage StorageBase
= typed memory is old: `untyped_storage()`

cudnn_* miopen_* mkldnn_* native_norm batch_norm_* embedding_bag slice_inverse is_vulkan_available
= torch's native functions of single libraries, and one of four results: `nn.functional.embedding_bag`

nn.functional.*_with_indices
= `return_indices=True`

linalg.ldl_*
= rarely used decompositions

eig symeig lstsq matrix_rank solve
= torch left them as errors: `linalg` has them

return_types hash_tensor random.thread_safe_generator thread_safe_generator
= not there yet

range
= torch gives it up: `arange`, which does not reach its end

Event Stream StreamObjType DeviceObjType AcceleratorError accelerator.Graph accelerator.device_index accelerator.get_*
accelerator.empty_host_cache accelerator.graphs accelerator.memory accelerator.reset_accumulated_memory_stats mtia
*autocast_ipu* *autocast_xla* profiler_allow_cudagraph_* init_num_threads prepare_multiprocessing_environment
= other accelerators than CUDA: `cuda.Stream`, `cuda.Event`

cuda.*Storage cuda.CUDAPluggableAllocator cuda.caching_allocator_* cuda.change_current_allocator cuda.get_allocator_backend
cuda.MemPool cuda.use_mem_pool cuda.*host_memory* cuda.memory_snapshot cuda.*nested_dict cuda.reset_accumulated*
= the allocator is nbgrad's own and cannot be exchanged

cuda.clock_rate cuda.device_memory_used cuda.list_gpu_processes cuda.memory_usage cuda.power_draw cuda.temperature
cuda.utilization
= what NVIDIA's management library measures: `nvidia-smi`

cuda.nccl cuda.gds cuda.tunable cuda.jiterator cuda.cuda* cuda.check_error cuda.CudaError cuda.DeferredCudaCallError
cuda.current_*_handle cuda.default_generators cuda.*reen*ontext* cuda.get_arch_list cuda.get_gencode_flags cuda.has_*
cuda.is_tf32_supported cuda.profiler cuda.sparse nn.attention.*flash_attention* nn.attention.*efficient_attention*
nn.attention.SDPAParams nn.attention.WARN* backends.cusparselt backends.kleidiai backends.miopen
backends.python_native
= torch's own libraries on a GPU

has_lapack has_mkl has_openmp has_spectral
= how torch was built: `__config__.show()`

monitor package torch_version get_file_path ThroughputBenchmark Benchmark* utils.collect_env utils.*backtrace
utils.*privateuse1* utils.backend_registration utils.swap_tensors optim.swap_in_* utils.weak utils.deterministic
utils.*hroughput*enchmark autograd.profiler.*nvprof* profiler.ExecutionTraceObserver profiler.RecordScope profiler.itt
= tools of torch's developers

utils.benchmark.*
= counts of instructions and random inputs: `Timer` and `Compare` are there

utils.flop_counter.*
= formulas of kernels of GPUs, and helpers: `FlopCounterMode` and `register_flop_formula` are there

utils.data.*DataPipe* utils.data.datapipes utils.data.DataChunk utils.data.argument_validation utils.data.functional_datapipe
utils.data.graph_settings utils.data.guaranteed_datapipes_determinism utils.data.non_deterministic
utils.data.runtime_validation*
= DataPipes, which torch no longer develops

utils._pytree.* utils.dlpack.DLDeviceType
= private parts of trees: named tuples of structures, and trees as text

distributions.ExponentialFamily
= entropies are formulas of each family

nn.LinearCrossEntropyOptions nn.utils.prune.PruningContainer
multiprocessing.SpawnContext multiprocessing.reductions
= `to(memory_format=)` of modules; how tensors travel is not for programs
"""
REASONS = {
    " ".join(names.split()): reason for names, _, reason in (block.strip().partition("\n= ") for block in TEXT.split("\n\n"))
}


def public(place: str) -> Iterator[str]:
    """What torch has at a place for programs: what its list says; without one, what is its own and has no underscore."""
    module: Any = import_module(f"torch.{place}" if place else "torch")
    names = getattr(module, "__all__", None)
    for name in sorted(set(names or ()) | {name for name in dir(module) if not name.startswith("_")}):
        value = getattr(module, name, None)
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if names and name in names or isinstance(home, str) and home.startswith("torch") and home != "torch":
            yield f"{place}.{name}".lstrip(".")


def reason_of(name: str) -> str | None:
    """Why a name is left out; None where the table does not say."""
    return next((reason for names, reason in REASONS.items() if any(fnmatchcase(name, each) for each in names.split())), None)


def unexplained() -> Iterator[str]:
    """Names of the torch that is installed which are neither here nor left out with a reason."""
    for place in ["", *PLACES]:
        for name in public(place):
            if lacking(name) and reason_of(name) is None and not any(fnmatchcase(name, each) for each in INTERNAL):
                yield name


def table() -> str:
    """The table, as the page has it."""
    shown = [([name for name in names.split() if "*" in name or lacking(name)], reason) for names, reason in REASONS.items()]
    rows = [f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for names, reason in shown if names]
    return "\n".join([BEGIN, "| `torch.` | why it is left out |", "|---|---|", *rows, END])


def page_text() -> str:
    """The page with the table as it is now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    print("\n".join(unexplained()))

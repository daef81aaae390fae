# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from builtins import bool as _bool, float as _float, int as _int
from collections.abc import Sequence
from typing import Any, overload
from . import (
    _C as _C, amp as amp, array_api as array_api, autograd as autograd, backends as backends, cache as cache, cpu as cpu,
    cuda as cuda, distributions as distributions, fft as fft, func as func, fx as fx, graph as graph, integrate as integrate,
    interop as interop, jit as jit, linalg as linalg, multiprocessing as multiprocessing, nn as nn, optim as optim,
    quasirandom as quasirandom, safetensors as safetensors, signal as signal, sparse as sparse, special as special,
    testing as testing, utils as utils, version as version,
)
from ._version import __version__ as __version__
from .accumulate import enforce_grad_layout_policy as enforce_grad_layout_policy
from .amp.autocast_mode import (
    autocast as autocast, autocast_decrement_nesting as autocast_decrement_nesting,
    autocast_increment_nesting as autocast_increment_nesting, clear_autocast_cache as clear_autocast_cache,
    get_autocast_cpu_dtype as get_autocast_cpu_dtype, get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype, is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled, is_autocast_enabled as is_autocast_enabled,
    set_autocast_cache_enabled as set_autocast_cache_enabled, set_autocast_cpu_dtype as set_autocast_cpu_dtype,
    set_autocast_cpu_enabled as set_autocast_cpu_enabled, set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled, set_autocast_gpu_dtype as set_autocast_gpu_dtype,
)
from .amp.grad_scaler import GradScaler as GradScaler
from .anomaly import (
    detect_anomaly as detect_anomaly, is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled, set_anomaly_enabled as set_anomaly_enabled, set_detect_anomaly as set_detect_anomaly,
)
from .autograd import forward_ad as forward_ad, function as function, grad_mode as grad_mode
from .autograd.entry import backward as backward, grad as grad
from .autograd.function import (
    Function as Function, InplaceFunction as InplaceFunction, NestedIOFunction as NestedIOFunction,
    once_differentiable as once_differentiable,
)
from .autograd.function_context import FunctionCtx as FunctionCtx
from .autograd.gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from .autograd.measured_jacobians import GradcheckError as GradcheckError
from .autograd.old_names import Variable as Variable, variable as variable
from .backends import absent as mps, absent as onnx, absent as xpu
from .base import dtypes as dtypes, errors as errors
from .base.compat import (
    _assert as _assert, _force_original_view_tracking as _force_original_view_tracking,
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode as get_deterministic_debug_mode, get_float32_matmul_precision as get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    is_view_replay_enabled as is_view_replay_enabled, is_warn_always_enabled as is_warn_always_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode, set_float32_matmul_precision as set_float32_matmul_precision,
    set_flush_denormal as set_flush_denormal, set_warn_always as set_warn_always,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from .base.dtypes import (
    DTYPES as DTYPES, DType as DType, DType as dtype, DTypeLike, UNSIGNED as UNSIGNED, WIDTHS as WIDTHS, bfloat16 as bfloat16,
    bool_ as bool, bool_ as bool_, can_cast as can_cast, complex128 as cdouble, complex128 as complex128, complex64 as cfloat,
    complex64 as complex64, dtype_of as dtype_of, finfo as finfo, float16 as float16, float16 as half, float32 as float,
    float32 as float32, float64 as double, float64 as float64, float8_e4m3fn as float8_e4m3fn, float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2, float8_e5m2fnuz as float8_e5m2fnuz, float8_e8m0fnu as float8_e8m0fnu,
    get_default_dtype as get_default_dtype, iinfo as iinfo, int16 as int16, int16 as short, int32 as int, int32 as int32,
    int64 as int64, int64 as long, int8 as int8, promote_types as promote_types, set_default_dtype as set_default_dtype,
    uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8,
)
from .base.errors import (
    ArgumentError as ArgumentError, ArrayError as ArrayError, CacheError as CacheError, DTypeError as DTypeError,
    DatasetError as DatasetError, DeviceError as DeviceError, DimError as DimError, DivisionError as DivisionError,
    FileError as FileError, GradError as GradError, GraphError as GraphError, IndexShapeError as IndexShapeError,
    InplaceError as InplaceError, KernelError as KernelError, LeafError as LeafError, LibraryError as LibraryError,
    LinAlgError as LinAlgError, ModeError as ModeError, NamingError as NamingError, NbgradError as NbgradError,
    NotSupportedError as NotSupportedError, NumberError as NumberError, OperatorError as OperatorError,
    OutOfMemoryError as OutOfMemoryError, RangeError as RangeError, RootError as RootError, SettingError as SettingError,
    ShapeError as ShapeError, SubscriptError as SubscriptError, UsageError as UsageError, VersionError as VersionError,
)
from .base.grad_mode import is_grad_enabled as is_grad_enabled, is_inference_mode_enabled as is_inference_mode_enabled
from .base.mode_contexts import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter, enable_grad as enable_grad,
    inference_mode as inference_mode, no_grad as no_grad, set_grad_enabled as set_grad_enabled,
)
from .base.size import Size as Size
from .batch.vmap import vmap as vmap
from .composites.counts import Histograms
from .composites.linalg.results import QRResult, Reflections, SVDTurned, SlogdetResult, TriangularSolution, Unpacked
from .composites.numbers import Frexp
from .creation.dlpack import from_dlpack as from_dlpack
from .creation.factories import empty_permuted as empty_permuted, empty_strided as empty_strided, scalar_tensor as scalar_tensor
from .creation.from_data import as_tensor as as_tensor, asarray as asarray, frombuffer as frombuffer, tensor as tensor
from .creation.generators import (
    Generator as Generator, default_generator as default_generator, fork_rng as fork_rng, get_rng_state as get_rng_state,
    initial_seed as initial_seed, manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state,
)
from .creation.mapped_files import from_file as from_file
from .creation.numpy_exchange import from_numpy as from_numpy
from .creation.sequences import logspace as logspace
from .cuda import accelerator as accelerator
from .distributions.sampling import binomial as binomial, poisson as poisson
from .func import custom_ops as library, functional as functional
from .graph.task import (
    current_autograd_node as current_autograd_node, current_graph_task_id as current_graph_task_id,
    is_multithreading_enabled as is_multithreading_enabled, queue_callback as queue_callback,
    set_multithreading_enabled as set_multithreading_enabled,
)
from .jit import compiler as compiler
from .jit.associative import associative_scan as associative_scan
from .jit.compile import compile as compile
from .jit.control_flow import cond as cond, map as map, scan as scan, while_loop as while_loop
from .lowering.counts import Histogram
from .methods import memory as memory, pytree as pytree, random as random, return_types as return_types, typed_storage as storage
from .methods.declare import declare as declare
from .methods.files import load as load, save as save, serialization as serialization
from .methods.lobpcg import lobpcg as lobpcg
from .methods.low_rank import pca_lowrank as pca_lowrank, svd_lowrank as svd_lowrank
from .methods.memory import release_memory as release_memory
from .methods.parameter_draws import multinomial as multinomial, normal as normal
from .methods.plain_functions import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, column_stack as column_stack, detach as detach,
    fill as fill, range as range, unravel_index as unravel_index,
)
from .methods.printing import (
    get_printoptions as get_printoptions, printoptions as printoptions, set_printoptions as set_printoptions,
)
from .methods.random import (
    bernoulli as bernoulli, rand as rand, rand_like as rand_like, randint as randint, randint_like as randint_like, randn as randn,
    randn_like as randn_like, randperm as randperm,
)
from .methods.settings import (
    get_default_device as get_default_device, get_device_module as get_device_module, set_default_device as set_default_device,
    set_default_tensor_type as set_default_tensor_type,
)
from .methods.tensor_info import (
    broadcast_shapes as broadcast_shapes, get_device as get_device, is_nonzero as is_nonzero, is_same_size as is_same_size,
    is_signed as is_signed, is_storage as is_storage, is_tensor as is_tensor, numel as numel, result_type as result_type,
    typename as typename,
)
from .methods.threads import (
    get_num_interop_threads as get_num_interop_threads, get_num_threads as get_num_threads,
    set_num_interop_threads as set_num_interop_threads, set_num_threads as set_num_threads,
)
from .methods.typed_constructors import TensorType
from .methods.typed_storage import TypedStorage as TypedStorage
from .modes import overrides as overrides
from .modes.inference import is_inference as is_inference
from .nn.bilinear import bilinear as bilinear
from .nn.loss_functions import pdist as pdist
from .nn.native_functions import (
    affine_grid_generator as affine_grid_generator, alpha_dropout_ as alpha_dropout_, batch_norm as batch_norm,
    constant_pad_nd as constant_pad_nd, conv_tbc as conv_tbc, cosine_embedding_loss as cosine_embedding_loss, ctc_loss as ctc_loss,
    dropout_ as dropout_, embedding as embedding, embedding_renorm_ as embedding_renorm_,
    feature_alpha_dropout_ as feature_alpha_dropout_, feature_dropout_ as feature_dropout_, frobenius_norm as frobenius_norm,
    grid_sampler as grid_sampler, grid_sampler as grid_sampler_2d, grid_sampler as grid_sampler_3d, group_norm as group_norm,
    gru as gru, gru_cell as gru_cell, hinge_embedding_loss as hinge_embedding_loss, instance_norm as instance_norm,
    layer_norm as layer_norm, lstm as lstm, lstm_cell as lstm_cell, margin_ranking_loss as margin_ranking_loss,
    max_pool1d_with_indices as max_pool1d_with_indices, native_batch_norm as native_batch_norm,
    native_channel_shuffle as native_channel_shuffle, native_dropout as native_dropout, native_group_norm as native_group_norm,
    native_layer_norm as native_layer_norm, norm_except_dim as norm_except_dim, poisson_nll_loss as poisson_nll_loss,
    rnn_relu as rnn_relu, rnn_relu_cell as rnn_relu_cell, rnn_tanh as rnn_tanh, rnn_tanh_cell as rnn_tanh_cell, rrelu as rrelu,
    rrelu_ as rrelu_, triplet_margin_loss as triplet_margin_loss,
)
from .nn.normalization import rms_norm as rms_norm
from .nn.rearranging import channel_shuffle as channel_shuffle, pixel_shuffle as pixel_shuffle, pixel_unshuffle as pixel_unshuffle
from .nn.summary import summary as summary
from .ops.expr import scalar as scalar
from .ops.extrema import Extrema, Extremum
from .profiling import profiler as profiler
from .profiling.profiler import profile as profile, record_function as record_function
from .recomputing.checkpoint import (
    checkpoint as checkpoint, checkpoint_sequential as checkpoint_sequential,
    set_checkpoint_debug_enabled as set_checkpoint_debug_enabled, set_checkpoint_early_stop as set_checkpoint_early_stop,
)
from .recomputing.reruns import CheckpointError as CheckpointError, GraphExecGroup as GraphExecGroup
from .recomputing.revolve import checkpoint_loop as checkpoint_loop
from .recomputing.selective import (
    CheckpointPolicy as CheckpointPolicy, SelectiveCheckpointContext as SelectiveCheckpointContext,
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)
from .signal.periodic import (
    bartlett_window as bartlett_window, blackman_window as blackman_window, hamming_window as hamming_window,
    hann_window as hann_window, kaiser_window as kaiser_window,
)
from .sparse.layouts import (
    sparse_bsc as sparse_bsc, sparse_bsr as sparse_bsr, sparse_coo as sparse_coo, sparse_csc as sparse_csc, sparse_csr as sparse_csr,
)
from .sparse.making import (
    sparse_bsc_tensor as sparse_bsc_tensor, sparse_bsr_tensor as sparse_bsr_tensor,
    sparse_compressed_tensor as sparse_compressed_tensor, sparse_coo_tensor as sparse_coo_tensor,
    sparse_csc_tensor as sparse_csc_tensor, sparse_csr_tensor as sparse_csr_tensor,
)
from .sparse.products import (
    hspmm as hsmm, hspmm as hspmm, smm as smm, spmm as dsmm, spmm as spmm, sspaddmm as saddmm, sspaddmm as sspaddmm,
)
from .tensors.members import Array, Ints, Number, Operand
from .tensors.memory_format import (
    MemoryFormat, MemoryFormat as memory_format, Strided as layout, channels_last as channels_last,
    channels_last_3d as channels_last_3d, contiguous_format as contiguous_format, preserve_format as preserve_format,
    strided as strided,
)
from .tensors.storage import Device, Device as device
from .tensors.streams import Event as Event, Stream as Stream
from .tensors.tensor import Parameter as Parameter, Tensor as Tensor
from .tensors.untyped import UntypedStorage as UntypedStorage
from .utilities import distributed as distributed, futures as futures, hub as hub, types as types
from .utilities.futures import Future as Future
from .utilities.scripting import ScriptFunction as ScriptFunction, ScriptModule as ScriptModule
from .utilities.symbols import (
    PyTorchFileReader as PyTorchFileReader, SymBool as SymBool, SymFloat as SymFloat, SymInt as SymInt, sym_float as sym_float,
    sym_int as sym_int, sym_ite as sym_ite, sym_max as sym_max, sym_min as sym_min, sym_not as sym_not, sym_sqrt as sym_sqrt,
    sym_sum as sym_sum,
)

class BFloat16Tensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.bfloat16)`` and of ``empty(*sizes, dtype=nbgrad.bfloat16)``."""
class BoolTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.bool)`` and of ``empty(*sizes, dtype=nbgrad.bool)``."""
class ByteTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.uint8)`` and of ``empty(*sizes, dtype=nbgrad.uint8)``."""
class CharTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.int8)`` and of ``empty(*sizes, dtype=nbgrad.int8)``."""
class DoubleTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.float64)`` and of ``empty(*sizes, dtype=nbgrad.float64)``."""
class FloatTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.float32)`` and of ``empty(*sizes, dtype=nbgrad.float32)``."""
class HalfTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.float16)`` and of ``empty(*sizes, dtype=nbgrad.float16)``."""
class IntTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.int32)`` and of ``empty(*sizes, dtype=nbgrad.int32)``."""
class LongTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.int64)`` and of ``empty(*sizes, dtype=nbgrad.int64)``."""
class ShortTensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.int16)`` and of ``empty(*sizes, dtype=nbgrad.int16)``."""
class UInt16Tensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.uint16)`` and of ``empty(*sizes, dtype=nbgrad.uint16)``."""
class UInt32Tensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.uint32)`` and of ``empty(*sizes, dtype=nbgrad.uint32)``."""
class UInt64Tensor(Tensor, metaclass=TensorType):
    """The old form of ``tensor(data, dtype=nbgrad.uint64)`` and of ``empty(*sizes, dtype=nbgrad.uint64)``."""
def abs(input: Array, *, out: Tensor | None = None) -> Tensor: """|x|; the derivative at 0 is 0."""
def abs_(input: Tensor) -> Tensor: """In place: |x|; the derivative at 0 is 0. See ``abs``."""
def absolute(input: Array, *, out: Tensor | None = None) -> Tensor: """|x|; the derivative at 0 is 0."""
def absolute_(input: Tensor) -> Tensor: """In place: |x|; the derivative at 0 is 0. See ``abs``."""
def acos(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [0, pi] whose cosine is x."""
def acos_(input: Tensor) -> Tensor: """In place: The angle in [0, pi] whose cosine is x. See ``acos``."""
def acosh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
def acosh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic cosine; NaN below 1. See ``acosh``."""
def adaptive_avg_pool1d(input: Array, output_size: _int | None | Sequence[_int | None]) -> Tensor:
    """The mean of every one of so many windows of 1 dimension."""
def adaptive_avg_pool2d(input: Array, output_size: _int | None | Sequence[_int | None]) -> Tensor:
    """The mean of every one of so many windows of 2 dimensions."""
def adaptive_avg_pool3d(input: Array, output_size: _int | None | Sequence[_int | None]) -> Tensor:
    """The mean of every one of so many windows of 3 dimensions."""
def adaptive_max_pool1d(input: Array, output_size: _int | None | Sequence[_int | None], return_indices: _bool = False) -> Tensor:
    """The greatest number of every one of so many windows of 1 dimension."""
def adaptive_max_pool2d(input: Array, output_size: _int | None | Sequence[_int | None], return_indices: _bool = False) -> Tensor:
    """The greatest number of every one of so many windows of 2 dimensions."""
def adaptive_max_pool3d(input: Array, output_size: _int | None | Sequence[_int | None], return_indices: _bool = False) -> Tensor:
    """The greatest number of every one of so many windows of 3 dimensions."""
def add(input: Operand, other: Operand, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """input + alpha * other."""
def addbmm(input: Array, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1,
           out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).sum(0)."""
def addcdiv(input: Operand, tensor1: Operand, tensor2: Operand, *, value: Operand = 1, out: Tensor | None = None) -> Tensor:
    """input + value * tensor1 / tensor2; floating operands only."""
def addcmul(input: Operand, tensor1: Operand, tensor2: Operand, *, value: Operand = 1, out: Tensor | None = None) -> Tensor:
    """input + value * tensor1 * tensor2."""
def addmm(input: Array, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2): (n, k) by (k, m), and an input that broadcasts to (n, m)."""
def addmv(input: Array, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """In place: addmv."""
def addr(input: Array, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
def adjoint(input: Array) -> Tensor: """The last two dimensions exchanged, and the elements conjugated."""
def alias_copy(input: Array, *, out: Tensor | None = None) -> Tensor: """What ``alias`` shows, copied."""
def all(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None,
        out: Tensor | None = None) -> Tensor:
    """Whether no element is zero."""
def allclose(input: Array, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether ``isclose`` holds everywhere: a Python bool."""
def alpha_dropout(input: Array, p: Number = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """dropout behind selu: what is dropped becomes the value to which selu tends, and mean 0 and variance 1 are kept; x itself
    unless training. inplace=True overwrites x."""
def amax(input: Array, dim: Ints = (), keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None,
         out: Tensor | None = None) -> Tensor:
    """Greatest element over dimensions; NaN wins. Elements that tie share the gradient."""
def amin(input: Array, dim: Ints = (), keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None,
         out: Tensor | None = None) -> Tensor:
    """Smallest element over dimensions; NaN wins. Elements that tie share the gradient."""
def aminmax(input: Array, *, dim: Ints | None = None, keepdim: _bool = False, axis: Ints | None = None,
            keepdims: _bool | None = None, out: Tensor | None = None) -> Extrema:
    """Smallest and greatest element, over all dimensions or one."""
def angle(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The angle of complex numbers, in radians; of real ones 0 or pi."""
def any(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None,
        out: Tensor | None = None) -> Tensor:
    """Whether an element is not zero."""
def arange(start: Number | None = None, end: Number | None = None, step: Number = 1, *, dtype: DTypeLike | None = None,
           device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
           pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """``start, start + step, ...`` up to and without ``end``; ``arange(n)`` counts from 0. int64 if all three are integers."""
def arccos(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [0, pi] whose cosine is x."""
def arccos_(input: Tensor) -> Tensor: """In place: The angle in [0, pi] whose cosine is x. See ``acos``."""
def arccosh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
def arccosh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic cosine; NaN below 1. See ``acosh``."""
def arcsin(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [-pi/2, pi/2] whose sine is x."""
def arcsin_(input: Tensor) -> Tensor: """In place: The angle in [-pi/2, pi/2] whose sine is x. See ``asin``."""
def arcsinh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic sine. See ``asinh``."""
def arctan(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [-pi/2, pi/2] whose tangent is x."""
def arctan2(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0."""
def arctan_(input: Tensor) -> Tensor: """In place: The angle in [-pi/2, pi/2] whose tangent is x. See ``atan``."""
def arctanh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic tangent; NaN beyond 1."""
def arctanh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic tangent; NaN beyond 1. See ``atanh``."""
def argmax(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
           keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Index of the first greatest element, or of the first NaN; of the flattened tensor without dim."""
def argmin(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
           keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Index of the first smallest element, or of the first NaN; of the flattened tensor without dim."""
def argsort(input: Array, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Indices that sort along dim; equal elements keep their order; NaN counts as the greatest number."""
def argwhere(input: Array) -> Tensor: """The indices of the elements that are not zero, a row each."""
def as_strided(input: Array, size: Ints, stride: Ints, storage_offset: _int | None = None) -> Tensor:
    """Any shape and strides over the memory; ``storage_offset`` from the storage's start, None for the tensor's own."""
def as_strided_(input: Tensor, size: Ints, stride: Ints, storage_offset: _int | None = None) -> Tensor:
    """In place: the tensor takes the layout of ``x.as_strided(...)``."""
def as_strided_copy(input: Array, size: Ints, stride: Ints, storage_offset: _int | None = None, *,
                    out: Tensor | None = None) -> Tensor:
    """What ``as_strided`` shows, copied."""
def as_strided_scatter(input: Array, src: Tensor, size: Ints, stride: Ints, storage_offset: _int | None = None, *,
                       out: Tensor | None = None) -> Tensor:
    """A row-major copy of x with src written to what as_strided shows of it."""
def asin(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [-pi/2, pi/2] whose sine is x."""
def asin_(input: Tensor) -> Tensor: """In place: The angle in [-pi/2, pi/2] whose sine is x. See ``asin``."""
def asinh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic sine. See ``asinh``."""
def atan(input: Array, *, out: Tensor | None = None) -> Tensor: """The angle in [-pi/2, pi/2] whose tangent is x."""
def atan2(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0."""
def atan_(input: Tensor) -> Tensor: """In place: The angle in [-pi/2, pi/2] whose tangent is x. See ``atan``."""
def atanh(input: Array, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic tangent; NaN beyond 1."""
def atanh_(input: Tensor) -> Tensor: """In place: The inverse hyperbolic tangent; NaN beyond 1. See ``atanh``."""
def avg_pool1d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: _bool = False,
               count_include_pad: _bool = True) -> Tensor:
    """The mean of every window of 1 dimension."""
def avg_pool2d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: _bool = False,
               count_include_pad: _bool = True, divisor_override: _int | None = None) -> Tensor:
    """The mean of every window of 2 dimensions."""
def avg_pool3d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: _bool = False,
               count_include_pad: _bool = True, divisor_override: _int | None = None) -> Tensor:
    """The mean of every window of 3 dimensions."""
def baddbmm(input: Array, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1,
            out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for batches of matrices."""
def binary_cross_entropy(input: Array, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None,
                         reduce: str | None = None, reduction: str = 'mean') -> Tensor:
    """-y log(x) - (1 - y) log(1 - x) of probabilities x and targets y of one shape, times weight, reduced."""
def binary_cross_entropy_with_logits(input: Array, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None,
                                     reduce: str | None = None, reduction: str = 'mean',
                                     pos_weight: Tensor | None = None) -> Tensor:
    """``binary_cross_entropy`` of sigmoid(input), without overflow."""
def bincount(input: Array, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each whole number from 0 on occurs, or the sum of its weights, by which differentiating it is refused."""
def bitwise_and(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The bits that both have."""
def bitwise_left_shift(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * 2**y; 0 where y is negative or leaves no bit."""
def bitwise_not(input: Array, *, out: Tensor | None = None) -> Tensor: """The bits inverted; of a bool the negation."""
def bitwise_not_(input: Tensor) -> Tensor: """In place: The bits inverted; of a bool the negation. See ``bitwise_not``."""
def bitwise_or(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The bits that at least one has."""
def bitwise_right_shift(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x // 2**y; 0 or -1 where y is negative or leaves no bit."""
def bitwise_xor(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The bits that exactly one has."""
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Matrices along the diagonal of one, zeros elsewhere; vectors are rows, numbers matrices of one element."""
def bmm(input: Array, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices, (b, m, k) by (b, k, n)."""
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of one shape, to which all operands broadcast."""
def broadcast_to(input: Array, shape: Ints) -> Tensor: """``x.expand(shape)``."""
def bucketize(input: Operand, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False,
              out: Tensor | None = None) -> Tensor:
    """Which interval between sorted boundaries each value lies in. It has no gradient."""
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """All combinations of the elements of several vectors, one a row."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""
def cdist(x1: Array, x2: Tensor, p: Number = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm of the difference of every row of x1 and every row of x2. Every ``compute_mode`` of torch's gives the same."""
def ceil(input: Array, *, out: Tensor | None = None) -> Tensor: """The smallest integer >= x."""
def ceil_(input: Tensor) -> Tensor: """In place: The smallest integer >= x. See ``ceil``."""
def celu(input: Operand, alpha: Number = 1.0, inplace: _bool = False) -> Tensor:
    """x where x > 0, else alpha * (e**(x / alpha) - 1). inplace=True overwrites input."""
def celu_(input: Tensor, alpha: Number = 1.0) -> Tensor:
    """In place: x where x > 0, else alpha * (e**(x / alpha) - 1). See ``celu``."""
def chain_matmul(*matrices: Array, out: Tensor | None = None) -> Tensor: """The product of several matrices, from left to right."""
def cholesky(input: Array, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: """See ``linalg.cholesky``."""
def cholesky_inverse(L: Array, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: """The inverse of L @ L^H."""
def cholesky_solve(B: Array, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The X with L @ L^H @ X = B."""
def chunk(input: Array, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of one size along a dimension; the last may be smaller."""
def clamp(input: Operand, min: Operand | None = None, max: Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """input moved into [min, max]; each may be a number, a tensor or None."""
def clamp_(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """In place: input moved into [min, max]; each may be a number, a tensor or None. See ``clamp``."""
def clamp_max(input: Operand, max: Operand, *, out: Tensor | None = None) -> Tensor: """x, but at most max."""
def clamp_max_(input: Tensor, max: Operand) -> Tensor: """In place: x, but at most max. See ``clamp_max``."""
def clamp_min(input: Operand, min: Operand, *, out: Tensor | None = None) -> Tensor: """x, but at least min."""
def clamp_min_(input: Tensor, min: Operand) -> Tensor: """In place: x, but at least min. See ``clamp_min``."""
def clip(input: Operand, min: Operand | None = None, max: Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """input moved into [min, max]; each may be a number, a tensor or None."""
def clip_(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """In place: input moved into [min, max]; each may be a number, a tensor or None. See ``clamp``."""
def clone(input: Array, *, memory_format: MemoryFormat | None = None, out: Tensor | None = None) -> Tensor: """A copy."""
def combinations(input: Array, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All ways to choose r elements of a vector, one a row."""
def complex(real: Array, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with these parts, which broadcast."""
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""
def conj(input: Array) -> Tensor: """The complex conjugate, as a view: see is_conj; a real tensor itself."""
def conj_physical(input: Operand, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, computed. Of real numbers the tensor itself."""
def conj_physical_(input: Tensor) -> Tensor: """In place: The complex conjugate, computed. See ``conj_physical``."""
def conv1d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
           groups: _int = 1) -> Tensor:
    """A convolution along one dimension: products of the kernel with what lies beside it, at every place."""
def conv2d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
           groups: _int = 1) -> Tensor:
    """A convolution over two dimensions."""
def conv3d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
           groups: _int = 1) -> Tensor:
    """A convolution over three dimensions."""
def conv_transpose1d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
                     output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor:
    """The transpose of ``conv1d``: the kernel, times each element, added up where it would have read them."""
def conv_transpose2d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
                     output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor:
    """The transpose of ``conv2d``."""
def conv_transpose3d(input: Array, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
                     output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor:
    """The transpose of ``conv3d``."""
def convolution(input: Array, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, transposed: _bool,
                output_padding: Ints, groups: _int) -> Tensor:
    """``conv1d``, ``conv2d`` or ``conv3d``, or the transpose of one, by the number of dimensions; all arguments are given."""
def copysign(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The magnitude of x with the sign of y."""
def corrcoef(input: Array) -> Tensor: """Correlation coefficients of variables in rows and observations in columns."""
def cos(input: Array, *, out: Tensor | None = None) -> Tensor: """The cosine of x in radians."""
def cos_(input: Tensor) -> Tensor: """In place: The cosine of x in radians. See ``cos``."""
def cosh(input: Array, *, out: Tensor | None = None) -> Tensor: """The hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor: """In place: The hyperbolic cosine. See ``cosh``."""
def cosine_similarity(x1: Array, x2: Tensor, dim: _int = 1, eps: Number = 1e-08) -> Tensor:
    """The cosine of the angle between x1 and x2 along dim; lengths are taken to be at least eps."""
def count_nonzero(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
                  keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Number of elements that are not zero."""
def cov(input: Array, *, correction: Number = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables in rows and observations in columns."""
def cross(input: Array, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3, by default the first such."""
def cross_entropy(input: Array, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None,
                  ignore_index: _int = -100, reduce: str | None = None, reduction: str = 'mean',
                  label_smoothing: Number = 0.0) -> Tensor:
    """``nll_loss`` of ``log_softmax(input)``, in one pass."""
def cummax(input: Array, dim: _int, *, out: Tensor | None = None) -> Extremum:
    """(values, indices) of the greatest element up to each along dim; of equal ones the last."""
def cummin(input: Array, dim: _int, *, out: Tensor | None = None) -> Extremum:
    """(values, indices) of the smallest element up to each along dim; of equal ones the last."""
def cumprod(input: Array, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None,
            out: Tensor | None = None) -> Tensor:
    """Products of the elements up to each along dim; integers and bools in int64."""
def cumsum(input: Array, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None,
           out: Tensor | None = None) -> Tensor:
    """Sums of the elements up to each along dim; integers and bools in int64."""
def cumulative_trapezoid(y: Array, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The integrals up to each point but the first, by the trapezoidal rule."""
def deg2rad(input: Array, *, out: Tensor | None = None) -> Tensor: """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor: """In place: Degrees as radians. See ``deg2rad``."""
def det(A: Array, *, out: Tensor | None = None) -> Tensor: """The determinant of square matrices."""
def detach_(input: Tensor) -> Tensor: """Cut the tensor off its history: it becomes a leaf that does not require grad."""
def detach_copy(input: Array, *, out: Tensor | None = None) -> Tensor: """What ``detach`` shows, copied."""
def diag(input: Array, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix; of a vector the matrix with that diagonal."""
def diag_embed(input: Array, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dimension as a diagonal of two new ones, zeros elsewhere."""
def diagflat(input: Array, offset: _int = 0) -> Tensor: """The matrix whose diagonal has all elements."""
def diagonal(input: Array, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonals of two dimensions, as a last one."""
def diagonal_copy(input: Array, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """What ``diagonal`` shows, copied."""
def diagonal_scatter(input: Array, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *,
                     out: Tensor | None = None) -> Tensor:
    """A copy of x with src written to a diagonal of it."""
def diff(input: Array, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """The n-th differences of neighbours along dim, of input with ``prepend`` before it and ``append`` behind; for n = 0 the
    input."""
def digamma(input: Array, *, out: Tensor | None = None) -> Tensor: """The derivative of lgamma."""
def digamma_(input: Tensor) -> Tensor: """In place: The derivative of lgamma. See ``digamma``."""
def dist(input: Array, other: Tensor, p: Number = 2) -> Tensor: """The p-norm of the difference."""
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
def divide(input: Operand, other: Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
def dot(input: Array, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements."""
def dropout(input: Array, p: Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """x with each element zeroed with probability p and the others divided by 1 - p; x itself unless training. inplace=True
    overwrites x."""
def dsplit(input: Array, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces behind one another: along the third dimension; equal ones, or those between the given indices."""
def dstack(tensors: Array, *, out: Tensor | None = None) -> Tensor: """Tensors behind one another, along the third dimension."""
e: _float
def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sums of products of the operands' elements, by Einstein's convention."""
def elu(input: Operand, alpha: Number = 1.0, inplace: _bool = False) -> Tensor:
    """x where x > 0, else alpha * (e**x - 1). inplace=True overwrites input."""
def empty(*sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
          device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
          pin_memory: _bool = False, memory_format: MemoryFormat | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor whose elements are whatever its memory held."""
def empty_like(input: Tensor, *, dtype: DTypeLike | None = None, device: Device | str | None = None, requires_grad: _bool = False,
               layout: MemoryFormat | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Uninitialised memory in the shape and memory order of ``input``."""
def eq(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x == y."""
def equal(input: Array, other: Tensor) -> _bool: """Whether two tensors have one shape and equal elements: a Python bool."""
def erf(input: Array, *, out: Tensor | None = None) -> Tensor: """The error function."""
def erf_(input: Tensor) -> Tensor: """In place: The error function. See ``erf``."""
def erfc(input: Array, *, out: Tensor | None = None) -> Tensor: """1 - erf(x), to full precision for large x."""
def erfc_(input: Tensor) -> Tensor: """In place: 1 - erf(x), to full precision for large x. See ``erfc``."""
def erfinv(input: Array, *, out: Tensor | None = None) -> Tensor: """The number whose error function is x; NaN beyond -1 and 1."""
def erfinv_(input: Tensor) -> Tensor: """In place: The number whose error function is x; NaN beyond -1 and 1. See ``erfinv``."""
def exp(input: Array, *, out: Tensor | None = None) -> Tensor: """e**x."""
def exp2(input: Array, *, out: Tensor | None = None) -> Tensor: """2**x."""
def exp2_(input: Tensor) -> Tensor: """In place: 2**x. See ``exp2``."""
def exp_(input: Tensor) -> Tensor: """In place: e**x. See ``exp``."""
def expand_copy(input: Array, size: Ints, *, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """What ``expand`` shows, copied."""
def expm1(input: Array, *, out: Tensor | None = None) -> Tensor: """e**x - 1, exact near 0."""
def expm1_(input: Tensor) -> Tensor: """In place: e**x - 1, exact near 0. See ``expm1``."""
def eye(n: _int, m: _int | None = None, *, dtype: DTypeLike | None = None, device: Device | str | None = None,
        requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False,
        out: Tensor | None = None) -> Tensor:
    """Ones on the diagonal of an n x m matrix (n x n without ``m``), zeros elsewhere."""
def fake_quantize_per_channel_affine(input: Array, scale: Tensor, zero_point: Tensor, axis: _int | None, quant_min: _int,
                                     quant_max: _int) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each element along a dimension, as vectors."""
def fake_quantize_per_tensor_affine(input: Array, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: _int,
                                    quant_max: _int) -> Tensor:
    """``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``, with the gradient of a clamp."""
def feature_alpha_dropout(input: Array, p: Number = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """alpha_dropout of whole channels: x of shape (N, C, *) is dropped at all of * or nowhere."""
def feature_dropout(input: Array, p: Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """dropout of whole channels: x of shape (N, C, *) is zeroed at all of * or nowhere."""
def fill_(input: Tensor, value: Operand) -> Tensor: """In place: Write one value into every element. See ``fill``."""
def fix(input: Array, *, out: Tensor | None = None) -> Tensor: """x without its fraction."""
def fix_(input: Tensor) -> Tensor: """In place: x without its fraction. See ``trunc``."""
def flatten(input: Array, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """A range of dimensions as one; the tensor itself if that changes nothing."""
def flip(input: Array, *each: Ints, dims: Ints | None = None) -> Tensor:
    """Dimensions in reverse order of their elements; copied."""
def fliplr(input: Array) -> Tensor: """The second dimension in reverse."""
def flipud(input: Array) -> Tensor: """The first dimension in reverse."""
def float_power(input: Operand, exponent: Number, *, out: Tensor | None = None) -> Tensor:
    """input to the power exponent, computed in double precision."""
def floor(input: Array, *, out: Tensor | None = None) -> Tensor: """The largest integer <= x."""
def floor_(input: Tensor) -> Tensor: """In place: The largest integer <= x. See ``floor``."""
def floor_divide(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The floor of x / y. It has no derivative: div(rounding_mode=) has."""
def fmax(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger one; the number if the other is NaN. Ties go to x."""
def fmin(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller one; the number if the other is NaN. Ties go to x."""
def fmod(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x - trunc(x / y) * y: the sign of x."""
def frac(input: Array, *, out: Tensor | None = None) -> Tensor: """The fraction of x, with its sign."""
def frac_(input: Tensor) -> Tensor: """In place: The fraction of x, with its sign. See ``frac``."""
def frexp(input: Array, *, out: Tensor | None = None) -> Frexp:
    """(mantissa, exponent) with input = mantissa * 2**exponent and 1/2 <= |mantissa| < 1; the exponent is int32."""
def full(size: _int | Sequence[_int], fill_value: Operand, *, dtype: DTypeLike | None = None, device: Device | str | None = None,
         requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False,
         out: Tensor | None = None) -> Tensor:
    """A tensor of one number, whose kind gives the dtype unless it is given: bool, int64, default float or complex."""
def full_like(input: Tensor, fill_value: Operand, *, dtype: DTypeLike | None = None, device: Device | str | None = None,
              requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False,
              memory_format: MemoryFormat | None = None) -> Tensor:
    """One number in the shape, memory order and dtype of ``input``."""
def gather(input: Array, dim: _int, index: Tensor, sparse_grad: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on for others."""
def gcd(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The greatest common divisor."""
def gcd_(input: Tensor, other: Operand) -> Tensor: """In place: The greatest common divisor. See ``gcd``."""
def ge(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x >= y."""
def gelu(input: Operand, approximate: str = 'none', *, out: Tensor | None = None) -> Tensor:
    """input times its normal distribution function; approximate="tanh" uses Hendrycks and Gimpel's formula."""
def geqrf(input: Array, *, out: Tensor | None = None) -> Reflections:
    """A QR decomposition as LAPACK has it: (a, tau). Differentiating it is refused: ``linalg.qr`` has derivatives."""
def ger(input: Array, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element of one vector times every element of another, (n,) and (m,) -> (n, m)."""
def glu(input: Array, dim: _int = -1) -> Tensor: """The first half along dim times the sigmoid of the second."""
def gradient(input: Array, *, spacing: Number | Sequence[Tensor | Number] | None = None, dim: Ints | None = None,
             edge_order: _int = 1) -> tuple[Tensor, ...]:
    """The derivative along dimensions by central differences, one-sided of order ``edge_order`` at the ends."""
def greater(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x > y."""
def greater_equal(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x >= y."""
def gt(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x > y."""
def hardshrink(input: Operand, lambd: Operand = 0.5, *, out: Tensor | None = None) -> Tensor: """x where |x| > lambd, else 0."""
def hardsigmoid(input: Operand, inplace: _bool = False) -> Tensor:
    """x / 6 + 1/2, moved into [0, 1]. inplace=True overwrites input."""
def hardsigmoid_(input: Tensor) -> Tensor: """In place: x / 6 + 1/2, moved into [0, 1]. See ``hardsigmoid``."""
def hardswish(input: Operand, inplace: _bool = False) -> Tensor: """x * hardsigmoid(x). inplace=True overwrites input."""
def hardswish_(input: Tensor) -> Tensor: """In place: x * hardsigmoid(x). See ``hardswish``."""
def hardtanh(input: Operand, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x moved into [min_val, max_val]; the derivative at the ends is 0. inplace=True overwrites input."""
def heaviside(input: Operand, values: Operand, *, out: Tensor | None = None) -> Tensor:
    """0 below 0, 1 above, values at 0. It has no derivative."""
def histc(input: Array, bins: _int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements lie in each of ``bins`` equal intervals from min to max (of the elements if both are 0)."""
def histogram(input: Array, bins: _int = 100, *, range: Sequence[_float] | None = None, weight: Tensor | None = None,
              density: _bool = False, out: Tensor | None = None) -> Histogram:
    """(hist, bin_edges): the numbers or weights of the elements between edges, given or equally spaced."""
def histogramdd(input: Array, bins: _int | Sequence[_int] | Sequence[Tensor], range: Sequence[_float] | None = None,
                weight: Tensor | None = None, density: _bool = False) -> Histograms:
    """(hist, bin_edges): how many points, or their weights, lie in each cell of a grid; ``histogram`` in several dimensions."""
def hsplit(input: Array, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces side by side: along the second dimension, of vectors the first; equal ones, or those between the given indices."""
def hstack(tensors: Array, *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side: along the second dimension, or the first of rows."""
def huber_loss(input: Array, target: Tensor, reduction: str = 'mean', delta: Number = 1.0, weight: Tensor | None = None) -> Tensor:
    """d**2 / 2, or delta (|d| - delta / 2) where |d| > delta, for d = input - target; times weight, reduced as in mse_loss."""
def hypot(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """sqrt(x**2 + y**2); the derivative at 0 is 0."""
def i0(input: Array, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind of order 0."""
def i0_(input: Tensor) -> Tensor: """In place: The modified Bessel function of the first kind of order 0. See ``i0``."""
def igamma(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second operand."""
def igammac(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small."""
def imag(input: Array) -> Tensor: """The imaginary parts of a complex tensor, as a view."""
def index_add(input: Array, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``x`` with ``alpha`` times the slices of ``source`` added where ``index`` says."""
def index_copy(input: Array, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``x`` with the slices of ``source`` written where ``index`` says."""
def index_fill(input: Array, dim: _int, index: Tensor, value: Operand, *, out: Tensor | None = None) -> Tensor:
    """``x`` with ``value``, a number or a tensor of one element, in the slices that ``index`` names, from the end if negative."""
def index_put(input: Array, indices: Tensor, values: Tensor, accumulate: _bool = False) -> Tensor:
    """``x`` with ``values`` written (or added) at a tuple of index tensors or masks."""
def index_put_(input: Tensor, indices: Tensor, values: Tensor, accumulate: _bool = False) -> Tensor: """In place: index_put."""
def index_reduce(input: Array, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True,
                 out: Tensor | None = None) -> Tensor:
    """``input`` and the slices of ``source`` that a vector ``index`` sends to each along dim, reduced: prod, mean, amax or amin."""
def index_select(input: Array, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of dim that a one-dimensional index names."""
inf: _float
def inner(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimensions of both; a 0-d operand multiplies."""
def inverse(A: Array, *, out: Tensor | None = None) -> Tensor: """The inverse of square matrices."""
def is_complex(input: Array) -> _bool: """Whether the dtype is a complex one: a Python bool."""
def is_conj(input: Array) -> _bool: """Whether the tensor is a lazy conjugate: a Python bool."""
def is_floating_point(input: Array) -> _bool: """Whether the dtype is a floating one: a Python bool."""
def is_neg(input: Array) -> _bool:
    """Whether the tensor is a lazy negative, as the imaginary part of a lazy conjugate is: a Python bool."""
def isclose(input: Array, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|; infinities equal themselves, NaN with ``equal_nan``."""
def isfinite(input: Array) -> Tensor: """x is neither infinite nor NaN."""
def isin(elements: Array, test_elements: Tensor, *, assume_unique: _bool = False, invert: _bool = False,
         out: Tensor | None = None) -> Tensor:
    """Where elements are among the test elements. No gradient."""
def isinf(input: Array) -> Tensor: """x is infinite."""
def isnan(input: Array) -> Tensor: """x is not a number."""
def isneginf(input: Array, *, out: Tensor | None = None) -> Tensor: """x is negative infinity."""
def isposinf(input: Array, *, out: Tensor | None = None) -> Tensor: """x is positive infinity."""
def isreal(input: Array) -> Tensor: """Where the imaginary part is 0; True everywhere for real tensors."""
def istft(input: Array, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None,
          center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None,
          return_complex: _bool = False) -> Tensor:
    """The signal of which ``stft`` gives this: of spectra that no signal has, the one whose spectra are nearest."""
def kl_div(input: Array, target: Tensor, size_average: _bool | None = None, reduce: str | None = None, reduction: str = 'mean',
           log_target: _bool = False) -> Tensor:
    """target (log(target) - input), where input is a log-probability, and target too with ``log_target``."""
def kron(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of ``input`` times the whole of ``other``."""
def kthvalue(input: Array, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: Ints | None = None,
             keepdims: _bool | None = None, out: Tensor | None = None) -> Extremum:
    """(values, indices) of the k-th smallest element along dim, counted from 1; NaN counts as the greatest number."""
def l1_loss(input: Array, target: Tensor, size_average: _bool | None = None, reduce: str | None = None, reduction: str = 'mean',
            weight: Tensor | None = None) -> Tensor:
    """|input - target|, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the weights."""
def lcm(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """The least common multiple."""
def lcm_(input: Tensor, other: Operand) -> Tensor: """In place: The least common multiple. See ``lcm``."""
def ldexp(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor: """input * 2**other."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor: """In place: ldexp."""
def le(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x <= y."""
def leaky_relu(input: Operand, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x. inplace=True overwrites input."""
def lerp(input: Operand, end: Operand | None, weight: Operand, *, out: Tensor | None = None) -> Tensor:
    """x + weight * (end - x)."""
def less(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x < y."""
def less_equal(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x <= y."""
def lgamma(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm of the magnitude of the gamma function."""
def lgamma_(input: Tensor) -> Tensor: """In place: The logarithm of the magnitude of the gamma function. See ``lgamma``."""
def linear(input: Array, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
def linspace(start: Number | None, end: Number | None, steps: _int, *, dtype: DTypeLike | None = None,
             device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
             pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """``steps`` equidistant numbers from ``start`` to ``end``, both included."""
def log(input: Array, *, out: Tensor | None = None) -> Tensor: """The natural logarithm."""
def log10(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor: """In place: The logarithm to base 10. See ``log10``."""
def log1p(input: Array, *, out: Tensor | None = None) -> Tensor: """log(1 + x), exact near 0."""
def log1p_(input: Tensor) -> Tensor: """In place: log(1 + x), exact near 0. See ``log1p``."""
def log2(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor: """In place: The logarithm to base 2. See ``log2``."""
def log_(input: Tensor) -> Tensor: """In place: The natural logarithm. See ``log``."""
def log_softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of softmax along dim, without its overflow."""
def logaddexp(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """log(e**x + e**y), without overflow."""
def logaddexp2(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """log2(2**x + 2**y), without overflow."""
def logcumsumexp(input: Array, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) of the elements up to each along dim, without overflow."""
def logdet(A: Array) -> Tensor: """The logarithm of the determinant; NaN if that is negative."""
def logical_and(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """Both are not zero."""
def logical_not(input: Array, *, out: Tensor | None = None) -> Tensor: """x is zero."""
def logical_not_(input: Tensor) -> Tensor: """In place: x is zero. See ``logical_not``."""
def logical_or(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """At least one is not zero."""
def logical_xor(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """Exactly one is not zero."""
def logit(input: Operand, eps: Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given."""
def logit_(input: Tensor, eps: Number | None = None) -> Tensor:
    """In place: log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given. See ``logit``."""
def logsigmoid(input: Array, *, out: Tensor | None = None) -> Tensor: """log(sigmoid(x))."""
def logsigmoid_(input: Tensor) -> Tensor: """In place: log(sigmoid(x)). See ``logsigmoid``."""
def logsumexp(input: Array, dim: Ints, keepdim: _bool = False, *, keepdims: _bool | None = None,
              out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
def lt(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x < y."""
def lu(input: Array, pivot: _bool = True, get_infos: _bool = False, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """(LU, pivots) of ``linalg.lu_factor``, also where U has a zero on its diagonal; with ``get_infos`` (LU, pivots, info)."""
def lu_solve(b: Array, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor: """See ``linalg.lu_solve``."""
def lu_unpack(LU_data: Array, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *,
              out: Tensor | None = None) -> Unpacked:
    """(P, L, U) of what ``lu_factor`` returns."""
def masked_fill(x: Operand, mask: Operand, value: Operand) -> Tensor:
    """value where mask is true, else x; the dtype is that of x."""
def masked_scatter(input: Array, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x with consecutive elements of source where mask is true; x and mask broadcast."""
def masked_select(input: Array, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of x where mask is true, in one row; both broadcast."""
def matmul(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product of the last two dimensions; batches broadcast, vectors take part as a row on the left or a column on the
    right."""
def matrix_exp(A: Array) -> Tensor: """The exponential of square matrices."""
def matrix_power(A: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the inverse."""
@overload
def max(input: Array) -> Tensor: ...
@overload
def max(input: Array, dim: Tensor) -> Tensor: ...
@overload
def max(input: Array, *, other: Tensor) -> Tensor: ...  # type: ignore[overload-overlap]
@overload
def max(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Ints | None = None,
        keepdims: _bool | None = None, out: Tensor | None = None) -> Extremum:
    """Greatest element; along dim (values, indices), the gradient to that index; of two tensors, maximum."""
def max_pool1d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               ceil_mode: _bool = False, return_indices: _bool = False) -> Tensor:
    """The greatest number of every window of 1 dimension; NaN is greater than any."""
def max_pool2d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               ceil_mode: _bool = False, return_indices: _bool = False) -> Tensor:
    """The greatest number of every window of 2 dimensions; NaN is greater than any."""
def max_pool3d(input: Array, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               ceil_mode: _bool = False, return_indices: _bool = False) -> Tensor:
    """The greatest number of every window of 3 dimensions; NaN is greater than any."""
def maximum(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger one; NaN if one is. Ties share the gradient."""
def mean(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
         keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Arithmetic mean over dimensions; of floating and complex tensors."""
@overload
def median(input: Array) -> Tensor: ...
@overload
def median(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
           keepdims: _bool | None = None, out: Tensor | None = None) -> Extremum:
    """The lower median of all elements, its gradient shared by those that tie; along dim (values, indices). NaN if there is one."""
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = 'ij') -> tuple[Tensor, ...]:
    """Vectors as coordinates of a grid: one tensor of the grid's shape each."""
@overload
def min(input: Array) -> Tensor: ...
@overload
def min(input: Array, dim: Tensor) -> Tensor: ...
@overload
def min(input: Array, *, other: Tensor) -> Tensor: ...  # type: ignore[overload-overlap]
@overload
def min(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Ints | None = None,
        keepdims: _bool | None = None, out: Tensor | None = None) -> Extremum:
    """Smallest element; along dim (values, indices), the gradient to that index; of two tensors, minimum."""
def minimum(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller one; NaN if one is. Ties share the gradient."""
def mish(input: Operand, inplace: _bool = False) -> Tensor: """x * tanh(log(1 + e**x)). inplace=True overwrites input."""
def mish_(input: Tensor) -> Tensor: """In place: x * tanh(log(1 + e**x)). See ``mish``."""
def mm(input: Array, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: """The product of two matrices."""
def mode(input: Array, dim: _int = -1, keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None,
         out: Tensor | None = None) -> Extremum:
    """(values, indices) of the most frequent value along dim, the smallest of several; the index is its last. No NaN equals
    another: where no number comes twice the first NaN is returned."""
def moveaxis(input: Array, source: Ints, destination: Ints) -> Tensor:
    """Dimensions moved to other places; the rest keep their order."""
def movedim(input: Array, source: Ints, destination: Ints) -> Tensor:
    """Dimensions moved to other places; the rest keep their order."""
def mse_loss(input: Array, target: Tensor, size_average: _bool | None = None, reduce: str | None = None, reduction: str = 'mean',
             weight: Tensor | None = None) -> Tensor:
    """(input - target)**2, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the weights."""
def msort(input: Array, *, out: Tensor | None = None) -> Tensor: """Sorted along the first dimension."""
def mul(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x * y."""
def multiply(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x * y."""
def mv(input: Array, vec: Tensor, *, out: Tensor | None = None) -> Tensor: """The product of a matrix and a vector."""
def mvlgamma(input: Array, p: Number, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, a whole number >= 1."""
nan: _float
def nan_to_num(input: Array, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None, *,
               out: Tensor | None = None) -> Tensor:
    """Numbers in the place of NaN (0) and the infinities (the dtype's greatest and least), in both parts of complex numbers."""
def nan_to_num_(input: Tensor, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None) -> Tensor:
    """In place: nan_to_num."""
def nanmean(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
            keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Mean over dimensions of what is not NaN."""
@overload
def nanmedian(input: Array) -> Tensor: ...
@overload
def nanmedian(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
              keepdims: _bool | None = None, out: Tensor | None = None) -> Extremum:
    """The lower median of what is not NaN; along dim (values, indices)."""
def nanquantile(input: Array, q: Tensor | Number | Sequence[_float], dim: Ints | None = None, keepdim: _bool = False, *,
                interpolation: str = 'linear', axis: Ints | None = None, keepdims: _bool | None = None,
                out: Tensor | None = None) -> Tensor:
    """The q-quantiles of what is not NaN, of all elements or along dim."""
def nansum(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
           keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Sum over dimensions of what is not NaN."""
def narrow(input: Array, dim: _int, start: _int | None, length: _int) -> Tensor:
    """``length`` elements of a dimension from ``start`` on."""
def narrow_copy(input: Array, dim: _int, start: _int | None, length: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``narrow`` shows, copied."""
def ne(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x != y."""
def neg(input: Array, *, out: Tensor | None = None) -> Tensor: """-x."""
def neg_(input: Tensor) -> Tensor: """In place: -x. See ``neg``."""
def negative(input: Array, *, out: Tensor | None = None) -> Tensor: """-x."""
def negative_(input: Tensor) -> Tensor: """In place: -x. See ``neg``."""
newaxis: None
def nextafter(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number after input in the direction of other: its derivative by input is 1, 0 where both are equal, by other 0."""
def nll_loss(input: Array, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None,
             ignore_index: _int = -100, reduce: str | None = None, reduction: str = 'mean') -> Tensor:
    """Minus the log-probability of the target class."""
def nonzero(input: Array, *, as_tuple: _bool = False, out: Tensor | None = None) -> Tensor | Any:
    """The indices of the elements that are not zero: a row each, or with ``as_tuple`` a tensor a dimension."""
def nonzero_static(input: Array, *, size: _int, fill_value: Operand = -1, out: Tensor | None = None) -> Tensor:
    """The indices of the first ``size`` elements that are not zero, a row each; ``fill_value`` in the rows that are left over."""
def norm(input: Array, p: Number | str = 'fro', dim: Ints | None = None, keepdim: _bool = False, dtype: DType | None = None, *,
         axis: Ints | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The p-norm over dimensions: p any number, inf, -inf, or "fro" (2); "nuc" of matrices, the sum of their singular values."""
def normalize(input: Array, p: Number = 2.0, dim: _int = 1, eps: Number = 1e-12, *, out: Tensor | None = None) -> Tensor:
    """Divided by its p-norm along dim, which is taken to be at least eps."""
def not_equal(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x != y."""
def nuclear_norm(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
                 keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values."""
def one_hot(tensor: Array, num_classes: _int = -1) -> Tensor:
    """1 at the class of each element and 0 elsewhere, along a new last dimension; int64."""
def ones(*sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
         device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
         pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor of ones, of the default dtype unless another is given."""
def ones_like(input: Tensor, *, dtype: DTypeLike | None = None, device: Device | str | None = None, requires_grad: _bool = False,
              layout: MemoryFormat | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Ones in the shape and memory order of ``input``."""
def orgqr(A: Array, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A."""
def ormqr(input: Array, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False, *,
          out: Tensor | None = None) -> Tensor:
    """``Q @ other``, where Q is the whole product of the reflections of ``geqrf``: it is never formed."""
def outer(input: Array, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element of one vector times every element of another, (n,) and (m,) -> (n, m)."""
def pad(input: Array, pad: Ints, mode: str = 'constant', value: Number | None = None) -> Tensor:
    """With elements before and after along the last dimensions: ``pad`` is (before last, after last, before the one before,
    ...)."""
def pairwise_distance(x1: Array, x2: Tensor, p: Number = 2.0, eps: Number = 1e-06, keepdim: _bool = False, *,
                      keepdims: _bool | None = None) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
def permute(input: Array, *each: Ints, dims: Ints | None = None) -> Tensor:
    """Dimensions in another order; ``x.permute(1, 0)`` or ``x.permute((1, 0))``."""
def permute_copy(input: Array, dims: Ints | None, *, out: Tensor | None = None) -> Tensor: """What ``permute`` shows, copied."""
pi: _float
def pinverse(A: Array, rcond: Number = 1e-15, *, out: Tensor | None = None) -> Tensor: """See ``linalg.pinverse``."""
def polar(abs: Array, angle: Tensor, *, out: Tensor | None = None) -> Tensor: """The complex numbers of this modulus and angle."""
def polygamma(n: _int, input: Tensor) -> Tensor: """The n-th derivative of digamma."""
def positive(input: Operand) -> Tensor: """x. Of numbers the tensor itself."""
def pow(input: Operand, exponent: Operand, *, out: Tensor | None = None) -> Tensor:
    """input to the power exponent; either may be a number."""
def prelu(input: Array, weight: Tensor) -> Tensor:
    """``input`` where it is > 0, else weight times it; one weight for all, or for each of the second dimension."""
def prod(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
         keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Product of all elements or along one dimension; integers and bools in int64."""
def put(input: Array, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """``x``, seen as one row, with the elements of ``source`` written (or added) where ``index`` says."""
def qr(input: Array, some: _bool = True, *, out: Tensor | None = None) -> QRResult: """(Q, R): see ``linalg.qr``."""
def quantile(input: Array, q: Tensor | Number | Sequence[_float], dim: Ints | None = None, keepdim: _bool = False, *,
             interpolation: str = 'linear', axis: Ints | None = None, keepdims: _bool | None = None,
             out: Tensor | None = None) -> Tensor:
    """The q-quantiles of all elements or along dim, q a number or a vector of numbers from 0 to 1; NaN if there is one."""
def rad2deg(input: Array, *, out: Tensor | None = None) -> Tensor: """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor: """In place: Radians as degrees. See ``rad2deg``."""
def ravel(input: Array) -> Tensor: """One dimension of neighbours in memory, copied only where it must be."""
def real(input: Array) -> Tensor: """The real parts: a view of a complex tensor, a real tensor itself."""
def reciprocal(input: Array, *, out: Tensor | None = None) -> Tensor: """1 / x."""
def reciprocal_(input: Tensor) -> Tensor: """In place: 1 / x. See ``reciprocal``."""
def relu(input: Operand, inplace: _bool = False) -> Tensor: """max(x, 0). inplace=True overwrites input."""
def relu6(input: Array, inplace: _bool = False) -> Tensor: """``input`` moved into [0, 6]."""
def relu_(input: Tensor) -> Tensor: """In place: max(x, 0). See ``relu``."""
def remainder(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor: """x - floor(x / y) * y: the sign of y."""
def renorm(input: Array, p: Number, dim: _int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """Slices of dim whose p-norm is greater than ``maxnorm`` scaled down to it."""
def repeat_interleave(input: Array, repeats: Ints | None = None, dim: Ints | None = None, *,
                      output_size: _int | None = None) -> Tensor:
    """Every element of a dimension repeated so many times in a row; without ``dim`` input is seen as one row."""
def reshape(input: Array, *each: Ints, shape: Ints | None = None) -> Tensor:
    """The same elements under another shape: a view where strides allow, else a copy."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Give ``x`` the shape of ``the_template``: see ``resize_``. With ``memory_format=preserve_format`` its order of elements
    too."""
def resolve_conj(input: Array) -> Tensor: """The tensor itself, or a copy if it is lazily conjugated."""
def resolve_neg(input: Array) -> Tensor: """The tensor itself, or a copy if it is lazily negated."""
def roll(input: Array, shifts: Ints, dims: Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements moved along dimensions; what leaves at one end comes back at the other."""
def rot90(input: Array, k: _int = 1, dims: Ints = (0, 1)) -> Tensor:
    """Turned ``k`` times by 90 degrees, from the first dimension towards the second."""
def round(input: Operand, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest multiple of 10**-decimals, ties to even; integers take no decimals."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """In place: The nearest multiple of 10**-decimals, ties to even; integers take no decimals. See ``round``."""
def row_stack(tensors: Array, *, out: Tensor | None = None) -> Tensor:
    """Tensors below one another; rows become matrices of one row."""
def rsqrt(input: Array, *, out: Tensor | None = None) -> Tensor: """1 / sqrt(x)."""
def rsqrt_(input: Tensor) -> Tensor: """In place: 1 / sqrt(x). See ``rsqrt``."""
def rsub(input: Operand, other: Operand, *, alpha: Number = 1) -> Tensor: """other - alpha * input."""
def scatter(input: Array, dim: _int, index: Tensor, src: Tensor | None = None, *, value: Operand | None = None,
            reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """``x`` with ``src`` (a tensor or a number) written along ``dim`` where ``index`` says; ``reduce="add"`` adds it,
    ``"multiply"`` multiplies by it."""
def scatter_add(input: Array, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``x`` with ``src`` added along ``dim`` where ``index`` says; repeated indices add up in row-major order."""
def scatter_reduce(input: Array, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True,
                   out: Tensor | None = None) -> Tensor:
    """``input`` and the elements of ``src`` that ``index`` sends to each place along dim, reduced: sum, prod, mean, amax or
    amin."""
def searchsorted(sorted_sequence: Array, input: Tensor, *, out_int32: _bool = False, right: _bool = False, side: str | None = None,
                 sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where to put values into a sorted last dimension: before equal elements, or behind them with ``right``. No gradient."""
def segment_reduce(data: Array, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
                   offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: Number | None = None) -> Tensor:
    """Segments of neighbouring slices along a dimension, each reduced to one slice: sum, mean, max, min or prod."""
def select(input: Array, dim: _int, index: _int) -> Tensor: """One element of one dimension, which goes."""
def select_copy(input: Array, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``select`` shows, copied."""
def select_scatter(input: Array, src: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of x with src written to one element of a dimension."""
def selu(input: Operand, inplace: _bool = False) -> Tensor:
    """elu scaled so that mean 0 and variance 1 are a fixed point (Klambauer et al., 2017). inplace=True overwrites input."""
def selu_(input: Tensor) -> Tensor:
    """In place: elu scaled so that mean 0 and variance 1 are a fixed point (Klambauer et al., 2017). See ``selu``."""
def sgn(input: Array, *, out: Tensor | None = None) -> Tensor: """x / |x|, 0 at 0; of real numbers the sign."""
def sgn_(input: Tensor) -> Tensor: """In place: x / |x|, 0 at 0; of real numbers the sign. See ``sgn``."""
def sigmoid(input: Array, *, out: Tensor | None = None) -> Tensor: """1 / (1 + e**-x)."""
def sigmoid_(input: Tensor) -> Tensor: """In place: 1 / (1 + e**-x). See ``sigmoid``."""
def sign(input: Array, *, out: Tensor | None = None) -> Tensor: """-1, 0 or 1."""
def sign_(input: Tensor) -> Tensor: """In place: -1, 0 or 1. See ``sign``."""
def signbit(input: Array, *, out: Tensor | None = None) -> Tensor: """Whether the sign is negative, that of -0.0 too."""
def silu(input: Operand, inplace: _bool = False) -> Tensor: """x * sigmoid(x). inplace=True overwrites input."""
def silu_(input: Tensor) -> Tensor: """In place: x * sigmoid(x). See ``silu``."""
def sin(input: Array, *, out: Tensor | None = None) -> Tensor: """The sine of x in radians."""
def sin_(input: Tensor) -> Tensor: """In place: The sine of x in radians. See ``sin``."""
def sinc(input: Array, *, out: Tensor | None = None) -> Tensor: """sin(pi x) / (pi x); 1 at 0."""
def sinc_(input: Tensor) -> Tensor: """In place: sin(pi x) / (pi x); 1 at 0. See ``sinc``."""
def sinh(input: Array, *, out: Tensor | None = None) -> Tensor: """The hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor: """In place: The hyperbolic sine. See ``sinh``."""
def slice_copy(input: Array, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *,
               out: Tensor | None = None) -> Tensor:
    """What ``slice`` shows, copied."""
def slice_scatter(input: Array, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *,
                  out: Tensor | None = None) -> Tensor:
    """A copy of x with src written to a slice of it."""
def slogdet(A: Array, *, out: Tensor | None = None) -> SlogdetResult:
    """(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude."""
def smooth_l1_loss(input: Array, target: Tensor, size_average: _bool | None = None, reduce: str | None = None,
                   reduction: str = 'mean', beta: Number = 1.0) -> Tensor:
    """|d| - beta / 2, or d**2 / (2 beta) where |d| < beta, for d = input - target; reduced."""
def softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) over its sum along dim; the maximum is subtracted first."""
def softmin(input: Array, dim: _int, dtype: DType | None = None) -> Tensor: """The softmax of -input."""
def softplus(input: Operand, beta: Operand = 1.0, threshold: Operand = 20.0, *, out: Tensor | None = None) -> Tensor:
    """log(1 + e**(beta x)) / beta; x itself where beta x > threshold."""
def softshrink(input: Operand, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input moved towards 0 by lambd, which is not negative, as far as 0."""
def sort(input: Array, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: Ints | None = None,
         out: Tensor | None = None) -> Extremum:
    """``(values, indices)`` sorted along dim; equal elements keep their order; NaN counts as the greatest number."""
def split(tensor: Array, split_size_or_sections: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension: of one size (the last may be smaller), or of the given sizes."""
def split_copy(input: Array, split_size: _int, dim: _int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """What ``split`` shows, copied."""
def split_with_sizes(input: Array, split_sizes: Ints, dim: _int = 0) -> tuple[Tensor, ...]: """Pieces of the given sizes."""
def split_with_sizes_copy(input: Array, split_sizes: Ints, dim: _int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """What ``split_with_sizes`` shows, copied."""
def sqrt(input: Array, *, out: Tensor | None = None) -> Tensor: """The square root."""
def sqrt_(input: Tensor) -> Tensor: """In place: The square root. See ``sqrt``."""
def square(input: Array, *, out: Tensor | None = None) -> Tensor: """x * x."""
def square_(input: Tensor) -> Tensor: """In place: x * x. See ``square``."""
def squeeze(input: Array, dim: Ints | None = None, axis: Ints | None = None) -> Tensor:
    """Without dimensions of size 1: all, one, or some of them."""
def squeeze_copy(input: Array, dim: Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """What ``squeeze`` shows, copied."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape along a new dimension."""
def std(input: Array, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
        correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None,
        out: Tensor | None = None) -> Tensor:
    """Standard deviation over dimensions: the root of ``var``; its gradient is 0 where it is 0."""
def std_mean(input: Array, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
             correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None,
             out: Tensor | None = None) -> tuple[Tensor, ...]:
    """Standard deviation and mean over dimensions."""
def stft(input: Array, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None,
         center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None,
         return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The Fourier transforms of overlapping frames of a signal."""
def sub(input: Operand, other: Operand, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """input - alpha * other."""
def subtract(input: Operand, other: Operand, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """input - alpha * other."""
def sum(input: Array, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
        keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Sum over dimensions; integers and bools in int64."""
def svd(input: Array, some: _bool = True, compute_uv: _bool = True, *, out: Tensor | None = None) -> SVDTurned:
    """(U, S, V) with input = U @ diag(S) @ V^H: see ``linalg.svd``, which returns V^H."""
def swapaxes(input: Array, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
def swapdims(input: Array, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
def t(input: Array) -> Tensor: """The transpose of a matrix; fewer dimensions stay as they are."""
def t_copy(input: Array, *, out: Tensor | None = None) -> Tensor: """What ``t`` shows, copied."""
def take(input: Array, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of x, seen as one row, that index names."""
def take_along_dim(input: Array, indices: Tensor, dim: Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """``gather`` whose operands broadcast in the other dimensions; without ``dim`` both are seen as one row."""
def tan(input: Array, *, out: Tensor | None = None) -> Tensor: """The tangent of x in radians."""
def tan_(input: Tensor) -> Tensor: """In place: The tangent of x in radians. See ``tan``."""
def tanh(input: Array, *, out: Tensor | None = None) -> Tensor: """The hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor: """In place: The hyperbolic tangent. See ``tanh``."""
def tanhshrink(input: Array) -> Tensor: """x - tanh(x)."""
def tanhshrink_(input: Tensor) -> Tensor: """In place: x - tanh(x). See ``tanhshrink``."""
def tensor_split(input: Array, indices_or_sections: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """So many pieces of nearly equal size, or the pieces between the given indices."""
def tensordot(a: Array, b: Tensor, dims: Ints = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over pairs of dimensions."""
def threshold(input: Operand, threshold: Number, value: Operand, inplace: _bool = False) -> Tensor:
    """x where x > threshold, else value. inplace=True overwrites input."""
def threshold_(input: Tensor, threshold: Number, value: Operand) -> Tensor:
    """In place: x where x > threshold, else value. See ``threshold``."""
def tile(input: Array, *each: Ints, dims: Ints | None = None) -> Tensor: """``repeat`` with missing repeats in front taken as 1."""
def topk(input: Array, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: Ints | None = None,
         out: Tensor | None = None) -> Extremum:
    """``(values, indices)`` of the k greatest (or smallest) elements along dim, in order."""
def trace(input: Array, *, out: Tensor | None = None) -> Tensor: """The sum of a matrix's diagonal."""
def transpose(input: Array, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
def transpose_copy(input: Array, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``transpose`` shows, copied."""
def trapezoid(y: Array, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The integral along dim by the trapezoidal rule: of points at ``x``, or ``dx`` (1) apart."""
def trapz(y: Array, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The integral along dim by the trapezoidal rule: of points at ``x``, or ``dx`` (1) apart."""
def triangular_solve(b: Array, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *,
                     out: Tensor | None = None) -> TriangularSolution:
    """(solution, A) of ``linalg.solve_triangular``, with A transposed if asked for."""
def tril(input: Array, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices, zero above the diagonal."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType | None = None, device: Device | str | None = None,
                 requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, (2, n)."""
def triu(input: Array, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices, zero below the diagonal."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType | None = None, device: Device | str | None = None,
                 requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the upper triangle of a matrix, (2, n)."""
def true_divide(input: Operand, other: Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
def trunc(input: Array, *, out: Tensor | None = None) -> Tensor: """x without its fraction."""
def trunc_(input: Tensor) -> Tensor: """In place: x without its fraction. See ``trunc``."""
def unbind(input: Array, dim: _int = 0) -> tuple[Tensor, ...]: """All elements of one dimension, as a tuple."""
def unbind_copy(input: Array, dim: _int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """What ``unbind`` shows, copied."""
def unflatten(input: Array, dim: _int, sizes: Ints) -> Tensor: """One dimension as several; one of their sizes may be -1."""
def unfold(input: Array, dimension: _int, size: Ints, step: _int) -> Tensor:
    """All windows of ``size`` elements, ``step`` apart, as a last dimension."""
def unfold_copy(input: Array, dimension: _int, size: Ints, step: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``unfold`` shows, copied."""
def unique(input: Array, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False,
           dim: Ints | None = None) -> Tensor | Any:
    """The different values in order, every NaN one of its own; with ``dim`` the different slices. Differentiating it is refused."""
def unique_consecutive(input: Array, return_inverse: _bool = False, return_counts: _bool = False,
                       dim: Ints | None = None) -> Tensor | Any:
    """Elements (with ``dim``, slices) without those that repeat their neighbour before them; refuses to be differentiated."""
def unsafe_chunk(input: Array, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose pieces autograd takes for tensors of their own."""
def unsafe_split(input: Array, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces that autograd takes for tensors of their own, each with its own count of writes: only for use where the input, which
    learns of none of them, is not used again."""
def unsafe_split_with_sizes(input: Array, split_sizes: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes that autograd takes for tensors of their own: see unsafe_split."""
def unsqueeze(input: Array, dim: _int) -> Tensor: """With a dimension of size 1 at ``dim``."""
def unsqueeze_copy(input: Array, dim: _int, *, out: Tensor | None = None) -> Tensor: """What ``unsqueeze`` shows, copied."""
def vander(x: Array, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Powers of the elements of a vector, one a column: from the highest to 1."""
def var(input: Array, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
        correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None,
        out: Tensor | None = None) -> Tensor:
    """Variance over dimensions, divided by n - correction (1 unless given); of complex numbers that of both parts, added."""
def var_mean(input: Array, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
             correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None,
             out: Tensor | None = None) -> tuple[Tensor, ...]:
    """Variance and mean over dimensions."""
def vdot(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor: """``dot`` with the first vector conjugated."""
def view_as_complex(input: Array) -> Tensor: """Pairs of numbers as a complex tensor."""
def view_as_complex_copy(input: Array, *, out: Tensor | None = None) -> Tensor: """What ``view_as_complex`` shows, copied."""
def view_as_real(input: Array) -> Tensor: """A complex tensor as pairs of numbers: one more dimension, of size 2."""
def view_as_real_copy(input: Array, *, out: Tensor | None = None) -> Tensor: """What ``view_as_real`` shows, copied."""
def view_copy(input: Array, size: Ints | None = None, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """What ``view`` shows, copied."""
def vsplit(input: Array, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces below one another: along the first dimension; equal ones, or those between the given indices."""
def vstack(tensors: Array, *, out: Tensor | None = None) -> Tensor:
    """Tensors below one another; rows become matrices of one row."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Operand | None = None, other: Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` where ``condition`` is true, else ``other``; of a condition alone, its positions."""
def where_or_positions(condition: Array, input: Tensor | None = None, other: Tensor | None = None, *,
                       out: Tensor | None = None) -> Tensor:
    """``input`` where ``condition`` is true, else ``other``; of a condition alone, its positions."""
def xlogy(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(y); 0 where x is 0, unless y is NaN."""
def xlogy_(input: Tensor, other: Operand) -> Tensor: """In place: x * log(y); 0 where x is 0, unless y is NaN. See ``xlogy``."""
def zero_(input: Tensor) -> Tensor: """In place: Write 0 into every element. See ``zero``."""
def zeros(*sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
          device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
          pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor of zeros, of the default dtype unless another is given."""
def zeros_like(input: Tensor, *, dtype: DTypeLike | None = None, device: Device | str | None = None, requires_grad: _bool = False,
               layout: MemoryFormat | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Zeros in the shape and memory order of ``input``."""

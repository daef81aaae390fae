"""In which precision operations run inside of ``autocast``: torch's lists, by the operations that its functions are here.

Of each device a word: ``low``: in the region's dtype; ``single``: in float32; ``widest``: in the widest dtype of the operands;
``refused``; none: as it is called, in the dtype of its operands, as on meta all are.

The CPU's list has what loses too much in bfloat16, and what its libraries lack there; CUDA's has all that overflows in float16.
"""

from __future__ import annotations

__all__ = ["PRECISION"]

# On the CPU, on CUDA, operations.
LISTS = (
    ("low", "low", "conv conv_bias conv_weight matmul mm bmm gemm gemm_bias addmm baddbmm addbmm attention attention_masked"),
    ("low", "low", "prelu_by recurrent"),
    ("", "low", "mv addmv addr"),
    ("single", "single", "squared_difference absolute_difference smooth_difference huber_difference logits_difference"),
    ("single", "single", "weighted_logits_difference entropy_difference log_entropy_difference nll_rows cross_entropy_rows"),
    ("single", "refused", "are_probabilities probability_difference"),
    ("single", "single", "prod trace"),
    ("", "single", "exp log log2 log10 log1p expm1 rsqrt reciprocal acos asin cosh sinh tan erfinv softplus softmax"),
    (
        "",
        "single",
        "log_softmax logsumexp square pow pow_three pow_inverse pow_half scan_sum scan_product sum norm1 norm2 power_norm",
    ),
    ("widest", "", "cat stack index_copy_source"),
    ("", "widest", "addcdiv_scaled addcmul_scaled atan2 dot index_write scatter_add_src"),
)
PRECISION = {name: {"cpu": cpu, "cuda": cuda, "meta": ""} for cpu, cuda, names in LISTS for name in names.split()}

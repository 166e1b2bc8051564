"""Activations that a layer stores, against the closed forms of Korthikanti et al. (2022)."""

import pytest

from hwdsl.api.evaluator import Module

# Layers are left out of the counts: hidden size and heads of the paper's table 3, and its lengths.
MODELS = {"22B": (6144, 64), "175B": (12288, 96), "530B": (20480, 128), "1T": (25600, 160)}
LENGTH = 2048
TEXT = """edition 2026
use std.gpt_model: gpt_model
use std.parallelism: plan, recompute_granularity, sharding
use std.training: gpt_training_step
use std.llm_training: llm_training_step
use std.activation_memory: layer_activations, recompute_module
use std.node: dtype
use vendor.clusters: DGX_A100_pod
use workloads.transformers: language_model, GPT3, Llama3_405B, DeepSeek_V3

evaluator layer {
    param hidden_size : int = 12288 in 64 .. 100_000
    param heads       : int = 96    in 1 .. 1000
    param seq_length  : int = 2048  in 1 .. 100_000
    param tensor      : int = 8     in 1 .. 16
    param micro_batch : int = 1     in 1 .. 64
    choice along     : bool                  in [false, true]           = true
    choice recompute : recompute_granularity in [none, selective, full] = none
    let cut = plan(
        tensor = tensor,
        micro_batch = micro_batch,
        global_batch = micro_batch,
        sequence_parallel = along,
        recompute = recompute,
        sharding = zero_1,
    )
    let gpt = gpt_training_step(
        model = gpt_model(
            layers = 1,
            hidden_size = hidden_size,
            heads = heads,
            vocab_size = 51200,
            seq_length = seq_length,
        ),
        plan = cut,
        cluster = DGX_A100_pod,
    )
    let fused = llm_training_step(
        model = GPT3 with { layers = 1, hidden_size = hidden_size, heads = heads },
        seq_length = seq_length,
        plan = cut,
        cluster = DGX_A100_pod,
    )
    allow gpt.peak_memory "one layer is asked"
    allow fused.peak_memory "one layer is asked"
    output unfused_layer in MB = gpt.layer_activations
    output fused_layer   in MB = fused.layer_activations
}

evaluator gated {
    param tensor : int = 8 in 1 .. 8
    let layer = layer_activations(
        model = Llama3_405B,
        tokens = 8192,
        kv_length = 8192,
        tensor = tensor,
        sequence_fraction = 1 / tensor,
    )
    output stored in MB = layer.stored
}

evaluator latent {
    choice frugal : bool in [false, true] = false
    let plain = layer_activations(model = DeepSeek_V3, tokens = 4096, kv_length = 4096)
    let as_reported = plain with {
        model                      = DeepSeek_V3 with { dtype = fp8 }
        recompute_modules          = [recompute_module.layernorm, activation_func, mla_up_proj]
        bytes_per_ffn_input        = 1 B
        bytes_per_attention_output = 1.5 B
    }
    output stored in MB = if frugal then as_reported.stored else plain.stored
    output dense  in MB = (plain with { has_experts = false }).stored
}
"""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("tensor", "batch"), [(8, 1), (8, 4), (1, 1)])
def test_a_layer_of_separate_kernels_stores_what_table_2_says(
    module: Module, name: str, tensor: int, batch: int
) -> None:
    """Bytes over s b h, equations 2 to 4 and the selective rows of table 2."""
    h, a = MODELS[name]
    scores = 5 * a * LENGTH / h
    expected = {
        ("none", False): 10 + (24 + scores) / tensor,
        ("none", True): (34 + scores) / tensor,
        ("selective", False): 10 + 24 / tensor,
        ("selective", True): 34 / tensor,
        ("full", False): 2,
    }
    for (recompute, along), factor in expected.items():
        answer = module.layer(
            hidden_size=h, heads=a, tensor=tensor, micro_batch=batch,
            recompute=recompute, along=along,
        )  # fmt: skip
        found = answer.unfused_layer * 1e6 / (LENGTH * batch * h)
        assert found == pytest.approx(factor, rel=1e-9), (recompute, along)


@pytest.mark.parametrize("name", MODELS)
def test_fused_attention_stores_neither_scores_nor_masks(module: Module, name: str) -> None:
    """Without the scores, and without the two dropout masks of one byte: 34 - 2 and 10 - 2."""
    h, a = MODELS[name]
    for tensor, along, factor in [(8, True, 32 / 8), (8, False, 8 + 24 / 8), (1, False, 32)]:
        answer = module.layer(hidden_size=h, heads=a, tensor=tensor, along=along)
        found = answer.fused_layer * 1e6 / (LENGTH * h)
        assert found == pytest.approx(factor, rel=1e-9), (tensor, along)


def test_a_gated_layer_with_few_key_heads_stores_each_input_once(module: Module) -> None:
    """Two norms' inputs and outputs, Q, K and V, attention, gate and up, their product; bf16."""
    h, kv, ffn, tokens = 16384, 8 * 128, 53248, 8192
    elements = 4 * h + h + 2 * kv + h + 3 * ffn
    assert module.gated().stored == pytest.approx(2 * tokens * elements / 8 / 1e6)
    assert module.gated(tensor=1).stored == pytest.approx(8 * module.gated().stored)


def test_deepseek_v3_stores_what_its_report_says(module: Module) -> None:
    """The report keeps tokens to experts and SwiGLU inputs in 8 bits, the attention output in
    12, and computes norms, up-projections of latent attention and SwiGLU outputs again."""
    h, ffn, routed, latent = 7168, 2048, 8, 1536 + 512
    kept = 2 * 2 * h + 2 * (latent + 64) + 1.5 * 128 * 128
    kept += routed * h + 4 * 256 + 2 * (routed + 1) * ffn
    assert module.latent(frugal=True).stored == pytest.approx(4096 * kept / 1e6)
    again = 2 * 2 * h + 2 * latent + 2 * 128 * (192 + 128 + 128) + 2 * (routed + 1) * ffn
    narrower = 0.5 * 128 * 128 + routed * h + 2 * (routed + 1) * ffn
    plain = module.latent()
    assert plain.stored == pytest.approx(4096 * (kept + again + narrower) / 1e6)
    assert plain.dense < plain.stored

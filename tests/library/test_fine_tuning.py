"""Fine-tuning of chosen weights: hand formulas, and the training step as a special case."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """edition 2026
#! A step on one module.
use std.activation_memory: trained_matrices
use std.fine_tuning: fine_tuning_step
use std.llm_training: llm_training_step
use std.parallelism: plan
use studies.pock_engine: single_module
use workloads.transformers: Llama2_7B

evaluator full {
    let one = plan(micro_batch = 1, global_batch = 1, recompute = none)
    let step = llm_training_step(
        model = Llama2_7B, seq_length = 512, plan = one, cluster = single_module
    )
    output time   in s     = step.step_time
    output memory in B     = step.peak_memory
    output flops  in FLOP  = step.model_flops
    output gradients in B = step.memory.gradient_memory
    output activations in B = step.memory.activation_memory
    output wgrad in s = step.layer_wgrad
    allow step.peak_memory "of any size"
}

evaluator some {
    param layers : int = 32 in 0 .. 32
    param rank   : int = 0  in 0 .. 64
    choice qkv   : bool in [false, true] = true
    choice out   : bool in [false, true] = true
    choice first : bool in [false, true] = true
    choice second : bool in [false, true] = true
    choice head  : bool in [false, true] = false
    choice embedding : bool in [false, true] = false
    choice reordered : bool in [false, true] = false
    param frozen : data = 2 B in 0.5 B .. 4 B
    param kept   : data = 2 B in 2 B .. 4 B
    let step = fine_tuning_step(
        model = Llama2_7B, seq_length = 512, cluster = single_module,
        plan = plan(micro_batch = 1, global_batch = 1, recompute = none),
        trained_layers = layers, adapter_rank = rank, trains_lm_head = head,
        trains_embedding = embedding, updates_in_backward = reordered,
        frozen_bytes_per_parameter = frozen, trained_bytes_per_parameter = kept,
        trained_matrices = trained_matrices(
            qkv_projection = qkv, attention_output = out, ffn_first = first, ffn_second = second
        ),
    )
    output time   in s     = step.step_time
    output memory in B     = step.peak_memory
    output flops  in FLOP  = step.model_flops
    output parameters = step.trained_parameters
    output weights in B = step.memory.parameter_memory
    output gradients in B = step.memory.gradient_memory
    output activations in B = step.memory.activation_memory
    output wgrad in s = step.layer_wgrad
    allow step.peak_memory "of any size"
    allow step.anything_trained "or nothing"
}
"""

WIDTH, HIDDEN, LAYERS, VOCABULARY, TOKENS, HEADS = 4096, 11008, 32, 32000, 512, 32
MATRICES = {
    "qkv": 3 * WIDTH * WIDTH,
    "out": WIDTH * WIDTH,
    "first": 2 * WIDTH * HIDDEN,
    "second": WIDTH * HIDDEN,
}
# Query-key pairs of causal attention in all heads, two products of 128 per pair.
SCORES = HEADS * TOKENS * (TOKENS + 1) / 2 * 2 * 2 * 128


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path = tmp_path_factory.mktemp("fine") / "steps.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


def test_all_trained_is_the_training_step(steps: hwdsl.Module) -> None:
    full = steps.full().raw
    some = steps.some(head=True, embedding=True).raw
    for name in ("time", "memory", "flops", "gradients", "activations", "wgrad"):
        assert some[name] == pytest.approx(full[name], rel=1e-9), name


def flops_by_hand(layers: int, chosen: set[str]) -> float:
    """Forward, and backward to the first trained matrix: by the chain rule, block by block."""
    gemms = 2 * TOKENS * sum(MATRICES.values())
    head = 2 * TOKENS * WIDTH * VOCABULARY
    total = LAYERS * (gemms + SCORES) + head
    order = ["qkv", "out", "first", "second"]
    for layer in range(layers):
        first = min((order.index(m) for m in chosen), default=4) if layer == layers - 1 else -1
        for place, name in enumerate(order):
            each = 2 * TOKENS * MATRICES[name]
            total += each * (place > first) + each * (name in chosen)
        total += 2 * SCORES * (first < 1)
    return total + head * (layers > 0)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 32), st.sets(st.sampled_from(sorted(MATRICES)), min_size=1))
def test_backward_ends_at_the_first_trained_matrix(
    steps: hwdsl.Module, layers: int, chosen: set[str]
) -> None:
    given = {name: name in chosen for name in MATRICES}
    found = steps.some(layers=layers, **given).raw
    assert found["flops"] == pytest.approx(flops_by_hand(layers, chosen), rel=1e-6)
    norms = 2 * WIDTH if chosen == set(MATRICES) else 0
    trained = layers * (sum(MATRICES[m] for m in chosen) + norms)
    assert found["parameters"] == trained
    assert found["gradients"] == pytest.approx(2 * trained, rel=1e-9)
    # Korthikanti et al.: two bytes for each input of a norm, of attention, of the activation
    # function, and of the matrices that are trained.
    kept = 2 * WIDTH + 3 * WIDTH + WIDTH + 2 * HIDDEN
    kept += WIDTH * ("qkv" in chosen) + WIDTH * ("first" in chosen) + HIDDEN * ("second" in chosen)
    assert found["activations"] == pytest.approx(layers * TOKENS * 2 * kept, rel=1e-9)


def test_adapters_train_what_the_paper_counts(steps: hwdsl.Module) -> None:
    """Rank r of a d x k matrix is r (d + k) parameters; frozen ones have no gradients."""
    found = steps.some(rank=16).raw
    each = 4 * 2 * WIDTH + 3 * (WIDTH + HIDDEN)
    assert found["parameters"] == LAYERS * 16 * each
    base = LAYERS * (2 * TOKENS * sum(MATRICES.values()) + SCORES)
    ended = 2 * TOKENS * MATRICES["qkv"]  # no input gradient of the first block's first matrix
    head = 2 * TOKENS * WIDTH * VOCABULARY
    adapters = 3 * 2 * TOKENS * LAYERS * 16 * each
    total = base * 2 + LAYERS * SCORES - ended + 2 * head + adapters
    assert found["flops"] == pytest.approx(total, rel=1e-4)


def test_linear_probing_needs_no_backward_pass(steps: hwdsl.Module) -> None:
    found = steps.some(layers=0, head=True).raw
    head = 2 * TOKENS * WIDTH * VOCABULARY
    forward = LAYERS * (2 * TOKENS * sum(MATRICES.values()) + SCORES)
    assert found["flops"] == pytest.approx(forward + 2 * head, rel=1e-6)
    assert found["activations"] == 0


def test_updates_in_the_backward_pass_hold_one_layer(steps: hwdsl.Module) -> None:
    kept, freed = (steps.some(reordered=r).raw["gradients"] for r in (False, True))
    layer = 2 * (sum(MATRICES.values()) + 2 * WIDTH)
    assert (kept, freed) == pytest.approx((LAYERS * layer, layer), rel=1e-9)


def test_a_frozen_base_may_be_stored_in_fewer_bits(steps: hwdsl.Module) -> None:
    """Matrices of 27 frozen blocks in 4 bits, all else in 32; casts cost time in both passes."""
    found = steps.some(layers=5, frozen=0.5625, kept=4).raw
    block = sum(MATRICES.values())
    other = 2 * VOCABULARY * WIDTH + (2 * LAYERS + 1) * WIDTH
    assert found["weights"] == pytest.approx(
        0.5625 * 27 * block + 4 * (5 * block + other), rel=1e-9
    )
    plain, quantized = (steps.some(layers=5, frozen=b).raw["time"] for b in (2, 0.5625))
    traffic = 27 * block * 2.5625
    # The forward pass casts all frozen matrices, the backward pass its share of the layers.
    assert quantized - plain == pytest.approx(traffic * (1 + 5 / 32) / (0.88 * 204.8e9), rel=0.01)

"""Optimizers and the kernels of a training step: against the tensors that each pass moves."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.semantics import check, load

STUDY = Path(__file__).parents[2] / "library" / "studies" / "bert_training.hw"
BERT_LARGE_PARAMETERS = 335_141_888  # of the published checkpoint, with its pooler
GRADIENT, PARAMETER, STATE, UPDATE = "g", "w", "s", "u"

# What each pass reads and writes, from the algorithms: one letter for each tensor of the size of
# the parameters.
PASSES = {
    ("sgd", "multi_tensor"): ["gw" + "w"],
    ("momentum_sgd", "multi_tensor"): ["gws" + "ws"],
    ("lion", "multi_tensor"): ["gws" + "ws"],
    ("adam", "multi_tensor"): ["gwss" + "wss"],
    ("adafactor", "multi_tensor"): ["g", "gw", "gw" + "w"],
    ("lamb", "multi_tensor"): ["g", "gwss" + "ssu", "w", "u", "wu" + "w"],
    ("lamb", "fused_norms"): ["g", "gwss" + "ssu", "wu" + "w"],
}


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


@pytest.mark.parametrize(("algorithm", "kernels"), PASSES)
@pytest.mark.parametrize(("gradient", "state"), [(4, 4), (2, 4), (4, 1)])
def test_an_optimizer_moves_the_tensors_of_its_passes(
    study: Module, algorithm: str, kernels: str, gradient: int, state: int
) -> None:
    found = study.optimizer_share(
        algorithm=algorithm,
        optimizer_kernels=kernels,
        mixed_precision=False,
        gradient_bytes=f"{gradient} B",
        state_bytes=f"{state} B",
    )
    scale = 4 / 2048 if state < 4 else 0
    sizes = {GRADIENT: gradient, UPDATE: gradient, PARAMETER: 4, STATE: state + scale}
    moved = sum(sizes[tensor] for one in PASSES[algorithm, kernels] for tensor in one)
    assert found["traffic_per_parameter"] == pytest.approx(moved, rel=1e-12)


def test_eager_adam_by_hand(study: Module) -> None:
    """m *= b, m += g, v *= b, v += g g, sqrt, + eps, m / it, decay w, add, rate, negate, w +=."""
    found = study.optimizer_share(
        algorithm="adam", optimizer_kernels="per_tensor", mixed_precision=False
    )
    in_place, of_two = 2, 3
    assert found["traffic_per_parameter"] == 4 * (7 * in_place + 5 * of_two)


@settings(max_examples=12, deadline=None)
@given(
    batch=st.integers(1, 128),
    accumulation=st.integers(1, 64),
    shards=st.integers(1, 64),
    percent=st.floats(0.1, 20),
)
def test_allowed_traffic_has_the_target_share(
    study: Module, batch: int, accumulation: int, shards: int, percent: float
) -> None:
    """Time of the optimizer is latency of its kernels and a rate times its bytes, and the rest of
    the step is the same whatever it moves."""
    found = study.optimizer_share(
        batch=batch,
        gradient_accumulation_steps=accumulation,
        shards=shards,
        target_share=f"{percent} %",
    )
    launches, latency = 5, 3e-3
    update, share = found["update_time"], found["share"] / 100
    rest = update * (1 - share) / share
    rate = (update - launches * latency) / found["traffic_per_parameter"]
    then = launches * latency + rate * found["allowed_traffic"]
    if found["allowed_traffic"] > 0:
        assert then / (then + rest) == pytest.approx(percent / 100, rel=1e-9)
    else:
        assert launches * latency / (launches * latency + rest) >= percent / 100 * (1 - 1e-9)


def test_accumulation_that_is_needed_suffices(study: Module) -> None:
    needed = study.optimizer_share()["needed_accumulation"]
    shares = [
        study.optimizer_share(gradient_accumulation_steps=steps)["share"]
        for steps in (math.floor(needed), math.ceil(needed))
    ]
    assert shares[0] > 1 > shares[1]


def test_classes_are_the_whole_step(study: Module) -> None:
    found = study.training_step(mixed_precision=True, batch=7, gradient_accumulation_steps=3)
    classes = "linear fc attention softmax gelu norm bias gradients embedding output_layer lamb"
    assert sum(found[name] for name in classes.split()) == pytest.approx(100, rel=1e-9)


def test_composed_gelu_by_hand(study: Module) -> None:
    """x * 0.5 * (1 + erf(x / sqrt 2)): 35 accesses forward and backward against five of a kernel of
    its own, of 24 x 4096 x 4096 numbers in 32 bits."""
    composed = study.training_step(fusion="composed")
    native = study.training_step(fusion="native")
    times = [one["time"] * one["gelu"] / 100 for one in (composed, native)]
    traffic = 24 * 4096 * 4096 * 4
    reached = 0.77 * 1228.8e9
    streaming, activation = reached, reached * 0.77 / 0.88
    by_hand = [
        24 * 15 * 3e-3 + 1e3 * 35 * traffic / streaming,
        24 * 2 * 3e-3 + 1e3 * 5 * traffic / activation,
    ]
    assert times == pytest.approx(by_hand, rel=1e-9)


def test_kernels_of_another_layer_are_refused(tmp_path: Path) -> None:
    """Llama 2 70B has GQA and a gated FFN: `check` says so with both numbers, and takes BERT."""
    for model, found in (("Llama2_70B", ["training_kernels.described"]), ("BERT_Base", [])):
        path = tmp_path / f"{model}.hw"
        path.write_text(
            "edition 2026\nuse workloads.training_kernels\nuse workloads.transformers\n"
            f"training_kernels k {{ model = {model}, batch = 1, seq_length = 128 }}\n",
            encoding="utf-8",
        )
        diagnostics = Diagnostics()
        check_rules(check(load(path, diagnostics), diagnostics), diagnostics)
        errors = [item for item in diagnostics.items if item.name.startswith("training_kernels")]
        assert [item.name for item in errors] == found
        assert all("8 KV heads of 64, 3 FFN matrices" in item.message for item in errors)


@settings(max_examples=20, deadline=None)
@given(
    batch=st.integers(1, 32),
    length=st.integers(16, 256),
    mixed=st.booleans(),
    shards=st.sampled_from([1, 8]),
)
def test_memory_is_the_closed_form_of_stored_activations(
    study: Module, batch: int, length: int, mixed: bool, shards: int
) -> None:
    """34 s b h + 5 a s^2 b bytes a layer in 16 bits, of which 2 s b h + a s^2 b are masks of a byte
    (Korthikanti et al., section 4.1); 16 bytes for each parameter with LAMB, and 2 for a copy."""
    found = study.optimizer_share(
        mixed_precision=mixed,
        batch=batch,
        seq_length=length,
        max_predictions_per_seq=1,
        shards=shards,
        accelerator="A100_SXM_80GB",
    )
    numbers, masks = 32 * 1024 + 4 * 16 * length, 2 * 1024 + 16 * length
    width = 1 if mixed else 2
    layers = 24 * batch * length * (width * numbers + masks)
    ends = batch * length * 1024 * (2 * width + 1) + 2 * width * batch * (4 * 1024 + 30522)
    sharded = (12 if mixed else 8) / shards + (6 if mixed else 8)
    parameters = sharded * BERT_LARGE_PARAMETERS
    assert found["memory"] * 1e9 == pytest.approx(layers + ends + parameters, rel=1e-9)


def test_a_batch_that_does_not_fit_is_refused(study: Module) -> None:
    """4096 sequences of 512 tokens are 10 TB of activations; 32 GiB hold a batch of 32."""
    refused = study.training_step(batch=4096, seq_length=512)
    assert any("memory" in one for one in refused.violations), refused.violations
    assert study.training_step().feasible
    assert study.training_step(batch=32, gradient_accumulation_steps=1000).feasible


def test_no_more_words_are_predicted_than_there_are(study: Module) -> None:
    refused = study.training_step(seq_length=16, max_predictions_per_seq=17)
    assert any("predicted" in one for one in refused.violations), refused.violations
    assert study.training_step(seq_length=16, max_predictions_per_seq=16).feasible


def test_passes_are_the_step_of_the_profile(study: Module) -> None:
    """Forward and backward pass, optimizer and reset of the gradients are the step; the backward
    pass has two GEMMs for each of the forward pass."""
    found = study.fine_tuning_profile()
    rest = [
        study.fine_tuning_profile(op_class=name)["time"]
        for name in ("optimizer_kernels", "gradient_reset_kernels")
    ]
    passes = found["forward_pass_time"] + found["backward_pass_time"]
    assert passes + sum(rest) == pytest.approx(found["step"], rel=1e-9)
    assert 1.5 < found["backward_pass_time"] / found["forward_pass_time"] < 2.2

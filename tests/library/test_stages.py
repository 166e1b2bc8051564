"""Uneven pipeline stages: layers, time, memory of the fullest stage; two published runs fit."""

from pathlib import Path

import pytest
import shipped
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
TEXT = """edition 2026
use std.parallelism
use std.stage_layout: stage_layout
use std.llm_training: llm_training_step
use vendor.clusters: DGX_A100_pod
use workloads.transformers: DeepSeek_V3, Llama3_8B

evaluator layout {
    param layers  : int = 126 in 1 .. 1000
    param stages  : int = 16  in 1 .. 64
    param leading : int = 0   in 0 .. 1000
    param stage   : int = 0   in 0 .. 63
    let s = stage_layout(layers = layers, stages = stages, leading_layers = leading)
    output first    = s.first
    output middle   = s.middle
    output last     = s.last
    output longest  = s.longest
    output there    = s.layers_at(stage)
    output unlike   = s.leading_at(stage)
    output like_all = s.first_like_the_rest
}

evaluator uneven {
    param layers : int = 126 in 16 .. 1000
    choice schedule : pipeline_schedule in [gpipe, one_f_one_b, zb_h1, dualpipe] = one_f_one_b
    param stage : int = 0 in 0 .. 15
    param virtual : int = 1 in 1 .. 8
    let s = stage_layout(layers = layers, stages = 16)
    let p = pipeline(
        stages = 16,
        microbatches = 64,
        schedule = schedule,
        virtual_pipeline = virtual,
        forward = s.longest * 1 ms,
        backward = s.longest * 2 ms,
        first_stage = s.first * 3 ms,
        last_stage = s.last * 3 ms,
        all_stages = layers * 3 ms,
        lm_head = 6 ms,
    )
    output time      in ms = p.time
    output in_flight = p.in_flight_at(stage)
}

evaluator gathered {
    param stages : int = 4 in 1 .. 4
    choice reshard : bool in [false, true] = false
    let f = memory_footprint(
        plan = plan(
            data = 8,
            pipeline = stages,
            global_batch = 64,
            sharding = zero_3,
            reshard_after_forward = reshard,
        ),
        parameters = 2e9,
        layer_parameters = 1e8,
        activations = 0 B,
        bytes_per_gradient = 4 B,
    )
    let by_default = f with {
        plan = plan(data = 8, pipeline = stages, global_batch = 64, sharding = zero_3)
    }
    let moved = dp_communication_volume(plan = f.plan, parameters = 2e9, bytes_per_gradient = 4 B)
    output held    in GB = f.allocated
    output default in GB = by_default.allocated
    output gathers = moved.all_gather_count
    output reduces = moved.reduce_scatter_count
}

evaluator unlike {
    param pipeline : int = 8 in 1 .. 16
    let step = llm_training_step(
        model = DeepSeek_V3,
        seq_length = 4096,
        cluster = DGX_A100_pod,
        plan = plan(
            pipeline = pipeline,
            expert = 8,
            data = 8,
            global_batch = 1024,
            recompute = none,
            sharding = zero_1,
        ),
    )
    allow step.peak_memory "the stages are compared"
    output memory   in GB = step.peak_memory
    output fullest  = step.fullest_stage.stage
    output first_at in GB = step.memory_at(0).reserved
    output next_at  in GB = step.memory_at(1).reserved
    output last_at  in GB = step.memory_at(pipeline - 1).reserved
    output whole    = sum(step.stage_parameters(s) for s in 0 .. 7)
    output experts  = sum(step.expert_parameters_at(s) for s in 0 .. 7)
}
"""


@pytest.mark.parametrize(
    ("layers", "stages", "first", "middle", "last"),
    [
        (126, 16, 7, 8, 7),
        (61, 16, 3, 4, 3),
        (96, 8, 12, 12, 12),
        (95, 8, 12, 12, 11),
        (80, 1, 80, 0, 80),
        (61, 2, 31, 0, 30),
    ],
)
def test_layers_are_spread_evenly(
    module: Module, layers: int, stages: int, first: int, middle: int, last: int
) -> None:
    found = module.layout(layers=layers, stages=stages)
    assert found.feasible
    assert (found.first, found.middle, found.last) == (first, middle, last)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 24), st.integers(0, 20))
def test_every_layer_is_in_a_stage(module: Module, layers: int, stages: int, leading: int) -> None:
    """The longest stage has the mean, rounded up; the leading layers come first."""
    if layers < stages or leading > layers:
        return
    at = [
        module.layout(layers=layers, stages=stages, leading=leading, stage=s).raw
        for s in range(stages)
    ]
    assert at[0].longest == -(-layers // stages)
    assert layers <= sum(a.there for a in at) < layers + stages
    assert sum(a.unlike for a in at) == min(leading, sum(a.there for a in at))
    like = int(at[0].like_all)
    assert like == stages - 1 or at[like].unlike == 0
    assert all(a.unlike > 0 for a in at[:like])


def test_time_follows_the_longest_stage(module: Module) -> None:
    """64 microbatches of 8 layers, and then the rest of one through all 126: 24 and 378 + 6 ms."""
    assert module.uneven().time == pytest.approx(64 * 27 + 126 * 3 + 6 - 27)
    assert module.uneven(layers=128).time == pytest.approx(64 * 30 + 128 * 3 + 6 - 30)
    assert module.uneven(layers=114).time == pytest.approx(64 * 27 + 114 * 3 + 6 - 27)
    # Ranks of DualPipe have the first and the last stage together: (21 + 21 + 6) / 2 = 24 ms.
    assert module.uneven(schedule="dualpipe").time == pytest.approx(64 * 24 + 7 * (24 + 16))


def test_later_stages_hold_fewer_microbatches(module: Module) -> None:
    """1F1B: p - r; interleaved: the chunks of Megatron's warm-up; DualPipe: p + 1 on each rank."""
    for r in (0, 1, 7, 15):
        assert module.uneven(stage=r).in_flight == 16 - r
        chunks = 2 * (16 - 1 - r) + (8 - 1) * 16 + 1
        assert module.uneven(stage=r, virtual=8).in_flight == pytest.approx(chunks / 8)
        assert module.uneven(stage=r, schedule="gpipe").in_flight == 64
        dual = [module.uneven(stage=s, schedule="dualpipe").in_flight for s in (r, 15 - r)]
        assert sum(dual) == 17


def test_fsdp_with_a_pipeline_keeps_its_stage_whole(module: Module) -> None:
    """An eighth of 2 + 4 + 12 bytes, and 2 + 4 bytes of all: weights gathered, gradients whole."""
    shard = 2 * (2 + 4 + 12) / 8
    found = module.gathered()
    assert found.held == pytest.approx(shard + 2 * (2 + 4))
    assert (found.gathers, found.reduces) == (1, 1)
    assert found.default == pytest.approx(found.held)
    again = module.gathered(reshard=True)
    assert again.held == pytest.approx(shard + 0.1 * (2 * 2 + 4))
    assert (again.gathers, again.reduces) == (16, 8)
    assert module.gathered(stages=1, reshard=True).default == pytest.approx(again.held)


def test_the_fullest_stage_is_not_the_mean(module: Module) -> None:
    """Three dense layers make the first stage light, the embedding and the logits others heavy."""
    found = module.unlike()
    assert found.memory >= max(found.first_at, found.next_at, found.last_at)
    assert found.fullest == 1
    h, experts, ffn = 7168, 256, 2048
    routed = 58 * experts * 3 * h * ffn / 8
    # The last stage but the middle ones have all their layers: 8 stages of 8 hold 3 too many.
    assert found.experts == pytest.approx(routed * (64 - 3 - 2) / 58, rel=0.05)


def test_two_published_runs_fit_and_are_as_fast() -> None:
    """Llama 3 405B by hand: 141 chunks of a layer in flight, 2 + 4 bytes a weight, a 64th of 12."""
    frontier = shipped.loaded(STUDIES / "frontier_training.hw")
    llama = frontier.llama3_training()
    assert llama.feasible
    assert (llama.first_stage_layers, llama.longest_stage, llama.fullest_stage) == (7, 8, 1)
    h, kv, ffn, tokens = 16384, 1024, 53248, 8192
    kept = 2 * tokens * (4 * h + h + 2 * kv + h + 2 * ffn) / 8
    weights = 8 * (2 * h * h + 2 * h * kv + 3 * h * ffn + 2 * h) / 8
    by_hand = (141 * kept + weights * (2 + 4 + 12 / 64)) / 1e9
    assert by_hand < llama.peak_memory < 1.02 * by_hand
    assert llama.flop_rate == pytest.approx(430, rel=0.05)
    deepseek = frontier.deepseek_v3_training()
    assert deepseek.feasible
    assert deepseek.peak_memory < 80
    assert deepseek.hours_per_ttoken == pytest.approx(180_000, rel=0.1)

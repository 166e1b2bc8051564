"""Training of language models: laws of a step, errors on published tables."""

from pathlib import Path

import measured
import measured_steps
import measured_training
import numpy as np
import pytest
import shipped

import hwdsl

LIBRARY = Path(__file__).parents[2] / "library"
HEAD = """edition 2026
use std.execution
use std.overlap: overlap_strategy
use std.parallelism: plan, recompute_granularity, sharding
use std.llm_training: llm_training_step, kernel_implementation
use std.operators
use vendor.clusters: DGX_A100_pod
use vendor.nodes: DGX_H100
use vendor.nvidia: A100_SXM_80GB, H100_SXM_80GB
use workloads.transformers: Llama3_8B, Mixtral_8x7B, language_model
"""


def ask(tmp_path: Path, body: str, **given: object) -> dict[str, float]:
    """The outputs of an evaluator with this body."""
    path = tmp_path / "ask.hw"
    path.write_text(f"{HEAD}evaluator ask {{\n{body}\n}}\n", encoding="utf-8")
    evaluator = hwdsl.load(path, compiled=False).ask
    result = evaluator(**given).raw  # what the formulas give, buildable or not
    return {o.name: float(result[o.name]) for o in evaluator.spec.outputs}


def step(more: str = "", **cut: object) -> str:
    """A body that asks a step of a Llama on A100 for its times."""
    stated = {"data": 8, "global_batch": 64, "recompute": "none", "sharding": "zero_1"} | cut
    plan = ", ".join(f"{name} = {value}" for name, value in stated.items())
    return f"""let step = llm_training_step(
        model = Llama3_8B, seq_length = 4096, plan = plan({plan}), cluster = pod, {more}
    )
    param port : bandwidth = 25 GB/s in 1 GB/s .. 100 GB/s
    let pod = DGX_A100_pod with {{ nodes.nic.bandwidth_per_direction = port }}
    output time     in s     = step.step_time
    output forward  in s     = step.layer_forward
    output backward in s     = step.layer_backward
    output exchange in s     = step.dp_communication_time
    output waits    in s     = step.exposed_tp
    output flops    in PFLOP = step.model_flops
    output memory   in GB    = step.peak_memory
    allow step.peak_memory "the law holds anywhere"
    allow step.contention "the law holds anywhere" """


def test_a_load_that_lasts_lowers_the_clock(tmp_path: Path) -> None:
    """On Hopper the matrix units keep about 0.75 of their rate at 700 W, without memory traffic."""
    body = """param limit : power = 700 W in 211 W .. 2 kW
    let on = under_sustained_load(H100_SXM_80GB with { power_limit = limit })
    output share = 1 s / power_limited_time(1 s, 0 B, on)
    allow on.power_limit_above_tdp "asked at any power" """
    full, capped = ask(tmp_path, body), ask(tmp_path, body, limit="500 W")
    assert full == pytest.approx({"share": 0.76}, rel=2e-2)
    # Dynamic power goes with the square of the clock; 0.3 of 700 W are static.
    assert capped["share"] / full["share"] == pytest.approx((290 / 490) ** 0.5)
    assert ask(tmp_path, body, limit="1.9 kW")["share"] == 1


def test_older_kernels_are_slower(tmp_path: Path) -> None:
    tuned, compiled, eager = (
        ask(tmp_path, step(f"kernel_implementation = {name}"))
        for name in ("vendor_tuned", "compiled", "eager")
    )
    assert tuned["time"] < compiled["time"] < eager["time"]
    assert tuned["flops"] == compiled["flops"] == eager["flops"]


def test_gemms_hide_what_tensor_ranks_exchange(tmp_path: Path) -> None:
    cut = {"tensor": 4, "data": 2, "sequence_parallel": "true"}
    serial = ask(tmp_path, step("tp_overlap = serial", **cut))
    fused = ask(tmp_path, step("tp_overlap = fused", **cut))
    assert serial["waits"] / 4 <= fused["waits"] < serial["waits"]
    assert fused["time"] < serial["time"]


def test_a_stream_cut_along_the_sequence_is_read_once(tmp_path: Path) -> None:
    cut = {"tensor": 4, "data": 2}
    whole = ask(tmp_path, step("", **cut))
    along = ask(tmp_path, step("", sequence_parallel="true", **cut))
    assert along["forward"] < whole["forward"]
    assert along["backward"] < whole["backward"]
    assert along["flops"] == whole["flops"]


def test_products_done_again_take_time_and_spare_memory(tmp_path: Path) -> None:
    kept = ask(tmp_path, step("", recompute="selective"))
    again = ask(tmp_path, step("recompute_alternate_gemms = true", recompute="selective"))
    full = ask(tmp_path, step("", recompute="full"))
    assert kept["time"] < again["time"] < full["time"]
    assert kept["memory"] > again["memory"] > full["memory"]


def test_a_loss_in_32_bits_holds_ten_bytes_more_for_a_score(tmp_path: Path) -> None:
    one, many = (ask(tmp_path, step(f"fused_cross_entropy = {word}")) for word in ("true", "false"))
    assert many["memory"] - one["memory"] == pytest.approx(10 * 4096 * 128256 / 1e9)
    assert many["time"] > one["time"]


OVERLAPPED_EXPERTS = """let net = Mixtral_8x7B
    let step = llm_training_step(
        model = net,
        seq_length = 4096,
        cluster = pod,
        ep_overlap = ep_overlap,
        grouped_gemm = grouped_gemm,
        plan = plan(
            data = 8, expert = 4, global_batch = 64, recompute = none, sharding = zero_1,
        ),
    )
    choice ep_overlap   : overlap_strategy in [serial, prioritized] = serial
    choice grouped_gemm : bool in [false, true] = false
    let pod = DGX_A100_pod with { nodes = DGX_H100 with { count = 8 } }
    output time  in s = step.step_time
    output waits in s = step.exposed_ep
    allow step.peak_memory "the law holds anywhere"
    allow step.contention "the law holds anywhere" """


def test_computation_hides_the_way_to_experts(tmp_path: Path) -> None:
    serial = ask(tmp_path, OVERLAPPED_EXPERTS)
    overlapped = ask(tmp_path, OVERLAPPED_EXPERTS, ep_overlap="prioritized")
    grouped = ask(tmp_path, OVERLAPPED_EXPERTS, grouped_gemm=True)
    assert 0 < overlapped["waits"] < serial["waits"]
    assert overlapped["time"] < serial["time"]
    assert grouped["time"] < serial["time"]
    assert grouped["waits"] == serial["waits"]


MOE = """let net = Mixtral_8x7B
    let step = llm_training_step(
        model = net,
        seq_length = 4096,
        cluster = pod,
        tp_overlap = fused,
        plan = plan(
            tensor = tensor,
            context = context,
            data = data,
            hsdp_replicate = hsdp_replicate,
            expert = expert,
            global_batch = 64,
            recompute = recompute,
            sharding = sharding,
        ),
    )
    param expert         : int = 1 in 1 .. 64
    param tensor         : int = 1 in 1 .. 8
    param context        : int = 1 in 1 .. 16
    param data           : int = 8 in 1 .. 64
    param hsdp_replicate : int = 1 in 1 .. 8
    choice recompute : recompute_granularity in [none, selective, full] = none
    choice sharding  : sharding in [zero_0, zero_1, zero_2, zero_3] = zero_1
    param port : bandwidth = 50 GB/s in 1 GB/s .. 100 GB/s
    let pod = DGX_A100_pod with {
        nodes = DGX_H100 with { count = 8, nic.bandwidth_per_direction = port }
    }
    let ranks = step.plan.world_size
    output needed     in GB = net.parameters * 12 B
    output states     in GB = ranks * step.memory.optimizer_memory
    output gradients  in GB = ranks * step.memory.gradient_shard * 2 B
    output parameters in GB = ranks * step.memory.parameter_shard * 2 B
    output optimizer  in s  = ranks * step.optimizer_time
    output exchange   in s  = step.dp_communication_time
    output tokens     in s  = step.exposed_ep
    output keys       in s  = step.exposed_cp
    output time       in s  = step.step_time
    output together   in s  = step.communication_time
    allow step.peak_memory "the law holds anywhere"
    allow step.contention "the law holds anywhere" """

# What is sharded beside the optimizer states.
SHARDED = {"zero_1": (), "zero_2": ("gradients",), "zero_3": ("gradients", "parameters")}


def test_sharding_loses_no_expert(tmp_path: Path) -> None:
    """Ranks together hold what the model needs, once for each group, however experts are cut."""
    for sharding in ("zero_1", "zero_2", "zero_3"):
        for cut in ({}, {"tensor": 2}, {"context": 2}, {"data": 16, "hsdp_replicate": 2}):
            whole = ask(tmp_path, MOE, sharding=sharding, **cut)
            assert whole["states"] == pytest.approx(whole["needed"] * cut.get("hsdp_replicate", 1))
            for expert in (2, 8):
                found = ask(tmp_path, MOE, sharding=sharding, expert=expert, **cut)
                for name in ("states", "optimizer", *SHARDED[sharding]):
                    assert found[name] == pytest.approx(whole[name]), (sharding, cut, expert, name)


def test_only_replicas_of_an_expert_exchange_it(tmp_path: Path) -> None:
    """Of 8 experts on 8 ranks none has a replica, so that only what is dense is exchanged."""
    one, two, eight = (ask(tmp_path, MOE, expert=e)["exchange"] for e in (1, 2, 8))
    assert one > two > eight > 0
    assert eight < 0.1 * one


def test_a_layer_done_again_sends_again(tmp_path: Path) -> None:
    """Tokens go to experts six times instead of four, keys around four times instead of three."""
    cut = {"context": 16, "expert": 8, "port": "1 GB/s"}
    once, again = (ask(tmp_path, MOE, recompute=how, **cut) for how in ("none", "full"))
    assert once["tokens"] > 0
    assert once["keys"] > 0
    assert again["tokens"] == pytest.approx(1.5 * once["tokens"])
    assert again["keys"] == pytest.approx(4 / 3 * once["keys"])
    assert again["together"] > once["together"]


def test_what_products_done_again_gather_counts_as_communication(tmp_path: Path) -> None:
    cut = {"tensor": 4, "data": 2, "recompute": "selective"}
    once = ask(tmp_path, step(**cut))
    again = ask(tmp_path, step("recompute_alternate_gemms = true", **cut))
    assert again["waits"] == pytest.approx(1.25 * once["waits"])


def test_groups_keep_weights_inside_a_node(tmp_path: Path) -> None:
    """Sharing out within nodes gathers there; only gradients, an eighth for a rank, go between."""
    many = {"data": 64, "sharding": "zero_3"}
    wide = ask(tmp_path, step(**many), port="2 GB/s")
    near = ask(tmp_path, step(hsdp_replicate=8, **many), port="2 GB/s")
    alone = ask(tmp_path, step(global_batch=8, sharding="zero_3"), port="2 GB/s")
    assert alone["exchange"] < near["exchange"] < wide["exchange"]


def test_low_precision_gemms_run_between_16_bit_operators(tmp_path: Path) -> None:
    """In 8 bits GEMMs get quicker, norms and all-reduces do not, and the logits stay in 16 bits."""
    body = """let eight = Llama3_8B with { dtype = fp8 }
    let wide = llm_training_step(
        model = Llama3_8B, seq_length = 4096, cluster = pod, plan = cut,
    )
    let slim = wide with { model = eight }
    let cut  = plan(data = 8, global_batch = 64, recompute = none)
    let pod  = DGX_A100_pod with { nodes = DGX_H100 with { count = 8 } }
    output gain  = wide.layer_forward / slim.layer_forward
    output heads = wide.lm_head / slim.lm_head
    allow wide.peak_memory "asked for its times"
    allow slim.peak_memory "asked for its times" """
    found = ask(tmp_path, body)
    assert 1 < found["gain"] < 2
    assert found["heads"] == pytest.approx(1)


# --- published tables ---------------------------------------------------------------------------

TABLES = [*measured_training.SETS, *measured_steps.SETS]


def errors(one: measured.Set) -> tuple[float, float, float]:
    """Median and 90th percentile of the absolute error and the bias, in %."""
    evaluator = getattr(shipped.loaded(LIBRARY / one.file), one.evaluator)
    taken = one.given(evaluator)
    rows = taken.rows
    print("\n".join([f"{one.name}, {len(rows)} rows", *taken.said()]))
    if not rows:
        pytest.skip(f"no row for {one.name}")
    found, _ = one.errors(evaluator, rows)
    middle, tail = np.percentile(np.abs(found), [50, 90])
    return 100 * middle, 100 * tail, 100 * float(np.median(found))


@pytest.mark.skipif(measured.folder() is None, reason="no HWDSL_REFERENCE_DATA/measured")
@pytest.mark.parametrize(
    ("name", "middle", "tail"),
    [
        ("training of MPT", 2.7, 9.3),
        ("training of dense models, NeMo", 7.5, 18),
        ("training of Qwen3 MoE, NeMo", 15, 72),
        ("training of DeepSeek-V3, NeMo", 11, 29.5),
        # Overlap that conserves, with the same coefficients: 4.3 to 4.8, and FSDP 6.7 to 7.2 %,
        # whose tail falls from 19.5 to 17.7 %. Fitted again, the coefficients make this table
        # worse (8.4 %), and rows of models left out of the fit (docs/workloads.md): kept.
        ("training with Megatron Core", 5, 8),
        # GPT-3 on 256 and 512 accelerators was too slow by 9 to 14 %; static power and the
        # energy of bytes, which share the power limit, slow each row by about 1 % (12.4 to 13.1 %
        # in the tail); other changes of the physics do the rest. The median falls from
        # 4.7 to 1.9 %, but of eleven rows the second worst is the 90th percentile: 13.4 instead of
        # 12.2 %. Why these rows are too slow is not known. With overlap that conserves they are
        # at 2.8 and 12.5 %.
        ("training of MLPerf's largest models", 5.5, 13),
        ("training with FSDP", 7.5, 19),
        ("training with MaxText on TPUs", 5.5, 12),
        ("training with MaxText on H100", 6, 11.5),
        ("training of BERT, 128 positions", 4, 5),
        ("training of BERT, 512 positions at most", 2, 7.5),
        ("steps of vTrain on one node", 7, 19),
        ("steps of vTrain on many nodes", 4.8, 9),
        ("training over long sequences, NeMo", 5, 7.5),
        ("steps of NVIDIA's launcher", 11, 12),
        ("steps of BLOOM's search", 6.6, 29),
        ("peak memory with FSDP", 3.5, 5.5),
    ],
)
def test_whole_tables(name: str, middle: float, tail: float) -> None:
    """Errors on all public rows, a little above what they are; docs say which took part in fits."""
    (one,) = (s for s in TABLES if s.name == name)
    centre, p90, bias = errors(one)
    print(f"{centre:.1f} %, p90 {p90:.1f} %, bias {bias:+.1f} %")
    assert centre < middle
    assert p90 < tail

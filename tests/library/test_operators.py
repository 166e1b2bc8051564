"""Workloads: totals against what was published, operators against arithmetic, laws of lists."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import verify
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import ClaimInfo

HEAD = """edition 2026
use std.operators
use workloads.transformers
use workloads.inception
use workloads.vision
use workloads.speech
use workloads.translation
use workloads.recommendation
"""


def ask(tmp_path: Path, **outputs: str) -> dict[str, float]:
    """The values of expressions, each written as `unit: expression` or `expression`."""
    text = HEAD + "evaluator ask {\n"
    for name, said in outputs.items():
        unit, colon, value = said.rpartition(": ")
        text += f" output {name}{' in ' + unit if colon else ''} = {value}\n"
    path = tmp_path / "ask.hw"
    path.write_text(text + "}\n", encoding="utf-8")
    result = hwdsl.load(path, compiled=False).ask()
    return {name: float(result[name]) for name in outputs}


def test_a_gemm_counts_flops_bytes_and_parameters(tmp_path: Path) -> None:
    said = ask(
        tmp_path,
        work="FLOP: total_flops([matmul(m = 3, n = 5, k = 7, gemm_batch = 2)])",
        moved="B: total_traffic([matmul(m = 3, n = 5, k = 7, gemm_batch = 2)])",
        eight="B: total_traffic([matmul(m = 3, n = 5, k = 7, dtype = fp8)])",
        weights="total_parameters([matmul(m = 3, n = 5, k = 7, gemm_batch = 2, bias = true)])",
        none="total_parameters([matmul(m = 3, n = 5, k = 7, has_weights = false)])",
    )
    assert said == {
        "work": 2 * 2 * 3 * 5 * 7,
        "moved": 2 * 2 * (3 * 7 + 7 * 5 + 3 * 5),
        "eight": 3 * 7 + 7 * 5 + 2 * 3 * 5,
        "weights": 2 * 7 * 5 + 5,
        "none": 0,
    }


@pytest.mark.parametrize(("queries", "past"), [(1, 0), (6, 0), (4, 9)])
def test_causal_attention_counts_pairs(tmp_path: Path, queries: int, past: int) -> None:
    """Each new position sees the old ones, itself and the new ones before it."""
    pairs = sum(past + i + 1 for i in range(queries))
    sizes = f"query_length = {queries}, kv_length = {past + queries}"
    one = f"attention(batch_size = 2, heads = 3, {sizes})"
    said = ask(tmp_path, pairs=f"{one}.qk_pairs", work=f"FLOP: {one}.flops")
    assert said == {"pairs": 6 * pairs, "work": 6 * pairs * 2 * 256}


def test_a_prompt_in_chunks_is_the_whole_prompt(tmp_path: Path) -> None:
    whole = "prefill_attention_block(Llama3_8B, 2, 1024, 0, 1)"
    chunks = [
        f"total_flops(prefill_attention_block(Llama3_8B, 2, 256, {past}, 1))"
        for past in (0, 256, 512, 768)
    ]
    said = ask(tmp_path, whole=f"FLOP: total_flops({whole})", chunks="FLOP: " + " + ".join(chunks))
    assert said["chunks"] == said["whole"]


def test_a_tensor_rank_has_its_share(tmp_path: Path) -> None:
    for model in ("Llama3_8B", "DeepSeek_V3"):
        said = ask(
            tmp_path,
            one=f"TFLOP: total_flops(prefill_attention_block({model}, 1, 512, 0, 1))",
            eight=f"TFLOP: 8 * total_flops(prefill_attention_block({model}, 1, 512, 0, 8))",
        )
        assert said["eight"] == pytest.approx(said["one"])


def test_backward_is_twice_forward_but_for_fused_attention(tmp_path: Path) -> None:
    net, attention = "resnet50(4, true)", "prefill_attention_block(Llama3_8B, 1, 512, 0, 1)"
    said = ask(
        tmp_path,
        once=f"TFLOP: total_flops({net})",
        thrice=f"TFLOP: total_flops(forward_backward({net}))",
        forward=f"TFLOP: total_flops({attention})",
        both=f"TFLOP: total_flops(forward_backward({attention}))",
    )
    assert said["thrice"] == pytest.approx(3 * said["once"])
    assert said["both"] == pytest.approx(3.5 * said["forward"])


def test_generating_reads_what_is_kept(tmp_path: Path) -> None:
    """Latent attention reads one narrow vector a position; both count operations as if widened."""
    said = ask(
        tmp_path,
        grouped="B: decode_attention_block(Llama3_8B, 4, 1000, 1)[0].operands[1].size",
        latent="B: decode_attention_block(DeepSeek_V3, 4, 1000, 1)[1].operands[1].size",
        few="activated_experts(Mixtral_8x7B, 1)",
        many="activated_experts(Mixtral_8x7B, 10_000)",
    )
    assert said["grouped"] == 4 * 1000 * 2 * 8 * 128 * 2
    assert said["latent"] == 4 * 1000 * (512 + 64) * 2
    assert said["few"] == pytest.approx(2)
    assert said["many"] == pytest.approx(8)


def test_results_live_until_they_are_read(tmp_path: Path) -> None:
    one = "elementwise(elements = 1000)"
    long = "elementwise(elements = 1000, live_length = 3)"
    said = ask(
        tmp_path,
        chain=f"kB: peak_activation_memory([{one}, {one}, {one}])",
        skip=f"kB: peak_activation_memory([{long}, {one}, {one}])",
    )
    assert said == {"chain": 2, "skip": 4}


@pytest.mark.parametrize(
    "net",
    [
        "gnmt(8, 20, 22, 32_320)",
        "deepspeech2(8, 1000, 5)",
        "transformer_base(8, 20, 22, 6, 512, 8, 2048, 37_000)",
        "ncf(1024)",
        "dlrm(64, 187_767_399)",
        "ssd_resnet34(2, true)",
        "minigo(16, 9, 128, true)",
        "mask_rcnn(1, 800, 1088, 1000, 100, true)",
        "inception_v3(2, true)",
        "chunked_prefill(Llama3_8B, 256, 512, 32, 1000, 1)",
        "decode(DeepSeek_V3, 32, 1000, 8)",
    ],
)
def test_every_network_computes_and_moves(tmp_path: Path, net: str) -> None:
    said = ask(
        tmp_path,
        work=f"TFLOP: total_flops({net})",
        moved=f"GB: total_traffic({net})",
        w=f"total_parameters({net})",
    )
    assert min(said.values()) > 0


def test_gnmt_by_shape_is_gnmt_with_like_layers_merged(tmp_path: Path) -> None:
    nets = ("gnmt(8, 20, 24, 32_320)", "gnmt_by_shape(8, 20, 24, 32_320)")
    of = ("total_flops", "total_traffic", "total_parameters", "len")
    units = {"total_flops": "TFLOP: ", "total_traffic": "GB: "}
    said = ask(
        tmp_path,
        **{
            f"{f}_{i}": f"{units.get(f, '')}{f}(forward_backward({net}))"
            if f != "total_parameters"
            else f"total_parameters({net})"
            for f in of
            for i, net in enumerate(nets)
        },
    )
    for f in of[:3]:
        assert said[f"{f}_1"] == pytest.approx(said[f"{f}_0"], rel=1e-12)
    assert said["len_1"] < said["len_0"]


def test_deepspeech2_by_hand(tmp_path: Path) -> None:
    """Two convolutions, bidirectional GRU layers, letters: FLOPs and parameters by tensor."""
    hidden, steps = 2560, 500
    said = ask(
        tmp_path,
        work="TFLOP: total_flops(deepspeech2(2, 1000, 5))",
        parameters="total_parameters(deepspeech2(2, 1000, 5))",
        one_more="total_parameters(deepspeech2(2, 1000, 6))",
    )
    convolutions = 2 * 32 * (61 * 41 * 11 + 21 * 32 * 21 * 11)
    inputs = 2 * 2 * 3 * hidden * (672 + 4 * hidden)
    recurrent = 5 * 2 * 2 * 3 * hidden * hidden
    letters = 2 * 29 * hidden
    assert said["work"] == pytest.approx(
        2 * steps * (convolutions + inputs + recurrent + letters) / 1e12, rel=1e-12
    )
    # PyTorch's GRU: weight_ih and weight_hh of 3 h rows and two bias vectors, in both
    # directions, and a batch normalization before it.
    layer = 2 * (3 * hidden * (hidden + hidden) + 2 * 3 * hidden) + 2 * hidden
    assert said["one_more"] - said["parameters"] == pytest.approx(layer, abs=1)


def test_published_totals_are_reproduced() -> None:
    diagnostics = Diagnostics()
    path = Path(__file__).parents[2] / "library" / "studies" / "model_shapes.hw"
    program = check(load(path, diagnostics), diagnostics)
    claims = [s for s in program.main.values.values() if isinstance(s, ClaimInfo)]
    verdicts = [v for c in claims for v in verify(program, c, diagnostics)]
    assert len(verdicts) >= 30
    assert not diagnostics.items
    assert not [v.text for v in verdicts if not v.ok]

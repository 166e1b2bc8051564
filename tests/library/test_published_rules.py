"""Rules on published runs: what was measured took place, so a rule that refuses it is wrong."""

from pathlib import Path

import measured
import measured_inference
import measured_steps
import measured_training
import numpy as np
import pytest
import shipped

LIBRARY = Path(__file__).parents[2] / "library"
TABLES = [*measured_training.SETS, *measured_steps.SETS, *measured_inference.SETS]


@pytest.mark.skipif(measured.folder() is None, reason="no HWDSL_REFERENCE_DATA/measured")
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("steps of NVIDIA's launcher", 1),
        ("steps of BLOOM's search", 1),
        ("steps of vTrain on many nodes", 1),
        ("training with FSDP", 1),
        ("training with Megatron Core", 1),
        ("training of Qwen3 MoE, NeMo", 1),
        ("training of DeepSeek-V3, NeMo", 0.97),
        # Rows of Llama 3.1 405B on GB200 without a pipeline, and of fine-tuning, are refused.
        ("training of dense models, NeMo", 0.94),
        ("training with MaxText on TPUs", 1),
        # Two rows whose global batch is no multiple of the replicas are refused.
        ("training over long sequences, NeMo", 0.75),
        # A loss that is not fused holds what the runs had no room for; see docs/workloads.md.
        ("training of MPT", 0.58),
        ("trtllm_static_batch", 1),
        ("ft_gpt_inference", 1),
        ("splitwise_inference, TPOT", 1),
        ("trtllm_max_throughput, dense", 1),
    ],
)
def test_rules_pass_what_took_place(name: str, share: float) -> None:
    (one,) = (s for s in TABLES if s.name == name)
    evaluator = getattr(shipped.loaded(LIBRARY / one.file), one.evaluator)
    rows = one.given(evaluator).rows
    params = {p.name for p in evaluator.spec.params}
    sweep = evaluator.sweep(zipped={c: [r[c] for r in rows] for c in rows[0] if c in params})
    print(f"{name}: {100 * np.mean(sweep.feasible):.1f} % of {len(rows)}", sweep.violations)
    assert np.mean(sweep.feasible) >= share

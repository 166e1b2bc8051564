"""Adapters of published tables of GPT and BERT training steps before fused attention."""

from machines import Undescribed, component
from measured import Row, Set, converted, read
from measured_training import YES, only


def _gpt(r: Row, sizes: tuple[str, str, str], micro_batch: str, global_batch: str) -> Row:
    """Params of a GPT training step: model, parallelism sizes (tensor, pipeline, data), batch."""
    tensor, pipeline, data = sizes
    return {
        "group": r["split_group"],
        "layers": r["n_layers"],
        "hidden_size": r["d_model"],
        "heads": r["n_heads"],
        "tensor": tensor,
        "pipeline": pipeline,
        "data": data,
        "micro_batch": micro_batch,
        "global_batch": global_batch,
    }


def vtrain(kind: str) -> list[Row]:
    """Steps measured by the authors of vTrain on one node (`single`) or many (`multi`)."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        return {
            "case": r["row_id"],
            **_gpt(r, (r["tp"], r["pp"], r["dp"]), r["micro_batch"], r["global_batch_seqs"]),
            "vocab_size": r["vocab_assumed"],
            "seq_length": r["seq_len"],
            "node_network": "100",
            "measured": f"{float(r['meas_iteration_time_ms']) / 1000:.6g}",
        }

    return converted((r for r in read("vtrain_megatron_deepspeed") if r["kind"] == kind), make)


def launcher() -> list[Row]:
    """GPT with 5 and 175 billion parameters on NVIDIA's NeMo launcher of 2022, before fused
    attention, with the distributed optimizer of its recipes."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        tensor, pipeline, batch = (int(r[k]) for k in ("tp_cfg", "pp_cfg", "global_batch_seqs_cfg"))
        data = int(r["n_gpus"]) // (tensor * pipeline)
        step = batch * int(r["seq_len"]) / float(r["meas_tokens_per_s"])
        return {
            "case": f"{r['row_id']} {r['model']} x{r['n_gpus']}",
            **_gpt(r, (str(tensor), str(pipeline), str(data)), r["micro_batch_cfg"], str(batch)),
            "vocab_size": r["vocab"],
            "seq_length": r["seq_len"],
            "recompute": "none" if r["recompute_cfg"].startswith("none") else "full",
            "sequence_parallel": YES[r["sequence_parallel_cfg"] == "True"],
            "sharding": "zero_1",
            "bytes_per_gradient": "4",
            "measured": f"{step:.6g}",
        }

    return converted(read("nemo_launcher_scaling"), make)


def bloom(column: str) -> list[Row]:
    """`iteration_time_s` or `mem_gb` of BigScience's search, where stated; one row whose number of
    ranks differs from its number of GPUs is left out."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        if "published DP" in r["note"]:
            raise Undescribed("its number of ranks differs from its number of GPUs")
        return {
            "case": f"{r['row_id']} {r['note'].split(';')[0]}",
            **_gpt(r, (r["tp"], r["pp"], r["dp"]), r["micro_batch"], r["global_batch_seqs"]),
            "bf16_optimizer": YES[r["note"].startswith("02-28")],
            "measured": r[f"meas_{column}"],
        }

    rows = read("bigscience_bloom_training")
    return converted((r for r in rows if r[f"meas_{column}"]), make)


# Name of V100 in the study of BERT, where the vector units compute the GEMMs in FP32.
FP32_ON_VECTOR_UNITS = {
    "V100_SXM_16GB": "V100_fp32_on_vector_units",
    "V100_SXM_32GB": "V100_fp32_on_vector_units",
}


def bert(seq_length: str) -> list[Row]:
    """BERT-Large on A100 by NVIDIA's examples. One table prints 126 sequences instead of 128,
    another a number of gradient accumulation steps that does not add up; it is computed from the
    sequences of a step."""

    def make(r: Row) -> Row:
        micro_batch = 128 if r["micro_batch"] == "126" else int(r["micro_batch"])
        gpus, machine = int(r["n_gpus"]), component(r["gpu"])
        steps = int(r["global_batch_seqs"]) // (micro_batch * gpus)
        return {
            "case": f"{r['row_id']} {r['precision']} {micro_batch} x {seq_length} on {gpus}",
            "accelerator": FP32_ON_VECTOR_UNITS.get(machine, machine),
            "mixed_precision": YES["FP16" in r["precision"]],
            "batch": str(micro_batch),
            "seq_length": seq_length,
            "max_predictions_per_seq": "20" if seq_length == "128" else "80",
            "sequence_bucketing": YES[seq_length == "512"],
            "gradient_accumulation_steps": str(steps),
            "gpus": str(gpus),
            "measured": r["meas_throughput_per_s"],
        }

    rows = (r for r in read("dle_bert_transformerxl") if r["task"] == "pre-train")
    return converted((r for r in rows if r["seq_len"] == seq_length), make)


# A choice that the memory of these rows decided, and not a source.
_FEBRUARY = "32-bit gradients of 28 February"

SETS = [
    Set("training of BERT, 128 positions", "studies/bert.hw", "bert_pretraining",
        lambda: bert("128"), "sample/s", "throughput", group="mixed_precision"),
    Set("training of BERT, 512 positions at most", "studies/bert.hw", "bert_pretraining",
        lambda: bert("512"), "sample/s", "throughput", group="mixed_precision"),
    Set("steps of vTrain on one node", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("single"), "s", "step_time", "baseline_step_time", "group",
        "host overhead outside the layers", ("default_microbatch_host_overhead",)),
    Set("steps of vTrain on many nodes", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("multi"), "s", "step_time", "baseline_step_time", "group"),
    Set("steps of NVIDIA's launcher", "studies/megatron.hw", "gpt_training", launcher, "s",
        "step_time", "baseline_step_time", "group"),
    Set("steps of BLOOM's search", "studies/bloom.hw", "bloom",
        lambda: bloom("iteration_time_s"), "s", "step_time", "baseline_step_time", "group",
        f"network bandwidth per GPU; {_FEBRUARY}", ("jean_zay_network_bandwidth_per_gpu",)),
    Set("memory of BLOOM's search", "studies/bloom.hw", "bloom", lambda: bloom("mem_gb"), "GB",
        "nvidia_smi_memory", "baseline_memory", "group", f"runtime memory, allocator fragmentation; {_FEBRUARY}",
        ("measured_runtime_memory", "measured_fragmentation")),
]  # fmt: skip

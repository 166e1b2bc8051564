"""Published tables of steps of GPT and BERT with kernels of their time, as their studies read
them."""

from machines import Undescribed, component
from measured import Row, Set, read, turned
from measured_training import YES, only


def _gpt(r: Row, cut: tuple[str, str, str], micro: str, batch: str) -> Row:
    """What steps of a GPT ask of model and cut: ranks of a layer, stages, copies."""
    tensor, stages, copies = cut
    return {
        "group": r["split_group"],
        "layers": r["layers"],
        "hidden_size": r["hidden_size"],
        "heads": r["heads"],
        "tensor": tensor,
        "pipeline": stages,
        "data": copies,
        "micro_batch": micro,
        "global_batch": batch,
    }


def vtrain(kind: str) -> list[Row]:
    """Steps of vTrain's authors on one node (`single`) or many (`multi`)."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        return {
            "case": r["row_id"],
            **_gpt(r, (r["tp"], r["pp"], r["dp"]), r["micro_batch"], r["global_batch_seqs"]),
            "vocab_size": r["vocab_assumed"],
            "seq_length": r["seq_length"],
            "node_network": "100",
            "measured": f"{float(r['meas_iteration_time_ms']) / 1000:.6g}",
        }

    return turned((r for r in read("vtrain_megatron_deepspeed") if r["kind"] == kind), make)


def launcher() -> list[Row]:
    """GPT of 5 and 175 billion weights by NVIDIA's launcher of 2022, before fused attention."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        tensor, stages, batch = (int(r[k]) for k in ("tp_cfg", "pp_cfg", "global_batch_seqs_cfg"))
        copies = int(r["n_gpus"]) // (tensor * stages)
        step = batch * int(r["seq_length"]) / float(r["meas_tokens_per_s"])
        return {
            "case": f"{r['row_id']} {r['model']} x{r['n_gpus']}",
            **_gpt(r, (str(tensor), str(stages), str(copies)), r["micro_batch_cfg"], str(batch)),
            "vocab_size": r["vocab_size"],
            "seq_length": r["seq_length"],
            "recompute": "none" if r["recompute_cfg"].startswith("none") else "full",
            "sequence_parallel": YES[r["sequence_parallel_cfg"] == "True"],
            "measured": f"{step:.6g}",
        }

    return turned(read("nemo_launcher_scaling"), make)


def bloom(column: str) -> list[Row]:
    """`iteration_time_s` or `mem_gb` of BigScience's search, where stated; one row whose ranks are
    not as many as its GPUs is left out."""

    def make(r: Row) -> Row:
        only(r["gpu"], "A100_SXM_80GB")
        if "published DP" in r["note"]:
            raise Undescribed("its ranks are not as many as its GPUs")
        return {
            "case": f"{r['row_id']} {r['note'].split(';')[0]}",
            **_gpt(r, (r["tp"], r["pp"], r["dp"]), r["micro_batch"], r["global_batch_seqs"]),
            "measured": r[f"meas_{column}"],
        }

    rows = read("bigscience_bloom_training")
    return turned((r for r in rows if r[f"meas_{column}"]), make)


# What the study of BERT calls V100, whose vector units do products in 32 bits.
OLDER = {"V100_SXM_16GB": "V100_of_all", "V100_SXM_32GB": "V100_of_all"}


def bert(positions: str) -> list[Row]:
    """BERT-Large on A100 by NVIDIA's examples. A table prints 126 sequences for 128, another a
    count of batches that does not add up: what the sequences of a step give is taken."""

    def make(r: Row) -> Row:
        batch = 128 if r["micro_batch"] == "126" else int(r["micro_batch"])
        gpus = int(r["n_gpus"])
        return {
            "case": f"{r['row_id']} {r['precision']} {batch} x {positions} on {gpus}",
            "accelerator": OLDER.get(component(r["gpu"]), component(r["gpu"])),
            "mixed_precision": YES["FP16" in r["precision"]],
            "batch": str(batch),
            "seq_length": positions,
            "max_predictions_per_seq": "20" if positions == "128" else "80",
            "sequence_bucketing": YES[positions == "512"],
            "gradient_accumulation_steps": str(int(r["global_batch_seqs"]) // (batch * gpus)),
            "gpus": str(gpus),
            "measured": r["meas_throughput_per_s"],
        }

    rows = (r for r in read("dle_bert_transformerxl") if r["task"] == "pre-train")
    return turned((r for r in rows if r["seq_length"] == positions), make)


SETS = [
    Set("training of BERT, 128 positions", "studies/bert.hw", "bert_pretraining", lambda: bert("128"),
        "sample/s", "throughput", group="mixed_precision"),
    Set("training of BERT, 512 positions at most", "studies/bert.hw", "bert_pretraining",
        lambda: bert("512"), "sample/s", "throughput", group="mixed_precision"),
    Set("steps of vTrain on one node", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("single"), "s", "step_time", "baseline_step_time", "group",
        "the host's time outside the layers", ("issue_outside",)),
    Set("steps of vTrain on many nodes", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("multi"), "s", "step_time", "baseline_step_time", "group"),
    Set("steps of NVIDIA's launcher", "studies/megatron.hw", "gpt_training", launcher, "s",
        "step_time", "baseline_step_time", "group"),
    Set("steps of BLOOM's search", "studies/bloom.hw", "bloom",
        lambda: bloom("iteration_time_s"), "s", "step_time", "baseline_step_time", "group",
        "what a GPU gets of the network", ("jean_zay_port",)),
    Set("memory of BLOOM's search", "studies/bloom.hw", "bloom", lambda: bloom("mem_gb"), "GB",
        "memory", "constant", "group", "what the runtime holds, the allocator's slack",
        ("runtime_held", "allocator_slack")),
]  # fmt: skip

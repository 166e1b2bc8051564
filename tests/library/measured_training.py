"""Published tables of training, as the studies of training read them."""

from measured import Row, Set, read

STUDY = "studies/language_training.hw"
PARTS = {
    "A100-SXM4-40GB": "A100_40GB",
    "A100-SXM4-80GB": "A100",
    "H100-SXM5-80GB": "H100",
    "H200-SXM-141GB": "H200",
    "B200-SXM": "B200",
    "B300-SXM": "B300",
    "GB200": "GB200",
    "GB300": "GB300",
}
# Ports of an accelerator in GB/s: what MosaicML states for A100; NVIDIA's of each system else.
PORTS = {"A100_40GB": "25", "A100": "25", "H100": "50", "H200": "50", "B200": "50", "B300": "100",
         "GB200": "50", "GB300": "100"}  # fmt: skip
FORMATS = {"BF16": "bf16", "NVFP4": "fp4"}
YES = {True: "true", False: "false"}


def _cell(row: Row, name: str, default: str) -> str:
    return row[name] if row[name] not in ("", "n/a") else default


def mpt() -> list[Row]:
    """MPT by MosaicML; in 8 bits where it says so."""
    rows = []
    for r in read("mpt_training"):
        gpus, part = int(r["n_gpus"]), PARTS[r["gpu"]]
        rate = float(r["meas_throughput_tokens_per_s"]) / gpus
        rows.append(
            {
                "case": f"{r['row_id']} {r['model']} {part} x{gpus}",
                "model": r["split_group"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "kv_heads": r["n_kv_heads"],
                "head_width": f"{int(r['d_model']) / int(r['n_heads']):g}",
                "d_ffn": r["d_ffn"],
                "gated": "false",
                "tied": "true",
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "part": part,
                "format": "fp8" if "fp8" in r["precision"].lower() else "bf16",
                "port": PORTS[part],
                "replicas": r["n_gpus"],
                "micro_batch": r["micro_batch_per_gpu"],
                "global_batch": r["global_batch_seqs"],
                "recompute": "full" if r["activation_checkpointing"] == "True" else "none",
                "shared": {"FULL_SHARD": "zero_3"}.get(r["fsdp_sharding"], "zero_2"),
                "gradient_word": {"PURE": "2"}.get(r["fsdp_mixed_precision_mode"], "4"),
                "kernels": "plain",
                "measured": f"{rate:.6g}",
            }
        )
    return rows


def _nemo(r: Row) -> Row:
    part = PARTS[r["gpu"]]
    cut = {name: _cell(r, name, "1") for name in ("tp", "pp", "cp", "vp", "ep")}
    copies = int(r["n_gpus"]) // (int(cut["tp"]) * int(cut["pp"]) * int(cut["cp"]))
    plain = int(r["d_model"]) / int(r["n_heads"])
    return {
        "case": f"{r['row_id']} {r['model']} {part} {r['precision'].split(' ')[0]} {r['release']}",
        "model": r["split_group"],
        "release": r["release"].partition(" ")[0],
        "n_layers": r["n_layers"],
        "d_model": r["d_model"],
        "n_heads": r["n_heads"],
        "kv_heads": _cell(r, "n_kv_heads", r["n_heads"]),
        "head_width": f"{float(_cell(r, 'head_dim', str(plain))):g}",
        "d_ffn": _cell(r, "d_ffn", "1"),
        "gated": YES["ungated" not in r["mlp_act"]],
        "tied": YES[r["tied_embeddings"] == "True"],
        "vocab": r["vocab"],
        "experts": _cell(r, "n_experts", "0"),
        "active": _cell(r, "experts_topk", "0"),
        "expert_width": _cell(r, "d_ffn_expert", "0"),
        "dense_layers": _cell(r, "first_k_dense", "0"),
        "seq_len": r["seq_len"],
        "part": part,
        "format": FORMATS.get(r["precision"], "fp8"),
        "port": PORTS[part],
        "tensor": cut["tp"],
        "pipeline": cut["pp"],
        "context": cut["cp"],
        "replicas": str(copies),
        "expert": cut["ep"],
        "micro_batch": _cell(r, "micro_batch", "1"),
        "global_batch": r["global_batch_seqs"],
        "interleave": cut["vp"],
        "shared": "zero_3" if int(_cell(r, "fsdp", "0")) else "zero_1",
        "measured": r["meas_tokens_per_s_per_gpu"],
    }


WITHOUT = {
    "dense": ("release", "experts", "active", "expert_width", "dense_layers", "expert"),
    "mixture": ("model", "gated", "tied"),
    "latent": ("model", "gated", "tied", "kv_heads", "head_width"),
}


def nemo(kind: str) -> list[Row]:
    """NeMo: `dense` models, a `mixture` of experts, or such with `latent` attention.

    Left out: fine-tuning of few weights, whose gradients are not computed; models with layers of
    other kinds, which the library does not describe.
    """
    rows = []
    for r in read("nemo_training"):
        found = "dense" if not r["n_experts"] else "latent" if r["attn"] == "MLA" else "mixture"
        described = not r["n_experts"] or r["split_group"].startswith(("DeepSeekV3", "Qwen3"))
        if found == kind and described and r["task"] != "LoRA":
            rows.append({k: v for k, v in _nemo(r).items() if k not in WITHOUT[kind]})
    return rows


def megatron_core() -> list[Row]:
    """Megatron Core on H100. Not stated: the cut of the strong scaling, which is that of the same
    model's row; sequences at a time: 1 in a pipeline, else all; chunks: a layer each, if the
    microbatches divide; nothing is computed again."""
    rows = []
    for r in read("megatron_published"):
        if not r["series"].startswith("megatron_core"):
            continue
        tensor, stages = int(r["tp_derived"] or 8), int(r["pp_derived"] or 6)
        gpus, batch, layers = (int(r[k]) for k in ("n_gpus", "global_batch_seqs", "n_layers"))
        copies = gpus // tensor // stages
        each, heads = batch // copies, int(r["n_heads"])
        chunks = layers // stages if stages > 1 and each % stages == 0 else 1
        rate = batch * 4096 / float(r["derived_iteration_time_s"]) / gpus
        rows.append(
            {
                "case": f"{r['row_id']} {r['model']} x{gpus}",
                "model": r["split_group"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "kv_heads": r["n_heads"],
                "head_width": f"{int(r['d_model']) / heads:g}",
                "d_ffn": r["d_ffn"],
                "gated": "false",
                "tied": "true",
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "tensor": str(tensor),
                "pipeline": str(stages),
                "replicas": str(copies),
                "micro_batch": "1" if stages > 1 else str(each),
                "global_batch": str(batch),
                "interleave": str(chunks),
                "measured": f"{rate:.6g}",
            }
        )
    return rows


def mlperf() -> list[Row]:
    """GPT-3 and Llama 3.1 405B of MLPerf on H100, where a script states the cut; in 8 bits.

    Throughput is that of the logs."""
    rows = []
    for r in read("mlperf_training"):
        if not r["tp"] or r["benchmark"] not in ("gpt3", "llama31_405b"):
            continue
        tensor, stages, context = int(r["tp"]), int(r["pp"]), int(r["cp"] or 1)
        gpus = int(r["n_accelerators"])
        copies = gpus // (tensor * stages * context)
        llama = r["benchmark"] == "llama31_405b"
        rows.append(
            {
                "case": f"{r['row_id']} {r['benchmark']} x{gpus} {r['round'].split(' ')[-1]}",
                "model": r["benchmark"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "kv_heads": r["n_kv_heads"] or r["n_heads"],
                "d_ffn": r["d_ffn"],
                "gated": YES[llama],
                "tied": YES[not llama],
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "part": PARTS[r["accelerator"].removeprefix("NVIDIA ")],
                "format": "fp8",
                "tensor": str(tensor),
                "pipeline": str(stages),
                "context": str(context),
                "replicas": str(copies),
                "micro_batch": r["micro_batch"] or "1",
                "global_batch": r["global_batch"],
                "interleave": r["interleave"] or "1",
                "measured": r["derived_tokens_per_s_per_accel"],
            }
        )
    return rows


CHIPS = {"TPU v4": "v4", "TPU v5e": "v5e", "TPU v5p": "v5p"}


def _counted(r: Row) -> float:
    """MaxText's operations for a token: it takes attention as if every position saw all."""
    layers, width, heads, inside, words, length = (
        int(r[k]) for k in ("n_layers", "d_model", "n_heads", "d_ffn", "vocab", "seq_len")
    )
    inner = heads * int(r["head_dim"])
    matrices = 2 if "ungated" in r["mlp"] else 3
    weights = layers * (matrices * width * inside + 4 * width * inner) + width * words
    return float(6 * weights + 12 * layers * length * inner)


def maxtext() -> list[Row]:
    """MaxText on TPUs, slices of which each holds everything once."""
    rows = []
    for r in read("maxtext_training"):
        if not r["n_layers"] or not r["accelerator"].startswith("TPU"):
            continue
        chips, slices, tensor = int(r["n_chips"]), int(r["n_slices"]), int(r["ici_tensor"] or 1)
        copies, batch = chips // tensor, int(r["per_chip_batch"]) * tensor
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        rows.append(
            {
                "case": f"{r['row_id']} {r['model']} {r['slice']}",
                "model": r["split_group"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "head_width": r["head_dim"],
                "d_ffn": r["d_ffn"],
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "part": CHIPS[r["accelerator"]],
                "slice": str(chips // slices),
                "slices": r["n_slices"],
                "tensor": str(tensor),
                "replicas": str(copies),
                "micro_batch": str(batch),
                "recompute": "full" if r["remat_policy"] == "full" else "selective",
                "measured": f"{rate:.6g}",
            }
        )
    return rows


def vtrain(kind: str) -> list[Row]:
    """Steps of vTrain's authors on one node (`single`) or many (`multi`)."""
    return [
        {
            "case": r["row_id"],
            "group": r["split_group"],
            "n_layers": r["n_layers"],
            "d_model": r["d_model"],
            "n_heads": r["n_heads"],
            "vocab": r["vocab_assumed"],
            "seq_len": r["seq_len"],
            "tensor": r["tp"],
            "pipeline": r["pp"],
            "data": r["dp"],
            "micro_batch": r["micro_batch"],
            "global_batch": r["global_batch_seqs"],
            "node_network": "100",
            "measured": f"{float(r['meas_iteration_time_ms']) / 1000:.6g}",
        }
        for r in read("vtrain_megatron_deepspeed")
        if r["kind"] == kind
    ]


CAPPED = "H100-SXM 96GB HBM2e 2.4TB/s (Meta Grand Teton, 500W cap)"


def fsdp() -> list[Row]:
    """Weights shared out over ranks: torchtitan, fms-fsdp, YaFSDP. Where no network is stated, 200
    Gb/s a GPU; fms-fsdp exchanges gradients in 16 bits; kernels are plain where nothing is said of
    compilation; what `selective` computes again is the library's choice."""
    rows = []
    for r in read("fsdp_training"):
        tensor, context, gpus = int(r["tp"]), int(r["cp"]), int(r["n_gpus"])
        again = r["activation_ckpt"].lower()
        copies = gpus // (tensor * context * int(r["pp"]))
        rate = r["meas_tokens_per_s_per_gpu"] or r["derived_tokens_per_s_per_gpu"]
        port = float(r["internode_gbit_s_per_gpu"] or 200) / 8
        source = r["split_group"].partition("|")[0]
        rows.append(
            {
                "case": " ".join([r["row_id"], source, r["model"], f"x{gpus}", r["sharding"]]),
                "model": r["split_group"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "kv_heads": r["n_kv_heads"],
                "d_ffn": r["d_ffn"],
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "part": "H100_96GB" if r["gpu"] == CAPPED else PARTS[r["gpu"]],
                "format": "fp8" if "float8" in r["precision"] else "bf16",
                "fsdp": str(copies),
                "tensor": str(tensor),
                "pipeline": r["pp"],
                "interleave": "2" if r["pp_schedule"].startswith("Interleaved") else "1",
                "context": str(context),
                "groups": str(copies // 8) if r["sharding"] == "HSDP" else "1",
                "local_batch": r["local_batch"],
                "recompute": "full"
                if again == "full"
                else "none"
                if again.startswith(("no", "0"))
                else "selective",
                "port": f"{port:g}",
                "gradient_word": "2" if source == "fms" else "4",
                "kernels": "compiled" if r["compile"] == "True" else "plain",
                "tensor_by": "fused" if r["async_tp"] == "True" else "serial",
                "measured": rate,
            }
        )
    return rows


def maxtext_on_gpus() -> list[Row]:
    """MaxText on nodes with eight H100 and four ports of 200 Gb/s, for the study of FSDP."""
    rows = []
    for r in read("maxtext_training"):
        if not r["accelerator"].startswith("H100"):
            continue
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        rows.append(
            {
                "case": f"{r['row_id']} {r['model']} {r['slice']}",
                "model": r["split_group"],
                "n_layers": r["n_layers"],
                "d_model": r["d_model"],
                "n_heads": r["n_heads"],
                "kv_heads": r["n_kv_heads"],
                "d_ffn": r["d_ffn"],
                "vocab": r["vocab"],
                "seq_len": r["seq_len"],
                "part": "H100",
                "fsdp": r["n_chips"],
                "groups": str(int(r["n_chips"]) // 8),
                "local_batch": r["per_chip_batch"],
                "port": "12.5",
                "kernels": "tuned",
                "measured": f"{rate:.6g}",
            }
        )
    return rows


def bloom_times() -> list[Row]:
    """Steps of BigScience's search; one row whose ranks are not as many as its GPUs is left out."""
    return [
        {
            "case": f"{r['row_id']} {r['note'].split(';')[0]}",
            "group": r["split_group"],
            "n_layers": r["n_layers"],
            "d_model": r["d_model"],
            "n_heads": r["n_heads"],
            "tensor": r["tp"],
            "pipeline": r["pp"],
            "data": r["dp"],
            "micro_batch": r["micro_batch"],
            "global_batch": r["global_batch_seqs"],
            "measured": r["meas_iteration_time_s"],
        }
        for r in read("bigscience_bloom_training")
        if r["meas_iteration_time_s"] and "published DP" not in r["note"]
    ]


def bert(positions: str) -> list[Row]:
    """BERT-Large on A100 by NVIDIA's examples. A table prints 126 sequences for 128, another a
    count of batches that does not add up: what the sequences of a step give is taken."""
    rows = []
    for r in read("dle_bert_transformerxl"):
        if r["task"] != "pre-train" or r["gpu"][:4] != "A100" or r["seq_len"] != positions:
            continue
        batch = 128 if r["micro_batch"] == "126" else int(r["micro_batch"])
        gpus = int(r["n_gpus"])
        rows.append(
            {
                "case": f"{r['row_id']} {r['precision']} {batch} x {positions} on {gpus}",
                "half": YES["FP16" in r["precision"]],
                "batch": str(batch),
                "positions": positions,
                "predicted": "20" if positions == "128" else "80",
                "accumulate": str(int(r["global_batch_seqs"]) // (batch * gpus)),
                "gpus": str(gpus),
                "measured": r["meas_throughput_per_s"],
            }
        )
    return rows


MPT = (
    "any_early_attention", "hopper_early_attention", "hopper_steady_energy",
    "unfused_traffic", "host_step", "exchange_friction",
)  # fmt: skip
SHARED = "six coefficients of steps, with the two other tables"
SETS = [
    Set("training of MPT", STUDY, "dense_training", mpt, "token/s", "rate", group="model",
        fitted=SHARED, coefficients=MPT),
    Set("training of dense models, NeMo", STUDY, "dense_training", lambda: nemo("dense"),
        "token/s", "rate", group="model", fitted=SHARED,
        coefficients=("any_narrow_gain", "hopper_steady_energy", "exchange_friction")),
    Set("training of Qwen3 with experts, NeMo", STUDY, "mixture_training",
        lambda: nemo("mixture"), "token/s", "rate", group="release"),
    Set("training of DeepSeek-V3, NeMo", STUDY, "latent_training", lambda: nemo("latent"),
        "token/s", "rate", group="release"),
    Set("training with Megatron Core", STUDY, "dense_training", megatron_core, "token/s", "rate",
        group="model"),
    Set("training of MLPerf's largest models", STUDY, "dense_training", mlperf, "token/s", "rate",
        group="model"),
    Set("training with weights shared out", "studies/fsdp.hw", "fsdp_training", fsdp, "token/s",
        "rate", group="model", fitted=f"{SHARED}; not to YaFSDP",
        coefficients=("any_narrow_gain", "hopper_steady_energy", "hopper_early_attention",
                      "unfused_traffic", "exchange_friction")),
    Set("training with MaxText on TPUs", "studies/maxtext.hw", "tpu_training", maxtext, "token/s",
        "rate", group="model"),
    Set("training with MaxText on H100", "studies/fsdp.hw", "fsdp_training", maxtext_on_gpus,
        "token/s", "rate", group="model"),
    Set("training of BERT, 128 positions", "studies/bert.hw", "pretraining", lambda: bert("128"),
        "sample/s", "throughput", group="half"),
    Set("training of BERT, 512 positions at most", "studies/bert.hw", "pretraining",
        lambda: bert("512"), "sample/s", "throughput", group="half"),
    Set("steps of vTrain on one node", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("single"), "s", "iteration", "constant_fraction", "group",
        "the host's time outside the layers", ("issue_outside",)),
    Set("steps of vTrain on many nodes", "studies/megatron.hw", "gpt_training",
        lambda: vtrain("multi"), "s", "iteration", "constant_fraction", "group"),
    Set("steps of BLOOM's search", "studies/bloom.hw", "bloom", bloom_times, "s", "iteration",
        "at_constant", "group", "what a GPU gets of the network", ("jean_zay_port",)),
]  # fmt: skip

"""Adapters of published tables of language-model training, for the studies of training."""

import re

from machines import Undescribed, component
from measured import Row, Set, converted, read, shape

STUDY = "studies/llm_training.hw"
# Names of GPUs in the studies of training.
GPUS = {
    "A100_SXM_40GB": "A100_40GB",
    "A100_SXM_80GB": "A100",
    "H100_SXM_80GB": "H100",
    "H200_SXM_141GB": "H200",
    "B200_SXM_180GB": "B200",
    "B300_SXM_288GB": "B300",
    "GB200_GPU": "GB200",
    "GB300_GPU": "GB300",
}
# Network bandwidth per GPU in GB/s: for A100 as stated by MosaicML, else of NVIDIA's systems.
NETWORK_BANDWIDTH = {"A100_40GB": "25", "A100": "25", "H100": "50", "H200": "50", "B200": "50",
                     "B300": "100", "GB200": "50", "GB300": "100"}  # fmt: skip
DTYPES = {"BF16": "bf16", "NVFP4": "fp4"}
YES = {True: "true", False: "false"}


def _gpu(name: str) -> str:
    """The study's name of a GPU in a table. Raises Undescribed for one that the studies lack."""
    found = component(name)
    if found not in GPUS:
        raise Undescribed(f"the studies of training have no `{found}`")
    return GPUS[found]


def only(name: str, *components: str) -> None:
    """Raises Undescribed for an accelerator that the study does not have."""
    found = component(name)
    if found not in components:
        raise Undescribed(f"this study has no `{found}`")


def _cell(row: Row, name: str, default: str) -> str:
    return row[name] if row.get(name) not in (None, "", "n/a") else default


def _model(r: Row, gpu: str, gated: bool, tied_embeddings: bool) -> Row:
    """Params of `dense_training` for a model and for a GPU with its network bandwidth. Tables that
    do not speak of activation recomputation are taken to be of runs without."""
    head_dim = f"{int(r['d_model']) / int(r['n_heads']):g}"
    sizes = shape(r | {"n_kv_heads": _cell(r, "n_kv_heads", r["n_heads"])})
    return {
        "model": r["split_group"],
        **sizes,
        "head_dim": _cell(r, "head_dim", head_dim),
        "gated": YES[gated],
        "tied_embeddings": YES[tied_embeddings],
        "seq_length": r["seq_len"],
        "gpu": gpu,
        "network_bandwidth_per_gpu": NETWORK_BANDWIDTH[gpu],
        "recompute": "none",
    }


def mpt() -> list[Row]:
    """MPT by MosaicML; in FP8 where the table says so."""

    def make(r: Row) -> Row:
        gpus, gpu = int(r["n_gpus"]), _gpu(r["gpu"])
        rate = float(r["meas_throughput_tokens_per_s"]) / gpus
        return {
            "case": f"{r['row_id']} {r['model']} {gpu} x{gpus}",
            **_model(r, gpu, gated=False, tied_embeddings=True),
            "dtype": "fp8" if "fp8" in r["precision"].lower() else "bf16",
            "data": r["n_gpus"],
            "micro_batch": r["micro_batch_per_gpu"],
            "global_batch": r["global_batch_seqs"],
            "recompute": "full" if r["activation_checkpointing"] == "True" else "none",
            "sharding": {"FULL_SHARD": "zero_3"}.get(r["fsdp_sharding"], "zero_2"),
            "bytes_per_gradient": {"PURE": "2"}.get(r["fsdp_mixed_precision_mode"], "4"),
            "kernel_implementation": "eager",
            "measured": f"{rate:.6g}",
        }

    return converted(read("mpt_training"), make)


def _moe(r: Row, gpu: str) -> Row:
    """Options of the MoE layers, from the recipes of each release (Megatron-Bridge v0.1.0rc4 to
    v0.6.0)."""
    release = r["release"].partition(" ")[0]
    racks = ("GB200", "GB300", *(["B300"] if r["model"].startswith("Qwen3_30B") else []))
    grouped = release >= "26.06" and r["precision"] == "MXFP8" and gpu in racks
    hopper = gpu == "H100" and (
        release < "26.02" if r["model"].startswith("DeepSeek") else "25.11" <= release < "26.04"
    )
    inter_node = gpu == "B200" and release >= "26.04.01" and _cell(r, "ep", "1") == "32"
    return {
        "ep_overlap": "prioritized" if grouped or hopper or inter_node else "serial",
        "grouped_gemm": YES[grouped],
    }


def _transformer_engine(release: str) -> str:
    """The release of Transformer Engine in a container of NeMo, or of MLPerf's code, by its date:
    1.8 is of July 2024."""
    year, month = (int(part) for part in re.findall(r"\b(\d\d)\.(\d\d)", release)[0])
    return "1.8" if (year, month) <= (24, 7) else "2.0"


def _nemo(r: Row) -> Row:
    gpu = _gpu(r["gpu"])
    sizes = {name: _cell(r, name, "1") for name in ("tp", "pp", "cp", "vp", "ep")}
    data = int(r["n_gpus"]) // (int(sizes["tp"]) * int(sizes["pp"]) * int(sizes["cp"]))
    return {
        "case": f"{r['row_id']} {r['model']} {gpu} {r['precision'].split(' ')[0]} {r['release']}",
        "release": r["release"].partition(" ")[0],
        "transformer_engine": _transformer_engine(r["release"]),
        **_model(r, gpu, "ungated" not in r["mlp_act"], r["tied_embeddings"] == "True"),
        "ffn_hidden_size": _cell(r, "d_ffn", "1"),
        "experts": _cell(r, "n_experts", "0"),
        "moe_top_k": _cell(r, "experts_topk", "0"),
        "moe_ffn_hidden_size": _cell(r, "d_ffn_expert", "0"),
        "dense_layers": _cell(r, "first_k_dense", "0"),
        "dtype": DTYPES.get(r["precision"], "fp8"),
        "tensor": sizes["tp"],
        "pipeline": sizes["pp"],
        "context": sizes["cp"],
        "data": str(data),
        "expert": sizes["ep"],
        "micro_batch": _cell(r, "micro_batch", "1"),
        "global_batch": r["global_batch_seqs"],
        "virtual_pipeline": sizes["vp"],
        "sharding": "zero_3" if int(_cell(r, "fsdp", "0")) else "zero_1",
        "bytes_per_gradient": "2",
        **_moe(r, gpu),
        "measured": r["meas_tokens_per_s_per_gpu"],
    }


# Columns that are no params of the evaluator of each architecture; those of the models with experts
# state the bytes of a gradient themselves.
WITHOUT = {
    "dense": (
        "release",
        "experts",
        "moe_top_k",
        "moe_ffn_hidden_size",
        "dense_layers",
        "expert",
        "ep_overlap",
        "grouped_gemm",
    ),
    "moe": (
        "model",
        "gated",
        "tied_embeddings",
        "transformer_engine",
        "bytes_per_gradient",
        "recompute",
    ),
    "mla_moe": (
        "model",
        "gated",
        "tied_embeddings",
        "kv_heads",
        "head_dim",
        "transformer_engine",
        "bytes_per_gradient",
        "recompute",
    ),
}


def _architecture(r: Row) -> str:
    return "dense" if not r["n_experts"] else "mla_moe" if r["attn"] == "MLA" else "moe"


def nemo(architecture: str) -> list[Row]:
    """Models of one architecture on NeMo: `dense`, `moe` or `mla_moe`.

    Left out are LoRA fine-tuning, which does not compute most weight gradients, and models with
    kinds of layers that the library does not describe.
    """

    def make(r: Row) -> Row:
        if r["task"] == "LoRA":
            raise Undescribed("LoRA fine-tuning")
        differ = ("hybrid", "mamba", "every second")
        if any(word in r["arch_note"] for word in differ) or r["sliding_window"]:
            raise Undescribed(f"the layers of {r['model']} differ")
        if r["split_group"].startswith(("Nemotron_3", "DeepSeekV4")):
            raise Undescribed(f"{r['model']} has layers that the library does not describe")
        if architecture == "moe" and int(_cell(r, "n_shared_experts", "0")):
            raise Undescribed(f"{r['model']} has shared experts but not MLA")
        return {k: v for k, v in _nemo(r).items() if k not in WITHOUT[architecture]}

    rows = (r for r in read("nemo_training") if _architecture(r) == architecture)
    return converted(rows, make)


def long_context() -> list[Row]:
    """Llama 3 8B on sequences of up to a million tokens, where the parallelism sizes are stated;
    data parallelism uses the remaining accelerators. The table's model FLOPs count attention
    without a causal mask: with half of them, the rate would exceed that of any attention kernel
    there."""

    def make(r: Row) -> Row:
        if not r["tp"]:
            raise Undescribed("the table does not state the parallelism sizes")
        gpu = _gpu(r["gpu"])
        tensor, stages, context = int(r["tp"]), int(r["pp"]), int(r["cp"])
        length = 1024 * int(r["seq_len_k"])
        row = r | {"seq_len": str(length), "mlp": "gated"}
        return {
            "case": f"{r['row_id']} {r['model']} {gpu} {r['seq_len_k']}k x{r['n_gpus']}",
            **_model(row, gpu, gated=True, tied_embeddings=False),
            "dtype": DTYPES.get(r["precision"], "fp8"),
            "transformer_engine": _transformer_engine(r["container"]),
            "tensor": str(tensor),
            "pipeline": str(stages),
            "context": str(context),
            "data": str(int(r["n_gpus"]) // (tensor * stages * context)),
            "global_batch": r["global_batch_seqs"],
            "measured": f"{float(r['meas_model_tflops_per_gpu']) * 1e12 / _counted(row):.6g}",
        }

    return converted(read("nemo_long_context"), make)


def megatron_core() -> list[Row]:
    """Megatron Core on H100. Not stated, and assumed: the parallelism sizes of strong scaling are
    those of the row of the same model; the micro-batch is 1 with a pipeline, else all sequences;
    virtual pipeline stages have one layer each if the stages divide the microbatches; no
    activation recomputation."""

    def make(r: Row) -> Row:
        only(r["gpu"], "H100_SXM_80GB")
        tensor, stages = int(r["tp_derived"] or 8), int(r["pp_derived"] or 6)
        gpus, batch, layers = (int(r[k]) for k in ("n_gpus", "global_batch_seqs", "n_layers"))
        data = gpus // tensor // stages
        each = batch // data
        virtual = layers // stages if stages > 1 and each % stages == 0 else 1
        rate = batch * 4096 / float(r["derived_iteration_time_s"]) / gpus
        return {
            "case": f"{r['row_id']} {r['model']} x{gpus}",
            **_model(r, "H100", gated=False, tied_embeddings=True),
            "tensor": str(tensor),
            "pipeline": str(stages),
            "data": str(data),
            "micro_batch": "1" if stages > 1 else str(each),
            "global_batch": str(batch),
            "virtual_pipeline": str(virtual),
            "measured": f"{rate:.6g}",
        }

    rows = read("megatron_published")
    return converted((r for r in rows if r["series"].startswith("megatron_core")), make)


def mlperf() -> list[Row]:
    """GPT-3 and Llama 3.1 405B of MLPerf on H100 in FP8, where a script states the parallelism
    sizes. Throughput is that of the logs."""

    def make(r: Row) -> Row:
        if not r["tp"]:
            raise Undescribed("no script states the parallelism sizes")
        tensor, stages, context = int(r["tp"]), int(r["pp"]), int(r["cp"] or 1)
        gpus = int(r["n_accelerators"])
        data = gpus // (tensor * stages * context)
        llama = r["benchmark"] == "llama31_405b"
        return {
            "case": f"{r['row_id']} {r['benchmark']} x{gpus} {r['round'].split(' ')[-1]}",
            **_model(r, _gpu(r["accelerator"]), gated=llama, tied_embeddings=not llama),
            "model": r["benchmark"],
            "dtype": "fp8",
            "tensor": str(tensor),
            "pipeline": str(stages),
            "context": str(context),
            "data": str(data),
            "micro_batch": r["micro_batch"] or "1",
            "global_batch": r["global_batch"],
            "virtual_pipeline": r["interleave"] or "1",
            "measured": r["derived_tokens_per_s_per_accel"],
        }

    rows = read("mlperf_training")
    return converted((r for r in rows if r["benchmark"] in ("gpt3", "llama31_405b")), make)


CHIPS = {"TPU_v4": "v4", "TPU_v5e": "v5e", "TPU_v5p": "v5p"}


def _counted(r: Row) -> float:
    """Model FLOPs of a token as MaxText and NeMo count them: attention without a causal mask."""
    layers, hidden_size, heads, kv_heads, ffn_hidden_size, vocab_size, seq_length = (
        int(r[k])
        for k in ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ffn", "vocab", "seq_len")
    )
    query_size = heads * int(r["head_dim"])
    matrices = 2 if "ungated" in r["mlp"] else 3
    attention = 2 * hidden_size * query_size * (1 + kv_heads / heads)
    layer = matrices * hidden_size * ffn_hidden_size + attention
    parameters = layers * layer + hidden_size * vocab_size
    return float(6 * parameters + 12 * layers * seq_length * query_size)


def maxtext() -> list[Row]:
    """MaxText on TPUs; each slice is an FSDP group, and slices are replicas."""

    def make(r: Row) -> Row:
        chip = component(r["accelerator"])
        if chip not in CHIPS:
            raise Undescribed(f"the study of MaxText has no `{chip}`")
        if not r["n_layers"]:
            raise Undescribed(f"the shape of {r['model']} is not stated")
        chips, slices, tensor = int(r["n_chips"]), int(r["n_slices"]), int(r["ici_tensor"] or 1)
        data, batch = chips // tensor, int(r["per_chip_batch"]) * tensor
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        return {
            "case": f"{r['row_id']} {r['model']} {r['slice']}",
            "model": r["split_group"],
            "layers": r["n_layers"],
            "hidden_size": r["d_model"],
            "heads": r["n_heads"],
            "head_dim": r["head_dim"],
            "ffn_hidden_size": r["d_ffn"],
            "vocab_size": r["vocab"],
            "seq_length": r["seq_len"],
            "tpu": CHIPS[chip],
            "chips_per_slice": str(chips // slices),
            "slices": r["n_slices"],
            "tensor": str(tensor),
            "data": str(data),
            "micro_batch": str(batch),
            "recompute": "full" if r["remat_policy"] == "full" else "selective",
            "measured": f"{rate:.6g}",
        }

    rows = read("maxtext_training")
    return converted((r for r in rows if r["accelerator"].startswith("TPU")), make)


CAPPED = "H100-SXM 96GB HBM2e 2.4TB/s (Meta Grand Teton, 500W cap)"


def fsdp(memory: bool = False) -> list[Row]:
    """FSDP: torchtitan, fms-fsdp, YaFSDP; throughput, or peak memory in GB.

    The network of YaFSDP is not stated: of the 200, 100 and 50 Gb/s per GPU of eight, four and two
    HDR adapters, 100 fits its 7B best, so its rows say nothing about the network. fms-fsdp reduces
    gradients in 16 bits. Kernels are eager where compilation is not stated. The choice of what
    `selective` recomputes is the library's. torchtitan compiles its loss in the code of 2025
    (e7c0cae); in that of 2024 (9dec370) the loss is eager."""

    def make(r: Row) -> Row:
        tensor, context, gpus = int(r["tp"]), int(r["cp"]), int(r["n_gpus"])
        checkpointing = r["activation_ckpt"].lower()
        data_shard = gpus // (tensor * context * int(r["pp"]))
        rate = r["meas_tokens_per_s_per_gpu"] or r["derived_tokens_per_s_per_gpu"]
        source = r["split_group"].partition("|")[0]
        stated = r["internode_gbit_s_per_gpu"] or ("100" if source == "yafsdp" else "")
        if not stated:
            raise Undescribed("no network bandwidth is stated")
        bandwidth = float(stated) / 8
        return {
            "case": " ".join([r["row_id"], source, r["model"], f"x{gpus}", r["sharding"]]),
            "model": r["split_group"],
            **shape(r),
            "seq_length": r["seq_len"],
            "gpu": "H100_96GB" if r["gpu"] == CAPPED else _gpu(r["gpu"]),
            "dtype": "fp8" if "float8" in r["precision"] else "bf16",
            "data_shard": str(data_shard),
            "tensor": str(tensor),
            "pipeline": r["pp"],
            "virtual_pipeline": "2" if r["pp_schedule"].startswith("Interleaved") else "1",
            "context": str(context),
            "hsdp_replicate": str(data_shard // 8) if r["sharding"] == "HSDP" else "1",
            "local_batch_size": r["local_batch"],
            "recompute": "full"
            if checkpointing == "full"
            else "none"
            if checkpointing.startswith(("no", "0"))
            else "selective",
            "recompute_alternate_gemms": YES[source in ("torchtitan", "trainy")],
            "fused_cross_entropy": YES["2025" in r["source"]],
            "network_bandwidth_per_gpu": f"{bandwidth:g}",
            "bytes_per_gradient": "2" if source == "fms" else "4",
            "kernel_implementation": "compiled" if r["compile"] == "True" else "eager",
            "tp_overlap": "fused" if r["async_tp"] == "True" else "serial",
            "measured": f"{float(r['meas_mem_gib']) * 1.024**3:.6g}" if memory else rate,
        }

    rows = read("fsdp_training")
    return converted((r for r in rows if r["meas_mem_gib"] or not memory), make)


def maxtext_on_gpus() -> list[Row]:
    """MaxText on nodes with eight H100 and four network ports of 200 Gb/s, for the study of FSDP.
    Kernels are assumed to be compiled, since XLA generates them. The attention kernel is not
    stated; with present ones the errors would be three times as large."""

    def make(r: Row) -> Row:
        only(r["accelerator"], "H100_SXM_80GB")
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        return {
            "case": f"{r['row_id']} {r['model']} {r['slice']}",
            "model": r["split_group"],
            **shape(r),
            "seq_length": r["seq_len"],
            "gpu": "H100",
            "data_shard": r["n_chips"],
            "hsdp_replicate": str(int(r["n_chips"]) // 8),
            "local_batch_size": r["per_chip_batch"],
            "recompute_alternate_gemms": "false",
            "fused_cross_entropy": "true",
            "network_bandwidth_per_gpu": "12.5",
            "kernel_implementation": "compiled",
            "measured": f"{rate:.6g}",
        }

    rows = read("maxtext_training")
    return converted((r for r in rows if not r["accelerator"].startswith("TPU")), make)


MPT = (
    "default_legacy_attention_ratio", "hopper_legacy_attention_ratio",
    "hopper_sustained_energy_per_flop", "eager_traffic_ratio",
    "default_host_overhead_per_step", "default_dp_interference",
)  # fmt: skip
SHARED = "six coefficients of training steps, with the two other tables"
# The tables that these are fitted to together, by `benchmarks/joint_fit.py`; without the models
# whose names start so (what YaFSDP's network was is not stated, but chosen by its rows).
JOINT = {
    "training of MPT": None,
    "training of dense models, NeMo": None,
    "training with FSDP": "yafsdp",
}
_RATE = "tokens_per_second_per_gpu"
_FSDP = "studies/fsdp.hw"
SETS = [
    Set("training of MPT", STUDY, "dense_training", mpt, "token/s", _RATE, group="model",
        fitted=SHARED, coefficients=MPT),
    Set("training of dense models, NeMo", STUDY, "dense_training", lambda: nemo("dense"),
        "token/s", _RATE, group="model", fitted=SHARED,
        coefficients=("hopper_sustained_energy_per_flop", "default_dp_interference")),
    Set("training of Qwen3 MoE, NeMo", STUDY, "moe_training", lambda: nemo("moe"), "token/s",
        _RATE, group="release"),
    Set("training of DeepSeek-V3, NeMo", STUDY, "mla_moe_training", lambda: nemo("mla_moe"),
        "token/s", _RATE, group="release"),
    Set("training with Megatron Core", STUDY, "dense_training", megatron_core, "token/s", _RATE,
        group="model"),
    Set("training of MLPerf's largest models", STUDY, "dense_training", mlperf, "token/s", _RATE,
        group="model"),
    Set("training with FSDP", _FSDP, "fsdp_training", fsdp, "token/s", _RATE, group="model",
        fitted=f"{SHARED}; not to YaFSDP",
        coefficients=("hopper_sustained_energy_per_flop", "hopper_legacy_attention_ratio",
                      "eager_traffic_ratio", "default_dp_interference")),
    Set("training with MaxText on TPUs", "studies/maxtext.hw", "tpu_training", maxtext, "token/s",
        "tokens_per_second_per_chip", group="model"),
    Set("training with MaxText on H100", _FSDP, "fsdp_training", maxtext_on_gpus, "token/s",
        _RATE, group="model"),
    Set("training over long sequences, NeMo", STUDY, "dense_training", long_context, "token/s",
        _RATE, group="model"),
    Set("peak memory with FSDP", _FSDP, "fsdp_training", lambda: fsdp(memory=True), "GB",
        "peak_memory", None, "model"),
]  # fmt: skip

"""Published tables of training language models of any kind, as their studies read them."""

from machines import Undescribed, component
from measured import Row, Set, read, shape, turned

STUDY = "studies/llm_training.hw"
# What the studies of training call the parts.
PARTS = {
    "A100_SXM_40GB": "A100_40GB",
    "A100_SXM_80GB": "A100",
    "H100_SXM_80GB": "H100",
    "H200_SXM_141GB": "H200",
    "B200_SXM_180GB": "B200",
    "B300_SXM_288GB": "B300",
    "GB200_GPU": "GB200",
    "GB300_GPU": "GB300",
}
# Ports of an accelerator in GB/s: what MosaicML states for A100; NVIDIA's of each system else.
PORTS = {"A100_40GB": "25", "A100": "25", "H100": "50", "H200": "50", "B200": "50", "B300": "100",
         "GB200": "50", "GB300": "100"}  # fmt: skip
FORMATS = {"BF16": "bf16", "NVFP4": "fp4"}
YES = {True: "true", False: "false"}


def _part(name: str) -> str:
    """The part that a table calls so. Raises Undescribed for one that the studies do not have."""
    found = component(name)
    if found not in PARTS:
        raise Undescribed(f"the studies of training have no `{found}`")
    return PARTS[found]


def only(name: str, *parts: str) -> None:
    """Raises Undescribed for a machine that a study is not of."""
    found = component(name)
    if found not in parts:
        raise Undescribed(f"this study has no `{found}`")


def _cell(row: Row, name: str, default: str) -> str:
    return row[name] if row.get(name) not in (None, "", "n/a") else default


def _net(r: Row, part: str, gated: bool, tied: bool) -> Row:
    """What `dense_training` asks of a model and of a part with its port."""
    plain = f"{int(r['d_model']) / int(r['n_heads']):g}"
    sizes = shape(r | {"n_kv_heads": _cell(r, "n_kv_heads", r["heads"])})
    return {
        "model": r["split_group"],
        **sizes,
        "head_dim": _cell(r, "head_dim", plain),
        "gated": YES[gated],
        "tied_embeddings": YES[tied],
        "seq_length": r["seq_length"],
        "part": part,
        "network_bandwidth_per_gpu": PORTS[part],
    }


def mpt() -> list[Row]:
    """MPT by MosaicML; in 8 bits where it says so."""

    def make(r: Row) -> Row:
        gpus, part = int(r["n_gpus"]), _part(r["gpu"])
        rate = float(r["meas_throughput_tokens_per_s"]) / gpus
        return {
            "case": f"{r['row_id']} {r['model']} {part} x{gpus}",
            **_net(r, part, gated=False, tied_embeddings=True),
            "dtype": "fp8" if "fp8" in r["precision"].lower() else "bf16",
            "data": r["n_gpus"],
            "micro_batch": r["micro_batch_per_gpu"],
            "global_batch": r["global_batch_seqs"],
            "recompute": "full" if r["activation_checkpointing"] == "True" else "none",
            "sharding": {"FULL_SHARD": "zero_3"}.get(r["fsdp_sharding"], "zero_2"),
            "bytes_per_gradient": {"PURE": "2"}.get(r["fsdp_mixed_precision_mode"], "4"),
            "kernel_implementation": "plain",
            "measured": f"{rate:.6g}",
        }

    return turned(read("mpt_training"), make)


def _experts(r: Row, part: str) -> Row:
    """How experts run, by the recipes of each release (Megatron-Bridge v0.1.0rc4 to v0.6.0)."""
    release = r["release"].partition(" ")[0]
    racks = ("GB200", "GB300", *(["B300"] if r["model"].startswith("Qwen3_30B") else []))
    late = release >= "26.06" and r["precision"] == "MXFP8" and part in racks
    hopper = part == "H100" and (
        release < "26.02" if r["model"].startswith("DeepSeek") else "25.11" <= release < "26.04"
    )
    spread = part == "B200" and release >= "26.04.01" and _cell(r, "ep", "1") == "32"
    return {
        "ep_overlap": "prioritised" if late or hopper or spread else "serial",
        "grouped_gemm": YES[late],
    }


def _nemo(r: Row) -> Row:
    part = _part(r["gpu"])
    cut = {name: _cell(r, name, "1") for name in ("tp", "pp", "cp", "vp", "ep")}
    copies = int(r["n_gpus"]) // (int(cut["tp"]) * int(cut["pp"]) * int(cut["cp"]))
    return {
        "case": f"{r['row_id']} {r['model']} {part} {r['precision'].split(' ')[0]} {r['release']}",
        "release": r["release"].partition(" ")[0],
        **_net(r, part, "ungated" not in r["mlp_act"], r["tied_embeddings"] == "True"),
        "ffn_hidden_size": _cell(r, "ffn_hidden_size", "1"),
        "experts": _cell(r, "n_experts", "0"),
        "moe_top_k": _cell(r, "experts_topk", "0"),
        "moe_ffn_hidden_size": _cell(r, "d_ffn_expert", "0"),
        "dense_layers": _cell(r, "first_k_dense", "0"),
        "dtype": FORMATS.get(r["precision"], "fp8"),
        "tensor": cut["tp"],
        "pipeline": cut["pp"],
        "context": cut["cp"],
        "data": str(copies),
        "expert": cut["ep"],
        "micro_batch": _cell(r, "micro_batch", "1"),
        "global_batch": r["global_batch_seqs"],
        "virtual_pipeline": cut["vp"],
        "sharding": "zero_3" if int(_cell(r, "data_shard", "0")) else "zero_1",
        **_experts(r, part),
        "measured": r["meas_tokens_per_s_per_gpu"],
    }


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
    "mixture": ("model", "gated", "tied_embeddings"),
    "latent": ("model", "gated", "tied_embeddings", "kv_heads", "head_dim"),
}


def _nemo_net(r: Row) -> str:
    return "dense" if not r["n_experts"] else "latent" if r["attn"] == "MLA" else "mixture"


def nemo(kind: str) -> list[Row]:
    """NeMo: `dense` models, a `mixture` of experts, or such with `latent` attention.

    Left out: fine-tuning of few weights, whose gradients are not computed; models with layers of
    other kinds, which the library does not describe.
    """

    def make(r: Row) -> Row:
        if r["task"] == "LoRA":
            raise Undescribed("few weights are tuned")
        differ = ("hybrid", "mamba", "every second")
        if any(word in r["arch_note"] for word in differ) or r["sliding_window"]:
            raise Undescribed(f"the layers of {r['model']} differ")
        if r["split_group"].startswith(("Nemotron_3", "DeepSeekV4")):
            raise Undescribed(f"{r['model']} has layers of other kinds")
        if kind == "mixture" and int(_cell(r, "n_shared_experts", "0")):
            raise Undescribed(f"{r['model']} has experts common to all and no latent attention")
        return {k: v for k, v in _nemo(r).items() if k not in WITHOUT[kind]}

    return turned((r for r in read("nemo_training") if _nemo_net(r) == kind), make)


def long_sequences() -> list[Row]:
    """Llama 3 8B over sequences of up to a million positions, where the cut is stated; copies fill
    the accelerators. Its operations count attention as if every position saw all: half of that
    would be a rate above that of any attention there."""

    def make(r: Row) -> Row:
        if not r["tp"]:
            raise Undescribed("the table does not state the cut")
        part = _part(r["gpu"])
        tensor, stages, context = int(r["tp"]), int(r["pp"]), int(r["cp"])
        length = 1024 * int(r["seq_len_k"])
        row = r | {"seq_length": str(length), "mlp": "gated"}
        return {
            "case": f"{r['row_id']} {r['model']} {part} {r['seq_len_k']}k x{r['n_gpus']}",
            **_net(row, part, gated=True, tied_embeddings=False),
            "dtype": FORMATS.get(r["precision"], "fp8"),
            "tensor": str(tensor),
            "pipeline": str(stages),
            "context": str(context),
            "data": str(int(r["n_gpus"]) // (tensor * stages * context)),
            "global_batch": r["global_batch_seqs"],
            "measured": f"{float(r['meas_model_tflops_per_gpu']) * 1e12 / _counted(row):.6g}",
        }

    return turned(read("nemo_long_context"), make)


def megatron_core() -> list[Row]:
    """Megatron Core on H100. Not stated: the cut of the strong scaling, which is that of the same
    model's row; sequences at a time: 1 in a pipeline, else all; chunks: a layer each, if the
    microbatches divide; nothing is computed again."""

    def make(r: Row) -> Row:
        only(r["gpu"], "H100_SXM_80GB")
        tensor, stages = int(r["tp_derived"] or 8), int(r["pp_derived"] or 6)
        gpus, batch, layers = (int(r[k]) for k in ("n_gpus", "global_batch_seqs", "layers"))
        copies = gpus // tensor // stages
        each = batch // copies
        chunks = layers // stages if stages > 1 and each % stages == 0 else 1
        rate = batch * 4096 / float(r["derived_iteration_time_s"]) / gpus
        return {
            "case": f"{r['row_id']} {r['model']} x{gpus}",
            **_net(r, "H100", gated=False, tied_embeddings=True),
            "tensor": str(tensor),
            "pipeline": str(stages),
            "data": str(copies),
            "micro_batch": "1" if stages > 1 else str(each),
            "global_batch": str(batch),
            "virtual_pipeline": str(chunks),
            "measured": f"{rate:.6g}",
        }

    rows = read("megatron_published")
    return turned((r for r in rows if r["series"].startswith("megatron_core")), make)


def mlperf() -> list[Row]:
    """GPT-3 and Llama 3.1 405B of MLPerf on H100, where a script states the cut; in 8 bits.

    Throughput is that of the logs."""

    def make(r: Row) -> Row:
        if not r["tp"]:
            raise Undescribed("no script states the cut")
        tensor, stages, context = int(r["tp"]), int(r["pp"]), int(r["cp"] or 1)
        gpus = int(r["n_accelerators"])
        copies = gpus // (tensor * stages * context)
        llama = r["benchmark"] == "llama31_405b"
        return {
            "case": f"{r['row_id']} {r['benchmark']} x{gpus} {r['round'].split(' ')[-1]}",
            **_net(r, _part(r["accelerator"]), gated=llama, tied_embeddings=not llama),
            "model": r["benchmark"],
            "dtype": "fp8",
            "tensor": str(tensor),
            "pipeline": str(stages),
            "context": str(context),
            "data": str(copies),
            "micro_batch": r["micro_batch"] or "1",
            "global_batch": r["global_batch"],
            "virtual_pipeline": r["virtual_pipeline"] or "1",
            "measured": r["derived_tokens_per_s_per_accel"],
        }

    rows = read("mlperf_training")
    return turned((r for r in rows if r["benchmark"] in ("gpt3", "llama31_405b")), make)


CHIPS = {"TPU_v4": "v4", "TPU_v5e": "v5e", "TPU_v5p": "v5p"}


def _counted(r: Row) -> float:
    """A token's operations as MaxText and NeMo count them: as if every position saw all."""
    layers, width, heads, kept, inside, words, length = (
        int(r[k])
        for k in (
            "layers",
            "hidden_size",
            "heads",
            "n_kv_heads",
            "ffn_hidden_size",
            "vocab_size",
            "seq_length",
        )
    )
    inner = heads * int(r["head_dim"])
    matrices = 2 if "ungated" in r["mlp"] else 3
    attention = 2 * width * inner * (1 + kept / heads)
    weights = layers * (matrices * width * inside + attention) + width * words
    return float(6 * weights + 12 * layers * length * inner)


def maxtext() -> list[Row]:
    """MaxText on TPUs, slices of which each holds everything once."""

    def make(r: Row) -> Row:
        chip = component(r["accelerator"])
        if chip not in CHIPS:
            raise Undescribed(f"the study of MaxText has no `{chip}`")
        if not r["layers"]:
            raise Undescribed(f"the shape of {r['model']} is not stated")
        chips, slices, tensor = int(r["n_chips"]), int(r["n_slices"]), int(r["ici_tensor"] or 1)
        copies, batch = chips // tensor, int(r["per_chip_batch"]) * tensor
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        return {
            "case": f"{r['row_id']} {r['model']} {r['slice']}",
            "model": r["split_group"],
            "layers": r["layers"],
            "hidden_size": r["hidden_size"],
            "heads": r["heads"],
            "head_dim": r["head_dim"],
            "ffn_hidden_size": r["ffn_hidden_size"],
            "vocab_size": r["vocab_size"],
            "seq_length": r["seq_length"],
            "part": CHIPS[chip],
            "chips_per_slice": str(chips // slices),
            "slices": r["n_slices"],
            "tensor": str(tensor),
            "data": str(copies),
            "micro_batch": str(batch),
            "recompute": "full" if r["remat_policy"] == "full" else "selective",
            "measured": f"{rate:.6g}",
        }

    rows = read("maxtext_training")
    return turned((r for r in rows if r["accelerator"].startswith("TPU")), make)


CAPPED = "H100-SXM 96GB HBM2e 2.4TB/s (Meta Grand Teton, 500W cap)"


def fsdp(memory: bool = False) -> list[Row]:
    """Weights shared out over ranks: torchtitan, fms-fsdp, YaFSDP; rates, or peaks of
    memory in GB. YaFSDP's network is not stated: of the 200, 100 and 50 Gb/s a GPU that eight, four
    and two adapters of HDR would give, 100 is nearest to its 7B, so its rows show nothing of the
    network; fms-fsdp exchanges gradients in 16 bits; kernels are plain where nothing is said of
    compilation; what `selective` computes again is the library's choice. torchtitan compiles its
    loss in the code of 2025 (e7c0cae), and in that of 2024 (9dec370) it runs step by step."""

    def make(r: Row) -> Row:
        tensor, context, gpus = int(r["tp"]), int(r["cp"]), int(r["n_gpus"])
        again = r["activation_ckpt"].lower()
        copies = gpus // (tensor * context * int(r["pp"]))
        rate = r["meas_tokens_per_s_per_gpu"] or r["derived_tokens_per_s_per_gpu"]
        source = r["split_group"].partition("|")[0]
        stated = r["internode_gbit_s_per_gpu"] or ("100" if source == "yafsdp" else "")
        if not stated:
            raise Undescribed("no rate of the network is stated")
        port = float(stated) / 8
        return {
            "case": " ".join([r["row_id"], source, r["model"], f"x{gpus}", r["sharding"]]),
            "model": r["split_group"],
            **shape(r),
            "seq_length": r["seq_length"],
            "part": "H100_96GB" if r["gpu"] == CAPPED else _part(r["gpu"]),
            "dtype": "fp8" if "float8" in r["precision"] else "bf16",
            "data_shard": str(copies),
            "tensor": str(tensor),
            "pipeline": r["pp"],
            "virtual_pipeline": "2" if r["pp_schedule"].startswith("Interleaved") else "1",
            "context": str(context),
            "hsdp_replicate": str(copies // 8) if r["sharding"] == "HSDP" else "1",
            "local_batch_size": r["local_batch_size"],
            "recompute": "full"
            if again == "full"
            else "none"
            if again.startswith(("no", "0"))
            else "selective",
            "recompute_alternate_gemms": YES[source in ("torchtitan", "trainy")],
            "fused_cross_entropy": YES["2025" in r["source"]],
            "network_bandwidth_per_gpu": f"{port:g}",
            "bytes_per_gradient": "2" if source == "fms" else "4",
            "kernel_implementation": "compiled" if r["compile"] == "True" else "plain",
            "tp_overlap": "fused" if r["async_tp"] == "True" else "serial",
            "measured": f"{float(r['meas_mem_gib']) * 1.024**3:.6g}" if memory else rate,
        }

    rows = read("fsdp_training")
    return turned((r for r in rows if r["meas_mem_gib"] or not memory), make)


def maxtext_on_gpus() -> list[Row]:
    """MaxText on nodes with eight H100 and four ports of 200 Gb/s, for the study of FSDP. Its
    kernels are taken as compiled, since XLA makes them; what attention it ran is not stated, and
    with today's the errors would be three times as large."""

    def make(r: Row) -> Row:
        only(r["accelerator"], "H100_SXM_80GB")
        rate = float(r["meas_model_tflops_per_chip"]) * 1e12 / _counted(r)
        return {
            "case": f"{r['row_id']} {r['model']} {r['slice']}",
            "model": r["split_group"],
            **shape(r),
            "seq_length": r["seq_length"],
            "part": "H100",
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
    return turned((r for r in rows if not r["accelerator"].startswith("TPU")), make)


MPT = (
    "any_early_attention", "hopper_early_attention", "hopper_steady_energy",
    "unfused_traffic", "host_step", "exchange_friction",
)  # fmt: skip
SHARED = "six coefficients of steps, with the two other tables"
SETS = [
    Set("training of MPT", STUDY, "dense_training", mpt, "token/s", "tokens_per_second_per_gpu", group="model",
        fitted=SHARED, coefficients=MPT),
    Set("training of dense models, NeMo", STUDY, "dense_training", lambda: nemo("dense"),
        "token/s", "tokens_per_second_per_gpu", group="model", fitted=SHARED,
        coefficients=("hopper_steady_energy", "exchange_friction")),
    Set("training of Qwen3 with experts, NeMo", STUDY, "moe_training",
        lambda: nemo("mixture"), "token/s", "tokens_per_second_per_gpu", group="release"),
    Set("training of DeepSeek-V3, NeMo", STUDY, "mla_moe_training", lambda: nemo("latent"),
        "token/s", "tokens_per_second_per_gpu", group="release"),
    Set("training with Megatron Core", STUDY, "dense_training", megatron_core, "token/s", "tokens_per_second_per_gpu",
        group="model"),
    Set("training of MLPerf's largest models", STUDY, "dense_training", mlperf, "token/s", "tokens_per_second_per_gpu",
        group="model"),
    Set("training with weights shared out", "studies/fsdp.hw", "fsdp_training", fsdp, "token/s",
        "tokens_per_second_per_gpu", group="model", fitted=f"{SHARED}; not to YaFSDP",
        coefficients=("hopper_steady_energy", "hopper_early_attention",
                      "unfused_traffic", "exchange_friction")),
    Set("training with MaxText on TPUs", "studies/maxtext.hw", "tpu_training", maxtext, "token/s",
        "tokens_per_second_per_gpu", group="model"),
    Set("training with MaxText on H100", "studies/fsdp.hw", "fsdp_training", maxtext_on_gpus,
        "token/s", "tokens_per_second_per_gpu", group="model"),
    Set("training over long sequences, NeMo", STUDY, "dense_training", long_sequences, "token/s",
        "tokens_per_second_per_gpu", group="model"),
    Set("memory with weights shared out", "studies/fsdp.hw", "fsdp_training",
        lambda: fsdp(peak_memory=True), "GB", "peak_memory", None, "model"),
]  # fmt: skip

"""Published tables of inference, for the studies of kernels, inference and serving."""

from machines import Undescribed, component
from measured import Row, Set, above, read, shape, turned

# What the studies of serving call the parts.
_PARTS = {
    "A100_SXM_80GB": "A100",
    "A100_SXM_40GB": "A100_40GB",
    "H100_SXM_80GB": "H100",
    "H20": "H20",
    "H200_SXM_141GB": "H200",
    "B200_SXM_180GB": "B200",
    "B300_SXM_288GB": "B300",
    "GB200_GPU": "GB200",
    "GB300_GPU": "GB300",
    "A40": "A40",
    "L4": "L4",
    "L40": "L40",
    "L40S": "L40S",
    "RTX_4090": "RTX_4090",
    "RTX_PRO_6000": "RTX_PRO_6000",
}
_FORMATS = {"FP16": "bf16", "BF16": "bf16", "FP8": "fp8", "NVFP4": "fp4", "FP4": "fp4"}


def _part(name: str) -> str:
    """The part that a table calls so. Raises Undescribed for one that the studies do not have."""
    found = component(name.replace(" power-capped", ""))
    if found not in _PARTS:
        raise Undescribed(f"the studies of serving have no `{found}`")
    return _PARTS[found]


def _format(name: str) -> str:
    """The format that a table calls so. Raises Undescribed for one that the studies do not have."""
    if name.upper() not in _FORMATS:
        raise Undescribed(f"no format is called `{name}`")
    return _FORMATS[name.upper()]


def mixtures(dtype: str) -> list[Row]:
    """Layers of experts of aic_moe of one type, `bfloat16`, `fp8` or `nvfp4`."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "tokens": r["num_tokens_global"],
            "hidden_size": r["hidden_size"],
            "ffn_hidden_size": r["d_ffn_expert"],
            "experts": r["n_experts"],
            "moe_top_k": r["experts_topk"],
            "tensor": r["moe_tp"],
            "expert_parallel": r["moe_ep"],
            "balanced_routing": "true" if r["token_distribution"] == "balanced" else "false",
            "measured": r["meas_time_us"],
        }

    return turned((r for r in read("aic_moe") if r["moe_dtype"] == dtype), make)


def _product(r: Row, machine: str, shape: tuple[str, str, str], time: str) -> Row:
    m, n, k = shape
    return {"case": r["row_id"], "accelerator": machine, "m": m, "n": n, "k": k, "measured": time}


def compared() -> list[Row]:
    """Products of llmcompass_ops above 500 us: a launch of 20 us is in every time."""

    def make(r: Row) -> Row:
        shape = (r["m"], r["n"], r["k"])
        return _product(r, component(r["gpu"]), shape, r["meas_time_us"])

    products = (r for r in read("llmcompass_ops") if r["op"] == "matmul")
    return above(500, turned(products, make))


def layered() -> list[Row]:
    """Products of vllm_layer_ops in 16 bits."""

    def make(r: Row) -> Row:
        shape = (r["gemm_m"], r["gemm_n"], r["gemm_k"])
        return _product(r, component(r["gpu"]), shape, r["meas_time_us"])

    return turned((r for r in read("vllm_layer_ops") if r["gemm_m"]), make)


def deepgemm() -> list[Row]:
    """Single products of deepgemm_h800, their input narrow before; H800 computes as H100 does."""

    def make(r: Row) -> Row:
        shape = (r["m_per_group"], r["n"], r["k"])
        return {"quantization": "ready"} | _product(
            r, component(r["gpu"]), shape, r["derived_time_us"]
        )

    return turned((r for r in read("deepgemm_h800") if r["kind"] == "dense"), make)


def _request(r: Row, mlp: str, engine: str, answer: str) -> Row:
    """Params of a batch; `mlp` says in words what the feed-forward net is."""
    mixed = "MoE" in mlp
    format = _format(r["precision"])
    return shape(r) | {
        "gated": "false" if "ungated" in mlp else "true",
        "experts": "8" if mixed else "0",
        "moe_top_k": "2" if mixed else "0",
        "all_reduces_per_layer": "1" if "parallel" in mlp else "2",
        "gpu": _part(r["gpu"]),
        "dtype": format,
        "kv_cache_dtype": format,
        "runtime": engine,
        "tensor": r["tp"],
        "pipeline": r.get("pp") or "1",
        "batch": r["batch"],
        "prompt": r.get("input_tokens") or r.get("prompt_tokens", ""),
        "output_length": answer,
    }


def generations(column: str) -> list[Row]:
    """`e2e_latency_ms` or `memory_gb` of ft_gpt_inference; Megatron's rows keep no keys and values
    and are left out."""

    def make(r: Row) -> Row:
        if r["framework"] != "FasterTransformer":
            raise Undescribed(f"{r['framework']} keeps no keys and values")
        group = {"case": r["row_id"], "group": f"{r['model']} x{r['n_gpus']}"}
        request = _request(r, "ungated", "compiled", r["output_tokens"])
        return group | request | {"measured": r[f"meas_{column}"]}

    return turned((r for r in read("ft_gpt_inference") if r[f"meas_{column}"]), make)


def splitwise(column: str) -> list[Row]:
    """`prefill_ms` or `decode_ms_per_token` of splitwise_inference, less 64 sequences on two GPUs.

    Those do not fit into the memory, as the notes of the table say.
    """

    def make(r: Row) -> Row:
        if (r["tp"], r["batch"]) == ("2", "64"):
            raise Undescribed("64 sequences on two GPUs do not fit into the memory")
        group = {"case": r["row_id"], "group": r["split_group"]}
        request = _request(r, r["mlp"], "scripted", r["output_tokens"])
        request["power_cap_fraction"] = "0.5" if "power-capped (50%" in r["gpu"] else "1"
        return group | request | {"measured": r[f"meas_{column}_median"]}

    return turned(read("splitwise_inference"), make)


def batches(kind: str) -> list[Row]:
    """Rows of trtllm_static_batch of one kind, `throughput` or `latency`."""
    column = {
        "throughput": "meas_output_tokens_per_s_total",
        "latency": "meas_first_token_latency_ms",
    }[kind]

    def make(r: Row) -> Row:
        group = {"case": r["row_id"], "group": r["split_group"]}
        request = _request(r, r["mlp"], "graphs", r["output_tokens"] or "1")
        return group | request | {"measured": r[column]}

    return turned((r for r in read("trtllm_static_batch") if r["kind"] == kind), make)


def _served(r: Row) -> Row:
    format = _format(r["precision"])
    return {
        "gpu": _part(r["gpu"]),
        "dtype": format,
        "prompt": r["isl_tokens"],
        "output_length": r["osl_tokens"],
        "num_requests": r["n_requests"] or "3000",
    }


def _grouped(r: Row) -> Row:
    narrow = _format(r["precision"]) != "bf16"
    return shape(r) | {
        "head_dim": r["head_dim"],
        "kv_cache_dtype": "fp8" if narrow else "bf16",
        "tensor": r["tp"] or "1",
        "pipeline": r["pp"] or "1",
    }


def _net(r: Row) -> str:
    return "latent" if r["kv_lora_rank"] else "mixed" if r["n_experts"] else "dense"


def throughputs(net: str) -> list[Row]:
    """Rows of trtllm_max_throughput of `dense` or `mixed` models, or with `latent` attention.

    Left out are models whose layers differ: experts in every second, or windows of attention.
    """

    def make(r: Row) -> Row:
        if r["sliding_window"] or "every second" in r["arch_note"]:
            raise Undescribed(f"the layers of {r['model']} differ")
        group = f"{r['model']} {_part(r['gpu'])}"
        row = {"case": r["row_id"], "group": group} | _served(r)
        if net == "latent" and (r["layers"], r["hidden_size"]) != ("61", "7168"):
            raise Undescribed(f"{r['model']} is not DeepSeek-V3's")
        if net != "latent":
            row |= _grouped(r)
        if net == "mixed":
            row |= {"experts": r["n_experts"], "moe_top_k": r["experts_topk"]}
            row["ffn_hidden_size"] = r["d_ffn_expert"]
        if net != "dense":
            row["expert_parallel"] = r["attention_dp"] or "1"
        return row | {"measured": r["meas_output_tokens_per_s_total"]}

    return turned((r for r in read("trtllm_max_throughput") if _net(r) == net), make)


def _model(r: Row) -> Row:
    return shape(r) | {"head_dim": r["head_dim"], "tensor": r["tp"]}


def online(column: str) -> list[Row]:
    """Times of trtllm_online_serving under a rate of requests: `ttft_mean` or `itl_mean`."""

    def make(r: Row) -> Row:
        part = _part(r["gpu"])
        row = {"case": r["row_id"], "group": f"{r['model']} {part}"}
        row |= {"gpu": part, "dtype": "bf16", "kv_cache_dtype": "bf16"}
        row |= {"prompt": r["isl_tokens_mean"], "output_length": r["osl_tokens_mean"]}
        row |= {
            "num_requests": r["n_requests"],
            "request_rate": r["offered_qps"],
            "frontend": "inside",
        }
        return row | _model(r) | {"measured": r[f"meas_{column}_ms"]}

    return turned((r for r in read("trtllm_online_serving") if r["offered_qps"]), make)


# InferenceX draws each length from 0.8 to 1 of the one that it names.
_MEAN_LENGTH = 0.9


def _benchmark(r: Row) -> Row:
    """How a row of aic_e2e_inference was measured, as the scripts of its two sources say.

    Both send ten requests for each user (aiconfigurator's docs/dynamo_deployment_guide.md,
    InferenceX's benchmarks). aiconfigurator's own runs (`source_file=data/`) have lengths all
    alike, and SGLang takes prompts first. InferenceX's keep keys and values in 8 bits but for
    MiniMax on H100, let a step take 8,192 tokens unless said otherwise, and TensorRT-LLM wait for
    20 steps with short prompts and answers on fewer than eight accelerators.
    """
    own = r["source_note"].startswith("source_file=data/")
    trtllm, minimax = r["backend"] == "trtllm", "MiniMax" in r["model"]
    narrow = trtllm or not (own or (minimax and r["gpu"].startswith("H100")))
    budget = 8192
    if not own and trtllm:
        budget = 16384
    elif minimax and r["gpu"].startswith("B200"):
        budget = 2 * int(r["isl_tokens"])
    elif minimax and r["gpu"].startswith("H200"):
        budget = 32768
    short = r["isl_tokens"] == r["osl_tokens"] == "1024"
    length = 1 if own else _MEAN_LENGTH
    ending = "together" if r["backend"] == "sglang" else "bunched"
    return {
        "kv_cache_dtype": "fp8" if narrow and _effective(r) != "bf16" else "bf16",
        "prompt": str(round(length * int(r["isl_tokens"]))),
        "output_length": str(round(length * int(r["osl_tokens"]))),
        "concurrency": r["concurrency"],
        "num_requests": str(10 * int(r["concurrency"])),
        "max_num_batched_tokens": str(budget),
        "completion_pattern": ending if own else "apart",
        "frontend": "over_http",
        "batch_wait_steps": "20" if trtllm and not own and short and int(r["tp"]) < 8 else "0",
    }


def _effective(r: Row) -> str:
    effective = r["precision_effective"][:3]
    return effective if effective in ("fp8", "fp4") else "bf16"


def closed(column: str, net: str) -> list[Row]:
    """Times of aic_e2e_inference, `ttft` or `tpot`, of one kind of models, without flags.

    Copies of attention were asked for in many rows, but the script for weights in 8 bits does not
    hand that on: its rows with and without agree within 2 %. That for 4 bits makes as many copies
    as accelerators. Requests come over HTTP.
    """

    def make(r: Row) -> Row:
        reasons = {
            "its source doubts it": r["quality_flags"],
            "prompts and answers are computed apart": r["mode"] != "agg",
            "not DeepSeek-V3's layers": net == "latent" and r["layers"] != "61",
            "windows of attention": r["sliding_window"],
        }
        for reason, holds in reasons.items():
            if holds:
                raise Undescribed(reason)
        row = {"case": r["row_id"], "group": f"{r['model']} {r['system']} {r['backend']}"}
        row |= {"gpu": _part(r["gpu"]), "dtype": _effective(r)} | _benchmark(r)
        if net == "latent":
            # Its copies are as many as the accelerators, which is what the experts are cut in.
            copies = int(r["attention_dp"] or 1) > 1
            row |= (
                {"expert_parallel": r["moe_ep"], "tensor": "1"} if copies else {"tensor": r["tp"]}
            )
            row.setdefault("expert_parallel", "1")
            return row | {"measured": r[f"meas_{column}_ms"]}
        row |= _model(r)
        if net == "mixed":
            copies = _effective(r) == "fp4" and int(r["attention_dp"] or 1) > 1
            row |= {"experts": r["n_experts"], "moe_top_k": r["experts_topk"]}
            row |= {
                "ffn_hidden_size": r["d_ffn_expert"],
                "expert_parallel": r["tp"] if copies else "1",
            }
            row |= {"tensor": "1"} if copies else {}
        return row | {"measured": r[f"meas_{column}_ms"]}

    return turned((r for r in read("aic_e2e_inference") if _net(r) == net), make)


# What the study of BERT calls the parts that lack units for some format.
_OF_ALL = {"T4": "T4_of_all", "V100_SXM_16GB": "V100_of_all", "V100_PCIe": "V100_of_all"}
_WORDS = {"FP16": "fp16", "TF32": "tf32", "FP32": "tf32", "INT8": "int8"}


def encoders() -> list[Row]:
    """FasterTransformer's rows of ft_bert_inference; what takes padding out has half the positions.

    The table does not say which A100 of 40 GB it is: that on the board is taken.
    """

    def make(r: Row) -> Row:
        words = r["implementation"].split("-")
        if "FT" not in words:
            raise Undescribed("a framework's own kernels")
        board = r["gpu"].startswith("A100-40GB")
        machine = "A100_SXM_40GB" if board else component(r["gpu"])
        if r["precision"] == "FP32" and machine not in _OF_ALL:
            raise Undescribed("words of 32 bits where there are units for TF32")
        padded = int(r["seq_len"])
        return {
            "case": r["row_id"],
            "group": f"{machine} {r['precision']}",
            "accelerator": _OF_ALL.get(machine, machine),
            "model": "BERT_Large" if r["hidden_size"] == "1024" else "BERT_Base",
            "dtype": _WORDS[r["precision"][:4]],
            "batch": r["batch"],
            "positions": str(padded // 2 if "EFF" in words else padded),
            "measured": r["meas_latency_ms"],
        }

    return turned(read("ft_bert_inference"), make)


def replayed(column: str) -> list[Row]:
    """Means of `ttft_s` or `tpot_ms` of vllm_requests, a row for each machine and model.

    Requests come in the order of their arrival at one rate; a single one depends on the scheduler.
    """
    runs: dict[str, list[Row]] = {}
    for r in read("vllm_requests"):
        runs.setdefault(f"{r['split_group']} tp{r['tp']} dp{r['dp']}", []).append(r)

    def mean(rows: list[Row], name: str) -> float:
        return sum(float(r[name]) for r in rows) / len(rows)

    def make(r: Row) -> Row:
        rows = runs[r["run"]]
        if r["arch"] != "dense" or r["dp"] != "1":
            raise Undescribed("experts, of which the table does not say how many, or copies")
        span = max(float(one["arrival_s"]) for one in rows)
        row = {"case": r["run"], "group": _part(r["gpu"]), "gpu": _part(r["gpu"])}
        row |= {"dtype": "bf16", "kv_cache_dtype": "bf16", "max_num_seqs": r["max_num_seqs"]}
        row |= {"prompt": str(round(mean(rows, "input_tokens")))}
        row |= {"output_length": str(round(mean(rows, "output_tokens")))}
        row |= {"num_requests": str(len(rows)), "request_rate": str(len(rows) / span)}
        row |= {"max_num_batched_tokens": r["max_num_batched_tokens"]} | _model(r)
        scale = 1000 if column.endswith("_s") else 1
        return row | {"measured": str(scale * mean(rows, f"meas_{column}"))}

    return turned((rows[0] | {"run": run} for run, rows in runs.items()), make)


_KERNELS = "studies/kernels.hw"
_BATCHES = "studies/static_batch_inference.hw"
_SERVED = "studies/llm_serving.hw"

SETS = (
    Set("llmcompass_ops, products above 500 us", _KERNELS, "gemm", compared, "us"),
    Set("vllm_layer_ops, products", _KERNELS, "gemm", layered, "us"),
    Set("deepgemm_h800", _KERNELS, "gemm_fp8", deepgemm, "us"),
    Set("aic_moe, 16 bits", _KERNELS, "experts", lambda: mixtures("bfloat16"), "us"),
    Set("aic_moe, 8 bits", _KERNELS, "moe_experts_fp8", lambda: mixtures("fp8"), "us"),
    Set("aic_moe, 4 bits", _KERNELS, "moe_experts_fp4", lambda: mixtures("nvfp4"), "us"),
    Set("ft_bert_inference", "studies/bert.hw", "bert_inference", encoders, "ms", group="group"),
    Set("vllm_requests, between tokens", _SERVED, "serving", lambda: replayed("tpot_ms"), "ms",
        "tpot", "baseline_loaded_tpot", "group"),
    Set("vllm_requests, first token", _SERVED, "serving", lambda: replayed("ttft_s"), "ms",
        "ttft", "baseline_ttft", "group"),
    Set("ft_gpt_inference", _BATCHES, "static_batch_inference", lambda: generations("e2e_latency_ms"), "ms",
        "e2e_latency", "baseline_e2e_latency", "group", "GPT of 350M, 1.3B and 20B: issue, late sums",
        ("issue_compiled", "sum_late")),
    Set("ft_gpt_inference, memory", _BATCHES, "static_batch_inference", lambda: generations("memory_gb"), "GB",
        "memory_used", None, "group"),
    Set("splitwise_inference, one token", _BATCHES, "static_batch_inference",
        lambda: splitwise("decode_ms_per_token"), "ms", "tpot", "baseline_tpot", "group",
        "Llama: pause, time of a sequence, hosts",
        ("python_pause", "python_sequence", "later_host")),
    Set("splitwise_inference, prompts", _BATCHES, "static_batch_inference", lambda: splitwise("prefill_ms"), "ms",
        "ttft", "baseline_ttft", "group", "sums of 60 MB and more", ("large_sum_share",)),
    Set("trtllm_static_batch", _BATCHES, "static_batch_inference", lambda: batches("throughput"), "token/s",
        "throughput", "baseline_throughput", "group"),
    Set("trtllm_static_batch, first token", _BATCHES, "static_batch_inference", lambda: batches("latency"), "ms",
        "ttft", "baseline_ttft", "group"),
    Set("trtllm_max_throughput, dense", _SERVED, "serving", lambda: throughputs("dense"), "token/s",
        "throughput", "baseline_throughput", "group", "time of a sequence; keys' share on 323 rows",
        ("kept_share", "for_sequence")),
    Set("trtllm_max_throughput, experts", _SERVED, "serving_moe", lambda: throughputs("mixed"),
        "token/s", "throughput", "baseline_throughput", "group"),
    Set("trtllm_max_throughput, latent", _SERVED, "serving_mla", lambda: throughputs("latent"),
        "token/s", "throughput", "baseline_throughput", "group"),
    Set("trtllm_online_serving, between tokens", _SERVED, "serving", lambda: online("itl_mean"),
        "ms", "tpot", "baseline_loaded_tpot", "group"),
    Set("trtllm_online_serving, first token", _SERVED, "serving", lambda: online("ttft_mean"),
        "ms", "ttft", "baseline_ttft", "group", "what is beside the accelerators", ("in_process",)),
    Set("aic_e2e_inference, dense, between tokens", _SERVED, "serving",
        lambda: closed("tpot", "dense"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, dense, first token", _SERVED, "serving",
        lambda: closed("ttft", "dense"), "ms", "closed_loop_ttft", "baseline_ttft", "group",
        "prompts together, what is beside the accelerators", ("bunch", "over_network")),
    Set("aic_e2e_inference, experts, between tokens", _SERVED, "serving_moe",
        lambda: closed("tpot", "mixed"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, experts, first token", _SERVED, "serving_moe",
        lambda: closed("ttft", "mixed"), "ms", "closed_loop_ttft", "baseline_ttft", "group",
        "what is beside the accelerators", ("over_network",)),
    Set("aic_e2e_inference, latent, between tokens", _SERVED, "serving_mla",
        lambda: closed("tpot", "latent"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, latent, first token", _SERVED, "serving_mla",
        lambda: closed("ttft", "latent"), "ms", "closed_loop_ttft", "baseline_ttft", "group"),
)  # fmt: skip

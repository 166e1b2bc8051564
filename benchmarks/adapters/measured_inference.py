"""Adapters of published tables of inference, for the studies of kernels, static-batch inference,
serving and BERT."""

from collections.abc import Callable

from machines import Undescribed, component
from measured import Row, Set, above, converted, read, shape

# Names of GPUs in the studies of inference.
_GPUS = {
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
_DTYPES = {"FP16": "bf16", "BF16": "bf16", "FP8": "fp8", "NVFP4": "fp4", "FP4": "fp4"}


def _gpu(name: str) -> str:
    """The study's name of a GPU in a table. Raises Undescribed for one that the studies lack."""
    found = component(name.replace(" power-capped", ""))
    if found not in _GPUS:
        raise Undescribed(f"the studies of inference have no `{found}`")
    return _GPUS[found]


def _dtype(name: str) -> str:
    """The study's name of a dtype in a table. Raises Undescribed for one that the studies lack."""
    if name.upper() not in _DTYPES:
        raise Undescribed(f"no dtype is called `{name}`")
    return _DTYPES[name.upper()]


_FP4_KERNELS = {
    "moe_torch_flow_cutlass": "cutlass",
    "moe_torch_flow_min_latency": "min_latency",
}


def moe_layers(dtype: str) -> list[Row]:
    """MoE layers of aic_moe in one dtype, `bfloat16`, `fp8` or `nvfp4`."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "tokens": r["num_tokens_global"],
            "hidden_size": r["d_model"],
            "ffn_hidden_size": r["d_ffn_expert"],
            "experts": r["n_experts"],
            "moe_top_k": r["experts_topk"],
            "tensor": r["moe_tp"],
            "expert_parallel": r["moe_ep"],
            "balanced_routing": "true" if r["token_distribution"] == "balanced" else "false",
            "measured": r["meas_time_us"],
        } | ({"kernel": _FP4_KERNELS[r["kernel_source"]]} if dtype == "nvfp4" else {})

    return converted((r for r in read("aic_moe") if r["moe_dtype"] == dtype), make)


def _gemm(r: Row, shape: tuple[str, str, str], time: str) -> Row:
    m, n, k = shape
    machine = component(r["gpu"])
    return {"case": r["row_id"], "accelerator": machine, "m": m, "n": n, "k": k, "measured": time}


def llmcompass_gemms() -> list[Row]:
    """GEMMs of llmcompass_ops above 500 us: every time includes a launch of 20 us."""

    def make(r: Row) -> Row:
        return _gemm(r, (r["m"], r["n"], r["k"]), r["meas_time_us"])

    gemms = (r for r in read("llmcompass_ops") if r["op"] == "matmul")
    return above(500, converted(gemms, make))


def vllm_gemms() -> list[Row]:
    """GEMMs of vllm_layer_ops in 16 bits."""

    def make(r: Row) -> Row:
        return _gemm(r, (r["gemm_m"], r["gemm_n"], r["gemm_k"]), r["meas_time_us"])

    return converted((r for r in read("vllm_layer_ops") if r["gemm_m"]), make)


def deepgemm() -> list[Row]:
    """Dense GEMMs of deepgemm_h800 with prequantized input; H800 computes as H100 does."""

    def make(r: Row) -> Row:
        shape = (r["m_per_group"], r["n"], r["k"])
        return {"quantization": "prequantized"} | _gemm(r, shape, r["derived_time_us"])

    return converted((r for r in read("deepgemm_h800") if r["kind"] == "dense"), make)


def _static_batch(r: Row, mlp: str, runtime: str, output_length: str) -> Row:
    """Params of a static batch; `mlp` is the table's description of the FFN."""
    is_moe = "MoE" in mlp
    dtype = _dtype(r["precision"])
    return shape(r) | {
        "gated": "false" if "ungated" in mlp else "true",
        "experts": "8" if is_moe else "0",
        "moe_top_k": "2" if is_moe else "0",
        "all_reduces_per_layer": "1" if "parallel" in mlp else "2",
        "gpu": _gpu(r["gpu"]),
        "dtype": dtype,
        "kv_cache_dtype": dtype,
        "runtime": runtime,
        "tensor": r["tp"],
        "pipeline": r.get("pp") or "1",
        "batch": r["batch"],
        "input_length": r.get("input_tokens") or r.get("prompt_tokens", ""),
        "output_length": output_length,
    }


def fastertransformer(column: str) -> list[Row]:
    """`e2e_latency_ms` or `memory_gb` of ft_gpt_inference. Rows of Megatron, which has no KV cache,
    are left out."""

    def make(r: Row) -> Row:
        if r["framework"] != "FasterTransformer":
            raise Undescribed(f"{r['framework']} has no KV cache")
        group = {"case": r["row_id"], "group": f"{r['model']} x{r['n_gpus']}"}
        request = _static_batch(r, "ungated", "compiled_engine", r["output_tokens"])
        return group | request | {"measured": r[f"meas_{column}"]}

    return converted((r for r in read("ft_gpt_inference") if r[f"meas_{column}"]), make)


def splitwise(column: str) -> list[Row]:
    """`prefill_ms` or `decode_ms_per_token` of splitwise_inference, without 64 sequences on two
    GPUs, which do not fit into memory according to the notes of the table.
    """

    def make(r: Row) -> Row:
        if (r["tp"], r["batch"]) == ("2", "64"):
            raise Undescribed("64 sequences on two GPUs do not fit into memory")
        group = {"case": r["row_id"], "group": r["split_group"]}
        request = _static_batch(r, r["mlp"], "eager_python", r["output_tokens"])
        request["power_cap_fraction"] = "0.5" if "power-capped (50%" in r["gpu"] else "1"
        return group | request | {"measured": r[f"meas_{column}_median"]}

    return converted(read("splitwise_inference"), make)


def tensorrt_llm_static_batch(kind: str) -> list[Row]:
    """Rows of trtllm_static_batch of one kind, `throughput` or `latency`."""
    column = {
        "throughput": "meas_output_tokens_per_s_total",
        "latency": "meas_first_token_latency_ms",
    }[kind]

    def make(r: Row) -> Row:
        group = {"case": r["row_id"], "group": r["split_group"]}
        request = _static_batch(r, r["mlp"], "cuda_graphs", r["output_tokens"] or "1")
        return group | request | {"measured": r[column]}

    return converted((r for r in read("trtllm_static_batch") if r["kind"] == kind), make)


def _requests(r: Row) -> Row:
    return {
        "gpu": _gpu(r["gpu"]),
        "dtype": _dtype(r["precision"]),
        "input_length": r["isl_tokens"],
        "output_length": r["osl_tokens"],
        "num_requests": r["n_requests"] or "3000",
    }


def _gqa_model(r: Row) -> Row:
    low_precision = _dtype(r["precision"]) != "bf16"
    return shape(r) | {
        "head_dim": r["head_dim"],
        "kv_cache_dtype": "fp8" if low_precision else "bf16",
        "tensor": r["tp"] or "1",
        "pipeline": r["pp"] or "1",
    }


def _architecture(r: Row) -> str:
    return "mla_moe" if r["kv_lora_rank"] else "moe" if r["n_experts"] else "dense"


def max_throughput(architecture: str) -> list[Row]:
    """Rows of trtllm_max_throughput of one architecture: `dense`, `moe` or `mla_moe`.

    Models whose layers differ, by MoE in every second layer or by sliding-window attention, are
    left out.
    """

    def make(r: Row) -> Row:
        if r["sliding_window"] or "every second" in r["arch_note"]:
            raise Undescribed(f"the layers of {r['model']} differ")
        group = f"{r['model']} {_gpu(r['gpu'])}"
        row = {"case": r["row_id"], "group": group} | _requests(r)
        if architecture == "mla_moe" and (r["n_layers"], r["d_model"]) != ("61", "7168"):
            raise Undescribed(f"{r['model']} is not DeepSeek-V3's")
        if architecture != "mla_moe":
            row |= _gqa_model(r)
        if architecture == "moe":
            row |= {"experts": r["n_experts"], "moe_top_k": r["experts_topk"]}
            row["ffn_hidden_size"] = r["d_ffn_expert"]
        if architecture != "dense":
            row["expert_parallel"] = r["attention_dp"] or "1"
        return row | {"measured": r["meas_output_tokens_per_s_total"]}

    rows = read("trtllm_max_throughput")
    return converted((r for r in rows if _architecture(r) == architecture), make)


def _model(r: Row) -> Row:
    return shape(r) | {"head_dim": r["head_dim"], "tensor": r["tp"]}


def request_rate(column: str) -> list[Row]:
    """Times of trtllm_online_serving at a request rate: `ttft_mean` or `itl_mean`."""

    def make(r: Row) -> Row:
        gpu = _gpu(r["gpu"])
        row = {"case": r["row_id"], "group": f"{r['model']} {gpu}"}
        row |= {"gpu": gpu, "dtype": "bf16", "kv_cache_dtype": "bf16"}
        row |= {"input_length": r["isl_tokens_mean"], "output_length": r["osl_tokens_mean"]}
        row |= {
            "num_requests": r["n_requests"],
            "request_rate": r["offered_qps"],
            "frontend": "in_process",
        }
        return row | _model(r) | {"measured": r[f"meas_{column}_ms"]}

    return converted((r for r in read("trtllm_online_serving") if r["offered_qps"]), make)


# InferenceX draws each length between 0.8 and 1 of the nominal length.
_MEAN_LENGTH = 0.9


def _benchmark(r: Row) -> Row:
    """Benchmark settings of a row of aic_e2e_inference, from the scripts of its two sources.

    Both send ten requests per concurrent user (aiconfigurator's docs/dynamo_deployment_guide.md,
    InferenceX's benchmarks). The runs of aiconfigurator itself (`source_file=data/`) have equal
    lengths, and SGLang prioritizes prefills. Those of InferenceX have a KV cache in FP8 except for
    MiniMax on H100 and a `max_num_batched_tokens` of 8,192 unless stated otherwise; TensorRT-LLM
    waits 20 steps to fill a batch if input and output are short and run on fewer than eight
    accelerators.
    """
    own = r["source_note"].startswith("source_file=data/")
    trtllm, minimax = r["backend"] == "trtllm", "MiniMax" in r["model"]
    fp8_kv_cache = trtllm or not (own or (minimax and r["gpu"].startswith("H100")))
    budget = 8192
    if not own and trtllm:
        budget = 16384
    elif minimax and r["gpu"].startswith("B200"):
        budget = 2 * int(r["isl_tokens"])
    elif minimax and r["gpu"].startswith("H200"):
        budget = 32768
    short = r["isl_tokens"] == r["osl_tokens"] == "1024"
    length = 1 if own else _MEAN_LENGTH
    ending = "synchronized" if r["backend"] == "sglang" else "grouped"
    return {
        "kv_cache_dtype": "fp8" if fp8_kv_cache and _effective(r) != "bf16" else "bf16",
        "runtime": "vllm" if r["backend"] == "vllm" else "cuda_graphs",
        "input_length": str(round(length * int(r["isl_tokens"]))),
        "output_length": str(round(length * int(r["osl_tokens"]))),
        "concurrency": r["concurrency"],
        "num_requests": str(10 * int(r["concurrency"])),
        "max_num_batched_tokens": str(budget),
        "completion_pattern": ending if own else "staggered",
        "frontend": "http",
        "batch_wait_steps": "20" if trtllm and not own and short and int(r["tp"]) < 8 else "0",
    }


def _effective(r: Row) -> str:
    effective = r["precision_effective"][:3]
    return effective if effective in ("fp8", "fp4") else "bf16"


def closed_loop(column: str, architecture: str) -> list[Row]:
    """Times of aic_e2e_inference, `ttft` or `tpot`, of one architecture, without quality flags.

    Many rows request attention data parallelism, but the script for FP8 weights does not pass the
    option on: its rows with and without agree within 2 %. The script for FP4 uses as many
    data-parallel ranks as accelerators. Requests come over HTTP.
    """

    def make(r: Row) -> Row:
        reasons = {
            "a quality flag of its source": r["quality_flags"],
            "prefill and decode are disaggregated": r["mode"] != "agg",
            "not DeepSeek-V3's layers": architecture == "mla_moe" and r["n_layers"] != "61",
            "sliding-window attention": r["sliding_window"],
        }
        for reason, holds in reasons.items():
            if holds:
                raise Undescribed(reason)
        row = {"case": r["row_id"], "group": f"{r['model']} {r['system']} {r['backend']}"}
        row |= {"gpu": _gpu(r["gpu"]), "dtype": _effective(r)} | _benchmark(r)
        if architecture == "mla_moe":
            # Attention data parallelism is over all accelerators, as is expert parallelism.
            attention_dp = int(r["attention_dp"] or 1) > 1
            row |= (
                {"expert_parallel": r["moe_ep"], "tensor": "1"}
                if attention_dp
                else {"tensor": r["tp"]}
            )
            row.setdefault("expert_parallel", "1")
            return row | {"measured": r[f"meas_{column}_ms"]}
        row |= _model(r)
        if architecture == "moe":
            attention_dp = _effective(r) == "fp4" and int(r["attention_dp"] or 1) > 1
            row |= {"experts": r["n_experts"], "moe_top_k": r["experts_topk"]}
            row |= {
                "ffn_hidden_size": r["d_ffn_expert"],
                "expert_parallel": r["tp"] if attention_dp else "1",
            }
            row |= {"tensor": "1"} if attention_dp else {}
        return row | {"measured": r[f"meas_{column}_ms"]}

    rows = read("aic_e2e_inference")
    return converted((r for r in rows if _architecture(r) == architecture), make)


# Names in the study of BERT of accelerators without matrix units for one of its dtypes.
_FP32_ON_VECTOR_UNITS = {
    "T4": "T4_fp32_on_vector_units",
    "V100_SXM_16GB": "V100_fp32_on_vector_units",
    "V100_PCIe": "V100_fp32_on_vector_units",
}
_BERT_DTYPES = {"FP16": "fp16", "TF32": "tf32", "FP32": "tf32", "INT8": "int8"}


def bert_encoders() -> list[Row]:
    """FasterTransformer's rows of ft_bert_inference; those that remove padding have half the
    sequence length.

    The table does not say which A100 with 40 GB it is; the SXM module is assumed.
    """

    def make(r: Row) -> Row:
        words = r["implementation"].split("-")
        if "FT" not in words:
            raise Undescribed("a framework's own kernels")
        board = r["gpu"].startswith("A100-40GB")
        machine = "A100_SXM_40GB" if board else component(r["gpu"])
        if r["precision"] == "FP32" and machine not in _FP32_ON_VECTOR_UNITS:
            raise Undescribed("FP32 on matrix units for TF32")
        padded = int(r["seq_len"])
        return {
            "case": r["row_id"],
            "group": f"{machine} {r['precision']}",
            "accelerator": _FP32_ON_VECTOR_UNITS.get(machine, machine),
            "model": "BERT_Large" if r["d_model"] == "1024" else "BERT_Base",
            "dtype": _BERT_DTYPES[r["precision"][:4]],
            "batch": r["batch"],
            "seq_length": str(padded // 2 if "EFF" in words else padded),
            "measured": r["meas_latency_ms"],
        }

    return converted(read("ft_bert_inference"), make)


def request_traces(column: str) -> list[Row]:
    """Means of `ttft_s` or `tpot_ms` of vllm_requests, one row for each GPU and model.

    Requests arrive at one rate; the time of a single request depends on the scheduler.
    """
    runs: dict[str, list[Row]] = {}
    for r in read("vllm_requests"):
        runs.setdefault(f"{r['split_group']} tp{r['tp']} dp{r['dp']}", []).append(r)

    def mean(rows: list[Row], name: str) -> float:
        return sum(float(r[name]) for r in rows) / len(rows)

    def make(r: Row) -> Row:
        rows = runs[r["run"]]
        if r["arch"] != "dense" or r["dp"] != "1":
            raise Undescribed("MoE with an unstated number of experts, or data parallelism")
        span = max(float(one["arrival_s"]) for one in rows)
        row = {"case": r["run"], "group": _gpu(r["gpu"]), "gpu": _gpu(r["gpu"])}
        row |= {"dtype": "bf16", "kv_cache_dtype": "bf16", "max_num_seqs": r["max_num_seqs"]}
        row |= {"input_length": str(round(mean(rows, "input_tokens")))}
        row |= {"output_length": str(round(mean(rows, "output_tokens")))}
        row |= {"num_requests": str(len(rows)), "request_rate": str(len(rows) / span)}
        row |= {"max_num_batched_tokens": r["max_num_batched_tokens"]} | _model(r)
        scale = 1000 if column.endswith("_s") else 1
        return row | {"measured": str(scale * mean(rows, f"meas_{column}"))}

    return converted((rows[0] | {"run": run} for run, rows in runs.items()), make)


_KERNELS = "studies/kernels.hw"
_STATIC = "studies/static_batch_inference.hw"
_SERVING = "studies/llm_serving.hw"


def _static(
    name: str,
    rows: Callable[[], list[Row]],
    output: str,
    baseline: str | None,
    unit: str = "ms",
    fitted: str = "none",
    coefficients: tuple[str, ...] = (),
) -> Set:
    """A set of static batches."""
    return Set(name, _STATIC, "static_batch_inference", rows, unit, output, baseline, "group",
               fitted, coefficients)  # fmt: skip


SETS = (
    Set("llmcompass_ops, GEMMs above 500 us", _KERNELS, "gemm", llmcompass_gemms, "us",
        fitted="MI210's"),
    Set("vllm_layer_ops, GEMMs", _KERNELS, "gemm", vllm_gemms, "us"),
    Set("deepgemm_h800", _KERNELS, "gemm_fp8", deepgemm, "us"),
    Set("aic_moe, 16 bits", _KERNELS, "moe_experts", lambda: moe_layers("bfloat16"), "us"),
    Set("aic_moe, 8 bits", _KERNELS, "moe_experts_fp8", lambda: moe_layers("fp8"), "us"),
    Set("aic_moe, 4 bits", _KERNELS, "moe_experts_fp4", lambda: moe_layers("nvfp4"), "us",
        fitted="all", coefficients=("fp4_cutlass_expert_ratio", "fp4_min_latency_expert_ratio")),
    Set("ft_bert_inference", "studies/bert.hw", "bert_inference", bert_encoders, "ms",
        group="group"),
    Set("vllm_requests, TPOT", _SERVING, "serving", lambda: request_traces("tpot_ms"), "ms",
        "tpot", "baseline_loaded_tpot", "group"),
    Set("vllm_requests, TTFT", _SERVING, "serving", lambda: request_traces("ttft_s"), "ms",
        "ttft", "baseline_ttft", "group"),
    _static("ft_gpt_inference", lambda: fastertransformer("e2e_latency_ms"),
            "e2e_latency", "baseline_e2e_latency",
            fitted="GPT of 350M, 1.3B and 20B: launch overhead, all-reduce skew",
            coefficients=("compiled_launch_overhead", "nccl_all_reduce_skew")),
    _static("ft_gpt_inference, memory", lambda: fastertransformer("memory_gb"),
            "memory_used", None, "GB"),
    _static("splitwise_inference, TPOT", lambda: splitwise("decode_ms_per_token"),
            "tpot", "baseline_tpot",
            fitted="Llama: overhead of a step, overhead of a sequence, host speed",
            coefficients=("python_step_overhead", "python_overhead_per_sequence",
                          "xeon_8480c_host_speed")),
    _static("splitwise_inference, TTFT", lambda: splitwise("prefill_ms"),
            "ttft", "baseline_ttft", fitted="all-reduces of 60 MB and more",
            coefficients=("vllm_2023_large_all_reduce_efficiency",)),
    _static("trtllm_static_batch", lambda: tensorrt_llm_static_batch("throughput"),
            "output_throughput", "baseline_throughput", "token/s"),
    _static("trtllm_static_batch, TTFT", lambda: tensorrt_llm_static_batch("latency"),
            "ttft", "baseline_ttft"),
    Set("trtllm_max_throughput, dense", _SERVING, "serving", lambda: max_throughput("dense"),
        "token/s", "output_throughput", "baseline_throughput", "group",
        "overhead of a sequence; KV-cache memory fraction on 323 rows",
        ("default_kv_cache_memory_fraction", "scheduler_overhead_per_sequence")),
    Set("trtllm_max_throughput, MoE", _SERVING, "serving_moe", lambda: max_throughput("moe"),
        "token/s", "output_throughput", "baseline_throughput", "group"),
    Set("trtllm_max_throughput, MLA", _SERVING, "serving_mla", lambda: max_throughput("mla_moe"),
        "token/s", "output_throughput", "baseline_throughput", "group"),
    Set("trtllm_online_serving, TPOT", _SERVING, "serving", lambda: request_rate("itl_mean"),
        "ms", "tpot", "baseline_loaded_tpot", "group"),
    Set("trtllm_online_serving, TTFT", _SERVING, "serving", lambda: request_rate("ttft_mean"),
        "ms", "ttft", "baseline_ttft", "group", "TTFT outside the accelerators",
        ("in_process_ttft_overhead",)),
    Set("aic_e2e_inference, dense, TPOT", _SERVING, "serving",
        lambda: closed_loop("tpot", "dense"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, dense, TTFT", _SERVING, "serving",
        lambda: closed_loop("ttft", "dense"), "ms", "closed_loop_ttft", "baseline_ttft", "group",
        "co-scheduled prefills, TTFT outside the accelerators",
        ("co_scheduled_prefills", "http_ttft_overhead")),
    Set("aic_e2e_inference, MoE, TPOT", _SERVING, "serving_moe",
        lambda: closed_loop("tpot", "moe"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, MoE, TTFT", _SERVING, "serving_moe",
        lambda: closed_loop("ttft", "moe"), "ms", "closed_loop_ttft", "baseline_ttft", "group",
        "TTFT outside the accelerators", ("http_ttft_overhead",)),
    Set("aic_e2e_inference, MLA, TPOT", _SERVING, "serving_mla",
        lambda: closed_loop("tpot", "mla_moe"), "ms", "closed_loop_tpot", "baseline_tpot", "group"),
    Set("aic_e2e_inference, MLA, TTFT", _SERVING, "serving_mla",
        lambda: closed_loop("ttft", "mla_moe"), "ms", "closed_loop_ttft", "baseline_ttft", "group"),
)  # fmt: skip

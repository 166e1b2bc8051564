"""Adapters that convert published tables to rows of evaluators, and the tables of kernels.

The published tables are not part of the project; HWDSL_REFERENCE_DATA names their folder. An
adapter converts one table to rows of one evaluator. A row is a dict with the evaluator's params by
name as text (`name [unit]` where a cell is not in the unit of the param), the measured value under
`measured`, the name of the row under `case`, and a column to group by. Rows that the library does
not describe, or that the evaluator does not accept, are left out, counted and reported. A `Set`
names the evaluator of its rows. `benchmarks/accuracy.py` scores the `SETS` of every module
`measured*.py` in this folder.
"""

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from machines import Undescribed, component
from numpy.typing import NDArray

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime.spec import ParamSpec

Row = dict[str, str]
# The only key of a row that is left out; its value is the reason.
LEFT_OUT = "left out"


@frozen
class Given:
    """Rows that an evaluator accepts, and the number of rows left out for each reason."""

    rows: list[Row]
    left_out: dict[str, int]

    def said(self) -> list[str]:
        """One line for each reason, most frequent first."""
        ordered = sorted(self.left_out.items(), key=lambda item: -item[1])
        return [f"{count} rows left out: {reason}" for reason, count in ordered]


@frozen
class Set:
    """Rows of a published table that one evaluator predicts.

    `file` is a path below the library, such as `studies/kernels.hw`. `rows` reads the rows. `unit`
    is the unit of `measured`; `output` and `baseline` are outputs of the evaluator; `group` is a
    column of the rows. `fitted` says which of these rows the coefficients were fitted to.
    `coefficients` are the coefficients that `--hold-out` fits with each group left out in turn; a
    set without them is not cross-validated. `hold_out_params` are params to set in that
    cross-validation, so that no coefficient of the held-out group itself is used.
    """

    name: str
    file: str
    evaluator: str
    rows: Callable[[], list[Row]]
    unit: str
    output: str = "time"
    baseline: str | None = "baseline"
    group: str = "accelerator"
    fitted: str = "none"
    coefficients: tuple[str, ...] = ()
    hold_out_params: tuple[tuple[str, str], ...] = ()

    def given(self, evaluator: Evaluator) -> Given:
        """The rows that the evaluator accepts, and the count of the others by reason.

        Raises FileNotFoundError without the table.
        """
        reasons = [(row, _refusal(row, evaluator)) for row in self.rows()]
        return Given(
            [row for row, reason in reasons if not reason],
            dict(Counter(reason for _, reason in reasons if reason)),
        )

    def errors(
        self, evaluator: Evaluator, rows: Sequence[Row]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Relative errors of the output and of the baseline on rows that the evaluator accepts."""
        params = {p.name for p in evaluator.spec.params}
        given = {c: [r[c] for r in rows] for c in rows[0] if c in params}
        swept = evaluator.sweep(zipped=given).raw  # what was measured has been built
        truth = np.array([float(r["measured"]) for r in rows])
        baseline = None if self.baseline is None else swept.column(self.baseline) / truth - 1
        return swept.column(self.output) / truth - 1, baseline


def _refusal(row: Row, evaluator: Evaluator) -> str:
    """Why a row is left out; an empty text if it is not."""
    if LEFT_OUT in row:
        return row[LEFT_OUT]
    found = (
        _outside(p, row[p.name], evaluator.name) for p in evaluator.spec.params if p.name in row
    )
    return next((reason for reason in found if reason), "")


def _outside(param: ParamSpec, cell: str, evaluator: str) -> str:
    """Why an evaluator does not accept a cell; an empty text if it does."""
    if param.kind == "bool":
        return "" if cell in ("true", "false") else f"`{param.name}` of {evaluator} is no `{cell}`"
    if param.kind == "choice":
        known = cell in param.labels
        return (
            "" if known else f"{evaluator} has no `{cell}` among its alternatives of {param.name}"
        )
    try:
        value = float(cell) * float(param.scale.factor)
    except ValueError:
        return f"no number for {param.name} but `{cell}`"
    fits = param.low <= value <= param.high and (param.kind != "int" or value == int(value))
    return "" if fits else f"{evaluator} is not for {param.name} = {cell}"


def converted(rows: Iterable[Row], make: Callable[[Row], Row]) -> list[Row]:
    """Rows of a table as rows of an evaluator, each converted by `make`. A row of something that
    the library does not describe, or with an empty cell, becomes a row with the reason."""
    found = []
    for row in rows:
        try:
            made = make(row)
            empty = [name for name, cell in made.items() if not cell]
            if empty:
                made = {LEFT_OUT: f"a cell is not filled: {' '.join(empty)}"}
            elif not float(made["measured"]) > 0:
                made = {LEFT_OUT: "nothing was measured"}
        except Undescribed as error:
            made = {LEFT_OUT: str(error)}
        except ValueError as error:
            made = {LEFT_OUT: f"a cell is not filled, or no number: {error}"}
        found.append(made)
    return found


def folder() -> Path | None:
    """The folder of the tables; None if there is none.

    HWDSL_REFERENCE_DATA names this folder, or a folder that contains it as `measured`.
    """
    where = os.environ.get("HWDSL_REFERENCE_DATA")
    places = [Path(where) / "measured", Path(where)] if where else []
    return next((place for place in places if any(place.glob("*.csv"))), None)


def read(name: str) -> list[Row]:
    """The rows of a table as published; `systems/NAME` is one in the folder of the tables of systems,
    beside `measured`. Raises FileNotFoundError without the tables."""
    place = folder()
    if place is None:
        raise FileNotFoundError("HWDSL_REFERENCE_DATA names no folder of tables")
    if "/" in name and place.name == "measured":
        place = place.parent
    with (place / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _gemm(r: Row) -> Row:
    shape = {d: r[d] for d in "mnk"}
    return {
        "case": r["row_id"],
        "accelerator": component(r["gpu"]),
        **shape,
        "measured": r["meas_time_us"],
    }


def shape(r: Row) -> Row:
    """The shape of a language model: params of evaluators from columns of the tables."""
    return {
        "layers": r["n_layers"],
        "hidden_size": r["d_model"],
        "heads": r["n_heads"],
        "kv_heads": r["n_kv_heads"],
        "ffn_hidden_size": r["d_ffn"],
        "vocab_size": r["vocab"],
    }


# Where each library of aic_gemm quantizes the input of an FP8 GEMM: TensorRT-LLM quantizes
# dynamically per tensor, after an amax pass; the others use a static scale and one block per row.
QUANTIZATION = {
    "trtllm": "dynamic_per_tensor",
    "vllm": "static_scale_row_blocks",
    "sglang": "static_scale_row_blocks",
}


def gemms(dtype: str) -> list[Row]:
    """GEMMs of aic_gemm in one dtype: `bfloat16`, `fp8`, or `nvfp4` with static scales."""

    def make(r: Row) -> Row:
        library = r.get("framework", "").partition("/")[0]
        quantization = (
            QUANTIZATION.get(library, "dynamic_per_tensor") if dtype == "fp8" else "static_scale"
        )
        return _gemm(r) | ({} if dtype == "bfloat16" else {"quantization": quantization})

    return converted((r for r in read("aic_gemm") if r["dtype"] == dtype), make)


def linear_layers() -> list[Row]:
    """GEMMs of vidur_linear_ops, all in 16 bits."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "m": r["gemm_m"],
            "n": r["gemm_n"],
            "k": r["gemm_k"],
            "measured": _microseconds(r["meas_time_ms_median"]),
        }

    return converted((r for r in read("vidur_linear_ops") if r["gemm_m"]), make)


def attention(phase: str) -> list[Row]:
    """Attention of aic_attention in `prefill` or in `decode`, all in 16 bits.

    The collectors show how each library was timed (ai-dynamo/aiconfigurator 095f58a, `collector`).
    TensorRT-LLM runs as a CUDA graph with the kernels for RoPE and the append to the KV cache, and
    before 1.3 with a cache of keys only. vLLM runs without those kernels, and is launched from
    Python on Intel's cards, which have no graphs.
    """
    length = "query_length" if phase == "prefill" else "kv_length"

    def make(r: Row) -> Row:
        library, version = r["framework"].split("/")
        is_vllm = library == "vllm"
        keys_only = not is_vllm and tuple(map(int, version.split(".")[:2])) < (1, 3)
        options = (
            {"include_rope_and_kv_append": not is_vllm}
            if phase == "prefill"
            else {"value_cache": not keys_only}
        )
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "batch_size": r["batch"],
            length: r["kv_len"],
            "heads": r["n_heads"],
            "kv_heads": r["n_kv_heads"],
            "head_dim": r["head_dim"],
            **{name: str(cell).lower() for name, cell in options.items()},
            "eager": str(is_vllm and r["gpu"].startswith("Intel")).lower(),
            "measured": r["meas_time_us"],
        }

    sixteen = (r for r in read("aic_attention") if r["attn_dtype"] == r["kv_dtype"] == "bfloat16")
    return converted((r for r in sixteen if r["phase"].startswith(phase)), make)


def chunked_prefill() -> list[Row]:
    """Attention of vllm_attention_ops: chunks of a prefill, decode, and both in one batch."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "heads": r["n_heads_per_gpu"],
            "kv_heads": r["n_kv_heads_per_gpu"],
            "query_length": r["prefill_chunk_tokens"],
            "context_length": r["prefill_kv_tokens"],
            "decode_batch_size": r["n_decode_seqs"],
            "kv_length": r["decode_kv_tokens"],
            "measured": r["meas_time_us"],
        }

    return converted(read("vllm_attention_ops"), make)


def write(path: Path, rows: list[Row], note: str = "", unit: str = "us") -> None:
    """Write rows as a table that `hwdsl validate` reads; `note` becomes comments above it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in note.splitlines())
        head = [f"{c} [{unit}]" if c == "measured" and unit else c for c in rows[0]]
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        table.writerows([row[c] for c in rows[0]] for row in rows)


GATES = {"Vanilla": "1", "GRU": "3", "LSTM": "4"}


def _microseconds(milliseconds: str) -> str:
    return str(float(milliseconds) * 1000)


def _deepbench(name: str, precision: str) -> list[Row]:
    return [r for r in read(name) if r["precision"].startswith(precision)]


def deepbench_gemms(precision: str) -> list[Row]:
    """GEMMs of deepbench_gemm in `fp32`, or in `fp16` on accelerators with matrix units."""

    def make(r: Row) -> Row:
        shape = {d: r[d] for d in "mnk"}
        machine = component(r["device"])
        return {
            "case": r["row_id"],
            "accelerator": machine,
            **shape,
            "measured": _microseconds(r["meas_time_ms"]),
        }

    return converted(_deepbench("deepbench_gemm", precision), make)


def _output_size(size: str, kernel: str, pad: str, stride: str) -> str:
    return str((int(size) + 2 * int(pad) - int(kernel)) // int(stride) + 1)


# Algorithms by the names that the libraries print. MIOpen's kernels in assembler for other shapes
# than 3 x 3 are taken as implicit GEMMs, as is its direct convolution.
_ALGORITHMS = {
    "LICIT_PRECOMP_GEMM": "implicit_precomp_gemm",
    "ConvolutionFwdAlgoDirect": "implicit_gemm",
    "ConvolutionFwdAlgoGEMM": "gemm",
    "ConvolutionFwdAlgoFFT": "fft",
    "ConvolutionFwdAlgoWinograd": "winograd",
}


def _algorithm(r: Row) -> str:
    name = r["fwd_algorithm"]
    found = _ALGORITHMS.get(name, name.lower())
    plain = (r["filter_h"], r["filter_w"], r["stride_h"]) == ("3", "3", "1")
    return "implicit_gemm" if found == "winograd" and not plain else found


def deepbench_convolutions() -> list[Row]:
    """Forward convolutions of deepbench_conv in FP32, with the same stride in both directions, in
    the algorithm that the library chose."""

    def make(r: Row) -> Row:
        if r["stride_h"] != r["stride_w"]:
            raise Undescribed("a convolution with different strides")
        return {
            "case": r["row_id"],
            "accelerator": component(r["device"]),
            "batch_size": r["batch"],
            "in_channels": r["c_in"],
            "out_channels": r["k_out"],
            "out_height": _output_size(r["h"], r["filter_h"], r["pad_h"], r["stride_h"]),
            "out_width": _output_size(r["w"], r["filter_w"], r["pad_w"], r["stride_w"]),
            "kernel_height": r["filter_h"],
            "kernel_width": r["filter_w"],
            "stride": r["stride_h"],
            "algorithm": _algorithm(r),
            "measured": _microseconds(r["meas_fwd_ms"]),
        }

    return converted((r for r in _deepbench("deepbench_conv", "fp32") if r["meas_fwd_ms"]), make)


def deepbench_rnns() -> list[Row]:
    """Forward recurrent layers of deepbench_rnn in FP32."""

    def make(r: Row) -> Row:
        if r["rnn_type"] not in GATES:
            raise Undescribed(f"no recurrent cell is called `{r['rnn_type']}`")
        return {
            "case": r["row_id"],
            "accelerator": component(r["device"]),
            "batch_size": r["batch"],
            "time_steps": r["timesteps"],
            "hidden_size": r["hidden"],
            "gates": GATES[r["rnn_type"]],
            "measured": _microseconds(r["meas_fwd_ms"]),
        }

    return converted((r for r in _deepbench("deepbench_rnn", "fp32") if r["meas_fwd_ms"]), make)


def above(minimum: float, rows: list[Row]) -> list[Row]:
    """The rows whose measured value is above `minimum`, in its unit, and the rows left out."""
    return [r for r in rows if LEFT_OUT in r or float(r["measured"]) > minimum]


def best_gemms(dtype: str) -> list[Row]:
    """The fastest GEMM of a search over shapes in stas_mamf_matmul, one for each accelerator.

    For comparison only: no coefficient was fitted to these rows, and the fastest of many runs is
    not a mean. The GH200 here has 141 GiB; its compute units are those of the GH200 with 96 GB.
    """

    def make(r: Row) -> Row:
        row = {"case": r["row_id"], "accelerator": component(r["accelerator"])}
        row |= {size: r[size] for size in "mnk"} | {"measured": r["derived_time_us"]}
        return row if dtype == "bf16" else row | {"quantization": "prequantized"}

    return converted((r for r in read("stas_mamf_matmul") if r["dtype"].startswith(dtype)), make)


_STUDY = "studies/kernels.hw"


def _kernels(
    name: str, evaluator: str, rows: Callable[[], list[Row]], coefficients: str = ""
) -> Set:
    """A set of kernels, all of which are in the fit. In cross-validation the held-out accelerator
    uses the default coefficients, fitted to all others."""
    names = tuple(f"default_{c}" for c in coefficients.split())
    hold_out_params = (("use_generation_fit", "false"),) if names else ()
    return Set(name, _STUDY, evaluator, rows, "us", fitted="all",
               coefficients=names, hold_out_params=hold_out_params)  # fmt: skip


def _deepbench_set(name: str, evaluator: str, rows: Callable[[], list[Row]]) -> Set:
    fitted = "one energy coefficient of T4"
    return Set(name, "studies/deepbench.hw", evaluator, rows, "us", fitted=fitted)


_GEMM = "gemm_efficiency memory_efficiency tile_prologue_epilogue min_gemm_latency"
_GEMM_8BIT = "gemm_efficiency_8bit memory_efficiency tile_prologue_epilogue min_gemm_latency"
_GEMM_4BIT = "gemm_efficiency_4bit memory_efficiency tile_prologue_epilogue min_gemm_latency"
SETS = (
    _kernels("aic_gemm, 16 bits", "gemm", lambda: gemms("bfloat16")),
    _kernels("aic_gemm, 16 bits, above 50 us", "gemm",
             lambda: above(50, gemms("bfloat16")), _GEMM),
    _kernels("aic_gemm, 8 bits", "gemm_fp8", lambda: gemms("fp8")),
    _kernels("aic_gemm, 8 bits, above 50 us", "gemm_fp8",
             lambda: above(50, gemms("fp8")), _GEMM_8BIT),
    _kernels("aic_gemm, 4 bits", "gemm_fp4", lambda: gemms("nvfp4")),
    _kernels("aic_gemm, 4 bits, above 50 us", "gemm_fp4",
             lambda: above(50, gemms("nvfp4")), _GEMM_4BIT),
    _kernels("vidur_linear_ops", "gemm", linear_layers, _GEMM),
    _kernels("GEMMs in 16 bits above 50 us", "gemm",
             lambda: above(50, gemms("bfloat16") + linear_layers()), _GEMM),
    _kernels("aic_attention, prefill", "prefill_attention_kernel", lambda: attention("prefill"),
             "attention_efficiency synchronous_mma_attention_efficiency "
             "attention_prologue_epilogue"),
    _kernels("aic_attention, decode", "decode_attention_kernel", lambda: attention("decode"),
             "min_attention_latency kv_read_efficiency"),
    Set("stas_mamf_matmul, 16 bits", _STUDY, "gemm", lambda: best_gemms("bf16"), "us",
        fitted="MI300X's"),
    Set("stas_mamf_matmul, 8 bits", _STUDY, "gemm_fp8", lambda: best_gemms("fp8"), "us"),
    Set("vllm_attention_ops", _STUDY, "chunked_prefill_kernel", chunked_prefill, "us"),
    _deepbench_set("deepbench_gemm, 32 bits", "gemm_fp32", lambda: deepbench_gemms("fp32")),
    _deepbench_set("deepbench_gemm, 16 bits", "gemm_fp16", lambda: deepbench_gemms("fp16")),
    _deepbench_set("deepbench_conv", "convolution_forward", deepbench_convolutions),
    _deepbench_set("deepbench_rnn", "rnn_forward", deepbench_rnns),
)  # fmt: skip

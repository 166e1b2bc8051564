"""Published tables as rows for evaluators of the library, and tables of kernels.

The tables lie outside the project, as they were published; HWDSL_REFERENCE_DATA says where. An
adapter turns one of them into rows of one evaluator: a dict with the evaluator's params by name as
text (`name [unit]` where the cell is not in the param's own unit), what was measured under
`measured`, the row's name under `case`, and a column to group by. What the library does not
describe, or the evaluator does not take, is left out, counted and said. A `Set` says which
evaluator they are for. `SETS` of every module `measured*.py` in this folder is what
`benchmarks/accuracy.py` scores.
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

from hwdsl.codegen.runtime.spec import Param
from hwdsl.evaluator import Evaluator

Row = dict[str, str]
# The only key of a row that is left out: why.
LEFT_OUT = "left out"


@frozen
class Given:
    """Rows that an evaluator takes, and how many were left out, by reason."""

    rows: list[Row]
    left_out: dict[str, int]

    def said(self) -> list[str]:
        """A line for each reason, the most frequent first."""
        ordered = sorted(self.left_out.items(), key=lambda item: -item[1])
        return [f"{count} rows left out: {reason}" for reason, count in ordered]


@frozen
class Set:
    """Rows of a published table that one evaluator predicts.

    `file` lies below the library, as `studies/kernels.hw`. `rows` reads them. `unit` is that of
    `measured`; `output` and `baseline` are outputs of the evaluator, `group` is a column of the
    rows. `fitted` says what of these rows the coefficients were fitted to. `coefficients` are the
    model's that `--hold-out` fits without each group in turn; a set without them has no folds.
    `apart` are params that are set there, so that a group tells nothing of itself.
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
    apart: tuple[tuple[str, str], ...] = ()

    def given(self, evaluator: Evaluator) -> Given:
        """The rows that the evaluator takes; those that are left out, by reason.

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
        """Relative errors of the output and of the baseline at rows that the evaluator takes."""
        params = {p.name for p in evaluator.spec.params}
        swept = evaluator.sweep(zipped={c: [r[c] for r in rows] for c in rows[0] if c in params})
        truth = np.array([float(r["measured"]) for r in rows])
        flat = None if self.baseline is None else swept.column(self.baseline) / truth - 1
        return swept.column(self.output) / truth - 1, flat


def _refusal(row: Row, evaluator: Evaluator) -> str:
    """Why a row is left out; nothing if it is not."""
    if LEFT_OUT in row:
        return row[LEFT_OUT]
    found = (
        _outside(p, row[p.name], evaluator.name) for p in evaluator.spec.params if p.name in row
    )
    return next((reason for reason in found if reason), "")


def _outside(param: Param, cell: str, evaluator: str) -> str:
    """Why an evaluator does not take a cell; nothing if it does."""
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


def turned(rows: Iterable[Row], make: Callable[[Row], Row]) -> list[Row]:
    """Rows of a table as rows of an evaluator, each by `make`; where that finds something which the
    library does not describe, or a cell without the number that it needs, a row that says so."""
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
    """Where the tables lie; None if there are none.

    HWDSL_REFERENCE_DATA names their folder, or the one that has them in a folder `measured`.
    """
    where = os.environ.get("HWDSL_REFERENCE_DATA")
    places = [Path(where) / "measured", Path(where)] if where else []
    return next((place for place in places if any(place.glob("*.csv"))), None)


def read(name: str) -> list[Row]:
    """The rows of a table as they were published. Raises FileNotFoundError without the tables."""
    place = folder()
    if place is None:
        raise FileNotFoundError("HWDSL_REFERENCE_DATA names no folder of tables")
    with (place / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _product(r: Row) -> Row:
    shape = {d: r[d] for d in "mnk"}
    return {
        "case": r["row_id"],
        "accelerator": component(r["gpu"]),
        **shape,
        "measured": r["meas_time_us"],
    }


def shape(r: Row) -> Row:
    """The sizes of a language model, as the tables have them and evaluators ask for them."""
    return {
        "n_layers": r["n_layers"],
        "hidden_size": r["hidden_size"],
        "n_heads": r["n_heads"],
        "kv_heads": r["n_kv_heads"],
        "ffn_hidden_size": r["ffn_hidden_size"],
        "vocab": r["vocab"],
    }


# How libraries of aic_gemm make narrow what a product in 8 bits reads: TensorRT-LLM looks for the
# largest number first, others go through it row by row.
NARROWING = {"trtllm": "searched", "vllm": "by_rows", "sglang": "by_rows"}


def products(dtype: str) -> list[Row]:
    """Products of aic_gemm of one type, `bfloat16`, `fp8` or `nvfp4`, whose scales are known."""

    def make(r: Row) -> Row:
        library = r.get("framework", "").partition("/")[0]
        narrows = NARROWING.get(library, "searched") if dtype == "fp8" else "streamed"
        return _product(r) | ({} if dtype == "bfloat16" else {"quantization": narrows})

    return turned((r for r in read("aic_gemm") if r["dtype"] == dtype), make)


def linear() -> list[Row]:
    """Products of vidur_linear_ops, all in 16 bits."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "m": r["gemm_m"],
            "n": r["gemm_n"],
            "k": r["gemm_k"],
            "measured": _us(r["meas_time_ms_median"]),
        }

    return turned((r for r in read("vidur_linear_ops") if r["gemm_m"]), make)


def attention(phase: str) -> list[Row]:
    """Attention of aic_attention over a `prefill` or in a `decode`, all in 16 bits.

    How each library was timed is in its collectors (ai-dynamo/aiconfigurator 095f58a, `collector`):
    TensorRT-LLM with the kernels that turn and place queries, keys and values, as a graph, and
    before 1.3 with a cache that keeps keys alone; vLLM without them, and on Intel's cards, which
    have no graphs, issued by Python.
    """
    length = "query_length" if phase == "prefill" else "kv_length"

    def make(r: Row) -> Row:
        library, version = r["framework"].split("/")
        of_vllm = library == "vllm"
        keys_alone = not of_vllm and tuple(map(int, version.split(".")[:2])) < (1, 3)
        how = (
            {"include_rope_and_kv_append": not of_vllm}
            if phase == "prefill"
            else {"value_cache": not keys_alone}
        )
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "sequences": r["batch"],
            length: r["kv_len"],
            "heads": r["n_heads"],
            "kv_heads": r["n_kv_heads"],
            "head_dim": r["head_dim"],
            **{name: str(cell).lower() for name, cell in how.items()},
            "eager": str(of_vllm and r["gpu"].startswith("Intel")).lower(),
            "measured": r["meas_time_us"],
        }

    sixteen = (r for r in read("aic_attention") if r["attn_dtype"] == r["kv_dtype"] == "bfloat16")
    return turned((r for r in sixteen if r["phase"].startswith(phase)), make)


def chunks() -> list[Row]:
    """Attention of vllm_attention_ops: chunks of prompts, single queries, and both together."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "accelerator": component(r["gpu"]),
            "heads": r["n_heads_per_gpu"],
            "kv_heads": r["n_kv_heads_per_gpu"],
            "query_length": r["prefill_chunk_tokens"],
            "context_length": r["prefill_kv_tokens"],
            "sequences": r["n_decode_seqs"],
            "kv_length": r["decode_kv_tokens"],
            "measured": r["meas_time_us"],
        }

    return turned(read("vllm_attention_ops"), make)


def write(path: Path, rows: list[Row], note: str = "", unit: str = "us") -> None:
    """Write rows as a table that `hwdsl validate` reads; `note` goes into comments above."""
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in note.splitlines())
        head = [f"{c} [{unit}]" if c == "measured" and unit else c for c in rows[0]]
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        table.writerows([row[c] for c in rows[0]] for row in rows)


GATES = {"Vanilla": "1", "GRU": "3", "LSTM": "4"}


def _us(milliseconds: str) -> str:
    return str(float(milliseconds) * 1000)


def _old(name: str, precision: str) -> list[Row]:
    return [r for r in read(name) if r["precision"].startswith(precision)]


def deepbench_products(precision: str) -> list[Row]:
    """Products of deepbench_gemm in `fp32`, or in `fp16` where there are matrix units."""

    def make(r: Row) -> Row:
        shape = {d: r[d] for d in "mnk"}
        machine = component(r["device"])
        return {
            "case": r["row_id"],
            "accelerator": machine,
            **shape,
            "measured": _us(r["meas_time_ms"]),
        }

    return turned(_old("deepbench_gemm", precision), make)


def _windows(size: str, kernel: str, pad: str, stride: str) -> str:
    return str((int(size) + 2 * int(pad) - int(kernel)) // int(stride) + 1)


def deepbench_convolutions() -> list[Row]:
    """Convolutions forward of deepbench_conv in 32 bits, with equal steps both ways."""

    def make(r: Row) -> Row:
        if r["stride_h"] != r["stride_w"]:
            raise Undescribed("a convolution whose steps differ both ways")
        return {
            "case": r["row_id"],
            "accelerator": component(r["device"]),
            "batch_size": r["batch"],
            "in_channels": r["c_in"],
            "out_channels": r["k_out"],
            "out_height": _windows(r["h"], r["filter_h"], r["pad_h"], r["stride_h"]),
            "out_width": _windows(r["w"], r["filter_w"], r["pad_w"], r["stride_w"]),
            "kernel_height": r["filter_h"],
            "kernel_width": r["filter_w"],
            "stride": r["stride_h"],
            "measured": _us(r["meas_fwd_ms"]),
        }

    return turned((r for r in _old("deepbench_conv", "fp32") if r["meas_fwd_ms"]), make)


def deepbench_steps() -> list[Row]:
    """Recurrent layers forward of deepbench_rnn in 32 bits."""

    def make(r: Row) -> Row:
        if r["rnn_type"] not in GATES:
            raise Undescribed(f"no cell is called `{r['rnn_type']}`")
        return {
            "case": r["row_id"],
            "accelerator": component(r["device"]),
            "sequences": r["batch"],
            "time_steps": r["timesteps"],
            "hidden_size": r["hidden_size"],
            "gates": GATES[r["rnn_type"]],
            "measured": _us(r["meas_fwd_ms"]),
        }

    return turned((r for r in _old("deepbench_rnn", "fp32") if r["meas_fwd_ms"]), make)


def above(least: float, rows: list[Row]) -> list[Row]:
    """The rows whose measured value is above `least`, in its own unit, and those left out."""
    return [r for r in rows if LEFT_OUT in r or float(r["measured"]) > least]


def best(dtype: str) -> list[Row]:
    """The quickest product of a search over shapes, one of each machine, of stas_mamf_matmul.

    To compare alone: no coefficient was fitted to them, and the fastest of many is no mean. GH200's
    is the one with 141 GiB, whose units are those of the other.
    """

    def make(r: Row) -> Row:
        row = {"case": r["row_id"], "accelerator": component(r["accelerator"])}
        row |= {size: r[size] for size in "mnk"} | {"measured": r["derived_time_us"]}
        return row if dtype == "bf16" else row | {"quantization": "ready"}

    return turned((r for r in read("stas_mamf_matmul") if r["dtype"].startswith(dtype)), make)


def _kernels(
    name: str, evaluator: str, rows: Callable[[], list[Row]], coefficients: str = ""
) -> Set:
    """A set of kernels, all of it in the fit; held out, a machine has what all others sustain."""
    names = tuple(f"any_{c}" for c in coefficients.split())
    apart = (("use_generation_fit", "false"),) if names else ()
    return Set(name, "studies/kernels.hw", evaluator, rows, "us", fitted="all",
               coefficients=names, apart=apart)  # fmt: skip


def _old_machines(name: str, evaluator: str, rows: Callable[[], list[Row]]) -> Set:
    return Set(name, "studies/deepbench.hw", evaluator, rows, "us", fitted="an energy of T4")


_PRODUCTS = "matrix_share memory_share tile_fill kernel_floor"
_PRODUCTS_8 = "matrix_share_8 memory_share tile_fill kernel_floor"
_PRODUCTS_4 = "matrix_share_4 memory_share tile_fill kernel_floor"
SETS = (
    _kernels("aic_gemm, 16 bits", "product", lambda: products("bfloat16")),
    _kernels("aic_gemm, 16 bits, above 50 us", "product",
             lambda: above(50, products("bfloat16")), _PRODUCTS),
    _kernels("aic_gemm, 8 bits", "gemm_fp8", lambda: products("fp8")),
    _kernels("aic_gemm, 8 bits, above 50 us", "gemm_fp8",
             lambda: above(50, products("fp8")), _PRODUCTS_8),
    _kernels("aic_gemm, 4 bits", "gemm_fp4", lambda: products("nvfp4")),
    _kernels("aic_gemm, 4 bits, above 50 us", "gemm_fp4",
             lambda: above(50, products("nvfp4")), _PRODUCTS_4),
    _kernels("vidur_linear_ops", "product", linear, _PRODUCTS),
    _kernels("products in 16 bits above 50 us", "product",
             lambda: above(50, products("bfloat16") + linear()), _PRODUCTS),
    _kernels("aic_attention, prompts", "prefill_attention_kernel", lambda: attention("prefill"),
             "attention_share waiting_share attention_fill"),
    _kernels("aic_attention, one query", "decode_attention_kernel", lambda: attention("decode"),
             "attention_floor stream_share"),
    Set("stas_mamf_matmul, 16 bits", "studies/kernels.hw", "product", lambda: best("bf16"), "us"),
    Set("stas_mamf_matmul, 8 bits", "studies/kernels.hw", "gemm_fp8", lambda: best("fp8"), "us"),
    Set("vllm_attention_ops", "studies/kernels.hw", "chunked_prefill_kernel", chunks, "us"),
    _old_machines("deepbench_gemm, 32 bits", "product", lambda: deepbench_products("fp32")),
    _old_machines("deepbench_gemm, 16 bits", "gemm_fp16", lambda: deepbench_products("fp16")),
    _old_machines("deepbench_conv", "convolution_forward", deepbench_convolutions),
    _old_machines("deepbench_rnn", "rnn_forward", deepbench_steps),
)  # fmt: skip

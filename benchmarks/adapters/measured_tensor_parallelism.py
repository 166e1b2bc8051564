"""Adapters of iterations of BERT-Large with Megatron-LM by tensor-parallel degree, on V100."""

from measured import Row, Set, converted, read

TABLE = "systems/coconet_megatron_bert_tp"


def _key(r: Row) -> tuple[str, str]:
    return r["batch"], r["attention_heads"]


def _time(r: Row) -> float:
    """Forward and backward pass in milliseconds."""
    return float(r["meas_forward_ms"]) + float(r["meas_backward_ms"])


def _row(r: Row, measured: float) -> Row:
    degree = int(r["tensor_parallel"])
    return {
        "case": f"{degree} GPUs, batch {r['batch']}, {r['attention_heads']} heads",
        "gpus": f"{degree} GPU{'s' if degree > 1 else ''}",
        "tensor": r["tensor_parallel"],
        "batch": r["batch"],
        "heads": r["attention_heads"],
        "measured": f"{measured:.5g}",
    }


def _rows() -> list[Row]:
    """The rows of the table; of a log that stands in it twice, the first."""
    first = dict[tuple[str, ...], Row]()
    for r in read(TABLE):
        first.setdefault((r["tensor_parallel"], *_key(r)), r)
    return list(first.values())


def iterations() -> list[Row]:
    return converted(_rows(), lambda r: _row(r, _time(r)))


def lost_shares() -> list[Row]:
    """1 less the scaling efficiency, where one GPU ran the same batch."""
    rows = _rows()
    alone = {_key(r): _time(r) for r in rows if r["tensor_parallel"] == "1"}

    def make(r: Row) -> Row:
        degree = int(r["tensor_parallel"])
        return _row(r, 100 * (1 - alone[_key(r)] / (degree * _time(r))))

    split = [r for r in rows if r["tensor_parallel"] != "1" and _key(r) in alone]
    return converted(split, make)


_STUDY = "studies/tensor_parallelism.hw"
SETS = (
    Set("row8, iterations of BERT by tensor parallelism", _STUDY, "bert_iteration", iterations,
        "ms", baseline="peak_time", group="gpus"),
    Set("row8, lost share of BERT by tensor parallelism", _STUDY, "bert_iteration", lost_shares,
        "%", output="lost_share", baseline="peak_lost_share", group="gpus"),
)  # fmt: skip

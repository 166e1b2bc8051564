"""Time, memory and efficiency of training steps against Calculon's own numbers.

The cases lie in the folder `calculon` of HWDSL_REFERENCE_DATA. For each shape of system a
description is written as a user would, its numbers params like those of model and execution.
Compared is every number that Calculon prints, and for some cases every number of every layer, with
its sum of what is recomputed and with the right one.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hwdsl
from hwdsl.api.evaluator import Result, Sweep

REL = 1e-9  # what is asked for is 1e-6
FOLDER = Path(os.environ.get("HWDSL_REFERENCE_DATA", "")) / "calculon"


def read(name: str) -> dict[str, Any]:
    """One of the files, or nothing where there is none."""
    path = FOLDER / name
    if not os.environ.get("HWDSL_REFERENCE_DATA") or not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


DATA = read("cases.json")
CASES = {case["name"]: case for case in DATA.get("cases", [])}
LAYERS = {name: rows for name, rows in read("layers.json").items() if name in CASES}
ERRORS = {case["name"]: case for case in DATA.get("expected_errors", [])}


def params(names: list[str]) -> list[Any]:
    """Names of cases as test parameters, or one that is skipped."""
    mark = pytest.mark.skip(reason="HWDSL_REFERENCE_DATA holds no calculon folder")
    return list(names) or [pytest.param("", marks=mark, id="no-data")]


# --- a description from a case -----------------------------------------------------------------


class Machine:
    """A system as text; its numbers are params, so that systems of one shape share it."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.params: list[str] = []
        self.values: dict[str, float] = {}
        system, numbers = case["system"], case["execution"]["datatype"]
        nets = ",\n        ".join(self.network(n) for n in system["networks"])
        roofline = self.number(system["processing_mode"] == "roofline")
        mem1, mem2 = self.memory(system["mem1"]), self.memory(system["mem2"])
        matrix, vector = (self.engine(system[k][numbers]) for k in ("matrix", "vector"))
        self.nets = len(system["networks"])
        self.text = f"""let machine = system(
        mem1 = {mem1},
        mem2 = {mem2},
        networks = [{nets}],
        roofline = {roofline} == 1)
    let numbers = format(word = {self.number(WORDS[numbers], "B")},
        matrix = {matrix},
        vector = {vector})"""

    def number(self, value: float, unit: str = "") -> str:
        """A new param for a number."""
        name = f"given{len(self.params)}"
        kind = {"": "real", "B": "data", "FLOP": "operations", "s": "time"}
        kind |= {"B/s": "bandwidth", "FLOP/s": "flop_rate"}
        self.params.append(f"param {name} : {kind[unit]} = 1 {unit} in -1e30 {unit} .. 1e30 {unit}")
        self.values[name] = float(value)
        return name

    def steps(self, table: list[list[float]], scale: float, unit: str) -> str:
        """A falling table of thresholds and shares, the last threshold zero."""
        assert table[-1][0] == 0
        rising = table[::-1]
        limits = ", ".join(self.number(limit * scale, unit) for limit, _ in rising[1:])
        shares = ", ".join(self.number(share) for _, share in rising)
        return f"from = [{limits}], shares = [{shares}]"

    def engine(self, given: dict[str, Any]) -> str:
        """The engine of one number format."""
        rate = self.number(given["tflops"] * 1e12, "FLOP/s")
        return f"engine(rate = {rate}, {self.steps(given['gflops_efficiency'], 1e9, 'FLOP')})"

    def memory(self, given: dict[str, Any]) -> str:
        """One tier of memory."""
        capacity = self.number(given["GiB"] * 2**30, "B")
        rate = self.number(given["GBps"] * 1e9, "B/s")
        table = self.steps(given["MB_efficiency"], 1e6, "B")
        return f"memory_tier(capacity = {capacity}, bandwidth = {rate}, {table})"

    def network(self, given: dict[str, Any]) -> str:
        """One network."""
        scales = [f"message_scale = {self.number(given['ops']['p2p'][0])}"]
        for op in ("reduce_scatter", "all_gather", "all_reduce"):
            scale, shift = given["ops"][op]
            scales += [f"{op}_scale = {self.number(scale)}", f"{op}_shift = {self.number(shift)}"]
        return (
            f"network(bandwidth = {self.number(given['bandwidth'] * 1e9, 'B/s')}, "
            f"efficiency = {self.number(given['efficiency'])}, "
            f"size = whole({self.number(given['size'])}), "
            f"latency = {self.number(given['latency'], 's')}, "
            f"filled = {self.number(given['must_be_filled'])} == 1, "
            f"usage = {self.number(given['processor_usage'])}, {', '.join(scales)})"
        )


WORDS = {"float8": 1, "float16": 2, "bfloat16": 2, "float32": 4}
UNITS = {
    "sample_rate": "sample/s", "_flops": "FLOP", "flops": "FLOP", "_req": "B/s", "_cap_req": "B",
    "efficiency": "", "_size": "B", "_space": "B", "_accessed": "B", "_offload": "B",
    "_sharding": "B", "_req_chunk": "B/s", "_req_tail": "B/s",
}  # fmt: skip


def unit_of(name: str) -> str:
    """The unit of one of Calculon's numbers: the longest ending known, else seconds."""
    known = [end for end in UNITS if name.endswith(end)]
    return UNITS[max(known, key=len)] if known else "s"


LAYER = {
    "inputs_size": "inputs", "outputs_size": "outputs", "fw_flops": "fw_flops in FLOP",
    "fw_mem_accessed": "fw_mem in B", "fw_processing_time": "fw_time in s",
    "agrad_flops": "agrad_flops in FLOP", "agrad_mem_accessed": "agrad_mem in B",
    "agrad_processing_time": "agrad_time in s", "wgrad_flops": "wgrad_flops in FLOP",
    "wgrad_mem_accessed": "wgrad_mem in B", "wgrad_processing_time": "wgrad_time in s",
    "optim_flops": "optim_flops in FLOP", "optim_mem_accessed": "optimizer in B",
    "optim_processing_time": "optim_time in s",
    "weight": "weight in B", "activation": "activation in B", "weight_grad": "weight_grad in B",
    "activation_grad": "act_grad in B", "optimizer": "optimizer in B",
    "baseblock_recomm_tile": "base_re.tile in B", "edgeblock_recomm_tile": "edge_re.tile in B",
    "baseblock_recomm_size": "base_re.size in B", "edgeblock_recomm_size": "edge_re.size in B",
    "baseblock_recomm_time": "base_re.link in s", "edgeblock_recomm_time": "edge_re.link in s",
    "baseblock_recomm_time_exposed": "base_re.exposed in s",
    "edgeblock_recomm_time_exposed": "edge_re.exposed in s",
}  # fmt: skip
for _way in ("fw", "bw"):
    for _place in ("base", "edge"):
        _name, _from = f"{_place}block_{_way}_tp_comm", f"{_place}_{_way}"
        LAYER |= {
            f"{_name}_tile": f"{_from}.tile in B",
            f"{_name}_size": f"{_from}.size in B",
            f"{_name}_time": f"{_from}.link in s",
            f"{_name}_time_exposed": f"{_from}.exposed in s",
        }
PLACES = 29  # layers of all ways to cut a block

CASES_OF = {
    "attention_type": ("attention", ("multihead", "multiquery")),
    "activation_recompute": ("recompute", ("full", "attn_only", "none")),
    "tensor_par_comm_type": ("tensor_exchange", ("ar", "p2p_rs_ag", "rs_ag")),
    "tensor_par_overlap": ("tensor_par_overlap_type", ("none", "ring", "pipe")),
}
NUMBERS = {
    "hidden": "model.hidden", "feedforward": "model.feedforward", "seq_size": "model.sequence",
    "attn_heads": "model.heads", "attn_size": "model.head_size", "num_blocks": "model.blocks",
    "num_procs": "devices", "tensor_par": "tensor", "pipeline_par": "pipeline",
    "data_par": "data_par", "batch_size": "batch", "microbatch_size": "micro_batch",
    "pipeline_interleaving": "pipeline_interleaving", "tensor_par_net": "tensor_net",
    "pipeline_par_net": "pipeline_net", "data_par_net": "data_par_net",
}  # fmt: skip
SWITCHES = {
    "fused_activation": "fused", "optimizer_sharding": "optimizer_sharded",
    "seq_par_ag_redo": "seq_par_ag_redo", "data_par_overlap": "data_par_overlap",
    "weight_offload": "weights_offload", "activations_offload": "activations_offload",
    "optimizer_offload": "optimizer_offload", "training": "training",
    "as_published": "as_published",
}  # fmt: skip


def questions() -> str:
    """The params and the execution made of them. Cases of an enum are written as numbers, so that
    all cases of a system are one sweep."""
    lines, fields, model = [], ["machine = machine", "format = numbers"], []
    for name, target in NUMBERS.items():
        low = 0 if name.endswith("_net") else 1
        lines.append(f"param {name} : int = {low} in {low} .. 1_000_000_000")
        owner, _, inner = target.rpartition(".")
        (model if owner else fields).append(f"{inner} = {name}")
    for name, target in SWITCHES.items():
        lines.append(f"param {name} : int = 0 in 0 .. 1")
        fields.append(f"{target} = {name} == 1")
    for name, (enum, cases) in CASES_OF.items():
        lines.append(f"param {name}_case : int = 0 in 0 .. {len(cases) - 1}")
        *most, last = cases
        picked = " ".join(f"if {name}_case == {k} then {enum}.{c} else" for k, c in enumerate(most))
        own = name in ("tensor_par_comm_type", "tensor_par_overlap")  # Calculon's name is ours
        field = name if own else enum
        fields.append(f"{field} = {picked} {enum}.{last}")
    joined = ",\n        ".join([*fields, f"model = language_model({', '.join(model)})"])
    return "\n    ".join([*lines, f"let run = execution({joined})"])


def step_outputs(names: list[str]) -> list[str]:
    """An output for each of Calculon's numbers."""
    return [
        f"output {name}{f' in {unit_of(name)}' if unit_of(name) else ''} = run.{name}"
        for name in names
    ]


def layer_outputs() -> list[str]:
    """An output for each number of each layer of a block."""
    rows = [
        f"output at{i}_{name} {f'in {unit}' if unit else ''} = run.block.layers[{i}].{value}"
        for i in range(PLACES)
        for name, (value, _, unit) in ((n, v.partition(" in ")) for n, v in LAYER.items())
    ]
    used = "if run.block.layers[{0}].used then 1 else 0"
    return ["output count = len(run.block.layers)", *rows] + [
        f"output at{i}_used = {used.format(i)}" for i in range(PLACES)
    ]


def described(machine: Machine, outputs: list[str]) -> str:
    """A description of systems of one shape, and what is asked of it."""
    lines = [*machine.params, machine.text, questions(), *outputs]
    asked = "\n    ".join(lines)
    return f"""edition 2026
use peers.calculon_layers
use peers.calculon
evaluator step {{
    {asked}
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("systems")


def point(case: dict[str, Any], as_published: bool) -> dict[str, float]:
    """A case's model and execution as params."""
    given = {**case["application"], **case["execution"], "as_published": as_published}
    del given["datatype"]
    choices = {f"{k}_case": cases.index(given.pop(k)) for k, (_, cases) in CASES_OF.items()}
    return choices | {k: int(v) for k, v in given.items()}


def answers(
    cases: dict[str, dict[str, Any]], outputs: list[str], folder: Path
) -> dict[tuple[str, bool], Result]:
    """The results of all cases, wrong sum and right, a sweep for each shape of system."""
    shapes: dict[str, list[tuple[str, bool, dict[str, float]]]] = {}
    for name, case in cases.items():
        machine = Machine(case)
        rows = shapes.setdefault(described(machine, outputs), [])
        rows += [(name, s, machine.values | point(case, s)) for s in (True, False)]
    found = {}
    for number, (text, rows) in enumerate(shapes.items()):
        path = folder / f"shape{number}.hw"
        path.write_text(text, encoding="utf-8")
        columns = {k: [row[k] for _, _, row in rows] for k in rows[0][2]}
        sweep = hwdsl.load(path, compiled=False).step.sweep(mode="zip", **columns)
        found |= {(name, shipped): sweep[at] for at, (name, shipped, _) in enumerate(rows)}
    return found


@pytest.fixture(scope="module")
def steps_run(folder: Path) -> dict[tuple[str, bool], Result]:
    """What all cases and errors come to."""
    names = [*next(iter(CASES.values()))["raw_stats"]]
    return answers(CASES | ERRORS, step_outputs(names), folder)


@pytest.fixture(scope="module")
def layers_run(folder: Path) -> dict[tuple[str, bool], Result]:
    """What all layers come to."""
    return answers({name: CASES[name] for name in LAYERS}, layer_outputs(), folder)


# --- tests -------------------------------------------------------------------------------------


def differing(theirs: dict[str, Any], ours: Result, names: dict[str, str]) -> dict[str, Any]:
    """Numbers that differ; Calculon has no number where it writes none."""
    pairs = {n: (getattr(ours, names[n]), x) for n, x in theirs.items() if x is not None}
    return {n: p for n, p in pairs.items() if not abs(p[0] - p[1]) <= REL * abs(p[1])}


@pytest.mark.parametrize("name", params([*CASES]))
def test_every_number_is_theirs(name: str, steps_run: dict[tuple[str, bool], Result]) -> None:
    theirs, ours = CASES[name]["raw_stats"], steps_run[name, True]
    assert not ours.violations
    assert len(theirs) == 96
    assert not differing(theirs, ours, {n: n for n in theirs})


@pytest.mark.parametrize("name", params([*CASES]))
def test_recomputed_once(name: str, steps_run: dict[tuple[str, bool], Result]) -> None:
    """With the sum put right, what changes is what the tool gives with its lines corrected."""
    given, ours = CASES[name]["re_accumulation_bug"], steps_run[name, False]
    right = {k.removesuffix("_if_fixed"): v for k, v in given.items() if k.endswith("_if_fixed")}
    assert set(right) >= {"total_time", "dp_comm_exposed_time", "block_re_flops"}
    assert not differing(right, ours, {n: n for n in right})
    shipped = steps_run[name, True]
    assert given["affects_total_time"] == (
        abs(shipped.total_time - ours.total_time) > 1e-9 * ours.total_time
    )
    assert ours.dp_comm_exposed_time <= ours.dp_comm_link_time * (1 + 1e-12)


@pytest.mark.parametrize("name", params([*ERRORS]))
def test_what_does_not_fit(name: str, steps_run: dict[tuple[str, bool], Result]) -> None:
    """Their errors are our rules. Theirs stop at the first, ours tell all."""
    words = {
        "Mem tier1": "mem1", "Mem tier2": "mem2", "Network tier": "placed",
        "Pipeline interleaving": "chunks", "Offloading requires": "deep_enough",
    }  # fmt: skip
    found, message = steps_run[name, True], ERRORS[name]["message"]
    assert not found.feasible
    if ERRORS[name]["exception"] == "Llm.Error":
        (rule,) = (rule for word, rule in words.items() if message.startswith(word))
        assert f"run.{rule}" in found.violations
    if message.startswith("Mem "):
        needed, unit = message.split(" needs ")[1].split()[:2]
        ours = getattr(found.raw, f"proc_mem_{message.split()[1]}_cap_req")
        power = ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit)
        assert ours / 1024**power == pytest.approx(float(needed), abs=5.1e-4)


@pytest.mark.parametrize("name", params([*LAYERS]))
def test_every_layer_is_theirs(name: str, layers_run: dict[tuple[str, bool], Result]) -> None:
    ours = layers_run[name, True]
    assert ours.count == PLACES
    used = [i for i in range(PLACES) if getattr(ours, f"at{i}_used")]
    assert len(used) == len(LAYERS[name])
    for i, theirs in zip(used, LAYERS[name], strict=True):
        numbers = {n: x for n, x in theirs.items() if n in LAYER}
        assert set(theirs) - set(numbers) == {
            "name", *(f"{way}_arithmetic_intensity" for way in ("fw", "agrad", "wgrad", "optim"))
        }  # fmt: skip
        wrong = differing(numbers, ours, {n: f"at{i}_{n}" for n in numbers})
        assert not wrong, (theirs["name"], wrong)


# --- the search --------------------------------------------------------------------------------

SEARCHES = """edition 2026
use peers.calculon_layers
use peers.calculon
use peers.calculon_search
language_model turing {
    hidden = 20480
    feedforward = 81920
    sequence = 2048
    heads = 128
    head_size = 160
    blocks = 105
}
let on_5128 = search(
    machine = A100,
    format = A100_float16,
    model = turing,
    devices = 5128,
    batch = 2520,
)
let mem1_only = search(
    machine = A100 with { mem2.capacity = 0 B },
    format = A100_float16,
    model = gpt3,
    devices = 64,
    batch = 64,
    overlap_tensor = false,
    overlap_data_par = false,
)
"""
AXES = """
evaluator {name} {{
    param plan : int = 0 in 0 .. len({space}.plans) - 1
    param regime : int = 0 in 0 .. len({space}.regimes) - 1
"""
SEARCH = (
    AXES
    + """
    let best = best_execution(
        search = {space},
        plan = {space}.plans[plan],
        regime = {space}.regimes[regime],
        as_published = true,
    )
    output rate in sample/s = best.rate
    output visited = best.visited
    output fitting = best.fitting
}}
"""
)
COUNT = (
    AXES
    + """
    output visited = count(
        {space}.visits(
            {space}.plans[plan],
            {space}.regimes[regime],
            s == 1,
            {space}.placings[p],
            h == 1,
        )
        for s in 0 .. 1
        for h in 0 .. 1
        for p in 0 .. len({space}.placings) - 1
    )
}}
"""
)


def searched(evaluator: hwdsl.Evaluator) -> Sweep:
    """The search at all points."""
    axes = {p.name: range(int(p.high) + 1) for p in evaluator.spec.params}
    return evaluator.sweep(**axes)


@pytest.fixture(scope="module")
def searches(folder: Path) -> hwdsl.Module:
    text = SEARCHES + SEARCH.format(name="turing_on_5128", space="on_5128")
    text += SEARCH.format(name="gpt3_mem1_only", space="mem1_only")
    text += COUNT.format(name="gpt3_counts_64", space="on_64")
    text += COUNT.format(name="gpt3_counts_4096", space="on_4096")
    path = folder / "searches.hw"
    path.write_text(text, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


@pytest.mark.parametrize(("devices", "executions"), [(64, 3_232_128), (4096, 7_126_368)])
def test_search_visits_what_calculon_visits(
    searches: hwdsl.Module, devices: int, executions: int
) -> None:
    """Calculon's own counts, its `llm-optimal-execution -d` with as many sequences as devices."""
    assert searched(searches.evaluators[f"gpt3_counts_{devices}"]).visited.sum() == executions


def test_search_finds_what_calculon_finds(searches: hwdsl.Module) -> None:
    """Calculon's runs: the example of its README, all of it; GPT-3 on 64 with nothing hidden."""
    turing, mem1_only = searched(searches.turing_on_5128), searched(searches.gpt3_mem1_only)
    assert turing.visited.sum() == 10_944
    assert turing.fitting.sum() == 1_080
    assert turing.best("rate").rate == pytest.approx(111.1605, rel=1e-6)
    assert mem1_only.fitting.sum() == 4_365
    assert mem1_only.best("rate").rate == pytest.approx(5.6085, rel=1e-5)

"""Adapters of published tables: their columns are params, their evaluators have what they name;
machines are found by any spelling, and what is not described is left out, counted and said."""

import csv
from importlib import import_module
from pathlib import Path

import measured
import pytest
import shipped
from machines import MACHINES, Undescribed, component

import hwdsl
from hwdsl.api.evaluator import Evaluator

LIBRARY = Path(__file__).parents[2] / "library"
MODULES = [
    import_module(p.stem) for p in sorted(Path(measured.__file__).parent.glob("measured*.py"))
]
SETS: list[measured.Set] = [one for module in MODULES for one in module.SETS]


def evaluator_of(one: measured.Set) -> Evaluator:
    found = getattr(shipped.loaded(LIBRARY / one.file), one.evaluator)
    assert isinstance(found, Evaluator)
    return found


def test_no_two_sets_have_a_name() -> None:
    assert len({one.name for one in SETS}) == len(SETS)


@pytest.mark.skipif(measured.folder() is None, reason="no HWDSL_REFERENCE_DATA/measured")
@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_a_set_fits_its_evaluator(one: measured.Set) -> None:
    evaluator = evaluator_of(one)
    params = {p.name for p in evaluator.spec.params}
    outputs = {o.name for o in evaluator.spec.outputs}
    given = one.given(evaluator)
    print("\n".join(given.said()))
    if not given.rows:
        pytest.skip(f"no row for {one.name}")
    rows = given.rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    names = {title.partition(" [")[0] for title in rows[0]}
    assert names - params <= {"case", "measured", one.group}
    assert one.group in names
    assert {one.output, one.baseline} - {None} <= outputs
    assert {name for name, _ in one.hold_out_params} <= params
    assert all(float(row["measured"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A100-SXM4-80GB", "A100_SXM_80GB"),
        ("a100_sxm", "A100_SXM_80GB"),
        ("A100 (80GB SXM per paper testbed; repo says A100)", "A100_SXM_80GB"),
        ("DGX A100 8x80GB", "A100_SXM_80GB"),
        ("NVIDIA A100 - PCIe - 80 GB", "A100_PCIe_80GB"),
        ("a100_pcie", "A100_PCIe_80GB"),
        ("A100-SXM4-40GB (DGX-A100)", "A100_SXM_40GB"),
        ("h200_sxm", "H200_SXM_141GB"),
        ("NVIDIA H100 80GB HBM3", "H100_SXM_80GB"),
        ("NVIDIA H100-NVL-94GB", "H100_NVL_94GB"),
        ("GB300 (NVL72)", "GB300_GPU"),
        ("b300_sxm", "B300_SXM_288GB"),
        ("rtx_pro_6000_server", "RTX_PRO_6000"),
        ("RTX PRO 6000 Blackwell Server", "RTX_PRO_6000"),
        ("NVIDIA GeForce RTX 4090", "RTX_4090"),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "B200_SXM_180GB"),
        ("AMD Instinct MI300X 192GB HBM3", "MI300X_OAM"),
        ("Intel Arc Pro B60", "Arc_Pro_B60"),
        ("TitanX-Maxwell", "Titan_X_Maxwell"),
        ("l4", "L4"),
        ("L40S 48GB", "L40S"),
    ],
)
def test_a_machine_is_found_by_any_spelling(text: str, found: str) -> None:
    assert component(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "L400",
        "B100",
        "H200-NVL",
        "A100-SXM4-60GB",
        "A100-PCIe-SXM",
        "H100/A100",
        "N/A",
        "",
        "NVIDIA",
    ],
)
def test_a_machine_is_not_guessed(text: str) -> None:
    with pytest.raises(Undescribed):
        component(text)


def test_each_machine_is_an_accelerator_of_the_library(tmp_path: Path) -> None:
    """Loads one evaluator that chooses among all of them."""
    where = {
        name: file.stem for file in (LIBRARY / "vendor").glob("*.hw") for name in _components(file)
    }
    names = sorted({machine.component for machine in MACHINES})
    uses = "\n".join(f"use vendor.{where[name]}: {name}" for name in names)
    body = f"choice one : accelerator in [{', '.join(names)}] = {names[0]}"
    path = tmp_path / "all.hw"
    path.write_text(
        f"edition 2026\nuse std.node: accelerator\n{uses}\n"
        f"evaluator rates {{\n    {body}\n    output rate in TFLOP/s = one.peak_fp16\n}}\n",
        encoding="utf-8",
    )
    found = hwdsl.load(path, compiled=False).rates.sweep(zipped={"one": names}).column("rate")
    assert (found > 0).all()


def _components(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.split()[1] for line in lines if line.startswith("accelerator ")]


def test_what_is_not_described_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of the published form with other machines, one of them unknown, and a row that the
    evaluator does not take."""
    head = ["row_id", "gpu", "dtype", "m", "n", "k", "meas_time_us"]
    rows = [
        ["1", "h200_sxm", "fp8", "4096", "4096", "4096", "150"],
        ["2", "L40S-48GB", "fp8", "4096", "4096", "4096", "450"],
        ["3", "Imaginary 9000", "fp8", "4096", "4096", "4096", "1"],
        ["4", "A100-SXM4-80GB", "fp8", "4096", "4096", "4096", "1"],
        ["5", "h200_sxm", "fp8", "0", "4096", "4096", "1"],
        ["6", "h200_sxm", "fp8", "4096", "", "4096", "1"],
        ["7", "h200_sxm", "fp8", "4096", "4096", "4096", ""],
        ["8", "h200_sxm", "bfloat16", "4096", "4096", "4096", "200"],
    ]
    with (tmp_path / "aic_gemm.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    monkeypatch.setenv("HWDSL_REFERENCE_DATA", str(tmp_path))
    (one,) = (s for s in SETS if s.name == "aic_gemm, 8 bits")
    given = one.given(evaluator_of(one))
    assert [row["accelerator"] for row in given.rows] == ["H200_SXM_141GB", "L40S"]
    assert given.left_out == {
        "no machine of the library is called `Imaginary 9000`": 1,
        "gemm_fp8 has no `A100_SXM_80GB` among its alternatives of accelerator": 1,
        "gemm_fp8 is not for m = 0": 1,
        "a cell is not filled: n": 1,
        "a cell is not filled: measured": 1,
    }
    assert sum(given.left_out.values()) + len(given.rows) == 7
    assert given.said()[0].startswith("1 rows left out: ")

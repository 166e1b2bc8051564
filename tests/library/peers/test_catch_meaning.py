"""CATCH's tables, and what is computed in place of its defects."""

from pathlib import Path
from typing import Any

import pytest
from reference import document, model

import hwdsl

TABLES = document("catch").get("parameters", {})
NO_TABLES = pytest.mark.skipif(
    not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/catch.json"
)
LAYERS = {
    "L40": "combined_40nm",
    "L7": "combined_7nm",
    "L5": "combined_5nm",
    "L3": "combined_3nm",
    "silicon_interposer": "combined_interposer_silicon",
    "glass_interposer": "combined_interposer_glass",
    "organic_interposer": "combined_interposer_organic",
}
ASSEMBLIES = {
    "organic_110": "organic_simultaneous_bonding",
    "organic_55": "organic_55_simultaneous_bonding",
    "silicon_45": "silicon_45_individual_bonding",
    "silicon_10": "silicon_individual_bonding",
    "hybrid": "w2w_hybrid_bonding",
}
FLOWS = {
    "perfect": "KGD_free_test",
    "coverage_99": "free_test_0.99",
    "coverage_95": "free_test_0.95",
    "untested": "notest",
}
LAYER_FIELDS = {
    "price / (1 USD/mm^2)": "cost_per_mm2",
    "defect_density / (1 mm^-2)": "defect_density",
    "critical_share": "critical_area_ratio",
    "clustering": "clustering_factor",
    "litho_share": "litho_percent",
    "mask_set / 1 USD": "nre_mask_cost",
    "stitching_yield": "stitching_yield",
}
WAFER_FIELDS = {
    "diameter / (1 mm)": "wafer_diameter",
    "edge_exclusion / (1 mm)": "edge_exclusion",
    "dicing / (1 mm)": "dicing_distance",
    "reticle_x / (1 mm)": "reticle_x",
    "reticle_y / (1 mm)": "reticle_y",
    "wafer_yield": "wafer_process_yield",
    "logic_design / (1 USD/mm^2)": "nre_back_end_cost_per_mm2_logic",
    "memory_design / (1 USD/mm^2)": "nre_back_end_cost_per_mm2_memory",
    "analog_design / (1 USD/mm^2)": "nre_back_end_cost_per_mm2_analog",
}
ASSEMBLY_FIELDS = {
    "materials / (1 USD/mm^2)": "materials_cost_per_mm2",
    "separation / (1 mm)": "die_separation",
    "edge_exclusion / (1 mm)": "edge_exclusion",
    "pitch / (1 mm)": "bonding_pitch",
    "current_density / (1 A/mm^2)": "max_pad_current_density",
    "alignment_yield": "alignment_yield",
    "bonding_yield": "bonding_yield",
    "dielectric_defect / (1 mm^-2)": "dielectric_bond_defect_density",
    "tsv_area / (1 mm^2)": "tsv_area",
    "tsv_yield": "tsv_yield",
}
MACHINE_FIELDS = {
    "price / 1 USD": "machine_cost",
    "lifetime": "machine_lifetime",
    "uptime": "machine_uptime",
    "technician / 1 USD": "technician_yearly_cost",
    "step / 1 s": "time",
    "group": "group",
}
FLOW_FIELDS = {
    "cycle / 1 s": "time_per_test_cycle",
    "samples": "samples_per_input",
    "rate / (1 USD/s)": "cost_per_second",
    "self_patterns": "bb_self_pattern_count",
    "self_chain / (1 mm^-2)": "bb_self_scan_chain_length",
    "self_coverage": "self_defect_coverage",
    "assembly_patterns": "bb_assembly_pattern_count",
    "assembly_chain / (1 mm^-2)": "bb_assembly_scan_chain_length",
    "assembly_coverage": "assembly_defect_coverage",
}
CELL_FIELDS = {
    "bandwidth / (1 Gb/s)": "bandwidth",
    "wires": "wire_count",
    "energy / (1 J/bit)": "energy_per_bit",
}


def answers(tmp: Path, texts: list[str], before: tuple[str, ...] = ()) -> list[float]:
    """What expressions over the library's parts are worth."""
    lines = ["edition 2026", "use peers.catch", *before, "evaluator asked {"]
    lines += [f"output o{place} = {text}" for place, text in enumerate(texts)]
    path = tmp / "asked.hw"
    path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")
    found = hwdsl.load(path, compiled=False).asked()
    return [float(getattr(found, f"o{place}")) for place in range(len(texts))]


def entries() -> list[tuple[str, str]]:
    """What the library says and what their tables say of the same."""
    out = []
    for ours, theirs in LAYERS.items():
        table = TABLES["layers"][theirs]
        out += [(f"{ours}.{mine}", table[key]) for mine, key in LAYER_FIELDS.items()]
    table = TABLES["wafer_processes"]["process_1"]
    out += [(f"masked.{mine}", table[key]) for mine, key in WAFER_FIELDS.items()]
    for ours, theirs in ASSEMBLIES.items():
        table = TABLES["assembly_processes"][theirs]
        out += [(f"{ours}.{mine}", table[key]) for mine, key in ASSEMBLY_FIELDS.items()]
        for part, prefix in (("place", "picknplace"), ("bond", "bonding")):
            for mine, key in MACHINE_FIELDS.items():
                out.append((f"{ours}.{part}.{mine}", table[f"{prefix}_{key}"]))
    for ours, theirs in FLOWS.items():
        table = TABLES["tests"][theirs]
        out += [(f"{ours}.{mine}", table[key] or "0") for mine, key in FLOW_FIELDS.items()]
    for name in ("UCIe_standard", "UCIe_advanced"):
        table = TABLES["ios"][name]
        out += [(f"{name}.{mine}", table[key]) for mine, key in CELL_FIELDS.items()]
    return out


@NO_TABLES
def test_every_part_is_theirs(tmp_path: Path) -> None:
    known = entries()
    found = answers(tmp_path, [text for text, _ in known])
    for (text, value), number in zip(known, found, strict=True):
        assert number == pytest.approx(float(value), rel=1e-12), text


def test_a_machine_that_rests_costs_more(tmp_path: Path) -> None:
    """1.8 MUSD over 5 years, 100 kUSD a year, up for .9 of the time, 20 s for each of 3 chips."""
    texts = [f"silicon_10.bond.cost(3, {flag}) / 1 USD" for flag in ("false", "true")]
    right, theirs = answers(tmp_path, texts)
    second = (1.8e6 / 5 + 1e5) / (365 * 86400)
    assert right == pytest.approx(second / 0.9 * 60, rel=1e-12)
    assert theirs == pytest.approx(second * 0.9 * 60, rel=1e-12)


def test_a_link_takes_power(tmp_path: Path) -> None:
    """4,096 Gb/s at 1 pJ/bit are 4.1 W at each end of a link; each takes a cell."""
    link = (
        "port link[2] {",
        "cell = UCIe_advanced",
        "bandwidth = 4096 Gb/s",
        "utilisation = 1",
        "}",
    )
    whole = ("chip linked : dies_on_carrier {", "die {", *link, "}", "}")
    texts = ["linked.power / 1 W", "linked.die.io_area / (1 mm^2)", "linked.die.wires"]
    texts += ["(linked with { die.uncorrected = true }).power / 1 W"]
    power, size, wires, theirs = answers(tmp_path, texts, whole)
    assert power == pytest.approx(150 + 2 * 4.096, rel=1e-12)
    assert size == pytest.approx(4 * 0.4055184, rel=1e-12)
    assert wires == 280
    assert theirs == pytest.approx(150, rel=1e-9)


def test_chips_stand_on_chips(tmp_path: Path) -> None:
    """Three storeys: what is on a chip that is on the carrier counts in all sums."""
    whole = (
        "chip tower : dies_on_carrier {",
        "die {",
        "assembly = silicon_10",
        "chip upper[2] {",
        "layers = [L7]",
        "wafers = masked",
        "assembly = silicon_10",
        "test = perfect",
        "core = 100 mm^2",
        "core_power = 10 W",
        "quantity = 2e6",
        "}",
        "}",
        "}",
    )
    texts = ["tower.all_core / (1 mm^2)", "tower.power / 1 W", "tower.nre / 1 USD"]
    texts += ["tower.die.upper.nre / 1 USD", "tower.die.assembled_yield"]
    core, power, nre, upper, assembled = answers(tmp_path, texts, whole)
    assert core == pytest.approx(600, rel=1e-12)
    assert power == pytest.approx(170, rel=1e-12)
    assert upper == pytest.approx((100 * 1e5 + 1e6) / 2e6, rel=1e-12)
    assert nre == pytest.approx(2 * upper + (400 * 1e5 + 3e6) / 1e6 + 500 / 1e6, rel=1e-12)
    assert assembled == pytest.approx(0.999**2, rel=1e-12)


def test_untested_dies_spoil_the_system() -> None:
    """Without a test the yields of all dies multiply into the quality of what is sold."""
    cut: Any = model("catch").cut_system
    one = cut(flow="untested", dies=4)
    pads = 2 * 5051  # for 300 W at 1 V through pads of 55 um, and no pad for tests
    expected = (one.die_yield / 100) ** 4 * 0.999**4 * 0.999999**pads
    assert one.quality / 100 == pytest.approx(expected, rel=1e-9)
    assert cut(dies=4).quality == pytest.approx(100, rel=1e-9)


def test_a_later_test_counts() -> None:
    """Dies that were tested again bring better quality than their first test's."""
    both = [
        model("catch").cut_system(flow="coverage_95", dies=4, as_published=flag)
        for flag in (False, True)
    ]
    assert both[0].assembled > 1.1 * both[1].assembled
    assert both[0].cost < both[1].cost


def test_too_long_a_diagonal_is_refused() -> None:
    """The radius is 149.9 mm, the diagonal of 11,235 square millimetres."""
    layer: Any = model("catch").layer_on_wafer
    assert layer(size="11200 mm^2").feasible
    assert layer(size="11300 mm^2").violations == ["packs"]

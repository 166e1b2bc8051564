"""Carbon of dies and packages against 3D-Carbon's own printed numbers, and its tables.

Compared, to the 0.01 kg that it prints: dies side by side on organic, layers or silicon, what is
between, package and sum. Not compared: stacks, which are not here.
"""

from typing import Any

import pytest
from reference import agree, cases, document, model

TABLES = document("three_d_carbon").get("parameters", {})
PRINTED = 0.005 * (1 + 1e-9)
LAYERS = TABLES.get("configs/layer_config.json", {})
GRIDS = TABLES.get("carbon_intensity/manufacturing_location.json", {})


BETWEEN = {
    "MCM": "nothing",
    "InFO_chip_first": "grown_layers",
    "InFO_chip_last": "finished_layers",
    "Si_int": "silicon",
}


def die_carbon(given: dict[str, Any], grid: float) -> tuple[float, float]:
    """Carbon and area of a die, each as many times as there are."""
    nm, number = given["technode(nm)"], given.get("number", 1)
    three_d = model("three_d_carbon")
    guess = three_d.guess(
        process=f"N{nm}",
        size=f"{given.get('area(mm2)', 0)!r} mm^2",
        gates=given.get("gatenumber", 0),
        pads=given.get("IO_number", 0),
        feature=f"{nm} nm",
    )
    own = LAYERS[f"{nm}nm"]
    layers = (given.get("layer") or guess.layers) if given.get("layer_sensitive", 1) else own
    made = three_d.dies(
        process=f"N{nm}",
        size=f"{guess.area!r} mm^2",
        more=int(layers - own),
        number=number,
        grid=f"{grid!r} g/kWh",
    )
    return made.carbon, guess.area * number


def compared(case: dict[str, Any]) -> dict[str, float]:
    """What we say of those numbers of a case that are compared."""
    found: dict[str, float] = {}
    spread = TABLES["configs/scaling_factors.json"]["package"]
    for product in case["input"]:
        if product["method"] not in BETWEEN:
            continue
        grid = GRIDS[product.get("manufacturing_power_grid", "world")]
        made = [die_carbon(die, grid) for die in product["die_list"]]
        side_by_side = model("three_d_carbon").side_by_side
        joined = side_by_side(
            between=BETWEEN[product["method"]],
            dies=f"{sum(carbon for carbon, _ in made)!r} kg",
            footprint=f"{sum(area for _, area in made)!r} mm^2",
            number=sum(die.get("number", 1) for die in product["die_list"]),
            grid=f"{grid!r} g/kWh",
            as_published=True,
        )
        lost = joined.made / sum(carbon for carbon, _ in made)
        # Dies of one name overwrite each other in the output.
        for die, (carbon, _) in zip(product["die_list"], made, strict=True):
            found[die.get("name", "die")] = carbon * lost
        size = product.get("packagearea(mm2)") or spread * sum(area for _, area in made)
        housing = model("three_d_carbon").housing(size=f"{size!r} mm^2", grid=f"{grid!r} g/kWh")
        found["package"] = housing.carbon
        if product["method"] != "MCM":
            found["substrate"] = joined.carrier
        found["overall embodied carbon"] = joined.total + housing.carbon
    return found


@pytest.mark.parametrize("case", cases("three_d_carbon"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    found = compared(case)
    if not found:
        pytest.skip("nothing of it is described")
    printed = case["output"]["kg"]
    wrong = {k: (v, printed[k]) for k, v in found.items() if abs(v - printed[k]) > PRINTED}
    assert not wrong


@pytest.mark.skipif(
    not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/three_d_carbon.json"
)
def test_tables_are_theirs() -> None:
    dies, cut = model("three_d_carbon").dies, model("three_d_carbon").cut
    tables = {k.split("/")[-1].removesuffix(".json"): v for k, v in TABLES.items()}
    for label in dies.param("process").labels:
        node = f"{label.removeprefix('N')}nm"

        def carbon(grid: float, more: int = 0, size: float = 100, label: str = label) -> float:
            at = f"{size!r} mm^2"
            made = dies(process=label, grid=f"{grid!r} g/kWh", more=more, size=at)
            return float(made.carbon) * 1000

        density, clustering = tables["die_yield"][node]
        good = (1 + density * 100 / clustering) ** -clustering
        whole = 3.141592653589793 * 150**2
        dies_of_it = int(whole / 100 - 3.141592653589793 * 300 / 200**0.5)
        cost = whole / dies_of_it / 100 / good
        energy, gases = tables["epa"][node], tables["gpa"][node]
        layer = tables["epa_BEOL_perlayer"][node]
        agree(
            {
                "without energy": carbon(0),
                "energy": carbon(1) - carbon(0),
                "a layer": carbon(0, 1) - carbon(0),
                "layers": dies(process=label, more=1 - LAYERS[node]).feasible,
            },
            {
                "without energy": (gases + tables["mpa"][node]) * cost,
                "energy": energy * cost,
                "a layer": layer / energy * gases * cost,
                "layers": True,
            },
            rel=1e-8,
        )
        assert not dies(process=label, more=-LAYERS[node]).feasible
    for name in cut.param("method").labels:
        share = cut(method=name, needed="100 GB/s").share
        assert share == pytest.approx(100 * 100 / tables["bandwidth"][name], rel=1e-12)
    for name in model("three_d_carbon").housing.param("enclosure").labels:
        made = model("three_d_carbon").housing(enclosure=name, size="1 mm^2", grid="1 g/kWh")
        assert made.carbon * 1000 == pytest.approx(tables["epa_package"][name], rel=1e-12)


def test_what_cannot_be_carried_is_said() -> None:
    cut = model("three_d_carbon").cut
    assert list(cut(method="MCM", needed="500 GB/s").violations) == ["carries"]
    assert not cut(method="Si_int", needed="500 GB/s").violations

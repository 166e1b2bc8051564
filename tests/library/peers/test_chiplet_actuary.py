"""Dies, packages and design costs against Chiplet Actuary's own numbers. All outputs are compared.

A user with other numbers writes components of the model's kinds; so does this test, from the
constants that each file of cases states, and asks about them with an evaluator of its own. The
tool's numbers are compared with `as_published`; where that makes no difference, with the right
model too.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from reference import agree, cases, document, model

import hwdsl

CARRIERS = {"OS": "bare", "FO": "spread", "SI": "sliced"}
DIE = {
    "die_yield": ("yield", 0.01),
    "dies_per_wafer": ("per_wafer", 1),
    "good_dies_per_wafer": ("good", 1),
    "raw_die_usd": ("raw_cost", 1),
    "known_good_die_usd": ("known_good", 1),
    "defect_usd": ("defects", 1),
    "chip_NRE_usd": ("design", 1),
}
PACKAGE = {
    "raw_chips_usd": "raw_chips",
    "chip_defect_usd": "chip_defects",
    "raw_package_usd": "raw_package",
    "package_defect_usd": "package_defects",
    "wasted_KGD_usd": "wasted",
    "total_RE_usd": "recurring",
    "RE_usd": "recurring",
    "package_substrate_area_mm2": "substrate_area",
    "substrate_area_mm2": "substrate_area",
    "package_NRE_usd": "package_once",
    "sum_chip_area_mm2": "chip_area",
    "interposer_yield": "interposer_yield",
    "interposer_area_mm2": "interposer_area",
    "interposers_per_wafer": "interposers",
    "module_NRE_per_unit_usd": "modules_design",
    "chip_NRE_per_unit_usd": "chips_design",
    "package_NRE_per_unit_usd": "package_design",
    "total_per_unit_usd": "total",
}
OUTPUTS = """
    output raw_chips        in USD  = made.raw_chips
    output chip_defects     in USD  = made.chip_defects
    output raw_package      in USD  = made.raw_package
    output package_defects  in USD  = made.package_defects
    output wasted           in USD  = made.wasted
    output recurring        in USD  = made.recurring
    output substrate_area   in mm^2 = made.substrate_area
    output package_once     in USD  = made.package_design
    output chip_area        in mm^2 = sum(c.area * c.count for c in made.parts.chip)
    output interposer_yield         = made.interposer_yield
    output interposer_area  in mm^2 = made.interposer_area
    output interposers              = made.per_wafer
    output modules_design   in USD  = made.modules_design / volume
    output chips_design     in USD  = made.chips_design / volume
    output package_design   in USD  = made.package_design / volume
    output total            in USD  = made.recurring + made.design / volume
"""


def carrier(name: str, given: dict[str, float], line: str = "line") -> str:
    """An interposer with the numbers of a file."""
    return f"""
interposer {name} : {"fan_out" if name == "spread" else "silicon"} {{
    wafer           = {line}
    wafer_price     = {given["wafer_cost_usd"]!r} USD
    defect_density  = {given["defect_density_per_cm2"]!r} cm^-2
    clustering      = {given["alpha"]!r}
    spread          = {given["area_scale"]!r}
    bonding_yield   = {given["bonding_yield_per_chip"]!r}
    bump_price      = {given.get("ubump_usd_per_mm2", 0.01)!r} USD/mm^2
    design_per_area = {given["NRE_usd_per_mm2"]!r} USD/mm^2
    design_fixed    = {given["NRE_fixed_usd"]!r} USD
}}
"""


def node(name: str, given: dict[str, float], shared: dict[str, Any]) -> str:
    """A process node with the numbers of a file."""
    return f"""
node n{name} {{
    wafer          = line
    wafer_price    = {given["wafer_cost_usd"]!r} USD
    defect_density = {given["defect_density_per_cm2"]!r} cm^-2
    clustering     = {shared["manufacture"]["die_alpha"]!r}
    design         = {given["NRE_300mm2_usd"]!r} USD
    module_share   = {shared["NRE_split"]["module"]!r}
    chip_share     = {shared["NRE_split"]["chip"]!r}
}}
"""


def description(shared: dict[str, Any]) -> str:
    """The components of a file of cases, and a question about them for each form of case."""
    line, board = shared["manufacture"], shared["OS"]
    nodes = ", ".join(f"n{name}" for name in shared["nodes"])
    first = next(iter(shared["nodes"]))
    common = """
    param volume : real = 1 in 1e-3 .. 1e15
    choice carrier : interposer in [bare, spread, sliced]
    choice flow : flow in [chip_last, chip_first]
    choice as_published : bool in [false, true]
"""
    amended = """
        interposer = carrier
        substrate  = board
        flow       = flow
        as_published = as_published
"""
    return f"""edition 2026
use peers.chiplet_actuary: wafer, node, interposer, substrate, package, chip, interface
use peers.chiplet_actuary: flow, none, fan_out, silicon, organic

wafer line {{
    diameter  = {line["wafer_diameter_mm"]!r} mm
    edge_loss = {line["edge_loss_mm"]!r} mm
    scribe    = {line["scribe_lane_mm"]!r} mm
}}
substrate board : organic {{
    spread          = {board["area_scale"]!r}
    price           = {board["substrate_usd_per_mm2"]!r} USD/mm^2
    bonding_yield   = {board["bonding_yield_per_chip"]!r}
    bump_price      = {board["c4_bump_usd_per_mm2"]!r} USD/mm^2
    design_per_area = {board["NRE_usd_per_mm2"]!r} USD/mm^2
    design_fixed    = {board["NRE_fixed_usd"]!r} USD
}}
interposer bare : none {{ wafer = line }}
{carrier("spread", shared["FO"])}{carrier("sliced", shared["SI"])}
{"".join(node(name, given, shared) for name, given in shared["nodes"].items())}
evaluator die {{
    param size : area = 800 mm^2 in 1e-3 mm^2 .. 50000 mm^2
    choice node : node in [{nodes}]
    let made = chip(node = node, modules = size)
    output yield      in %   = made.yield
    output per_wafer         = made.per_wafer
    output good              = made.per_wafer * made.yield
    output raw_cost   in USD = made.raw
    output known_good in USD = made.raw + made.defects
    output defects    in USD = made.defects
    output design     in USD = made.design
}}
package equal {{
    chip die {{
        node    = n{first}
        modules = 100 mm^2
    }}
    interface link {{ node = n{first} }}
}}
evaluator split {{
    param size : area = 800 mm^2 in 1e-3 mm^2 .. 50000 mm^2
    param chiplets : int = 1 in 1 .. 1024
    param overhead : real = 0 in 0 .. 10
    choice node : node in [{nodes}]
    choice distinct : bool in [false, true]
{common}
    let made = equal with {{
{amended}
        die.node     = node
        die.count    = chiplets
        die.designs  = if distinct then chiplets else 1
        die.modules  = size / chiplets
        die.d2d_area = size / chiplets * overhead
        link.node    = node
        link.count   = if overhead > 0 then 1 else 0
    }}
{OUTPUTS}
}}
package mixed {{
    chip ccd[1] {{
        node    = n{first}
        modules = 100 mm^2
    }}
    chip iod[1] {{
        node    = n{first}
        modules = 100 mm^2
    }}
}}
evaluator around {{
    param ccds : int = 1 in 1 .. 1024
    param ccd_modules : area = 100 mm^2 in 1e-3 mm^2 .. 50000 mm^2
    param ccd_d2d : area = 0 mm^2 in 0 mm^2 .. 50000 mm^2
    choice ccd_node : node in [{nodes}]
    param iods : int = 1 in 1 .. 1024
    param iod_modules : area = 100 mm^2 in 1e-3 mm^2 .. 50000 mm^2
    param iod_d2d : area = 0 mm^2 in 0 mm^2 .. 50000 mm^2
    choice iod_node : node in [{nodes}]
    param blanks : int = 0 in 0 .. 1024
    param blank : area = 0 mm^2 in 0 mm^2 .. 50000 mm^2
{common}
    let made = mixed with {{
{amended}
        blanks       = blanks
        blank        = blank
        ccd.count    = ccds
        ccd.node     = ccd_node
        ccd.modules  = ccd_modules
        ccd.d2d_area = ccd_d2d
        iod.count    = iods
        iod.node     = iod_node
        iod.modules  = iod_modules
        iod.d2d_area = iod_d2d
    }}
{OUTPUTS}
}}
"""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The description made from the constants of a file, loaded."""

    @cache
    def load(name: str) -> hwdsl.Module:
        path: Path = tmp_path_factory.mktemp(name) / f"{name}.hw"
        path.write_text(description(document(name)["parameters"]), encoding="utf-8")
        return hwdsl.load(path, compiled=False)

    return load


def point_of(given: dict[str, Any]) -> tuple[str, dict[str, object]]:
    """The evaluator and the point that a case asks about."""
    point: dict[str, object] = {
        "carrier": CARRIERS[given["packaging"]],
        "flow": "chip_last" if given.get("chip_last", True) else "chip_first",
        "volume": given.get("volume", 1),
    }
    if "ccd" not in given:
        return "split", point | {
            "size": f"{given['functional_area_mm2']!r} mm^2",
            "chiplets": given.get("chiplets", 1),
            "overhead": given.get("d2d_overhead_fraction", 0),
            "node": f"n{given['node']}",
            "distinct": given.get("distinct_chiplets", True),
        }
    for name in ("ccd", "iod"):
        chip = given[name]
        point |= {
            f"{name}s": chip["count"],
            f"{name}_node": f"n{chip['node']}",
            f"{name}_modules": f"{chip['module_mm2']!r} mm^2",
            f"{name}_d2d": f"{chip['d2d_mm2']!r} mm^2",
        }
    dummy = given.get("dummy", {"mm2": 0, "count": 0})
    return "around", point | {"blanks": dummy["count"], "blank": f"{dummy['mm2']!r} mm^2"}


@pytest.mark.parametrize("case", cases("chiplet_actuary_die"))
def test_dies(case: Any, described: Any) -> None:
    given, wanted = case["input"], case["output"]
    evaluator = described("chiplet_actuary_die").die
    result = evaluator(node=f"n{given['node']}", size=f"{given['area_mm2']!r} mm^2")
    agree({name: result[DIE[name][0]] * DIE[name][1] for name in wanted}, wanted)


def shipped(case: Any, module: hwdsl.Module) -> None:
    """All outputs of a case, as the tool has them."""
    name, point = point_of(case["input"])
    result = getattr(module, name)(**point, as_published=True)
    wanted = case["output"]
    agree({key: result[PACKAGE[key]] for key in wanted}, wanted)


@pytest.mark.parametrize("case", cases("chiplet_actuary_package"))
def test_packages(case: Any, described: Any) -> None:
    shipped(case, described("chiplet_actuary_package"))


@pytest.mark.parametrize("case", cases("chiplet_actuary_nre"))
def test_designs(case: Any, described: Any) -> None:
    shipped(case, described("chiplet_actuary_nre"))


@pytest.mark.parametrize("case", cases("chiplet_actuary_package"))
def test_the_right_model_differs_only_where_the_tool_errs(case: Any, described: Any) -> None:
    """Without the switch recurring costs are the tool's, unless equal chips have micro-bumps."""
    given, wanted = case["input"], case["output"]
    name, point = point_of(given)
    result = getattr(described("chiplet_actuary_package"), name)(**point)
    bumps = given["packaging"] != "OS"
    if bumps and given["chiplets"] > 1 and not given.get("distinct_chiplets", True):
        assert result.recurring > wanted["total_RE_usd"]
    else:
        agree({"total_RE_usd": result.recurring}, {"total_RE_usd": wanted["total_RE_usd"]})
    if bumps:
        assert result.package_once > wanted["package_NRE_usd"]
    else:
        assert result.package_once == pytest.approx(wanted["package_NRE_usd"], rel=1e-9)


@pytest.mark.parametrize("carrier", ["none", "fan_out_as_published", "silicon"])
def test_the_library_has_their_numbers(carrier: str, described: Any) -> None:
    """Components of the library and those made of the file's constants give the same."""
    constants = document("chiplet_actuary_package").get("parameters")
    if not constants:
        pytest.skip("HWDSL_REFERENCE_DATA holds no cost_cases/chiplet_actuary_package.json")
    ours, theirs = model("chiplet_actuary"), described("chiplet_actuary_package")
    name = {"none": "bare", "fan_out_as_published": "spread", "silicon": "sliced"}[carrier]
    for node in constants["nodes"]:
        left = ours.split(node=f"N{node}", interposer=carrier, as_published=True, volume=1000)
        right = theirs.split(
            node=f"n{node}", carrier=name, chiplets=4, overhead=0.1, distinct=True,
            as_published=True, volume=1000,
        )  # fmt: skip
        same = [o.name for o in ours.split.spec.outputs]
        agree({n: left[n] for n in same}, {n: right[n] for n in same}, rel=1e-12)


# --- the model on its own -----------------------------------------------------------------------


def test_a_breakdown_adds_up() -> None:
    result = model("chiplet_actuary").split(interposer="fan_out", flow="chip_first", chiplets=3)
    parts = ("raw_chips", "chip_defects", "raw_package", "package_defects", "wasted")
    assert sum(result[p] for p in parts) == pytest.approx(result.recurring, rel=1e-12)
    designs = ("modules_design", "chips_design", "package_design")
    assert result.recurring + sum(result[d] for d in designs) == pytest.approx(
        result.total, rel=1e-12
    )


def test_growing_over_chips_needs_a_fan_out_layer() -> None:
    split = model("chiplet_actuary").split
    assert split(interposer="silicon", flow="chip_first").violations == ["made.order"]
    assert not split(interposer="fan_out", flow="chip_first").violations


def test_blank_dies_cost_area_and_yield() -> None:
    family = model("chiplet_actuary").family
    full, half = family(ccds=4, reuse=True), family(ccds=4, reuse=False)
    assert full.recurring > half.recurring
    assert full.ccd_design < half.ccd_design


def test_fixed_design_of_fan_out_is_whole() -> None:
    split = model("chiplet_actuary").split
    right, theirs = (split(interposer=i, volume=1) for i in ("fan_out", "fan_out_as_published"))
    difference = right.package_design - theirs.package_design
    assert difference == pytest.approx(7.5e6 - 25e3, rel=1e-9)

"""Dies per wafer and yields against SiliconCompiler's own numbers. All outputs are compared.

Yields by Poisson are met to 1e-9. Murphy's are to 1e-6: the tool loses digits in 1 - exp(-x).
"""

from typing import Any

import pytest
from reference import agree, cases, model

YIELDS = {
    "yield_poisson_as_coded": ("poisson", True, 1e-9),
    "yield_murphy_as_coded": ("murphy", True, 1e-6),
    "poisson_if_d0_per_cm2": ("poisson", False, 1e-9),
    "murphy_if_d0_per_cm2": ("murphy", False, 1e-6),
}


@pytest.mark.parametrize("case", cases("siliconcompiler"))
def test_reproduces(case: Any) -> None:
    given = case["input"]
    scribe = given.get("scribe_mm", (0, 0))
    shape = {
        "width": f"{given['die_w_um']!r} um",
        "height": f"{given['die_h_um']!r} um",
        "diameter": f"{given['wafer_mm']!r} mm",
        "edge_margin": f"{given.get('edgemargin_mm', 0)!r} mm",
        "scribe_x": f"{scribe[0]!r} mm",
        "scribe_y": f"{scribe[1]!r} mm",
        "defect_density": f"{given['d0']!r} cm^-2",
    }
    dies = model("siliconcompiler").dies
    assert set(case["output"]) == {"dpw", *YIELDS}, "an output that nothing computes"
    agree({"dpw": dies(**shape).per_wafer}, {"dpw": case["output"]["dpw"]})
    for name, (law, shipped, rel) in YIELDS.items():
        found = dies(**shape, law=law, as_published=shipped).working / 100
        agree({name: found}, {name: case["output"][name]}, rel)


def test_the_shipped_number_is_a_hundredth_of_the_defects() -> None:
    dies = model("siliconcompiler").dies
    shipped = dies(law="poisson", as_published=True, defect_density=1.0)
    assert shipped.working == pytest.approx(dies(law="poisson", defect_density=0.01).working)
    assert dies(law="poisson", defect_density=1.0).working < shipped.working


def test_a_die_too_large_is_refused() -> None:
    assert model("siliconcompiler").dies(width="200 mm").violations == ["fits"]

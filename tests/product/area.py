"""A description that has no errors, for tests of commands."""

GOOD = """edition 2026

evaluator area_of {
    ## Width.
    param  width  : length = 2 m in 1 m .. 10 m
    param  count  : int    = 3   in 1 .. 8
    choice square : bool in [true, false]

    let height = if square then width else 2 * width

    ## All of it.
    output area in m^2 = count * width * height

    require small: count * width * height <= 100 m^2
        else "{count * width * height in m^2} is too much"
        help "make it smaller"
}
"""

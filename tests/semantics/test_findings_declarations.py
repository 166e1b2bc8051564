"""Each diagnostic of the checker, in literate form: declarations and blocks."""

import pytest

CASES = {
    "duplicates": """
        let a = 1
        let a = 2                                        # error: duplicate-name
        enum b { x, x }                                  # error: duplicate-name
        fn f(x: real, x: real) -> real = x               # error: duplicate-name
        kind k {
            u : real
            let u = 1                                    # error: duplicate-name
            require r: true
            warn r: true                                 # error: duplicate-name
        }
        evaluator e {
            param p : real = 1
            output p in % = 1                            # error: duplicate-name
        }
        """,
    "reserved": """
        kind k { count : int = 1 }                       # error: reserved-name
        let self = 1                                     # error: reserved-name
        enum real { x }                                  # error: reserved-name
        """,
    "kind cycle": """
        kind a : b { }                                   # error: kind-cycle
        kind b : a { }
        kind c : c { }                                   # error: kind-cycle
        """,
    "recursion": """
        fn f(x: real) -> real = g(x)
        fn g(x: real) -> real = f(x)                     # error: call-cycle
        kind shelf { memory a : HBM, memory b : HBM }
        fn h(x: real) -> real = g(x)
        let a = b
        let b = a                                        # error: field-cycle
        kind node { node inner }                         # error: call-cycle
        """,
    "amending": """
        chip B : A { total = 3 GB/s }                    # error: let-amended
        chip C : A { hbm.capacity = 1 GB, hbm { bandwidth = 1 GB/s } } # error: path-overlap
        chip D : A { hbm.capacity = 1 GB, hbm.bandwidth = 1 GB/s, hbm.count = 2 }
        chip E : A { hbm.colour = 1 }                    # error: unknown-field
        chip F : A { hbm.capacity = 1 s }                # error: unit-mismatch
        chip G : A { area.x = 1 }                        # error: type-mismatch
        let w = A with { hbm.capacity = 1 GB, area = 1 mm^2 }
        let v = A with { colour = 1 }                    # error: unknown-field
        let u = w.hbm.drain + v.hbm.drain
        chip H : A { name = "x" }                        # error: reserved-name
        chip I : A { extra : real = 1 }                  # error: misplaced-member
        chip J : HBM { }                                 # error: type-mismatch
        """,
    "references": """
        kind board { memory mem : HBM
                     link wire { from = mem } }
        board X { }
        board Y { wire.from.capacity = 1 GB }            # error: amend-through-ref
        let a = X.wire.from.capacity + 1 GB
        let b = X.wire.from == X.mem
        let c = X.wire.from == A                         # error: type-mismatch
        """,
    "missing": """
        memory M { }                                     # error: missing-field
        memory N : M { }                                 # error: missing-field
        kind board { memory mem }
        board P { }                                      # error: missing-field
        board Q { mem.bandwidth = 1 GB/s }
        board R { mem { bandwidth = 1 GB/s } }
        board S : Q { }
        kind fast : memory { bandwidth = 1 TB/s }
        fast T { }
        """,
    "shapes": """
        chip B : A { memory extra : HBM }
        let a = B.extra.capacity + 1 GB
        let b = A.extra                                  # error: unknown-field
        fn f(c: chip) -> data = c.extra.capacity         # error: unknown-field
        let c = (B with { area = 1 mm^2 }).extra.capacity + 1 GB
        let d = sum(m.capacity * m.count for m in B.parts.memory)
        let e = len(B.parts)
        let g = B.parts.gadget                           # error: unknown-kind
        """,
    "names in blocks": """
        let capacity_ = 3 GB
        kind box {
            capacity : data = 1 GB
            memory inner { bandwidth = 1 GB/s, capacity = capacity / 2 }  # error: ambiguous-name
            memory other { bandwidth = 1 GB/s, capacity = outer.capacity / 2 }
        }
        fn f(capacity: data) -> memory = HBM with { capacity = capacity * 2 }
        let h = [HBM with { bandwidth = 1 GB / drain } for drain in [1 s]] # warning: shadows-member
        let a = outer.x                                  # error: unknown-name
        memory M : HBM {
            let half = bandwidth / 2
            capacity = half * 1 s
            let capacity = 1 GB                          # error: duplicate-name
        }
        memory N : HBM {
            capacity = late * 1 s
            let late = bandwidth / 2
            let round_ = again                           # error: unknown-name
            let about = about + 1                        # error: field-cycle
        }
        """,
    "rules": """
        kind k {
            x : data = 1 GB
            require a: x                                 # error: type-mismatch
            require b: x > 1 GB else "{x in s}"          # error: unit-mismatch
            require c: x > 1 GB else "{y}"               # error: unknown-name
            require d: x > 1 GB else "{name} has {x} in {x in MB}"
        }
        """,
    "evaluators": """
        evaluator e {
            param a : data = 1 s                         # error: unit-mismatch
            param b : data = 1 GB in 1 s .. 2 GB         # error: unit-mismatch
            param c : memory = HBM                       # error: type-mismatch
            param d : int in [1, 2, 4]
            choice f : memory in [HBM, A]                # error: type-mismatch
            choice g : int in []                         # error: empty-choice
            output h in s = 1 GB                         # error: unit-mismatch
            output i : data = 1 GB
            output j in GB/s = HBM                       # error: not-a-number
            output k = HBM                               # error: type-mismatch
            output l in B = i + 1 GB
        }
        evaluator empty { let x = 1 }                    # warning: no-output
        let a = e(a = 1 GB, d = 2, f = HBM, b = 1 GB).i + 1 GB
        let b = e(d = 1, zz = 1)                                # error: unknown-argument
        let c = e(b = 2 GB)                              # error: missing-argument
        """,
    "sources": """
        reference smith_2020 : paper 2020 "Smith, Links, 2020"
        reference smith_2020 : paper 2021 "Smith, Links, 2021"  # error: duplicate-name
        reference jones : poem 2020 "Jones, Links"       # error: unknown-name
        reference doe : paper 20 "Doe, Links"            # error: bad-number
        source smith_2020 confidence low                 # error: misplaced-source
        let a = 3 source (smith_2020 "p. 3" confidence high, "a book")
        let b = 3 source smith_2021                      # error: unknown-reference
        let smith_2020 = 4 source smith_2020             # a reference is no value
        fn f(x: real) -> real = x source nobody          # error: unknown-reference
        enum e { x } source nobody                       # error: unknown-reference
        kind k {
            source smith_2020 confidence sure            # error: unknown-name
            a : real = 3 source nobody                   # error: unknown-reference
            require r: a > 2 source nobody               # error: unknown-reference
        }
        k K { a = 4 source nobody }                      # error: unknown-reference
        evaluator ask {
            source nobody                                # error: unknown-reference
            param p : real = 3 source nobody             # error: unknown-reference
            output o = p + doe                           # error: unknown-name
            source "late"                                # error: misplaced-source
        }
        k Late {
            source "one"
            source "two"                                 # error: misplaced-source
            a = 4
            assume "late"                                # error: misplaced-source
        }
        """,
    "claims": """
        claim c {
            expect 1 GB == 1 GB within 1 % relative
            expect 1 GB == 1 GB within 1 MB absolute
            expect 1 GB == 1 GB within 1 s absolute      # error: unit-mismatch
            expect 1 GB == 1 GB within 1 MB relative     # error: unit-mismatch
            expect 1 == 2 within 0.1                     # error: bad-tolerance
            source "a book" confidence medium
            source "a book" confidence sure              # error: unknown-name
            expect 1 < 2 within 0.1 relative             # error: bad-tolerance
            expect 1 GB                                  # error: type-mismatch
            expect 1 == 2 within factor 3
        }
        calibrated eta : real = 0.8 in 0 .. 1 source "x"
        calibrated rho : data = 0.8 in 0 GB .. 1 source "x" # error: unit-mismatch,unit-mismatch
        """,
    "names of results": """
        evaluator e {
            param unit : data = 1 GB                     # no output
            param violations : int = 1                   # error: reserved-name
            output raw in GB = unit                      # warning: hidden-output
            output feasible in GB = unit                 # error: reserved-name
            output params = violations                   # warning: hidden-output
        }
        evaluator f {
            param a : data = 1 GB
            output is_raw in GB = a
            allow hidden_output "read by name"
        }
        """,
    "tables": """
        evaluator e {
            param a : data = 1 GB
            output b in GB = a
        }
        figure t { of = e, y = b, x = a }
        table u { of = f }                               # error: unknown-name
        figure v { of = e, y = c, x = a }                # error: unknown-name
        figure w { x = a }                               # error: missing-argument
        """,
    "units": """
        dimension luck
        unit lot : luck prefix k, q                      # error: unknown-prefix
        unit dozen = 12 lot
        unit knot = 0.5 m/s
        unit cold = 1 K offset 273.15
        unit bad = sqrt(2)                               # error: bad-unit
        let a = 1 klot + 2 dozen + 1 lot
        let b = 3 cold + 1 K                             # error: affine-unit
        let c = 3 cold/s                                 # error: affine-unit
        type spell = luck / time
        fn f(x: spell) -> luck = x * 1 s
        type loop = loop2                                # error: unknown-type
        let s = 3
        fn g(s: time) -> time = 3 s                      # warning: shadows-unit
        fn g2(s: time) -> data / time = 3 GB/s + 1 GB / s # warning: shadows-unit
        fn g3(s: real, h: int, k: memory) -> time = 3 s * s + h * 1 h
        evaluator hours {
            param h : int = 2 in 1 .. 3
            param s : time = 2 minute in 1 s .. 1 h      # warning: shadows-unit
            let m = 3 * n
            let n = 2 m                                  # warning: shadows-unit
            output long in h = h * s + m / 1 km * 1 minute
            output fast in GB/s = 1 GB / s
        }
        let d = 1e999                                    # error: bad-number
        let e = 1e300 GB                                 # error: number-too-large
        """,
    "zeros and infinities without a unit": """
        kind task {
            start   : time   = 0
            late    : time   = inf
            phases  : [time] = [0, 1 s, -inf]
            idle    : [time] = [0, 0.0]
            steps   : int    = inf                       # error: int-from-real
            power   : power  = 1                         # error: unit-mismatch
        }
        task first { late = -inf, phases = [0] }
        fn larger[D](a: D, b: D) -> D = if a > b then a else b
        fn positive[D](x: D) -> D = max(x, 0)
        fn of(n: int) -> time = match n { 0 => 0, 1 => inf, else => -3 s }
        let a : time = larger(0, 3 s) + positive(-2 s) + max([0, 1 s]) + max(0 for i in 0 .. 2)
        let b : [time] = [(if i == 0 then 0 else -inf) for i in 0 .. 2]
        let c : time = interp(1 s, [0, 2 s], [0, 5 s]) + (if a > 0 then min(0, inf) else 3 s)
        let d = 0 <= a <= inf and a != -0
        let e : time = larger(0, 1)                      # error: unit-mismatch
        let zero = 0
        let f = 1 s + zero                               # error: unit-mismatch
        let g = 1 s + 0 * 2                              # error: unit-mismatch
        let h = [x + 1 s for x in [0, inf]]              # error: unit-mismatch
        let i = 1 s + [0, 0][1]                          # error: unit-mismatch
        let j = (if a > 0 then 3 else inf) + 1 s         # error: unit-mismatch
        let k = 1 s + lowest(0 for x in [0]).value       # error: unit-mismatch
        let l = 1 s + pi                                 # error: unit-mismatch
        let m = 0 + 0 s + 1                              # error: unit-mismatch
        let n = true or 0                                # error: type-mismatch
        let hot = 85 degC
        let o = hot < inf and hot > 0                    # error: affine-unit
        let p : temperature = if hot > 0 K then 0.0 else hot  # error: affine-unit
        evaluator run {
            param late : time = 0 in [0, 1 s, inf]
            param slow : time = 0 in 0 .. inf
            choice base : time in [0, 3 s] = 0
            output x in ms = 0
            output y in ms = [0, inf]
            output z       = 0
            require fits: late + slow + base <= inf else "{0 in ms}"
        }
        let q = run(late = 0).x + 1 s
        let r = run(late = 0).z + 1 s                    # error: unit-mismatch
        claim none { source "arithmetic"
            identity expect run().x == 0
            identity expect run().x == 1 ms within 0 absolute
        }
    """,
    "iterate": """
        fn f(n: int) -> time {
            let run = iterate k in 1 .. n {
                state t : time = 0 s
                state q : [real] = [0 for x in 1 .. 3]
                let more = t + 1 s
                next t = more
                next q[0] = more / 1 s
                until more > 3 s
            }
            run.t * run.rounds + (if run.settled then run.trace.t[0] else 1 s)
        }
        let a = iterate k in 1 .. 3 { state t : time = 1, next t = t }  # error: unit-mismatch
        let b = iterate k in 1 .. 3 { state t : time = 0 s, next u = t }  # error: unknown-name
        let c = iterate k in 1 .. 3 { state t : time = 0 s, next t = 1 }  # error: unit-mismatch
        """,
    "ranges": """
        kind cable {
            most : length = 9 m
            reach : length = 2 m in 0 m <.. most
            price : money = unknown "secret" in 0 USD .. inf
            lanes : int in 1 .. 1.5                      # error: int-from-real
            pins : int in 3 .. 1                         # error: empty-choice
            skew : time in 1 s ..< 1000 ms               # error: empty-choice
            pitch : length in 1 mm .. 2 um               # error: empty-choice
            price_cut : real in inf .. 1                 # error: empty-choice
            only : real in 1 .. 1
            loss : real = 1 in 0 ..< inf
            plug : law = poisson in 0 .. 1               # error: not-a-number
            inf : real = 3                               # error: reserved-name
            rates : [real] in 0 .. 1                     # error: not-a-number
            gauge : real in [1, 2]                       # error: type-mismatch
            mass : data in 1 s .. 2 B                    # error: unit-mismatch
            width : real in 0 .. 1
            require width: width > 0 and width < 3       # error: duplicate-name
            let s = sum(k for k in 0 ..< 3)              # error: excluded-end
        }
        kind short : cable {
            reach : length = 1 m in 0 m .. 1 m
            require loss: loss < 2                       # error: duplicate-name
        }
        calibrated tau : real = 3 in 4 .. -1 source "x"  # error: empty-choice
        calibrated eta : real = 0.8 in 0 <.. 1 source "x"  # error: excluded-end
        evaluator e {
            param p : length = 1 m in 0 m <.. 2 s        # error: unit-mismatch
            param q : real = 1 in 0 ..< inf
            require q: q > 3                             # error: duplicate-name
            output o = q * p
        }
        figure f { of = e, y = o, x = q, q = 0 <..< 1 }  # error: excluded-end
        allow cable.reach "waived"
        allow e.p "waived"
        allow cable.most "no rule"                       # error: unknown-rule
        """,
    "overriding": """
        kind ddr : memory { capacity : time = 1 s }      # error: type-mismatch
        kind gddr : memory { let capacity = 2 GB }
        kind board { memory mem : HBM, memory aux : HBM }
        board B { link mem { from = outer.aux } }        # error: type-mismatch
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_findings_stand_where_they_should(name, verify, vocabulary):
    verify(vocabulary + CASES[name])

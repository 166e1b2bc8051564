"""Each diagnostic of the checker, failing and passing, in literate form."""

import pytest

VOCABULARY = """
enum law { poisson, murphy }
kind memory {
    bandwidth : data / time
    capacity  : data = 16 GB
    kind_of   : law = poisson
    let drain = capacity / bandwidth
    fn moving(size: data) -> time = size / bandwidth
    require fast: bandwidth > 0 GB/s else "{name} has {bandwidth in GB/s}"
}
kind link {
    from : ref memory
}
kind chip {
    memory hbm[4] : HBM { capacity = 24 GB }
    area : length^2 = 800 mm^2
    let total = hbm.bandwidth * hbm.count
}
memory HBM { bandwidth = 800 GB/s }
chip A { }
"""

CASES = {
    "fine": """
        fn f(x: data, m: memory) -> time = x / m.bandwidth + m.drain + m.moving(x)
        chip B : A { hbm.capacity = 32 GB }
        evaluator e {
            param size : data = 1 GB in 1 GB .. 8 GB
            choice way : law in [poisson, murphy] = murphy
            let c = A with { hbm.capacity = size }
            output t in ms = f(size, c.hbm)
            output k : real = match way { poisson => 1, murphy => 2 }
            output total in TB/s = B.total
            require small: c.area < 1000 mm^2
        }
        claim same {
            let r = e(size = 1 GB)
            expect r.t == 1 ms within 1 % relative
            expect r.feasible
        }
        """,
    "add": """
        let a = 1 GB + 1 s                               # error: unit-mismatch
        let b = 1 GB + 1                                 # error: unit-mismatch
        let c = 1 GB + 2 MB - 3 B
        """,
    "unknown": """
        kind part {
            price : money = unknown "not public"
            spare : memory = unknown "not chosen"
            let cost = 2 * price
            let more = price + 1 GB                      # error: unit-mismatch
            memory slot : HBM
        }
        part p { price = unknown "still not", slot.capacity = unknown "odd" }
        part q {
            slot  = unknown "a part is there or not"     # error: type-mismatch
            cost  = unknown "derived"                    # error: let-amended
            count = unknown "how many"                   # error: type-mismatch
            prize = unknown "misspelt"                   # error: unknown-field
        }
        let unknown = 3
        part r { price = unknown * 1 USD }
        let a = known(p.price) and known(3)
        let b = known(p.prize)                           # error: unknown-field
        let c = known(p.price, 3)                        # error: unknown-argument
        let d : real = known(p.price)                    # error: not-a-number
        """,
    "order": """
        evaluator e {
            param x : time = 1 s in 1 s .. top
            let b = a + x
            let a = x * 2
            let top = 3 s
            output o in s = b
            let c = d + 1
            let d = c + 1                                # error: field-cycle
        }
        fn f(x: real) -> real {
            let b = a + x
            let a = x * 2
            let c = d
            let d = c                                    # error: field-cycle
            b
        }
        claim k {
            expect later == 3
            let later = 3
        }
        """,
    "declared twice": """
        let a = 1 GB
        let a = 2 s                                      # error: duplicate-name
        let b = a + 1 GB
        let c = a + 1 s
        kind k { x : real }
        kind k { y : real }                              # error: duplicate-name
        k i { y = 3 }
        let u = i.y + i.x
        fn f(x: real) -> real = x
        fn f(x: real, y: real) -> time = x * y * 1 s     # error: duplicate-name
        let v = f(1, 2) + 3 GB
        fn g(x: real) -> real {
            let x = x + 1                                # error: duplicate-name
            let y = x
            let y = 3 s                                  # error: duplicate-name
            y + 1
        }
        chip d {
            let p = 1 s
            let p = 2 GB                                 # error: duplicate-name
            area = p
        }
        evaluator e {
            param x : time = 1 s in 1 s .. 2 s
            let a = x
            let a = x * 2 GB                             # error: duplicate-name
            output o in s = a
        }
        kind m { q : data, q : time }                    # error: duplicate-name
        m n { q = 3 s }
        let w = n.q + 1 GB + 2 s
        fn loop() -> real {
            let r = iterate i in 1 .. 3 {
                state u : real = 0
                let late = v + u
                let v = 3 * u
                let i = 2 s                              # error: duplicate-name
                next u = late + i
            }
            let s = iterate i in 1 .. 3 {
                state i : [real] = [1]                   # error: duplicate-name
                next i[0] = sum(i)
            }
            r.u
        }
        """,
    "misread numbers": """
        let a = 1.5GHz + 3                               # error: bad-number
        let b = 1.5GB/s + 1 s                            # error: bad-number
        memory m { bandwidth = 3_ }                      # error: bad-number
        let c = 0x10 * 3 GB + 1 s                        # error: bad-number
        """,
    "compare": """
        let a = 1 GB < 1 s                               # error: unit-mismatch
        let b = 1 < 2 <= 3.5
        let c = "x" < "y"                                # error: not-a-number
        let d = "x" == "y"
        let e = "x" == 1                                 # error: type-mismatch
        let f = A.hbm.kind_of == murphy
        let g = murphy == A.hbm.kind_of
        let h = law.murphy == A.hbm.kind_of
        """,
    "unknown names": """
        let a = nothing                                  # error: unknown-name
        let b = a + 1 s + 1 GB
        let c = 1 GG                                     # error: unknown-unit
        fn f(x: speed_of_sound) -> real = 1              # error: unknown-type
        gadget G { }                                     # error: unknown-kind
        let d = frobnicate(1)                            # error: unknown-function
        let e = A.hbm.colour                             # error: unknown-field
        let g = G.anything.at_all
        let h = a.b.c(d)
        """,
    "calls": """
        fn f(x: data, y: time = 1 s) -> data / time = x / y
        let a = f(1 GB) + f(1 GB, 2 s) + f(y = 1 s, x = 1 GB)
        let b = f()                                      # error: missing-argument
        let c = f(1 GB, 1 s, 1 s)                        # error: unknown-argument
        let d = f(1 GB, z = 1 s)                         # error: unknown-argument
        let e = f(1 GB, x = 1 GB)                        # error: duplicate-name
        let g = f(1 s)                                   # error: unit-mismatch
        let h = f("text")                                # error: not-a-number
        let i = A(1)                                     # error: unknown-function
        let j = memory(bandwidth = 1 GB/s).capacity
        let k = memory(capacity = 1 GB)                  # error: missing-argument
        let l = memory(1 GB/s)                           # error: unknown-argument
        """,
    "dimension variables": """
        fn twice[D](a: D) -> D = a + a
        fn ratio[D](a: D, b: D) -> real = a / b
        fn total[D](xs: [D], one: D) -> D = sum(xs) + one
        fn area[D](a: D) -> D^2 = a * a
        fn bad[D](a: D^2) -> D = sqrt(a)                 # error: dimension-variable
        fn wrong[D](a: D) -> D = a * a                   # error: unit-mismatch
        let a = twice(1 GB) + 1 MB
        let b = twice(2 s) + 1 GB                        # error: unit-mismatch
        let c = ratio(1 GB, 1 s)                         # error: unit-mismatch
        let d = total([1 s, 2 s], 1 minute) + 1 s
        let e = area(2 m) + 1 mm^2
        let f = twice(2) + 1
        """,
    "builtins": """
        let a = max(1 s, 2 ms) + min([1 s, 2 s]) + abs(-1 s) + sqrt(1 s * 2 s)
        let b = exp(1 s)                                 # error: unit-mismatch
        let c = max(1 s, 1 GB)                           # error: unit-mismatch
        let d : int = floor(2.5) + ceil(1) + round(2.5) + whole(3.0) + len([1, 2])
        let e = sum(1 s)                                 # error: type-mismatch
        let f = sum(x for x in 1 .. 4 if x > 2) + count(x > 1 for x in 1 .. 3)
        let g = lowest((x - 2)^2 * 1 s for x in 1 .. 4)
        let h = g.value + 1 s * g.x
        let i = lowest([1, 2])                           # error: type-mismatch
        let j = exp(1, 2)                                # error: unknown-argument
        let k = interp(1 s, [0 s, 2 s], [1 GB, 2 GB]) + 1 GB
        let l = interp(1 s, [0 m, 2 m], [1 GB, 2 GB])    # error: unit-mismatch
        let m = prod([1 s])                              # error: unit-mismatch
        let n = any([1])                                 # error: type-mismatch
        let o = mean([1 s, 2 s]) + geomean([1 s]) + quantile([1 s], 0.5)
        let p = sort_by([1 s], [2 GB])[0] + 1 s
        let r = pi + inf
        let s_ = min()                                   # error: missing-argument
        """,
    "ints": """
        let a : int = 3 / 2                              # error: int-from-real
        let b : real = 3
        let c : int = 2 * 3 - 1
        let d : int = 2^10
        let e = [1, 2][0.5]                              # error: int-from-real
        let f = [1, 2][1]
        let g = [x for x in 0.5 .. 3]                    # error: type-mismatch
        """,
    "exponents": """
        let n = 3
        let a = (2 s)^n                                  # error: bad-exponent
        let b = (2 s)^2 + 1 s * 1 s
        let c = 2^n
        let d = 2^(1 s)                                  # error: bad-exponent
        let e = (4 m)^(1/2) * (4 m)^0.5 + 1 m
        """,
    "kinds of values": """
        let a = "text" + 1                               # error: not-a-number
        let b = A * 2                                    # error: not-a-number
        let c = not 1                                    # error: type-mismatch
        let d = if 1 then 2 else 3                       # error: type-mismatch
        let e = if true then 1 s else 1 GB               # error: unit-mismatch
        let f = [1 s, 1 GB]                              # error: unit-mismatch
        let g = [1, "x"]                                 # error: type-mismatch
        let h = memory                                   # error: type-mismatch
        let i = A.hbm.moving                             # error: type-mismatch
        let j = A.hbm.capacity(1)                        # error: unknown-function
        let k = [x for x in A]                           # error: type-mismatch
        """,
    "match": """
        let a = match A.hbm.kind_of { poisson => 1 }     # error: not-exhaustive
        let b = match A.hbm.kind_of { poisson | murphy => 1 }
        let c = match A.hbm.kind_of { poisson => 1, else => 2 }
        let d = match A.hbm.kind_of { seeds => 1, else => 2 }  # error: unknown-name
        let e = match A.hbm.count { 1 => 2 }             # error: not-exhaustive
        let f = match A.hbm.count { 1 => 2, else => 3 }
        let g = match A.hbm.capacity { 1 => 2, else => 3 }     # error: type-mismatch
        let h = match A.hbm.kind_of { else => 1, murphy => 2 } # error: unreachable-arm
        """,
    "is": """
        fn of(w: law, n: int) -> bool = w is poisson and not n is 1 | -2 | 4
        let a = A.hbm.kind_of is murphy | law.poisson    # error: always-true
        let b = A.hbm.kind_of is murphy | murphy         # error: unreachable-arm
        let c = A.hbm.kind_of is seeds                   # error: unknown-name
        let d = A.hbm.kind_of is 1                       # error: type-mismatch
        let e = A.hbm.count is poisson                   # error: type-mismatch
        let f = A.hbm.count is 1.5 | 1                   # error: int-from-real
        let g = A.hbm.capacity is 1                      # error: type-mismatch
        let h = 1 + (A.hbm.count is 1)                   # error: not-a-number
        """,
    "zip": """
        let is  = 3
        let zip = [4, is]
        let a = sum(x * y + i for x, y, i in zip(zip, [1 s, 2 s], 0 .. 1))  # error: unit-mismatch
        let b = sum(x * y for x, y in zip(zip, [1 s, 2 s]) for z in zip)
        let c = lowest(x for x, y in zip(zip, [1 s, 2 s])).y + 1 s
        let d = [x for x, y in zip(zip, 3)]              # error: type-mismatch
        let e = [x for x, y in zip(zip)]                 # error: missing-argument
        let f = [x + y for x, y in zip(zip, zip, zip)]   # error: missing-argument
        let g = [x for x, x in zip(zip, zip)]            # error: duplicate-name
        let h = zip(zip, zip)                            # error: unknown-function
        let i = [x for x in zip(zip, zip)]               # error: unknown-function
        let j = lowest(x for x, y in zip(zip, zip)).z    # error: unknown-field
        """,
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
def test_findings_stand_where_they_should(name, verify):
    verify(VOCABULARY + CASES[name])

"""Each diagnostic of the checker, failing and passing, in literate form: names and expressions."""

import pytest

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
}


@pytest.mark.parametrize("name", CASES)
def test_findings_stand_where_they_should(name, verify, vocabulary):
    verify(vocabulary + CASES[name])

"""std.queueing and std.closed_networks against event simulations by SimPy, against sums over all
states, and their laws.

A simulation is run in replications with fixed seeds. What is exact has to be within the 99 %
confidence band of their mean; what is an approximation within its stated error and the band.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs
import numpy as np
import pytest
import scipy.stats
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """edition 2026
use std.closed_networks
use std.queueing
use vendor.processors: EPYC_7742

evaluator queue {
    param rate     : frequency = 0.8 Hz in 0.000001 Hz .. 1000 Hz
    param cv2      : real      = 1      in 0 .. 10
    param servers  : int       = 1      in 1 .. 300
    param quantile : real      = 0.95   in 0 .. 0.9999
    param after    : time      = 1 s    in 0 s .. 1000 s
    let q = multi_server_queue(
        arrival_rate = rate,
        service_time = 1 s,
        service_squared_cv = cv2,
        servers = servers,
    )
    output waits      = q.wait_probability
    output load       = q.utilization
    output wait       in s = q.mean_wait
    output response   in s = q.mean_response
    output waiting    = q.mean_queue_length
    output inside     = q.mean_customers
    output wait_at    in s = q.wait_quantile(quantile)
    output at         in s = q.response_quantile(quantile)
    output above      = q.response_tail(q.response_quantile(quantile))
    output listed     in s = q.response_quantile_of(quantile, [0.5 s, 2 s], [2, 1])
    output slow       = q.response_tail(after)
    output lost       = erlang_b(q.offered_load, servers)
}

evaluator pool {
    param rate     : frequency = 2 Hz in 0.000001 Hz .. 1000 Hz
    param first    : frequency = 1 Hz in 0.001 Hz .. 1000 Hz
    param second   : frequency = 1 Hz in 0.001 Hz .. 1000 Hz
    param third    : frequency = 1 Hz in 0.001 Hz .. 1000 Hz
    param quantile : real      = 0.95 in 0 .. 0.9999
    let p = server_pool(arrival_rate = rate, service_rates = [first, second, third])
    output waits    = p.wait_probability
    output wait     in s = p.mean_wait
    output response in s = p.mean_response
    output wait_at  in s = p.wait_quantile(quantile)
    output at       in s = p.response_quantile(quantile)
    output shares   : [real] = p.shares
    output busy     : [real] = [p.server_utilization(s) for s in 0 .. 2]
}

evaluator priorities {
    param high    : frequency = 0.2 Hz in 0.000001 Hz .. 100 Hz
    param middle  : frequency = 0.2 Hz in 0.000001 Hz .. 100 Hz
    param low     : frequency = 0.2 Hz in 0.000001 Hz .. 100 Hz
    param quick   : time      = 1 s    in 0.001 s .. 100 s
    param slow    : time      = 1 s    in 0.001 s .. 100 s
    param cv2     : real      = 1      in 0 .. 10
    param servers : int       = 1      in 1 .. 100
    let p = priority_queue(
        arrival_rates = [high, middle, low],
        service_times = [quick, quick, slow],
        service_squared_cvs = [cv2, cv2, cv2],
        servers = servers,
    )
    output waits : [time] = p.mean_waits
    output plain in s     = p.first_come_first_served.mean_wait
}

evaluator network {
    param rate : frequency = 1 Hz in 0.001 Hz .. 100 Hz
    let n = open_network(
        arrival_rate = rate,
        visits = [1.25, 0.25],
        service_times = [1 s, 2 s],
        service_squared_cvs = [1, 1],
        servers = [2, 1],
    )
    output response in s  = n.mean_response
    output inside         = n.mean_customers
    output capacity in Hz = n.capacity
}

evaluator closed {
    param think     : time = 1 s   in 0 s .. 100 s
    param one       : time = 0.3 s in 0.0000001 s .. 100 s
    param other     : time = 1 s   in 0.001 s .. 100 s
    param servers   : int  = 3     in 1 .. 24
    param customers : int  = 8     in 1 .. 24
    let single   = station(service_demand = one, servers = 1)
    let multiple = station(service_demand = other, servers = servers)
    let c = closed_network(
        think_time = think,
        stations = [multiple, single],
        customers = customers,
        max_customers = 24,
    )
    let turned = c with { stations = [single, multiple] }
    let recursive = c with { stations = [single_server(service_demand = one), multiple] }
    output throughput in Hz = c.throughput
    output swapped    in Hz = turned.throughput
    output quick      in Hz = recursive.throughput
    output bound      in Hz = c.throughput_bound
    output response   in s  = c.mean_response
    output residence  in s  = c.residence_time(0) + c.residence_time(1)
    output inside     : [real] = [c.mean_customers(0), c.mean_customers(1)]
    output busy       = c.busy_servers(0)
}

evaluator waits {
    param think     : time = 1 s   in 0 s .. 100 s
    param one       : time = 0.3 s in 0.0000001 s .. 100 s
    param other     : time = 1 s   in 0.001 s .. 100 s
    param servers   : int  = 3     in 1 .. 24
    param customers : int  = 8     in 1 .. 24
    param quantile  : real = 0.95  in 0 .. 0.9999
    let several = station(service_demand = other, servers = servers)
    let c = closed_network(
        think_time = think,
        stations = [several, single_server(service_demand = one)],
        customers = customers,
        max_customers = 24,
    )
    let halves = c with { stations = [several with { visits = 2 }, c.stations[1]] }
    let at = c.wait_quantile(0, quantile)
    output multiple in s  = at
    output single   in s  = c.wait_quantile(1, quantile)
    output above          = c.wait_at(0).tail(at)
    output halved         = halves.wait_at(0).tail(at / 2)
    output delayed        = c.wait_at(0).tail(0 s)
}

evaluator batches {
    param customers : int  = 16     in 1 .. 64
    param overhead  : time = 0.5 s  in 0 s .. 100 s
    param item      : time = 0.05 s in 0.001 s .. 100 s
    let away = station(service_demand = 1 s, servers = 100)
    let gpu  = batch_station(batch_overhead = overhead, item_time = item, max_batch = inf)
    let c = closed_network(
        think_time = 0 s,
        stations = [away, gpu],
        customers = customers,
        max_customers = 64,
    )
    output throughput in Hz = c.throughput
}

evaluator threads {
    param busy : real = 64   in 1 .. 200
    param gain : real = 20 % in 0 .. 1
    let t = hardware_threads(processor = EPYC_7742, smt_gain = gain, service_demand = 1 ms)
    output speed = t.speed(busy)
}
"""
REPLICATIONS = 16


# ------------------------------------------------------------------------------------ simulation


@attrs.frozen
class Seen:
    """What customers of one replication saw: their class, wait and response, in seconds."""

    kind: np.ndarray
    wait: np.ndarray
    response: np.ndarray


def replications(run: Callable[[random.Random], Seen]) -> list[Seen]:
    return [run(random.Random(1000 + i)) for i in range(REPLICATIONS)]


def within_band(
    expected: float, runs: Sequence[Seen], of: Callable[[Seen], float], *, error: float = 0.0
) -> None:
    """`expected` is in the confidence band of the mean of `of` over the runs, or off by less than
    the relative `error` beyond it. The band is narrow enough to tell a wrong formula."""
    values = np.array([of(r) for r in runs])
    mean = float(values.mean())
    half = scipy.stats.t.ppf(0.995, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    assert half < 0.35 * mean, "the simulation says too little"
    assert abs(expected - mean) <= half + error * mean, (expected, mean, half)


def served(
    rng: random.Random,
    *,
    rates: Sequence[float],
    services: Sequence[Callable[[random.Random], float]],
    servers: int,
    customers: int = 1500,
    warm_up: int = 200,
) -> Seen:
    """Poisson arrivals of classes, the first with the highest priority, at equal servers."""
    env, rows = simpy.Environment(), []
    desk = simpy.PriorityResource(env, capacity=servers)

    def customer(kind: int) -> Iterator[simpy.Event]:
        came = env.now
        with desk.request(priority=kind) as turn:
            yield turn
            began = env.now
            yield env.timeout(services[kind](rng))
        rows.append((kind, began - came, env.now - came))

    def arrivals() -> Iterator[simpy.Event]:
        kinds = range(len(rates))
        for _ in range(customers + warm_up):
            yield env.timeout(rng.expovariate(sum(rates)))
            env.process(customer(rng.choices(kinds, rates)[0]))

    env.process(arrivals())
    env.run()
    return Seen(*np.array(rows[warm_up:]).T)


def listed(values: Mapping[str, float]) -> list[float]:
    """An output that is a list."""
    return [float(value) for value in values.values()]


def exponential(rng: random.Random) -> float:
    return rng.expovariate(1.0)


def wait(seen: Seen) -> float:
    return float(seen.wait.mean())


def wait_at_95(seen: Seen) -> float:
    return float(np.quantile(seen.wait, 0.95))


def response_at_95(seen: Seen) -> float:
    return float(np.quantile(seen.response, 0.95))


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.5), (3, 2.1), (6, 4.5)])
def test_exponential_service(module: hwdsl.Module, servers: int, rate: float) -> None:
    runs = replications(
        lambda rng: served(rng, rates=[rate], services=[exponential], servers=servers)
    )
    found = module.queue(rate=rate, servers=servers)
    within_band(found.waits, runs, lambda r: float((r.wait > 0).mean()))
    within_band(found.wait, runs, wait)
    within_band(found.wait_at, runs, wait_at_95)
    within_band(found.at, runs, response_at_95)
    slow = module.queue(rate=rate, servers=servers, after="3 s").slow
    within_band(slow, runs, lambda r: float((r.response > 3).mean()))


def two_lengths(rng: random.Random) -> float:
    """1 on average, by thirds: 0.5 twice, 2 once; the variance is 0.5."""
    return rng.choice((0.5, 0.5, 2.0))


def two_exponentials(rng: random.Random) -> float:
    """1 on average with the variance 3: balanced means, often 0.854."""
    often = (1 + math.sqrt(0.5)) / 2
    return rng.expovariate(2 * often if rng.random() < often else 2 * (1 - often))


@pytest.mark.parametrize(
    ("servers", "service", "cv2", "error", "tail_error"),
    [
        (1, lambda rng: 1.0, 0.0, 0.03, 0.09),
        (4, lambda rng: 1.0, 0.0, 0.03, 0.09),
        (1, two_lengths, 0.5, 0.03, 0.09),
        (4, two_lengths, 0.5, 0.03, 0.09),
        (16, two_lengths, 0.5, 0.07, 0.10),
        (1, two_exponentials, 3.0, 0.15, 0.15),
        (4, two_exponentials, 3.0, 0.15, 0.15),
    ],
)
def test_any_service(
    module: hwdsl.Module,
    servers: int,
    service: Callable[[random.Random], float],
    cv2: float,
    error: float,
    tail_error: float,
) -> None:
    many = servers > 4  # who rarely waits is seen by more customers, where servers are busier
    rate = (0.9 if many else 0.75) * servers
    runs = replications(
        lambda rng: served(
            rng,
            rates=[rate],
            services=[service],
            servers=servers,
            customers=5000 if many else 1500,
            warm_up=500 if many else 200,
        )
    )
    found = module.queue(rate=rate, cv2=cv2, servers=servers)
    within_band(found.wait, runs, wait, error=0 if servers == 1 else error)
    within_band(found.wait_at, runs, wait_at_95, error=tail_error)
    at = found.listed if service is two_lengths else found.at
    within_band(at, runs, response_at_95, error=tail_error)


@pytest.mark.parametrize(("servers", "rate", "slow"), [(1, 0.2, 2.0), (3, 0.8, 1.0)])
def test_priorities(module: hwdsl.Module, servers: int, rate: float, slow: float) -> None:
    """One server with two means; three with one mean, where the formula is exact too."""
    services = [exponential, exponential, lambda rng: rng.expovariate(1 / slow)]
    runs = replications(
        lambda rng: served(
            rng, rates=[rate] * 3, services=services, servers=servers, customers=2500
        )
    )
    found = module.priorities(high=rate, middle=rate, low=rate, slow=f"{slow} s", servers=servers)
    for kind in range(3):
        within_band(
            listed(found.waits)[kind], runs, lambda r, k=kind: float(r.wait[r.kind == k].mean())
        )


def pooled(rng: random.Random, arrival_rate: float, rates: Sequence[float]) -> Seen:
    """A store of idle servers: who comes takes the one that has been there longest."""
    env, rows = simpy.Environment(), []
    idle = simpy.Store(env)
    idle.items.extend(range(len(rates)))

    def customer() -> Iterator[simpy.Event]:
        came = env.now
        server = yield idle.get()
        began = env.now
        yield env.timeout(rng.expovariate(rates[server]))
        yield idle.put(server)
        rows.append((server, began - came, env.now - came))

    def arrivals() -> Iterator[simpy.Event]:
        for _ in range(2700):
            yield env.timeout(rng.expovariate(arrival_rate))
            env.process(customer())

    env.process(arrivals())
    env.run()
    return Seen(*np.array(rows[200:]).T)


def test_unlike_servers(module: hwdsl.Module) -> None:
    runs = replications(lambda rng: pooled(rng, 3.0, [0.5, 1.0, 3.0]))
    found = module.pool(rate=3.0, first=0.5, second=1.0, third=3.0)
    within_band(found.waits, runs, lambda r: float((r.wait > 0).mean()))
    within_band(found.wait, runs, wait)
    within_band(found.response, runs, lambda r: float(r.response.mean()))
    within_band(found.wait_at, runs, wait_at_95)
    within_band(found.at, runs, response_at_95)
    for server in range(3):
        share = listed(found.shares)[server]
        within_band(share, runs, lambda r, s=server: float((r.kind == s).mean()))
        assert listed(found.busy)[server] == pytest.approx(share * 3.0 / [0.5, 1.0, 3.0][server])


def visited(rng: random.Random) -> Seen:
    """A first station; a fifth of its customers visit a second one and come back."""
    env, rows = simpy.Environment(), []
    first, second = simpy.Resource(env, capacity=2), simpy.Resource(env, capacity=1)

    def customer() -> Iterator[simpy.Event]:
        came = env.now
        while True:
            with first.request() as turn:
                yield turn
                yield env.timeout(rng.expovariate(1.0))
            if rng.random() < 0.8:
                break
            with second.request() as turn:
                yield turn
                yield env.timeout(rng.expovariate(0.5))
        rows.append((0, 0.0, env.now - came))

    def arrivals() -> Iterator[simpy.Event]:
        for _ in range(1700):
            yield env.timeout(rng.expovariate(1.0))
            env.process(customer())

    env.process(arrivals())
    env.run()
    return Seen(*np.array(rows[200:]).T)


def test_open_network(module: hwdsl.Module) -> None:
    runs = replications(visited)
    found = module.network(rate=1.0)
    within_band(found.response, runs, lambda r: float(r.response.mean()))
    assert found.inside == pytest.approx(found.response)
    assert found.capacity == pytest.approx(1.6)


def cycles(rng: random.Random, customers: int) -> Seen:
    """Customers that think for a constant second, then visit three servers and one."""
    env, rows = simpy.Environment(), []
    multiple, single = simpy.Resource(env, capacity=3), simpy.Resource(env, capacity=1)

    def customer() -> Iterator[simpy.Event]:
        while True:
            yield env.timeout(1.0)
            came = env.now
            waits = []
            for desk, rate in ((multiple, 1.0), (single, 1 / 0.3)):
                with desk.request() as turn:
                    asked = env.now
                    yield turn
                    waits.append(env.now - asked)
                    yield env.timeout(rng.expovariate(rate))
            rows.append((waits[1], waits[0], env.now - came))

    for _ in range(customers):
        env.process(customer())
    env.run(until=20.0)
    rows.clear()
    env.run(until=400.0)
    return Seen(*np.array(rows).T)


@pytest.mark.parametrize("customers", [2, 8])
def test_closed_network(module: hwdsl.Module, customers: int) -> None:
    """`kind` of what was seen is the wait at the single server, `wait` that at the three."""
    runs = replications(lambda rng: cycles(rng, customers))
    found = module.closed(customers=customers)
    within_band(found.throughput, runs, lambda r: len(r.response) / 380)
    within_band(found.response, runs, lambda r: float(r.response.mean()))
    waits = module.waits(customers=customers)
    within_band(waits.single, runs, lambda r: float(np.quantile(r.kind, 0.95)))
    if customers == 2:
        assert waits.delayed == waits.multiple == 0, "two customers never wait for three"
    else:
        within_band(waits.multiple, runs, wait_at_95)
        within_band(waits.delayed, runs, lambda r: float((r.wait > 0).mean()))


def seen_by_arrivals(think: float, service: float, servers: int, customers: int) -> list[float]:
    """Probabilities that 0, 1, … of `customers` are at a station beside a think time."""
    weights = [
        math.prod(service / min(k, servers) for k in range(1, n + 1))
        * think ** (customers - n)
        / math.factorial(customers - n)
        for n in range(customers + 1)
    ]
    return [w / sum(weights) for w in weights]


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 5), st.integers(1, 6), st.integers(2, 20), st.floats(0.3, 0.999))
def test_waits_in_a_closed_network(
    module: hwdsl.Module, other: float, servers: int, customers: int, quantile: float
) -> None:
    """Each found in the queue, and the one in service that is done first, is one exponential time
    of all servers: the wait is a mixture of gamma distributions (the single server is as good as
    absent)."""
    found = module.waits(
        think="1 s",
        one="0.000001 s",
        other=f"{other} s",
        servers=servers,
        customers=customers,
        quantile=quantile,
    )
    chances = seen_by_arrivals(1.0, other, servers, customers - 1)
    at = float(found.multiple)
    assert found.halved == pytest.approx(float(found.above)), "two visits of half the time"
    tail = sum(
        p * scipy.stats.gamma.sf(at, n - servers + 1, scale=other / servers)
        for n, p in enumerate(chances)
        if n >= servers
    )
    if at > 0:
        assert tail == pytest.approx(1 - quantile, rel=1e-3)
        assert found.above == pytest.approx(1 - quantile, rel=1e-5)
    else:
        assert found.delayed <= 1 - quantile
    assert found.delayed == pytest.approx(sum(chances[servers:]), rel=1e-3, abs=1e-12)


def batched(rng: random.Random, customers: int, overhead: float, item: float) -> Seen:
    """A server that takes all that wait as one batch; customers are away for a second."""
    env, rows = simpy.Environment(), []
    waiting = simpy.Store(env)

    def customer() -> Iterator[simpy.Event]:
        while True:
            yield env.timeout(rng.expovariate(1.0))
            came, done = env.now, env.event()
            yield waiting.put(done)
            yield done
            rows.append((env.now, 0.0, env.now - came))

    def server() -> Iterator[simpy.Event]:
        while True:
            batch = [(yield waiting.get())]
            while waiting.items:
                batch.append((yield waiting.get()))
            yield env.timeout(overhead + item * len(batch))
            for done in batch:
                done.succeed()

    for _ in range(customers):
        env.process(customer())
    env.process(server())
    env.run(until=220.0)
    return Seen(*np.array([row for row in rows if row[0] > 20]).T)


@pytest.mark.parametrize(("customers", "overhead"), [(1, 0.5), (4, 0.5), (16, 2.0), (40, 0.1)])
def test_batches(module: hwdsl.Module, customers: int, overhead: float) -> None:
    runs = replications(lambda rng: batched(rng, customers, overhead, 0.05))
    found = module.batches(customers=customers, overhead=f"{overhead} s")
    error = 0.0 if customers == 1 else 0.14
    within_band(found.throughput, runs, lambda r: len(r.response) / 200, error=error)


def test_threads_share_cores(module: hwdsl.Module) -> None:
    """EPYC 7742: 64 cores at 2.25 GHz together, 3.4 GHz alone; second threads add a fifth."""
    clocks = 2.25 / 3.4
    assert module.threads(busy=1).speed == pytest.approx(1)
    assert module.threads(busy=16).speed == pytest.approx(16), "few cores keep their boost"
    assert module.threads(busy=64).speed == pytest.approx(64 * clocks)
    assert module.threads(busy=96).speed == pytest.approx(64 * clocks * 1.1)
    assert module.threads(busy=200).speed == pytest.approx(64 * clocks * 1.2)


# ------------------------------------------------------------------------------------------ laws


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100), st.floats(0.01, 0.99))
def test_erlang_by_its_sums(module: hwdsl.Module, servers: int, utilization: float) -> None:
    load = utilization * servers
    terms = [math.exp(n * math.log(load) - math.lgamma(n + 1) - load) for n in range(servers + 1)]
    waiting = terms[-1] / (1 - utilization)
    found = module.queue(rate=load, servers=servers)
    assert found.lost == pytest.approx(terms[-1] / sum(terms), rel=1e-9)
    assert found.waits == pytest.approx(waiting / (sum(terms[:-1]) + waiting), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 60),
    st.floats(0.05, 0.98),
    st.floats(0.01, 10) | st.just(0.0),
    st.floats(0.5, 0.999),
)
def test_laws_of_a_queue(
    module: hwdsl.Module, servers: int, utilization: float, cv2: float, quantile: float
) -> None:
    rate = utilization * servers
    found = module.queue(rate=rate, servers=servers, cv2=cv2, quantile=quantile)
    assert found.inside == pytest.approx(
        found.waiting + servers * found.load
    )  # Little, utilization
    assert found.load == pytest.approx(utilization)
    busier = module.queue(rate=rate * 1.01, servers=servers, cv2=cv2, quantile=quantile)
    assert busier.wait > found.wait
    assert busier.wait_at >= found.wait_at
    assert busier.at >= found.at * (1 - 1e-4)  # at a constant service time the tail jumps
    if cv2 > 0:
        assert found.above == pytest.approx(1 - quantile, rel=1e-5)
    more = module.queue(rate=rate, servers=servers + 1, cv2=cv2, quantile=quantile)
    assert more.wait < found.wait
    one = module.queue(rate=utilization, cv2=cv2)
    assert one.wait == pytest.approx(utilization * (1 + cv2) / 2 / (1 - utilization))
    assert found.wait < one.wait * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.001, 0.999))
def test_one_exponential_server(module: hwdsl.Module, rate: float, quantile: float) -> None:
    """The response time of M/M/1 is exponential."""
    found = module.queue(rate=rate, quantile=quantile)
    assert found.at == pytest.approx(-math.log(1 - quantile) / (1 - rate), rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.1, 10))
def test_equal_servers_in_a_pool(module: hwdsl.Module, utilization: float, rate: float) -> None:
    pool = module.pool(rate=3 * utilization * rate, first=rate, second=rate, third=rate)
    queue = module.queue(rate=3 * utilization, servers=3)
    assert pool.waits == pytest.approx(queue.waits)
    assert pool.response * rate == pytest.approx(queue.response)
    assert pool["at"] * rate == pytest.approx(queue["at"], rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(*[st.floats(0.1, 10)] * 3, st.floats(0.05, 0.95))
def test_laws_of_a_pool(
    module: hwdsl.Module, first: float, second: float, third: float, utilization: float
) -> None:
    rates = [first, second, third]
    rate = utilization * sum(rates)
    found = module.pool(rate=rate, first=first, second=second, third=third)
    assert sum(listed(found.shares)) == pytest.approx(1)
    assert sum(b * r for b, r in zip(listed(found.busy), rates, strict=True)) == pytest.approx(rate)
    assert rate * found.response == pytest.approx(rate * found.wait + sum(listed(found.busy)))
    assert all(0 < b < 1 for b in listed(found.busy))


@settings(max_examples=25, deadline=None)
@given(*[st.floats(0.01, 1)] * 3, st.floats(0.1, 0.95), st.floats(0.1, 5), st.floats(0, 4))
def test_priorities_only_redistribute(
    module: hwdsl.Module, a: float, b: float, c: float, utilization: float, slow: float, cv2: float
) -> None:
    """The conservation law: waits weighted by load are as without priorities (one server)."""
    scale = utilization / (a + b + c * slow)
    loads = [a * scale, b * scale, c * scale * slow]
    found = module.priorities(
        high=loads[0], middle=loads[1], low=loads[2] / slow, slow=f"{slow} s", cv2=cv2
    )
    waits = listed(found.waits)
    assert waits == sorted(waits)
    assert sum(x * w for x, w in zip(loads, waits, strict=True)) == pytest.approx(
        sum(loads) * found.plain
    )


def by_all_states(think: float, one: float, other: float, servers: int, customers: int) -> float:
    """Throughput from the product form, summed over all states."""

    def constant(n: int) -> float:
        total = 0.0
        for i, j in itertools.product(range(n + 1), repeat=2):
            if i + j <= n:
                busy = math.prod(other / min(k, servers) for k in range(1, j + 1))
                thinking = think ** (n - i - j) / math.factorial(n - i - j)
                total += one**i * busy * thinking
        return total

    return constant(customers - 1) / constant(customers)


TIMES = st.floats(0.05, 5)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 5), TIMES, TIMES, st.integers(1, 6), st.integers(1, 20))
def test_laws_of_a_closed_network(
    module: hwdsl.Module, think: float, one: float, other: float, servers: int, customers: int
) -> None:
    given = {"think": f"{think} s", "one": f"{one} s", "other": f"{other} s", "servers": servers}
    found = module.closed(**given, customers=customers)
    assert found.throughput == pytest.approx(by_all_states(think, one, other, servers, customers))
    assert found.swapped == pytest.approx(found.throughput)
    assert found.quick == pytest.approx(found.throughput)
    assert found.throughput <= found.bound * (1 + 1e-9)
    assert found.residence == pytest.approx(found.response, rel=1e-6)  # Little, station by station
    assert sum(listed(found.inside)) + found.throughput * think == pytest.approx(customers)
    assert found.busy == pytest.approx(found.throughput * other)
    more = module.closed(**given, customers=customers + 1)
    assert more.throughput >= found.throughput * (1 - 1e-12)


def test_saturation_keeps_its_figures(module: hwdsl.Module) -> None:
    """Where the many servers are the bottleneck mean value analysis cancels; the bound is met."""
    found = module.closed(think="1 s", one="0.001 s", other="10 s", servers=16, customers=24)
    assert found.throughput == pytest.approx(1.6, rel=1e-3)
    assert found.throughput < 1.6


def test_an_overloaded_queue_is_told(module: hwdsl.Module) -> None:
    assert not module.queue(rate=3.0, servers=3).feasible
    assert not module.pool(rate=3.0).feasible
    assert not module.priorities(high=1.0).feasible
    assert not module.network(rate=1.6).feasible

"""What is made of the rates that were measured."""

import math

from triton_pytorch.benchmarks.throughput import ROUNDS, overhead_percent, share, take_turns


def test_the_median_is_of_the_ratios_of_each_round() -> None:
    # The machine was ten times slower in the second round; the ratio of the medians would be 0.5.
    assert math.isclose(share([50.0, 9.0, 180.0], [100.0, 10.0, 200.0]), 0.9)


def test_overhead_is_in_time() -> None:
    # 10 ms a call, 12.5 ms a request
    assert math.isclose(overhead_percent([80.0], [100.0]), 25.0)


def test_the_sides_take_turns() -> None:
    turns: list[str] = []

    def measured(side: str, rate: float) -> float:
        turns.append(side)
        return rate

    rates = take_turns(lambda: measured("reference", 2.0), lambda: measured("ours", 1.0))
    assert turns == ["reference", "ours"] * ROUNDS
    assert rates == [(2.0,) * ROUNDS, (1.0,) * ROUNDS]

"""Requests share a call where the sizes after the batch dimension and the optional inputs are the same."""

from typing import Any

import pytest
import torch

from triton_pytorch.batching.grouping import Grouping
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.unit.batching.plans import a_request, planned


def grouped(grouping: Grouping, requests: list[ParsedRequest]) -> list[list[int]]:
    """Return the groups as positions of requests."""
    return [[requests.index(request) for request in group] for group in grouping.groups(requests)]


def of_shapes(*shapes: Any) -> list[ParsedRequest]:
    """Make requests, each of the shapes of its inputs; None where one was not sent."""
    return [a_request(*[None if shape is None else torch.zeros(shape) for shape in request]) for request in shapes]


FIXED, DYNAMIC = tensor_config("INPUT__0", dims=(3,)), tensor_config("INPUT__0", dims=(-1, 3))
OPTIONAL = tensor_config("INPUT__1", dims=(2,), optional=True)
RAGGED = tensor_config("INPUT__0", dims=(-1,), allow_ragged_batch=True)


@pytest.mark.parametrize(
    ("inputs", "requests", "groups"),
    [
        ([FIXED], [], []),
        ([FIXED], [[(1, 3)]], [[0]]),
        ([FIXED], [[(1, 3)], [(4, 3)], [(0, 3)]], [[0, 1, 2]]),
        ([DYNAMIC], [[(1, 5, 3)]], [[0]]),
        ([DYNAMIC], [[(1, 5, 3)], [(1, 4, 3)], [(2, 5, 3)], [(1, 0, 3)], [(3, 4, 3)]], [[0, 2], [1, 4], [3]]),
        ([FIXED, OPTIONAL], [[(1, 3), (1, 2)], [(1, 3), None], [(2, 3), (2, 2)], [(1, 3), None]], [[0, 2], [1, 3]]),
        ([RAGGED], [[(1, 5)], [(2, 4)], [(1, 0)]], [[0, 1, 2]]),
        (
            [RAGGED, {**OPTIONAL, "allow_ragged_batch": True}],
            [[(1, 5), (1, 2)], [(2, 4), None], [(1, 0), (1, 9)]],
            [[0, 2], [1]],
        ),
    ],
)
def test_groups(inputs: list[Any], requests: list[Any], groups: list[list[int]]) -> None:
    assert grouped(Grouping(planned(*inputs)), of_shapes(*requests)) == groups


def test_groups_without_batching() -> None:
    grouping = Grouping(planned(tensor_config("INPUT__0", dims=(-1, 3)), max_batch_size=0))
    assert grouped(grouping, of_shapes([(1, 3)], [(1, 3)])) == [[0], [1]]


@pytest.mark.parametrize("first", [FIXED, DYNAMIC, RAGGED])
def test_model_that_drops_errors(first: Any) -> None:
    grouping = Grouping(planned(first, unchecked_operators=("scatter_reduce",)))
    x = torch.zeros(1, *[3] * len(first["dims"]))
    assert grouped(grouping, [a_request(x), a_request(x), a_request(x)]) == [[0], [1], [2]]
    assert grouped(grouping, []) == []


@pytest.mark.parametrize("first", [FIXED, DYNAMIC])
def test_outputs_not_merged(first: Any) -> None:
    grouping = Grouping(planned(first))
    x = torch.zeros(1, *[3] * len(first["dims"]))
    requests = [a_request(x, requested=asked) for asked in [("a",), ("b",), ("a", "b"), ("b",), ("c",), ()]]
    assert grouped(grouping, requests) == [[0, 1, 2, 3, 4, 5]]
    grouping.stop_merging("a")
    assert grouped(grouping, requests) == [[0], [1, 3, 4, 5], [2]]
    grouping.stop_merging("b")
    assert grouped(grouping, requests) == [[0], [1], [2], [3], [4, 5]]

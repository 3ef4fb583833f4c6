"""Ragged inputs arrive flat with what says whose is whose, and every request gets its own rows and pieces back."""

from typing import Any

import pytest
import torch

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.leaves import positional
from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.tests.integration.function_model import Loop, function_loop

INT32 = torch.int32
KINDS = (
    "ELEMENT_COUNT",
    "ACCUMULATED_ELEMENT_COUNT",
    "ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
    "MAX_ELEMENT_COUNT_AS_SHAPE",
    "ITEM_SHAPE",
    "ITEM_SHAPE_FLATTEN",
)


def batch_input(kind: str, *targets: str, source: str = "INPUT__0", data_type: str = "TYPE_INT32") -> dict[str, Any]:
    return {
        "kind": f"BATCH_{kind}",
        "target_name": list(targets),
        "data_type": data_type,
        "source_input": [source],
    }


def scatter(target: str, source: str) -> dict[str, Any]:
    return {"kind": "BATCH_SCATTER_WITH_INPUT_SHAPE", "target_name": [target], "source_input": [source]}


def ragged_package(serve: Serve, **parameters: str) -> Any:
    return serve(
        "ragged",
        [
            tensor_config("KWARGS[scale]", dims=(1,)),
            tensor_config("KWARGS[values]", allow_ragged_batch=True),
        ],
        [
            tensor_config("RESULT[sums]", dims=(1,)),
            tensor_config("RESULT[lengths]", INT32, dims=(1,)),
            tensor_config("RESULT[doubled]", dims=(-1,)),
        ],
        max_batch_size=8,
        batch_input=[
            batch_input("ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "KWARGS[ends]", source="KWARGS[values]"),
            batch_input("ITEM_SHAPE", "KWARGS[shapes]", source="KWARGS[values]"),
        ],
        batch_output=[scatter("RESULT[doubled]", "KWARGS[values]")],
        parameters=parameters,
    )


def of_lengths(model: Any, lengths: list[int]) -> tuple[list[torch.Tensor], list[torch.Tensor], list[Any]]:
    """Return the values and scales of a request for each length, and the responses."""
    sent = [torch.arange(1.0, length + 1).reshape(1, length) + 100 * i for i, length in enumerate(lengths)]
    scales = [torch.tensor([[float(i + 2)]]) for i in range(len(lengths))]
    requests = [
        model.request({"KWARGS[values]": values, "KWARGS[scale]": scale})
        for values, scale in zip(sent, scales, strict=True)
    ]
    return sent, scales, model.execute(*requests)


def check_answer(response: Any, values: torch.Tensor, scale: torch.Tensor) -> None:
    assert response.error() is None, response.error().message()
    answer = {tensor.name(): tensor.data for tensor in response.output_tensors()}
    assert answer["RESULT[sums]"].tolist() == [[float(values.sum() * scale)]]
    assert answer["RESULT[lengths]"].tolist() == [[values.shape[1]]]
    assert answer["RESULT[doubled]"].tolist() == (2 * values).tolist()


@pytest.mark.parametrize("lengths", [[2, 0, 5], [3], [1, 1, 1, 1], [0, 0], [0, 9]], ids=str)
def test_package_requests_of_any_length(serve: Serve, lengths: list[int]) -> None:
    model = ragged_package(serve, ALLOW_EMPTY_INPUTS="true")
    for values, scale, response in zip(*of_lengths(model, lengths), strict=True):
        check_answer(response, values, scale)


def test_package_request_of_length_0(serve: Serve) -> None:
    sent, scales, responses = of_lengths(ragged_package(serve), [2, 0, 5])
    for number in (0, 2):
        check_answer(responses[number], sent[number], scales[number])
    assert "input 'KWARGS[values]' has no elements" in responses[1].error().message()
    assert "ALLOW_EMPTY_INPUTS" in responses[1].error().message()


def test_relation_broken_by_one_request(serve: Serve) -> None:
    model = ragged_package(serve)
    rows = [1, 2, 1]  # the package was exported for one row in each request: ends has requests + 1 numbers
    responses = model.execute(
        *[
            model.request({"KWARGS[values]": torch.ones(count, 3), "KWARGS[scale]": torch.ones(count, 1)})
            for count in rows
        ]
    )
    assert [response.error() is None for response in responses] == [True, False, True]
    assert "dimension 0 of input 'KWARGS[ends]' is 2, but the model takes 3" in responses[1].error().message()


def every_kind(**config: Any) -> tuple[Loop, list[list[Any]]]:
    """Serve a function that keeps what it was given: the values, then a batch input of every kind."""
    calls: list[list[Any]] = []

    def function(*leaves: torch.Tensor) -> list[torch.Tensor]:
        calls.append([leaf.tolist() for leaf in leaves])
        values, item_shapes = leaves[0].clone(), leaves[5].clone()
        for leaf in leaves:
            leaf.fill_(-1)  # models may write to what they are given
        return [item_shapes, values + 1]

    served = function_loop(
        function,
        [tensor_config("INPUT__0", dims=(-1, -1), allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0", INT32, (2,)), tensor_config("OUTPUT__1", dims=(-1, -1))],
        leaves=7,
        max_batch_size=8,
        batch_input=[batch_input(kind, f"INPUT__{number}") for number, kind in enumerate(KINDS, 1)],
        batch_output=[scatter("OUTPUT__1", "INPUT__0")],
        **config,
    )
    return served, calls


def test_batch_input_kinds() -> None:
    served, calls = every_kind()
    first, second = torch.arange(4.0).reshape(2, 1, 2), torch.arange(10.0, 13).reshape(1, 3, 1)
    answers = served.execute(served.request(first), served.request(second))
    flat = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0]
    assert calls == [
        [flat, [4, 3], [4, 7], [0, 4, 7], [0.0] * 4, [[1, 2], [1, 2], [3, 1]], [1, 2, 1, 2, 3, 1]],
    ]
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[1, 2], [1, 2]], [[3, 1]]]
    assert [answer["OUTPUT__1"].tolist() for answer in answers] == [(first + 1).tolist(), (second + 1).tolist()]

    served.execute(served.request(second))
    assert calls[1] == [flat[4:], [3], [3], [0, 3], [0.0] * 3, [[3, 1]], [3, 1]]


def test_result_of_another_size_than_its_source() -> None:
    served = function_loop(
        lambda values: [values[1:]],
        [tensor_config("INPUT__0", allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0")],
        max_batch_size=8,
        batch_output=[scatter("OUTPUT__0", "INPUT__0")],
    )
    (answer,) = served.execute(served.request(torch.ones(1, 3)))
    assert answer == (
        "INTERNAL: model 'm': output 'OUTPUT__0' has 2 elements, but batch_output cuts it into the shapes of an input, "
        "which make 3 here: [1, 3]"
    )


def test_scattered_output_keeps_its_fixed_sizes() -> None:
    served = function_loop(
        lambda values: [torch.stack([values, -values], 1)],
        [tensor_config("INPUT__0", allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0", dims=(-1, 2))],
        max_batch_size=8,
        batch_output=[scatter("OUTPUT__0", "INPUT__0")],
    )
    answers = served.execute(served.request(torch.tensor([[1.0, 2.0]])), served.request(torch.tensor([[3.0]])))
    assert answers[0]["OUTPUT__0"].tolist() == [[[1.0, -1.0], [2.0, -2.0]]]
    assert answers[1]["OUTPUT__0"].tolist() == [[[3.0, -3.0]]]


def test_ragged_output_without_batch_output() -> None:
    served = function_loop(
        lambda values: [values],
        [tensor_config("INPUT__0", allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0")],
        max_batch_size=8,
    )
    (answer,) = served.execute(served.request(torch.ones(1, 3)))
    assert "1 row went in and 3 rows came out; an output in the shape of a ragged input needs batch_output" in answer


def test_ragged_output_with_a_row_for_each_request() -> None:
    served = function_loop(
        lambda values, counts: [counts.reshape(-1, 1)],
        [tensor_config("INPUT__0", allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0", INT32, dims=(1,))],
        leaves=2,
        max_batch_size=8,
        batch_input=[batch_input("ELEMENT_COUNT", "INPUT__1")],
    )
    sent = [torch.ones(1, 3), torch.ones(2, 2), torch.ones(1, 5)]
    assert served.execute(served.request(sent[0]), served.request(sent[2]))[1]["OUTPUT__0"].tolist() == [[5]]
    answers = served.execute(*map(served.request, sent))
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[3]], [[5]]]
    assert "2 rows went in and 1 row came out" in answers[1]
    (line,) = served.logged("warn")
    assert "4 rows went in and 3 rows came out of one call for 3 requests; requests for it are run alone" in line
    assert "max_batch_size: 0" not in line


def test_count_too_large_for_its_type() -> None:
    served = function_loop(
        lambda values, counts: [counts.reshape(-1, 1)],
        [tensor_config("INPUT__0", torch.uint8, allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0", dims=(1,))],
        leaves=2,
        max_batch_size=8,
        batch_input=[batch_input("ELEMENT_COUNT", "INPUT__1", data_type="TYPE_FP32")],
    )
    large, small = torch.zeros(1, 2**24 + 1, dtype=torch.uint8), torch.zeros(1, 5, dtype=torch.uint8)
    answers = served.execute(served.request(small), served.request(large))
    assert answers[0]["OUTPUT__0"].tolist() == [[5.0]]
    assert "INPUT__1' of kind BATCH_ELEMENT_COUNT would hold 16777217" in answers[1]


def test_optional_ragged_input() -> None:
    counts: list[int | None] = []

    def function(x: torch.Tensor, values: torch.Tensor | None) -> list[torch.Tensor]:
        counts.append(None if values is None else values.numel())
        return [x * 2]

    served = function_loop(
        function,
        [tensor_config("INPUT__0"), tensor_config("INPUT__1", optional=True, allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0")],
        leaf=lambda index: positional(index, has_default=index == 1),
        max_batch_size=8,
    )
    x = torch.ones(1, 1)
    answers = served.execute(
        served.request(x, torch.ones(1, 2)), served.request(2 * x, None), served.request(3 * x, torch.ones(1, 3))
    )
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0]], [[4.0]], [[6.0]]]
    assert counts == [5, None]


def test_ragged_request_without_rows() -> None:
    served, _ = every_kind()
    good = torch.ones(1, 1, 2)
    answers = served.execute(served.request(torch.ones(0)), served.request(good))
    assert answers[0] == "INVALID_ARG: model 'm': the request has no rows: expected one at least"
    assert answers[1]["OUTPUT__1"].tolist() == (good + 1).tolist()

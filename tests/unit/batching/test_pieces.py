"""A request with more rows than a call may have is cut into near-equal pieces, whose results are one again."""

import pytest
import torch

from triton_pytorch.batching.pieces import cut, join
from triton_pytorch.batching.row_rule import OutputError
from triton_pytorch.tests.unit.batching.plans import a_request


@pytest.mark.parametrize(
    ("rows", "most", "sizes"),
    [
        (40, 16, [14, 13, 13]),
        (17, 16, [9, 8]),
        (32, 16, [16, 16]),
        (5, 2, [2, 2, 1]),
        (16, 16, [16]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_cut(rows: int, most: int, sizes: list[int]) -> None:
    request = a_request(torch.arange(rows * 2).reshape(rows, 2), None, [str(row) for row in range(rows)])
    pieces = cut(request, most)
    assert [piece.rows for piece in pieces] == sizes
    assert torch.cat([piece.leaves[0] for piece in pieces]).equal(request.leaves[0])
    assert [piece.leaves[1] for piece in pieces] == [None] * len(sizes)
    assert [text for piece in pieces for text in piece.leaves[2]] == request.leaves[2]
    assert all(piece.requested == request.requested and piece.position == request.position for piece in pieces)


def test_join() -> None:
    whole = torch.arange(10.0).reshape(5, 2)
    assert join("Y", [whole[:3], whole[3:]], 5).equal(whole)
    assert join("Y", [["a", "b"], ["c"]], 3) == ["a", "b", "c"]


def test_pieces_that_are_not_of_one_tensor() -> None:
    with pytest.raises(OutputError) as caught:
        join("Y", [torch.ones(3, 3), torch.ones(2, 2)], 5)
    assert str(caught.value) == (
        "output 'Y' has shape [3, 3] for the first 3 rows and [2, 2] for others of this request, whose 5 rows are more "
        "than the model takes in one call: send at most 3 rows"
    )

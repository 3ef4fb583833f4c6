"""Strings on a real server, over HTTP and gRPC: in batches and without, each request its own, bytes unchanged."""

from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.script_models import ONE_STRING, strings
from triton_pytorch.tests.server.conftest import (
    Client,
    StartServer,
    assert_equal,
    connect,
    infer_at_once,
    merging,
    statistics,
    texts,
    write_script,
)

INT64 = torch.int64
ROWS = (1, 2, 3) * 4  # of requests that run together


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository, archives = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("archives")

    def write(name: str, module: torch.nn.Module, inputs: list[Any], outputs: list[Any], **config: Any) -> None:
        archive = scripts.scripted(module, archives / f"{name}.pt")
        write_script(repository, name, archive, inputs, outputs, **config)

    write(
        "strings",
        scripts.Strings(),
        [strings("words", **ONE_STRING), tensor_config("x", INT64, (2,))],
        [tensor_config("OUTPUT__1", INT64, (2,)), strings("OUTPUT__0", **ONE_STRING)],
        **merging(sum(ROWS)),
    )
    one = strings("words", **ONE_STRING), strings("RESULT", **ONE_STRING)
    write("first_letters", scripts.CutsStrings(), [one[0]], [one[1]], **merging(4))
    nothing = {"data_type": "TYPE_STRING", "dims": [1], "zero_data": True}
    write(
        "warmed_up",
        scripts.CutsStrings(),
        [one[0]],
        [one[1]],
        max_batch_size=4,
        model_warmup=[{"name": "nothing", "batch_size": 2, "inputs": {"words": nothing}}],
    )
    write(
        "picks_strings",
        scripts.PicksStrings(),
        [strings("words")],
        [strings("RESULT[0]"), strings("picked__1"), tensor_config("RESULT[2]", INT64, (1,))],
    )
    write(
        "picks_rows",
        scripts.PicksStrings(),
        [strings("words", **ONE_STRING)],
        [strings("RESULT[0]", **ONE_STRING), strings("RESULT[1]", **ONE_STRING)],
        max_batch_size=8,
    )
    return start_server(repository)


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return connect(server, request.param)


CONTENTS = ("grüße, 世界 \N{PILE OF POO}", "", "m" * 1_000_000, "a\0b\n")


def strings_and_numbers(number: int, rows: int) -> tuple[list[str], torch.Tensor]:
    """Make what one request sends, unlike any other."""
    contents = [CONTENTS[(number + row) % len(CONTENTS)] for row in range(rows)]
    words = [content and f"{content} {number}" for content in contents]
    return words, torch.arange(2 * rows).reshape(rows, 2) + 1000 * number


def answered(words: list[str], x: torch.Tensor) -> dict[str, Any]:
    lengths = torch.tensor([len(word.encode()) for word in words])  # TorchScript counts bytes
    return {"OUTPUT__0": [word + "!" for word in words], "OUTPUT__1": x + lengths.reshape(-1, 1)}


@pytest.mark.parametrize("bad", [set(), {4}, {0, 11}], ids=str)
def test_each_client_gets_its_own(server: Server, bad: set[int]) -> None:
    before = statistics(server, "strings", 0)
    for _ in range(2):
        sent = [strings_and_numbers(number, rows) for number, rows in enumerate(ROWS)]
        requests = [{"words": texts(*words).reshape(-1, 1), "x": x} for words, x in sent]
        for number in bad:
            requests[number]["words"][-1] = b"caf\xe9"
        answers = infer_at_once(server, "strings", requests)
        for number, (answer, (words, x)) in enumerate(zip(answers, sent, strict=True)):
            if number in bad:
                wrong = f"string {len(words) - 1} of input 'words' is no UTF-8 (unexpected end of data)"
                assert answer == f"model 'strings': {wrong}"
            else:
                assert_equal(answer, answered(words, x))
    after = statistics(server, "strings", before.successes + before.failures + 2 * len(ROWS))
    assert (after.rows - before.rows, after.executions - before.executions) == (2 * sum(ROWS), 2)
    assert "model 'strings': requests for output" not in server.log  # are not merged, since they were mixed up


def test_a_model_that_breaks_a_string_breaks_nothing_else(server: Server) -> None:
    words = ["one", "über", "", "more"]
    requests = [{"words": texts(word).reshape(1, 1)} for word in words]
    for word, answer in zip(words, infer_at_once(server, "first_letters", requests), strict=True):
        if word == "über":
            assert answer == "model 'first_letters': the model returned a string that is not UTF-8"
        else:
            assert_equal(answer, {"RESULT": [word[:1]]})


@pytest.mark.parametrize("words", [[], [""], ["z"], ["grüße", "z" * 1_000_000, "", "a\0b", "ü"]])
def test_any_number_without_batching(client: Client, words: list[str]) -> None:
    same, picked, count = scripts.PicksStrings()(words)
    answer = client.infer("picks_strings", {"words": texts(*words)})
    assert_equal(answer, {"RESULT[0]": same, "picked__1": picked, "RESULT[2]": torch.tensor([count])})
    assert answer["picked__1"].shape == (len(picked),)


def test_what_is_no_text_fails_alone(client: Client) -> None:
    assert client.failure("picks_strings", {"words": texts("good", b"\xff")}) == (
        "model 'picks_strings': string 1 of input 'words' is no UTF-8 (invalid start byte)"
    )
    assert client.infer("picks_strings", {"words": texts("good")}, ["RESULT[0]"])["RESULT[0]"].tolist() == [b"good"]


def test_as_many_as_rows_or_none(client: Client) -> None:
    words = texts("z", "a", "y").reshape(-1, 1)
    message = client.failure("picks_rows", {"words": words})
    assert message.startswith("model 'picks_rows': output 'RESULT[1]' is not batched: 3 rows went in and 2 rows came")
    assert_equal(client.infer("picks_rows", {"words": words}, ["RESULT[0]"]), {"RESULT[0]": ["z", "a", "y"]})


def test_a_model_that_was_warmed_up_with_strings(server: Server, client: Client) -> None:
    assert_equal(client.infer("warmed_up", {"words": texts("abc").reshape(1, 1)}), {"RESULT": ["a"]})
    assert "warmup" not in server.log
    assert "internal error in model" not in server.log

"""TorchScript on a real server: platforms, backends, kinds and files, names, strings, and requests that are merged."""

from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.script_models import ONE_STRING, strings
from triton_pytorch.tests.server.conftest import (
    ROOT,
    Client,
    StartServer,
    assert_equal,
    infer_at_once,
    load_errors,
    merging,
    statistics,
    texts,
    write_script,
)

INT64 = torch.int64
ON_CPU, BY_MODEL = ({"kind": kind, "count": 1} for kind in ("KIND_CPU", "KIND_MODEL"))
ROWS = (1, 2, 3) * 4  # of requests that run together
THREE: dict[str, Any] = {"dims": (3,)}
ZEROS: dict[str, Any] = {"data_type": "TYPE_FP32", "dims": [3], "zero_data": True}
NO_STRING: dict[str, Any] = {"data_type": "TYPE_STRING", "dims": [1], "zero_data": True}
NESTED = ("RESULT[0]", "RESULT[1][0]", "RESULT[1][1]", "RESULT[2][names]", "RESULT[3][0][k]", "RESULT[3][1][k]")

# A module, the config of its inputs and outputs, and the rest of the config.
MODELS: dict[str, tuple[torch.nn.Module, list[Any], list[Any], dict[str, Any]]] = {
    "stock_backend": (
        scripts.Arithmetic(),
        [
            tensor_config("KWARGS[bias]", optional=True, **THREE),
            tensor_config("ARGS[1]", **THREE),
            tensor_config("KWARGS[x]", **THREE),
        ],
        [tensor_config("OUTPUT__0", **THREE)],
        {
            "backend": "pytorch",
            "instance_group": [BY_MODEL],
            "max_batch_size": 8,
            "dynamic_batching": {},
            "model_warmup": [{"name": "w", "batch_size": 2, "inputs": {"KWARGS[x]": ZEROS, "ARGS[1]": ZEROS}}],
        },
    ),
    "without_platform": (
        scripts.Difference(),
        ["INPUTA", "INPUT__1"],
        ["OUTPUT__0"],
        {"backend": "pytorch", "platform": ""},
    ),
    "short_platform": (
        scripts.Splits(),
        ["x"],
        ["second", "first"],
        {
            "platform": "libtorch",
            "file_name": "größe.bin",
            "default_model_filename": "größe.bin",
            "instance_group": [ON_CPU],
        },
    ),
    "python_mode": (
        scripts.Arithmetic(),
        ["x"],
        ["RESULT"],
        {
            "backend": "python",
            "file_name": "mine.pt",
            "parameters": {"DEFAULT_MODEL_FILENAME": "mine.pt", "MODULE_METHOD_NAME": "twice"},
        },
    ),
    "nested": (
        scripts.Nested(),
        ["x"],
        [strings(name) if "names" in name else name for name in NESTED[::-1]],
        {"platform": "", "file_name": "model.pt2", "instance_group": [{**ON_CPU, "count": 2}]},
    ),
    "mixed": (
        scripts.Mixed(),
        [tensor_config("options[b]"), tensor_config("x__1"), strings("words", **ONE_STRING), tensor_config("a")],
        [strings("RESULT[0]", **ONE_STRING), tensor_config("OUTPUT__1"), tensor_config("RESULT[1][difference]")],
        {
            **merging(sum(ROWS)),
            "model_warmup": [
                {
                    "name": "w",
                    "batch_size": 2,
                    "inputs": {"options[b]": ZEROS, "x__1": ZEROS, "words": NO_STRING, "a": ZEROS},
                }
            ],
        },
    ),
    "numbers": (
        scripts.Resamples(),
        [
            tensor_config("flips", torch.bool, (1,), optional=True),
            tensor_config("sr", INT64, (1,)),
            tensor_config("gain", dims=(1,), reshape={"shape": []}),
            tensor_config("x", **THREE),
        ],
        [tensor_config("RESULT", **THREE)],
        merging(sum(ROWS)),
    ),
    "strings": (
        scripts.PicksStrings(),
        [strings("words")],
        [strings("RESULT[0]"), strings("picked__1"), tensor_config("RESULT[2]", INT64, (1,))],
        {},
    ),
    "careless": (
        scripts.Careless(),
        [tensor_config("x", INT64), tensor_config("y", INT64)],
        [tensor_config("RESULT[0]", INT64), tensor_config("RESULT[1]", INT64, (1,))],
        {"instance_group": [ON_CPU]},
    ),
}
# Files beside a model.pt that is the model: the user wrote the platform, or the content of model.pt decides.
STRAY_FILES = {"strings": ["model.pt2", "model.py"], "without_platform": ["model.py"]}
GPU = [{"kind": "KIND_GPU", "gpus": [99]}]


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository, archives = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("archives")
    for name, (module, inputs, outputs, config) in MODELS.items():
        archive = scripts.scripted(module, archives / f"{name}.pt")
        directory = write_script(repository, name, archive, inputs, outputs, **config)
        if config.get("backend") == "python":
            (directory / "model.py").symlink_to(ROOT / "model.py")
        for stray in STRAY_FILES.get(name, ()):
            (directory / stray).write_text("raise RuntimeError('a stray file')\n", encoding="utf-8")
    write_script(repository, "no_such_gpu", archives / "strings.pt", ["words"], ["RESULT[0]"], instance_group=GPU)
    return start_server(repository)


def test_loaded_models(server: Server) -> None:
    (refused,) = load_errors(server).items()
    assert refused[0] == "no_such_gpu"
    assert "specifies invalid or unsupported gpu id 99" in refused[1]  # says Triton's core


@pytest.mark.parametrize(
    ("model", "sent", "expected"),
    [
        ("strings", {"words": texts("z")}, {"RESULT[2]": [1]}),
        ("without_platform", {"INPUTA": torch.tensor([7.0]), "INPUT__1": torch.tensor([1.0])}, {"OUTPUT__0": [6.0]}),
    ],
)
def test_stray_files(
    server: Server, client: Client, model: str, sent: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert client.is_ready(model)
    answer = client.infer(model, sent, list(expected))
    assert {name: value.tolist() for name, value in answer.items()} == expected
    beside = ", ".join(STRAY_FILES[model])
    verb = "are" if len(STRAY_FILES[model]) > 1 else "is"
    note = f"model '{model}': the model is model.pt; {beside} beside it {verb} not used"
    assert server.log.count(note) == 1


class TestNames:
    @pytest.mark.parametrize(
        ("model", "sent", "expected"),
        [
            ("stock_backend", {"KWARGS[x]": [[1.0, 2, 3]], "ARGS[1]": [[5.0, 5, 5]]}, {"OUTPUT__0": [[-3.0, -1, 1]]}),
            ("without_platform", {"INPUTA": [7.0, 8], "INPUT__1": [1.0, 2]}, {"OUTPUT__0": [6.0, 6]}),
            ("short_platform", {"x": [1.0, 2, 3, 4, 5]}, {"first": [1.0, 2], "second": [3.0, 4, 5]}),
            ("python_mode", {"x": [1.0, 2]}, {"RESULT": [2.0, 4]}),
        ],
    )
    def test_names_backends_and_files(
        self, client: Client, model: str, sent: dict[str, Any], expected: dict[str, Any]
    ) -> None:
        answer = client.infer(model, {name: torch.tensor(value) for name, value in sent.items()})
        assert_equal(answer, {name: torch.tensor(value) for name, value in expected.items()})

    def test_names_in_config_order_are_warned_of(self, server: Server) -> None:
        warning = (
            "model 'without_platform': the model has no input named 'INPUTA': the order of the config decides, so "
            "'INPUTA' is x (INPUT__0), 'INPUT__1' is y (INPUT__1)"
        )
        assert server.log.count(warning) == 1
        assert server.log.count("the order of the config decides") == 1

    def test_optional_inputs(self, server: Server) -> None:
        names = {"x": "KWARGS[x]", "y": "ARGS[1]", "bias": "KWARGS[bias]"}
        sent = [{name: torch.randn(1, 3) for name in list(names)[: 2 + number % 2]} for number in range(8)]
        requests = [{names[name]: value for name, value in each.items()} for each in sent]
        for each, answer in zip(sent, infer_at_once(server, "stock_backend", requests), strict=True):
            assert_equal(answer, {"OUTPUT__0": scripts.Arithmetic()(**each)})


class TestNestedResults:
    def leaves(self, x: torch.Tensor) -> dict[str, Any]:
        first, parts, by_key, records = scripts.Nested()(x)
        return dict(zip(NESTED, [first, *parts, by_key["names"], records[0]["k"], records[1]["k"]], strict=True))

    def test_every_leaf_by_path(self, client: Client) -> None:
        x = torch.tensor([2.0, 3.0])
        assert_equal(client.infer("nested", {"x": x}), self.leaves(x))

    def test_leaf_that_one_answer_lacks(self, client: Client) -> None:
        short, full = torch.tensor([1.0, 3.0]), torch.tensor([2.0, 3.0])
        message = client.failure("nested", {"x": short})
        assert message == (
            "model 'nested': output 'RESULT[1][1]' is not in this answer: RESULT[1] is a list with 1 element"
        )
        assert_equal(client.infer("nested", {"x": short}, ["RESULT[1][0]"]), {"RESULT[1][0]": torch.zeros(2)})
        assert_equal(client.infer("nested", {"x": full}), self.leaves(full))


class TestStrings:
    CONTENTS = ("grüße, 世界 \N{PILE OF POO}", "", "m" * 1_000_000, "a\0b\n")

    @pytest.mark.parametrize("words", [[], [""], ["z"], ["grüße", "z" * 1_000_000, "", "a\0b", "ü"]])
    def test_any_number_without_batching(self, client: Client, words: list[str]) -> None:
        same, picked, count = scripts.PicksStrings()(words)
        answer = client.infer("strings", {"words": texts(*words)})
        assert_equal(answer, {"RESULT[0]": same, "picked__1": picked, "RESULT[2]": torch.tensor([count])})
        assert answer["picked__1"].shape == (len(picked),)

    @pytest.mark.parametrize("bad", [set(), {0, 11}], ids=str)
    def test_merged_clients_get_their_own(self, server: Server, bad: set[int]) -> None:
        before = statistics(server, "mixed", 0)
        sent = [self.arguments(number, rows) for number, rows in enumerate(ROWS)]
        requests = [
            {"words": texts(*words).reshape(-1, 1), "x__1": x, "a": options["a"], "options[b]": options["b"]}
            for words, x, options in sent
        ]
        for number in bad:
            requests[number]["words"][-1] = b"caf\xe9"
        for number, answer in enumerate(infer_at_once(server, "mixed", requests)):
            words, tensors = scripts.Mixed()(*sent[number])
            if number in bad:
                wrong = f"string {len(words) - 1} of input 'words' is not valid UTF-8 (unexpected end of data)"
                assert answer == f"model 'mixed': {wrong}"
            else:
                expected = {"OUTPUT__1": tensors["sum"], "RESULT[1][difference]": tensors["difference"]}
                assert_equal(answer, {"RESULT[0]": words, **expected})
        after = statistics(server, "mixed", before.successes + before.failures + len(ROWS))
        assert (after.rows - before.rows, after.executions - before.executions) == (sum(ROWS), 1)

    def arguments(self, number: int, rows: int) -> tuple[list[str], torch.Tensor, dict[str, torch.Tensor]]:
        """Make what one request sends, unlike any other."""
        contents = [self.CONTENTS[(number + row) % len(self.CONTENTS)] for row in range(rows)]
        words = [content and f"{content} {number}" for content in contents]
        return words, torch.randn(rows, 3), {"a": torch.randn(rows, 3), "b": torch.randn(rows, 3)}


class TestNumbers:
    DIFFER = (
        "model 'numbers': input 'sr' has 8000 in row 0 and 16000 in row 1, but the model takes one value for all rows "
        "of a request: send rows with another one in a request of their own"
    )

    @pytest.mark.parametrize("bad", [set(), {1, 10}], ids=str)
    def test_requests_of_several_rates(self, server: Server, bad: set[int]) -> None:
        before = statistics(server, "numbers", 0)
        requests = [self.request(number, rows) for number, rows in enumerate(ROWS)]
        for number in bad:
            requests[number]["sr"] = torch.tensor([[8000], [16000]])
        for number, answer in enumerate(infer_at_once(server, "numbers", requests)):
            if number in bad:
                assert answer == self.DIFFER
            else:
                x, sr, gain, flips = (requests[number][name] for name in ("x", "sr", "gain", "flips"))
                assert_equal(answer, {"RESULT": torch.where(flips, -(x * sr + gain), x * sr + gain)})
        after = statistics(server, "numbers", before.successes + before.failures + len(ROWS))
        assert (after.rows - before.rows, after.executions - before.executions) == (sum(ROWS), 1)

    def request(self, number: int, rows: int) -> dict[str, torch.Tensor]:
        """Make what one request sends: one of two rates, one of three gains, and whether it is the fifth."""
        values = {"sr": (8000, 16000)[number % 2], "gain": (0.0, 0.5, 0.25)[number % 3], "flips": number == 5}
        return {"x": torch.randn(rows, 3), **{name: torch.full((rows, 1), value) for name, value in values.items()}}


class TestCarelessModel:
    """Errors of the model itself, and what it does that its user may not know of."""

    X = torch.tensor([7, -7])

    def test_failure_without_paths(self, client: Client) -> None:
        sent = {"x": self.X, "y": torch.tensor([2, 0])}
        assert client.failure("careless", sent) == "model 'careless': ZeroDivisionError"
        sent["y"] += 2
        assert client.infer("careless", sent)["RESULT[0]"].tolist() == [1, -4]

    def test_failure_is_logged_whole(self, server: Server, client: Client) -> None:
        client.failure("careless", {"x": self.X, "y": self.X - self.X})
        assert (
            r"a request failed: model 'careless': ZeroDivisionError\nThe following operation failed in the TorchScript "
            r"interpreter.\n"
        ) in server.log

    def test_state_is_warned_of(self, server: Server, client: Client) -> None:
        warning = "model 'careless': the model keeps state in self.calls: the requests of all clients change it, "
        assert server.log.count(warning) == 1
        assert server.log.count("the model keeps state in") == 1
        first, second = (client.infer("careless", {"x": self.X, "y": self.X})["RESULT[1]"] for _ in range(2))
        assert second == first + 1

    @pytest.mark.skipif(torch.cuda.is_available(), reason="a machine with a GPU warns in other words")
    def test_device_that_the_machine_lacks_is_warned_of(self, server: Server) -> None:
        warning = (
            "model 'careless': the model's code names cuda:1, but this instance runs on cpu and this machine has no "
            "GPU, so that calls which come to such code fail: script the model with the device of an input"
        )
        assert server.log.count(warning) == 1
        assert server.log.count("the model's code names") == 1


def test_log(server: Server) -> None:
    assert "internal error in model" not in server.log
    assert "warmup" not in server.log
    assert "model 'mixed': requests for output" not in server.log  # are not merged, since rows were lost

"""TorchScript on a real server, over HTTP and gRPC: arguments and results of every kind, as eager torch has them."""

import re
from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.configs import TYPES, sample, tensor_config
from triton_pytorch.tests.integration.script_models import strings
from triton_pytorch.tests.server.conftest import (
    Client,
    StartServer,
    assert_equal,
    connect,
    infer_at_once,
    load_errors,
    merging,
    statistics,
    texts,
    write_script,
)

INT64 = torch.int64
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in TYPES}
TREE_ROWS = (1, 3, 2, 1) * 5  # of requests that run together


def rows_of_three(*names: str, **more: Any) -> list[Any]:
    return [tensor_config(name, dims=(3,), **more) for name in names]


def unbatched(*names: str) -> list[Any]:
    return [tensor_config(name, dims=(-1, 3)) for name in names]


BATCHED: dict[str, Any] = {"max_batch_size": 8}
NOTHING_SENT: dict[str, Any] = {"data_type": "TYPE_FP32", "dims": [3], "zero_data": True}
NESTED = ("RESULT[0]", "RESULT[1][0]", "RESULT[1][1]", "RESULT[2][names]", "RESULT[3][0][k]", "RESULT[3][1][k]")
TREE = ("RESULT[0][sums][0]", "RESULT[0][sums][1]", "OUTPUT__2", "RESULT[1][0]", "any__4", "RESULT[2]")
OF_ROW: dict[str, Any] = {"dims": (1,), "reshape": {"shape": []}}  # a single number
DETECTIONS = [
    tensor_config("RESULT[0][boxes]"),
    tensor_config("RESULT[1][labels]", INT64),
    tensor_config("RESULT[1][boxes]"),
]
NUMBERS = [
    tensor_config("count__0", INT64, (1,)),
    tensor_config("RESULT[1]", torch.float64, (1,)),
    tensor_config("RESULT[2]", torch.bool, (1,)),
    strings("RESULT[3]"),
    tensor_config("RESULT[4]"),
    tensor_config("RESULT[6][1]", INT64, (1,)),
]
STRIDED = ([tensor_config("x", dims=(-1, 3)), tensor_config("y", dims=(4,))], [(3, -1), (3, 4), (2,)])

# A module, the config of its inputs and outputs, and the rest of the config.
MODELS: dict[str, tuple[torch.nn.Module, list[Any], list[Any], dict[str, Any]]] = {
    "by_index": (scripts.Arithmetic(), unbatched("y__1", "x__0"), unbatched("RESULT"), {}),
    "by_name": (
        scripts.Arithmetic(),
        [*rows_of_three("bias", optional=True), *rows_of_three("y", "x")],
        rows_of_three("OUTPUT__0"),
        {
            **BATCHED,
            "dynamic_batching": {},
            "model_warmup": [{"name": "w", "batch_size": 2, "inputs": {"x": NOTHING_SENT, "y": NOTHING_SENT}}],
        },
    ),
    "in_order": (scripts.Arithmetic(), unbatched("first", "second"), unbatched("difference"), {}),
    "with_gaps": (scripts.Defaults(), ["c", "a"], ["RESULT"], {}),
    "another_method": (scripts.Arithmetic(), ["x"], ["RESULT"], {"parameters": {"MODULE_METHOD_NAME": "twice"}}),
    "keys": (
        scripts.ReadsKeys(),
        [*rows_of_three("b", "a"), *rows_of_three("bias", optional=True)],
        rows_of_three("RESULT[a]", "difference"),
        {"max_batch_size": 32, "dynamic_batching": {"max_queue_delay_microseconds": 5000}},
    ),
    "indexed_keys": (scripts.ReadsKeys(), ["b__1", "a__0"], ["difference__0", "a__1"], {}),
    "two_dictionaries": (scripts.TwoDictionaries(), ["right[x]", "left[x]"], ["OUTPUT__0"], {}),
    "any_keys": (scripts.AnyKeys(), ["k-1", "größe"], ["größe", "RESULT[k-1]"], {}),
    "mixed": (
        scripts.Mixed(),
        ["options[b]", tensor_config("shift", optional=True), "x__1", strings("words"), "a"],
        [strings("RESULT[0]"), "OUTPUT__1", "RESULT[1][difference]"],
        {},
    ),
    "paths": (
        scripts.Nested(),
        ["x"],
        [strings(name) if "names" in name else name for name in NESTED[::-1]],
        {},
    ),
    "indices": (
        scripts.Nested(),
        ["INPUT__0"],
        [strings(f"OUTPUT__{i}") if i == 3 else f"OUTPUT__{i}" for i in range(7)],
        {},
    ),
    "detections": (scripts.Detections(), [tensor_config("images", dims=(-1, 2))], DETECTIONS, {}),
    "numbers": (scripts.Numbers(), ["x"], NUMBERS, {}),
    "record": (scripts.Record(), ["x"], ["scores", strings("RESULT[labels]")], {}),
    "tree": (
        scripts.Tree(),
        rows_of_three("x", "y"),
        [*rows_of_three(*TREE[:-1]), tensor_config(TREE[-1], **OF_ROW)],
        merging(sum(TREE_ROWS)),
    ),
    "sometimes": (
        scripts.SometimesThere(),
        rows_of_three("x"),
        rows_of_three("RESULT[sometimes]", "always"),
        merging(4),
    ),
    "sum": (scripts.Sum(), ["x"], [tensor_config("RESULT", dims=(1,))], {}),
    "sum_of_rows": (scripts.Sum(), rows_of_three("x"), [tensor_config("RESULT", **OF_ROW)], BATCHED),
    "fails": (scripts.Fails(), [tensor_config("how", INT64, (1,)), "x"], ["RESULT"], {}),
    "all_dtypes": (
        scripts.Rotates(),
        [tensor_config(name, dtype, (4,)) for name, dtype in DTYPES.items()],
        [tensor_config(name, dtype, (4,)) for name, dtype in DTYPES.items()],
        BATCHED,
    ),
    "unusual": (scripts.Unusual(), ["x"], ["negative__0", "sparse__1"], {}),
    "strided": (
        scripts.Strided(),
        [tensor_config("x", dims=(-1, -1, 3)), tensor_config("y", dims=(-1, 4))],
        [
            *(tensor_config(f"RESULT[{i}]", dims=(-1, *dims)) for i, dims in enumerate(STRIDED[1])),
            tensor_config("RESULT[3]", dims=(4, 4)),
        ],
        {},
    ),
    "strided_rows": (
        scripts.Strided(),
        STRIDED[0],
        [tensor_config(f"RESULT[{i}]", dims=dims) for i, dims in enumerate(STRIDED[1])],
        {"max_batch_size": 32, "dynamic_batching": {"max_queue_delay_microseconds": 20_000}},
    ),
}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository, archives = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("archives")
    for name, (module, inputs, outputs, config) in MODELS.items():
        archive = scripts.scripted(module, archives / f"{name}.pt")
        write_script(repository, name, archive, inputs, outputs, **config)
    return start_server(repository)


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return connect(server, request.param)


def test_every_model_loads(server: Server) -> None:
    assert load_errors(server) == {}


class TestArguments:
    @pytest.mark.parametrize(
        ("model", "x", "y", "output"),
        [
            ("by_index", "x__0", "y__1", "RESULT"),
            ("by_name", "x", "y", "OUTPUT__0"),
            ("in_order", "first", "second", "difference"),
        ],
    )
    def test_by_names_of_every_kind(self, client: Client, model: str, x: str, y: str, output: str) -> None:
        one, other = torch.randn(2, 3), torch.randn(2, 3)
        assert_equal(client.infer(model, {y: other, x: one}), {output: scripts.Arithmetic()(one, other)})

    def test_the_order_of_the_config_is_warned_of(self, server: Server) -> None:
        order = "the order of the config decides, so"
        for warning in (
            f"like an argument of the model, or <name>__<index>: {order} 'first' is x (INPUT__0), 'second' is y (INPUT",
            f"RESULT.., or <name>__<index>: {order} 'difference' is RESULT",
        ):
            assert len(re.findall(f"model 'in_order': no (in|out)put is named {re.escape(warning)}", server.log)) == 1
        assert server.log.count(order) == 2

    def test_optional_ones_that_are_sent_or_not(self, server: Server) -> None:
        requests = [
            {name: torch.randn(1, 3) for name in (("x", "y", "bias") if number % 2 else ("x", "y"))}
            for number in range(8)
        ]
        for request, answer in zip(requests, infer_at_once(server, "by_name", requests), strict=True):
            assert_equal(answer, {"OUTPUT__0": scripts.Arithmetic()(**request)})

    def test_defaults_between_declared_ones(self, client: Client) -> None:
        a, c = torch.randn(4), torch.randn(4)
        assert_equal(client.infer("with_gaps", {"a": a, "c": c}), {"RESULT": scripts.Defaults()(a, c=c)})

    def test_of_another_method(self, client: Client) -> None:
        x = torch.randn(4)
        assert_equal(client.infer("another_method", {"x": x}), {"RESULT": scripts.Arithmetic().twice(x)})

    def test_keys_of_a_dictionary(self, server: Server) -> None:
        requests = [
            {name: torch.randn(1 + number % 3, 3) for name in (("b", "bias", "a") if number % 4 == 0 else ("a", "b"))}
            for number in range(20)
        ]
        for request, answer in zip(requests, infer_at_once(server, "keys", requests), strict=True):
            expected = scripts.ReadsKeys()(request)
            assert_equal(answer, {"difference": expected["difference"], "RESULT[a]": expected["a"]})

    def test_keys_with_an_index(self, client: Client) -> None:
        a, b = torch.randn(2), torch.randn(2)
        expected = scripts.ReadsKeys()({"a": a, "b": b})
        assert_equal(
            client.infer("indexed_keys", {"a__0": a, "b__1": b}),
            {"difference__0": expected["difference"], "a__1": expected["a"]},
        )

    def test_keys_of_two_dictionaries(self, client: Client) -> None:
        left, right = torch.randn(2), torch.randn(2)
        expected = scripts.TwoDictionaries()({"x": left}, {"x": right})
        assert_equal(client.infer("two_dictionaries", {"left[x]": left, "right[x]": right}), {"OUTPUT__0": expected})

    def test_any_keys(self, client: Client) -> None:
        sent = {"größe": torch.randn(2), "k-1": torch.randn(3)}
        expected = scripts.AnyKeys()(sent)
        assert_equal(client.infer("any_keys", sent), {"größe": expected["größe"], "RESULT[k-1]": expected["k-1"]})

    @pytest.mark.parametrize("shift", [{}, {"shift": torch.tensor([100.0, 200.0])}])
    def test_all_kinds_at_once(self, client: Client, shift: dict[str, torch.Tensor]) -> None:
        words, x, options = ["wörd", ""], torch.randn(2), {"a": torch.randn(2), "b": torch.randn(2)}
        turned, tensors = scripts.Mixed()(words, x, options, **shift)
        sent = {"words": texts(*words), "x__1": x, "a": options["a"], "options[b]": options["b"], **shift}
        assert_equal(
            client.infer("mixed", sent),
            {"RESULT[0]": turned, "OUTPUT__1": tensors["sum"], "RESULT[1][difference]": tensors["difference"]},
        )


class TestResults:
    def leaves(self, x: torch.Tensor) -> list[Any]:
        first, parts, by_key, records = scripts.Nested()(x)
        return [first, *parts, by_key["names"], records[0]["k"], records[1]["k"], records[1]["l"]]

    def test_every_leaf_by_path_and_by_index(self, client: Client) -> None:
        x = torch.tensor([2.0, 3.0])
        leaves = self.leaves(x)
        assert_equal(client.infer("paths", {"x": x}), dict(zip(NESTED, leaves, strict=False)))
        by_index = {f"OUTPUT__{i}": leaf for i, leaf in enumerate(leaves)}
        assert_equal(client.infer("indices", {"INPUT__0": x}), by_index)

    def test_a_path_that_one_answer_lacks(self, client: Client) -> None:
        for length, expected in ((1.0, "is a list with 1 element"), (0.0, "is a list with 0 elements")):
            short, full = torch.tensor([length, 3.0]), torch.tensor([2.0, 3.0])
            message = client.failure("paths", {"x": short})
            assert re.fullmatch(
                rf"model 'paths': output 'RESULT\[1\]\[\d\]' is not in this answer: RESULT\[1\] {expected}", message
            )
            assert_equal(client.infer("paths", {"x": short}, ["RESULT[0]"]), {"RESULT[0]": short})
            assert_equal(client.infer("paths", {"x": full}), dict(zip(NESTED, self.leaves(full), strict=False)))
        assert client.failure("indices", {"INPUT__0": torch.tensor([1.0, 3.0])}, ["OUTPUT__6"]) == (
            "model 'indices': output 'OUTPUT__6' is not in this answer: the number of outputs is 6, counted from 0"
        )

    def test_a_path_that_one_request_of_a_batch_lacks(self, server: Server) -> None:
        xs = [torch.full((1, 3), number) for number in (1.0, -2.0, 3.0, 4.0)]
        for _ in range(2):
            for x, answer in zip(xs, infer_at_once(server, "sometimes", [{"x": x} for x in xs]), strict=True):
                if x[0, 0] > 0:
                    assert_equal(answer, {"always": x + 1, "RESULT[sometimes]": 2 * x})
                else:
                    assert (
                        "'RESULT[sometimes]' is not in this answer: RESULT is a dictionary with the keys al" in answer
                    )

    def test_a_list_of_dictionaries(self, client: Client) -> None:
        images = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
        expected = scripts.Detections()(images)
        assert_equal(
            client.infer("detections", {"images": images}),
            {
                "RESULT[0][boxes]": expected[0]["boxes"],
                "RESULT[1][labels]": expected[1]["labels"],
                "RESULT[1][boxes]": expected[1]["boxes"],
            },
        )
        assert "is not in this answer: RESULT is a list with 0 elements" in client.failure(
            "detections", {"images": images[:0]}
        )

    def test_strings_and_tensors_in_one_dictionary(self, client: Client) -> None:
        x = torch.tensor([-1.5, 2.0])
        expected = scripts.Record()(x)
        assert_equal(
            client.infer("record", {"x": x}), {"scores": expected["scores"], "RESULT[labels]": expected["labels"]}
        )

    def test_numbers_a_string_and_what_may_be_none(self, client: Client) -> None:
        x = torch.tensor([1.0, 2.5, -4.0])
        count, total, is_more, text, same, _, counts = scripts.Numbers()(x)
        expected = {
            "count__0": torch.tensor([count]),
            "RESULT[1]": torch.tensor([total], dtype=torch.float64),
            "RESULT[2]": torch.tensor([is_more]),
            "RESULT[3]": [text],
            "RESULT[4]": same,
            "RESULT[6][1]": torch.tensor([counts[1]]),
        }
        assert client.failure("numbers", {"x": x[:2]}).startswith("model 'numbers': output 'RESULT[4]' is None")
        assert_equal(client.infer("numbers", {"x": x}), expected)

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_without_dimensions(self, client: Client, length: int) -> None:
        x = torch.arange(float(length))
        assert_equal(client.infer("sum", {"x": x}), {"RESULT": x.sum().reshape(1)})

    def test_without_a_batch_dimension(self, client: Client) -> None:
        for rows in (1, 2):
            message = client.failure("sum_of_rows", {"x": torch.ones(rows, 3)})
            assert "output 'RESULT' is not batched: " in message
            assert message.endswith("a single number came out; if that is how the model works, set max_batch_size: 0")

    def test_every_dtype_is_bit_exact(self, client: Client) -> None:
        answer = client.infer("all_dtypes", {name: sample(dtype) for name, dtype in DTYPES.items()})
        for name, dtype in DTYPES.items():
            assert answer[name].dtype is dtype
            assert torch.equal(answer[name], sample(dtype)[:, [2, 3, 0, 1]]), name

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_permuted_and_expanded(self, client: Client, length: int) -> None:
        x, y = torch.randn(2, length, 3), torch.randn(2, 4)
        expected = {f"RESULT[{i}]": value for i, value in enumerate(scripts.Strided()(x, y))}
        assert_equal(client.infer("strided", {"x": x, "y": y}), expected)

    @pytest.mark.parametrize("length", [0, 1, 3])
    def test_views_of_the_negatives(self, client: Client, length: int) -> None:
        x = torch.randn(length)
        assert_equal(client.infer("unusual", {"x": x}, ["negative__0"]), {"negative__0": -x})

    def test_a_sparse_one_is_refused_in_one_sentence(self, client: Client) -> None:
        message = client.failure("unusual", {"x": torch.ones(2)}, ["sparse__1"])
        assert message.startswith("model 'unusual': output 'sparse__1' ")
        assert "sparse" in message

    def test_permuted_and_expanded_in_batches(self, server: Server) -> None:
        for _ in range(2):
            requests = [{"x": torch.randn(1 + i % 3, 5, 3), "y": torch.randn(1 + i % 3, 4)} for i in range(8)]
            for request, answer in zip(requests, infer_at_once(server, "strided_rows", requests), strict=True):
                expected = scripts.Strided()(**request)[:3]
                assert_equal(answer, {f"RESULT[{i}]": value for i, value in enumerate(expected)})

    def test_nested_in_batches_of_many_clients(self, server: Server) -> None:
        for _ in range(3):
            requests = [{"x": torch.randn(rows, 3), "y": torch.randn(rows, 3)} for rows in TREE_ROWS]
            for request, answer in zip(requests, infer_at_once(server, "tree", requests), strict=True):
                parts, multiples, sums = scripts.Tree()(**request)
                leaves = [*parts["sums"], *parts["products"], *multiples, sums.reshape(-1, 1)]
                assert_equal(answer, dict(zip(TREE, leaves, strict=True)))
        counted = statistics(server, "tree", 3 * len(TREE_ROWS))
        assert (counted.rows, counted.executions) == (3 * sum(TREE_ROWS), 3)
        assert "model 'tree': requests for output" not in server.log  # are not merged, since they were mixed up

    @pytest.mark.parametrize(
        ("how", "said"),
        [(1, "index out of range in self"), (3, "ValueError: negative values, such as -1: are not taken")],
    )
    def test_a_model_that_fails_says_why_and_goes_on(self, client: Client, how: int, said: str) -> None:
        x = torch.tensor([9.0, 0.0])
        assert client.failure("fails", {"how": torch.tensor([how]), "x": x}) == f"model 'fails': {said}"
        assert_equal(client.infer("fails", {"how": torch.tensor([0]), "x": x}), {"RESULT": x})


def test_the_log_tells_of_no_fault_of_ours(server: Server) -> None:
    assert "internal error in model" not in server.log
    assert "warmup" not in server.log

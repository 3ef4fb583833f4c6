"""Answers requests one at a time: each one gets a response, whatever happens inside."""

import traceback
from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.execution.bindings import OutputBinding, bind_tensors
from triton_pytorch.execution.interfaces import Model, Triton, TritonRequest
from triton_pytorch.formats.opening import open_model
from triton_pytorch.model_config.configuration import Instance, ModelConfig
from triton_pytorch.model_config.errors import BackendError, ModelRunError, RequestError
from triton_pytorch.torch_runtime.datatypes import DATA_TYPES
from triton_pytorch.torch_runtime.tensors import as_model_input, as_response_output, from_dlpack, to_dlpack


def open_loop(instance: Instance, triton: Triton) -> "RunLoop":
    """Open the model of an instance and make it ready to answer.

    Raises:
        BackendError: the model cannot be served as it is configured; one sentence says why.
    """
    model = open_model(instance)
    try:
        return RunLoop(model, instance.config, triton)
    except BackendError:
        model.close()
        raise


class RunLoop:
    """Serves one opened model to Triton.

    Raises:
        ConfigError: what the configuration declares does not fit the model.
    """

    def __init__(self, model: Model, config: ModelConfig, triton: Triton) -> None:
        bindings = bind_tensors(config, model.inputs, model.outputs)
        self._model = model
        self._model_name = config.name
        self._is_batched = config.max_batch_size > 0
        self._input_leaves = bindings.inputs
        self._outputs = bindings.outputs
        self._triton = triton

    def execute(self, requests: Sequence[TritonRequest]) -> list[Any]:
        """Return one response for each request, in order; never raises."""
        with torch.inference_mode():
            return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Let go of the model."""
        self._model.close()

    def _answer(self, request: TritonRequest) -> Any:
        try:
            leaves = self._leaves(request)
            results = self._model.run(leaves)
            rows = leaves[0].shape[0] if self._is_batched else None
            return self._response(request, results, rows)
        except BackendError as error:
            return self._failure(f"model '{self._model_name}': {error}", error.code)
        except Exception:
            self._triton.logger.log_error(f"internal error in model '{self._model_name}':\n{traceback.format_exc()}")
            return self._failure(f"internal error in model '{self._model_name}': see the server's log", "INTERNAL")

    def _leaves(self, request: TritonRequest) -> list[torch.Tensor]:
        """Return the request's tensors in the order of the model's leaves, ready for the call."""
        device = self._model.device
        by_leaf = {
            self._input_leaves[tensor.name()]: as_model_input(from_dlpack(tensor.to_dlpack()), device)
            for tensor in request.inputs()
        }
        missing = [name for name, leaf in self._input_leaves.items() if leaf not in by_leaf]
        if missing:
            raise RequestError(f"the request lacks input {', '.join(missing)}")
        return [by_leaf[leaf] for leaf in range(len(by_leaf))]

    def _response(self, request: TritonRequest, results: Sequence[torch.Tensor | None], rows: int | None) -> Any:
        tensor = self._triton.tensor
        return self._triton.response(
            [
                tensor.from_dlpack(name, to_dlpack(self._output(name, results, rows)))
                for name in request.requested_output_names()
            ]
        )

    def _output(self, name: str, results: Sequence[torch.Tensor | None], rows: int | None) -> torch.Tensor:
        binding = self._outputs[name]
        result = results[binding.leaf]
        if result is None:
            raise ModelRunError(f"output '{name}' is None in this model's result: remove it from config.pbtxt")
        _check_dtype(name, result, binding)
        if rows is not None:
            _check_rows(name, result, rows)
        elif result.dim() == 0:
            # Triton has no way to declare a 0-d output without batching: it is declared `dims: [1]`.
            result = result.reshape(1)
        return as_response_output(result)

    def _failure(self, message: str, code: str) -> Any:
        error = self._triton.error
        return self._triton.response([], error=error(message, getattr(error, code)))


def _check_dtype(name: str, result: torch.Tensor, binding: OutputBinding) -> None:
    if result.dtype is not binding.dtype:
        got = DATA_TYPES.get(result.dtype, result.dtype)
        raise ModelRunError(
            f"output '{name}' is declared {DATA_TYPES[binding.dtype]}, but the model returned {got}: "
            f"change its data_type in config.pbtxt"
        )


def _check_rows(name: str, result: torch.Tensor, rows: int) -> None:
    got = result.shape[0] if result.dim() else None
    if got != rows:
        returned = "a single number" if got is None else f"{got} rows"
        raise ModelRunError(
            f"output '{name}' is not batched: {rows} rows went in and {returned} came out; "
            "if that is how the model works, set max_batch_size: 0"
        )

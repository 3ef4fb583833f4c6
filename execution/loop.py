"""Answers requests one at a time: each one gets a response, whatever happens inside."""

import traceback
from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.execution.inputs import prepare_inputs
from triton_pytorch.execution.interfaces import Model, Triton, TritonRequest
from triton_pytorch.execution.outputs import declare_outputs
from triton_pytorch.formats.opening import open_model
from triton_pytorch.io_naming.contract import agree
from triton_pytorch.model_config.configuration import Instance, ModelConfig
from triton_pytorch.model_config.errors import BackendError, ModelRunError, RequestError
from triton_pytorch.model_config.suggestions import joined
from triton_pytorch.torch_runtime.tensors import as_response_output, from_dlpack, to_dlpack


def open_loop(instance: Instance, triton: Triton) -> "RunLoop":
    """Open the model of an instance and make it ready to answer.

    Raises:
        BackendError: the model cannot be served as it is configured; one sentence says why.
    """
    model = open_model(instance)
    for warning in model.warnings:
        triton.logger.log_warn(f"model '{instance.config.name}': {warning}")
    try:
        return RunLoop(model, instance.config, triton)
    except BaseException:
        model.close()
        raise


class RunLoop:
    """Serves one opened model to Triton.

    Raises:
        ConfigError: what the configuration declares does not fit the model.
    """

    def __init__(self, model: Model, config: ModelConfig, triton: Triton) -> None:
        contract = agree(config, model.inputs, model.outputs)
        self._model = model
        self._model_name = config.name
        self._is_batched = config.max_batch_size > 0
        self._leaf_of = {tensor.name: leaf for tensor, leaf in zip(config.inputs, contract.inputs, strict=True)}
        self._preparations = prepare_inputs(config, contract.inputs, model)
        self._shape_rules = contract.request_rules
        self._outputs = declare_outputs(config, contract.outputs)
        self._triton = triton
        self._logged_outputs: set[str] = set()
        for warning in contract.warnings:
            triton.logger.log_warn(f"model '{config.name}': {warning}")

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
        """Return the request's tensors in the order of the model's leaves, checked and ready for the call."""
        by_leaf = {self._leaf_of[tensor.name()]: from_dlpack(tensor.to_dlpack()) for tensor in request.inputs()}
        if len(by_leaf) < len(self._leaf_of):
            missing = [name for name, leaf in self._leaf_of.items() if leaf not in by_leaf]
            raise RequestError(f"the request lacks input {', '.join(missing)}")
        tensors = [by_leaf[leaf] for leaf in range(len(by_leaf))]
        self._check_shapes(tensors)
        return [prepare(tensor) for prepare, tensor in zip(self._preparations, tensors, strict=True)]

    def _check_shapes(self, tensors: Sequence[torch.Tensor]) -> None:
        if not self._shape_rules:
            return
        shapes = [tensor.shape for tensor in tensors]
        violations = [violation for rule in self._shape_rules if (violation := rule(shapes)) is not None]
        if violations:
            raise RequestError(joined(violations))

    def _response(self, request: TritonRequest, results: Sequence[torch.Tensor | None], rows: int | None) -> Any:
        tensor = self._triton.tensor
        return self._triton.response(
            [
                tensor.from_dlpack(name, to_dlpack(self._output(name, results, rows)))
                for name in request.requested_output_names()
            ]
        )

    def _output(self, name: str, results: Sequence[torch.Tensor | None], rows: int | None) -> torch.Tensor:
        try:
            return as_response_output(self._outputs[name].checked(results, rows))
        except ModelRunError as error:
            if name not in self._logged_outputs:  # a fault of the config or the model: once is enough
                self._logged_outputs.add(name)
                self._triton.logger.log_error(f"model '{self._model_name}': {error}")
            raise

    def _failure(self, message: str, code: str) -> Any:
        error = self._triton.error
        return self._triton.response([], error=error(message, getattr(error, code)))

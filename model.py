"""Triton's entry: wires one instance of a model to the package beside this file."""

import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

# Where this file really lies: it may be reached through a symlink.
_TREE = Path(__file__).resolve().parent


class _Tree:
    """Finds the package `triton_pytorch` in this directory, before anything of that name elsewhere."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, _TREE / "__init__.py") if name == "triton_pytorch" else None


sys.meta_path.insert(0, _Tree)
# Modules of the package are not importable by their bare names: they would hide a user's modules of the same name.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _TREE]
sys.dont_write_bytecode = True  # a checkout stays as it is, whichever user the server runs as


class TritonPythonModel:
    """One instance of a model, as Triton's Python backend calls it.

    There is no `auto_complete_config`, and nothing here imports torch before `initialize`: Triton starts a process
    for auto-completion before every load, which would pay 2-3 s for it.
    """

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model; the text of what is raised here becomes the reason in the server's repository index."""
        _check_environment()
        from triton_pytorch.model_config.errors import BackendError
        from triton_pytorch.model_config.file_names import printable

        try:
            self._loop = _load(args)
        except BackendError as error:
            # A text that is not valid UTF-8, because of a file's name in it, would end the stub without a word.
            raise type(error)(printable(str(error))) from error

    def execute(self, requests: list[Any]) -> Any:
        """Return one response for each request, in order; never raises."""
        return self._loop.execute(requests)

    def finalize(self) -> None:
        """Release the model."""
        self._loop.close()


def _load(args: dict[str, str]) -> Any:
    """Find, identify, prepare, describe, bind, open, serve (docs/architecture.md); raises BackendError."""
    from triton_pytorch.artifact_store.model_file import open_model_file
    from triton_pytorch.contract.binding import bind
    from triton_pytorch.formats.checks import check_served, foreign_parameter_warnings
    from triton_pytorch.formats.files import find
    from triton_pytorch.formats.identification import identify
    from triton_pytorch.model_config.configuration import read_instance
    from triton_pytorch.model_config.errors import ConfigError
    from triton_pytorch.model_config.suggestions import joined
    from triton_pytorch.torch_runtime.threads import limit_threads

    instance = read_instance(args)
    config = instance.config
    _warn(config.name, config.parameters.warnings)
    found = find(instance)
    for note in found.notes:
        pb_utils.Logger.log_info(f"model '{config.name}': {note}")
    with open_model_file(found.path) as file:
        model_format = check_served(config, file.path, identify(file))
        _warn(config.name, foreign_parameter_warnings(config.parameters, model_format))
        # OpenMP reads its limit once, when torch is imported, as everything below does.
        limit_threads(config, model_format.parameters)

        from triton_pytorch.execution.loop import RunLoop, settle
        from triton_pytorch.torch_runtime.placement import device_of_instance
        from triton_pytorch.torch_runtime.session import run_mode
        from triton_pytorch.torch_runtime.settings import apply_settings

        settings = apply_settings(config, model_format.parameters)
        pb_utils.Logger.log_info(f"model '{config.name}': {settings}")
        device = device_of_instance(instance)
        description = model_format.describe(file, settings.parameters, device)
        try:
            plan = bind(config, description.signature)
        except ConfigError as error:  # a config for another file is full of unknown names
            raise type(error)(joined([str(error), *found.notes])) from error
        _warn(config.name, [*settings.warnings, *description.warnings, *plan.warnings])
        model = model_format.open(description, plan.leaves, run_mode(settings.parameters))
    try:
        loop = RunLoop(plan, model, _triton(), args["model_version"])
    except BaseException:
        model.close()
        raise
    settle()
    return loop


def _warn(model_name: str, warnings: Iterable[str]) -> None:
    for warning in warnings:
        pb_utils.Logger.log_warn(f"model '{model_name}': {warning}")


def _check_environment() -> None:
    if not (_TREE / "model_config").is_dir():
        raise RuntimeError(
            f"this model.py was copied to '{_TREE}' without the tree that it belongs to: link it there instead, or use "
            "the file of two lines from the README"
        )
    if find_spec("torch") is None:
        raise RuntimeError(
            f"the interpreter of Triton's Python backend ({sys.prefix}) has no torch: install torch 2.13 there, "
            "or put the 'bin' of an environment that has it first on the server's PATH"
        )


def _triton() -> Any:
    """Bind Triton's names; the stub fills its module only after it has imported this one."""
    from triton_pytorch.execution.interfaces import Triton

    return Triton(
        tensor=pb_utils.Tensor,
        response=pb_utils.InferenceResponse,
        error=pb_utils.TritonError,
        logger=pb_utils.Logger,
        metric_family=pb_utils.MetricFamily,
    )

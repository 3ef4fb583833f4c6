"""The counter of failed requests in Triton's metrics: Triton's own statistics call them successes (server#7713)."""

from triton_pytorch.execution.interfaces import MetricFamilyFactory


class FailedRequests:
    """Counts the failed requests of one version of a model; its instances share the counter."""

    def __init__(self, metric_family: MetricFamilyFactory, model_name: str, version: str) -> None:
        # Kept as long as the metric, which Triton takes out of its report with its family.
        self._family = metric_family(
            name="triton_pytorch_failed_requests",
            description="Number of requests that the PyTorch backend answered with an error",
            kind=metric_family.COUNTER,
        )
        self._metric = self._family.Metric(labels={"model": model_name, "version": version})

    def add(self, number: int) -> None:
        """Count failed requests; takes 10 to 65 us, so add them up first."""
        self._metric.increment(number)

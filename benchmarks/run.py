"""`make bench`: measure what serving costs, and print each figure beside its target."""

from triton_pytorch.benchmarks import loading, real_models, throughput


def main() -> None:
    """Run all benchmarks, one after the other, since they share the machine's cores."""
    loading.run()
    throughput.run()
    real_models.run()


if __name__ == "__main__":
    main()

"""Find, assemble, start and stop a tritonserver on this machine; for `serve`, examples, tests and benchmarks."""

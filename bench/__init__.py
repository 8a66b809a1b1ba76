"""Benchmarks: every figure stands beside another of the same run, so that it means something on any machine."""

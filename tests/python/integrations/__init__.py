"""Keras, JAX, NumPy, and the examples: what runs outside this package on its batches."""

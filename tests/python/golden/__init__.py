"""Runner of the recorded cases in ``tests/golden``: the same inputs, the values TensorFlow gave."""

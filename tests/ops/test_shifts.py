import torch

from mt.ops.sequences import shift_left, shift_right


def test_shifts():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    assert shift_right(x).tolist() == [[0.0, 1.0, 2.0]]
    assert shift_left(x, 2, 9.0).tolist() == [[3.0, 9.0, 9.0]]
    assert shift_right(x, 5, 9.0).tolist() == [[9.0, 9.0, 9.0]]
    assert shift_left(x, 0) is x

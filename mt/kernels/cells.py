"""The states of recurrent cells from the products of their matrices, for those who multiply otherwise than torch."""

from jaxtyping import Float
from torch import Tensor


def lstm_state(gates: Float[Tensor, "B G"], cell: Float[Tensor, "B H"]) -> tuple[Float[Tensor, "B H"], ...]:
    """Returns the next hidden and cell vectors. gates: i, f, g and o before their nonlinearities."""
    enter, keep, _, show = gates.sigmoid().chunk(4, 1)  # one call for all costs less than three
    cell = keep * cell + enter * gates.chunk(4, 1)[2].tanh()
    return show * cell.tanh(), cell


def gru_state(
    of_input: Float[Tensor, "B G"], of_hidden: Float[Tensor, "B G"], hidden: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], ...]:
    """Returns the next hidden vectors. of_input, of_hidden: r, z and n before their nonlinearities."""
    reset, keep = (of_input + of_hidden).sigmoid().chunk(3, 1)[:2]
    candidate = (of_input.chunk(3, 1)[2] + reset * of_hidden.chunk(3, 1)[2]).tanh()
    return (keep * hidden + (1 - keep) * candidate,)

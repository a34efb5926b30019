"""The compiled programs that oneDNN keeps, which computes layers, and products in bfloat16 and int8, on a CPU."""

import os

_CAPACITY = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
PROGRAMS = 40
"""What an update in bfloat16 uses that computes its target steps at once is 35, of which the next one uses two thirds
again (see `mt.kernels.linear.in_blocks`)."""
PROGRAMS_OF_STEPS = 16
"""How many programs a loop over target steps keeps; with 8, training takes a tenth longer."""
PROGRAMS_OF_CONVOLUTIONS = 1024
"""oneDNN's own bound."""


def keep_programs(*, step_by_step: bool = False, convolutions: bool = False) -> None:
    """Bounds how many programs oneDNN keeps in training. It is to be called before the first product of a process; a
    choice that the environment has made stays.

    step_by_step: whether target steps are computed one after another.
    convolutions: whether most of the time goes into convolutions over pictures, whose programs are small, and compiling
    them is a fifth of the time.

    It has one for every shape that it has met, and forgets first what was longest not used. Those of an LSTM and of
    products in bfloat16 take one to three megabytes, and batches of text are of ever new shapes. With 40 an update that
    computes its target steps at once takes up to 8 % less time than with 16, on some processors, for 0.1 GB more. A
    loop over target steps is as fast with 16, and takes 4 to 7 % less memory.
    """
    count = PROGRAMS_OF_STEPS if step_by_step else PROGRAMS
    os.environ.setdefault(_CAPACITY, str(PROGRAMS_OF_CONVOLUTIONS if convolutions else count))

"""Write what decoding needs of a run, and nothing else, to a new folder, which can be given to others.

    python scripts/export.py RUN DIR [--dtype float32|bf16|int8] [--push OWNER/NAME]
    python scripts/export.py RUN DIR --format onnx [--int8]

DIR gets the weights, the tokenizers, config.json, a model card (README.md: data, scores and their signatures) and the
LICENSE. `mt.load` and the other scripts take it as they take RUN, and hf://OWNER/NAME where it was uploaded.

--format onnx writes graphs of the encoder and of a decoder's step instead, for ONNX Runtime (extra onnx), which decodes
with them: `load(DIR, engine="onnx")` and scripts/translate.py --engine onnx, both also where there is no torch, and
scripts/evaluate.py --engine onnx.
"""

from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.parser import Parser
from mt.common.terminal import say
from mt.decoding.load import push, require_name
from mt.errors import UserError, reported, visible
from mt.export.folder import FORMATS, export, files
from mt.models.weights import Form

DTYPES: dict[str, Form] = {"float32": "float32", "bf16": "bfloat16", "bfloat16": "bfloat16", "int8": "int8"}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder that training printed")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to make")
    parser.add_argument("--checkpoint", default="best", help="best, last, average or ema where the run made one")
    parser.add_argument("--format", choices=FORMATS, default="safetensors", help="what is to decode: torch, or onnx")
    parser.add_argument("--dtype", choices=tuple(DTYPES), help="of the weights; else float32")
    parser.add_argument("--int8", action="store_true", help="as --dtype int8")
    parser.add_argument("--licence", type=Path, metavar="FILE", help="of the weights; else that of this project")
    parser.add_argument("--push", metavar="OWNER/NAME", help="upload DIR to this repository of the Hugging Face hub")
    options = parser.parse_args(arguments)
    with reported():
        if options.int8 and options.dtype not in (None, "int8"):
            raise UserError(f"--int8 and --dtype {options.dtype} ask for different weights: give one of them")
        if options.push is not None:
            require_name(options.push)
        dtype = "int8" if options.int8 else DTYPES[options.dtype or "float32"]
        export(
            options.run,
            options.folder,
            checkpoint=options.checkpoint,
            format=options.format,
            dtype=dtype,
            licence=options.licence,
            repository=options.push,
        )
        sizes = files(options.folder)
        for name, size in [*sizes, ("together", sum(size for _, size in sizes))]:
            say(f"  {visible(name):<28} {size:>14,} bytes")
        say(f"\n{options.folder}")
        if options.push is not None:
            say(push(options.folder, options.push))


if __name__ == "__main__":
    main()

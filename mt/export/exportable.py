"""Decides which models can be written as graphs (`mt.export.graphs`)."""

from collections.abc import Mapping

from mt.config import Config
from mt.errors import UserError
from mt.models.attention import ATTENTIONS, Attention
from mt.models.encoders import ENCODERS, Encoder
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import Form

LENGTHS = (5, 7)
"""The lengths of two example sources. Dimensions in which their tensors differ are as long as the source."""


def require_exportable(model: Seq2Seq, config: Config, dtype: Form) -> None:
    """Raises UserError where this model cannot be written as graphs, in a sentence that names what can."""
    attention = model.decoder.attention
    encoder = model.encoder
    if dtype == "bfloat16":
        raise UserError("ONNX Runtime has no bfloat16 on CPUs: export with --dtype float32 or int8")
    if model.frontend.field != "text":
        raise UserError(
            f"--format onnx is of models that read text, and this one has frontend={config.frontend.name}: export it "
            "without --format onnx"
        )
    for option, chosen, has_loop in (
        ("attention", config.attention.name, attention.data_dependent_loop),
        ("encoder", config.encoder.name, encoder.data_dependent_loop),
    ):
        if has_loop:
            attentions, encoders = (_without_loops(table) for table in (ATTENTIONS, ENCODERS))
            raise UserError(
                f"--format onnx is of attentions and encoders without a loop over positions, and {option}={chosen} has "
                f"one: it exports attention={attentions} with encoder={encoders}"
            )
    if model.max_source_length is not None and model.max_source_length < max(LENGTHS):
        raise UserError(
            f"--format onnx needs a model of sources of {max(LENGTHS)} tokens or more, and this one's have at most "
            f"{model.max_source_length}: export it without --format onnx"
        )


def _without_loops(table: Mapping[str, type[Attention] | type[Encoder]]) -> str:
    """Returns the names of the parts whose steps are a fixed number of operations."""
    return ", ".join(name for name, part in table.items() if not part.data_dependent_loop)

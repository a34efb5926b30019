"""Writes a model as two ONNX graphs: its encoder, and one step of its decoder.

It exports models that read text, with a step of a fixed number of operations."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from mt.common.input_files import sha256
from mt.config import Config
from mt.data.tokenizer import BOS
from mt.decoding.modes import reads_hard
from mt.decoding.onnx import ENCODER, FORMAT, MANIFEST, STEP, Manifest
from mt.errors import UserError, message_of
from mt.export.layers import onnx_layers
from mt.models.attention import ATTENTIONS
from mt.models.frontends.embedding import WordVectors
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import Form
from mt.search.config import revised_search
from mt.storage import write_json
from mt.trees import tensors_of, with_tensors

# Which models can be written.

LENGTHS = (5, 7)
"""The lengths of two example sources. A dimension in which their tensors differ is as long as the source."""


def require_exportable(model: Seq2Seq, config: Config, dtype: Form) -> None:
    """Raises UserError where this model cannot be written as graphs, and names what can."""
    attention = model.decoder.attention
    # ONNX Runtime lacks bfloat16, and the features of sounds and pictures are not part of a graph.
    if dtype == "bfloat16":
        raise UserError("ONNX Runtime has no bfloat16 on CPUs: export with --precision fp32 or int8")
    if model.frontend.field != "text":
        raise UserError(
            f"--format onnx is of models that read text, and this one has frontend={config.frontend.name}: export it "
            "without --format onnx"
        )
    # Graphs have a fixed number of operations.
    if attention.monotonic:
        exported = ", ".join(name for name, kind in ATTENTIONS.items() if not kind.monotonic)
        raise UserError(
            f"--format onnx is of attentions without a loop over positions, and attention={config.attention.name} has "
            f"one: it exports attention={exported}"
        )
    # The exporter traces examples of these lengths.
    if model.max_source_length is not None and model.max_source_length < max(LENGTHS):
        raise UserError(
            f"--format onnx needs a model of sources of {max(LENGTHS)} tokens or more, and this one's have at most "
            f"{model.max_source_length}: export it without --format onnx"
        )


# Writing them; `mt.decoding.onnx` says what goes in and comes out.

ROWS = 3
"""How many hypotheses an example step has; the exporter would take a size of 0 or 1 for a constant."""


def write_graphs(folder: Path, model: Seq2Seq, config: Config, checkpoint: Mapping[str, Any], dtype: Form) -> None:
    """Writes the two graphs and their manifest beside the files that `folder` holds.

    checkpoint: describes the checkpoint of the weights, for the manifest. Raises UserError where the model cannot be
    exported, and where the extra `onnx` is not installed.
    """
    # Whatever is missing is told before anything is written.
    require_exportable(model, config, dtype)
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
        from torch.onnx import ops  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"--format onnx needs what the extra onnx brings ({error}): pip install onnx onnxscript onnxruntime "
            "'torch>=2.8'"
        ) from None
    # Whether the attention reads hard is part of a graph, and cannot be chosen in decoding.
    hard = reads_hard(revised_search(config.search, {"name": "greedy"}), model)
    model = model.eval()
    with torch.no_grad():
        _write(model, hard, folder)
    if dtype == "int8":
        with _quiet():
            for name in (ENCODER, STEP):
                quantize(folder / name)
    # The manifest comes last, since it has the sums of all other files.
    sums = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    manifest = Manifest(
        format=FORMAT,
        hard=hard,
        chunk_size=model.chunk_size,
        max_source_length=model.max_source_length,
        dtype=dtype,
        checkpoint=dict(checkpoint),
        sha256=sums,
    )
    write_json(folder / MANIFEST, manifest.model_dump(mode="json"))


class _Encoder(nn.Module):
    """Computes memory and first state, flattened, of a source without padding."""

    def __init__(self, model: Seq2Seq, hard: bool) -> None:
        super().__init__()
        self.model = model
        self.hard = hard

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        memory = self.model.encode(source, torch.ones_like(source, dtype=torch.bool))
        return (*tensors_of(memory), *tensors_of(self.model.init_state(memory, hard=self.hard)))


class _Step(nn.Module):
    """Computes log-probabilities, attention and the next state of the last tokens, memory and state, all flattened."""

    def __init__(self, model: Seq2Seq, hard: bool, memory: Any, state: Any) -> None:
        """memory, state: examples, into whose structure flattened tensors are put."""
        super().__init__()
        self.model = model
        self.hard = hard
        self.memory = memory
        self.state = state

    def forward(self, tokens: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
        count = len(tensors_of(self.memory))
        memory = with_tensors(self.memory, parts[:count])
        state = with_tensors(self.state, parts[count:])
        prediction = self.model.step(tokens, memory, state, hard=self.hard)
        weights, stops, first_positions, _ = prediction.attended
        window = [positions for positions in (stops, first_positions) if positions is not None]
        return (prediction.log_probs(), weights, *window, *tensors_of(prediction.state))


def _write(model: Seq2Seq, hard: bool, folder: Path) -> None:
    """Writes both graphs and checks them on a source of another length."""
    # Example inputs of both lengths, and the names of the tensors that go from graph to graph.
    examples = []
    sources = [_source(model, length) for length in LENGTHS]
    for source in sources:
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        examples.append((memory, model.init_state(memory, hard=hard)))
    counts = [len(tensors_of(part)) for part in examples[0]]
    parts = tensors_of(examples[0])
    longer = tensors_of(examples[1])
    # A token and EOS at least: blank sources are not decoded.
    positions = Dim("places", min=2, max=model.max_source_length)
    rows = Dim("rows", min=1)
    names = [f"memory.{i}" for i in range(counts[0])] + [f"state.{i}" for i in range(counts[1])]
    graph: nn.Module = _Encoder(model, hard)
    with onnx_layers(model.encoder):
        _export(graph, (sources[0],), {"source": {1: positions}}, ["source"], names, folder / ENCODER)
    _check(graph, (sources[1],), folder / ENCODER)

    # The step. Dimensions that differ between the two sources are as long as they are.
    shapes = [
        {0: rows}
        | {
            axis: positions
            for axis, (size, longer_size) in enumerate(zip(part.shape, longer_part.shape, strict=True))
            if size != longer_size
        }
        for part, longer_part in zip(parts, longer, strict=True)
    ]
    tokens = torch.full((ROWS,), BOS)
    inputs = (tokens, *(part.expand(ROWS, *part.shape[1:]).contiguous() for part in parts))
    outputs = ["log_probs", "weights", *(["stops", "first"] if hard else [])]
    outputs += [f"next.{i}" for i in range(counts[1])]
    dynamic = {"tokens": {0: rows}, "parts": tuple(shapes)}
    graph = _Step(model, hard, *examples[0])
    with onnx_layers(model.decoder, gru=False):
        _export(graph, inputs, dynamic, ["tokens", *names], outputs, folder / STEP)
    _check(graph, (tokens[:1], *longer), folder / STEP)


def _source(model: Seq2Seq, length: int) -> Tensor:
    """Returns an example source, [1, S]. Its tokens differ, since a hard attention may choose either of two equals."""
    assert isinstance(model.frontend, WordVectors)
    return torch.arange(length)[None] % model.frontend.table.num_embeddings


def _export(
    graph: nn.Module,
    inputs: tuple[Tensor, ...],
    dynamic_shapes: Any,
    input_names: list[str],
    output_names: list[str],
    path: Path,
) -> None:
    """Writes a module as a graph. inputs: examples. dynamic_shapes: as `torch.onnx.export` takes them."""
    with _quiet():
        # The newer exporter (dynamo), which takes `dynamic_shapes` and returns a program.
        program = torch.onnx.export(
            graph.eval(),
            inputs,
            input_names=input_names,
            output_names=output_names,
            dynamic_shapes=dynamic_shapes,
            dynamo=True,
            verbose=False,
        )
        assert program is not None
        program.save(path)


def _check(graph: nn.Module, inputs: tuple[Tensor, ...], path: Path) -> None:
    """Raises UserError where a graph and the model differ for an input of another length: the exporter may silently
    take a length for a constant."""
    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        pairs = [(node.name, tensor.numpy()) for node, tensor in zip(session.get_inputs(), inputs, strict=True)]
        outputs = session.run(None, dict(pairs))
        fault = "other numbers"
        same = all(
            # Another order of sums changes the last digits, a wrong constant the first ones.
            torch.allclose(torch.from_numpy(output), expected, rtol=1e-4, atol=1e-5)
            for output, expected in zip(outputs, graph(*inputs), strict=True)
        )
    except Exception as error:  # its classes have none in common
        same = False
        fault = message_of(error)[-150:]
    if not same:
        raise UserError(
            f"--format onnx cannot be had of this model: its {path.stem} computes something else in ONNX Runtime than "
            f"in torch ({fault}). Export it without --format onnx"
        )


def quantize(path: Path) -> None:
    """Rounds the matrices of a graph to int8, but for a GRU that is one operation. Vectors are rounded while decoding,
    when they are known."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = onnx.load(path)
    del graph.graph.value_info[:]  # of the exporter, and not what quantization infers
    _untie(graph.graph)
    quantize_dynamic(
        graph,
        path,
        weight_type=QuantType.QInt8,
        per_channel=True,
        # Products with weights alone. Those of queries with keys are of two computed tensors.
        extra_options={"MatMulConstBOnly": True},
    )


def _untie(graph: Any) -> None:
    """Gives every lookup table its own name. Where the table is also the output matrix, quantization would turn both
    into the form that a product needs."""
    tables = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Gather" and (table := tables.get(node.input[0])) is not None:
            copy = graph.initializer.add()
            copy.CopyFrom(table)
            copy.name = node.input[0] = f"{table.name}.{node.name}"
    # A first state may be a constant, which no node needs.
    names = {name for node in graph.node for name in node.input} | {output.name for output in graph.output}
    used = [tensor for tensor in graph.initializer if tensor.name in names]
    del graph.initializer[:]
    graph.initializer.extend(used)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses what the exporters print for their developers."""
    disabled_before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled_before)

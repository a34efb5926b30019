"""The root configuration: it joins the options of all parts, and declares the options of training.

Defaults stand in these classes, once; `scripts/options.py` writes them into the files of conf/. `mt train ~preset`
trains `Config()`. A preset (conf/preset/, named after a data set) gives the options in which that data set differs from
the defaults. So `mt train` trains `Config()` with the values of conf/preset/phrasebook.yaml on top. An experiment has
all values of a paper.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mt.common.backdrop import PlotFormat
from mt.common.options import MAX_COUNT, MAX_SIZE, Options, parse
from mt.config.optimizer import AdamConfig, OptimizerConfig
from mt.data.dataset import PHRASEBOOK, DatasetConfig
from mt.device import DEVICES
from mt.errors import UserError, require_choice
from mt.metrics import require_known
from mt.metrics.bleu import TOKENIZERS
from mt.metrics.rouge import ROUGE_TOKENIZERS
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.frontends import FRONTENDS
from mt.search.config import BeamConfig, SearchConfig
from mt.search.options import MAX_BEAM_SIZE


class TrainingConfig(Options):
    """How long and how to train."""

    freeze: tuple[str, ...] = ()
    """Modules of the model that are not trained, by name: encoder, frontend, decoder.embedding. They compute as in
    decoding, without dropout; see docs/fine-tuning.md."""
    epochs: Annotated[int, "epochs"] = Field(10, gt=0, le=MAX_COUNT)
    """The most passes over the training split."""
    max_updates: Annotated[int, "updates"] | None = Field(None, gt=0, le=MAX_COUNT)
    """The most optimizer updates; null: as many as the epochs have."""
    batch_tokens: Annotated[int, "tokens"] = Field(2000, gt=0, le=MAX_COUNT)
    """Tokens of a batch on either side, padding included."""
    batch_sentences: Annotated[int, "pairs"] | None = Field(None, gt=0, le=MAX_COUNT)
    """The most pairs of a batch; null: as many as the tokens allow."""
    gradient_accumulation: Annotated[int, "batches"] = Field(1, gt=0, le=MAX_COUNT)
    """Batches whose gradients make one update. The processes of `torchrun` share them."""
    label_smoothing: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """The share of probability spread over all tokens alike (Szegedy et al. 2016), in the cross entropy."""
    r_drop: Annotated[float, "nats per nat"] = Field(0.0, ge=0, le=1e4)
    """alpha of R-Drop (Liang et al. 2021: 5 for translation), the weight of the divergence between two passes with
    different dropout: about 2 for little data; 0 computes one pass. An update takes twice the time; see
    docs/small-data.md."""
    guided_alignment: str | None = Field(None, min_length=1, max_length=4000)
    """Word links of the training pairs, a FILE (Pharaoh) or eflomal, which makes them. The attention learns them beside
    the targets (Chen et al. 2016, "Guided alignment training for topic-aware neural machine translation"). It sets
    `dataset.links`, where its values are explained; null leaves that as it is."""
    guided_alignment_weight: Annotated[float, "nats per nat"] = Field(0.1, ge=0, le=1e6)
    """The weight of the cross entropy of these links in the loss: 0.05 (OpenNMT) to 0.1 (Marian)."""
    wait_k: Annotated[tuple[Annotated[int, Field(ge=1, le=MAX_SIZE)], ...], Field(min_length=1), "tokens"] | None = None
    """Values of k, such as [1, 3, 5, 7, 9], of which one is drawn for each batch, so that one model serves every k of
    search=wait_k (Elbayad et al. 2020, multi-path training). The target step t, counted from 1, attends to the first k
    + t - 1 source tokens alone (Ma et al. 2019). null: attention to all source tokens."""
    bpe_dropout: Annotated[float, "share"] = Field(0.0, ge=0, lt=1)
    """The probability that a merge of a bpe vocabulary is left out, on both sides, drawn anew in every epoch (Provilkov
    et al. 2020: 0.1). `batch_tokens` counts the tokens before that, so that batches are somewhat larger."""
    unigram_alpha: float | None = Field(None, ge=0, le=1e4)
    """The exponent of the probability by which a unigram vocabulary draws a word's segmentation, on both sides (Kudo
    2018: 0.1 to 0.5). Every epoch draws anew; null takes the best segmentation."""
    normalization: Literal["token", "sentence"] = "token"
    """The unit over which the loss is averaged. sentence: the mean of sums over a sentence's tokens, as in Bahdanau et
    al. (2015) and Luong et al. (2015), whose rates and norms fit such gradients. The reported loss is always per
    token."""
    max_grad_norm: float = Field(1.0, ge=0, le=1e9)
    """The norm to which a larger gradient is clipped (Pascanu et al. 2013); 0 clips none."""
    validate_every: Annotated[int, "updates"] | None = Field(None, gt=0, le=MAX_COUNT)
    """Updates between validations; null validates at the end of each epoch."""
    validate_first: bool = False
    """Whether the weights that a run starts from (`init_from`) are validated before the first update."""
    validate_limit: Annotated[int, "sentences"] | None = Field(None, gt=0, le=MAX_COUNT)
    """Sentences of the dev split that are decoded, the first ones; null decodes all."""
    validate_beam: Annotated[int, "hypotheses"] = Field(1, ge=1, le=MAX_BEAM_SIZE)
    """The beam size in validation, with the other options of the run's beam search. 1 decodes greedily, which is fast,
    as in JoeyNMT; with 3 to 5 early scores are ruled less by repetition."""
    test: bool = True
    """Whether the test split is decoded and scored at the end. Without it a run has no results.json: for trials that
    end in seconds (with max_updates=2), and where `mt evaluate` does so elsewhere."""
    metric: str | None = None
    """The metric that chooses the best checkpoint: loss, or a score such as bleu, chrf, rougeL; null takes the
    dataset's first. While it is too low to choose, chrF or the loss does: see `mt.training.validation`."""
    patience: Annotated[int, "validations"] | None = Field(None, gt=0, le=MAX_COUNT)
    """Validations without a new best after which training stops; null never does."""
    average_checkpoints: Annotated[int, "checkpoints"] = Field(5, gt=0, le=1000)
    """The last validations whose weights are averaged into the final model, where that scores better on dev than the
    best one; 1 averages nothing."""
    ema_decay: Annotated[float, "share"] | None = Field(None, gt=0, lt=1)
    """The decay of an exponential moving average of the weights (Kingma & Ba 2015, section 7.2), 0.99 or more; it
    spans some 1 / (1 - ema_decay) updates. It becomes the final model where it scores better on dev than the best
    checkpoint and the average of the last ones. null: there is none."""
    save_every: Annotated[int, "updates"] | None = Field(None, gt=0, le=MAX_COUNT)
    """Updates between checkpoints; null saves at validations alone."""
    log_every: Annotated[int, "updates"] = Field(20, gt=0, le=MAX_COUNT)
    """Updates between lines of metrics.jsonl and points in TensorBoard."""
    plots: Annotated[int, "sentences"] = Field(4, ge=0, le=1000)
    """The number of dev sentences whose alignments are drawn at each validation, and of test sentences at the end."""
    plot_words: bool = False
    """Whether heatmaps have a row and a column for each word, in place of each piece; see
    `mt.common.links.weights_between_words`."""
    plot_format: PlotFormat = "png"
    """The format of the heatmaps of a test; pdf, svg: such files beside the PNG that a comparison shows."""


class Config(ModelConfig):
    """Everything that makes a run: with the raw text and the code, these values determine its result."""

    init_from: str | None = Field(None, min_length=1)
    """A run folder, or one of its checkpoints: the run starts from its weights, tokenizers and model options, except
    for options that you set. null: from random weights."""
    dataset: DatasetConfig = PHRASEBOOK
    optimizer: OptimizerConfig = AdamConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = BeamConfig()
    seed: int = Field(1, ge=0, lt=1 << 63)
    """The seed of the weights, the order of batches, dropout and noise."""
    device: str = Field("auto", pattern=f"^({DEVICES})$")
    """auto (a GPU where there is one), cpu, cuda, cuda:1, mps."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """bf16: matrix products in bfloat16 (torch.autocast), weights in float32; about twice as fast where the hardware
    has it. fp16: in float16, with dynamic loss scaling (Micikevicius et al. 2018), for GPUs that are older."""

    @model_validator(mode="after")
    def _links_come_with_the_corpus(self) -> Self:
        if self.training.guided_alignment is None and self.dataset.links is None:
            # Without links, what is said of their words would have no effect.
            if self.dataset.link_words != "blanks":
                raise UserError(
                    f"dataset.link_words={self.dataset.link_words} is of links, and there are none: set "
                    "training.guided_alignment, or leave it out"
                )
            return self
        return self.model_copy(update={"dataset": _linked(self)})

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        # Data and model: the front end reads the field, somebody learns the transcripts, copies are of one vocabulary.
        expected = FRONTENDS[self.frontend.name].field
        field = self.dataset.field.name
        if expected != field:
            fitting = " or ".join(f"frontend={name}" for name, kind in FRONTENDS.items() if kind.field == field)
            raise UserError(
                f"frontend={self.frontend.name} reads {expected}, and the sources of {self.dataset.name} are {field}: "
                f"choose {fitting}"
            )
        if expected == "features" and self.frontend.size != self.dataset.field.size:
            raise UserError(
                f"frontend.size={self.frontend.size} and dataset.field.size={self.dataset.field.size} are both the "
                "features of a place: set one as the other"
            )
        if self.dataset.transcript and not self.ctc_weight:
            raise UserError(
                f"dataset.transcript={self.dataset.transcript} is what ctc_weight teaches the encoder, and "
                "ctc_weight=0 teaches nothing: set ctc_weight=0.3, or leave dataset.transcript out"
            )
        # A copied piece needs the same id on both sides.
        if self.decoder.copy and not self.dataset.tokenizer.joint:
            joint = "dataset.tokenizer.joint=true"
            remedy = f"start from a run with {joint}" if self.init_from else f"set {joint}"
            raise UserError(
                f"decoder.copy=true writes pieces of the source, which must be the target's as well: {remedy}, or set "
                "decoder.copy=false"
            )
        # Search and training: no option is without effect, and R-Drop compares whole predictions.
        if self.training.validate_beam > 1 and self.search.extends:
            raise UserError(
                f"training.validate_beam={self.training.validate_beam} compares hypotheses of whole sources, and "
                f"search={self.search.name} writes while it reads: leave it out, or choose search=beam"
            )
        if self.training.r_drop and ATTENTIONS[self.attention.name].mixes_predictions:
            raise UserError(
                f"training.r_drop={self.training.r_drop:g} compares all tokens of two predictions, of which "
                f"attention={self.attention.name} makes one for each position: set training.r_drop=0"
            )
        # The metrics of the data.
        require_known(self.dataset.metrics, "dataset.metrics")
        require_choice("dataset.bleu_tokenizer", self.dataset.bleu_tokenizer, TOKENIZERS)
        require_choice("dataset.rouge_tokenizer", self.dataset.rouge_tokenizer, ROUGE_TOKENIZERS)
        return self


def _linked(config: Config) -> DatasetConfig:
    """Returns the data set with the links that guide the attention: the corpus is prepared with them. Raises UserError
    where there are two of them, or they are of no use."""
    # Both options may name the links; they are kept with the data set.
    links = config.dataset.links
    training = config.training
    if links is not None and training.guided_alignment not in (None, links):
        raise UserError(
            f"training.guided_alignment={training.guided_alignment} and dataset.links={links} name different links of "
            "the training pairs: leave out one of them"
        )
    dataset = config.dataset
    if links is None:
        links = training.guided_alignment
        dataset = parse(dataset.model_dump(mode="json") | {"links": links}, DatasetConfig, "dataset")
    # Links must teach something: with a weight, to an attention that learns, at steps that see their words.
    if not training.guided_alignment_weight:
        raise UserError(
            "training.guided_alignment_weight=0 leaves links without a use: raise it, or leave the links out"
        )
    guided = f"training.guided_alignment={links} teaches the attention which words are linked"
    if not (config.aligner_size or ATTENTIONS[config.attention.name].learns_weights):
        raise UserError(f"{guided}, and attention={config.attention.name} learns nothing: choose another")
    if training.wait_k is not None:
        raise UserError(f"{guided}, and with training.wait_k some are not read in time: leave one of the two out")
    return dataset

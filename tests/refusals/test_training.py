"""What training, models and searches refuse: a configuration, and what the sentence names. Nothing is made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_prep.prepare import prepare
from mt.cli.run_folders import new_folder
from mt.common.options import Options, parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig
from mt.training.start import begin
from tests.refusals.sentences import content, require_refusal

# Configurations that no run can have. Beside each: what the sentence says, in this order.
WRONG_K: list[Any] = [[], [0], [3, -1], 3, [2.5], ["3"], [1 << 40]]
CONFIGURATIONS: list[tuple[dict[str, Any], str]] = [
    ({"seed": -1}, "seed=-1 is not possible"),
    ({"seed": 1 << 63}, "seed=9223372036854775808 is not possible"),
    ({"optimizer": {"name": "sgd", "betas": [0.9, 0.98]}}, "unknown option optimizer.betas here: .* of optimizer.name"),
    (
        {"optimizer": {"name": "adam", "warmup": 4000, "schedule": {"name": "inverse_sqrt", "hold": 1000}}},
        "schedule.hold=1000 ends before optimizer.warmup=4000 .* set optimizer.schedule.hold=4000 or more, or null",
    ),
    *(({"training": {"wait_k": k}}, r"training\.wait_k.* is not possible") for k in WRONG_K),
    ({"embedding": {"share": True, "pretrained_source": "x"}}, "share=true makes one table of two.*embedding.pretr"),
    ({"training": {"r_drop": 2.0}, "attention": {"name": "marginal"}}, "training.r_drop=2 compares .*: set training.r"),
    ({"decoder": {"copy": True}, "dataset": {"tokenizer": {"joint": False}}}, "dataset.tokenizer.joint=true, or set"),
    ({"dataset": {"field": {"name": "audio"}}}, "frontend=embedding reads text, and .* audio: choose frontend=logmel"),
    *(
        (
            {"dataset": {"field": {"name": "image"}}, "frontend": {"name": "image"}, "attention": {"name": name}},
            f"attention={name} needs an order of positions, which frontend=image has",
        )
        for name in ("monotonic", "mocha", "local_m", "local_p")
    ),
    ({"search": {"name": "online"}, "training": {"validate_beam": 2}}, "training.validate_beam=2 compares hypotheses"),
]
# The same, which the data, the model or this machine contradict.
STARTS: list[tuple[dict[str, Any], str]] = [
    ({"training": {"metric": "belu"}}, "training.metric=belu is not measured: did you mean bleu.*bleu, chrf, loss"),
    ({"search": {"mode": "hard"}}, "search.mode=hard needs an attention that can choose one position"),
    ({"search": {"name": "online"}}, "search=online writes while it reads"),
    ({"search": {"name": "alignatt"}, "attention": {"name": "none"}}, "search=alignatt looks at the attention"),
    ({"search": {"name": "wait_k"}}, "search=wait_k shows the model only the source tokens read so far: it needs"),
    ({"training": {"wait_k": [3]}}, "training.wait_k shows the model only the source tokens read so far: it needs"),
    ({"attention": {"name": "location", "max_source_length": 2}}, "source 1 of train has .* at most 2: raise .* lower"),
    ({"device": "cuda:77"}, "device=cuda:77 is not on this machine"),
    ({"training": {"freeze": ["encodr"]}}, "training.freeze=encodr is no module of this model: did you mean encoder"),
    ({"training": {"freeze": ["frontend", "encoder", "decoder"]}}, "leaves nothing to train: name fewer modules"),
    ({"optimizer": {"lr": 0.01, "schedule": {"name": "decay", "floor": 0.02}}}, "floor=0.02 is above .*lr=0.01"),
    ({"embedding": {"pretrained": "none.txt"}}, r"none.txt cannot be read \(No such file.*\): give an existing text"),
    ({"init_from": "."}, r"init_from=\.: .* is not a run folder: it holds no checkpoints/best"),
    ({"training": {"unigram_alpha": 0.1}}, "unigram vocabulary.* cut by word: prepare with .*model_type=unigram"),
]
# The same of a run that starts from another.
FROM_A_RUN: list[tuple[dict[str, Any], str]] = [
    ({"encoder": {"hidden_size": 16}}, "encoder.hidden_size=32, and this run encoder.hidden_size=16"),
    ({"encoder": {"name": "lstm", "hidden_size": 16}}, "encoder=bilstm, and this run encoder=lstm; leave that out"),
    ({"decoder": {"dropout": 0.5, "input_feeding": True}}, "decoder.input_feeding=false, and .*=true; leave that out"),
    (
        {"embedding": {"embedding_dim": 16}, "decoder": {"readout_size": 16}},
        "dim=32, and this run .*dim=16; leave that out",
    ),
    ({"embedding": {"share": True}}, "embedding.share=true makes one table of two, which init_from=.* has learnt"),
]
# Pieces that are sampled, of a vocabulary that has none to choose from.
VOCABULARIES = [
    ("char", {"bpe_dropout": 0.1}, "training.bpe_dropout samples pieces of a bpe vocabulary, .* is cut by char"),
    ("unigram", {"bpe_dropout": 0.1}, "cut by unigram: set training.unigram_alpha or prepare with .*model_type=bpe"),
    ("bpe", {"unigram_alpha": 0.1}, "cut by bpe: set training.bpe_dropout or prepare with .*model_type=unigram"),
]


@pytest.mark.parametrize(("changes", "facts"), CONFIGURATIONS, ids=str)
def test_a_configuration(changes: dict[str, Any], facts: str, configure: Callable[..., Config]) -> None:
    require_refusal(lambda: configure(changes), f"^{facts}" if facts.startswith("training.") else facts)


@pytest.mark.parametrize(
    ("changes", "facts"), [*STARTS, *((row[0] | {"init_from": "RUN"}, row[1]) for row in FROM_A_RUN)]
)
def test_a_start(changes, facts, configure, corpus, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = {key: str(trained) if value == "RUN" else value for key, value in changes.items()}
    require_refusal(lambda: begin(configure(changes), corpus, tmp_path / "run"), facts)
    assert content(tmp_path) == {}


@pytest.mark.parametrize(("kind", "options", "facts"), VOCABULARIES)
def test_a_vocabulary_without_pieces_to_sample(kind, options, facts, configure, corpora, tmp_path):
    tokenizer = {"model_type": kind, "vocab_size": 70}
    config = configure({"dataset": {"tokenizer": tokenizer}, "training": options, "search": {"name": "greedy"}})
    corpus = Corpus.open(prepare(config.dataset, corpora, progress=False))
    require_refusal(lambda: begin(config, corpus, tmp_path / "run"), facts)


@pytest.mark.parametrize("name", ["", ".", "/", "a/..", "a\0b"])
def test_a_name_of_no_folder(name: str) -> None:
    require_refusal(lambda: new_folder(Path(name)), "names no folder to make: write the path of a new one")


FED = {"name": "luong", "input_feeding": True}
WHOLE_SOUND = {"name": "logmel", "causal": True, "normalization": "utterance"}
COPY = "decoder.copy=true copies pieces of the source .*"
MODELS: list[tuple[dict[str, Any], str]] = [
    *(
        ({"encoder": {"name": name, "hidden_size": 7}}, "encoder.hidden_size=7 is odd.*each direction: choose 8")
        for name, kind in ENCODERS.items()
        if getattr(kind, "directions", 1) == 2
    ),
    ({"attention": {"name": "dot"}, "encoder": {"hidden_size": 8}}, "with encoder states of size 8.*=8.*=general"),
    (
        {"decoder": {"init_hidden": "zeros"}, "attention": {"name": "none", "context": "zeros"}},
        "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source .*=final_state or .*=last",
    ),
    ({"embedding": {"share": True}}, "embedding.share needs one vocabulary, .* 20 .* 14.*joint=true or .*=false"),
    ({"embedding": {"embedding_dim": 3}, "decoder": {"readout_size": 5}}, "tie_output .* is 5 and .* is 3.*=false"),
    ({"decoder": {"copy": True}, "attention": {"name": "none"}}, f"{COPY}and attention=none attends to none of them"),
    ({"embedding": {"share": True}, "frontend": {"name": "image"}}, "embedding.share is of text on both sides, and fr"),
    ({"decoder": {"copy": True}, "frontend": {"name": "image"}}, f"{COPY}and frontend=image reads no text"),
    *(
        ({option: 1.0, "attention": {"name": "none", "context": context}}, f"{option}=1 prices the weights of an att")
        for option in ("doubly_stochastic_weight", "coverage_weight")
        for context in ("zeros", "last")
    ),
    *(
        ({"attention": {"name": name, "quantity_weight": 0.1}}, r"attention.quantity_weight=0\.1 is the price of")
        for name, kind in ATTENTIONS.items()
        if "quantity_weight" in kind.Config.model_fields and kind.Config.model_fields["mass_preservation"].default
    ),
    *(
        ({"attention": {"name": "marginal"}, "decoder": decoder}, "attention=marginal sums over .* decoder=luong with")
        for decoder in ({"name": "bahdanau"}, {"name": "gnmt"}, {"name": "ssru"}, FED, {"name": "luong", "copy": True})
    ),
    ({"frontend": WHOLE_SOUND}, "frontend.normalization=utterance needs the whole sound"),
    *(
        ({"decoder": decoder | {"recurrent_dropout": 0.2}}, "decoder.recurrent_dropout=0.2 draws one mask for all step")
        for decoder in ({"name": "bahdanau"}, FED)
    ),
]
SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"name": "beam", "n_best": 6}, r"search.n_best=6 asks for more .* keeps \(5\): set search.beam_size=6 or more"),
    (
        {"name": "greedy", "min_length": 5, "max_length": 5},
        "search.min_length=5 leaves no room for EOS within .*: lower",
    ),
    ({"name": "greedy", "n_best": 2}, "unknown option search.n_best here: "),
    ({"name": "greedy", "beam_size": 2}, "unknown option search.beam_size here: "),
    ({"name": "online", "length_penalty": 0.5}, "unknown option search.length_penalty here: "),
    ({"name": "online", "mode": "hard"}, "unknown option search.mode here: "),
    ({"name": "bean"}, r"search\.name=bean is an invalid choice: did you mean beam"),
]


class Group(Options):
    search: SearchConfig


@pytest.mark.parametrize(("changes", "facts"), MODELS, ids=str)
def test_a_model(changes: dict[str, Any], facts: str) -> None:
    usual = {"decoder": {"name": "luong"}, "encoder": {"name": "bilstm"}, "frontend": {"name": "embedding"}}
    plain = {part: usual.get(part, {}) | new if isinstance(new, dict) else new for part, new in changes.items()}
    require_refusal(lambda: Seq2Seq(ModelConfig(**plain), 20, 14), f"^.*{facts}")


@pytest.mark.parametrize(("plain", "facts"), SEARCHES, ids=str)
def test_a_search(plain: dict[str, Any], facts: str) -> None:
    require_refusal(lambda: parse({"search": plain}, Group), f"^{facts}")

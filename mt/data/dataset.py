"""The definition of a data set: where its raw text comes from, how it is cleaned, cut into pieces and scored.

First come the options of origins, then those of cleaning, then `DatasetConfig`, which joins them. Its validators refuse
options that do not go together.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mt.common.options import MAX_COUNT, MAX_SIZE, Options
from mt.data.fields import FIELDS, FieldConfig, TextConfig
from mt.data.tokenizer import LinkUnit, TokenizerConfig
from mt.errors import UserError

# Where examples come from: what splits are called, the hub, further corpora.

Seconds = Annotated[float, Field(ge=0, le=10)]
LINK_UNITS: dict[str, LinkUnit] = {"blanks": "spaced", "white_space": "white_space", "marks": "word"}
"""The unit that links join, by the values of `link_words` and of `--words` of `mt align`."""


class SplitNames(Options):
    """What a source of text calls its three splits."""

    train: str = "train"
    """The split to train on."""
    dev: str = "dev"
    """The split that chooses checkpoints."""
    test: str | None = "test"
    """null: there is none, and results are of dev."""

    def __getitem__(self, split: str) -> str:
        return {"train": self.train, "dev": self.dev, "test": self.test or ""}[split]


class HubConfig(Options):
    """A dataset of the Hugging Face hub, or a local copy of its repository."""

    id: str = ""
    """`owner/name`."""
    config: str | None = None
    """The subset (a language pair, a version), which is the folder of its tables in the repository; null: no folder.
    `{source}` and `{target}` stand for the two languages, tried in both orders."""
    revision: str = "main"
    """Branch, tag or commit. A commit makes the data reproducible; `refs/convert/parquet` has the hub's own conversion
    of a repository that is a program, which `datasets` runs no more."""
    splits: SplitNames = SplitNames(dev="validation")
    """The splits' names on the hub, patterns of their files (`data/train-*`), or parts of them: `train[:-1000]`,
    `train[-1000:]`, `train[:90%]`."""


class MixedConfig(Options):
    """A further corpus to train on."""

    folder: str = Field(min_length=1, max_length=4000)
    """As `dataset.folder`; its train alone is read."""
    train: str = "train"
    """What its files are called before the ending."""
    weight: float = Field(default=1.0, gt=0, le=1_000)
    """How often each of its pairs comes in an epoch, on the average; see `dataset.weight`."""


# The whole: origin, cleaning, pieces and scores of one data set.

EFLOMAL = "eflomal"
"""The value of `DatasetConfig.links` for links that preparation makes, in place of a file."""
Column = Annotated[str, Field(strict=False, coerce_numbers_to_str=True, max_length=200)]
"""The ending of a text's file, or the column of a table. A column has a name or, in TSV and CSV without a line of
names, a number from 1."""


class CleaningConfig(Options):
    """What is cut short, and which training pairs are dropped. Lengths in words: `mt.data.words.count_words`."""

    min_length: Annotated[int, "words"] = Field(default=1, ge=1, le=MAX_SIZE)
    """Fewest words on either side."""
    max_length: Annotated[int, "words"] = Field(default=100, ge=1, le=MAX_SIZE)
    """Most words on either side."""
    max_ratio: float = Field(default=9.0, ge=1, le=MAX_SIZE)
    """Largest ratio of the two lengths (9: Moses' clean-corpus-n). A pair is dropped where the ratio is larger both in
    words and in characters. So a word stays beside its phones or letters, which blanks make words."""
    drop_duplicates: bool = False
    """Keep only the first of equal pairs: for text from the web. Where frequencies are data, as in word lists, and to
    repeat what papers trained on, they stay."""
    truncate_source: Annotated[int, "words"] | None = Field(default=None, ge=1, le=MAX_SIZE)
    """First words of a source to keep, in every split, before lengths are looked at; null keeps all. (400 for news
    articles: See et al. 2017, section 4.)"""
    truncate_target: Annotated[int, "words"] | None = Field(default=None, ge=1, le=MAX_SIZE)
    """First words of a target to train on; references stay whole; null keeps all. (100: as above.)"""
    max_evaluation_length: Annotated[int, "words"] = Field(default=10_000, ge=1, le=MAX_SIZE)
    """Most words in a line of dev or test, which are never dropped: a longer line is refused."""


class DatasetConfig(Options):
    """One dataset. Its text comes from `folder` where that is set, else from `hub`, else from `generator`."""

    name: str = Field(default="files", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    """Names the folder of the prepared corpus."""
    metrics: tuple[str, ...] = ("bleu", "chrf")
    """Scores of decoded text: bleu, chrf, ter, rouge, wer, cer, accuracy, pron_wer, per, coco_bleu, rougeL_coco, cider,
    truth. The first chooses the best checkpoint."""
    bleu_tokenizer: str | None = None
    """sacreBLEU's tokenizer: 13a, zh, ja-mecab, ko-mecab, char, intl, none, or flores101 and flores200, which are
    downloaded; null: by the target language."""
    rouge_tokenizer: str = "a-z0-9"
    """a-z0-9: rouge-score's, for English; for other scripts one of sacreBLEU's: intl, zh, ja-mecab, ko-mecab, char."""
    latency_unit: Literal["word", "char", "subword"] = "word"
    """What latency counts of a target: words between blanks, characters (for Chinese and Japanese), or pieces of the
    tokenizer, whose numbers compare with no others."""
    source: Column = ""
    """Required. The source language: ending of its files (`train.en`), or column of a table."""
    target: Column = ""
    """Required. The target language, likewise. In JSON lines and parquet a cell may be a list of texts. All are
    references in dev and test, and the first is the target."""
    references: tuple[Column, ...] = ()
    """Further references of dev and test, likewise, besides the target, where there are any. A blank one is none."""
    join_references: bool = False
    """Whether pairs of dev and test with the same source are one example, with all their targets as references, as a
    word with several pronunciations. Dev and test that are cut from train then take all pairs of a source."""
    transcript: Column = ""
    """Of sound whose target is something else, as a translation: the column of its words, which `ctc_weight` teaches
    the encoder to write, as characters; "" for none. See mboshi_french.yaml."""
    folder: str | None = Field(default=None, min_length=1, max_length=4000)
    """A local folder, required for files: `<split>.<source>` and `<split>.<target>`; or tables `<split>.tsv`, `.csv`,
    `.jsonl`, `.parquet`; all but parquet may end in `.gz` or `.zst`; `<split>.tmx`. Or a copy of the hub's
    repository."""
    splits: SplitNames = SplitNames()
    """The splits' names among the files of `folder`, before the ending. Two splits may share files."""
    field: FieldConfig = TextConfig()
    """What the sources are: text, or sound or pictures, where the source's texts are paths of files."""
    media_folder: str | None = Field(default=None, min_length=1, max_length=4000)
    """The folder that such paths are relative to, and may not leave; null: `folder`."""
    mix: tuple[MixedConfig, ...] = ()
    """Further corpora to train on, with the vocabulary of all: [{folder: DIR2, train: train, weight: 0.5}]. Dev and
    test are those of `folder`."""
    weight: float = Field(default=1.0, gt=0, le=1_000)
    """With `mix`: how often a pair of `folder` itself comes in an epoch; see `mt.data.split`."""
    links: str | None = Field(default=None, min_length=1, max_length=4000)
    """Word links of the training pairs, which guide the attention (`training.guided_alignment` sets this too). A FILE
    in Pharaoh format has a line for each pair of train, before any is dropped, and then for each of `mix`. The name
    eflomal makes links of the words of `mt.data.words` (Östling & Tiedemann 2016). null: there are none."""
    link_words: Literal["blanks", "white_space", "marks"] = "blanks"
    """The words that such a FILE counts. blanks: between blanks and tabs alone, as FastAlign and GIZA++ part a line.
    white_space: between any of Unicode's, a no-break space too, as `str.split` of aligners in Python does (eflomal,
    SimAlign, awesome-align). marks: words and punctuation marks, as those of `mt align --words marks`."""
    unescape: bool = False
    """Whether HTML entities (`&amp;`, `&#39;`) become their characters in all texts, before links and cleaning count
    their words. An escaped apostrophe joins the letters beside it, which Moses' tokenizer parts: `l&apos; eau`."""
    hub: HubConfig | None = None
    """A data set of the Hugging Face hub, in place of files; see multi30k.yaml."""
    generator: Literal["phrasebook", "bulletin", "morse", "scenes"] | None = None
    """A generator of `data_prep/generated/`, in place of files: phrasebook, which has gold word links too, bulletin,
    morse (sound) or scenes (pictures)."""
    dev_size: Annotated[int, "pairs"] | None = Field(default=None, ge=1, le=MAX_SIZE)
    """Pairs cut from train to be dev, in place of a split of its own; null: dev is a split of its own. A hash of the
    pair decides, so that equal pairs stay together, and a corpus that grows keeps most of its dev and test. Of a sound
    or a picture the hash is of its name, whatever its text is."""
    test_size: Annotated[int, "pairs"] | None = Field(default=None, ge=1, le=MAX_SIZE)
    """Pairs cut from train to be test, likewise."""
    limit: Annotated[int, "pairs"] | None = Field(default=None, ge=1, le=MAX_COUNT)
    """Most training pairs to read (the first ones), for quick looks; null reads all."""
    workers: Annotated[int, "processes"] | None = Field(default=None, ge=1, le=1024)
    """Processes that clean and encode; null: as many as there are processors."""
    cleaning: CleaningConfig = CleaningConfig()
    """Which training pairs are left out; dev and test are not cleaned."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """What texts are cut into."""
    licence: str = ""
    """The data's terms, for people; not used."""

    def columns(self, split: str) -> tuple[str, ...]:
        """Names the columns of a split to read. `references` are read in splits that are scored."""
        references = self.references if split != "train" or self.cut else ()
        return self.source, self.target, *references, *([self.transcript] if self.transcript else [])

    @property
    def link_unit(self) -> LinkUnit | None:
        """Names the unit that `links` join; None where there are no links."""
        if self.links is None:
            return None
        # eflomal runs on words of ours, and a file counts words of its own.
        return "word" if self.links == EFLOMAL else LINK_UNITS[self.link_words]

    def located(self, source: str) -> str:
        """Returns the path of the file of a sound or a picture; other sources are returned unchanged."""
        if self.folder is None or FIELDS[self.field.name].written:
            return source
        return str(self.media / source)

    @property
    def media(self) -> Path:
        """Returns the folder to which paths of sounds and pictures are relative."""
        return Path(self.media_folder or self.folder or "")

    @property
    def cut(self) -> dict[str, int]:
        """Returns the splits that are cut from train, with their sizes."""
        sizes = {"dev": self.dev_size, "test": self.test_size}
        return {split: size for split, size in sizes.items() if size is not None}

    @property
    def tested(self) -> bool:
        """Whether there is a test split."""
        names = [self.splits, *([self.hub.splits] if self.hub else [])]
        return self.test_size is not None or all(splits.test is not None for splits in names)

    @property
    def uncut(self) -> tuple[str, ...]:
        """Names the splits that have files of their own, and are not cut from train."""
        return tuple(
            split for split in ("train", "dev", "test") if split not in self.cut and (split != "test" or self.tested)
        )

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if not FIELDS[self.field.name].written:
            _require_media(self)
        elif self.transcript:
            raise UserError(
                f"dataset.transcript is what is said in a sound, and the sources of {self.name} are text: leave it out"
            )
        if self.mix or self.weight != 1:
            _require_mixable(self)
        # A generator, a folder or the hub.
        if self.generator is not None and (self.folder is not None or self.hub is not None or self.references):
            raise UserError(
                f"dataset {self.name} is generated and reads no folder, no hub and no references: "
                "leave them out, or choose dataset=files for text of your own"
            )
        if self.generator is None and self.folder is None and self.hub is None:
            raise UserError(
                f"dataset {self.name} does not say where its text is: set dataset.folder=DIR to the folder "
                "of files <split>.<source> and <split>.<target>, or tables like <split>.tsv"
            )
        # Each text is named, and named once.
        if self.generator is None and (not self.source or not self.target or self.source == self.target):
            raise UserError(
                f"dataset {self.name} needs two different languages but has dataset.source={self.source!r} "
                f"and dataset.target={self.target!r}: give the endings of the two sides' files, or their columns"
            )
        if self.transcript and self.transcript in (self.source, self.target, *self.references):
            raise UserError(
                f"dataset.transcript={self.transcript} of {self.name} is read already: name the column of what is "
                "said, beside those of the path and the target"
            )
        named = (self.source, self.target, *self.references)
        if twice := sorted({name for name in self.references if named.count(name) > 1}):
            raise UserError(
                f"dataset.references of {self.name} has {', '.join(twice)}, which is read already: "
                "give further references alone, each once"
            )
        return self


def _require_media(dataset: DatasetConfig) -> None:
    """Raises UserError where options do not suit sounds and pictures. These lie in files that tables name, and have no
    words to count, to link or to mix."""
    if dataset.transcript and dataset.generator is not None:
        raise UserError(
            f"dataset.transcript of {dataset.name} is a column beside the target's, which only tables have: leave it "
            "out"
        )
    if dataset.cleaning.truncate_source is not None:
        raise UserError(
            f"dataset.cleaning.truncate_source keeps words, and the sources of {dataset.name} are "
            f"{dataset.field.name}: leave it out"
        )
    if dataset.links is not None:
        raise UserError(
            f"dataset.links joins words of two texts, and the sources of {dataset.name} are {dataset.field.name}: "
            "leave out dataset.links and training.guided_alignment"
        )


def _require_mixable(dataset: DatasetConfig) -> None:
    """Raises UserError where further corpora cannot be mixed with this one, or there are none."""
    if not dataset.mix:
        raise UserError(
            f"dataset.weight={dataset.weight:g} counts beside the corpora of dataset.mix, and {dataset.name} mixes "
            "none: leave it out, or set dataset.mix"
        )
    if dataset.folder is None or not FIELDS[dataset.field.name].written:
        raise UserError(
            f"dataset.mix is of text in folders, and {dataset.name} is not: set dataset.folder, or leave it out"
        )
    if dataset.limit is not None:
        raise UserError(f"dataset.mix of {dataset.name} is read whole: leave out dataset.limit")


PHRASEBOOK = DatasetConfig(
    name="phrasebook",
    source="en",
    target="de",
    generator="phrasebook",
    tokenizer=TokenizerConfig(vocab_size=1000),
    licence="generated by this project",
)
"""The dataset of a configuration that names none."""

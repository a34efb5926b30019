"""Inflection as pairs for `dataset=letters`: from the lemma and the tags to the form.

    python examples/inflection.py < german-train-high > DIR/train.tsv        and so dev.tsv and test.tsv
    mt train dataset=letters dataset.folder=DIR dataset.tokenizer.source.model_type=blanks \\
        dataset.tokenizer.source.normalization=nfc dataset.metrics=[accuracy,per] attention=marginal

A line of UniMorph, and of SIGMORPHON's tasks until 2020, has the lemma, the form and its tags, with tabs between:

    quatschen	quatschtet	V;IND;PST;2;PL

The pair has the tags as symbols of their own, which no letter is like, and the letters between blanks. A blank within
a word is written ␣.

    +V +IND +PST +2 +PL q u a t s c h e n	q u a t s c h t e t
"""

import unicodedata

from mt.errors import UserError, reported, shown
from mt.text_io import input_lines


def spelt(word: str) -> str:
    """Returns the letters of a word, in composed characters, with blanks between them."""
    return " ".join(unicodedata.normalize("NFC", word).replace(" ", "␣"))


def main() -> None:
    for number, line in enumerate(input_lines(None), start=1):
        if not line.strip():  # UniMorph has a blank line between two lemmas
            continue
        columns = line.split("\t")
        if len(columns) != 3 or not all(columns):
            raise UserError(
                f"line {number} has no lemma, form and tags with tabs between ({shown(line, 60)}): bring the columns "
                "into this order"
            )
        lemma, form, tags = columns
        print(*(f"+{tag}" for tag in tags.split(";")), f"{spelt(lemma)}\t{spelt(form)}")


if __name__ == "__main__":
    with reported(1):
        main()

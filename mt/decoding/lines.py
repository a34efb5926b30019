"""Translation of a text line by line, to standard output."""

import sys
from itertools import islice
from pathlib import Path

from mt.common.terminal import output
from mt.decoding.line_files import LineFiles
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.search.config import SearchConfig
from mt.search.limits import CUT_REMEDY, cut_note
from mt.text_io import STANDARD_INPUT, input_lines


def translate_lines(
    translator: Translator,
    path: Path | None,
    search: SearchConfig,
    files: LineFiles,
    unknown_words: UnknownWords | None,
    *,
    lines_at_once: int,
    numbered: bool = False,
) -> None:
    """Writes the translations of each line of a text to standard output, in order, and to standard error how many
    hypotheses were cut, and how many unknown words were replaced.

    path: a file or pipe, or a single source that is a file, as a sound; None or `-`: standard input. files: what else
    is written. unknown_words: replaces those of translations. numbered: whether translations are written as
    `index ||| text ||| score`, where index counts lines from 0. Raises UserError where the text cannot be read, a line
    is too long, or something cannot be written.
    """
    lines = input_lines(path)
    if path and path.suffix.lower() in translator.field.endings:
        lines = iter([str(path)])
    count = 0
    cut = 0
    replaced = 0
    with files.opened(path):
        while chunk := list(islice(lines, lines_at_once)):
            translator.refuse_long(chunk, f"{path or STANDARD_INPUT}, line", count + 1)
            translations = translator.n_best(chunk, search=search)
            if unknown_words is not None:
                pairs = zip(translations, chunk, strict=True)
                translations = [[unknown_words.replaced(one, text) for one in of_line] for of_line, text in pairs]
            for index, of_line in enumerate(translations, start=count):
                for one in of_line:
                    print(output(f"{index} ||| {one.text} ||| {one.score:.4f}" if numbered else one.text))
            sys.stdout.flush()
            files.write(translator, chunk, translations, count)
            count += len(chunk)
            cut += sum(one.cut for of_line in translations for one in of_line)
            replaced += sum(one.replaced_unknown for of_line in translations for one in of_line)
    if unknown_words is not None:
        print(f"note: {replaced:,} unknown word{'' if replaced == 1 else 's'} replaced", file=sys.stderr)
    if cut:
        print(f"note: {cut_note(cut, translator.search_for(search).limit, CUT_REMEDY)}", file=sys.stderr)

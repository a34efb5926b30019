"""What is asked of single translations: a prefix, phrases that must appear, and phrases that must not.

Each of the three is an automaton over the tokens of the target: `spelling.Prefix`, `spelling.Avoided` and
`phrases.Phrases`. `processor` runs them for the hypotheses of a search.
"""

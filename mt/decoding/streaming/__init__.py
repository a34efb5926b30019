"""Translation of sources that are still arriving: how its sessions begin. Needs torch only where a model extends."""

from mt.data.tokenizer import Unit
from mt.decoding.lexical import encoder_of
from mt.decoding.request import Request
from mt.decoding.streaming.redraft import RedraftedSession, simulated
from mt.decoding.streaming.session import Session, Streaming, finish, finish_each, read, read_each
from mt.decoding.translator import Translator
from mt.search.config import SearchConfig

__all__ = ["Session", "finish", "finish_each", "open_session", "read", "read_each", "simulated"]


def open_session(translator: Translator, search: SearchConfig, unit: Unit, request: Request | None = None) -> Session:
    """Begins a session. search: one that fits the model. request: what is asked of its translation. Raises UserError
    where the search cannot do what is asked."""
    # A plain stream needs no encoder of requests, which reads the whole vocabulary.
    asked, terms = (None, None) if request is None else encoder_of(translator).streamed(request, unit, search)
    streaming = Streaming(translator, search, unit)
    if translator.network.extends(search):
        from mt.decoding.streaming.extend import ExtendedSession  # Not above: it needs torch.

        return ExtendedSession(streaming, asked, terms)
    return RedraftedSession(streaming, request or Request("the stream"), terms)

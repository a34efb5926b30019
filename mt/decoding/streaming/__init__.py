"""Translation of sources that are still arriving."""

from mt.decoding.streaming.open import open_session, streaming_search
from mt.decoding.streaming.session import Session, finish, read
from mt.decoding.streaming.simulate import simulated

__all__ = ["Session", "finish", "open_session", "read", "simulated", "streaming_search"]

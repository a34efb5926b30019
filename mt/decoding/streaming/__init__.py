"""Translation of sources that are still arriving."""

from mt.decoding.streaming.session import Session, StreamingModel, finish, open_session, read, refuse_offline

__all__ = ["Session", "StreamingModel", "finish", "open_session", "read", "refuse_offline"]

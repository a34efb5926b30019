"""Translation of sources that are still arriving."""

from mt.decoding.streaming.session import Session, StreamingModel, finish, open_session, read, require_streaming

__all__ = ["Session", "StreamingModel", "finish", "open_session", "read", "require_streaming"]

"""The HTTP and WebSocket server of trained runs; `server.serve` runs it, `app.build` is its ASGI application."""

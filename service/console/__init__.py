"""The console: pages for the person on call, over the same API that everybody else uses.

    router ──► shell (templates) ──► browser ──► static modules ──fetch, EventSource──► /v1

The server renders no data of a run: a page is an empty frame, and its module asks `/v1` with the
session of whoever looks. So a page needs no right of its own, and can show nothing that the API
would not say. No build step: what lies in `static/` is what the browser loads, and nothing comes
from another host.
"""

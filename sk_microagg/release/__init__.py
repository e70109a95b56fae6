"""Releases of files: a request, and what fulfills it for shell, page and Python."""

from sk_microagg.files._messages import RequestError
from sk_microagg.release._release import release_file
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import ReleaseSummary

__all__ = ["ReleaseRequest", "ReleaseSummary", "RequestError", "release_file"]

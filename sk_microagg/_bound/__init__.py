"""A proven lower bound on the information loss of any k-partition."""

from sk_microagg._bound._scheme import prove

__all__ = ["prove"]

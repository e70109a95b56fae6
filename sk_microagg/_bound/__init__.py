"""A proven lower bound on the information loss of any k-partition."""

from sk_microagg._bound._proof import Certificate
from sk_microagg._bound._scheme import bound_of

__all__ = ["Certificate", "bound_of"]

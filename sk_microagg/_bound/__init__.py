"""A proven lower bound on the information loss of any k-partition."""

from sk_microagg._bound._any_table import bound_of
from sk_microagg._bound._certificate import Certificate

__all__ = ["Certificate", "bound_of"]

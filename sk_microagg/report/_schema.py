"""The JSON Schema of a document, from the dataclasses that it is made of."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sk_microagg.report._sections import ReportDocument

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of reports.

    Returns
    -------
    schema : dict
        What :meth:`Report.to_dict` returns, and what is in a report that is saved as JSON.

    See Also
    --------
    Report : Has a document of this schema.

    Examples
    --------
    >>> from sk_microagg.report import report_schema
    >>> sorted(report_schema()["$defs"]["Share"]["properties"])
    ['text', 'value']
    """
    definitions: dict[str, Any] = {}
    schema = _schema(ReportDocument, definitions)
    return {"$schema": DIALECT, **schema, "$defs": definitions}


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": [*arguments]}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is tuple:
        size = {"minItems": len(arguments), "maxItems": len(arguments)}
        return {"type": "array", "items": _schema(arguments[0], definitions), **size}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if origin is UnionType:
        return {"anyOf": [_schema(each, definitions) for each in arguments]}
    assert is_dataclass(kind)
    assert isinstance(kind, type)
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # A place, in case it refers to itself.
        hints = get_type_hints(kind)
        properties = {one.name: _schema(hints[one.name], definitions) for one in fields(kind)}
        definitions[name] = {
            "description": str(kind.__doc__),
            "type": "object",
            "required": [*properties],
            "additionalProperties": False,
            "properties": properties,
        }
    return {"$ref": f"#/$defs/{name}"}

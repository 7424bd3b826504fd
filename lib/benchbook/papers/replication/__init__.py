"""JSON and XML documents replicated one way (study `replication`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`; `recomputed` has what no formula says of the printed numbers.
"""

from typing import Final

CALLED: Final = {
    "model": {
        "document": "JSON, a document",
        "json_text": "JSON as text",
        "xml_fields": "XML, field by field",
        "xml_text": "XML as text",
    }
}
"""What levels of its factors are called in print, by factor."""

"""A user's own file in the place of a study's data: JSON, delimited text, XML or Parquet.

`own_records` gives a file's records as a data set; begin there. `record_files` opens the file and
finds its format's reader: `json_files`, `delimited_files`, `xml_files` or `parquet_files`. A reader
describes the file, reading all of it once, and then loads records with the types that it found.
`opened_file` has what they share; `inference` finds the types, but those of tables of texts.
"""

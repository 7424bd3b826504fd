"""Bookstore: JSON and XML marshalled and unmarshalled in Java (study `bookstore`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`; `cold_starts` splits single repetitions where their times settle.
"""

"""How numbers, names and sentences are written, wherever benchbook shows text.

Begin with `number_format`, `names` and `sentences`; `suggestions` has the "did you
mean" of every message.
"""

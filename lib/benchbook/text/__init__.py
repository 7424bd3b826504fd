"""How numbers are written, and what advice a wrong name gets, wherever benchbook shows text.

Begin with `number_format`; `suggestions` has the "did you mean" of every message.
"""

"""Data sets: seeded records for every study, the same on every machine.

Begin with a study's set, such as `blog`, which draws numbers and texts from `streams`. A user's
file takes a set's place by `benchbook.own_data`.
"""

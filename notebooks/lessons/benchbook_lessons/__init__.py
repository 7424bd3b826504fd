"""The lessons' data, figures and checks: one module per lesson, and `feedback` for all checks.

A check takes a student's answer and returns a `benchbook_lessons.feedback.Feedback`: what is right,
what is wrong and where to look, never the solution. The package is installed with the suite, so a
lesson runs in any folder. Begin with `clocks` and `feedback`.
"""

"""The lessons of `notebooks/lessons`: a module a lesson with its data, its figures and its checks.

A check takes a student's answer and returns a `benchbook.lessons.feedback.Feedback`: what is right, what is off and
where to look, never the solution. `benchbook.lessons.release` makes the students' notebooks from the teachers'.
"""

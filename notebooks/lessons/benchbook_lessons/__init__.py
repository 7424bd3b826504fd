"""What the lessons beside this folder import: a module a lesson with its data, its figures and its checks.

A check takes a student's answer and returns a `benchbook_lessons.feedback.Feedback`: what is right, what is off and
where to look, never the solution. Setting the suite up installs this package as it does the library, so a lesson runs
wherever its notebook lies: here, in `solutions`, in a course's folder.
"""

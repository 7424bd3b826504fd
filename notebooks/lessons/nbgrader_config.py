"""Settings for nbgrader, which then writes the same notebooks as `python -m tools.lessons`."""

c = get_config()  # noqa: F821
c.ClearSolutions.code_stub = {"python": "pass  # your code here"}
c.ClearSolutions.text_stub = "*Your answer here.*"
c.ClearSolutions.begin_solution_delimeter = "BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "END SOLUTION"
# Answers run with the suite's kernel (`make kernel`), whichever Python nbgrader itself is installed
# for.
c.Execute.kernel_name = "benchbook"
c.Execute.timeout = 180  # a notebook cell of lesson 7 starts two servers

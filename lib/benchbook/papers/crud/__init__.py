"""Document and relational databases, single and replicated (study `crud`)."""

"""Figures of a report: each holds its drawing, how to read it, and the numbers behind it."""

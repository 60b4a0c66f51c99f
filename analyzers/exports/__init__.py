"""Exchanges in the form of other programs: a curl script, a HAR. Pure: values in, text out."""

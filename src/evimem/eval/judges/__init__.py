"""Judges of answers: profiles as data, parsers of their replies, and a control set to test them."""

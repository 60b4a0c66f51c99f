"""Reads recorded `/v1/messages` traffic and weighs it."""

"""Sends chat messages from a saq queue, one chat at a time."""

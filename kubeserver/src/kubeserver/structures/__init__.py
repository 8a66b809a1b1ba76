"""Structures of the API: the types of fields, their merge keys, and their numbers in protobuf."""

"""The forms of answers: which one the client wants, and how objects are shown in it. Decides nothing about them."""

"""Dynamic admission control: policies and webhooks, which are objects themselves, have a say in each write."""

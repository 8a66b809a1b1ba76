"""Discovery and OpenAPI: what is served, told to clients in each of the forms that they ask for. Changes nothing."""

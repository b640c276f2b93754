"""OpenAPI documents of extension servers, fetched in the background and merged into ours."""

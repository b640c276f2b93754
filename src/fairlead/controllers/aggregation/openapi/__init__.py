"""The OpenAPI documents of extension servers, fetched in the background and made part of ours."""

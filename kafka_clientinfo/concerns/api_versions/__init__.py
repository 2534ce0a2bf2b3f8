"""How clients negotiate API versions: the ApiVersions request (KIP-35) and its fallback (KIP-511)."""

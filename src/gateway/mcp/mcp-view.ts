/** What a client gets to see: by address only, so that a list never changes because of what was asked before. */
export type McpView =
  /** `/mcp`: a dozen tools that find and run all others. */
  | { readonly kind: 'home' }
  /** `/mcp/devices`: every tool of every device, typed, in pages. */
  | { readonly kind: 'devices' }
  /** `/mcp/areas/{area}`: the same for one area. */
  | { readonly kind: 'area'; readonly area: string };

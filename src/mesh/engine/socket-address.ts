/** `host:port`; an IPv6 address in brackets, with its zone: `[fe80::1%eth0]:7481`. */
export function formatSocketAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

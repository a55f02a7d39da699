import { setDefaultCACertificates } from 'node:tls';
import type { CliIo } from '../cli-io.ts';
import { trustedAuthority } from './hub-trust.ts';

/** `fetch` for a process that speaks to one hub: over TLS it trusts that hub's own authority, where it knows one, and no other. */
export function hubFetch(env: CliIo['env']): CliIo['fetch'] {
  let prepared: string | undefined;
  return (text, init) => {
    const url = new URL(text);
    if (url.protocol === 'https:' && prepared !== url.host) {
      prepared = url.host;
      const authority = trustedAuthority(env, url);
      if (authority !== undefined) setDefaultCACertificates([authority]);
    }
    return fetch(text, init);
  };
}

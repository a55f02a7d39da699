import { lazy } from '../../core/lazy.ts';
import { hostRule } from './allowed-hosts.ts';
import type { FetchPublic } from './fetch-public.ts';

/**
 * The fetch of `publicFetch`, loaded by the first request: HTTP, TLS and decompression take megabytes that a hub whose agents
 * never look into the web need not hold. CONFIG_INVALID at once for a network that is none.
 */
export function lazyFetch(allowedHosts: readonly string[] = []): FetchPublic {
  hostRule(allowedHosts);
  const made = lazy(async () => (await import('./fetch-public.ts')).publicFetch({ allowedHosts }));
  return async (request) => (await made())(request);
}

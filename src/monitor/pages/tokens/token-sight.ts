import type { HubClient } from '../../api/hub-client.ts';
import type { DeviceView } from '../../api/hub-types.ts';

/** What a token with some permissions is shown, as the hub itself says it. */
export interface TokenSight {
  readonly devices: readonly Pick<DeviceView, 'id' | 'name' | 'area'>[];
  readonly tools: readonly { readonly id: string; readonly name: string }[];
}

/** Asks the hub what an agent with these permissions would be shown; no token is made for it. VALIDATION_ERROR as HubError. */
export function sightOf(permissions: readonly string[], hub: Pick<HubClient, 'post'>): Promise<TokenSight> {
  return hub.post<TokenSight>('/api/v1/tokens/preview', { permissions });
}

import type { HubClient } from '../../api/hub-client.ts';
import type { DeviceView } from '../../api/hub-types.ts';
import type { MintedToken } from './token-view.ts';

/** What a token with some permissions is shown, as the hub itself says it. */
export interface TokenSight {
  readonly devices: readonly Pick<DeviceView, 'id' | 'name' | 'area'>[];
  readonly tools: readonly { readonly id: string; readonly name: string }[];
}

const PROBE = { agent_id: 'preview', ttl_seconds: 60 };

/**
 * Asks the hub as an agent with these permissions would: with a token of a minute that is revoked right after. No copy of
 * the hub's rules could be as right. Errors as those of minting.
 */
export async function sightOf(permissions: readonly string[], hub: HubClient): Promise<TokenSight> {
  const { token, token_id: id } = await hub.post<MintedToken>('/api/v1/tokens', { ...PROBE, permissions });
  try {
    const headers = { authorization: `Bearer ${token}` };
    const [{ devices }, { tools }] = await Promise.all([
      hub.get<Pick<TokenSight, 'devices'>>('/api/v1/devices', { headers }),
      hub.get<Pick<TokenSight, 'tools'>>('/api/tools', { headers }),
    ]);
    return { devices, tools };
  } finally {
    await hub.delete(`/api/v1/tokens/${id}`);
  }
}

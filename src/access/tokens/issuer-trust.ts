import type { MeshTrust } from '../../core/mesh/mesh-trust.ts';

/** Raw keys (base64url) of the hubs whose tokens are believed, by hub id, and what these tokens may hold. */
export interface TrustedIssuers {
  get(hubId: string): string | undefined;
  /** Grants that tokens of the hub hold at most; no bound when absent. */
  permissionsOf?(hubId: string): readonly string[] | undefined;
}

/** Believes this hub without bounds, and others as far as the mesh vouches for them. */
export class IssuerTrust implements TrustedIssuers {
  readonly #hub: { readonly hubId: string; readonly publicKey: string };
  readonly #mesh: MeshTrust;

  constructor({ hub, mesh }: { readonly hub: { readonly hubId: string; readonly publicKey: string }; readonly mesh: MeshTrust }) {
    this.#hub = hub;
    this.#mesh = mesh;
  }

  get(hubId: string): string | undefined {
    return hubId === this.#hub.hubId ? this.#hub.publicKey : this.#mesh.hub(hubId)?.key;
  }

  permissionsOf(hubId: string): readonly string[] | undefined {
    return hubId === this.#hub.hubId ? undefined : (this.#mesh.hub(hubId)?.permissions ?? []);
  }
}

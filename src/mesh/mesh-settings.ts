/** The configuration of the mesh. */
export interface MeshSettings {
  /** Network interfaces for discovery; all when empty. */
  readonly interfaces: readonly string[];
  /** `host:port` of hubs that discovery cannot find. */
  readonly peers: readonly string[];
  /** `host:port` under which hubs of other networks reach this one. */
  readonly announceAddresses: readonly string[];
  readonly announcesDevices: boolean;
  readonly isDiscoveryEnabled: boolean;
  /** The hub forwards calls between hubs that do not reach each other. */
  readonly isRelay: boolean;
}

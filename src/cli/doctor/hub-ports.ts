/** The ports that the hub listens on: TCP, on this machine. */
export interface HubPorts {
  /** Absent where the hub is on another machine. */
  readonly http?: number;
  readonly mesh: number;
  readonly isHubThere: boolean;
}

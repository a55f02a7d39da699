/** The ports that the hub listens on: TCP, on this machine. */
export interface HubPorts {
  /** Absent where the hub is on another machine. */
  readonly http?: number;
  readonly mesh: number;
  /** False where the hub is in no mesh, and so listens on no port for it; absent where nobody can say. */
  readonly isInMesh?: boolean;
  readonly isHubThere: boolean;
}

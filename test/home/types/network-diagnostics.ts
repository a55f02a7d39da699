import { ThreadNetworkDiagnosticsServer } from '@matter/main/behaviors/thread-network-diagnostics';
import { WiFiNetworkDiagnosticsServer } from '@matter/main/behaviors/wi-fi-network-diagnostics';
import { ServerNode } from '@matter/main/node';
import type { NetworkSpec } from '../home-spec.ts';

const THREAD = {
  channel: 15,
  routingRole: 5,
  networkName: 'Virtual home',
  panId: 0x1234,
  extendedPanId: 1n,
  meshLocalPrefix: null,
  neighborTable: [],
  routeTable: [],
  partitionId: 1,
  weighting: 64,
  dataVersion: 1,
  stableDataVersion: 1,
  leaderRouterId: 1,
  securityPolicy: null,
  channelPage0Mask: null,
  operationalDatasetComponents: null,
  activeNetworkFaultsList: [],
};
const NEIGHBOUR = {
  age: 5,
  rloc16: 0x400,
  linkFrameCounter: 1,
  mleFrameCounter: 1,
  lqi: 3,
  averageRssi: -60,
  lastRssi: -60,
  frameErrorRate: 0,
  messageErrorRate: 0,
  rxOnWhenIdle: true,
  fullThreadDevice: true,
  fullNetworkData: true,
  isChild: false,
};
const WIFI = { bssid: new Uint8Array(6).fill(0xa1), securityType: 4, wiFiVersion: 3, channelNumber: 6, rssi: -55 };

/** A root endpoint that tells of its network, and the state that it starts with. */
export function networkRoot({ kind, state }: NetworkSpec): { readonly type: ServerNode.RootEndpoint; readonly state: object } {
  if (kind === 'wifi') {
    const type = ServerNode.RootEndpoint.with(WiFiNetworkDiagnosticsServer) as ServerNode.RootEndpoint;
    return { type, state: { wiFiNetworkDiagnostics: { ...WIFI, ...state } } };
  }
  const neighbours = (state.neighborTable ?? []) as unknown as readonly { readonly extAddress: string }[];
  const neighborTable = neighbours.map((told) => ({ ...NEIGHBOUR, ...told, extAddress: BigInt(told.extAddress) }));
  const type = ServerNode.RootEndpoint.with(ThreadNetworkDiagnosticsServer) as ServerNode.RootEndpoint;
  return { type, state: { threadNetworkDiagnostics: { ...THREAD, ...state, neighborTable } } };
}

import { Bytes } from '@matter/main';
import { NetworkCommissioningBehavior } from '@matter/main/behaviors/network-commissioning';
import { NetworkCommissioning } from '@matter/main/clusters/network-commissioning';
import { ServerNode } from '@matter/main/node';
import { DeviceAdvertiser, DeviceCommissioner } from '@matter/main/protocol';
import type { RadioSpec } from '../home-spec.ts';

const { Success, AuthFailure } = NetworkCommissioning.NetworkCommissioningStatus;
const THREAD_NETWORK_ID = new Uint8Array(8).fill(1);
const NETWORK_NAME = 'Virtual home';

const COMMON = {
  maxNetworks: 1,
  interfaceEnabled: true,
  lastNetworkId: null,
  lastNetworkingStatus: null,
  lastConnectErrorValue: null,
  networks: [],
  scanMaxTimeSeconds: 5,
  connectMaxTimeSeconds: 20,
};

/** A root endpoint that joins the IP network only after it was given credentials, and the state it starts with. */
export interface RadioRoot {
  readonly type: ServerNode.RootEndpoint;
  readonly networkCommissioning: object;
}

/** Without a password in `radio` a Wi-Fi device joins with any; a Thread device joins with every dataset. */
export function radioRoot(radio: RadioSpec): RadioRoot {
  if (radio.network === 'thread') {
    const networkCommissioning = { ...COMMON, supportedThreadFeatures: { isFullThreadDevice: true }, threadVersion: 4 };
    return { type: ServerNode.RootEndpoint.with(ThreadNetwork) as ServerNode.RootEndpoint, networkCommissioning };
  }
  const type = ServerNode.RootEndpoint.with(wifiNetwork(radio.password)) as ServerNode.RootEndpoint;
  return { type, networkCommissioning: { ...COMMON, supportedWiFiBands: [NetworkCommissioning.WiFiBand['2G4']] } };
}

class ThreadNetwork extends NetworkCommissioningBehavior.with('ThreadNetworkInterface') {
  override scanNetworks(): NetworkCommissioning.ScanNetworksResponse {
    const radio = { channel: 15, version: 4, extendedAddress: new Uint8Array(8), rssi: -50, lqi: 50 };
    return { networkingStatus: Success, threadScanResults: [{ panId: 1, extendedPanId: 1n, networkName: NETWORK_NAME, ...radio }] };
  }

  override addOrUpdateThreadNetwork(): NetworkCommissioning.NetworkConfigResponse {
    this.env.get(DeviceCommissioner).assertFailsafeArmed('Arm the fail-safe first');
    this.state.networks = [{ networkId: THREAD_NETWORK_ID, connected: false }];
    return { networkingStatus: Success, networkIndex: 0 };
  }

  override connectNetwork(): NetworkCommissioning.ConnectNetworkResponse {
    this.state.networks = [{ networkId: THREAD_NETWORK_ID, connected: true }];
    this.env.get(DeviceAdvertiser).restartAdvertisement();
    return { networkingStatus: Success, errorValue: null };
  }
}

const credentialsByNode = new WeakMap<object, string>();

function wifiNetwork(password: string | undefined) {
  return class WifiNetwork extends NetworkCommissioningBehavior.with('WiFiNetworkInterface') {
    override scanNetworks(): NetworkCommissioning.ScanNetworksResponse {
      const network = {
        security: { wpa2Personal: true },
        ssid: Bytes.fromString(NETWORK_NAME),
        bssid: new Uint8Array(6),
        channel: 6,
        rssi: -50,
      };
      return { networkingStatus: Success, wiFiScanResults: [network] };
    }

    override addOrUpdateWiFiNetwork(
      request: NetworkCommissioning.AddOrUpdateWiFiNetworkRequest,
    ): NetworkCommissioning.NetworkConfigResponse {
      this.env.get(DeviceCommissioner).assertFailsafeArmed('Arm the fail-safe first');
      credentialsByNode.set(this.endpoint, Bytes.toString(request.credentials));
      this.state.networks = [{ networkId: Bytes.of(request.ssid), connected: false }];
      return { networkingStatus: Success, networkIndex: 0 };
    }

    override connectNetwork(): NetworkCommissioning.ConnectNetworkResponse {
      if (password !== undefined && credentialsByNode.get(this.endpoint) !== password)
        return { networkingStatus: AuthFailure, errorValue: 1 };
      this.state.networks = this.state.networks.map(({ networkId }) => ({ networkId, connected: true }));
      this.env.get(DeviceAdvertiser).restartAdvertisement();
      return { networkingStatus: Success, errorValue: null };
    }
  };
}

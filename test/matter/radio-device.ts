import { createInterface } from 'node:readline';
import { Bytes, Endpoint, Environment, Logger, LogLevel } from '@matter/main';
import { NetworkCommissioningBehavior } from '@matter/main/behaviors/network-commissioning';
import { NetworkCommissioning } from '@matter/main/clusters/network-commissioning';
import { OnOffLightDevice } from '@matter/main/devices/on-off-light';
import { ServerNode } from '@matter/main/node';
import { Ble, DeviceAdvertiser, DeviceCommissioner } from '@matter/main/protocol';
import { VirtualPeripheral } from './virtual-peripheral.ts';

// A light that is not on the IP network before it gets Wi-Fi or Thread credentials over the virtual radio.
// Arguments: socket, storage path, `wifi` or `thread`, UDP port, accepted password. Tells what happens as JSON lines and
// ends with its input.

const [socket = '', storagePath = '', medium = 'thread', port = '5700', password = ''] = process.argv.slice(2);
const networkId = new Uint8Array(8).fill(1);
const { Success, AuthFailure } = NetworkCommissioning.NetworkCommissioningStatus;
const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

Logger.level = LogLevel.ERROR;
const destination = Logger.destinations.default;
if (destination) destination.write = (text: string) => process.stderr.write(`${text}\n`);
Environment.default.vars.set('storage.path', storagePath);
Environment.default.vars.set('mdns.networkInterface', 'eth0');
Environment.default.set(Ble, new VirtualPeripheral(socket));

let joined: typeof Success | typeof AuthFailure = Success;

class ThreadNetwork extends NetworkCommissioningBehavior.with('ThreadNetworkInterface') {
  override async scanNetworks() {
    const network = {
      panId: 1,
      extendedPanId: 1n,
      networkName: 'ProbeThread',
      channel: 15,
      version: 4,
      extendedAddress: new Uint8Array(8),
    };
    return { networkingStatus: Success, threadScanResults: [{ ...network, rssi: -50, lqi: 50 }] };
  }

  override async addOrUpdateThreadNetwork({ operationalDataset }: NetworkCommissioning.AddOrUpdateThreadNetworkRequest) {
    this.env.get(DeviceCommissioner).assertFailsafeArmed('no fail-safe');
    tell({ dataset: Bytes.toHex(operationalDataset) });
    this.state.networks = [{ networkId, connected: false }];
    return { networkingStatus: Success, networkIndex: 0 };
  }

  override async connectNetwork() {
    this.state.networks = [{ networkId, connected: true }];
    this.env.get(DeviceAdvertiser).restartAdvertisement();
    return { networkingStatus: Success, errorValue: null };
  }
}

class WifiNetwork extends NetworkCommissioningBehavior.with('WiFiNetworkInterface') {
  override async scanNetworks() {
    const security = { wpa2Personal: true };
    const result = { security, ssid: Bytes.fromString('Our place'), bssid: new Uint8Array(6), channel: 6, rssi: -50 };
    return { networkingStatus: Success, wiFiScanResults: [result] };
  }

  override async addOrUpdateWiFiNetwork({ ssid, credentials }: NetworkCommissioning.AddOrUpdateWiFiNetworkRequest) {
    this.env.get(DeviceCommissioner).assertFailsafeArmed('no fail-safe');
    joined = Bytes.toString(credentials) === password ? Success : AuthFailure;
    tell({ ssid: Bytes.toString(ssid), isPasswordRight: joined === Success });
    this.state.networks = [{ networkId: Bytes.of(ssid), connected: false }];
    return { networkingStatus: Success, networkIndex: 0 };
  }

  override async connectNetwork() {
    if (joined !== Success) return { networkingStatus: AuthFailure, errorValue: 1 };
    this.state.networks = this.state.networks.map((network) => ({ ...network, connected: true }));
    this.env.get(DeviceAdvertiser).restartAdvertisement();
    return { networkingStatus: Success, errorValue: null };
  }
}

const common = {
  maxNetworks: 1,
  interfaceEnabled: true,
  lastNetworkId: null,
  lastNetworkingStatus: null,
  lastConnectErrorValue: null,
  networks: [],
};
const times = { scanMaxTimeSeconds: 5, connectMaxTimeSeconds: 20 };
const options = {
  id: `radio-${medium}`,
  network: { port: Number(port), ble: true, discoveryCapabilities: { ble: true, onIpNetwork: false } },
  commissioning: { passcode: 20202021, discriminator: Number(port) % 4096 },
};
const node =
  medium === 'thread'
    ? await ServerNode.create(ServerNode.RootEndpoint.with(ThreadNetwork), {
        ...options,
        networkCommissioning: { ...common, ...times, supportedThreadFeatures: { isFullThreadDevice: true }, threadVersion: 4 },
      })
    : await ServerNode.create(ServerNode.RootEndpoint.with(WifiNetwork), {
        ...options,
        networkCommissioning: { ...common, ...times, supportedWiFiBands: [NetworkCommissioning.WiFiBand['2G4']] },
      });
const light = await node.add(new Endpoint(OnOffLightDevice, { id: 'light' }));
light.events.onOff.onOff$Changed.on((isOn) => void tell({ isOn }));
await node.start();
createInterface({ input: process.stdin }).on('close', () => process.exit(0));
tell({ ready: node.state.commissioning.pairingCodes });

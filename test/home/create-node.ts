import { Environment, VendorId } from '@matter/main';
import { ServerNode } from '@matter/main/node';
import { type DeviceSpec, type NetworkSpec, type RadioSpec, slug, type UpdatesSpec } from './home-spec.ts';
import type { DeviceType } from './part.ts';

/** The matter.js node of a device, without its endpoints, from its storage or as new. */
export async function createNode(spec: DeviceSpec, type: DeviceType): Promise<ServerNode> {
  const options = nodeOptions(spec, type);
  if (spec.ble) return radioNode(spec.ble, options);
  if (spec.updates) return updatableNode(spec.updates, options);
  return spec.network ? networkNode(spec.network, options) : ServerNode.create(ServerNode.RootEndpoint, options);
}

async function networkNode(network: NetworkSpec, options: ReturnType<typeof nodeOptions>): Promise<ServerNode> {
  const { networkRoot } = await import('./types/network-diagnostics.ts');
  const { type, state } = networkRoot(network);
  return ServerNode.create(type, { ...options, ...state });
}

async function updatableNode(updates: UpdatesSpec, options: ReturnType<typeof nodeOptions>): Promise<ServerNode> {
  const { updatableRoot } = await import('./types/software-requestor.ts');
  const { type, state } = updatableRoot(updates);
  return ServerNode.create(type, { ...options, ...state });
}

function nodeOptions(spec: DeviceSpec, { parts: [firstPart] }: DeviceType) {
  return {
    id: slug(spec.name),
    network: { port: spec.port },
    commissioning: { passcode: spec.passcode, discriminator: spec.discriminator },
    productDescription: { name: spec.name, ...(firstPart && { deviceType: firstPart.type.deviceType }) },
    basicInformation: {
      vendorName: 'Virtual Home',
      vendorId: VendorId(0xfff1),
      productName: spec.type,
      productId: 0x8000,
      serialNumber: `serial-${spec.discriminator}`,
      uniqueId: `unique-${spec.discriminator}`,
      hardwareVersion: 1,
      softwareVersion: 1,
    },
  };
}

/** matter.js has one radio per process, so the device must have its process to itself. */
async function radioNode(ble: RadioSpec, options: ReturnType<typeof nodeOptions>): Promise<ServerNode> {
  const { Ble } = await import('@matter/main/protocol');
  const { VirtualPeripheral } = await import('../matter/virtual-peripheral.ts');
  const { radioRoot } = await import('./types/radio-network.ts');
  Environment.default.set(Ble, new VirtualPeripheral(ble.socket));
  const { type, networkCommissioning } = radioRoot(ble);
  const network = { ...options.network, ble: true, discoveryCapabilities: { ble: true, onIpNetwork: false } };
  return ServerNode.create(type, { ...options, network, networkCommissioning } as typeof options);
}

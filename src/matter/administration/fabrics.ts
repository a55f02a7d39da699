import { Bytes, CRYPTO_PBKDF_ITERATIONS_MIN, type Crypto, causedBy } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import { FabricRemovedError, PaseClient, PeerInitiatedCloseError, PeerLeftError, PeerMessageMissingError } from '@matter/main/protocol';
import {
  CommissioningFlowType,
  DiscoveryCapabilitiesSchema,
  ManualPairingCodeCodec,
  QrPairingCodeCodec,
  VendorId,
} from '@matter/main/types';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { FabricInfo, ShareCode } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, objectsOf } from '../../core/json.ts';
import type { NodeClusters } from './node-clusters.ts';

const WINDOW_NOT_OPEN = 4;
const SALT_BYTES = 32;
/** How long a commissioning window may stay open, in seconds: from 3 minutes (Core §11.19.8.1) to 15 minutes. */
const SHARE_SECONDS = { min: 180, max: 900 };

/** Opens and closes enhanced commissioning windows (Core §11.19), so that another controller can commission a device. */
export class DeviceSharing {
  readonly #crypto: Crypto;
  readonly #clock: Clock;

  constructor(crypto: Crypto, clock: Clock) {
    this.#crypto = crypto;
    this.#clock = clock;
  }

  /** Replaces any open commissioning window and returns the new setup code. Throws VALIDATION_ERROR unless `seconds` is 180 to 900. */
  async open(clusters: NodeClusters, device: Device, seconds: number): Promise<ShareCode> {
    if (seconds < SHARE_SECONDS.min || seconds > SHARE_SECONDS.max) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `A sharing window lasts ${SHARE_SECONDS.min} to ${SHARE_SECONDS.max} seconds, not ${seconds}`,
      );
    }
    await this.close(clusters);
    const iterations = CRYPTO_PBKDF_ITERATIONS_MIN;
    const passcode = PaseClient.generateRandomPasscode(this.#crypto);
    const discriminator = PaseClient.generateRandomDiscriminator(this.#crypto);
    const salt = this.#crypto.randomBytes(SALT_BYTES);
    const verifier = await PaseClient.generatePakePasscodeVerifier(this.#crypto, passcode, { iterations, salt });
    await clusters.invoke('AdministratorCommissioning', 'OpenCommissioningWindow', {
      fields: { commissioningTimeout: seconds, pakePasscodeVerifier: toBase64(verifier), discriminator, iterations, salt: toBase64(salt) },
    });
    return { ...encodeCodes({ passcode, discriminator }, device), expiresAt: isoTime(this.#clock.now() + seconds * 1000) };
  }

  /** Closes the commissioning window of a device; does nothing if no window is open. */
  async close(clusters: NodeClusters): Promise<void> {
    await clusters.invoke('AdministratorCommissioning', 'RevokeCommissioning').catch((error: unknown) => {
      if (!(error instanceof AtmoError && error.details.clusterStatus === WINDOW_NOT_OPEN)) throw error;
    });
  }
}

/** Returns the QR code (Core §5.1.3) and manual pairing code (Core §5.1.4) of a device that is on the IP network. */
function encodeCodes(
  { passcode, discriminator }: { readonly passcode: number; readonly discriminator: number },
  device: Device,
): Omit<ShareCode, 'expiresAt'> {
  const qrCode = QrPairingCodeCodec.encode([
    {
      version: 0,
      vendorId: VendorId(device.vendor.id),
      productId: device.product.id,
      flowType: CommissioningFlowType.Standard,
      discriminator,
      passcode,
      discoveryCapabilities: DiscoveryCapabilitiesSchema.encode({ onIpNetwork: true }),
    },
  ]);
  return { qrCode, manualCode: ManualPairingCodeCodec.encode({ discriminator, passcode, flowType: CommissioningFlowType.Standard }) };
}

const toBase64 = (bytes: Bytes): string => Buffer.from(Bytes.of(bytes)).toString('base64');

/** Reads the fabrics that a device belongs to (Core §11.18.5.2). */
export async function readFabrics(clusters: NodeClusters): Promise<readonly FabricInfo[]> {
  const ours = await clusters.read('OperationalCredentials', 'CurrentFabricIndex');
  const fabrics = objectsOf(await clusters.readOfAllFabrics('OperationalCredentials', 'Fabrics'));
  return fabrics.map((fabric) => ({
    fabricIndex: numberOf(fabric.fabricIndex),
    label: typeof fabric.label === 'string' ? fabric.label : '',
    vendorId: numberOf(fabric.vendorId),
    fabricId: String(fabric.fabricId ?? ''),
    isOurs: fabric.fabricIndex === ours,
  }));
}

/** Removes another controller's fabric from a device. Throws NOT_FOUND for an unknown fabric index, CONFLICT for our own fabric. */
export async function removeForeignFabric(clusters: NodeClusters, fabricIndex: number): Promise<void> {
  const fabrics = await readFabrics(clusters);
  const fabric = fabrics.find((known) => known.fabricIndex === fabricIndex);
  const known = fabrics.map((each) => each.fabricIndex);
  if (!fabric) throw new AtmoError('NOT_FOUND', `The device has no fabric ${fabricIndex}; it has ${known.join(', ')}`, { known });
  if (fabric.isOurs) throw new AtmoError('CONFLICT', `Fabric ${fabricIndex} is this hub's own; remove the device instead`, { fabricIndex });
  await removeFabric(clusters, fabricIndex);
}

/** Removes a fabric from a device. Throws CLUSTER_STATUS if the device refuses. */
async function removeFabric(clusters: NodeClusters, fabricIndex: number): Promise<void> {
  const answer = await clusters.invoke('OperationalCredentials', 'RemoveFabric', { fields: { fabricIndex } });
  if (answer?.statusCode === 'Ok') return;
  throw new AtmoError('CLUSTER_STATUS', `The device refused to remove fabric ${fabricIndex}: ${String(answer?.statusCode)}`, answer ?? {});
}

const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : Number(value ?? 0));

/**
 * Removes our fabric from a device, and then the device from the hub. Throws DEVICE_UNREACHABLE or OUTCOME_UNKNOWN if the device does not
 * respond. With `isForced`, removes the device from the hub even then; the device may keep our fabric until a factory reset.
 */
export async function decommissionNode(
  { clusters, peer }: { readonly clusters: NodeClusters; readonly peer: Pick<ClientNode, 'delete'> },
  isForced: boolean,
): Promise<void> {
  try {
    await leave(clusters);
  } catch (error) {
    if (!(error instanceof AtmoError && ['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN'].includes(error.code))) throw error;
    if (!isForced) throw new AtmoError(error.code, `${error.message}. To forget it all the same, use force (--force of atmo) and reset it`);
  }
  await peer.delete();
}

async function leave(clusters: NodeClusters): Promise<void> {
  const fabricIndex = Number(await clusters.read('OperationalCredentials', 'CurrentFabricIndex'));
  try {
    await removeFabric(clusters, fabricIndex);
  } catch (error) {
    if (!isSessionClosed(error)) throw error;
  }
}

/**
 * Returns whether an error means that the device closed the session. This confirms that the device has removed our fabric: the session ends
 * together with the fabric, before a response can arrive.
 */
function isSessionClosed(error: unknown): boolean {
  const cause = error instanceof AtmoError ? error.cause : undefined;
  return cause instanceof Error && causedBy(cause, PeerMessageMissingError, PeerLeftError, FabricRemovedError, PeerInitiatedCloseError);
}

import { Bytes, CRYPTO_PBKDF_ITERATIONS_MIN, type Crypto } from '@matter/main';
import { PaseClient } from '@matter/main/protocol';
import {
  CommissioningFlowType,
  DiscoveryCapabilitiesSchema,
  ManualPairingCodeCodec,
  QrPairingCodeCodec,
  VendorId,
} from '@matter/main/types';
import type { ShareCode } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { NodeClusters } from './node-clusters.ts';

const WINDOW_NOT_OPEN = 4;
const SALT_BYTES = 32;
/** Limits of Core §11.19.8.1: at least 3 minutes, at most the initial commissioning window of 15. */
const SHARE_SECONDS = { min: 180, max: 900 };

/** Opens and closes enhanced commissioning windows (Core §11.19), so that another controller can join a device. */
export class DeviceSharing {
  readonly #crypto: Crypto;
  readonly #clock: Clock;

  constructor(crypto: Crypto, clock: Clock) {
    this.#crypto = crypto;
    this.#clock = clock;
  }

  /** A fresh code, valid once and for `seconds`; an already open window is replaced. VALIDATION_ERROR outside 180 to 900 s. */
  async open(clusters: NodeClusters, device: Device, seconds: number): Promise<ShareCode> {
    if (seconds < SHARE_SECONDS.min || seconds > SHARE_SECONDS.max) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `A sharing window lasts ${SHARE_SECONDS.min} to ${SHARE_SECONDS.max} seconds, not ${seconds}`,
      );
    }
    await this.close(clusters);
    const secret = await this.#secret();
    await clusters.invoke('AdministratorCommissioning', 'OpenCommissioningWindow', {
      fields: {
        commissioningTimeout: seconds,
        pakePasscodeVerifier: toBase64(secret.verifier),
        discriminator: secret.discriminator,
        iterations: CRYPTO_PBKDF_ITERATIONS_MIN,
        salt: toBase64(secret.salt),
      },
    });
    return { ...encodeCodes(secret, device), expiresAt: new Date(this.#clock.now() + seconds * 1000).toISOString() };
  }

  /** Closes the window; fine when none is open. */
  async close(clusters: NodeClusters): Promise<void> {
    await clusters.invoke('AdministratorCommissioning', 'RevokeCommissioning').catch((error: unknown) => {
      if (!(error instanceof AtmoError && error.details.clusterStatus === WINDOW_NOT_OPEN)) throw error;
    });
  }

  async #secret() {
    const passcode = PaseClient.generateRandomPasscode(this.#crypto);
    const salt = this.#crypto.randomBytes(SALT_BYTES);
    const verifier = await PaseClient.generatePakePasscodeVerifier(this.#crypto, passcode, {
      iterations: CRYPTO_PBKDF_ITERATIONS_MIN,
      salt,
    });
    return { passcode, salt, verifier, discriminator: PaseClient.generateRandomDiscriminator(this.#crypto) };
  }
}

/** QR and manual code of Core §5.1.3 and §5.1.4 for a device that is on the IP network. */
export function encodeCodes(
  secret: { readonly passcode: number; readonly discriminator: number },
  device: Device,
): Omit<ShareCode, 'expiresAt'> {
  const { passcode, discriminator } = secret;
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

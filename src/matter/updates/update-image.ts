import '../matter-platform.ts';
import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Crypto } from '@matter/main';
import { type OtaImageHeader, OtaImageReader } from '@matter/main/protocol';
import type { SoftwareVersion } from '../../core/devices/software-update.ts';
import { AtmoError } from '../../core/errors.ts';
import { deviceText } from '../devices/device-text.ts';

/** A Matter software image (Core §11.21) whose header and digest were found right. */
export interface UpdateImage {
  /** Name without the folder. */
  readonly file: string;
  /** The whole file as it was when it was checked: reading it fails once the file was changed. */
  readonly blob: Blob;
  readonly vendorId: number;
  readonly productId: number;
  readonly version: SoftwareVersion;
  /** Versions from which a device may come; absent: any older one. */
  readonly minVersion?: number;
  readonly maxVersion?: number;
  readonly notesUrl?: string;
}

/** Larger than any image of a device that speaks Matter. */
const MAX_BYTES = 256 * 2 ** 20;
const FILE_IDENTIFIER = 0x1beef11e;
/** File identifier, total size, header size. */
const FIXED_BYTES = 16;
/** The fields of a header at their longest take less than 600 bytes. */
const MAX_HEADER_BYTES = 4096;

/** Reads and checks an image: form, sizes, digest of the payload. CONFLICT with the file's name for one that is damaged. */
export async function readUpdateImage(path: string, crypto: Crypto): Promise<UpdateImage> {
  const file = basename(path);
  try {
    await checkSizes(path);
    const blob = await openAsBlob(path);
    // With the checksum of the whole file, matter.js 0.17.9 leaves the digest in the header unchecked.
    const options = { calculateFullChecksum: false };
    return imageOf(file, blob, await OtaImageReader.file(blob.stream().getReader(), crypto, blob.size, options));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new AtmoError('CONFLICT', `${file} cannot be used: ${problem}; download it again`, { file }, { cause: error });
  }
}

/** Before matter.js reads on: a wrong header size would make it gather the whole file in memory. */
async function checkSizes(path: string): Promise<void> {
  await using handle = await open(path);
  const { size } = await handle.stat();
  if (size > MAX_BYTES) throw damaged(`it is larger than ${MAX_BYTES} bytes`);
  const start = Buffer.alloc(FIXED_BYTES);
  const { bytesRead } = await handle.read(start, 0, FIXED_BYTES, 0);
  if (bytesRead < FIXED_BYTES || start.readUInt32LE(0) !== FILE_IDENTIFIER) throw damaged('it is no Matter software image');
  const stated = start.readBigUInt64LE(4);
  if (stated !== BigInt(size)) throw damaged(`it has ${size} bytes, and its header says ${stated}`);
  if (start.readUInt32LE(12) > MAX_HEADER_BYTES) throw damaged('its header is longer than a header can be');
}

const damaged = (problem: string): AtmoError => new AtmoError('CONFLICT', problem);

function imageOf(file: string, blob: Blob, header: OtaImageHeader): UpdateImage {
  const { minApplicableSoftwareVersion: minVersion, maxApplicableSoftwareVersion: maxVersion, releaseNotesUrl } = header;
  return {
    file,
    blob,
    vendorId: header.vendorId,
    productId: header.productId,
    version: { number: header.softwareVersion, text: deviceText(header.softwareVersionString) },
    ...(minVersion !== undefined && { minVersion }),
    ...(maxVersion !== undefined && { maxVersion }),
    ...(releaseNotesUrl !== undefined && isWebAddress(releaseNotesUrl) && { notesUrl: releaseNotesUrl }),
  };
}

const isWebAddress = (text: string): boolean => /^https:\/\/[\x21-\x7e]{1,248}$/.test(text) && URL.canParse(text);

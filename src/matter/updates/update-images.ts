import '../matter-platform.ts';
import { openAsBlob } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Crypto } from '@matter/main';
import { type OtaImageHeader, OtaImageReader } from '@matter/main/protocol';
import type { SoftwareVersion, UnfitImage } from '../../core/devices/device-administration.ts';
import { AtmoError, systemCode, toAtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import { deviceText } from '../devices/device-composition.ts';

/** A Matter software image (Core §11.21) with a valid header and digest. */
export interface UpdateImage {
  readonly file: string;
  /** The whole file as it was checked; a read fails if the file has changed since. */
  readonly blob: Blob;
  readonly vendorId: number;
  readonly productId: number;
  readonly version: SoftwareVersion;
  /** Oldest and newest installed version that the image can update; absent if there is no limit. */
  readonly minVersion?: number;
  readonly maxVersion?: number;
  readonly notesUrl?: string;
}

/** Maximum size of an image; no image of a Matter device is larger. */
const MAX_BYTES = 256 * 2 ** 20;
const FILE_IDENTIFIER = 0x1beef11e;
/** Number of bytes at the start of the file that contain the file identifier, the total size and the header size. */
const FIXED_BYTES = 16;
/** Maximum size of a header. Even if all fields have their maximum length, a header has less than 600 bytes. */
const MAX_HEADER_BYTES = 4096;

/** Reads an image and checks its format, sizes and payload digest. Throws CONFLICT, with the file name, if the image is damaged. */
async function readUpdateImage(path: string, crypto: Crypto): Promise<UpdateImage> {
  const file = basename(path);
  try {
    await checkSizes(path);
    const blob = await openAsBlob(path);
    // With a checksum of the whole file, matter.js 0.17.9 would not check the digest in the header.
    const options = { calculateFullChecksum: false };
    return imageOf(file, blob, await OtaImageReader.file(blob.stream().getReader(), crypto, blob.size, options));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new AtmoError('CONFLICT', `${file} cannot be used: ${problem}; download it again`, { file }, { cause: error });
  }
}

/** Checks the sizes before matter.js reads the file. With a wrong header size, matter.js would read the whole file into memory. */
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
  const { vendorId, productId, minApplicableSoftwareVersion: minVersion, maxApplicableSoftwareVersion: maxVersion } = header;
  const version = { number: header.softwareVersion, text: deviceText(header.softwareVersionString) };
  const notesUrl = isWebAddress(header.releaseNotesUrl ?? '') ? header.releaseNotesUrl : undefined;
  return present({ file, blob, vendorId, productId, version, minVersion, maxVersion, notesUrl });
}

const isWebAddress = (text: string): boolean => /^https:\/\/[\x21-\x7e]{1,248}$/.test(text) && URL.canParse(text);

/** Maximum number of images that are read, since a check reads the whole image. Any further images are listed as not read. */
const MAX_IMAGES = 100;
const IMAGE_NAME = /^[^/\\\0]{1,250}\.ota$/;

/** Reads the `*.ota` files in the owner's folder. */
export class ImageFolder {
  readonly path: string;
  readonly #crypto: Crypto;

  constructor(path: string, crypto: Crypto) {
    this.path = path;
    this.#crypto = crypto;
  }

  /** Reads all images; returns the valid images, and the faults of all other files. A missing folder counts as empty. */
  async read(): Promise<{ readonly images: readonly UpdateImage[]; readonly broken: readonly UnfitImage[] }> {
    const names = await this.#names();
    const images: UpdateImage[] = [];
    const broken = names.slice(MAX_IMAGES).map((file) => ({ file, reason: `not read: the folder has more than ${MAX_IMAGES} images` }));
    for (const file of names.slice(0, MAX_IMAGES)) {
      try {
        images.push(await readUpdateImage(join(this.path, file), this.#crypto));
      } catch (error) {
        broken.push({ file, reason: toAtmoError(error).message });
      }
    }
    return { images, broken };
  }

  /** Reads one image by its file name. Throws NOT_FOUND if the folder does not have it, CONFLICT if it is damaged. */
  async image(file: string): Promise<UpdateImage> {
    const isThere = IMAGE_NAME.test(file) && (await this.#names()).includes(file);
    if (!isThere) throw new AtmoError('NOT_FOUND', `There is no image ${file} in ${this.path}; see list_updates (atmo device updates)`);
    return readUpdateImage(join(this.path, file), this.#crypto);
  }

  async #names(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.path, { withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && IMAGE_NAME.test(entry.name))
        .map(({ name }) => name)
        .toSorted();
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT') return [];
      throw new AtmoError('STORAGE_FAILED', `The folder of software images ${this.path} cannot be read: ${code}`);
    }
  }
}

/** The software of a node, from its BasicInformation cluster. */
export interface NodeSoftware {
  readonly vendorId: number;
  readonly productId: number;
  readonly version: SoftwareVersion;
}

/** Returns whether an image is for the product of a node. In the image, a vendor or product id of 0 means any (Core §11.21.2.2). */
export function isForProduct(image: UpdateImage, { vendorId, productId }: NodeSoftware): boolean {
  const isVendor = image.vendorId === 0 || image.vendorId === vendorId;
  return isVendor && (image.productId === 0 || image.productId === productId);
}

/** Returns why a node cannot install an image; undefined if the node can install it. */
export function incompatibilityOf(image: UpdateImage, node: NodeSoftware): string | undefined {
  const { number } = node.version;
  if (!isForProduct(image, node))
    return `is vendor ${hex(node.vendorId)} product ${hex(node.productId)}, and the image is for ${target(image)}`;
  if (image.version.number <= number) return `runs version ${versionText(node.version)}, and the image holds ${versionText(image.version)}`;
  const { minVersion = 0, maxVersion = number } = image;
  if (number >= minVersion && number <= maxVersion) return undefined;
  return `runs version ${versionText(node.version)}, and the image updates ${range(image)} only`;
}

/** Returns vendor and product of an image as text. */
export function target({ vendorId, productId }: UpdateImage): string {
  return `${vendorId === 0 ? 'any vendor' : `vendor ${hex(vendorId)}`} ${productId === 0 ? 'any product' : `product ${hex(productId)}`}`;
}

/** Returns a version such as `1.2.0 (3)`: the manufacturer's text, then the number. Versions are compared by the number. */
export function versionText({ number, text }: SoftwareVersion): string {
  return text === '' ? String(number) : `${text} (${number})`;
}

function range({ minVersion = 0, maxVersion }: UpdateImage): string {
  return maxVersion === undefined ? `number ${minVersion} and later` : `numbers ${minVersion} to ${maxVersion}`;
}

const hex = (id: number): string => `0x${id.toString(16).toUpperCase().padStart(4, '0')}`;

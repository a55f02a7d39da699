import type { SoftwareVersion } from '../../core/devices/software-update.ts';
import type { UpdateImage } from './update-image.ts';

/** What decides about images for a node, as its BasicInformation cluster says. */
export interface NodeSoftware {
  readonly vendorId: number;
  readonly productId: number;
  readonly version: SoftwareVersion;
}

/** Whether an image is made for this product (Core §11.21.2.2: 0 is any). */
export function isForProduct(image: UpdateImage, { vendorId, productId }: NodeSoftware): boolean {
  const isVendor = image.vendorId === 0 || image.vendorId === vendorId;
  return isVendor && (image.productId === 0 || image.productId === productId);
}

/** Why a node cannot install an image; undefined when it can. */
export function misfitOf(image: UpdateImage, node: NodeSoftware): string | undefined {
  const { number } = node.version;
  if (!isForProduct(image, node))
    return `is vendor ${hex(node.vendorId)} product ${hex(node.productId)}, and the image is for ${target(image)}`;
  if (image.version.number <= number) return `runs version ${versionText(node.version)}, and the image holds ${versionText(image.version)}`;
  const { minVersion = 0, maxVersion = number } = image;
  if (number >= minVersion && number <= maxVersion) return undefined;
  return `runs version ${versionText(node.version)}, and the image updates ${range(image)} only`;
}

/** Vendor and product of an image. */
export function target({ vendorId, productId }: UpdateImage): string {
  return `${vendorId === 0 ? 'any vendor' : `vendor ${hex(vendorId)}`} ${productId === 0 ? 'any product' : `product ${hex(productId)}`}`;
}

/** `1.2.0 (3)`: the manufacturer's text and the number that counts. */
export function versionText({ number, text }: SoftwareVersion): string {
  return text === '' ? String(number) : `${text} (${number})`;
}

function range({ minVersion = 0, maxVersion }: UpdateImage): string {
  return maxVersion === undefined ? `number ${minVersion} and later` : `numbers ${minVersion} to ${maxVersion}`;
}

const hex = (id: number): string => `0x${id.toString(16).toUpperCase().padStart(4, '0')}`;

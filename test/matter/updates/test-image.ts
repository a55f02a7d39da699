import { StandardCrypto } from '@matter/main';
import { OtaImageWriter } from '@matter/main/protocol';
import type { UpdateImage } from '../../../src/matter/updates/update-images.ts';

/** The bytes of a Matter software image for the product 0x8000 of vendor 0xFFF1, version 2 by default. */
export async function imageBytes(facts: Partial<Parameters<typeof OtaImageWriter.create>[1]> = {}): Promise<Buffer> {
  const payload = new Uint8Array(5000).fill(7);
  const all = { vendorId: 0xfff1, productId: 0x8000, softwareVersion: 2, softwareVersionString: 'v2', payload, ...facts };
  const { image } = await OtaImageWriter.create(new StandardCrypto(), all);
  return Buffer.from(image as ArrayBuffer);
}

/** An image as the folder answers it. */
export function image(facts: Partial<UpdateImage> = {}): UpdateImage {
  const version = { number: 2, text: 'v2' };
  return { file: 'v2.ota', blob: new Blob([new Uint8Array(1000)]), vendorId: 0xfff1, productId: 0x8000, version, ...facts };
}

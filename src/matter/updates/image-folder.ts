import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Crypto } from '@matter/main';
import type { UnfitImage } from '../../core/devices/software-update.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';
import { readUpdateImage, type UpdateImage } from './update-image.ts';

/** More are told as not read: each one is read whole to check it. */
const MAX_IMAGES = 100;
const IMAGE_NAME = /^[^/\\\0]{1,250}\.ota$/;

/** The folder into which the owner puts `*.ota` files. */
export class ImageFolder {
  readonly path: string;

  readonly #crypto: Crypto;

  constructor(path: string, crypto: Crypto) {
    this.path = path;
    this.#crypto = crypto;
  }

  /** All images that are in order, and what is wrong with the others. A folder that is not there is an empty one. */
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

  /** One image by its name. NOT_FOUND names the folder; CONFLICT a file that is damaged. */
  async image(file: string): Promise<UpdateImage> {
    const isThere = IMAGE_NAME.test(file) && (await this.#names()).includes(file);
    if (!isThere) throw new AtmoError('NOT_FOUND', `There is no image ${file} in ${this.path}; list_updates names those that are there`);
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

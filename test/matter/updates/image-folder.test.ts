import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StandardCrypto } from '@matter/main';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImageFolder } from '../../../src/matter/updates/update-images.ts';
import { imageBytes } from './test-image.ts';

let dir: string;
let folder: ImageFolder;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'images-'));
  folder = new ImageFolder(dir, new StandardCrypto());
});
afterEach(() => rmSync(dir, { recursive: true }));
const put = (name: string, bytes: Uint8Array | string) => writeFileSync(join(dir, name), bytes);

test('an image has the values of its header', async () => {
  const facts = { minApplicableSoftwareVersion: 1, maxApplicableSoftwareVersion: 4, releaseNotesUrl: 'https://example.com/a?b' };
  put('a.ota', await imageBytes({ ...facts, softwareVersion: 5, softwareVersionString: 'five \u001b[31m' }));
  const { images, broken } = await folder.read();
  expect(broken).toEqual([]);
  expect(images).toMatchObject([
    { file: 'a.ota', vendorId: 0xfff1, productId: 0x8000, minVersion: 1, maxVersion: 4, notesUrl: 'https://example.com/a?b' },
  ]);
  expect(images[0]?.version).toEqual({ number: 5, text: 'five [31m' });
});

test('release notes that are no valid https address are omitted', async () => {
  put('a.ota', await imageBytes({ releaseNotesUrl: 'javascript:alert(1)' }));
  expect((await folder.read()).images[0]).not.toHaveProperty('notesUrl');
});

test('every damaged image is listed with its file name, and the others are read', async () => {
  const good = await imageBytes();
  put('good.ota', good);
  put('cut.ota', good.subarray(0, good.length - 10));
  put('flipped.ota', Buffer.concat([good.subarray(0, -1), Buffer.from([8])]));
  put('longer.ota', Buffer.concat([good, Buffer.alloc(3)]));
  put('empty.ota', '');
  put('text.ota', 'no image, just words');
  const greedy = Buffer.from(good);
  greedy.writeUInt32LE(0xffff_ffff, 12);
  put('greedy.ota', greedy);
  const garbled = Buffer.from(good);
  garbled.fill(0x15, 16, 30);
  put('garbled.ota', garbled);
  const { images, broken } = await folder.read();
  expect(images.map(({ file }) => file)).toEqual(['good.ota']);
  const reasons = Object.fromEntries(broken.map(({ file, reason }) => [file, reason]));
  for (const [file, reason] of Object.entries(reasons))
    expect(reason).toMatch(new RegExp(`^${file} cannot be used: .*; download it again$`));
  expect(reasons).toMatchObject({
    'cut.ota': expect.stringContaining('its header says'),
    'flipped.ota': expect.stringContaining('digest mismatch'),
    'longer.ota': expect.stringContaining('its header says'),
    'empty.ota': expect.stringContaining('no Matter software image'),
    'text.ota': expect.stringContaining('no Matter software image'),
    'greedy.ota': expect.stringContaining('longer than a header can be'),
    'garbled.ota': expect.any(String),
  });
});

test('only files directly in the folder can be read', async () => {
  put('a.ota', await imageBytes());
  mkdirSync(join(dir, 'sub.ota'));
  symlinkSync('/etc/passwd', join(dir, 'link.ota'));
  expect(await folder.image('a.ota')).toMatchObject({ file: 'a.ota' });
  for (const name of ['../a.ota', 'b.ota', 'sub.ota', 'link.ota', 'a.ota\0', '/etc/passwd', ''])
    await expect(folder.image(name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a file that changes after it was checked cannot be read any more', async () => {
  put('a.ota', await imageBytes());
  const { blob } = await folder.image('a.ota');
  truncateSync(join(dir, 'a.ota'), 100);
  await expect(blob.arrayBuffer()).rejects.toThrow();
});

test('a missing folder counts as empty', async () => {
  const absent = new ImageFolder(join(dir, 'absent'), new StandardCrypto());
  expect(await absent.read()).toEqual({ images: [], broken: [] });
});

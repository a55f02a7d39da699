import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MadeFiles } from '../../scripts/package/made-files.ts';
import { withDirectory } from '../cli/cli-fixture.ts';

/** Calls a test with a folder of a release in which a step has made `hub.deb` from the commit `c1`. */
const withRelease = (work: (folder: string, open: (changes?: object) => MadeFiles) => void) =>
  withDirectory(async (dir) => {
    const outdir = join(dir, 'release');
    mkdirSync(outdir);
    const open = (changes: object = {}) => new MadeFiles(join(dir, 'list.json'), { commit: 'c1', isTry: false, outdir, ...changes });
    writeFileSync(join(outdir, 'hub.deb'), 'made');
    open().add([join(outdir, 'hub.deb')]);
    work(outdir, open);
  });

const notSigned = (name: string) =>
  expect.objectContaining({ code: 'CONFLICT', message: expect.stringContaining(`${name} is not signed`) });

test('what a step made is signed in a later run, too', () =>
  withRelease((folder, open) => {
    expect(open().hashOf(join(folder, 'hub.deb'))).toMatch(/^[0-9a-f]{64}$/);
  }));

test.each([
  ['another commit', { commit: 'c2' }],
  ['a try', { isTry: true }],
  ['another folder', { outdir: '/elsewhere' }],
])('what a step made for %s is not signed, and has to be made again', (_what, changes) =>
  withRelease((folder, open) => {
    const other = open(changes);
    expect(() => other.hashOf(join(folder, 'hub.deb'))).toThrow(notSigned('hub.deb'));
    writeFileSync(join(folder, 'notes.md'), 'notes');
    other.add([join(folder, 'notes.md')]);
    expect(() => open().hashOf(join(folder, 'hub.deb'))).toThrow(notSigned('hub.deb'));
    expect(() => open().hashOf(join(folder, 'notes.md'))).toThrow(notSigned('notes.md'));
  }),
);

test('what somebody put into the folder or changed there is not signed', () =>
  withRelease((folder, open) => {
    writeFileSync(join(folder, 'evil.deb'), 'made');
    writeFileSync(join(folder, 'hub.deb'), 'changed');
    for (const name of ['evil.deb', 'hub.deb']) expect(() => open().hashOf(join(folder, name))).toThrow(notSigned(name));
  }));

test('a file that no step has made yet is named', () =>
  withRelease((folder, open) => {
    expect(() => open().hashOf(join(folder, 'other.deb'))).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  }));
